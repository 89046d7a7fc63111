#!/usr/bin/env perl
# Training: the losses' derivatives, and `rly train` as its user meets it.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

# --- The library ------------------------------------------------------------

my $check = rly('gradcheck', 'tests/train/losses_gradients.rly');
is($check->{status}, 0, "the losses' derivatives are right")
    or diag($check->{out});
is(scalar(() = $check->{out} =~ /: right at \d\d?\d? elements/g), 9,
   'each was tried');
done_testing;
