#!/usr/bin/env perl
# `rly learn`: lessons at a terminal and from a pipe, progress that is kept, a
# file of it that is damaged, and `rly test` of exercises.
#
# What is right and wrong stands in the pages and is tested by `rly test`; here
# a page's own solutions are typed as a learner would type them.
use strict;
use warnings;
use utf8;
use lib 'tests/t';
use Rly;
use Screen;
use Test::More;

binmode $_, ':utf8' for Test::More->builder->failure_output;

my @pages = ((sort glob 'docs/tutorial/*.md'), sort glob 'docs/puzzles/*.md');
is(scalar @pages, 17, 'thirteen pages of the tutorial, four of puzzles');
is(scalar(map { slurp($_) =~ /^### Exercise: /mg } @pages[13 .. 16]), 20,
   'twenty puzzles');

# The first solution of each exercise, and its first wrong answer.
sub answers {
  my ($page) = @_;
  my ($before, @exercises) = split /^### Exercise: /m, slurp($page);
  my @answers;
  for (@exercises) {
    my ($right) = /^```rly solution\n(.*?)^```/ms;
    my ($wrong) = /^```rly wrong\n(.*?)^```/ms;
    push @answers, {right => $right, wrong => $wrong};
  }
  return @answers;
}

# --- From a pipe --------------------------------------------------------------

$ENV{XDG_STATE_HOME} = scratch('state');
for my $n (1 .. @pages) {
  my @answers = answers($pages[$n - 1]);
  ok(@answers >= 2 && @answers <= ($n > 13 ? 6 : 3),
     "lesson $n: there are exercises");
  my $run = rly({in => join '', map { $_->{right} } @answers}, 'learn', $n);
  is($run->{status}, 0, "lesson $n: its solutions are right")
    or diag($run->{out});
  like($run->{out}, qr/done, with all \d exercises\.\n\z/, '... it is done');
  unlike($run->{out}, qr/Not yet(?!.*\n?.*there is no global)|:hint/,
         '... with nothing wrong');
}

# Each wrong answer with what the page says of it.  One of several entries is no
# answer at the prompt.
for my $n (1 .. @pages) {
  my ($typed, @remarks) = ('');
  my ($before, @exercises) = split /^### Exercise: /m, slurp($pages[$n - 1]);
  for (@exercises) {
    while (/\n\n((?:[^\n]+\n)*[^\n]+):\n\n```rly wrong\n(.*?)^```/gms) {
      my ($remark, $wrong) = ($1, $2);
      next if (() = $wrong =~ /^[^\s}]/gm) > 1;
      push @remarks, $remark;
      $typed .= $wrong;
    }
    my ($right) = /^```rly solution\n(.*?)^```/ms;
    $typed .= $right;
  }
  my $said = join ' ', split ' ', rly({in => $typed}, 'learn', $n)->{out};
  my @unsaid = grep { index($said, join(' ', split ' ') . '.') < 0 } @remarks;
  ok(@remarks && !@unsaid, "lesson $n: why a wrong answer is wrong")
    or diag("@unsaid\n$said");
}
my $divides = 'Whole numbers divide to a whole number.';
gives(rly({in => "7/(2) // a half?\n"}, 'learn', 1), 1, qr/^$divides$/m,
      qr/E0207/,
      'spaces, parentheses and comments do not matter');
unlike(rly({in => "7 / 3\n6 / 2\n"}, 'learn', 1)->{out}, qr/$divides/,
       'of another answer nothing is said');

my ($first) = answers($pages[0]);
gives(rly({in => "$first->{wrong}"}, 'learn', 1), 1,
      qr/^3\nNot yet: `%it == 3\.5f` cannot be asked: `equal`: operands have/m,
      qr/\A<4>:1:6: error\[E0207\]/,
      'a wrong answer is told why, and the status is 1');
gives(rly({in => ":hint\n:hint\n:solution\n:skip\n:skip\n:skip\n"},
          'learn', 1), 1,
      qr/`7 \/ 2` divides.*no more hints.*^    7f \/ 2f\n.*0 of 3 exercises/ms,
      qr/E0207/, 'hints, the solution, and exercises that are skipped');
gives(rly({in => "7 / 0\n%nobody\n:quit\n"}, 'learn', 1), 1,
      qr/a half/, qr/E0602.*E0101/s, 'mistakes are told as the prompt does');
gives(rly({in => "let %y = ref(1);\n%y\n:back\n:back\n"}, 'learn', 1), 1,
      qr/Exercise: a half.*Not yet.*Ctrl-D leaves.*Exercise: a half/s, qr/./,
      'back shows what was before, and asks again');
gives(rly('learn'), 0, qr/\A> 1\. Numbers.* 0 of 3 exercises\n(?:  .*\n){16}\z/,
      '', 'without a number they are listed');
ok(!-e scratch('state/rly/learn'), 'a pipe keeps no progress');
for my $bad ('0', '18', 'x', '-1', '1 2', '99999999999999999999') {
  gives(rly('learn', split / /, $bad), 1, '',
        qr/from 1 to 17|unknown|flag|too many/, "learn $bad");
}
gives(rly({in => ":hint\n"}, 'repl'), 0, '', qr/no command `:hint`/,
      'outside of lessons there are no such commands');

# --- Progress that is damaged -------------------------------------------------

mkdir scratch('state');
mkdir scratch('state/rly');
my $kept = scratch('state/rly/learn');
for my $case (['', 'it ends too early'],
              ["rly learn 2\nlesson 1\n", 'line 1 is not'],
              ["rly learn 1\nlesson 0\n", 'line 2 is not'],
              ["rly learn 1\nlesson 99\n", 'line 2 is not'],
              ["rly learn 1\nlesson 1\n1 2 +-x\n", 'line 3 is not'],
              ["rly learn 1\nlesson 1\n1 -2 +--\n", 'line 3 is not'],
              ["rly learn 1\nlesson 1\n33 2 +--\n", 'line 3 is not'],
              ["rly learn 1\nlesson 1\n1 2 " . '+' x 400 . "\n", 'line 3'],
              ["rly learn 1\nlesson 1", 'line 2 is not'],
              ["rly learn 1\nlesson 1\n\0\n", 'it holds a NUL'],
              ["\xff" x 100, 'line 1 is not'],
              ['x' x 5000, 'it is too long']) {
  my ($text, $why) = @$case;
  spew($kept, $text);
  gives(rly('learn'), 0, qr/\A> 1\. Numbers.*0 of 3/,
        qr/\Q$kept: $why\E.*\n\z/,
        "progress that is wrong: $why");
  is(slurp($kept), $text, '... is left as it was');
}
unlink $kept;
mkdir $kept;
gives(rly('learn'), 0, qr/\A> 1\. /, qr/it is no file/,
      'a folder in its place');
rmdir $kept;
system 'mkfifo', $kept;
gives(rly('learn'), 0, qr/\A> 1\. /, qr/it is no file/, 'a pipe in its place');
unlink $kept;
spew($kept, "rly learn 1\nlesson 2\n2 9999 +-+-+-+-\n1 3 ++\n");
gives(rly('learn'), 0, qr/^  1\. .*begun *2 of 3.*^  2\. .*4 of/ms, '',
      'of pages that were others it says what it can');
unlink $kept;

# --- `rly test` ---------------------------------------------------------------

my $page = slurp($pages[0]);
sub tested {
  my ($text) = @_;
  return rly('test', spew(scratch('page.md'), $text));
}
gives(tested($page), 0, qr/^ok \d+ - .*:\d+ a solution$/m, '',
      'exercises of a page are tested');
gives(tested($page =~ s/^7f \/ 2f$/8f \/ 2f/mr), 1,
      qr/^not ok.* a solution\n# it is refused:\n#   `%it == 3\.5f` is False$/m,
      '', 'a solution that is wrong is found');
gives(tested($page =~ s/^sum\(\[2f, 4, 9\]\)$/5f/mr), 1,
      qr/^not ok .* a wrong answer\n# it is taken as right$/m, '',
      'a wrong answer that is right is found');
for my $case (['check', qr/no check/], ['solution', qr/no solution/],
              ['wrong', qr/fewer than two wrong/]) {
  my ($kind, $why) = @$case;
  gives(tested($page =~ s/^```rly $kind$/```text/gmr), 1,
        qr/^not ok .* the exercise is not whole: .*$why/m, '',
        "without $kind it is not whole");
}
gives(tested("### Exercise: x\n" . "```rly check\n1 == 1\n" x 3), 1,
      qr/no check/, '', 'a block that is not closed');
gives(tested("### Exercise: \n\n</details>\n```rly wrong"), 1, qr/no title/, '',
      'a page that ends too early');
my $many = "<details><summary>Hint</summary>\n\nx\n\n</details>\n" x 100;
gives(tested($page =~ s/^<details><summary>Hint/$many$&/mr), 1, qr/more than/,
      '', 'too many hints');

# What an answer may be made of.  Each case is a list of words, an answer, and
# what is said of it; without words the answer is right.
sub puzzle {
  my ($allowed, $answer) = @_;
  return "### Exercise: x\n\n```rly allowed\n$allowed\n```\n" .
    "```rly check\n\@f(3) == 6\n```\n" .
    "<details><summary>Hint</summary>\n\nx\n\n</details>\n" .
    "<details><summary>Solution</summary>\n\n```rly solution\n$answer\n```\n" .
    "\n</details>\n<details><summary>Hidden properties</summary>\n\n" .
    "```rly hidden\n\@f(4) == 10\n```\n\n</details>\n" .
    "<details><summary>Wrong answers, and why</summary>\n\n" .
    "```rly wrong\n1\n```\n" x 2 . "\n</details>\n";
}
my $head = 'def @f(%n: int32) -> int32';
my $loop = "$head { if (%n == 0) { 0 } else { %n + \@f(%n - 1) } }";
my $own = "$head { let %g = fn (%k: int32) -> int32 { if (%k == 0) { 0 } " .
          "else { %k + %g(%k - 1) } }; %g(%n) }";
my $group = "$head { let %g = fn (%k: int32) -> int32 { if (%k == 0) { 0 } " .
            "else { %k + %h(%k - 1) } } and %h = fn (%k: int32) -> int32 " .
            "{ if (%k == 0) { 0 } else { %k + %g(%k - 1) } }; %g(%n) }";
my $each = "def \@g(%n: int32) -> int32 { if (%n == 0) { 0 } " .
           "else { %n + \@f(%n - 1) } }\n" .
           "$head { if (%n == 0) { 0 } else { %n + \@g(%n - 1) } }";
for my $case (
  ['', "$head { %n * (%n + 1) / 2 }"],
  ['', "$head { -(-%n) * (%n + 1) / 2 }"],
  ['', "$head { multiply(%n, %n + 1) / 2 }", '`multiply` is not among'],
  ['multiply', "$head { multiply(%n, %n + 1) / 2 }"],
  ['multiplying multipl', "$head { multiply(%n, %n) }", '`multiply` is not'],
  ['', "$head { let %f = multiply; %f(%n, %n + 1) / 2 }", '`multiply` is not'],
  ['', "$head { print(%n); %n * (%n + 1) / 2 }", '`print` is not'],
  ['arange sum', "$head { sum(arange(%n + 1)) }"],
  ['arange', "$head { sum(arange(%n + 1)) }", '`sum` is not'],
  ['@foldl', "$head { \@foldl(fn (%a: int32, %b: int32) { %a + %b }, 0, " .
             "\@range(%n + 1)) }", '`@range` is not'],
  ['foldl @range', "$head { \@foldl(fn (%a: int32, %b: int32) { %a + %b }, " .
             "0, \@range(%n + 1)) }", '`@foldl` is not'],
  ['@foldl @range', "$head { \@foldl(fn (%a: int32, %b: int32) { %a + %b }, " .
             "0, \@range(%n + 1)) }"],
  ['recursion', $loop, '`if` is not'], ['if', $loop, '`@f` calls itself'],
  ['if recursion', $loop], ['if', $own, '`%g` calls itself'],
  ['if recursion', $own], ['if', $group, '`%h` calls itself'],
  ['if recursion', $group], ['if', $each, '`@f` calls itself'],
  ['if recursion', $each],
  ['', "def \@g(%n: int32) { %n * (%n + 1) }\n$head { \@g(%n) / 2 }"],
  ['', "$head { let %g = fn (%g: int32) { %g + 1 }; %n * %g(%n) / 2 }"],
  ['if', "$head { if (%n > 0 && %n < 9) { %n * (%n + 1) / 2 } else { 0 } }"],
  ['', "$head { let %y = %n > 0 && %n < 9; %n * (%n + 1) / 2 }"],
  ['', "$head { match (%n) { 0 => 0, %m => %m * (%m + 1) / 2 } }",
   '`match` is not'],
  ['ref', "$head { ref_read(ref(%n * (%n + 1) / 2)) }", '`ref_read` is not'],
  ['ref_read', "$head { ref_read(ref(%n * (%n + 1) / 2)) }", '`ref` is not'],
  ['', "$head { 2 * %n }", '`@f(4) == 10` is False'],
) {
  my ($allowed, $answer, $why) = @$case;
  gives(tested(puzzle($allowed, $answer)), $why ? 1 : 0,
        $why ? qr/^not ok 1 .* a solution\n# it is refused:\n#   \Q$why\E/m
             : qr/^ok 1 .* a solution$/m, '',
        "with `$allowed`: " . ($why // 'allowed'));
}
gives(rly({in => ":skip\n" x 6}, 'learn', 14), 1,
      qr/Besides signs it may use/, '', 'a puzzle says what it allows');

# --- At a terminal ------------------------------------------------------------

if (my $why = screen_missing()) {
  note($why);
  done_testing();
  exit;
}

for my $columns (60, 100) {
  my $state = scratch("state$columns");
  my %how = (columns => $columns, rows => 40,
             env => {XDG_STATE_HOME => $state});
  my $s = Screen->new(%how, args => ['learn']);
  $s->expect(qr/Enter begins lesson 1.*^rly>\z/ms, "$columns: the list waits");
  $s->type("\n");
  $s->expect(qr/can do|3\.5f\s+rly>\z/s, 'Enter begins');
  my @long = grep { length > $columns } split /\n/, $s->all;
  is("@long", '', 'nothing wraps by itself');
  like($s->{heard}, qr/\e\[36mrly\e\[0m/, 'code is coloured');
  $s->type("6 * 7\n");
  $s->expect(qr/^42\s+rly>\z/m, 'one may try what one likes');
  $s->type("\n") for 1 .. 5;
  $s->expect(qr/Exercise: a half.*Answer at the prompt.*rly>\z/s,
             'an exercise');
  $s->type("\n");
  $s->expect(qr/Type an answer; :hint.*rly>\z/s, 'Enter does not pass it');
  $s->type("7 / 2\n");
  $s->expect(qr/Not yet: .*rly>\z/s, 'a wrong answer');
  @long = grep { length > $columns } split /\n/, $s->all;
  is("@long", '', '... is told why within the terminal');
  $s->type("7f / 2f\n");
  $s->expect(qr/Right\. Enter goes on\.\s+rly>\z/s, 'a right one');
  $s->type("\n");
  $s->expect(qr/Exercise: a matrix.*rly>\z/s, 'the next');
  $s->type("\x04");
  $s->ends(0, 'leaves');
  is(slurp("$state/rly/learn"), "rly learn 1\nlesson 1\n1 6 +--\n",
     'progress is kept') or diag(slurp("$state/rly/learn"));

  $s = Screen->new(%how, args => ['learn']);
  $s->expect(qr/^> 1\. .*begun  1 of 3.*Enter goes on with lesson 1.*rly>\z/ms,
             'it is where one was');
  $s->type("\n");
  $s->expect(qr/You were here.*Exercise: a matrix.*rly>\z/s, 'goes on there');
  $s->type("%_3\n");
  $s->expect(qr/3\.5f.*rly>\z/s, 'with what was evaluated before');
  $s->type(":back\n");
  $s->expect(qr/a half.*You have solved this; Enter goes on\.\)\s+rly>\z/s,
             'back');
  $s->type("\n:skip\n");
  $s->expect(qr/Exercise: the mean.*rly>\z/s, 'skip');
  $s->type(":skip\n");
  $s->expect(qr/1 of 3 exercises\..*Enter goes on with lesson 2.*rly>\z/s,
             'the end');
  $s->type("\n");
  $s->expect(qr/2\. Names and operators.*6\.0\]\s+rly>\z/s, 'the next lesson');
  $s->type(":ski\t\n");
  $s->expect(qr/clip.*rly>\z/s, 'whose commands are completed');
  $s->type(":quit\n");
  $s->ends(0, 'leaves');

  $s = Screen->new(%how, args => ['learn', 10], env => {%{$how{env}},
                                                        NO_COLOR => 1});
  $s->expect(qr/A stateful LSTM.*rly>\z/s, 'a lesson by its number');
  $s->type("\n");
  $s->expect(qr/:load docs.*^True\s+rly>\z/ms, 'its files are there');
  unlike($s->{heard}, qr/\e\[3[0-9]m/, 'no colours where they are not wanted');
  $s->type("\x04");
  $s->ends(0, 'leaves');

  $s = Screen->new(%how, args => ['learn', 1], env => {%{$how{env}},
                                                       TERM => 'dumb'});
  $s->expect(qr/3\.5f\s+rly>\z/s, 'a dumb terminal');
  unlike($s->{heard}, qr/\e\[3/, '... is sent no colours');
  $s->type("\x04");
  $s->ends(0, 'leaves');
}

# A lesson that cannot keep its progress says so and goes on.
{
  my $state = spew(scratch('nofolder'), '');
  my $s = Screen->new(rows => 40, args => ['learn', 1],
                      env => {XDG_STATE_HOME => $state});
  $s->expect(qr/rly>\z/s, 'no place for progress');
  $s->type("\n");
  $s->expect(qr/E0207.*rly>\z/s, 'goes on');
  $s->type("\x04");
  $s->ends(0, 'leaves');
}

done_testing();
