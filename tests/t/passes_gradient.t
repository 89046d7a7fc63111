#!/usr/bin/env perl
# FirstOrderGradient: what it writes gives the bits that `grad` and `vjp` give,
# and it stays away from what is no list of operators.
use strict;
use warnings;
use lib 'tests/t';
use Passes;
use Rly;
use Test::More;

# Value and gradient have the bits that `grad` and `vjp` give without the pass.
my $weights = <<'END';
let %w = reshape(arange(0f, 12f, 1f), newshape=[3, 4]) * 0.1f;
let %x = [[1f, 2f, 3f, 4f], [0.5f, -1f, 2f, 1f]];
END
my %written = (
  'operators on tensors, tuples and integers' => <<'END',
def @loss(%w: Tensor[(3, 4), float32], %b: Tensor[(3), float32],
          %x: Tensor[(2, 4), float32], %k: int32) -> float32 {
  let %h = nn.relu(nn.bias_add(nn.dense(%x, %w), %b));
  let %s = split(%h, indices_or_sections=3, axis=1);
  let %both = (%s.0, %s.2);
  let %t = concatenate(%both, axis=1) * cast(%k, dtype="float32");
  mean(%t * %t) + sum(%w) * 0.1f
}
grad(@loss)(%w, [0.1f, 0.2f, -0.3f], %x, 3);
END
  'an operand of several operators, sums over rows' => <<'END',
grad(fn (%x: Tensor[(2, 3), float32], %y: Tensor[(3), float32]) {
  sum(%x * %y) + sum(%y) + sum(%x * %x * %x) * sum(exp(%y))
})([[1f, 2f, 3f], [4f, 5f, 6f]], [1f, 0.5f, 0.25f]);
END
  'dimensions that only the run knows' => <<'END',
def @f(%x: Tensor[(?, 4), float32], %v: Tensor[(?), float32]) -> float32 {
  sum(nn.softmax(nn.dense(%x, %x)) * %v)
}
grad(@f)(%x, [1f, 2f]);
END
  'effects in their places, a cell from outside' => <<'END',
let %c = ref(2f);
grad(fn (%x: float32) {
  print("first");
  ref_write(%c, ref_read(%c) + 1f);
  let %k = ref_read(%c);
  print("then");
  %x * %k * %x + %k
})(3f);
ref_read(%c);
END
  'constants for derivatives' => <<'END',
grad(fn (%x: float32) { stop_gradient(%x) * %x + round(%x) })(2.4f);
grad(fn (%x: float32) { 3f })(2f);
grad(fn (%x: float32, %n: int32) { %x })(2f, 3);
jvp(fn (%x: float32) { stop_gradient(%x) * 2f }, (1f,), (2f,));
jvp(fn (%x: float32) { [5f, 7f] }, (1f,), (2f,));
jvp(fn () { 2f }, (), ());
END
  'a result that is a field of what is named' => <<'END',
grad(fn (%t: float32) { let %w = (%t * 2f, 1f); %w.0 })(3f);
grad(fn (%t: float32) { let %w = (%t * 2f, %t); let %z = %w; %z.1 })(3f);
grad(fn (%v: float32) { @id((2f, (7f,))).1.0 * %v })(2f);
grad(fn (%v: float32) { @id((2f, (7f,))).1.0 })(2f);
grad(fn (%v: Tensor[(2), float32]) {
  let %s = split(%v * %v, indices_or_sections=2);
  let %both = (%s.1, %v);
  let %t = %both;
  sum(%t.0)
})([3f, 4f]);
END
  'derivatives within derivatives' => <<'END',
grad(fn (%x: float32) {
  grad(fn (%y: float32) { %y * %y * %x * %y })(%x).1.0
})(2f);
END
  'vjp' => <<'END',
let %r = vjp(fn (%w: Tensor[(3, 4), float32], %x: Tensor[(2, 4), float32]) {
  tanh(nn.dense(%x, %w))
}, %w, %x);
%r.0;
%r.1(ones(shape=[2, 3]));
%r.1(full(2f, shape=[2, 3]));
END
  'jvp' => <<'END',
def @f(%w: Tensor[(3, 4), float32], %x: Tensor[(2, 4), float32], %k: int32) {
  let %h = tanh(nn.dense(%x, %w)) * exp(nn.dense(%x, %w * %w));
  let %s = split(%h, indices_or_sections=3, axis=1);
  sum(concatenate((%s.0, %s.2), axis=1) * cast(%k, dtype="float32"), axis=[1])
}
jvp(@f, (%w, %x, 3), (%w * 0.5f, %x, 0));
let %at = (%w, %x, 3);
jvp(@f, %at, %at).1;
def @said(%x: float32) { print(%x); %x }
jvp(fn (%x: float32, %y: float32) { %x * %y * %x }, (@said(1f), @said(2f)),
    (@said(3f), @said(4f)));
END
);
for my $name (sort keys %written) {
  my $text = same('FirstOrderGradient', $weights . $written{$name}, $name);
  my $left = () = $text =~ /\b(?:grad|jvp|vjp)\(/g;
  is($left, $name =~ /within/ ? 1 : 0, "FirstOrderGradient: $name (written)");
}
like(same('FirstOrderGradient', $_ . ';', 'what stays: ' . $_), qr/\bgrad\(/,
     'FirstOrderGradient: stays')
  for 'grad(fn (%x: float32) { if (%x > 0f) { %x } else { 2f * %x } })(3f)',
    'grad(fn (%x: float32) { @foldl(fn (%a: float32, %b: float32) { %a + %b }, '
    . '0f, List[%x, %x]) })(3f)',
    'grad(fn (%x: float32) { let %c = ref(%x); ref_read(%c) * %x })(3f)',
    'grad(fn (%x: (float32, float32)) { %x.0 * %x.1 })((3f, 2f))',
    'grad(checkpoint(fn (%x: float32) { %x * %x }))(3f)';
like(same('FirstOrderGradient', $_ . ';', 'what stays: ' . $_), qr/\bjvp\(/,
     'FirstOrderGradient: stays')
  for 'jvp(fn (%x: Tensor[(2), float32]) { nn.softmax(%x) }, ([1f, 2f],), '
    . '([1f, 0f],))',
    'jvp(fn (%x: (float32, float32)) { %x.0 * %x.1 }, ((3f, 2f),), '
    . '((1f, 1f),))';
# Each of two equal values adds its own adjoint, which a product with both of
# them rounds otherwise.
my $twice = <<'END';
def @f(%x: float32, %y: float32) -> float32 {
  let %a = %x * %y;
  let %b = %x * %y;
  %a * 0.3f + %b * %b * 0.7f
}
END
for my $form ('grad(@f)(0.7f, 0.9f)', 'vjp(@f, 0.7f, 0.9f).1(1f)',
              'jvp(@f, (0.7f, 0.9f), (1f, 1f))') {
  my $text = same('EliminateCommonSubexpr', "$twice$form;", "merging: $form");
  is(scalar(() = $text =~ /%x \* %y/g), 2, '... leaves floats apart');
}
is(scalar(() = opt('EliminateCommonSubexpr', $twice)->{out} =~ /%x \* %y/g), 1,
   'and merges them where nothing is differentiated');
# So no pass joins or parts the uses of a float, nor changes the order in which
# operators stand, where the text differentiates; elsewhere each of these does.
my $recurrence = <<'END';
def @f(%i: int32, %xs: Tensor[(?, 1, 3), float32], %h: Tensor[(1, 3), float32],
       %w: Tensor[(3, 3), float32]) -> Tensor[(1, 3), float32] {
  if (%i < 6) {
    let %row = nn.dense(take(%xs, %i, axis=0), %w);
    @f(%i + 1, %xs, tanh(%row + nn.dense(%h, %w)), %w)
  } else { %h }
}
END
my $row = '[[0.3f, 0.7f, 1.1f]]';
my $two = "$row, $row";
my $matrix = 'reshape(sin(arange(0f, 9f, 1f)), newshape=[3, 3])';
my $image = "reshape($matrix, newshape=[1, 1, 3, 3])";
my $rows = "reshape(concatenate(($matrix, $matrix)), newshape=[6, 1, 3])";
my @ones = ('[0.3f]', '[0.7f]', '[1.1f]');
for (['SimplifyExpr', 'a factor of 1', <<'END', '0.7f'],
def @f(%x: float32) -> float32 {
  let %y = %x * 1f;
  %y * 0.3f + (%y * %y * 0.7f) + %x * %x * %x * 0.1f + sin(%y) * %x
}
END
     ['SimplifyExpr', 'a sign under abs', <<'END', '0f'],
def @f(%x: float32) -> float32 { abs(-%x) }
END
     ['SimplifyExpr', 'abs of abs', <<'END', '0.3f', '-0.7f', '1.1f'],
def @f(%x: float32) -> float32 {
  let %r = abs(%x);
  sin(abs(%r)) * 0.3f + exp(%r) * %r + sin(%x)
}
END
     ['SimplifyExpr', 'a view of a view', <<'END', @ones],
def @f(%x: Tensor[(1), float32]) -> float32 {
  let %y = expand_dims(%x, axis=0);
  let %z = expand_dims(%y, axis=0);
  sum(sin(%z)) * 0.3f + sum(exp(%y)) + sum(tanh(%y)) + sum(cos(%x))
}
END
     ['SimplifyInference', 'dropout', <<'END', '0.3f', '0.7f', '1.1f'],
def @f(%x: float32) -> float32 {
  let %y = nn.dropout(%x).0;
  sin(%y) * 0.3f + exp(%y) * %y + sin(%x) * cos(%x)
}
END
     ['SimplifyInference', 'batch_norm', <<'END',
def @f(%x: Tensor[(3, 3), float32], %v: Tensor[(3), float32]) -> float32 {
  sum(tanh(nn.batch_norm(%x, %v, %v, %v, %v).0))
}
END
      "$matrix, [0.3f, 0.7f, 1.1f]"],
     ['CombineParallelDense(branches=2)', 'data', <<'END', "$matrix, $two"],
def @f(%x: Tensor[(3, 3), float32], %u: Tensor[(1, 3), float32],
       %v: Tensor[(1, 3), float32]) -> float32 {
  let %a = nn.dense(%x, %u);
  let %b = nn.dense(%x, %v);
  sum(%a * %b) + sum(%x)
}
END
     ['CombineParallelConv2D', 'data', <<'END', "$image, [[[[0.3f]]]]"],
def @f(%x: Tensor[(1, 1, 3, 3), float32],
       %k: Tensor[(1, 1, 1, 1), float32]) -> float32 {
  let %a = nn.conv2d(%x, %k);
  let %b = nn.conv2d(%x, %k);
  sum(sin(%a) * %b) + sum(%x)
}
END
     ['LoopInvariant', 'what turns compute anew', <<'END', '0.3f, 0.7f, 5'],
def @f(%x: float32, %w: float32, %i: int32) -> float32 {
  if (%i == 0) { %x } else { @f(tanh(%x * sum(exp([%w]))), %w, %i - 1) }
}
END
     ['BatchRecurrence', 'two products with a weight', $recurrence,
      "0, $rows, $row, $matrix"],
     ['ToGraphNormalForm', 'what one branch uses', <<'END',
def @f(%x: Tensor[(1), float32], %c: bool) -> float32 {
  let %a = sin(%x);
  let %b = tanh(%x * 0.37f);
  let %d = cos(%x);
  let %s = exp(%d + %b);
  if (%c) { sum(%s * %a) } else { sum(%s) }
}
END
      map { "$_, True" } @ones],
     ['FuseOps', 'what stands between', <<'END', @ones],
def @f(%x: Tensor[(1), float32]) -> float32 {
  let %a = sin(%x);
  let %b = tanh(%x);
  let %c = cumsum(cos(%x));
  sum(%a * 0.3f) + sum(%c) * sum(%b * 0.7f)
}
END
    ) {
  my ($pass, $what, $f, @at) = @$_;
  my $form = $what =~ /two products/ ? 'vjp(@f, %s).1([[1f, 1f, 1f]])'
                                     : 'grad(@f)(%s)';
  same($pass, $f . join('', map { sprintf("$form;\n", $_) } @at),
       "$what, differentiated");
  isnt(opt($pass, $f)->{out}, rly('opt', '-O0', spew($path, $f))->{out},
       "$pass: $what, elsewhere");
}
# Operators that follow each other stay in order in a function of their own.
like(same('FuseOps', 'grad(fn (%x: Tensor[(2), float32]) { '
          . 'let %k = 2; sum(tanh(sin(%x) * 0.3f)) })([1f, 2f]);', 'a chain'),
     qr/Primitive=1/, 'FuseOps: a chain is fused where it is differentiated');
# Integers have no adjoints.
like(same('LoopInvariant', <<'END', 'integers'), qr/%loop/,
def @f(%x: float32, %w: Tensor[(2), int32], %i: int32) -> float32 {
  if (%i == 0) { %x } else {
    @f(tanh(%x * cast(sum(transpose(%w)), dtype="float32")), %w, %i - 1)
  }
}
grad(@f)(0.3f, [1, 2], 3);
END
     'LoopInvariant: integers are computed before a recursion');
# A literal of map_leaves is printed with names for its axes, which are free.
like(same('ToANormalForm', <<'END', 'a literal of map_leaves'), qr/s__0: Dim/,
def @f[s_0: Dim](%v: (Tensor[(s_0), float32], Tensor[(3, s_0), float64])) {
  map_leaves(fn [s: Shape, d: Float](%x: Tensor[s, d]) -> Tensor[s, d] {
    %x + ones(shape=s, dtype=d) * cast(s_0, dtype=d)
  }, %v)
}
@f(([1f, 2f], [[1f64, 2f64], [3f64, 4f64], [5f64, 6f64]]));
END
     'a literal of map_leaves: other names where the text has them');
like(same('FirstOrderGradient',
          'let %r = grad(fn (%x: float32) { on_device(%x) * %x })(3f); %r;',
          'a note'),
     qr/^(?!.*\bgrad\()/s, 'FirstOrderGradient: a note has a derivative');
# A rule's helper is the library's, whatever the program calls by its name.
my $helper = <<'END';
grad(fn (%x: Tensor[(2, 2), float32]) {
  sum(take(%x, [1, 1], axis=1) * %x)
})([[2f, 3f], [5f, 7f]]);
END
like(same('FirstOrderGradient', $helper, 'a helper'), qr/= \@move_back\(/,
     'FirstOrderGradient: the helper of a rule is called');
like(same('FirstOrderGradient', "def \@move_back(%x: int32) { %x }\n$helper",
          'its name'),
     qr/\bgrad\(/, '... not where the program has its name');
# A name within an inner pullback is that of the inner argument.
same('FirstOrderGradient', <<'END', 'a pullback that is made inside');
def @f(%y: float32, %z: float32) {
  grad(fn (%q: float32) {
    let %j = vjp(fn (%z: float32) { sin(%z) }, %y);
    %j.1(1f).0 * %q
  })(2f)
}
@f(1f, 2f);
END
# What stays is told, with the place of the reason.
my %reason = (
  'fn (%x: float32) { if (%x > 0f) { %x } else { 2f * %x } }' =>
    qr/ -{36} this depends on a parameter and is no operator\n/,
  'fn (%x: float32) { let %c = ref(%x); ref_read(%c) }' =>
    qr/ -{7} this depends on a parameter and is no operator\n/,
  'fn (%x: float32, %n: int32) { sum(nn.pad([%x], pad_width=[[0, %n]])) }' =>
    qr/ -+ the derivative of this cannot be written as text\n/,
  'fn (%x: List[float32]) { 1f }' => qr/this is no tensor of known rank/,
  'fn (%x: float32, Primitive=1) { %x }' => qr/this is more than its body/,
);
like(opt('FirstOrderGradient', "let %g = grad($_);\n")->{err},
     qr/W0008\]: `grad` stays.*$reason{$_}/s, "why $_ stays")
  for sort keys %reason;
my $four = 'Tensor[(4), float32]';
my %other = (
  "def \@f(%x: $four) { jvp(fn (%y: $four) { 2f * max(%y) }, (%x,), (%x,)) }"
    => qr/ -{7} the tangent of this cannot be written as text\n/,
  'def @f(%x: Tensor[(?), float32]) { vjp(fn (%y: Tensor[(?), float32]) '
    . '{ exp(%y) }, %x) }' => qr/ -+ the adjoint must have the shape of this/,
  'def @f[n: Dim](%x: Tensor[(n), float32]) { '
    . 'vjp(fn (%y: Tensor[(n), float32]) { exp(%y) }, %x) }'
    => qr/ -+ the adjoint must have the shape of this/,
  "def \@f(%x: Tensor[(?), float32]) { vjp(fn (%y: $four) { exp(%y) }, %x) }"
    => qr/ -- the shape of this is looked at when the program runs\n/,
);
like(opt('FirstOrderGradient', "$_\n")->{err},
     qr/W0008\]: `[vj][jv]p` stays as it is.*$other{$_}/s, "why $_ stays")
  for sort keys %other;
# A tuple of tuples of tuples stands for twice as many names each time.
my $deep = join '', map { my $i = $_ + 1; "let %t$i = (%t$_, %t$_); " } 0 .. 60;
like(opt('FirstOrderGradient', 'def @f(%z: float32) { grad(fn (%x: float32) { '
         . "let %t0 = (%x, %x); ${deep}%x * %x })(%z) }\n")->{out},
     qr/\bgrad\(/, 'FirstOrderGradient: tuples within tuples stay');

done_testing;
