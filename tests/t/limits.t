#!/usr/bin/env perl
# Nothing hangs: every limit, and Ctrl-C, ends whatever is under way, with an
# exit status of its own and a message that says where.
#
# The programs here would run for minutes, or for ever, or fill the memory.
# Each stands for a place where a clock must be watched: a loop of calls, one
# large kernel, the checking of types, an import from a pipe that nobody writes,
# a value that is long to print.  A limit that one of those places ignores is no
# limit, and the test would hang there.  Times are compared only with generous
# bounds or with each other, since the machine that runs this may be busy.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $list = 'def @list(%n: int32, %l: List[int32]) -> List[int32] '
    . '{ if (%n == 0) { %l } else { @list(%n - 1, Cons(%n, %l)) } }' . "\n";
my $fib = 'def @fib(%n: int32) -> int32 '
    . '{ if (%n < 2) { %n } else { @fib(%n - 1) + @fib(%n - 2) } }' . "\n";

# --- Limits -----------------------------------------------------------------

# Time limits on programs that would take minutes, or for ever.
my %endless = (
  'a loop' => 'def @f(%n: int32) -> int32 { @f(%n + 1) } @f(0)',
  'two functions that call each other' =>
      'def @f(%n: int32) -> int32 { @g(%n + 1) } '
      . 'def @g(%n: int32) -> int32 { @f(%n) } @f(0)',
  'calls' => "$fib \@fib(60)",
  'a function value' =>
      'let %f = fn (%n: int32) -> int32 { %f(%n + 1) }; %f(0)',
  'a library function' =>
      "$list let \@l = \@list(1000, Nil); "
      . 'def @f(%n: int32) -> int32 { @f(@length(@map(fn (%x) { %x }, @l))) } '
      . '@f(0)',
  'small operators' =>
      'def @f(%x: Tensor[(4), float32]) -> Tensor[(4), float32] '
      . '{ @f(%x + 1f) } @f([1f, 2f, 3f, 4f])',
  'one product' =>
      'let @a = ones(shape=[20000, 6000], dtype="float32"); '
      . 'sum(nn.dense(@a, @a))',
  'one convolution' =>
      'sum(nn.conv2d(ones(shape=[1, 256, 600, 600], dtype="float32"), '
      . 'ones(shape=[256, 256, 9, 9], dtype="float32")))',
  # Of one result, from a view that repeats an element.
  map({ ("one $_->[0]" => $_->[1]) }
      ['sum', 'sum(broadcast_to([1f], shape=[1000000000000]))'],
      ['sum of rows', 'sum(broadcast_to(ones(shape=[3, 1], dtype="float64"), '
                      . 'shape=[3, 1000000000000]), axis=[1])'],
      ['maximum', 'max(broadcast_to([1i8], shape=[1000000000000]))'],
      ['argmax', 'argmax(broadcast_to([1f], shape=[1000000000000]))'],
      ['pooling', 'nn.max_pool1d(broadcast_to([1f], shape=[1, 1, 1000000000]), '
                  . 'pool_size=[1000000000])'],
      ['plane', 'nn.avg_pool2d(broadcast_to([1f], '
                . 'shape=[1, 1, 1000000, 1000000]), '
                . 'pool_size=[1000000, 1000000])'],
      ['thin plane', 'nn.avg_pool2d(broadcast_to([1f], '
                     . 'shape=[1, 1, 1000000000, 3]), '
                     . 'pool_size=[1000000000, 3])'],
      ['einsum', 'einsum((broadcast_to([1f], shape=[1000000000000]),), '
                 . 'equation="i->")'],
      ['dot product', 'nn.matmul('
                      . 'broadcast_to([1f64], shape=[1, 1000000000000]), '
                      . 'broadcast_to([1f64], shape=[1000000000000, 1]))'],
      ['sparse row', 'nn.sparse_dense(ones(shape=[1, 10], dtype="float32"), '
                     . 'broadcast_to([1f], shape=[2000000000]), '
                     . 'broadcast_to([0], shape=[2000000000]), '
                     . '[0, 2000000000])'],
      ['draw', 'random.multinomial(random.threefry_key(1), '
               . 'broadcast_to([1f], shape=[1000000000000]), '
               . 'num_samples=1).1']),
  'one transform' =>
      'let @z = zeros(shape=[1, 300007], dtype="float32"); dft(@z, @z).0',
);
sub times_out {
  my ($out, $err, $name, @args) = @_;
  gives(patiently(sub { rly(@args, '--timeout', $_[0]) },
                  sub { $_[0]{out} =~ $out && $_[0]{err} =~ $err }),
        3, $out, $err, $name);
}

for my $what (sort keys %endless) {
  times_out(qr/\A\z/,
            qr/\A\S[^:\n]*:\d+:\d+: error\[E0703\]: time limit of [\d.]+ s/,
            "--timeout ends $what", '-e', $endless{$what});
}

times_out(qr/E0703/, qr/\A\z/, '--timeout ends the text of a tensor',
          '--json', '-e', 'broadcast_to([1f], shape=[1000000000000])');

# Checking, and a single kernel of the stepper, also watch the clock.  On a busy
# machine the limit may be reached before the checking begins.
my $mutual = join ' and ', map {
  "%f$_ = fn (%x) { %f" . ($_ + 1) % 100000 . '(%x) + 1 }';
} 0 .. 99999;
my $long = spew(scratch('mutual.rly'), "let $mutual; %f0(1)");
for my $command (['check'], ['run'], ['step']) {
  gives(rly(@$command, '--timeout', '0.2', $long), 3, '',
        qr/\Aerror\[E0703\]: time limit of 0.2 s reached(?: while .*)?\n\z/,
        "--timeout ends the checking of rly @$command");
}
times_out(qr/E0703: time limit of [\d.]+ s reached/, qr/\A\z/,
          '--timeout ends a kernel of rly step',
          'step', '-e', $endless{'one product'});

# What cannot be asked to stop: a pipe that nobody writes.
my $pipe = scratch('pipe');
system('mkfifo', $pipe) == 0 or die;
for ([qw(reading run), $pipe], [qw(reading test), $pipe],
     [qw(formatting fmt), $pipe], [qw(checking check), $pipe],
     [qw(verifying verify), $pipe],
     map { ['reading', $_, $pipe] } qw(gradcheck stream train)) {
  my ($doing, $command, $file) = @$_;
  times_out(qr/\A\z/, qr/\A\Qerror[E0703]: time limit of \E[\d.]+\ s\ reached
                        \ while\ $doing.*\n\z/x,
            "--timeout ends $command of a pipe that nobody writes",
            $command, $file);
}

# A file of tensors whose bools are all to be looked at: a hole of the file
# system, which takes no room there and minutes to read.
my $entry = '{"w":{"dtype":"BOOL","shape":[200000000000],'
    . '"data_offsets":[0,200000000000]}}';
my $bools = spew(scratch('bools.safetensors'),
                 pack('Q<', length $entry) . $entry);
truncate $bools, 8 + length($entry) + 200_000_000_000
    or die "truncate: $!\n";
my $takes = spew(scratch('takes.rly'),
                 "param \@w: Tensor[(?), bool];\nany(\@w)\n");
my $steps = spew(scratch('steps.rly'),
                 "let \@c = { print(0); ref(1f) };\n"
                 . "def \@step(%x: float32) -> float32 { %x }\n");
for (['run', '--params', $bools, $takes], ['repl', '--params', $bools],
     ['step', '--params', $bools, $takes],
     ['watch', '--once', '--params', $bools, $takes],
     ['export', '--params', $bools, $takes, '-o', scratch('takes.onnx')],
     ['stream', '--load-state', $bools, $steps],
     ['stream', '--carry', $bools, $steps]) {
  times_out(qr/\A(0\n)?\z/,
            qr/^error\[E0703\]: time limit of [\d.]+ s reached/m,
            "--timeout ends $_->[0] $_->[1] of a large file", @$_);
}

# The commands of a page, with what they started, which would keep the pipe open
# for longer than the shell that is ended.
my $page = spew(scratch('page.md'), <<'END');
```console
$ sleep 1000 & sleep 1000
```
```console
$ yes
```
```console
$ echo done
done
```
END
my $tests = patiently(sub { rly('test', '--shell', '--timeout', $_[0], $page) },
                      sub { $_[0]{out} =~ /^ok 3 /m });
is($tests->{status}, 1, '--timeout ends the commands of a page');
like($tests->{out}, qr/\Anot ok 1 .*the command was ended: the time limit/s,
     '... and says so');
like($tests->{out}, qr/not ok 2 .*the command was ended: .*\nok 3 /s,
     '... of one that prints without an end, too');

# Outputs and a state that are written to a pipe which nobody reads.
my ($unread, $unread_state) = map { scratch("unread.$_") } qw(npy safetensors);
system('mkfifo', $unread, $unread_state) == 0 or die;
times_out(qr/\A1f\n\z/, qr/E0703.*while writing the outputs/,
          '--timeout ends the writing of outputs', 'run', '--outputs', $unread,
          spew(scratch('one.rly'), '1f'));
my $frame = spew(scratch('frame'), pack 'f<', 1);
times_out(qr/\A0\n\z/, qr/E0703.*while saving the state/,
          '--timeout ends the saving of a state',
          'stream', '--input', $frame, '--save-state', $unread_state, $steps);

# Where no thread can be made a limit of time is not dropped in silence, and a
# kernel works without threads.
SKIP: {
  skip 'sanitizers come before what is preloaded', 2
      if !may_preload();
  local $ENV{LD_PRELOAD} = preloaded('none',
      "#include <errno.h>\nint pthread_create() { return EAGAIN; }\n");
  gives(rly('--timeout', '2', '-e', '1'), 3, '',
        qr/\Aerror\[E0703\]: a time limit needs a thread, and none could/,
        '--timeout without a thread to be had');
  gives(rly('--threads', '2', '-e', 'sum(nn.dense(ones(shape=[300, 300]), '
            . 'ones(shape=[300, 300])))'), 0, "27000000f\n", '',
        'a product without a thread to be had');
}

# The time of day may be set while a limit runs: an hour that is put upon it
# does not lengthen the limit.
SKIP: {
  skip 'sanitizers come before what is preloaded', 1
      if !may_preload();
  local $ENV{LD_PRELOAD} = preloaded('day', <<'END');
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *t) {
  int failed = syscall(SYS_clock_gettime, clock, t);
  if (clock == CLOCK_REALTIME) t->tv_sec += 3600;
  return failed;
}
END
  times_out(qr/\A\z/, qr/E0703/, '--timeout where the time of day is another',
            '-e', $endless{'a loop'});
}

# A script without an end, and a header whose tree is 50 times as large.
gives(rly({in_file => '/dev/zero'}, '--max-memory', '64M', '-'), 3, '',
      qr/\Aerror\[E0010\]: standard input holds more than fits\n\z/,
      'a script on stdin counts as memory');
my $header = '{"a":' . '[[],[],[],[]],' x 1_000_000;
my $file = spew(scratch('bomb.safetensors'),
                 pack('Q<', length $header) . $header);
gives(rly('--max-memory', '64M', '--params', $file, '-e', '1'), 1, '',
      qr/\Aerror\[E0501\]: cannot read .*: out of memory\n\z/,
      "a header's tree counts as memory");

# A type of 2^512 parts is written in part.
my $doubling = 'def @f0[A](%x: A) { (%x, %x) } ' . join ' ', map {
  "def \@f$_\[A](%x: A) { \@f" . ($_ - 1) . '(@f' . ($_ - 1) . '(%x)) }';
} 1 .. 9;
my $doubled = spew(scratch('doubling.rly'), $doubling);
my $types = rly('check', '--types', $doubled);
ok($types->{status} == 0 && $types->{out} =~ /^\@f9 : .*\.\.\./m
       && length $types->{out} < 1e7,
   'check --types of types that double');

# Limits of depth and memory.
gives(rly('--max-depth', '1000', '-e', "$fib \@fib(2000)"), 3, '',
      qr{:1:\d+: error\[E0702\]: .*1000 calls\n.*\.\.\. 999 more like this}s,
      '--max-depth, with the calls');
gives(rly('--max-depth', '1000', '-e', "$fib \@fib(20)"), 0, "6765\n", '',
      'that is not reached');
my %large = (
  'a list' => "$list \@list(100000000, Nil)",
  'calls' => 'def @f(%n: int32) -> int32 { @f(%n + 1) + 1 } @f(0)',
  'a tensor' => 'let @a = ones(shape=[100000, 1000], dtype="float32"); 1',
  'an intermediate one' =>
      'sum(ones(shape=[2000], dtype="float32") '
      . '* ones(shape=[20000, 1], dtype="float32"))',
  'text' => "$list print(1); \@list(300000, Nil)",
);
for my $what (sort keys %large) {
  my @json = $what eq 'text' ? ('--json') : ();
  gives(rly(@json, '--max-memory', '20M', '-e', $large{$what}), 3, qr//,
        @json ? '' : qr/^<command line>:\d+:\d+: error\[E0701\]: out of memory/,
        "--max-memory ends $what");
}

# Steps.  The programs end by themselves, so that the steps they take are known:
# so many are enough, and half of them are not.
my %ending = (
  'a loop' => 'def @f(%n: int32) -> int32 '
      . '{ if (%n == 0) { 0 } else { @f(%n - 1) } } @f(1000)',
  'calls' => "$fib \@fib(12)",
  'two functions that call each other' =>
      'def @f(%n: int32) -> int32 { if (%n == 0) { 0 } else { @g(%n - 1) } } '
      . 'def @g(%n: int32) -> int32 { @f(%n) } @f(500)',
  'closures' => 'def @f(%g: fn (int32) -> int32, %n: int32) -> int32 '
      . '{ if (%n == 0) { 0 } else { @f(fn (%x) { %g(%x) + %n }, %n - 1) } } '
      . '@f(fn (%x: int32) { %x }, 500)',
  "a param's default" => "$fib param \@p: int32 = \@fib(12); \@p",
  'a loop over tensors' =>
      'def @f(%x: Tensor[(64, 64), float32], %n: int32) '
      . '-> Tensor[(64, 64), float32] { if (%n == 0) { %x } else '
      . '{ print(%n); @f(nn.dense(%x, %x) * 2f, %n - 1) } } '
      . 'sum(@f(zeros(shape=[64, 64], dtype="float32"), 100))',
);
for my $what (sort keys %ending) {
  my @program = ('-e', $ending{$what});
  my $whole = rly('--stats', @program);
  my ($steps) = $whole->{err} =~ /^instructions\t(\d+)$/m;
  gives(rly('--max-steps', $steps, @program), 0, $whole->{out}, '',
        "--max-steps lets $what end");
  my @limit = ('--max-steps', int $steps / 2);
  my $half = rly(@limit, @program);
  gives($half, 3, qr//,
        qr/\A\S.*:1:\d+: error\[E0707\]: step limit of $limit[1] reached/,
        "... or not: $what");
  is(index($whole->{out}, $half->{out}), 0, '... with the output until then');
  for my $set (qw(avx2 neon generic reference)) {
    local $ENV{RLY_ISA} = $set;
    next if rly('-e', '1')->{status};
    gives(rly(@limit, '--threads', '1', @program), 3, @$half{'out', 'err'},
          "... at the same place under $set");
  }
  for my $also (['--threads', '4'], ['--timeout', '100'], ['--stats'],
                ['--profile'], ['--trace', scratch('trace.json')]) {
    gives(rly(@limit, @$also, @program), 3, $half->{out},
          qr/^\Q$half->{err}\E\z/m, "... with @$also");
  }
}

# What ran before does not matter: in the first entry the code is made and the
# stack grows, in the second neither.
my $returns = $fib . 'def @f(%n: int32) -> int32 { if (%n == 0) { 0 } '
    . 'else { let %r = @f(%n - 1); print(%n); %r + @fib(2) } }';
my ($enough) = rly('--stats', '-e', "$returns \@f(5000)")->{err}
    =~ /^instructions\t(\d+)$/m;
# One round is fewer than 30 instructions: one more or less is seen in one run.
my @unlike = grep {
  my $twice = rly({in => "$returns\n\@f(5000)\n\@f(5000)\n"}, 'repl',
                  '--max-steps', $_);
  my ($first, $second) = $twice->{out} =~ /\A(1\n.*)^(1\n.*)\z/ms;
  $twice->{out} =~ /^5000$/m || $first ne $second;
} map { int($enough * 3 / 4) + $_ } 0 .. 29;
is_deeply(\@unlike, [], 'a run that ends on its way back '
          . 'does so in the next entry, too');

# A param's default is evaluated for a session: its limits hold, and the status
# tells a limit and an error of the program from a value that is not there.
my $defaults = 'def @f(%n: int32) -> int32 { @f(%n + 1) } '
    . 'param @endless: int32 = @f(0); param @again: int32 = @f(1); '
    . 'param @large: Tensor[(?), int8] = ones(shape=[99000000], dtype="int8"); '
    . 'param @wrong: int32 = 1 / 0; ';
for my $command ('run', 'step') {
  times_out(qr/\A\z/, qr/\A\S[^\n]* error\[E0703\](?!.*error\[).*in \@f/s,
            "--timeout ends a param's default, once, under rly $command",
            $command, '-e', "$defaults \@endless + \@again");
  gives(rly($command, '--max-memory', '30M', '-e', "$defaults sum(\@large)"),
        3, '', qr/error\[E0701\]: out of memory: 94/,
        "--max-memory, too, under rly $command");
  gives(rly($command, '-e', "$defaults \@wrong"), 2, '', qr/error\[E0602\]/,
        "a default that fails under rly $command");
  gives(rly($command, '-e', "$defaults 1"), 0, qr/1\n\z/, '',
        "rly $command evaluates only the defaults that it needs");
}

# --- Cycles -----------------------------------------------------------------

# A closure held by its own cell, many times: cycles are collected during the
# run.
my $cycles = <<'END';
type Knot { Loose, Tied(fn () -> int32) }
def @tie(%n: int32, %acc: int32) -> int32 {
  if (%n == 0) { %acc } else {
    let %cell = ref(Loose);
    let %f = fn () { match (ref_read(%cell)) { Loose => 0, Tied(_) => %n } };
    ref_write(%cell, Tied(%f));
    @tie(%n - 1, %acc + (%f() - %f()) + 1)
  }
}
END
my ($few, $many) = map {
  my $run = rly('--stats', '-e', "$cycles \@tie($_, 0)");
  is($run->{out}, "$_\n", "$_ cyclic closures");
  $run->{err} =~ /^peak bytes\t(\d+)$/m;
} 20000, 200000;
ok($many < 1.5 * $few, 'ten times as many take no more memory')
    or diag("$few bytes, $many bytes");

# Where memory runs out they are found with little of it, among many cells that
# are alive: a fourth of the rings stays.
my $rings = <<'END';
type Ring { End, Link(v: float32, next: Ref[Ring]) }
def @ring(%x: float32) -> Ring {
  let %c = ref(End);
  ref_write(%c, Link(%x, %c));
  ref_read(%c)
}
def @keep(%n: int32, %kept: List[Ring]) -> int32 {
  if (%n == 0) { @length(%kept) } else {
    let %r = @ring(1f);
    @keep(%n - 1, if (mod(%n, 4) == 0) { Cons(%r, %kept) } else { %kept })
  }
}
@keep(400000, Nil);
END
gives(rly('--max-memory', '16M', '-e', $rings), 0, "100000\n", '',
      'cycles among cells that stay, in little memory');

# --- Long sessions ----------------------------------------------------------

# The processor time of an entry does not grow with the definitions that are
# there: eight times as many entries take eight times as long, not 64 times.  On
# a busy machine single figures are worth little, so the first try of five that
# shows it will do; a sanitizer's bookkeeping has no such law.
sub entries {
  my ($entry, $count) = @_;
  my $text = join '', map { $entry->($_) } 1 .. $count;
  my $before = (times)[2];
  my $run = rly({in => $text}, 'repl');
  return ($run->{status}, (times)[2] - $before);
}

SKIP: {
  skip 'no law for the time of a sanitizer', 4
      if ($ENV{MODE} // '') =~ /asan|tsan/;
  my $one = sub { "def \@f$_[0](%x: int32) -> int32 { %x + $_[0] }\n" };
  my $two = sub {
    "def \@f(%x: int32) -> int32 { %x }\n"
        . "def \@g(%x: int32) -> int32 { \@f(%x) + $_[0] }\n";
  };
  for my $entry ($one, $two) {
    my ($status, $short, $long);
    for (1 .. 5) {
      (undef, $short) = entries($entry, 4000);
      ($status, $long) = entries($entry, 32000);
      last if $long < 30 * ($short + 0.01);
    }
    is($status, 0, 'many entries');
    ok($long < 30 * ($short + 0.01),
       'eight times as many take no 30 times as long')
        or diag("$short s, $long s");
  }
}

# --- Long programs -----------------------------------------------------------

# What each command does grows with the program and not with its square: 60,000
# of anything, all of them on one line, took minutes where it did (slow builds
# take a thirtieth).
my $many_of = is_release() ? 60000 : 2000;
sub repeated { my ($f) = @_; return join ' ', map { $f->($_) } 1 .. $many_of }
my %long_programs = (
  'arms' => 'type T { ' . repeated(sub { "C$_[0](int32), " })
      . '} def @f(%x: T) -> int32 { match (%x) { '
      . repeated(sub { "C$_[0](%y) => %y + $_[0], " }) . '} } @f(C1(1));',
  'lets' => repeated(sub { "let %x$_[0] = $_[0];" }) . '%x1;',
  'functions' => repeated(sub { "def \@f$_[0](%x: int32) -> int32 { %x }" })
      . '@f1(1);',
  'types' => repeated(sub { "type T$_[0] { C$_[0] }" }) . 'C1;',
  'fields' => '(' . repeated(sub { "$_[0]," }) . ');',
  'terms' => '0 ' . repeated(sub { "+ $_[0]" }) . ';',
);
for my $what (sort keys %long_programs) {
  my $long = spew(scratch('long.rly'), $long_programs{$what});
  for my $command (['check'], ['fmt'], ['dump', '--ir'], ['dump', '--bytecode'],
                   ['run']) {
    my $run = rly(@$command, '--timeout', '600', $long);
    is($run->{status}, 0, "rly @$command of $many_of $what")
        or diag(substr $run->{err}, 0, 500);
  }
}

# As many params as a file has tensors: first each finds its own, then none
# does.
my @named = map { ["w$_", 'F32', [1], [$_]] } 1 .. $many_of;
my $weights = spew(scratch('weights.safetensors'), safetensors(@named));
for my $letter ('w', 'u') {
  my $program = spew(scratch('params.rly'),
                     (map { "param \@$letter$_: Tensor[(1), float32];\n" }
                        1 .. $many_of), "\@$letter$many_of\n");
  my $run = rly('run', '--timeout', '600', '--params', $weights, $program);
  gives($run, 0, qr/\[$many_of\.0\]/, '', "$many_of params") if $letter eq 'w';
  next if $letter eq 'w';
  is($run->{status}, 1, "$many_of params without values");
  is(() = $run->{err} =~ /^ +\| .*`u\d+`: Tensor/gm, 50, '... 50 are listed');
  like($run->{err}, qr/note: @{[$many_of - 50]} more have no value/,
       '... and the others are counted');
}

# An operator is shown all fields of its operand, however many.
my $wide = spew(scratch('wide.rly'),
                'def @main() { concatenate((', '[1], ' x 120_000, ')) }');
gives(rly('check', '--types', $wide), 0, qr/Tensor\[\(120000\), int32\]/, '',
      'an operand of 120,000 fields');

my $lines = spew(scratch('lines.rly'), "\n" x 1_000_000, "1;\n// expect: 1\n");
gives(rly('test', $lines), 0, qr/^ok 1/, '', 'rly test of a million lines');

# Of many cases each takes memory for its own lines only.
my $cases_of = is_release() ? 20_000 : 2_000;
my $cases = spew(scratch('cases.rly'), "1;\n// expect: 1\n" x $cases_of,
                 "1 +\n%nobody;\n// expect: 2\n");
my $tested = rly('test', '--max-memory', '256M', $cases);
is($tested->{status}, 1, "rly test of $cases_of cases");
is(() = $tested->{out} =~ /^ok /gm, $cases_of, '... all of which pass');
like($tested->{out}, qr/:@{[2 * $cases_of + 2]}:1: error\[E0101\]/,
     '... with places of the file');

# --- Interrupts -------------------------------------------------------------

# Ctrl-C once the program has said that it is about to begin.
sub interrupted {
  my ($what, @args) = @_;
  unlink scratch('stdout');
  my $pid = rly_start(@args);
  select undef, undef, undef, 0.02 until -s scratch('stdout');
  kill INT => $pid;
  gives(rly_wait($pid), 130, qr/\A0\n/,
        qr/\A\S[^:\n]*:\d+:\d+: error\[E0704\]: interrupted/,
        "Ctrl-C ends $what");
}


interrupted($_, '-e', "print(0);\n$endless{$_}") for sort keys %endless;

# When @c prints, the stream's signals are caught.
for my $flag ('--load-state', '--carry') {
  unlink scratch('stdout');
  my $pid = rly_start('stream', $flag, $bools, $steps);
  select undef, undef, undef, 0.02 until -s scratch('stdout');
  kill INT => $pid;
  gives(rly_wait($pid), 130, "0\n", qr/\A[^\n]*error\[E0704\]: interrupted/,
        "Ctrl-C ends stream $flag");
}

# An entry of its own, since params get their values before all of an entry.
unlink scratch('stdout');
my $asked = rly_start({in => "print(0);\n$defaults\n\@endless\n1 + 1\n"},
                      'repl');
select undef, undef, undef, 0.02 until -s scratch('stdout');
# An interrupt that comes before the entry is evaluated is forgotten.
until (-s scratch('stderr')) {
  kill INT => $asked;
  select undef, undef, undef, 0.1;
}
gives(rly_wait($asked), 0, "0\n2\n",
      qr/error\[E0704\].*\@endless: int32 = \@f\(0\)/s,
      "Ctrl-C ends a param's default");

done_testing();
