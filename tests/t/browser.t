#!/usr/bin/env perl
# Browser.pm: a test that dies leaves no browser, no server and no folder.
use strict;
use warnings;
use lib 'tests/t';
use Browser;
use Rly;
use Test::More;

plan skip_all => 'no chromium: make deps-browser' unless Browser::installed();
my ($page, $why) = Browser->try('about:blank', 800, 600);
plan skip_all => "chromium does not start here: $why" if !$page;
$page->quit;

# The command lines that name a folder, of the processes that are there.
sub processes {
  my ($folder) = @_;
  my @lines;
  for (glob '/proc/[0-9]*/cmdline') {
    open my $in, '<', $_ or next; # it has just ended
    my $line = <$in> // '';
    push @lines, $line if index($line, $folder) >= 0;
  }
  return @lines;
}

my $folder = scratch('folder');
mkdir $folder or die "$folder: $!\n";
sub dies_after {
  my ($begin) = @_;
  my $program = spew(scratch('dies.pl'), "use Browser;\n$begin\n"
                     . "sub last_words { die qq(over\\n) }\nlast_words();\n");
  return `TMPDIR=$folder $^X -Itests/t $program 2>&1`;
}
my @ways = ['a page', "my \$page = Browser->open('about:blank', 800, 600);"];
push @ways, ['the site', 'my ($page, $url) = Browser->visit(800, 600);']
  if -e 'build/web/rly.wasm';
for (@ways) {
  my ($name, $begin) = @$_;
  is(dies_after($begin), "over\n", "$name: a test that dies says why");
  isnt($?, 0, '... and fails');
  is(join("\n", processes($folder)), '', '... it leaves no browser');
  is(join(' ', glob "$folder/*"), '', '... and no folder');
}

done_testing();
