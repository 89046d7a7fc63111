#!/usr/bin/env perl
# A sample of `make oom`: commands whose allocations fail, and programs that
# need much memory before they run, under limits.
#
# `make oom` lets an allocation of each path fail, which takes too long for
# `make test`.  A stride through all allocations finds what breaks in many
# places and costs seconds; that strides differ from call to call spreads the
# samples.  What is held true is always the same: a message and an exit status,
# never a crash, and no file half written.
use strict;
use warnings;
use lib 'tests/t';
use Lsp;
use Rly;
use Test::More;

my $mode = $ENV{MODE} || 'release';
my $oom = "build/$mode/tests/oom/oom";

# The strides below are those of `make sweep`.  Else they are five times as
# long, and in slow builds fifty times; but where a fault needs one allocation
# of many to fail, `exact` says so.
sub holds {
  my ($what, %flags) = @_;
  my ($file, $exact) = delete @flags{qw(file exact)};
  $flags{'-s'} *= is_release() ? 5 : 50
      if $flags{'-s'} && !$ENV{SWEEP} && !($exact && is_release());
  my @args = (%flags, $file);
  my $said = `$oom @args 2>&1`;
  ok($? == 0 && $said =~ /^ok 1/m, $what) or diag($said);
}

# A stride that no pass over one file repeats in another.
my %stride = (matches => 1499, closures => 331, faults => 331);
holds("allocations fail in $_", -s => $stride{$_}, file => "tests/run/$_.rly")
    for sort keys %stride;

# The types of calls that are lowered in place.
holds('run: allocations fail, in operators that join a chain', -s => 7,
      -c => 'run', file => 'tests/run/operators_joined.rly');

holds('step: allocations fail', -s => 1, -c => 'step',
      file => 'tests/conformance/lang/infer_hole_inside_type.rly');

# Passes, on a program that gives each something to do.
holds('opt: allocations fail', -s => 97, -c => 'opt',
      file => 'tests/oom/passes.rly');
# The shell that --reduce starts is started by a function of gcov in MODE=cov,
# which crashes where its allocation fails.
holds('opt: allocations fail, where --reduce has something to do', -s => 397,
      -c => 'opt', file => 'tests/planted/1.rly')
    if $mode ne 'cov';
holds('fmt: allocations fail', -s => 97, -c => 'fmt',
      file => 'tests/run/law.rly');
# Whether what --relay leaves out may be left out is asked of the checker.
holds('fmt: allocations fail, with types that Relay has no words for',
      -s => 7, -c => 'fmt',
      file => 'tests/conformance/lang/infer_hole_inside_type.rly');
holds("check: allocations fail, in a metadata section", -s => 1, -c => 'check',
      file => 'tests/conformance/lang/lit_metadata_constant.rly');
holds('fmt: allocations fail, with cells in data', -s => 101, -c => 'fmt',
      file => 'tests/oom/stores.rly');

# The machine of the stepper differentiates by itself.
holds('step: allocations fail, in derivatives', -s => 211, -c => 'step',
      file => 'tests/oom/forward.rly');

# The text of what `@main` gives.
my $pair = spew(scratch('pair.rly'), 'def @main() { ([1, 2], [[3], [4]]) }');
holds('watch: allocations fail, in a program with @main', -s => 1,
      -c => 'watch', file => $pair);
holds('watch: allocations fail, while cells are followed', -s => 41,
      -c => 'watch', file => 'tests/oom/cells.rly');
holds('watch: allocations fail, of cells before a runtime error', -s => 1,
      exact => 1, -c => "'watch --once --cells'",
      file => 'tests/conformance/lang/erun_list_literal_element.rly');
holds('watch: allocations fail, where all cells are shown', -s => 1,
      -c => 'watch', file => 'tests/conformance/lang/adt_kind_empty_later.rly');

# Values of all kinds are kept, and in other runs fetched.
holds('watch: allocations fail, where values are kept', -s => 1, exact => 1,
      -c => "'watch --once --cells --keep-over'",
      file => spew(scratch('kept.rly'), "let %x = ([1f, 2f], Some(3));\n"
                   . "let %y = Cons(%x, Cons(%x, Nil));\n(%x.0 + 1f, %y);\n"));

# A cell gets back what it held before each evaluation.
my $cell = spew(scratch('cell.rly'), <<'END');
let @c = ref(1f);
def @f(%x: float32) -> float32 {
  ref_write(@c, ref_read(@c) * 2f);
  ref_read(@c) * %x
}
END
holds('gradcheck: allocations fail, with a cell', -s => 1, -c => 'gradcheck',
      file => $cell);

# One function cannot be of float64, nor so can another.
my $narrow = spew(scratch('narrow.rly'), <<'END');
def @bits(%x: float32) {
  %x + cast(reinterpret(%x, dtype="int32"), dtype="float32") * 0f
}
def @uses(%x: float32) -> float32 { @bits(%x) * 2f }
def @square(%x: float32) { %x * %x }
END
holds('gradcheck: allocations fail, beside what is not checked', -s => 1,
      -c => 'gradcheck', file => $narrow);

# The types of fields of a value.
holds('gradcheck: allocations fail', -s => 1, -c => 'gradcheck',
      file => 'tests/conformance/lang/adt_kind_function.rly');

# The reader of ONNX models, in builds that have it.
my $model = spew(scratch('reader.onnx'), slurp('examples/import/reader.onnx'));
holds('import: allocations fail', -s => 97, -c => 'import', file => $model)
    if rly('import', $model)->{err} !~ /E0806/;

# The writer: branches in a loop, two loops there and back, two functions that
# call each other.
for my $entry (qw(collatz joined even)) {
  my $programs = spew(scratch('programs.rly'),
                      slurp('tests/export/programs.rly')
                      =~ s/\@$entry\(/\@main(/gr);
  holds("export of $entry: allocations fail", -s => 97, -c => 'export',
        file => $programs)
      if rly('export', $programs)->{err} !~ /E0806/;
}
# A server, which must go on: a conversation of each request.
holds('lsp: allocations fail', -s => 197, -c => 'lsp',
      file => spew(scratch('messages'), Lsp->conversation));

# Rules: as a program, applied to one, and refuted.
holds('rules: allocations of a check fail', -s => 29, -c => 'check',
      file => 'tests/rules/page.rly');
holds('verify: allocations fail', -s => 211, -c => 'verify',
      file => 'tests/rules/page.rly');

# Rules about operators of a text's own: as a program, refuted, and applied to a
# program that has the operators.
holds("rules about operators: allocations of a $_ fail", -s => 97, -c => $_,
      file => 'tests/rules/own.rly') for qw(check verify);
holds('opt: allocations fail, where operators are introduced', -s => 211,
      -c => 'opt', file => 'tests/oom/own.rly');

# Rules that saturate: graphs of classes, on a program that they regroup.
holds('opt --saturate: allocations fail', -s => 97, -c => 'opt',
      file => 'docs/optimiser/chain.rly');

# Operators of a text's own: conditions, a derivative.
holds("a text's operators: allocations of a $_ fail", -s => 29, -c => $_,
      file => 'tests/oom/operators.rly')
    for qw(check fmt);

# Derivatives: the rules are checked while the program runs.
holds('a gradient: allocations of a run fail', -s => 23, -c => 'run',
      file => 'tests/gradient/memory.rly');
holds('tangents: likewise', -s => 61, -c => 'run',
      file => 'tests/oom/forward.rly');
holds('parts of a differentiated run again: likewise', -s => 23, -c => 'run',
      file => spew(scratch('again.rly'), <<'END'));
def @loop(%n: int32, %x: Tensor[(8), float32], %w: Tensor[(8), float32])
    -> Tensor[(8), float32] {
  if (%n == 0) { %x } else { @loop(%n - 1, tanh(%x * %w) + 0.1f, %w) }
}
def @f(%w: Tensor[(8), float32]) { sum(@loop(60, %w, %w)) }
grad(@f)(full(0.5f, shape=[8]));
END
holds('steps of a loop that are run again: likewise', -s => 19,
      -c => "'run --tape-memory'", file => spew(scratch('steps.rly'), <<'END'));
def @by(%n: int32, %x: Tensor[(?, 8), float64], %w: Tensor[(4, 8), float64],
        %a: float64) -> float64 {
  if (%n == 0) { %a } else {
    @by(%n - 1, %x, %w, %a + sum(sin(nn.dense(%x, %w)))) }
}
def @f(%w: Tensor[(4, 8), float64]) {
  @by(300, full(0.5f64, shape=[3, 8]), %w, 0f64)
}
grad(@f)(full(0.1f64, shape=[4, 8]));
END
holds('a weight, whose rows are found twice: likewise', -s => 23, -c => 'run',
      file => spew(scratch('rows.rly'), <<'END'));
def @loop(%n: int32, %x: Tensor[(1, 24), float32],
          %w: Tensor[(24, 24), float32], %b: Tensor[(24), float32])
    -> Tensor[(1, 24), float32] {
  if (%n == 0) { %x } else {
    @loop(%n - 1, tanh(nn.dense(%x, %w) + %b), %w, %b) }
}
def @f(%w: Tensor[(24, 24), float32], %b: Tensor[(24), float32]) {
  sum(@loop(80, full(0.5f, shape=[1, 24]), %w, %b))
}
grad(@f)(full(0.01f, shape=[24, 24]), full(0.1f, shape=[24]));
END
# The list of functions grows at 64: for one that is made while the program
# runs, which a fault then finds under way.
holds("functions made after $_ steps: likewise", -s => 1, exact => 1,
      -c => "'run --tape-memory'", file => spew(scratch('listed.rly'),
      "let %k = 2f;\n" . "%k;\n" x $_ . <<'END')) for 58 .. 62;
grad(fn (%x: float32) {
  let %l = List[%x, %k];
  let %v = vjp(fn (%y: float32) { ref(%y) }, %x);
  ref_read(%v.0) * @hd(%l)
})(3f);
END
# More values at a time than registers have numbers for without a cell.
my $values = 4200;
holds('a function of very many values: likewise', -s => 71, -c => 'run',
      file => spew(scratch('wide.rly'), join '',
                   "def \@f(%x: int32) {\n",
                   (map { "  let %v$_ = %x + $_;\n" } 1 .. $values), '  (',
                   join(', ', map { "%v$_" } 1 .. $values),
                   ").7\n}\n\@f(1);\n"));
holds('functions of any shape in rules: likewise', -s => 331, -c => 'run',
      file => 'tests/gradient/in_place.rly');

holds('functions are checked: allocations fail', -s => 151, -c => 'gradcheck',
      file => 'tests/oom/gradcheck.rly');

# A run of two steps, until it is kept; then its state is read.
system('rm', '-rf', 'build/oom.train') == 0 or die;
holds('a training: allocations fail', -s => 211, -c => 'train',
      file => 'tests/oom/train.rly');

# Of a program of two items, for every command.
my $small = spew(scratch('small.rly'),
                 "let %x = [1f, 2f];\nnn.softmax(%x + 1f);\n");
holds('a small program: allocations fail', -s => 3, file => $small);

my $limits = is_release() || $ENV{SWEEP} ? 8 : 2;
for my $program (qw(arms sum types names errors calls deep pairs lets)) {
  my $file = scratch("$program.rly");
  system("perl tests/oom/hostile $program > $file") == 0 or die;
  holds("$program: $_ under limits", -l => 16000000, -n => $limits, -c => $_,
        file => $file)
      for qw(check run);
}

# A tuple of 40,000 fields as an operand: its tables are no small requests.
holds('names: allocations of a run fail', -s => 5, -c => 'run',
      file => scratch('names.rly'));

# Deep nesting, where pieces of stack are refused, too.
holds('deep: allocations of a run fail', -s => 401, -c => 'run',
      file => scratch('deep.rly'));

# Nodes of all kinds with 200 parts; whole tables of them in `make oom-tables`.
my $wide = scratch('wide.rly');
system("perl tests/oom/hostile wide > $wide") == 0 or die;
holds('wide nodes: allocations of a run fail', -s => 401, -c => 'run',
      file => $wide);

# An expectation is replaced by an answer or not at all.
my $promoted = scratch('promote.rly');
my ($before, $after) = map { "1 + 1;\n// expect: $_\n[1, 2] + 1;\n" } 7, 2;
my %results;
for (my $n = 1; $n < 1200; $n += 13) {
  spew($promoted, $before);
  my $status = system("$oom -f $n -c test $promoted >/dev/null 2>&1") >> 8;
  my $now = slurp($promoted);
  my $how = $now eq $after ? 'promoted' : $now eq $before ? 'kept' : $now;
  $results{"$how, exit status $status"}++;
}
my @wrong = grep { !/^kept, exit status [13]$/ && !/^promoted, exit status 0$/ }
    keys %results;
ok(!@wrong && $results{'promoted, exit status 0'}
     && $results{'kept, exit status 1'},
   'out of memory, --promote leaves the file alone')
    or diag(explain(\%results));

done_testing();
