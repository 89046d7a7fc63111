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
use IO::Compress::Zip qw(zip $ZipError :constants);
use IO::Uncompress::Unzip qw(unzip $UnzipError);
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

for (['deflated', ZIP_CM_DEFLATE], ['stored', ZIP_CM_STORE]) {
  my ($name, $method) = @$_;
  my $path = scratch("$name.npz");
  zip \$npy => $path, Name => 'w.npy', Method => $method, Stream => 0
    or die $ZipError;
  binds($path, "an archive, $name");
  zip \$npy => $path, Name => 'w.npy', Method => $method, Stream => 1
    or die $ZipError;
  binds($path, "$name as a stream, its sizes behind the data");
}
binds(spew(scratch('w.npy'), $npy), 'an array, named as its file');
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

# An archive when libzip cannot be loaded: the library found is a fake.
spew(scratch("libzip.so.$_"), '') for 4, 5;
{
  local $ENV{LD_LIBRARY_PATH} = scratch('');
  gives(rly($program, '--params', scratch('stored.npz'), 'x=[10, 20]'), 1, '',
        qr/E0501.*libzip.*\n.*Debian package libzip4/, 'without libzip');
  gives(rly($program, '--params', scratch('w.npy'), 'x=[10, 20]',
            '--outputs', scratch('no.npz')), 2, '', qr/E0507.*libzip/,
        'nor does it write one');
  ok(!-e scratch('no.npz'), 'or half of one');
}

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

writes(scratch('o.npz'));
my @arrays = map {
  unzip scratch('o.npz') => \my $bytes, Name => "out$_.npy"
    or die $UnzipError;
  [unpack 'f<*', substr $bytes, -8];
} 0, 1;
is_deeply(\@arrays, $results, 'what others find in the archive');
SKIP: {
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
