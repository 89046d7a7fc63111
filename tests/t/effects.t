#!/usr/bin/env perl
# rly check --effects: what calling a function that with_vjp made can do.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

sub effects {
  my ($name, $text) = @_;
  my $run = rly('check', '--effects', spew(scratch('p.rly'), $text));
  my ($found) = $run->{out} =~ /^\@$name ! (.*)$/m;
  return $found;
}

my $op = 'op @f(%x: float32) -> float32 = { exp(%x) };';
is(effects('f', "$op\n"), 'pure', 'an operator');
is(effects('f', "$op\ngradient \@f(%x) -> (%y, %g) { %g * %y }\n"), 'pure',
   'one with a derivative of its own');
is(effects('g', "$op\ngradient \@f(%x) -> (%y, %g) { %g * %y }\n"
              . 'def @g(%x: float32) { @f(%x) }'), 'pure', 'who calls it');
is(effects('f', "$op\ngradient \@f(%x) -> (%y, %g) { print(%g); %g * %y }\n"),
   'prints', 'what the derivative does counts');
is(effects('f', 'op @f(%x: float32) -> float32 = { print(%x); %x };'
              . 'gradient @f(%x) -> (%y, %g) { %g }'), 'prints',
   'and what the operator does');
is(effects('h', 'def @h(%f: fn (float32) -> float32, %x: float32) { '
              . 'with_vjp(%f, fn (%x: float32, %y: float32, %g: float32) '
              . '{ (%g,) })(%x) }'), 'calls its arguments',
   'a parameter is what its argument is');

done_testing;
