#!/usr/bin/env perl
# What the reference's passes got wrong, by the number of the thread where it
# was reported, or by the section of our notes on the language: each program
# gives the same after each pass that there is, and at -O2.  Threads about
# crashes and refused programs are here, too: what a pass makes must check and
# run.
# (Thread 7122, which is said to be one of them, is about the image of a build
# machine.)
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my @wrong = (
  ['tvm#4997: two ifs', 'def @main(%b: bool) -> ((int32,), (int32,)) {
  let %v0 = (0,); let %v1 = (1,);
  let %v2 = if (%b) { %v0 } else { %v1 };
  let %v3 = if (%b) { %v1 } else { %v0 };
  (%v2, %v3)
}
@main(False); @main(True);'],
  ['tvm#2714: a cell that a branch and a function write',
   'def @f(%d: bool, %i: int32) -> int32 {
  let %r = ref(%i);
  let %u = fn () { ref_write(%r, ref_read(%r) + ref_read(%r)) };
  let %e = if (%d) { %u() } else { %u(); %u() };
  ref_read(%r)
}
@f(True, 3); @f(False, 3);'],
  ['tvm#6803: a write that a later read needs',
   'def @f(%x: float32) -> (float32, float32) {
  let %g = ref(0f);
  let %back = ref(fn () -> () { () });
  let %y = %x * %x;
  let %old = ref_read(%back);
  ref_write(%back, fn () { ref_write(%g, ref_read(%g) + 2f * %x); %old() });
  ref_read(%back)();
  (%y, ref_read(%g))
}
@f(3f);'],
  ['tvm#19503: infinity less itself', 'def @f(%x: float32) -> float32 {
  let %a = %x * inff; let %b = %x * inff; %a - %b
}
@f(2f); @f(0f);'],
  ['tvm#16211: sums of constants', 'def @f(%x: float32) -> float32 {
  1e8f + (%x + 1f) - 1e8f
}
@f(0.3f);'],
  ['tvm#16211: a difference of products', 'def @f(
  %x: Tensor[(4), float32], %y: Tensor[(4), float32]) {
  let %a = %x * %y; let %b = %y * %x + %x; (%a - %b) * %y - %y * %y
}
@f([1f, -0f, 1e30f, inff], [0.1f, -3f, 1e30f, 0f]);'],
  ['relay.md 7.5 (4): a product with zeros',
   'def @f(%x: Tensor[(2), float32]) { zeros_like(%x) * %x + ones_like(%x) }
@f([3f, inff]);'],
  ['relay.md 7.5 (1): a write that nothing is known to need',
   'def @f(%c: Ref[int32]) -> int32 {
  let %w = ref_write(%c, 7); let %u = ref(1); ref_write(%u, 2); ref_read(%c)
}
let @c = ref(1); @f(@c); ref_read(@c);'],
  ['relay.md 7.5 (2): a read that a graph variable would put after a write',
   'def @f(%c: Ref[int32]) -> (int32, int32) {
  let %a = ref_read(%c); ref_write(%c, 2); let %b = ref_read(%c); (%a, %b)
}
let @c = ref(1); @f(@c);'],
  ['relay.md 7.5 (2): a field of a tuple whose other field does something',
   'def @f(%c: Ref[int32]) -> int32 {
  ((ref_write(%c, 5); print("kept"); 1), 2).1 + ref_read(%c)
}
let @c = ref(1); @f(@c);'],
  ['relay.md 7.5 (2): an argument that is used twice, later, or not at all',
   'def @twice(%n: int32, %c: Ref[int32]) -> int32 {
  ref_write(%c, 9); %n + %n
}
def @none(%n: int32) -> int32 { 3 }
def @f(%c: Ref[int32]) -> int32 {
  @twice((ref_write(%c, ref_read(%c) + 1); ref_read(%c)), %c) +
    @none((ref_write(%c, ref_read(%c) + 10); 0)) + ref_read(%c)
}
let @c = ref(1); @f(@c);'],
  ['relay.md 7.5 (2): what only one branch computes, and may fail',
   'def @f(%n: int32) -> int32 { if (%n == 0) { 1 } else { 6 / %n + 6 / %n } }
@f(0); @f(2);'],
  ['relay.md 7.5 (3): casts that are equal', 'def @f(%x: float32) -> int32 {
  let %a = cast(%x, dtype="int32"); let %b = cast(%x, dtype="int32");
  let %c = cast(%x, dtype="int8"); %a + %b + cast(%c, dtype="int32")
}
@f(300.7f);'],
  ['relay.md 7.5 (8): a cell that a call which is not known may write',
   'def @f(%g: fn () -> (), %c: Ref[int32]) -> int32 {
  ref_write(%c, 1); %g(); ref_read(%c)
}
let @c = ref(0); @f(fn () { ref_write(@c, 8) }, @c);'],
  ['relay.md 7.5 (9): the size and the shape of a scalar',
   'def @f(%x: float32) { (ndarray_size(%x), shape_of(%x)) }
@f(1f);'],
  ['tvm#3867, tvm#2931: tuples of odd sizes between operators',
   'def @f(%x: Tensor[(3, 3), float32]) {
  let %s = split(exp(%x), indices_or_sections=3);
  let %t = (%s.0 + %s.1, (%s.2, %x), %s.1);
  tanh(%t.0) + concatenate((%t.1.0, %t.2, %t.0)) * 2f
}
@f([[1f, 2f, 3f], [4f, 5f, 6f], [7f, 8f, 9f]]);'],
  ['tvm#4758: a match that two uses share',
   'def @f(%o: Option[int32]) -> (int32, int32) {
  let %m = match (%o) { Some(%v) => { print("some"); %v }, None => { 0 } };
  (%m + 1, %m * 2)
}
@f(Some(4)); @f(None);'],
  ['relay.md 7.4 (5): a match in a let',
   'type Opt { S(int32), N }
def @f(%n: int32, %o: Opt) -> (int32, int32) {
  let %x = %n * 10;
  let %y = match (%o) { S(_) => { %x }, N => { 7 } };
  (%x, %y)
}
@f(5, N); @f(5, S(1));'],
  ['tvm#16211: a quotient by a root', 'def @f(%x: float32, %y: float32) {
  (%x / sqrt(%y), %x * (1f / sqrt(%y)), %x * rsqrt(%y))
}
@f(0.3f, 0.7f); @f(1e-30f, 3e-39f); @f(1f, 0f); @f(0f, 0f); @f(1f, -1f);'],
  ['tvm#16211: a scale after a relu, negative, zero, not a number',
   'def @f(%x: Tensor[(1, 1, 2, 2), float32], %w: Tensor[(4, 1, 1, 1), float32],
       %s: Tensor[(4, 1, 1), float32]) {
  nn.relu(nn.conv2d(%x, %w, channels=4, kernel_size=[1, 1])) * %s
}
@f([[[[1f, -2f], [3e38f, 0f]]]], [[[[1f]]], [[[-1f]]], [[[0.1f]]], [[[7f]]]],
   [[[-1f]], [[0f]], [[nanf]], [[3e-45f]]]);'],
  ['tvm#13359: a normalised convolution in three dimensions',
   'def @f(%x: Tensor[(1, 2, 2, 2, 2), float32],
       %w: Tensor[(2, 2, 1, 1, 1), float32], %g: Tensor[(2), float32]) {
  nn.batch_norm(nn.conv3d(%x, %w, channels=2, kernel_size=[1, 1, 1]),
                %g, %g, %g, abs(%g)).0
}
@f(reshape(arange(16f), newshape=[1, 2, 2, 2, 2]) * 0.37f,
   [[[[[1f]]], [[[-3f]]]], [[[[0.1f]]], [[[1e-8f]]]]], [0.1f, -2f]);'],
  ['tvm#3216: a batch normalised along its last axis',
   'def @f(%x: Tensor[(3, 4), float32], %g: Tensor[(4), float32]) {
  nn.batch_norm(%x, %g, %g * 2f, %g * 3f, abs(%g)).0
}
@f(reshape(arange(12f), newshape=[3, 4]) * 0.71f, [0.1f, -0.2f, 0f, 7f]);'],
  ['tvm#17151: a scale that the scaled product decides, too',
   'def @f(%x: Tensor[(1, 2, 2, 2), float32],
       %w: Tensor[(2, 2, 1, 1), float32]) {
  let %c = nn.conv2d(%x, %w, channels=2, kernel_size=[1, 1]);
  let %s = nn.global_avg_pool2d(%c);
  let %e = clip(nn.conv2d(%s, %w, channels=2, kernel_size=[1, 1]) + 3f,
                a_min=0f64, a_max=6f64) / 6f;
  nn.conv2d(%c * %e, %w, channels=2, kernel_size=[1, 1]) + %c
}
@f(reshape(arange(8f), newshape=[1, 2, 2, 2]) * 0.3f,
   [[[[1f]], [[-0.5f]]], [[[0.25f]], [[2f]]]]);'],
  ['tvm#13275: what is added to itself before a product',
   'def @f(%x: Tensor[(2, 2), float32], %w: Tensor[(2, 2), float32]) {
  let %a = nn.dense(%x, %w); let %d = %a + %a; nn.dense(%d, %w) - %d
}
@f([[1e38f, 3e38f], [inff, -0f]], [[1f, 0f], [0f, 1f]]);'],
  ['tvm#2486: a remainder of constants', 'def @f(%n: int32) -> (int32, int32) {
  let %k = shape_of(zeros(shape=[7, 3]));
  (mod(mod(take(%k, 0), 4), 3) + mod(-7, 4), mod(%n, 4) + mod(-%n, 4))
}
@f(7); @f(-7);'],
  ['tvm#4432, tvm#4889: a function of itself and of what is around',
   'def @f(%n: int32, %x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  let %two = %x * 2f;
  let %while = fn (%i: int32, %st: Tensor[(2), float32])
      -> Tensor[(2), float32] {
    if (%i < %n) { %while(%i + 1, %st + %two) } else { %st }
  };
  let %outer = fn (%i: int32) -> Tensor[(2), float32] { %while(%i, %x) };
  %outer(0) + (%while(1, %two))
}
@f(3, [1f, -2f]); @f(0, [1f, -2f]);'],
  ['tvm#2889, tvm#4139: a function of itself that is handed up',
   'def @make(%c: Ref[int32]) -> fn (int32) -> int32 {
  let %go = fn (%i: int32) -> int32 {
    ref_write(%c, ref_read(%c) + %i);
    if (%i == 0) { ref_read(%c) } else { %go(%i - 1) }
  };
  %go
}
let @c = ref(0);
let @g = @make(@c); @g(3); @g(2); ref_read(@c);'],
  ['tvm#10078: a let whose value is a let',
   'def @f(%c: Ref[int32]) -> int32 {
  let %x = (let %y = (print("y"); ref_write(%c, 3); ref_read(%c));
            let %z = %y * %y; ref_write(%c, %z); %z);
  %x + ref_read(%c)
}
let @c = ref(1); @f(@c); ref_read(@c);'],
  ['tvm#7416, tvm#2253: what both branches use, and what one alone does',
   'def @f(%x: int32, %y: int32) -> int32 {
  %0 = %x + %y;
  %1 = %x / %y;
  if (%0 < 0) { %0 * %x } else { if (%y == 0) { %0 } else { %1 + %0 * %y } }
}
@f(1, 0); @f(-3, 1); @f(7, 2);'],
  ['tvm#13597, tvm#6062: products of one operand, their axis moved after',
   'def @f(%x: Tensor[(2, 3), float32], %u: Tensor[(4, 3), float32],
       %v: Tensor[(2, 3), float32], %b: Tensor[(4), float32]) {
  let %p = nn.dense(%x, %u); let %q = nn.dense(%x, %v);
  let %r = nn.dense(%x, %u * 2f);
  let %s = expand_dims(nn.bias_add(%p, %b, axis=-1), axis=2);
  let %t = transpose(%q, axes=[1, 0]);
  (%s, %t, expand_dims(nn.bias_add(%r, %b), axis=0))
}
@f(reshape(arange(6f), newshape=[2, 3]), reshape(arange(12f), newshape=[4, 3]),
   [[1f, -1f, 0.5f], [2f, 0f, 3f]], [1f, 2f, 3f, 4f]);'],
  ['tvm#2167: convolutions that follow each other and differ in their strides',
   'def @f(%x: Tensor[(1, 1, 4, 4), float32],
       %w: Tensor[(1, 1, 2, 2), float32]) {
  let %a = nn.conv2d(%x, %w, channels=1, kernel_size=[2, 2]);
  let %b = nn.conv2d(%x, %w, channels=1, kernel_size=[2, 2], strides=[2, 2]);
  let %c = nn.conv2d(%x, %w * 2f, channels=1, kernel_size=[2, 2]);
  let %d = nn.conv2d(%a, %w, channels=1, kernel_size=[2, 2]);
  let %e = nn.conv2d(%x, %w * %b, channels=1, kernel_size=[2, 2]);
  (%a, %b, %c, %d, %e)
}
@f(reshape(arange(16f), newshape=[1, 1, 4, 4]) * 0.1f,
   [[[[1f, -1f], [0.3f, 2f]]]]);'],
  ['tvm#16852, tvm#15047: two cells of one value, two prints of one text',
   'def @f(%x: int32) -> (int32, int32) {
  let %a = ref(%x); let %b = ref(%x);
  let %p = print("once"); let %q = print("once");
  ref_write(%a, 5); (ref_read(%a), ref_read(%b))
}
@f(2);'],
  ['tvm#4048: a primitive function among lets',
   'def @f(%x: Tensor[(2), float32]) {
  let %y = (fn (%p: Tensor[(2), float32], Primitive=1) {
    let %a = exp(%p); %a + %a })(%x);
  let %z = (fn (%p: Tensor[(2), float32], Primitive=1) { (%p, %p * 2f) })(%y);
  let %dead = (fn (%p: Tensor[(2), float32], Primitive=1) { %p })(%y);
  %z.0 + %z.1
}
@f([0f, 1f]);'],
  ['tvm#10069: a primitive function whose body is no call',
   'def @f(%x: Tensor[(2), float32], %c: Ref[int32]) {
  let %t = (fn (%p: Tensor[(2), float32], Primitive=1) { (%p, %p) })(%x);
  let %u = (fn (%p: Tensor[(2), float32], Primitive=1) {
    if (sum(%p) > 0f) { %p } else { -%p } })(%t.1);
  let %v = (fn (%p: Ref[int32], Primitive=1) {
    ref_write(%p, ref_read(%p) + 1); ref_read(%p) })(%c);
  (%t.0 + %u, %v)
}
let @c = ref(1); @f([1f, -3f], @c); ref_read(@c);'],
  ['tvm#5757, tvm#5780: functions that lets define, one around the other',
   'def @f(%n: int32) -> int32 {
  let %even = fn (%k: int32) -> int32 {
    let %down = fn (%j: int32) -> int32 {
      if (%j <= 0) { %k } else {
        if (%j == 1) { 0 - %k } else { %down(%j - 2) } }
    };
    if (%k > 5) { %even(%k - 1) + %down(%k) } else { %down(%k) }
  };
  %even(%n)
}
@f(4); @f(5); @f(9);'],
  ['tvm#8917: shapes of tensors of shapes, in a chain',
   'def @f(%x: Tensor[(?, 5, 2), float32]) {
  let %a = shape_of(%x); let %b = shape_of(ones(shape=%a));
  let %c = shape_of(ones(shape=%b)); let %d = shape_of(ones(shape=%c));
  (%d, ndarray_size(ones(shape=%d)))
}
@f(zeros(shape=[3, 5, 2]));'],
  ['tvm#6436: a large constant in a primitive function',
   'def @f(%x: Tensor[(3), int32]) {
  (fn (%p: Tensor[(3), int32], Primitive=1) {
    %p + sum(reshape([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
                     newshape=[4, 3]), axis=[0]) })(%x)
}
@f([1, 2, 3]);'],
  ['tvm#2100: a field of a tuple whose other field never ends, or fails',
   'def @loop(%n: int32) -> int32 {
  if (%n > 100) { fail(message="reached") } else { @loop(%n + 1) }
}
def @f(%x: int32) -> int32 { (%x, @loop(%x)).0 }
@f(0);'],
  ['tvm#17222, tvm#15561: functions that only functions reach',
   'def @a(%n: int32) -> int32 { @b(%n) }
def @b(%n: int32) -> int32 { if (%n == 0) { 0 } else { @a(%n - 1) } }
let @g = fn (%n: int32) { @b(%n) };
def @main(%n: int32) -> int32 { @g(%n) }
@main(3);'],
  ['tvm#17254, tvm#12763: what is in 16 bits already, beside what is not',
   'def @f(%x: Tensor[(2, 2), float16], %y: Tensor[(2, 2), float32]) {
  (nn.dense(%x, %x) + 1f16,
   nn.layer_norm(cast(nn.dense(%y, %y), dtype="float16"),
                 [1f16, 2f16], [0f16, 1f16]),
   nn.softmax(nn.dense(%y, %y)))
}
@f([[1f16, 2f16], [3f16, 65504f16]], [[1f, 2f], [3f, 1e5f]]);'],
  ['tvm#2929: tuples in tuples, and a cell in one',
   'def @f(%x: Tensor[(2), float32], %c: Ref[Tensor[(2), float32]]) {
  let %t = ((%x + 1f, %c), exp(%x));
  let %u = (%t.0, (tanh(%t.1), %t));
  ref_write(%u.1.1.0.1, %u.0.0);
  concatenate((%u.1.0, ref_read(%t.0.1)))
}
let @c = ref([0f, 0f]); @f([1f, 2f], @c); ref_read(@c);'],
  ['tvm#15393: a softplus whose threshold is zero',
   'def @f(%x: Tensor[(3), float32]) {
  let %z = 0f * %x; where(%x > 0f, log(exp(%x * 1f) + 1f) / 1f, %z / %z)
}
@f([1f, 100f, -1f]);'],
  ['tvm#17835: a quotient of integers that wraps, and one by zero not taken',
   'def @f(%x: int32, %y: int32) -> int32 {
  let %a = %x / -1; let %b = %a * -1;
  if (%y == 0) { %b - %x } else { %x / %y * %y }
}
@f(-2147483648, 0); @f(7, 2);'],
  ['tvm#17050: a squeeze that an `if` on the shape decides',
   'def @f(%x: Tensor[(?, ?, 1), float32]) -> Tensor[(?, ?), float32] {
  let %s = shape_of(%x);
  if (take(%s, 0) == 1) { squeeze(%x, axis=[0]) } else { squeeze(%x, axis=[2]) }
}
def @g(%x: Tensor[(1, 3, 1), float32]) {
  let %s = shape_of(%x);
  if (take(%s, 1) == 1) { squeeze(%x, axis=[1]) } else { squeeze(%x, axis=[0]) }
}
@f([[[1f], [2f]]]); @f([[[1f]], [[2f]]]); @g([[[1f], [2f], [3f]]]);'],
  ['tvm#16057: two equal products, a comparison of one of them',
   'def @f(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) {
  let %a = %x * %y; let %b = %x * %y; let %c = %y * %x;
  (%a > %x, %b + 1f, where(%c > %x, %a, %b))
}
@f([1f, -2f, nanf], [2f, 3f, 1f]);'],
  ['tvm#7530: constants below a dropout',
   'def @f(%x: Tensor[(2), float32]) {
  let %d = nn.dropout(ones(shape=[2], dtype="float32"), rate=0.5f64);
  %d.0 * 2f + %x
}
@f([1f, 2f]);'],
  ['tvm#5505, tvm#10336: a remainder of a quotient of a remainder',
   'def @f(%i: int32) -> (int32, int32) {
  (mod(mod(%i, 20) / 2 * 2, 4), mod(%i, 4))
}
@f(7); @f(23); @f(-7); let %k = 39;
(mod(mod(%k, 20) / 2 * 2, 4), mod(%k, 4));'],
  ['tvm#16819: quotients by constants, once and twice',
   'def @f(%x: Tensor[(4), float32]) {
  (%x / 3f, %x / 8f, %x / 8f / 3f, %x / 0f, %x / 1e-40f, %x / -0.5f)
}
@f([1f, -0f, 3e38f, 1e-45f]);'],
  ['tvm#6407: a reshape to a product of two dimensions',
   'def @f[n: Dim](%x: Tensor[(n, 3, 4), float32]) {
  let %s = shape_of(%x);
  let %k = stack((take(%s, 0) * take(%s, 1), take(%s, 2)));
  reshape(%x, newshape=%k) + 1f
}
sum(@f(ones(shape=[2, 3, 4])), axis=[0]);'],
  ['tvm#20193, tvm#20260: a reshape to a shape that is not known',
   'def @f(%x: Tensor[(?), float32], %y: Tensor[(?, 2), int32]) {
  let %s = shape_of(%y); reshape(%x, newshape=%s) * 2f
}
@f([1f, 2f, 3f, 4f], [[1, 2], [3, 4]]);'],
  ['tvm#5879: what may be merged, beside what may not',
   'def @f(%n: int32, %c: Ref[int32]) -> (int32, int32) {
  let %r = ref_read(%c); let %a = %n * %n + %r;
  ref_write(%c, %a); let %s = ref_read(%c); let %b = %n * %n + %s; (%a, %b)
}
let @c = ref(1); @f(3, @c); @f(3, @c);'],
);
# Each of them after each pass that there is, and at -O2.  The step machine runs
# the program as it is written, the VM what the passes made of it.
my $differ = $ENV{RLY} // 'build/release/rly';
$differ =~ s{rly$}{fuzz/differ};
my (@paths, %name);
for (@wrong) {
  my ($name, $program) = @$_;
  my $file = spew(scratch(@paths . '.rly'), $program);
  my $run = rly($file);
  like("$run->{status} $run->{err}", qr/^(?:0 $|2 .*"reached)/s,
       "$name: it runs");
  push @paths, $file;
  $name{$file} = $name;
}
my @every = map { /^([A-Z]\w+)/ ? $1 : () } split /\n/, rly('passes')->{out};
(my $level = rly('opt', '-O2', '--dump-pipeline')->{out}) =~ s/\n(?=.)/,/g;
my @some = is_release() ? @every : one_in(1, 0, @every);
for my $passes ($level =~ s/\n//r, @some) {
  my $found = `$differ --passes '$passes' @paths 2>&1`;
  for my $file (@paths) {
    my ($is) = $found =~ /^\Q$file\E: (.*)$/m;
    is($is, 'the same', "$passes: $name{$file}");
  }
}

done_testing;
