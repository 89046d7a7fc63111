#!/usr/bin/env perl
# rly dump: what it prints of a program is that program, as checked.  The
# conformance suites do the same for their programs (tests/conformance).
#
# Every text expected is therefore read back and dumped once more, and must come
# out as itself.  That covers more than the texts do: had a type or a name been
# printed in a form that means something else, the second pass would refuse it
# or show it.
use strict;
use warnings;
use lib 'tests/t';
use File::Find qw(find);
use Rly;
use Test::More;

sub dumped { return rly('dump', spew(scratch('p.rly'), $_[0])) }

sub dumps {
  my ($text, $wanted, $what) = @_;
  gives(dumped($text), 0, $wanted, '', $what);
  gives(dumped($wanted), 0, $wanted, '', "$what: read back");
}

# --- What is printed ---------------------------------------------------------

dumps(<<'IN', <<'OUT', 'types that were found, and a name per variable');
type T[A] { L(A), N(T[A], T[A]) }
param @w: Tensor[(2), float32] = [1.0, 2];
let %k = 3;
let @r = ref(Nil);
def @f(%x: int32) { let %x = (%x + (%x * 2)); L(%x) }
%k + 1; @f(%k); ref_write(@r, Cons(1, Nil));
IN
type T[A] { L(A), N(T[A], T[A]) }
param @w: Tensor[(2), float32] = [1f, 2f];
let %k: int32 = 3;
let @r: ref(List[int32]) = ref(Nil);

def @f(%x: int32) -> T[int32] {
  let %x1: int32 = %x + %x * 2;
  L(%x1)
}

%k + 1;
@f(%k);
ref_write(@r, Cons(1, Nil));
OUT

dumps(<<'IN', <<'OUT', 'attributes that are no default');
def @main(%x: Tensor[(2, 3), float32], %n: int64) {
  (sum(%x, axis=[0], keepdims=True, exclude=0), cast(%x, dtype="int8"),
   clip(%x, a_min=0, a_max=0.1), reshape(%x, newshape=[-1]), nn.leaky_relu(%x),
   split(%x, indices_or_sections=[1, 2], axis=1), squeeze(%x, axis=None),
   full(0.5, shape=[2], dtype=""), fail(message="a \"b\""))
}
IN
def @main(%x: Tensor[(2, 3), float32], %n: int64) {
  (
    sum(%x, axis=[0], keepdims=True),
    cast(%x, dtype="int8"),
    clip(%x, a_min=0f, a_max=0.1f),
    reshape(%x, newshape=[-1]),
    nn.leaky_relu(%x),
    split(%x, indices_or_sections=[1, 2], axis=1),
    squeeze(%x),
    full(0.5f, shape=[2]),
    fail(message="a \"b\"")
  )
}
OUT

dumps(<<'IN', <<'OUT', 'attributes that are expressions, as they were known');
def @main[n: Dim](%x: Tensor[(n, 4), float32], %s: Tensor[(2), int32]) {
  let %a = reshape(%x, newshape=[n * 2, 2]);
  let %b = reshape(%x, newshape=%s);
  let %c = dyn.reshape(%x, [2, -1]);
  let %d = dyn.reshape(%x, [n, 4]);
  arange(n) + n
}
IN
def @main[n: Dim](
  %x: Tensor[(n, 4), float32],
  %s: Tensor[(2), int32]
) -> Tensor[(n), int32] {
  let %a: Tensor[(n * 2, 2), float32] = reshape(%x, newshape=[n * 2, 2]);
  let %b: Tensor[(?, ?), float32] = reshape(%x, newshape=%s);
  let %c: Tensor[(2, n * 2), float32] = reshape(%x, newshape= { [2, -1] });
  let %d: Tensor[(n, 4), float32] = reshape(%x, newshape= { [n, 4] });
  arange(n) + n
}
OUT

dumps(<<'IN', <<'OUT', 'graph variables, and sugar');
def @main(%c: bool, %x: int32) {
  %3 = 7 / %x;
  %5 = if (%c && !False) { %3 } else if (%x == 2) { -%3 + (%3 * 2) } else {1};
  [%5, 1]
}
IN
def @main(%c: bool, %x: int32) -> Tensor[(2), int32] {
  %3 = 7 / %x;
  %5 = if (%c && !False) { %3 } else if (%x == 2) { -%3 + %3 * 2 } else { 1 };
  [%5, 1]
}
OUT

dumps(<<'IN', <<'OUT', 'what has no words in the language is left to be found');
type List { Mine }
let @nil = Nil;
let @id = fn (%x) { %x };
def @mine(%l: List[]) { @map(fn (%x) { (%x, %l) }, @unfoldr(@next, 1)) }
def @next(%n: int32) { if (%n == 3) { None } else { Some((%n + 1, %n)) } }
(@id(1), @id(2f), @length(@mine(Mine)));
IN
type List { Mine }
let @nil = Nil;
let @id = fn (%x) { %x };

def @mine(%l: List[]) {
  @map(fn (%x: int32) -> (int32, List[]) { (%x, %l) }, @unfoldr(@next, 1))
}

def @next(%n: int32) -> Option[(int32, int32)] {
  if (%n == 3) { None } else { Some((%n + 1, %n)) }
}

(@id(1), @id(2f), @length(@mine(Mine)));
OUT

dumps(<<'IN', <<'OUT', 'rules, as they were read');
rule @r[s: Shape, d: Float](%x: Tensor[s, d],%c:Tensor[(), d]):ulp( 2 )
when $a==[0]&&rank(%x)>1{
  sum(%x*%c,axis=$a)
}=>{ let %y=sum(%x,axis=$a); %y * %c }
rule @q(%f: fn (int32) -> int32, %x: int32){%f(%x+0)}=>{%f(%x)} 3
IN
rule @r[s: Shape, d: Float](%x: Tensor[s, d], %c: Tensor[(), d]) : ulp(2)
  when $a == [0] && rank(%x) > 1 {
  sum(%x * %c, axis=$a)
} => {
  let %y = sum(%x, axis=$a);
  %y * %c
}

rule @q(%f: fn (int32) -> int32, %x: int32) { %f(%x + 0) } => { %f(%x) }

3;
OUT

# Names of values of the session are taken where those are in scope.
my $hidden = dumped(<<'IN')->{out};
let %x1 = 1;
let %f = fn (%x) { let %x = (%x, %x1); %x };
%f(2);
IN
is(rly('run', spew(scratch('p.rly'), $hidden))->{out}, "(2, 1)\n",
   'a variable hides no value');

# --- Every program that we have ----------------------------------------------
# What is printed prints the same, has the same types and effects, and what it
# prints when it runs is the same.

sub facts {
  my ($file) = @_;
  my $run = rly('check', '--types', '--effects', $file);
  return join "\n", sort split /\n/, $run->{out};
}

# The results, up to the first error, whose place is another.
sub results { return rly('run', $_[0])->{out} }

my @files;
find({no_chdir => 1, wanted => sub {
        push @files, $_ if /\.rly$/ && !m{/conformance/};
      }}, 'tests', 'examples', 'stdlib');
my ($count, $same) = (0, 0);
for my $file (one_in(1, 0, sort @files)) {
  my $first = rly('dump', $file);
  next if $first->{status};
  my $again = spew(scratch('again.rly'), $first->{out});
  my $second = rly('dump', $again);
  $count++;
  if ($second->{out} eq $first->{out} && facts($again) eq facts($file)
      && ($file =~ /^examples/ || results($again) eq results($file))) {
    $same++;
  } else {
    diag("$file: ", substr $second->{err}, 0, 300);
  }
}
is($same, $count, 'each file reads back as itself');
cmp_ok($count, '>', is_release() ? 150 : 15, 'there are many');

done_testing;
