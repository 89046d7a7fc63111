#!/usr/bin/env perl
# Prints docs/relay.md anew: the names of its tables stay, and what the program
# says of each stands beside it.
#
#   perl docs/relay.pl PROGRAM docs/relay.md
use strict;
use warnings;
use JSON::PP;

my ($rly, $page) = @ARGV;
my (%runs, %counts);

# A name, an alias, or the dyn. spelling of one: the operator's name.
for my $op (@{decode_json(scalar `$rly ops --json`)}) {
  for my $name ($op->{name}, @{$op->{aliases}}) {
    $runs{$name} = $op->{name};
    $runs{"dyn.$name"} = $op->{name} if @{$op->{dyn}};
  }
}

sub said {
  my ($name) = @_;
  my $op = $runs{$name};
  return $op eq $name ? 'runs' : "runs, as `$op`" if $op;
  my ($why) = `$rly ops '$name' 2>&1` =~ /is not here: (.*)/;
  return defined $why ? "refused: $why" : 'not yet';
}

open my $in, '<', $page or die "$page: $!\n";
my $text = join '', map {
  s/^(\| `([^`]+)` \| [^|]* \| ).*/$1 . said($2) . ' |'/e;
  $_
} <$in>;
$counts{$_}++ for $text =~ /^\| `[^`]+` \| [^|]* \| (\w+)/mg;
my $all = 0;
$all += $_ for values %counts;
$counts{$_} //= 0 for qw(runs refused not);
my $sum = "Of $all names $counts{runs} run, $counts{refused} are refused and "
  . "$counts{not} are not here yet.";
$text =~ s{^Of \d+ names .*}{$sum}m;
print $text;
