#!/usr/bin/env perl
# Params of tuples and data types take tensors by path, as PyTorch's state_dict
# names them.  The results are worked out by hand.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $files = 0;
sub program { return spew(scratch('p' . ++$files . '.rly'), @_) }
sub weights { return spew(scratch('w' . ++$files . '.safetensors'),
                          safetensors(@_)) }

my $net = program(<<'END');
type Vector = Tensor[(2), float32];
type Linear { Linear(weight: Tensor[(2, 2), float32], bias: Option[Vector]) }
type Net {
  Net(layers: List[Linear], head: (Linear, (), Linear), scale: float32),
}
param @net: Net;
def @linear(%x: Tensor[(1, 2), float32], %l: Linear) {
  let %y = nn.dense(%x, %l.weight);
  match (%l.bias) { Some(%b) => %y + %b, None => %y }
}
def @main(%x: Tensor[(1, 2), float32]) {
  @linear(@foldl(@linear, %x, @net.layers), @net.head.2) * @net.scale
}
END

# [1, 2] -> [1, 2] + [1, 1] -> [4, 6] -> [6, 4] + [10, 20] -> [8, 12]
my @state = (['layers.0.weight', 'F32', [2, 2], [1, 0, 0, 1]],
             ['layers.0.bias', 'F32', [2], [1, 1]],
             ['layers.1.weight', 'F32', [2, 2], [2, 0, 0, 2]],
             ['head.0.weight', 'F32', [2, 2], [1, 1, 1, 1]],
             ['head.2.weight', 'F32', [2, 2], [0, 1, 1, 0]],
             ['head.2.bias', 'F32', [2], [10, 20]],
             ['scale', 'F32', [], [0.5]]);
sub without { my $name = shift; return grep { $_->[0] ne $name } @state }
sub prefixed {
  my $by = shift;
  return map { ["$by.$_->[0]", @$_[1 .. 3]] } @_;
}
sub run_with {
  my ($file, @words) = @_;
  return rly('run', $net, 'x=[[1, 2]]', '--params', $file, @words);
}
my $answer = qr/^Tensor\[\(1, 2\), float32\] \[\[ ?8\.0, 12\.0\]\]$/;

gives(run_with(weights(@state)), 0, $answer, '', 'names as in a state_dict');
gives(run_with(weights(prefixed('net', @state))), 0, $answer, '',
      "below the param's name");
gives(run_with(weights(@state), '--strict'), 0, $answer, '',
      'all are used, and all are given');
gives(run_with(weights(without('head.2.bias'))), 0,
      qr/\[\[ ?3\.0, ?2\.0\]\]/, '', 'an option may be left out');
my $some = weights(without('layers.0.bias'));
gives(run_with($some, 'layers.0.bias=[3, 3]'), 0,
      qr/\[\[10\.0, 14\.0\]\]/, '', 'the command line gives a part');
gives(run_with(weights(prefixed('net', @state)), 'net.scale=1'), 0,
      qr/\[\[16\.0, 24\.0\]\]/, '', 'and wins over the file');
gives(rly('step', $net, 'x=[[1, 2]]', '--params', weights(@state), '--steps',
          1000), 0, qr/8\.0, 12\.0\]\]\n\z/, '', 'in the small-step machine');

# --- What is missing, and what is too much ----------------------------------

gives(run_with(weights(without('scale'))), 1, '',
      qr/E0503.*`scale`: float32/s, 'what is missing is named by its path');
gives(run_with(weights(without('layers.0.weight'),
                       ['layers.0.weigth', 'F32', [2, 2], [1, 0, 0, 1]])),
      1, '', qr/`layers\.0\.weight`.*holds `layers\.0\.weigth`/s,
      'with what the file holds instead');
gives(run_with(weights(@state, ['layers.3.weight', 'F32', [2, 2], [1 .. 4]])),
      1, '', qr/`layers\.2\.weight`/, 'a list has no gaps');
gives(run_with(weights(without('head.2.weight'),
                       ['head.2.weight', 'F32', [4], [1 .. 4]])),
      1, '', qr/E0504.*`head\.2\.weight` is declared as/s, 'another shape');
gives(rly('run', $net, 'x=[[1, 2]]'), 1, '',
      qr/`net\.head\.0\.weight`.*`net\.head\.2\.weight`.*`net\.scale`/s,
      'one message for all');
my $more = weights(@state, ['head.1.weight', 'F32', [1], [0]],
                   ['scales', 'F32', [], [1]]);
gives(run_with($more), 0, $answer, '', 'more than is used');
gives(run_with($more, '--strict'), 1, '',
      qr/E0505.*`head\.1\.weight`.*`scales`; did you mean `scale`/s,
      '... is refused by --strict');
gives(run_with(weights(@state), 'head.2.bais=[1, 1]'), 1, '',
      qr/E0505.*`head\.2\.bais`.*did you mean `head\.2\.bias`/s,
      'a misspelt word');
gives(run_with(weights(@state), 'net=1'), 1, '',
      qr/E0505.*`net`.*bound by their paths/s, 'the whole is no tensor');

# --- Constructors, defaults, recursion --------------------------------------

my $cells = program(<<'END');
type Cell { Gru(w: int32), Lstm(w: int32, f: int32), No }
type Net { Net(cell: Cell, other: Cell) }
param @net: Net = Net(No, Gru(7));
param @pair: (int32, (bool, float32)) = (1, (True, 2f));
(@net, @pair.1.1);
END
gives(rly($cells), 0, "(Net(No, Gru(7)), 2f)\n", '', 'defaults');
gives(rly('run', $cells, 'net.cell.w=1', 'net.cell.f=2', 'pair.0=1',
          'pair.1.0=False', 'pair.1.1=5'),
      0, "(Net(Lstm(1, 2), No), 5f)\n", '', 'the fields tell the constructor');
gives(rly('run', $cells, 'net.cell.f=2'), 1, '',
      qr/E0503.*below `net\.cell` are those of no constructor of `Cell`/s,
      'and where they tell none');
gives(rly('run', $cells, 'pair.0=1'), 1, '',
      qr/E0503.*`pair\.1\.0`: bool.*`pair\.1\.1`: float32/s,
      'a default is taken whole or not at all');
my $chain = 'type Chain { Chain(head: int32, rest: Option[Chain]) }';
gives(rly('run', program("$chain\nparam \@c: Chain;\n\@c;\n"),
          'c.head=1', 'c.rest.head=2', 'c.rest.rest.head=3'),
      0, "Chain(1, Some(Chain(2, Some(Chain(3, None)))))\n", '',
      'a type that holds itself');
gives(rly('-e', 'type S { S(next: S) } param @s: S; @s;'), 1, '',
      qr/E0006.*nested too deeply/, 'one without an end');
my $shared = 'type T0 = ();';
$shared .= "type T$_ = (T" . ($_ - 1) . ', T' . ($_ - 1) . ');' for 1 .. 60;
gives(rly('-e', "$shared param \@p: T60; \@p;"), 1, '',
      qr/E0214.*more than 1000000 parts/, 'one with too many parts');
gives(rly('-e', 'param @r: List[Ref[int32]]; 1;'), 1, '',
      qr/E0212.*no functions and no cells/, 'cells are no data');
gives(rly('-e', 'type F { F(f: fn (int32) -> int32) } param @r: F; 1;'), 1, '',
      qr/E0212/, 'nor are functions in fields');
gives(rly('-e', 'param @a: int32 = @b; param @b: int32 = 1; @a;'), 1, '',
      qr/E0108.*default of `\@a` needs `\@b`/,
      'a default that needs a param below it');

# --- Sharing ----------------------------------------------------------------

# A changed copy of a param leaves the param alone.
gives(rly('run', program(<<'END'), 'p.x=[1, 2]', 'p.n=3'), 0, <<'OUT', '',
type P { P(x: Tensor[(2), int32], n: int32) }
param @p: P;
def @grow(%p: P) -> P {
  if (%p.n == 0) { %p } else { @grow({%p with n = %p.n - 1, x = %p.x * 2}) }
}
(@grow(@p), @p);
END
(P(Tensor[(2), int32] [8, 16], 0), P(Tensor[(2), int32] [1, 2], 3))
OUT
      'params are shared');
gives(rly('run', program("type P { P(x: int32, y: (int32, bool)) }\n",
                         "def \@main(%p: P) { %p.x + %p.y.0 }\n"),
          'p.x=1', 'p.y.0=2', 'p.y.1=True'),
      0, "3\n", '', "an entry's parameters take paths, too");

# A path that leads to no tensor of a parameter is a slip of the hand.
my $entry = program(<<'END');
type P { P(x: int32, y: Option[int32]) }
def @main(%p: P, %s: (int32, int32), %l: List[int32], %n: int32) {
  (%p, %s, %l, %n)
}
END
my @whole = ('run', $entry, 'p.x=1', 's.0=2', 's.1=3', 'l.0=4', 'n=5');
my $whole = "(P(1, None), (2, 3), Cons(4, Nil), 5)\n";
gives(rly(@whole), 0, $whole, '', 'parts of each kind');
for my $path (qw(p.z p.x.0 p.y.0 s.2 s.foo s.0.1 s.0. s. l.x
                 l.99999999999999999999 n.0 n.)) {
  gives(rly(@whole, "$path=1"), 1, '',
        qr/^error\[E0505\]: the program has nothing named `\Q$path\E`$/m,
        "no part of a parameter: $path");
}
gives(rly($_->[0], @whole[1 .. $#whole], 's.2=1', @$_[1 .. $#$_]), 1, '',
      qr/E0505.*`s\.2`/, "... in $_->[0]")
    for ['step'], ['watch', '--once'];
gives(rly(@whole, 's=1'), 1, '', qr/E0505.*`s` is \(int32, int32\), which no/,
      'a tuple by its own name');
gives(rly(@whole[0 .. 5], 5), 0, $whole, '',
      'a value without a name goes to what no path mentions');
gives(rly(@whole, 6), 1, '', qr/E0505.*more arguments/,
      '... and to nothing else');
gives(rly(@whole[0 .. 2], 6), 1, '', qr/E0505.*`s` is .*which no single value/,
      'one that no tuple takes');

# A scalar where the type leaves the rank open; an Option by its own name; a
# list, which has none of its own.
my $open = program(<<'END');
param @k: Tensor[?, int32];
param @o: Option[Tensor[?, int32]];
(@k, @o);
END
gives(rly('run', $open, 'k=1', 'o=2'), 0, "(1, Some(2))\n", '',
      'a scalar of a type without a rank');
gives(rly('run', $open, 'k=1'), 0, "(1, None)\n", '',
      'an Option that is left out');
my $list = program('def @main(%xs: List[Tensor[?, int32]]) { %xs }');
gives(rly('run', $list, 'xs.0=1', 'xs.1=[2, 3]'), 0,
      "Cons(1, Cons(Tensor[(2), int32] [2, 3], Nil))\n", '',
      'a list of scalars and others');
gives(rly('run', $list, 'xs=[2, 3]'), 1, '',
      qr/^error\[E0505\]: `xs` is List.*bound by their paths, as xs\.0\N*\n\z/s,
      'a list by its own name');
gives(rly('run', $list, '--inputs', weights(['xs', 'F32', [1], [1]])), 1, '',
      qr/E0503.*`xs` is a list.*element by element.*xs\.0=VALUE xs\.1=VALUE/s,
      '... in a file');
gives(rly('-e', 'param @w: float32; @w;', 'w=dir/w.npy'), 1, '',
      qr/E0504.*expected a literal.*w=\@dir\/w\.npy reads it from the file/s,
      "a file's name without the sign for one");

done_testing();
