#!/usr/bin/env perl
# Gradients against those of another implementation, and the same bits on any
# number of threads and with any instruction set.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $reference = 'tests/reference/rnn/lstm_gradients.safetensors';
my @names = ('loss', map {"grad_$_"} qw(x weight_ih_l0 weight_hh_l0 bias_ih_l0
                                       bias_hh_l0));

sub gradients {
  my (@args) = @_;
  my $out = scratch('out.safetensors');
  my $run = rly('run', 'tests/reference/gradient.rly', '--inputs', $reference,
                '--outputs', $out, '--entry', 'lstm_gradients', @args);
  ok($run->{status} == 0, "gradients @args") or diag($run->{err});
  return tensors($out);
}

# PyTorch's, of mean((y - target)^2).
my $expected = tensors($reference);
my $found = gradients();
for my $i (0 .. $#names) {
  my ($e, $f) = ($expected->{$names[$i]}, $found->{"out$i"});
  is_deeply($f->{shape}, $e->{shape}, "the shape of $names[$i]");
  near($f->{data}, $e->{data}, 1e-5, $names[$i]);
}

# The law.
is_deeply(gradients('--threads', 2), $found, 'two threads');
for my $isa (qw(avx512 avx2 neon generic reference)) {
  local $ENV{RLY_ISA} = $isa;
  my $run = rly('-e', '1');
  next if $run->{status} != 0;
  is_deeply(gradients(), $found, "instruction set $isa");
}

# Each operator has a rule, or is flat, or says why it has no derivative.
my %rules;
for my $path (glob 'stdlib/gradients/*.rly') {
  my $text = slurp($path);
  my ($words) = $text =~ m{^// for D in (.*\n(?://     .*\n)*)};
  $words =~ s{([,:]?)\n(?://     )?}{$1 || ' '}ge if defined $words;
  for my $word (split ' ', $words // 'once') {
    my ($first) = $word =~ /^([^:]*)/;
    for my $name ($text =~ /^gradient ([^(]+)\(/mg) {
      $name =~ s/\$D/$first/g;
      $rules{$name}++;
    }
  }
}
my %count = map { $_ => 0 } qw(rule zero none);
my @lacking;
for my $op (@{json(rly('ops', '--json')->{out})}) {
  my $kind = $op->{gradient} // next;
  $count{$kind}++;
  my $has = delete $rules{$op->{name}} // 0;
  push @lacking, $op->{name} if $has != ($kind eq 'rule');
  push @lacking, "$op->{name}: because?"
      if ($kind eq 'none') != defined $op->{no_gradient};
}
is("@lacking", '', "rules: $count{rule}, zero: $count{zero}, " .
                   "none: $count{none}");
is(join(' ', sort keys %rules), '', 'each rule is of an operator');
like(rly('ops', 'nn.softmax')->{out},
     qr/gradient: rule\n    gradient nn.softmax\(%x, axis=\$axis\)/,
     'rly ops shows the rule');
like(rly('ops', 'unique')->{out}, qr/gradient: none, because how many values/,
     'or why there is none');
# What a run keeps for its sweep: nothing without one, and of a loop as much for
# each step.
my $flow = spew(scratch('flow.rly'), <<'RLY');
def @flow(%n: int32, %x: float32) -> float32 {
  if (%n == 0) { %x } else { @flow(%n - 1, %x - 0.1f * %x * %x) }
}
def @value(%n: int32) { @flow(%n, 0.5f) }
def @gradient(%n: int32) { grad(fn (%x: float32) { @flow(%n, %x) })(0.5f) }
def @slope(%n: int32) {
  jvp(fn (%x: float32) { @flow(%n, %x) }, (0.5f,), (1f,))
}
RLY
sub stat_of {
  my ($stat, $entry, $steps) = @_;
  my $run = rly('run', '--stats', '--entry', $entry, $flow, $steps);
  return $run->{err} =~ /^$stat\t(\d+)$/m ? $1 : -1;
}
sub tape { return stat_of('tape bytes', @_) }
# Derivatives whose work grows like the value's: a matrix of the square of these
# sizes, or the identity resized along both axes, would not fit.
my $large = spew(scratch('large.rly'), <<'RLY');
def @cumprod() -> float32 {
  let %x = ones(shape=[20000], dtype="float32");
  sum(vjp(fn (%x) { cumprod(%x, axis=0) }, %x).1(%x).0)
}
def @resize2d() -> float32 {
  let %x = ones(shape=[1, 3, 256, 256], dtype="float32");
  let %g = ones(shape=[1, 3, 512, 512], dtype="float32");
  sum(vjp(fn (%x) { image.resize2d(%x, size=[512, 512]) }, %x).1(%g).0)
}
def @resize3d() -> float32 {
  let %x = ones(shape=[1, 1, 48, 48, 48], dtype="float32");
  let %g = ones(shape=[1, 1, 96, 96, 96], dtype="float32");
  sum(vjp(fn (%x) { image.resize3d(%x, size=[96, 96, 96]) }, %x).1(%g).0)
}
def @windows() -> float32 {
  let %x = ones(shape=[1, 1, 8000], dtype="float32");
  let %g = ones(shape=[1, 1, 100], dtype="float32");
  let %f = fn (%x) { nn.adaptive_avg_pool1d(%x, output_size=[100]) };
  sum(vjp(%f, %x).1(%g).0)
}
RLY
for ([cumprod => 20000 * 20001 / 2], [resize2d => 3 * 512 ** 2],
     [resize3d => 96 ** 3], [windows => 100]) {
  my ($name, $sum) = @$_;
  my $run = rly('run', '--max-memory', '64M', '--entry', $name, $large);
  my ($found) = $run->{out} =~ /^(\S+)f$/m;
  cmp_ok(abs(($found // 0) - $sum), '<', 1e-5 * $sum, "$name in 64 MB");
}

is(tape('@value', 20000), 0, 'no tape without a gradient');
my ($short, $long) = map { tape('@gradient', $_) } 20000, 40000;
cmp_ok($short, '>', 20000 * 8, 'a tape keeps a number of each step');
cmp_ok(abs($long - 2 * $short), '<', 0.1 * $long, 'and twice of twice as many');
is(stat_of('peak bytes', '@slope', 20000), stat_of('peak bytes', '@slope', 200),
   'jvp takes as much memory for many steps as for few');
cmp_ok(stat_of('buffers', '@slope', 20000), '<', 1.5 * 20000,
       '... and makes a tangent of what a step gives, not of its operators');

done_testing();
