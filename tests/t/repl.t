#!/usr/bin/env perl
# The prompt, driven through a pseudo terminal as a user would: each step sends
# a line when rly is ready for it, and says what must come back.
#
# A prompt can be tested with pauses, and then it fails on a busy machine and is
# slow on a fast one.  Here a line goes out when what was expected before it has
# come, so a session takes as long as it takes, and only something that never
# comes runs into a limit of time.  The terminal is real enough for Ctrl-C to be
# a signal and for the line editor to be at work.
use strict;
use warnings;
use Cwd qw(abs_path);
use lib 'tests/t';
use IPC::Open2;
use POSIX ();
use Rly;
use Test::More;

my ($to, $from, $seen, $raw, $pid);  # $raw: with its escapes

# Starts rly on a terminal of its own.  The shell must give way to it: one that
# waits dies of the Ctrl-C that is meant for rly.
sub start {
  local %ENV = (%ENV, TERM => 'dumb', INPUTRC => '/dev/null', LC_ALL => 'C',
                XDG_STATE_HOME => scratch('state'),
                XDG_CONFIG_HOME => scratch('config'));
  delete $ENV{NO_COLOR};
  $pid = open2($from, $to, 'script', '-q', '-e', '-c', "exec $ENV{RLY} @_",
               '/dev/null');
  $seen = $raw = '';
}

# Reads until what was printed since the last step matches; what it is then.
# Readline's escapes and carriage returns are left out.
sub expect {
  my ($pattern, $name) = @_;
  while ($seen !~ $pattern) {
    sysread $from, my $more, 4096 or last;
    $raw .= $more;
    $more =~ s/\e\[[?0-9;]*[A-Za-z]|\r//g;
    $seen .= $more;
  }
  ok($seen =~ $pattern, $name) or diag("found: $seen");
  my $found = $seen;
  $seen = '';
  return $found;
}

sub type {
  syswrite $to, $_[0];
}

# Types a line, and expects this before the next prompt.
sub line {
  my ($text, $pattern, $name) = @_;
  type("$text\n");
  my $found = expect(qr/^rly> $/m, $name);
  like($found, $pattern, '... and its answer');
}

sub ends {
  my ($status, $name) = @_;
  1 while sysread $from, my $rest, 4096;
  waitpid $pid, 0;
  is($? >> 8, $status, $name);
}

SKIP: {
  skip 'there is no `script`', 1 if system('command -v script >/dev/null');

  start();
  expect(qr/^rly> $/m, 'a prompt');
  line('1 + 2', qr/^3$/m, 'an expression');
  line('let %x = 20;', qr/\A.*\n(?:rly> )?\z/, 'a let says nothing');
  line('%x * 2 + %x', qr/^60$/m, 'and stays');

  type("def \@twice(%n: int32) -> int32 {\n");
  expect(qr/^\{ \.\.\.   \z/m, 'an open brace asks for more, indented');
  type("%n *\n");
  expect(qr/^\{ \.\.\.   \z/m, 'and for more');
  type("\@id(\n");
  expect(qr/^\( \.\.\.     \z/m, 'what is open is named');
  type("2)\n");
  expect(qr/^\{ \.\.\.   \z/m, 'until it is closed');
  line('}', qr/^(?!.*error)/s, 'until it is closed');
  line('@twice(%x)', qr/^40$/m, 'then the definition is there');

  line('@twice(1f)', qr/error\[E02\d\d\]/, 'a type error');
  line('1 / 0', qr/error\[E0602\]/, 'a run-time error');
  line(')', qr/error\[E0004\]/, 'a parse error');
  line('let %y = 1 / 0;', qr/error\[E0602\]/, 'a let that fails');
  line('%x', qr/^20$/m, 'none of them ends the session');

  my $loop = 'def @loop(%n: int32) -> int32 { @loop(%n + 1) }';
  line($loop, qr/^(?!.*error)/s, 'an endless loop');
  type("{ print(7); \@loop(0) }\n");
  expect(qr/^7$/m, 'that runs');
  type("\x03");
  expect(qr/interrupted\b.*^rly> $/ms, 'is stopped by Ctrl-C');
  line('%x + 1', qr/^21$/m, 'and the session goes on');

  # A product that takes a while: the kernel itself gives up.
  type("let %big = ones(shape=[5000, 5000], dtype=\"float64\");\n");
  expect(qr/^rly> \z/m, 'large operands');
  type("{ print(8); sum(nn.matmul(%big, %big)) }\n");
  expect(qr/^8$/m, 'and an operator at work on them');
  type("\x03");
  expect(qr/interrupted\b.*^rly> $/ms, 'which Ctrl-C stops');
  line('%x + 2', qr/^22$/m, 'and the session goes on');
  line('let %big = 0;', qr/^(?!.*error)/s, 'without them');

  # What can never become right ends the entry at once.
  type("{\n");
  expect(qr/^\{ \.\.\.   \z/m, 'a block begun');
  type("let %inner = 1;\n");
  expect(qr/^\{ \.\.\.   \z/m, 'goes on');
  line('let %b = %inner +* 2;',
       qr/<\d+>:3:\d+: error\[E0004\].*\n +3 \|.*\n +\| +\^\s/,
       'until an error in the middle of it');
  line('%inner', qr/error\[E0101\]/, 'nothing of it is there');

  type('1 + 1 +');
  expect(qr/1 \+ 1 \+/, 'a line begun');
  type("\x03");
  expect(qr/^rly> $/m, 'is given up by Ctrl-C');
  line('5', qr/^5$/m, 'and nothing of it remains');

  # Readline asks before it lists much; Ctrl-C is an answer.  One Tab asks: a
  # second one would be another answer, and refused with a bell.
  type("\t");
  expect(qr/Display all \d+ possibilities\?/, 'a question');
  type("\x03");
  # The answer shows the prompt again, then the line is given up.
  my $left = expect(qr/rly> .*^rly> \z/ms, 'is given up by Ctrl-C');
  ok($left !~ /\a/, 'without a bell');
  line('6', qr/^6$/m, 'and the prompt answers');
  type("\x12");
  expect(qr/reverse-i-search/, 'a search in the history');
  type("\x03");
  expect(qr/rly> .*^rly> \z/ms, 'is given up by Ctrl-C, too');
  line('7', qr/^7$/m, 'and the prompt answers');

  line(':type @twice', qr/^fn \(int32\) -> int32$/m, ':type');
  line(':type 1 / 0', qr/^int32$/m, ':type does not evaluate');
  line(':type 1 + ', qr/error\[E0004\]/, ':type of half an expression');
  line(':type let %z = 1;', qr/expect/, ':type of a let');
  line('%z', qr/error\[E0101\]/, 'leaves nothing behind');
  line(':doc add', qr{^add\(lhs, rhs\)\n  Sum.*^  formula: lhs \+ rhs$}ms,
       ':doc');
  # Breakpoints of entries to come, and what is seen there.
  line('def @walk(%n: int32) -> int32 { let %m = %n - 1; '
           . 'if (%m == 0) { 7 } else { @walk(%m) } }',
       qr/^(?!.*error)/s, 'a function to stop in');
  line(':break @walk if %n == 2', qr/^(?!.*no %name)/s, ':break @f if EXPR');
  line(':break @walk if', qr/FILE:LINE/, 'half of one');
  line(':break', qr/^1  \@walk if %n == 2$/m, ':break lists them');
  type("\@walk(4)\n");
  expect(qr/stopped: breakpoint \@walk if %n == 2\n.*step> \z/s,
         'it stops where the condition holds');
  type("where\n");
  expect(qr/^>  0  \@walk at .*\n +%n = 2 \(int32\)\n.*step> \z/ms, 'where');
  type("%n * 100\n");
  expect(qr/^200\n.*step> \z/ms, 'an expression there');
  type("goto 2\n");
  expect(qr/^2 \w+ .*step> \z/ms, 'goto');
  type("wander\n");
  expect(qr/wander.*step> \z/s, 'an unknown word');
  type("quit\n");
  expect(qr/^rly> \z/m, 'quit leaves the entry out');
  type("\@walk(4)\n");
  expect(qr/step> \z/, 'it stops again');
  type("run\n");
  expect(qr/^7\n.*^rly> \z/ms, 'run goes on to the value');
  line(':delete 1', qr/^(?!.*no breakpoint)/s, ':delete');
  line('@walk(4)', qr/^7$/m, 'and nothing stops');

  line(':doc none', qr{nothing is called `none` here},
       ':doc of what there is not');
  line(':ops', qr{^add +Sum.*^topk +The}ms, ':ops');
  line(':help', qr/^:load FILE +\S.*^:quit +\S/ms, ':help');
  line(':nonsense', qr/no command/, 'no such command');

  my $file = spew(scratch('more.rly'),
                  "def \@three() -> int32 { 3 }\n\@three() * 10;\n");
  line(":load $file", qr/^30$/m, ':load runs a file');
  line('@three()', qr/^3$/m, 'and its definitions stay');
  line(qq(:load "$file"), qr/^30$/m, '... and one in quotes');
  {
    my ($home, $name) = $file =~ m{(.*)/(.*)};
    local $ENV{HOME} = abs_path($home);
    gives(rly({in => ":load '~/$name'\n"}, 'repl'), 0, "30\n", '',
          '... and one of the home');
  }
  line(':load ' . scratch('none.rly'), qr/error\[E0501\]/,
       'a file that there is not');
  type(":quit\n");
  ends(0, ':quit');

  start();
  expect(qr/^rly> $/m, 'another session');
  type("\x10");
  expect(qr/:quit\z/, 'knows what was typed in the first');
  type("\x03");
  expect(qr/^rly> \z/m, 'which was not asked for');

  # A paste in brackets is one input; what is recalled is the whole of it.
  my $pasted = join "\r", 'def @pasted() -> int32 {',
                          (map { "  let %v$_ = $_;" } 1 .. 28), '  %v28', '}';
  type("\e[200~$pasted\e[201~\n");
  expect(qr/^rly> \z/m, 'a paste of thirty lines');
  line('@pasted()', qr/^28$/m, '... is one entry');
  type("\x10\x10");
  expect(qr/let %v28 = 28;\^J  %v28\^J\}\z/, '... and recalled as one');
  type("\x03");
  expect(qr/^rly> \z/m, '... and given up as one');

  type("nn.conv1d(%x, dila\t");
  expect(qr/dilation=\z/, 'an attribute is completed');
  type("\x03");
  expect(qr/^rly> \z/m, 'given up');
  type("\@paste\t()\n");
  expect(qr/\@pasted\(\)\s+28\s+rly> \z/, 'a name of our own is completed');
  type("\x04");
  ends(0, 'the end of input leaves');

  # The stepper: its own prompt, back and forth, on copies of what there is.
  start();
  expect(qr/^rly> \z/m, 'a session to step in');
  my $step = qr/^step> \z/m;
  line('let %c = ref(2);', qr/\A/, 'with a cell');
  type(":step ref_write(%c, ref_read(%c) * 3)\n");
  expect(qr/folded: names 2\).*^3 ref_read .*holds 2 .*$step/ms,
         ':step passes over names at first');
  for (['', qr/^4 operator .*2 \(int32\) and 3 \(int32\) gives 6 /ms,
        'Enter goes on'],
       ['s', qr/^5 ref_write .*cell#1 = 2 -> 6/ms, 'to the write'],
       ['back 2', qr/^4 operator .*^3 ref_read /ms, 'back'],
       ['cells', qr/^cell#1 = 2\r?$/m, 'where the cell is as it was'],
       ['run', qr/^value after 5 steps\n\(\)\n/m, 'and forth to the end'],
       ['back', qr/^5 ref_write /m, 'and back from there']) {
    type("$_->[0]\n");
    like(expect($step, $_->[2]), $_->[1], '... and what it shows');
  }
  type("\x03");
  expect($step, 'Ctrl-C gives up a line alone');
  type("quit\n");
  expect(qr/^rly> \z/m, 'quit leaves the stepper');
  line('%c', qr/^ref\(2\)$/m, 'and the session is as it was');
  type(":step { let %n = ref(0); \@loop(%n) }\n");
  expect(qr/^rly> \z/m, 'what is refused is not stepped through');
  type("def \@loop(%n: int32) -> int32 { \@loop(%n + 1) }\n");
  expect(qr/^rly> \z/m, 'an endless loop');
  type(":step { print(7); print(8); \@loop(0) }\n");
  expect($step, 'is stepped through');
  type("run\n");
  expect(qr/^8\n/m, 'and run');
  type("\x03");
  expect(qr/^stopped after \d+ steps: interrupted\n$step/m,
         'until Ctrl-C, which is said');
  type("\x04");
  expect(qr/^rly> \z/m, 'the end of input leaves the stepper');
  type("\x04");
  ends(0, 'and then the prompt');

  # The start-up file; a copy of the session names itself; trees in ASCII;
  # no colours.
  mkdir scratch('config');
  mkdir scratch('config/rly');
  spew(scratch('config/rly/startup.rly'), "def \@four() { 4 }\n)\n");
  start();
  expect(qr/startup\.rly:2:1: error\[E0004\].*^rly> \z/ms,
         'an error in the start-up file does not stop the prompt');
  line('@four()', qr/^4$/m, '... which has its definitions');
  $raw = '';
  line('(ones(shape=[2, 2], dtype="int8"), 1)',
       qr/^\|- Tensor\[\(2, 2\), int8\]  4 elements.*^`- 1$/ms, 'a tree');
  unlike($raw, qr/\e\[\d*m/, '... without colours on a dumb terminal');
  type(":fork try\n");
  expect(qr/^try> \z/m, 'a copy');
  type(":fork main\n");
  expect(qr/^rly> \z/m, 'and back');
  type("\x04");
  ends(0, 'leaves');

  my $script = spew(scratch('script.rly'), "let %s = 11;\n%s + 1;\n");
  start('--no-startup', '--threads', '1');  # no file, a terminal: the prompt
  expect(qr/^rly> \z/m, 'without the start-up file');
  line('@four()', qr/error\[E0102\]/, '... nothing of it is there');
  type("\x04");
  ends(0, 'leaves');

  # A param without a value is in the way of its uses alone.
  my $scale = spew(scratch('scale.rly'),
                   "param \@x: Tensor[(?), float32];\n"
                   . "def \@double() { \@x * 2f }\nprint(\@x);\n");
  start('run', '-i', $scale);
  expect(qr/error\[E0503\].*^rly> $/ms, 'run -i: a value is missing');
  line('1 + 1', qr/^2$/m, '... for what uses it');
  line('@double()', qr/error\[E0503\]/, '... which is refused');
  line(':param x = [1, 2, 3, 4]', qr/^rly> \z/m, '... until it is given');
  unlike($raw, qr/\[1.0, 2.0, 3.0/, '... and nothing refused runs later');
  line('@double()', qr/\[2.0, 4.0, 6.0, 8.0\]/, '... and has its value');
  line(':param x = [5]', qr/^rly> \z/m, 'another value');
  line('@double()', qr/\[10.0\]/, '... is that of all uses');
  line(':param x = [[5]]', qr/error\[E0504\]/, 'one that does not fit');
  line('@double()', qr/\[10.0\]/, '... changes nothing');
  line(':param y = 1', qr/nothing named `y`/, 'no such param');
  line(":load $scale x=[7, 8]", qr/^rly> \z/m, 'a value after a file');
  line('@double()', qr/\[14.0, 16.0\]/, '... is bound');
  type("\x04");
  ends(0, 'leaves');

  start('run', '-i', $script);
  expect(qr/^12\n.*^rly> $/ms, 'run -i runs the script first');
  line('%s', qr/^11$/m, 'and has its names');
  type("\x04");
  ends(0, 'and leaves');

  my $broken = spew(scratch('broken.rly'),
                    "let %s = 11;\nlet %t = %s / 0;\nprint(%s);\n");
  start('run', '-i', $broken);
  expect(qr/error\[E0602\].*^rly> $/ms, 'run -i: a script that fails');
  line('%s', qr/^11$/m, '... leaves what it had computed');
  line('%t', qr/error\[E0108\]/, '... and nothing else');
  line('%s + 1', qr/\n12\r?\n/, '... and none of its items runs again');
  unlike($raw, qr/\n11\r?\n.*\n11\r?\n/s, '... those after it neither');
  type("\x04");
  ends(2, '... and fails in the end');
}

# Results have names: the newest that was reached is %it.
gives(rly({in => "1 + 2\n%it * 2\n1 / 0\n%_1 + %it\nNil\nprint(4)\n%it\n"
               . "fn (%x: int32) { %x + %_2 }\n%it(1)\n"}, 'repl'), 0,
      "3\n6\n9\nNil\n4\n9\n<fn (int32) -> int32>\n7\n", qr/E0602/,
      'results have names');

# --- Commands ---------------------------------------------------------------

my $more = spew(scratch('commands.rly'), "def \@four() { 4 }\n");
my $saved = scratch('saved.rly');
my $editor = spew(scratch('editor'), "#!/bin/sh\necho '40 + 2;' > \"\$1\"\n");
chmod 0755, $editor;
$ENV{VISUAL} = $editor;
gives(rly({in => ":load $more\n:info \@four\n:info Cons\n:info \@hd\n"
               . ":info relu_\n:bytecode \@four\n:apropos logarithm\n"},
          'repl'), 0, qr/^\@four\ :\ fn\ \(\)\ ->\ int32\n\ \ effects:\ pure\n
           .*commands\.rly:1:5$
           .*^type\ List\[A\]\ \{\n\ \ Cons\(A,\ List\[A\]\),\n\ \ Nil,\n\}
           .*^\@hd\ :\ fn\ \[A\]\(List\[A\]\)\ ->\ A\n\ \ effects:\ may\ fail$
           .*^\@four:.*imm.*4.*^log\ .*^nn\.log_softmax\ /msx,
      qr/nothing is called `relu_`/, ':info, :bytecode, :apropos');
gives(rly({in => "let %x = 3;\n%x + 1 // four\n1 / 0\n%z\n"
               . ":save $saved\n:save $saved\n:edit\n:time 1 + 1\n"
               . ":load $more\n:reload\n\@four()\n:bench \@four\n"}, 'repl'),
      0, qr/^4\n42\n2\n[\d.e+-]+ .s\n4\nmin .*median .*calls\)\n\z/,
      qr/E0602.*E0101.*File exists/s, ':save, :edit, :time, :reload, :bench');
gives(rly('run', $saved), 0, "4\n", '', 'what was saved runs');
{
  my $folder = scratch('temporary');
  mkdir $folder or die;
  local $ENV{VISUAL} = 'echo';
  for (["\Q$folder\E", $folder], ["/tmp", "$folder/a b"], ["/tmp", 'below']) {
    my ($in, $given) = @$_;
    local $ENV{TMPDIR} = $given;
    gives(rly({in => ":edit\n"}, 'repl'), 0,
          qr{^$in/rly-edit-\w{6}\.rly\n\z}, '',
          "the editor's file is in $in for TMPDIR=$given");
  }
  is_deeply([glob "$folder/*"], [], '... and removed');
}
my $point = scratch('point.rly');
gives(rly({in => "type P { P(x: int32) }\nlet %p = P(4);\n%p.x\n"
               . ":save $point\n"}, 'repl'), 0, "4\n", '', 'a field');
is(slurp($point) =~ s/\A.*\n\n?(?=.*\n\z)//sr, "%p.x;\n",
   'is saved as it was written');

# What was defined anew keeps a name of its own where something was evaluated
# with it; what was loaded is an import.
my $again = scratch('again.rly');
gives(rly({in => "def \@n() { 1 }\n\@n()\ndef \@n() { 2 }\n:load $more\n"
               . ":reload\ntype T { A }\ntype T { A, B }\n\@n() + \@four()\n"
               . ":save $again\n"}, 'repl'), 0, "1\n6\n", '',
      'a longer session');
gives(rly('run', $again), 0, "1\n6\n", '', 'runs as one text');

my $cut = spew(scratch('cut.rly'), "1 +\n");
gives(rly({in => "2 + 2\n"}, 'run', '-i', $cut), 1, "4\n", qr/E0004/,
      'a script that is refused leaves a prompt without names');
# Results that are named are lets, and of a file that no longer is what it was
# there is the text that still holds.
my $base = spew(scratch('base.rly'), "def \@f() { 1 }\n// of f\n"
                                     . "def \@g() { \@f() + 1 }\n");
my $whole = scratch('whole.rly');
$again = scratch('again2.rly');
my $lines = "\@g() // two\n%it * 3\n%it + %_1\nlet %x = %it\n"
            . "(%0 = 1 + 1; %0 * %0)\n%it\n";
gives(rly({in => $lines . ":save $whole\ndef \@f() { 10 }\n\@g()\n"
                 . ":save $again\n"}, 'run', '-i', $base),
      0, "2\n6\n8\n4\n4\n11\n", '', 'results are named');
gives(rly('run', $whole), 0, "2\n6\n8\n4\n4\n", '', 'and saved');
like(slurp($whole), qr/^import ".*base\.rly";$/m, 'with the file');
gives(rly('run', $again), 0, "2\n6\n8\n4\n4\n11\n", '',
      'which is text where a definition took the place of one of its own');
like(slurp($again), qr{\Adef \@f_1\(\) \{ 1 \}\n\n?// of f\ndef \@g\(},
     'and all of it stays');
# Each print comes back, whichever definition it was made with.
my $versions = <<'END';
def @f(%x: int32) -> int32 { %x + 1 }
def @g(%x: int32) -> int32 { @f(%x) * 2 }
let @n = @g(1)
@g(1)
def @f(%x: int32) -> int32 { %x + 100 }
@g(1) + @n
let @n = 5
@n + %it
def @f(%x: int32) -> int32 { %x + 1000 }
@g(1)
def @f_1() { 8 }
def @g(%x: int32) -> int32 { 7 }
@g(@f(2)) + @f_1()
END
my $kept = scratch('kept.rly');
gives(rly({in => "$versions:save $kept\n"}, 'repl'), 0,
      "4\n206\n211\n2002\n15\n", '', 'functions and values, entered anew');
gives(rly('run', $kept), 0, "4\n206\n211\n2002\n15\n", '',
      'are saved with the definitions that each entry had');
my $stale = scratch('stale.rly');
gives(rly({in => "def \@f() { 1 }\ndef \@g() { \@f() + 1 }\n"
                 . "def \@f() { 2f }\n\@g()\n:save $stale\n"}, 'repl'),
      0, "2\n", qr/W0003/, 'a function that goes on with the one before');
gives(rly('run', $stale), 0, "2\n", '', 'does so when it was saved');
gives(rly({in => "type T { A }\nA\ntype T { B }\n:save "
                 . scratch('again3.rly') . "\n"}, 'repl'), 0, "A\n",
      qr/written, but does not run as it is:.*E0103/s,
      'what cannot be replayed is told');

# A file that was used and then loaded again.
my $loaded = spew(scratch('loaded.rly'), "def \@q() { 1 }\n");
my $reloaded = scratch('reloaded.rly');
gives(rly({in => ":load $loaded\n\@q()\n:reload\n\@q() + 1\n"
                 . ":save $reloaded\n"}, 'repl'), 0, "1\n2\n", '',
      'a file is used, and loaded again');
gives(rly('run', $reloaded), 0, "1\n2\n", '',
      '... which :save keeps both ways');

# What is no expression has no effect; what is stepped through has one where it
# defines something.
my $stepped = scratch('stepped.rly');
my $shown = <<'END';
(1, ref(1))
ref_write(@c, 8) => ()  [writes]
└─ @c => ref(1)
ref(1)
let %a = 2 => 2
(2, 12)
END
my $steps = <<"END";
def \@f() { 1 }
let \@c = ref(1);
:plot def \@f() { 2 }
:bench let %r = ref_write(\@c, 7);
(\@f(), \@c)
:dbg ref_write(\@c, 8)
\@c
:dbg let %a = 2;
def \@g() { \@f() + 10 }
:dbg def \@f() { 2 }
(%a, \@g())
:save $stepped
END
gives(rly({in => $steps}, 'repl'), 0, $shown, qr/(?:E0506.*){2}/s,
      'what is no expression has no effect');
gives(rly('run', $stepped), 0, qr/\(2, 12\)$/, '',
      ':save keeps what :dbg defined');
gives(rly({in => "let \@a = ref(1);\n:set \@a 5\n:reset \@a\n\@a\n"}, 'repl'),
      0, "ref(5)\n", qr/^:reset: takes no words/,
      ':reset gives all cells their values');

# Without a terminal there is neither a prompt nor a greeting.
gives(rly({in => "1 + 1\n:type 2f\n3 +\n 4\n"}, 'repl'), 0,
      "2\nfloat32\n7\n", '', 'the prompt without a terminal');
gives(rly({in => ":type \@map\n:type fn (%x) { %x }\n:type Cons\n"}, 'repl'), 0,
      "fn [A, B](fn (A) -> B, List[A]) -> List[B]\nfn [A](A) -> A\n" .
          "fn [A](A, List[A]) -> List[A]\n", '',
      ':type shows what is polymorphic with its parameters');
gives(rly({in => ":type \@set_row\n:type \@set_row + 1\n"}, 'repl'), 0,
      "fn [T: Dim, s: Shape, d: DType](Tensor[(T, s...), d], int32, "
          . "Tensor[s, d]) -> Tensor[(T, s...), d]\n", qr/E0202.*set_row \+ 1/s,
      '... and where the call decides shapes, what is declared');
gives(rly({in => ":type add\n:type nn.relu\n"}, 'repl'), 0,
      "add(lhs, rhs)\n  type: (a..., t), (b..., t) -> (a ^ b, t)\n"
          . "nn.relu(data)\n  type: (d..., t) -> (d..., t), t numeric\n", '',
      '... and of an operator its rule');
gives(rly({in => "plot([1f])\ntype 3\nhelp\ntype A { B {} }\n"}, 'repl'), 0,
      '', qr/is :plot \[F.svg\].*is :type EXPR\n(?!.*command is)/s,
      'a command without its colon');
gives(rly({in => "let %w = 1;\n:bytecode %w\n:bytecode \@set_row\n"}, 'repl'),
      0, '', qr/^`%w` is no function\n`\@set_row` has instructions only for /,
      ':bytecode says why there is none');
# What a later entry does to function types holds for earlier functions, too.
gives(rly({in => <<'END'}, 'repl'), 0, "6f\n", qr/E0603.*the result's \(3\)/,
def @any(%x: Tensor[(?), float32]) -> Tensor[(?), float32] { %x }
def @use(%f: fn () -> Tensor[(3), float32]) -> float32 { sum(%f()) }
@use(fn () { [1f, 2f, 3f] })
@use(fn () { @any([1f, 2f]) })
END
      'a function of an earlier entry checks what it is given');
gives(rly({in => "1 / 0\n5\n"}, 'repl'), 0, "5\n", qr/E0602/,
      'errors do not end it either');

done_testing();
