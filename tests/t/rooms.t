#!/usr/bin/env perl
# Calls between rooms, from the symbols that nm lists.  Each goes to a room that
# tests/Rooms.pm allows; neither rooms nor the files of lib/ call in a circle;
# no function is visible that no other file uses; and what starts programs or
# loads code is named where users look for it.
#
# tests/lint checks what is included, but a function can be called through a
# declaration written by hand, and an include does not say that anything is
# called.  Symbols in the objects cannot be argued with.  The last rule keeps
# files from growing doors that nobody uses: what is only called at home is
# static.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/..";
use File::Find;
use Rooms;
use Test::More;

my $build = 'build/' . ($ENV{MODE} // 'release');

# The source that an object was made of; none: it is left over from a file that
# was moved.
sub source_of {
  my ($object) = @_;
  my $stem = $object =~ s{^\Q$build\E/(?:gen/)?}{}r =~ s{\.o$}{}r;
  return if $stem =~ m{^kernels/simd/\w+$};
  $stem =~ s{^(kernels/simd)/\w+/}{$1/};
  my ($source) = grep { -f } map { "$stem.$_" } qw(c re y);
  return $source if $source;
  return $stem eq 'stdlib/library' ? $stem : undef;
}

my (@objects, %source);
find({no_chdir => 1, wanted => sub {
  return unless /\.o$/ && !m{^\Q$build\E/(?:tests|bench|fuzz)/};
  return if m{/stdlib/embed\.o$};
  my $source = source_of($_) or return;
  push @objects, $_;
  $source{$_} = $source;
}}, $build);

# Symbols by file: those defined for others, those needed of others.
sub symbols {
  my (%defined, %needs);
  open my $nm, '-|', 'nm', '-A', @_ or die "nm: $!\n";
  while (<$nm>) {
    my ($object, $symbol) = /^([^:]+):(.*)$/ or next;
    $defined{$1} = $source{$object} if $symbol =~ /^\S+ [TDBRV] (\S+)$/;
    $needs{$source{$object}}{$1} = 1 if $symbol =~ /^ +U (\S+)$/;
  }
  close $nm;
  return (\%defined, \%needs);
}

sub room { return $_[0] =~ m{^(\w+)/} ? $1 : '' }

my ($defined, $needs) = symbols(sort @objects);
my (%rooms, %files, @refused, %used);
for my $file (sort keys %$needs) {
  for my $symbol (sort keys %{$needs->{$file}}) {
    my $there = $defined->{$symbol} // next;
    next if $there eq $file;
    $used{$symbol} = 1;
    my ($from, $to) = (room($file), room($there));
    $files{$from}{$file}{$there} = 1 if $from eq $to;
    next if $from eq $to;
    $rooms{$from}{$to} = 1;
    push @refused, "$file calls $symbol of $there"
      unless $may_use{$from} && $may_use{$from}{$to};
  }
}

cmp_ok(scalar @objects, '>', 200, 'the objects of the build are there');
is(join("\n", @refused), '', 'a room calls only those below it');
is_deeply([room_circles(\%rooms)], [], 'rooms call in no circle');
is_deeply([room_circles($files{lib})], [], 'nor do the files of lib/');
is_deeply([room_circles({a => {b => 1}, b => {c => 1}, c => {a => 1, d => 1},
                         e => {a => 1}})],
          ['a b c'], 'a circle is found');

# What tests, fuzzers and figures use shows in their texts; passes.def and
# commands.def name functions, some of which are defined where their rows are.
my $texts = '';
for (glob '{tests/unit,tests/lanes,tests/ulp,tests/late,fuzz,bench}/*.[ch]') {
  open my $in, '<', $_ or die "$_: $!\n";
  local $/;
  $texts .= <$in>;
}
my @unused = grep { !$used{$_} && !/^(?:__|rly_|lemon_|pass_|command_|main$)/ &&
                    $texts !~ /\b\Q$_\E\b/ } sort keys %$defined;
is(join(' ', @unused), '', 'every function that others see is used by others');

# What starts another program or loads code stands in SECURITY.md.
my @calls = qw(fork vfork execl execle execlp execv execve execvp execvpe
               fexecve posix_spawn posix_spawnp system popen dlopen);
my ($security) = do { local (@ARGV, $/) = 'SECURITY.md'; <> };
my @starting = grep { my $file = $_; grep { $needs->{$file}{$_} } @calls }
  sort keys %$needs;
cmp_ok(scalar @starting, '>', 5, 'some files start programs or load code');
is(join(' ', grep { $security !~ /`\Q$_\E`/ } @starting), '',
   '... and SECURITY.md names each');

# Circles of files within a room: a recursive descent is one, so they may be.
for my $room (sort keys %files) {
  note("$room: ", scalar split, ' files in a circle: ', $_)
    for room_circles($files{$room});
}

done_testing();
