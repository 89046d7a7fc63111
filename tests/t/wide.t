#!/usr/bin/env perl
# Functions that hold more values at a time than operands of instructions can
# name (bytecode/lower/spill.c).  The answers are sums of arithmetic series.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $slow = ($ENV{MODE} // '') =~ /asan|tsan/;
my $n = $slow ? 6_000 : 70_000;
my $sum = $n * ($n - 1) / 2; # 0 + 1 + ... + (n - 1)

sub each_of { my ($f) = @_; return map { $f->($_) } 0 .. $n - 1 }
sub lets { my ($f) = @_; return join '', each_of($f) }
sub sum_of { my ($name) = @_; return join ' + ', each_of(sub { "$name$_[0]" }) }
my $vars = sub { "let %v$_[0] = %x + $_[0]i64;\n" };

# An opaque function: it is not inlined, and may fail.
my $next = "def \@next(%x: int64) -> int64 {\n"
    . "  if (%x < 0i64) { fail(message=\"below\") } else { %x + 1i64 } }\n";

my @programs = (
  ['scalars in scope', 'def @f(%x: int64) -> int64 {' . lets($vars)
     . sum_of('%v') . " }\n\@f(1i64)", $n + $sum . 'i64'],
  ['tensors in scope', 'def @f(%x: Tensor[(2), int64]) {'
     . lets($vars) . sum_of('%v') . " }\n\@f([1i64, 2i64])",
   'Tensor[(2), int64] [' . ($n + $sum) . ', ' . (2 * $n + $sum) . ']'],
  ['a tuple of calls', $next . 'def @f(%x: int64) { ('
     . join(', ', each_of(sub { "\@next(%x + $_[0]i64)" }))
     . ") }\nlet %t = \@f(1i64);\n(%t.0, %t." . ($n - 1) . ')',
   '(2i64, ' . ($n + 1) . 'i64)'],
  ['a pattern of many variables', 'type W { W('
     . join(', ', each_of(sub { 'int64' })) . ") }\ndef \@f(%x: int64) { W("
     . join(', ', each_of(sub { "%x + $_[0]i64" }))
     . ") }\ndef \@s(%w: W) { match (%w) { W("
     . join(', ', each_of(sub { "%v$_[0]" })) . ') => ' . sum_of('%v')
     . " } }\n\@s(\@f(1i64))", $n + $sum . 'i64'],
  ['calls within calls', $next . "def \@add(%x: int64, %y: int64) -> int64 {\n"
     . " if (%x < 0i64) { 0i64 } else { %x + %y } }\ndef \@f(%x: int64) {"
     . join('', each_of(sub { "\@add(\@next(%x + $_[0]i64), " })) . '0i64'
     . ')' x $n . " }\n\@f(1i64)", 2 * $n + $sum . 'i64'],
  ['constructors within constructors', $next
     . 'def @f(%x: int64) -> List[int64] {'
     . join('', each_of(sub { "Cons(\@next(%x + $_[0]i64), " })) . 'Nil'
     . ')' x $n . " }\n\@foldl(fn (%a: int64, %b: int64) { %a + %b }, 0i64, "
     . '@f(1i64))', 2 * $n + $sum . 'i64'],
  ['a closure over many', 'def @f(%x: int64) {' . lets($vars)
     . "let %g = fn (%y: int64) -> int64 { if (%y > 9i64) { %y + "
     . sum_of('%v') . " } else { %g(%y * 2i64) + 0i64 } };\n%g }\n"
     . "let \@h = \@f(1i64);\n(\@h(3i64), \@h(10i64))",
   '(' . ($n + $sum + 12) . 'i64, ' . ($n + $sum + 10) . 'i64)'],
  ['operands of an operator', 'def @f(%x: Tensor[(2), int64]) { concatenate(('
     . join(', ', each_of(sub { "%x + $_[0]i64" }))
     . ")) }\nsum(\@f([1i64, 2i64]))", 3 * $n + 2 * $sum . 'i64'],
  ['a loop', 'def @f(%k: int32, %x: int64) -> int64 { if (%k == 0) { %x } '
     . 'else {' . lets($vars) . '@f(%k - 1, mod(' . sum_of('%v')
     . ", 1000i64)) } }\n\@f(3, 1i64)",
   do { my $x = 1; $x = ($n * $x + $sum) % 1000 for 1 .. 3; "${x}i64" }],
  ['branches', 'def @f(%x: int64) -> int64 {'
     . lets(sub { "let %v$_[0] = if (%x > $_[0]i64) { %x } else "
                    . "{ $_[0]i64 };\n" })
     . sum_of('%v') . " }\n\@f(7i64)", $sum + 28 . 'i64'],
);
for (@programs) {
  my ($name, $text, $value) = @$_;
  my $run = rly('run', spew(scratch('wide.rly'), "$text;\n"));
  gives($run, 0, "$value\n", '', $name);
}

# --- Beside values ------------------------------------------------------------

# What fails in the middle drops what was held, once.
my $failing = $next . 'def @f(%x: int64) {' . lets(sub {
  "let %v$_[0] = Cons(\@next(%x - $_[0]i64), Nil);\n" })
    . 'List[' . join(', ', each_of(sub { "%v$_[0]" })) . "] }\n\@f(4000i64);\n";
gives(rly('run', spew(scratch('wide.rly'), $failing)), 2, '',
      qr/error\[E\d+\]: below/, 'an error in the middle');

# The sum over i of x * i * x has the derivative 2 * x * (0 + 1 + ...).
my $few = 5_000;
my $squares = 'def @f(%x: float64) -> float64 {'
    . join('', map { "let %v$_ = %x * $_.0f64;\n" } 0 .. $few - 1)
    . join(' + ', map { "%v$_ * %x" } 0 .. $few - 1) . " }\n";
gives(rly('run', spew(scratch('wide.rly'), $squares
                       . "grad(\@f)(2.0f64);\n")),
      0, '(' . 2 * $few * ($few - 1) . 'f64, (' . 2 * $few * ($few - 1)
         . "f64,))\n", '', 'a derivative');

done_testing();
