#!/usr/bin/env perl
# A pass with a mistake, for `rly opt --exec 'plant.pl KIND [WRONG]'`: it rewrites
# what KIND looks for, from the start of the text on, RLY_REWRITES times at most.
# Each rewrite keeps the meaning but rewrite WRONG (from 1 on); without WRONG all
# of them are mistakes.  --sites says how many there are.
use strict;
use warnings;

my $term = qr/(?<![\w.%@])(?:%\w+(?:\.\d+)?|\d+(?:\.\d+)?f?)(?![\w.(])/;

# What a kind looks for, in the printer's text; what stands for it; and what a
# wrong rewrite puts there.
my %kinds = (
  number    => [qr/(?<=[-+*=<>] )(\d+)(?![\w.])/, sub { "($1)" },
                sub { '(' . ($1 + 1) . ')' }],
  plus      => [qr/($term) \+ ($term)/, sub { "($1 + $2)" },
                sub { "($1 - $2)" }],
  minus     => [qr/($term) - ($term)/, sub { "($1 - $2)" },
                sub { "($2 - $1)" }],
  times     => [qr/($term) \* ($term)/, sub { "($1 * $2)" },
                sub { "($1 + $2)" }],
  less      => [qr/($term) (<|>)=? ($term)/, sub { "($&)" },
                sub { "!($&)" }],
  equal     => [qr/($term) == ($term)/, sub { "($1 == $2)" },
                sub { "($1 != $2)" }],
  condition => [qr/\bif \(((?:[^()]|\([^()]*\))+)\) \{/,
                sub { "if (($1)) {" }, sub { "if (!($1)) {" }],
  write     => [qr/ref_write\((%\w+|@\w+), ([^(),;]+)\)/,
                sub { "ref_write($1, ($2))" }, sub { "()" }],
  print     => [qr/print\(([^();]*)\)/, sub { "(print($1))" }, sub { "()" }],
  pair      => [qr/(?<!\w)\(($term), ($term)\)/, sub { "(($1), ($2))" },
                sub { "(($2), ($1))" }],
  field     => [qr/(%\w+)\.0\b/, sub { "($1.0)" }, sub { "($1.1)" }],
  bool      => [qr/\b(True|False)\b/, sub { "($1)" }, sub { "(!$1)" }],
  max       => [qr/\bmax(imum)?\(/, sub { "max" . ($1 // '') . "(" },
                sub { "min" . ($1 // '') . "(" }],
  axis      => [qr/axis=\[?0\]?/, sub { $& }, sub { $& =~ s/0/1/r }],
);

my ($kind, $wrong) = grep { !/^--/ } @ARGV;
my ($look, $right, $plant) = @{$kinds{$kind} or die "no kind $kind\n"};
my $most = $ENV{RLY_REWRITES} // 1e9;
my $text = do { local $/; <STDIN> };
my $made = 0;
$text =~ s{$look}{
  $made++;
  $made > $most ? $& : !$wrong || $made == $wrong ? $plant->() : $right->()
}ge;
print grep({ $_ eq '--sites' } @ARGV) ? "$made\n" : $text;
