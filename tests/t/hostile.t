#!/usr/bin/env perl
# The promise to who opens a stranger's file (docs/RELIABILITY.md): under --safe
# and limits of memory, time and depth each hostile program and file of
# limits/Hostile.pm ends by itself, in every command that takes it, with the
# status and the message that its row tells.
#
# No verdict depends on the speed of the machine.  Programs without an end get
# half a second, and longer where that was over before they ran; all else has a
# minute, which only what hangs takes.  What runs take in memory is asked of the
# system afterwards, for all runs together.
use strict;
use warnings;
use lib 'tests/t', 'tests/limits';
use Hostile;
use Limits;
use Rly;
use Test::More;

my $dir = scratch('hostile');
mkdir $dir;

# The first error has the code and is at the place, whatever warnings stand
# before it.  Without a place: none is told.
sub says {
  my ($run, $place, $code) = @_;
  my ($first) = $run->{err} =~ /^(.*error\[.*)$/m;
  return 0 if !defined $first;
  return $first =~ /\Aerror\[$code/ if !defined $place;
  $place =~ s/:$/:\\d+/;
  return $first =~ /:$place: error\[$code/;
}

# What a command must do with a program of that verdict.  The stepper shows a
# program's first steps only, and an error in its own words.
sub judge {
  my ($command, $run, $class, $place, $code) = @_;
  my $status = $run->{status};
  my $runs = $command eq 'run' || $command eq 'step';
  # The first tells of expectations, the second of what plain Relay can say.
  return $status <= 1 if $command eq 'test' || $command eq 'fmt --relay';
  return $status == 0 if $class eq 'fine'
      || $class eq 'checked' && $command eq 'fmt'
      || $class =~ /run|idle/ && !$runs;
  return $status == 1 && says($run, undef, $place) if $class eq 'idle';
  my $wanted = $class ne 'run' ? 1 : $code =~ /E07/ ? 3 : 2;
  if ($command eq 'step' && $class eq 'run') {
    return $status == 0 || $status == $wanted && $run->{err} =~ /$code/;
  }
  return $status == $wanted && says($run, $place, $code);
}

# Where the time was over too early it is asked once more, with a longer one.
sub judged {
  my ($run, @command) = (undef, @_);
  my @verdict = split ' ', pop @command;
  my $name = $command[1] eq '--relay' ? 'fmt --relay' : $command[0];
  for my $seconds ($verdict[-1] eq 'E0703' ? (0.5, 5, 50) : 60) {
    $run = ended($seconds, @command);
    return if judge($name, $run, @verdict);
    last if $run->{err} !~ /E0703/;
  }
  return "@command: status $run->{status}: " . substr $run->{err}, 0, 300;
}

my @commands = (['check'], ['fmt'], ['fmt', '--relay'], ['dump', '--ir'],
                ['dump', '--bytecode'], ['dump', '--format', 'json'],
                ['dump', '--format', 'dot'], ['opt', '-O2'], ['run'],
                ['step', '--steps', '20'], ['test']);
# Of these it is asked only that they end, with a message unless all is well.
my @others = (['check', '--types'], ['fmt', '--functional'], ['graph'],
              ['dump', '--format', 'html'], ['ops'], ['opt', '-O1'],
              ['verify'], ['gradcheck'], ['stream'], ['watch', '--once'],
              ['repl'],
              ['export', '-o', scratch('hostile.onnx')],
              ['train', '--epochs', 1, '-o', scratch('hostile-trained')]);

# Each program goes to every third command, beginning with another one than the
# program before; in `make sweep` to all.
my @all = (@commands, @others);
my ($count, $turn) = (0, 0);
for my $what (sort keys %programs) {
  my ($verdict, $text) = @{$programs{$what}};
  my $path = spew("$dir/hostile.rly", $text);
  my @wrong;
  for my $i (one_in(3, $turn++, 0 .. $#all)) {
    my @command = (@{$all[$i]}, $path);
    push @wrong, $i < @commands ? judged(@command, $verdict) : ends(@command);
  }
  ok(!@wrong, "$what: $verdict") or diag(@wrong);
  $count++;
}

# A file of a stranger as params, and as a state.
my $taker = spew("$dir/taker.rly",
                 "param \@w: Tensor[(?), float32];\nlet \@c = ref(1f);\n"
                 . "def \@step(%x: float32) -> float32 { %x }\nsum(\@w)\n");
for my $what (sort keys %files) {
  my ($code, $name, $bytes) = @{$files{$what}};
  my $path = spew("$dir/$name", $bytes);
  my @wrong;
  for my $command (['run', '--params'], ['step', '--params'],
                   ['run', '--inputs'], ['stream', '--load-state']) {
    my $run = ended(60, @$command, $path, $taker);
    my $asked = $command->[1] eq '--params' ? $code : 'E0';
    push @wrong, "@$command: status $run->{status}: "
        . substr $run->{err}, 0, 300
        if $run->{status} < 1 || $run->{status} > 3
            || $run->{err} !~ /error\[$asked/;
  }
  ok(!@wrong, "$what: $code") or diag(@wrong);
  $count++;
}
cmp_ok($count, '>=', 120, 'hostile programs and files');

# A tensor that fills most of the memory is written, in each format and in a
# state, without a second copy, which within_memory() would see.
my $most = spew("$dir/most.rly", <<'END');
let @c = ref(full(1f, shape=[45000000]));
def @step(%x: float32) -> float32 { %x }
def @main() { ref_read(@c) }
END
for my $suffix (qw(npy npz safetensors params)) {
  my $file = scratch("most.$suffix");
  my $run = ended(60, 'run', $most, '--outputs', $file);
  ok(!$run->{status} && -s $file > 180_000_000, "180 MB as .$suffix")
    or diag($run->{err});
  unlink $file;
}
my $frame = spew(scratch('frame'), pack 'f<', 1);
my $state = scratch('most.state');
my $run = ended(60, 'stream', $most, '--input', $frame, '--save-state', $state);
ok(!$run->{status} && -s $state > 180_000_000, '180 MB as a state')
  or diag($run->{err});
unlink $state;

within_memory();
done_testing();
