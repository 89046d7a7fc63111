#!/usr/bin/env perl
# The changes that docs/HACKING.md walks through, each kept as a patch in
# tests/guide/.  A patch is applied to a copy of the tree, which is built on
# top of today's objects; then the program does what the patch says.  The
# places that a change touches beside its documentation and tests, and the
# objects that are compiled again, are counted, printed and bounded.
#
# A patch begins with lines of the form `key: value`:
#   places: the most hunks outside docs/ and tests/
#   objects: the most objects that are compiled again
#   try: a command for the shell, in which `rly` is the program built
#   gives: a line that it prints; as many as there are lines
use strict;
use warnings;
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Test::More;

my $mode = $ENV{MODE} // 'release';
plan skip_all => 'only the release build is patched' if $mode ne 'release';
plan skip_all => 'needs git, to know the files of the tree'
  if system('git rev-parse --is-inside-work-tree >/dev/null 2>&1') != 0;

sub text_of {
  my ($path) = @_;
  open my $in, '<:encoding(UTF-8)', $path or die "$path: $!\n";
  local $/;
  return scalar <$in>;
}

# A copy of the files that git knows and of what the program is built from,
# with their times, so that make compiles no more than it would here.
sub copy_of_tree {
  my $tree = tempdir(CLEANUP => 1);
  system(qq{(git ls-files -co --exclude-standard; find build/$mode }
       . q{\( -name tests -o -name bench -o -name fuzz \) -prune -o -type f }
       . qq{-print) | tar cf - -T - 2>/dev/null | tar xf - -C $tree}) == 0
    or die "the tree cannot be copied\n";
  return $tree;
}

# What the head of a patch says: key => [values].
sub head_of {
  my ($text) = @_;
  my %head;
  for (split /\n/, $text) {
    last if /^--- /;
    push @{$head{$1}}, $2 if /^(\w+): (.*)/;
  }
  return %head;
}

sub places_of {
  my ($text) = @_;
  my ($file, $places) = ('', 0);
  for (split /\n/, $text) {
    $file = $1 if m{^\+\+\+ b/(\S+)};
    $places++ if /^@@ / && $file !~ m{^(?:docs|tests)/};
  }
  return $places;
}

# The test files that a patch adds for `rly test`.
sub tests_of { return $_[0] =~ m{^\+\+\+ b/(\S+\.rly)$}mg }

# The lines of code that a patch adds outside docs/ and tests/ stand in the
# guide as well, blanks and comments aside.
sub missing_from_guide {
  my ($text, $guide) = @_;
  my ($file, @missing) = ('');
  for (split /\n/, $text) {
    $file = $1 if m{^\+\+\+ b/(\S+)};
    next if !/^\+(?!\+\+ )\s*(\S.*?)\s*$/ || $file =~ m{^(?:docs|tests)/};
    push @missing, $1 if index($guide, $1) < 0;
  }
  return @missing;
}

my $guide = text_of('docs/HACKING.md');
for my $patch (sort glob 'tests/guide/*.patch') {
  my ($name) = $patch =~ m{([^/]+)\.patch$};
  my $text = text_of($patch);
  my %head = head_of($text);
  my $places = places_of($text);
  cmp_ok($places, '<=', $head{places}[0], "$name: places touched: $places");
  is(join("\n", missing_from_guide($text, $guide)), '',
     "$name: the guide shows its lines");

  my $tree = copy_of_tree();
  my $how = '-p1 -s -F0 --no-backup-if-mismatch';
  is(system("patch -d $tree $how <$patch"), 0, "$name: applies");
  my $built = `cd $tree && MAKELEVEL=0 make MODE=$mode build/$mode/rly 2>&1`;
  is($?, 0, "$name: builds") or diag($built);
  my $objects = () = $built =~ /^  cc  /mg;
  cmp_ok($objects, '<=', $head{objects}[0],
         "$name: objects compiled again: $objects");

  local $ENV{PATH} = "$tree/build/$mode:$ENV{PATH}";
  is(join('', map { `cd $tree && $_ 2>&1` } @{$head{try} // []}),
     join('', map { "$_\n" } @{$head{gives} // []}),
     "$name: does what it says");
  for my $test (tests_of($text)) {
    my $said = `cd $tree && rly test $test 2>&1`;
    is($?, 0, "$name: $test") or diag($said);
  }
}
done_testing();
