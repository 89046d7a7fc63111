#!/usr/bin/env perl
# docs/EMBEDDING.md: each program of the page is compiled as a stranger would,
# run, and prints what stands below it.  And what librly.so shows is what
# debian/librly0.symbols promises.
use strict;
use warnings;
use lib 'tests/t';
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Rly;
use Test::More;

my $build = abs_path(dirname($ENV{RLY}));
my $mode = $ENV{MODE} // 'release';
my $cc = $ENV{CC} // 'cc';
my %flags = (asan => '-fsanitize=address,undefined', cov => '--coverage');
my $flags = '-std=c11 -Wall -Wextra -Werror ' . ($flags{$mode} // '');
my $folder = scratch('folder');
mkdir $folder;

my ($section, $n, $code) = ('', 0);
for my $piece (slurp('docs/EMBEDDING.md') =~
               /^(## [^\n]*\n|```(?:c|text)\n.*?^```\n)/msg) {
  if ($piece =~ /^## (.*)/) {
    $section = $1;
  } elsif ($piece =~ /^```c\n(.*)^```/ms) {
    $code = spew(scratch('example.c'), $1);
  } elsif ($piece =~ /^```text\n(.*)^```/ms) {
    my ($expected, $program) = ($1, scratch('example'));
    my $said = `$cc $flags -Iinclude $code -L$build -lrly -lm -lpthread \\
      -o $program 2>&1`;
    is($said, '', "$section: compiles");
    $said = `cd $folder && LD_LIBRARY_PATH=$build $program 2>&1`;
    is($?, 0, 'runs');
    is($said, $expected, 'prints what the page says');
    $n++;
  }
}
cmp_ok($n, '>=', 7, 'the page has its programs');

SKIP: {
  skip "$mode shows other names, too", 1 if $flags{$mode} || $mode eq 'tsan';
  my @shown = map { / T (\w+)$/ ? $1 : () }
    split /\n/, `nm -D --defined-only $build/librly.so`;
  my @promised = slurp('debian/librly0.symbols') =~ /^ (\w+)\@/mg;
  is_deeply([sort @shown], [sort @promised],
            'librly.so shows what debian/librly0.symbols promises');
}

done_testing();
