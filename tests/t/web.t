#!/usr/bin/env perl
# The program as WebAssembly: what it prints is what this build prints, over a
# sample of the suites and examples (`make test-web`: over all); how deep it
# nests; what it says of what a module has not.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $module = 'build/wasm/rly.wasm';
plan skip_all => 'no node' unless `node --version 2>/dev/null`;
plan skip_all => "no $module: make deps-web web-core" unless -e $module;

sub run { return `node web/host/rly.mjs $module @_ 2>&1` }

my $said = `node tests/web/agree.mjs $ENV{RLY} $module --one-in 50`;
is($?, 0, 'the same bytes as of this build') or diag($said);
like($said, qr/^\d{3,} comparisons of \d+ programs, 0 differences$/m,
     'so many were compared');

# 20,000 levels are more than any stack of a thread has by itself.
my $deep = spew(scratch('deep.rly'), '(' x 20_000 . '1' . ')' x 20_000 . ";\n");
is(run('run', $deep), "1\n", 'deep nesting');
my $deeper = spew(scratch('deeper.rly'),
                  '(' x 3_000_000 . '1' . ')' x 3_000_000 . ";\n");
is(run('check', $deeper), `$ENV{RLY} check $deeper 2>&1`,
   'deeper nesting, or the same words about it');

like(run('run', '--timeout', '1', $deep), qr/E0703/,
     'a deadline that nobody could watch is over at once');
is(run('--version'), `$ENV{RLY} --version`, 'the version');
done_testing();
