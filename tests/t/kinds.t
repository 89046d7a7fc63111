#!/usr/bin/env perl
# Data types with parameters of kinds such as Shape and Float, outside of
# programs that run once: params by path, the state of streams, the prompt, the
# printers.  tests/conformance/lang/adt_kind_* has their meaning.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $layer = <<'END';
type Layer[s: Shape, d: Float] {
  Layer(weight: Tensor[s, d], state: Ref[Tensor[(s..., 1), d]]),
}
END
my $box = <<'END';
type Box[s: Shape, d: Float] { Box(value: Tensor[s, d], bias: Option[d]) }
END

# Params: [1, 2, 3] + 10 by hand.
my $net = spew(scratch('net.rly'), $box . <<'END');
param @net: Box[(3), float32];
def @main() {
  match (@net.bias) { Some(%b) => @net.value + %b, None => @net.value }
}
END
gives(rly('run', $net, 'net.value=[1, 2, 3]', 'net.bias=10'), 0,
      "Tensor[(3), float32] [11.0, 12.0, 13.0]\n", qr/^$/,
      'a param is bound by path');
gives(rly('run', $net, 'net.value=[1, 2]'), 1, '', qr/E0\d+.*net\.value/s,
      'of the shape that its type says');

# A stream's state: the cell is 1, then 3; from the file on, 4.
my $step = spew(scratch('step.rly'), $layer . <<'END');
let @cell = Layer([2f, 3f], ref([[0f], [0f]]));
def @step(%x: float32) -> float32 {
  ref_write(@cell.state, ref_read(@cell.state) + %x);
  sum(ref_read(@cell.state)) * sum(@cell.weight)
}
END
my ($in, $more, $out, $state) = map { scratch($_) } qw(in more out state);
spew($in, pack('f<*', 1, 2));
spew($more, pack('f<*', 1));
gives(rly('stream', $step, '--input', $in, '--output', $out,
          '--save-state', $state), 0, '', qr//, 'a stream saves its state');
is_deeply([unpack('f<*', slurp($out))], [10, 30], 'its results');
gives(rly('stream', $step, '--input', $more, '--output', $out,
          '--load-state', $state), 0, '', qr//, 'and loads it');
is_deeply([unpack('f<*', slurp($out))], [40], 'its result');
like(slurp($state), qr/\@cell Layer\[\(2\), float32\]/,
     'the signature names the instance');
my $smaller = slurp($step) =~ s/\[2f, 3f\], ref.*/[2f], ref([[0f]]));/r;
gives(rly('stream', spew(scratch('smaller.rly'), $smaller), '--input', $more,
          '--load-state', $state), 1, qr//,
      qr/E0504.*was ref\(Tensor\[\(2, 1\), float32\]\)/s,
      'a state of another shape is refused');

# The printers: what they write is read back, and gives the same.
my $all = spew(scratch('all.rly'), $layer . <<'END');
type Row[n: Dim, d: Float] = Layer[(n, 2), d];
def @two[n: Dim](%l: Row[n, float32]) -> int32 { n }
let %l: Layer[(1, 2), float32] = Layer([[1f, 2f]], ref([[[3f], [4f]]]));
@two({%l with weight = [[5f, 6f]]});
%l.weight;
END
my $result = "1\nTensor[(1, 2), float32] [[1.0, 2.0]]\n";
gives(rly('run', $all), 0, $result, qr/^$/, 'the program');
for my $how (qw(fmt dump)) {
  my $text = rly($how, $all)->{out};
  my $again = spew(scratch("$how.rly"), $text);
  gives(rly('run', $again), 0, $result, qr/^$/, "as $how writes it");
  is(rly($how, $again)->{out}, $text, "$how of that is the same");
}
gives(rly('run', '--json', spew(scratch('json.rly'), "${box}Box(1f, None)\n")),
      0, qr/"constructor": "Box", "fields": \[\{"dtype": "float32"/, qr/^$/,
      'as JSON');
gives(rly('fmt', '--relay', $all), 1, qr//,
      qr/all\.rly:\d+:\d+: error\[E0508\]/,
      'plain Relay has no words for a cell in it: a place says so');

# Plain Relay has a data type for each instance, and none else.
my $nets = spew(scratch('nets.rly'), <<'END');
type Row[n: Dim, d: DType] = Box[(n, 2), d];
type Box[s: Shape, d: DType] {
  Box(held: Tensor[s, d], next: Option[Box[s, d]])
}
type Rest[A, s: Shape] { None_(A), Rest(Box[(1, s...), float32]) }
def @last[s: Shape, d: DType](%b: Box[s, d]) -> Tensor[s, d] {
  match (%b.next) { Some(%c) => @last(%c), None => %b.held }
}
def @twice(%r: Row[?, int32]) -> Row[?, int32] {
  { %r with held = %r.held + %r.held }
}
def @main() {
  let %deep: Rest[int32, (1)] = Rest(Box([[2f]], None));
  let %sum = match (%deep) {
    Rest(Box(next=_, held=%x)) => %x,
    None_(%k) => [[1f]]
  };
  (@last(Box(next=Some(Box(7f, None)), held=1f)),
   @twice(Box([[1, 2]], None)).held,
   @last(Box([[True]], None)), %sum)
}
END
my $plain = rly('fmt', '--relay', $nets);
gives($plain, 0, qr/type\ Box_rank2_int32\ \{\s*Box_rank2_int32\(
                    \s*Tensor\[\(\?,\ \?\),\ int32\],/x, qr/^$/,
      'each instance of a data type by a name of its own');
is_deeply([sort $plain->{out} =~ /^type (\w+)/mg],
          [qw(Box_rank0_float32 Box_rank2_bool Box_rank2_float32 Box_rank2_int32
              Rest_rank1)], 'those that are used');
is(rly('run', spew(scratch('plain.rly'), $plain->{out}))->{out},
   rly('run', $nets)->{out}, 'and it runs the same');

# The prompt.
sub prompt { return rly({in => join("\n", @_, '')}, 'repl') }
like(prompt($layer =~ s/\n//gr, ':info Layer', ':kind Layer')->{out},
     qr/type Layer\[s: Shape, d: Float\].*Layer : fn \(Shape, Float\) -> Type/s,
     'its text and its kind');
# What a refused entry asked for is forgotten with it, and a value of an earlier
# definition keeps that.
my $again = prompt('type Box[s: Shape] { Box(Tensor[(s..., 1, 1), int32]) }',
                   'fn (%b: Box[(1, 2, 3, 4, 5, 6, 7)]) { 1 }',
                   'fn (%b: Box[(1, 2, 3, 4, 5, 6, 7)]) { 2 }',
                   'let %old = Box([[1]])',
                   'type Box[s: Shape] { Box(Tensor[s, bool]) }',
                   'Box(True)', '%old', 'match (%old) { Box(%x) => %x }');
is(() = $again->{err} =~ /at most 8 dimensions, not 9/g, 2,
   'a mistake in an instance is told each time');
like($again->{out}, qr/Box\(True\)\nBox\(Tensor\[\(1, 1\), int32\] \[\[1\]\]\)/,
     'a type that was defined anew');
like($again->{err}, qr/E0201.*`Box` is a constructor of `Box`/s,
     'does not take earlier values apart');

# Hostile: as many instances as there are ranks, aliases as large as they get.
my $ranks = join ', ', map { "a$_: Shape" } 1 .. 8;
my $turned = join ', ', (map { "a$_" } 2 .. 8), '(a1..., 1)';
gives(rly('check', spew(scratch('many.rly'),
                        "type T[$ranks] { T(Option[T[$turned]]) }\n")), 1, '',
      qr/E0115.*at most 8 dimensions/s, 'ranks that grow in turns end');
my $doubling = join '', map {
  my $less = 'P' . ($_ - 1);
  "type P$_\[s: Shape] = ($less\[s], $less\[s]);\n"
} 1 .. 40;
gives(rly('check', spew(scratch('double.rly'), <<"END")), 1, '', qr/E0\d+/,
type P0[s: Shape] = Tensor[s, int32];
${doubling}def \@f[s: Shape](%x: P40[s]) -> int32 { 1 }
\@f(1);
END
      'an alias of 2^40 parts is no trouble');

done_testing;
