#!/usr/bin/env perl
# The suite of operators under every instruction set of this machine, and under
# none: `make test` itself runs it under the best.
#
# The sets have loops of their own, so that a mistake can live in one alone, and
# the machine that a change was made on would choose the one that works.
# `reference` goes through the loops that have no vectors at all and are the
# measure for the others; ops_law_test compares every loop with it.  Here each
# set takes every 8th program, and every one in `make sweep`.  What this
# machine lacks is left out, and how many remain is tested, lest the list shrink
# to one unnoticed.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $runner = "build/$ENV{MODE}/tests/conformance/run";

# The instruction sets of this machine, best first, as the program reports them.
my @sets = grep {
  local $ENV{RLY_ISA} = $_;
  rly('-e', '1')->{status} == 0;
} qw(avx512 avx2 neon generic reference);

cmp_ok(scalar @sets, '>=', 2, "this machine has @sets");
{
  local $ENV{RLY_ISA} = 'z80';
  gives(rly('-e', '1'), 1, '', qr/RLY_ISA=z80/, 'and no other');
}

SKIP: {
  skip 'the sanitizers watch every set in guard_test', 1
    if $ENV{MODE} eq 'asan';
  for my $set (@sets[1 .. $#sets]) {
    local $ENV{RLY_ISA} = $set;
    my $part = $ENV{SWEEP} ? '' : '--one-in 8';
    my $said = `$runner --ratchet $part ^ops/ 2>&1`;
    is($?, 0, "conformance/ops under $set") or diag($said);
  }
}

done_testing();
