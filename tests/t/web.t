#!/usr/bin/env perl
# The program as WebAssembly: what it prints is what this build prints, over a
# sample of the suites and examples (`make test-web`: over all); how large the
# module is that a page begins with, and what it takes; how deep it nests; what
# it says of what a module has not.
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

# What no first program of a page calls is in the second module, with its data:
# the text that `explain` prints is nowhere in the first.
is(run('explain', 'E0207'), `$ENV{RLY} explain E0207 2>&1`,
   'a command of the second module');
is(system("grep -q 'dtypes differ' $module"), 256,
   'a text that only the second module shows is in it alone')
  or diag('split.mjs finds it within reach of the first');

# In bytes, as servers send the module; a page is to begin soon where the
# network is slow (docs/WEB.md).
sub packed {
  my ($with) = @_;
  chomp(my $size = `$with < $module | wc -c`);
  return $size;
}
cmp_ok(packed('gzip -9'), '<=', 450_000, 'the first module with gzip');
SKIP: {
  skip 'no brotli', 1 unless `brotli --version 2>/dev/null`;
  cmp_ok(packed('brotli -q 11 -w 24'), '<=', 400_000, '... with brotli');
}
my $begun = `node tests/web/begin.mjs $module 2>&1`;
note($begun);
like($begun, qr/^the second module was called for 0 times$/m,
     'the examples of the page need the first module alone');
# An engine counts this memory as used by each instance, and collects garbage
# for it: with 512 MB, a page's first run took twice the processor time.
my ($memory) = $begun =~ /^an instance begins with (\d+) bytes$/m;
cmp_ok($memory, '<', 8e6, 'an instance begins with little memory');

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
