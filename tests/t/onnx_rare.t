#!/usr/bin/env perl
# What few exporters write: attributes without a type, or that refer to one of
# the function which is called; constants that are no tensors; dtypes that the
# language lacks; nodes with graphs, or for any number of tensors.  The results
# are worked out by hand, from ONNX's definitions.
use strict;
use warnings;
use lib 'tests/t';
use Onnx;
use Rly;
use Test::More;

if (rly('import', 'none.onnx')->{err} =~ /E0806/) {
  plan skip_all => 'this build has no reader of ONNX files: make deps-onnx';
}

sub runs {
  my ($what, $wanted, $model, @inputs) = @_;
  gives(rly('run', spew(scratch('rare.onnx'), $model), @inputs), 0, $wanted, '',
        $what);
}
sub refused {
  my ($what, $wanted, $model) = @_;
  gives(rly('check', spew(scratch('rare.onnx'), $model)), 1, '', $wanted,
        "refused: $what");
}
my @io = (input('x', 1, 2), output('y', 1, 2));
my @x = ('x=[-2, 4]');

# --- Attributes -------------------------------------------------------------

# In old files the field that is set tells the type.
sub untyped { substr $_[0], 0, -3 }
runs('an attribute without a type: a float', qr/\[-1\.0, 4\.0\]/,
     model(node('LeakyRelu', ['x'], ['y'], untyped(float_attr('alpha', 0.5))),
           @io), @x);
runs('... an integer', qr/\[0\.0, 1\.0\]/,
     model(node('Softmax', ['x'], ['y'], untyped(int_attr('axis', 0))), @io),
     'x=[0, 1000]');
runs('... a string', qr/\[-2\.0, 4\.0\]/,
     model(node('Einsum', ['x'], ['y'], untyped(text_attr('equation', 'i->i'))),
           @io), @x);
runs('... integers', qr/\[\[1\.0\],\s*\[2\.0\]\]/,
     model(node('Transpose', ['x'], ['y'], untyped(ints_attr('perm', [1, 0]))),
           input('x', 1, 1, 2), output('y', 1, 2, 1)), 'x=[[1, 2]]');
runs('... graphs', qr/\[-2\.0, 4\.0\]/,
     model(node('If', ['c'], ['y'],
                untyped(graph_attr('then_branch',
                  node('Identity', ['x'], ['a']), output('a', 1, 2))),
                untyped(graph_attr('else_branch',
                  node('Neg', ['x'], ['b']), output('b', 1, 2)))),
           input('c', 9), @io), @x, 'c=True');
refused('an attribute of a kind that no operator takes',
        qr/E0804.*its attribute `alpha` is GRAPH, not FLOAT/,
        model(node('LeakyRelu', ['x'], ['y'],
                   graph_attr('alpha', node('Neg', ['x'], ['z']))), @io));
refused('a dtype of nobody', qr/E0802.*no dtype here for ONNX's unknown one/,
        model(node('EyeLike', ['x'], ['y'], int_attr('dtype', 99)),
              input('x', 1, 2, 2), output('y', 1, 2, 2)));

# --- Functions --------------------------------------------------------------

# A function of `a` that gives `b`; `more` is its other fields.
sub function {
  my ($name, $nodes, @more) = @_;
  return bytes_of(25, join '', bytes_of(1, $name), bytes_of(4, 'a'),
                  bytes_of(5, 'b'), map({ bytes_of(7, $_) } @$nodes), @more,
                  bytes_of(10, 'own'));
}
sub call { inside_node(@_) . bytes_of(7, 'own') }
sub of_own { bytes_of(1, call(@_)) }
# An attribute that stands for one of the function.
sub refers { bytes_of(1, $_[0]) . int_of(20, 1) . bytes_of(21, $_[1]) }
my $leaky = function('F', [inside_node('LeakyRelu', ['a'], ['b'],
                                       refers('alpha', 'slope'))],
                     bytes_of(9, int_of(2, 17)),
                     bytes_of(11, float_attr('slope', 0.25)));
my $through = function('G', [call('F', ['a'], ['b'],
                                  refers('slope', 'steep'))],
                       bytes_of(6, 'steep'));
runs('an attribute of the function', qr/\[-1\.0, 4\.0\]/,
     model(of_own('F', ['x'], ['y'], float_attr('slope', 0.5)), @io) . $leaky,
     @x);
runs('... which it has by itself', qr/\[-0\.5, 4\.0\]/,
     model(of_own('F', ['x'], ['y']), @io) . $leaky, @x);
runs('... through two functions', qr/\[-1\.5, 4\.0\]/,
     model(of_own('G', ['x'], ['y'], float_attr('steep', 0.75)), @io) . $leaky
     . $through, @x);
refused('a function without its output', qr/E0803.*its function gives no `b`/,
        model(of_own('H', ['x'], ['y']), @io)
        . function('H', [inside_node('Neg', ['a'], ['c'])]));

# --- Constants --------------------------------------------------------------

sub constant {
  my ($output, @attrs) = @_;
  return model(node('Constant', [], ['y'], @attrs), $output);
}
my $longs = output('y', 7, \'n');
my $floats = output('y', 1, \'n');
runs('an integer', qr/^7i64$/m,
     constant(output('y', 7), int_attr('value_int', 7)));
runs('integers', qr/\[7, -8\]/,
     constant($longs, ints_attr('value_ints', [7, -8])));
runs('no integers', qr/Tensor\[\(0\), int64\]/,
     constant($longs, bytes_of(1, 'value_ints') . int_of(20, 7)));
runs('a float', qr/^2\.5f$/m,
     constant(output('y', 1), float_attr('value_float', 2.5)));
runs('floats', qr/\[2\.5, 3\.0\]/,
     constant($floats, bytes_of(1, 'value_floats')
                 . bytes_of(7, pack 'f<*', 2.5, 3) . int_of(20, 6)));
refused('a graph', qr/E0804.*its value is of a kind that is none here/,
        constant($floats, graph_attr('value', node('Neg', ['x'], ['z']))));
refused('two values', qr/E0804.*must have one attribute and one output/,
        constant($longs, int_attr('value_int', 1), int_attr('value', 2)));
runs('a tensor without elements', qr/Tensor\[\(0, 3\), float32\]/,
     model(tensor('w', 1, [0, 3]), node('Identity', ['w'], ['y']),
           output('y', 1, 0, 3)));

# --- Dtypes -----------------------------------------------------------------

# A tensor of that dtype as floats.
sub as_floats {
  my ($dtype, $count, $field) = @_;
  return model(tensor('w', $dtype, [$count], $field),
               node('Cast', ['w'], ['y'], int_attr('to', 1)),
               output('y', 1, $count));
}
# Sign, exponent, mantissa: 1 10000 01, 0 01111 00, and the NaN.
runs('floats of 8 bits with 5 of the exponent', qr/\[-1\.25, 0\.5, +nan\]/,
     as_floats(20, 3, bytes_of(9, "\xC1\x3C\x80")));
# 0.5, 6, -1.5, in the low bits first.
runs('floats of 4 bits', qr/\[0\.5, 6\.0, -1\.5\]/,
     as_floats(23, 3, bytes_of(9, "\x71\x0B")));
runs('powers of two', qr/\[1\.0, 0\.25, +nan\]/,
     as_floats(24, 3, bytes_of(9, "\x7F\x7D\xFF")));
runs('unsigned integers of 2 bits', qr/\[1\.0, 3\.0, 2\.0\]/,
     as_floats(25, 3, bytes_of(9, "\x2D")));
runs('integers of 4 bits', qr/\[1\.0, -1\.0, -8\.0\]/,
     as_floats(22, 3, bytes_of(9, "\xF1\x08")));
# Numbers of the fields that are no bytes.
runs('bools as numbers', qr/\[1\.0, 0\.0\]/,
     as_floats(9, 2, bytes_of(5, "\x01\x00")));
runs('floats of 4 bits as numbers', qr/\[0\.5, 6\.0\]/,
     as_floats(23, 2, bytes_of(5, "\x71")));
runs('halves as numbers', qr/\[1\.5, -2\.0\]/,
     as_floats(10, 2, bytes_of(5, varint(0x3E00) . varint(0xC000))));
runs('unsigned integers as numbers', qr/\[5\.0, 300\.0\]/,
     as_floats(13, 2, bytes_of(11, varint(5) . varint(300))));
refused('fewer numbers than elements',
        qr/E0502.*asks for 3 numbers, there are 1/,
        as_floats(9, 3, bytes_of(5, "\x01")));

refused('a tensor of rank 9', qr/E0502.*its rank is 9, the most is 8/,
        model(tensor('w', 1, [(1) x 9], bytes_of(9, pack 'f<', 1)),
              node('Neg', ['w'], ['y']), output('y', 1)));
refused('strings as wide as the longest',
        qr/E0502.*as long as the longest, have 1073741824 bytes or more/,
        model(tensor('w', 8, [1025], bytes_of(6, 'x' x (1 << 20)),
                     map { bytes_of(6, '') } 2 .. 1025),
              node('Identity', ['w'], ['y']), output('y', 8, 1025)));
refused('a place in a file that is no number',
        qr/E0502.*its external offset is no number/,
        model(tensor('w', 1, [2], int_of(14, 1),
                     bytes_of(13, bytes_of(1, 'location')
                                  . bytes_of(2, 'rare.onnx')),
                     bytes_of(13, bytes_of(1, 'offset') . bytes_of(2, 'x'))),
              node('Add', ['x', 'w'], ['y']), @io));
refused('an input without a type', qr/E0802.*`x` has no type/,
        model(node('Neg', ['x'], ['y']), bytes_of(11, bytes_of(1, 'x')),
              output('y', 1, 2)));

# Rounded to a dtype that the language lacks, and back.  0.3 lies between
# 0.28125 and 0.3125, of which the latter is nearer; 240 is the greatest.
my $like = tensor('like', 18, [], bytes_of(9, "\0"));
runs('CastLike to floats of 8 bits', qr/\[0\.3125, 240\.0\]/,
     model_of(19, $like, node('CastLike', ['x', 'like'], ['z']),
              node('Cast', ['z'], ['y'], int_attr('to', 1)), @io),
     'x=[0.3, 500]');
runs('Cast to floats of 8 bits', qr/\[0\.3125, 240\.0\]/,
     model_of(19, node('Cast', ['x'], ['z'], int_attr('to', 18)),
              node('Cast', ['z'], ['y'], int_attr('to', 1)), @io),
     'x=[0.3, 500]');
runs('CastLike to floats', qr/\[-2\.0, 4\.0\]/,
     model_of(19, floats_of('f', [], [0]),
              node('CastLike', ['x', 'f'], ['y']), @io), @x);
# By 2, to 0 +-0.5 +-1 +-1.5 +-2 +-3 +-4 +-6: 1.5, and -4.5, which becomes -4.
runs('QuantizeLinear to floats of 4 bits', qr/\[1\.5, -4\.0\]/,
     model_of(23, floats_of('s', [], [2]),
              tensor('zero', 23, [], bytes_of(9, "\0")),
              node('QuantizeLinear', ['x', 's', 'zero'], ['z']),
              node('Cast', ['z'], ['y'], int_attr('to', 1)), @io),
     'x=[3, -9]');

# --- Nodes for any number of tensors ----------------------------------------

my $training = 'ai.onnx.preview.training';
my @pairs = map { input($_, 1, 1) } qw(x1 x2 g1 g2 v1 v2);
my @made = map { output($_, 1, 1) } qw(a b c d);
my @step = (floats_of('r', [], [0.5]),
            tensor('t', 7, [], bytes_of(9, pack 'q<', 1)));
# v' = 0.5 v + 2 g = 3, 8 and x' = x - 0.5 v' = -0.5, -2.
runs('Momentum of two tensors',
     qr/\[-0\.5\].*\[-2\.0\].*\[3\.0\].*\[8\.0\]/s,
     model_with($training, @step,
       node_in($training, 'Momentum', [qw(r t x1 x2 g1 g2 v1 v2)],
               [qw(a b c d)], float_attr('alpha', 0.5), float_attr('beta', 2),
               float_attr('norm_coefficient', 0),
               text_attr('mode', 'standard')),
       @pairs, @made),
     'x1=[1]', 'x2=[2]', 'g1=[1]', 'g2=[3]', 'v1=[2]', 'v2=[4]');
# h' = h + g g = 25 and x' = x - 0.5 g / 5.
runs('Adagrad of one', qr/\[0\.7\d*\].*\[25\.0\]/s,
     model_with($training, @step,
       node_in($training, 'Adagrad', [qw(r t x1 g1 v1)], [qw(a c)],
               float_attr('epsilon', 0)),
       @pairs[0, 2, 4], @made[0, 2]), 'x1=[1]', 'g1=[3]', 'v1=[16]');
refused('Momentum of a tensor and a half',
        qr/E0804.*are not 3 and 2 for each tensor/,
        model_with($training, @step,
          node_in($training, 'Momentum', [qw(r t x1 g1 v1 v2)], [qw(a c)]),
          @pairs, @made));

# --- Nodes with graphs ------------------------------------------------------

# The scores are 0 and 50, negated 0 and -50: all weight is the first value's,
# which then counts twice.
my $preview = 'ai.onnx.preview';
my @qkv = (input('q', 1, 1, 1, 1, 1), input('k', 1, 1, 1, 2, 1),
           input('v', 1, 1, 1, 2, 1), output('y', 1, 1, 1, 1, 1));
my @given = ('q=[[[[1]]]]', 'k=[[[[0], [50]]]]', 'v=[[[[3], [7]]]]');
my $scores = graph_attr('score_mod', node('Neg', ['s'], ['t']),
                        input('s', 1, 1, 1, 1, 2), output('t', 1, 1, 1, 1, 2));
my $probs = graph_attr('prob_mod', node('Add', ['p', 'p'], ['r']),
                       input('p', 1, 1, 1, 1, 2), output('r', 1, 1, 1, 1, 2));
sub flex {
  my ($inputs, @attrs) = @_;
  return model_with($preview,
    node_in($preview, 'FlexAttention', $inputs, ['y'], @attrs), @qkv);
}
runs('attention through graphs', qr/\[\[\[\[6\.0\]\]\]\]/,
     flex([qw(q k v)], float_attr('scale', 1), $scores, $probs), @given);
runs('attention without', qr/\[\[\[\[7\.0\]\]\]\]/,
     flex([qw(q k v)], float_attr('scale', 1)), @given);
refused('a graph of two values', qr/E0804.*no graph of one value to one/,
        flex([qw(q k v)], graph_attr('score_mod', input('s', 1),
                                     input('t', 1), output('s', 1))));
refused('attention without keys', qr/E0804.*three inputs and one output/,
        flex([qw(q v)]));
refused('attention without values', qr/E0804.*it has no values/,
        flex(['q', 'k', '']));

my $neg = graph_attr('then_branch', node('Neg', ['x'], ['a']),
                     output('a', 1, 2));
refused('branches of more values', qr/E0804.*has 1 outputs, not 2/,
        model(node('If', ['c'], ['y', 'z'], $neg,
                   $neg =~ s/then_branch/else_branch/r), input('c', 9), @io));
refused('branches without a condition', qr/E0804.*it has no condition/,
        model(node('If', [], ['y'], $neg, $neg =~ s/then_branch/else_branch/r),
              @io));
refused('more outputs than any', qr/E0804.*it has 2 outputs, at most 1/,
        model(node('Relu', ['x'], ['y', 'z']), @io));
refused('an attribute that is there twice', qr/E0804.*`axis` is there twice/,
        model(node('Softmax', ['x'], ['y'], int_attr('axis', 0),
                   int_attr('axis', 0)), @io));
refused('an output that nobody gives',
        qr/E0803.*the output `y` is given by no node/,
        model(node('Neg', ['x'], ['z']), @io));
refused('a graph that gives too little', qr/E0803.*its graph gives no `a`/,
        model(node('If', ['c'], ['y'],
                   graph_attr('then_branch', output('a', 1, 2)),
                   graph_attr('else_branch', output('a', 1, 2))),
              input('c', 9), @io));

# --- Optionals --------------------------------------------------------------

# A TypeProto: a tensor of float32 of rank 1.
my $type = bytes_of(1, 'type')
    . bytes_of(14, bytes_of(1, int_of(1, 1) . bytes_of(2, bytes_of(1, ''))))
    . int_of(20, 13);
runs('an optional of nothing', qr/^False$/m,
     model_of(18, node('Optional', [], ['o'], $type),
              node('OptionalHasElement', ['o'], ['y']), output('y', 9)));
runs('an element of no optional', qr/^True$/m,
     model_of(18, node('OptionalHasElement', ['x'], ['y']), input('x', 1, 2),
              output('y', 9)), @x);
runs('no element at all', qr/^False$/m,
     model_of(18, node('OptionalHasElement', [], ['y']), output('y', 9)));
refused('an optional of no type', qr/E0804.*neither input nor type/,
        model(node('Optional', [], ['o']),
              node('OptionalHasElement', ['o'], ['y']), output('y', 9)));
refused('an element of nothing', qr/E0804.*it has no input/,
        model(node('OptionalGetElement', [''], ['y']), output('y', 1, 2)));

done_testing();
