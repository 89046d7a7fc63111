#!/usr/bin/env perl
# docs/relay.md says of each operator of Relay what the program says.
#
# The page is read by people who want to know before they move a model whether
# it will run.  A row that promises too much costs them the work, one that
# promises too little the model; so each is asked of the program anew.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $page = slurp('docs/relay.md');
my @names = $page =~ /^\| `([^`]+)` \|/mg;
cmp_ok(scalar @names, '>', 300, 'there are names');
is_deeply([sort @names], \@names, 'in order, ' . @names . ' of them');

my $anew = `perl docs/relay.pl $ENV{RLY} docs/relay.md`;
is($anew, $page, 'the page says what the program does: `make docs` writes it');

# No row of refused.def is about an operator that is here.
my $rows = slurp('ops/refused.def') =~ s/^\/\*.*?\*\///sr;
my @listed = map { split ' ' } map { s/"\s*"//gr }
  $rows =~ /REFUSED\(("[^"]*"(?:\s*"[^"]*")*),/g;
s/"//g for @listed;
my %refused = map { $_ => 1 } $page =~ /^\| `([^`]+)` \| [^|]* \| refused/mg;
is_deeply([sort @listed], [sort keys %refused], 'refused.def and the page');

# What is refused, the checker refuses by name and with the same reason.
my @refused = $page =~ /^(\| `[^`]+` \| [^|]* \| refused: .*) \|$/mg;
for (@refused) {
  my ($name, $why) = /`([^`]+)`.* refused: (.*)/;
  my $run = rly('-e', "$name(1)");
  is($run->{status}, 1, "$name is refused");
  like($run->{err}, qr/Relay's operator `\Q$name\E` is not here.*\Q$why\E/s,
       'with its reason');
}

done_testing;
