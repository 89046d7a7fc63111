#!/usr/bin/env perl
# A file of data that becomes shorter while it is mapped: the run ends with a
# message and not with the process, and what was computed before is kept.
use strict;
use warnings;
use lib 'tests/t';
use POSIX qw(mkfifo);
use Rly;
use Test::More;
use Time::HiRes qw(sleep);

my $floats = 1_000_000; # more than the pages that are read ahead
my $cut = qr/error\[E0501\]: \S+ has become shorter while it was in use\n/;

# An array of sevens, aligned as NumPy writes it, so that it is mapped.
sub many {
  my ($name, $shape, $count) = @_;
  my $header = "{'descr': '<f4', 'fortran_order': False, 'shape': ($shape), }";
  $header .= ' ' x (117 - length $header) . "\n";
  return spew(scratch($name), "\x93NUMPY\1\0" . pack('v', length $header)
                              . $header . pack('f<', 7) x $count);
}

# Waits until it is so; a process that is gone will never make it so.
sub until_so {
  my ($pid, $so) = @_;
  sleep 0.01 until $so->() || waitpid($pid, POSIX::WNOHANG()) > 0;
}

sub shorten { truncate $_[0], 4096 or die "$_[0]: $!\n" }

# --- Between two steps ------------------------------------------------------

my $file = many('w.npy', "$floats,", $floats);
my $program = spew(scratch('row.rly'), <<'END');
param @w: Tensor[(?), float32];
def @step(%i: int32) -> float32 { take(@w, %i) }
END
my ($input, $output) = (scratch('input'), scratch('output'));
mkfifo($input, 0600) or die "$input: $!\n";

# Feeds the numbers, cutting the file after the first.
sub streams {
  my (@numbers) = @_;
  unlink $output;
  my $pid = rly_start({in_file => $input, out => $output}, 'stream', $program,
                      "w=\@$file", '--output', '-');
  open my $feed, '>', $input or die "$input: $!\n";
  syswrite $feed, pack 'l<', shift @numbers;
  until_so($pid, sub { -e $output && -s $output == 4 });
  shorten($file);
  syswrite $feed, pack 'l<', $_ for @numbers;
  close $feed;
  my $run = rly_wait($pid);
  return {%$run, out => slurp($output)};
}
gives(streams(3, $floats - 1), 2, pack('f<', 7), qr/^$cut/,
      'a stream ends at the step that reads what is gone');
many('w.npy', "$floats,", $floats);
is(streams(3, 4)->{out}, pack('f<2', 7, 7), 'what is there can be read');

# --- While training ---------------------------------------------------------

my $rows = 20_000;
my $data = many('x.npy', "$rows, 50", $rows * 50);
my $learns = spew(scratch('learns.rly'), <<'END');
param @w: float32 = 1f;
def @loss(%w: float32, %x: Tensor[(?, 50), float32]) { mean(%w * %x) }
def @order(%key: Tensor[(10), uint64], %n: int32, %size: int32)
    -> Tensor[(?), int32] { arange(0, %n, 1) }
END
my ($folder, $log) = (scratch('run'), scratch('log'));
my $pid = rly_start('train', $learns, "x=\@$data", '--batch', 2, '--epochs',
                    100_000, '-o', $folder, '--log', $log);
until_so($pid, sub { -s $log });
shorten($data);
my $run = rly_wait($pid);
gives($run, 2, '', qr/^$cut.*^failed after step (\d+) of /ms,
      'a training ends');
my ($after) = $run->{err} =~ /failed after step (\d+)/;
ok($after && -s "$folder/step-$after.safetensors",
   '... and keeps what it has learned');

done_testing;
