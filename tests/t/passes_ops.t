#!/usr/bin/env perl
# The passes on operators and loops: where each rewrite applies, where it must
# not, and that results keep their bits where floats are at their edges.  What
# holds of every pass is in opt.t.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $path = scratch('p.rly');
my $made = scratch('made.rly');

sub opt {
  my ($program, @flags) = @_;
  return rly('opt', @flags, spew($path, $program));
}

# The body of the function, without names of types, on one line.
sub body {
  my ($text) = @_;
  $text =~ s/\A.*?\)\s*(?:->\s*[^{]*)?\{(.*)\}\s*\z/$1/s or return $text;
  return join ' ', split ' ', $text;
}

# --- SimplifyExpr -------------------------------------------------------------

my $params = '%x: Tensor[(2, 3), float32], %h: Tensor[(4), float16], ' .
             '%i: Tensor[(4), int32], %j: Tensor[(4), int8], ' .
             '%b: Tensor[(4), bool], %n: int32, %q: Tensor[(?, 3), float32], ' .
             '%e: Tensor[(0, 3), float32], %d: float64';
sub simplifies {
  my ($from, $to, @flags) = @_;
  my $out = opt("def \@f($params) { $from }\n", '--passes', 'SimplifyExpr',
                @flags);
  is($out->{status}, 0, "`$from` is accepted") or diag $out->{err};
  is(body($out->{out}), $to, "`$from` @flags");
}
sub stays { simplifies($_[0], $_[0], @_[1 .. $#_]) }

# Adding nothing; -0 is a value of its own, and integers wrap.
simplifies('%x + -0f', '%x');
simplifies('-0f + %x', '%x');
simplifies('%x - 0f', '%x');
stays('%x + 0f');
stays('0f + %x');
stays('%x - -0.0f');
simplifies('%x + 0f', '%x', '--fast-math');
simplifies('%i + 0', '%i');
simplifies('%n + 0 * %n', '%n');
stays('%n + [0, 0, 0, 0]');
stays('%q + [[-0.0f], [-0.0f]]');

# One and nought.
simplifies('%x * 1f', '%x');
simplifies('%x / 1f', '%x');
simplifies('%n / 1', '%n');
stays('power(%x, 1f)');
stays('%x * 0f');
simplifies('%x * 0f', 'zeros(shape=[2, 3])', '--fast-math');
simplifies('%i * 0', 'zeros(shape=[4], dtype="int32")');
simplifies('%n - %n', '0');
stays('%d - %d');
stays('%q * 0f', '--fast-math');

# What may fail is not dropped, and nothing is evaluated twice.
stays('%n / %n * 0');
stays('%n / %n - %n / %n');
stays('zeros_like( { print(%n); %x } )');

# Signs and comparisons.
simplifies('0 - %i', 'negative(%i)');
stays('0f - %x');
simplifies('-0f - %x', 'negative(%x)');
simplifies('-(-%x)', '%x');
simplifies('abs(-%x)', 'abs(%x)');
stays('abs(-cast(%i, dtype="uint32"))');
simplifies('logical_not(%i < 3)', '%i >= 3');
stays('logical_not(%x < 3f)');
simplifies('logical_not(%x == 3f)', '%x != 3f');
simplifies('!(!(%n == 1))', '%n == 1');
simplifies('maximum(%x, %x)', '%x');
simplifies('where(%b, %i, %i)', '%i');
simplifies('nn.relu(nn.relu(%x))', 'nn.relu(%x)');

# Constants.
simplifies('%i + 2147483647 + 1', '%i + -2147483648');
simplifies('%j * 100i8 * 3i8', '%j * 44i8');
stays('%x + 1f + 2f');
simplifies('%x + 1f + 2f', '%x + 3f', '--fast-math');
simplifies('%x / 4f', '%x * 0.25f');
simplifies('%x / -0.5f', '%x * -2f');
stays('%x / 3f');
stays('%x / 0f');
simplifies('%x / 3f', '%x * 0.33333334f', '--fast-math');
simplifies('1f / sqrt(%x)', 'rsqrt(%x)');
stays('1f16 / sqrt(%h)');
stays('exp(log(%x))');
simplifies('exp(log(%x))', '%x', '--fast-math');

# Conversions: integers wrap, floats saturate.
simplifies('cast(%i, dtype="int32")', '%i');
simplifies('cast(cast(%j, dtype="int32"), dtype="int8")', '%j');
simplifies('cast(cast(%j, dtype="float32"), dtype="int32")',
           'cast(%j, dtype="int32")');
simplifies('cast(cast(%h, dtype="float32"), dtype="float16")', '%h');
stays('cast(cast(%i, dtype="int8"), dtype="int32")');
stays('cast(cast(%i, dtype="float32"), dtype="int32")');
stays('cast(cast(%i, dtype="float64"), dtype="int8")');
simplifies('cast(cast(%i, dtype="float64"), dtype="int64")',
           'cast(%i, dtype="int64")');
simplifies('cast_like(%i, %x)', 'cast(%i, dtype="float32")');

# Shapes; a dimension that is not known, or is 0, tells nothing.
simplifies('reshape(reshape(%x, newshape=[6]), newshape=[3, -1])',
           'reshape(%x, newshape=[3, 2])');
simplifies('reshape(%x, newshape=[-1, 3])', '%x');
stays('reshape(%q, newshape=[-1, 3])');
stays('reshape(reshape(%e, newshape=[0, 3, 1]), newshape=[3, 0], ' .
      'allowzero=True)');
simplifies('squeeze(expand_dims(%x, axis=0), axis=[0])', '%x');
simplifies('transpose(transpose(%x, axes=[1, 0]), axes=[1, 0])', '%x');
simplifies('transpose(expand_dims(%x, axis=0), axes=[0, 1, 2])',
           'expand_dims(%x, axis=0)');
simplifies('transpose(transpose(expand_dims(%x, axis=0)))',
           'expand_dims(%x, axis=0)');
stays('transpose(%x, axes=[1, 0])');
simplifies('zeros_like(%x)', 'zeros(shape=[2, 3])');
stays('zeros_like(%q)');
simplifies('reshape_like(%x, %x)', '%x');
simplifies('concatenate((%x,), axis=0)', '%x');
simplifies('{ let %a = expand_dims(%x, axis=0); squeeze(%a, axis=[0]) }',
           'let %a: Tensor[(1, 2, 3), float32] = expand_dims(%x, axis=0); %x');

# The same bits where floats are at their edges, which the text of a value
# shows: -0, NaN, infinities and subnormals each have one of their own.
my $edges = '[0f, -0f, nanf, inff, -inff, 1e-45f, -1e-40f, 3.4e38f, 1f, -2.5f]';
my $whole = '[0, -1, 2147483647, -2147483648, 128, 300]';
my @floats = ('%x + -0f', '%x - 0f', '%x * 1f', '%x / 1f', '-0f - %x',
              '-(-%x)', 'abs(-%x)', 'maximum(%x, %x)', 'minimum(%x, %x)',
              'nn.relu(nn.relu(%x))', 'round(round(%x))', 'sign(sign(%x))',
              'ceil(ceil(%x))', '%x / 4f', '%x / 8.5e37f', '%x / 1e-38f',
              '1f / sqrt(%x)', 'logical_not(%x == 1f)',
              'cast(cast(%x, dtype="float64"), dtype="float32")',
              'cast(cast(%x, dtype="float64"), dtype="int32")', '%x + 0f',
              '%x * 0f', '%x - %x', 'logical_not(%x < 1f)');
my @ints = ('%x + 2147483647 + 1', '%x * 65537 * 65536', '0 - %x',
            '%x + -(%x)', 'logical_not(%x <= 0)', 'abs(-%x)', '%x * 0',
            'cast(cast(%x, dtype="int8"), dtype="int32")',
            'cast(cast(%x, dtype="float64"), dtype="int8")',
            'cast(cast(%x, dtype="int64"), dtype="int8")',
            'cast(cast(%x, dtype="float32"), dtype="int32")');
my $law = '';
my $k = 0;
for ([float32 => 10, $edges, @floats], [int32 => 6, $whole, @ints]) {
  my ($dtype, $length, $values, @laws) = @$_;
  for my $e (@laws) {
    $law .= "def \@f$k(%x: Tensor[($length), $dtype]) { $e }\n" .
            "\@f$k($values);\n";
    $k++;
  }
}
$law =~ s/nanf/0f \/ 0f/g;
$law =~ s/-inff/-1f \/ 0f/g;
$law =~ s/inff/1f \/ 0f/g;
my $was = rly(spew($path, $law));
is($was->{status}, 0, 'the laws run') or diag $was->{err};
spew($made, opt($law, '--passes', 'SimplifyExpr')->{out});
gives(rly($made), 0, $was->{out}, '', 'simpler calls keep every bit');

# Long chains, in linear time.
my $sum = 'def @f(%x: int32) { %x' . ' + 0 / 1 * 1' x 30000 . " }\n";
is(body(opt($sum, '--passes', 'SimplifyExpr')->{out}), '%x', 'a long chain');

# --- LoopInvariant ------------------------------------------------------------

# What is left of a recursion whose else-branch this is, and what stands before.
sub hoists {
  my ($turn, $before, $name) = @_;
  my $out = opt('def @f(%i: int32, %x: Tensor[(3), float32], ' .
                '%w: Tensor[(3), float32], %k: Tensor[(3), int32], ' .
                '%c: Ref[int32]) -> Tensor[(3), float32] { ' . $turn . ' }',
                '--passes', 'LoopInvariant');
  is($out->{status}, 0, "$name: accepted") or diag $out->{err};
  my ($found) = body($out->{out}) =~ /^(.*?)let %loop:/;
  $found = join '', map { "$_;" } ($found // '') =~ /= ([^;]*);/g;
  is($found, $before, $name);
}
my $again = '@f(%i - 1, %x, %w, %k, %c)';
my $next = '@f(%i - 1, %x + %w, %w, %k, %c)';
hoists("if (%i == 0) { %x } else { let %a = exp(%w); let %b = %a * 2f; " .
       "\@f(%i - 1, %x + %b, %w, %k, %c) }", 'exp(%w);%a * 2f;',
       'lets, one after the other');
hoists("if (%i == 0) { exp(%w) } else { $again }", 'exp(%w);', 'a result');
hoists("if (%i == 0) { %x } else { \@f(%i - 1, %x + exp(%x), %w, %k, %c) }", '',
       'what changes stays');
hoists("let %q = %k / %k; if (%i == 0) { cast(%q, dtype=\"float32\") } " .
       "else { $next }", '%k / %k;cast(%q, dtype="float32");',
       'what may fail, but is evaluated first');
hoists("if (%i == 0) { cast(%k / %k, dtype=\"float32\") } else { $next }", '',
       'what may fail, on a branch');
hoists("print(%i); let %q = %k / %k; if (%i == 0) { %x } else { $next }", '',
       'what may fail, after what prints');
hoists("let %q = take(%k, %i, mode=\"fast\") + 0; let %r = %k / %k; " .
       "if (%i == 0) { %x } else { $next }", '',
       'what may fail, after what may fail otherwise');
hoists("let %q = ref_read(%c); if (%i == 0) { %x } else { $next }", '',
       'a read stays');
hoists("let %q = ref(%k); if (%i == 0) { %x } else { $next }", '',
       'a cell stays');
hoists("if (%i == 0) { %x } else { let %g = fn (%j: int32) " .
       "{ \@f(%j, %x + exp(%w), %w, %k, %c) }; %g(%i - 1) }", 'exp(%w);',
       'calls within functions');
hoists("if (%i == 0) { %x } else { let %g = \@f; " .
       "%g(%i - 1, exp(%w), %w, %k, %c) }", '', 'a function as a value');
hoists("if (%i == 0) { %x } else { \@f(%i - 1, exp(%w), %x, %k, %c) }", '',
       'a parameter that changes');

# Failures come in the same order, and not when nothing was to fail.
my $fails = 'def @f(%i: int32, %k: int32) -> int32 {
  let %q = [6, 4] / %k;
  if (%i == 0) { take(%q, 0) } else { @f(%i - 1, %k) }
}
def @g(%i: int32, %k: int32) -> int32 {
  if (%i == 0) { 7 } else { take([6, 4] / %k, 1) + @g(%i - 1, %k) }
}
@f(3, 2); @g(0, 0); @g(2, 2); @f(0, 0);
';
my $first = rly(spew($path, $fails));
spew($made, opt($fails, '--passes', 'LoopInvariant')->{out});
my $second = rly($made);
is($second->{out}, $first->{out}, 'loops that fail: results');
is($second->{status}, $first->{status}, 'loops that fail: the status');
is($first->{out}, "3\n7\n11\n", 'which are those of the laws of division');

# --- BatchRecurrence ----------------------------------------------------------

# A recursion over the rows of %xs: what a turn computes, how it goes on.
sub recursion {
  my %with = (condition => '%i < %n', next => '%i + 1', base => '%h',
                row => 'nn.dense(take(%xs, %i, axis=0), %w)', before => '',
                xs => '(?, 1, 2)', @_);
  my $call = "\@f($with{next}, %n, %xs, %m + %h * 0.5f, %w, %b, %c)";
  my $turn = $with{turn} // "let %m = $with{row}; $call";
  $turn =~ s/CALL/$call/g;
  return "def \@f(%i: int32, %n: int32, %xs: Tensor[$with{xs}, float32], " .
         '%h: Tensor[(1, 3), float32], %w: Tensor[(3, 2), float32], ' .
         '%b: Tensor[(3), float32], %c: Ref[int32]) ' .
         "-> Tensor[(1, 3), float32] { $with{before} " .
         "if ($with{condition}) { $turn } else { $with{base} } }\n";
}
sub batches {
  my ($batched, $name, %with) = @_;
  my $out = opt(recursion(%with), '--passes', 'BatchRecurrence');
  is($out->{status}, 0, "$name: accepted") or diag $out->{err};
  is($out->{out} =~ /%loop/ ? 1 : 0, $batched, $name);
  return $out->{out};
}
batches(1, 'a product with each row');
like(batches(1, 'what follows it', row =>
             'tanh(nn.dense(take(%xs, %i, axis=0), %w) + %b)'),
     qr/tanh\(nn\.dense\(%v\d*, %w\) \+ %b\)/, 'is computed with it');
unlike(batches(1, 'a name of the row', turn => 'let %x = take(%xs, %i, axis=0);
               let %m = nn.dense(%x, %w); CALL'), qr/take\(%xs, %i/,
       'which nothing else uses goes');
like(batches(1, 'another use of the row', turn =>
             'let %x = take(%xs, %i, axis=0);
              let %m = nn.dense(%x, %w) + sum(%x); CALL'), qr/take\(%xs, %i/,
     'keeps it');
batches(1, 'not equal', condition => '%n != %i');
batches(1, 'greater', condition => '%n > %i');
batches(1, 'a name of the condition', before => 'let %go = %i < %n;',
        condition => '%go');
batches(1, 'a name of the count', turn => 'let %m = nn.dense(take(%xs, %i,
        axis=0), %w); let %j = %i + 1; @f(%j, %n, %xs, %m, %w, %b, %c)');
batches(0, 'a step of two', next => '%i + 2');
batches(0, 'a bound that changes', turn => 'let %m = nn.dense(take(%xs, %i,
        axis=0), %w); @f(%i + 1, %n - 1, %xs, %m, %w, %b, %c)');
batches(0, 'no bound', condition => 'take(%b, %i) < 1f');
batches(0, 'at most', condition => '%i <= %n');
batches(0, 'another row', row => 'nn.dense(take(%xs, %i + 1, axis=0), %w)');
batches(0, 'another axis', row => 'nn.dense(take(%xs, %i, axis=1), %w)',
        xs => '(1, ?, 2)');
batches(0, 'an index that is refused',
        row => 'nn.dense(take(%xs, %i, axis=0, mode="fast"), %w)');
batches(0, 'a product on a branch', row =>
        'if (%i == 3) { nn.dense(take(%xs, %i, axis=0), %w) } else { %h }');
batches(0, 'a turn that may end early', turn =>
        'let %m = nn.dense(take(%xs, %i, axis=0), %w);
         if (sum(%m) > 3f) { %m } else { CALL }');
batches(0, 'a call where the bound is reached',
        base => 'let %m = %h; @f(%i + 1, %n, %xs, %m, %w, %b, %c)');
batches(0, 'a weight that changes', row =>
        'nn.dense(take(%xs, %i, axis=0), %w * sum(%h))');

# The same bits, with parts of three rows: before the first row, after the
# last, of no turns, of no rows; and what a turn prints in its place.
my $parts = 'def @f(%i: int32, %n: int32, %xs: Tensor[(?, 1, 2), float32],
    %h: Tensor[(1, 40000), float32], %w: Tensor[(40000, 2), float32])
    -> Tensor[(1, 40000), float32] {
  if (%i != %n) {
    print(%i);
    let %x = take(%xs, %i, axis=0);
    @f(%i + 1, %n, %xs, tanh(nn.dense(%x, %w) + 0.5f * %h), %w)
  } else { %h }
}
def @xs(%t: int32) {
  reshape(sin(cast(arange(0, 2 * %t, 1), dtype="float32")),
          newshape=[%t, 1, 2])
}
def @go(%i: int32, %n: int32, %t: int32) {
  let %w = reshape(cos(cast(arange(0, 80000, 1), dtype="float32")),
                   newshape=[40000, 2]);
  let %y = @f(%i, %n, @xs(%t), zeros(shape=[1, 40000]), %w);
  (sum(%y), take(%y, 123, axis=1))
}
';
$parts .= "\@go($_);\n" for '0, 0, 5', '0, 1, 5', '0, 3, 5', '0, 4, 5',
                             '0, 7, 7', '2, 7, 7', '-2, 3, 4', '0, 9, 4',
                             '-1, 9, 2', '6, 8, 3', '0, 0, 0', '0, 2, 0';
my $plain = rly(spew($path, $parts));
my $rows = opt($parts, '--passes', 'BatchRecurrence');
like($rows->{out}, qr/minimum\(%n - %i1, 3\)/, 'parts of three rows');
spew($made, $rows->{out});
my $batched = rly($made);
is($batched->{out}, $plain->{out}, 'the same bits');
is($plain->{out} =~ tr/\n//, 47 + 11, 'of as many turns as there are');
is($batched->{status}, 2, 'of no rows a turn fails');
like($batched->{err}, qr/`take`: index 0 is out of range/, 'as take does');

# --- Operators in terms of others ---------------------------------------------

# What a pass makes of a function's body, and the same bits, of all layers and
# dtypes below.
sub becomes {
  my ($pass, $params, $from, $to, @flags) = @_;
  my $out = opt("def \@f($params) { $from }\n", '--passes', $pass, @flags);
  is($out->{status}, 0, "$pass: `$from` is accepted") or diag $out->{err};
  is(body($out->{out}), $to // $from, "$pass: `$from`");
}
my $bias = '%x: Tensor[(2, 3, 4), float32], %b: Tensor[(3), float32], ' .
           '%d: Tensor[(?), float32], %e: Tensor[(4), float32]';
becomes('CanonicalizeOps', $bias, 'nn.bias_add(%x, %b)',
        '%x + expand_dims(%b, axis=1)');
becomes('CanonicalizeOps', $bias, 'nn.bias_add(%x, %e, axis=-1)', '%x + %e');
becomes('CanonicalizeOps', $bias, 'nn.bias_add(%x, %d)');
my $named = '%x: Tensor[(n, c, 4), float32], %b: Tensor[(c), float32], ' .
            '%m: Tensor[(n), float32], %q: Tensor[(?, 4), float32], ' .
            '%e: Tensor[(4), float32]';
is(body(opt("def \@f[n: Dim, c: Dim]($named) {
  (nn.bias_add(%x, %b), nn.bias_add(%x, %m, axis=0), nn.bias_add(%q, %e)) }\n",
  '--passes', 'CanonicalizeOps')->{out}),
  '( %x + expand_dims(%b, axis=1), %x + expand_dims(%m, axis=1, ' .
  'num_newaxis=2), %q + %e )', 'CanonicalizeOps: along dimensions with names');

my $norm = '%x: Tensor[(2, 3), float32], %h: Tensor[(2, 3), float16], ' .
           '%v: Tensor[(3), float32], %w: Tensor[(3), float16], ' .
           '%q: Tensor[(?, 3), float32]';
becomes('SimplifyInference', $norm, 'nn.dropout(%x).0', '%x');
becomes('SimplifyInference', $norm, 'nn.dropout(%x).1', 'ones_like(%x)');
becomes('SimplifyInference', $norm, 'nn.batch_norm(%x, %v, %v, %v, %v).1',
        '%v');
becomes('SimplifyInference', $norm,
        'nn.batch_norm(nn.relu(%x), %v, %v, %v, abs(%v)).0',
        'let %v1: Tensor[(2, 3), float32] = nn.relu(%x); ' .
        'let %v2: Tensor[(3), float32] = abs(%v); ( let %s: Tensor[(3), ' .
        'float32] = rsqrt(%v2 + 1e-05f) * %v; ' .
        '%v1 * %s + (negative(%v) * %s + %v) )');
becomes('SimplifyInference', $norm,
        'let %t = nn.batch_norm(%x, %v, %v, %v, %v); (%t.2, %t.0)',
        'let %t: (Tensor[(2, 3), float32], Tensor[(3), float32], ' .
        'Tensor[(3), float32]) = ( ( let %s: Tensor[(3), float32] = ' .
        'rsqrt(%v + 1e-05f) * %v; %x * %s + (negative(%v) * %s + %v) ), ' .
        '%v, %v ); (%t.2, %t.0)');
becomes('SimplifyInference', $norm, 'nn.batch_norm(%h, %w, %w, %w, %w).0');
becomes('SimplifyInference', $norm, 'nn.batch_norm(%q, %v, %v, %v, %v).0');
becomes('SimplifyInference', $norm, 'nn.layer_norm(%x, %v, %v)');
becomes('SimplifyInference', $norm, 'nn.layer_norm(%x, %v, %v)',
        'let %c: Tensor[(2, 3), float32] = %x - mean(%x, axis=[1], ' .
        'keepdims=True); %c * rsqrt(mean(%c * %c, axis=[1], ' .
        'keepdims=True) + 1e-05f) * %v + %v', '--fast-math');

my $small = '%x: Tensor[(2, 3), int8], %w: Tensor[(4, 3), int8], ' .
            '%z: Tensor[(4), int32], %s: Tensor[(4), float32]';
becomes('Legalize', $small, 'qnn.dense(%x, %w, 3, %z, 1f, %s)');

my $layers = join '', map { "\@f($_);\n" } map {
  ("[[$_, -1f, 2.5f], [0f, -0f, 1e-30f]], [1f, $_, -3f]")
} '3f', '0f / 0f', '1f / 0f', '-1e-45f';
$layers = 'def @f(%x: Tensor[(2, 3), float32], %v: Tensor[(3), float32]) {
  let %y = cast(%x, dtype="float64");
  let %u = cast(%v, dtype="float64");
  let %h = cast(%x, dtype="float16");
  let %w = cast(%v, dtype="float16");
  let %t = transpose(%x);
  let %q = cast(%x * 40f, dtype="int8");
  let %r = cast(%x * 100f, dtype="uint8");
  let %s = abs(strided_slice(%v, begin=[0], end=[2]));
  (nn.batch_norm(%x, %v, %v, %v, abs(%v)), nn.bias_add(%x, %v),
   nn.batch_norm(%t, %v, %v, %v, %v, axis=0, epsilon=0.3f),
   nn.batch_norm(%y, %u, %u, %u, abs(%u), scale=False, epsilon=0.1f).0,
   nn.batch_norm(%h, %w, %w, %w, abs(%w), center=False).0,
   nn.bias_add(%t, %v, axis=0), nn.dropout(%t * 2f), nn.dropout(%h).1,
   qnn.dense(%q, %q, -128, 127, 1f, 1f),
   qnn.dense(%r, %q, 255, 0, 1f, 1f, out_dtype="int64"),
   qnn.batch_matmul(expand_dims(%r, axis=0), expand_dims(%r, axis=0), 7, 0, 1f,
                    1f, transpose_b=True),
   qnn.conv2d(reshape(%r, newshape=[1, 1, 2, 3]),
              reshape(%q, newshape=[1, 1, 2, 3]), 200, 3, 1f, 1f,
              padding=[1, 2], channels=1, kernel_size=[2, 3]))
}
' . $layers;
my $layered = rly(spew($path, $layers));
is($layered->{status}, 0, 'the layers run') or diag $layered->{err};
for my $pass ('CanonicalizeOps', 'SimplifyInference', 'Legalize') {
  my $text = opt($layers, '--passes', $pass)->{out};
  isnt($text, opt($layers, '-O0')->{out}, "$pass finds something");
  gives(rly(spew($made, $text)), 0, $layered->{out}, '', "$pass keeps bits");
}

# --- Products together --------------------------------------------------------

sub combines {
  my ($lets, $count, $name) = @_;
  my $out = opt('def @f(%x: Tensor[(2, 3), float32], ' .
                '%u: Tensor[(4, 3), float32], %v: Tensor[(5, 3), float32], ' .
                '%q: Tensor[(?, 3), float32], %c: Ref[int32]) { ' .
                "$lets }\n", '--passes', 'CombineParallelDense(branches=2)');
  is($out->{status}, 0, "$name: accepted") or diag $out->{err};
  is(scalar(() = $out->{out} =~ /nn\.dense/g), $count, $name);
}
my ($first_one, $other) = ('let %a = nn.dense(%x, %u);',
                           'let %b = nn.dense(%x, %v);');
combines("$first_one $other (%a, %b)", 1, 'two products');
combines("$first_one print(%a); $other (%a, %b)", 1, 'what prints between');
combines("let %a = nn.dense(%x, %u); let %b = nn.dense(%x + 1f, %v); (%a, %b)",
         2, 'two operands');
combines("$first_one let %w = %v + sum(%a); let %b = nn.dense(%x, %w); %b", 2,
         'a weight that is not there yet');
combines("$first_one let %b = nn.dense(%x, %q); (%a, %b)", 2,
         'a product that may fail');
combines("$first_one let %g = fn () { $other %b }; (%a, %g())", 2,
         'a function between');

my $together = 'def @n(%k: int32) { cast(arange(0, %k, 1), dtype="float32") }
def @f(%x: Tensor[(2, 3), float32], %c: Tensor[(1, 2, 4, 4), float32]) {
  let %u = sin(reshape(@n(12), newshape=[4, 3]));
  let %v = cos(reshape(@n(99), newshape=[33, 3]));
  let %k = sin(reshape(@n(36), newshape=[2, 2, 3, 3]));
  let %l = cos(reshape(@n(18), newshape=[1, 2, 3, 3]));
  let %a = nn.dense(%x, %u);
  let %b = nn.dense(%x, %v);
  let %d = nn.conv2d(%c, %k, padding=[1, 1], channels=2, kernel_size=[3, 3]);
  let %e = nn.conv2d(%c, %l, padding=[1, 1], channels=1, kernel_size=[3, 3]);
  (%a, %b, %d, %e)
}
@f([[0f, -0f, 1e30f], [3f, 1f / 0f, 0.1f]],
   sin(reshape(@n(32), newshape=[1, 2, 4, 4])));
';
my $apart = rly(spew($path, $together));
is($apart->{status}, 0, 'products apart');
spew($made, opt($together, '--passes', 'CombineParallelDense(branches=2),' .
                'CombineParallelConv2D')->{out});
is(scalar(() = slurp($made) =~ /concatenate/g), 2, 'two groups');
gives(rly($made), 0, $apart->{out}, '', 'have the same bits together');

# --- Scales in weights --------------------------------------------------------

# Without --fast-math nothing changes; with it only what is named here does, and
# what the program computes stays near what it was.
my $kernels = 'def @n(%k: int32) { cast(arange(0, %k, 1), dtype="float32") }
def @f(%x: Tensor[(1, 2, 4, 4), float32], %w: Tensor[(4, 2, 3, 3), float32],
       %i: Tensor[(2, 1, 1), float32], %o: Tensor[(1, 4, 1, 1), float32],
       %g: Tensor[(4), float32], %z: Tensor[(4, 1, 3, 3), float32],
       %a: Tensor[(3, 4), float32], %d: Tensor[(5, 4), float32],
       %b: Tensor[(5), float32], %h: Tensor[(4, 2, 2), float32]) {
  %s
}
@f(sin(reshape(@n(32), newshape=[1, 2, 4, 4])),
   cos(reshape(@n(72), newshape=[4, 2, 3, 3])), [[[2f]], [[-0.5f]]],
   [[[[1f]], [[2f]], [[0.25f]], [[-3f]]]], [1f, 0.5f, 2f, 3f],
   cos(reshape(@n(36), newshape=[4, 1, 3, 3])),
   sin(reshape(@n(12), newshape=[3, 4])), cos(reshape(@n(20), newshape=[5, 4])),
   [1f, -2f, 0.5f, 4f, 0f], cos(reshape(@n(16), newshape=[4, 2, 2])));
';
my $conv = 'nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3])';
my $inner = 'nn.conv2d(%x * %i, %w, channels=4, kernel_size=[3, 3])';
my $groups = 'channels=4, kernel_size=[3, 3], groups=2)';
sub folds {
  my ($pass, $body, $folded, $name) = @_;
  my $program = $kernels =~ s/%s\n/$body\n/r;
  my $plain = opt($program, '-O0')->{out};
  gives(opt($program, '--passes', $pass), 0, $plain, '',
        "$pass: $name: not without --fast-math");
  my $made = opt($program, '--passes', $pass, '--fast-math')->{out};
  is($made ne $plain, !!$folded, "$pass: $name") or diag($made);
  return if !$folded;
  like($made, $folded, "$pass: $name: what becomes of it");
  my ($was, $is) = map { rly(spew($path, $_)) } $plain, $made;
  is($is->{status}, 0, "$pass: $name: it runs") or diag($is->{err});
  my @was = $was->{out} =~ /-?\d+\.\d+(?:e-?\d+)?/g;
  my @is = $is->{out} =~ /-?\d+\.\d+(?:e-?\d+)?/g;
  is(scalar @is, scalar @was, "$pass: $name: as many numbers");
  my @far = grep { abs($was[$_] - $is[$_]) > 1e-4 * (1 + abs $was[$_]) }
            0 .. $#was;
  ok(@was > 3 && !@far, "$pass: $name: near") or diag($was->{out}, $is->{out});
}
my $scaled = qr/%w \*\s+reshape/;
folds('FoldScaleAxis', "$conv * %o", $scaled, 'after a convolution');
folds('FoldScaleAxis', "%o * $conv", $scaled, 'on the other side');
folds('FoldScaleAxis', "nn.conv2d(%x, %z, $groups * %o", qr/%z \*\s+reshape/,
      'in groups');
folds('FoldScaleAxis', "($conv + %o) * %o", $scaled, 'after a sum');
folds('FoldScaleAxis', "$conv * 3f", qr/%w \* 3f/, 'of one number');
folds('FoldScaleAxis', $inner, $scaled, 'before a convolution');
folds('FoldScaleAxis', "nn.conv2d(%x * %i, %z, $groups", undef,
      'before one in groups');
folds('FoldScaleAxis', "nn.dense(%a, %d) * %b", qr/%d \*\s+reshape/,
      'after a product');
folds('FoldScaleAxis', "nn.dense(%a * %g, %d)", qr/%d \*\s+reshape/,
      'before a product');
folds('FoldScaleAxis', "let %y = $conv; let %v = %y * %o; nn.relu(%v)",
      $scaled, 'with names');
folds('FoldScaleAxis', "let %y = $conv; (%y * %o, %y)", undef, 'used twice');
folds('FoldScaleAxis', "let %y = $conv; let %g = fn () { %y * %o }; %g()",
      undef, 'in a function');
folds('FoldScaleAxis', "$conv * %h", undef, 'of more than channels');
folds('FoldScaleAxis', "$conv + %o", undef, 'no scale');
folds('FoldBatchNorm', "nn.batch_norm($conv, %g, %g, %g, %g).0", $scaled,
      'of a convolution');
folds('FoldBatchNorm', "nn.batch_norm($conv, %g, %g, %g, %g, scale=False,
      center=False, epsilon=0.1f).0", $scaled, 'without scale and centre');
folds('FoldBatchNorm', "let %y = $conv;
      let %t = nn.batch_norm(%y, %g, %g, %g, %g); nn.relu(%t.0)", $scaled,
      'with names');
folds('FoldBatchNorm', "nn.batch_norm($conv, %g, %g, %g, %g).1", undef,
      'the mean');
folds('FoldBatchNorm', "nn.batch_norm(nn.dense(%a, %d), %b, %b, %b, abs(%b),
      axis=-1)", undef, 'as a tuple');

# --- ToMixedPrecision ---------------------------------------------------------

sub mixes {
  my ($body, $to, $name, $dtype) = @_;
  my $pass = 'ToMixedPrecision' . ($dtype ? "(dtype=$dtype)" : '');
  my $out = opt("def \@f(%x: Tensor[(2, 2), float32], %w: Tensor[(2, 2), " .
                "float32]) { $body }\n", '--passes', $pass, '--fast-math');
  is($out->{status}, 0, "$pass: $name (is made)") or diag $out->{err};
  is(body($out->{out}) =~ s/: Tensor\[\(2, 2\), (\w+)\]/: $1/gr =~
     s/(?<=\() | (?=\))//gr, $to, "$pass: $name");
}
my $half = 'nn.dense(cast(%x, dtype="float16"), cast(%w, dtype="float16"))';
sub single { return qq{cast($_[0], dtype="float32")} }
mixes('nn.dense(%x, %w)', single($half), 'a product');
mixes('nn.dense(%x, %w)', single($half =~ s/float16/bfloat16/gr), 'a product',
      'bfloat16');
mixes('let %y = nn.dense(%x, %w); (nn.relu(%y), exp(%y))',
      "let %y: float16 = $half; (cast(nn.relu(%y), dtype=\"float32\"), " .
      'exp(cast(%y, dtype="float32")))', 'what follows, and what loses');
mixes('nn.relu(%x) * 2f', 'nn.relu(%x) * 2f', 'nothing without a product');
mixes('let %y = nn.dense(%x, %w); %y + %x',
      "let %y: float16 = $half; cast(%y, dtype=\"float32\") + %x",
      'an operand that is not there in 16 bits');
my $product = 'def @f(%x: Tensor[(1, 2), float32], %w: Tensor[(1, 2), float32])
    { exp(nn.dense(%x, %w) * 0.5f - 1024f) }
';
is(opt($product, '--passes', 'ToMixedPrecision')->{out},
   opt($product, '-O0')->{out}, 'ToMixedPrecision: nothing by itself');
# 2049 is halfway between two of float16, and rounds to the even one.
my $mixed = opt($product . '@f([[2048f, 1f]], [[1f, 1f]]);', '--fast-math',
                '--passes', 'ToMixedPrecision');
gives(rly(spew($made, $mixed->{out})), 0,
      "Tensor[(1, 1), float32] [[1.0]]\n", '',
      'ToMixedPrecision: a product rounds to 16 bits');

# --- Groups of operators ------------------------------------------------------

sub fuses {
  my ($body, $count, $name) = @_;
  my $program = $kernels =~ s/%s\n/$body\n/r;
  my $fused = opt($program, '--passes', 'FuseOps');
  is($fused->{status}, 0, "FuseOps: $name (is made)") or diag($fused->{err});
  is(scalar(() = $fused->{out} =~ /Primitive=1/g), $count, "FuseOps: $name");
  my $run = rly(spew($path, $program));
  spew($made, $fused->{out});
  gives(rly($made), 0, $run->{out}, '', "FuseOps: $name: the same bits");
  my $back = opt($fused->{out}, '--passes', 'DefuseOps')->{out};
  unlike($back, qr/Primitive/, "DefuseOps: $name");
  gives(rly(spew($made, $back)), 0, $run->{out}, '',
        "DefuseOps: $name: the same bits");
}
fuses("nn.relu($conv * %o + %o)", 1, 'after a convolution');
fuses("$conv + $inner", 1, 'of two, one');
fuses('sum(exp(%a) * 2f, axis=[1])', 1, 'a reduction at the end');
fuses('exp(sum(%a, axis=[1]))', 0, 'nothing after a reduction');
fuses('nn.dense(exp(%a), %d)', 0, 'nothing before a product');
fuses('let %y = exp(%a); (%y + 1f, %y)', 0, 'used twice');
fuses('let %y = exp(%a); print(%y); %y + 1f', 0, 'printed');
fuses('let %y = exp(%a); let %c = ref(1f); print(ref_read(%c));
       tanh(%y)', 1, 'around what prints');
fuses('reshape(transpose(exp(%a)), newshape=[12])', 1, 'moves of elements');
fuses('(if (take(%b, 0) > 0f) { exp(%a) * 2f } else { %a }) + 1f', 1,
      'in a branch');

# --- All together -------------------------------------------------------------

# The plain LSTM of bench/ multiplies with the rows of its sequence at once; its
# bits at a size that can be run here.
for my $file ('bench/lstm_loop.rly', 'bench/lstm_loop_small.rly') {
  my $o2 = rly('opt', '-O2', $file);
  is($o2->{status}, 0, "$file at -O2");
  like($o2->{out}, qr/strided_slice\(\s*%xs.*nn\.dense\(\s*%v\d*,\s*%w_ih/s,
       'one product for many rows');
  unlike($o2->{out}, qr/take\(%xs/, 'and no row by itself');
}
my $lstm = slurp('bench/lstm_loop_small.rly');
$lstm =~ s/\b256\b/12/g;
$lstm =~ s/\b64\b/3/g;
$lstm =~ s/\b40\b/2/g;
$lstm .= 'def @n(%k: int32) { sin(cast(arange(0, %k, 1), dtype="float32")) }
';
$lstm .= "\@main($_, reshape(\@n(14), newshape=[7, 1, 2]), [[1f, -0f, 0.5f]]," .
         " [[0f, 2f, -3f]], reshape(\@n(24), newshape=[12, 2])," .
         " reshape(\@n(36), newshape=[12, 3]), \@n(12));\n" for 0, 1, 7, 9;
my $steps = rly(spew($path, $lstm));
is($steps->{status}, 0, 'the small LSTM runs') or diag $steps->{err};
spew($made, opt($lstm, '-O2')->{out});
gives(rly($made), 0, $steps->{out}, '', 'the LSTM has the same bits at -O2');

done_testing;
