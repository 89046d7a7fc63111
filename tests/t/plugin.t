#!/usr/bin/env perl
# Operators from a shared object: --plugin.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $so = scratch('ops.so');
my $cc = $ENV{CC} || 'cc';
is(system("$cc -Wall -Wextra -Werror -shared -fPIC -Iinclude "
     . "tests/plugin/ops.c -o $so"), 0, 'a plugin compiles');
my @with = ('--plugin', $so);

# Sums by hand.
gives(rly('run', @with, '-e', '@prefix([1f, 2f, 4f])'), 0,
  "Tensor[(3), float32] [1.0, 3.0, 7.0]\n", '', 'an operator of a plugin');
gives(rly('run', @with, '-e', '@prefix(transpose([[1f, 2f], [4f, 8f]]) |> '
      . 'reshape(newshape=[4]))'), 0, qr/\[1\.0, 5\.0, 7\.0, 15\.0\]/, '',
  'of a view');
gives(rly('run', @with, '-e', '@nonzero([0, 3, 0, 4])'), 0,
  "Tensor[(2), int64] [1, 3]\n", '', 'its shape is known to the run only');
gives(rly('run', @with, '-e', 'vjp(fn (%x: Tensor[(3), float32]) '
      . '{ @prefix(%x) }, [1f, 2f, 3f]).1([1f, 10f, 100f])'), 0,
  "(Tensor[(3), float32] [111.0, 110.0, 100.0],)\n", '', 'its derivative');
gives(rly('run', @with, '-e', '@tick(0); let %b = @tick(0); @tick(0)'), 0,
  qr/^1\n3\n\z/, '', 'effects happen once each, in order');
gives(rly('run', @with, '-e', 'grad(fn (%x: float32) { %x * '
      . 'cast(sum(@nonzero([1])), dtype="float32") })(2f)'), 0, qr/^\(0f/, '',
  'no derivative is wanted of integers');
gives(rly('step', @with, '-e', '@prefix([1f, 2f])'), 0, qr/\[1\.0, 3\.0\]/, '',
  'it is stepped over');

# Several results are a tuple.
gives(rly('run', @with, '-e', '@ends([[1f, 2f], [3f, 4f], [5f, 6f]])'), 0,
  qr/^\(Tensor\[\(2\),\ float32\]\ \[1\.0,\ 2\.0\],\s+
     Tensor\[\(2,\ 1\),\ float32\]\s+\[\[5\.0\],\s+\[6\.0\]\],\s+3i64\)\n\z/x,
  '', 'their ranks are those of operands');
gives(rly('run', @with, '-e', '@ends([1f, 2f, 4f])'), 0,
  qr/^\(1f, Tensor\[\(1\), float32\] \[4\.0\], 3i64\)\n\z/, '',
  'of a shape without dimensions as well');
gives(rly('run', @with, '-e', 'let %p = '
      . '@by_sign(cast([1f, -2f, 4f, -0f], dtype="float64")); (%p.1, %p.0)'), 0,
  qr/^\(Tensor\[\(3\),\ float64\]\ \[1\.0,\ 4\.0,\ -0\.0\],\s+
     Tensor\[\(1\),\ float64\]\ \[-2\.0\]\)\n\z/x, '',
  'their shapes are known to the run only');
gives(rly('run', @with, '-e', 'let %y = @powers(2f); '
      . '(%y.1, grad(fn (%x: float32) { let %p = @powers(%x); '
      . '%p.0 + 10f * %p.1 })(2f).1)'), 0,
  qr/^\(8f, \(124f,\)\)\n\z/, '', 'their derivative');
gives(rly('run', @with, '-e', '@by_sign(cast([-1f, 7f], dtype="float64"))'), 2,
  '', qr/E0606.*`\@by_sign`: it does not like 7/s, 'one of several fails');

# A failure is shown at the call, also at one in a tail position.
my $calls = spew(scratch('calls.rly'), <<'END');
def @g(%x: Tensor[(?), float64]) {
  @by_sign(%x)
}
@map(fn (%x) { (@g(%x).0, 1) }, Cons([-1f64, 7f64], Nil));
END
my $says = qr{^\S+calls\.rly:2:3: error\[E0606\]: `\@by_sign`: it does.*
 +2 \|   \@by_sign\(%x\)
 +\|   \^{12}
  in \@g at \S+calls\.rly:2:3
  in fn at \S+calls\.rly:4:17
};
gives(rly('run', @with, $calls), 2, '', $says, 'where an operator fails');
gives(rly('run', @with, '--timeout', '0.2', '-e', '@wait(1) + 1'), 3, '',
      qr/^<command line>:1:1: error\[E0703\]/, 'or runs too long');
gives(rly('run', @with, '-e', '@powers(2f).2'), 1, '', qr/E02/,
  'a third of two');
gives(rly('step', @with, '-e', '@powers(2f)'), 0, qr/\(4f, 8f\)/, '',
  'it is stepped over as well');
gives(rly('ops', @with, '@powers'), 0,
  qr/^op \@powers\(%x: float32\) -> \(float32, float32\)\n/, '',
  'rly ops shows it');

gives(rly('run', @with, '-e', '@prefix(zeros(shape=[0]))'), 1, '',
  qr/E0907.*`\@prefix`: it is empty/s, 'a condition of the signature');
gives(rly('run', @with, '-e', '@prefix([1])'), 1, '', qr/int32/,
  'its type is checked');
gives(rly('run', @with, '-e', '@nonzero([-1])'), 2, '',
  qr/E0606.*`\@nonzero`: a negative number/s, 'it fails by a message');
gives(rly('run', @with, '-e', '@wrong(1)'), 2, '', qr/its host gave a shape/,
  'a shape that its signature does not say');
gives(rly('run', @with, '-e', 'def @f(%x: Tensor[(?), float32]) { @tail(%x) } '
      . '@f(zeros(shape=[2]))'), 2, '',
  qr/E0606.*`\@tail`: a dimension of its result is below 0/s,
  'a shape that its operands do not allow');
gives(rly('run', @with, '--timeout', '0.2', '-e', '@wait(1)'), 3, '',
  qr/E0703/, 'a time limit ends a call that asks');

gives(rly('run', @with, '-e', 'grad(fn (%x: float32) { @plain(%x) })(2f)'), 2,
  '', qr/E0609.*`\@plain` has no derivative/,
  'one without a derivative is named as it is called');
gives(rly('ops', @with, '@plain'), 0,
  "op \@plain(%x: float32) -> float32\n  It has no derivative.\n", '',
  'rly ops shows one of a plugin');
gives(rly('ops', @with), 0, qr/^op \@prefix.*^op \@plain\b/ms, '', 'or all');
gives(rly('ops', @with, '@plan'), 1, '', qr/no plugin has `\@plan`/,
  'or says that there is none');

gives(rly('run', '--safe', @with, '-e', '1'), 1, '', qr/--safe loads no code/,
  '--safe');
gives(rly('run', '--plugin', 'no/such.so', '-e', '1'), 1, '', qr/no\/such\.so/,
  'a file that is not there');
gives(rly('run', '--plugin', $0, '-e', '1'), 1, '', qr/E0506/,
  'one that is no shared object');
my $empty = scratch('empty.so');
system("echo 'int x;' | $cc -shared -fPIC -x c - -o $empty");
gives(rly('run', '--plugin', $empty, '-e', '1'), 1, '',
  qr/has no function `rly_plugin`/, 'one without the function');

# Every command that reads a program; some read it several times.
my $program = spew(scratch('prefixes.rly'),
  "def \@f(%x: Tensor[(3), float32]) -> Tensor[(3), float32] {\n" .
  "  \@prefix(%x)\n}\n\n\@f([1f, 2f, 4f]);\n" .
  "// expect: Tensor[(3), float32] [1.0, 3.0, 7.0]\n" .
  "rule \@zero(%x: int32) { %x + 0 } => { %x }\n");
for (['check'], ['fmt'], ['dump', '--ir'], ['dump', '--bytecode'], ['graph'],
     ['opt', '-O2', '--verify'], ['opt', '--bisect'], ['step'],
     ['test'], ['verify', '--trials', 64]) {
  my ($command, @flags) = @$_;
  my $got = rly($command, @with, @flags, $program);
  is($got->{status}, 0, "$command @flags") or diag $got->{err};
}
gives(rly('test', '--plugin', 'no/such.so', $program), 1, qr/^not ok 1/,
  qr/no\/such\.so/, 'a plugin that is not there, of a test');
gives(rly('check', '--safe', @with, $program), 1, '', qr/--safe loads no code/,
  '--safe of check');

# The example, with a library of Debian.
SKIP: {
  my $fft = scratch('fft.so');
  my $built = system("$cc -shared -fPIC -Iinclude examples/plugin/fft.c "
    . "-lfftw3 -o $fft 2>/dev/null") == 0;
  skip 'FFTW is not installed (make deps-fftw)', 1 if !$built;
  gives(rly('run', '--plugin', $fft, 'examples/plugin/signal.rly'), 0,
    qr/\[64\.0,\s+0\.0, 16\.0,\s+0\.0,\s+0\.0,\s+0\.0, 16\.0,\s+0\.0\]\nTrue/,
    '', 'an FFT');
}

# What it costs is measured, not read from its bytes: it works for 5 ms.
my $late = spew(scratch('late.rly'), <<'END');
rule @late(%x: Tensor[(4096), float32]) when pure(%x) {
  negative(negative(%x))
} => { @late(%x) }
END
my $twice = spew(scratch('twice.rly'), <<'END');
def @f(%x: Tensor[(4096), float32]) { negative(negative(%x)) }
END
my @saturate = ('opt', @with, '--saturate', '--rules', $late);
gives(rly(@saturate, $twice), 0, qr/\@late\(%x\)/, '',
      'few bytes make an operator in C cheap');
gives(rly(@saturate, '--cost', 'measured', $twice), 0, qr/-\(?-%x|negative/, '',
      'measured it is dear');

done_testing();
