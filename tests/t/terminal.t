#!/usr/bin/env perl
# What a person sees on terminals of several sizes.
#
# What is compared is the picture, not the bytes that paint it: the same screen
# can be drawn with many sequences, and which of them readline chooses is its
# own affair.  Screen.pm keeps the cells and knows only the few sequences that
# are really sent; so a test waits until the screen looks as it should, and on
# failure shows the screen, which says more than a diff of escapes.
use strict;
use warnings;
use utf8;
use lib 'tests/t';
use Rly;
use Screen;
use Test::More;

plan skip_all => screen_missing() if screen_missing();
binmode $_, ':utf8' for Test::More->builder->failure_output;

# --- Messages -----------------------------------------------------------------

# Nothing of a message wraps by itself, at any width; carets stand below what
# they mark, after wide characters as well.
for my $columns (60, 80) {
  my $s = Screen->new(columns => $columns, args => ['--no-startup']);
  $s->expect(qr/^rly>\z/m, "a prompt of $columns columns");
  my $half = join ' + ', ('1f') x 200;
  $s->type("$half + %nobody + $half\n");
  $s->expect(qr/E0101.*rly>\z/s, 'a mistake in a line of 2,000 characters');
  my ($excerpt, $mark) = $s->shown =~ /^( +1 \| .*)\n( +\| +\^+)$/m;
  cmp_ok(length $excerpt, '<=', $columns, '... is shown in part');
  is(substr($excerpt, $-[0], $+[0] - $-[0]), '%nobody',
     '... with the carets in place') if $mark =~ /\^+/;
  $s->type("/* 日本 🚀 é */ 1 + %none\n");
  $s->expect(qr/%none`.*rly>\z/s, 'a line of wide characters');
  ($excerpt, $mark) = $s->shown =~ m{^( +1 \| /\*.*)\n( +\| +\^+)$}m;
  my $cells = 0;
  $cells += Screen::width($_) for split //, $excerpt =~ s/%none//r;
  is(index($mark, '^'), $cells, '... has carets in place');
  $s->type("\x04");
  $s->ends(0, 'leaves');
}

{
  my $s = Screen->new(columns => 60, args => ['--no-startup']);
  $s->expect(qr/^rly>\z/m, 'a prompt');
  $s->type("def \@f(%a: Tensor[(2, 3), float32], %b: List[Tensor[(4), int8]])"
           . " { %a }\n\@f(1, \@f)\n");
  $s->expect(qr/E0\d.*rly>\z/s, 'a long type');
  my ($message) = $s->shown =~ /(^<\d.*)^rly>\z/ms;
  my @long = grep { length > 60 } split /\n/, $message;
  is("@long", '', '... fits');
  unlike($message, qr/Ten\nsor|floa\nt32|in\nt8/, '... is not torn');
  $s->type("\x04");
  $s->ends(0, 'leaves');
}

# --- Editing entries of several lines ----------------------------------------

# Starts a session of that size, with a history of its own.
my $sessions = 0;
sub session {
  my (%how) = @_;
  my $state = scratch('edit' . $sessions++);
  my $s = Screen->new(args => ['--no-startup'], %how,
                      env => {XDG_STATE_HOME => $state, %{$how{env} // {}}});
  $s->expect(qr/^rly>\z/m, 'a prompt');
  return $s;
}

# What a terminal sends of a paste.
sub pasted { return "\e[200~" . ($_[0] =~ s/\n/\r/gr) . "\e[201~" }

sub leave {
  my ($s) = @_;
  $s->type("\x04");
  $s->ends(0, 'leaves');
}

my ($up, $down) = ("\e[A", "\e[B");

# As after Ctrl-Z and `fg`.
{
  my $s = session();
  $s->type('1 + 2');
  $s->expect(qr/^rly> 1 \+ 2\z/m, 'an entry');
  $s->{heard} = '';
  is(system('pkill', '-CONT', '-P', $s->{pid}), 0, 'rly is told to go on');
  $s->type(' + 4');
  $s->expect(qr/1 \+ 2 \+ 4\z/, '... with the entry');
  like($s->{heard}, qr/\e\[\?2004h\rrly> .*rly> /s,
       '... which is drawn anew');
  $s->type("\n");
  $s->expect(qr/^7\nrly>\z/m, '... and evaluated');
  leave($s);
}

{
  my $s = session(columns => 60, rows => 12);
  $s->type("def \@f(%x: int32) {\n%x +\n1\n}");
  $s->expect(qr/\{ \.\.\.   %x \+\n\{ \.\.\.   1\n\{ \.\.\. \}\z/,
             'lines are indented, and what closes is not');
  $s->type("$up$up\x05\x7f\x7f * 2 +");
  $s->expect(qr/\{ \.\.\.   %x \* 2 \+\n\{ \.\.\.   1\n/,
             'Up moves within the entry');
  $s->type("\n");
  $s->expect(qr/^\{ \.\.\. \}\nrly>\z/m,
             'Enter ends what is whole, wherever the cursor is');
  $s->type("\@f(3)\n");
  $s->expect(qr/^7\nrly>\z/m, 'as it was edited');
  $s->type("$up$up");
  $s->expect(qr/7\nrly> def.*^\{ \.\.\. \}\z/ms,
             'Up goes to earlier entries, in all their lines');
  $s->type("$up$up$up$down$down$down$down");
  $s->expect(qr/7\nrly> \@f\(3\)\z/,
             'Down to later ones, beyond the last line');
  $s->type("${down}let %a = (1,\n2");
  $s->expect(qr/rly> let %a = \(1,\n\( \.\.\.   2\z/, 'what is begun');
  $s->type("\x03");
  $s->expect(qr/\( \.\.\.   2\nrly>\z/, '... is given up by Ctrl-C');
  $s->type("5\n$up$up)\n%a\n");
  $s->expect(qr/^\(1, 2\)\nrly>\z/m, '... can be recalled and finished');
  $s->type("\@f([1, (2)]");
  $s->expect(qr/\@f\(\[1, \(2\)\]\ndef \@f\(%x: int32\)\z/,
             'a call, with its signature below');
  like($s->{heard}, qr/\e\[0;1;4m\[.*\e\[0;1;4m\]/s,
       'brackets that match are marked');
  like($s->{heard}, qr/\e\[0;1mdef/, 'keywords are bold');
  $s->type("\x03");
  $s->expect(qr/\n5\n.*\nrly>\z/s, '... given up');
  $s->type(":set de\t");
  $s->expect(qr/rly> :set depth\z/, 'a setting is completed');
  $s->type("\x03");
  $s->expect(qr/depth\nrly>\z/, '... given up');
  $s->type(":help snaps\t");
  $s->expect(qr/rly> :help snapshot\z/, '... and a command behind :help');
  $s->type("\x03");
  $s->expect(qr/snapshot\nrly>\z/, 'given up');
  $s->type(":limit ta\t");
  $s->expect(qr/rly> :limit tape\z/, '... and a limit');
  $s->type("\x03");
  $s->expect(qr/tape\nrly>\z/, '... given up');
  $s->type("re\t");
  $s->expect(qr/rly> re\nref\n.*more\z/s, 'completions stand below');
  $s->type("s");
  $s->expect(qr/rly> res\z/, '... until the next key');
  $s->type("\x03");
  $s->expect(qr/rly> res\nrly>\z/, 'given up');
  leave($s);
}

{
  my $s = session(env => {NO_COLOR => 1});
  $s->type("def \@f() { (1) }\n\@f()\n");
  $s->expect(qr/^1\nrly>\z/m, 'NO_COLOR');
  unlike($s->{heard}, qr/\e\[[0-9;]*m/, '... is heeded');
  leave($s);
}

# --- Completion by place -----------------------------------------------------

# What stands on the screen after these keys, given up then.
sub typed {
  my ($s, $keys, $pattern, $name) = @_;
  $s->type($keys);
  $s->expect($pattern, $name);
  $s->type("\x03");
  $s->expect(qr/\nrly>\z/, '... given up');
}

{
  my $s = session(columns => 60, rows => 24);
  typed($s, 'nn.batch_flatten(nn.dense(%x, ',
        qr/^nn\.dense\(data, weight, units=None, out_dtype="[^"]*"\)\z/m,
        'an operator\'s signature stands below its call');
  typed($s, "sum(1f, \t",
        qr/^axis= .*integers or None.*\nexclude= +bool, .* False\nkeep/m,
        'its attributes, with kinds and defaults');
  typed($s, "sum(1f, keepdims=T\t", qr/keepdims=True\n/, 'their values');
  typed($s, "cast(1, dtype=\"float3\t", qr/dtype="float32"\n/, 'in strings');
  typed($s, "image.resize2d(1f, size=[1, 1], method=\t",
        qr/^"bicubic" +"linear"\n"bilinear"/m, 'of a set of words');
  typed($s, "match (Some(1)) { No\t", qr/\{ None\z/,
        'constructors in patterns');
  typed($s, "match (Some(1)) { Some(%x) => 1, \t", qr/^None +Some +_\z/m,
        '... of the type of the first');
  typed($s, "match (Some(1)) { Some(%x) => sh\t", qr/=> shape_of\z/,
        '... but not after the arrow');
  mkdir scratch('files');
  spew(scratch('files/weights.rly'), '1');
  typed($s, 'import "' . scratch('files/we') . "\t", qr/weights\.rly"\z/,
        'files in strings');
  $s->type("type T { Leaf, Node(T, (int32, int8)) }\n");
  $s->expect(qr/int8\)\) \}\nrly>\z/, 'a type');
  typed($s, 'Node(Leaf', qr/\nNode\(T, \(int32, int8\)\)\z/,
        'a constructor\'s fields');
  leave($s);
}

# --- Pastes ------------------------------------------------------------------

# An entry taller than the screen is drawn right at every width, once.
my $tall = "def \@tall() {\n" . join('', map { "  let %v$_ = $_;\n" } 1 .. 300)
         . "  %v300\n}\n";
my @lines = map { /^(?:def|\})/ ? $_ : "{ ...$_" }
            map { s/^  /   /r =~ s/^(?=def)/rly> /r =~ s/^\}/{ ... }/r }
            split /\n/, $tall;
s/^\{ \.\.\.rly>/rly>/, s/^\{ \.\.\.\{/{/ for @lines;
for my $columns (30, 60, 80, 200) {
  my $s = session(columns => $columns, rows => 40);
  $s->type(pasted($tall));
  $s->expect(qr/%v300\n\{ \.\.\. \}\nrly>\z/,
             "a long paste, $columns columns", 1);
  my ($entry) = $s->all =~ /^(rly> def.*\})\nrly>\z/ms;
  is($entry, join("\n", @lines), '... is drawn line by line');
  $s->type("\@tall()\n");
  $s->expect(qr/^300\nrly>\z/m, '... and one entry');
  $s->type("$up$up");
  $s->expect(qr/\n\{ \.\.\.   %v300\n\{ \.\.\. \}\nrows 265 to 303 of 303\z/,
             '... which is recalled in part');
  $s->type($up x 50);
  $s->expect(qr/\nrows 253 to 291 of 303\z/, '... and scrolls');
  like($s->shown, qr/\A\{ \.\.\.   let %v252 = 252;\n/, '... by rows');
  is(join(' ', $s->cursor), '7 0', '... with the cursor in sight');
  $s->type("\x03");
  $s->expect(qr/%v300\n\{ \.\.\. \}\nrly>\z/, '... until it is given up');
  leave($s);
}

{
  my $s = session(columns => 60, rows => 40);
  my $line = '1f' . ' + 1f' x 400;
  $s->type(pasted($line));
  $s->type("$up\x01\n");
  $s->expect(qr/^401f\nrly>\z/m, 'a line of 2,000 characters', 1);
  my ($rows) = $s->all =~ /^rly> (1f .*)^401f/ms;
  is($rows =~ s/\n {6}//gr =~ s/\s//gr, $line =~ s/\s//gr,
     '... is drawn whole');
  leave($s);
}

{
  my $s = session(columns => 60, rows => 40);
  $s->type(pasted("let %a = 1\nlet %b = (2 +* 3\n  + 4)\n%a + 5\n"
                  . "def \@k() {\n  1 +* 2;\n  3\n}\n\n:type %a\n%a * 7"));
  my $wrong = qr/rly> let %b = \(2 \+\* 3\n\( \.\.\.   \+ 4\)\n/;
  my $first = qr/^rly> let %a = 1\n$wrong/m;
  $s->expect(qr/$first<2>.*E0004.*^rly> %a \+ 5\n6\nrly> def \@k.*E0004.*
^rly> :type %a\nint32\nrly> %a \* 7\z/ms,
             'a paste is entered line by line, the wrong lines apart');
  is(() = $s->shown =~ /error/g, 2, '... each of which is one mistake');
  $s->type("\n");
  $s->expect(qr/^7\nrly>\z/m, '... and its last line can be edited');
  $s->type(pasted("1 + 2\n3\nrly> def \@q() {\n{ ...   7\n{ ... }\n"
                  . "rly> \@q()\n7\nrly>"));
  my $defined = qr/rly> def \@q\(\) \{\n\{ \.\.\.   7\n\{ \.\.\. \}\n/;
  $s->expect(qr/rly> 1 \+ 2\n3\n${defined}rly> \@q\(\)\n7\nrly>\z/,
             'a session that is pasted loses its prompts and answers');
  leave($s);
}

# --- The pager and settings ---------------------------------------------------

{
  my $s = session(rows => 24, env => {PAGER => 'sed s/^:help.*/PAGED/'});
  $s->type(":set\n");
  $s->expect(qr/^pager      on .*\nrly>\z/m, 'what fits the screen');
  $s->type(":help\n");
  $s->expect(qr/^rly> :help\nPAGED\n.*^:quit[^\n]*\nrly>\z/ms,
             'a command\'s output that does not goes through the pager', 1);
  $s->type("ones(shape=[40, 2], dtype=\"int8\")\n:set pager off\n");
  $s->expect(qr/pager off\nrly>\z/, '... and can be kept from it');
  $s->type(":help\n");
  $s->expect(qr/^rly> :help\n:help.*^:quit[^\n]*\nrly>\z/ms, '... is whole', 1);
  $s->type(":set width 40\narange(0f, 30f, 1f)\n");
  $s->expect(qr/float32\]\n.*\n\[ 0.0.*5.0,\n  6.0.*29.0\]\nrly>\z/s,
             'values of a chosen width');
  leave($s);

  $s = session(rows => 24, env => {PAGER => 'no-such-pager'});
  $s->type(":help\n");
  $s->expect(qr/^:help.*^:quit[^\n]*\nrly>\z/ms, 'without a pager', 1);
  leave($s);
}

# --- The parts of an expression -----------------------------------------------

for my $columns (60, 80) {
  my $s = session(columns => $columns, rows => 60);
  $s->type("let %w = ones(shape=[32, 64], dtype=\"float32\");\n"
           . "def \@twice(%x: Tensor[(?, 64), float32]) { %x + %x }\n"
           . ":dbg nn.softmax(nn.relu(nn.dense(\@twice(%w), %w))"
           . " + nanf) |> sum\n");
  $s->expect(qr/^(?:.*=> .*\n){9}rly>\z/m, 'a tree');
  my ($tree) = $s->shown =~ /^((?:.*=> .*\n)+)rly>\z/m;
  my @long = grep { length > $columns } split /\n/, $tree;
  is("@long", '', "... fits $columns columns");
  like($tree, qr/^nn\..* => nanf\n└─ .* => Tensor\[\(32, 32\), float32\]
.*└─ \@twice\(%w\) => Tensor\[\(32, 64\), float32\].*
 +├─ %w => .*
.*└─ %x \+ %x => /ms, '... of all parts');
  $s->type("def \@on(%n: int32) -> int32 { \@on(%n + 1) }\n:dbg \@on(0)\n");
  $s->expect(qr/:dbg \@on\(0\)\n\z/, 'what never ends');
  $s->type("\x03");
  $s->expect(qr/\@on\(0\)\n.*%n \+ 1 => 1.*\n.*stopped after.*rly>\z/ms,
             '... is stopped, and what there was is shown');
  leave($s);
}

# --- Drawings -----------------------------------------------------------------

# Lines in Braille where colours tell them apart, and otherwise marks; nothing
# is wider than the screen, and no escape is sent where there are no colours.
for my $how ([80, {}, '[\x{2800}-\x{28ff}]'], [60, {NO_COLOR => 1}, '[*+]'],
             [60, {TERM => 'dumb'}, '[*+]'], [60, {LC_ALL => 'C'}, '[*+]']) {
  my ($columns, $env, $mark) = @$how;
  my $what = join ' ', $columns, %$env;
  my $s = session(columns => $columns, rows => 60, env => $env);
  $s->type(":plot [0f, 3f, 1f], [2f, 2f]\n");
  $s->expect(qr/(?:.*[│┤|].*$mark.*\n){2}(?:.*\n)*
                ^[ ]{12}0\ +2\n.*\[0f,\ 3f,\ 1f\].*\n.*\[2f,\ 2f\].*\nrly>\z/mx,
             "two lines: $what");
  $s->type(":hist [1, 2, 2], \@no\n:hist [1, 2, 2]\n");
  $s->expect(qr/E0102.* 1 \S[█#▌]+ 1\n.* 2 \S[█#]+ 2\n.*\nrly>\z/s,
             "bars: $what");
  $s->type(":heat List[([1f, 0f], 1f), ([0f, nanf], 2f)]\n");
  $s->expect(qr/^\.0\n.*\n +\?\?\n0 .* 1\n\.1\n.*\n1 .* 2\nrly>\z/m,
             "maps: $what");
  is("@{[grep { length > $columns } split /\n/, $s->shown]}", '', '... fit');
  $s->type("\x04");
  $s->ends(0, 'leaves');
}

# A drawing that is watched is drawn again; Ctrl-C stops what it evaluates.
for my $columns (60, 80) {
  my $s = session(columns => $columns, rows => 60);
  $s->type("let %w = 1f;\nlet %v = [0f, %w];\n:watch :plot %v, tanh(%v)\n");
  $s->expect(qr/^watch 1: .*\n +1 .*\n(?:.*\n)+.*tanh.*max 0\.7616\nrly>\z/m,
             'a watch');
  $s->type("let %w = 2f;\n");
  $s->expect(qr/2f;\nwatch 1: .*\n +2 .*\n(?:.*\n)+.*max 0\.964\nrly>\z/,
             '... is drawn again');
  $s->type("def \@on(%n: int32) -> int32 { \@on(%n) }\nlet \@n = 0;\n"
           . ":unwatch\n:watch { if (\@n > 0) { \@on(\@n) } else { 0 } }\n");
  $s->expect(qr/^watch 1: .*\n0\nrly>\z/m, 'another');
  $s->type("let \@n = 1;\n");
  $s->expect(qr/^rly> let \@n = 1;\n\z/m, '... that goes on for ever');
  $s->type("\x03");
  $s->expect(qr/interrupted.*rly>\z/s, '... is stopped');
  $s->type("40 + 2\n");
  $s->expect(qr/^42\nrly>\z/m, '... once');
  leave($s);
}

done_testing();
