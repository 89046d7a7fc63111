#!/usr/bin/env perl
# The promise to who opens a stranger's model (docs/RELIABILITY.md): under
# --safe and limits of memory, time and depth each hostile ONNX model of
# limits/Models.pm ends by itself, in every command that takes one, with the
# status and the first error that its row tells.
#
# As in hostile.t nothing depends on the speed of the machine: a model without
# an end gets half a second, and more where that was over before it ran; all
# else has a minute.  What may be no more than 3 s is the processor's time.
use strict;
use warnings;
use lib 'tests/t', 'tests/limits';
use Limits;
use Models;
use Rly;
use Test::More;

if (rly('import', 'none.onnx')->{err} =~ /E0806/) {
  plan skip_all => 'this build has no reader of ONNX files: make deps-onnx';
}

my $dir = scratch('hostile');
mkdir $dir;
my $path = "$dir/hostile.onnx";
my $made = "$dir/made";

# The first error, with the row's words for what has another name each time.
sub said {
  my ($err) = @_;
  my ($first) = $err =~ /^(.*error\[.*)$/m or return '';
  $first =~ s/\Q$path\E|\Q$made\E\.rly/M/g;
  $first =~ s/\Q$dir\E/D/g;
  return $first =~ s{^stdlib/\S+:\d+:\d+:}{L:}r;
}

# The text that `import` writes has lines before those that `check` sees, and
# where a loop is when its time is over is chance.
sub fits {
  my ($command, $found, $wanted) = @_;
  if ($command eq 'import' || $wanted =~ /E0703/) {
    s/^M:\d+:\d+:/M:/ for $found, $wanted;
  }
  return substr($found, 0, length $wanted) eq $wanted
      if $wanted =~ s/\.\.\.\z//;
  return $found eq $wanted;
}

# What is wrong with what a command makes of a model, or nothing.
sub judged {
  my ($stage, $wanted, @command) = @_;
  my $refused = $stage eq 'check' || $stage eq 'run' && $command[0] eq 'run';
  my $limit = $wanted =~ /error\[E07/;
  my $status = !$refused ? 0 : $limit ? 3 : $stage eq 'run' ? 2 : 1;
  my $endless = $refused && $wanted =~ /error\[E0703/;
  my $run;
  for my $seconds ($endless ? (0.5, 5, 50) : 60) {
    my $before = (times)[2] + (times)[3];
    $run = ended($seconds, @command);
    $run->{took} = (times)[2] + (times)[3] - $before;
    last if !$endless || fits($command[0], said($run->{err}), $wanted);
  }
  my $found = said($run->{err});
  return "@command: status $run->{status}: $found\n"
      if $run->{status} != $status
          || !fits($command[0], $found, $refused ? $wanted : '');
  return "@command: $run->{took} s of the processor\n"
      if is_release() && !$endless && $run->{took} > 3;
  return;
}

# Each model goes to every second command, beginning with another one than the
# model before; in `make sweep` to all.
my ($count, $turn) = (0, 0);
for my $what (sort keys %models) {
  my ($stage, $wanted, $bytes, @inputs) = @{$models{$what}};
  @inputs = ('x=[1, 2]') if !@inputs;
  @inputs = grep { $_ ne '' } @inputs;
  spew($path, $bytes);
  my @wrong;
  for my $command (one_in(2, $turn++, ['check', $path],
                          ['import', $path, '-o', $made],
                          ['run', $path, @inputs], ['step', '--steps', 20],
                          ['opt', '-O2'])) {
    push @wrong, $command->[0] =~ /^(?:step|opt)$/
        ? ends(@$command, $path) : judged($stage, $wanted, @$command);
  }
  ok(!@wrong, "$what: $stage") or diag(@wrong);
  $count++;
}
cmp_ok($count, '>=', 120, 'hostile models');
within_memory();
done_testing();
