#!/usr/bin/env perl
# The programs of examples/gradbench: what they expect of themselves, and their
# functions before `rly gradcheck`.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $dir = 'examples/gradbench';
my @files = sort map { s|.*/||r } glob "$dir/*.rly";
is(scalar @files, 12, 'twelve programs');

# The searches take a second, which under a sanitizer is half a minute.
my %searches = map { $_ => 1 } qw(particle.rly saddle.rly);
for my $file (@files) {
  next if $searches{$file} && !is_release() && !$ENV{SWEEP};
  my $run = rly('test', "$dir/$file");
  is($run->{status}, 0, $file) or diag($run->{out}, $run->{err});
}

# The other modes of the searches, the outer one first.
my $w = 'Tensor[(1), float64] [0.2071918746486116]';
my $near = 'Tensor[(2), float64] [0.000008246324826140356, '
    . '0.000008246324826140356]';
my %ends = ('particle.rly' => ['@particle(%s, %s)', $w],
            'saddle.rly' => ['@saddle(%s, %s, %%start)', "($near, $near)"]);
my @modes = (['@reverse', '@forward'], ['@forward', '@reverse'],
             ['@forward', '@forward']);
@modes = $modes[0] if !$ENV{SWEEP};
delete $ends{'particle.rly'} if !$ENV{SWEEP};
for my $file (sort keys %ends) {
  next if !is_release() && !$ENV{SWEEP};
  my ($call, $end) = @{$ends{$file}};
  my $text = slurp("$dir/$file") =~ s/^\@(?:particle|saddle)\(.*//msr;
  my $expect = "// expect ~1e-12: $end\n";
  $text .= join '', map { sprintf("$call;\n", @$_) . $expect } @modes;
  my $run = rly('test', spew(scratch($file), $text));
  is($run->{status}, 0, "$file in other modes") or diag($run->{out});
}

# The functions that take whatever is drawn.
my %functions = (hello => 'double', lse => 'lse', llsq => 'llsq', ode => 'ode',
                 kmeans => 'cost', ba => 'errors', ht => 'positions',
                 det => 'det', gmm => 'objective', saddle => 'height');
for my $name (is_release() ? sort keys %functions : 'kmeans') {
  my $run = rly('gradcheck', "$dir/$name.rly", '--entry', $functions{$name});
  like($run->{out}, qr/^\@\w+: right at/, "the derivative in $name.rly");
}

done_testing;
