#!/usr/bin/env perl
# rly fmt --functional over the operators' conformance suite, and back.
#
# Each program gets a counter of its calls, in a global cell or in a cell of a
# list.  As functions of the state, and then as a module of cells once more, it
# has to write the same file of results, to the bit; so every operator, every
# spelling of its attributes and every dtype passes through both passes.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $path = scratch('p.rly');
my $out = scratch('out.safetensors');

# What the program writes for its inputs; undef: it failed.
sub results {
  my ($file, $inputs) = @_;
  unlink $out;
  my $run = rly('run', $file, '--inputs', $inputs, '--outputs', $out);
  return $run->{status} == 0 ? slurp($out) : undef;
}

my @ticks = (
  ['let @ticks = ref(0);', 'ref_write(@ticks, ref_read(@ticks) + 1);'],
  ['let @ticks = List[ref(0), ref(7)];',
   'ref_write(@nth(@ticks, 0), ref_read(@nth(@ticks, 0)) + 1);'],
);

# The program with a counter, and as functions of it; undef: why not.
sub as_functions {
  my ($text, $cell, $tick) = @_;
  $text =~ s/^(def @[^{]*\{)/$1 $tick/gm;
  $text =~ s/^(#\[version.*\n)?/$1$cell\n/;
  my @entry = ('--entry', 'main');
  my $there = rly('fmt', '--functional', @entry, spew($path, $text));
  return ($there->{err}) if $there->{status};
  my $back = rly('fmt', '--stateful', @entry, spew($path, $there->{out}));
  return ($back->{err}) if $back->{status};
  return ('', $there->{out}, $back->{out});
}

my ($count, @changed) = (0);
for my $file (one_in(12, 5, sort glob 'tests/conformance/ops/*.rly')) {
  my ($name) = $file =~ m{([^/]*)\.rly$};
  my $inputs = $file =~ s/rly$/safetensors/r;
  my ($why, $there, $back) =
      as_functions(slurp($file), @{$ticks[$count++ % 2]});
  if ($why) {
    push @changed, "$name: $why";
    next;
  }
  push @changed, "$name: no explicit state"
      unless $there =~ /^def \@init\(/m && $there =~ /%state/;
  my $want = results($file, $inputs) // next;
  my $got = results(spew($path, $back), $inputs);
  push @changed, "$name: other results" unless defined $got && $got eq $want;
}
is_deeply(\@changed, [], 'no operator changes')
  or diag map { substr($_, 0, 300) . "\n" } @changed;
cmp_ok($count, '>', is_release() ? 150 : 20, "which are many: $count");

done_testing();
