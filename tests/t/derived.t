#!/usr/bin/env perl
# rly gradcheck: derivatives of whole functions against differences of their
# values, in float64, for the library's layers, the models of examples/, and
# functions of each kind.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

sub verdicts {
  my ($run) = @_;
  return {$run->{out} =~ /^@(\w+): (right|wrong|passed over)\b/mg};
}

# Each kind of function.
my $file = 'tests/gradient/derived.rly';
my $run = rly('gradcheck', $file);
my %right = map { $_ => 'right' }
    qw(square relu list norm rows loop step through layer);
is_deeply(verdicts($run),
          {%right, half => 'wrong', cut => 'wrong',
           map { $_ => 'passed over' } qw(apply count fails)},
          'what is right, wrong and passed over');
is($run->{status}, 1, 'a wrong derivative is a failure');
is($run->{err}, '', 'what is passed over is no error');
like($run->{out}, qr/^\@list: right at \d elements, largest difference \d/m,
     'what is right says where it was tried, and how near');
my $number = qr/-?[\d.]+/;
like($run->{out},
     qr/^\@half: wrong: at %x\[0, 0\]: differences $number, vjp $number$/m,
     'what is wrong names the input and its element');
my ($differences, $vjp) =
    $run->{out} =~ /^\@half.*differences (\S+), vjp (\S+)$/m;
ok(abs($differences - 2 * $vjp) < 1e-6, 'which is half of what it should be');
like($run->{out}, qr/^\@apply: passed over: `%f` is a function$/m,
     'what is passed over says why');
like($run->{out}, qr/^\@fails: passed over: E0605: .*too small$/m,
     'a function that fails');

# Derivatives of derivatives.
my $again = rly('gradcheck', 'tests/gradient/second.rly');
is_deeply([$again->{status}, scalar keys %{verdicts($again)},
           grep { !/: right at/ } split /\n/, $again->{out}], [0, 10],
          'gradients, differentiated again');

# One function, JSON, statuses.
my $one = rly('gradcheck', '--entry', '@rows', $file);
is_deeply([$one->{status}, verdicts($one)], [0, {rows => 'right'}],
          '--entry names one');
my $json = rly('gradcheck', '--json', '--entry', 'half', $file);
my ($half) = @{json($json->{out})->{functions}};
is_deeply([$json->{status}, @$half{qw(name verdict)}], [1, '@half', 'wrong'],
          'as JSON');
is(rly('gradcheck', '--entry', 'apply', $file)->{status}, 1,
   'one that is named has to be checked');
my $none = rly('gradcheck', '--entry', 'nosuch', $file);
is($none->{status}, 1, 'one that is not there');
like($none->{err}, qr/E0102.*no function `\@nosuch`/, '  which is said');
# Derivatives are compared relative to the value, where that is small; and where
# a value bends, but has no kink.  The derivative of each is wrong somewhere.
my $subtle = rly('gradcheck', spew(scratch('subtle.rly'), <<'END'));
def @small(%x: Tensor[(3), float32]) -> float32 {
  with_vjp(fn (%x: Tensor[(3), float32]) { sum(%x) * 1e-8f },
           fn (%x: Tensor[(3), float32], %y: float32, %g: float32) {
             (zeros_like(%x),)
           })(%x)
}
def @bends(%x: Tensor[(2000), float32]) -> float32 {
  let %square = with_vjp(
    fn (%x: Tensor[(2000), float32]) { %x * %x },
    fn (%x: Tensor[(2000), float32], %y: Tensor[(2000), float32],
        %g: Tensor[(2000), float32]) {
      (where(arange(0f, 2000f, 1f) > 1998f, 0f, 2f) * %x * %g,)
    });
  sum(%square(%x))
}
def @bends_rightly(%x: Tensor[(2000), float32]) { sum(%x * %x) }
def @small_rightly(%x: Tensor[(3), float32]) { sum(%x) * 1e-8f }
def @none(%x: Tensor[(3), float32]) { sum(unique(%x).0) }
def @gives(%x: float32) { fn () { %x } }
END
like($subtle->{out}, qr/^\@none: passed over: E0609: `unique` has no/m,
     'no derivative is no wrong one');
like($subtle->{out}, qr/^\@gives: passed over: its value holds /m,
     'nor is a function given back');
like($subtle->{out}, qr/^\@small: wrong: at %x\[0\]/m, 'a small value');
like($subtle->{out}, qr/^\@bends: wrong: element 0 of the value/m,
     'one that bends');
is(scalar(() = $subtle->{out} =~ /rightly: right at \d+ elements, /g), 2,
   '... and both with their derivatives') or diag($subtle->{out});
# A function of shapes is called at one, and its inputs keep their names.
my $shapes = rly('gradcheck', spew(scratch('shapes.rly'), <<'END'));
op @square[s: Shape](%data: Tensor[s, float32]) -> Tensor[s, float32] = {
  %data * %data
};
gradient @square(%x) -> (%y, %g) { %g * %x }
def @called[s: Shape](%x: Tensor[s, float32], %f: fn(float32) -> float32)
    -> Tensor[s, float32] { %x }
END
like($shapes->{out}, qr/^\@square: wrong: at %data\[0, 0\]: /m,
     'the input of a function of shapes by its name');
like($shapes->{out}, qr/^\@called: passed over: `%f` is a function/m,
     '... where none is drawn, too');
is(rly('gradcheck')->{status}, 1, 'without a file');
my $narrow = spew(scratch('narrow.rly'), <<'END');
def @bits(%x: Tensor[(3), float32]) {
  sum(%x) + cast(sum(reinterpret(%x, dtype="int32")), dtype="float32") * 0f
}
END
my $bits =
  qr/^\S+narrow\.rly:2:\d+: error\[E0304\]: cannot be checked in float64: /;
gives(rly('gradcheck', $narrow), 1,
      "\@bits: not checked: it cannot be computed in float64\n", $bits,
      'a function that is none of float64');

# A dtype that a row has by default is widened with the others.
my $made = spew(scratch('made.rly'), <<'END');
def @zeros(%x: Tensor[(3), float32]) { sum(%x + zeros(shape=[3])) }
def @ones(%x: Tensor[(3), float32]) { sum(%x * dyn.ones([3])) }
def @drawn(%x: Tensor[(3), float32]) {
  sum(%x * random.uniform(random.threefry_key(1), 0f, 1f, out_shape=[3]).1)
}
END
gives(rly('gradcheck', $made), 0,
      qr/\A(?:@\w+: right at 3 elements, .*\n){3}\z/, '',
      'a dtype that is not written');
like(rly('fmt', '--pass', 'float64', $made)->{out},
     qr/ zeros\(shape=\[3\], dtype="float64"\)/, '... is written');

# Those that do not mention it are checked, whatever file they are in.
my $others = spew(scratch('others.rly'), <<'END');
import "narrow.rly";
def @uses(%x: Tensor[(3), float32]) -> float32 { @bits(%x) * 2f }
let @once = @uses([1f, 2f, 3f]);
param @preset: float32 = @uses([0f, 0f, 0f]);
def @shift(%x: float32) { %x + @preset }
def @square(%x: float32) { %x * %x }
@uses([1f, 2f, 3f]);
END
my $found = rly('gradcheck', $others);
is($found->{status}, 1, 'a function of several is none of float64');
like($found->{out}, qr/\A\@square: right .*
\@uses: not checked: it mentions `\@bits`, which cannot be computed in float64
\@shift: not checked: it mentions `\@preset`, which cannot .* float64
\@bits: not checked: it cannot be computed in float64\n\z/,
     '... the others are checked');
like($found->{err}, $bits, '... and it is said why');
gives(rly('gradcheck', $others, '--entry', 'square'), 0,
      qr/\A\@square: right .*\n\z/, '', '... which --entry leaves out');
like(rly('gradcheck', '--json', $others)->{out},
     qr/"\@bits", "verdict": "not checked", "message": "it cannot/,
     '... as JSON');
my $mistaken = spew(scratch('mistaken.rly'), 'def @f(%x: float32) { %x + 1 }');
my $told = rly('check', $mistaken)->{err};
gives(rly('gradcheck', $mistaken), 1, '', qr/\A\Q$told\E\z/,
      'a mistake is told in the words of the program as it is written');
gives(rly({in => slurp($mistaken)}, 'gradcheck', '-'), 1, '', qr/float32/,
      'and of standard input');
my $refused = rly('gradcheck', spew(scratch('no.rly'), 'def @f( {'));
is($refused->{status}, 1, 'a text that is refused');
like($refused->{err}, qr/^\S+no\.rly:1:\d+: error/, '  at its place');

# The tensors of a param with parts are drawn; a list has no fixed number.
my $parts = verdicts(rly('gradcheck', spew(scratch('parts.rly'), <<'END')));
type Layer { Layer(w: Tensor[(2, 3), float32], b: Tensor[(2), float32]) }
param @net: (Layer, float32);
param @more: List[float32];
def @apply(%x: Tensor[(1, 3), float32]) {
  @net.1 * (nn.dense(%x, @net.0.w) + @net.0.b)
}
def @scaled(%x: float32) { %x * @hd(@more) }
END
is_deeply($parts, {apply => 'right', scaled => 'passed over'},
          'params with parts are drawn');

# The layers of the library, and models.
my %layers = (
  'stdlib/rnn.rly' => [qw(lstm_cell lstm lstm_rev lstm_proj lstm_proj_rev
      lstm_masked gru_cell gru gru_rev gru_masked rnn_tanh rnn_tanh_rev
      rnn_relu rnn_relu_rev)],
  'stdlib/rnn_stack.rly' => [qw(lstm_bi lstm_stack gru_bi gru_stack
      rnn_tanh_bi rnn_tanh_stack rnn_relu_bi rnn_relu_stack)],
  'stdlib/rnn_roads.rly' => [qw(lstm_list lstm_unrolled)],
  'stdlib/rnn_weights.rly' => [qw(gru_from_keras lstm_from_onnx)],
  'stdlib/tree_lstm.rly' => [qw(tree_lstm tree_lstm_node)],
  'stdlib/nn.rly' => [qw(softplus gelu mish top_k_beam)],
  'stdlib/control.rly' => [qw(unstack stack_list)],
  'examples/attention/attention.rly' => [qw(decode search)],
  'examples/attention/net.rly' => [qw(encode look)],
  'examples/spotting/net.rly' => [qw(hear)],
  'examples/spotting/spotting.rly' => [qw(step)],
  'examples/transducer/networks.rly' => [qw(encode predict join)],
  'examples/trees/net.rly' => [qw(cell read praise)],
  'tests/gradient/models.rly' => [qw(attention transducer newton slope)],
);
for my $path (one_in(1, 2, sort keys %layers)) {
  my $found = verdicts(rly('gradcheck', '--timeout', 600, $path));
  is_deeply([grep { ($found->{$_} // '') ne 'right' } @{$layers{$path}}], [],
            "$path: what has floats is right");
  is_deeply([grep { $found->{$_} eq 'wrong' } sort keys %$found], [],
            '  and nothing is wrong');
}

done_testing;
