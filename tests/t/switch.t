#!/usr/bin/env perl
# Calls on other stacks, in each way that base/switch.h has: by our own
# instructions for x86-64 and for 64-bit ARM, and by the contexts of POSIX; with
# the compilers, C libraries and emulators that are there.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $sources = join ' ', 'tests/switch/switch.c',
              glob 'base/{stack,switch_*,system_*}.c';
my $flags = '-std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE= -I. -lm';

sub there { return !system "command -v $_[0] >/dev/null 2>&1" }

# The command that compiles, what runs the program, and what it is.
my @ways = (
  ['gcc -O2', '', 'gcc'],
  ['gcc -O0', '', 'gcc without optimisation'],
  ['gcc -O2 -DSWITCH_BY_UCONTEXT=1', '', 'the contexts of POSIX'],
  ['gcc -O1 -fsanitize=address,undefined', '', 'the address sanitizer'],
  ['gcc -O2 -fcf-protection -fstack-clash-protection', '', 'hardening'],
  ['clang -O2', '', 'clang'],
  ['clang -O2 -DSWITCH_BY_UCONTEXT=1', '', 'clang, with contexts'],
  ['musl-gcc -O2 -DNO_UNWINDER', '', 'musl'],
  ['aarch64-linux-gnu-gcc -O2 -static', 'qemu-aarch64', '64-bit ARM'],
  ['aarch64-linux-gnu-gcc -O2 -static -mbranch-protection=standard',
   'qemu-aarch64', '64-bit ARM, with branch protection'],
  ['aarch64-linux-gnu-gcc -O2 -static -DSWITCH_BY_UCONTEXT=1', 'qemu-aarch64',
   '64-bit ARM, with contexts'],
);

for my $way (@ways) {
  my ($compile, $run, $name) = @$way;
  my ($compiler) = split / /, $compile;
  SKIP: {
    skip "no $compiler", 2 unless there($compiler);
    my $program = scratch('switch');
    my $said = `$compile $sources $flags -o $program 2>&1`;
    is($said, '', "$name: compiles");
    skip "no $run", 1 if $run && !there($run);
    $said = `ASAN_OPTIONS=exitcode=99 $run $program 2>&1`;
    is("$? $said", '0 ', '... and calls on other stacks');
  }
}

done_testing();
