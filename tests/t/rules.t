#!/usr/bin/env perl
# Every rule of ops/rules/ has its section in tests/types/rules.rly: a
# program that is accepted, one that is refused, and one that `?` leaves to the
# run, with a run that passes and one that does not.  And every diagnostic has
# its words in some test.
#
# The three programs are what a rule can get wrong: refuse something good, let
# something bad pass, or decide when it does not know yet.  The third is the
# easiest to forget, since a program of known shapes never gets there; that is
# why a missing section is an error, and not only a failing one.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

# --- Rules ------------------------------------------------------------------

my $mode = $ENV{MODE} // 'release';
sub ids { return slurp("build/$mode/gen/$_[0].ids") =~ /^ID\((\w+)\)$/mg }
# The checker types what has a rule of form.c itself; no text calls what has
# rule `host` (tests/t/plugin.t).
my %aside = map { $_ => 1 } 'host',
  slurp('ops/rules/form.c') =~ /^FORM\((\w+)/mg;
my @rules = grep { !$aside{$_} } ids('ops/rules');
my %section = slurp('tests/types/rules.rly')
  =~ /^\/\/ rule: (\w+)\n(.*?)(?=^\/\/ rule:|\z)/msg;
is_deeply([sort keys %section], [sort @rules], 'a section for each rule');

# Which operators have the rule, and the section must use one of them.
my %operators;
push @{$operators{$_->{rule}{name}}}, quotemeta $_->{name}
  for @{json(rly('ops', '--json')->{out})};

for my $rule (@rules) {
  my $text = $section{$rule} // next;
  my $names = join '|', @{$operators{$rule}};
  my ($static, $any) = $text =~ /\A(.*?)^(def .*)\z/ms;
  my @missing = grep { $_ } (
    $static =~ /^let %\w+: [^?]*=\s+\S.*?;\n.*?^\/\/ expect: /ms
      ? '' : 'a type that is accepted',
    $static =~ /\b(?:$names)\(.*^\/\/ expect error\[E\d+\]/ms
      ? '' : 'a static failure',
    $any =~ /\A[^{]*(?:\?|%s: Tensor\[\(1\)|%n: int32)[^{]*\{.*\b(?:$names)\(/s
      ? '' : 'a function that leaves something to the run',
    $any =~ /^\/\/ expect: .*^\/\/ expect runtime error\[E\d+\]/ms
      ? '' : 'a run that passes and one that fails');
  is_deeply(\@missing, [], $rule);
}

# --- Diagnostics ------------------------------------------------------------

# Texts of tests: each pin is a code with words.
my @pins;
for my $file (glob 'docs/DIAGNOSTICS.md tests/{run,ops,types,mistakes}/*.rly') {
  push @pins, slurp($file) =~ /expect (?:runtime )?error\[(\w+)\]: *\S/g;
}
my $kind = qr/(?:error|warning)/;
push @pins, slurp('docs/DIAGNOSTICS.md') =~ /^(?:\S.*: )?$kind\[(\w+)\]: \S/mg;
my %pinned = map { $_ => 1 } @pins;
my @codes = ids('base/diag');
is_deeply([grep { !$pinned{$_} } @codes], [],
          'the message of every code is pinned by a test');

done_testing;
