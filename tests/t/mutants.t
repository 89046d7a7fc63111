#!/usr/bin/env perl
# Does rly verify see what is wrong?  Mutants of the library's rules
# (tests/rules/Mutants.pm) are refuted, or refused when they are read.
#
# Under the sanitizers a sample runs.  Those that may survive are equal to their
# rule, and said so below.
use strict;
use warnings;
use lib 'tests/t', 'tests/rules';
use Mutants;
use Rly;
use Test::More;

my @all = map { mutants(slurp($_)) } glob 'stdlib/rules/*.rly';
cmp_ok(scalar @all, '>=', 300, 'there are ' . @all . ' mutants');

# Of which rules a mutant may survive, and why it is none.
my %equal = (
  copy_twice => 'a copy has the bits of what is copied',
  less_and_greater => '%x has the type of %y, so zeros_like takes either',
  divide_constant => 'as real numbers, x / 0 is no number',
  divide_power_of_two => 'number() gives none where the inverse overflows',
  power_half => 'no constant 1.5 is drawn, so nothing is known (E0906)',
  map({ $_ => 'both sides fail where the shapes do not broadcast' }
    qw(add_negative subtract_negative not_equal_not not_not_equal not_less_int
       not_greater_int not_less_equal_int not_greater_equal_int)),
);

my (%verdicts, @alive);
my $file = scratch('mutant.rly');
for my $mutant (is_release() ? @all : one_in(3, 5, @all)) {
  my ($name, $text) = @$mutant;
  my $run = rly('verify', '--json', spew($file, $text));
  my $said = $run->{out} . $run->{err};
  my $verdict = $said =~ /"held": false/ ? 'refuted'
    : $said =~ /"code": "E0(?:[1-5]\d\d|90[1-5])"/ ? 'refused' : 'alive';
  $verdicts{$verdict}++;
  push @alive, "$name:\n$text$said" if $verdict eq 'alive' && !$equal{$name};
}
is_deeply(\@alive, [], 'all are refuted or refused');
cmp_ok($verdicts{refuted}, '>=', $verdicts{refused} / 2,
       'and many by experiment');
note(join ', ', map { "$verdicts{$_} $_" } sort keys %verdicts);

done_testing();
