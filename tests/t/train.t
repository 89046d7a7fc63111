#!/usr/bin/env perl
# Training: the losses' derivatives, and `rly train` as its user meets it.
#
#   ROUNDS=100 RLY=build/release/rly prove -v tests/t/train.t
#
# kills a run so many times (make kill-train).
use strict;
use warnings;
use utf8;
use lib 'tests/t';
use List::Util qw(sum);
use Rly;
use Screen;
use Test::More;
use Time::HiRes qw(sleep time);

# --- The library ------------------------------------------------------------

my $check = rly('gradcheck', 'tests/train/losses_gradients.rly');
is($check->{status}, 0, "the losses' derivatives are right")
    or diag($check->{out});
gives(rly('-e', '@tree_sum(fn (%x: int32, %y: int32) { %x + %y }, Nil)'), 2,
      '', qr/no arm of this match takes Nil/, 'a sum of nothing fails');
is(scalar(() = $check->{out} =~ /: right at \d\d?\d? elements/g), 10,
   'each was tried');

# --- A run ------------------------------------------------------------------

# 29 points on a plane, y = x . (1, -2, 3) + 0.5, in batches of 4.
my @x = map { [sin $_, cos 2 * $_, sin 3 * $_] } 1 .. 29;
my @y = map { $_->[0] - 2 * $_->[1] + 3 * $_->[2] + 0.5 } @x;
my $data = spew(scratch('data.safetensors'),
                safetensors(['x', 'F32', [29, 3], [map { @$_ } @x]],
                            ['y', 'F32', [29], \@y]));
my $plane = spew(scratch('plane.rly'), <<'END');
type Plane { Plane(w: Tensor[(1, 3), float32], b: List[float32]) }
def @init(%key: Tensor[(10), uint64]) -> Plane {
  Plane(@init_uniform(%key, [1, 3], 0.5f), List[0f])
}
def @at(%p: Plane, %x: Tensor[(?, 3), float32]) -> Tensor[(?), float32] {
  squeeze(nn.dense(%x, %p.w), axis=[1]) + @hd(%p.b)
}
def @loss(%p: Plane, %x: Tensor[(?, 3), float32], %y: Tensor[(?), float32]) {
  mean(@squared_error(@at(%p, %x), %y))
}
def @counted(%p: Plane, %x: Tensor[(?, 3), float32],
             %y: Tensor[(?), float32]) -> (float32, float32) {
  (@loss(%p, %x, %y), cast(take(shape_of(%y), 0), dtype="float32"))
}
def @mine(%p: Plane) -> () { () }
def @mine_step(%s: (), %p: Plane, %g: Plane, %rate: float64) -> ((), Plane) {
  ((), map_leaves(fn (%p, %g) { %p - cast_like(%rate, %p) * %g }, %p, %g))
}
def @falls(%step: int32, %steps: int32, %rate: float64) -> float64 {
  %rate * (1f64 - cast(%step, dtype="float64") / cast(%steps, dtype="float64"))
}
END
my @train = ('train', $plane, '--params', $data, '--batch', 4, '--lr', '0.1');
my $runs = 0;

sub train {
  my ($folder, @args) = @_;
  return rly(@train, '-o', scratch($folder), @args);
}
sub weights { return slurp(scratch("$_[0]/weights.safetensors")) }
sub kept {
  return sort { $a <=> $b }
         map { /step-(\d+)\.safetensors$/ } glob scratch("$_[0]/*");
}

gives(train('a', '--epochs', 40), 0,
      qr{^(?:epoch \d+/40  step \d+/320  loss \d.*\n){40}320 steps of 320; },
      '', 'a run tells of each epoch');
my $learned = tensors(scratch('a/weights.safetensors'));
near($learned->{w}{data}, [1, -2, 3], 0.02, 'what it learns: w');
near($learned->{'b.0'}{data}, [0.5], 0.02, 'and b, named by its path');
is_deeply([kept('a')], [312, 320], 'the two newest states are kept');

# --- The same bits ----------------------------------------------------------

sub same {
  my ($name, $like, @args) = @_;
  my $folder = 'same' . $runs++;
  is(train($folder, '--epochs', 3, @args)->{status}, 0, "$name runs");
  ok(weights($folder) eq weights($like), "$name: the same bits");
}
train('three', '--epochs', 3);
same('two threads', 'three', '--threads', 2);
same('one', 'three', '--threads', 1);
train('eight', '--epochs', 3, '--shards', 8);
same('eight shards on one thread', 'eight', '--shards', 8, '--threads', 1);
same('a loss that says how much it counts', 'eight', '--shards', 8, '--loss',
     '@counted');
near(tensors(scratch('eight/weights.safetensors'))->{w}{data},
     tensors(scratch('three/weights.safetensors'))->{w}{data}, 1e-5,
     'shards differ by rounding');
train('sgd', '--epochs', 3, '--optimizer', 'sgd');
same("the file's optimiser", 'sgd', '--optimizer', '@mine');
train('seed', '--epochs', 3, '--seed', 1);
ok(weights('seed') ne weights('three'), 'another seed, other bits');

is(train('long', '--epochs', 1, '--seed', '18446744073709551615')->{status}, 0,
   'a seed of 64 bits');

# A shard's number times the examples of a batch may be more than 2^31: the loss
# is the mean of 0, 1, ... 999999 by 10^6, whatever the shards are.
my $many = spew(scratch('many.rly'), <<'END');
param @w: float32 = 1f;
def @data() { (arange(0, 1000000, 1, dtype="float32") / 1000000f,) }
def @loss(%w: float32, %x: Tensor[(?), float32]) { %w * mean(%x) }
END
my ($mean) = split /\n/,
    rly('train', $many, '--batch', 1_000_000, '--shards', 2200, '--epochs', 1,
        '--log', '-', '-o', scratch('many'))->{out};
near([json($mean)->{loss}], [0.4999995], 1e-5, 'many shards of many examples');

# --- What the file's functions give -----------------------------------------

# A run whose @order, count or batch cannot be is refused at its first step.
sub refuses {
  my ($name, $def, $message, @args) = @_;
  my $file = spew(scratch("refused$runs.rly"), <<"END");
param \@w: float32 = 1f;
$def
END
  gives(rly('train', $file, '--batch', 4, '--epochs', 2, '-o',
            scratch('refused' . $runs++), @args), 2, '',
        qr/^\S+: error\[E0504\]: $message\n.*^failed after step 0/ms, $name);
}

my $nine = <<'END';
def @data() { (arange(0, 9, 1, dtype="float32"),) }
def @loss(%w: float32, %x: Tensor[(?), float32]) { %w * mean(%x) }
END
sub order {
  return $nine . 'def @order(%key: Tensor[(10), uint64], %n: int32, '
         . "%size: int32) -> Tensor[(?), int32] { $_[0] }";
}
refuses('an order that is too short', order('arange(0, %n - 2, 1)'),
        '`@order` gives 7 rows for an epoch of 9 examples');
refuses('... of no row', order('zeros(shape=[0], dtype="int32")'),
        '`@order` gives 0 rows for an epoch of 9 examples');
refuses('... that is too long', order('arange(0, %n + 1, 1)'),
        '`@order` gives 10 rows for an epoch of 9 examples');
refuses('... with a row after the last', order('arange(1, %n + 1, 1)'),
        '`@order` gives row 9, and the examples of an epoch are rows 0 to 8');
refuses('... with one before the first', order('arange(0, %n, 1) - 1'),
        '`@order` gives row -1, and the examples .*');
refuses('... with one that is held out', order('arange(0, %n, 1) + 1'),
        '`@order` gives row 7, and the examples of an epoch are rows 0 to 6',
        '--validate', 0.3);
my $twice = spew(scratch('rows_twice.rly'), "param \@w: float32 = 1f;\n"
                 . order('arange(0, %n, 1) / 2'));
is(rly('train', $twice, '--epochs', 2, '-o',
       scratch('rows_twice'))->{status}, 0, 'an order may give a row twice');

sub counting {
  my ($count) = @_;
  return <<"END";
def \@data() { (arange(0, 9, 1, dtype="float32"),) }
def \@loss(%w: float32, %x: Tensor[(?), float32]) { (%w * mean(%x), $count) }
END
}
for my $shards (1, 2) {
  for (['0f', '-?0'], ['-1f', "-$shards"], ['0f / 0f', '-?nan'],
       ['inff', 'inf']) {
    my ($count, $shown) = @$_;
    refuses("a count of $count, $shards shards", counting($count),
            "`\@loss` says that the examples of a step count $shown",
            '--shards', $shards);
  }
  refuses("no example, $shards shards", <<'END',
def @batch(%key: Tensor[(10), uint64], %n: int32) { (zeros(shape=[0]),) }
def @loss(%w: float32, %x: Tensor[(?), float32]) { %w * sum(%x) }
END
          '`@batch` gives no example for a step', '--shards', $shards);
}
# The validation's count is found at the epoch's end, which is done once more
# by a run that goes on.
my $uncounted = spew(scratch('uncounted.rly'), <<'END');
param @w: float32 = 1f;
def @data() { (ones(shape=[4]),) }
def @validation() { (zeros(shape=[4]),) }
def @loss(%w: float32, %x: Tensor[(?), float32]) { (%w * mean(%x), sum(%x)) }
END
gives(rly('train', $uncounted, '--epochs', 2, '-o', scratch('uncounted')), 2,
      '', qr/says that the examples of the validation count 0\n/,
      'a validation that counts nothing');

# --- Logs -------------------------------------------------------------------

my $log = train('log', '--epochs', 2, '--log', '-', '--schedule', '@falls',
                '--validate', '0.2');
my @lines = map { json($_) } split /\n/, $log->{out};
is(scalar @lines, 2 * 6 + 2, 'a line for each step and each epoch');
my @steps = grep { exists $_->{norm} } @lines;
near([map { $_->{rate} } @steps], [map { 0.1 * (1 - $_ / 12) } 0 .. 11], 1e-9,
     "the file's schedule");
# 24 of 29 examples are learned from, the last batch of 4 is whole.
near([$lines[6]{loss}], [sum(map { $_->{loss} } @steps[0 .. 5]) / 6], 1e-9,
     "an epoch's loss is the mean of its steps'");
like($log->{err}, qr/^12 steps of 12; /, 'where the weights are');
# What is shown, as objects: of an epoch, of going on, of the end.
my @shown = map { json($_) } split /\n/,
            train('json', '--epochs', 2, '--json', '--validate', '0.2',
                  '--log', scratch('json.log'))->{out};
my @logged = grep { exists $_->{epoch} } map { json($_) }
             split /\n/, slurp(scratch('json.log'));
is_deeply([map { [@$_{qw(epoch epochs step steps)}] } @shown[0, 1]],
          [[1, 2, 6, 12], [2, 2, 12, 12]], '--json: an object for each epoch');
is_deeply([sort keys %{$shown[1]}],
          [qw(best epoch epochs examples_per_second loss norm rate seconds
              seconds_left step steps validation)], '... what it has');
is_deeply([map { $_->{loss}, $_->{validation} } @shown[0, 1]],
          [map { $_->{loss}, $_->{validation} } @logged],
          '... the losses are those of the log');
is_deeply($shown[2], {step => 12, steps => 12, ended => 'done',
                      weights => scratch('json/weights.safetensors')},
          '... and one for the end');
is(scalar @shown, 3, '... and nothing else');
@shown = map { json($_) } split /\n/,
         train('json', '--epochs', 100_000_000, '--json', '--validate', '0.2',
               '--timeout', 0.2, '--resume')->{out};
is_deeply($shown[0], {resumed => 12, steps => 600_000_000}, '... one resumed');
is($shown[-1]{ended}, 'time limit', '... and for one that is late');
SKIP: {
  skip 'no device is always full here', 5 if !-c '/dev/full';
  my $full = train('full', '--epochs', 1, '--log', '/dev/full');
  is($full->{status}, 2, 'a log on a full disk');
  is($full->{err}, "rly: /dev/full could not be written: No space left on "
     . "device\n", '... is told of');
  ok(length weights('full'), '... and the weights are there');
  my $lost = rly({out => '/dev/full'}, @train, '-o', scratch('lost'),
                 '--epochs', 1, '--log', '-');
  is($lost->{status}, 2, '... and on stdout');
  like($lost->{err}, qr/^rly: output could not be written: No space left/m,
       '... likewise');
}

# The first loss, by hand: of the first weights, at the first four examples.
my $first = spew(scratch('first.rly'), <<"END" . <<'END');
import "plane.rly";
END
let @key = random.threefry_key(0);
let %order = @shuffled(@subkey(@subkey(@key, 1), 0), 29);
(@init(@subkey(@key, 0)).w, strided_slice(%order, begin=[0], end=[4]));
END
my ($w, $rows) = rly($first)->{out} =~ /\[\[(.*?)\]\].*\[(.*?)\]\)$/s;
my ($w0, $w1, $w2) = split /, /, $w;
my @rows = split /, /, $rows;
my $by_hand = sum(map {
  ($w0 * $x[$_][0] + $w1 * $x[$_][1] + $w2 * $x[$_][2] - $y[$_]) ** 2 / 4
} @rows);
my ($line) = split /\n/, train('first', '--epochs', 1, '--log', '-')->{out};
near([json($line)->{loss}], [$by_hand], 1e-5, 'the first loss');

# --- Stopped, and resumed ---------------------------------------------------

my @long = ('--epochs', 60, '--save-every', 3, '--optimizer',
            'adamw(weight_decay=0.1f64)', '--schedule', 'one-cycle', '--clip',
            1, '--shards', 2, '--validate', '0.2', '--log');
is(train('straight', @long, scratch('straight.log'))->{status}, 0,
   'a straight run');

# One run at a time in a folder.
my $running = rly_start(@train, '-o', scratch('shared'), '--epochs', 100_000,
                      '--log', scratch('shared.log'));
select undef, undef, undef, 0.05 until -s scratch('shared.log');
gives(rly(@train, '-o', scratch('shared'), '--resume'), 1, '',
      qr/E0506.*another rly train is at work in /, 'a second run in a folder');
kill 'KILL', $running;
rly_wait($running);

# Killed at moments by chance: it ends with the bits of the straight run.
srand($ENV{SEED} // 1);
my $rounds = $ENV{ROUNDS} // 6;
my $start = time;
rly(@train, '-o', scratch('whole'), @long, scratch('whole.log'));
my $takes = time - $start;
my ($killed, $ended, $other) = (0, 0, 0);
while ($killed < $rounds) {
  my $pid = rly_start(@train, '-o', scratch('cut'), @long, scratch('cut.log'),
                      '--resume');
  sleep(rand(0.6) * $takes);
  kill 'KILL', $pid;
  my $run = rly_wait($pid);
  if ($run->{status} == 137) {
    $killed++;
    next;
  }
  # It came to its end: another one begins.
  last unless is($run->{status}, 0, 'a run that ends') or diag($run->{err});
  $ended++;
  $other++ if weights('cut') ne weights('straight');
  unlink glob(scratch('cut/*')), scratch('cut.log');
}
is($other, 0, "killed $killed times, the $ended runs that ended have the bits");
gives(train('cut', @long, scratch('cut.log'), '--resume'), 0,
      qr/^360 steps of 360; /m, '', 'goes on to the end');
ok(weights('cut') eq weights('straight'), 'with the bits of the straight run');
ok(slurp(scratch('cut/best.safetensors'))
       eq slurp(scratch('straight/best.safetensors')), 'the best ones, too');
my %loss;
for my $name ('straight', 'cut') {
  for (split /\n/, slurp(scratch("$name.log"))) {
    my $l = json($_);
    $loss{$name}{$l->{step}} = $l->{loss} if exists $l->{norm};
  }
}
is_deeply($loss{cut}, $loss{straight}, 'and its losses, step by step');

# Ctrl-C.
my $pid = rly_start(@train, '-o', scratch('int'), '--epochs', 100000, '--log',
                    scratch('int.log'));
sleep 0.01 until -s scratch('int.log');
kill 'INT', $pid;
my $stopped = rly_wait($pid);
like($stopped->{err},
     qr/^stopped after step (\d+) of 800000; .*--resume goes on$/,
     'Ctrl-C: how to go on');
is($stopped->{status}, 130, 'the status');
my ($at) = $stopped->{err} =~ /step (\d+)/;
is((kept('int'))[-1], $at, 'the step is kept');
gives(train('int', '--epochs', int($at / 8) + 2, '--resume'), 0,
      qr/^goes on after step $at of/, '', 'it goes on there');

# A step that does not end: the third one fails, or waits for a second Ctrl-C.
my $third = spew(scratch('third.rly'), <<'END');
param @endless: bool = False;
param @fails: int32 = 2;
let @calls = ref(0);
def @init(%key: Tensor[(10), uint64]) -> float32 { 1f }
def @batch(%key: Tensor[(10), uint64], %n: int32) -> Tensor[(?), float32] {
  ones(shape=[%n], dtype="float32")
}
def @for_ever(%n: int32) -> int32 { @for_ever(%n + 1) }
def @loss(%p: float32, %x: Tensor[(?), float32]) -> float32 {
  let %n = ref_read(@calls);
  ref_write(@calls, %n + 1);
  let %m = if (@endless && %n == @fails) { print(%n); @for_ever(0) }
           else { 2 / (@fails - %n) };
  mean(%x) * %p * %p
}
END
sub third { ('train', $third, '-o', scratch(shift), '--json', @_) }
gives(rly(third('failed')), 2,
      qr/^\{"step": 2, "steps": 1000, "ended": "error", "weights": .*\}$/m,
      qr/^failed after step 2 of 1000; the .* --resume goes on after step 2$/,
      'a step that fails');
rly(third('saved', '--save-every', 2));
ok(slurp(scratch('failed/step-2.safetensors'))
       eq slurp(scratch('saved/step-2.safetensors')),
   '... leaves the state before it');
gives(rly(third('at-once', 'fails=0')), 2, qr//,
      qr/^failed after step 0 of 1000; nothing is kept$/, '... the first one');
spew(scratch($_), '') for 'stdout', 'stderr';
my $waits = rly_start(third('twice', 'endless=True'));
sleep 0.01 until -s scratch('stdout');
do { kill 'INT', $waits; sleep 0.05 }
    until slurp(scratch('stdout')) =~ /^\{/m;
my $cut = rly_wait($waits);
is($cut->{status}, 130, 'a second Ctrl-C: the status');
like($cut->{out}, qr/^\{"step": 2, "steps": 1000, "ended": "interrupted", /m,
     '... what the program that reads it sees');
like($cut->{err}, qr/^interrupted after step 2 .* goes on after step 2$/m,
     '... and the user');
is_deeply([kept('twice')], [2], '... and what is kept');

# The end of an epoch that does not end: its last step is done once more.
my $strict = <<'END';
def @init(%key: Tensor[(10), uint64]) -> Tensor[(3), float32] {
  ones(shape=[3], dtype="float32")
}
def @loss(%p: Tensor[(3), float32], %x: Tensor[(?, 3), float32],
          %y: Tensor[(?), float32]) -> float32 {
  let %n = 1 / (take(shape_of(%y), 0) - 1);
  mean(%x * %p)
}
END
my @strict = ('train', scratch('strict.rly'), '--params', $data, '--batch', 4,
              '--validate', 0.2, '--epochs', 3);
spew(scratch('strict.rly'), $strict);
gives(rly(@strict, '-o', scratch('strict')), 2, '',
      qr/^failed after step 5 of 18; .* goes on after step 5$/m,
      'a validation that fails');
spew(scratch('strict.rly'), $strict =~ s/- 1\)/+ 1)/r);
gives(rly(@strict, '-o', scratch('strict'), '--resume'), 0,
      qr/^goes on after step 5 of 18$/m, '', 'mended, it goes on');
rly(@strict, '-o', scratch('mended'));
ok(slurp(scratch('strict/weights.safetensors'))
       eq slurp(scratch('mended/weights.safetensors')),
   '... and has the bits of a run that never failed');

# Fewer epochs than there were.
gives(train('three', '--epochs', 2, '--resume'), 0,
      qr/^the run has 24 steps, and --epochs asks for 16: there is nothing/, '',
      'nothing to do');
like(train('three', '--epochs', 2, '--resume', '--json')->{out},
     qr/"ended": "done"/, '... which is an end');
gives(train('logless', '--log', scratch('none/log')), 2, '',
      qr/E0507\]: cannot write .*: No such file or directory$/,
      'why there is no log');

# A run that lost patience is over.
my $patient = train('patience', '--epochs', 500, '--patience', 2, '--lr', 1);
my ($over) = $patient->{out} =~ /^(\d+) steps of 4000;/m;
ok($over < 4000, 'patience ends a run');
gives(train('patience', '--epochs', 500, '--patience', 2, '--lr', 1,
            '--resume'), 0, qr/^$over steps of 4000;/m, '',
      'and resumed it is at its end');

# --- What is refused --------------------------------------------------------

gives(train('a', '--epochs', 50), 1, '', qr/holds a run of 320 steps: --resume/,
      'a run that is there');
gives(train('a', '--epochs', 50, '--resume', '--seed', 3), 1, '',
      qr/begun with `--seed 0`, not `--seed 3`/, 'settings that are others');

# Data of the same shapes, but others: of params, of @data and @validation, and
# of a param of which the file's @batch draws.  Weights to begin with are none.
my $others = spew(scratch('others.safetensors'),
                  safetensors(['x', 'F32', [29, 3], [map { @$_ } @x]],
                              ['y', 'F32', [29], [map { $_ + 1 } @y]]));
gives(rly('train', $plane, '--params', $others, '--batch', 4, '--lr', '0.1',
          '--epochs', 50, '-o', scratch('a'), '--resume'), 1, '',
      qr/a was begun with other values of `\@y`: .* the data that it has/,
      'data that are others');
my %inputs = (
  '@data()' => 'def @data() { ([VALUE],) }',
  '@validation()' => 'def @data() { ([1f],) } def @validation() { ([VALUE],) }',
  '@from' => 'param @from: Tensor[(1), float32] = [VALUE];
    def @batch(%key: Tensor[(10), uint64], %n: int32) { (@from,) }',
);
for my $input (sort keys %inputs) {
  my @values = map {
    my $text = $inputs{$input} =~ s/VALUE/$_/r;
    'param @w: float32 = 1f; def @loss(%w: float32, %x: Tensor[(?), float32])'
      . " { %w * mean(%x) }\n$text";
  } '1f', '2f';
  my ($begun, $other) = map { spew(scratch("inputs$_.rly"), $values[$_]) } 0, 1;
  my @kept = ('-o', scratch("inputs-$input"));
  push @kept, '--epoch-steps', 1 if $inputs{$input} =~ /\@batch/;
  rly('train', $begun, '--epochs', 1, @kept);
  gives(rly('train', $begun, '--epochs', 2, @kept, '--resume', 'w=3'), 0,
        qr/^goes on after step 1 of 2$/m, '', "$input that is the same");
  gives(rly('train', $other, '--epochs', 2, @kept, '--resume'), 1, '',
        qr/begun with other values of `\Q$input\E`/, "another $input");
}

# A param that no step reads may have another value.
my $beside = spew(scratch('beside.rly'), <<'END');
param @w: float32 = 1f;
param @scale: float64 = 1f64;
param @asked: Tensor[(?), float32];
let @scaled = cast(@scale, dtype="float32") * 2f;
def @loss(%w: float32, %x: Tensor[(?), float32]) { %w * @scaled * mean(%x) }
def @predict() { @w * @asked }
END
my @beside = ('train', $beside, 'x=[1, 2]', '-o', scratch('beside'), '--resume',
              '--epochs');
rly(@beside, 1, 'asked=[3]');
gives(rly(@beside, 2, 'asked=[4]'), 0, qr/^goes on after step 1 of 2$/m, '',
      'another value of a param that no step reads');
gives(rly(@beside, 3, 'asked=[4]', 'scale=3'), 1, '',
      qr/other values of `\@scale`/, '... of one that is read by way of a let');

# A state that was kept before there were checksums has none to compare.
my @older = ('train', 'tests/train/older.rly', '-o', scratch('older'),
             '--resume', '--epochs');
mkdir scratch('older') or die;
spew(scratch('older/step-1.safetensors'),
     slurp('tests/train/older.safetensors'));
gives(rly(@older, 2, 'x=[1, 2, 3]'), 0, qr/^goes on after step 1 of 2$/m, '',
      'an older state');
gives(rly(@older, 3, 'x=[1, 2, 4]'), 1, '', qr/other values of `\@x`/,
      '... has checksums from then on');

spew(scratch('broken/step-7.safetensors'), 'none')
    if mkdir scratch('broken');
gives(train('broken', '--resume'), 1, '', qr/step-7\.safetensors/,
      'a state that is none');

# A damaged newest state is left out, and counts as none that is kept.
train('damaged', '--epochs', 3);
my $step24 = slurp(scratch('damaged/step-24.safetensors'));
my $of_weights = index($step24, pack 'f<*', @{
    tensors(scratch('damaged/weights.safetensors'))->{w}{data}});
ok($of_weights > 0, 'a state has the weights');
for (['cut off', substr($step24, 0, 999),
      qr/its header would take \d+ bytes, but 991 follow/],
     ['with another byte', $step24 ^ ("\0" x $of_weights . "\1"),
      qr/its checksum says that it is damaged/],
     ['that is none', slurp(scratch('damaged/weights.safetensors')),
      qr/it holds tensors, but no session's state/]) {
  my ($what, $bytes, $why) = @$_;
  train('damaged', '--epochs', 2) if !-e scratch('damaged/step-16.safetensors');
  spew(scratch('damaged/step-24.safetensors'), $bytes);
  gives(train('damaged', '--epochs', 3, '--resume', '--save-every', 3, '--keep',
              1), 0, qr/^goes on after step 16 of 24$/m,
        qr/^rly: .*step-24\.safetensors .*$why; the state of step 16 is taken/,
        "a newest state $what");
  ok(weights('damaged') eq weights('three'), '... the bits are the same');
  is_deeply([kept('damaged')], [24], '... and it is written over');
  unlink glob scratch('damaged/*');
}
train('damaged', '--epochs', 1);
spew($_, 'none') for glob scratch('damaged/step-*');
gives(train('damaged', '--epochs', 2, '--resume'), 1, '',
      qr/there is no state before it\n.*has no state to go on with; -o FOLDER/,
      'no state that is whole');

# A folder that takes no files is found before a step is done.
for (['/proc', qr/E0507\]: cannot write to the folder \/proc: .*; -o FOLDER/],
     ['/proc/none', qr/E0507\]: cannot make the folder .*none: .*; -o FOLDER/],
     [$plane, qr/cannot write to the folder .*plane\.rly: Not a directory/]) {
  my ($folder, $why) = @$_;
  gives(rly(@train, '-o', $folder), 2, '', $why, "no run in $folder");
}
SKIP: {
  skip 'the superuser may write everywhere', 1 if !$>;
  mkdir scratch('locked'), 0555 or die;
  gives(train('locked'), 2, '', qr/locked: Permission denied/, 'a locked one');
}

my %refused = (
  'no loss' => ['', qr/has no function `\@loss\(/],
  'no weights' => ['def @loss(%w: float32, %x: Tensor[(?), float32]) { %w }',
                   qr/neither `\@init\(key\)` nor a param/],
  'no examples' => ['param @w: float32 = 1f; def @loss(%w: float32) { %w }',
                    qr/`\@loss` takes no examples/],
  'a loss that is no float' =>
      ['def @loss(%w: float32, %x: Tensor[(?), int32]) { 3 }',
       qr/must take weights and give a float.*int32/],
  'examples that nobody gives' => ['param @w: float32 = 1f;
    def @loss(%w: float32, %x: Tensor[(?), float32]) { %w }',
                                   qr/E0503.*x=\@FILE\.npy, or define \@data/s],
  'other examples' => ['param @w: float32 = 1f; def @data() { [1f] }
    def @loss(%w: float32, %x: Tensor[(?), float32], %y: float32) { %w }',
                       qr/`\@data` must give as many/],
  'none at all' => ['param @w: float32 = 1f;
    def @data() { zeros(shape=[0], dtype="float32") }
    def @loss(%w: float32, %x: Tensor[(?), float32]) { %w }',
                    qr/no example to learn from/],
  'weights without floats' => ['param @w: int32 = 1; def @data() { [1f] }
    def @loss(%w: int32, %x: Tensor[(?), float32]) { sum(%x) }',
      qr/\Aerror\[E0506\]: \S+: the weights of `\@loss` are int32, which (?x:
         )holds no float to learn\n\z/],
  'weights of a data type without floats' =>
      ['type L { N, C(int32, L) } param @w: (L, bool) = (N, True);
        def @data() { [1f] }
        def @loss(%w: (L, bool), %x: Tensor[(?), float32]) { sum(%x) }',
       qr/the weights of `\@loss` are \(L\[\], bool\), which holds no float/],
);
# The time limit is that of all steps; what they learned is kept.
my $late = train('late', '--epochs', 10_000_000, '--timeout', 0.2);
is($late->{status}, 3, 'a time limit ends a run');
like($late->{err},
     qr/^the time limit is reached after step \d+ of 80000000; .* goes on\n\z/,
     '... and says so');
is((kept('late'))[-1], $late->{err} =~ /step (\d+)/ ? $1 : -1,
   '... which is kept');

# Steps alone are limited: a state that takes longer to write than the limit is
# written all the same.  The library slows down the text of its checksum, behind
# which a limit would be seen.
SKIP: {
  skip 'no library can come before the sanitizer', 3 unless may_preload();
  local $ENV{LD_PRELOAD} = preloaded('slow', <<'END');
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#undef snprintf
static void slow(const char *format) {
  if (!strcmp(format, "%016llx")) usleep(500000);
}
int snprintf(char *to, size_t size, const char *format, ...) {
  va_list args;
  va_start(args, format);
  slow(format);
  int n = vsnprintf(to, size, format, args);
  va_end(args);
  return n;
}
int __snprintf_chk(char *to, size_t size, int flag, size_t room,
                   const char *format, ...) {
  va_list args;
  va_start(args, format);
  slow(format);
  int n = vsnprintf(to, size, format, args);
  va_end(args);
  return n;
}
END
  my $begun = time;
  my $slow = train('slow', '--epochs', 10_000_000, '--timeout', 0.2);
  cmp_ok(time - $begun, '>=', 0.4, 'a state is written slowly');
  is($slow->{status}, 3, '... and the time limit ends the run');
  is((kept('slow'))[-1] // 'none',
     $slow->{err} =~ /limit is .* step (\d+) of/ ? $1 : -1,
     '... but not the writing');
}

# Every tensor has as many examples; a NaN among those that are held out shows.
my $unequal = rly('train', $plane, '-o', scratch('rows'), 'y=[1, 2]',
                  'x=[[1, 0, 0], [0, 1, 0], [0, 0, 1]]');
is($unequal->{status}, 2, 'other numbers of examples are refused');
like($unequal->{err}, qr/plane.*\@loss.*`x` has 3 examples and `y` has 2/,
     '... and told of the loss that takes them');
my @unequal = ('ones(shape=[3, 3], dtype="float32")',
               'ones(shape=[2], dtype="float32")');
for my $giver ('data', 'validation') {
  my $file = spew(scratch('unequal.rly'), <<"END");
param \@w: Tensor[(3), float32] = [0f, 0f, 0f];
def \@loss(%w: Tensor[(3), float32], %x: Tensor[(?, 3), float32],
          %y: Tensor[(?), float32]) -> float32 { mean(%x * %w) + mean(%y) }
def \@$giver() { ($unequal[0], $unequal[1]) }
END
  my @bound = $giver eq 'data' ? () : ('y=[1f]', 'x=[[1f, 0f, 0f]]');
  gives(rly('train', $file, '-o', scratch('rows'), @bound), 2, '',
        qr/unequal.rly:4:5: .*`\@$giver` differ.*`x` has 3 .* `y` has 2/,
        "... that \@$giver gives");
}
my $held = rly('train', $plane, '-o', scratch('held'), '--epochs', 2,
               '--validate', '0.4', 'y=[1f, 2f, 3f]',
               'x=[[1f, 0f, 0f], [0f, 1f, 0f], [nanf, 0f, 1f]]');
is($held->{status}, 0, 'a NaN in what is held out');
is(scalar(() = $held->{out} =~ /  validation nan  /g), 2,
   '... is the validation') or diag($held->{out}, $held->{err});

# The least part that is named holds one example out.
for my $n (2, 3, 10, 29, 49, 1000) {
  my $file = spew(scratch('parts.rly'), <<"END");
param \@w: float32 = 1f;
def \@data() { (zeros(shape=[$n], dtype="float32"),) }
def \@loss(%w: float32, %x: Tensor[(?), float32]) { %w + mean(%x) }
END
  my @parts = ('train', $file, '-o', scratch("parts$n"), '--epochs', 1,
               '--validate');
  my ($least) = rly(@parts, 0.0001)->{err} =~ /examples: (\S+) is the least/;
  gives(rly(@parts, $least // 1), 0, qr/  validation 0\.9/, '',
        "the least part of $n examples");
}

for my $name (sort keys %refused) {
  my ($text, $why) = @{$refused{$name}};
  my $file = spew(scratch('refused.rly'), $text);
  gives(rly('train', $file, '-o', scratch('refused')), 1, '', $why, $name);
}
sub at_flag { qr/^error\[E0506\]: --optimizer [^:]*: (?s:.*?)$_[0]/ }
for (['--optimizer', 'adaam', qr/did you mean `adam`/],
     ['--optimizer', 'adam(beta1=2', qr/perhaps with/],
     ['--optimizer', 'adam(momentum=1f)', at_flag('takes nothing named')],
     (map { ['--optimizer', $_, at_flag('settings are NAME=VALUE')] }
      'sgd(momentum="x)', 'sgd(momentum=")")', "sgd(momentum=0.9f64\n)",
      'sgd(momentum=0.9f64) + 1)', 'sgd(momentum=0.9f64)); 7; @hd(Nil)',
      'sgd(momentum=0.9f64 // x)', 'sgd(momentum=%w)', 'sgd(0.9f64)', 'sgd(,)',
      'sgd(momentum=)', 'sgd(momentum=0.9f64,)', '@mine(1)'),
     ['--optimizer', 'sgd(momentum=1)', at_flag('.*not int32')],
     ['--optimizer', 'sgd(momentum=True)', at_flag('.*bool')],
     ['--optimizer', 'sgd(momentum=mine)', at_flag('.*`mine`')],
     ['--optimizer', '@mane', at_flag('there is no global `\@mane')],
     ['--optimizer', '@mine 1', qr/perhaps with/],
     ['--optimizer', '@', qr/perhaps with/],
     ['--schedule', 'linear', qr/constant, cosine, one-cycle/],
     ['--epochs', 900_000_000, qr/8 steps .*: --epochs 268435455 is the most$/],
     ['--epochs', 2 ** 40, qr/a whole number from 1 to 1000000000/],
     ['--batch', 2 ** 31, qr/a whole number from 1 to 1000000000/],
     ['--warm-up', 2 ** 32, qr/a whole number up to 1000000000/],
     ['--patience', '18446744073709551615', qr/from 1 to 1000000000/],
     ['--validate', 1, qr/such as 0\.1/],
     ['--validate', '0.0001', qr/none of 29 examples: 0\.0345 is the least/],
     ['--lr', 'x', qr/a number above 0/],
     ['--loss', 'least', qr/has no function `\@least\(/]) {
  my ($flag, $value, $why) = @$_;
  gives(train('flags', $flag, $value), 1, '', $why, "$flag $value");
}
gives(rly('train', $plane, '-o', scratch('none')), 1, '',
      qr/E0503.*`x`: Tensor\[\(\?, 3\), float32\]/s, 'no data');

# What was learned is exported as a param of the weights' type.
my $model = spew(scratch('model.rly'), qq{import "plane.rly";\n}
                 . "param \@plane: Plane;\n"
                 . 'def @main(%x: Tensor[(?, 3), float32]) '
                 . '{ @at(@plane, %x) }');
SKIP: {
  my $run = rly('export', $model, '--params',
                scratch('a/weights.safetensors'), '-o', scratch('model.onnx'));
  skip 'this build has no writer of ONNX files', 1 if $run->{err} =~ /E0806/;
  rly('run', scratch('model.onnx'), 'x=[[1, 2, 3]]', '--outputs',
      scratch('model.safetensors'));
  my $w = $learned->{w}{data};
  near(tensors(scratch('model.safetensors'))->{out0}{data},
       [$w->[0] + 2 * $w->[1] + 3 * $w->[2] + $learned->{'b.0'}{data}[0]], 1e-5,
       'what was learned, exported') or diag($run->{err});
}

# --- No number --------------------------------------------------------------

my $root = spew(scratch('root.rly'), <<'END');
param @w: Tensor[(1), float32] = [0.01f];
def @data() { ([[1f]],) }
def @loss(%w: Tensor[(1), float32], %x: Tensor[(1, 1), float32]) -> float32 {
  sum(sqrt(%x * %w))
}
END
my $nan = rly('train', $root, '--lr', 1, '--optimizer', 'sgd', '-o',
              scratch('nan'));
is($nan->{status}, 2, 'a loss that is no number');
like($nan->{err},
     qr/^rly: step 2: the loss is NaN;.*root\.rly:4:7: error\[E0608\]: `sqrt`/s,
     'the step and the operator that made it');
is_deeply([kept('nan')], [1], 'the state before it is kept');

# ... and the program's own cells go back with it: without that the third step
# is not the one that fails when it is looked at again.
my $counting = spew(scratch('counting.rly'), <<'END');
let @calls = ref(0);
param @w: Tensor[(1), float32] = [1f];
def @data() { ([[1f], [2f], [3f], [4f]],) }
def @loss(%w: Tensor[(1), float32], %x: Tensor[(?, 1), float32]) -> float32 {
  ref_write(@calls, ref_read(@calls) + 1);
  let %s = if (ref_read(@calls) == 3) { -1f } else { 1f };
  sum(sqrt(%x * %w * %s))
}
END
gives(rly('train', $counting, '--batch', 1, '-o', scratch('counting')), 2,
      qr/\A.*\z/s,
      qr/step 3: the loss is NaN;.*counting\.rly:7:7:.*E0608.*`sqrt`/s,
      'a NaN that hangs on a cell is found');
spew($counting,
     slurp($counting)
         . "def \@wild(%s: int32, %n: int32, %r: float64) { 0f64 / 0f64 }\n");
gives(rly('train', $counting, '--batch', 4, '--epochs', 1,
          '--schedule', '@wild', '-o', scratch('wild')), 2, qr/\A.*\z/s,
      qr/step 1: the rate that --schedule gives is NaN; the weights before/,
      'a rate that is no number');

# --- What is read -------------------------------------------------------------

my $source = slurp($counting);
gives(rly('train', $counting, '-o', scratch('own'), '--log', $counting), 1, '',
      qr/E0506.*file of --log and a file that is read/,
      'a log in the place of the program');
is(slurp($counting), $source, '... which stays');
mkdir scratch('tuned');
my $tuned = spew(scratch('tuned/weights.safetensors'),
                 safetensors(['w', 'F32', [1], [2]]));
$source = slurp($tuned);
gives(rly('train', $counting, '--params', $tuned, '-o', scratch('tuned')), 1,
      '', qr/E0506.*weights of this run and a file that is read/,
      'weights in the place of those that were read');
is(slurp($tuned), $source, '... which stay');

# Two signals at once, the second of which comes while the state is saved.
my $long = spew(scratch('long.rly'), <<'END');
def @data() { (zeros(shape=[400000, 1], dtype="float32"),) }
param @w: Tensor[(1), float32] = [1f];
def @loss(%w: Tensor[(1), float32], %x: Tensor[(?, 1), float32]) -> float32 {
  sum(%x * %w)
}
END
my @lost = grep {
  my $folder = scratch("twice$_");
  my $pid = fork // die;
  if (!$pid) {
    open STDOUT, '>', '/dev/null';
    open STDERR, '>', '/dev/null';
    exec $ENV{RLY}, 'train', $long, '--batch', 1, '-o', $folder, '--log',
         "$folder.log";
  }
  sleep 0.05 until -s "$folder.log";
  kill 'INT', $pid;
  sleep 0.00005;
  kill 'INT', $pid;
  waitpid $pid, 0;
  !-e "$folder/weights.safetensors";
} 1 .. 8;
is("@lost", '', 'two signals lose nothing');

# No operator makes it: it is in what the step reads.  The third example comes
# in another place of the epoch.
my $reads = 'def @loss(%w: float32, %x: Tensor[(?, 2), float32]) {';
my %read = (
  'NaN in the data' =>
      ["param \@w: float32 = 1f; $reads %w * mean(%x) }",
       'x=[[1, 2], [3, 4], [5, nanf], [7, 8]]', qr/`x` holds NaN at \[2, 1\]$/],
  'an infinity there' =>
      ["param \@w: float32 = 1f; $reads %w * mean(%x) }",
       'x=[[1, 2], [-inff, 4]]', qr/`x` holds -inf at \[1, 0\]$/],
  'one that is drawn' =>
      ["param \@w: float32 = 1f; $reads %w * mean(%x) }"
       . 'def @batch(%key: Tensor[(10), uint64], %n: int32) {'
       . '([[1f, nanf], [2f, 3f]],) }',
       '--quiet', qr/`x`, as `\@batch` gives it .*, holds NaN at \[0, 1\]$/],
  'among the weights' =>
      ["param \@w: float32 = nanf; $reads %w * mean(%x) }", 'x=[[1, 2]]',
       qr/before the step, the weights hold NaN$/],
  'in the program' =>
      ["param \@w: float32 = 1f; $reads nanf * %w * mean(%x) }", 'x=[[1, 2]]',
       qr/stands in the program or in a param; the examples and the weights/],
  'too large' =>
      ["param \@w: float32 = 1f; $reads %w * sum(%x) }", 'x=[[3e38, 3e38]]',
       qr/: numbers become too large$/],
);
for my $what (sort keys %read) {
  my ($text, $arg, $why) = @{$read{$what}};
  my $file = spew(scratch('reads.rly'), $text);
  gives(rly('train', $file, '--batch', 1, '-o', scratch("reads $what"), $arg),
        2, qr//, qr/^rly: step \d: the loss is .*\nrly: .*$why/m,
        "no number: $what");
}

# The loss is 0.  Its derivative by %w is infinity times %x, which is 0.
my $back = spew(scratch('back.rly'), <<'END');
param @w: Tensor[(3), float32] = [0f, 1f, 2f];
def @data() { (zeros(shape=[8, 3], dtype="float32"),) }
def @loss(%w: Tensor[(3), float32], %x: Tensor[(?, 3), float32]) -> float32 {
  sum(tanh(%x + 1f) *
      sqrt(%w * %x))
}
END
for my $shards (1, 2) {
  my $run = rly('train', $back, '--optimizer', 'sgd', '--batch', 4, '--clip', 1,
                '--shards', $shards, '-o', scratch("back_$shards"));
  is($run->{status}, 2, "a gradient that is no number, $shards shards");
  like($run->{err}, qr/^rly: step 1: the norm of the gradient is NaN;/,
       'the step');
  like($run->{err},
       qr/E0608\]: `multiply` makes a NaN at \[0, 0\] from inff, 0f/,
       'the operator of the rule');
  like($run->{err},
       qr/^  \S*back\.rly:5:12:\n.*\n.*in the derivative of `multiply`/m,
       'and the one whose derivative it is');
}

# --- The examples -----------------------------------------------------------

# As NumPy has it, in float64, from the same weights and examples.
for (split /\n/, slurp('tests/train/learn.tsv')) {
  my ($name, $args, @losses) = split /\t/;
  my $run = rly('train', "examples/train/$name.rly", split(/ /, $args), '-o',
                scratch("learn_$name"), '--log', '-');
  my @found = map { $_->{loss} } grep { exists $_->{norm} }
              map { json($_) } split /\n/, $run->{out};
  near(\@found, \@losses, 2e-6, "$name: the losses of " . @losses . ' steps')
      or diag($run->{err});
}

# --- The program ------------------------------------------------------------

# What --print shows trains as the command does.
my $printed = rly(@train[0 .. 1], '--batch', 4, '--lr', '0.1', '--print');
is($printed->{status}, 0, '--print');
my $loop = spew(scratch('loop.rly'), $printed->{out} . <<'END');
@for(24, fn (%i: int32, %s: ()) { let %r = @train.step(); () }, ());
@train.learned();
END
my $ran = rly('run', $loop, '--params', $data, '--outputs',
              scratch('loop.safetensors'));
my $by_loop = tensors(scratch('loop.safetensors'));
is_deeply($by_loop->{out0}{data},
          tensors(scratch('three/weights.safetensors'))->{w}{data},
          'its steps give the same bits') or diag($ran->{err});

# The number of batches is right for as many examples as an int32 counts.
my $counted = rly('train', $plane, '--batch', 1000000000, '--print')->{out};
$counted =~ s/^(let \@train.all = ).*/${1}2147483647;/m;
my $batches = spew(scratch('batches.rly'), "$counted\@train.per_epoch();\n");
gives(rly('run', $batches, 'x=[[1, 2, 3]]', 'y=[1]'), 0, "3\n", '',
      'batches of very many examples');

# --- At a terminal ----------------------------------------------------------

SKIP: {
  my $why = screen_missing();
  skip $why, 5 if $why;
  my $screen = Screen->new(args => [@train, '--epochs', 1000000, '-o',
                                    scratch('screen')], columns => 60);
  $screen->expect(qr/^epoch \d+\/1000000  step \d+.{20,}/m, 'a line is drawn');
  $screen->type("\cC");
  $screen->expect(qr/^stopped after step/m, 'Ctrl-C ends it');
  $screen->ends(130);
  $screen = Screen->new(args => [@train, '--epochs', 4, '-o',
                                 scratch('curve')], columns => 130);
  $screen->ends(0);
  like($screen->all, qr/^epoch 4\/4  .* s  █[▁▂▃▄▅▆▇]{3}$/m,
       'the curve of the epochs');
}
done_testing;
