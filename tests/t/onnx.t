#!/usr/bin/env perl
# ONNX models as programs.  The models here are packed by Onnx.pm; those of
# ONNX's backend tests come from Debian's libonnx-testdata, where it is
# installed.  tests/onnx/passing.txt is a ratchet: what it names may not fail
# again.
use strict;
use warnings;
use lib 'tests/t';
use Onnx;
use Rly;
use Test::More;

if (rly('import', 'none.onnx')->{err} =~ /E0806/) {
  plan skip_all => 'this build has no reader of ONNX files: make deps-onnx';
}

sub file { spew(scratch($_[0]), $_[1]) }

# --- A model as a program --------------------------------------------------

my $w = pack 'f<*', 1, 2, 3, 4, 5, 6;
my $good = file('good.onnx', model(
  tensor('fc.weight', 1, [2, 3], bytes_of(9, $w)),
  tensor('shape', 7, [2], bytes_of(9, pack 'q<*', -1, 3)),
  node('MatMul', ['x', 'fc.weight'], ['/fc/MatMul']),
  node('Reshape', ['/fc/MatMul', 'shape'], ['h']),
  node('Relu', ['h'], ['y']),
  input('x', 1, \'batch', 2), output('y', 1, \'batch', 3)));
gives(rly('run', $good, 'x=[[1, 0], [-1, 1]]'), 0,
      qr/\[\[1\.0, 2\.0, 3\.0\],\n\s*\[3\.0, 3\.0, 3\.0\]\]/, '',
      'a model is run straight');
gives(rly('check', '--types', $good), 0,
      qr/\@main : fn \[batch: Dim\]\(Tensor\[\(batch, 2\), float32\]\)/, '',
      'its dimensions keep their names');
gives(rly('import', $good), 0, '', '', 'it is written');
my $text = slurp(scratch('good.rly'));
like($text, qr/^param \@fc\.weight: Tensor\[\(2, 3\), float32\];$/m,
     'an initializer is a param of its name');
like($text, qr/^let \@shape = \[-1i64, 3(i64)?\];$/m,
     'small integers are a literal');
like($text, qr{// n_/fc/MatMul\n  let %fc_MatMul = \@onnx_mat_mul},
     'a node, under its name');
gives(rly('fmt', scratch('good.rly')), 0, $text, '', 'it is laid out');
gives(rly('run', scratch('good.rly'), '--params', scratch('good.safetensors'),
          'x=[[1, 0]]'), 0, qr/1\.0, 2\.0, 3\.0/, '', 'and runs');

# Names that a program cannot have, that are one name when cut, or as long as a
# file may be.
my $long = 'w' x 200;
gives(rly('run', file('names.onnx', model(
        node('Neg', ['a.1.b'], ["$long.a"]),
        node('Exp', ["$long.a"], ["$long.b"]),
        node('Neg', ["$long.b"], ['a' . '.1' x 1_000_000]),
        node('Abs', ['a' . '.1' x 1_000_000], ['a.1']),
        input('a.1.b', 1), output('a.1', 1))), 'a.1.b=0f'),
      0, qr/^1f$/m, '', 'names that do not fit');

# In a comment, bytes that are no UTF-8, and a character that the 80th byte ends
# within.
gives(rly('check', file('bytes.onnx', model(
        node('Neg', ["x\xFF"], ['y']), input("x\xFF", 1), output('y', 1))
        . bytes_of(2, "by \xFF" . "\xC3\xA9" x 60))),
      0, '', '', 'texts that are no UTF-8');

# --- External data ---------------------------------------------------------

sub entry { bytes_of(13, bytes_of(1, $_[0]) . bytes_of(2, $_[1])) }
sub external {
  my ($place, @more) = @_;
  return model(tensor('w', 1, [2], int_of(14, 1), entry('location', $place),
                      @more),
               node('Add', ['x', 'w'], ['y']), input('x', 1, 2),
               output('y', 1, 2));
}
spew(scratch('w.bin'), pack 'f<*', 7, 8, 9);
my $beside = file('beside.onnx', external('w.bin', entry('offset', 4),
                                          entry('length', 8)));
gives(rly('run', $beside, 'x=[0, 0]'), 0, qr/\[8\.0, 9\.0\]/, '',
      'elements in a file beside the model');
for (['../w.bin', 'a folder above'], ['/etc/passwd', 'an absolute path'],
     ['a/../../w.bin', 'above by way of a folder']) {
  gives(rly('run', file('bad.onnx', external($_->[0])), 'x=[0, 0]'), 1, '',
        qr/E0502.*outside the model's folder/, $_->[1]);
}
symlink '/etc/passwd', scratch('link.bin');
gives(rly('run', file('bad.onnx', external('link.bin')), 'x=[0, 0]'), 1, '',
      qr/E0502.*outside the model's folder/, 'a link that leads out');
gives(rly('run', file('bad.onnx', external('w.bin', entry('offset', 9))),
          'x=[0, 0]'), 1, '', qr/E0502.*there are 3/, 'too few bytes');

# --- What is refused -------------------------------------------------------

sub refused {
  my ($model, $pattern, $what) = @_;
  my $got = rly('check', '--max-memory', '200M', file('bad.onnx', $model));
  is($got->{status}, 1, "$what: refused");
  like($got->{err}, $pattern, "$what: and told");
}
my @io = (input('x', 1, 2), output('y', 1, 2));
refused(model(node('Foo', ['x'], ['y']), @io),
        qr/E0805.*node `n_y` \(Foo\): operator `Foo` is not imported/,
        'an unknown operator');
refused(model(node('Relu', ['z'], ['y']), node('Relu', ['y'], ['z']), @io),
        qr/E0803.*`n_y`.*`z` is given by nothing above/, 'a circle');
refused(model(node('Relu', ['x'], ['y']), node('Neg', ['x'], ['y']), @io),
        qr/E0804.*`n_y` \(Neg\): its output `y` is given above/,
        'a value that is given twice');
refused(model(node('Neg', ['x'], ['w']), node('Add', ['x', 'w'], ['y']),
              floats_of('w', [2], [1, 2]), @io),
        qr/E0804.*`n_w` \(Neg\): its output `w` is given above/,
        'an initializer that a node gives');
refused(model(node('Relu', ['x'], ['x']), node('Neg', ['x'], ['y']), @io),
        qr/E0804.*`n_x` \(Relu\): its output `x` is given above/,
        'an input that a node gives');
refused(model(node('Add', ['x', 'w'], ['y']), floats_of('w', [2], [1, 2]),
              floats_of('w', [2], [3, 4]), @io),
        qr/E0804.*two initializers are named `w`/,
        'an initializer that is there twice');

# An initializer that no tensor can be made of, by ONNX's number of its dtype,
# here COMPLEX64 and one that is not given away yet, or by its rank: it matters
# where it is read, in whichever graph.
for ([14, [1], qr/there is no dtype here for ONNX's COMPLEX64/],
     [99, [2], qr/99 is no dtype/], [1, [(1) x 9], qr/its rank is 9/]) {
  my ($dtype, $dims, $why) = @$_;
  my $odd = tensor('odd', $dtype, $dims, bytes_of(9, 'x' x 8));
  gives(rly('run', file('odd.onnx', model(node('Neg', ['x'], ['y']), $odd,
                                          @io)), 'x=[1, 2]'), 0,
        qr/\[-1\.0, -2\.0\]/, '', "nothing reads an initializer: $why");
  refused(model(node('Add', ['x', 'odd'], ['y']), $odd, @io),
          qr/E0502.*tensor `odd`: $why/, '... a node reads it');
  refused(model(node('Relu', ['x'], ['y']), $odd, @io, output('odd', 1, 2)),
          qr/E0502.*tensor `odd`: $why/, '... it is an output');
  refused(model(node('Neg', ['x'], ['y']), $odd, $odd, @io),
          qr/E0804.*two initializers are named `odd`/, '... it is there twice');
  my @branch = (node('Add', ['x', 'odd'], ['a']), output('a', 1, 2));
  my $reads = node('If', ['c'], ['y'], graph_attr('then_branch', @branch),
                   graph_attr('else_branch', @branch));
  refused(model($reads, $odd, input('c', 9), @io),
          qr/E0502.*tensor `odd`: $why/, '... a branch reads it');
}

# So does a Constant, whatever kind of value it has, and a sparse initializer.
sub as_value { bytes_of(1, 'value') . bytes_of(5, substr $_[0], 2) }
sub sparse {
  my $values = tensor($_[0], 1, [1], bytes_of(9, pack 'f<', 1));
  return bytes_of(15, bytes_of(1, substr $values, 2) . int_of(3, 2));
}
for (['a Constant of a dtype', qr/E0502.*tensor `odd`: .*COMPLEX64/,
      node('Constant', [], ['odd'],
           as_value(tensor('t', 14, [1], bytes_of(9, 'x' x 8))))],
     ['a Constant of strings', qr/E0804.*kind that is none here/,
      node('Constant', [], ['odd'], bytes_of(1, 'value_string')
           . bytes_of(4, 's') . int_of(20, 3))],
     ['a sparse initializer', qr/E0802.*tensor `odd`: sparse init/,
      sparse('odd')]) {
  my ($what, $why, $odd) = @$_;
  gives(rly('run', file('odd.onnx', model($odd, node('Neg', ['x'], ['y']),
                                          @io)), 'x=[1, 2]'), 0,
        qr/\[-1\.0, -2\.0\]/, '', "nothing reads $what");
  refused(model($odd, node('Add', ['x', 'odd'], ['y']), @io), $why,
          '... a node does');
  refused(model($odd, node('Neg', ['x'], ['y']), @io, output('odd', 1, 2)),
          $why, '... an output does');
}
refused(model(sparse('odd'), floats_of('odd', [1], [1]),
              node('Neg', ['x'], ['y']), @io),
        qr/E0804.*two initializers are named `odd`/, 'sparse and dense');
gives(rly('run', file('odd.onnx', model(node('Neg', ['x'], ['y']),
                                        tensor('odd', 14, [1]),
                                        input('odd', 14, 1), @io)), 'x=[1, 2]'),
      0, qr/\[-1\.0, -2\.0\]/, '', 'one that is an input as well');
refused(model(node('Relu', ['x'], ['y']), input('x', 1, 2), @io),
        qr/E0804.*two inputs are named `x`/, 'an input that is there twice');
refused(int_of(1, 8) . bytes_of(7, node('Relu', ['x'], ['y']) . join '', @io),
        qr/E0804.*names no operator set/, 'no operator set');
refused(model_of(99, node('Relu', ['x'], ['y']), @io),
        qr/E0805.*operator set 99 is newer than 27/, 'one that is too new');
refused(model(node('Relu', [], ['y']), @io), qr/E0804.*`X` is missing/,
        'a missing input');
refused(model(node('Relu', ['x', 'x'], ['y']), @io), qr/E0804.*2 inputs/,
        'an input too many');
refused(model(node('Softmax', ['x'], ['y'],
                   bytes_of(1, 'axes') . int_of(3, 1) . int_of(20, 2)), @io),
        qr/E0804.*attribute `axes`/, 'an unknown attribute');
for ([ints_attr('axis', [0]), 'INTS'], [text_attr('axis', '0'), 'STRING'],
     [float_attr('axis', 0), 'FLOAT']) {
  my ($axis, $type) = @$_;
  refused(model(node('Softmax', ['x'], ['y'], $axis), @io),
          qr/E0804.*`n_y` \(Softmax\): its attribute `axis` is $type, not INT/,
          "a number that is $type");
}
refused(model(node('Softmax', ['x'], ['y'], int_attr('axis', 1 << 32)), @io),
        qr/E0804.*its attribute `axis` is 4294967296, beyond int32/,
        'a number beyond int32');
refused(model(node('Relu', ['x'], ['y']), input('x', 8, 2), output('y', 8, 2)),
        qr/E0805.*`n_y` \(Relu\).*for strings/, 'strings');
refused(model(node('Relu', ['x'], ['y']), input('x', 1, -2), output('y', 1, 2)),
        qr/E0802.*dimension 0 is negative/, 'a negative dimension');
refused(model(tensor('w', 1, [1 << 40, 1 << 20], bytes_of(9, 'abcd')),
              node('Add', ['x', 'w'], ['y']), @io),
        qr/E0502.*tensor `w`/, 'a huge tensor');
refused(model(tensor('w', 1, [3], bytes_of(9, $w)),
              node('Add', ['x', 'w'], ['y']), @io),
        qr/E0502.*asks for 12 bytes, there are 24/, 'too many elements');
refused(model(node('Add', ['x', 'w'], ['y']), input('x', 1, 2),
              input('w', 7, 2), output('y', 1, 2)),
        qr/float32 and int64|int64/, 'dtypes that differ');
my $inner = '';
$inner = bytes_of(1, bytes_of(5, bytes_of(6, $inner))) for 1 .. 60;
refused(int_of(1, 8) . bytes_of(7, $inner), qr/E0502.*nest too deep/,
        'graphs within graphs');
my $whole = slurp($good);
my @wrong = grep {
  my $got = rly('check', file('cut.onnx', substr $whole, 0, $_));
  $got->{status} > 1 || $got->{status} < 0
} grep { $_ % 5 == 0 } 0 .. length($whole) - 1;
is("@wrong", '', 'cut anywhere, a file is refused or a smaller one');
srand 7;
@wrong = grep {
  my $bytes = $whole;
  substr($bytes, rand length $bytes, 1) = chr int rand 256 for 1 .. 3;
  my $got = rly('check', '--max-memory', '200M', file('spoilt.onnx', $bytes));
  $got->{status} > 1
} 1 .. 60;
is("@wrong", '', 'spoilt bytes do no harm');

# --- Hostile files ----------------------------------------------------------

# Each stays within the limits of `refused`, and ends with status 1.
my $body = graph_attr('body', node('Identity', ['go'], ['on']),
  node('Add', ['v', 'v'], ['w']), input('i', 7), input('go', 9),
  input('v', 1, 2), output('on', 9), output('w', 1, 2), output('w', 1, 2));
my $loop = model(tensor('m', 7, [], bytes_of(9, pack 'q<', 3)),
  node('Loop', ['m', '', 'x'], ['y', 'rows'], $body), input('x', 1, 2),
  output('y', 1, 2), output('rows', 1, 3, 2));
gives(rly('run', file('loop.onnx', $loop), 'x=[1, 2]'), 0,
      qr/\[ 8\.0, 16\.0\]/, '', 'a loop');

# --- ai.onnx.ml -------------------------------------------------------------

sub ml_model {
  my ($op, $in, $out, $attrs, @ports) = @_;
  return model(bytes_of(1, inside_node($op, $in, $out, @$attrs)
                           . bytes_of(7, 'ai.onnx.ml')), @ports)
         . bytes_of(8, bytes_of(1, 'ai.onnx.ml') . int_of(2, 3));
}
sub list_attr {
  my ($name, $field, $type, @items) = @_;
  return bytes_of(1, $name) . join('', map { bytes_of($field, $_) } @items)
         . int_of(20, $type);
}
sub float_list { bytes_of(1, $_[0]) . bytes_of(7, pack 'f<*', @{$_[1]})
                 . int_of(20, 6) }
my $tree = ml_model('TreeEnsembleRegressor', ['x'], ['y'],
  [ints_attr('nodes_treeids', [0, 0, 0]), ints_attr('nodes_nodeids', [0, 1, 2]),
   list_attr('nodes_modes', 9, 8, qw(BRANCH_LT LEAF LEAF)),
   ints_attr('nodes_featureids', [1, 0, 0]),
   float_list('nodes_values', [2, 0, 0]),
   ints_attr('nodes_truenodeids', [1, 0, 0]),
   ints_attr('nodes_falsenodeids', [2, 0, 0]),
   ints_attr('target_treeids', [0, 0]), ints_attr('target_nodeids', [1, 2]),
   ints_attr('target_ids', [0, 0]), float_list('target_weights', [5, 7]),
   int_attr('n_targets', 1)],
  input('x', 1, 2, 2), output('y', 1, 2, 1));
gives(rly('run', file('tree.onnx', $tree), 'x=[[9, 1.5], [9, 2]]'), 0,
      qr/\[\[5\.0\],\s*\[7\.0\]\]/, '', 'a tree of named modes');
refused($tree =~ s/BRANCH_LT/BRANCH_XX/r,
        qr/E0804.*a mode that is not known/, 'an unknown mode');
my $encoder = ml_model('LabelEncoder', ['x'], ['y'],
  [ints_attr('keys_int64s', [(1 << 40) + 1, 3]),
   float_list('values_floats', [0.5, 2])],
  input('x', 7, 2), output('y', 1, 2));
gives(rly('run', file('encoder.onnx', $encoder), 'x=[1099511627777, 4]'), 0,
      qr/\[ ?0\.5, -0\.0\]/, '', 'keys of 64 bits, and the default');

my @states =
    map { (tensor("at$_", 7, [1], bytes_of(9, pack 'q<', $_))) } 0 .. 2;
# --- What PyTorch exports ---------------------------------------------------

# The texts that examples/import keeps are what the importer writes; its page
# compares their results with PyTorch's.
for my $model (glob 'examples/import/*.onnx') {
  my ($name) = $model =~ m{(\w+)\.onnx};
  my @state = $name eq 'decoder' ? ('--state', 'past.*=present.*') : ();
  gives(rly('import', @state, $model, '-o', scratch($name)), 0, '', '',
        "$name: imported");
  is(slurp(scratch("$name.rly")), slurp("examples/import/$name.rly"),
     'as examples/import has it');
  is(slurp(scratch("$name.safetensors")),
     slurp("examples/import/$name.safetensors"), 'with its weights');
}

my $ranks = model(
  node('If', ['c'], ['y'],
       graph_attr('then_branch', node('Unsqueeze', ['x', 'at0'], ['a']),
                  output('a', 1, 1, 2)),
       graph_attr('else_branch', node('Neg', ['x'], ['b']), output('b', 1, 2))),
  @states, input('x', 1, 2), input('c', 9), bytes_of(12, bytes_of(1, 'y')
    . bytes_of(2, bytes_of(1, int_of(1, 1)))));
my $either = file('ranks.onnx', $ranks);
gives(rly('run', $either, 'x=[1, 2]', 'c=True'), 0, qr/\[\[1\.0, 2\.0\]\]/, '',
      'branches whose results have different ranks');
gives(rly('run', $either, 'x=[1, 2]', 'c=False'), 0, qr/ \[-1\.0, -2\.0\]/, '',
      'the other one');

# A step of a loop makes its value longer, as the types of its body say.
my $grown = model(tensor('m', 7, [], bytes_of(9, pack 'q<', 3)),
  node('Loop', ['m', '', 'x'], ['y'],
       graph_attr('body', node('Identity', ['go'], ['on']),
                  node('Concat', ['v', 'v'], ['w'], int_attr('axis', 0)),
                  input('i', 7), input('go', 9), input('v', 1, 1),
                  output('on', 9), output('w', 1, \'more'))),
  input('x', 1, 1), output('y', 1, \'all'));
gives(rly('run', file('grown.onnx', $grown), 'x=[5]'), 0,
      qr/\(8\), float32\] \[(5\.0,? ?){8}\]/, '', 'a loop whose value grows');

# The rank of an element is open, and so is that of a condition from it: in a
# branch, and as a loop's, whose value doubles while its sum is below 10.
my $element = [node('SequenceConstruct', ['x', 'x'], ['s']),
               node('SequenceAt', ['s', 'zero'], ['e']),
               tensor('zero', 7, [], bytes_of(9, pack 'q<', 0)),
               floats_of('ten', [], [10])];
my $judged = model(@$element,
  node('ReduceSum', ['e'], ['sum'], int_attr('keepdims', 0)),
  node('Less', ['sum', 'ten'], ['small']),
  node('If', ['small'], ['y'],
       graph_attr('then_branch', node('Neg', ['x'], ['a']), output('a', 1, 2)),
       graph_attr('else_branch', node('Abs', ['x'], ['b']), output('b', 1, 2))),
  node('Loop', ['', 'small', 'e'], ['z'],
       graph_attr('body', node('Add', ['v', 'v'], ['w']),
                  node('SequenceConstruct', ['w'], ['ws']),
                  node('SequenceAt', ['ws', 'zero'], ['we']),
                  node('ReduceSum', ['we'], ['t'], int_attr('keepdims', 0)),
                  node('Less', ['t', 'ten'], ['on']),
                  input('i', 7), input('go', 9), input('v', 1, 2),
                  output('on', 9), output('w', 1, 2))),
  input('x', 1, 2), output('y', 1, 2), output('z', 1, 2));
gives(rly('run', file('judged.onnx', $judged), 'x=[1, 2]'), 0,
      qr/\[-1\.0, -2\.0\].*\[4\.0, 8\.0\]/, '', 'conditions from a sequence');

# --- State in cells ---------------------------------------------------------

# Three steps of a stream, and the same with the state carried by hand, are
# compared bit for bit, from the first state, in the middle, and after a reset.
sub streams {
  my ($what, $model, $flags, $carry) = @_;
  my $path = file('state.onnx', $model);
  gives(rly('import', @$flags, $path), 0, '', '', "$what: written");
  my ($x, $first) = ($carry->{x}, $carry->{first});
  my $hand = join '', map {
    my $from = $_ == 1 ? $first : $carry->{next}->('%p' . ($_ - 1));
    "let %x$_ = $x * $_.5f; let %p$_ = \@step_pure(%x$_, $from);\n"
  } 1 .. 3;
  spew(scratch('stream.rly'), qq{import "state.rly";\n$hand}
    . join('', map { "all(equal(\@step(%x$_), %p$_.0));\n" } 1 .. 3)
    . '@reset();' . "\n" . "all(equal(\@step(%x1), %p1.0));\n");
  my @params = -e scratch('state.safetensors')
    ? ('--params', scratch('state.safetensors')) : ();
  gives(rly('run', @params, scratch('stream.rly')), 0, "True\n" x 4, '',
        "$what: as with the state carried by hand");
  my $got = slurp(scratch('state.rly'));
  unlink scratch('state.safetensors');
  return $got;
}
my @weights = map { sin $_ } 1 .. 200;
my @lstm = (floats_of('w', [1, 8, 3], [@weights[0 .. 23]]),
            floats_of('r', [1, 8, 2], [@weights[24 .. 39]]),
            floats_of('w2', [1, 8, 2], [@weights[40 .. 55]]),
            floats_of('r2', [1, 8, 2], [@weights[56 .. 71]]));
my $layers = model(@lstm, @states,
  node('Slice', ['h0', 'at0', 'at1', 'at0'], ['ha']),
  node('Slice', ['h0', 'at1', 'at2', 'at0'], ['hb']),
  node('Slice', ['c0', 'at0', 'at1', 'at0'], ['ca']),
  node('Slice', ['c0', 'at1', 'at2', 'at0'], ['cb']),
  node('LSTM', ['x', 'w', 'r', '', '', 'ha', 'ca'], ['y1', 'hy1', 'cy1'],
       int_attr('hidden_size', 2)),
  node('Squeeze', ['y1', 'at1'], ['s1']),
  node('LSTM', ['s1', 'w2', 'r2', '', '', 'hb', 'cb'], ['y', 'hy2', 'cy2'],
       int_attr('hidden_size', 2)),
  node('Concat', ['hy1', 'hy2'], ['hn'], int_attr('axis', 0)),
  node('Concat', ['cy1', 'cy2'], ['cn'], int_attr('axis', 0)),
  input('x', 1, \'time', \'batch', 3), input('h0', 1, 2, \'batch', 2),
  input('c0', 1, 2, \'batch', 2), output('y', 1, \'time', 1, \'batch', 2),
  output('hn', 1, 2, \'batch', 2), output('cn', 1, 2, \'batch', 2));
my $frame = 'reshape(sin(arange(0f, 12f)), newshape=[2, 2, 3])';
$text = streams('two LSTMs', $layers, ['--stateful'], {
  x => $frame,
  first => join(', ', ('zeros(shape=[2, 2, 2], dtype="float32")') x 2),
  next => sub { "$_[0].1, $_[0].2" }});
like($text, qr/^let \@h0: Ref\[Option\[Tensor\[\(2, \?, 2\), float32\]\]\] = /m,
     'a state has as many rows as the first step');
like($text,
     qr/def \@step\[time: Dim, batch: Dim\]\(%x: Tensor\[\(time, batch, 3\)/,
     'the signature loses it');

my $scan = model(
  node('Scan', ['s0', 'x'], ['s', 'y'],
       graph_attr('body', node('Add', ['a', 'b'], ['c']),
                  node('Mul', ['c', 'c'], ['d']), input('a', 1, 2),
                  input('b', 1, 2), output('c', 1, 2), output('d', 1, 2)),
       int_attr('num_scan_inputs', 1)),
  input('x', 1, 3, 2), input('s0', 1, 2), output('y', 1, 3, 2),
  output('s', 1, 2));
$text = streams('a Scan', $scan, ['--stateful'], {
  x => 'reshape(sin(arange(0f, 6f)), newshape=[3, 2])',
  first => '[0f, 0f]', next => sub { "$_[0].1" }});
like($text, qr/^let \@s0: Ref\[Tensor\[\(2\), float32\]\] = ref\(zeros/m,
     'a state of a known shape');

my $across = model(
  node('Scan', ['x'], ['a', 'b'],
       graph_attr('body', node('Neg', ['v'], ['n']), node('Abs', ['v'], ['m']),
                  input('v', 1, 2), output('n', 1, 2), output('m', 1, 2)),
       int_attr('num_scan_inputs', 1), ints_attr('scan_input_axes', [1]),
       ints_attr('scan_output_axes', [-1, 0]),
       ints_attr('scan_output_directions', [1, 0])),
  input('x', 1, 2, 3), output('a', 1, 2, 3), output('b', 1, 3, 2));
gives(rly('run', file('across.onnx', $across), 'x=[[1, 2, 3], [4, 5, 6]]'), 0,
      qr/\[\[-3\.0,\ -2\.0,\ -1\.0\],\s*\[-6\.0,\ -5\.0,\ -4\.0\]\].*
         \[\[1\.0,\ 4\.0\],\s*\[2\.0,\ 5\.0\],\s*\[3\.0,\ 6\.0\]\]/sx, '',
      'a Scan along other axes, and backwards');

# The Scan of version 8 has a batch: of two members sums, and their squares.
my $batch = model_of(8,
  node('Scan', ['', 's0', 'x'], ['s', 'y'],
       graph_attr('body', node('Add', ['a', 'b'], ['c']),
                  node('Mul', ['c', 'c'], ['d']), input('a', 1, 1),
                  input('b', 1, 1), output('c', 1, 1), output('d', 1, 1)),
       int_attr('num_scan_inputs', 1)),
  input('s0', 1, 2, 1), input('x', 1, 2, 3, 1), output('s', 1, 2, 1),
  output('y', 1, 2, 3, 1));
my $sums = rly('run', file('batch.onnx', $batch), 's0=[[10], [0]]',
               'x=[[[1], [2], [3]], [[4], [5], [6]]]');
is($sums->{out} =~ s/\s//gr,
   '(Tensor[(2,1),float32][[16.0],[15.0]],Tensor[(2,3,1),float32]' .
   '[[[121.0],[169.0],[256.0]],[[16.0],[81.0],[225.0]]])',
   'a Scan with a batch');

my @empty = (node('Scan', ['', '', 'x'], ['s', 'y'],
                  graph_attr('body', input('a', 1)),
                  int_attr('num_scan_inputs', 1)), @io);
gives(rly('check', file('empty.onnx', model_of(8, @empty))), 1, '',
      qr/E0804.*`n_s` \(Scan\): input 0 is missing/,
      'a Scan with a batch, but without its first state');

# Of a body without types: a state has the type of what it begins with.
# s0' + x0 is [[1, 3], [2, 4]], that one's transpose + x1 is [[11, 2], [3, 4]].
my $plain = model(
  node('Scan', ['s0', 'x'], ['s', 'y'],
       graph_attr('body', node('Transpose', ['a'], ['t'],
                               ints_attr('perm', [1, 0])),
                  node('Add', ['t', 'b'], ['c']),
                  node('Identity', ['c'], ['d']),
                  (map { bytes_of(11, bytes_of(1, $_)) } 'a', 'b'),
                  (map { bytes_of(12, bytes_of(1, $_)) } 'c', 'd')),
       int_attr('num_scan_inputs', 1)),
  input('s0', 1, 2, 2), input('x', 1, 2, 2, 2), output('s', 1, 2, 2),
  output('y', 1, 2, 2, 2));
my $ends = rly('run', file('plain.onnx', $plain), 's0=[[1, 2], [3, 4]]',
               'x=[[[0, 0], [0, 0]], [[10, 0], [0, 0]]]');
is($ends->{out} =~ s/\s//gr,
   '(Tensor[(2,2),float32][[11.0,2.0],[3.0,4.0]],Tensor[(2,2,2),float32]' .
   '[[[1.0,3.0],[2.0,4.0]],[[11.0,2.0],[3.0,4.0]]])', 'a Scan without types');

# --- Gradients --------------------------------------------------------------

# y = w x x - x, at x = 3 and w = 5, which is held still: dy/dx = 2 w x - 1 = 29
# and, of that, 2 w = 10.
sub gradient {
  my ($in, $y, $out) = @_;
  return bytes_of(1, inside_node('Gradient', $in, [$out],
      bytes_of(1, 'xs') . bytes_of(9, 'x') . int_of(20, 8),
      bytes_of(1, 'zs') . bytes_of(9, 'w') . int_of(20, 8),
      bytes_of(1, 'y') . bytes_of(4, $y) . int_of(20, 3))
    . bytes_of(7, 'ai.onnx.preview.training'));
}
my $training = bytes_of(8, bytes_of(1, 'ai.onnx.preview.training')
                           . int_of(2, 1));
my @parabola = (node('Mul', ['w', 'x'], ['wx']),
                node('Mul', ['wx', 'x'], ['q']), node('Sub', ['q', 'x'], ['y']),
                input('x', 1), input('w', 1));
my $slopes = model(@parabola, gradient(['x', 'w'], 'y', 'dx'),
                   gradient(['x', 'w'], 'dx', 'ddx'), output('dx', 1),
                   output('ddx', 1)) . $training;
gives(rly('run', file('slopes.onnx', $slopes), 'x=3', 'w=5'), 0,
      "(29f, 10f)\n", '', 'derivatives of a part of the graph, also of one');
for ([['x'], 'y', qr/E0804.*too few inputs/],
     [['x', 'w'], 'z', qr/E0803.*there is no `z`/]) {
  my ($in, $y, $why) = @$_;
  my $wrong = model(@parabola, gradient($in, $y, 'dx'), output('dx', 1));
  gives(rly('check', file('wrong.onnx', $wrong . $training)), 1, '', $why,
        "a gradient of `$y` at @$in");
}

# The length of a cache grows: its name is not the output's.
my $caches = model(
  node('Concat', ['past.a', 'x'], ['present.a'], int_attr('axis', 0)),
  node('Add', ['x', 'x'], ['xx']),
  node('Concat', ['xx', 'past.b'], ['present.b'], int_attr('axis', 0)),
  node('ReduceSum', ['present.a', 'at0'], ['a']),
  node('ReduceMax', ['present.b'], ['b'], ints_attr('axes', [0])),
  node('Add', ['a', 'b'], ['y']), @states, input('x', 1, 1, 2),
  input('past.a', 1, \'past', 2), input('past.b', 1, \'past', 2),
  output('y', 1, 1, 2), output('present.a', 1, \'all', 2),
  output('present.b', 1, \'all', 2));
$text = streams('caches', $caches, ['--state', 'past.*=present.*'], {
  x => '[[1f, 2f]]',
  first => join(', ', ('zeros(shape=[0, 2], dtype="float32")') x 2),
  next => sub { "$_[0].1, $_[0].2" }});
like($text, qr/^let \@past.a: Ref\[Tensor\[\(\?, 2\), float32\]\] = /m,
     'a cache has any length');
for (['--state', 'h0=nothing', qr/no output `nothing`/],
     ['--state', 'none=hn', qr/no input `none`/],
     ['--state', 'x=hn', qr/the state `x` has another type than `hn`/],
     ['--state', 'h*=hn', qr/a star stands on both sides/],
     ['--state', 'h0', qr/names no pair/]) {
  my ($flag, $pair, $why) = @$_;
  gives(rly('import', $flag, $pair, file('layers.onnx', $layers)), 1, '',
        qr/E0808.*$why/, "no pair: $pair");
}
gives(rly('import', '--state', 'h0=hn', '--state', 'c0=hn',
          scratch('layers.onnx')), 1, '', qr/E0808.*is of another pair/,
      'no output of two pairs');
gives(rly('import', '--stateful', $good), 1, '', qr/E0808.*no input is/,
      'a model without state');

# A function that calls itself, and thirty that call the next one twice each.
sub function {
  my ($name, @nodes) = @_;
  return bytes_of(25, bytes_of(1, $name) . bytes_of(4, 'a') . bytes_of(5, 'b')
                  . join('', map { bytes_of(7, $_) } @nodes)
                  . bytes_of(10, 'own'));
}
sub own { bytes_of(1, bytes_of(1, $_[1]) . bytes_of(2, $_[2])
                   . bytes_of(4, $_[0]) . bytes_of(7, 'own')) }
sub inner { substr(own(@_), 1 + length varint(length(own(@_)) - 2)) }
refused(model(own('F', 'x', 'y'), @io) . function('F', inner('F', 'a', 'b')),
        qr/E0804.*functions nest more than/, 'a function that calls itself');
refused(model(own('F', 'x', 'y'), @io)
        . function('F', inside_node('Neg', ['a'], ['a']),
                   inside_node('Relu', ['a'], ['b'])),
        qr/E0804.*`n_a` \(Neg\): its output `a` is given above/,
        'a node of a function that gives its input');
refused(model(own('F0', 'x', 'y'), @io)
        . join('', map { my $n = 'F' . ($_ + 1);
                         function("F$_", inner($n, 'a', 'c'),
                                  inner($n, 'c', 'b')) } 0 .. 29),
        qr/E080[45]/, 'functions that double');
refused(model(node('Loop', ['m', '', 'x'], ['y'],
                   graph_attr('body', input('i', 7))), @io),
        qr/E0804.*its body has 1 inputs/, 'a body without values');
refused(model(node('Loop', ['', '', 'x'], ['y']), @io),
        qr/E0804.*no graph `body`/, 'a loop without a body');
refused(model(node('Softmax', ['x'], ['y'],
                   bytes_of(1, 'axis') . bytes_of(4, 'one') . int_of(20, 3)),
              @io), qr/error\[E/, 'an attribute of the wrong kind');
refused(model(node('Relu', ['x'], ['y']), input('x', 1, 1 << 62),
              output('y', 1, 2)), qr/error\[E/, 'a huge dimension');
refused(model(node('Relu', ['x'], ['y']), input('x', 1, (1) x 20),
              output('y', 1, 2)), qr/E0802.*its rank is 20/, 'a huge rank');
refused(model(tensor('w', 99, [2], bytes_of(9, 'abcd')),
              node('Add', ['x', 'w'], ['y']), @io), qr/E0502.*99 is no dtype/,
        'an unknown dtype');
refused(model(node('Adam', [('x') x 7], ['y'], ()), @io), qr/E080/,
        'groups that do not come out even');
refused(model(node('RandomNormal', [], ['y'], ints_attr('shape', [2])), @io),
        qr/E0805.*it draws at random/, 'numbers at random');
refused(model(node('SequenceAt', ['x', 'x'], ['y']), @io), qr/error\[E/,
        'an element of a tensor');

# Bytes are spoilt and cut out, at places that the seed decides; what is left is
# refused, or is a model that runs.  In the sanitizers' build a leak would end
# as another status.
sub spoil {
  my ($bytes) = @_;
  for (1 .. 1 + int rand 4) {
    my $at = int rand length $bytes;
    my $kind = int rand 4;
    if ($kind == 0) { substr($bytes, $at, 1) = chr int rand 256 }
    elsif ($kind == 1) { substr($bytes, $at, 1 + int rand 8) = '' }
    elsif ($kind == 2) { substr($bytes, $at, 0) = varint(int rand 1 << 40) }
    else { substr($bytes, $at, 1) = chr(ord(substr $bytes, $at, 1) ^ 1) }
    last if !length $bytes;
  }
  return $bytes;
}
my $sequences = model(
  node('SequenceConstruct', ['x', 'x'], ['s']),
  node('Optional', ['s'], ['o']), node('OptionalGetElement', ['o'], ['t']),
  node('SequenceAt', ['t', 'zero'], ['y']),
  tensor('zero', 7, [], bytes_of(9, pack 'q<', 0)), @io);
my $branches = model(
  node('If', ['c'], ['y'],
       graph_attr('then_branch', node('Relu', ['x'], ['a']), output('a', 1, 2)),
       graph_attr('else_branch', node('Neg', ['x'], ['b']), output('b', 1, 2))),
  input('c', 9), @io);
gives(rly('run', file('s.onnx', $sequences), 'x=[1, 2]'), 0, qr/\[1\.0, 2\.0\]/,
      '', 'sequences and optionals');
gives(rly('run', file('b.onnx', $branches), 'x=[1, 2]', 'c=False'), 0,
      qr/\[-1\.0, -2\.0\]/, '', 'branches');
srand 22;
my @run = (['run', '--max-steps', '1000000'], 'x=[1, 2]');
for (['loop', $loop, @run], ['sequences', $sequences, @run],
     ['branches', $branches, @run],
     ['external', external('w.bin', entry('offset', 4), entry('length', 8)),
      @run],
     ['tree', $tree, ['check']], ['across', $across, ['check']],
     ['layers', $layers, ['import', '--stateful']],
     ['caches', $caches, ['import', '--state', 'past.*=present.*']]) {
  my ($what, $model, $command, @inputs) = @$_;
  my @bad = grep {
    my $got = rly(@$command, '--max-memory', '200M',
                  file('spoilt.onnx', spoil($model)), @inputs);
    $got->{status} < 0 || $got->{status} > 2
      || ($got->{status} && $got->{err} !~ /E\d{4}/)
  } sample(1 .. 40);
  is("@bad", '', "$what: spoilt anywhere, a model is refused or runs");
}

# --- What operators mean at the ends of their ranges ------------------------

# The expected values are computed by hand.
sub means { gives(rly('-e', $_[0]), 0, $_[1], '', $_[2]) }
sub fails { gives(rly('-e', $_[0]), 2, qr/^\s*$/, $_[1], $_[2]) }

means('@onnx_gather([10, 20, 30], [-3i64, 2i64])', qr/\[10, 30\]/,
      'Gather counts from the end');
fails('@onnx_gather([10, 20, 30], [3i64])', qr/E0604.*index 3 is out of range/,
      'and refuses an index after it');
gives(rly('run', spew(scratch('where.rly'), <<'END'), 'i=[7]'), 2, '',
def @main(%i: Tensor[(1), int64]) {
  let %rows = @onnx_gather([[10, 20], [30, 40]], %i);
  %rows
}
END
      qr{\A\S*where\.rly:2:15:\ error\[E0604\].*
         shape\.rly:\d+:\d+:\n.*from\ here\ in\ the\ library.*
         in\ \@main\ at\ \S*where\.rly:2:15}sx,
      'the message tells of the call, and where the library has it');
fails('@onnx_gather([10, 20, 30], [-4i64])', qr/E0604.*index -1 is out of/,
      'and one before its start');
fails('@onnx_gather_nd([[1, 2]], [[0i64, 2i64]])', qr/E0604.*index 2 is out/,
      'GatherND as well');
means('shape_of(@onnx_unsqueeze([[1, 2]], axes=[0i64, -1i64, 2i64, 4i64]))',
      qr/\[1, 1, 1, 2, 1, 1\]/, 'Unsqueeze by four axes');
means('@onnx_gather_nd([[1, 2], [3, 4]], [[[[[1i64, 0i64], [-1i64, -1i64]]]]])',
      qr/\(1, 1, 1, 2\), int32\] \[\[\[\[3, 4\]\]\]\]/,
      'GatherND by coordinates of rank 5');
means('@onnx_scatter_nd([1, 2, 3], [[[[[0i64], [-1i64]]]]], [[[[7, 8]]]])',
      qr/\[7, 2, 8\]/, 'ScatterND by coordinates of rank 5');
means('@onnx_pad([[[[[[1]]]]]], [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1])',
      qr/\[\[\[\[\[\[0, 1, 0\]\]\]\]\]\]/, 'Pad of rank 6');
gives(rly('run', file('ends.onnx', model_of(9,
          node('Slice', ['x'], ['y'], ints_attr('starts', [1]),
               ints_attr('ends', [1 << 62])),
          input('x', 1, 3), output('y', 1, 2))), 'x=[1, 2, 3]'), 0,
      qr/\[2\.0, 3\.0\]/, '', 'Slice by attributes, to an end beyond int32');
gives(rly('run', spew(scratch('flip.rly'), <<'END'), 'x=[1, 2, 3]'), 0,
def @main(%x: Tensor[(?), float32]) {
  @onnx_slice(%x, [-1i64], [-9223372036854775807i64], axes=[0i64],
              steps=[-1i64])
}
END
      qr/\[3\.0, 2\.0, 1\.0\]/, '', 'Slice to an end beyond all numbers');
gives(rly('run', spew(scratch('sizes.rly'), <<'END'), 'x=[[[1], [3]]]'), 0,
def @main(%x: Tensor[(1, 2, 1), float32]) {
  let %outer = @onnx_slice(@onnx_shape(%x), [0i64], [1i64]);
  @onnx_resize(%x, sizes=concatenate((%outer, [4i64, 1i64])), mode="linear")
}
END
      qr/\[1\.0\],\s*\[1\.5\],\s*\[2\.5\],\s*\[3\.0\]/, '',
      'Resize to sizes that are computed');
means('@onnx_pad([[1, 2], [3, 4]], [1, 0], axes=[-2i64], constant_value=9)',
      qr/\[9, 9\],\s*\[1, 2\],\s*\[3, 4\]/, 'Pad of some axes');
means('@onnx_pad([1, 2, 3], [4, 4], mode="wrap")',
      qr/\[3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1\]/, 'Pad by the other end');
means('@onnx_pad([[[[[[1, 2, 3]]]]]], [0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0],
      mode="reflect")', qr/3, 2, 1, 2, 3/, 'Pad by a reflection of rank 6');

means('@onnx_reduce_log_sum_exp([[0f, 0f], [2000f, -inff], [-inff, -inff]],
      axes=[1], keepdims=False)', qr/\[0\.693147\d*, 2000\.0, -inf\]/,
      'ReduceLogSumExp, of rows that are far apart');

means('@onnx_dequantize_linear([16777217], 1f, x_zero_point=1)',
      qr/\[16777216\.0\]/, 'DequantizeLinear subtracts integers');

# From the examples of ONNX's specification.
my $square = 'reshape(cast(arange(16), dtype="float32") + 1f,
                      newshape=[1, 1, 4, 4])';
means("\@onnx_resize($square, scales=[1f, 1f, 0.6f, 0.6f], mode=\"linear\",
      antialias=True)", qr/2\.875, +4\.5\d*\],\s*\[ ?9\.375, +11\.0\]/,
      'Resize, linear, smoothed');
means("\@onnx_resize($square, scales=[1f, 1f, 0.6f, 0.6f], mode=\"cubic\",
      antialias=True)",
      qr/2\.51807\d*, +4\.28588\d*\],\s*\[ ?9\.58932\d*, 11\.357/,
      'Resize, cubic, smoothed');
means('@onnx_resize([[1f, 2f, 3f, 4f]], scales=[1f, 0.6f], mode="linear",
      coordinate_transformation_mode="half_pixel_symmetric")',
      qr/\[\[1\.66666\d*, 3\.33333\d*\]\]/, 'Resize about the middle');
means('shape_of(@onnx_resize([[[1f, 2f], [3f, 4f]]], sizes=[7i64, 8i64],
      axes=[1, -1], keep_aspect_ratio_policy="not_larger"))', qr/\[1, 7, 7\]/,
      'Resize of two axes, not larger than asked');
means('shape_of(@onnx_resize([[[1f, 2f], [3f, 4f]]], sizes=[7i64, 8i64],
      axes=[1, -1], keep_aspect_ratio_policy="not_smaller"))',
      qr/\[1, 8, 8\]/, 'or not smaller');
means('@onnx_resize([[1u8, 3u8]], scales=[1f, 2f], mode="linear")',
      qr/\[\[1, 1, 2, 3\]\]/, 'Resize of integers');

my $pair = 'List[@onnx_any([1f, 2f, 3f]), @onnx_any([[4f]])]';
means("\@onnx_sequence_at($pair, -2i64)", qr/\[1\.0, 2\.0, 3\.0\]/,
      'SequenceAt counts from the end');
fails("\@onnx_sequence_at($pair, 2i64)", qr/a position outside the sequence/,
      'and refuses a position after it');
fails("\@onnx_sequence_at($pair, -3i64)", qr/a position outside the sequence/,
      'and one before its start');
means("\@onnx_sequence_insert($pair, [9f], position=2i64)",
      qr/4\.0.*9\.0.*Nil/, 'SequenceInsert after the last');
means('@onnx_concat_from_sequence(List[@onnx_any([1f]), @onnx_any([2f])],
      axis=1, new_axis=1)', qr/\[\[1\.0, 2\.0\]\]/,
      'ConcatFromSequence, stacked');
means('@onnx_split_to_sequence([[1, 2, 3]], split=[1i64, 2i64], axis=-1)',
      qr/\[\[1\]\].*\[\[2, 3\]\].*Nil/s, 'SplitToSequence by lengths');
means('@onnx_split_to_sequence([1, 2, 3], split=2i64)',
      qr/\[1, 2\].*\[3\].*Nil/s, 'SplitToSequence, the last one shorter');
means('@onnx_split_to_sequence([[1, 2]], axis=1, keepdims=0)',
      qr/\(1\), int32\] \[1\].*\(1\), int32\] \[2\].*Nil/s,
      'SplitToSequence into slices');

# Numbers of 64 bits that int32 does not hold, and lengths that do not fit.
my $most = '9223372036854775807i64';
sub too_large {
  gives(rly('--max-memory', '64M', '-e', $_[0]), 3, '', qr/E0701/, $_[1]);
}
too_large("\@onnx_pad([1, 2], [$most, 0i64])", 'Pad by more than any memory');
fails("\@onnx_pad([1, 2], [-$most, 0i64])", qr/pad_width removes more/,
      'Pad that removes more than there is');
fails("\@onnx_pad([1, 2], [0i64, -$most], mode=\"edge\")",
      qr/a Pad that removes more/, 'by the edge, too');
too_large("\@onnx_resize([1f, 2f], sizes=[$most])",
          'Resize to more than any memory');
gives(rly('-e', '@onnx_top_k([1f, 2f], 4294967297i64)'), 1, '',
      qr/E0303\S* `topk`: k is 2147483647, /, 'TopK of more than there are');
fails("\@onnx_sequence_at($pair, 4294967296i64)", qr/outside the sequence/,
      'SequenceAt a position that int32 does not hold');
fails('@onnx_resize([1f, 2f], scales=[nanf])', qr/a scale that is not above 0/,
      'Resize by a scale that is no number');
fails('@onnx_resize([1f, 2f], scales=[-1f])', qr/a scale that is not above 0/,
      'or by one below 0');
means('@onnx_split([1, 2, 3], split=[1i64, 2i64], i=1, num=2)', qr/\[2, 3\]/,
      'Split by lengths');
fails('@onnx_split([1, 2, 3], split=[1i64, 1i64], i=0, num=2)',
      qr/lengths do not add up to the axis/, 'which make up the axis');
fails('@onnx_split([1, 2, 3], split=[4i64, -1i64], i=0, num=2)',
      qr/lengths do not add up to the axis/, 'none of them below 0');
fails('@onnx_split([1, 2, 3], split=[4294967297i64, 2i64], i=0, num=2)',
      qr/lengths do not add up to the axis/, 'nor beyond int32');
fails('@onnx_split([1, 2, 3], split=[3i64], i=0, num=2)',
      qr/number of lengths is not that of its outputs/, 'one for each part');
fails('@onnx_split([1, 2, 3], num_outputs=3, i=0, num=2)',
      qr/num_outputs is not the number/, 'as many as there are outputs');
fails('@onnx_conv([[[1f]]], [[[1f]]], auto_pad="SAME")',
      qr/an auto_pad that is not known/, 'a padding of no known kind');

my $boxes = '[[[0f, 0f, 2f, 2f], [2f, 2f, 1f, 1f], [5f, 5f, 6f, 6f]]]';
means("\@onnx_non_max_suppression($boxes, [[[0.5f, -2f, 0.5f]]],
      max_output_boxes_per_class=9i64, iou_threshold=0.25f)",
      qr/\[\[0, 0, 0\],\s*\[0, 0, 2\],\s*\[0, 0, 1\]\]/,
      'NonMaxSuppression keeps what overlaps by just the threshold');
means("\@onnx_non_max_suppression($boxes, [[[0.5f, 0.9f, 0.5f]]],
      max_output_boxes_per_class=9i64)",
      qr/\[\[0, 0, 1\],\s*\[0, 0, 2\]\]/, 'and by default nothing that does');
means("\@onnx_non_max_suppression($boxes, [[[0.5f, 0.9f, 0.5f]]])",
      qr/\(0, 3\), int64/, 'and by default no box');

means('@onnx_unique([[3, 1], [2, 2], [3, 1]], axis=-2, sorted=False)',
      qr/\[\[3, 1\],\s*\[2, 2\]\].*\[0, 1\].*\[0, 1, 0\].*\[2, 1\]/s,
      'Unique rows in the order in which they come');
means('@onnx_det([[[0f, 0f], [3f, 4f]], [[1f, 2f], [3f, 4f]]])',
      qr/\[ ?-?0\.0, -(2\.0|1\.99999)/, 'Det without a pivot, and with a swap');
fails('@onnx_reshape([1], [0i64, 3i64], allowzero=1)', qr/shape that has none/,
      'Reshape of elements to none');

# --- Strings, and dtypes that the language lacks -----------------------------

sub strings_of {
  my ($name, $dims, @texts) = @_;
  return tensor($name, 8, $dims, map { bytes_of(6, $_) } @texts);
}

my $joined = file('joined.onnx', model_of(20,
  strings_of('end', [1], '!'), node('StringConcat', ['x', 'end'], ['y']),
  input('x', 8, 2), output('y', 8, 2)));
gives(rly('run', $joined, 'x=[[97u8, 98u8], [99u8, 0u8]]'), 0,
      qr/^\[\[97, 98, 33\],\n\s*\[99, 33,  0\]\]/m, '',
      'strings are bytes along a last axis');
my $added = file('added.onnx', model(
  node('Add', ['x', 'x'], ['y']), input('x', 8, 2), output('y', 8, 2)));
gives(rly('check', $added), 1, '', qr/E0805.*`n_y` \(Add\).*strings/,
      'an operator that takes none says so');
my $uneven = file('uneven.onnx', model(
  strings_of('a', [3], 'x', 'y'), node('Identity', ['a'], ['y']),
  output('y', 8, 3)));
gives(rly('check', $uneven), 1, '', qr/E0502.*`a`.*the 2 strings/,
      'as many strings as the shape asks for');

# Labels that are strings stay strings: the next node compares them as such.
my $votes = ml_model('SVMClassifier', ['x'], ['label', 'scores'],
  [list_attr('classlabels_strings', 9, 8, 'no', 'yes'),
   float_list('coefficients', [1, -1]), float_list('rho', [1.5]),
   float_list('support_vectors', [1, 2]),
   ints_attr('vectors_per_class', [1, 1])],
  strings_of('wanted', [1], 'yes'),
  node('Equal', ['label', 'wanted'], ['y']), input('x', 1, 2, 1),
  output('y', 9, 2), output('scores', 1, 2, 2));
gives(rly('run', file('votes.onnx', $votes), 'x=[[1], [3]]'), 0,
      qr/\[False, +True\].*\[\[-0\.5, +0\.5\],\s*\[ 1\.5, -1\.5\]\]/s, '',
      'support vectors vote, for labels that are strings');
my $split = file('split.onnx', model_of(20,
  node('StringSplit', ['x'], ['words', 'n'], text_attr('delimiter', ',')),
  node('Cast', ['words'], ['y'], int_attr('to', 1)), input('x', 8, 2),
  output('y', 1, 2, 2), output('n', 7, 2)));
gives(rly('run', $split, 'x=[[49u8, 44u8, 50u8], [55u8, 44u8, 56u8]]'), 0,
      qr/\[\[1\.0, 2\.0\],\s*\[7\.0, 8\.0\]\].*\[2, 2\]/s, '',
      'strings are split, and read as numbers');
for ([node('Cast', ['x'], ['y'], int_attr('to', 8)), 'Cast'],
     [node('CastLike', ['x', 'like'], ['y']), 'CastLike']) {
  gives(rly('check', file('written.onnx', model(
          $_->[0], strings_of('like', [1], 'a'), input('x', 1, 2),
          output('y', 8, 2)))), 1, '',
        qr/E0805.*numbers are not written as strings/, "$_->[1] to strings");
}

# The integer weights of an LSTM stand after what an LSTM of floats has.
my $eighths = model(
  bytes_of(1, inside_node('DynamicQuantizeLSTM',
    ['x', 'w', 'r', '', '', '', '', '', 's', 'z', 's', 'z'], ['y'],
    int_attr('hidden_size', 1), float_list('activation_alpha', [1, 1, 2]),
    list_attr('activations', 9, 8, ('Affine') x 3))
    . bytes_of(7, 'com.microsoft')),
  tensor('w', 3, [1, 1, 4], bytes_of(9, pack 'c*', 1, 2, 0, 3)),
  tensor('r', 3, [1, 1, 4], bytes_of(9, pack 'c*', (0) x 4)),
  floats_of('s', [1], [1]), tensor('z', 3, [1], bytes_of(9, pack 'c', 0)),
  input('x', 1, 1, 1, 1), output('y', 1, 1, 1, 1, 1))
  . bytes_of(8, bytes_of(1, 'com.microsoft') . int_of(2, 1));
# i = 1, c = 3, o = 2, so y = o 2 (i c) = 12.
gives(rly('run', file('eighths.onnx', $eighths), 'x=[[[1]]]'), 0,
      qr/\[\[\[\[12\.00*1?\]\]\]\]/, '', 'an LSTM of integers of 8 bits');

# Packed four to a byte, the first in the low bits: 1, -1, -2, 0, 1.
my $narrow = file('narrow.onnx', model(
  tensor('w', 26, [5], bytes_of(9, "\x2D\x01")),
  node('Cast', ['w'], ['y'], int_attr('to', 6)), output('y', 6, 5)));
gives(rly('run', $narrow), 0, qr/\[ ?1, -1, -2,  ?0,  ?1\]/, '',
      'integers of 2 bits are read');
# 2^-10, the least; -240, the greatest; NaN; 1.5.
my $fnuz = file('fnuz.onnx', model(
  tensor('w', 18, [4], bytes_of(9, "\x01\xFF\x80\x44")),
  node('Cast', ['w'], ['y'], int_attr('to', 1)), output('y', 1, 4)));
gives(rly('run', $fnuz), 0, qr/9\.765625e-4|0\.0009765625/, '',
      'a float of 8 bits without infinities is read');
like(rly('run', $fnuz)->{out}, qr/-240\.0,? +nan, +1\.5/, '... all of it');
means('@onnx_cast_to([0.3f, 2.5f, 9f], format="FLOAT4E2M1")',
      qr/\[0\.5, 2\.0, 6\.0\]/, 'rounded to a float of 4 bits');
means('@onnx_cast_to([3f, 0.26f], format="FLOAT8E8M0")',
      qr/\[4\.0, 0\.5\]/, 'rounded up to a power of two');
means('@onnx_cast_to([5, -3], format="INT2")', qr/\[1, 1\]/,
      'integers wrap to 2 bits');

# --- ONNX's own tests ------------------------------------------------------

my $data = '/usr/share/libonnx-testdata/data/node';
SKIP: {
  skip 'libonnx-testdata is not installed: make deps-onnx', 2 unless -d $data;
  my %expected = map { $_ => 1 }
    grep { !/^#/ } split /\n/, slurp('tests/onnx/passing.txt');
  my @names = sort keys %expected;
  @names = sample(@names) if !is_release();
  my $got = rly('import', '--test', map { "$data/$_" } @names);
  my @failed = $got->{out} =~ /^not ok (.*)$/mg;
  is("@failed", '', scalar(@names) . ' node tests of ONNX 1.12 pass');
  my $simple = rly('import', '--test', glob "$data/../simple/*");
  like($simple->{out}, qr/^# 23 of 23 tests pass$/m, 'and the simple models');
}

done_testing;
