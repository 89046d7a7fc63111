package Models;
# Hostile ONNX models, for t/hostile_models.t: each row has a name, what is said
# of the model and when, its bytes, and what it is run on (x=[1, 2], unless the
# row says otherwise; '' is nothing).  Nothing large is kept here: a row is a
# few words of Perl that repeat and pack.
#
#   check   import, check and run refuse the model: 1, or 3 for a limit (E07..)
#   run     fine until it runs: 2, or 3 for a limit
#   fine    long or odd, and harmless
#
# What is said is the first error, where M is the model, D its folder, L a place
# in the library, and three dots at the end are any rest of the line.
use strict;
use warnings;
use lib 'tests/t';
use Exporter 'import';
use Onnx;
our @EXPORT = qw(%models);

my $most = 9223372036854775807;
my $least = -$most - 1;
my $square = 'x=[[[[1, 2], [3, 4]]]]';
my @io = (input('x', 1, 2), output('y', 1, \'n'));
my $relu = node('Relu', ['x'], ['y']);

sub longs {
  my ($name, $numbers) = @_;
  return tensor($name, 7, [scalar @$numbers],
                bytes_of(9, pack 'q<*', @$numbers));
}
# Tensors s0, s1, ... of rank 0.
sub scalars {
  my $i = 0;
  return map { tensor('s' . $i++, 7, [], bytes_of(9, pack 'q<', $_)) } @_;
}

# x and a tensor `w` with these bytes.
sub raw {
  my ($dtype, $shape, $bytes) = @_;
  return tensor('w', $dtype, $shape, bytes_of(9, $bytes))
      . node('Add', ['x', 'w'], ['y']);
}
sub sparse {
  return model(bytes_of(15, int_of(3, $_[0])), node('Add', ['x', 'w'], ['y']),
               @io);
}
# A tensor whose data lies in a file, as these pairs say.
sub outside {
  my @pairs = map { bytes_of(13, bytes_of(1, $_->[0]) . bytes_of(2, $_->[1])) }
      @_;
  return model(tensor('w', 1, [2], int_of(14, 1), @pairs),
               node('Add', ['x', 'w'], ['y']), @io);
}

# One node of x.
sub one {
  my ($op, @attrs) = @_;
  return model(node($op, ['x'], ['y'], @attrs), @io);
}
# One node of x, which has that shape, and of lists of integers.
sub with {
  my ($op, $shape, $lists) = @_;
  my @names = map { "l$_" } 0 .. $#$lists;
  return model((map { longs($names[$_], $lists->[$_]) } 0 .. $#$lists),
               node($op, ['x', @names], ['y']), input('x', 1, @$shape),
               output('y', 1, map { \"d$_" } @$shape));
}
# One node of an image, and of a kernel where it takes one.
sub image {
  my ($op, @attrs) = @_;
  return model(floats_of('k', [1, 1, 1, 1], [1]),
               node($op, ['x', $op =~ /Conv/ ? 'k' : ()], ['y'], @attrs),
               input('x', 1, 1, 1, 2, 2), output('y', 1, 1, 1, \'h', \'w'));
}

# Graphs in attributes of nodes of graphs.
sub nested {
  my $graph = '';
  $graph = bytes_of(1, bytes_of(5, bytes_of(6, $graph))) for 1 .. $_[0];
  return int_of(1, 8) . bytes_of(7, $graph) . bytes_of(8, int_of(2, 17));
}
sub sequences {
  my $type = bytes_of(1, int_of(1, 1));
  $type = bytes_of(4, bytes_of(1, $type)) for 1 .. $_[0];
  return model($relu, bytes_of(11, bytes_of(1, 'x') . bytes_of(2, $type)),
               $io[1]);
}
sub ifs {
  my $graph = node('Relu', ['x'], ['b0']) . output('b0', 1, 2);
  for my $i (1 .. $_[0]) {
    my $else = node('Neg', ['x'], ["e$i"]) . output("e$i", 1, 2);
    $graph = node('If', ['c'], ["b$i"], graph_attr('then_branch', $graph),
                  graph_attr('else_branch', $else)) . output("b$i", 1, 2);
  }
  return model($graph, input('c', 9), input('x', 1, 2));
}
sub loop {
  my @body = (node('Neg', ['a'], ['b']), node('Identity', ['c'], ['d']),
              input('i', 7), input('c', 9), input('a', 1, 2), output('d', 9),
              output('b', 1, 2));
  return model(scalars($_[0]), tensor('t', 9, [], bytes_of(9, "\1")),
               node('Loop', ['s0', 't', 'x'], ['y'],
                    graph_attr('body', @body)), @io);
}

our %models = (
  # Bytes
  'nothing' => [
    'check', 'error[E0502]: M is no valid ONNX file: it holds no graph',
    '', ''],
  'zeros' => [
    'check', 'error[E0502]: M is no valid ONNX file: a field has no number',
    "\0" x 1000, ''],
  'text' => [
    'check', 'error[E0502]: M is no valid ONNX file: it ends within a number',
    '1 + 1;', ''],
  'another format' => [
    'check', 'error[E0502]: M is no valid ONNX file: a field has no number',
    "PK\3\4" . "\0" x 100, ''],
  'a number without an end' => [
    'check', 'error[E0502]: M is no valid ONNX file: a number does not end',
    "\x08" . "\xFF" x 100, ''],
  'a length beyond all' => [
    'check', 'error[E0502]: M is no valid ONNX file: it ends within a field',
    "\x3A" . "\xFF" x 9 . "\1", ''],
  'a length beyond the file' => [
    'check', 'error[E0502]: M is no valid ONNX file: it ends within a field',
    "\x3A\x7F", ''],
  'a group without an end' => [
    'check', 'error[E0502]: M is no valid ONNX file: a field is of no known '
    . 'kind',
    "\x3B" x 100000, ''],
  'fields of no kind' => [
    'check', 'error[E0502]: M is no valid ONNX file: a field is of no known '
    . 'kind',
    "\x3E\x3F", ''],
  'a field number beyond all' => [
    'check', 'error[E0502]: M is no valid ONNX file: a field has no number',
    "\xF8\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\1\0", ''],
  'messages that nest' => [
    'check', 'error[E0502]: M is no valid ONNX file: its messages nest too '
    . 'deep',
    nested(3000), ''],
  'messages that nest a little' => [
    'check', 'error[E0805]: M: node `` (): operator `` is not imported',
    nested(20), ''],
  'a graph of nothing' => ['fine', '',
    model(), ''],
  'a model of nothing but a graph' => [
    'check', 'error[E0502]: M is no valid ONNX file: it holds no version',
    bytes_of(7, ''), ''],
  'a graph that is a number' => [
    'check', 'error[E0502]: M is no valid ONNX file: a field does not fit',
    int_of(7, 5) . bytes_of(8, int_of(2, 17)), ''],
  'two graphs' => ['check', 'error[E0804]: M: two inputs are named `x`',
    model($relu, @io) . model($relu, @io)],
  'a million fields of nobody' => ['fine', '',
    model($relu, @io) . int_of(99, 1) x 1000000],

  # Many
  'a million empty nodes' => [
    'check', 'error[E0805]: M: node `` (): operator `` is not imported',
    model(bytes_of(1, '') x 1000000, @io)],
  'a million inputs of the graph' => [
    'check', 'error[E0802]: M: `` has no type, or one of a kind that is '
    . 'none here',
    model($relu, bytes_of(11, '') x 1000000, @io)],
  'a million outputs of the graph' => [
    'check', 'error[E0802]: M: `` has no type, or one of a kind that is '
    . 'none here',
    model($relu, @io, bytes_of(12, '') x 1000000)],
  'a million initializers' => [
    'check', 'error[E0804]: M: two initializers are named ``',
    model(bytes_of(5, '') x 1000000, $relu, @io)],
  'a million inputs of a node' => ['check', 'error[E0701]: out of memory',
    model(bytes_of(1, bytes_of(1, 'x') x 1000000 . inside_node('Max', [], ['y'])),
      @io)],
  'two hundred thousand outputs of a node' => [
    'check', 'error[E0803]: M: the output `y` is given by no node',
    model(node('Split', ['x'], [map { "y$_" } 1 .. 200000]), @io)],
  'a million attributes' => [
    'check', 'error[E0804]: M: node `n_y` (Relu): its attribute `` is there '
    . 'twice',
    model(bytes_of(1, inside_node('Relu', ['x'], ['y'])
      . bytes_of(5, '') x 1000000), @io)],
  'three hundred thousand attributes of many names' => [
    'check', 'error[E0804]: M: node `n_y` (Relu): its attribute `a0` is not '
    . 'known here',
    model(bytes_of(1, inside_node('Relu', ['x'], ['y']) . join '',
      map { bytes_of(5, bytes_of(1, "a$_")) } 0 .. 299999), @io)],
  'a million operator sets' => ['fine', '',
    model($relu, @io) . bytes_of(8, int_of(2, 17)) x 1000000],
  'a million functions' => ['fine', '',
    model($relu, @io) . bytes_of(25, '') x 1000000],
  'thirty thousand values alike' => ['fine', '',
    model((map { tensor('/' x ($_ % 300) . "w" . '-' x ($_ / 300), 1, [1],
      bytes_of(9, 'abcd')) } 1 .. 30000), $relu, @io)],
  'one name a hundred thousand times' => [
    'check', 'error[E0804]: M: two initializers are named `w`',
    model(tensor('w', 1, [1], bytes_of(9, 'abcd')) x 100000, $relu, @io)],
  'a chain of nodes' => ['fine', '',
    model((map { node('Relu', [$_ ? "v$_" : 'x'], ['v' . ($_ + 1)]) } 0 ..
      29999), node('Relu', ['v30000'], ['y']), @io)],

  # Names
  'a name of megabytes' => [
    'check', 'error[E0803]: M: node `n_y` (Relu): its input '
    . '`xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...',
    model(node('Relu', ['x' x 3000000], ['y']), @io)],
  'names of megabytes' => ['fine', '',
    model(tensor('w' x 3000000, 1, [2], bytes_of(9, 'abcdefgh')), node('Add',
      ['x', 'w' x 3000000], ['y']), @io)],
  'an operator of a megabyte' => [
    'check', 'error[E0805]: M: node `n_y` '
    . '(RRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRR'
    . 'RRRRRRRRRR...',
    one('R' x 1000000)],
  'an operator of lines' => [
    'check', 'error[E0805]: M: node `n_y` (Relu\n\nfail(message="x")\n): '
    . 'operator `Relu\n\nfail(message="x")\n` is not imported',
    one("Relu\n\nfail(message=\"x\")\n")],
  'names of lines' => ['fine', '',
    model(node('Relu', ["x\n1;\n"], ["y */ 1;\n//"]), input("x\n1;\n", 1, 2),
      output("y */ 1;\n//", 1, 2)), 'x_1_=[1, 2]'],
  'a dimension that is a program' => ['fine', '',
    model($relu, input('x', 1, \"n]) { 1 } fail(message=\"\");"), output('y', 1,
      \"n]"))],
  'names of no UTF-8' => ['fine', '',
    model(node('Relu', ["\xFF\xFE"], ["\xC0\x80"]), input("\xFF\xFE", 1, 2),
      output("\xC0\x80", 1, 2)), 'v=[1, 2]'],
  'names with NULs' => ['fine', '',
    model(node('Relu', ["x\0a"], ["y\0b"]), input("x\0c", 1, 2), output("y\0d",
      1, 2))],
  'no names' => [
    'check', 'error[E0804]: M: node `n_` (Relu): its input `X` is missing',
    model(node('Relu', [''], ['']), input('', 1, 2), output('', 1, 2)), ''],
  'a producer of lines' => ['fine', '',
    bytes_of(2, "a\n1 + true;\n") . bytes_of(3, "\n fail()\n") . model($relu,
      @io)],

  # Types
  'a dtype beyond all' => [
    'check', "error[E0802]: M: `x`: there is no dtype here for ONNX's "
    . 'unknown one',
    model($relu, input('x', $most, 2), $io[1])],
  'a dtype below all' => [
    'check', "error[E0802]: M: `x`: there is no dtype here for ONNX's "
    . 'unknown one',
    model($relu, input('x', -1, 2), $io[1])],
  'an input without a type' => [
    'check', 'error[E0802]: M: `x` has no type, or one of a kind that is '
    . 'none here',
    model($relu, bytes_of(11, bytes_of(1, 'x')), $io[1]), ''],
  'a dimension beyond all' => [
    'check', 'M:5:12: error[E0214]: `nn.relu`: a result of shape '
    . '(9223372036854775807, 9223372036854775807) is too large',
    model($relu, input('x', 1, $most, $most), $io[1])],
  'a dimension below all' => [
    'check', 'error[E0802]: M: `x`: dimension 0 is negative, '
    . '-9223372036854775808',
    model($relu, input('x', 1, $least), $io[1])],
  'a rank beyond all' => [
    'check', 'error[E0802]: M: `x`: its rank is 100000, the most is 8',
    model($relu, input('x', 1, (1) x 100000), $io[1])],
  'sequences of sequences' => [
    'check', 'M:5:20: error[E0212]: `nn.relu`: `data` must be a tensor, not '
    . 'a function, data value or cell',
    sequences(40), ''],

  # Tensors
  'a shape that overflows' => [
    'check', 'error[E0502]: M: tensor `w`: its shape has a negative '
    . 'dimension, or is too large',
    model(raw(1, [1 << 40, 1 << 40], 'abcd'), @io)],
  'a shape beyond all' => [
    'check', 'error[E0502]: M: tensor `w`: its shape has a negative '
    . 'dimension, or is too large',
    model(raw(1, [$most], 'abcd'), @io)],
  'a shape below all' => [
    'check', 'error[E0502]: M: tensor `w`: its shape has a negative '
    . 'dimension, or is too large',
    model(raw(1, [$least], 'abcd'), @io)],
  'nothing times everything' => [
    'check', 'error[E0502]: M: tensor `w`: its shape has a negative '
    . 'dimension, or is too large',
    model(raw(1, [0, $most], ''), @io)],
  'a rank of a tensor beyond all' => [
    'check', 'error[E0502]: M: tensor `w`: its rank is 100000, the most is 8',
    model(raw(1, [(1) x 100000], 'abcd'), @io)],
  'fewer bytes than the shape' => [
    'check', 'error[E0502]: M: tensor `w`: its shape asks for 8 bytes, '
    . 'there are 3',
    model(raw(1, [2], 'abc'), @io)],
  'more bytes than the shape' => [
    'check', 'error[E0502]: M: tensor `w`: its shape asks for 8 bytes, '
    . 'there are 3000',
    model(raw(1, [2], 'abc' x 1000), @io)],
  'a dtype of nobody' => [
    'check', 'error[E0502]: M: tensor `w`: 12345 is no dtype',
    model(raw(12345, [2], 'abcdefgh'), @io)],
  'a negative dtype' => ['check', 'error[E0502]: M: tensor `w`: -5 is no dtype',
    model(raw(-5, [2], 'abcdefgh'), @io)],
  'fewer halves of bytes' => [
    'check', 'error[E0502]: M: tensor `w`: its shape asks for 2 bytes, '
    . 'there are 1',
    model(raw(22, [3], 'a'), @io)],
  'quarters of bytes beyond all' => [
    'check', 'error[E0502]: M: tensor `w`: its shape asks for more elements '
    . 'than there are',
    model(raw(26, [$most], 'a'), @io)],
  'numbers of another dtype' => [
    'check', 'error[E0502]: M: tensor `w`: its shape asks for 2 numbers, '
    . 'there are 0',
    model(tensor('w', 11, [2], bytes_of(4, 'abcdefgh')), node('Add', ['x', 'w'],
      ['y']), @io)],
  'both kinds of data' => [
    'check', 'error[E0502]: M: tensor `w`: its shape asks for 8 bytes, '
    . 'there are 4',
    model(tensor('w', 1, [2], bytes_of(4, 'abcdefgh'), bytes_of(9, 'abcd')),
      node('Add', ['x', 'w'], ['y']), @io)],
  'no data' => [
    'check', 'error[E0502]: M: tensor `w`: its shape asks for 2 numbers, '
    . 'there are 0',
    model(tensor('w', 1, [2]), node('Add', ['x', 'w'], ['y']), @io)],
  'strings as long as the longest' => [
    'check', 'error[E0502]: M: tensor `w`: its strings, each as long as the '
    . 'longest, have 1073741824 bytes or more',
    model(tensor('w', 8, [100001], bytes_of(6, 'x' x 20000), bytes_of(6, '') x
      100000), node('Add', ['x', 'w'], ['y']), @io)],
  'strings for a gigabyte' => ['check', 'error[E0701]: out of memory',
    model(tensor('w', 8, [50001], bytes_of(6, 'x' x 20000), bytes_of(6, '') x
      50000), node('Add', ['x', 'w'], ['y']), @io)],
  'strings for another shape' => [
    'check', 'error[E0502]: M: tensor `w`: its shape does not ask for the '
    . '100 strings that there are',
    model(tensor('w', 8, [7], bytes_of(6, '') x 100), node('Add', ['x', 'w'],
      ['y']), @io)],
  'a sparse index beyond all' => [
    'check', 'error[E0802]: M: tensor ``: sparse initializers are not imported',
    sparse(2)],
  'a sparse shape of a terabyte' => [
    'check', 'error[E0802]: M: tensor ``: sparse initializers are not imported',
    sparse(1 << 40)],

  # Files beside the model
  'data from anywhere' => [
    'check', 'error[E0502]: M: tensor `w`: its external data lies outside '
    . "the model's folder",
    outside(['location', '/etc/passwd'])],
  'data from above' => [
    'check', 'error[E0502]: M: tensor `w`: its external data lies outside '
    . "the model's folder",
    outside(['location', '../../etc/passwd'])],
  'data from a device' => [
    'check', 'error[E0502]: M: tensor `w`: its external data lies outside '
    . "the model's folder",
    outside(['location', '/dev/zero'])],
  'data from a folder' => [
    'check', 'error[E0501]: cannot read D/.: not a regular file',
    outside(['location', '.'])],
  'data from nowhere' => [
    'check', 'error[E0502]: M: tensor `w`: its external data has no location',
    outside()],
  'data that is not there' => [
    'check', 'error[E0501]: cannot read D/none.bin: No such file or '
    . 'directory',
    outside(['location', 'none.bin'])],
  'data of no name' => [
    'check', 'error[E0502]: M: tensor `w`: its external data lies outside '
    . "the model's folder",
    outside(['location', ''])],
  'an offset beyond all' => [
    'check', 'error[E0502]: M: tensor `w`: its external data ends beyond '
    . "the file's end",
    outside(['location', 'hostile.onnx'], ['offset', $most])],
  'an offset beyond numbers' => [
    'check', 'error[E0502]: M: tensor `w`: its external data ends beyond '
    . "the file's end",
    outside(['location', 'hostile.onnx'], ['offset', '9' x 100])],
  'an offset below zero' => [
    'check', 'error[E0502]: M: tensor `w`: its external offset is no number',
    outside(['location', 'hostile.onnx'], ['offset', '-1'])],
  'a length beyond the end' => [
    'check', 'error[E0502]: M: tensor `w`: its external data ends beyond '
    . "the file's end",
    outside(['location', 'hostile.onnx'], ['length', $most])],
  'an offset and a length that overflow' => [
    'check', 'error[E0502]: M: tensor `w`: its external data ends beyond '
    . "the file's end",
    outside(['location', 'hostile.onnx'], ['offset', '18446744073709551615'],
      ['length', '8'])],

  # Operators
  'an opset of nobody' => [
    'check', 'error[E0805]: M: node `n_y` (Relu): operator set '
    . '9223372036854775807 is newer than 27, the last one that is '
    . 'known here',
    model_of($most, $relu, @io)],
  'an opset below zero' => [
    'check', 'error[E0805]: M: node `n_y` (Relu): version -1 of this '
    . 'operator is not imported',
    model_of(-1, $relu, @io)],
  'an opset of nothing' => [
    'check', 'error[E0804]: M: node `n_y` (Relu): the model names no '
    . 'operator set of ONNX, so the meaning of its nodes is not known',
    model_of(0, $relu, @io)],
  'a node of nothing' => [
    'check', 'error[E0805]: M: node `` (): operator `` is not imported',
    model(bytes_of(1, ''), @io)],
  'an axis beyond all' => [
    'check', 'error[E0804]: M: node `n_y` (Softmax): its attribute '
    . '`axis` is 9223372036854775807, beyond int32',
    one('Softmax', int_attr('axis', $most))],
  'an axis below all' => [
    'check', 'error[E0804]: M: node `n_y` (Softmax): its attribute '
    . '`axis` is -9223372036854775808, beyond int32',
    one('Softmax', int_attr('axis', $least))],
  'a list for a number' => [
    'check', 'error[E0804]: M: node `n_y` (Softmax): its attribute '
    . '`axis` is INTS, not INT',
    one('Softmax', ints_attr('axis', [1, 2]))],
  'a graph for a number' => [
    'check', 'error[E0804]: M: node `n_y` (Softmax): its attribute '
    . '`axis` is GRAPH, not INT',
    one('Softmax', graph_attr('axis', $relu))],
  'an attribute twice' => [
    'check', 'error[E0804]: M: node `n_y` (Softmax): its attribute `axis` is '
    . 'there twice',
    one('Softmax', int_attr('axis', 0), int_attr('axis', 1))],
  'an attribute of a type of nobody' => [
    'check', 'error[E0804]: M: node `n_y` (Softmax): its attribute '
    . '`axis` is of no known type, not INT',
    one('Softmax', bytes_of(1, 'axis') . int_of(20, 77))],
  'an attribute without a name' => [
    'check', 'error[E0804]: M: node `n_y` (Softmax): its attribute `` is '
    . 'not known here',
    one('Softmax', int_of(3, 1) . int_of(20, 2))],
  'an attribute twice for a loop' => [
    'check', 'error[E0804]: M: node `n_y` (Loop): its attribute `body` is '
    . 'there twice',
    one('Loop', (graph_attr('body', $relu)) x 2)],
  'a window of no size' => [
    'check', 'error[E0804]: M: node `n_y` (MaxPool): its attribute '
    . '`kernel_shape` is missing',
    image('MaxPool'), $square],
  'the maxima of a window of no size, and where they are' => [
    'check', 'error[E0804]: M: node `n_y` (MaxPool): its attribute '
    . '`kernel_shape` is missing',
    model(node('MaxPool', ['x'], ['y', 'z']), input('x', 1, 1, 1, 2, 2),
      output('y', 1, 1, 1, \'h', \'w'), output('z', 7, 1, 1, \'h', \'w')),
    $square],
  'a cast to nothing' => [
    'check', 'error[E0804]: M: node `n_y` (Cast): its attribute `to` is '
    . 'missing',
    one('Cast')],
  'an attribute of nobody' => [
    'check', 'error[E0804]: M: node `n_y` (Softmax): its attribute '
    . '`axis` is empty, not INT',
    one('Softmax', bytes_of(1, 'axis') . bytes_of(21, 'alpha'))],
  'a list of a hundred thousand' => [
    'run', "M:6:12: error[E0603]: `reshape`: an attribute's value is out "
    . 'of range',
    with('Reshape', [2], [[(1) x 100000]])],
  'a shape beyond int64' => [
    'check', 'M:6:12: error[E0209]: `reshape`: data (2) does not have as '
    . 'many elements as (9223372036854775807, 9223372036854775807)',
    with('Reshape', [2], [[$most, $most]])],
  'a shape of two unknowns' => [
    'check', 'M:6:12: error[E0303]: `reshape`: newshape (-1, -1) for data '
    . '(2): only one -1 is possible',
    with('Reshape', [2], [[-1, -1]])],
  'a shape below zero' => [
    'run', "M:6:12: error[E0603]: `reshape`: an attribute's value is out "
    . 'of range',
    with('Reshape', [2], [[$least]])],
  'a padding beyond all' => [
    'run', 'M:6:12: error[E0701]: out of memory: 16G more asked ...',
    with('Pad', [2], [[$most, $most]])],
  'a padding below all' => [
    'run', 'L: error[E0303]: `nn.pad`: '
    . 'pad_width removes more than axis 0 of (2) holds',
    with('Pad', [2], [[$least, $least]])],
  'tiles beyond all' => [
    'check', 'M:6:12: error[E0214]: `tile`: a result of shape (overflow) is '
    . 'too large',
    with('Tile', [2], [[$most]])],
  'tiles below zero' => [
    'check', 'M:6:12: error[E0303]: `tile`: `reps` holds a negative '
    . 'dimension, -1',
    with('Tile', [2], [[-1]])],
  'an expansion beyond all' => [
    'check', 'M:6:12: error[E0214]: `ones`: a result of shape '
    . '(9223372036854775807, 4294967296) is too large',
    with('Expand', [1], [[$most, 1 << 32]]), 'x=[1]'],
  'a terabyte' => [
    'run', 'M:6:12: error[E0701]: out of memory: 1T more asked ...',
    with('Expand', [1], [[1 << 40]]), 'x=[1]'],
  'a slice of all' => ['fine', '',
    with('Slice', [2], [[$least], [$most], [0], [1]])],
  'a slice of strides of nothing' => [
    'check', 'M:9:12: error[E0303]: `strided_slice`: a stride of 0',
    with('Slice', [2], [[0], [2], [0], [0]])],
  'a slice of strides below all' => [
    'run', "M:9:12: error[E0603]: `strided_slice`: an attribute's value "
    . 'is out of range',
    with('Slice', [2], [[$most], [$least], [0], [$least]])],
  'a slice of axes beyond all' => [
    'check', 'M:9:12: error[E0302]: `strided_slice`: axis '
    . '9223372036854775807 is out of range for rank 1',
    with('Slice', [2], [[0], [2], [$most], [1]])],
  'a gather beyond all' => [
    'run', 'M:6:12: error[E0604]: `take`: index 9223372036854775807 is '
    . 'out of range for an axis of length 2',
    with('Gather', [2], [[$most]])],
  'a gather below all' => [
    'run', 'M:6:12: error[E0604]: `gather`: index -9223372036854775806 is '
    . 'out of range for an axis of length 2',
    with('GatherElements', [2], [[$least]])],
  'a scatter beyond all' => [
    'run', 'M:7:12: error[E0604]: `scatter_elements`: index '
    . '9223372036854775807 is out of range for an axis of length 2',
    model(longs('i', [$most]), floats_of('u', [1], [1]), node('ScatterElements',
      ['x', 'i', 'u'], ['y']), @io)],
  'one hot of all' => [
    'run', 'M:8:12: error[E0701]: out of memory: 8G more asked ...',
    model(longs('i', [1]), scalars($most), floats_of('v', [2], [0, 1]),
      node('OneHot', ['i', 's0', 'v'], ['y']), output('y', 1, \'a', \'b')), ''],
  'a range of all' => [
    'run', 'M:8:12: error[E0607]: `arange`: a step of 0, or too many '
    . 'elements',
    model(scalars($least, $most, 1), node('Range', ['s0', 's1', 's2'], ['y']),
      output('y', 7, \'n')), ''],
  'a range of steps of nothing' => [
    'run', 'M:8:12: error[E0607]: `arange`: a step of 0, or too many '
    . 'elements',
    model(scalars(0, 5, 0), node('Range', ['s0', 's1', 's2'], ['y']),
      output('y', 7, \'n')), ''],
  'constants beyond all' => [
    'check', 'M:6:12: error[E0214]: `full`: a result of shape '
    . '(9223372036854775807, 9223372036854775807) is too large',
    model(longs('s', [$most, $most]), node('ConstantOfShape', ['s'], ['y']),
      output('y', 1, \'a', \'b')), ''],
  'constants of a terabyte' => [
    'run', 'M:6:12: error[E0701]: out of memory: 1T more asked ...',
    model(longs('s', [1 << 38]), node('ConstantOfShape', ['s'], ['y']),
      output('y', 1, \'a')), ''],
  'groups of nothing' => [
    'check', 'M:6:12: error[E0303]: `nn.conv2d`: `groups`: 0 is less than 1',
    image('Conv', int_attr('group', 0)), $square],
  'groups below zero' => [
    'check', 'M:6:12: error[E0303]: `nn.conv2d`: `groups`: -1 is less than 1',
    image('Conv', int_attr('group', -1)), $square],
  'groups beyond all' => [
    'check', 'error[E0804]: M: node `n_y` (Conv): its attribute `group` '
    . 'is 9223372036854775807, beyond int32',
    image('Conv', int_attr('group', $most)), $square],
  'a kernel of another shape' => [
    'run', 'M:6:12: error[E0606]: a kernel_shape that is not the shape of the '
    . 'weight',
    image('Conv', ints_attr('kernel_shape', [2, 2])), $square],
  'a kernel of another rank' => [
    'run', 'M:6:12: error[E0606]: a kernel_shape that is not the shape of the '
    . 'weight',
    image('ConvTranspose', ints_attr('kernel_shape', [1])), $square],
  'a kernel of its own shape' => ['fine', '',
    image('Conv', ints_attr('kernel_shape', [1, 1])), $square],
  'strides of nothing' => [
    'check', 'M:6:12: error[E0303]: `nn.conv2d`: `strides`: 0 is not from 1 '
    . 'to 2147483647',
    image('Conv', ints_attr('strides', [0, 0])), $square],
  'dilations beyond all' => [
    'check', 'error[E0804]: M: node `n_y` (Conv): its attribute '
    . '`dilations` is 9223372036854775807, beyond int32',
    image('Conv', ints_attr('dilations', [$most, $most])), $square],
  'paddings of a convolution beyond all' => [
    'check', 'error[E0804]: M: node `n_y` (Conv): its attribute `pads` '
    . 'is 9223372036854775807, beyond int32',
    image('Conv', ints_attr('pads', [($most) x 4])), $square],
  'paddings of a convolution below all' => [
    'check', 'error[E0804]: M: node `n_y` (Conv): its attribute `pads` '
    . 'is -9223372036854775808, beyond int32',
    image('Conv', ints_attr('pads', [($least) x 4])), $square],
  'paddings of a kind of nobody' => [
    'run', 'M:6:12: error[E0606]: an auto_pad that is not known',
    image('Conv', text_attr('auto_pad', "SAME\n")), $square],
  'a window beyond all' => [
    'check', 'error[E0804]: M: node `n_y` (MaxPool): its attribute '
    . '`kernel_shape` is 9223372036854775807, beyond int32',
    image('MaxPool', ints_attr('kernel_shape', [$most, $most])), $square],
  'a window of nothing' => [
    'check', 'M:6:12: error[E0303]: `nn.max_pool2d`: `pool_size`: 0 is not '
    . 'from 1 to 2147483647',
    image('MaxPool', ints_attr('kernel_shape', [0, 0])), $square],
  'a window of many ranks' => [
    'check', 'M:6:12: error[E0203]: operands of `multiply` do not '
    . 'broadcast: (100000) and (2)',
    image('MaxPool', ints_attr('kernel_shape', [(1) x 100000])), $square],
  'an output padding beyond all' => [
    'check', 'error[E0804]: M: node `n_y` (ConvTranspose): its '
    . 'attribute `output_padding` is 9223372036854775807, beyond int32',
    image('ConvTranspose', ints_attr('output_padding', [$most, $most])),
      $square],
  'an output beyond all' => [
    'check', 'error[E0804]: M: node `n_y` (ConvTranspose): its '
    . 'attribute `output_shape` is 9223372036854775807, beyond int32',
    image('ConvTranspose', ints_attr('output_shape', [$most, $most])), $square],
  'blocks beyond all' => [
    'check', 'error[E0804]: M: node `n_y` (DepthToSpace): its attribute '
    . '`blocksize` is 9223372036854775807, beyond int32',
    image('DepthToSpace', int_attr('blocksize', $most)), $square],
  'blocks of nothing' => [
    'check', 'M:6:12: error[E0303]: `nn.space_to_depth`: `block_size`: 0 is '
    . 'not from 1 to 32768',
    image('SpaceToDepth', int_attr('blocksize', 0)), $square],
  'scales beyond all' => [
    'run', 'M:6:12: error[E0701]: out of memory: 8G more asked ...',
    model(floats_of('s', [1], [1e30]), node('Resize', ['x', '', 's'], ['y']),
      @io)],
  'scales that are no numbers' => [
    'run', 'M:6:12: error[E0606]: a Resize by a scale that is not above 0',
    model(floats_of('s', [1], ['nan']), node('Resize', ['x', '', 's'], ['y']),
      @io)],
  'sizes beyond all' => [
    'run', 'M:6:12: error[E0701]: out of memory: 8G more asked ...',
    model(longs('s', [$most]), node('Resize', ['x', '', '', 's'], ['y']), @io)],
  'a diagonal beyond all' => ['fine', '',
    model(scalars($most), node('Trilu', ['x', 's0'], ['y']), input('x', 1, 2,
      2), output('y', 1, 2, 2)), 'x=[[1, 2], [3, 4]]'],
  'parts beyond all' => [
    'check', 'error[E0804]: M: node `n_y` (Split): its attribute '
    . '`num_outputs` is 9223372036854775807, beyond int32',
    model_of(18, node('Split', ['x'], ['y'], int_attr('num_outputs', $most)),
      @io)],
  'parts of nothing' => [
    'run', 'M:5:12: error[E0606]: a Split whose number of lengths is not '
    . 'that of its outputs',
    with('Split', [2], [[0, 0, $most]])],
  'an equation of letters' => [
    'check', 'M:5:35: error[E0303]: `einsum`: '
    . '"iiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiii'
    . 'iiiiii...',
    one('Einsum', text_attr('equation', 'i' x 1000000 . '->i'))],
  'an equation of nothing' => [
    'check', 'M:5:35: error[E0303]: `einsum`: "->->" is no equation such as '
    . '"ij,jk->ik"',
    one('Einsum', text_attr('equation', '->->'))],
  'a permutation beyond all' => [
    'check', 'error[E0804]: M: node `n_y` (Transpose): its attribute '
    . '`perm` is 9223372036854775807, beyond int32',
    one('Transpose', ints_attr('perm', [$most]))],
  'a permutation of a hundred thousand' => [
    'check', 'M:5:31: error[E0303]: `transpose`: axes (0, 1, 2, 3, 4, 5, 6, '
    . '7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1...',
    one('Transpose', ints_attr('perm', [0 .. 99999]))],
  'a hidden size beyond all' => [
    'check', 'error[E0804]: M: node `n_y` (LSTM): its attribute '
    . '`hidden_size` is 9223372036854775807, beyond int32',
    model(floats_of('w', [1, 4, 1], [1 .. 4]), floats_of('r', [1, 4, 1], [1 ..
      4]), node('LSTM', ['x', 'w', 'r'], ['y'], int_attr('hidden_size', $most)),
      input('x', 1, 1, 1, 1), output('y', 1, 1, 1, 1, 1)), 'x=[[[1]]]'],
  'a dtype to cast to of nobody' => [
    'check', 'error[E0802]: M: node `n_y` (Cast): there is no dtype here '
    . "for ONNX's unknown one",
    one('Cast', int_attr('to', $most))],
  'a tensor that doubles' => [
    'check', 'M:125:14: error[E0214]: `concatenate`: a result of shape '
    . '(2305843009213693952) is too large',
    model(node('Identity', ['x'], ['v0']), (map { node('Concat', [("v$_") x 2],
      ['v' . ($_ + 1)], int_attr('axis', 0)) } 0 .. 61), node('Relu', ['v62'],
      ['y']), @io)],

  # Control
  'ifs that nest' => ['fine', '',
    ifs(15), 'c=True', 'x=[1, 2]'],
  'ifs that nest deeper' => [
    'check', 'error[E0502]: M is no valid ONNX file: its messages nest too '
    . 'deep',
    ifs(40), 'c=True', 'x=[1, 2]'],
  'a loop of all turns' => [
    'run', 'M:10:16: error[E0703]: time limit of ...',
    loop($most)],
  'a loop of fewer than no turns' => ['fine', '',
    loop($least)],
  'a loop without a body' => [
    'check', 'error[E0804]: M: node `n_y` (Loop): it has no graph `body`',
    one('Loop')],
  'a scan of all' => [
    'check', 'error[E0804]: M: node `n_y` (Scan): its body and its inputs '
    . 'do not fit',
    one('Scan', graph_attr('body', $relu), int_attr('num_scan_inputs', $most))],
  'a scan of less than nothing' => [
    'check', 'error[E0804]: M: node `n_y` (Scan): its body and its inputs '
    . 'do not fit',
    one('Scan', graph_attr('body', $relu), int_attr('num_scan_inputs',
      $least))],
  'a body that gives nothing' => [
    'check', 'error[E0804]: M: node `n_y` (Loop): its body has 0 inputs and '
    . '0 outputs for 0 values',
    one('Loop', graph_attr('body', ''))],
);

1;
