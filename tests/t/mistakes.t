#!/usr/bin/env perl
# One mistake, one message: each program of tests/mistakes gives exactly one
# diagnostic, with a hint.  That its words are right, `rly test` checks.
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
