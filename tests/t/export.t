#!/usr/bin/env perl
# Programs as ONNX models.  A model is imported again and must give what the
# program gives; the node tests of ONNX must pass on what is exported of them;
# and where python3-onnx is installed, its checker and its shape inference must
# accept all of it, and its reference evaluator, if it has one, must agree.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

if (rly('import', 'none.onnx')->{err} =~ /E0806/) {
  plan skip_all => 'this build has no writer of ONNX files: make deps-onnx';
}

my $programs = 'tests/export/programs.rly';
my @models;

sub exported {
  my ($name, $what, @args) = @_;
  my $path = scratch("$name.onnx");
  gives(rly('export', @args, '-o', $path), 0, '', '', $what);
  push @models, $path;
  return $path;
}

# Exports a function, imports it, and runs an expression over it as @main.
sub round_trip {
  my ($entry, $call, $out, $what) = @_;
  my $model = exported($entry, "$what: exported", $programs, '--entry', $entry);
  gives(rly('import', $model, '-o', scratch($entry)), 0, '', '',
        "$what: imported");
  my $weights = scratch("$entry.safetensors");
  spew(scratch("use_$entry.rly"), qq{import "$entry.rly";\n},
       'import "programs.rly";', "\n$call;\n");
  gives(rly('run', scratch("use_$entry.rly"),
            -e $weights ? ('--params', $weights) : ()), 0, $out, '',
        "$what: as the program");
}
spew(scratch('programs.rly'), slurp($programs) =~ s{^@.*;$}{}mgr);

# --- What a program gives, and its model ------------------------------------

round_trip('sum_to', '@main(10)', qr/^45$/m, 'a loop that counts');
round_trip('sum_to', '@main(0)', qr/^0$/m, 'and makes no turn');
round_trip('collatz', '@main(6i64)',
           qr/\A\(8i64, Cons\(.*2.*4.*8.*16.*5.*10.*3.*6.*Nil/s,
           'branches in a loop, and a list that grows');
round_trip('turned', '@main([[1f, 2f], [3f, 4f], [5f, 6f]])',
           qr/\[\[5\.0, 6\.0\],\s+\[3\.0, 4\.0\],\s+\[1\.0, 2\.0\]\]/,
           'a dimension as a value');
round_trip('choose', "\@main([4f, 9f], $_->[0])", $_->[1], "choices: $_->[0]")
  for [0, qr/\[4\.0, 9\.0\]/], [1, qr/\[ ?8\.0, 18\.0\]/],
      [6, qr/\[2\.0, 3\.0\]/], [5, qr/\[-4\.0, -9\.0\]/];
my $list = 'List[@onnx_any([1f, 2f]), @onnx_any([3f, 4f])]';
round_trip('total', "\@main($list)", qr/\[4\.0, 6\.0\]/, 'a fold of a list');
round_trip('total', '@main(Nil)', qr/\[0\.0, 0\.0\]/, 'and of none');
round_trip('doubled', "\@main($list)",
           qr/\[2\.0, 4\.0\].*\[6\.0, 8\.0\]/s, 'a map');
round_trip('layers', '@main([[1f, 1f]])', qr/\[\[8\.0, 4\.0\]\]/,
           'records and closures that are known');
round_trip('or_ones', "\@main($_->[0])", $_->[1], "an Option: $_->[0]")
  for ['None', qr/\[1\.0, 1\.0\]/],
      ['Some(@onnx_any([5f, 6f]))', qr/\[5\.0, 6\.0\]/];
round_trip('scanned', '@main([[1f, 2f], [3f, 4f]]).1',
           qr/\[\[1\.0, 2\.0\],\s+\[4\.0, 6\.0\]\]/, 'a scan');

# Work after the call of itself.  The lists are (1, 2), (3, -4), (-5, -6).
my $three = 'List[@onnx_any([1f, 2f]), @onnx_any([3f, -4f]), '
            . '@onnx_any([-5f, -6f])]';
round_trip('factorial', "\@main($_->[0])", qr/^$_->[1]$/m,
           "work after a call: $_->[0]") for [5, 120], [1, 1], [0, 1];
round_trip('alternating', "\@main($three)", qr/\[-14\.0, +0\.0\]/,
           'over a list of the run');
round_trip('alternating', '@main(Nil)', qr/\[0\.0, 0\.0\]/, 'and over none');
round_trip('positive', "\@main($three)",
           qr/^Cons\(\S+ \S+ \[1\.0, 2\.0\], Nil\)$/m, 'a filter');
my $row = qr/Cons\(Tensor\[\(2\), float32\]/;
round_trip('joined', "\@main($three, $list)",
           qr/^$row\ \[1\.0,\ 2\.0\],\ $row\ \[1\.0,\ 2\.0\],
              \ $row\ \[3\.0,\ 4\.0\],\ Nil/x,
           'a list after another');
round_trip('sums', '@main(4)',
           qr/^\(10, Cons\(6, Cons\(3, Cons\(1, Cons\(0, Nil\)\)\)\)\)$/m,
           'a tuple with a list comes back');
round_trip('from_right', "\@main($three)", qr/\[-7\.0, +0\.0\]/,
           'a fold from the right');

# Functions that call each other: ((1 2) + 3) 2 is 10, which ends as 11, or 13.
round_trip('even', "\@main($_->[0])", qr/^$_->[1]$/m, "two functions: $_->[0]")
  for [7, 'False'], [4, 'True'], [0, 'True'];
round_trip('machine', "\@main($_->[0])", qr/^$_->[1]$/m,
           "two local functions: $_->[0]") for [4, 13], [3, 11], [0, 1];

round_trip('every', '@main([[[1f, 3f, 2f]]])', qr/\[1\.0, 3\.0, 2\.0\]/,
           'an attribute that a node has to say');

# A param keeps its name, whether its value is bound or its default.
my $dense = spew(scratch('dense.rly'), <<'END');
param @weight: Tensor[(2, 2), float32] = [[1f, 2f], [3f, 4f]];
param @bias: Tensor[(2), float32];
def @main(%x: Tensor[(1, 2), float32]) { nn.dense(%x, @weight) + @bias }
END
my $bias = spew(scratch('bias.rly'), '[5f, 6f];');
rly('run', $bias, '--outputs', scratch('bias.npy'));
my $named = exported('named', 'params: exported', $dense, '--params',
                     scratch('bias.npy'));
rly('import', $named, '-o', scratch('named_back'));
is(join(' ', slurp(scratch('named_back.rly')) =~ /^param @(\w+)/mg),
   'weight bias', 'and have their names');

# Of records, tuples, lists and Options the tensors are named by their paths, as
# `rly train` writes them; those that no node needs are left out.  By hand: the
# first layer gives (6, 12), the second (6, 0), which is taken times (3, 6).
my $net = spew(scratch('net.rly'), <<'END');
type Layer {
  Layer(weight: Tensor[(2, 2), float32], bias: Option[Tensor[(2), float32]])
}
type Act { Relu, Scaled(by: float32) }
type Net {
  Net(layers: List[Layer], act: Act, turns: int32,
      ends: (Tensor[(2), float32], List[float32]))
}
param @net: Net = Net(Nil, Relu, 1, ([1f, 1f], Nil));
def @act(%x: Tensor[(1, 2), float32]) {
  match (@net.act) { Relu => nn.relu(%x), Scaled(%by) => %x * %by }
}
def @layer(%l: Layer, %x: Tensor[(1, 2), float32]) {
  let %y = nn.dense(%x, %l.weight);
  match (%l.bias) { Some(%b) => %y + %b, None => %y }
}
def @main(%x: Tensor[(1, 2), float32]) -> Tensor[(1, 2), float32] {
  let %h = @foldl(fn (%h: Tensor[(1, 2), float32], %l: Layer) {
    @act(@layer(%l, %h))
  }, %x, @net.layers);
  %h * @net.ends.0 * cast(@net.turns, dtype="float32")
}
END
my @net = (['layers.0.weight', 'F32', [2, 2], [1, 2, 3, 4]],
           ['layers.0.bias', 'F32', [2], [1, 1]],
           ['layers.1.weight', 'F32', [2, 2], [1, 0, 2, -1]],
           ['turns', 'I32', [], [3]], ['ends.0', 'F32', [2], [1, 2]],
           ['ends.1.0', 'F32', [], [5]]);
for (['by path', [18, 0], 'net.'], ['below its name', [18, 0], ''],
     ['the other constructor', [4.5, 0], 'net.', ['act.by', 'F32', [], [0.5]]],
     ['its default', [1, 2]]) {
  my ($what, $gives, $prefix, @more) = @$_;
  my $bound = spew(scratch('net.safetensors'), defined $prefix ? safetensors(
      map { my ($name, @of) = @$_; ["$prefix$name", @of] } @net, @more) : '');
  my $model = exported('net', "a param of a data type, $what", $net,
                       defined $prefix ? ('--params', $bound) : ());
  rly('run', $model, 'x=[[1, 2]]', '--outputs', scratch('net_out.safetensors'));
  is_deeply(tensors(scratch('net_out.safetensors'))->{out0}{data}, $gives,
            "... $what: what it gives");
  rly('import', $model, '-o', scratch('net_back'));
  my @names = slurp(scratch('net_back.rly')) =~ /\@(net[\w.]+)/g;
  is_deeply([sort keys %{{map { $_ => 1 } @names}}],
            [qw(net.ends_0 net.layers.0.bias net.layers.0.weight
                net.layers.1.weight net.turns)], '... their names')
      if $what eq 'by path';
}
for (['a part that is not bound', qr/E0503.*`ends\.0`: Tensor/s, 4],
     ['a part of another type', qr/E0504.*`turns` is declared as int32/,
      3, ['turns', 'F32', [], [3]]]) {
  my ($what, $why, $left_out, @more) = @$_;
  my @given = (@net[grep { $_ != $left_out } 0 .. $#net], @more);
  my $bound = spew(scratch('net.safetensors'), safetensors(@given));
  gives(rly('export', $net, '--params', $bound, '-o', scratch('part.onnx')), 1,
        '', $why, $what);
}

# So are those of a default.  By hand: (10, 17) leaves the first layer.
my $defaults = spew(scratch('defaults.rly'), <<'END');
type Layer {
  Layer(weight: Tensor[(2, 2), float32], bias: Option[Tensor[(2), float32]])
}
param @net: (Layer, List[Layer], Tensor[(2), float32]) =
  (Layer([[1f, 2f], [3f, 4f]], Some([5f, 6f])),
   List[Layer([[1f, 0f], [0f, 1f]], None),
        Layer([[1f, 0f], [0f, 2f]], Some([1f, 2f]))], [2f, 3f]);
def @layer(%x: Tensor[(1, 2), float32], %l: Layer) {
  let %y = nn.dense(%x, %l.weight);
  match (%l.bias) { Some(%b) => %y + %b, None => %y }
}
def @main(%x: Tensor[(1, 2), float32]) {
  @foldl(@layer, @layer(%x, @net.0), @net.1) * @net.2
}
END
my $model = exported('defaults', 'the default of a param of parts', $defaults);
gives(rly('run', $model, 'x=[[1, 2]]'), 0,
      "Tensor[(1, 2), float32] [[ 22.0, 108.0]]\n", '', '... what it gives');
rly('import', $model, '-o', scratch('defaults_back'));
is(join(' ', sort { $a cmp $b }
        slurp(scratch('defaults_back.rly')) =~ /^param @([\w.]+)/mg),
   'net.0.bias net.0.weight net.1.0.weight net.1.1.bias net.1.1.weight net_2',
   '... the names of its tensors');

# Of a deep tree the parts near its root have names.
my $tree = 'Node(' x 3000 . 'Leaf(1f)' . ', Leaf(2f))' x 3000;
my $deep = spew(scratch('deep.rly'), <<"END" . <<'END');
type Tree { Leaf(float32), Node(left: Tree, right: Tree) }
param \@t: Tree = $tree;
END
def @last(%t: Tree) -> float32 {
  match (%t) { Leaf(%x) => %x, Node(_, %r) => @last(%r) }
}
def @first(%t: Tree) -> float32 {
  match (%t) { Leaf(%x) => %x, Node(%l, _) => @first(%l) }
}
def @main(%x: float32) { %x * @last(@t) + @first(@t) }
END
$model = exported('deep', 'the default of a deep tree', $deep,
                  '--max-memory', '100M');
gives(rly('run', $model, 'x=3'), 0, "7f\n", '', '... what it gives');
rly('import', $model, '-o', scratch('deep_back'));
like(slurp(scratch('deep_back.rly')), qr/multiply\(%x, \@t\.right_0\)/,
     '... the name of a part');

# Words after the program give values to params, as they do for a run.
$model = exported('word', 'params: by words', $dense, 'bias=[5, 6]',
                  'weight=[[0, 1], [1, 0]]');
gives(rly('run', $model, 'x=[[1, 2]]'), 0,
      "Tensor[(1, 2), float32] [[7.0, 7.0]]\n", '', '... which the model has');
$model = exported('file_word', 'params: a word that names a file', $dense,
                  'bias=@' . scratch('bias.npy'));
gives(rly('run', $model, 'x=[[1, 2]]'), 0,
      "Tensor[(1, 2), float32] [[10.0, 17.0]]\n", '', '... which has it');
for ([[], qr/E0503.*bias=VALUE after the program/s, 'nothing given'],
     [['bias=[1, 2]', 'bias=[3, 4]'], qr/`bias` is given twice/, 'twice'],
     [['bias=[1, 2]', 'wieght=[[1, 2], [3, 4]]'],
      qr/nothing named `wieght`.*did you mean `weight`/s, 'an unknown name'],
     [['bias=[1, 2, 3]'], qr/E0504/, 'a value that does not fit'],
     [['x=[[1, 2]]'], qr/`x` is an input of the model.*NAME=VALUE/s, 'input'],
     [['[1, 2]'], qr/E0505.*without a name/, 'a value without a name']) {
  my ($words, $why, $what) = @$_;
  gives(rly('export', $dense, @$words, '-o', scratch('word.onnx')), 1, '',
        $why, "words: $what");
}

# A list of which nothing is bound is empty, as it is in a run.
my $none = spew(scratch('none.rly'), <<'END');
param @none: List[Tensor[(2), float32]];
def @main(%x: Tensor[(2), float32]) {
  @foldl(fn (%a, %b) { %a + %b }, %x, @none)
}
END
gives(rly('run', exported('empty', 'a param that is an empty list', $none),
          'x=[1, 2]'), 0, qr/\[1\.0, 2\.0\]/, '', 'is an empty list');

# Both sides of a choice are one param, so there is none.
my $either = spew(scratch('either.rly'), <<'END');
param @w: Tensor[(2), float32] = [1f, 2f];
def @main(%c: bool) { if (%c) { @w } else { @w } }
END
rly('import', exported('either', 'a choice of one param', $either), '-o',
    scratch('either_back'));
unlike(slurp(scratch('either_back.rly')), qr/\bif\b/, 'is no choice');

# Layers, against the library's own text.
my $x = 'reshape(sin(arange(0f, 30f)), newshape=[5, 2, 3])';
my $h = 'reshape(cos(arange(0f, 8f)), newshape=[2, 4])';
for (['lstm_of', "$x, $h, $h", 3], ['masked', "$x, [3, 5], $h, $h", 3],
     ['gru_of', "$x, $h", 2], ['gru_masked_of', "$x, [3, 5], $h", 2],
     ['rnn_of', "$x, $h", 2],
     ['rnn_by_loop', "$x, $h", 2]) {
  my ($f, $args, $results) = @$_;
  my $calls = join ",\n", map {
    "max(abs(\@main($args).$_ - \@$f($args).$_)) < 1e-5f"
  } 0 .. $results - 1;
  my $all = join ', ', ('True') x $results;
  round_trip($f, "($calls,)", qr/^\($all,?\)$/m, "$f: every result");
}
my $text = slurp(scratch('masked.rly'));
like($text, qr/\@onnx_lstm\(\s*%x,.*sequence_lens=%n/s,
     'an LSTM of the library is one of ONNX');
unlike($text, qr/fn \(/, 'and no loop');
for my $f ('gru_of', 'gru_masked_of') {
  like(slurp(scratch("$f.rly")),
       qr/\@onnx_gru\([^()]*linear_before_reset=1/,
       "$f: the reset gate comes after the product");
}
like(slurp(scratch('rnn_by_loop.rly')), qr/let %loop = fn/,
     'another activation is a loop');
like(slurp(scratch('turned.rly')), qr/Tensor\[\(n, 2\), float32\]/,
     'dimensions keep their names');

# --- The file ---------------------------------------------------------------

my $affine = spew(scratch('affine.rly'), <<'END');
param @w: Tensor[(20, 20), float32];
param @unused: Tensor[(2), float32];
def @main(%x: Tensor[(20), float32]) {
  let %dead = @w * 2f;
  let %wide = expand_dims(%x, axis=0);
  nn.dense(%wide, @w)
}
END
my @w = map { $_ % 7 } 0 .. 399;
my @bound = ($affine, '--params', spew(scratch('affine.safetensors'),
             safetensors(['w', 'F32', [20, 20], \@w])));
exported('whole', 'with its weights', @bound);
exported('split', 'with its weights beside it', @bound, '--external');
exported('newer', 'for a newer operator set', @bound, '--opset', 17);
is(-s scratch('split.onnx.data'), 1600, 'they are what they were');
my $size = -s scratch('whole.onnx');
cmp_ok($size, '>', 1600, 'the weight is in the one');
cmp_ok($size, '<', 2000, 'and nothing that nothing needs');
my @in = ('x=' . '[' . join(', ', map { $_ * 0.5 } 0 .. 19) . ']');
my $want = rly('run', @bound, @in, 'unused=[0, 0]')->{out};
is(rly('run', scratch("$_.onnx"), @in)->{out}, $want, "$_: it runs")
  for qw(whole split newer);
# Operators of another domain, whose attributes are lists of floats; integers
# of 4 bits, two to a byte; an optional of nothing, whose type is written.
for (['scaled', 'def @main(%x: Tensor[(2), float32]) '
      . '{ @onnx_scaler(@onnx_scaler(%x, offset=[1f, 2f], scale=[2f, 3f]), '
      . 'offset=[1f], scale=[2f]) }', 'x=[2, 4]', qr/\[ ?2\.0, 10\.0\]/],
     ['narrow', 'def @main(%x: int32) { ([1i4, -1i4, -8i4], %x) }', 'x=5',
      qr/int4\] \[ ?1, -1, -8\], 5\)/],
     ['nothing', 'def @main(%x: Tensor[(2), float32]) '
      . '-> Option[Tensor[(2), float32]] { None }', 'x=[1, 2]', qr/^None$/m]) {
  my ($name, $program, $input, $out) = @$_;
  gives(rly('run', exported($name, "$name: exported",
                            spew(scratch("$name.rly"), $program)), $input),
        0, $out, '', "$name: it runs");
}

gives(rly('export', $affine, '-o', scratch('none.onnx')), 1, '',
      qr/E0503.*`\@w` has no value.*--params/s, 'a param without a value');
ok(!-e scratch('none.onnx'), 'leaves no file');
gives(rly('export', @bound, '-o', scratch('no/where.onnx')), 2, '', qr/E0507/,
      'a folder that is not there');
gives(rly('export', @bound, '--opset', $_), 1, '', qr/--opset is from 17 to 23/,
      "operator set $_") for 16, 24;
# Neither what is read nor what was written by hand is written over.
my $hand = spew(scratch('hand.rly'), "def \@main(%x: Tensor[(2), float32]) "
                  . "-> Tensor[(2), float32] { tanh(%x) }\n");
my $by_hand = slurp($hand);
gives(rly('export', $hand, '-o', $hand), 1, '', qr/E0506.*would be overwritten/,
      'a model over its program');
gives(rly('export', $hand), 0, '', '', 'a model beside it');
$model = $hand =~ s/rly$/onnx/r;
my $exported = slurp($model);
gives(rly('fmt', '-w', @$_, $model), 1, '', qr/E0506.*is an ONNX model/,
      "fmt -w @$_ does not put text into a model") for [], ['--relay'];
is(slurp($model), $exported, '... which stays');
gives(rly('import', $model), 1, '', qr/E0506.*no text of rly import: -o/,
      'a program over one by hand');
is(slurp($hand), $by_hand, '... which is as it was');
my $other = scratch('other');
gives(rly('import', $model, '-o', $other), 0, '', '', 'another name');
rename $model, "$other.onnx" or die $!;
gives(rly('import', "$other.onnx"), 0, '', '', 'over what import wrote');
gives(rly('export', $affine, '--entry', 'f'), 1, '',
      qr/E0102.*no function `\@f`/, 'an entry that is not there');

# --- What ONNX cannot say ---------------------------------------------------

sub refused {
  my ($text, $message, $what) = @_;
  my $path = spew(scratch('refused.rly'), $text);
  gives(rly('export', $path, '-o', scratch('refused.onnx')), 1, '', $message,
        $what);
}
refused('def @main(%n: int32) -> int32 {
  if (%n < 2) { %n } else { @main(%n - 1) + @main(%n - 2) }
}', qr/refused\.rly:2:29: error\[E0809\].*must be a tail call/,
        'two calls of itself');
refused('def @main(%n: int32) -> int32 {
  if (%n == 0) { 1 } else { 1 + (if (%n > 4) { @main(%n - 1) } else { 2 }) }
}', qr/refused\.rly:2:48: error\[E0809\].*must be a tail call/,
        'a call in a branch of what is left to do');
refused('def @main(%n: int32, %k: List[int32]) -> int32 {
  if (%n == 0) { 1 } else { 1 + @main(%n - 1, Cons(%n, %k)) }
}', qr/E0809.*its list `%k` does not just lose its first element/,
        'a list that the way back cannot have again');
refused('def @main(%n: int32, %k: Option[int32]) -> int32 {
  if (%n == 0) { 1 } else { 1 + @main(%n - 1, Some(%n)) }
}', qr/E0809.*`%k`, an Option that the run knows, changes/,
        'nor an Option');
refused('def @main(%x: Tensor[(?), float32]) {
  zeros(shape=unique(%x).3, dtype="float32")
}', qr/E0809.*no operator for this `unique`/,
        'zeros of a shape that is refused');
refused('def @main(%xs: List[int32]) { @zip(%xs, %xs) }',
        qr/refused\.rly:1:\d+: error\[E0809\].*elements are no tensors/,
        'a list of pairs of the run');
refused('def @main(%n: int32, %c: bool) -> int32 {
  if (%c) { 1 } else { %n + @main(%n, %c) }
}', qr/E0809.*changes nothing, so it has no end/, 'recursion without an end');
refused('def @main(%x: float32) {
  let %c = ref(%x);
  ref_read(%c)
}', qr/refused\.rly:3:3: error\[E0809\]: ONNX has no cells/, 'a cell');
refused('def @main(%x: float32) {
  print(%x);
  %x
}', qr/refused\.rly:2:3: error\[E0809\].*for its effect/, 'an effect');
refused('def @main(%x: Tensor[(3), float32], %c: bool) {
  let %f = if (%c) { fn (%v: Tensor[(3), float32]) { %v } }
           else { fn (%v: Tensor[(3), float32]) { %v * 2f } };
  %f(%x)
}', qr/refused\.rly:2:\d+: error\[E0809\].*function/, 'a function of the run');
refused('def @main(%x: Tensor[(?), float32]) { unique(%x) }',
        qr/refused\.rly:1:\d+: error\[E0809\].*no operator for this `unique`/,
        'an operator');
refused('def @main[n: Dim](%x: Tensor[(n, 2), float32]) {
  nn.pad(%x, pad_width=[[0, n], [0, 0]])
}', qr/refused\.rly:2:3: error\[E0809\].*known before the run/,
        'an attribute that the run knows');
refused("def \@main(%k: int32) -> int32 {\n"
        . join('', map { "  if (%k == $_) { $_ } else {\n" } 1 .. 40)
        . "  0\n" . ('}' x 40) . "\n}",
        qr/E0809.*more than 30 branches/, 'branches too deep for readers');
refused('def @main[d: Float](%x: Tensor[(3), d]) -> Tensor[(3), d] { %x }',
        qr/E0809.*no one type/, 'a function of several types');
refused('def @even(%n: int32) -> bool {
  if (%n == 0) { True } else { @odd(%n - 1, 1) }
}
def @odd(%n: int32, %k: int32) -> bool {
  if (%n == 0) { False } else { @even(%n - %k) }
}
def @main(%n: int32) { @even(%n) }',
        qr/refused\.rly:5:33: error\[E0809\].*parameters of the same types/,
        'functions in a circle, of different parameters');

# --- The models of examples/import ------------------------------------------

for my $name (qw(resnet tagger encoder quantized reader beams)) {
  my $model = exported($name, "$name: exported",
                       "examples/import/$name.onnx");
  gives(rly('import', $model, '-o', scratch($name)), 0, '', '',
        "$name: imported");
  my $check = slurp("examples/import/${name}_check.rly");
  spew(scratch("${name}_check.rly"), $check);
  gives(rly('run', scratch("${name}_check.rly"), '--params',
            scratch("$name.safetensors"), '--params',
            "examples/import/${name}_check.safetensors"), 0,
        qr/\A\(?(?:True(?:, )?)+,?\)?\n\z/, '', "$name: agrees with PyTorch");
}

# --- ONNX's own tests -------------------------------------------------------

my $data = '/usr/share/libonnx-testdata/data/node';
SKIP: {
  skip 'libonnx-testdata is not installed: make deps-onnx', 2 unless -d $data;
  # Strings are bytes in a program, and go out as such.
  my @names = sample(grep { !/^#|^test_strnormalizer|STRING/ } split /\n/,
                     slurp('tests/onnx/passing.txt'));
  my (@refused, @dirs);
  mkdir scratch('node');
  for my $name (@names) {
    my $dir = scratch("node/$name");
    mkdir $dir;
    my $got = rly('export', "$data/$name/model.onnx", '-o',
                  "$dir/model.onnx");
    push(@refused, "$name: $got->{err}"), next if $got->{status};
    symlink $_, "$dir/" . s{.*/}{}r for glob "$data/$name/test_data_set_*";
    push @dirs, $dir;
  }
  is(join("\n", @refused), '', scalar(@names) . ' node tests are exported');
  my $got = rly('import', '--test', @dirs);
  my @failed = $got->{out} =~ /^not ok (.*)$/mg;
  is("@failed", '', 'and pass');
  push @models, map { "$_/model.onnx" } @dirs;
}

# --- ONNX's own tools -------------------------------------------------------

SKIP: {
  my $python = (grep { -x } '/usr/bin/python3')[0];
  skip 'there is no python3', 1 unless $python;
  my $said = `$python tests/export/check.py @models 2>&1`;
  skip 'python3-onnx is not installed', 1 if $? >> 8 == 77;
  is($said, '', scalar(@models) . ' models are what onnx.checker accepts');
}

done_testing;
