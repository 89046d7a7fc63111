#!/usr/bin/env perl
# Decisions of the compiler that no result shows, as `rly dump --bytecode` and
# `rly run --stats` show them: which parameters are borrowed, which cells
# reused, which calls fill a hole or vanish.
#
# Each of these decisions saves a copy or an allocation, and a program whose
# compiler forgot one would still be right, only slower; no test of values could
# tell.  So the instructions are compared, of programs small enough that a
# reader can see why the decision is the right one, and the counters where the
# decision falls during the run.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $types = <<'END';
type List { Cons(int32, List), Nil }
type Pair { Pair(List, List) }
END

# The bytecode of a program, by the name of each function: a list of instances,
# each with the modes of its parameters and its instructions.
sub dump_of {
  my ($program) = @_;
  my $path = spew(scratch('dump.rly'), $types, $program);
  my $run = rly('dump', '--bytecode', $path);
  diag("$program$run->{err}") if $run->{status};
  my %found;
  for my $text (split /\n\n/, $run->{out}) {
    my ($name, $modes, $code) =
      $text =~ /^(\S.*): parameters (.*), \d+ registers\n(.*)/s or next;
    push @{$found{$name}}, {modes => $modes, code => $code};
  }
  return \%found;
}

# The modes of a function's parameters in the instance shown first, which direct
# calls use.
sub modes_are {
  my ($name, $want, $program, $why) = @_;
  my $dump = dump_of($program);
  my $first = $dump->{$name} && $dump->{$name}[0];
  is($first && $first->{modes}, $want, $why);
  return $first ? $first->{code} : '';
}

# --- What is borrowed -------------------------------------------------------

my $len = <<'END';
def @len(%l: List) -> int32 {
  match (%l) { Cons(_, %r) => 1 + @len(%r), Nil => 0 }
}
END

my $code = modes_are('@len', 'borrowed', $len, 'a list that is only read');
unlike($code, qr/\b(?:keep|drop|open|free_cell)/, 'is not counted at all');

$code = modes_are('@last', 'borrowed bits', <<'END', 'a part passed on');
def @last(%l: List, %d: int32) -> int32 {
  match (%l) { Cons(%x, %r) => @last(%r, %x), Nil => %d }
}
END
like($code, qr/\bloop\b/, 'in a loop');
unlike($code, qr/\b(?:keep|drop|open|tail|call)/, 'of its own');

modes_are('@both', 'borrowed', $len . <<'END', 'passed to a borrowed one');
def @both(%l: List) -> int32 { @len(%l) + @len(%l) }
END

modes_are('@even', 'borrowed', <<'END', 'two functions that call each other');
def @even(%l: List) -> bool {
  match (%l) { Nil => True, Cons(_, %r) => @odd(%r) }
}
def @odd(%l: List) -> bool {
  match (%l) { Nil => False, Cons(_, %r) => @even(%r) }
}
END

modes_are('@pick', 'borrowed', $len . <<'END', 'a field of a field');
def @pick(%p: ((List, List), int32)) -> int32 { @len(%p.0.1) }
END

modes_are('@apply', 'borrowed bits', <<'END', 'a function that is called');
def @apply(%f: fn(int32) -> int32, %x: int32) -> int32 { %f(%x) + %f(%x) }
END

modes_are('@dot', 'borrowed borrowed', <<'END', 'operands of a product');
def @dot(%x: Tensor[(2, 2), float32], %w: Tensor[(2, 2), float32]) {
  nn.dense(%x, %w)
}
END

# --- What is owned ----------------------------------------------------------

modes_are('@same', 'owned', <<'END', 'what is returned');
def @same(%l: List) -> List { %l }
END
modes_are('@tail', 'owned', <<'END', 'what a part of is returned');
def @tail(%l: List) -> List { match (%l) { Cons(_, %r) => %r, Nil => Nil } }
END
modes_are('@put', 'owned bits', <<'END', 'what goes into a cell');
def @put(%l: List, %x: int32) -> (int32, List) { (%x, %l) }
END
modes_are('@later', 'owned', $len . <<'END', 'what a closure captures');
def @later(%l: List) -> fn() -> int32 { fn () { @len(%l) } }
END
modes_are('@hide', 'owned', <<'END', 'the content of a mutable cell');
def @hide(%l: List) -> ref(List) { ref(%l) }
END
modes_are('@up', 'owned', <<'END', 'what is taken apart and built again');
def @up(%l: List) -> List {
  match (%l) { Cons(%x, %r) => Cons(%x + 1, @up(%r)), Nil => Nil }
}
END
modes_are('@grow', 'bits owned', $len . <<'END', 'what a loop replaces');
def @grow(%n: int32, %l: List) -> int32 {
  if (%n == 0) { @len(%l) } else { @grow(%n - 1, Cons(%n, %l)) }
}
END
modes_are('@act', 'owned', <<'END', 'what may be written over');
def @act(%x: Tensor[(2), float32]) { nn.relu(%x) }
END

# --- Which instance is called -----------------------------------------------

my $dump = dump_of($len . <<'END');
def @make(%n: int32) -> List {
  if (%n == 0) { Nil } else { Cons(%n, @make(%n - 1)) }
}
def @given() -> int32 { @len(@make(3)) }
def @ends(%n: int32) -> int32 { let %l = @make(%n); @len(%l) + 1 }
def @stays(%n: int32) -> int32 { let %l = @make(%n); @len(%l) + @len(%l) }
def @value() -> fn(List) -> int32 { @len }
END
unlike($dump->{'@given'}[0]{code}, qr/\@len borrowing/,
       'a fresh list is given');
unlike($dump->{'@ends'}[0]{code}, qr/\@len borrowing/, 'at its last use, too');
like($dump->{'@stays'}[0]{code}, qr/\@len borrowing.*\@len$/sm,
     'before that it is lent');
is_deeply([map { $_->{modes} } @{$dump->{'@len'}}], ['borrowed', 'owned'],
          'two instances of one function');

# --- Reuse ------------------------------------------------------------------

my $inc = <<'END';
def @inc(%l: List) -> List {
  match (%l) { Cons(%x, %r) => Cons(%x + 1, @inc(%r)), Nil => Nil }
}
def @upto(%n: int32) -> List {
  if (%n == 0) { Nil } else { Cons(%n, @upto(%n - 1)) }
}
END
like(dump_of($inc)->{'@inc'}[0]{code}, qr/reuse1 .* cell2_in /s,
     'a cell takes the memory of the one that was taken apart');
unlike(dump_of(<<'END')->{'@one'}[0]{code}, qr/reuse|_in/,
def @one(%l: List) -> (int32, int32, int32) {
  match (%l) { Cons(%x, _) => (%x, %x, %x), Nil => (0, 0, 0) }
}
END
       'but not when it has another size');

sub reused {
  my ($program) = @_;
  my $path = spew(scratch('reuse.rly'), $types, $inc, $len, $program);
  return rly('run', '--stats', $path)->{err} =~ /\breused\s+(\d+)/ ? $1 : -1;
}
is(reused('@len(@inc(@inc(@upto(1000))));'), 2000, 'each cell, each time');
is(reused('{ let %l = @upto(10); @len(@inc(%l)) + @len(%l) };'), 0,
   'none that somebody else holds');
is(reused('{ let %l = @upto(10); @len(@inc(Cons(0, %l))) + @len(%l) };'), 1,
   'those before a shared part');

# --- Tail recursion modulo cons ---------------------------------------------

$dump = dump_of($inc . <<'END');
type Wide { Wide(int32, Wide, int32), End }
def @wide(%n: int32) -> Wide {
  if (%n == 0) { End } else { Wide(%n, @wide(%n - 1), %n) }
}
def @after(%n: int32) -> Wide {
  if (%n == 0) { End } else { Wide(%n, @after(%n - 1), 2 / %n) }
}
END
is_deeply([map { $_->{modes} } @{$dump->{'@inc'}}],
          ['owned', 'owned root hole'], 'an instance with the root and a hole');
like($dump->{'@inc'}[0]{code}, qr/tail .*\@inc trmc$/m, 'is gone on as');
like($dump->{'@inc'}[1]{code}, qr/fill_hole .*\bloop /s, 'and loops');
like($dump->{'@wide'}[1]{code}, qr/\bloop /, 'with a variable after the hole');
unlike($dump->{'@after'}[0]{code}, qr/trmc/,
       'but not when something is computed after it');

# --- Known functions --------------------------------------------------------

my $map = <<'END';
def @map1(%f: fn(int32) -> int32, %l: List) -> List {
  match (%l) { Cons(%x, %r) => Cons(%f(%x), @map1(%f, %r)), Nil => Nil }
}
END
$dump = dump_of($map . <<'END');
def @inlined(%l: List) -> List { @map1(fn (%x) { %x * 3 }, %l) }
END
like($dump->{'@map1'}[-1]{code}, qr/mul_i32_imm.*\bloop /s,
     'a fn that is passed along stands where it is called');
unlike($dump->{'@map1'}[-1]{code}, qr/\b(?:apply|call|keep)\b/,
       'so nothing is called');
$dump = dump_of($map . <<'END');
def @half(%x: int32) -> int32 { 100 / %x }
def @direct(%l: List) -> List { @map1(@half, %l) }
def @captures(%l: List, %k: int32) -> List { @map1(fn (%x) { %x * %k }, %l) }
END
like(join('', map { $_->{code} } @{$dump->{'@map1'}}), qr/call .*\@half$/m,
     'one that can fail is called directly, for the trace');
like($dump->{'@map1'}[0]{code}, qr/\bapply /,
     'one that captures something as a closure');
unlike(dump_of(<<'END')->{'@outer'}[0]{code}, qr/call/, 'small ones vanish');
def @inner(%x: int32, %y: int32) -> int32 { %x * %x + %y }
def @outer(%x: int32) -> int32 { @inner(@inner(%x, 1), %x) }
END

# --- Loops ------------------------------------------------------------------

$dump = dump_of(<<'END');
def @sum(%l: List, %a: int32) -> int32 {
  match (%l) { Cons(%x, %r) => @sum(%r, %a + %x), Nil => %a }
}
def @turn(%i: int32, %acc: int32, %k: int32) -> int32 {
  if (%i == 0) { %acc * %k } else { @turn(%i - 1, %acc + mod(%i, 7), %k) }
}
def @swap(%a: int32, %b: int32, %n: int32) -> int32 {
  if (%n == 0) { %a - %b } else { @swap(%b, %a + 1, %n - 1) }
}
END
is(scalar(() = $dump->{'@sum'}[0]{code} =~ /^ +\d+ /mg), 6,
   'fields together, a sum in its place, though another path needs the old');
is(scalar(() = $dump->{'@turn'}[0]{code} =~ /^ +\d+ /mg), 8,
   'what others read is replaced last');
like($dump->{'@swap'}[0]{code}, qr/move/, 'what go round need a move');
like($dump->{'@sum'}[0]{code}, qr/^ +3 +back_if_tag r0 #0 ->-2\n +4 +loop /m,
     'the end of a loop goes on after its head');
like($dump->{'@turn'}[0]{code},
     qr/^ +6 +back_if_ne_i32_imm r0 0 ->-3\n +7 +loop /m, 'or where that goes');
like(dump_of('def @fib(%n: int32) -> int32 '
             . '{ if (%n < 2) { %n } else { @fib(%n - 1) + @fib(%n - 2) } }')
         ->{'@fib'}[0]{code},
     qr/^ +3 +call_self r1 r2 ->-3 \@fib$/m, 'a call of the function itself');

# --- Unboxed tuples ---------------------------------------------------------

# The instance of a function that returns its tuple unboxed.
my $pair = <<'END';
def @pair(%n: int32, %l: List) -> (int32, List) { (%n + 1, Cons(%n, %l)) }
END
$dump = dump_of($pair . <<'END');
def @apart(%n: int32) -> int32 {
  let %t = @pair(%n, Nil);
  match (%t.1) { Cons(%x, _) => %x + %t.0, Nil => 0 }
}
def @arms(%n: int32) -> int32 {
  match (@pair(%n, Nil)) { (%x, Cons(%y, _)) => %x + %y, _ => 0 }
}
def @whole(%n: int32) { (@pair(%n, Nil), 1) }
def @last(%n: int32) { @pair(%n, Nil) }
def @after(%n: int32) -> int32 { @last(%n).0 }
def @value() { @pair }
END
is_deeply([map { $_->{modes} } @{$dump->{'@pair'}}],
          ['bits owned', 'bits owned, 2 results'],
          'two instances: for closures and last calls, for all other calls');
like($dump->{'@pair'}[0]{code}, qr/cell2 .*cell2 .*\bret r/s, 'one builds it');
like($dump->{'@pair'}[1]{code}, qr/\bret2 r/, 'one does not');
for my $caller ('@apart', '@arms') {
  my $its = $dump->{$caller}[0]{code};
  like($its, qr/call_unboxed r\d+ #2 \@pair unboxed \| r\d+ r\d+$/m,
       "$caller takes the fields");
  unlike($its, qr/\bcell/, 'and builds nothing');
}
like($dump->{'@whole'}[0]{code}, qr/call_unboxed .*\bcell2 .*\bcell2 /s,
     'who wants it whole builds it');
like($dump->{'@last'}[0]{code}, qr/tail r\d+ #2 \@pair$/m,
     'a last call is one all the same');
like($dump->{'@last'}[1]{code}, qr/tail r\d+ #2 \@pair unboxed$/m,
     'in both instances');

$dump = dump_of(<<'END');
def @given(%t: (int32, int32), %n: int32) {
  if (%n > 0) { (%n, %n) } else { %t }
}
def @called(%f: fn(int32) -> (int32, int32), %n: int32) {
  if (%n > 0) { (%n, %n) } else { %f(%n) }
}
def @many(%n: int32) { (%n, %n, %n, %n, %n, %n, %n, %n, %n) }
def @four(%n: int32) { (%n, %n, %n, %n) }
def @eight(%n: int32) { (%n, %n, %n, %n, %n, %n, %n, %n) }
def @uses(%f: fn(int32) -> (int32, int32), %n: int32) {
  @given((%n, 1), %n).0 + @called(%f, %n).1 + @many(%n).2 + @four(%n).3 +
    @eight(%n).6
}
END
like($dump->{'@uses'}[0]{code}, qr/call r\d+ r\d+ $_\b/, "$_ comes whole")
  for '@given', '@called', '@many';
for (['four', 4], ['eight', 8]) {
  my ($name, $count) = @$_;
  like($dump->{'@uses'}[0]{code},
       qr/call_unboxed r\d+ #$count \@$name unboxed/, "$name are unboxed");
  like($dump->{"\@$name"}[-1]{code}, qr/ret_unboxed #$count \| r/,
       'and leave so');
}

# --- Operators of a text's own ------------------------------------------------

# One that is element-wise and cannot fail joins the chain around its call,
# whether the dimensions are numbers, names or unknown.
my $operators = <<'END';
op @swish[s: Shape](%x: Tensor[s, float32]) -> Tensor[s, float32] = {
  %x * sigmoid(%x)
};
op @gate[n: Dim, m: Dim](%x: Tensor[(n, m), float32], %b: Tensor[(m), float32])
  -> Tensor[(n, m), float32] = {
  let %t = tanh(%x + %b);
  @swish(%t)
};
op @clip1[s: Shape](%x: Tensor[s, float32]) -> Tensor[s, float32] = {
  minimum(%x, 1f)
};
gradient @clip1(%x) -> (%y, %g) { %g * 0.5f }
op @quotient(%x: Tensor[(3), int32], %y: Tensor[(3), int32])
  -> Tensor[(3), int32] = { %x / %y };
op @total[s: Shape](%x: Tensor[s, float32]) -> float32 = { sum(%x) };
def @call(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  %x * sigmoid(%x)
}
def @fixed(%x: Tensor[(2, 3), float32]) { @swish(%x + 1f) * 2f }
def @named[n: Dim](%x: Tensor[(n, 3), float32]) { @swish(%x + 1f) * 2f }
def @unknown(%x: Tensor[(?, 3), float32]) { @swish(%x + 1f) * 2f }
def @nested(%x: Tensor[(2, 3), float32]) { @gate(%x, [1f, 2f, 3f]) - 1f }
def @stated(%x: Tensor[(3), float32]) { @clip1(%x + 1f) * 2f }
def @compared(%x: Tensor[(2, 3), float32], %b: Tensor[(?), float32]) {
  @gate(%x, %b) - 1f
}
def @divides(%x: Tensor[(3), int32]) { @quotient(%x, %x) + 1 }
def @sums(%x: Tensor[(3), float32]) { @total(%x * 2f) }
def @calls(%x: Tensor[(2, 3), float32]) { @call(%x + 1f) * 2f }
END
$dump = dump_of("$operators\@named([[1f, 2f, 3f]]);");
for ('@fixed', '@named', '@unknown') {
  like($dump->{$_}[0]{code}, qr/chain #1 add\+sigmoid\+multiply\+multiply /,
       "$_: one chain");
  unlike($dump->{$_}[0]{code}, qr/call/, 'and no call');
}
like($dump->{'@nested'}[0]{code},
     qr/chain #3 add\+tanh\+sigmoid\+multiply\+subtract /,
     'operators within an operator, too');
like($dump->{'@stated'}[0]{code}, qr/chain #1 add\+minimum\+multiply /,
     'so does one whose text states its derivative');
like($dump->{'@compared'}[0]{code}, qr/call .*\@gate/,
     'one whose operands have to be compared is called');
like($dump->{'@divides'}[0]{code}, qr/call .*\@quotient/,
     'so is one that may fail');
like($dump->{'@sums'}[0]{code}, qr/call|tail/, 'one that is not element-wise');
like($dump->{'@calls'}[0]{code}, qr/call .*\@call/, 'and a function');

# What that saves: two tensors that lay between operators.
sub tensors_of {
  my ($call) = @_;
  my $path = spew(scratch('joined.rly'), $types, $operators, "$call;");
  my $run = rly('run', '--stats', $path);
  diag($run->{err}) if $run->{status};
  return "$run->{out}$run->{err}" =~ /^tensors\s+(\d+)/m ? $1 : -1;
}
my $operand = '[[1f, 2f, 3f], [4f, 5f, 6f]]';
is(tensors_of("\@fixed($operand)"), tensors_of("\@calls($operand)") - 2,
   'no tensor lies between');

# --- Concatenations -----------------------------------------------------------

# One joins the chain that gives its operands, which alone reads them.
$dump = dump_of(<<'END');
def @joined(%x: Tensor[(2, 3), float32], %n: int32) {
  let %a = tanh(%x);
  let %b = %a * %x;
  let %c = %b + 1f;
  let %s = %n * 2;
  (concatenate((%c, %b), axis=-1), %a, %s)
}
def @read(%x: Tensor[(2, 3), float32]) {
  let %a = %x * 2f;
  let %b = tanh(%a);
  (concatenate((%a, %b), axis=0), %a)
}
def @twice(%x: Tensor[(2, 3), float32]) {
  let %a = %x * 2f;
  concatenate((%a, %a), axis=0)
}
def @partly(%x: Tensor[(2, 3), float32]) {
  concatenate((%x * 2f, %x), axis=0)
}
def @later(%x: Tensor[(?, 3), float32], %y: Tensor[(?, 3), float32],
           %n: int32) {
  let %a = %x * 2f;
  let %b = %a + %y;
  let %s = 1 / %n;
  (concatenate((%a, %b), axis=0), %s)
}
END
like($dump->{'@joined'}[0]{code}, qr/\+add\+concatenate \| r0 r\d+ r\d+ /,
     'a concatenation joins a chain that has another result, too');
unlike($dump->{'@joined'}[0]{code}, qr/op .*concatenate/, 'and is not run');
like($dump->{$_}[0]{code}, qr/op #\d+ concatenate/, "$_: it does not")
  for '@read', '@twice', '@partly', '@later';

# --- Rows that are cleared ----------------------------------------------------
# Zeros that a row is set to are not made, if their operand is read later: one
# that ends there may hold the tensor's own buffer, which would then be copied.
# Zeros that are added, or that are several rows, are made.

$dump = dump_of(<<'END');
def @cleared(%y: Tensor[(3, 2), float32], %i: int32,
             %row: Tensor[(1, 2), float32]) {
  (scatter_nd(%y, reshape(%i, newshape=[1, 1]), zeros_like(%row)), %row)
}
def @ends(%y: Tensor[(3, 2), float32], %i: int32) {
  let %row = strided_slice(%y, begin=[0, 0], end=[1, 2]);
  scatter_nd(%y, reshape(%i, newshape=[1, 1]), zeros_like(%row))
}
def @added(%y: Tensor[(3, 2), float32], %i: int32,
           %row: Tensor[(1, 2), float32]) {
  (scatter_nd(%y, reshape(%i, newshape=[1, 1]), zeros_like(%row), mode="add"),
   %row)
}
def @rows(%y: Tensor[(3, 2), float32], %at: Tensor[(1, ?), int32],
          %rows: Tensor[(?, 2), float32]) {
  (scatter_nd(%y, %at, zeros_like(%rows)), %rows)
}
END
unlike($dump->{'@cleared'}[0]{code}, qr/zeros_like \|/, 'a row is cleared');
like($dump->{$_}[0]{code}, qr/zeros_like \|/, "$_: zeros are made")
  for '@ends', '@added', '@rows';

done_testing;
