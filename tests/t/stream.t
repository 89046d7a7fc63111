#!/usr/bin/env perl
# rly stream: frames from files and pipes, tails, state, what ends a stream,
# and its report.
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

($run, $out) = stream($input, '--step', 'pure', '--init', 'zero');
ok($run->{status} == 0 && $out eq $expected, 'a step that is handed its state')
  or diag($run->{err});
for my $init ('step', 'none', 'half') {
  ($run) = stream($input, '--step', 'pure', '--init', $init);
  like($run->{err}, qr/\A\S*error\[E0506\]: .*`\@$init`/,
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

# --- .npy -------------------------------------------------------------------

my $x = npy(scratch('x.npy'), '<f4', '50, 2', $input);
my $y = npy(scratch('y.npy'), '<f4', '50, 2', $expected);
my $got = scratch('got.npy');
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
npy(scratch('z.npy'), '<f4', '51, 2', $expected . pack('f<*', 0, 0));
gives(rly(@stream, '--expect', scratch('z.npy')), 1, '',
      qr/2 of 102 elements are not.*element 100\n/, 'too few of them');
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
windows(11, [3, 2, 13, 2, 11, 2], 'a tail behind a gap', '--frame', 2, '--hop',
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
gives((stream($input, '--step', 'pure', '--init', 'zero', '--save-state',
               $state))[0], 1, '', qr/for state in cells/,
      'a state that is handed on is not in cells');

# --- What is refused --------------------------------------------------------

sub refused {
  my ($pattern, $name, @flags) = @_;
  gives((stream($input, @flags))[0], 1, '', $pattern, $name);
}
refused(qr/no function `\@none`/, 'no such step', '--step', 'none');
refused(qr/only its first/, 'rows of unknown size', '--step', 'big');
refused(qr/--init/, 'a state without --init', '--step', 'pure');
refused(qr/number of rows/, 'another frame than the step takes', '--frame', 3);
refused(qr/pad, drop or short/, 'an unknown tail', '--tail', 'cut');
refused(qr/no short frame/, 'a short tail of fixed frames', '--tail', 'short');
gives(rly('stream', $program, '--input', '/nowhere'), 1, '',
      qr/E0501.*nowhere/, 'no such input');
gives(rly('stream'), 1, '', qr/needs a file/, 'no program');

($run, $out) = stream($input . 'xyz');
gives($run, 2, '', qr/E0502.*within a row/, 'an end within a row');
ok($out eq $expected, 'what came before it was done');
gives((stream("\0\1\2", '--step', 'flag'))[0], 2, '', qr/neither 0 nor 1/,
      'a bool that is none');

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
like($run->{err}, qr/E0507/, 'which is said');

# --- The character model ----------------------------------------------------

my $text = tensors('tests/reference/charlm_expected.safetensors');
my ($prompt, $greedy) = @{$text->{__metadata__}}{qw(prompt greedy_text)};
$run = rly({in => $prompt . $greedy}, 'stream', 'examples/charlm/stream.rly',
           '--params', 'examples/charlm/charlm.safetensors', '--output', '-');
is($run->{status}, 0, 'charlm from a pipe') or diag($run->{err});
is(substr($run->{out}, length($prompt) - 1, length $greedy), $greedy,
   'guesses what the network writes');

done_testing();
