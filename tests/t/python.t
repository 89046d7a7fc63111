#!/usr/bin/env perl
# The Python package: its own tests under pytest, against the build's library,
# and the wheel, which must work with nothing of this tree in sight.
#
# They are for the system's python3, since Debian's packages of numpy, cffi and
# pytest are its; `make deps-python` installs them.
use strict;
use warnings;
use lib 'tests/t';
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Rly;
use Test::More;

my $build = abs_path(dirname($ENV{RLY}));
my $mode = $ENV{MODE} // 'release';
plan skip_all => "python3 runs without $mode"
  if $mode eq 'asan' || $mode eq 'tsan';
my ($python) = grep { -x } '/usr/bin/python3', '/usr/local/bin/python3';
plan skip_all => 'no python3' unless $python;
plan skip_all => 'no numpy, cffi or pytest: make deps-python'
  if system "$python -c 'import numpy, cffi, pytest' 2>/dev/null";

# A test with signals wants a process group of its own.
my $pytest = "$python -B -m pytest -q -p no:cacheprovider";
my $said = `cd python && RLY_LIBRARY=$build/librly.so PYTHONPATH=. \\
  setsid $pytest tests 2>&1 </dev/null`;
my $status = $?;
my ($passed) = $said =~ /^(\d+) passed/m;
ok($status == 0, 'pytest passes') or diag($said);
cmp_ok($passed // 0, '>=', 20, 'and ran the tests');

# --- Types --------------------------------------------------------------------

# The stub against what the package has, and programs against the stub.
SKIP: {
  skip 'no mypy: make deps-python', 3
    if system "$python -c 'import mypy, typing_extensions' 2>/dev/null";
  my $cache = scratch('mypy');
  my $mypy = "-m mypy --config-file mypy.ini --cache-dir $cache";
  for my $what ('rly', '--strict tests/typed.py') {
    $said = `cd python && MYPYPATH=. $python -B $mypy $what 2>&1`;
    like($said, qr/^Success/, "mypy $what") or diag($said);
  }
  $said = `cd python && RLY_LIBRARY=$build/librly.so PYTHONPATH=. \\
    $python -B -m mypy.stubtest rly --mypy-config-file mypy.ini \\
    --ignore-missing-stub --allowlist tests/stubtest.allow \\
    --ignore-unused-allowlist 2>&1`;
  is($?, 0, 'the stub is what the package has') or diag($said);
}

# --- The wheel ----------------------------------------------------------------

my ($version) = slurp('base/version.h') =~ /"(.*)"/;
my $folder = scratch('wheel');
mkdir $folder;
my $packing = "$python python/wheel $build/librly.so $version $folder";
chomp(my $wheel = `$packing 2>&1`);
like($wheel, qr/rly-\Q$version\E-py3-none-linux_\w+\.whl$/, 'a wheel');
mkdir "$folder/site";
system "$python -m zipfile -e $wheel $folder/site";
$said = `cd / && env -u RLY_LIBRARY PYTHONPATH=$folder/site $python -B -c '
import rly
print(rly.__version__, rly.program("def \@main() { 6 * 7 }").main())
import rly._library as l
print(l.LIBRARY.startswith("$folder"), l.HEADER.startswith("$folder"))' 2>&1`;
is($said, "$version 42\nTrue True\n", 'it has all it needs in itself');
cmp_ok(-s $wheel, '<', 10e6, 'in less than 10 MB');

done_testing();
