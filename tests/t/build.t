#!/usr/bin/env perl
# The build as distributions use it: flags of one's own, places of one's own,
# removal, and the archive of a release.
#
# What a compiler would be called with is read from `make -n`, so that no flag
# costs a build; one object is compiled and looked at, with hardening.  What is
# installed is looked at in tests/t/embed.t.
use strict;
use warnings;
use lib 'tests/t';
use Cwd qw(getcwd);
use File::Basename qw(dirname);
use Rly;
use Test::More;

my $build = dirname($ENV{RLY});
plan skip_all => 'distributions build releases'
    if ($ENV{MODE} // 'release') ne 'release';
delete @ENV{qw(MAKEFLAGS CFLAGS CPPFLAGS LDFLAGS)};
$ENV{MAKELEVEL} = 0;

sub make { return `make V=1 $_[0] 2>&1` }

# The line that would compile or link what is named.
sub line {
  my ($settings, $target, $env) = @_;
  $env //= '';
  my $told = `env -u CI -u WERROR $env make -n V=1 B=build/none $settings`;
  my @lines = grep { / -o \S*\Q$target\E$/ }
              split /\n/, $told =~ s/\\\n//gr;
  is(scalar @lines, 1, "$target is made once") or diag(@lines);
  return $lines[0] // '';
}

# --- Flags --------------------------------------------------------------------

my $flags = '-Ofast -march=native -ffp-contract=fast';
for my $how (["CFLAGS='$flags' CPPFLAGS=-DMINE", ''],
             ['', "CFLAGS='$flags' CPPFLAGS=-DMINE"]) {
  my ($settings, $env) = @$how;
  for my $object ('base/mem.o', 'kernels/simd/generic/product.o') {
    my $said = line("$settings build/none/$object", $object, $env);
    like($said, qr/-O2 .*\Q$flags\E .*-fno-fast-math -ffp-contract=off/,
         'CFLAGS are added, and what results depend on stays');
    like($said, qr/-DMINE\b/, 'so are CPPFLAGS');
    like($said, qr/-fvisibility=hidden/, 'hidden names stay hidden');
  }
}
for my $linked ('rly', 'librly.so') {
  my $said = line("LDFLAGS=-Wl,-z,now build/none/$linked", $linked);
  like($said, qr/-Wl,-z,now/, 'LDFLAGS are added');
  like($said, qr/pack-relative-relocs/, 'to ours')
    if $linked eq 'rly' && `uname -m` =~ /x86_64/;
}
unlike(line('CFLAGS=-O0 build/none/tensor/copy.o', 'tensor/copy.o'), qr/-O3/,
       'who wants no optimisation has none');
unlike(line('build/none/base/mem.o', 'mem.o'), qr/-Werror/,
       'a warning is no error');
like(line('build/none/base/mem.o', 'mem.o', 'CI=true'), qr/-Werror/,
     'but in CI');

# As dpkg-buildflags has them with hardening=+all.
SKIP: {
  skip 'hardening is for x86-64 here', 2 if `uname -m` !~ /x86_64/;
  my $hard = scratch('hard');
  my $said = make("B=$hard CFLAGS='-O2 -fstack-protector-strong " .
                  "-fstack-clash-protection -fcf-protection -Wformat " .
                  "-Werror=format-security' CPPFLAGS=-D_FORTIFY_SOURCE=2 " .
                  "WERROR=1 $hard/base/strbuf.o");
  ok($? == 0, 'hardened') or diag($said);
  like(`nm $hard/base/strbuf.o`, qr/__vsnprintf_chk/, 'it is');
}

# --- Places -------------------------------------------------------------------

my $root = scratch('root');
my $places = "B=$build DESTDIR=$root PREFIX=/usr " .
             'LIBDIR=/usr/lib/x86_64-linux-gnu';
my $said = make("install-strip $places");
ok($? == 0, 'make install-strip') or diag($said);
my $lib = "$root/usr/lib/x86_64-linux-gnu";
ok(-e "$lib/$_", "LIBDIR has $_")
  for qw(librly.a librly.so pkgconfig/rly.pc);
like(slurp("$lib/pkgconfig/rly.pc"),
     qr/^libdir=\$\{prefix\}\/lib\/x86_64-linux-gnu$/m, 'and rly.pc names it');
cmp_ok(-s "$root/usr/bin/rly", '<', 12e6, 'the program is no 20 MB');
like(`nm -D --defined-only $lib/librly.so`, qr/ T rly_session_call$/m,
     'a stripped library shows rly.h');
ok(-s "$root/usr/share/$_", "$_ is installed")
  for qw(man/man1/rly.1 bash-completion/completions/rly
         zsh/site-functions/_rly fish/vendor_completions.d/rly.fish
         vim/vimfiles/syntax/rly.vim nvim/site/lua/rly.lua
         emacs/site-lisp/rly-mode.el);
SKIP: {
  skip 'no parser for tree-sitter: make deps-tree-sitter tree-sitter', 2
    if !-f 'build/tree-sitter/parser/rly.so';
  ok(-s "$root/usr/share/nvim/site/$_", "$_ is installed")
    for qw(parser/rly.so queries/rly/highlights.scm);
}
make("uninstall $places");
is(`find $root ! -type d`, '', 'make uninstall leaves no file');
is(`find $root -type d -name rly`, '', 'nor a folder of our own');

# --- The archive -------------------------------------------------------------

SKIP: {
  skip 'no repository', 3 if system 'git rev-parse HEAD >/dev/null 2>&1';
  my ($version) = slurp('base/version.h') =~ /"(.*)"/;
  $said = make("dist B=$build");
  ok($? == 0, 'make dist') or diag($said);
  my $from = scratch('from');
  mkdir $from;
  system "tar -xf build/rly-$version.tar.gz -C $from";
  # Programs of those names that fail come first.
  my $none = scratch('none');
  mkdir $none;
  spew("$none/$_", "#!/bin/sh\nexit 1\n"), chmod 0755, "$none/$_"
    for qw(re2c lemon protoc-c);
  my $objects = join ' ', map { "build/release/gen/parser/$_.o" }
                qw(scan grammar);
  $said = `cd $from/rly-$version && PATH=$none:\$PATH make $objects 2>&1`;
  ok($? == 0, 'what it has builds without re2c and lemon') or diag($said);
  ok(!-e "$from/rly-$version/build/release/stdlib/embed",
     'and nothing else was needed');
}

# --- Licences ----------------------------------------------------------------

SKIP: {
  skip 'no repository', 1 if system 'git rev-parse HEAD >/dev/null 2>&1';
  skip 'no reuse: make deps-deb', 1
    if system 'command -v reuse >/dev/null 2>&1';
  $said = `reuse lint 2>&1`;
  ok($? == 0 && $said !~ /ERROR/, 'each file has a licence') or diag($said);
}

system 'rm -rf build/none';
done_testing();
