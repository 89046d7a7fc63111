#!/usr/bin/env perl
# A file that is being replaced is whole at every moment: the process that
# writes it is killed at a moment drawn at random, in each way there is to write
# one, and what lies there then is the old file or the new one, byte by byte.
#
#   KILLS=1000 RLY=build/release/rly prove -v tests/t/killed.t    (make kills)
#
# Then: two writers of one file, and no room for it.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use File::Temp qw(tempdir);
use List::Util qw(max);
use Test::More;
use Time::HiRes qw(sleep time);

my $kills = $ENV{KILLS} // 60;
my $seed = $ENV{SEED} // 1;
srand $seed;

my $dir = tempdir(CLEANUP => 1);
my $long = join '', map { "let  \@x$_ =  $_ ;\n" } 1 .. 4000;
my $counter = spew(scratch('counter.rly'), <<'END');
let @w = ref(zeros(shape=[500000], dtype="float32"));
def @step(%x: float32) -> float32 { ref_write(@w, ref_read(@w) + %x); %x }
END
my $frames = spew(scratch('frames'), pack 'f<*', 1, 2);
my ($ones, $twos) = map {
  spew(scratch("of_$_.rly"),
       "def \@main() { full(${_}f, shape=[1000, 1000], dtype=\"float32\") }\n")
} 1, 2;
my $down = spew(scratch('down.rly'), <<'END');
def @down(%n: int32) -> int32 { if (%n < 1) { 0 } else { @down(%n - 1) } }
@down(40);
END

# What is written, over what, and by which arguments: PATH is the file. `status`
# is how the command ends where it cannot be written.
my @ways = (
  {name => 'a state', file => 'cells.state', old => 'an old state',
   args => ['stream', $counter, '--input', $frames, '--save-state', 'PATH']},
  {name => 'outputs in safetensors', file => 'out.safetensors', old => 'old',
   args => ['run', $ones, '--outputs', 'PATH']},
  {name => 'outputs in an archive', file => 'out.npz', old => 'old',
   args => ['run', $ones, '--outputs', 'PATH']},
  {name => 'a program that is laid out', file => 'long.rly', old => $long,
   args => ['fmt', '-w', 'PATH']},
  {name => 'expectations', status => 1, file => 'promoted.rly',
   old => "$long\@x7;\n// expect: 8\n",
   args => ['test', '--promote', 'PATH']},
  {name => "the stepper's page", file => 'page.html', old => 'old',
   args => ['step', '--html', 'PATH', $down]},
);

sub path_of { return "$dir/$_[0]{file}" }

sub args_of {
  my ($way) = @_;
  return map { $_ eq 'PATH' ? path_of($way) : $_ } @{$way->{args}};
}

# What an undisturbed run writes, and how long that takes.
for my $way (@ways) {
  spew(path_of($way), $way->{old});
  my $began = time;
  my $run = rly(args_of($way));
  $way->{takes} = time - $began;
  $way->{new} = slurp(path_of($way));
  isnt($way->{new}, $way->{old}, "$way->{name}: another file")
    or diag "status $run->{status}: $run->{err}";
}

# A file is on the disk before it gets its name, and the name after that.
SKIP: {
  skip 'sanitizers come before what is preloaded', scalar @ways
      if !may_preload();
  my $said = scratch('said');
  local $ENV{SAID} = $said;
  my $library = preloaded('disk', <<'END');
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static void say(const char *what) {
  int fd = open(getenv("SAID"), O_WRONLY | O_APPEND | O_CREAT, 0600);
  write(fd, what, strlen(what));
  close(fd);
}
int fsync(int fd) {
  struct stat s;
  fstat(fd, &s);
  say(S_ISDIR(s.st_mode) ? "folder " : "file ");
  return 0;
}
int rename(const char *from, const char *to) {
  say("name ");
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}
END
  for my $way (@ways) {
    spew(path_of($way), $way->{old});
    spew($said, '');
    local $ENV{LD_PRELOAD} = $library;
    rly(args_of($way));
    is(slurp($said), 'file name folder ', "$way->{name}: on the disk in order");
  }
}

for my $way (@ways) {
  my %found = (old => 0, new => 0);
  my @broken;
  for my $round (1 .. $kills / @ways) {
    spew(path_of($way), $way->{old});
    my $pid = rly_start(args_of($way));
    my $after = rand 1.2 * $way->{takes};
    sleep $after;
    kill 'KILL', $pid;
    waitpid $pid, 0;
    my $there = slurp(path_of($way));
    my ($which) = grep { $there eq $way->{$_} } qw(old new);
    if ($which) { $found{$which}++ }
    else { push @broken, sprintf 'round %d, %.4f s', $round, $after }
  }
  is("@broken", '', "$way->{name}: old or new");
  note "$way->{name}: $found{old} times the old file, $found{new} the new one";
  spew(path_of($way), $way->{old});
  rly(args_of($way));
}
is_deeply([glob "$dir/*.tmp"], [], 'a later run removes what killed ones left');

# --- Two at a time ----------------------------------------------------------

# Each writes a file of its own; the later rename wins, and nothing is mixed.
my $both = "$dir/both.safetensors";
my @whole = map { rly('run', $_, '--outputs', $both); slurp($both) }
  $ones, $twos;
isnt($whole[0], $whole[1], 'two programs, two files');
my @mixed;
for my $round (1 .. max(5, $kills / 10)) {
  my @pids = map { rly_start('run', $_, '--outputs', $both) } $ones, $twos;
  waitpid $_, 0 for @pids;
  my $there = slurp($both);
  push @mixed, $round unless grep { $there eq $_ } @whole;
}
is("@mixed", '', 'two writers do not mix');
is_deeply([glob "$dir/*.tmp"], [], '... and leave nothing else');

# --- No room ----------------------------------------------------------------

# A limit on the size of files stands for a full disk: a write fails half-way,
# and SIGXFSZ would end a program that does not expect it.
for my $way (@ways) {
  spew(path_of($way), $way->{old});
  my $pid = fork // die "fork: $!\n";
  if (!$pid) {
    open STDOUT, '>', '/dev/null';
    open STDERR, '>', scratch('stderr');
    # In blocks of 512 bytes.
    exec 'sh', '-c', 'ulimit -f 40; exec "$@"', 'sh', $ENV{RLY}, args_of($way);
  }
  my $run = rly_wait($pid);
  is($run->{status}, $way->{status} // 2, "$way->{name}, no room: the status");
  like($run->{err},
       qr/error\[E0507\]: cannot write .*\Q$way->{file}\E: .*File too large/,
       '... and it says so');
  is(slurp(path_of($way)), $way->{old}, '... and the old file stays');
}
is_deeply([glob "$dir/*.tmp"], [], 'nothing half-written stays');

done_testing();
