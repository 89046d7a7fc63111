#!/usr/bin/env perl
# What systems differ in stands in base/system_*.c.  Those of macOS and FreeBSD
# are compiled here with headers that tests/system declares by the manuals of
# these systems, and do what base/system.h promises; so do the sources that call
# them.  This shows that each file is whole and right by the manuals.  That the
# systems' own headers agree, or that the rest of a build works there, nothing
# here shows.
#
# And no other file may use a name that macOS or FreeBSD has not.
use strict;
use warnings;
use lib 'tests/t';
use File::Basename qw(dirname);
use File::Find;
use Rly;
use Test::More;

my $build = dirname($ENV{RLY});
my $strict = '-std=gnu11 -Wall -Wextra -Werror -D_GNU_SOURCE= -I.';

sub there { return !system "command -v $_[0] >/dev/null 2>&1" }

# --- Each system --------------------------------------------------------------

sub compiled {
  my ($command, $name) = @_;
  my $said = `$command 2>&1`;
  return is($said, '', $name);
}

# Sources that need the file; those of readline, where it is installed.
my $uses = 'base/system.h|SYSTEM_LIBRARY|\\bsystem_(pipe|file|program|wait|'
           . 'cond_init|reserve)\\(';
my @users = split /\n/, `git grep -lE '$uses' -- '*.c' 2>/dev/null`;
@users = grep { !m{^(?:base/system_|tests/)} } @users;
my $readline = -e '/usr/include/readline/readline.h' ? 1 : 0;

for (['Linux', 'gcc', '', 'libzip.so.5'],
     ['Linux with musl', 'musl-gcc', '', 'libzip.so.5'],
     ['macOS', 'gcc', '-D__APPLE__ -isystem tests/system/macos',
      'libzip.5.dylib'],
     ['FreeBSD', 'gcc', '-D__FreeBSD__ -isystem tests/system/freebsd',
      'libzip.so.5']) {
  my ($name, $compiler, $flags, $library) = @$_;
  SKIP: {
    skip "no $compiler", 2 unless there($compiler);
    my $program = scratch('system');
    compiled("$compiler $strict $flags -DEXPECTED='\"$library\"' "
             . "tests/system/system.c base/system_*.c -o $program",
             "$name: the file of this system compiles") or skip 'none', 1;
    my $said = `$program $program 2>&1`;
    ok($? == 0 && $said =~ /^1\.\.15$/m && $said !~ /^not ok/m,
       '... and does what base/system.h promises') or diag($said);
  }
  next if $compiler ne 'gcc' || !$flags || !@users;
  compiled("gcc -fsyntax-only $strict $flags -I$build/gen "
           . "-DRLY_READLINE=$readline -DRLY_ONNX=0 @users",
           "$name: so do the sources that use it");
}

# --- The others ---------------------------------------------------------------

# Functions of Linux, glibc or C11's threads that macOS or FreeBSD lacks.
my $foreign = join '|', qw(
  call_once mtx_\w+ cnd_\w+ thrd_\w+ tss_\w+ getrandom memfd_create pipe2 dup3
  accept4 ppoll epoll_\w+ eventfd signalfd timerfd_\w+ inotify_\w+ prctl mremap
  fallocate posix_fallocate posix_fadvise copy_file_range sendfile splice tee
  renameat2 statx gettid tgkill sysinfo get_nprocs\w* sched_[gs]etaffinity
  pthread_condattr_setclock pthread_[gs]etaffinity_np pthread_getattr_np
  pthread_mutex_timedlock pthread_barrier_\w+ pthread_spin_\w+ sem_timedwait
  clock_nanosleep timer_create sigwaitinfo sigtimedwait getauxval
  secure_getenv canonicalize_file_name strchrnul mempcpy rawmemchr memrchr
  strverscmp qsort_r fopencookie execvpe fexecve
  backtrace\w* program_invocation_\w+ mallopt malloc_trim malloc_info mallinfo2?
  sbrk brk mincore euidaccess get_current_dir_name error error_at_line
  argp_\w+ parse_printf_format);
my %may = ('base/system_linux.o' => qr/.*/,
           # compiled for glibc alone
           'base/heap.o' => qr/^(?:mallopt|sbrk)$/);

my (@objects, @refused, %used);
find({no_chdir => 1, wanted => sub {
  push @objects, $_
    if /\.o$/ && !m{^\Q$build\E/(?:tests|bench|fuzz|deps)/};
}}, $build);
# With _FORTIFY_SOURCE a function's name may stand within __NAME_chk.
open my $nm, '-|', 'nm', '-A', '-u', sort @objects or die "nm: $!\n";
while (<$nm>) {
  my ($name, $symbol) =
    m{^\Q$build\E/(\S+?): +U (?:__)?(\w+?)(?:_chk)?$} or next;
  next if $symbol !~ /^(?:$foreign)$/;
  if ($symbol =~ ($may{$name} // qr/(?!)/)) { $used{$symbol} = 1 }
  else { push @refused, "$name needs $symbol" }
}
close $nm;
is(join("\n", @refused), '', 'only base/system_*.c need what others lack');
ok($used{$_}, "$_ is seen in an object")
  for qw(memfd_create ppoll pipe2 pthread_condattr_setclock);

# Headers and macros leave no symbol.
my $words = '#include <(threads|endian|byteswap|malloc|error|values'
            . '|sys/(auxv|prctl|epoll|eventfd|inotify|sysinfo|random|sysctl)'
            . '|linux/.*|mach.*)\.h>|"/proc/|MAP_NORESERVE|MAP_STACK|O_TMPFILE'
            . '|O_PATH|CLOCK_(BOOTTIME|MONOTONIC_RAW)|le(16|32|64)toh'
            . '|hto[lb]e(16|32|64)|__linux__|__APPLE__|__FreeBSD__';
my @found = split /\n/,
            `git grep -nE '$words' -- '*.c' '*.h' '*.re' '*.y' 2>/dev/null`;
# How symbols and sections are written is the assembler's (base/switch.h).
@found = grep { !m{^(?:base/(?:system|switch|heap)|tests/|fuzz/|bench/|web/)} }
         @found;
is(join("\n", @found), '', 'nor does another file name it');

done_testing();
