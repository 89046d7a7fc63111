#!/usr/bin/env perl
# rly opt: passes over programs.  What docs/PASSES.md says of each pass, what no
# pass may do, and that programs of the language's suite run to the same results
# after each of them.  OPT_ALL=1 takes all of the suite instead of a sample.
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

my @passes = grep { /^[A-Z]/ } map { /^(\S+)/ }
             split /\n/, rly('passes')->{out};
cmp_ok(scalar @passes, '>=', 5, 'there are passes');

# --- Each pass's page ---------------------------------------------------------

my $page = slurp('docs/PASSES.md');
my %section = $page =~ /^## (\w+)\n(.*?)(?=^## |\z)/gms;
is_deeply([sort keys %section], [sort @passes], 'each pass has its section');
for my $pass (sort keys %section) {
  my ($before, $after) = $section{$pass} =~ /^```relay\n(.*?)^```$/gms;
  gives(opt($before, '--passes', $pass), 0, $after, '', "$pass: the example");
  gives(opt($after, '--passes', $pass), 0, $after, '', "$pass: done is done");
  like($section{$pass}, qr/must not/, "$pass: what it must not do");
}

# --- What no pass may do ------------------------------------------------------

# A function's body stays as it is, up to names and types.
sub stays {
  my ($body, $name) = @_;
  my $program = "def \@f(%c: Ref[int32], %x: int32, %g: fn () -> int32)" .
                " -> int32 {\n  $body\n}\n";
  my $plain = opt($program, '-O0')->{out};
  for my $pass (grep { $_ ne 'ToANormalForm' } @passes) {
    gives(opt($program, '--passes', $pass), 0, $plain, '', "$pass: $name");
  }
}
stays('let %a = ref_read(%c); ref_write(%c, 2); let %b = ref_read(%c);
  %a + %b', 'two reads are two');
stays('let %a = ref(%x); let %b = ref(%x); ref_write(%a, 2); ref_read(%b)',
      'two cells are two');
stays('let %a = %x / %x; %x', 'what may fail stays');
stays('let %a = %g(); %x', 'a function that is given may do anything');
stays('print("a"); print("a"); %x', 'what prints, prints twice');
stays('let %r = fn (%n: int32) -> int32 { if (%n == 0) { 0 } else { %r(%n) } };
  %r(%x); %x', 'what may not end stays');
stays('let %a = arange(0, %x, 1); let %b: Tensor[(2), int32] = %a; %x',
      'what the run compares with an annotation stays');
stays('let %a = if (%x > 0) { let %p = %x + 1; %p } else { 0 };
  let %b = if (%x > 1) { let %q = %x + 1; %q } else { 1 };
  %a + %b', 'branches have names of their own');

# The order of what can be noticed, in A-normal form too.
my $order = 'def @say(%n: int32) -> int32 { print("say"); %n }
def @f(%c: Ref[int32]) -> int32 {
  ref_read(%c) + { ref_write(%c, 5); ref_read(%c) } * @say(ref_read(%c))
}
let @c = ref(2);
@f(@c);
';
my $result = rly(spew($path, $order));
for my $flags (['-O1'], ['-O2'], ['--passes', 'ToANormalForm']) {
  spew($made, opt($order, @$flags)->{out});
  gives(rly($made), 0, $result->{out}, '', "@$flags keeps the order");
}
is($result->{out}, "Tensor[(3), uint8] [115, 97, 121]\n27\n",
   'which is 2 + 5 * 5');

# A graph variable is placed by its uses: what it does stays, used or not.
my $graph = 'def @say(%n: int32) -> int32 { print("say"); %n }
def @f(%c: bool) -> int32 {
  %0 = @say(5);
  let %unused = %0 + 1;
  if (%c) { %0 * 2 } else { 0 }
}
@f(False); @f(True);
';
my $said = rly(spew($path, $graph))->{out};
for my $flags (['-O2'], map { ['--passes', $_] } @passes) {
  spew($made, opt($graph, @$flags)->{out});
  gives(rly($made), 0, $said, '', "@$flags: graph variables");
}

# --- The command --------------------------------------------------------------

my $small = "def \@f(%x: int32) { let %a = %x + 1; %x }\n";
gives(rly('opt', '--dump-pipeline', '-O2', '--passes', 'ToANormalForm'), 0,
      "ToANormalForm\n", '', '--passes wins over a level');
gives(rly('opt', '--dump-pipeline', '-O0'), 0, '', '', '-O0 runs none');
is(rly('opt', '--dump-pipeline')->{out}, rly('opt', '--dump-pipeline',
   '-O1')->{out}, '-O1 is the default');
like(opt($small, '--print-changed')->{out},
     qr/^\/\/ --- DeadCodeElimination\n- .*^-   let %a: int32 = %x \+ 1;$/ms,
     '--print-changed names the pass and shows its lines');
unlike(opt($small, '--print-changed')->{out}, qr/ToANormal|RemoveUnused/,
       'and no pass that changes nothing');
like(opt($small, '--print-changed', '--color', 'always')->{out},
     qr/^\033\[31m-/m, 'in colour');
like(opt($small, '--print-before', 'all', '--passes', 'DeadCodeElimination')
     ->{out}, qr/^\/\/ --- before DeadCodeElimination\ndef/, '--print-before');
like(opt($small, '--print-after', 'DeadCodeElimination')->{out},
     qr/\A\/\/ --- after DeadCodeElimination\n.*\{ %x \}\n\z/,
     '--print-after');
like(opt($small, '--time-passes')->{err}, qr/ ms  DeadCodeElimination$/m,
     '--time-passes');
gives(rly({in => $small}, 'opt', '-'), 0,
      "def \@f(%x: int32) -> int32 { %x }\n", '', 'of stdin');

# --- Mistakes -----------------------------------------------------------------

gives(opt($small, '--passes', 'DeadCodeEliminatoin'), 1, '',
      qr/no pass `DeadCodeEliminatoin`; did you mean `DeadCodeElimination`\?/,
      'a misspelt pass');
gives(opt($small, '--passes', 'relay'), 1, '',
      qr/`relay` is no pass of rly opt: rly fmt --pass relay/, 'one of fmt');
gives(rly('fmt', '--pass', 'DeadCodeElimination', $path), 1, '',
      qr/`DeadCodeElimination` is a pass of rly opt --passes/, 'and back');
gives(opt($small, '--print-after', 'zzz'), 1, '', qr/no pass `zzz`/,
      'nothing is printed after no pass');
gives(opt($small, '--passes', 'DeadCodeElimination,' x 300), 1, '',
      qr/more than 256 passes/, 'very many passes');
gives(opt("def \@f() { \@g }\n"), 1, '', qr/p\.rly:1:12: error\[E0102\]/,
      'a program that does not check');
gives(rly('opt'), 1, '', qr/opt needs one file/, 'no file');
gives(rly('opt', scratch('none.rly')), 1, '', qr/E05/, 'a file that is not');

# Deep and long programs.
my $lets = join '', map { "let %a$_ = %a" . ($_ - 1) . " + 1;\n" } 1 .. 3000;
for (["let %a0 = %x;\n$lets%a3000", 'a chain of lets'],
     ['{' x 900 . '%x + 1' . '} * 2' x 900, 'nested blocks'],
     ['%x' . ' + 1' x 20000, 'a long sum'],
     ['if (%x == 1) { 1 } else ' x 2000 . '{ 0 }', 'a chain of ifs']) {
  my ($body, $name) = @$_;
  is(opt("def \@f(%x: int32) { $body }\n", '-O2')->{status}, 0, $name);
}

# --- Programs run to the same bits --------------------------------------------

my @cases = sort glob 'tests/conformance/lang/*.rly';
@cases = @cases[grep { $_ % 12 == 0 } 0 .. $#cases] unless $ENV{OPT_ALL};
for my $flags (['-O2'], map { ['--passes', $_] } @passes) {
  my @other;
  for my $case (@cases) {
    next if rly('check', $case)->{status};
    my $run = rly($case);
    my $opt = rly('opt', @$flags, $case);
    spew($made, $opt->{out});
    my $again = rly($made);
    push @other, $case
      if $opt->{status} || $again->{status} != $run->{status} ||
         $again->{out} ne $run->{out};
  }
  is("@other", '', "@$flags: the suite's programs give the same");
}

done_testing;
