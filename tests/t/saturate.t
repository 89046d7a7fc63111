#!/usr/bin/env perl
# rly opt --saturate: what greedy order does not reach, bounds, costs, and that
# results stay.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $chain = 'docs/optimiser/chain.rly';
my $regroup = 'docs/optimiser/regroup.rly';

# A product of 200x10, 10x300, 300x5, 5x40: multiplications by hand.
#   ((ab)c)x   200*10*300 + 200*300*5 + 200*5*40 = 940000
#   a(b(cx))   300*5*40 + 10*300*40 + 200*10*40  = 260000
#   a((bc)x)   10*300*5 + 10*5*40 + 200*10*40    =  97000
#   (a(bc))x   10*300*5 + 200*10*5 + 200*5*40    =  65000, the least of the five
my @fast = ('--fast-math', '--rules', $regroup);
my $m = 'nn\.matmul';
my $best = qr/\{\n  $m\($m\(%a, $m\(%b, %c\)\), %x\)\n\}/;
gives(rly('opt', '--saturate', '--verify', @fast, $chain), 0, $best, '',
  'the cheapest order of a chain, and a scaling that cancels');
my $greedy = rly('opt', @fast, $chain);
unlike($greedy->{out}, $best, 'greedy order does not reach it');
unlike(rly('opt', @fast, '--rule', $_, $chain)->{out}, $best, "nor \@$_ alone")
  for qw(right left numbers);

# x y + x z, of which only the second order of operands shows the factor.
my $factor = spew(scratch('factor.rly'), <<'END');
rule @comm[s: Shape](%x: Tensor[s, int32], %y: Tensor[s, int32])
  when pure(%x) && pure(%y) { %x * %y } => { %y * %x }
rule @factor[s: Shape](%x: Tensor[s, int32], %y: Tensor[s, int32],
                       %z: Tensor[s, int32]) when pure(%x) && pure(%y)
  && pure(%z) { subtract(%x * %y, %x * %z) } => { %x * subtract(%y, %z) }
rule @none[s: Shape](%x: Tensor[s, int32]) when pure(%x) {
  subtract(%x, %x) } => { zeros_like(%x) }
END
my $program = spew(scratch('sum.rly'), <<'END');
def @f(%a: Tensor[(64), int32], %b: Tensor[(64), int32])
  -> Tensor[(64), int32] {
  let %p = %b * %a;
  let %q = abs(%a) * abs(%b);
  subtract(%a * %b, %p) + %q
}
END
gives(rly('opt', '--saturate', '--verify', '--rules', $factor, $program), 0,
  qr/zeros_like\(%[ab]|zeros_like\(%\w+\)/, '', 'equal products cancel');

# Nothing is replaced by what is not cheaper; shared parts are kept.
my $kept = spew(scratch('kept.rly'), <<'END');
def @f(%a: Tensor[(64), int32]) -> Tensor[(64), int32] {
  let %p = abs(%a);
  %p * %p
}
END
gives(rly('opt', '--saturate', '--rules', $factor, $kept), 0,
  qr/let %p: .* = abs\(%a\);\n  %p \* %p/, '', 'as it was');

# What has effects is no part of a graph, and what is around it stays.
my $effects = spew(scratch('effects.rly'), <<'END');
def @f(%a: int32) -> int32 { print(%a); %a }
def @g(%a: int32) -> int32 { subtract(@f(%a), @f(%a)) }
END
gives(rly('opt', '--saturate', '--verify', '--rules', $factor, $effects), 0,
  qr{\@f\(%a\) - \@f\(%a\)|subtract\(\@f}, '', 'effects stay');

# Bounds: a graph too small for the region changes nothing.
gives(rly('opt', '--saturate', '--passes', 'Saturate(nodes=10)', @fast, $chain),
  0, qr/\* 3f \/ 3f/, '', 'too few nodes');
my $once = rly('opt', '--saturate', @fast, $chain)->{out};
is(rly('opt', '--saturate', @fast, $chain)->{out}, $once, 'twice the same');

# Measured costs choose by time, so which order is not said; results stay.
gives(rly('opt', '--saturate', '--verify', '--cost', 'measured', @fast, $chain),
  0, qr/nn\.matmul/, '', 'measured costs');

# An operator of a text's own is measured as a function: the rows count the
# dearest branch, and ones take the other, an addition in the place of a product
# with 16 million steps.
my $careful = spew(scratch('careful.rly'), <<'END');
op @careful[n: Dim](%x: Tensor[(n, n), float32]) -> Tensor[(n, n), float32] = {
  if (max(%x) > 1000f) { nn.matmul(nn.matmul(%x, %x), %x) } else { %x + %x }
};
END
my $square = spew(scratch('square.rly'), <<'END');
import "careful.rly";
rule @square[n: Dim](%x: Tensor[(n, n), float32]) : real when pure(%x) {
  nn.matmul(%x, %x)
} => { @careful(%x) }
END
my $squares = spew(scratch('squares.rly'), <<'END');
import "careful.rly";
def @f(%x: Tensor[(256, 256), float32]) { nn.matmul(%x, %x) }
END
my @squares = ('--fast-math', '--rules', $square, $squares);
gives(rly('opt', '--saturate', @squares), 0, qr/nn\.matmul\(%x, %x\)\n\}$/m, '',
  'the rows of an operator of a text');
gives(rly('opt', '--saturate', '--cost', 'measured', @squares), 0,
  qr/^  \@careful\(%x\)$/m, '', 'its time');
gives(rly('opt', '--saturate', $chain), 1, '', qr/--saturate needs --rules/,
  'without rules');
gives(rly('opt', '--cost', 'measured', @fast, $chain), 1, '',
  qr/--cost needs --saturate/, 'no cost without saturation');
gives(rly('opt', '--saturate', '--cost', 'weight', @fast, $chain), 1, '',
  qr/rows or measured/, 'an unknown cost');

# The library's rules, to the bit, on programs of all kinds.
my @library = map { ('--rules', $_) }
  glob 'stdlib/rules/{SimplifyExpr,bits,shapes}.rly';
for my $file (qw(docs/optimiser/layer.rly tests/run/law.rly
                 tests/run/chains.rly tests/run/cells.rly)) {
  my $found = rly('opt', '--saturate', '--verify', @library, $file);
  is($found->{status}, 0, "the library's rules on $file") or diag $found->{err};
}

# A product of 41 matrices has some 10^21 groupings: the bounds of the pass, of
# time and of memory each end the search.
my $chain41 = spew(scratch('chain41.rly'), 'def @main(' . join(', ',
  map { "%a$_: Tensor[(2, 2), float32]" } 0 .. 40) . ') {' .
  'nn.matmul(' x 40 . '%a0' . join('', map { ", %a$_)" } 1 .. 40) . "}\n");
my @endless = ('opt', '--saturate', '--fast-math', '--rules',
               'docs/optimiser/regroup.rly', '--passes');
my $most = 'Saturate(nodes=100000,rounds=1000,milliseconds=3600000)';
is(rly(@endless, 'Saturate(nodes=400)', $chain41)->{status}, 0,
   'a graph that is full');
gives(rly(@endless, $most, '--timeout', '0.2', $chain41), 3, '', qr/E0703/,
      'a time limit');
gives(rly(@endless, $most, '--max-memory', '8M', $chain41), 3, '', qr/E0701/,
      'a limit of memory');

done_testing();
