#!/usr/bin/env perl
# Rules about operators of a text's own: `op @f`, and operators in C.  What is
# refused is tested by docs/DIAGNOSTICS.md and tests/run/rewriting.rly.
use strict;
use warnings;
use lib 'tests/t';
use Cwd;
use Rly;
use Test::More;

my $own = getcwd . '/tests/rules/own.rly';

# A program that has the operators of that file, and what rules make of its last
# function.
sub text { return spew(scratch('p.rly'), qq{import "$own";\n$_[0]\n}) }

sub becomes {
  my ($def, $wanted, $what, @flags) = @_;
  @flags = ('--rules', $own) if !@flags;
  my $got = rly('opt', '--verify', @flags, text($def));
  is($got->{err}, '', "$what: no message");
  my ($found) = $got->{out} =~ /.*^def \@f.*?\{\n?(.*)\}/sm;
  $found =~ s/\s+/ /g;
  $found =~ s/^ | $//g;
  is($found, $wanted, $what);
}

# --- Matching and making ------------------------------------------------------

becomes('def @f(%a: Tensor[(2, 3), float32]) { %a * sigmoid(%a) }',
        '@swish(%a)', 'an operator that the program did not call before');
becomes('def @f[n: Dim](%a: Tensor[(n, 3), float32], %b: Tensor[(?), float32]) '
        . '{ (%a * sigmoid(%a), %b * sigmoid(%b)) }',
        '(@swish(%a), @swish(%b))', 'at named and at unknown dimensions');
becomes('def @f(%a: Tensor[(2), float16]) { %a * sigmoid(%a) }',
        '%a * sigmoid(%a)', 'another dtype does not fit');
becomes('def @f(%a: Tensor[(2), float32]) { let %b = @swish(exp(%a)); '
        . '%b + @swish(exp(%a)) }',
        'let %b: Tensor[(2), float32] = @swish(exp(%a)); %b + @swish(exp(%a))',
        'what is not equal by its names does not fit');
becomes('def @f(%a: Tensor[(2), float32]) { let %b = exp(%a); '
        . '@swish(%b) + %b * sigmoid(%b) }',
        'let %b: Tensor[(2), float32] = exp(%a); 2f * @swish(%b)',
        'one rule after another');
becomes('def @f(%a: Tensor[(4), float32]) { '
        . 'strided_slice(%a, begin=[1], end=[4]) '
        . '- strided_slice(%a, begin=[0], end=[3]) }', '@steps(%a)',
        'an operator with a condition');
becomes('def @f(%a: float32) { let %b = @told(%a); (%b + 8f, @told(%a) + 8f) }',
        'let %b: float32 = @told(%a); (%b + 8f, @told(%a) - -8f)',
        'what prints is not looked for behind a name');

# The condition of the rule holds of 64, and that of the operator does not: a
# rule is tried at shorter ones when it is read.
my $short = spew(scratch('short.rly'), <<'END');
op @short[n: Dim](%x: Tensor[(n), float32]) -> Tensor[(n), float32]
  where n < 50: "too long" = { reverse(%x, axis=0) };
rule @into_short[n: Dim](%x: Tensor[(n), float32]) {
  reverse(%x, axis=0)
} => { @short(%x) }
END
gives(rly('opt', '--verify', '--rules', $short, spew(scratch('long.rly'),
          qq{import "$short";
def \@f(%a: Tensor[(64), float32], %b: Tensor[(2), float32]) {
  (reverse(%a, axis=0), reverse(%b, axis=0))
}})), 0, qr/\(reverse\(%a\), \@short\(%b\)\)/, '',
      'a condition of the operator that is known not to hold');

# --- Within what an operator uses ---------------------------------------------

my $itself = rly('opt', '--verify', '--rules', $own, $own);
is($itself->{err}, '', 'an operator is not introduced in what it is');
like($itself->{out}, qr/\@doubled\(%x: float32\) -> float32 \{ %x \+ %x \}/,
     'nor in what it uses');
like(rly('opt', '--rules', $own, '--rule', 'into_twice',
         text('def @f(%a: float32) { %a + %a }'))->{out},
     qr/\{ \@twice\(%a\) \}/, 'but elsewhere');

# Two rules, of which each may be applied, and not both: @p would use @q, which
# would use @p.
my $circle = spew(scratch('circle.rly'), <<'END');
op @p(%x: float32) -> float32 = { exp(%x) };
op @q(%x: float32) -> float32 = { sin(%x) };
rule @to_q(%x: float32) { exp(%x) } => { @q(%x) }
rule @to_p(%x: float32) { sin(%x) } => { @p(%x) }
END
for my $how ([], ['--passes', 'ApplyRules(rounds=4)']) {
  my $out = rly('opt', @$how, '--rules', $circle, $circle)->{out};
  my ($p) = $out =~ /op \@p.*= \{ (.*) \}/;
  my ($q) = $out =~ /op \@q.*= \{ (.*) \}/;
  is("$p $q", '@q(%x) sin(%x)', 'no circle of operators');
}

# --- By equal definitions -----------------------------------------------------

my $f = "def \@f(%a: float32) { %a + %a }\n";
my $lacks = spew(scratch('lacks.rly'), $f);
gives(rly('opt', '--rules', $own, '--rule', 'into_twice', $lacks), 0,
      "def \@f(%a: float32) -> float32 { %a + %a }\n",
      qr/W0007.*`\@into_twice` is not applied: the program has no `\@twice`/,
      'a program without the operator');
my $other = spew(scratch('other.rly'), $f . <<'END');
op @twice(%x: float32) -> float32 = { @doubled(%x) };
def @doubled(%x: float32) -> float32 { 2f * %x }
END
gives(rly('opt', '--rules', $own, '--rule', 'into_twice', $other), 0,
      qr/def \@f\(%a: float32\) -> float32 \{ %a \+ %a \}/,
      qr/W0007.*the program has another definition of `\@doubled`/,
      'one whose operator uses another function');
my $same = spew(scratch('same.rly'), $f . <<'END');
op @twice(%number: float32) -> float32 = { @doubled(%number) };
def @doubled(%it: float32) -> float32 { {%it + %it} }
END
gives(rly('opt', '--rules', $own, '--rule', 'into_twice', $same), 0,
      qr/def \@f\(%a: float32\) -> float32 \{ \@twice\(%a\) \}/, '',
      'names of variables and braces make no difference');
gives(rly('opt', '--rules', $own, '--rule', 'double', $lacks), 0, qr/%a \+ %a/,
      '', 'a rule that looks for what is not there says nothing');
my $once = rly('opt', '--rules', $own, text($f))->{out};
my $twice = rly('opt', '--rules', $own, spew(scratch('once.rly'), $once));
is($twice->{out}, $once, 'what opt printed has the same operators');

# --- Other ways to apply ------------------------------------------------------

my $sum = 'def @f(%a: Tensor[(64, 64), float32]) { %a * sigmoid(%a) '
        . '+ @swish(%a) }';
becomes($sum, '2f * @swish(%a)', 'by equality saturation', '--rules', $own,
        '--saturate');
like(rly('opt', '--rules', $own, '--print-changed', text($sum))->{out},
     qr{^// \@fuse at \S+:2:\d+: ⟦%a \* sigmoid\(%a\)⟧ -> ⟦\@swish\(%a\)⟧}m,
     'a rewrite is shown');
my $page = scratch('page.html');
rly('opt', '--rules', $own, '--rewrites', $page, text($sum));
like(slurp($page), qr/\@double/, 'and is a step of the page');

# --- rly verify ---------------------------------------------------------------

my $held = rly('verify', '--trials', 256, $own);
is($held->{err}, '', 'rules about operators hold');
is_deeply([$held->{out} =~ /^\@(\w+): held at bits: /mg],
          [slurp($own) =~ /^rule \@(\w+)/mg], 'each');
my $wrong = spew(scratch('wrong.rly'), <<'END');
let @factor = 3f;
op @scale(%x: float32) -> float32 = { @by(%x) };
def @by(%x: float32) -> float32 { %x * @factor }
op @unused(%x: float32) -> float32 = { %x };
rule @wrong(%x: float32) { @scale(%x) } => { %x * 2f }
rule @right(%x: float32) { @scale(%x) } => { %x * 3f }
rule @sum(%x: float32, %y: float32) : real { @scale(%x) + @scale(%y) } => {
  @scale(%x + %y)
}
END
my $refuted = rly('verify', $wrong);
is($refuted->{status}, 1, 'a wrong one is refuted');
like($refuted->{out}, qr/^\@right: held at bits.*^\@sum: held at real/sm,
     'others hold, at grade real in float64');
my ($program) = $refuted->{out} =~ /^\@wrong: .*?\n(.*?)^  it holds/sm;
$program =~ s/^  //mg;
unlike($program, qr/\@unused/, 'with what it uses alone');
is(rly('run', spew(scratch('pasted.rly'), $program))->{out}, "3f\n2f\n",
   'by a program that can be pasted');

# A rule may have the name of an operator that it calls; the functions that its
# sides are have names of their own.
my $names = spew(scratch('names.rly'), <<'END');
op @left(%x: float32) -> float32 = { %x * sigmoid(%x) };
op @right(%x: float32) -> float32 = { sigmoid(%x) };
rule @left(%x: float32) when pure(%x) { %x * @right(%x) } => { @left(%x) }
rule @wrong(%x: float32) when pure(%x) { %x + @right(%x) } => { @left(%x) }
END
gives(rly('verify', '--trials', 99, '--rule', 'left', $names), 0,
      qr/^\@left: held at bits: 99 /, '', 'a rule of its operator\'s name');
my $pasted = rly('verify', '--rule', 'wrong', $names)->{out};
my ($left) = $pasted =~ /^@\w+: refuted at bits.*?\n(.*?)^  it holds/ms;
$left =~ s/^  //mg;
is(rly('run', spew(scratch('left.rly'), $left))->{out}, "0.5f\n0f\n",
   'operators called as the sides are, in a program that can be pasted');

# A side that does not end is no reason to wait.
my $spin = spew(scratch('spin.rly'), <<'END');
op @spin(%x: float32) -> float32 = { if (%x == 7f) { %x } else { @spin(%x) } };
rule @ends(%x: float32) { @spin(%x) } => { %x }
END
gives(rly('verify', '--budget', 0.2, $spin), 1, '',
      qr/E0906.*a side of `\@ends` does not end within 0.2 seconds/,
      'the budget ends a side');

# --- Operators in C -----------------------------------------------------------

my $so = scratch('ops.so');
my $cc = $ENV{CC} || 'cc';
is(system("$cc -Wall -Wextra -Werror -shared -fPIC -Iinclude "
     . "tests/plugin/ops.c -o $so"), 0, 'a plugin compiles');
my @with = ('--plugin', $so);
my $c = spew(scratch('c.rly'), <<'END');
rule @minus_out[n: Dim](%x: Tensor[(n), float32]) : ulp(0) when n > 0 {
  @prefix(-%x)
} => { -@prefix(%x) }
rule @of_sum[n: Dim](%x: Tensor[(n), float32]) : real when n > 0 {
  cumsum(%x, axis=0)
} => { @prefix(%x) }
rule @minus[n: Dim](%x: Tensor[(n), float32]) : real when n > 0 {
  @prefix(%x)
} => { cumsum(-%x, axis=0) }
END
my $verdicts = rly('verify', @with, $c);
is_deeply([$verdicts->{out} =~ /^\@\w+: \w+ at \w+/mg],
          ['@minus_out: held at ulp', '@of_sum: held at real',
           '@minus: refuted at real'], 'rules about operators in C');
gives(rly('opt', @with, '--fast-math', '--rules', $c, '--rule', 'of_sum',
          spew(scratch('sums.rly'),
               'def @f(%a: Tensor[(5), float32]) { cumsum(%a, axis=0) }')),
      0, "def \@f(%a: Tensor[(5), float32]) -> Tensor[(5), float32] "
       . "{ \@prefix(%a) }\n", '', 'they are introduced');
my $tick = spew(scratch('tick.rly'),
                'rule @once(%x: int32) { @tick(%x) } => { %x }');
gives(rly('check', @with, $tick), 1, '',
      qr/E0904.*drops `\@tick`, which has an effect/,
      'an effect that C states is kept');
gives(rly('check', $tick), 1, '', qr/there is no operator `\@tick`.*--plugin/s,
      'without the plugin there is no such operator');

# --- The operators listed ----------------------------------------------------

my $listed = json(rly('ops', '--json', $own)->{out});
is_deeply([map { $_->{name} } @$listed], [qw(@swish @twice @steps @told)],
          'rly ops FILE --json lists them');
is($listed->[1]{definition},
   'op @twice(%x: float32) -> float32 = { @doubled(%x) }', '... as defined');
is($listed->[1]{doc}, 'A number twice, by way of a function.',
   '... their docs');
like($listed->[0]{rules},
     qr/^gradient \@swish.*^rule \@fuse.*^rule \@double/ms, '... and rules');
my $none = spew(scratch('none.rly'), '1;');
is_deeply(json(rly('ops', '--json', $none)->{out}), [], 'a file without any');
gives(rly('ops', '--json', spew(scratch('bad.rly'), '1 +')), 1,
      qr/^\{"severity": "error", \N*\n\z/, '', 'one that does not check');

done_testing;
