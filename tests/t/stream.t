#!/usr/bin/env perl
# rly stream: frames from files and pipes, tails, state, what ends a stream,
# and its report.
#
# Frames are raw bytes, packed here by Perl, and outputs are compared byte by
# byte with what Perl packs: what counts is where a number starts, and a helper
# of ours could hide an error in that.  Much of it is about ends, as that is
# where streams break: input that stops within a row, a reader that went away, a
# state file that is damaged, Ctrl-C between two frames, when what was done must
# be on its way and the state fit to go on from.  The pipe gets pieces of 3, 1,
# 9 and 11 bytes because the system promises no more than that some bytes
# arrive.
use strict;
use warnings;
use lib 'tests/t';
use POSIX qw(mkfifo);
use Rly;
use Test::More;

my $program = spew(scratch('model.rly'), <<'END');
let @acc = ref(zeros(shape=[2], dtype="float32"));
def @step(%x: Tensor[(1, 2), float32]) -> Tensor[(1, 2), float32] {
  ref_write(@acc, ref_read(@acc) + reshape(%x, newshape=[2]));
  reshape(ref_read(@acc), newshape=[1, 2])
}
def @half() -> float32 { 0.5f }
def @zero() -> Tensor[(2), float32] { zeros(shape=[2], dtype="float32") }
def @pure(%x: Tensor[(1, 2), float32], %s: Tensor[(2), float32])
    -> (Tensor[(1, 2), float32], Tensor[(2), float32]) {
  let %t = %s + reshape(%x, newshape=[2]);
  (reshape(%t, newshape=[1, 2]), %t)
}
def @row(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { -%x }
def @window(%x: Tensor[(?), int32]) -> Tensor[(2), int32] {
  [sum(%x), take(shape_of(%x), 0)]
}
def @same(%x: float32) -> float32 { %x }
def @flag(%x: bool) -> bool { !%x }
def @big(%x: Tensor[(?, ?), float32]) -> float32 { sum(%x) }
def @many(%x: float32) -> Tensor[(4000), float32] {
  full(%x, shape=[4000], dtype="float32")
}
def @talk(%x: float32) -> float32 { print_text("hello\n"); %x }
END
# Runs it on these bytes, the results to a file; what became of it, and them.
sub stream {
  my ($bytes, @flags) = @_;
  my $out = scratch('results');
  unlink $out;
  my $run = rly({in => $bytes}, 'stream', $program, '--output', $out, @flags);
  return ($run, -e $out ? slurp($out) : '');
}

sub npy {
  my ($path, $descr, $shape, $bytes) = @_;
  my $header = "{'descr': '$descr', 'fortran_order': False, "
               . "'shape': ($shape), }";
  $header .= ' ' x (117 - length $header) . "\n";
  return spew($path, "\x93NUMPY\x01\x00", pack('v', length $header), $header,
              $bytes);
}

my @x = map { [$_, $_ / 4] } 1 .. 50;
my $input = pack 'f<*', map { @$_ } @x;
my (@sum, @sums) = (0, 0);
for my $row (@x) {
  $sum[$_] += $row->[$_] for 0, 1;
  push @sums, @sum;
}
my $expected = pack 'f<*', @sums;

# --- Forms of a step --------------------------------------------------------

my ($run, $out) = stream($input);
is($run->{status}, 0, 'a step with state in cells') or diag($run->{err});
ok($out eq $expected, 'gives running sums');
my @report = ('steps since reset\t50', 'p50\t.* us', 'p99\t.* us', 'max\t.* us',
              'allocations after two steps\t0', 'NaN\t0', 'Inf\t0');
my $report = join '\n', @report;
like($run->{err}, qr/\A$report\n\z/, 'and the report');
($run) = stream($input, '--json');
my $json = join ', ', '"steps": 50',
  (map { qq("${_}_us": [\\d.]+) } 'p50', 'p99', 'max'),
  map { qq("$_": 0) } 'allocations', 'nans', 'infinities';
like($run->{err}, qr/\A\{$json\}\n\z/, 'which JSON may be');

($run, $out) = stream($input, '--step', 'pure', '--init', '@zero');
ok($run->{status} == 0 && $out eq $expected, 'a step that is handed its state')
  or diag($run->{err});
for (['step', 'E0506'], ['none', 'E0102'], ['half', 'E0506']) {
  my ($init, $code) = @$_;
  ($run) = stream($input, '--step', 'pure', '--init', $init);
  like($run->{err}, qr/\A\S*error\[$code\]: .*`\@$init`/,
       "a state cannot come from $init");
}
for my $flag ('--frame', '--hop') {
  ($run) = stream($input, $flag, 0);
  is($run->{status}, 1, "$flag is at least 1");
}
($run, $out) = stream($input, '--step', 'row');
ok($run->{status} == 0 && $out eq pack('f<*', map { -$_ } unpack 'f<*', $input),
   'a step on plain rows') or diag($run->{err});
($run, $out) = stream($input, '--step', 'same');
ok($run->{status} == 0 && $out eq $input, 'a step on scalars');

my $got = scratch('got.npy');

# --- Several inputs and outputs -----------------------------------------------

my $several = spew(scratch('several.rly'), <<'END');
type Pair { Pair(left: Tensor[(?, 2), float32], right: int32) }
type Two { Two(sum: Tensor[(?, 2), float32], loud: Option[int32]) }
let @count = ref(0);
// The sum where there is something to add; how many frames were loud.
def @step(%a: Pair, %b: (Tensor[(?, 2), float32],),
          %c: Option[int32]) -> Two {
  match (%a) {
    Pair(%x, %n) => {
      let %more = match (%c) { Some(%v) => %v, None => 0 };
      ref_write(@count, ref_read(@count) + %n + %more);
      Two(%x + %b.0, if (%n > 0) { Some(ref_read(@count)) } else { None })
    }
  }
}
def @maybe(%x: int32) -> Option[(int32, int32)] {
  if (%x > 2) { Some((%x, -%x)) } else { None }
}
def @pairs[n: Dim](%x: Tensor[(n), float32], %y: Tensor[(n), float32])
    -> Tensor[(n), float32] { %x + %y }
def @tuple[n: Dim](%p: (Tensor[(n), float32], Tensor[(n), float32]))
    -> Tensor[(n), float32] { %p.0 + %p.1 }
def @wrap(%x: (Option[(int32,)],)) -> int32 { 1 }
def @list(%x: List[int32]) -> int32 { 0 }
def @nothing(%x: int32) -> () { print_text("seen\n") }
END
my $left = spew(scratch('left'), pack 'f<*', 1 .. 12);
my $right = spew(scratch('right'), pack 'l<*', 1, 0, 2, 0, 0, 3);
my $b = npy(scratch('b.npy'), '<f4', '6, 2',
            pack 'f<*', map { $_ / 2 } 1 .. 12);
my $c = spew(scratch('c'), pack 'l<*', 10, 20, 30);
my ($sum, $loud) = (scratch('sum'), scratch('loud'));
my @feed = ('stream', $several, '--input', "a.left=$left", '--input',
            "a.right=$right", '--input', "b.0=$b");
my @out = ('--output', "sum=$sum", '--output', "loud=$loud");
sub several {
  my ($wanted, $name, @flags) = @_;
  my $run = rly(@feed, @out, @flags);
  is($run->{status}, 0, "$name: exit 0") or diag($run->{err});
  is_deeply([[unpack 'f<*', slurp($sum)], [unpack 'l<*', slurp($loud)]],
            $wanted, $name);
}
my @sum12 = map { $_ * 1.5 } 1 .. 12;
several([\@sum12, [1, 3, 6]], 'structs, tuples and options, by name');
several([\@sum12, [11, 63, 66]], 'an option that ends before the others',
        '--input', "c=$c");
gives(rly(@feed, '--frame', 'a.left=2', '--hop', 'a.left=1', '--frame',
          'b.0=2', '--hop', 'b.0=1', '--tail', 'drop'), 2, '',
      qr/E0502.*`a.left`.*left\): it ends after 5 frames, but.*`a.right` goes/s,
      'inputs of different lengths');
several([[map { @$_ } map { [@sum12[$_ * 2 .. $_ * 2 + 1]] } 0 .. 5],
         [1, 3, 6]], 'a frame of each', '--frame', 'a.left=1');

$run = rly({in => pack 'l<*', 1 .. 4}, 'stream', $several, '--step', 'maybe',
           '--output', "0=$sum", '--output', "1=$loud");
is(slurp($sum) . slurp($loud), pack('l<*', 3, 4, -3, -4),
   'none: no output for the frame') or diag($run->{err});
$run = rly({in => pack 'l<*', 1 .. 400}, 'stream', $several, '--step', 'wrap',
           '--output', "result=$got.raw");
like($run->{err}, qr/two steps\t0$/m, 'parts are put together without memory');
$run = rly({in => pack 'l<*', 1 .. 4}, 'stream', $several, '--step', 'maybe',
           '--output', "1=$got");
ok(slurp($got) =~ /'shape': \(2,\)/, 'a .npy of those frames that gave some');
$run = rly({in => pack 'l<*', 1, 2}, 'stream', $several, '--step', 'maybe',
           '--output', "1=$got", '--output', "0=$sum");
is($run->{status}, 0, 'a result that never comes') or diag($run->{err});
ok(slurp($got) =~ /'<i4'.*'shape': \(0,\)/, '... makes a .npy without rows');
is(-s $sum, 0, '... or no bytes');
$run = rly('stream', $several, '--step', 'maybe', '--input', $got, '--output',
           "1=$got.2");
is($run->{status}, 0, '... which are no frames') or diag($run->{err});
my $rows = spew(scratch('rows.rly'), <<'END');
def @open(%x: Tensor[(?, 3), float64]) -> Option[Tensor[(?, 3, ?), float64]] {
  if (sum(%x) > 0f64) { Some(expand_dims(%x, axis=2)) } else { None }
}
END
$run = rly({in => pack 'd<*', (0) x 3}, 'stream', $rows, '--step', 'open',
           '--output', $got);
ok(slurp($got) =~ /'<f8'.*'shape': \(0, 3, 0\)/, '... of the rows of its type')
    or diag($run->{err});
$run = rly({in => ''}, 'stream', $rows, '--step', 'open',
           '--expect', $got, '--output', "$got.2.npy");
ok(slurp("$got.2.npy") eq slurp($got), '... as a stream without frames has it')
    or diag($run->{err});
$run = rly({in => pack 'l<*', 1, 2}, 'stream', $several, '--step', 'nothing');
is($run->{out}, "seen\nseen\n", 'a step that gives nothing');

# What the types leave open the frames must agree on.
my $ones = spew(scratch('ones'), pack 'f<*', (1) x 6);
my @named = ('stream', $several, '--frame', '2');
$run = rly(@named, '--step', 'pairs', '--input', "x=$left", '--input',
           "y=$ones", '--frame', 'y=1');
gives($run, 2, '', qr/E0\d+/, 'a dimension of one name in two inputs');
$run = rly(@named, '--step', 'tuple', '--input', "p.0=$left", '--input',
           "p.1=$ones", '--frame', 'p.1=1');
gives($run, 2, '', qr/E0\d+/, 'and within a tuple');

sub misused {
  my ($pattern, $name, @flags) = @_;
  gives(rly(@feed, @flags), 1, '', $pattern, $name);
}
misused(qr/E0506.*no input `d`; it has `a.left`, /, 'no such input', '--input',
        "d=$c");
misused(qr/E0506.*for which input/, 'an input without a name', '--input', $c);
misused(qr/E0506.*is given twice/, 'an input twice', '--input', "b.0=$b");
misused(qr/E0506.*for which output/, 'an output without a name', '--output',
        scratch('o'));
misused(qr/E0506.*no output `y`; it has `sum`, `loud`/, 'no such output',
        '--expect', "y=$b");
misused(qr/E0506.*--input and .* --output/, 'an output that is an input',
        '--output', "sum=$left");
misused(qr/E0506.*--output and .* --output/, 'one file for two outputs',
        map { ('--output', "$_=" . scratch('new')) } 'sum', 'loud');
misused(qr/E0506.*the program and .* --output/, 'an output that is the program',
        '--output', "sum=$several");
misused(qr/E0506.*--output and .* --expect/, 'or what is expected',
        map { ($_, 'sum=' . scratch('same.npy')) } '--output', '--expect');
gives(rly(@feed, '--save-state', scratch('s.npz')), 2, '',
      qr/E0507.*a state is written as .safetensors, not as .npz/,
      'a state in a file of another format');

# What is written at the end is tried at the beginning, before any step is run.
my $prints = spew(scratch('prints.rly'), <<'END');
let @sum = ref(0);
def @step(%x: Tensor[(1), uint8]) -> Tensor[(1), uint8] {
  print(7);
  ref_write(@sum, ref_read(@sum) + cast(sum(%x), dtype="int32"));
  if (sum(%x) == 0u8) { fail(message="zero") } else { %x }
}
END
for (['--save-state', 'none/end'], ['--output', 'none/end.npy']) {
  my ($flag, $path) = ($_->[0], scratch($_->[1]));
  gives(rly({in => "AB"}, 'stream', $prints, $flag, $path), 2, '',
        qr/^error\[E0507\]: cannot write \Q$path\E: No such file or .*\n\z/,
        "$flag to a path that cannot be written");
}
my $before = spew(scratch('before.st'), 'what was there');
gives(rly({in => "A\0"}, 'stream', $prints, '--save-state', $before), 2,
      "7\n7\n", qr/E0606.*zero/s, 'a step that fails');
is(slurp($before), 'what was there', 'leaves the state that was saved before');
is_deeply([glob "$before.*"], [], '... alone');
misused(qr/E0506.*raw or as .npy/, 'an output in a file of several tensors',
        '--output', 'sum=' . scratch('o.npz'));
my $failing = spew(scratch('failing.rly'), <<'END');
def @step(%x: Tensor[(1), int32]) {
  if (sum(%x) == 3) { fail(message="three") } else { %x }
}
END
gives(rly({in => pack 'l<*', 1 .. 4}, 'stream', $failing, '--output', $_), 2,
      '', qr/three/, "a step that fails, into $_")
  for "$got.failed.npy", "$got.failed.raw";
is(substr(slurp("$got.failed.npy"), -8), slurp("$got.failed.raw"),
   '... leaves the results before it');
misused(qr/E0506.*--output and .* --save-state/, 'and for the state',
        '--output', "sum=$sum", '--save-state', $sum);
is(slurp($left), pack('f<*', 1 .. 12), 'the input is as it was');
gives(rly('stream', $several, '--input', "b.0=$b"), 1, '',
      qr/nothing is fed to `a.left`/, 'an input without a file');
gives(rly({in => ''}, @feed[0 .. 1], '--input', 'a.left=-', '--input',
          'a.right=-', '--input', "b.0=$b"), 1, '',
      qr/each would get a part/, 'two inputs from one pipe');
gives(rly({in => ''}, 'stream', $several, '--step', 'list'), 1, '',
      qr/E0504.*`x` is of type List.*fixed number/, 'a list is no input');
SKIP: {
  skip 'no /dev/full', 1 unless -c '/dev/full';
  gives(rly(@feed, '--output', 'sum=/dev/full'), 2, '',
        qr/E0507.*full: No space/, 'a full disk');
}

# --- .npy -------------------------------------------------------------------

my $x = npy(scratch('x.npy'), '<f4', '50, 2', $input);
my $y = npy(scratch('y.npy'), '<f4', '50, 2', $expected);
my @stream = ('stream', $program, '--input', $x);
$run = rly(@stream, '--expect', $y, '--output', $got);
is($run->{status}, 0, '.npy in and out, as expected') or diag($run->{err});
ok(slurp($got) =~ /'shape': \(50, 2\)/ && slurp($got) =~ /\Q$expected\E\z/,
   'the file holds all rows');
$run = rly('stream', $program, '--step', 'row', '--input', $x, '--output', '-');
ok($run->{out} eq pack('f<*', map { -$_ } unpack 'f<*', $input),
   'rows of a .npy as whole frames') or diag($run->{err});
my $wrong = $expected;
substr $wrong, 40, 4, pack('f<', 7);
npy(scratch('z.npy'), '<f4', '50, 2', $wrong);
gives(rly(@stream, '--expect', scratch('z.npy')), 1, '',
      qr/1 of 100 elements are not.*element 10\n/, 'another element: exit 1');

# Elements are not counted where the shape or the dtype is another one.
sub of_kind {
  my ($dtype, $shape, $type, $name) = @_;
  my $count = eval join '*', grep { length } split /, ?/, $shape;
  npy(scratch('z.npy'), $dtype, $shape, "\0" x ($count * substr $dtype, -1));
  gives(rly(@stream, '--expect', scratch('z.npy')), 1, '',
        qr/E0506\]:\ result:\ the\ results\ are\ Tensor\[\(50,\ 2\),\ float32\],
           \ but\ Tensor\[\Q$type\E\]\ is\ expected\n/x, $name);
}

of_kind('<f4', '51, 2', '(51, 2), float32', 'too few of them');
of_kind('<f4', '7, 2', '(7, 2), float32', 'too many');
of_kind('<f4', '100,', '(100), float32', 'another rank');
of_kind('<i4', '50, 2', '(50, 2), int32', 'another dtype');
npy(scratch('z.npy'), '<f8', '50, 2', pack 'd<*', 1 .. 100);
gives(rly('stream', $program, '--input', scratch('z.npy')), 1, '',
      qr/E0506.*takes other rows/, 'another dtype is refused');

# --- Windows and tails ------------------------------------------------------

sub windows {
  my ($last, $wanted, $name, @flags) = @_;
  my ($run, $out) = stream(pack('l<*', 1 .. $last), '--step', 'window',
                           @flags);
  is_deeply([unpack 'l<*', $out], $wanted, $name) or diag($run->{err});
  is($run->{status}, 0, "$name: exit 0");
}

my @overlap = ('--frame', 4, '--hop', 2);
windows(8, [10, 4, 18, 4, 26, 4], 'overlapping frames', @overlap);
windows(9, [10, 4, 18, 4, 26, 4, 24, 4], 'the tail is padded', @overlap);
windows(9, [10, 4, 18, 4, 26, 4], 'or dropped', @overlap, '--tail', 'drop');
windows(9, [10, 4, 18, 4, 26, 4, 24, 3], 'or short', @overlap, '--tail',
        'short');
windows(9, [3, 2, 13, 2], 'gaps between frames', '--frame', 2, '--hop', 5);
windows(11, [3, 2, 13, 2, 11, 2], 'a tail after a gap', '--frame', 2, '--hop',
        5);
windows(2, [3, 4], 'less than a frame', @overlap);
windows(0, [], 'nothing at all', @overlap);

# --- State in files ---------------------------------------------------------

my $state = scratch('state.safetensors');
my ($first) = (stream(substr($input, 0, 160), '--save-state', $state))[1];
($run, my $second) = stream(substr($input, 160), '--load-state', $state);
ok($first . $second eq $expected, 'a stream in two parts is the whole')
  or diag($run->{err});
is_deeply([sort grep { !/^__/ } keys %{tensors($state)}], ['@acc'],
          'the state is one tensor');
spew($state, substr(slurp($state), 0, -1) . 'x');
gives((stream($input, '--load-state', $state))[0], 1, '', qr/E0502.*damaged/,
      'a damaged state is refused');
my @pure = ('--step', 'pure', '--init', 'zero');
($first) = (stream(substr($input, 0, 160), @pure, '--save-state', $state))[1];
($run, $second) = stream(substr($input, 160), @pure, '--load-state', $state);
ok($first . $second eq $expected, 'a state that is handed on, likewise')
  or diag($run->{err});
is_deeply([sort grep { !/^__/ } keys %{tensors($state)}], ['$s', '@acc'],
          'it stands beside the cells');
gives((stream($input, '--load-state', $state))[0], 1, '', qr/\$s/,
      'a step without it refuses the state');
gives((stream($input, @pure, '--load-state', $state, '--carry', $state))[0], 1,
      '', qr/give one of them/, 'a state is loaded or carried');

# --- Changed programs ---------------------------------------------------------

# Cells, and a state with fields: two that stay, one whose type is another, one
# that goes and one that comes.
sub changing {
  my ($fields, $init, $cells) = @_;
  my $next = join ', ', map { $_ eq 'sum' ? '%s.sum + %x' : "%s.$_" }
                        $fields =~ /(\w+):/g;
  return spew(scratch('changing.rly'), <<"END");
type Memory { Memory($fields) }
$cells
def \@init() -> Memory { Memory($init) }
def \@step(%x: int32, %s: Memory) -> (int32, Memory) {
  ref_write(\@frames, ref_read(\@frames) + 1);
  (%s.sum + %x + 1000 * ref_read(\@frames), Memory($next))
}
END
}
sub changed {
  my ($bytes, $program, @flags) = @_;
  my $run = rly({in => $bytes}, 'stream', $program, '--init', 'init',
                '--output', '-', @flags);
  return ($run, [unpack 'l<*', $run->{out}]);
}
my @before = ('sum: int32, peak: int32, old: int32', '0, 1, 2',
              'let @frames = ref(0); let @gone = ref(1f);');
($run, my $sums) = changed(pack('l<*', 1, 2, 3), changing(@before),
                           '--save-state', $state);
is_deeply($sums, [1001, 2003, 3006], 'a program with a state')
  or diag($run->{err});
my $after = changing('fresh: float32, peak: float32, sum: int32', '7f, 1f, 0',
                     'let @frames = ref(0); let @come = ref(1f);');
($run, $sums) = changed(pack('l<*', 4, 5), $after, '--carry', $state);
is_deeply($sums, [4010, 5015], 'and what it has become goes on')
  or diag($run->{err});
my %said = map { reverse split /\t/ } $run->{err} =~ /^(\w+\t[\$\@]\S+)/mg;
is_deeply(\%said, {'@frames' => 'kept', '$s.sum' => 'kept',
                   '$s.peak' => 'changed', '$s.old' => 'dropped',
                   '@gone' => 'dropped', '$s.fresh' => 'added',
                   '@come' => 'added'}, 'the report names each cell')
  or diag($run->{err});
($run) = changed('', $after, '--load-state', $state);
is($run->{status}, 1, 'loading it whole is refused');
($run, $sums) = changed(pack('l<*', 4, 5), changing(@before), '--carry',
                        $state);
is_deeply($sums, [4010, 5015], 'the same program carries all of it');
unlike($run->{err}, qr/changed|dropped|added/, 'and says so');
($run) = changed('', $after, '--carry', scratch('nowhere'));
is($run->{status}, 1, 'no such state');

# --- Control frames -----------------------------------------------------------

# A stream with control frames is the streams between them, one after another.
my @cuts = (0, 7, 8, 20, 50);
my ($cut, $track, $apart) = ('', '', '');
for my $i (1 .. $#cuts) {
  my @part = map { @$_ } @x[$cuts[$i - 1] .. $cuts[$i] - 1];
  $cut .= pack 'f<*', (-1, -1) x ($i > 1), @part;
  $track .= ($i > 1 ? "\1" : "\0") . "\0" x (@part / 2 - 1);
  $apart .= (stream(pack 'f<*', @part))[1];
}
for my $flags (['--reset-on', '-1'], ['--reset-on', 'x=-1'],
               [@pure, '--reset-on', '-1'], [@pure, '--reset-on', 'x=-1f']) {
  ($run, $out) = stream($cut, @$flags);
  ok($out eq $apart, "@$flags") or diag($run->{err});
}
like($run->{err}, qr/\Asteps since reset\t30\nsteps\t50\nresets\t3\n/,
     'the report counts resets');
spew(scratch('track'), $track);
for my $form ([], \@pure) {
  ($run, $out) = stream($input, @$form, '--input', 'x=-', '--input',
                        'cut=' . scratch('track'), '--reset-on', 'cut=1');
  ok($out eq $apart, "a track beside the inputs: @$form") or diag($run->{err});
}
my ($one, $not) = map { pack 'f<*', ($_) x 2 } -1, -sin(9 ** 9 ** 9);
(my $nan = $cut) =~ s/\Q$one\E/$not/g;
ok((stream($nan, '--reset-on', 'nan'))[1] eq $apart, 'frames of NaN');
for ([qr/no input `y`.*--input y=FILE/, 'y=1'], [qr/E0504/, 'what'],
     [qr/overlap/, -1, '--step', 'window', '--frame', 2, '--hop', 1],
     [qr/one number/, '[1, 2]']) {
  my ($pattern, @flags) = @$_;
  gives((stream($input, '--reset-on', @flags))[0], 1, '', $pattern,
        "refused: --reset-on @flags");
}

# --- What is refused --------------------------------------------------------

sub refused {
  my ($pattern, $name, @flags) = @_;
  gives((stream($input, @flags))[0], 1, '', $pattern, $name);
}
refused(qr/E0102.*no function `\@none`/, 'no such step', '--step', '@none');
refused(qr/only its first/, 'rows of unknown size', '--step', 'big');
refused(qr/nothing is fed to `x`.*--init/, 'a state without --init', '--step',
        'pure');
refused(qr/number of rows/, 'another frame than the step takes', '--frame', 3);
refused(qr/pad, drop or short/, 'an unknown tail', '--tail', 'cut');
refused(qr/no short frame/, 'a short tail of fixed frames', '--tail', 'short');
gives(rly('stream', $program, '--input', '/nowhere'), 1, '',
      qr/E0501.*nowhere/, 'no such input');
gives(rly('stream'), 1, '', qr/needs a file/, 'no program');

($run, $out) = stream($input . 'xyz');
gives($run, 2, '', qr/E0502.*within a row/, 'an end within a row');
ok($out eq $expected, 'what came before it was done');
($run, $out) = stream(slurp(npy(scratch('piped.npy'), '<f4', '50, 2', $input)));
gives($run, 2, '', qr/E0502.*it begins as a \.npy/, 'a .npy on a pipe');
ok($out eq '', '... whose header is no row');
gives((stream("\0\1\2", '--step', 'flag'))[0], 2, '', qr/an element is no bool/,
      'a bool that is none');

# --- Frames beyond memory ---------------------------------------------------

# The frames of @window have four bytes a row: the first is more than there may
# be, the second not a second time, as the value that the step is given.
for my $rows ('1' . '0' x 18, 500_000, 200_000) {
  ($run, $out) = stream($input, '--step', 'window', '--frame', $rows,
                        '--max-memory', '1M');
  gives($run, 3, '', qr/\Aerror\[E0701\]: out of memory.*\n\z/,
        "a frame of $rows rows within 1 MB");
}

# --- Numbers that are none --------------------------------------------------

my $odd = pack 'f<*', 1, 9 ** 9 ** 9, -9 ** 9 ** 9, -sin(9 ** 9 ** 9);
($run, $out) = stream($odd, '--step', 'same');
ok($out eq $odd, 'NaN and Inf pass');
like($run->{err}, qr/^NaN\t1\nInf\t2$/m, 'and are counted');

# --- Pipes ------------------------------------------------------------------

$run = rly({in => $odd}, 'stream', $program, '--step', 'talk', '--output',
           '-');
ok($run->{out} eq $odd && $run->{err} =~ /\A(?:hello\n){4}/,
   'what a program prints does not come between') or diag($run->{err});

my $fifo = scratch('fifo');
mkfifo($fifo, 0600) or die "$fifo: $!\n";
my $results = scratch('piped');
my $pid = rly_start('stream', $program, '--input', $fifo, '--output', $results,
                    '--save-state', $state);
open my $to, '>:raw', $fifo or die "$fifo: $!\n";
my $at = 0;
for my $n (3, 1, 9, 11) {  # bytes, as they may come
  syswrite $to, substr($input, $at, $n);
  $at += $n;
  select undef, undef, undef, 0.02;
}
select undef, undef, undef, 0.02 until -s $results;
select undef, undef, undef, 0.02 until -s $results == 24;
ok(slurp($results) eq substr($expected, 0, 24),
   'results come before the input ends, whatever its pieces');
kill INT => $pid;
$run = rly_wait($pid);
is($run->{status}, 130, 'Ctrl-C: 130') or diag($run->{err});
like($run->{err}, qr/^steps since reset\t3$/m, 'with its report');
close $to;
($run, my $rest) = stream(substr($input, 24), '--load-state', $state);
ok($rest eq substr($expected, 24), 'and the state, to go on from');

pipe my $from, my $into or die "pipe: $!\n";
close $from;
$run = rly_wait(rly_start({in => $input x 20, to => $into}, 'stream', $program,
                          '--step', 'many', '--output', '-'));
is($run->{status}, 2, 'nobody reads: exit 2');
like($run->{err}, qr/^error\[E0507\]: cannot write -: Broken pipe\nsteps /,
     'which is said');
unlike($run->{err}, qr/could not be written/, '... once');
SKIP: {
  skip 'no /dev/full', 2 unless -c '/dev/full';
  for my $json ([], ['--json']) {
    $run = rly({in => $input, out => '/dev/full'}, 'stream', $program,
               '--step', 'many', '--output', '-', @$json);
    is(() = $run->{err} =~ /No space|could not/g, 1, "nor twice: @$json");
  }
}

# --- The character model ----------------------------------------------------

my $text = tensors('tests/reference/charlm_expected.safetensors');
my ($prompt, $greedy) = @{$text->{__metadata__}}{qw(prompt greedy_text)};
$run = rly({in => $prompt . $greedy}, 'stream', 'examples/charlm/stream.rly',
           '--params', 'examples/charlm/charlm.safetensors', '--output', '-');
is($run->{status}, 0, 'charlm from a pipe') or diag($run->{err});
is(substr($run->{out}, length($prompt) - 1, length $greedy), $greedy,
   'guesses what the network writes');

done_testing();
