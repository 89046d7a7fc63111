#!/usr/bin/env perl
# rly verify: the library's rules hold, those of tests/rules/wrong.rly are
# refuted, and what refutes them is a program that shows it.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my @library = glob 'stdlib/rules/*.rly';
my $wrong = 'tests/rules/wrong.rly';
my $trials = is_release() ? 128 : 24;

sub names { return map { slurp($_) =~ /^rule \@(\w+)/mg } @_ }

# --- The library --------------------------------------------------------------

my $held = rly('verify', '--trials', $trials, @library);
is($held->{status}, 0, 'the rules of the library hold');
is($held->{err}, '', 'and each was tried');
my @lines = split /\n/, $held->{out};
is_deeply(
  [grep { !/: held at (?:bits|real|ulp\(\d+\)): \d+ trials?, / } @lines], [],
  'a line each');
is_deeply([map { /^\@(\w+): / } @lines], [names(@library)], 'in order');
cmp_ok(scalar @lines, '>=', 150, 'there are many');
is_deeply([grep { !/\b(?:[2-9]|\d\d+) shapes/ && !/\b\d shape/ } @lines], [],
          'with their shapes');

# --- The wrong ones -----------------------------------------------------------

# Each refutation, run as a program, prints two results that differ: those that
# verify says.
my $refuted = rly('verify', $wrong);
is($refuted->{status}, 1, 'wrong rules are refuted');
my %found = $refuted->{out} =~ /^\@(\w+): (refuted at .*?)(?=^\@|\z)/gms;
is_deeply([sort keys %found], [sort +names($wrong)], 'all of them');
my @pasted;
for my $name (one_in(1, 0, sort keys %found)) {
  my ($program) = $found{$name} =~ /\n(.*?)(?:^  the first|^  it holds)/ms;
  next if !defined $program;
  $program =~ s/^  //mg;
  my @says = ('', '');
  my $which = -1;
  for (split /\n/, $program) {
    $which++ if /^\@/;
    $says[$which] .= "$1\n" if m{^// (.*)};
  }
  if (my ($code) = "@says" =~ /error\[(\w+)\]/) {
    my $run = rly('run', spew(scratch('p.rly'), $program));
    push @pasted, $name if $run->{err} !~ /error\[$code\]/;
    next;
  }
  my $run = rly('run', spew(scratch('p.rly'), $program));
  push @pasted, $name
    if $run->{out} ne $says[0] . $says[1] || $says[0] eq $says[1];
}
is_deeply(\@pasted, [], 'each by a program that shows it');

# What is known of some of them: the smallest input, and the grade that holds.
my %known = (
  add_zero => qr/let %x = -0\.0.*it holds at ulp\(0\)/s,
  divide_self => qr/let %x = 0f;.*it holds at real/s,
  equal_self => qr/let %x = nanf;.*it holds at real/s,
  less_negatives => qr/-2147483648/,
  abs_negative => qr/d = uint\d+.*it holds at no grade/s,
  maximum_commutes => qr/let %x = 0.*let %y = -0\.0.*it holds at real/s,
  divide_self_int => qr/E0602/,
  sqrt_square_real => qr/refuted at real.*let %x = -1f.*no grade/s,
  exp_ulp => qr/refuted at ulp\(1\).*it holds at (?:ulp\(\d+\)|real)/s,
  tvm_16211_scale_axis => qr/refuted at bits.*no grade/s,
  tvm_16211_constants => qr/it holds at real/,
  where_not => qr/s = \(\)/,
  compose => qr/n = 2.*the first element that differs: \[/s,
);
like($found{$_} // '', $known{$_}, "$_: $known{$_}") for sort keys %known;

# --- The command --------------------------------------------------------------

my $rules = spew(scratch('r.rly'), <<'R');
rule @right[s: Shape](%x: Tensor[s, int32]) { %x + 0 } => { %x }
rule @wrong[s: Shape](%x: Tensor[s, int32]) { %x * 3 } => { %x * 2 }
rule @never[s: Shape](%x: Tensor[s, int32]) when rank(%x) == 7 {
  %x - 0
} => { %x }
rule @folds[n: Dim, m: Dim](%x: Tensor[(n, m), int8]) {
  reshape(%x, newshape=[-1])
} => { reshape(%x, newshape=[n * m]) }
R
like(rly('verify', $rules)->{err},
     qr/E0209.*`\@folds` is tried at n = \d, m = 0/s,
     'a side that has no type at an instance is refused when it is read');
spew($rules, slurp($rules) =~ s/^rule \@folds.*//msr);
gives(rly('verify', $rules, '--rule', 'right', '--trials', 100), 0,
      qr/^\@right: held at bits: 100 trials, \d+ shapes, 1 dtype$/, '',
      'one rule, so many trials');
gives(rly('verify', $rules, '--rule', '@wrong', '--seed', 7), 1,
      qr/^\@wrong: refuted at bits, by s = \(\)\n.*  let %x = 1;\n/s, '',
      'another seed');
gives(rly('verify', $rules, '--rule', 'never'), 1, '',
      qr/E0906.*no instance of `\@never`/, 'a rule that nothing satisfies');
gives(rly('verify', $rules, '--rule', 'right', '--rule', 'wrang'), 1,
      qr/^\@right: held/, qr/no rule `\@wrang`.*did you mean `\@wrong`\?/s,
      'no such rule');
gives(rly('verify', $rules, 'stdlib/rules/CanonicalizeOps.rly', '--rule',
          'right'), 0, qr/^\@right: held[^\n]*\n\z/, '',
      'a rule of one of the files');
gives(rly('verify'), 1, '', qr/verify needs a file/, 'no file');
my @json = map { JSON::PP::decode_json($_) }
  split /\n/, rly('verify', $rules, '--json', '--rule', 'right', '--rule',
                  'wrong', '--trials', 50)->{out};
is_deeply([map { [@$_{qw(rule grade)}, $_->{held} ? 1 : 0] } @json],
          [['right', 'bits', 1], ['wrong', 'bits', 0]], 'as JSON');
like($json[1]{counterexample}, qr/^def \@left.*^\@right\(%x\);\n\/\/ 2$/ms,
     'with the program');
my $quick = rly('verify', '--budget', 0.02, '--trials', 100000000, $rules,
                '--rule', 'right');
like($quick->{out}, qr/held at bits: \d+ trials,.*, out of time$/,
     'within a time');
is(rly('verify', $rules, '--rule', 'wrong')->{out},
   rly('verify', $rules, '--rule', 'wrong')->{out}, 'the same seed, the same');

# --- At work ------------------------------------------------------------------
# The bits rules of the library, applied to programs of the language's suite,
# change nothing of what these do.
my @bits = map { ('--rules', $_) } grep { !/real/ } @library;
my @changed;
for my $case (one_in(12, 3, sort glob 'tests/conformance/lang/*.rly')) {
  my $got = rly('opt', $case, @bits, '--verify');
  push @changed, $case
    if $got->{err} =~ /E0520|W0005/ || $got->{status} && !$got->{err};
}
is_deeply(\@changed, [], 'programs do what they did, and rules come to an end');

# TensorRight's list, as far as our operators can say it.
my $list = rly('verify', '--trials', 256, 'tests/rules/tensorright.rly');
is($list->{status}, 0, "TensorRight's rules hold") or diag $list->{out};
cmp_ok(scalar(() = $list->{out} =~ /: held at/g), '>=', 55, 'all of them');

# Variables that are tuples and functions.
gives(rly('verify', '--trials', 512, 'tests/rules/variables.rly'), 0,
  qr/\@field: held.*\@nested: held.*\@same_calls: held/s, '',
  'tuples, nested ones, functions');
my $odd = spew(scratch('odd.rly'), <<'END');
rule @even(%f: fn (float32) -> float32, %x: float32)
  when pure(%f) && pure(%x) { abs(%f(%x)) } => { %f(abs(%x)) }
rule @first(%t: (float32, float32)) when pure(%t) {
  %t.0 - %t.1 } => { %t.1 - %t.0 }
END
my $found = rly('verify', $odd);
like($found->{out}, qr/\@even: refuted.*abs\(negative\(%x\)\)/s,
  'a function that is not even');
like($found->{out}, qr/\@first: refuted.*let %t_0 = .*let %t_1 = /s,
  'a tuple, by its fields');
is($found->{status}, 1, 'status');

gives(rly('verify', $wrong, '--trials', 5, '--max-memory', $_), 3, qr/\A/,
      qr/E0701\]: out of memory\n\z/, "memory for a smaller refutation: $_")
  for '1M', '16M', '32M';

done_testing();
