#!/usr/bin/env perl
# Prints what include/rly.h declares as Markdown, for the book.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../../docs";
use Tables;

print "# The C API\n\nWhat `include/rly.h` declares. [EMBEDDING]",
      "(../docs/EMBEDDING.md) shows it at work.\n\n";
for my $d (declarations()) {
  my @names = map { /(\w+)\(/ ? $1 : /^(?:typedef )?(?:enum|struct) (\w+)/ ? $1
                                                            : () } @{$d->{code}};
  print "## $d->{heading}\n\n" if $d->{heading};
  print "### $names[0]\n\n" if @names;
  print "```c\n", (map { "$_\n" } @{$d->{code}}), "```\n\n" if @{$d->{code}};
  # A name with a star or an underscore would be taken for emphasis.
  print $d->{said} =~ s/([*_<])/\\$1/gr, "\n\n" if $d->{said} ne '';
}
