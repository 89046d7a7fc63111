#!/usr/bin/env perl
# Random smooth functions: what `rly gradcheck` says of their derivatives.  The
# long form is `make fuzz-grad`.
use strict;
use warnings;
use lib 'tests/t', 'fuzz';
use Rly;
use Smooth;
use Test::More;

# Under a sanitizer a function takes twenty times as long.
my @seeds = 1 .. (is_release() ? 150 : 30);
my %verdicts = smooth_verdicts($ENV{RLY}, @seeds);
my @wrong = grep { ($verdicts{$_} // '') !~ /^(?:right|passed over)/ } @seeds;
is("@wrong", '', 'no derivative is wrong or refused')
    or diag(map { ($verdicts{$_} // 'refused') . "\n"
                      . smooth_function("s$_", $_) } @wrong);
my $right = grep { ($verdicts{$_} // '') =~ /^right/ } @seeds;
cmp_ok($right, '>=', 0.95 * @seeds, 'most are smooth somewhere');

# The generator is the same everywhere, and a mistake would be seen.
is(smooth_function('f', 3), smooth_function('f', 3), 'a seed is a function');
my %all = map { smooth_function('f', $_) => 1 } @seeds;
cmp_ok(scalar keys %all, '>=', @seeds - 1, 'seeds give different functions');

# The law: the same bits on any number of threads and with any instruction set.
my $file = spew(scratch('gradients.rly'), smooth_prelude(),
                map { smooth_function("s$_", $_), smooth_gradient("s$_", $_) }
                grep { $_ % 3 == 0 } @seeds);
my $bits = rly('run', '--json', '--threads', '1', $file);
is($bits->{status}, 0, 'gradients of these functions') or diag($bits->{err});
is(rly('run', '--json', '--threads', '2', $file)->{out}, $bits->{out},
   'the same bits on two threads');
for my $set (qw(avx512 avx2 neon generic reference)) {
  local $ENV{RLY_ISA} = $set;
  my $run = rly('run', '--json', $file);
  next if $run->{err} =~ /RLY_ISA=/; # this processor has no such set
  is($run->{out}, $bits->{out}, "the same bits with $set");
}

done_testing;
