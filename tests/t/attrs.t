#!/usr/bin/env perl
# A sample of what `make fuzz-attrs` hunts for: hostile numbers in the
# attributes and operands of every operator neither crash a program nor make
# instruction sets differ.
#
# Numbers of that kind reach arithmetic on shapes that no written test would
# think of: a stride of 2^63 - 1, a negative axis one too far.  Nothing here
# knows what the right answer is; it is enough that a refusal comes with a
# message, and that what runs gives the same under every instruction set.  The
# count of refusals is asked for as well, since a generator that made only bad
# programs, or only good ones, would pass for ever and find nothing.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $attrs = "build/$ENV{MODE}/fuzz/attrs";
my $count = is_release() ? 20 : 4;

my $said = `$attrs --count $count 2>&1`;
is($?, 0, "$count programs an operator, each accepted or refused")
  or diag($said);
like($said, qr/^[1-9]\d{3,} programs: [1-9]\d+ ran, [1-9]\d+ were refused/m,
     'of which some run and some are refused');

# A row whose example does not call the operator by its name would be skipped.
$said = `$attrs --count $count nn.pad gather_nd 2>&1`;
like($said, qr/^@{[2 * $count]} programs/m, 'each operator has its share');

done_testing();
