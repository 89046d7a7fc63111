#!/usr/bin/env perl
# The law of gradients: the tape whole, and parts of it computed again, at every
# level, on one thread and two, with each instruction set: the same bits.
#
# Programs are drawn: a state goes through some hundred steps of operators drawn
# at random, which recurse in one of several ways.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my @sets = grep {
  local $ENV{RLY_ISA} = $_;
  rly('-e', '1')->{status} == 0;
} qw(avx512 avx2 neon generic reference);

# What a step makes of %h and %w, both of (16).  A weight has one row of 16 for
# each step, so that rows take more memory than what is kept to find them again.
my @terms = ('tanh(%h * %w)', 'sin(%h) + %w', '%h * 0.5f + cos(%w)',
             'sigmoid(%h) * sum(%h * %w)', 'nn.softmax(%h) * %w',
             'maximum(%h, %w) * 0.7f', '%h - mean(%h) * %w',
             'reverse(%h, axis=0) * 0.9f', 'cumsum(%h) * 0.2f',
             '(fn (%a: Tensor[(16), float32]) { tanh(%a + %h) })(%w)',
             'grad(fn (%a: Tensor[(16), float32]) '
             . '{ sum(tanh(%a * %h)) })(%w).1.0',
             'with_vjp(fn (%a: Tensor[(16), float32]) { round(%a) }, fn (%a: '
             . 'Tensor[(16), float32], %y: Tensor[(16), float32], %g: '
             . 'Tensor[(16), float32]) { (%g * 0.5f,) })(%h)',
             'tanh(reshape(nn.dense(reshape(%h, newshape=[1, 16]), %m), '
             . 'newshape=[16]))',
             'sin(reshape(nn.matmul(reshape(%h, newshape=[1, 16]), %m) + %w, '
             . 'newshape=[16]))',
             'tanh(reshape(nn.dense(reshape(%h, newshape=[1, 16]), '
             . 'sin(%m)), newshape=[16]))');
# How the steps follow one another; %n is their number.
my @ways = (
  'def @go(%n: int32, %h: V, %w: V, %m: M) -> V {
     if (%n == 0) { %h } else { @go(%n - 1, @step(%h, %w, %m), %w, %m) } }',
  'def @go(%n: int32, %h: V, %w: V, %m: M) -> V {
     if (%n == 0) { %h } else { @step(@go(%n - 1, %h, %w, %m), %w, %m) } }',
  'def @go(%n: int32, %h: V, %w: V, %m: M) -> V {
     if (%n == 0) { %h } else {
       @go(%n - 1, checkpoint(@step)(%h, %w, %m), %w, %m) } }',
  'def @half(%n: int32, %h: V, %w: V, %m: M) -> V {
     if (%n <= 1) { @step(%h, %w, %m) } else {
       let %k = %n / 2;
       let %f = checkpoint(fn (%h: V, %w: V) { @half(%k, %h, %w, %m) });
       @half(%n - %k, %f(%h, %w), %w, %m) } }
   def @go(%n: int32, %h: V, %w: V, %m: M) -> V { @half(%n, %h, %w, %m) }',
  'def @list(%n: int32, %h: V, %w: V, %m: M) -> List[V] {
     if (%n == 0) { Nil } else {
       let %k = @step(%h, %w, %m); Cons(%k, @list(%n - 1, %k, %w, %m)) } }
   def @go(%n: int32, %h: V, %w: V, %m: M) -> V {
     @foldl(fn (%a: V, %b: V) { @step(%a + %b, %w, %m) }, %h,
            @list(%n, %h, %w, %m)) }',
  'def @go(%n: int32, %h: V, %w: V, %m: M) -> V {
     let %c = ref(%h);
     let @loop = fn (%i: int32) -> () {
       if (%i == 0) { () } else {
         ref_write(%c, @step(ref_read(%c), %w, %m)); @loop(%i - 1) } };
     @loop(%n); ref_read(%c) }' =~ s/\@loop/%loop/gr,
  'type S { S(V, int32, (V, int32)) }
   def @run(%n: int32, %s: S, %w: V, %m: M) -> S {
     if (%n == 0) { %s } else { match (%s) {
       S(%a, %i, (%b, %k)) =>
         { @run(%n - 1, S(@step(%b, %w, %m), %i + 1, (%a * 0.5f, %k - 1)), %w,
                %m) } } } }
   def @go(%n: int32, %h: V, %w: V, %m: M) -> V {
     match (@run(%n, S(%h, 0, (%w, 9)), %w, %m)) {
       S(%a, %i, %b) => { %a + %b.0 } } }',
  'let @seen = ref(0f);
   def @go(%n: int32, %h: V, %w: V, %m: M) -> V {
     if (%n == 0) { %h } else {
       let %k = @step(%h, %w, %m);
       if (%n - %n / 50 * 50 == 7) {
         ref_write(@seen, ref_read(@seen) + 1f); print(%n) } else { () };
       @go(%n - 1, %k * (1f + 0.001f * ref_read(@seen)), %w, %m) } }',
);

sub draw {
  my ($way) = @_;
  my $n = 20 + int rand 150;
  my @body = map { "  let %h = $terms[rand @terms];\n" } 0 .. rand 4;
  my $text = "def \@step(%h: V, %w: V, %m: M) -> V {\n"
      . join('', @body) . "  %h\n}\n" . $ways[$way] . "\n"
      . "grad(fn (%h: V, %w: V, %m: M) { sum(\@go($n, %h, %w, %m)) })("
      . 'sin(arange(0f, 16f, 1f)), cos(arange(0f, 16f, 1f)), '
      . 'reshape(sin(arange(0f, 256f, 1f) * 3f) * 0.4f, newshape=[16, 16]));';
  return $text =~ s/\bV\b/Tensor[(16), float32]/gr
               =~ s/\bM\b/Tensor[(16, 16), float32]/gr;
}

my ($count, @wrong) = 0;
my $again = 0;
srand 20;
for my $i (0 .. (is_release() ? 5 : 1) * @ways - 1) {
  my $program = spew(scratch('drawn.rly'), draw($i % @ways));
  my $whole = rly('run', '--json', '--threads', 1, $program);
  if ($whole->{status} != 0) {
    push @wrong, "$program: $whole->{err}";
    last;
  }
  my $check = sub {
    my ($what, @args) = @_;
    my $run = rly('run', '--json', '--stats', @args, $program);
    $count++;
    $again += ($run->{err} =~ /^recomputed\t(\d+)/m ? $1 : 0) > 0;
    push @wrong, "program $i, $what: $run->{err}" . slurp($program)
        if $run->{status} || $run->{out} ne $whole->{out};
  };
  $check->("tape $_", '--tape-memory', $_, '--threads', 1)
      for 1, 20000, 100000;
  $check->('two threads', '--threads', 2);
  for my $set (@sets) {
    local $ENV{RLY_ISA} = $set;
    $check->("$set, tape", '--tape-memory', 30000, '--threads', 2);
  }
}
is(join("\n", @wrong), '', "$count runs give the same bits");
cmp_ok($again, '>', $count / 2, "in $again of them parts were computed again");

# One that is asked several times computes its parts each time.
my $twice = spew(scratch('twice.rly'), <<'END');
def @go(%n: int32, %x: Tensor[(8), float32], %w: Tensor[(8), float32])
    -> Tensor[(8), float32] {
  if (%n == 0) { %x } else { @go(%n - 1, tanh(%x * %w) + 0.1f, %w) }
}
def @pulls(%w: Tensor[(8), float32]) {
  let %r = vjp(fn (%w: Tensor[(8), float32]) { sum(@go(400, %w, %w)) }, %w);
  (%r.1(1f), %r.1(2f), %r.1(1f))
}
@pulls(full(0.5f, shape=[8]));
END
my $asked = rly($twice)->{out};
is(rly('--tape-memory', $_, $twice)->{out}, $asked, "pulled thrice, $_")
    for '1', '4k', '16k';

# A recursion whose calls wait for one another, at depths around that at which
# the array of frames is moved.
my $waits = sub { spew(scratch('waits.rly'), <<"END") };
def \@deep(%n: int32, %x: float32) -> float32 {
  if (%n == 0) { %x } else { sin(\@deep(%n - 1, %x * 1.0001f)) + 0.1f }
}
grad(fn (%x: float32) { \@deep($_[0], %x) })(0.5f);
END
my @moved;
for my $depth (110 .. 130) {
  my $program = $waits->($depth);
  my $whole = rly($program)->{out};
  push @moved, grep { rly('--tape-memory', $_, $program)->{out} ne $whole }
      '1k', '4k';
}
is("@moved", '', 'calls that wait, around the depth where frames move');

# Rows that wait for what a stretch gives and reads itself (vm/waiting.c): of a
# matrix, of a vector.
my $own = spew(scratch('own.rly'), <<'END');
def @loop(%n: int32, %h: Tensor[(1, 16), float32],
          %w: Tensor[(16, 16), float32], %b: Tensor[(16), float32]) -> float32 {
  if (%n == 0) { sum(%h) }
  else { @loop(%n - 1, tanh(nn.dense(%h, %w) + %b), %w, %b) }
}
def @f(%x: Tensor[(16, 16), float32]) -> float32 {
  let %w = transpose(%x) * 0.9f;
  let %b = sum(%w, axis=[0]);
  let %s = sum(sin(%w) * %w) + sum(nn.dense(%w, %w)) + sum(sin(%b));
  @loop(30000, ones(shape=[1, 16]), %w, %b) + %s
}
grad(@f)(reshape(sin(arange(0f, 256f, 1f)), newshape=[16, 16]) * 0.3f);
END
my $held = rly($own)->{out};
like($held, qr/^\(\S+f, \(Tensor/, 'rows for what a stretch reads itself');
is(rly('--tape-memory', $_, $own)->{out}, $held, "... $_") for '30k', '300k';

# A rule that writes, reads or prints is called once for each step, however
# often its part is swept for the rows of a weight: that of with_vjp, and that
# of an operator.
my $counts = spew(scratch('counts.rly'), <<'END');
let @k = ref(0f);
op @same(%x: Tensor[(1, 9), float32]) -> Tensor[(1, 9), float32] = { %x };
gradient @same(%x) -> (%y, %g) { print(7); %g * ref_read(@k) }
def @own(%x: Tensor[(1, 9), float32]) -> Tensor[(1, 9), float32] {
  with_vjp(fn (%a: Tensor[(1, 9), float32]) { %a }, fn (%a, %b, %g) {
    ref_write(@k, ref_read(@k) + 1f);
    (%g * ref_read(@k),)
  })(%x)
}
def @loop(%n: int32, %h: Tensor[(1, 9), float32], %w: Tensor[(9, 9), float32])
    -> Tensor[(1, 9), float32] {
  if (%n == 0) { %h } else {
    let %next = if (mod(%n, 30) == 0) { @same(@own(%h)) }
                else { tanh(nn.dense(%h, %w)) };
    @loop(%n - 1, %next, %w)
  }
}
sum(grad(fn (%w) {
  sum(@loop(90, ones(shape=[1, 9]), %w))
})(full(0.112f, shape=[9, 9])).1.0);
ref_read(@k);
END
my $once = rly('--tape-memory', 'none', $counts)->{out};
like($once, qr/\A(?:7\n){2}\S+f\n2f\n\z/, 'a rule that has effects');
is(rly('--tape-memory', $_, $counts)->{out}, $once, "... $_")
  for '1', '4k', '16k';

# There a copy of the machine's state has all the calls, so the tape is kept
# where copies would take more than they save.
my ($whole, $limited) = map {
  my $run = rly('run', '--stats', '--tape-memory', $_, $waits->(200_000));
  [$run->{out}, $run->{err} =~ /^tape bytes\t(\d+)$/m]
} '1G', '1M';
is($limited->[0], $whole->[0], '200,000 calls that wait: the same bits');
cmp_ok($limited->[1], '<=', 1.1 * $whole->[1], '... in no more memory');

# A region that begins with few calls and goes on with many: what a replay of it
# divides into gets smaller, or is kept whole, where no later copy pays.
my $deeper = spew(scratch('deeper.rly'), <<'END');
def @loop(%n: int32, %x: float32) -> float32 {
  if (%n == 0) { %x } else { @loop(%n - 1, sin(%x)) }
}
def @deep(%n: int32, %x: float32) -> float32 {
  if (%n == 0) { %x } else {
    let %y = @deep(%n - 1, sin(%x));
    tanh(%y * cos(%x) + %y)
  }
}
grad(fn (%x: float32) {
  @loop(100, %x) + @loop(100, @deep(300, @loop(100, %x)))
})(0.5f);
END
my $all = rly($deeper)->{out};
is(rly('--max-steps', 1_000_000, '--tape-memory', $_, $deeper)->{out}, $all,
   "calls that begin to wait in a region, $_") for 1, '1k', '10k', '60k';

# The memory of a loop's tape does not grow with its steps, neither that of the
# values nor that of the rows that wait for the weights' products. The first and
# last steps find their rows once, all others twice, for all weights at once.
my $long = spew(scratch('long.rly'), <<'END');
type Weights { Weights(a: Tensor[(32, 32), float32],
                       b: Tensor[(32, 32), float32], c: Tensor[(32), float32]) }
def @go(%n: int32, %h: Tensor[(1, 32), float32], %w: Weights)
    -> Tensor[(1, 32), float32] {
  if (%n == 0) { %h } else {
    @go(%n - 1, tanh(nn.dense(%h, %w.a) + nn.matmul(%h, %w.b) + %w.c), %w) }
}
def @elements(%n: int32, %h: Tensor[(32), float32], %w: Tensor[(32), float32])
    -> Tensor[(32), float32] {
  if (%n == 0) { %h } else { @elements(%n - 1, tanh(%h * %w) + 0.1f, %w) }
}
let %c = sin(arange(0f, 32f, 1f));
let %a = reshape(sin(arange(0f, 1024f, 1f) * 3f) * 0.2f, newshape=[32, 32]);
let %b = reshape(cos(arange(0f, 1024f, 1f) * 5f) * 0.2f, newshape=[32, 32]);
def @weights(%n: int32, %w: Weights) {
  grad(fn (%w: Weights) { sum(@go(%n, full(0.1f, shape=[1, 32]), %w)) })(%w)
}
def @values(%n: int32, %c: Tensor[(32), float32]) {
  grad(fn (%w: Tensor[(32), float32]) { sum(@elements(%n, %w, %w)) })(%c)
}
END
for (['@weights(40000, Weights(%a, %b, %c))', '2M', 2.1],
     ['@weights(40000, Weights(%a, %b, %c))', '1M', 2.1],
     ['@values(100000, %c)', '2M', 1.1], ['@values(100000, %c)', '500k', 4]) {
  my ($call, $memory, $most) = @$_;
  my $bytes = $memory =~ s/M$/000000/r =~ s/k$/000/r;
  my $program = spew(scratch('called.rly'), slurp($long) . "$call;\n");
  my ($whole, $parts) = map { rly('run', '--json', '--stats', '--tape-memory',
                                  $_, $program) } '1G', $memory;
  my %stats = $parts->{err} =~ /^([a-z ]+)\t(\d+)$/mg;
  is($parts->{out}, $whole->{out}, "$call, tape of $memory: the same bits");
  cmp_ok($stats{'tape bytes'}, '<', 1.5 * $bytes, 'in about so much memory');
  cmp_ok($stats{recomputed}, '<', $most * $stats{'tape records'},
         "made again $most times at most");
}

# Loops of scalars, whose steps share a record.  What the loop after the write
# makes is kept, while the steps of the loop before it are computed again.
my $flows = spew(scratch('flows.rly'), <<'END');
def @flow(%n: int32, %x: float32, %v: float64, %h: float32) -> float32 {
  if (%n == 0) { %x } else {
    let %d = (%x * %x * %x - %x) * cast(%v, dtype="float32");
    @flow(%n - 1, %x - %h * %d, negative(%v) * 0.999f64, %h) }
}
let @seen = ref(0);
def @two(%x: float32, %v: float64, %h: float32) -> float32 {
  let %y = @flow(3000, %x, %v, %h);
  ref_write(@seen, 1);
  @flow(5, %y, %v, %h)
}
grad(@two)(0.5f, 2f64, 0.001f);
END
my $kept = rly($flows);
is($kept->{status}, 0, 'two loops of scalars are differentiated');
for my $memory (1, '4k', '10k', '20k', '100k') {
  my $run = rly('run', '--stats', '--tape-memory', $memory, $flows);
  is($run->{out}, $kept->{out}, "loops of scalars, $memory");
  like($run->{err}, qr/^recomputed\t[1-9]/m, 'parts were computed again');
}

done_testing;
