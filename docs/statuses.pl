#!/usr/bin/env perl
# What the functions of rly.h may give beside RLY_OK, from their comments:
#
#   perl docs/statuses.pl docs/EMBEDDING.md    prints the page with its table anew
#   perl docs/statuses.pl --checks             prints a header for tests, which
#                                              aborts where a function gives
#                                              what its comment does not list
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Tables;

my @names = qw(refused runtime limit interrupted incomplete misuse);

sub table {
  my $text = "| function | " . join(' | ', @names) . " |\n";
  $text .= '|---' . '|:-:' x @names . "|\n";
  for my $f (statuses()) {
    my %gives = map { ($_ => 1) } @{$f->{gives}};
    $text .= "| `$f->{name}` | " .
      join(' | ', map { $gives{$_} ? 'x' : '' } @names) . " |\n";
  }
  return $text =~ s/ +(?=\|)/ /gr;
}

# A macro of a function's own name, within which the name is the function's.
sub checks {
  my $text = <<'END';
/* Made by docs/statuses.pl: calls that look at what they are given. */
#include <stdio.h>
#include <stdlib.h>

#include "include/rly.h"

static inline rly_status status_listed(const char *name, unsigned gives,
                                       rly_status status) {
  if (status == RLY_OK || gives >> status & 1) return status;
  fprintf(stderr, "%s gave %s, which rly.h does not list\n", name,
          rly_status_name(status));
  abort();
}
END
  for my $f (statuses()) {
    my $set = join ' | ', map { "1u << RLY_\U$_" } @{$f->{gives}};
    $text .= "#define $f->{name}(...) \\\n  status_listed(\"$f->{name}\", $set, " .
      "\\\n                $f->{name}(__VA_ARGS__))\n";
  }
  return $text;
}

if ($ARGV[0] eq '--checks') {
  print checks();
} else {
  my $page = slurp($ARGV[0]);
  my $table = table();
  $page =~ s{^\| function \|.*\n(?:\|.*\n)*}{$table}m
    or die "$ARGV[0]: there is no table of functions\n";
  print $page;
}
