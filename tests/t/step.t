#!/usr/bin/env perl
# rly step: what a step shows, moves, breakpoints, folding, why it stops.  The
# texts expected are the program rewritten by hand.
#
# By hand, since the stepper's claim is that its texts are what a person would
# write down who followed the rules on paper.  Taking them from its own output
# would only hold that nothing changes.  The programs are small for the same
# reason: fourteen steps can be checked by a reader.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $fact = spew(scratch('fact.rly'), <<'END');
def @fact(%n: int32) -> int32 {
  if (%n < 2) { 1 } else { %n * @fact(%n - 1) }
}
@fact(2);
END

# The steps of a run as hashes.
sub steps { return map { json($_) } split /\n/, $_[0]{out} }

# What is marked, within its text.
sub marked {
  my ($step) = @_;
  return ($step->{before} // '') . "<$step->{redex}>" . ($step->{after} // '');
}

sub holds {
  my ($text, $part, $name) = @_;
  ok(index($text, $part) >= 0, $name) or diag("not in:\n$text");
}

# --- All steps --------------------------------------------------------------

my $run = rly('step', '--json', $fact);
my @steps = steps($run);
is($run->{status}, 0, 'a program is stepped through');
is_deeply([map { marked($_) } @steps[0 .. 13]], [
  '<@fact>(2)',
  '<@fact(2)>',
  'if (<%n> < 2) { 1 } else { %n * @fact(%n - 1) }',
  'if (<2 < 2>) { 1 } else { %n * @fact(%n - 1) }',
  '<if (False) { 1 } else { %n * @fact(%n - 1) }>',
  '<%n> * @fact(%n - 1)',
  '2 * @fact(<%n> - 1)',
  '2 * @fact(<2 - 1>)',
  '2 * <@fact>(1)',
  '2 * <@fact(1)>',
  'if (<%n> < 2) { 1 } else { %n * @fact(%n - 1) }',
  'if (<1 < 2>) { 1 } else { %n * @fact(%n - 1) }',
  '<if (True) { 1 } else { %n * @fact(%n - 1) }>',
  '<2 * 1>',
], 'each is the text before it, the redex marked');
is_deeply([map { $_->{rule} } @steps],
          [qw(global call variable operator), 'if false',
           qw(variable variable operator global call variable operator),
           'if true', 'operator', 'value'], '... and has its rule');
is_deeply([map { $_->{step} } @steps], [1 .. 14, 14], '... and its number');
is($steps[1]{says},
   '`@fact` is entered with %n = 2 (int32): its body replaces the call.',
   'a call tells its arguments');
is($steps[3]{says}, '`less` of 2 (int32) and 2 (int32) gives False (bool).',
   'an operator its operands and its result');
is($steps[10]{where}, '%n = 1', 'names have values beside them');
is($steps[10]{in}, '@fact', 'the function is named');
is_deeply([@{$steps[3]}{qw(line column)}], [2, 7], 'and the place');
is_deeply($steps[14]{value}, {dtype => 'int32', shape => [], data => [2]},
          'the value ends it');

my $text = rly('step', $fact)->{out};
holds($text, <<"END", 'as text');
4 operator  $fact:2:7  in \@fact
    if (\xe2\x9f\xa62 < 2\xe2\x9f\xa7) { 1 } else { %n * \@fact(%n - 1) }
    where %n = 2
  `less` of 2 (int32) and 2 (int32) gives False (bool).
END
like($text, qr/^    _ in: 2 \* _  in \@fact$/m, 'what waits for a call');
like($text, qr/^value after 14 steps\n2\n\z/m, 'the value at the end');

@steps = steps(rly('step', '--json', '--steps', 2, $fact));
is_deeply($steps[2], {note => 'stopped after 2 steps; --steps N shows more'},
          'JSON tells why it stops, too');

# --- Bounds -----------------------------------------------------------------

gives(rly('step', '--steps', $_, $fact), 1, '',
      qr/`--steps` takes a whole number, 1 or more, not `$_`/, "$_ steps")
    for 0, -1, 'x';
$run = rly('step', '--steps', 3, $fact);
is(() = $run->{out} =~ /^\d+ \w+  /mg, 3, 'a bounded number of steps');
like($run->{out}, qr/^stopped after 3 steps; --steps N shows more\n\z/m,
     '... which says so');
my $loop = spew(scratch('loop.rly'),
                "def \@f(%n: int64) -> int64 { \@f(%n + 1i64) }\n\@f(0i64);\n");
my @timed = ({in => "run\n"}, 'step', $loop, '--timeout');
$run = patiently(sub { rly(@timed, $_[0]) },
                 sub { $_[0]{out} =~ /^stopped after/m });
is($run->{status}, 3, 'a limit of time ends a run');
like($run->{out}, qr/^stopped after \d+ steps: E0703: /m, '... and says so');
# 60 terms within one another, each of which holds the next one twice.
my $terms = spew(scratch('terms.rly'), "type T { L(int32), N(T, T) }\n",
                 "def \@grow(%n: int32, %t: T) -> T ",
                 "{ if (%n == 0) { %t } else { \@grow(%n - 1, N(%t, %t)) } }\n",
                 "\@grow(60, L(1));\n");
my $plain = rly($terms)->{out};
like($plain, qr/\AN\((?:N\()+.*\.\.\.\)+\n\z/,
     'a value is elided after 10,000 parts');
$run = rly({in => "run\n"}, 'step', $terms);
ok(index($run->{out}, "\n$plain") > 0, '... by the stepper, too');
$run = rly({in => "back 30000\n"}, 'step', $loop);
like($run->{out}, qr/^the record begins here, at step 1$/m,
     'so does the record');
is(rly({in => "break %n\ncontinue\ncontinue\nback 2\n"}, 'step', $loop)->{out},
   rly({in => "break %n\nrun\nrun\nback 2\n"}, 'step', $loop)->{out},
   'continue is run');
$run = rly({in => "break %n\nrun\nrun\nback 2\n"}, 'step', $loop);
is(() = $run->{out} =~ /^stopped: breakpoint %n$/mg, 2, 'a run can go on');
my $deep = 'def @d(%n: int32) -> int32 { 1 + @d(%n + 1) } @d(0);';
$run = rly({in => "run\n"}, 'step', '--max-depth', 1000, '-e', $deep);
is($run->{status}, 3, 'a limit of depth, too');
like($run->{out}, qr/E0702/, '... which says so');

# --- Moves ------------------------------------------------------------------

# The headings and the other lines that tell of the moves.
sub moves {
  my ($commands, @args) = @_;
  my $out = rly({in => join('', map { "$_\n" } @$commands)}, 'step',
                @args)->{out};
  return [map { s/  .*//r } grep { /^(?:\d+ \w|\S.*:|value|the )/ }
          split /\n/, $out];
}

is_deeply(moves(['step 3', 'back 2', 'back 5'], $fact),
          ['1 global', '2 call', '3 variable', '4 operator', '3 variable',
           '2 call', '1 global', 'the record begins here, at step 1'],
          'back and forth');
is_deeply(moves(['step', 'over', 'back', 'back'], $fact),
          ['1 global', '2 call', 'value after 14 steps', '14 operator',
           '13 if true'], 'over a call, and back into it');
is_deeply(moves(['step 9', 'over'], $fact)->[-1], '14 operator',
          'over the inner call');
is_deeply(moves(['step 10', 'out'], $fact)->[-1], '14 operator',
          'out of the inner call');
is_deeply(moves(['step 10', 'out', 'out', 'step'], $fact)->[-1],
          'the end: nothing is left to do after 14 steps',
          'nothing goes on after the end');
is_deeply(moves(['s 2', '', 'b', 'nonsense'], $fact)->[-1], '3 variable',
          'commands have letters; nothing is a step');
is_deeply(moves(['fo', 'u', 'st 3'], $fact)->[-1], '4 operator',
          'and may be shortened');
is_deeply(moves([':step 3', ':back'], $fact),
          moves(['step 3', 'back'], $fact),
          'and may have the colon of the prompt');


# What a command has no use for is told, and nothing moves.
is_deeply(moves([$_], $fact), ['1 global'], "no move: $_")
    for 'step x', 'step 0', 'step -1', 'step 99999999999999999999', 'back x',
        'over 3', 'out 7', 'run 5', 'goto', 'goto x', 'goto 0';
like(rly({in => "$_->[0]\n"}, 'step', $fact)->{out}, qr/^$_->[1]\n\z/m, $_->[0])
    for ['step x', '`x` is no number of steps'],
        ['back 0', '`0` is no number of steps'],
        ['goto x', '`x` is no number of a step'], ['goto', 'goto takes N'],
        ['over 3', 'over takes no words'], ['show nope', 'show takes no words'],
        ['delete', 'delete takes N'], ['print', 'print takes EXPR'];

like(rly({in => "1 + )\n"}, 'step', $fact)->{err},
     qr/^<expression>:1:5: error\[E0004\].*\n    1 \| 1 \+ \)$/m,
     'a mistake is where it was written');

# --- Breakpoints ------------------------------------------------------------

my @stops = (
  ['@fact', '2 call'], ['%n', '2 call'], ['multiply', '14 operator'],
  ['less', '4 operator'],
);
is_deeply(moves(["break $_->[0]", 'run'], $fact),
          ['1 global', $_->[1], "stopped: breakpoint $_->[0]"],
          "a breakpoint at $_->[0]") for @stops;
my $nan = 'let %x = [0f, 1f]; let %y = %x / %x; sum(%y - 1f, axis=[0]);';
is_deeply(moves(['break nan', 'run', 'run'], '-e', $nan),
          ['1 define', '4 operator', 'stopped: breakpoint nan',
           'value after 8 steps',
           'the end: nothing is left to do after 8 steps'],
          'at the first NaN alone');
my $shape = 'let %x = [[0f, 1f]]; transpose(concatenate((%x, %x), axis=0));';
is_deeply(moves(['break (2,2)', 'run'], '-e', $shape)->[-1],
          'stopped: breakpoint (2,2)', 'at a shape');
like(rly({in => "break foo\nbreak add\nbreak\ndelete 1\nbreak\n"}, 'step',
         $fact)->{out},
     qr/^`foo` is no .*^1  add\n.*^there are no breakpoints\n/ms,
     'breakpoints are listed and deleted');

gives(rly('step', '--break', $_, $fact), 1, '',
      qr/E0506.*--break: there is no `\@nope`/, "a breakpoint at nothing: $_")
    for '@nope', '@nope if True';
like(rly({in => "break \@nope\nbreak\n"}, 'step', $fact)->{out},
     qr/^there is no `\@nope`\nthere are no breakpoints\n/m, '... a command');

# A condition is a bool: where its type is known, it is refused when it is
# given; else when it is first asked for.
my $no_bool = qr/<expression>:1:1: error\[E0213\].*expected bool, found int32/;
my ($by_n, $away) = ('@fact if %n + 1', 'is taken away');
gives(rly('step', '--break', '@fact if 3', $fact), 1, '', $no_bool,
      '--break with a condition that is no bool');
gives(rly('step', '--break', '@fact if %n ==', $fact), 1, '',
      qr/<expression>:2:1: error\[E0004\]/, '... or is half of one');
my $tries = "break \@fact if 3\nbreak\nbreak \@fact if %n == 2\nbreak\n";
$run = rly({in => $tries}, 'step', $fact);
like($run->{out}, qr/^there are no breakpoints\n1  \@fact if %n == 2\n/m,
     '... a command');
like($run->{err}, $no_bool, '... is refused');
$run = rly({in => "break $by_n\nrun\nbreak\n"}, 'step', $fact);
like($run->{out}, qr/^the breakpoint `\Q$by_n\E` $away\n/m,
     'one whose type its variables tell');
like($run->{out}, qr/^there are no breakpoints\n/m, '... goes');
unlike($run->{out}, qr/stopped/, '... and does not stop');
like($run->{err}, $no_bool, '... with its place');
my $entries = ":break \@fact if 3\n:break\n:break $by_n\n"
  . slurp($fact) . ":break\n";
$run = rly({in => $entries}, 'repl');
like($run->{out},
     qr/^there are no breakpoints\n.*^the breakpoint `\Q$by_n\E` $away\n/ms,
     'both at the prompt');
like($run->{out}, qr/^there are no breakpoints\n\z/m, '... where it goes, too');
is(() = $run->{err} =~ /$no_bool/g, 2, '... with their places');

my $later = ":break \@nope\ndef \@nope() { 1 }\n\@nope()\n";
like(rly({in => $later}, 'repl')->{out},
     qr/^there is no `\@nope` yet\n.*^stopped: breakpoint \@nope\n/ms,
     'at the prompt it may be defined later');

# --- Folding ----------------------------------------------------------------

$run = rly('step', '--fold', 'names,arithmetic', $fact);
holds($run->{out}, "  (2 steps passed over; folded: names 1, arithmetic 1)\n",
      'folded steps are counted');
unlike($run->{out}, qr/^\d+ (?:variable|operator)/m, '... and passed over');
my $map = '@map(fn (%x: int32) { %x + 1 }, Cons(1, Nil));';
my $all = () = rly('step', '-e', $map)->{out} =~ /^\d+ \w/mg;
$run = rly('step', '--fold', 'library', '-e', $map);
my $shown = () = $run->{out} =~ /^\d+ \w/mg;
my ($folded) = map { eval join '+', $_ =~ /library (\d+)/g } $run->{out};
ok($folded > 3, 'library calls fold');
is($shown + $folded, $all, 'no step is lost');
like(rly({in => "fold lets\nfold\nunfold\nfold nothing\n"}, 'step',
         $fact)->{out},
     qr/^lets        folded .*^nothing is folded as `nothing`/ms,
     'kinds are listed');

# --- Cells, prints, errors --------------------------------------------------

my $cells = '{ let %c = ref(1); let %d = ref([2f]);'
            . ' ref_write(%c, ref_read(%c) + 4); print(ref_read(%c)); %c };';
$run = rly('step', '-e', $cells);
like($run->{out}, qr/^  cell#1 held 1 \(int32\) and now holds 5 \(int32\)/m,
     'a write tells what was there');
like($run->{out}, qr/^  cell#1 = 1 -> 5, cell#2 = \[2\.0\]$/m,
     'the cells, and what changed');
# The last answer to these commands, with --json.
sub asked {
  my ($commands, @args) = @_;
  my $out = rly({in => $commands}, 'step', '--json', @args)->{out};
  return (map { json($_) } split /\n/, $out)[-1];
}
like(asked("run\ncells\n", '-e', $cells)->{cells},
     qr/^cell#1 = .*\ncell#2 = [^\n]*\z/, 'with --json cells are JSON');
is_deeply(asked("cells\n", $fact), {note => 'there are no cells'}, '... none');
like(asked("step 3\n$_\n", $fact)->{frames}, qr/^>  [01]  \@fact at /,
     "... $_")
    for qw(where up);
is_deeply(asked("step 3\n%n + 1\n", $fact),
          {dtype => 'int32', shape => [], data => [3]}, '... a value');
$run = rly({in => "run\nback 3\ncells\nback 5\ncells\nrun\n"}, 'step', '-e',
           $cells);
like($run->{out}, qr/^cell#1 = 5\n.*^cell#1 = 1\n.*^ref\(5\)$/ms,
     'going back puts cells back, and forth again');
is(() = $run->{out} =~ /^5$/mg, 1, 'nothing is printed twice');
$run = rly('step', '-e', '{ let %z = 0; 7 + 1 / %z };');
is($run->{status}, 2, 'a run-time error');
holds($run->{out}, "\n    7 + \xe2\x9f\xa61 / 0\xe2\x9f\xa7\n  E0602: ",
      '... is where it happens');

$run = rly('step', '-e', 'def @f(%x: int32) {'
           . ' 2 * if (%x > 0) { let %y = { print(%x); %x }; %y } else { 0 } }'
           . ' @f(3)');
holds($run->{out}, "\n    2 * {\n      let %y = {\n        print(\xe2\x9f\xa6%x"
      . "\xe2\x9f\xa7);\n        %x\n      };\n      %y\n    }\n",
      'a block within something keeps its braces');

my $long = '(1 + 1) + [' . join(', ', 1 .. 1000) . ']';
my ($line) = rly('step', '-e', $long)->{out} =~ /^( .*1 \+ 1.*)/m;
like($line,
     qr/^    \xe2\x9f\xa6\(1 \+ 1\)\xe2\x9f\xa7 \+ \[1, 2, .*\d \.\.\. $/,
     'of a very long line there is what is near the mark');
cmp_ok(length $line, '<', 400, '... and can be read');
($line) = rly({in => "show\n"}, 'step', '-e', $long)->{out}
          =~ /.*^( .*1 \+ 1[^\n]*)/ms;
like($line, qr/, 500, .*1000\]$/, 'which `show` shows whole');

# --- A page -----------------------------------------------------------------

my $page = scratch('out.html');
$run = rly('step', '--html', $page, $fact);
is($run->{status}, 0, 'a page is written');
like($run->{out}, qr/^The end, after 14 steps\.$/m, '... which is said');
my $html = slurp($page);
is(() = $html =~ /<article id="(?:step|end)-/g, 15,
   'with all steps and the value');
holds($html, '<pre>if (<mark class="redex">2 &lt; 2</mark>) { 1 } else',
      'escaped, the redex marked');
holds($html, '<pre>if (<mark class="contractum">False</mark>) { 1 } else',
      'and what stands in its place');
unlike($html, qr{https?://|\bsrc=|\bhref=|\@import|url\(},
       'it needs nothing else');
like($html, qr{prefers-color-scheme: dark}, 'it has a dark form');
like($html, qr{The end, after 14 steps\.</footer>.*</html>\n\z}s,
     'it says why it ends');
rly('step', '--html', $page, '--fold', 'names', $fact);
is(() = slurp($page) =~ /<p class="left">[12] steps? passed over/g, 5,
   'what it leaves out is counted');
$run = rly('step', '--html', $page, '--steps', 3, $fact);
like(slurp($page), qr/Stopped after 3 steps; --steps N shows more/,
     'a longer run stops');
$run = rly('step', '--html', scratch('none/out.html'), $fact);
is($run->{status}, 2, 'a page that cannot be written is an error');
like($run->{err}, qr/E0507/, '... and told');
rly('step', '--html', $page, '-e', '{ let %a = 1; 2 / (%a - 1) };');
like(slurp($page), qr/class="error".*Stopped by E0602, after \d+ steps: /s,
     'a run-time error stands in the page');

# --- :step and :dbg at a prompt that is no terminal -------------------------

sub prompt { return rly({in => join "\n", @_}, 'repl') }

$run = prompt('let %x = 5;', ':step %x + 1', '%x');
like($run->{out},
     qr/^1 global .*^2 operator .*^value after 2 steps\n6\n5\n\z/ms,
     ':step shows all steps');
$run = prompt('let %k = 10;',
              'let %f = { let %g = fn (%a: int32) { %a + %k }; '
              . 'fn (%b: int32) -> int32 { %g(%b) * %k } };',
              ':step %f(2)', ':step { let %h = %f; %h(%k) }');
like($run->{out}, qr/^120\n.*^200\n\z/ms, 'functions of the session, too');
$run = prompt('let %id = fn (%x) { %x };', 'let %nil = Nil;',
              'let %even = { let %e = fn (%n: int32) -> bool {'
              . ' if (%n == 0) { True } else { %o(%n - 1) } }'
              . ' and %o = fn (%n: int32) -> bool {'
              . ' if (%n == 0) { False } else { %e(%n - 1) } }; %e };',
              ':step (%id(1), %id(True), Cons(2, %nil))', ':step %even(3)');
like($run->{out},
     qr/^\(1, True, Cons\(2, Nil\)\)\n.*^value after \d+ steps\nFalse\n\z/ms,
     '... polymorphic ones and groups');
$run = prompt('def @always[A](%x: A, %r: Ref[A]) -> fn () -> (A, Ref[A]) {'
              . ' fn () -> (A, Ref[A]) { (%x, %r) } }',
              'let %k = @always(3, ref(4));', ':step %k()');
like($run->{out}, qr/^\(3, ref\(4\)\)\n\z/m, '... and what they captured');
$run = prompt(':step 1 +', ':step let %y = 2;', '%y');
like($run->{out}, qr/^2\n\z/m, 'what :step defines is defined');

$run = prompt(':dbg { let %a = [1f, 3f]; let %b = %a / 0f; let %n = 2;'
              . ' let %m = 1 / (%n - 2); %b }');
is($run->{out}, <<'END', ':dbg shows parts and values, up to what fails');
let %a = [1f, 3f] => Tensor[(2), float32] [1.0, 3.0]
let %b = %a / 0f => Tensor[(2), float32] [inf, inf]
let %n = 2 => 2
let %m = 1 / (%n - 2) => fails
└─ %n - 2 => 0
END
like($run->{err}, qr/error\[E0602\]/, '... and why');
$run = prompt('def @main(%x: float32) -> float32 {'
              . ' %0 = exp(%x); %1 = %0 + 1f; let %y = %1 * %0; %y }',
              ':dbg @main(0f)', 'let %c = ref(1);',
              ':dbg { ref_write(%c, 5); let %d = %c; @map(fn (%v: int32) {'
              . ' let %w = %v + 1; %w * 2 }, List[1, 2, 3, 4, 5]) }', '%c');
is($run->{out}, <<'END', 'graph nodes, calls from the library, cells');
@main(0f) => 2f
├─ %0 = exp(%x) => 1f
│  └─ %x => 0f
├─ %1 = %0 + 1f => 2f
└─ let %y = %1 * %0 => 2f
ref_write(%c, 5) => ()  [writes]
└─ %c => ref(1)
let %d = %c => ref(5)
@map(fn (%v: int32) { let %w... => Cons(4, Cons(6, Cons(8, Cons(10, Cons(12, ...
├─ fn(1) => 4
│  ├─ let %w = %v + 1 => 2
│  │  └─ %v => 1
│  └─ %w * 2 => 4
├─ fn(2) => 6
│  ├─ let %w = %v + 1 => 3
│  │  └─ %v => 2
│  └─ %w * 2 => 6
├─ fn(3) => 8
│  ├─ let %w = %v + 1 => 4
│  │  └─ %v => 3
│  └─ %w * 2 => 8
└─ ... 2 more like this
Cons(4, Cons(6, Cons(8, Cons(10, Cons(12, Nil)))))
ref(1)
END
$run = prompt('let @n = ref(0);', 'def @next() {'
              . ' ref_write(@n, ref_read(@n) + 1); print(7); ref_read(@n) }',
              'def @g() { let %r = ref(2); ref_read(%r) }',
              ':dbg (@next(), @g())');
my ($next, $g) = $run->{out} =~ /(@\w+\(\) =>.*)$/mg;
is($next, '@next() => 1  [reads, writes, prints]', 'effects of a call');
is($g, '@g() => 2  [reads, allocates]', '... of another');
like($run->{out}, qr/ref_read\(%r\) => 2  \[reads\]$/m, '... of a part');
unlike($run->{out}, qr/^\(\@next.*\[/m, '... but not of a whole');

# A recursion of 2,000 calls, a tail call or not, a deep text: all are bounded.
for my $again ('@f(%m)', '{ let %r = @f(%m); %r }') {
  $run = prompt('def @f(%n: int32) -> int32 { let %m = %n - 1; '
                . "if (%m == 0) { 7 } else { $again } }",
                ':dbg { let %x = @f(2000); %x }');
  is(scalar(() = $run->{out} =~ /let %m = %n - 1/g), 3, 'three calls');
  like($run->{out}, qr/=> 7  \.\.\. 1996 more calls of it inside/,
       '... and how many more');
}
$run = prompt(':dbg ' . join ' + ', 1 .. 400);
is($run->{out} =~ tr/\n//, 13, 'a deep text');
like($run->{out}, qr/=> \d+  \.\.\. more inside$/m, '... says so');
$run = prompt(':dbg (' . join(', ', map { "-%x$_" } 1 .. 3) . ')');
like($run->{err}, qr/E0101/, 'an unbound name is refused');
is($run->{out}, '', '... before anything is shown');

# --- Inputs -----------------------------------------------------------------

my $main = spew(scratch('main.rly'), <<'END');
param @w: Tensor[(2), float32] = [1f, 2f];
def @main[n: Dim](%x: Tensor[(n), float32]) -> float32 { sum(%x * @w) }
END
like(rly('step', $main, 'x=[3, 4]')->{out},
     qr/value after 4 steps\n11f$/, 'parameters are bound')
  or diag(rly('step', $main, 'x=[3, 4]')->{out});
is(rly('step')->{status}, 1, 'a file is needed');
for my $flag (['--fold', 'foo'], ['--break', 'foo'], ['--steps', 'x']) {
  my $run = rly('step', @$flag, $fact);
  is($run->{status}, 1, "@$flag is refused");
  like($run->{err}, qr/`?foo|--steps/, '... and named');
}
like(rly('step', '--break', 'multiply', $fact)->{out},
     qr/^14 operator .*^stopped: breakpoint multiply\n\z/ms,
     'where nobody gives commands a breakpoint ends the steps');
is(rly('step', '-e', '1 + True')->{status}, 1, 'what is refused is not run');

# Values as they are: small tensors whole, of larger ones a corner and facts,
# and the types that values have while the program runs.
sub evaluated { return rly({in => ""}, "step", "-e", $_[0])->{out} }
like(evaluated('[[1f, 2f], [3f, 4f]] + 1f'),
     qr/\[\[1\.0, 2\.0\], \[3\.0, 4\.0\]\] \+ 1f/, 'a small matrix whole');
like(evaluated('nn.relu(ones(shape=[1, 8], dtype="float32"))'),
     qr/nn\.relu\(\[\[1\.0(?:, 1\.0){7}\]\]\)/, 'a row of eight');
like(evaluated('sum(ones(shape=[64, 64], dtype="float32"))'),
     qr/\[\[1\.0, \.\.\., 1\.0\], \.\.\., .*\(4096 elements, 1 to 1, mean 1\)/,
     'a corner and facts');
like(evaluated('sum(ones(shape=[8, 8, 8, 8], dtype="int8"))'),
     qr/ \[{4}1(?:, \.\.\.\]){4} \(4096 elements, 1 to 1, mean 1\)/,
     'of many axes the first element, with what is left out');
my $mapped = evaluated('@map(fn (%x: (int32, Tensor[(1), float32])) { %x },
                      Cons((1, [2f]), Nil))');
like($mapped, qr/\(List\[\(int32, Tensor\[\(1\), float32\]\)\]\)/,
     'types of values');
unlike($mapped, qr/Cons\(.*\(List\[A\]\)/, '... never as they are declared');

# Derivatives: what is differentiated runs, then the sweep goes back over its
# operators, in the text of the program, and enters their rules, in that of the
# library.
my $derived = spew(scratch('derived.rly'), <<'END');
def @f(%x: float32) -> float32 {
  if (%x > 1f) { sin(%x) * %x } else { @f(%x + 1f) }
}
grad(@f)(0.5f);
END
my $swept = rly('step', '--fold', 'all', $derived);
is($swept->{status}, 0, 'a derivative in a file');
is($swept->{out}, <<"END" =~ s/FILE/$derived/gr =~ s/ \\\n +/ /gr,
  (1 step passed over; folded: names 1)
2 differentiate  FILE:4:1
    ⟦grad(\@f)(0.5f)⟧
  `\@f` is entered with %x = 0.5f (float32): what its operators do is recorded.
  (2 steps passed over; folded: names 1, arithmetic 1)
5 if false  FILE:2:3  in \@f
    ⟦if (False) { sin(%x) * %x } else { \@f(%x + 1f) }⟧
    where %x = 0.5f
    _ in: the run of grad(\@f)(0.5f)
  The condition is False: the second branch is left.
  (3 steps passed over; folded: names 2, arithmetic 1)
9 call  FILE:2:40  in \@f
    ⟦\@f(1.5f)⟧
    _ in: the run of grad(\@f)(0.5f)
  `\@f` is entered with %x = 1.5f (float32): its body replaces the call.
  (2 steps passed over; folded: names 1, arithmetic 1)
12 if true  FILE:2:3  in \@f
    ⟦if (True) { sin(%x) * %x } else { \@f(%x + 1f) }⟧
    where %x = 1.5f
    _ in: the run of grad(\@f)(0.5f)
  The condition is True: the first branch is left.
  (4 steps passed over; folded: names 2, arithmetic 2)
17 rule  FILE:2:18  in \@f
    ⟦sin(%x) * %x⟧
    _ in: the sweep of grad(\@f)(0.5f)
  The sweep comes back to `multiply`: its rule is entered with \\
      %x = 0.997495f (float32), %y = 1.5f (float32), %g = 1f (float32).
  (6 steps passed over; folded: library 6)
24 rule  FILE:2:18  in \@f
    ⟦sin(%x)⟧
    _ in: the sweep of grad(\@f)(0.5f)
  The sweep comes back to `sin`: its rule is entered with \\
      %x = 1.5f (float32), %g = 1.5f (float32).
  (4 steps passed over; folded: library 4)
29 adjoint  FILE:2:18  in \@f
    sin(⟦%x⟧)
    _ in: the sweep of grad(\@f)(0.5f)
  0.1061058f (float32) is added to the adjoint of `%x`: 1.1036007f (float32).
30 rule  FILE:2:43  in \@f
    ⟦%x + 1f⟧
    _ in: the sweep of grad(\@f)(0.5f)
  The sweep comes back to `add`: its rule is entered with \\
      %g = 1.1036007f (float32).
  (2 steps passed over; folded: library 2)
33 gradient  FILE:4:1
    ⟦grad(\@f)(0.5f)⟧
  The sweep has ended; (1.4962425f, (1.1036007f,)) \\
      ((float32, (float32,))) is left.
value after 33 steps
(1.4962425f, (1.1036007f,))
END
   '... step by step');
gives(rly('step', '--fold', 'names', $derived), 0,
      qr{^20 .*/elementwise\.rly:.*  in the rule of multiply\n +\(⟦1f \* 1}m,
      '', 'a rule in the library');
gives(rly({in => "step 6\nwhere\n"}, 'step', '--fold', 'all', $derived), 0,
      qr/^>  0  \@f at .*:2:18\n   1  the entry at .*:4:1$/m, '',
      '... where the sweep is');
gives(rly({in => "step 7\nback 2\nstep\nover\n"}, 'step', '--fold', 'all',
          $derived),
      0, qr/^29 adjoint.*^24 rule.*^29 adjoint.*^30 rule/ms, '',
      '... back and forth, over a rule');
my $last = (steps(rly('step', '--json', $derived)))[-2];
is_deeply([@$last{qw(rule redex contractum)}],
          ['gradient', 'grad(@f)(0.5f)', '(1.4962425f, (1.1036007f,))'],
          '... as JSON');
ok(rly('step', '--html', scratch('derived.html'), $derived)->{status} == 0
       && slurp(scratch('derived.html')) =~ /The sweep comes back to `sin`/,
   '... and on a page');

# Weights of a loop wait for one product; a vector that was broadcast for a sum.
my $weights = <<'END';
def @loop(%n: int32, %h: Tensor[(1, 2), float32], %w: Tensor[(2, 2), float32],
          %b: Tensor[(2), float32]) -> float32 {
  if (%n == 0) { sum(%h) } else { @loop(%n - 1, nn.dense(%h, %w) + %b, %w, %b) }
}
grad(@loop)(2, [[1f, 2f]], [[0.5f, 1f], [1f, 0f]], [1f, 1f]);
END
my $waited = rly('step', '--fold', 'all', '-e', $weights)->{out};
my $as_one = qr/are computed as one: Tensor/;
like($waited, qr/^  The 2 products that waited for .* of `%w` $as_one/m,
     'products that wait');
like($waited, qr/^  The 2 rows .* of `%b` $as_one.* \[2\.5, 2\.0\]\.$/m,
     '... and rows');

# Forward: by the operator itself, by its rule, by the derivative of its rule.
my $along = rly('step', '--fold', 'all', '-e',
                'jvp(fn (%x: Tensor[(2), float32]) '
                . '{ nn.softmax(tanh(%x) + 1f) }, ([1f, 2f],), ([1f, 0f],))');
like($along->{out}, qr/^  Tangents have come to `tanh`, whose rule takes them/m,
     'tangents');
like($along->{out},
     qr/^  `add` is linear: .* the value's: .* \[0\.4199743\d, 0\.0\]\.$/m,
     '... of a linear operator');
like($along->{out}, qr/^  Tangents .* to `nn\.softmax`, whose rule is linear/m,
     '... by the derivative of a rule');
like($along->{out}, qr/^  All tangents are found; /m, '... all');

# A rule of one's own, cells, a derivative that is kept.
gives(rly('step', '--fold', 'all', '-e',
          'grad(with_vjp(fn (%x: float32) { %x * %x }, fn (%x: float32, '
          . '%y: float32, %g: float32) { (7f,) }))(3f)'), 0,
      qr/ a function with a rule of its own: .* %x = 3f.*\(9f, \(7f,\)\)$/s,
      '', "a rule of one's own");
gives(rly({in => "def \@f(%x: float32) { let %c = ref(%x); ref_read(%c) * %x }"
                . "\nlet \@g = grad(\@f);\nlet %p = vjp(\@f, 3f);\n"
                . ":step let %r = \@g(3f)\n%r\n:step %p.1(1f)\n"}, 'repl'), 0,
      qr/^\(9f, \(6f,\)\)\n.*E0609: what `vjp` recorded in an earlier entry/ms,
      '', 'what a session keeps');

# Under jvp rly run calls a rule where its function is called, so one whose time
# matters has no steps; functions and cells have the tangent ().
my $timed = 'let @c = ref(0f); jvp(fn (%x: float32) { let %y = '
          . 'with_vjp(fn (%a: float32) { %a * %a }, fn (%a, %b, %g) '
          . '{ ref_write(@c, %b); (%g,) })(%x); %y * ref_read(@c) }, (3f,), '
          . '(1f,))';
gives(rly('step', '--fold', 'all', '-e', $timed), 2,
      qr/E0609: the rule of this derivative may read or write a cell, or print/,
      '', 'a rule with effects under jvp');
gives(rly('step', '--fold', 'all', '-e',
          'let @k = ref(1f); jvp(fn (%x: float32) { @k }, (1f,), (1f,)).1'), 0,
      qr/^\(\)\n\z/m, '', 'the tangent of a cell');

gives(rly('step', '-e', '1 + nosuch('), 1, '', qr/\A.*error.*\n(?!.*error)/s,
      'a mistake is told of once');

done_testing();
