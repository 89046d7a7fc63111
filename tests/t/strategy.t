#!/usr/bin/env perl
# rly step --strategy: results and orders of effects, by hand, and where they
# differ from the language's.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $effects = spew(scratch('effects.rly'), <<'END');
def @first(%x: int32, %y: int32) -> int32 { %x }
def @twice(%x: int32) -> int32 { %x + %x }
def @say(%x: int32) -> int32 { print(%x); %x }
END

# What the strategy prints and gives, and its report.
sub steps {
  my ($strategy, $text) = @_;
  my $file = spew(scratch('p.rly'), slurp($effects) . $text);
  return rly('step', '--strategy', $strategy, '--fold', 'all', $file);
}

sub prints {
  my ($strategy, $text, @lines) = @_;
  my $out = steps($strategy, $text)->{out};
  my @found = $out =~ /^(-?\d+)$/mg;
  is("@found", "@lines", "$strategy: $text");
}

# An argument: once before the call, at its first use, at each use.
prints('strict', '@twice(@say(4));', 4, 8);
prints('need', '@twice(@say(4));', 4, 8);
prints('name', '@twice(@say(4));', 4, 4, 8);
prints('strict', '@first(@say(1), @say(2));', 1, 2, 1);
prints('need', '@first(@say(1), @say(2));', 1, 1);
prints('name', '@first(@say(1), @say(2));', 1, 1);
prints('right-to-left', '@first(@say(1), @say(2));', 2, 1, 1);

# Operands, tuples, constructors.
prints('right-to-left', '@say(1) - @say(2) * @say(3);', 3, 2, 1, -5);
prints('right-to-left', '(@say(1), @say(2)).0;', 2, 1, 1);
prints('need', '@say(1) - @say(2);', 1, 2, -1);

# A let waits, and what nothing uses is never evaluated.
prints('need', '{ let %a = @say(1); print(2); %a + %a };', 2, 1, 2);
prints('name', '{ let %a = @say(1); print(2); %a + %a };', 2, 1, 1, 2);
prints('need', '{ let %a = @say(1); 5 };', 5);
prints('need', '{ let %f = fn (%x: int32) { %x * 2 }; %f(@say(3)) };', 3, 6);

# Functions that are no closures take values; one that reads a dimension, too.
prints('need', '{ let %f = if (True) { add } else { subtract }; '
  . '%f(@say(1), @say(2)) };', 1, 2, 3);
prints('need', 'def @n[n: Dim](%x: Tensor[(n), int32]) -> int32 { n } '
  . '@n({ print(1); [1, 2, 3] });', 1, 3);

# The first difference is reported; where there is none, that.
like(steps('need', '@first(1, 1 / 0);')->{out},
  qr/first difference.*\n  strict +fails: E0602.*\n  need +gives 1/,
  'need does not divide');
my $product = 'def @f(%x: int32, %y: int32) { (%x + 1) * (%y + 2) } @f(3, 4)';
like(rly('step', '--strategy', 'right-to-left', '-e', $product)->{out},
     qr/\(%x \+ 1\) \* \(⟦%y⟧ \+ 2\)\n    where %y = 4, %x = 3\n/,
     'names of what is still to be evaluated, from the left');
my $lets = 'def @f(%x: int32) { let %y = %x * 2; %y + 1 } @f(3)';
unlike(rly('step', '--strategy', 'need', '--fold', 'lets', '-e', $lets)->{out},
       qr/^\d+ suspend /m, 'a let that waits is folded as a let');
like(rly({in => "break %y\nrun\n"}, 'step', '--strategy', 'need', '-e',
         $lets)->{out}, qr/\d+ suspend .*\z/s, '... and met by its name');
like(steps('right-to-left', '@say(1) + @say(2);')->{out},
  qr/\n  strict +prints `1`.*\n  right-to-left prints `2`/, 'order of effects');
like(steps('name', '@twice(@say(4));')->{out},
  qr/\n  strict +gives 8.*\n  name +prints `4`/, 'an effect more');
like(steps('need', '@twice(3 * 3);')->{out},
  qr/need gives and prints what the language does, in \d+ steps/,
  'no difference');
like(steps('right-to-left', 'let @r = ref(0); '
      . '(ref_write(@r, 1), ref_write(@r, 2));')->{out},
  qr/\n  strict +cell#1 = 0 -> 1.*\n  right-to-left cell#1 = 0 -> 2/,
  'writes');

# Shapes: large products are not computed, what decides is.
my $large = steps('shapes', 'def @loop(%n: int32, '
  . '%x: Tensor[(300, 300), float32]) -> Tensor[(300, 300), float32] '
  . '{ if (%n == 0) { %x } else { @loop(%n - 1, nn.matmul(%x, %x)) } } '
  . '@loop(2, ones(shape=[300, 300]));');
like($large->{out}, qr/^Tensor\[\(300, 300\), float32\]$/m, 'a shape alone');
is($large->{status}, 0, 'status');
like(steps('shapes', 'let %x = sum(ones(shape=[300, 300])); '
      . 'if (%x > 3f) { 1 } else { 2 };')->{out},
  qr/elements decide that were not computed/, 'where elements decide');

gives(steps('lazy', '1;'), 1, '', qr/no strategy `lazy`.*right-to-left/s,
  'an unknown one');

done_testing();
