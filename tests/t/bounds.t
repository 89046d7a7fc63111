#!/usr/bin/env perl
# The fixed limits of base/limits.def: what is at one is taken, and what is one
# beyond it is refused with the code of its row. docs/RELIABILITY.md shows the
# rows as they are.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my (%limit, @rows);
my $defined = slurp('base/limits.def');
my $words = qr/((?:"[^"]*"\s*)+)/;
while ($defined =~ /^LIMIT\((\w+), ([\d< ]+), "(\w*)",\s*$words\)/mg) {
  my ($name, $most, $code, $what) = ($1, $2, $3, $4);
  $what =~ s/"\s*"//g;
  $what =~ s/^"|"\s*$//g;
  $most = $1 << $2 if $most =~ /(\d+) << (\d+)/;
  $limit{$name} = {most => $most, code => $code};
  1 while $most =~ s/^(\d+)(\d{3})/$1,$2/;
  push @rows, "| $most | $what | $code |\n";
}
is(scalar @rows, scalar(() = $defined =~ /^LIMIT/mg), 'every row is read');
ok(index(slurp('docs/RELIABILITY.md'), join '', @rows) > 0,
   'docs/RELIABILITY.md has the table')
  or diag @rows;

# --- At each, and one beyond it ---------------------------------------------

# A program with n of them.
sub types { return join ', ', map { "A$_" } 1 .. $_[0] }

my %program = (
  ALIAS_DEPTH_MAX => sub {
    join('', map { "type A$_ = A" . ($_ + 1) . ";\n" } 1 .. $_[0] - 1)
      . "type A$_[0] = int32;\ndef \@f(%x: A1) { %x }\n\@f(1)" },
  # An alias, a tuple of fields, and as many fields as are left.
  ALIAS_PARTS_MAX => sub {
    'type A = (' . join(', ', ('int32') x ($_[0] - 2))
      . ");\ndef \@f(%x: A) { %x }" },
  RANK_MAX => sub {
    'def @f(%x: Tensor[(' . '1, ' x $_[0] . "), int32]) { 1 }\n1" },
  # One for each combination of ranks, which are the digits of a number.
  INSTANCES_MAX => sub {
    join('', 'def @f[', join(', ', map { "s$_: Shape" } 0 .. 4), '](',
         join(', ', map { "%x$_: Tensor[s$_, int32]" } 0 .. 4),
         ") -> Tensor[s0, int32] { %x0 }\n",
         (map { "let \@r$_ = ones(shape=[" . '1, ' x $_
                  . "], dtype=\"int32\");\n" } 0 .. 8),
         map { my $n = $_;
               '@f(' . join(', ', map { '@r' . int($n / 9 ** $_) % 9 } 0 .. 4)
                 . ");\n" } 0 .. $_[0] - 1) },
  CTORS_MAX => sub {
    'type T { ' . join(', ', map { "C$_" } 1 .. $_[0])
      . " }\nmatch? (C1) { C$_[0] => 1, C1 => 2 }" },
  ALTERNATIVES_MAX => sub {
    'match ((1, 2)) { (' . join(' | ', 1 .. $_[0]) . ", _) => 1, _ => 2 }" },
  TYPE_PARAMS_MAX => sub {
    my ($n) = @_;
    my $type = 'fn [' . types($n) . '](' . types($n) . ') -> A1';
    my $params = join ', ', map { "%x$_: A$_" } 1 .. $n;
    'def @use(%g: ' . $type . ') { %g(' . join(', ', 1 .. $n) . ") }\n"
      . '@use(fn [' . types($n) . "]($params) -> A1 { %x1 })" },
);
for my $name (sort keys %program) {
  my ($n, $code) = @{$limit{$name}}{qw(most code)};
  # What is too large for code is found when it is made.
  my @command = $code eq 'E0705' ? 'run'
              : $code eq 'E0508' ? ('fmt', '--relay') : 'check';
  my $fine = rly(@command, spew(scratch("$name.rly"), $program{$name}->($n)));
  is($fine->{status}, 0, "$name: $n are taken")
    or diag substr $fine->{err}, 0, 400;
  my $more = rly(@command,
                 spew(scratch("$name.rly"), $program{$name}->($n + 1)));
  like($more->{err}, qr/error\[$code\]/, '... and one more is not');
}

done_testing();
