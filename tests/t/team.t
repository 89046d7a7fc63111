#!/usr/bin/env perl
# `rly train` in several processes, which mpirun starts: the same bits however
# many there are, and whatever becomes of them.
#
#   ROUNDS=100 RLY=build/release/rly prove -v tests/t/team.t
#
# kills so many runs at moments by chance (make kill-team).
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;
use Time::HiRes qw(sleep time);

my $build = 'build/' . ($ENV{MODE} // 'release');
plan skip_all => 'this build has no MPI: make deps-mpi'
    unless -e "$build/rly-mpi.so" && grep { -x "$_/mpirun" }
                                          split /:/, $ENV{PATH};
# mpirun asks that users be told so.
@ENV{qw(OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM)} = (1, 1);
# MPI's own memory is not asked about.
$ENV{LSAN_OPTIONS} = 'detect_leaks=0';

# Weights of every kind of part, examples by rows, and a last batch of one row,
# which is one shard: most processes have nothing to do in it.
my $program = spew(scratch('mix.rly'), <<'END');
type Mix {
  Mix(w: Tensor[(1, 3), float32], b: List[float64], h: Tensor[(2), float16],
      k: int32, t: (bfloat16, ()))
}
def @init(%key: Tensor[(10), uint64]) -> Mix {
  Mix(@init_uniform(%key, [1, 3], 0.5f), List[0.1f64, 0.2f64],
      cast([0.3, 0.4], dtype="float16"), 7, (cast(0.5, dtype="bfloat16"), ()))
}
def @data() {
  let %x = reshape(sin(cast(arange(87), dtype="float32")), newshape=[29, 3]);
  (%x, sum(%x, axis=[1]) + 0.5f)
}
def @loss(%p: Mix, %x: Tensor[(?, 3), float32], %y: Tensor[(?), float32]) {
  let %b = @hd(%p.b) * @hd(@tl(%p.b)) + cast(sum(%p.h), dtype="float64");
  let %all = squeeze(nn.dense(%x, %p.w), axis=[1]) +
    cast(%b, dtype="float32") * cast(%p.t.0, dtype="float32");
  mean(@squared_error(%all, %y))
}
END
my @train = ('train', $program, '--batch', 7, '--shards', 8, '--lr', '0.05');

sub weights { return slurp(scratch("$_[0]/weights.safetensors")) }

# What mpirun says of how processes ended is its own.
sub team {
  my ($processes, @args) = @_;
  return rly(by_team($processes), @args);
}
sub by_team { return {by => ['mpirun', '--oversubscribe', '-n', $_[0]]} }

# --- The same bits ----------------------------------------------------------

is(rly(@train, '--epochs', 3, '-o', scratch('alone'))->{status}, 0, 'alone');
is(rly(@train, '--epochs', 3, '-o', scratch('other'), '--shards', 3)->{status},
   0, 'with other shards');
ok(weights('alone') ne weights('other'), 'the order of the sum matters');
for my $processes (2, 3, 4, 8) {
  my $r = team($processes, @train, '--epochs', 3, '-o', scratch("p$processes"));
  is($r->{status}, 0, "$processes processes") or diag($r->{err});
  ok(weights("p$processes") eq weights('alone'), 'the same bits');
  is(scalar(() = $r->{out} =~ /^epoch \d\/3 /mg), 3, 'of which one tells');
}

# --- Validation -------------------------------------------------------------

# Fourteen examples in batches of three: five parts, fewer than processes.
my @check = (@train, '--batch', 3, '--validate', '0.5', '--epochs', 3);
sub losses {
  return join "\n", slurp($_[0]) =~ /"validation": ([^,}\s]+)/g;
}
my ($log, $same) = (scratch('log'), scratch('log1'));
is(rly(@check, '-o', scratch('v1'), '--log', $same)->{status}, 0,
   'validation, alone');
is(scalar(() = losses($same) =~ /^\d/mg), 3, 'after each epoch');
for my $processes (2, 3, 8) {
  my $r = team($processes, @check, '-o', scratch("v$processes"), '--log', $log);
  is($r->{status}, 0, "validation, $processes processes") or diag($r->{err});
  is(losses($log), losses($same), 'the same losses');
  unlink $log;
}

# Only its examples are beyond 5.  Of the two parts the second is computed by
# one process; the first by all three, to learn its form, then by one.
my $told = spew(scratch('told.rly'), <<'END');
param @w: Tensor[(1), float32] = [1f];
def @data() { ([[1f], [1f], [1f]],) }
def @validation() { ([[6f], [7f], [8f], [9f], [10f], [11f]],) }
def @loss(%w: Tensor[(1), float32], %x: Tensor[(?, 1), float32]) -> float32 {
  if (max(%x) > 5f) { print(max(%x)) } else { () };
  mean(%x * %w)
}
END
for my $epochs (1, 2) {
  my $r = team(3, 'train', $told, '--shards', 3, '--batch', 3, '--epochs',
               $epochs, '-o', scratch("told$epochs"));
  is($r->{status}, 0, "$epochs epochs of validation") or diag($r->{err});
  is(scalar(() = $r->{out} =~ /^8f$/mg), 3 + $epochs, 'the first part');
  is(scalar(() = $r->{out} =~ /^11f$/mg), $epochs, 'the second, once an epoch');
}

# --- Killed, and gone on with by another number ------------------------------

my @long = ('--epochs', 40, '--save-every', 3, '--validate', '0.2',
            '--schedule', 'cosine');
my $start = time;
rly(@train, @long, '-o', scratch('straight'));
my $takes = time - $start + 1;
srand($ENV{SEED} // 1);
my ($killed, $ended, $other) = (0, 0, 0);
while ($killed < ($ENV{ROUNDS} // 3)) {
  my $processes = 1 + ($killed + $ended) % 4;
  my $pid = rly_start(by_team($processes), @train, @long, '-o', scratch('cut'),
                      '--resume');
  sleep(rand(1.2) * $takes);
  # One of the processes, or mpirun itself.
  my $tasks = "/proc/$pid/task/$pid/children";
  my @ours = -e $tasks ? split ' ', slurp($tasks) : ();
  kill 'KILL', @ours ? $ours[rand @ours] : $pid;
  my $r = rly_wait($pid);
  if ($r->{status}) {
    $killed++;
    next;
  }
  $ended++;
  $other++ if weights('cut') ne weights('straight');
  unlink glob(scratch('cut/*'));
}
is($other, 0, "killed $killed times, the $ended runs that ended have the bits");
is(team(3, @train, @long, '-o', scratch('cut'), '--resume')->{status}, 0,
   'goes on to the end');
ok(weights('cut') eq weights('straight'), 'with the bits of the straight run');

# --- What is refused is said once -------------------------------------------

sub said_once {
  my ($name, $what, @args) = @_;
  my $r = team(3, @args);
  isnt($r->{status}, 0, "$name is refused");
  is(scalar(() = $r->{err} =~ /$what/g), 1, "$name: by one process")
      or diag($r->{err});
}
said_once('fewer shards than processes', qr/need as many shards/, 'train',
          $program, '--shards', 2, '-o', scratch('few'));
said_once('no file', qr/cannot read/, 'train', scratch('none.rly'), '--shards',
          3);
said_once('a run that is there', qr/holds a run of/, @train, '-o',
          scratch('alone'));

# What a second process has otherwise than the first; each ends at once, and
# none of them waits for a sum that never comes.
my $mix = slurp($program);
my $fewer = spew(scratch('fewer.rly'),
                 $mix =~ s/87/84/r =~ s/\[29, 3\]/[28, 3]/r);
my $other_data = spew(scratch('other.rly'), $mix =~ s/0\.5f\)/0.7f)/r);
for (['shards', 'settings', @train, '--shards', 4],
     ['epochs', '--epochs', @train, '--epochs', 2],
     ['seed', 'settings', @train, '--seed', 5],
     ['rate', 'settings', @train, '--lr', '0.01'],
     ['data', 'programs', 'train', $other_data, @train[2 .. $#train]],
     ['shapes', '--epochs', 'train', $fewer, @train[2 .. $#train]]) {
  my ($name, $what, @second) = @$_;
  my $r = rly(by_team(1), @train, '-o', scratch('unlike'), ':', '-n', 1,
              $ENV{RLY}, @second, '-o', scratch('unlike'));
  is($r->{status}, 1, "processes of other $name are refused");
  is(scalar(() = $r->{err} =~ /this team differ in $what/g), 1, '... once')
      or diag($r->{err});
}
# Of two files of params the values differ.
my $given = spew(scratch('given.rly'), <<'END');
param @out0: Tensor[(3, 1), float32];
param @w: Tensor[(1), float32] = [1f];
def @data() { (@out0,) }
def @loss(%w: Tensor[(1), float32], %x: Tensor[(?, 1), float32]) -> float32 {
  mean(%x * %w)
}
END
my @from = map {
  my $file = scratch("given$_.safetensors");
  rly('run', '-e', "[[1f], [2f], [${_}f]]", '--outputs', $file);
  ['train', $given, '--params', $file, '--shards', 2, '-o', scratch('given')];
} 3, 4;
my $unlike = rly(by_team(1), @{$from[0]}, ':', '-n', 1, $ENV{RLY},
                 @{$from[1]});
is($unlike->{status}, 1, 'processes of other params are refused');
like($unlike->{err}, qr/differ in examples, params or weights/, '... so');

my $root = spew(scratch('root.rly'), <<'END');
param @w: Tensor[(1), float32] = [0.01f];
def @data() { ([[1f], [1f], [1f]],) }
def @loss(%w: Tensor[(1), float32], %x: Tensor[(?, 1), float32]) -> float32 {
  sum(sqrt(%x * %w))
}
END
said_once('a loss that is no number', qr/step 2: the loss is NaN/, 'train',
          $root, '--shards', 3, '--lr', 1, '--optimizer', 'sgd', '-o',
          scratch('nan'));

# A process whose shard fails ends the others, which wait for its sum.  With
# this seed the first shard, of which all learn the sum's form, is another.
my $third = spew(scratch('third.rly'), <<'END');
param @w: Tensor[(1), float32] = [1f];
def @data() { ([[1f], [1f], [9f]],) }
def @loss(%w: Tensor[(1), float32], %x: Tensor[(?, 1), float32]) -> float32 {
  if (max(%x) > 5f) { fail(message="too large") } else { sum(%x * %w) }
}
END
said_once('a shard that fails', qr/error\[E\d+\]: too large/, 'train', $third,
          '--shards', 3, '--seed', 3, '-o', scratch('third'));

done_testing();
