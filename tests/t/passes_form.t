#!/usr/bin/env perl
# Passes on the form of programs and on functions: what each of them may and may
# not do, and that programs leave the same behind, in the same order, after each
# of them.  The step machine runs the program as it is written, the VM what the
# pass made of it (differ --passes): those of the language's suite, those of
# tests/run and generated ones.
use strict;
use warnings;
use lib 'tests/t';
use Passes;
use Rly;
use Test::More;

# --- FoldConstant -------------------------------------------------------------

same('FoldConstant', 'def @f() {
  where(cast((fn () -> Tensor[(?), bool] { [False, True, False] })(),
             dtype="bool"),
        cast((fn () -> Tensor[(?), uint8] { [31u8, 197u8] })(), dtype="bool"),
        (fn () -> Tensor[(?), bool] { [True] })())
}
@f();', 'what a text leaves open is not known beside what does not fit');

# The kernels say what a call on constants gives; the values are those of NumPy
# and, for bfloat16, of rounding by hand.
my $folded = <<'END';
let @k = 2f;
def @g() { let %a = @k * 3f; let %b = %a; %b }
1f / 3f; 0.1f64 + 0.2f64; 3bf16 * 1.0078125bf16; cast(300, dtype="uint8");
2147483647 + 1; [1f, 2f] > [2f, 1f]; concatenate(([1f], [2f])); -(0f);
1e30f * 1e30f; sqrt(2f) * sqrt(2f); if (1f < 2f) { 1 } else { 2 };
END
my $kept = <<'END';
0f / 0f; sqrt([-1f, 4f]); zeros(shape=[3]);
[1f] * ones(shape=[2, 2]); 1 / 0; mod(1, 0);
END
is(same('FoldConstant', $folded, 'calls on constants'), <<'END', 'their text');
let @k: float32 = 2f;

def @g() -> float32 {
  let %a: float32 = 6f;
  let %b: float32 = %a;
  %b
}

0.33333334f;
0.30000000000000004f64;
3.03bf16;
44u8;
-2147483648;
[False, True];
[1f, 2f];
-0.0f;
inff;
1.9999999f;
1;
END
is(opt('FoldConstant', $kept)->{out}, <<'END', 'what stays a call');
0f / 0f;
sqrt([-1f, 4f]);
zeros(shape=[3]);
[1f] * ones(shape=[2, 2]);
1 / 0;
mod(1, 0);
END

# --- DeadCodeElimination ------------------------------------------------------

becomes('DeadCodeElimination', 'let %a = %x; let %b = %a; %b + %b', '%x + %x',
        'second names');
becomes('DeadCodeElimination', 'let %a = ref_read(%c); ref_write(%c, 1); %a',
        'let %a = ref_read(%c); ref_write(%c, 1); %a', 'a value is no name');

# --- Inline -------------------------------------------------------------------

my $say = 'def @say(%n: int32) -> int32 { print("say"); %n }
def @second(%a: int32, %b: int32) -> int32 { %b }
def @swap(%a: int32, %b: int32) -> int32 { %b - %a }
';
same('Inline', $say . '@second(@say(1), @say(2)); @swap(@say(1), @say(2));',
     'arguments that are not used, or used in another order, are evaluated');
becomes('Inline', '@set(%c) + ref_read(%c)',
        '(ref_write(%c, 1); 5) + ref_read(%c)', 'effects keep their place',
        "def \@set(%r: Ref[int32]) -> int32 { ref_write(%r, 1); 5 }\n");
becomes('Inline', '@down(%x)', '@down(%x)', 'a recursive function stays',
        'def @down(%n: int32) -> int32 ' .
        "{ if (%n == 0) { 0 } else { \@down(%n - 1) } }\n");
becomes('Inline', '@a(%x)', '@a(%x)', 'and so do two that call each other',
        'def @a(%n: int32) -> int32 { if (%n == 0) { 0 } else { @b(%n) } }
def @b(%n: int32) -> int32 { @a(%n - 1) }
');
becomes('Inline', '@p(%x)', '@p(%x)', 'one with attributes',
        "def \@p(%n: int32, Primitive=1) -> int32 { %n + 1 }\n");
becomes('Inline', '@id(%x)', '@id(%x)', 'one with parameters in brackets',
        "def \@id[A](%n: A) -> A { %n }\n");
same('Inline', 'def @first(%x: Tensor[(2), float32]) -> float32 { sum(%x) }
def @any(%n: int32) -> Tensor[(?), float32] {
  cast(arange(0, %n, 1), dtype="float32")
}
@first(@any(2)); @first(@any(3));', 'the run compares what a parameter says');
same('Inline',
     'def @wide(%x: Tensor[(?), float32]) -> Tensor[(2), float32] { %x }
@wide([1f, 2f]); @wide([1f]);', 'and what a result says');
same('Inline', 'def @upto(%n: int32) -> Tensor[(2), float32] {
  [1f, 2f] + cast(arange(0, %n, 1), dtype="float32")
}
@upto(2); @upto(3);', 'and what depends on a number that it is given');

# --- PartialEval --------------------------------------------------------------

becomes('PartialEval', '@pick((%x, 3), True)',
        'let %s = (%x, 3); %x', 'a field of a known tuple',
        'def @pick(%s: (int32, int32), %c: bool) -> int32 {
  if (%c) { %s.0 } else { %s.1 }
}
');
same('PartialEval', $say . 'def @both(%s: (int32, int32)) -> int32 { %s.1 }
@both((@say(1), @say(2)));', 'what is not taken is evaluated all the same');
same('PartialEval', 'def @f(%c: Ref[int32], %s: (int32, int32)) -> int32 {
  ref_write(%c, %s.0); ref_read(%c) + %s.1
}
let @c = ref(1);
@f(@c, (ref_read(@c), 5)); @f(@c, (ref_read(@c) + 1, ref_read(@c)));',
     'cells are read where they were');
same('PartialEval', 'def @get(%o: Option[int32]) -> int32 {
  match (%o) { Some(%v) if %v > 2 => { %v }, Some(_) => { 0 }, None => { 1 } }
}
@get(Some(1)); @get(Some(3)); @get(None);', 'a guard decides at run time');
same('PartialEval', 'def @part(%o: Option[int32]) -> int32 {
  match? (%o) { Some(%v) => { %v } }
}
@part(Some(1)); @part(None);', 'no arm takes it');

# --- Unroll -------------------------------------------------------------------

my $power = 'def @power(%b: int32, %n: int32) -> int32 {
  if (%n == 0) { 1 } else { print(%n); %b * @power(%b, %n - 1) }
}
';
unlike(same('Unroll', $power . '@power(3, 4);', 'prints in order'),
       qr/^\@power/m, 'Unroll: no call is left');
like(same('Unroll', $power . '@power(3, 40);', 'a long recursion'),
     qr/^\@power\(3, 40\)/m, 'Unroll: stays');
like(same('Unroll(unroll=3)', $power . '@power(3, 4);', 'a limit'),
     qr/^\@power\(3, 4\)/m, 'Unroll: stays');
same('Unroll', 'def @gcd(%a: int32, %b: int32) -> int32 {
  if (%b == 0) { %a } else { @gcd(%b, %a - %a / %b * %b) }
}
@gcd(36, 24); @gcd(7, 0);', 'two numbers');
same('Unroll', 'def @bad(%n: int32) -> int32 {
  if (%n == 3) { 1 / (%n - 3) } else { print(%n); @bad(%n + 1) } }
@bad(0);', 'what fails at the end');
same('Unroll', 'def @tree(%n: int32) -> int32 { if (%n == 0) { 1 } else
  { @tree(%n - 1) + @tree(%n - 1) } }
@tree(2); @tree(12);', 'two calls of each');

# --- LambdaLift ---------------------------------------------------------------

# relay.md 7.4 (6): a recursive function that is a value, or that an inner
# function mentions.
same('LambdaLift', 'def @f(%n: int32) -> (int32, List[int32]) {
  let %go = fn (%i: int32) -> int32 {
    if (%i < %n) { %go(%i + 1) } else { %i }
  };
  let %twice = fn (%i: int32) -> int32 { %go(%i) + %go(0) };
  (%twice(1), @map(%go, Cons(1, Cons(9, Nil))))
}
@f(5);', 'recursive functions as values and in others');
same('LambdaLift', 'def @f(%k: int32) -> (bool, bool) {
  let %even = fn (%i: int32) -> bool {
    if (%i <= %k) { True } else { %odd(%i - 1) }
  }
  and %odd = fn (%i: int32) -> bool {
    if (%i <= %k) { False } else { %even(%i - 1) }
  };
  (%even(7), %odd(7))
}
@f(0); @f(1);', 'functions that call each other');
same('LambdaLift', 'def @counter() -> fn () -> int32 {
  let %c = ref(0);
  fn () { ref_write(%c, ref_read(%c) + 1); ref_read(%c) }
}
let @next = @counter();
@next(); @next();', 'each function has the cell that it was made with');
same('LambdaLift', 'def @f[A](%x: A, %n: int32) -> (A, int32) {
  let %id = fn (%y: A) -> A { %y };
  (%id(%x), (fn (%i: int32) { %i + %n })(2))
}
@f(True, 3);', 'in a function with type parameters');
same('LambdaLift', 'let %k = 3;
let @g = fn (%x: int32) { (fn (%y: int32) { %y * %x })(2) };
(fn (%x: int32) { %x + %k })(@g(4));', 'at the top level');

# --- ToCPS and UnCPS ----------------------------------------------------------

# Every recursive call of what ToCPS makes is a tail call.
my $waiting = 'def @power(%x: int32, %n: int32) -> int32 {
  if (%n == 0) { print("end"); 1 } else { %x * @power(%x, %n - 1) }
}
def @tree(%n: int32) -> int32 {
  let %m = %n - 1;
  if (%n == 0) { 1 } else {
    let %a = if (%n == 3) { @tree(%m) } else { @say(%m); @say(2) };
    let %b = @tree(%m);
    print(%b);
    %a + %b
  }
}
def @say(%n: int32) -> int32 { print("say"); %n }
def @sum(%l: List[int32]) -> int32 {
  match (%l) {
    Nil => 0,
    Cons(%h, %t) if @say(%h) > 1 => %h + @sum(%t),
    Cons(_, %t) => @sum(%t)
  }
}
@power(3, 4); @tree(4); @sum(List[3, 1, 2]);
';
my $text = same('ToCPS', $waiting, 'what waits for calls');
my $calls = rly('check', '--tail-calls', spew($made, $text))->{out};
like($calls, qr/\@tree_cps calls \@tree_cps: a tail call/, 'ToCPS: tail calls');
unlike($calls, qr/a frame each/, 'ToCPS: and no others');
gives(rly('run', '--max-depth', 100, spew($made, opt('ToCPS',
          'def @f(%n: int32) -> int32 {
             if (%n == 0) { 0 } else { 1 + @f(%n - 1) } }
           @f(5000);')->{out})), 0, "5000\n", '', 'ToCPS: no stack is needed');

# The way back gives the program in A-normal form, up to names.
sub nameless { return $_[0] =~ s/%\w+/%/gr =~ s/\s+/ /gr }
for my $program ($waiting, map { slurp("tests/conformance/lang/$_.rly") }
                 qw(adt_binary_tree big_queens big_quicksort)) {
  my $form = opt('ToANormalForm', $program)->{out};
  like(opt('ToCPS', $program)->{out}, qr/_cps/, 'ToCPS: a program');
  my $name = substr $program, 0, 20;
  is(nameless(opt('ToANormalForm,ToCPS,UnCPS', $program)->{out}),
     nameless($form), "UnCPS undoes ToCPS: $name");
}
same('ToCPS,UnCPS', $waiting, 'there and back');
same('ToCPS', 'def @even(%n: int32) -> bool {
  %n == 0 || !@even(%n - 1) && %n > 0 }
@even(7);', 'words that are branches');

# A continuation that is kept, or called twice, is more than a return.
my $k = 'def @f(%n: int32) -> int32 { @g(%n, fn (%r: int32) { %r }) }
def @g[R](%n: int32, %k: fn (int32) -> R) -> R ';
for (['%k(%n + 1)', qr/\@f.*\{ %n \+ 1 \}\n/s, 'called last'],
     ['let %a = %k(1); %k(%n)', qr/\@g\[R\]/, 'called twice'],
     ['let %c = ref(%k); ref_read(%c)(%n)', qr/\@g\[R\]/, 'kept'],
     ['@h(%n, %k)', qr/\@g\[R\]/, 'handed to one that keeps it'],
     ['let %j = fn (%x: int32) { %k(%x * 2) };
       if (%n > 0) { %j(%n) } else { %k(0) }', qr/\@g\[R\]/,
      'a way around what follows']) {
  my $h = "def \@h[R](%n: int32, %k: fn (int32) -> R) -> R " .
          "{ let %c = ref(%k); ref_read(%c)(%n) }\n";
  like(same('UnCPS', "$k\{ $_->[0] }\n$h\@f(3);\n", $_->[2]), $_->[1],
       "UnCPS: $_->[2]");
}

# --- LambdaUnlift -------------------------------------------------------------

my $go = 'def @go(%m: int32, %i: int32) -> int32 {
  if (%i < %m) { @go(%m, %i + 1) } else { %i }
}
';
for (['def @f(%n: int32) -> int32 { @go(%n, 0) + @go(%n, 3) }
@f(5);', qr/%go\(0\) \+ %go\(3\)/, 'the same variable in all calls goes'],
     ['def @f(%n: int32) -> int32 { @go(%n, 0) + @go(%n + 1, 3) }
@f(5);', qr/%go\(%n, 0\) \+ %go\(%n \+ 1, 3\)/, 'others stay'],
     ['def @f(%n: int32) -> int32 {
  let %k = %n * 2;
  let %a = @go(%k, 1);
  %a + @go(%k, 2)
}
@f(5);', qr/let %k: .*let %go: .*let %a.* = %go\(1\)/s,
      'a variable of a `let` is in scope after it'],
     ['def @f(%n: int32) -> int32 {
  if (%n > 3) { let %k = %n * 2; @go(%k, 1) } else { 0 }
}
@f(5);', qr/%go\(%k, 1\)/, 'one of a branch is not'],
     ['def @f(%n: int32) -> int32 { @foldl(@go, %n, List[1, 2]) }
@f(5);', qr/\@foldl\(%go, %n/, 'as a value it keeps its parameters'],
     ['def @f(%n: int32) -> int32 { @go(%n, 0) }
@f(5); @go(3, 1);', qr/\@go\(%n, 0\)/, 'what others mention stays'],
     ['def @f(%n: int32) -> int32 { @g(%n) + 1 }
def @g(%n: int32) -> int32 { @go(%n, 0) * 2 }
@f(5);', qr/let %g: .*let %go: /s, 'one within another']) {
  my ($program, $like, $name) = @$_;
  like(same('LambdaUnlift', $go . $program, $name), $like,
       "LambdaUnlift: $name");
}
for my $call ('|> @not', '|> @not()') {
  like(same('LambdaUnlift', "def \@not(%b: bool) -> bool { !%b }
def \@f(%n: int32) -> (int32, bool) { let %b = %n < 2; (%n, %b $call) }
\@f(5);", "a pipe without arguments, $call"),
       qr/let %not: .*\(%n, %not\(\)\)/s, "LambdaUnlift: $call");
}
my $ring = 'def @a(%n: int32) -> int32 { if (%n > 9) { %n } else { @b(%n) } }
def @b(%n: int32) -> int32 { @a(%n + 1) }
def @f(%n: int32) -> int32 { @a(%n) }
@f(5);';
like(same('LambdaUnlift', $ring, 'functions that call each other'),
     qr/def \@a.*let %b: /s, 'LambdaUnlift: one is within the other');
same('LambdaUnlift', $ring =~ s/def \@f.*//sr . '1;',
     'a ring that nothing calls');

# --- Defunctionalization ------------------------------------------------------

# No function is a value any more.
sub first_order {
  my ($program, $name) = @_;
  unlike(same('Defunctionalization', $program, $name), qr/\bfn \(/,
         "Defunctionalization: $name (is of first order)");
}
# relay.md 7.5 (5): types of functions that TVM's pass takes for one.
first_order('def @pick(%c: bool) -> fn (int32) -> int32 {
  if (%c) { fn (%x) { %x + 1 } } else { negative }
}
def @say(%l: List[int32]) -> List[bool] { @map(fn (%x) { %x > 1 }, %l) }
@pick(True)(5); @pick(False)(5); @say(List[1, 2]);', 'two types of functions');
first_order('let @r = ref(fn (%n: int32) -> int32 { %n });
def @fact(%n: int32) -> int32 {
  if (%n == 0) { 1 } else { %n * ref_read(@r)(%n - 1) }
}
ref_write(@r, @fact);
@fact(5);', 'a knot through a cell');
first_order('def @say(%n: int32) -> int32 { print(%n); %n }
def @make(%n: int32) -> fn (int32, int32) -> int32 {
  print("made"); fn (%a, %b) { print("called"); %a * %n - %b }
}
@make(@say(1))(@say(2), @say(3));', 'operands before the callee');
first_order('def @compose[A, B, C](%f: fn (B) -> C, %g: fn (A) -> B)
    -> fn (A) -> C { fn (%x) { %f(%g(%x)) } }
@compose(fn (%b: bool) { if (%b) { 1f } else { 2f } },
         fn (%n: int32) { %n > 2 })(3);
@foldl(fn (%a: List[int32], %x: int32) { Cons(%x, %a) }, Nil, List[1, 2]);',
'definitions with type parameters');
first_order('def @three(%f: fn (int32) -> int32) -> fn (int32) -> int32 {
  fn (%x) { %f(%f(%f(%x))) }
}
def @twice(%n: fn (fn (int32) -> int32) -> fn (int32) -> int32)
    -> fn (fn (int32) -> int32) -> fn (int32) -> int32 {
  fn (%f) { %n(%n(%f)) }
}
@twice(@three)(fn (%k) { %k + 1 })(0);', 'functions of functions');
first_order('def @go(%n: int32) -> int32 {
  let %f = fn (%i: int32) -> int32 {
    if (%i > %n) { @sum(@map(%f, List[%i / 2])) } else { %i }
  };
  %f(100)
}
@go(3); @foldl(add, 0, @map(Some, List[1, 2]) |> @length |> @one);
def @one(%n: int32) -> List[int32] { List[%n, %n] }',
'a recursive function, an operator, a constructor');

# Of a declared type the fields change, in all of the text.
first_order('type Act { Act(fn (int32) -> int32) }
match (Act(negative)) { Act(%f) => { %f(3) } };', 'a field of a type');
first_order('type Layer {
  Layer(run: fn (int32) -> int32, scale: int32,
        more: Option[fn (int32) -> int32])
}
type Net { End, Net(Layer, Net) }
def @double(%x: int32) -> int32 { %x * 2 }
def @make(%k: int32) -> Layer { Layer(fn (%x) { %x + %k }, %k, Some(@double)) }
def @step(%l: Layer, %x: int32) -> int32 {
  let %y = %l.run(%x) * %l.scale;
  match (%l.more) { Some(%f) => %f(%y), None => %y }
}
def @all(%net: Net, %x: int32) -> int32 {
  match (%net) { End => %x, Net(%l, %r) => @all(%r, @step(%l, %x)) }
}
@all(Net(@make(3), Net(Layer(@double, 1, None), End)), 5);
@step({@make(1) with run = negative}, 2);', 'fields by name, within others');
first_order('type Loop { Loop(fn (Loop, int32) -> int32) }
def @go(%l: Loop, %n: int32) -> int32 {
  if (%n == 0) { 7 } else { match (%l) { Loop(%f) => %f(%l, %n - 1) } }
}
@go(Loop(@go), 4);', 'a field whose function takes its type');

# These cannot be data.
for (['fn (%x: int32) { %x + 1 };', 'what a host sees'],
     ['type Act { Act(fn (int32) -> int32) }
(Act(fn (%x) { %x + 1 }), 1);', 'a field of what a host sees'],
     ['type Act { Act(fn (int32) -> int32) }
def @main() -> List[Act] { List[Act(fn (%x) { %x + 1 })] }',
      'a field of what @main gives'],
     ['type Act { Act(fn (int32) -> int32) }
type In { In(Act) }
def @main(%x: In) -> int32 { match (%x) { In(Act(%f)) => { %f(2) } } }
match (Act(fn (%x) { %x + 1 })) { Act(%f) => { %f(3) } };',
      'a field of what @main takes, within another'],
     ['type Act { Act(fn (int32) -> int32) }
type In[A] { In(Act), More(A, In[A]) }
More(1, In(Act(fn (%x) { %x + 1 })));',
      'a field of what a host sees, within a type with parameters'],
     ['type Act { Act(fn (int32) -> int32) }
type In[A] { In(Act), More(A, In[A]) }
def @main(%n: int32) -> In[int32] { More(1, In(Act(fn (%x) { %x + %n }))) }',
      'a field of what @main gives, within a type with parameters'],
     ['type Act { Act(fn [A](A) -> A) }
match (Act(fn [A](%x: A) -> A { %x })) { Act(%f) => { (%f(3), %f(2f)) } };',
      'a field of any type'],
     ['type Act[A] { Act(fn (A) -> A) }
match (Act(fn (%x) { %x + 1 })) { Act(%f) => { %f(3) } };',
      'a field of a type with parameters'],
     ['type Act { Act(fn (int32) -> int32) }
def @use(%g: fn () -> int32, %a: Act) -> int32 {
  match (%a) { Act(%f) => { %f(%g()) } }
}
@use(fn () { 1 }, Act(fn (%x) { %x + 1 }));',
      'a field that a definition for a host uses'],
     ['def @f[A](%x: A) -> A { (fn (%g: fn () -> A) { %g() })(fn () { %x }) }
@f(3);', 'a type parameter'],
     ['def @m(%x: float32) { grad(fn (%y: float32) { %y * %x })(3f).1.0 }
@m(2f); grad(@m)(3f); jvp(fn (%x: float32) { %x * @m(%x) }, (2f,), (1f,));
let %r = vjp(@m, 2f); %r.1(1f); fn (%x: int32) { %x };',
      'what takes a derivative, and what that gives'],
     ['let %k = 3; let @g = @map(fn (%x: int32) { %x * %k }, List[1, 2]); @g;',
      'a variable of the top level']) {
  like(same('Defunctionalization', $_->[0], $_->[1]), qr/fn [\[(]|negative/,
       "Defunctionalization: stays: $_->[1]");
}
is(opt('Defunctionalization', 'def @f(%g: fn (int32) -> int32) { %g(1) }')
   ->{out}, opt('EtaExpand', 'def @f(%g: fn (int32) -> int32) { %g(1) }')
   ->{out}, 'Defunctionalization: what a host may call');

same('Defunctionalization', 'def @grow[A](%n: int32, %a: A,
                                             %f: fn (int32) -> A) -> A {
  if (%n <= 0) { %a } else {
    ref_read(@grow(%n - 1, ref(%a), fn (%i: int32) { ref(%f(%i)) }))
  }
}
@grow(3, 7, fn (%i: int32) { %i });',
     'a function that uses itself at larger types for ever stays');

# --- EtaExpand ----------------------------------------------------------------

same('EtaExpand', 'def @make() -> fn (int32) -> int32 { print("made"); @twice }
def @twice(%x: int32) -> int32 { %x * 2 }
@map(@make(), Cons(1, Cons(2, Nil)));', 'what makes a function runs once');

# --- DeadStore ----------------------------------------------------------------

becomes('DeadStore', 'let %a = ref(1); ref_write(%a, 2); ref_write(%a, 3);
                      ref_read(%a)',
        'let %a = ref(1); ref_write(%a, 3); ref_read(%a)', 'it is overwritten');
becomes('DeadStore', 'let %a = ref(1); ref_write(%a, 2); %x', '%x',
        'a cell that is not read');
for (['let %a = ref(1); ref_write(%a, 2); ref_write(%a, ref_read(%a) + 1);
       ref_read(%a)', 'the next write reads it'],
     ['ref_write(%c, 2); ref_write(%c, 3); %x', 'others have the cell'],
     ['let %a = ref(1); let %b = %a; ref_write(%a, 2); ref_write(%a, 3);
       ref_read(%b)', 'it has a second name'],
     ['let %a = ref(1); let %g = fn () { ref_read(%a) }; ref_write(%a, 2);
       let %s = %g(); ref_write(%a, 3); %s + %g()', 'a function looks at it'],
     ['let %a = ref(1); ref_write(%a, 2);
       if (%x > 0) { ref_write(%a, 3) } else { () };
       ref_read(%a)', 'the next write is in a branch']) {
  becomes('DeadStore', $_->[0], $_->[0], $_->[1]);
}
same('DeadStore', 'def @say(%n: int32) -> int32 { print("say"); %n }
let @r = { let %a = ref(1); ref_write(%a, @say(2)); ref_write(%a, @say(3)); 4 };
@r;', 'what would have been written is evaluated');

# --- Forms --------------------------------------------------------------------

becomes('ToGraphNormalForm', 'let %a = ref_read(%c); ref_write(%c, 2);
  let %b = ref_read(%c); %a + %b', 'let %a = ref_read(%c); ref_write(%c, 2);
  let %b = ref_read(%c); %a + %b', 'reads stay where they are');
becomes('ToGraphNormalForm', 'let %a = %x / %x; ref_write(%c, 2); %a',
        'let %a = %x / %x; ref_write(%c, 2); %a', 'and so does what may fail');
becomes('ToGraphNormalForm',
        'let %a = %x + 1; let %g = fn () { %a }; %g() + %g()',
        'let %a = %x + 1; let %g = fn () { %a }; %g() + %g()',
        'and what only a function inside uses');

# --- What stands in the text ------------------------------------------------

# A graph node is evaluated where its uses are, by the order of evaluation, not
# by that of the bindings that use it: a node that is printed at its home is no
# later use.
same('', 'type D[A] { K(Option[int32], int32, A) }
def @main() -> int32 {
  %2 = 0 / 0;
  print(7);
  %21 = (0, match (K(None, 0, Some(%2))) { K(_, _, _) => { 1 } });
  print((match (K(None, %2, 0)) {
    K(Some(_), _, _) => { %21 },
    K(_, _, _) => { (0, 2) },
  }).0);
  0
}', 'a node that is used by one which goes into an arm');

# --- Programs leave the same behind -------------------------------------------

my @passes = qw(Inline PartialEval Unroll EtaExpand LambdaLift LambdaUnlift
                Defunctionalization ToCPS UnCPS FuseOps DefuseOps DeadStore
                ToGraphNormalForm ToBasicBlockNormalForm);
my $differ = $ENV{RLY} // 'build/release/rly';
$differ =~ s{rly$}{fuzz/differ};
my @programs = (sort(glob 'tests/conformance/lang/*.rly'),
                grep { !/polymorphism/ } sort glob 'tests/run/*.rly');
my $count = $ENV{SWEEP} ? 5000 : is_release() ? 64 : 4;
my $turn = 0;
for my $pass (@passes) {
  my @some = one_in(12, $turn++, @programs);
  my @lines = split /\n/, `$differ --passes $pass @some 2>/dev/null`;
  my @ran = grep { /^tests\/.*: (the same|DIFFERENT|CRASHED)$/ } @lines;
  cmp_ok(scalar @ran, '>', is_release() ? 20 : 2, "$pass: programs ran");
  is(join('; ', grep { !/the same$/ } @ran), '', "$pass: they give the same");
  like(`$differ --passes $pass --count $count 2>&1`,
       qr/^$count programs: \d+ agree, 0 differ, 0 crash/m,
       "$pass: and so do generated ones");
}

done_testing;
