#!/usr/bin/env perl
# One mistake, one message: each program of tests/mistakes gives exactly one
# diagnostic, with a hint.  That its words are right, `rly test` checks.
#
# A mistake that shows twice, or once and then ten times in what follows from
# it, is one that people learn to skim; the first message is then lost among its
# consequences.  The hint is asked for because these are mistakes that people do
# make, and for each the next thing to write is known.  The comments are taken
# out of the programs so that the checks see what a user would have typed.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $path = scratch('mistake.rly');

for my $file (glob 'tests/mistakes/*.rly') {
  for (split /^(?=\/\/ expect)/m, slurp($file)) {
    s/^\/\/ expect.*\n//;
    s/^\/\/.*\n|^\n//mg;
    next unless /\S/;
    my $run = rly('check', '--json', spew($path, $_));
    my @found = map { json($_) } split /\n/, $run->{out};
    chomp(my $name = $_);
    ok(@found == 1 && $found[0]{hint}, $name)
      or diag(map { "$_->{line}: $_->{message}\n" } @found);
  }
}

done_testing;
