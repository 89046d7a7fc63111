#!/usr/bin/env perl
# rly check --tail-calls: which recursive calls run in constant stack.  What is
# said of each program below is held against a run with room for a hundred
# frames: it ends well where all calls are said to need none, and at that limit
# where one does.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $path = scratch('p.rly');

# Each row: a program in which @f(N) recurs N times, and a word of each line
# that is said of it, in order: `tail`, `cons`, `inner`, or what waits.
my @rows = (
  ['def @f(%n: int32) -> int32 { if (%n == 0) { 0 } else { @f(%n - 1) } }',
   'tail'],
  ['def @f(%n: int32) -> int32 { if (%n == 0) { 0 } else { 1 + @f(%n - 1) } }',
   'add'],
  ['def @f(%n: int32) -> int32 {
  let %m = %n - 1; match (%n) { 0 => 0, _ => { print("f"); @f(%m) } } }
def @unused(%n: int32) -> int32 { 1 }', 'tail'],
  ['def @f(%n: int32) -> int32 {
  if (%n == 0) { 0 } else { let %a = @f(%n - 1); %a } }', 'let %a'],
  ['def @f(%n: int32) -> int32 { if (%n == 0) { 0 } else { @f(%n - 1); 1 } }',
   'what follows in the block'],
  ['def @f(%n: int32) -> bool { if (%n == 0) { True } else { @g(%n - 1) } }
def @g(%n: int32) -> bool { if (%n == 0) { False } else { @f(%n - 1) } }',
   'tail', 'tail'],
  ['def @f(%n: int32) -> bool { if (%n == 0) { True } else { @g(%n - 1) } }
def @g(%n: int32) -> bool { if (%n == 0) { False } else { !@f(%n - 1) } }',
   'tail', 'logical_not'],
  ['def @f(%n: int32) -> bool { if (%n == 0) { True } else {
  @f(%n - 1) && %n > 0 } }', 'the condition of an `if`'],
  ['def @f(%n: int32) -> bool { if (%n == 0) { True } else {
  %n > 0 && @f(%n - 1) } }', 'tail'],
  ['def @f(%n: int32) -> List[int32] {
  if (%n == 0) { Nil } else { Cons(%n, @f(%n - 1)) } }', 'cons'],
  ['type Back { End, Snoc(Back, int32) }
def @f(%n: int32) -> Back {
  if (%n == 0) { End } else { Snoc(@f(%n - 1), %n) } }', 'cons'],
  ['type Back { End, Snoc(Back, int32) }
def @f(%n: int32) -> Back {
  if (%n == 0) { End } else { Snoc(@f(%n - 1), %n + 1) } }', 'Snoc'],
  ['def @f(%n: int32) -> List[int32] {
  if (%n == 0) { Nil } else { Cons(%n, Cons(0, @f(%n - 1))) } }', 'Cons'],
  ['def @f(%n: int32) -> (int32, int32) {
  if (%n == 0) { (0, 0) } else { (%n, @f(%n - 1).0) } }', 'a projection'],
  ['def @f(%n: int32) -> int32 {
  let %go = fn (%i: int32) -> int32 {
    if (%i == 0) { 0 } else { %go(%i - 1) } };
  1 + %go(%n) }', 'tail'],
  ['def @f(%n: int32) -> List[int32] {
  let %go = fn (%i: int32) -> List[int32] {
    if (%i == 0) { Nil } else { Cons(%i, %go(%i - 1)) } };
  %go(%n) }', 'Cons'],
  ['def @f(%n: int32) -> bool {
  let %a = fn (%i: int32) -> bool { if (%i == 0) { True } else { %b(%i - 1) } }
  and %b = fn (%i: int32) -> bool {
    if (%i == 0) { False } else { %a(%i - 1) } };
  %a(%n) }', 'tail', 'tail'],
  ['def @f(%n: int32) -> int32 {
  let %again = fn () -> int32 { @f(%n - 1) };
  if (%n == 0) { 0 } else { 1 + %again() } }', 'inner'],
  ['def @f(%n: int32) -> Tensor[(?), float32] {
  if (%n == 0) { [1f] } else { @f(%n - 1) } }', 'tail'],
  ['def @f(%n: int32) -> int32 {
  match (if (%n == 0) { 0 } else { @f(%n - 1) }) { 0 => 0, _ => 1 } }',
   'a `match` of its value'],
);
my %said = (tail => 'a tail call, constant stack',
            cons => 'the last field of a result, constant stack',
            inner => 'a tail call of a `fn` that others call');
for my $row (@rows) {
  my ($program, @expected) = @$row;
  my $run = rly('check', '--tail-calls', spew($path, "$program\n"));
  my @lines = split /\n/, $run->{out};
  is(scalar @lines, scalar @expected, "as many calls: $program")
    or diag($run->{out}, $run->{err});
  for my $i (0 .. $#expected) {
    my $what = $said{$expected[$i]} // "a frame each, .*\Q$expected[$i]\E";
    like($lines[$i], qr/: [\@%]\w+ calls [\@%]\w+: $what/, $expected[$i]);
  }
  my $constant = !grep { !/^(tail|cons)$/ } @expected;
  my $deep = rly('run', '--max-depth', 100,
                 spew($path, "$program\n\@f(5000);\n"));
  is($deep->{status} == 0, $constant, 'and the run agrees')
    or diag($deep->{err});
}

# Places are those of the call, and of what waits.
my $placed = "def \@f(%n: int32) -> int32 {\n  1 +\n    \@f(%n)\n}\n";
gives(rly('check', '--tail-calls', spew($path, $placed)), 0,
      "$path:3:5: \@f calls \@f: a frame each, `add` waits (2:3)\n", '',
      'the places');
my ($calls, $ends) = map { json($_) } split /\n/,
    rly('check', '--json', '--tail-calls', $path)->{out};
is_deeply($calls->{tail_calls},
          [{file => $path, line => 3, column => 5, caller => '@f',
            callee => '@f', kind => 'frame',
            waits => {what => '`add`', line => 2, column => 3}}],
          'the same as JSON');
is($ends->{definitions}[0]{name}, '@f', '... which ends with the definitions');
gives(rly('check', '--tail-calls', spew($path, "def \@f() { 1 }\n\@f();\n")), 0,
      '', '', 'no recursion, nothing to say');
gives(rly('check', '--tail-calls', spew($path, "def \@f( { 1 }\n")), 1, '',
      qr/error/, 'a program that does not check');

done_testing;
