#!/usr/bin/env perl
# docs/operators.md is generated from the table of operators, and `make test`
# runs its examples.  Here the less obvious values are computed again from their
# definitions.
#
# An example's value is easily copied from what the program printed; such a one
# says that nothing has changed, not that it was right.  The second computation
# is in Perl, in doubles and from the textbook's formula, with no line shared
# with the kernels; a mistake would have to be made twice, in two languages, to
# pass.
use strict;
use warnings;
use lib 'tests/t';
use List::Util qw(sum);
use POSIX qw(acosh asinh atanh erf cosh sinh tan tanh);
use Rly;
use Test::More;

my $page = slurp('docs/operators.md');
my @rows = @{json(rly('ops', '--json')->{out})};
my @names = map { $_->{name} } @rows;
my %row = map { $_->{name} => $_ } @rows;
my %entry = map { /^(\S+)\n/ ? ($1 => $_) : () } split /^## /m, $page;

gives(rly('ops', '--markdown'), 0, $page, '',
      'the page is what `make docs` writes');
is_deeply([$page =~ /^## (\S+)$/mg], \@names, 'an entry for each row');
my @bare = grep { $entry{$_} !~ m{^```rly\n.*;\n// expect.*?: \S}m } @names;
is_deeply(\@bare, [], 'each with an example and what it shows');

# --- The rows ---------------------------------------------------------------

is_deeply(json(rly('ops', 'nn.dense', '--json')->{out}), [$row{'nn.dense'}],
          '--json with a name is its row');
gives(rly('ops', 'nn.dens', '--json'), 1, '', qr/did you mean `nn.dense`/,
      'or says that there is none');
my %fields = map { $_ => 1 } map { keys %$_ } @rows;
is_deeply([grep { keys %$_ != keys %fields } @rows], [],
          'every row has all ' . keys(%fields) . ' fields');
is_deeply($row{clip}{attributes}[0],
          {name => 'a_min', type => 'float', required => JSON::PP::true,
           optional => JSON::PP::false, expression => JSON::PP::true,
           words => []}, 'an attribute without a default');
is_deeply([map { $_->{default} } @{$row{take}{attributes}}],
          [0, undef, 'clip'], 'defaults');
is_deeply($row{take}{attributes}[2]{words}, [qw(clip wrap fast)], 'words');

# Properties of the rows that relate several fields.
sub all_hold {
  my ($what, $holds) = @_;
  is_deeply([map { $_->{name} } grep { !$holds->($_) } @rows], [], $what);
}
all_hold('only element-wise operators and biases fuse', sub {
  my ($r) = @_;
  return !$r->{fusion} || $r->{reads} eq 'same' || $r->{fusion} eq 'bias';
});
all_hold('constants of a step are float attributes', sub {
  my ($r) = @_;
  my %type = map { $_->{name} => $_->{type} } @{$r->{attributes}};
  return !grep { $type{$_} ne 'float' } @{$r->{params}};
});
all_hold('what reads no element counts no operation', sub {
  return $_[0]{reads} ne 'none' || !$_[0]{flops};
});
all_hold('an index may be bent by a mode', sub {
  my ($r) = @_;
  return ($r->{fails} // '') ne 'index'
    || grep { $_->{name} eq 'mode' } @{$r->{attributes}};
});
all_hold('a reduction names its axes, or has a shape to lose them', sub {
  my ($r) = @_;
  return $r->{reads} ne 'axes' || $r->{rule}{name} =~ /^(?:collapse|cross)/
    || grep { $_->{name} eq 'axis' } @{$r->{attributes}};
});
all_hold('what is random draws from a key', sub {
  my ($r) = @_;
  return !$r->{random} || $r->{name} =~ /threefry_key$/
    || $r->{operands}[0]{name} eq 'key';
});
all_hold('what prints is run by the machine', sub {
  return !$_[0]{prints} || $_[0]{special};
});

is_deeply($row{'nn.pad'}{cast}, {operand => 'pad_value', like => 'data'},
          'an operand that is cast');

# --- What is read as Relay reads it -----------------------------------------

sub warns {
  my ($program, $out, $warning) = @_;
  gives(rly('-e', $program), 0, $out, qr/warning\[W0004\]: $warning/, $program);
}
my $relays = qr/is int32 and is cast to float32, as in Relay/;
warns('nn.pad([1f, 2f], 7, pad_width=[[1, 1]])',
      "Tensor[(4), float32] [7.0, 1.0, 2.0, 7.0]\n",
      qr/`nn.pad`: `pad_value` $relays/);
warns('dyn.nn.pad([1f, 2f], [[1, 1]], 7)',
      "Tensor[(4), float32] [7.0, 1.0, 2.0, 7.0]\n", qr/.*$relays/);
warns('let %n = 3; sparse_to_dense([0, 2], [1f, 2f], 9, output_shape=[%n])',
      "Tensor[(3), float32] [1.0, 9.0, 2.0]\n",
      qr/`sparse_to_dense`: `default_value` $relays/);
warns('dyn.topk([3, 1, 2], 2.9, ret_type="values")',
      "Tensor[(2), int32] [3, 2]\n", qr/`topk`: `k` is float32 and is read/);
warns('dyn.tile([1, 2], [2f])', "Tensor[(4), int32] [1, 2, 1, 2]\n",
      qr/`tile`: `reps` is float32 and is read as an integer, as in Relay/);
warns('sequence_mask([[1, 2]], [0.5, 0.0])', "Tensor[(1, 2), int32] [[1, 0]]\n",
      qr/.*`valid_length` is float32: what is at an index below it stays/);
warns('strided_set([1, 2, 3], [8, 9], [1], [3], '
          . 'zeros(shape=[0], dtype="int8"))',
      "Tensor[(3), int32] [1, 8, 9]\n",
      qr/.*axes without a begin, an end or a stride are taken from the first/);
warns('strided_set([1, 2], [8, 9], zeros(shape=[0], dtype="int8"), '
          . 'zeros(shape=[0], dtype="int8"), [-1])',
      "Tensor[(2), int32] [9, 8]\n", qr/`strided_set`: axes without/);
warns('scatter_add([1, 1], [1], [5, 6])', "Tensor[(2), int32] [1, 6]\n",
      qr/.*`updates` \(2\) only as many as there are indices, \(1\), are/);
warns('nn.conv1d_transpose([[[1f]]], [[[1f]]], output_padding=[1, 7])',
      "Tensor[(1, 1, 2), float32] [[[1.0, 0.0]]]\n",
      qr/.*of two numbers in `output_padding` the first counts, as in Relay/);
warns('nn.avg_pool2d_grad([[[[5u8]]]], [[[[1u8, 3u8]]]], '
          . 'pool_size=[1, 2])',
      "Tensor[(1, 1, 1, 2), uint8] [[[[2, 2]]]]\n",
      qr/.*shares of a window are truncated, as in Relay/);
gives(rly('-e', 'dyn.tile([1, 2], [1.5])'), 2, '', qr/error\[E0603\].*`tile`/s,
      'a fraction of a repetition');
gives(rly('-e', 'reshape([1, 2], newshape=[2.0])'), 1, '', qr/error\[E0111\]/,
      'other lists are of integers');
gives(rly('-e', 'let %n = 3; sparse_to_dense([0], [1f], output_shape=[%n])'),
      0, "Tensor[(3), float32] [1.0, 0.0, 0.0]\n", '',
      'an attribute in its place is not cast');
warns('stft([[1f, 2f]], [2, 2], n_fft=2, hop_length=2, win_length=2, '
          . 'onesided=False)',
      qr/\[\[\[\[\s*6\.0,\s*.0\.0\]\],\s*\[\[\s*-2\.0,/, qr/`stft`: `window`/);

my $deep = '[[[[1f]], [[2f]], [[3f]], [[4f]], [[5f]], [[6f]], [[7f]], [[8f]]]]';
my $wide = qr/\[\[\[\[1\.0,\ 2\.0\],\s*\[3\.0,\ 4\.0\]\],\s*
              \[\[5\.0,\ 6\.0\],\s*\[7\.0,\ 8\.0\]\]\]\]/x;
gives(rly('-e', "nn.depth_to_space($deep, block_size=2, mode=\"CRD\")"), 0,
      $wide, '', 'a mode');
warns("nn.depth_to_space($deep, block_size=2, mode=\"other\")", $wide,
      qr/.*"other" is read as "CRD"/);
warns('nn.space_to_depth([[[[1f, 2f], [3f, 4f]], [[5f, 6f], [7f, 8f]]]], '
          . 'block_size=2, mode="CRD")',
      qr/\[\[1\.0\]\],\s*\[\[5\.0\]\],\s*\[\[2\.0\]\],\s*\[\[6\.0\]\]/,
      qr/.*"CRD" is read as "DCR"/);
my $fill = 'sparse_fill_empty_rows([[0, 0]], [1f], [2, 2], ';
warns("$fill\[9f])", qr/Tensor\[\(2\), float32\] \[1\.0, 9\.0\]/,
      qr/.*`default_value` \(1\) the one element/);
gives(rly('-e', "$fill\[9f, 8f])"), 1, '', qr/E0208/, 'but no two');

# A vector whose length is not known before may have one element.
my $sums = qr/\[\[\s*4\.0,\s+7\.0\],\s*\[\s*8\.0,\s+1\.0\]\]/;
for my $row (['nn.bias_add', 'axis=1', $sums], ['nn.bias_add', 'axis=0', $sums],
             ['nn.prelu', 'axis=1',
              qr/\[\[\s*-5\.0,\s+2\.0\],\s*\[\s*3\.0,\s+-20\.0\]\]/]) {
  my ($op, $axis, $out) = @$row;
  my $def = "def \@f(%b: Tensor[(?), float32]) "
      . "{ $op([[-1f, 2f], [3f, -4f]], %b, $axis) } ";
  gives(rly('-e', "$def\@f([5f])"), 0, $out, '', "$op along $axis, by one");
  gives(rly('-e', "$def\@f([5f, 6f, 7f])"), 2, '', qr/E0603.*must have shape/,
        'or as many as the axis');
}

# A transposed convolution whose weight is written in either order.
my $turned = 'def @f(%w: Tensor[(?, ?, ?, ?), float32]) { '
    . 'nn.conv2d_transpose([[[[1f]], [[10f]]]], %w) } ';
for my $weight ('[[[[1f]], [[2f]], [[3f]]], [[[4f]], [[5f]], [[6f]]]]',
                '[[[[1f]], [[4f]]], [[[2f]], [[5f]]], [[[3f]], [[6f]]]]') {
  my $sums = qr/\[\[\[\[41\.0\]\],\s*\[\[52\.0\]\],\s*\[\[63\.0\]\]\]\]/;
  gives(rly('-e', "nn.conv2d_transpose([[[[1f]], [[10f]]]], $weight)"), 0,
        $sums, '', 'the order that fits is meant');
  gives(rly('-e', $turned . "\@f($weight)"), 0, $sums, '',
        'also where it shows when the program runs');
}
warns('nn.conv2d_transpose([[[[1f]], [[10f]]]], '
          . '[[[[1f]], [[2f]]], [[[3f]], [[4f]]]])',
      qr/\[\[\[\[31\.0\]\],\s*\[\[42\.0\]\]\]\]/,
      qr/.* is read as IOHW; in texts of TVM 0\.9 it is OIHW/);
gives(rly('-e', 'nn.conv2d_transpose([[[[1f]], [[10f]]]], '
              . '[[[[1f]], [[2f]]], [[[3f]], [[4f]]]], kernel_layout="OIHW")'),
      0, qr/\[\[\[\[21\.0\]\],\s*\[\[43\.0\]\]\]\]/, '', 'or is said');

# The numbers that the page expects of an operator's example, in order; those
# of shapes and dtypes are left out.
sub shown {
  my ($value) = $entry{$_[0]} =~ m{^// expect.*?: (.*?)^```}ms;
  $value =~ s{\n//}{}g;
  $value =~ s{Tensor\[\([^)]*\), \w+\]}{}g;
  return $value =~ /-?\d[\d.]*(?:e[-+]?\d+)?/g;
}

# --- Elementary functions ---------------------------------------------------

sub sigmoid { 1 / (1 + exp -$_[0]) }
my $pi = 4 * atan2 1, 1;

my %computed = (
  exp => [1, exp 1], log => [0, log 2], log2 => [3], log10 => [2],
  sqrt => [3], rsqrt => [0.5],
  sigmoid => [map { sigmoid($_) } -1 .. 1],
  tanh => [map { tanh($_) } -1 .. 1],
  erf => [erf(0.5)], sin => [sin 1], cos => [cos 1], tan => [tan(1)],
  asin => [$pi / 6], acos => [$pi / 3], atan => [$pi / 4],
  sinh => [sinh(1)], cosh => [cosh(1)],
  asinh => [asinh(1)], acosh => [acosh(2)], atanh => [atanh(0.5)],
  fast_exp => [exp 1], fast_tanh => [tanh(1)], fast_erf => [erf(1)],
  power => [2, 4, 8], reinterpret => [unpack 'l', pack 'f', 1],
);

# --- Normalisation, losses --------------------------------------------------

my @e = map { exp } 1 .. 3;
my @softmax = map { $_ / sum(@e) } @e;
my $unit = 1 / sqrt(1 + 1e-5);

# The element at $i of 1, 2, 3, divided by what it and its neighbours weigh.
sub lrn {
  my ($i) = @_;
  my @near = grep { $_ >= 1 && $_ <= 3 } $i - 1 .. $i + 1;
  my $squares = sum(map { $_ ** 2 } @near);
  return $i / (2 + 1e-4 / 3 * $squares) ** 0.75;
}

%computed = (
  %computed,
  variance => [2 / 3],
  'nn.softmax' => \@softmax, 'nn.fast_softmax' => \@softmax,
  'nn.log_softmax' => [map { log } @softmax],
  'nn.batch_norm' => [0, 1 / sqrt(4 + 1e-5)],
  map({ ("nn.${_}_norm" => [-$unit, $unit]) } qw(layer group instance)),
  'nn.l2_normalize' => [0.6, 0.8], 'nn.lrn' => [map { lrn($_) } 1 .. 3],
  'nn.cross_entropy' => [-log 0.5],
);

# --- Random numbers ---------------------------------------------------------
# The words of key 1234 are the reference's: they stand in a conformance case.

my $case = 'tests/conformance/ops/random.threefry_generate__seed_4.safetensors';
my $bytes = slurp($case);
my @words = (unpack 'Q<*', substr $bytes, 8 + unpack 'Q<', $bytes)[-4 .. -1];
my @open = map { (($_ >> 12) + 0.5) / 2 ** 52 } @words;

sub normal {
  my ($turn, $u, $v) = @_;
  my $radius = sqrt(-2 * log $u);
  return $radius * ($turn ? sin 2 * $pi * $v : cos 2 * $pi * $v);
}

is_deeply([shown('random.threefry_generate')], \@words,
          'the words of random.threefry_generate');
%computed = (
  %computed,
  'random.uniform' => [map { (($_ & 0xFFFFFFFF) >> 9) / 2 ** 23 }
                         @words[0 .. 2]],
  'random.normal' => [normal(0, @open[0, 1]), normal(1, @open[0, 1]),
                      normal(0, @open[2, 3])],
  'random.multinomial' => [map { $_ * (1 + 3) < 1 ? 0 : 1 } @open],
);

near([shown($_)], $computed{$_}, 3e-7, "what $_ shows") for sort keys %computed;

# --- Other names ------------------------------------------------------------
# Names of operators in other releases of Relay.

my @renamed = (
  ['_contrib_reverse_reshape([[1, 2], [3, 4]], newshape=[-1, 0])',
   qr/\[\[1, 2\],\s+\[3, 4\]\]/],
  ['contrib.adaptive_avg_pool2d([[[[1f, 3f, 2f]]]], output_size=[1])',
   qr/\[2\.0\]/],
  ['contrib.adaptive_max_pool2d([[[[1f, 3f, 2f]]]], output_size=[1])',
   qr/\[3\.0\]/],
  ['scatter([0, 0, 0], [2, 0], [5, 6], axis=0)', qr/\[6, 0, 5\]/],
);
gives(rly('run', '-e', $_->[0]), 0, $_->[1], '', $_->[0]) for @renamed;

done_testing();
