#!/usr/bin/env perl
# How many objects an edit compiles again: of the program, its libraries and
# the unit tests.  `make -n -W FILE` tells what make would do if FILE were
# changed now; the identifiers of a table (build/MODE/gen/*.ids) are written all
# the same, and are the same as long as no row comes, goes or moves.
#
# Tables are included almost everywhere, so a dependency that is a little too
# wide makes each edit of a row compile the whole program: nothing is wrong
# then, only every day is slower.  Counting is done without compiling, and what
# was out of date before is taken off, so that the numbers are of the edit
# alone.
use strict;
use warnings;
use Test::More;

my $mode = $ENV{MODE} // 'release';
delete $ENV{MAKEFLAGS};
$ENV{MAKELEVEL} = 0;

# The sources that make would compile.
sub compiled {
  my @said = `make -n MODE=$mode @_ all lib units 2>&1`;
  is($?, 0, "make -n @_") or diag(@said);
  return map { /^echo "  cc +(.*)"$/ ? $1 : () } @said;
}

# Objects that were out of date before do not count.
my %anyway = map { $_ => 1 } compiled();

sub bounded {
  my ($most, $file, $what) = @_;
  my @again = grep { !$anyway{$_} } compiled('-W', $file);
  cmp_ok(scalar @again, '<=', $most, "$what compiles " . @again)
    or diag(join ' ', @again);
  cmp_ok(scalar @again, '>=', 1, "$file is compiled into something");
}

bounded(15, 'ops/ops.def', "an operator's text");
bounded(5, 'ops/rules/reduce.c', "a typing rule's text");
bounded(15, 'base/diag.def', "a diagnostic's title");
bounded(15, 'bytecode/code.def', "an instruction's meaning");
bounded(5, $_, "an edit of $_")
  for glob 'kernels/*.c kernels/drive/*.c kernels/ref/*.c kernels/ref/*.def
            kernels/simd/*.c';

done_testing();
