#!/usr/bin/env perl
# rly opt: passes over programs.  What docs/PASSES.md says of each pass, what no
# pass may do, and that programs of the language's suite run to the same results
# after each of them: each pass a part of the suite, `make sweep` the whole.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $path = scratch('p.rly');
my $made = scratch('made.rly');

sub opt {
  my ($program, @flags) = @_;
  return rly('opt', @flags, spew($path, $program));
}

my @passes = grep { /^[A-Z]/ } map { /^(\S+)/ }
             split /\n/, rly('passes')->{out};
cmp_ok(scalar @passes, '>=', 5, 'there are passes');

# --- Each pass's page ---------------------------------------------------------

my $page = slurp('docs/PASSES.md');
my %section = $page =~ /^## (\w+)\n(.*?)(?=^## |\z)/gms;
is_deeply([sort keys %section], [sort @passes], 'each pass has its section');
my %needs = map { ($_ => ['--fast-math']) }
            qw(FoldScaleAxis FoldBatchNorm ToMixedPrecision);
$needs{$_} = ['--rules', 'tests/rules/page.rly'] for qw(ApplyRules Saturate);
for my $pass (sort keys %section) {
  my ($before, $after) = $section{$pass} =~ /^```relay\n(.*?)^```$/gms;
  my @flags = ('--passes', $pass, @{$needs{$pass} // []});
  gives(opt($before, @flags), 0, $after, '', "$pass: the example");
  gives(opt($after, @flags), 0, $after, '', "$pass: done is done");
  like($section{$pass}, qr/must not/, "$pass: what it must not do");
}

# --- What no pass may do ------------------------------------------------------

# A function's body stays as it is, up to names and types; but for passes that
# are there to write programs in another form.
my %writes_anew =
  map { ($_ => 1) } qw(ToANormalForm ToGraphNormalForm LambdaLift
                       Defunctionalization);
sub stays {
  my ($body, $name) = @_;
  my $program = "def \@f(%c: Ref[int32], %x: int32, %g: fn () -> int32)" .
                " -> int32 {\n  $body\n}\n";
  my $plain = opt($program, '-O0')->{out};
  for my $pass (grep { !$writes_anew{$_} } @passes) {
    gives(opt($program, '--passes', $pass), 0, $plain, '', "$pass: $name");
  }
}
stays('let %a = ref_read(%c); ref_write(%c, 2); let %b = ref_read(%c);
  %a + %b', 'two reads are two');
stays('let %a = ref(%x); let %b = ref(%x); ref_write(%a, 2);
  ref_read(%b) + ref_read(%a)',
      'two cells are two');
stays('let %a = %x / %x; %x', 'what may fail stays');
stays('let %a = %g(); %x', 'a function that is given may do anything');
stays('print("a"); print("a"); %x', 'what prints, prints twice');
stays('let %r = fn (%n: int32) -> int32 { if (%n == 0) { 0 } else { %r(%n) } };
  %r(%x); %x', 'what may not end stays');
stays('let %a = arange(0, %x, 1); let %b: Tensor[(2), int32] = %a; %x',
      'what the run compares with an annotation stays');
stays('let %a = if (%x > 0) { let %p = %x + 1; %p } else { 0 };
  let %b = if (%x > 1) { let %q = %x + 1; %q } else { 1 };
  %a + %b', 'branches have names of their own');

# Functions that are joined by `and` stay together, with what they use.
my $joined = "def \@f(%x: int32) -> int32 {\n  let %y: int32 = %x + 1;
  let %a = fn () -> int32 { %y } and %b = fn () -> int32 { 1 };\n  %x\n}\n";
is(opt($joined, '--passes', 'DeadCodeElimination')->{out},
   opt($joined, '-O0')->{out}, 'joined functions keep what they use');

# The order of what can be noticed, in A-normal form too.
my $order = 'def @say(%n: int32) -> int32 { print("say"); %n }
def @f(%c: Ref[int32]) -> int32 {
  ref_read(%c) + { ref_write(%c, 5); ref_read(%c) } * @say(ref_read(%c))
}
let @c = ref(2);
@f(@c);
';
my $result = rly(spew($path, $order));
for my $flags (['-O1'], ['-O2'], ['--passes', 'ToANormalForm']) {
  spew($made, opt($order, @$flags)->{out});
  gives(rly($made), 0, $result->{out}, '', "@$flags keeps the order");
}
is($result->{out}, "Tensor[(3), uint8] [115, 97, 121]\n27\n",
   'which is 2 + 5 * 5');

# A graph variable is placed by its uses: what it does stays, used or not.
my $graph = 'def @say(%n: int32) -> int32 { print("say"); %n }
def @f(%c: bool) -> int32 {
  %0 = @say(5);
  let %unused = %0 + 1;
  if (%c) { %0 * 2 } else { 0 }
}
@f(False); @f(True);
';
my $said = rly(spew($path, $graph))->{out};
for my $flags (['-O2'], map { ['--passes', $_] } @passes) {
  spew($made, opt($graph, @$flags)->{out});
  gives(rly($made), 0, $said, '', "@$flags: graph variables");
}

# --- The command --------------------------------------------------------------

my $small = "def \@f(%x: int32) { let %a = %x + 1; %x }\n";
gives(rly('opt', '--dump-pipeline', '-O2', '--passes', 'ToANormalForm'), 0,
      "ToANormalForm\n", '', '--passes wins over a level');
gives(rly('opt', '--dump-pipeline', '-O0'), 0, '', '', '-O0 runs none');
is(rly('opt', '--dump-pipeline')->{out}, rly('opt', '--dump-pipeline',
   '-O1')->{out}, '-O1 is the default');
like(opt($small, '--print-changed')->{out},
     qr/^\/\/ --- DeadCodeElimination\n\@\@ .*^-   let %a: int32 = %x \+ 1;$/ms,
     '--print-changed names the pass and shows its lines');
unlike(opt($small, '--print-changed')->{out}, qr/ToANormal|RemoveUnused/,
       'and no pass that changes nothing');
like(opt($small, '--print-changed', '--color', 'always')->{out},
     qr/^\033\[31m-/m, 'in colour');
like(opt($small, '--print-before', 'all', '--passes', 'DeadCodeElimination')
     ->{out}, qr/^\/\/ --- before DeadCodeElimination\ndef/, '--print-before');
like(opt($small, '--print-after', 'DeadCodeElimination')->{out},
     qr/\A\/\/ --- after DeadCodeElimination\n.*\{ %x \}\n\z/,
     '--print-after');
like(opt($small, '--time-passes')->{err},
     qr/ ms  DeadCodeElimination  \(1 rewrites\)$/m,
     '--time-passes');
gives(rly({in => $small}, 'opt', '-'), 0,
      "def \@f(%x: int32) -> int32 { %x }\n", '', 'of stdin');

# The diff: hunks with three lines around.  GNU diff is what it must agree with
# where lines are unique.
my $long = join '', map { "let \@x$_ = $_;\n" } 1 .. 40;
my $whole = opt($long, '-O0')->{out};
my $sed = q(sed -e '5d;20d;21d;40d' -e 's/ 30;/ 31;/');
my $diff = opt($long, '--exec', $sed, '--print-changed')->{out};
spew(scratch('was'), $whole);
my ($was, $is) = (scratch('was'), scratch('is'));
system "$sed $was >$is";
my $gnu = `diff -U3 $was $is | tail -n +3`;
$gnu =~ s/^([-+ ])/$1 /mg;
$diff =~ s/^.*\n//;
is($diff, $gnu, 'the diff is that of diff -u');

my $json = rly('opt', '-O2', '--json', '--time-passes', spew($path, $small));
like($json->{out}, qr/"pass":\ "DeadCodeElimination",\ "changed":\ true,
                      \ "rewrites":\ 1,\ "milliseconds":\ [\d.]+\}/x, '--json');
is($json->{err}, '', 'and nothing on stderr');
SKIP: {
  my $load = 'import json, sys; print(json.load(sys.stdin)["text"], end="")';
  my $python = `python3 -c '$load' <<'END' 2>/dev/null
$json->{out}
END`;
  skip 'no python3', 1 if $?;
  is($python, opt($small, '-O2')->{out}, 'the JSON holds the text');
}

# --- Verification -------------------------------------------------------------

# Each kind of sample: what the function does with it is seen.
my $kinds = 'type Tree { Leaf, Node(Tree, int32, Tree) }
def @depth(%t: Tree) -> int32 {
  match (%t) { Leaf => 0, Node(%l, %x, %r) => @depth(%l) + @depth(%r) + 1 } }
def @a(%x: Tensor[(2, ?), float32]) { %x + 1f }
def @b[n: Dim](%x: Tensor[(n,), uint8], %y: Tensor[(n,), uint8]) { %x + %y }
def @c(%c: Ref[int32]) { ref_write(%c, 1); ref_read(%c) + 1 }
def @d(%x: (int32, List[bool])) { %x.0 + 1 }
param @w: Tensor[(3,), float32];
def @e() { @w + 1f }
';
gives(opt($kinds, '-O2', '--verify'), 0, opt($kinds, '-O2')->{out}, '',
      '--verify of what passes may do');
is(opt($kinds, '--verify', '--exec', "sed 's/+ 1/+ 2/'")->{status}, 1,
   '--verify sees a wrong pass');
for my $f (qw(a b c d e)) {
  my $bad = qq(perl -0pe 's/(def .$f\\b.*?)\\+/\$1-/s');
  gives(opt($kinds, '--verify', '--exec', $bad), 1, '',
        qr/error\[E0520\].*\n.*before: \@$f \d: .*\n.*after: +\@$f \d: /,
        "and what is wrong in \@$f");
}

# --- Commands as passes -------------------------------------------------------

SKIP: {
  skip 'no python3', 2 if system 'python3 -c 1 2>/dev/null';
  my $pass = spew(scratch('pass.py'), "import re, sys\n" .
                  "print(re.sub(r'\\b1\\b', '2', sys.stdin.read()), end='')\n");
  gives(opt($small, '-O1', '--exec', "python3 $pass"), 0,
        "def \@f(%x: int32) -> int32 { %x }\n", '', 'a pass in Python');
  gives(opt($small, '--exec', "python3 $pass"), 0,
        opt($small =~ s/1/2/r, '-O0')->{out}, '', 'alone, without -O1');
}
gives(opt($small, '--exec', 'cat; echo note >&2'), 0,
      opt($small, '-O0')->{out}, "note\n", 'what it says is passed on');
gives(opt($small, '--exec', 'echo why >&2; exit 3'), 1, '',
      qr/error\[E0520\]: `.*` ended with status 3\n.*it said: why/,
      'that fails');
gives(opt($small, '--exec', 'kill -9 $$'), 1, '', qr/ended by Killed/, 'dies');
gives(opt($small, '--timeout', 1, '--exec', 'sleep 100'), 3, '',
      qr/error\[E0703\]: time limit of 1 s reached: `sleep 100` did not end/,
      'does not end');
gives(opt($small, '--exec', 'echo "def @f("'), 1, '',
      qr/error\[E0520\]: the text that `.*` made is refused.*error\[E00/s,
      'writes no program');
gives(opt($small, '--safe', '--exec', 'cat'), 1, '',
      qr/--safe runs no commands/, 'never under --safe');
gives(opt($small, '--safe', '--reduce', 'true'), 1, '',
      qr/--safe runs no commands/, '--reduce neither');
my $big = "def \@f() { 1 }\n" . join '', map { "let \@x$_ = $_;\n" } 1 .. 20000;
is(opt($big, '--exec', 'cat')->{out}, opt($big, '-O0')->{out},
   'texts longer than a pipe holds');
is(opt($big, '--exec', 'echo 1\;')->{out}, "1;\n", 'that reads nothing');

# --- Bisection and reduction --------------------------------------------------

# A wrong pass of the table: there is none, so a command that counts.
my $count = spew(scratch('count.pl'), <<'END');
my $most = $ENV{RLY_REWRITES} // 1e9;
local $/;
my $text = <STDIN>;
my $n = 0;
$text =~ s{(%\w+) \+ (%\w+)}{
  $n++ >= $most ? $& : $n == 4 ? "$1 - $2" : "$2 + $1" }ge;
print $text;
END
my $sums = "def \@f(%x: int32, %y: int32) {\n" .
           join('', map { "  let %a$_ = %x + %y;\n" } 1 .. 6) .
           '  (' . join(', ', map { "%a$_" } 1 .. 6) . ")\n}\n";
gives(opt($sums, '--bisect', '--exec', "perl $count"), 1,
      qr/^pass\ 1,\ perl\ .*:\ rewrite\ 4\ changed\ what
         .*^-\ +let\ %a4.*^\+\ +let\ %a4:\ int32\ =\ %x\ -\ %y;/msx,
      '', '--bisect names the rewrite');
gives(opt($sums, '--bisect', '-O2'), 0,
      "no pass changed what the program does\n", '', 'where there is none');
SKIP: {
  skip 'a command has less memory than a sanitizer maps', 4
    if $ENV{MODE} =~ /^[at]san$/;
  my $fails = "$ENV{RLY} opt --verify --exec 'perl $count' {} >/dev/null";
  my $reduced = opt($sums, '--reduce', $fails);
  is($reduced->{status}, 0, '--reduce');
  like($reduced->{err}, qr/^\d+ nodes of \d+ are left, after \d+ trials$/,
       'says what is left');
  is(rly('check', spew($path, $reduced->{out}))->{status}, 0, 'which checks');
  is(system("$ENV{RLY} opt --verify --exec 'perl $count' $path >/dev/null 2>&1")
     >> 8, 1, 'and still fails');
}
for (['nosuchcommand {}', 'no such command'], ['/ {}', 'not executable']) {
  my ($command, $why) = @$_;
  gives(opt($small, '--reduce', $command), 1, '',
        qr/error\[E0506\]: `.*` cannot be run: .*$why/,
        "--reduce with $command");
}
gives(opt($small, '--timeout', 1, '--reduce', 'sleep 100; false {}'), 3, '',
      qr/^error\[E0703\]: time limit of 1 s reached: `sleep 100; .*not end$/,
      '--reduce with a command whose first run does not end');
# A trial that does not end in time does not count, so the 7 stays.
my $slow = 'grep -q 7 {} && exit 1; sleep 60; exit 1';
my @reduce = ("let \@k = 7;\n(5, 6);\n", '--reduce', $slow, '--trial-timeout');
my $kept = "let \@k: int32 = 7;\n";
gives(patiently(sub { opt(@reduce, $_[0]) }, sub { $_[0]{out} eq $kept }),
      0, $kept, qr/^1 nodes of 4 are left/, 'a trial may take so long');
# A plain value has the fewest levels, whichever constructor comes first; a
# longer one would be found in it again and again.
gives(opt(<<'END', '--reduce', '! grep -q ref_write'), 0,
type Log { Entry(int32, Log), Empty }
def @main() {
  let %log = ref(Empty);
  ref_write(%log, Entry(2, ref_read(%log)));
  ref_read(%log)
}
END
      <<'END', qr/^5 nodes of 12 are left/, 'plain values are small');
type Log { Entry(int32, Log), Empty }

def @main() -> () { ref_write(ref(Empty), Empty) }
END
# What a definition defines stays a function, though a part of it, which is no
# `fn`, has the same type.
gives(opt(<<'END', '--reduce', '! grep -q ref_read'), 0,
def @f(%n: int32) -> int32 {
  let %r = ref(fn (%x: int32) -> int32 { %x });
  ref_read(%r)(%n)
}
@f(1)
END
      qr/\Adef \@f\(.*ref_read\(ref\(.*\n\z/, qr/^\d nodes of 11 are left/,
      'a definition stays one');
gives(opt(<<'END', '--reduce', '! grep -q ref_read'), 0,
let %f = fn (%n: int32) -> int32 {
  let %r = ref(fn (%x: int32) -> int32 { %x });
  ref_read(%r)(%n)
};
%f(1)
END
      qr/\Alet %f: .* = ref_read\(ref\(.*\n\z/, qr/^4 nodes of 11 are left/,
      '  but the value of a let need not be a `fn`');
gives(opt($sums, '--reduce', 'true'), 1, '',
      qr/`true .*` does not fail for the whole program/, 'nothing to reduce');

# `fail` has the type that its place asks for, so it takes one along.
my $any = <<'END';
def @g() -> Tensor[(2), float32] { fail(message="g") }
def @f(%x: Tensor[(2), float32]) -> (float32, float32) {
  let %a = max(@g(), axis=[0]);
  (%a, max(if (True) { fail(message="f") } else { %x }, axis=[0]))
}
END
is(opt($any, '--verify', '--passes', $_)->{err}, '', "fail keeps its type: $_")
    for qw(Inline FoldConstant PartialEval);

# The branch of a literal condition keeps the type of both: it fails when it
# runs, as before, and is not refused.
my $never = <<'END';
def @f[n: Dim](%x: Tensor[(n, 3), float32]) -> Tensor[(n, 3), float32] {
  if (False) { %x } else if (True) { zeros(shape=[4, 3]) } else { %x }
}
def @g[n: Dim](%x: Tensor[(n, 3), float32]) -> Tensor[(n, 3), float32] {
  %x + if (True) { zeros(shape=[4, 3]) } else { %x }
}
@f(ones(shape=[2, 3]));
END
for my $after ('', ',ToANormalForm,DeadCodeElimination', ',Inline,PartialEval',
               ',ToGraphNormalForm') {
  my $run = opt($never, '--verify', '--passes', "FoldConstant$after");
  gives($run, 0, qr/zeros/, '', "a branch never fits: FoldConstant$after");
  gives(rly(spew($made, $run->{out})), 2, '', qr/\(4, 3\).*n is 2/,
        'which fails when it runs');
}

# Of levels the last one counts, as for compilers.
gives(opt("1;\n", '-O2', '-O0', '-O1', '--dump-pipeline'), 0,
      opt("1;\n", '-O1', '--dump-pipeline')->{out}, '',
      'the last level counts');
gives(rly('run', '-O2', '-O0', spew($path, '1 / 0;')), 2, '',
      qr/^\Q$path\E:1:/, 'of run as well');

# LambdaLift gives each function a name of its own, in time that is linear.
my $fns = join '', map {
  "  let %l$_ = \@map(fn (%y: int32) { %y + %x + $_ }, Nil);\n"
} 1 .. 20000;
$fns = "def \@lifted_fn1() { 0 }\ndef \@f(%x: int32) {\n$fns  %x\n}\n";
my $lifted = opt($fns, '--timeout', 600, '--passes', 'LambdaLift')->{out};
is(() = $lifted =~ /^def \@lifted_fn\d*\(/mg, 20001, 'lifted functions');

# A module with state keeps what a host calls, and its imports.
spew(scratch('net.rly'), 'type Net { Net(int32) } def @new() { Net(1) }');
my $module = <<'END';
import "net.rly";
let @net = ref(@new());
def @step(%x: int32) { match (ref_read(@net)) { Net(%n) => %n + %x } }
END
like(opt($module, '--verify', '--passes', $_)->{out},
     qr/^type Net.*^def \@new.*^def \@step/ms, "a module: $_")
    for qw(RemoveUnusedFunctions LambdaUnlift LambdaLift UnCPS);

# A computed function that its place alone makes polymorphic has no name.
is(rly('opt', '--verify', '--passes', $_, 'tests/run/polymorphism.rly')->{err},
   '', "polymorphic operands: $_") for qw(ToANormalForm ToBasicBlockNormalForm);

# rly run -O2 runs what rly opt -O2 prints.
my $turns = <<'END';
def @count(%i: int32, %n: int32) -> int32 {
  if (%i < %n) { @count(%i + 1, %n) } else { %i * 1 }
}
@count(0, 10);
print(7);
1 / @count(0, 0);
END
for my $level (qw(-O0 -O1 -O2)) {
  gives(rly('run', $level, spew($path, $turns)), 2, "10\n7\n",
        qr/division by zero/, "run $level");
  gives(rly('run', $level, '-e', '1 + 1'), 0, "2\n", '', "run $level -e");
  gives(rly({in => '3 +'}, 'run', $level), 1, '', qr/^<stdin>:1/,
        "run $level of stdin, which is refused");
}
my @lines = split /\n/, rly('opt', '-O2', $path)->{out};
my ($line) = rly('run', '-O2', $path)->{err} =~ /^\Q$path\E at -O2:(\d+):/m;
like($lines[($line // 99) - 1] // '', qr{^ +1 / %}, 'places are of that text');

# Arguments.
my $fold = "def \@f() { (1 + 1, [1, 2] + 1) }\n";
like(opt($fold, '--passes', 'FoldConstant( elements = 1 )')->{out},
     qr/\(2, \[1, 2\] \+ 1\)/, 'an argument');
like(opt($fold, '--passes', 'FoldConstant()')->{out}, qr/\(2, \[2, 3\]\)/,
     'no argument');
gives(rly('opt', '--dump-pipeline', '--passes',
          'FoldConstant(elements=1),ToANormalForm(),FoldConstant(elements=64)'),
      0, "FoldConstant(elements=1)\nToANormalForm\nFoldConstant\n", '',
      'the pipeline with its arguments');
like(rly('passes', 'FoldConstant')->{out},
     qr/^  elements=64 .* \(a whole number from 1 to 64\)$/m,
     'rly passes says what there is');
like(rly('passes', 'FoldConstant', '--json')->{out},
     qr/"arguments": \[\{"name": "elements", .*"default": 64\}\]/, 'as JSON');

# --- Mistakes -----------------------------------------------------------------

gives(opt($small, '--passes', 'DeadCodeEliminatoin'), 1, '',
      qr/^--passes:1:1:\ error\[E0520\]:\ no\ pass\ `DeadCodeEliminatoin`.*
           \^{19}.*did\ you\ mean\ `DeadCodeElimination`\?/sx,
      'a misspelt pass');
gives(opt($small, '--passes', 'relay'), 1, '',
      qr/`relay` is no pass of rly opt.*rly fmt --pass relay/s, 'one of fmt');
gives(rly('fmt', '--pass', 'DeadCodeElimination', $path), 1, '',
      qr/`DeadCodeElimination` is a pass of rly opt --passes/, 'and back');
gives(opt($small, '--passes', 'FirstOrder'), 1, '',
      qr/no pass `FirstOrder`.*did you mean `FirstOrderGradient`/s,
      'part of a name');
is(opt($small, '--passes', 'Gradient')->{out},
   opt($small, '--passes', 'FirstOrderGradient')->{out}, 'a second name');
gives(opt($small, $_, 'FoldConstant', '--passes', 'DeadCodeElimination'), 1, '',
      qr/E0506.*`FoldConstant` does not run here/, "$_ of a pass that does not")
    for '--print-before', '--print-after';
gives(opt($small, '--print-after', 'zzz'), 1, '', qr/no pass `zzz`/,
      'nothing is printed after no pass');
gives(opt($small, '--passes', 'DeadCodeElimination,' x 300), 1, '',
      qr/more than 256 passes/, 'very many passes');
gives(opt("def \@f() { \@g }\n"), 1, '', qr/p\.rly:1:12: error\[E0102\]/,
      'a program that does not check');
gives(rly('opt'), 1, '', qr/opt needs a file/, 'no file');
gives(rly('opt', scratch('none.rly')), 1, '', qr/E05/, 'a file that is not');

gives(opt($small, '--passes', 'FoldConstant(elemnts=4)'), 1, '',
      qr/^--passes:1:14: error\[E0521\]: .* has no argument `elemnts`/,
      'an argument that the pass has not');
gives(opt($small, '--passes', 'DeadCodeElimination(n=4)'), 1, '',
      qr/error\[E0521\].*help: it has none/s, 'of a pass that has none');
for my $bad (qw(0 65 -1 4x 99999999999999999999)) {
  gives(opt($small, '--passes', "FoldConstant(elements=$bad)"), 1, '',
        qr/^--passes:1:23: error\[E0521\]: .* from 1 to 64, not `$bad`/,
        "elements=$bad");
}
gives(opt($small, '--passes', 'FoldConstant(elements=1,elements=1)'), 1, '',
      qr/^--passes:1:25: error\[E0521\]: `elements` is given twice/, 'twice');
gives(rly('opt', '--passes', 'ToMixedPrecision(dtype=float32)', '-'), 1, '',
      qr/^--passes:1:24: .*E0521.*`dtype` is float16 or .*, not `float32`/,
      'a word');
gives(rly('opt', '--dump-pipeline', '--passes',
          'ToMixedPrecision(dtype=bfloat16),ToMixedPrecision(dtype=float16)'),
      0, "ToMixedPrecision(dtype=bfloat16)\nToMixedPrecision\n", '',
      'a word is printed, and the default is not');
for my $bad ('(', 'FoldConstant(', 'FoldConstant(elements', 'FoldConstant)',
             'FoldConstant(elements=', 'FoldConstant(elements=1', ',', 'A B',
             'FoldConstant(elements=1,)', 'FoldConstant FoldConstant') {
  gives(opt($small, '--passes', $bad), 1, '', qr/^--passes:1:\d+: error\[E052/,
        "`$bad` is no list");
}

# Deep and long programs.
my $lets = join '', map { "let %a$_ = %a" . ($_ - 1) . " + 1;\n" } 1 .. 3000;
for (["let %a0 = %x;\n$lets%a3000", 'a chain of lets'],
     ['{' x 900 . '%x + 1' . '} * 2' x 900, 'nested blocks'],
     ['%x' . ' + 1' x 20000, 'a long sum'],
     ['if (%x == 1) { 1 } else ' x 2000 . '{ 0 }', 'a chain of ifs']) {
  my ($body, $name) = @$_;
  is(opt("def \@f(%x: int32) { $body }\n", '-O2')->{status}, 0, $name);
}

# --- Programs run to the same bits --------------------------------------------

my @cases = sort glob 'tests/conformance/lang/*.rly';
my $turn = 0;
for my $flags (['-O2'], map { ['--passes', $_] } @passes) {
  my @other;
  for my $case (one_in(36, $turn++, @cases)) {
    next if rly('check', $case)->{status};
    my $run = rly($case);
    my $opt = rly('opt', @$flags, $case);
    spew($made, $opt->{out});
    my $again = rly($made);
    push @other, $case
      if $opt->{status} || $again->{status} != $run->{status} ||
         $again->{out} ne $run->{out};
  }
  is("@other", '', "@$flags: the suite's programs give the same");
}

for my $flag (['--print-before', 'all'], ['--print-after', 'all'],
              ['--print-changed']) {
  gives(rly('opt', '--json', @$flag, spew(scratch('both.rly'), "1;\n")), 1,
    qr/^\{.*--json has the text in it.*\}$/, '', "JSON stays JSON: $flag->[0]");
}

done_testing;
