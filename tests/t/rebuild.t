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

# What make says that it would do.
sub said {
  my @said = `make -n MODE=$mode @_ 2>&1`;
  is($?, 0, "make -n @_") or diag(@said);
  return @said;
}

# The sources that it would compile.
sub sources { return map { /^echo "  cc +(.*)"$/ ? $1 : () } @_ }
sub compiled { return sources(said(@_, 'all', 'lib', 'units')) }

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

# Other flags of the linker alone, which $links has, link again.
my $links = "build/$mode/links";
my @said = said('-W', $links, 'all', 'lib', 'units');
is_deeply([grep { !$anyway{$_} } sources(@said)], [],
          "the linker's flags compile nothing");
like(join('', @said), qr/^echo "  link  \Q$_\E"$/m, "... and link $_")
  for "build/$mode/rly", "build/$mode/librly.so";
ok((grep { m{ -o build/$mode/tests/unit/api_test$} } @said),
   '... and a unit test');
open my $flags, '<', $links or die "$links: $!\n";
like(scalar <$flags>, qr/ -lm\b/, 'they are what is kept');

# A program with settings of its own leaves those of the others as they are.
my @edit = grep { !$anyway{$_} } sources(said("build/$mode/rly-libedit"));
is_deeply([grep { !/ \(libedit\)$/ } @edit], [],
          'the program with libedit compiles only what differs');

done_testing();
