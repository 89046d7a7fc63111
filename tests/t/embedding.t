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
my %flags = (asan => '-fsanitize=address,undefined', cov => '-lgcov');
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

# --- Misuse -----------------------------------------------------------------

# Each function of the header that gives a status, or something that is to be
# freed, is called with zeros: what is RLY_MISUSE or NULL has left a text that
# begins with the function's name.
my $header = slurp('include/rly.h') =~ s{/\*.*?\*/}{}gsr;
my @calls;
while ($header =~ /^(rly_status |(?:struct )?\w+ \*)(rly_\w+)\(([^;]*)\);/mg) {
  my ($gives, $name, $args) = ($1, $2, $3);
  next if $name eq 'rly_context_new'; # which takes NULL
  $args =~ s/\([^()]*\*(\w*)\)\([^()]*\)/*$1/g;
  my @zeros = map { '0' } split /,/, $args;
  my $kind = $gives =~ /status/ ? 'STATUS' : 'OWNED';
  push @calls, "$kind($name, @{[join ', ', @zeros]})";
}
cmp_ok(scalar @calls, '>', 60, 'functions that can fail');
my $misuse = <<'END';
#include <rly.h>
#include <stdio.h>
#include <string.h>
#define STATUS(name, ...) tell(#name, name(__VA_ARGS__))
#define OWNED(name, ...) \
  tell(#name, name(__VA_ARGS__) ? RLY_OK : RLY_MISUSE)
static void tell(const char *name, rly_status status) {
  size_t n = strlen(name);
  const char *said = rly_misuse();
  if (status != RLY_MISUSE) printf("%s gave %d\n", name, status);
  else if (strncmp(said, name, n) || said[n] != ':')
    printf("%s left: %s\n", name, said);
}
int main(void) {
END
$code = spew(scratch('misuse.c'),
             $misuse . join('', map { "  $_;\n" } @calls) . "}\n");
my $misuser = scratch('misuser');
my $built = `$cc $flags -Iinclude $code -L$build -lrly -o $misuser 2>&1`;
is($built, '', 'a host that does everything wrong builds');
is(`LD_LIBRARY_PATH=$build $misuser 2>&1`, '', 'each misuse is told');

# --- Statuses ---------------------------------------------------------------

is(`perl docs/statuses.pl docs/EMBEDDING.md`, slurp('docs/EMBEDDING.md'),
   'the table of statuses is what rly.h says: make docs');
$code = spew(scratch('status.c'), <<'END');
#include <string.h>
int main(int argc, char **argv) {
  unsigned gives = 1u << RLY_MISUSE;
  (void)argv;
  if (status_listed("f", gives, RLY_OK)) return 1;
  if (!status_listed("f", gives, RLY_MISUSE)) return 1;
  if (rly_session_skip(NULL) != RLY_MISUSE) return 1;
  return argc > 1 && status_listed("f", gives, RLY_LIMIT);
}
END
my $lister = scratch('lister');
$built = `$cc $flags -I. -include $build/gen/tests/statuses.h $code \\
  -L$build -lrly -o $lister 2>&1`;
is($built, '', 'calls that look at the status build');
is(`LD_LIBRARY_PATH=$build $lister 2>&1; echo \$?`, "0\n",
   'what rly.h lists passes');
like(`LD_LIBRARY_PATH=$build $lister x 2>&1; true`,
     qr/^f gave limit, which rly\.h does not list$/m, 'what not is told');

SKIP: {
  skip "$mode shows other names, too", 1 if $flags{$mode} || $mode eq 'tsan';
  my @shown = map { / T (\w+)$/ ? $1 : () }
    split /\n/, `nm -D --defined-only $build/librly.so`;
  my @promised = slurp('debian/librly0.symbols') =~ /^ (\w+)\@/mg;
  is_deeply([sort @shown], [sort @promised],
            'librly.so shows what debian/librly0.symbols promises');
}

done_testing();
