#!/usr/bin/env perl
# Files of tensors on the command line, made and read by other programs:
# archives that Perl packs and, where it is installed, Python opens.
#
# A writer and a reader of one project agree also where both are wrong: an
# offset counted from the wrong byte, a field in the wrong order.  So no file
# that rly reads here was written by rly, and what rly writes is taken apart by
# programs that follow the format and know nothing of ours.
use strict;
use warnings;
use lib 'tests/t';
use Encode ();
use IO::Compress::Zip qw(zip $ZipError :constants);
use IO::Uncompress::Unzip qw(unzip $UnzipError);
use Onnx qw(floats_of model node);
use Rly;
use Test::More;

# The bytes of a .npy file of float32.
sub npy {
  my ($shape, @values) = @_;
  my $dict = "{'descr': '<f4', 'fortran_order': False, 'shape': ($shape), }";
  $dict .= ' ' x (-(11 + length $dict) % 64) . "\n";
  return "\x93NUMPY\1\0" . pack('v', length $dict) . $dict
         . pack('f<*', @values);
}

my $program = spew(scratch('p.rly'),
                   "param \@w: Tensor[(2), float32];\n"
                   . "def \@main(\%x: Tensor[(?), float32]) {\n"
                   . "  (\%x + \@w, \@w)\n}\n");
my $sums = "(Tensor[(2), float32] [11.0, 22.0], "
           . "Tensor[(2), float32] [1.0, 2.0])\n";
my $npy = npy('2,', 1, 2);

# --- Reading ----------------------------------------------------------------

sub binds {
  my ($path, $name) = @_;
  gives(rly($program, '--params', $path, 'x=[10, 20]'), 0, $sums, '', $name);
}

# A file that is given to one name: an array, or else its bytes.
my $words = spew(scratch('words.txt'), "a\xFF\n");
my $bytes = spew(scratch('bytes.rly'),
                 "param \@t: Tensor[(?), uint8];\n\@t;\n");
gives(rly($bytes, "t=\@$words"), 0, "Tensor[(3), uint8] [97, 255, 10]\n", '',
      'the bytes of a file');
gives(rly($bytes, 't=@' . spew(scratch('empty'), '')), 0,
      "Tensor[(0), uint8] []\n", '', 'of an empty one');
gives(rly($bytes, 't=@' . scratch('none')), 1, '', qr/E0501.*No such file/,
      'of one that is not there');
gives(rly($bytes, 't=@' . spew(scratch('array'), $npy)), 1, '',
      qr/declared as .*uint8.*\(2\), float32/s,
      'an array is known by its first bytes');

# Of musl's libraries the system may lack libzip (tests/musl/run).
my $archives = ($ENV{RLY_LACKS} // '') ne 'libzip';
for (['deflated', ZIP_CM_DEFLATE], ['stored', ZIP_CM_STORE]) {
  my ($name, $method) = @$_;
  my $path = scratch("$name.npz");
  zip \$npy => $path, Name => 'w.npy', Method => $method, Stream => 0
    or die $ZipError;
  SKIP: {
    skip 'no libzip', 2 unless $archives;
    binds($path, "an archive, $name");
    zip \$npy => $path, Name => 'w.npy', Method => $method, Stream => 1
      or die $ZipError;
    binds($path, "$name as a stream, its sizes after the data");
  }
}
binds(spew(scratch('w.npy'), $npy), 'an array, named as its file');
gives(rly($program, '--params',
          spew(scratch('big.npy'), $npy =~ s/<f4/>f4/r), 'x=[10, 20]'), 1, '',
      qr/E0502.*cannot read \S+big.npy: its descr '>f4' is no little-endian/,
      'an array of big-endian numbers');
gives(rly($program, '--params',
          spew(scratch('big.npy'), $npy =~ s/<f4/\e\n4/r), 'x=[10, 20]'), 1, '',
      qr/E0502.*its descr '\\u001b\\n4' is no little-endian/,
      'what a file calls a dtype is escaped');
SKIP: {
  skip 'no libzip', 3 unless $archives;
  gives(rly($program, '--params', scratch('deflated.npz'), '--inputs',
            spew(scratch('x.npy'), npy('2,', 10, 20))),
        0, $sums, '', 'two kinds of files at once');

  my $zeros = npy('4000000,', (0) x 4_000_000);
  my $bomb = scratch('zeros.npz');
  zip \$zeros => $bomb, Name => 'w.npy', Stream => 0 or die $ZipError;
  gives(rly($program, '--params', $bomb, 'x=[10, 20]'), 1, '',
        qr/E0504.*Tensor\[\(4000000\), float32\]/,
        'what deflates well is no bomb');
  gives(rly('--max-memory', '12M', $program, '--params', $bomb, 'x=[10, 20]'),
        1, '', qr/E0501.*out of memory/, 'but it must fit into memory');
}

# An archive when libzip cannot be loaded: the library found is a fake.
spew(scratch("libzip.so.$_"), '') for 4, 5;
{
  local $ENV{LD_LIBRARY_PATH} = scratch('');
  gives(rly($program, '--params', scratch('stored.npz'), 'x=[10, 20]'), 1, '',
        qr/E0501.*libzip.*\n.*install (?:the Debian package|libzip, built for)/,
        'without libzip');
  gives(rly($program, '--params', scratch('w.npy'), 'x=[10, 20]',
            '--outputs', scratch('no.npz')), 2, '', qr/E0507.*libzip/,
        'nor does it write one');
  ok(!-e scratch('no.npz'), 'or half of one');
}

# --- GGUF -------------------------------------------------------------------
# llama.cpp's format, put together here from ggml's description of it.

sub name { return pack 'Q</a', $_[0] }

# Rows [name, dimensions from the innermost, type, packed elements, an offset
# that is not theirs]; `change` alters one field on the way.
sub gguf {
  my ($tensors, %change) = @_;
  my @pairs = (name('general.architecture') . pack('L<', 8) . name('llama'),
               name('numbers') . pack('L<L<Q<l<*', 9, 5, 2, -1, 7),
               name('words') . pack('L<L<Q<', 9, 8, 2) . name('a') . name(''),
               name('exact') . pack('L<d<', 12, 0.5), @{$change{pairs} // []});
  my $alignment = $change{alignment} // 32;
  my ($list, $data) = ('', '');
  for (@$tensors) {
    my ($name, $dims, $type, $elements, $offset) = @$_;
    $data .= "\0" x (-length($data) % $alignment);
    $list .= name($name) . pack('L<Q<*', scalar @$dims, @$dims)
             . pack('L<Q<', $type, $offset // $change{offset} // length $data);
    $data .= $elements;
  }
  my $head = 'GGUF' . pack('L<', $change{version} // 3)
             . pack('Q<Q<', $change{tensors} // scalar @$tensors,
                    $change{count} // scalar @pairs) . join('', @pairs) . $list;
  return $head . "\0" x (-length($head) % $alignment) . $data;
}

my $named = spew(scratch('named.rly'), <<'END');
param @blk.0.w: Tensor[(2, 3), float32];
param @half: Tensor[(2), float16];
param @brain: Tensor[(), bfloat16];
param @none: Tensor[(0, 4), int32];
def @main() { (@blk.0.w, @half, @brain, @none) }
END
my $held = "(Tensor[(2, 3), float32]\n[[1.0, 2.0, 3.0],\n [4.0, 5.0, 6.0]], "
           . "Tensor[(2), float16] [0.5, -2.0], 1.5bf16, "
           . "Tensor[(0, 4), int32] [])\n";
my @rows = (['blk.0.w', [3, 2], 0, pack 'f<*', 1 .. 6],
            ['half', [2], 1, pack 'S<*', 0x3800, 0xC000],
            ['none', [4, 0], 26, ''],
            ['brain', [], 30, pack 'S<', 0x3FC0]);

sub reads_gguf {
  my ($bytes, $status, $out, $err, $name) = @_;
  my $path = spew(scratch('m.gguf'), $bytes);
  gives(rly($named, '--params', $path), $status, $out, $err, $name);
}
reads_gguf(gguf(\@rows), 0, $held, '', 'a GGUF file');
reads_gguf(gguf(\@rows, version => 2), 0, $held, '', 'version 2');
reads_gguf(gguf(\@rows, alignment => 64,
                pairs => [name('general.alignment') . pack('L<L<', 4, 64)]),
           0, $held, '', 'another alignment');
gives(rly($named, '--params', spew(scratch('unnamed'), gguf(\@rows))), 0, $held,
      '', 'told by its first bytes');

my $most = ~0;
for (['begin as one', 'GGML' . substr gguf(\@rows), 4],
     ['big-endian', gguf(\@rows, version => 3 << 24)],
     ['of version 1', gguf(\@rows, version => 1)],
     ['of version 4', gguf(\@rows, version => 4)],
     ['of version 0', gguf(\@rows, version => 0)],
     ['tensors do not fit', gguf(\@rows, tensors => $most)],
     ['pairs do not fit', gguf(\@rows, count => $most)],
     ['before its last elements', gguf(\@rows, tensors => 5)],
     ['unknown type 13', gguf(\@rows, pairs => [name('x') . pack('L<', 13)])],
     ['unknown type 9',
      gguf(\@rows, pairs => [name('x') . pack('L<L<Q<', 9, 9, 1)])],
     ['before its last value',
      gguf(\@rows, pairs => [name('x') . pack('L<L<Q<', 9, 12, $most)])],
     ['before its last value',
      gguf(\@rows, pairs => [name('x') . pack('L<L<Q<', 9, 8, $most)])],
     ['3, is no power of two',
      gguf(\@rows, pairs => [name('general.alignment') . pack('L<L<', 4, 3)])],
     ['0, is no power of two',
      gguf(\@rows, pairs => [name('general.alignment') . pack('L<L<', 4, 0)])],
     ['not of type uint32',
      gguf(\@rows,
           pairs => [name('general.alignment') . pack('L<Q<', 10, 32)])],
     ['two of its tensors are named `half`', gguf([@rows, $rows[1]])],
     ['does not follow', gguf(\@rows, offset => 32)],
     ['before its last elements', gguf([['w', [(1) x 9], 0, '']])],
     ['does not follow', gguf([['w', [1], 4, '', 32]])],
     ['before its last elements', gguf([['v', [1], 4, 'x' x 64],
                                        ['w', [1], 4, '', 96]])],
     ['before its last elements', gguf([['w', [32], 2, 'q' x 17]])],
     ['does not follow', gguf([['v', [1], 4, 'x' x 64, 32],
                               ['w', [1], 0, 'data', 0]])],
     ['does not follow', gguf([['v', [1], 4, 'x' x 64],
                               ['w', [1], 0, 'data', 33]])],
     ['before its last elements', gguf([['v', [1], 4, 'x' x 64],
                                        ['w', [1], 0, 'data', 96]])],
     ['does not follow', gguf([['v', [32], 2, 'q' x 18],
                               ['w', [1], 0, 'data', 64]])],
     ['rows of 48 elements, and Q4_0 packs blocks of 32',
      gguf([['w', [48, 2], 2, 'q' x 54]])],
     ['rows of 1 elements', gguf([['w', [], 12, 'q' x 144]])],
     ['two of its tensors are named `w`',
      gguf([['w', [1], 4, ''], ['w', [1], 0, 'data', 0]])],
     map({ ['larger than memory', $_] }
         gguf([['w', [1, 1 << 32, 1 << 31], 4, '']]),
         gguf([['w', [0, 1 << 32, 1 << 31], 4, '']]),
         gguf([['w', [32, 1 << 32, 1 << 32], 2, '']]),
         gguf([['w', [256, (1 << 55) - 1], 15, '']]),
         gguf([['w', [0, 1 << 32, 1 << 31], 2, '']]),
         gguf([['w', [(1) x 9, 1 << 62], 0, '']]),
         gguf([['w', [(1) x 9, $most], 0, '']])),
     ['larger than memory', gguf([['w', [$most], 0, '']])],
     ['larger than memory', gguf([['w', [(1 << 31) x 3], 0, '']])],
     ['before its last elements', gguf([['w', [1 << 40], 0, '']])],
     ['not UTF-8', gguf([["\xFF", [1], 0, '']])]) {
  my ($why, $bytes) = @$_;
  reads_gguf($bytes, 1, '', qr/E0502.*\Q$why\E/, "GGUF: $why");
}
# What is none of rly's is left out: of ggml's types those that pack numbers,
# [number, numbers of a block, bytes of a block] as gguf-py says, those that are
# not known, and tensors of a high rank.
my %packs = (Q4_0 => [2, 32, 2 + 16], Q4_1 => [3, 32, 2 + 2 + 16],
             Q5_0 => [6, 32, 2 + 4 + 16], Q5_1 => [7, 32, 2 + 2 + 4 + 16],
             Q8_0 => [8, 32, 2 + 32], Q2_K => [10, 256, 2 + 2 + 16 + 64],
             Q3_K => [11, 256, 2 + 64 + 32 + 12],
             Q4_K => [12, 256, 2 + 2 + 128 + 12],
             Q5_K => [13, 256, 2 + 2 + 128 + 32 + 12],
             Q6_K => [14, 256, 2 + 128 + 64 + 16],
             Q8_K => [15, 256, 4 + 256 + 32], IQ2_XXS => [16, 256, 2 + 64],
             IQ2_XS => [17, 256, 2 + 64 + 8], IQ3_XXS => [18, 256, 2 + 64 + 32],
             IQ1_S => [19, 256, 2 + 32 + 16], IQ4_NL => [20, 32, 2 + 16],
             IQ3_S => [21, 256, 2 + 64 + 32 + 8 + 4],
             IQ2_S => [22, 256, 2 + 64 + 16],
             IQ4_XS => [23, 256, 2 + 2 + 128 + 4],
             IQ1_M => [29, 256, 32 + 16 + 8], TQ1_0 => [34, 256, 2 + 4 * 13],
             TQ2_0 => [35, 256, 2 + 64], MXFP4 => [39, 32, 1 + 16],
             NVFP4 => [40, 64, 4 + 32]);
my @packed = map {
  my ($number, $block, $bytes) = @{$packs{$_}};
  [$_, [2 * $block, 3], $number, 'q' x (6 * $bytes)]
} sort keys %packs;
my @others = (['odd', [5], 4, 'x' x 70], ['new', [2, 2], 0xFFFFFFFF, ''],
              ['void', [0, 7], 8, ''], ['Q8_1', [32], 9, 'q' x 36],
              ['deep', [(1) x 8, 3], 0, pack 'f<*', 7 .. 9]);
reads_gguf(gguf([$packed[0], @rows]), 0, $held, '', 'GGUF: one left out');
reads_gguf(gguf([@packed, $rows[0], @others, @rows[1 .. 3]]), 0, $held, '',
           'of any packed type, of an unknown one, of a high rank');
reads_gguf(gguf([@rows, $others[0]]), 0, $held, '',
           'an unknown one at the end');
for (['Q4_0', 'it is quantized as Q4_0; convert the model to F32'],
     ['odd', "its type is ggml's number 4, which is unknown"],
     ['new', "its type is ggml's number 4294967295, which is unknown"],
     ['deep', 'its rank is 9, and the most is 8']) {
  my ($name, $why) = @$_;
  gives(rly('-e', "param \@$name: Tensor[(2), float32]; \@$name", '--params',
            spew(scratch('m.gguf'), gguf([@packed, @others, @rows]))), 1, '',
        qr/E0504.*for `$name` cannot be read: \Q$why\E/, "... asked for: $why");
}

# Cut anywhere but in the last padding, of which there is none.
my $whole = gguf(\@rows);
is_deeply([grep {
             my $run = rly($named, '--params',
                           spew(scratch('cut.gguf'), substr $whole, 0, $_));
             $run->{status} != 1 || $run->{err} !~ /E0502.*GGUF file/
           } map { 4 * $_ } 0 .. length($whole) / 4 - 1],
          [], 'a GGUF file that was cut');

# --- .params ----------------------------------------------------------------
# As SaveParams of TVM writes them: the names, then the arrays, of which each
# has its type as DLPack's code, bits and lanes.

# Rows [name, [code, bits, lanes], shape, packed elements].
sub params {
  my $arrays = join '', map {
    my ($name, $type, $shape, $elements) = @$_;
    pack('Q<2l<3CCS<', 0xDD5E40F0 << 32 | 0x96B4A13F, 0, 1, 0,
         scalar @$shape, @$type)
      . pack('q<*', @$shape) . pack('Q</a', $elements)
  } @_;
  return pack('Q<3', 0xF7E58D4F << 32 | 0x05049CB7, 0, scalar @_)
         . join('', map { name($_->[0]) } @_) . pack('Q<', scalar @_) . $arrays;
}

my $w = ['w', [2, 32, 1], [2], pack 'f<2', 1, 2];
binds(spew(scratch('w.params'), params($w)), 'a .params file');
for (['z', [5, 128, 1], [1], 'x' x 16, 'its dtype is complex128'],
     ['v', [0, 8, 4], [3], 'x' x 12, 'its dtype is int8x4'],
     ['r', [2, 32, 1], [(1) x 9], 'abcd', 'its rank is 9']) {
  my ($name, @row) = @$_;
  my $why = pop @row;
  my $path = spew(scratch('w.params'), params([$name, @row], $w));
  binds($path, "a .params file, left out: $why");
  gives(rly('-e', "param \@$name: Tensor[(2), int8]; \@$name", '--params',
            $path), 1, '', qr/E0504.*for `$name` cannot be read: $why/,
        '... asked for');
}
gives(rly($program, '--params', spew(scratch('w.params'),
                                     params(['w', [5, 64, 1], [], ''], $w)),
          'x=[1, 2]'),
      1, '', qr/E0502.*two of its tensors are named `w`/,
      'a name twice, once left out');

# --- Shards -----------------------------------------------------------------

sub index_of { return json_text({weight_map => {@_}}) }
sub json_text { return JSON::PP->new->canonical->encode($_[0]) }

my $pair = spew(scratch('pair.rly'),
                "param \@a: Tensor[(2), float32];\nparam \@b: int32;\n"
                . "def \@main() { (\@a, \@b) }\n");
spew(scratch('m-1.safetensors'), safetensors(['a', 'F32', [2], [1, 2]]));
spew(scratch('m-2.safetensors'), safetensors(['b', 'I32', [], [3]]));
spew(scratch('tied.safetensors'),
     safetensors(['b', 'I32', [], [3]], ['a', 'F32', [2], [8, 9]]));
my @both = (a => 'm-1.safetensors', b => 'm-2.safetensors');

sub reads_index {
  my ($text, $status, $out, $err, $name) = @_;
  my $path = spew(scratch('m.safetensors.index.json'), $text);
  gives(rly($pair, '--params', $path), $status, $out, $err, $name);
}
my $sum = "(Tensor[(2), float32] [1.0, 2.0], 3)\n";
reads_index(json_text({metadata => {total_size => 12}, weight_map => {@both}}),
            0, $sum, '', 'an index of shards');
reads_index(index_of(@both, b => 'tied.safetensors'), 0, $sum, '',
            'a tensor that two shards hold is read where the index says');
for ([index_of(@both, c => 'm-2.safetensors'), '`c` is not in m-2.safetensors'],
     [index_of(a => 'm-1.safetensors', b => 'm-1.safetensors'),
      '`b` is not in m-1.safetensors'],
     [index_of(b => 'tied.safetensors'),
      'does not name `a`, a tensor of tied.safetensors'],
     [index_of(a => '../m-1.safetensors'), '`a` is said to be in no file'],
     [index_of(a => ''), '`a` is said to be in no file'],
     [index_of(a => {file => 'm-1.safetensors'}),
      '`a` is said to be in no file'],
     ['{"weight_map": {"a": "x", "a": "y"}}', 'names one thing twice'],
     ['{"weight_map": ' . '[' x 100_000, 'is not JSON'],
     ['{"weight_map": []}', 'no table `weight_map`'],
     ['[]', 'no table `weight_map`'], ['', 'is not JSON']) {
  my ($text, $why) = @$_;
  reads_index($text, 1, '', qr/E0502.*index.*\Q$why\E/, "an index: $why");
}
reads_index(index_of(a => 'nowhere.safetensors'), 1, '',
            qr/E0501.*nowhere\.safetensors/, 'a shard that is not there');

# --- What is left out -------------------------------------------------------

# A tensor that is none of rly's matters to those alone who ask for it.
sub foreign {
  my ($name, $dtype, $shape, $file) = @_;
  my $size = 4;
  my $bytes = safetensors(['a', 'F32', [2], [1, 2]], ['b', 'I32', [], [3]],
                          [$name, 'I32', [], [0]]);
  my $length = unpack 'Q<', $bytes;
  my $header = JSON::PP->new->decode(substr $bytes, 8, $length);
  @{$header->{$name}}{'dtype', 'shape'} = ($dtype, $shape);
  my $text = json_text($header);
  return spew(scratch($file), pack('Q<', length $text) . $text
                              . substr $bytes, 8 + $length);
}
my $scales = foreign('c', 'F8_E8M0', [4], 'scales.safetensors');
my $deep = foreign('c', 'I32', [(1) x 9], 'deep.safetensors');
my $asks = spew(scratch('asks.rly'),
                "param \@a: Tensor[(2), float32];\n"
                . "param \@c: Tensor[?, float32];\n"
                . "def \@main() { sum(\@a) + sum(\@c) }\n");
for ([$scales, 'its dtype is F8_E8M0'], [$deep, 'its rank is 9']) {
  my ($path, $why) = @$_;
  gives(rly($pair, '--params', $path), 0, $sum, '', "left out: $why");
  gives(rly($asks, '--params', $path), 1, '',
        qr/E0504.*`c` cannot be read: $why.*declared here.*is \Q$path\E/s,
        '... but asked for');
  gives(rly($asks, '--params', $path, 'c=[1f, 2f]'), 0, "6f\n", '',
        '... and given otherwise');
  gives(rly('run', '--strict', $pair, '--params', $path), 1, '',
        qr/E0505.*no use.*`c`, which cannot be read: $why/s,
        '... and refused by --strict');
}
gives(rly($asks, '--params',
          foreign('c', "F\n\e[1m", [4], 'escapes.safetensors')), 1, '',
      qr/its dtype is F\\n\\u001b\[1m, which is none/,
      'a dtype that would move the cursor');
# The name of a tensor is any text, as long as it is UTF-8.  A message shows it
# in one line, with nothing that a terminal would obey.
my $name = "w\nrly: \e[31m\xC3\xA9\xC2\x9B1m\xE2\x80\xAE";
my $seen = qr/`w\\nrly: \\u001b\[31m\xC3\xA9\\u009b1m\\u202e`/;
sub shows {
  my ($what, $file, $bytes, @flags) = @_;
  my $path = spew(scratch($file), $bytes);
  my $run = rly(@flags ? @flags : ('run', '--strict', $pair, '--params'),
                $path);
  my $said = $run->{err} . $run->{out};
  like($said, $seen, "a name in $what");
  unlike($said, qr/[\0-\x09\x0B-\x1F\x7F]|\xC2[\x80-\x9F]/,
         '... without controls');
}
shows('a .safetensors file', 'n.safetensors',
      safetensors([$name, 'I32', [], [3]]));
shows('a .gguf file', 'n.gguf', gguf([[$name, [1], 0, 'data']]));
shows('a .params file', 'n.params', params([$name, [2, 32, 1], [1], 'data']));
shows('an index', 'n.safetensors.index.json', index_of($name, '../x'));
shows('a model', 'n.onnx', model(floats_of($name, [2], [1])),
      'import');
shows('a node', 'n.onnx', model(node('Add', [$name, 'x'], ['y'])),
      'import');
my ($told) = split /\n/, rly('run', '--strict', '--json', $pair, '--params',
                             scratch('n.safetensors'))->{out};
is(JSON::PP->new->utf8->decode($told)->{notes}[0]{message},
   Encode::decode('UTF-8', "`$name`"), 'a tool is given the name as it is');
gives(rly(spew(scratch("a\n\e[1m.rly"), '1 +')), 1, '',
      qr/^\S*a\\n\\u001b\[1m\.rly:1:4: /, 'the name of a file');
like(rly('step', '-e', 'fail(message="a\n\x1b[1m")')->{out},
     qr/E0606: a\\n\\u001b\[1m\n/, 'a message of the stepper');
gives(rly("--f\e[1m\n"), 1, '',
      qr/^rly: unknown flag `--f\\u001b\[1m\\n`; .*\n\z/,
      'a word of the command');

my $like = foreign('x.c', 'F4', [8], 'like.safetensors');
gives(rly($pair, '--params', $like), 0, $sum, '', 'a name like another');
gives(rly($asks, '--params', $like), 1, '',
      qr/E0503.*holds `x\.c`, but its dtype is F4/s,
      'what the file has instead');
my $useless = spew(scratch('useless.gguf'),
                   gguf([['tok', [32], 2, 'q' x 18], ['out', [3], 5, '']]));
gives(rly($pair, '--params', $useless), 1, '',
      qr/E0503.*hold tok, out\n.*none of these can be read; `tok`: it is quan/s,
      'where none of a file can be read');
gives(rly('-e', 'def @main() { 1 }', '--params', $useless), 0, "1\n", '',
      '... and none is asked for');
gives(rly({in => 'def @main(%x: Tensor[(32), float32]) { %x }'}, 'opt', '-',
          '--bind', "x=$useless"), 1, '',
      qr/E0542.* 2 tensors, but none .*`x`\n.*can be read; `tok`: it is quan/s,
      '... nor by --bind');
reads_index(index_of(a => 'scales.safetensors', b => 'scales.safetensors',
                     c => 'scales.safetensors'), 0, $sum, '', 'in a shard');
reads_index(index_of(a => 'scales.safetensors', b => 'scales.safetensors'),
            1, '', qr/E0502.*does not name `c`/, '... left out by the index');
gives(rly('-e', 'def @main(%x: Tensor[(4), float32]) { %x }', '--inputs',
          foreign('x', 'F8_E8M0', [4], 'in.safetensors')), 1, '',
      qr/E0504.*for `x` cannot be read/, 'as an input');
my $frames = spew(scratch('frames.rly'), "def \@step(%x: float32) { %x }\n");
gives(rly('stream', $frames, '--input', $scales), 1, '',
      qr/E0502.*`c` of .*F8_E8M0/s, 'where all of the file is asked for');
SKIP: {
  skip 'no libzip', 2 unless $archives;
  my $labels = npy('2,', 0, 0) =~ s/<f4/<U1/r;
  my $zip = IO::Compress::Zip->new(scratch('labels.npz'), Name => 'w.npy')
    or die $ZipError;
  print $zip $npy;
  $zip->newStream(Name => 'labels.npy');
  print $zip $labels;
  close $zip;
  binds(scratch('labels.npz'), 'an archive in which texts stand, too');
  my $asks = 'param @labels: Tensor[(2), int32]; @labels';
  gives(rly('-e', $asks, '--params', scratch('labels.npz')), 1, '',
        qr/E0504.*for `labels` cannot be read: its descr '<U1' is no/,
        '... asked for');
}

# The extension is looked at before anything is evaluated.
my $speaks = spew(scratch('speaks.rly'), "print(1); [1f, 2f]\n");
for (['o.gguf', qr/only read/], ['o.json', qr/only read/],
     map { [$_, qr/as \.safetensors, \.npy, \.npz, \.params, not as \.\w+\n/] }
         'o.txt', 'o.NPZ', 'o.npz.bak') {
  my ($file, $why) = @$_;
  gives(rly('run', $speaks, '--outputs', scratch($file)), 2, '',
        qr/E0507.*\Q$file\E: .*$why/, "$file is not written");
  ok(!-e scratch($file), 'nor begun');
}
for my $file ('plain', '.hidden', 'dot.') {
  gives(rly('run', $speaks, '--outputs', scratch($file)), 0, qr/^1\n/, '',
        "$file has no extension");
  is_deeply(tensors(scratch($file))->{out0}{data}, [1, 2],
            '... and is a .safetensors file');
}
like(rly('-e', '[1f]', '--outputs', '/dev/stdout')->{out}, qr/"out0"/,
     '... so is what goes to a device');

# --- Writing ----------------------------------------------------------------

sub writes {
  my ($path) = @_;
  gives(rly($program, '--params', scratch('w.npy'), 'x=[10, 20]',
            '--outputs', $path), 0, '', '', "--outputs $path");
  return slurp($path);
}

sub outputs_of_safetensors {
  my $t = tensors($_[0]);
  return [map { $t->{$_}{data} } qw(out0 out1)];
}

my $results = [[11, 22], [1, 2]];
writes(scratch('o.safetensors'));
is_deeply(outputs_of_safetensors(scratch('o.safetensors')), $results,
          'what it holds');

SKIP: {
  skip 'no libzip', 4 unless $archives;
  writes(scratch('o.npz'));
  my @arrays = map {
    unzip scratch('o.npz') => \my $bytes, Name => "out$_.npy"
      or die $UnzipError;
    [unpack 'f<*', substr $bytes, -8];
  } 0, 1;
  is_deeply(\@arrays, $results, 'what others find in the archive');
  skip 'no python3', 1 if system 'command -v python3 >/dev/null 2>&1';
  is(system('python3', '-c', 'import sys, zipfile; sys.exit('
            . 'zipfile.ZipFile(sys.argv[1]).testzip() is not None)',
            scratch('o.npz')), 0, 'Python finds no fault with it');
}

# magic, 0, 2 names of 4 bytes, 2 arrays whose elements end them
my $params = writes(scratch('o.params'));
is_deeply([unpack 'H16 Q<2 (Q</a)2 Q<', $params],
          ['b79c04054f8de5f7', 0, 2, 'out0', 'out1', 2],
          'what a file of parameters begins with');
is_deeply([unpack 'f<2', substr $params, -8], [1, 2], 'and ends with');

gives(rly($program, '--params', scratch('w.npy'), 'x=[10, 20]', '--outputs',
          scratch('o.npy')), 2, '', qr/E0507.*one tensor, not 2/,
      'an array file holds one');
ok(!-e scratch('o.npy'), 'and is not begun with two');

done_testing();
