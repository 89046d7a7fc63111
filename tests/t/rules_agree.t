#!/usr/bin/env perl
# The library's rules of grade `bits`, applied at random, change no bit of what
# the programs of the conformance suites print: a random half of the rules in a
# random order, since the first that fits is applied, or all of them by
# saturation.  A sample of the programs; `make rules-agree` takes all.
use strict;
use warnings;
use lib 'tests/t';
use List::Util qw(shuffle);
use Rly;
use Test::More;

my $all = $ENV{RULES_ALL};
my @rules = map { slurp($_) =~ /^(rule \@.*?)(?=^rule \@|^\/\/|\z)/gms }
            glob 'stdlib/rules/*.rly';
cmp_ok(scalar @rules, '>', 250, 'there are rules');

# Places move, so an error is its code and message.
sub does {
  my ($file) = @_;
  my $run = rly('--timeout', 20, $file);
  my ($error) = $run->{err} =~ /(error\[E\d+\]: .*)/;
  return "$run->{status}\n$run->{out}" .
         ($error // '') =~ s/which does not fit the \w+'s/which does not fit/r;
}

my @cases = (sort(glob 'tests/conformance/lang/*.rly'),
             sort(glob 'tests/conformance/ops/*.rly'));
my $every = $all ? 1 : is_release() ? 60 : 120;
my $made = scratch('made.rly');
my ($checked, $changed, @wrong) = (0, 0);
for my $i (grep { $_ % $every == 0 } 0 .. $#cases) {
  my $plain = rly('opt', '-O0', $cases[$i]);
  next if $plain->{status};
  srand $i;
  my @half = (shuffle @rules)[0 .. @rules / 2];
  my $file = spew(scratch('half.rly'), @half);
  my @way = $i / $every % 2 ? ('--saturate') : ();
  my $opt = rly('opt', '--rules', $file, @way, $cases[$i]);
  spew($made, $opt->{out});
  $checked++;
  $changed += $opt->{out} ne $plain->{out};
  push @wrong, "$cases[$i]: @way $opt->{err}\n"
    if $opt->{status} || does($made) ne does($cases[$i]);
  diag(splice @wrong) if $all && @wrong > 20;
}
is("@wrong", '', "$checked programs print the same bits");
cmp_ok($changed, '>', $checked / 40, "of which rules change some ($changed)");

done_testing();
