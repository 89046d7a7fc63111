package Limits;
# Runs rly as docs/RELIABILITY.md tells who opens a stranger's file to run it,
# and asks whether the run kept to its limits.  For t/hostile.t and
# t/hostile_models.t.
use strict;
use warnings;
use lib 'tests/t';
use Exporter 'import';
use Rly;
use Test::More;
our @EXPORT = qw(ended ends within_memory);

my @limits = ('--safe', '--max-memory', '256M', '--max-depth', 100000);

# A run that has so many seconds.  A status beyond 3 is a crash, or of a run that
# goes on a minute beyond its limit of time.
sub ended {
  my ($seconds, @args) = @_;
  my %how = (out => $args[0] eq 'step' ? scratch('steps') : '/dev/null');
  $how{in_file} = pop @args if $args[0] eq 'repl';
  my $pid = rly_start(\%how, @args, @limits, '--timeout', $seconds);
  local $SIG{ALRM} = sub { kill KILL => $pid };
  alarm 60 + $seconds;
  my $run = rly_wait($pid);
  alarm 0;
  $run->{err} .= slurp(scratch('steps')) if $args[0] eq 'step';
  return $run;
}

# Of a command it may be asked only that it ends, with a message unless all is
# well; the stepper's has no `error`.  What was wrong, or nothing.
sub ends {
  my $run = ended(2, @_);
  my $told = $run->{err} =~ ($_[0] eq 'step'
    ? qr/error\[E|^  E\d{4}: |: E\d{4}: /m : qr/error\[E/);
  return if $run->{status} >= 0 && $run->{status} <= 3
      && ($run->{status} == 0 || $told);
  return "@_: status $run->{status}: " . substr $run->{err}, 0, 300;
}

# The most that any run had in memory, in KB: 1.2 times what it was allowed.
sub within_memory {
SKIP: {
    skip 'measured on Linux for x86-64, without sanitizers', 1
        if ($ENV{MODE} // '') ne 'release' || `uname -sm` ne "Linux x86_64\n";
    my $usage = "\0" x 144;
    syscall(98, -1, $usage) == 0 or die;
    cmp_ok((unpack 'q*', $usage)[4], '<=', 1.2 * 256 * 1024,
           'KB of the largest run');
  }
}

1;
