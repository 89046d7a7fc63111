package Hostile;
# Hostile programs and files, for t/hostile.t: each row has a name, what every
# command must say of it, and how it is made.  Nothing large is kept here: a
# row is a few words of Perl that repeat and pack.
#
# The verdict of a program is a class and a place:
#
#   refused  1:3 E0004   no command reads it: all end with 1
#   checked  1:3 E0101   `fmt` prints it; what checks it ends with 1
#   run      1:3 E0602   all fine until it runs: 2, or 3 for a limit (E07..)
#   idle     E0113       only `run` and `step` refuse it, with 1 and no place
#   fine                 long, or of a type that would be long to write, and
#                        harmless
#
# A place without a column is one that the bounds of the program move.
# The verdict of a file is the code with which `--params` refuses it.
use strict;
use warnings;
use Compress::Zlib ();
use Exporter 'import';
our @EXPORT = qw(%programs %files);

sub nest {
  my ($n, $open, $middle, $close) = @_;
  return $open x $n . $middle . $close x $n;
}

# The text once for each number, `<i>` being the number and `<j>` the one before.
sub each_of {
  my ($n, $text) = @_;
  return join '', map {
    my ($i, $j) = ($_, $_ - 1);
    $text =~ s/<i>/$i/gr =~ s/<j>/$j/gr;
  } 1 .. $n;
}

my $most = '9223372036854775807';
my $least = '-9223372036854775808';
my $loop = 'def @f(%n: int32) -> int32 { @f(%n + 1) } ';
my $twice = '[A](%x: A) { @f<j>(@f<j>(%x)) } ';

our %programs = (
  # Text
  'a NUL' => ['refused 1:2 E0001', "1\0;"],
  'a byte that is no UTF-8' => ['refused 1:3 E0001', "1;\xFF"],
  'a NUL in two bytes' => ['refused 1:1 E0001', "\xC0\x80"],
  'half a surrogate' => ['refused 1:1 E0001', "\xED\xA0\x80;"],
  'beyond the last code point' => ['refused 1:1 E0001', "\xF4\x90\x80\x80"],
  'text that turns direction' => ['refused 1:2 E0001', "1\xE2\x80\xAE;"],
  'a comment without an end' => ['refused 1:3 E0002', '1 /* x'],
  'comments without ends' => ['refused 1:1 E0002', '/*' x 200000],
  'a string without an end' => ['refused 1:1 E0002', '"' . 'x' x 300000],
  'an escape that is none' => ['refused 1:18 E0008', 'print_text(text="\q")'],
  'a number of a million digits' => ['refused 1:1 E0003', '9' x 1000000],
  'a number beyond int64' => ['refused 1:1 E0003', '92233720368547758080i64'],
  'an exponent beyond all' => ['refused 1:1 E0003', '1e999999999999999999999'],
  'a number beyond its dtype' => ['refused 1:1 E0003', '300i8'],
  'a name of a megabyte' => ['checked 1:1 E0101', '%' . 'x' x 1000000],
  'four megabytes of blanks' => ['fine', ' ' x 4000000 . '1'],
  'a million empty lines' => ['fine', "\n" x 1000000 . '1'],
  'a version from nowhere' => ['refused 1:1 E0005', '#[version = "9.9.9"] 1'],
  'brackets without ends' => ['refused 1:200000 E0004', '(' x 200000],
  'braces without ends' => ['refused 1:200000 E0004', '{' x 200000],
  'ends of brackets' => ['refused 1:2 E0004', '1' . ')' x 200000],
  'a hundred thousand mistakes' => ['refused 1:1 E0004', '? ' x 100000],
  'metadata without an end' => ['refused 2:13 E0007', "1\n#[metadata]{"],
  'metadata that nests' =>
      ['refused 2: E0007', "1\n#[metadata]" . '[' x 100000],
  'metadata of the wrong kind' => ['refused 2: E0007', "1\n#[metadata] 7"],

  # Nesting and length
  'types that nest' =>
      ['fine', 'fn (%x: ' . nest(20000, 'Ref[', 'int8', ']')
       . ') { 1 }'],
  'patterns that nest' =>
      ['checked 1: E0403', 'match (1) { ' . nest(50000, '(', '_', ',)')
       . ' => 1 }'],
  'types of functions that nest' =>
      ['fine', 'fn (%x: ' . 'fn () -> ' x 20000 . 'int8) { 1 }'],
  'parentheses' => ['fine', nest(50000, '(', '1', ')')],
  'a sum of terms' => ['fine', '1' . ' + 1' x 2000],
  'a tower of tuples' => ['fine', nest(20000, '(', '1', ',)')],
  'names that nobody bound' =>
      ['checked 1:1 E0101', join ' + ', map { "%u$_" } 1 .. 20000],
  'a call of ten thousand arguments' =>
      ['checked 1: E0204', $loop . '@f(' . '1, ' x 10000 . '1)'],
  'a constructor of too many fields' =>
      ['checked 1: E0402', 'type T { C(int8) } match (C(1i8)) { C('
       . '_, ' x 10000 . '_) => 1 }'],

  # Types
  'a type of itself' => ['checked 1: E0210', 'fn (%x) { %x(%x) }'],
  'pairs of pairs' =>
      ['fine', 'let %x0 = 1; ' . each_of(60, 'let %x<i> = (%x<j>, %x<j>); ')
       . '1'],
  'cells of cells' =>
      ['fine', 'let %x0 = 1; ' . each_of(3000, 'let %x<i> = ref(%x<j>); ')
       . '1'],
  'aliases of pairs' =>
      ['fine', 'type A0 = int32; ' . each_of(60, 'type A<i> = (A<j>, A<j>); ')
       . 'def @f(%x: A60) { 1 } 1'],
  'aliases in a ring' =>
      ['checked 1: E0118', 'type A = B; type B = A; 1'],
  'generic functions that double' =>
      ['fine', 'def @f0[A](%x: A) { (%x, %x) } '
       . each_of(11, 'def @f<i>' . $twice) . '@f11(1);'],
  'generic functions that only call' =>
      ['fine', 'def @f0[A](%x: A) { %x } ' . each_of(20, 'def @f<i>' . $twice)
       . '@f20(1);'],
  'a type that grows at each call' =>
      ['fine', 'def @f[A](%x: A, %n: int32) -> int32 { '
       . 'if (%n == 0) { 0 } else { @f((%x, %x), %n - 1) } } @f(1, 40)'],
  'a type that grows without an end' =>
      ['run 1: E070[13]', 'def @f[A](%x: A) -> int32 { @f((%x,)) } @f(1)'],
  'ten thousand generic functions' =>
      ['fine', each_of(10000, 'def @g<i>[A](%x: A) -> A { %x } ') . '1'],

  # Matches
  'a match that blows up' =>
      ['fine', 'type T { A, B, C } def @f(' . join(', ', map { "%x$_: T" }
       1 .. 14) . ') { match ((' . join(', ', map { "%x$_" } 1 .. 14) . ')) { '
       . join(', ', map {
           my $k = $_;
           '(' . join(', ', map { $_ == $k ? 'A' : $_ == $k % 14 + 1 ? 'B'
                                  : '_' } 1 .. 14) . ") => $k"
         } 1 .. 14) . ', _ => 0 } } 1'],
  'alternatives that multiply' =>
      ['checked 1: E0407', 'type T { A, B } def @f(%x: ('
       . join(', ', ('T') x 20) . ')) { match (%x) { ('
       . join(', ', ('A | B') x 20) . ') => 1 } } 1'],
  'what is missing of many' =>
      ['checked 1: E0401', 'type T { ' . each_of(5000, 'C<i>, ') . '} '
       . 'def @f(%x: T) { match (%x) { C1 => 1 } } 1'],
  'arms that repeat' =>
      ['fine', 'def @f(%x: int32) { match (%x) { ' . '1 => 1, ' x 5000
       . '_ => 0 } } 1'],

  # Dimensions
  map({ my ($what, $verdict, $dim) = @$_;
        ($what => [$verdict, "def \@f[n: Dim, m: Dim](%y: Tensor[(n, m), int8], "
                   . "%x: Tensor[($dim), int8]) { 1 } 1"]) }
      ['a dimension of many terms', 'fine', 'n' . ' + n' x 30000],
      ['a product of many', 'checked 1:62 E0115', 'n' . ' * n' x 30000],
      ['a power of a sum', 'checked 1:62 E0115', join ' * ', ('(n + m)') x 40],
      ['quotients that nest', 'checked 1: E0115', nest(200, '1 / (n + ', 'm', ')')],
      ['a dimension beyond int64', 'refused 1: E0003', "n + ${most}0"],
      ['a sum beyond int64', 'checked 1: E0115', "$most + $most"],
      ['a product beyond int64', 'checked 1: E0115', "$most * $most"],
      ['a dimension divided by zero', 'checked 1: E0115', '1 / 0'],
      ['more dimensions than any', 'checked 1: E0115', 'n, ' x 300 . 'n']),

  # Sizes
  map({ my ($what, $verdict, $text) = @$_; ($what => [$verdict, $text]) }
      ['a shape whose product overflows', 'checked 1:1 E0214',
       "ones(shape=[$most, $most])"],
      ['a negative shape', 'checked 1:12 E0303', 'ones(shape=[-5])'],
      ['a terabyte', 'run 1:1 E0701', 'ones(shape=[1099511627776])'],
      ['many terabytes', 'run 1:1 E0701',
       'ones(shape=[1099511627776, 1048576])'],
      ['a sum of views', 'run 1: E0701',
       'broadcast_to([1f], shape=[1000000000000]) + 1f'],
      ['a count that is too long', 'run 1: E0701',
       'arange(0i64, 1000000000000i64, 1i64)'],
      ['a row that is repeated', 'checked 1:1 E0214', "repeat([1, 2], repeats=$most)"],
      ['tiles', 'checked 1:1 E0214', "tile([1, 2], reps=[$most])"],
      ['a padding', 'checked 1:24 E0303', "nn.pad([1f], pad_width=[[$most, $most]])"],
      ['one hot', 'checked 1:1 E0214',
       "one_hot([1], 1f, 0f, depth=4611686018427387904)"],
      ['space to batch', 'checked 1:60 E0303',
       "nn.space_to_batch_nd([[1f, 2f]], block_shape=[2], "
       . "paddings=[[$most, 3]])"],
      ['batch to space', 'checked 1:59 E0303',
       'nn.batch_to_space_nd([[1f], [2f]], block_shape=[2], '
       . 'crops=[[9223372036854775806, 2147483648]])'],
      ['a sparse shape', 'run 1:1 E0603',
       'sparse_reshape([[1, 2]], [4294967296, 3], [3, -1])'],
      ['a rank below zero', 'checked 1:66 E0303', 'def @f(%x: Tensor[(?, 2), int32]) { '
       . 'gather_nd(%x, %x, index_rank=-100) } 1'],
      ['a dilation', 'checked 1:66 E0303',
       'nn.conv1d(ones(shape=[1, 1, 5]), ones(shape=[1, 1, 3]), '
       . 'dilation=[4611686018427387904])'],
      ['a stride of nothing', 'checked 1:54 E0303',
       'strided_slice([1, 2, 3], begin=[0], end=[3], strides=[0])'],
      ['an axis far away', 'checked 1: E0302', "sum([1f], axis=[$most])"],
      ['an axis far below', 'checked 1:16 E0111', "sum([1f], axis=[$least])"],
      ['an index far away', 'run 1:1 E0604', 'gather_nd([1, 2], [[2147483647]])'],
      ['a division by zero', 'run 1:1 E0602', '1 / 0'],
      ['the least divided by -1', 'fine', '-2147483648 / -1'],
      ['an equation of letters', 'checked 1:26 E0303',
       'einsum(([1f],), equation="' . 'i' x 100000 . '->i")'],
      ['an equation of nothing', 'checked 1:26 E0303', 'einsum(([1f],), equation="->->")'],
      ['a list attribute without end', 'checked 1:1 E0208',
       'ones(shape=[' . '1, ' x 100000 . '1])']),

  # Running
  'a loop' => ['run 1: E0703', $loop . '@f(0)'],
  'output without an end' => ['run 1: E0703', 'def @f(%n: int32) -> int32 { '
      . 'print(%n); @f(%n + 1) } @f(0)'],
  'calls without an end' =>
      ['run 1: E0702', 'def @f(%n: int32) -> int32 { 1 + @f(%n + 1) } @f(0)'],
  'calls of generic functions without an end' =>
      ['run 1: E0702', 'def @f[A](%x: A, %n: int32) -> int32 { '
       . '1 + @f(%x, %n + 1) } @f((1, 2), 0)'],
  'a list without an end' =>
      ['run 1: E0701', 'def @f(%l: List[Tensor[(1000), float32]]) -> int32 { '
       . '@f(Cons(ones(shape=[1000], dtype="float32"), %l)) } @f(Nil)'],
  'a tensor that doubles' =>
      ['run 1: E0701', 'def @f(%x: Tensor[(?), float32]) -> int32 { '
       . '@f(concatenate((%x, %x))) } @f([1f])'],
  'a pair that doubles' =>
      ['fine', 'type T { L, N(T, T) } def @f(%t: T, %n: int32) -> T { '
       . 'if (%n == 0) { %t } else { @f(N(%t, %t), %n - 1) } } @f(L, 60)'],
  'rings of cells' =>
      ['fine', 'type R { O, C(ref(R), Tensor[(100000), float32]) } '
       . 'def @f(%n: int32) -> int32 { if (%n == 0) { 0 } else { '
       . 'let %c = ref(O); ref_write(%c, C(%c, ones(shape=[100000], '
       . 'dtype="float32"))); @f(%n - 1) } } @f(2000)'],
  'closures that hold closures' =>
      ['run 1: E0702', 'def @f(%g: fn () -> int32, %n: int32) -> int32 { '
       . 'if (%n == 0) { %g() } else { @f(fn () { %g() + 1 }, %n - 1) } } '
       . '@f(fn () { 0 }, 1000000)'],
  'a large product' => ['run 1: E0703',
      'let @a = ones(shape=[4000, 4000], dtype="float32"); '
      . 'def @f(%x: Tensor[(4000, 4000), float32]) -> int32 { '
      . '@f(nn.dense(%x, @a) * 0.0001f) } @f(@a)'],
  'a message of its own' =>
      ['run 1:1 E0606', 'fail(message="error[E0701]: out of memory") + 1'],
  'a param without a value' => ['idle E0503', 'param @w: int32; @w'],
  'a default without an end' =>
      ['run 1:30 E0703', $loop . 'param @w: int32 = @f(0); @w'],
  'twenty thousand items' => ['fine', '1; ' x 20000],
  'nothing' => ['idle E0113', ''],
  'a comment' => ['idle E0113', '// nothing'],

  # Imports
  'an import of what is not there' => ['checked 1:1 E0112', 'import "x.rly"; 1'],
  'an import of itself' => ['checked 1: E0112', 'import "hostile.rly"; 1'],
  'an import from outside' => ['checked 1:1 E0112', 'import "/etc/passwd"; 1'],
  'an import from above' => ['checked 1:1 E0112', 'import "../../x"; 1'],
  'an import without an end' => ['checked 1:1 E0112', 'import "/dev/zero"; 1'],
  'an import of a folder' => ['checked 1: E0', 'import "."; 1'],
);

# --- Files --------------------------------------------------------------------

sub safetensors {
  my ($header, $data) = @_;
  return pack('Q<', length $header) . $header . ($data // '');
}
sub tensor {
  my ($dtype, $shape, $from, $to) = @_;
  return qq({"w":{"dtype":"$dtype","shape":[$shape],)
      . qq("data_offsets":[$from,$to]}});
}
sub npy {
  my ($header, $data) = @_;
  return "\x93NUMPY\x01\x00" . pack('v', length $header) . $header
      . ($data // '');
}
sub array {
  my ($dtype, $shape) = @_;
  return "{'descr': '$dtype', 'fortran_order': False, 'shape': ($shape), }\n";
}
# A zip archive of one entry; `size` is what it says of its length.
sub zip {
  my ($name, $text, %as) = @_;
  my $method = $as{method} // 0;
  my $packed = $as{packed} // $text;
  my $size = $as{size} // length $text;
  my $crc = Compress::Zlib::crc32($text);
  my $fields = pack 'v5V3v2', 20, $as{flags} // 0, $method, 0, 0, $crc,
      $as{stored} // length $packed, $size, length $name, 0;
  my $local = "PK\3\4" . substr($fields, 0, 26) . $name . $packed;
  my $entry = "PK\1\2" . pack('v', 20) . $fields
      . pack('vvvVV', 0, 0, 0, 0, $as{at} // 0) . $name;
  return $local . $entry . "PK\5\6"
      . pack 'vvvvVVv', 0, 0, $as{count} // 1, $as{count} // 1, length $entry,
      $as{directory} // length $local, 0;
}
sub deflated {
  my ($deflate) = Compress::Zlib::deflateInit(-WindowBits => -15, -Level => 9);
  my $block = "\0" x 1048576;
  my $packed = $_[0];
  my $out = $deflate->deflate($packed);
  $out .= $deflate->deflate($block) for 1 .. $_[1];
  return $out . $deflate->flush;
}
# TVM's list of params.
sub params {
  my ($count, $rest) = @_;
  return pack('Q<Q<', 0xF7E58D4F << 32 | 0x05049CB7, 0) . pack('Q<', $count)
      . ($rest // '');
}
sub ndarray { return ndarray_of(2, @_) }
sub ndarray_of {
  my ($code, $ndim, @shape) = @_;
  return params(1, pack('Q<', 1) . 'w' . pack('Q<', 1)
      . pack('Q<Q<', 0xDD5E40F0 << 32 | 0x96B4A13F, 0)
      . pack('l<l<l<CCv', 1, 0, $ndim, $code, 32, 1)
      . pack('q<*', @shape, 4) . pack('f<', 1));
}
sub gguf {
  my ($tensors, $pairs, $rest) = @_;
  return 'GGUF' . pack('VQ<Q<', 3, $tensors, $pairs) . ($rest // '');
}
sub text { return pack('Q<', length $_[0]) . $_[0] }

my $good = array('<f4', '2,');
our %files = (
  'safetensors: nothing' => ['E0502', 'a.safetensors', ''],
  'safetensors: a length beyond the file' =>
      ['E0502', 'a.safetensors', pack('Q<', 1000) . '{}'],
  'safetensors: a length beyond all' =>
      ['E0502', 'a.safetensors', "\xFF" x 8 . '{}'],
  'safetensors: no JSON' => ['E0502', 'a.safetensors', safetensors('{"w":')],
  'safetensors: a list' => ['E0502', 'a.safetensors', safetensors('[]')],
  'safetensors: that nests' =>
      ['E0502', 'a.safetensors', safetensors('[' x 100000)],
  'safetensors: objects that nest' =>
      ['E0502', 'a.safetensors', safetensors('{"a":' x 100000)],
  'safetensors: a header of 17 million bytes' => ['E0502', 'a.safetensors',
      safetensors('{' . ' ' x 17_000_000 . '}')],
  'safetensors: a name twice' => ['E0502', 'a.safetensors',
      safetensors('{"w":1,"w":2}')],
  'safetensors: a dtype of nobody' =>
      ['E0504', 'a.safetensors', safetensors(tensor('F7', 2, 0, 8), 'x' x 8)],
  'safetensors: a shape that overflows' => ['E0502', 'a.safetensors',
      safetensors(tensor('F32', "4294967296,4294967296", 0, 8), 'x' x 8)],
  'safetensors: a negative shape' =>
      ['E0502', 'a.safetensors', safetensors(tensor('F32', -2, 0, 8), 'x' x 8)],
  'safetensors: a broken shape' =>
      ['E0502', 'a.safetensors', safetensors(tensor('F32', 2.5, 0, 8), 'x' x 8)],
  'safetensors: a rank beyond all' => ['E0504', 'a.safetensors',
      safetensors(tensor('F32', join(',', (1) x 1000), 0, 4), 'x' x 4)],
  'safetensors: data beyond the file' =>
      ['E0502', 'a.safetensors', safetensors(tensor('F32', 2, 0, 8), 'x')],
  'safetensors: data before the file' =>
      ['E0502', 'a.safetensors', safetensors(tensor('F32', 2, -8, 0), 'x' x 8)],
  'safetensors: data that ends before it begins' =>
      ['E0502', 'a.safetensors', safetensors(tensor('F32', 2, 8, 0), 'x' x 8)],
  'safetensors: fewer data than the shape' =>
      ['E0502', 'a.safetensors', safetensors(tensor('F32', 2, 0, 4), 'x' x 4)],
  'safetensors: data of others' => ['E0502', 'a.safetensors',
      safetensors(tensor('F32', 2, $most, $most), 'x' x 8)],
  'npy: nothing' => ['E0502', 'a.npy', ''],
  'npy: another magic' => ['E0502', 'a.npy', 'NUMPY' x 10],
  'npy: a version of nobody' => ['E0502', 'a.npy', "\x93NUMPY\x09\x00" . 'x' x 99],
  'npy: a header beyond the file' =>
      ['E0502', 'a.npy', "\x93NUMPY\x01\x00\xFF\xFF{}"],
  'npy: a header of four gigabytes' =>
      ['E0502', 'a.npy', "\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF{}"],
  'npy: a header that is a program' => ['E0502', 'a.npy',
      npy("__import__('os').system('touch /tmp/x')\n")],
  'npy: objects' => ['E0502', 'a.npy', npy(array('|O', '2,'), 'x' x 16)],
  'npy: a shape that overflows' => ['E0502', 'a.npy',
      npy(array('<f4', '4294967296, 4294967296'), 'x' x 16)],
  'npy: a negative shape' => ['E0502', 'a.npy', npy(array('<f4', '-2,'), 'x' x 8)],
  'npy: a rank beyond all' =>
      ['E0502', 'a.npy', npy(array('<f4', '1, ' x 1000), 'x' x 4)],
  'npy: a number beyond all' =>
      ['E0502', 'a.npy', npy(array('<f4', '9' x 1000 . ','), 'x' x 4)],
  'npy: fewer data than the shape' => ['E0502', 'a.npy', npy($good, 'x')],
  'npz: nothing' => ['E0502', 'a.npz', ''],
  'npz: no archive' => ['E0502', 'a.npz', 'x' x 1000],
  'npz: an end without a beginning' =>
      ['E0502', 'a.npz', "PK\5\6" . "\xFF" x 18],
  'npz: entries that are not there' => ['E0502', 'a.npz',
      zip('w.npy', npy($good, 'x' x 8), count => 60000)],
  'npz: a directory beyond the file' => ['E0502', 'a.npz',
      zip('w.npy', npy($good, 'x' x 8), directory => 0x7FFFFFFF)],
  'npz: an entry beyond the file' => ['E0502', 'a.npz',
      zip('w.npy', npy($good, 'x' x 8), at => 0x7FFFFFFF)],
  'npz: a size of four gigabytes' => ['E0502', 'a.npz',
      zip('w.npy', npy($good, 'x' x 8), size => 0xFFFFFFF0)],
  'npz: an entry under lock' => ['E0502', 'a.npz',
      zip('w.npy', npy($good, 'x' x 8), flags => 1)],
  'npz: a method of nobody' => ['E0502', 'a.npz',
      zip('w.npy', npy($good, 'x' x 8), method => 99)],
  'npz: what cannot be inflated' => ['E0502', 'a.npz',
      zip('w.npy', npy($good, 'x' x 8), method => 8, packed => "\xFF" x 50)],
  'npz: a gigabyte of zeros' => ['E0', 'a.npz',
      zip('w.npy', '', method => 8, size => 1 << 30,
          packed => deflated(npy(array('<f4', '268435424,')), 1024))],
  'npz: an entry longer than it claims' => ['E0502', 'a.npz',
      zip('w.npy', npy($good, 'x' x 8) . 'y')],
  'npz: an entry that is no array' => ['E0502', 'a.npz', zip('w.npy', 'x' x 100)],
  'npz: objects' => ['E0504', 'a.npz',
      zip('w.npy', npy(array('|O', '2,'), 'x' x 16))],
  'npz: fields without an end' => ['E0502', 'a.npz',
      zip('w.npy', npy(array('<f4', '2,') =~ s/'<f4'/'[' x 10000/er))],
  'npz: fields that nest' => ['E0504', 'a.npz', zip('w.npy',
      npy(array('<f4', '2,') =~ s/'<f4'/'[' x 10000 . ']' x 10000/er))],
  'npz: a rank beyond all' => ['E0504', 'a.npz',
      zip('w.npy', npy(array('<f4', '1, ' x 1000), 'x' x 4))],
  'npz: objects of a shape that overflows' => ['E0502', 'a.npz',
      zip('w.npy', npy(array('|O', '0, 4294967296, 4294967296')))],
  'params: nothing' => ['E0502', 'a.params', ''],
  'params: another magic' => ['E0502', 'a.params', 'x' x 100],
  'params: a count beyond all' => ['E0502', 'a.params', params(1 << 60)],
  'params: a name beyond the file' =>
      ['E0502', 'a.params', params(1, pack('Q<', 1 << 60) . 'w')],
  'params: a rank beyond all' => ['E0502', 'a.params', ndarray(1 << 30)],
  'params: a negative rank' => ['E0502', 'a.params', ndarray(-1)],
  'params: a shape that overflows' =>
      ['E0502', 'a.params', ndarray(2, 1 << 40, 1 << 40)],
  'params: a negative shape' => ['E0502', 'a.params', ndarray(1, -4)],
  'params: a type of nobody' => ['E0504', 'a.params', ndarray_of(99, 1, 1)],
  'params: a type of nobody, of a shape that overflows' =>
      ['E0502', 'a.params', ndarray_of(99, 3, 0, 1 << 40, 1 << 40)],
  'params: a rank of a million' =>
      ['E0504', 'a.params', ndarray(1000000, (1) x 1000000)],
  'gguf: nothing' => ['E0502', 'a.gguf', ''],
  'gguf: another magic' => ['E0502', 'a.gguf', 'FUGG' x 10],
  'gguf: a version of nobody' => ['E0502', 'a.gguf', 'GGUF' . "\xFF" x 20],
  'gguf: tensors beyond all' => ['E0502', 'a.gguf', gguf(1 << 60, 0)],
  'gguf: pairs beyond all' => ['E0502', 'a.gguf', gguf(0, 1 << 60)],
  'gguf: a name beyond the file' =>
      ['E0502', 'a.gguf', gguf(1, 0, pack('Q<', 1 << 60) . 'w')],
  'gguf: a rank beyond all' =>
      ['E0502', 'a.gguf', gguf(1, 0, text('w') . pack('V', 1 << 30))],
  'gguf: a shape that overflows' => ['E0502', 'a.gguf', gguf(1, 0, text('w')
      . pack('VQ<Q<VQ<', 2, 1 << 40, 1 << 40, 0, 0) . 'x' x 64)],
  'gguf: a type of nobody' => ['E0504', 'a.gguf',
      gguf(1, 0, text('w') . pack('VQ<VQ<', 1, 2, 99, 0) . 'x' x 64)],
  'gguf: blocks beyond the file' => ['E0502', 'a.gguf',
      gguf(1, 0, text('w') . pack('VQ<VQ<', 1, 1 << 40, 2, 0) . 'x' x 64)],
  'gguf: a type of nobody, of a shape that overflows' => ['E0502', 'a.gguf',
      gguf(1, 0, text('w') . pack('VQ<Q<Q<VQ<', 3, 0, 1 << 40, 1 << 40, 99, 0)
      . 'x' x 64)],
  'gguf: a rank of a million' => ['E0504', 'a.gguf', gguf(1, 0, text('w')
      . pack('V', 1000000) . pack('Q<', 1) x 1000000 . pack('VQ<', 0, 0)
      . 'x' x 64)],
  'gguf: lists that nest' => ['E0502', 'a.gguf',
      gguf(0, 1, text('k') . pack('V', 9) . pack('VQ<', 9, 1) x 10000)],
  'gguf: a list beyond all' => ['E0502', 'a.gguf',
      gguf(0, 1, text('k') . pack('VVQ<', 9, 0, 1 << 60))],
  'gguf: an alignment of nothing' => ['E0502', 'a.gguf',
      gguf(0, 1, text('general.alignment') . pack('VV', 4, 0))],
  'index: no JSON' => ['E0502', 'a.index.json', '{'],
  'index: that nests' => ['E0502', 'a.index.json', '[' x 100000],
  'index: of 17 million bytes' =>
      ['E0502', 'a.index.json', '{' . ' ' x 17_000_000 . '}'],
  'index: without a map' => ['E0502', 'a.index.json', '{}'],
  'index: shards from outside' => ['E0502', 'a.index.json',
      '{"weight_map":{"w":"../../etc/passwd"}}'],
  'index: shards from anywhere' => ['E0502', 'a.index.json',
      '{"weight_map":{"w":"/etc/passwd"}}'],
  'index: shards that are not there' => ['E0501', 'a.index.json',
      '{"weight_map":{"w":"none.safetensors"}}'],
  'index: shards that are numbers' =>
      ['E0502', 'a.index.json', '{"weight_map":{"w":7}}'],
  'a name without a format' => ['E0', 'a.bin', 'x' x 100],
);

1;
