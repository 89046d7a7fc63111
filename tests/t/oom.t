#!/usr/bin/env perl
# A sample of `make oom`: commands whose allocations fail, and programs that
# need much memory before they run, under limits.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $mode = $ENV{MODE} || 'release';
my $oom = "build/$mode/tests/oom/oom";

sub holds {
  my ($what, @args) = @_;
  my $said = `$oom @args 2>&1`;
  ok($? == 0 && $said =~ /^ok 1/m, $what) or diag($said);
}

# A stride that no pass over one file repeats in another.
holds("allocations fail in $_", '-s', 331, "tests/run/$_.rly")
    for qw(matches closures faults);

for my $program (qw(arms sum types names errors calls pairs lets)) {
  my $file = scratch("$program.rly");
  system("perl tests/oom/hostile $program > $file") == 0 or die;
  holds("$program: check under limits", '-l', 16000000, '-n', 8, '-c', 'check',
        $file);
  holds("$program: run under limits", '-l', 16000000, '-n', 8, '-c', 'run',
        $file);
}

# A tuple of 40,000 fields as an operand: its tables are no small requests.
holds('names: each allocation of a run fails', '-s', 1, '-c', 'run',
      scratch('names.rly'));

done_testing();
