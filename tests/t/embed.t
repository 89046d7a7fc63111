#!/usr/bin/env perl
# librly as others use it: the programs of examples/embed, built against the
# shared library and against what `make install` puts in place.
#
# They are built here with the flags of a stranger, -std=c11 -Wall -Wextra
# -Werror and no folder of ours but include/, since a header that needs one of
# ours, or a symbol that the library does not export, shows only to someone
# outside.  What they compute is compared with the original network's mean, so
# that a program which links but reads its parameters wrongly fails as well.
use strict;
use warnings;
use lib 'tests/t';
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Rly;
use Test::More;

my $folder = dirname($ENV{RLY});
my $build = abs_path($folder);
my $mode = $ENV{MODE} // 'release';
my $cc = $ENV{CC} // 'cc';
my %flags = (asan => '-fsanitize=address,undefined', cov => '-lgcov');
my $flags = '-std=c11 -Wall -Wextra -Werror ' . ($flags{$mode} // '');
my @charlm = map { "examples/charlm/charlm.$_" } qw(rly safetensors);

# Runs a shell command; returns its status and all its output.
sub run {
  my ($line) = @_;
  my $said = `$line 2>&1`;
  return ($? >> 8, $said);
}

sub builds {
  my ($line, $name) = @_;
  my ($status, $said) = run($line);
  ok($status == 0, $name) or BAIL_OUT("$line\n$said");
}

# The mean surprise as the original network computed it in float64.
my $bytes = slurp('tests/reference/charlm_expected.safetensors');
my $header = json(substr $bytes, 8, unpack 'Q<', $bytes);
my $at = 8 + unpack('Q<', $bytes) +
         $header->{prompt_mean_nll}{data_offsets}[0];
my $expected = unpack 'd<', substr $bytes, $at, 8;
my $text = spew(scratch('text'), $header->{__metadata__}{prompt});

sub surprises {
  my ($program, $name) = @_;
  my ($status, $said) =
    run("LD_LIBRARY_PATH=$build $program @charlm < $text");
  is($status, 0, $name) or diag($said);
  my ($mean) = $said =~ /^mean (\S+) nats$/m;
  ok(defined $mean && abs($mean - $expected) < 1e-4,
     "$name: its mean is the network's, $expected")
    or diag($said);
  like($said, qr/^ *\d+\.\d\d  This program is free software$/m,
       "$name: it shows the line");
}

# --- The build's own library ------------------------------------------------

my $embed = scratch('embed');
my $bare = "$cc $flags examples/embed/embed.c -o $embed";
builds("$bare -Iinclude -L$build -lrly -lm", 'embed.c builds');
surprises($embed, 'embed.c');

my ($status, $said) = run("LD_LIBRARY_PATH=$build $embed none none");
ok($status == 1 && $said =~ /E0501.*none/, 'it reports what the library says')
  or diag($said);

SKIP: {
  skip 'no python3', 3 if system 'command -v python3 >/dev/null 2>&1';
  skip 'python3 runs without sanitizers', 3 if $mode eq 'asan';
  surprises("python3 examples/embed/embed.py $build/librly.so", 'embed.py');
}

# A library with sanitizers wants them in the program, too.
SKIP: {
  skip 'no C++ compiler', 2 if system 'command -v c++ >/dev/null 2>&1';
  my $throws = scratch('throws');
  my $sanitizers = $flags{$mode} // '';
  builds("c++ -std=c++11 -Wall -Wextra -Werror $sanitizers -Iinclude " .
         "tests/hosts/throws.cc -L$build -lrly -o $throws",
         'a host in C++ builds');
  is((run("LD_LIBRARY_PATH=$build $throws"))[1], "no more\n5\n",
     'whose callback throws, by way of an interrupt');
}

# The same host as C and as C++: 1,000 sessions, a fork, another process, every
# status.
my $host = scratch('everything');
my $listed = "-include $build/gen/tests/statuses.h -I.";
for my $language ("$cc $flags",
                  "c++ -std=c++11 -Wall -Wextra -Werror -x c++ " .
                  ($flags{$mode} // '')) {
  my ($compiler) = split / /, $language;
  SKIP: {
    skip "no $compiler", 2 if system "command -v $compiler >/dev/null 2>&1";
    builds("$language -Iinclude $listed tests/hosts/everything.c -L$build " .
           "-lrly -lpthread -o $host",
           "a host of everything builds by $compiler");
    my @ended = run("LD_LIBRARY_PATH=$build $host " . dirname($host));
    is_deeply(\@ended, [0, ''], 'and all is as it must be');
  }
}

# And in Python, for which the library's sanitizers are loaded first: python3
# has none, and what it leaves at its end is its own.
SKIP: {
  my ($python) = grep { -x } '/usr/bin/python3', '/usr/local/bin/python3';
  skip 'no python3 with numpy and cffi: make deps-python', 1
    if !$python || system "$python -c 'import numpy, cffi' 2>/dev/null";
  skip "python3 runs without $mode", 1 if $mode eq 'tsan';
  chomp(my $first = `$cc -print-file-name=libasan.so`);
  my $loaded = $mode eq 'asan'
    ? "LD_PRELOAD=$first ASAN_OPTIONS=exitcode=99:detect_leaks=0" : '';
  my @ended = run("RLY_LIBRARY=$build/librly.so PYTHONPATH=python $loaded " .
                  "$python -B tests/hosts/everything.py " . dirname($host));
  is_deeply(\@ended, [0, ''], 'a host of everything in Python');
}

my @shown = split /\n/, `nm -D --defined-only $build/librly.so`;
ok((grep { / T rly_session_call$/ } @shown), 'librly.so shows rly.h');
is_deeply([grep { / [TDBRVW] / && !/ rly_/ } @shown], [], 'and no more')
  if $mode eq 'release' || $mode eq 'debug';
like(`readelf -d $build/librly.so`, qr/SONAME.*\[librly\.so\.\d+\]/,
     'it has a soname');

# --- What is installed ------------------------------------------------------

my $root = scratch('root');
my $usr = "$root/opt/rly";
builds("make -s install B=$folder DESTDIR=$root PREFIX=/opt/rly",
       'make install');
my ($version) = slurp('base/version.h') =~ /"(.*)"/;
ok(-e "$usr/$_", $_) for 'bin/rly', 'include/rly.h', 'lib/librly.a',
  'lib/librly.so', "lib/librly.so.$version", 'lib/pkgconfig/rly.pc',
  'share/man/man1/rly.1', 'share/man/man3/librly.3';
like(slurp("$usr/lib/pkgconfig/rly.pc"), qr/^prefix=\/opt\/rly$/m,
     'pkg-config is told where');
like(slurp("$usr/share/man/man1/rly.1"), qr/^\\fB\\-\\-entry\\fR \\fINAME/m,
     'the manual lists the flags');
my $manual = slurp("$usr/share/man/man3/librly.3");
is_deeply([grep { $manual !~ /\b$_\(/ } map { / T (rly_\w+)$/ } @shown], [],
          'and whatever librly.so shows');
like($manual, qr/rly_tensors_get\(.*\n\.fi\n\.RS 4\nShares the elements/,
     'with what it does');
builds("$bare -I$usr/include -L$usr/lib -lrly -lm", 'the installed one links');
($status) = run("LD_LIBRARY_PATH=$usr/lib $embed @charlm < $text");
is($status, 0, 'and runs');
my ($private) = slurp("$usr/lib/pkgconfig/rly.pc") =~ /^Libs.private: (.*)$/m;
builds("$bare -I$usr/include $usr/lib/librly.a -ljansson $private",
       'and so does the static one');
surprises($embed, 'embed.c, linked statically');
is_deeply([grep { / [A-TV-Z] / && !/ rly_/ } split /\n/,
             `nm $usr/lib/librly.a`],
          [], 'no other name of the static one is seen from outside')
  if $mode eq 'release' || $mode eq 'debug';

# tests/hosts/names.c has functions of names that are ours, too.
SKIP: {
  skip 'a static program has no sanitizer', 2 if $flags{$mode};
  skip 'no pkg-config', 2 if system 'command -v pkg-config >/dev/null 2>&1';
  my $rly = "PKG_CONFIG_PATH=$usr/lib/pkgconfig pkg-config --static " .
            "--define-variable=prefix=$usr --cflags --libs rly";
  my $names = scratch('names');
  builds("$cc $flags -static tests/hosts/names.c \$($rly) -o $names",
         'a host with functions of the same names links with -static');
  is((run($names))[1], "6000000f\n", 'and calls its own');
}

done_testing();
