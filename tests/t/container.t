#!/usr/bin/env perl
# Containerfile, as far as it can be tested without podman: the make targets
# that it names are there, and the packages of its second stage hold every
# library that the program is linked with or loads.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $file = slurp('Containerfile') =~ s/^#.*\n//mgr =~ s/\\\n//gr;
my $makefile = slurp('Makefile') . slurp('install.mk');
my %target = map { $_ => 1 } $makefile =~ /^([a-z-]+):/mg;
my ($first, $second) = $file =~ /^(FROM .*?)^(FROM .*)\z/ms;
for my $words ($first =~ /\bmake ((?:[\w-]+(?:=\S+)? ?)+)(?:&&|$)/mg) {
  ok($target{$_}, "make $_ is there") for grep { !/=/ } split ' ', $words;
}
my ($folder) = $first =~ /DESTDIR=(\S+)/;
like($second, qr/^COPY --from=build \Q$folder\E\/ \/$/m,
     'what is installed is what is taken over');
my ($line) = $second =~ /--no-install-recommends ([^&]*)/;
my %has = map { $_ => 1 } split ' ', $line;

# The packages that have a file of the library's name: /lib and /usr/lib are one
# folder, and cross compilers have files of the same names.
sub packages_of {
  my ($name) = $_[0] =~ m{([^/]+)$};
  return `dpkg -S '*/$name' 2>/dev/null` =~ /^([^:\s]+):/mg;
}

# Names of packages are those of the image's release; what libc brings is in any
# image.
SKIP: {
  my $mode = $ENV{MODE} // 'release';
  skip "$mode has other libraries", 1 if $mode ne 'release';
  my ($release) = $second =~ /debian:(\w+)/;
  my $here = -e '/etc/os-release' ? slurp('/etc/os-release') : '';
  skip "this is no Debian $release", 1 if $here !~ /=$release$/m;
  my @libraries = map { m{=> (/\S+)} ? $1 : () } split /\n/, `ldd $ENV{RLY}`;
  push @libraries, grep { m{/lib(readline|zip)\.so\.\d+$} }
    map { m{=> (/\S+)} ? $1 : () } split /\n/, `/sbin/ldconfig -p`;
  my %missing;
  for my $library (@libraries) {
    my @packages = packages_of($library);
    $missing{$library} = "@packages"
      if @packages && !grep { $has{$_} || /^(libc6|libgcc-s1)$/ } @packages;
  }
  is_deeply(\%missing, {}, 'every library is in a package of the image');
}

done_testing();
