#!/usr/bin/env perl
# A sample of what `make fuzz-attrs` hunts for: hostile numbers in the
# attributes and operands of every operator neither crash a program nor make
# instruction sets differ.
use strict;
use warnings;
use Test::More;

my $attrs = "build/$ENV{MODE}/fuzz/attrs";

my $said = `$attrs --count 20 2>&1`;
is($?, 0, 'twenty programs an operator, each accepted or refused')
  or diag($said);
like($said, qr/^[1-9]\d{3,} programs: [1-9]\d+ ran, [1-9]\d+ were refused/m,
     'of which some run and some are refused');

# A row whose example does not call the operator by its name would be skipped.
$said = `$attrs --count 20 nn.pad gather_nd 2>&1`;
like($said, qr/^40 programs/m, 'each operator has its share');

done_testing();
