#!/usr/bin/env perl
# Does rly verify see what is wrong?  Mutants of the library's rules
# (tests/rules/Mutants.pm) are refuted, or refused when they are read.
#
# A sample runs, a smaller one under the sanitizers.  What may survive is
# listed, and argued not to be wrong where experiments look; it counts as alive
# all the same.
use strict;
use warnings;
use lib 'tests/t', 'tests/rules';
use Mutants;
use Rly;
use Test::More;

my @all = map { mutants(slurp($_)) } glob 'stdlib/rules/*.rly';
cmp_ok(scalar @all, '>=', 300, 'there are ' . @all . ' mutants');

# Which mutant of a rule may survive, and why.
my %argued = (
  # Without its condition: of numbers, the types demand what that does.  It is
  # there for dimensions that only the run knows, and none are drawn.
  bias_add_along => qr/\) : bits\s+\{/,
);

my (%verdicts, @alive);
my $file = scratch('mutant.rly');
my @tried = one_in(2, 1, @all);
for my $mutant (@tried) {
  my ($name, $text) = @$mutant;
  my $run = rly('verify', '--json', spew($file, $text));
  my $said = $run->{out} . $run->{err};
  my $verdict = $said =~ /"held": false/ ? 'refuted'
    : $said =~ /"code": "E0(?:[1-5]\d\d|90[1-5])"/ ? 'refused' : 'alive';
  $verdicts{$verdict}++;
  my $argued = $argued{$name} && $text =~ $argued{$name};
  push @alive, "$name:\n$text$said" if $verdict eq 'alive' && !$argued;
}
is_deeply(\@alive, [], 'none but those that are listed survives');
cmp_ok($verdicts{alive} // 0, '<=', @tried / 100,
       '99 of 100 are refuted or refused');
cmp_ok($verdicts{refuted}, '>=', $verdicts{refused} / 2,
       'and many by experiment');
note(join ', ', map { "$verdicts{$_} $_" } sort keys %verdicts);

done_testing();
