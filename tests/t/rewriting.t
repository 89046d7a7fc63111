#!/usr/bin/env perl
# Rules of rewriting at work: rly opt --rules.  What a rule may say is tested by
# tests/run/rewriting.rly, what is refused by docs/DIAGNOSTICS.md.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $rules = 'tests/rules/small.rly';

# The body that rules make of a function's.
sub becomes {
  my ($params, $body, $wanted, $what, @flags) = @_;
  my $file = spew(scratch('p.rly'), "def \@f($params) { $body }\n");
  my $got = rly('opt', '--rules', $rules, @flags, $file);
  is($got->{err}, '', "$what: no message");
  my ($found) = $got->{out} =~ /\{(.*)\}/s;
  $found //= $got->{out};
  $found =~ s/\s+/ /g;
  is($found, " $wanted ", $what);
}

# --- Matching -----------------------------------------------------------------

becomes('%a: int32', '(%a * 3) + 0', '%a * 3', 'a literal');
becomes('%a: int32', '0 + %a', '%a', 'the other order, as addition commutes');
becomes('%a: int64', '%a + 0i64', '%a + 0i64', 'another dtype does not fit');
becomes('%a: int32', '%a - 0', '%a - 0', 'another operator does not fit');
becomes('%a: Tensor[(2, 3), int8]',
        'transpose(transpose(%a, axes=[1, 0]), axes=[-1, -2])', '%a',
        'attributes, compared by the condition');
becomes('%a: Tensor[(2, 2), int8]',
        'transpose(transpose(%a, axes=[1, 0]), axes=[0, 1])',
        'transpose(transpose(%a, axes=[1, 0]), axes=[0, 1])',
        'a condition that does not hold');
becomes('%a: Tensor[(3), int32], %b: Tensor[(3), int32]',
        '%b * %a + (%a + 1) * %b', '%b * (%a + (%a + 1))',
        'orders of operands that agree are found among all');
becomes('%a: Tensor[(3), int32], %b: Tensor[(3), int32]',
        '(%a - 1) * %b + %a * (%a - 1)', '(%a - 1) * (%b + %a)',
        'the same expression, twice');
becomes('%a: Tensor[(3), int32], %b: Tensor[(3), int32]',
        '(%a - 1) * %b + %a * (%a - 2)', '(%a - 1) * %b + %a * (%a - 2)',
        'another expression');
becomes('%a: Tensor[(3), int32]', '[1, 1, 1] * %a + %a * [2, 2, 2]',
        '%a * ([1, 1, 1] + [2, 2, 2])', 'constants');
becomes('%a: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32], ' .
        '%b: Tensor[(4), float32]', 'nn.bias_add(nn.dense(%a, %w), %b)',
        'nn.dense(%a, %w) + %b', 'dimensions');
becomes('%a: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32], ' .
        '%b: Tensor[(2), float32]',
        'nn.bias_add(nn.dense(%a, %w), %b, axis=0)',
        'nn.bias_add(nn.dense(%a, %w), %b, axis=0)',
        'an attribute that the rule does not mention has its default');
becomes('%a: Tensor[(2, ?), float32], %w: Tensor[(4, ?), float32], ' .
        '%b: Tensor[(4), float32]', 'nn.bias_add(nn.dense(%a, %w), %b)',
        'nn.bias_add(nn.dense(%a, %w), %b)',
        'of two unknown dimensions nobody knows that they are equal');
becomes('%a: float32', '%a + -0f', '%a', 'the value of a constant');
becomes('%a: float32', '%a + 0f', '%a + 0f', '0 is not -0');
becomes('%a: Tensor[(2, 3), bool]', 'reshape(%a, newshape=[-1])',
        'reshape(%a, newshape=[6])', 'a computed attribute');
becomes('%a: Tensor[(2, ?), bool]', 'reshape(%a, newshape=[-1])',
        'reshape(%a, newshape=[-1])', 'a shape that is not static');

# What prints is left where it is.
my $prints = spew(scratch('prints.rly'),
  'rule @r(%x: int32) { (print(%x), 1) } => { (print(%x), 2) }');
gives(rly('opt', '--rules', $prints, spew(scratch('p.rly'), <<'END')), 0,
def @f(%a: int32) {
  let %u = print(%a);
  ((%u, 1), (print(%a), 1))
}
END
      qr/= print\(%a\);\s+\(\(%u, 1\), \(print\(%a\), 2\)\)/, '',
      'what prints is not repeated');

# Constants that the right side computes, and shapes that broadcast: expected
# numbers are those of int8, which wraps, and of float16's greatest, 65504.
my $numbers = spew(scratch('numbers.rly'), 'rule @join[s: Shape, d: DType](
  %x: Tensor[s, d], %c: Tensor[(), d], %e: Tensor[(), d]
) : real when is_constant(%c) && is_constant(%e) {
  %x + %c + %e
} => { %x + number(value(%c) + value(%e), d) }
rule @nothing[s: Shape, t: Shape, d: DType](%x: Tensor[s, d], %c: Tensor[t, d])
  when value(%c) == 0 && broadcasts(%c, %x) { %x - %c } => { %x }
');
for (
  ['Tensor[(3), int8]', '%a + 100i8 + 29i8', '%a + -127i8', 'an integer wraps'],
  ['Tensor[(3), float16]', '%a + 1f16 + 2f16', '%a + 3f16', 'a float rounds'],
  ['float16', '%a + 60000f16 + 60000f16', '%a + 60000f16 + 60000f16',
   'a number that is not finite'],
  ['Tensor[(2, 3), int32]', '%a - [[0], [0]]', '%a', 'a constant of a tensor'],
  ['Tensor[(3), int32]', '%a - [[0], [0]]', '%a - [[0], [0]]',
   'one that makes the operand larger'],
  ['Tensor[(2, ?), int32]', '%a - [[0], [0]]', '%a', 'beside what is unknown'],
  ['Tensor[(2, ?), int32]', '%a - [0, 0]', '%a - [0, 0]',
   'where the unknown may be 1'],
  ['Tensor[?, int32]', '%a - 0', '%a', 'of a tensor of any rank'],
  ['Tensor[?, int32]', '%a - [0]', '%a - [0]', 'of which the rank may be 0'],
) {
  my ($type, $body, $wanted, $what) = @$_;
  my $file = spew(scratch('p.rly'), "def \@f(%a: $type) { $body }\n");
  my $got = rly('opt', '--fast-math', '--rules', $numbers, $file);
  my ($found) = $got->{out} =~ /\{ (.*) \}/s;
  is($found // $got->{out} . $got->{err}, $wanted, $what);
}

# --- Sharing, binders, effects ------------------------------------------------

becomes('%a: Tensor[(2, 3), int8]',
        'let %t = transpose(%a, axes=[1, 0]); ' .
        'transpose(%t, axes=[1, 0])',
        'let %t: Tensor[(3, 2), int8] = transpose(%a, axes=[1, 0]); %a',
        'through a name');
becomes('%a: Tensor[(2, 3), int8]',
        'let %t = transpose(-%a, axes=[1, 0]); ' .
        'transpose(%t, axes=[1, 0])',
        'let %t: Tensor[(3, 2), int8] = transpose(-%a, axes=[1, 0]); ' .
        'transpose(%t, axes=[1, 0])',
        'not where something would be computed twice');
becomes('%a: int32', 'fn (%b: int32) { match (%b) { 0 => %a, _ => %b + 0 } }',
        'fn (%b: int32) -> int32 { match (%b) { 0 => %a, _ => %b } }',
        'below a function and an arm');
becomes('%a: float32', 'power(exp(%a), 2f)',
        'let %v: float32 = exp(%a); %v * %v',
        'what is used twice gets a name', '--rule', 'square');
becomes('%a: float32', 'power(%a, 2f)', 'power(%a, 2f)',
        'a rule of grade real only where it is asked for');
becomes('%a: float32', 'power(%a, 2f)', '%a * %a',
        'such as by --fast-math', '--fast-math');
becomes('%a: int32', '(fn (%b: int32) { %b - 1 })(%a) + 0',
        '(fn (%b: int32) -> int32 { %b - 1 })(%a)', 'a call of a function');
becomes('%f: fn (int32) -> int32, %a: int32', '%f(%a) + %f(%a)',
        '%f(%a) + %f(%a)', 'a function of which nothing is known is not pure');
becomes('%a: int32', 'let %f = fn (%b: int32) -> int32 { %b - 1 }; ' .
        '%f(%a) + %f(%a)', 'let %f: fn (int32) -> int32 = ' .
        'fn (%b: int32) -> int32 { %b - 1 }; %f(%a) * 2',
        'of this one is');
becomes('%a: Tensor[(3), int32], %b: int32, %c: Tensor[(3), int32]',
        '(%a / %b) * %c + (%a / %b) * %a', '%a / %b * %c + %a / %b * %a',
        'what may fail is not pure');
becomes('%c: bool, %x: float32, %r: Ref[float32]',
        'if (%c) { %x } else { ref_read(%r) }',
        'if (%c) { %x } else { ref_read(%r) }', 'nor what reads a cell');
becomes('%c: bool, %x: float32', 'if (%c) { %x } else { -%x }',
        'where(%c, %x, -%x)', 'a branch that is');
becomes('%x: Tensor[(2), float32]',
        'let %y = exp(%x); (abs(abs(%y)), %y)',
        'let %y: Tensor[(2), float32] = exp(%x); (abs(abs(%y)), %y)',
        'how often a name is used');

# --- The command --------------------------------------------------------------

my $p = spew(scratch('p.rly'), "def \@f(%a: int32) { %a + 0 }\n\@f(3);\n");
my $made = "def \@f(%a: int32) -> int32 { %a }\n\n\@f(3);\n";
gives(rly('opt', $p, '--rules', $rules), 0, $made, '', 'rly opt --rules');
gives(rly('opt', $p, '--rules', $rules, '--verify'), 0, $made, '',
      'compared with what the program did');
gives(rly('opt', $p, '--rules', $rules, '--rule', '@plus_zero'), 0, $made, '',
      'one rule');
gives(rly('opt', $p, '--rules', $rules, '--rule', 'plus_zer'), 1, '',
      qr/no rule `\@plus_zer`.*\n.*did you mean `\@plus_zero`\?/,
      'a rule that is not there');
gives(rly('opt', $p, '--rule', 'plus_zero'), 1, '', qr/--rule needs --rules/,
      'without its file');
gives(rly('opt', $p, '--rules', scratch('none.rly')), 1, '', qr/E0501/,
      'a file that is not there');
gives(rly('opt', $p, '--rules', $rules, '--print-changed'), 0,
      qr/^\/\/ --- ApplyRules\n.*^- .*%a \+ 0.*^\+ .*\{ %a \}/ms, '',
      'what was changed');
gives(rly('opt', $p, '--rules', $rules, '--passes', 'ApplyRules,FoldConstant',
          '--dump-pipeline'), 0, "ApplyRules\nFoldConstant\n", '',
      'where --passes says');
gives(rly('opt', $p, '--rules', $rules, '--passes', 'FoldConstant',
          '--dump-pipeline'), 0, "FoldConstant\nApplyRules\n", '',
      'or at the end');

# A wrong rule is found.
my $wrong = spew(scratch('wrong.rly'), <<'R');
rule @right(%x: int32) { %x + 0 } => { %x }
rule @wrong(%x: int32) { %x * 3 } => { %x * 2 }
R
spew($p, "def \@f(%a: int32) { (%a + 0) * 3 + 0 }\n\@f(3);\n");
gives(rly('opt', $p, '--rules', $wrong, '--verify'), 1, '',
      qr/`ApplyRules` changed what the program does/, 'a wrong one is seen');
gives(rly('opt', $p, '--rules', $wrong, '--bisect'), 1,
      qr/^pass 1, ApplyRules: rewrite 2 at .*:1:30 changed what/, '',
      'and found');

# Names of rules are their own, but for other rules.
gives(rly('check', spew($p, <<'P')), 1, '',
rule @a(%x: int32) { %x + 0 } => { %x }
rule @a(%x: int32) { 0 + %x } => { %x }
P
      qr/:2:6: .*E0105.*the rule `\@a` is defined twice.*first defined here/s,
      'a rule that is defined twice');
gives(rly('run', spew($p, <<'P')), 0, "3\n", '', 'a function of the same name');
rule @a(%x: int32) { %x + 0 } => { %x }
def @a(%x: int32) { %x + 0 }
@a(3)
P
gives(rly('fmt', '--relay', $p), 0, qr/^#\[version.*^def \@a/ms, '',
      'plain Relay has no rules');

# Each rewrite, with its place: what was there and what is.
my $identity = qr/⟦transpose\(%h, axes=\[0, 1\]\)⟧/;
gives(rly('opt', '--print-changed', '--rules', 'docs/optimiser/mine.rly',
          'docs/optimiser/layer.rly'), 0,
      qr{^// \@same at \S+layer\.rly:9:11: $identity -> ⟦%h⟧$}m, '',
      'redex and contractum of each rewrite');

done_testing();
