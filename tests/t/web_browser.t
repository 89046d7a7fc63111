#!/usr/bin/env perl
# The module of `make web` in a browser: what it prints and writes is what this
# build prints and writes, over a sample of the suites and examples (`make
# test-browser`: over all).  tests/t/web.t does so under node.
use strict;
use warnings;
use lib 'tests/t';
use Browser;
use Rly;
use Test::More;

plan skip_all => 'no node' unless `node --version 2>/dev/null`;
my ($page, $why) = Browser->visit(800, 600);
plan skip_all => $why if !$page;
$page->quit;

my $said = `node tests/web/agree.mjs $ENV{RLY} chromium --one-in 250`;
is($?, 0, 'the same bytes as of this build') or diag($said);
like($said, qr/^\d{2,} comparisons of \d+ programs, 0 differences,/m,
     'at least ten comparisons, and no difference');
done_testing();
