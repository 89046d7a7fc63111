#!/usr/bin/env perl
# The changes that docs/HACKING.md walks through, each kept as a patch in
# tests/guide/.  Each is applied to a copy of the tree.  The places that it
# touches beside its documentation and tests are counted, and the objects that
# make would compile for it alone; both are printed and bounded.  Then all are
# applied to one copy, which is built once, without optimisation, since rows of
# tables that most of the program includes compile most of it; the program does
# what each patch says.
#
# A patch begins with lines of the form `key: value`:
#   places: the most hunks outside docs/ and tests/
#   objects: the most objects that are compiled again, a number where one file
#            holds what changes, else percent of all: a tree grows
#   try: a command for the shell, in which `rly` is the program built
#   gives: a line that it prints; as many as there are lines
#   unit: a unit test that passes with it, and its arguments
use strict;
use warnings;
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
  system(q{(git ls-files -co --exclude-standard ':!tests/conformance'; find }
       . qq{build/$mode } . q{\( -name tests -o -name bench -o -name fuzz \) }
       . q{-prune -o -type f -print) | }
       . qq{tar cf - -T - 2>/dev/null | tar xf - -C $tree}) == 0
    or die "the tree cannot be copied\n";
  return $tree;
}

# The same by links, for tools that replace files and write none in place:
# patch, and make -n.
sub links_to {
  my ($tree) = @_;
  my $links = tempdir(CLEANUP => 1);
  system("cp -al $tree/. $links") == 0 or die "the copy cannot be linked\n";
  return $links;
}

# The head of a patch: key => [values].
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

sub applies {
  my ($tree, $patch, $what) = @_;
  my $how = '-p1 -s -F0 --no-backup-if-mismatch';
  is(system("patch -d $tree $how <$patch"), 0, $what);
  return;
}

# The objects that make would compile in a tree, or with -B all there are.
sub objects_to_compile {
  my ($tree, $flags) = (@_, '');
  my @said = `cd $tree && MAKELEVEL=0 make -n $flags MODE=$mode all 2>&1`;
  is($?, 0, 'make -n') or diag(@said);
  return scalar grep { /^echo "  cc  / } @said;
}

# Objects that were out of date before do not count.
delete $ENV{MAKEFLAGS};
is(system("MAKELEVEL=0 make -s MODE=$mode all >/dev/null"), 0, 'make');

my $guide = text_of('docs/HACKING.md');
my $all = copy_of_tree();
my $every = objects_to_compile('.', '-B');
my @patches = map { {name => s{.*/|\.patch$}{}gr, path => $_,
                     text => text_of($_), head_of(text_of($_))} }
  sort glob 'tests/guide/*.patch';
for my $patch (@patches) {
  my $name = $patch->{name};
  my $places = places_of($patch->{text});
  cmp_ok($places, '<=', $patch->{places}[0], "$name: places touched: $places");
  is(join("\n", missing_from_guide($patch->{text}, $guide)), '',
     "$name: the guide shows its lines");

  my $tree = links_to($all);
  applies($tree, $patch->{path}, "$name: applies");
  my $objects = objects_to_compile($tree);
  my ($most, $of) = $patch->{objects}[0] =~ /^(\d+)( percent)?$/ or die $name;
  cmp_ok($of ? 100 * $objects / $every : $objects, '<=', $most,
         "$name: objects compiled again: $objects of $every");
}
applies($all, $_->{path}, "$_->{name}: applies beside the others") for @patches;

# The tests that run make do so alone, so all cores are free.
chomp(my $cores = `nproc`);
my $make = "MAKELEVEL=0 make -j$cores MODE=$mode CFLAGS=-O0";
my $built = `cd $all && $make all 2>&1`;
is($?, 0, 'all of them build') or diag($built);

$ENV{PATH} = "$all/build/$mode:$ENV{PATH}";
for my $patch (@patches) {
  my $name = $patch->{name};
  is(join('', map { `cd $all && $_ 2>&1` } @{$patch->{try} // []}),
     join('', map { "$_\n" } @{$patch->{gives} // []}),
     "$name: does what it says");
  for my $command (@{$patch->{unit} // []}) {
    my $run = "build/$mode/tests/unit/$command";
    my ($unit) = $run =~ /^(\S+)/;
    my $said = `cd $all && ($make $unit && $run) 2>&1`;
    is($?, 0, "$name: $command") or diag($said);
  }
  for my $test (tests_of($patch->{text})) {
    my $said = `cd $all && rly test $test 2>&1`;
    is($?, 0, "$name: $test") or diag($said);
  }
}
done_testing();
