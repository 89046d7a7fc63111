#!/usr/bin/env perl
# rly fmt --functional of cells that the text cannot name: in lists, trees and
# options, made by functions, chosen, passed to any function.  They become
# numbers in a store (passes/functional_store.c), and what is computed has to
# stay what the module of cells computes.
use strict;
use warnings;
use lib 'tests/t';
use Functional;
use Relay;
use Rly;
use Test::More;

my $path = scratch('p.rly');

# --- Programs as users write them -------------------------------------------

runs_as('a counter in a list of layers', <<'CODE', [
type Layer { Layer(w: float32, seen: Ref[int32], sum: Ref[float32]) }
let @layers = List[Layer(2f, ref(0), ref(0f)), Layer(0.5f, ref(0), ref(1f))];
def @layer(%x: float32, %l: Layer) -> float32 {
  ref_write(%l.seen, ref_read(%l.seen) + 1);
  ref_write(%l.sum, ref_read(%l.sum) + %x * %l.w);
  ref_read(%l.sum)
}
def @net(%x: float32) { @foldl(@layer, %x, @layers) }
def @counts() { @map(fn (%l: Layer) { ref_read(%l.seen) }, @layers) }
CODE
        ['net!', '1f'], ['counts!'], ['net!', '3f'], ['counts!']]);

runs_as('a tree of cells', <<'CODE', [
type Tree { Leaf, Node(Tree, Ref[int32], Tree) }
let @t = Node(Node(Leaf, ref(1), Leaf), ref(2), Node(Leaf, ref(3), Leaf));
def @each(%t: Tree, %f: fn(int32) -> int32) -> () {
  match (%t) {
    Leaf => (),
    Node(%l, %c, %r) => {
      @each(%l, %f);
      ref_write(%c, %f(ref_read(%c)));
      @each(%r, %f)
    }
  }
}
def @sum(%t: Tree) -> int32 {
  match (%t) {
    Leaf => 0,
    Node(%l, %c, %r) => @sum(%l) + ref_read(%c) + @sum(%r),
  }
}
def @step(%x: int32) { @each(@t, fn (%v) { %v * %x }); @sum(@t) }
def @total() { @sum(@t) }
CODE
        ['step!', 2], ['total'], ['step!', -3]]);

runs_as('an option of a cell', <<'CODE', [
let @some: Option[Ref[int32]] = Some(ref(5));
let @none: Option[Ref[int32]] = None;
def @add(%o: Option[Ref[int32]], %x: int32) -> int32 {
  match (%o) {
    Some(%c) => { ref_write(%c, ref_read(%c) + %x); ref_read(%c) },
    None => -1,
  }
}
def @both(%x: int32) { (@add(@some, %x), @add(@none, %x)) }
CODE
        ['both!', 1], ['both!', 2]]);

runs_as('layers of an LSTM that a function makes', <<'CODE', [
type Cell { Cell(Ref[Tensor[(1, 2), float32]], Ref[Tensor[(1, 2), float32]]) }
def @make(%i: int32) -> Cell {
  let %z = zeros(shape=[1, 2], dtype="float32");
  Cell(ref(%z), ref(%z + cast(%i, dtype="float32")))
}
let @w = reshape(sin(arange(0f, 16f, 1f)), newshape=[8, 2]);
let @b = zeros(shape=[8], dtype="float32");
let @cells = @map(@make, @range(3));
def @layer(%x: Tensor[(1, 2), float32], %c: Cell) -> Tensor[(1, 2), float32] {
  match (%c) {
    Cell(%h, %m) => {
      let %r = @lstm_cell(%x, ref_read(%h), ref_read(%m), @w, @w, @b, @b);
      ref_write(%h, %r.0);
      ref_write(%m, %r.1);
      %r.0
    }
  }
}
def @step(%x: Tensor[(1, 2), float32]) { @foldl(@layer, %x, @cells) }
def @reset() {
  @map(fn (%c: Cell) {
         match (%c) {
           Cell(%h, %m) => {
             ref_write(%h, zeros(shape=[1, 2], dtype="float32"));
             ref_write(%m, ref_read(%h))
           }
         }
       }, @cells);
  ()
}
CODE
        ['step!', '[[1f, -2f]]'], ['step!', '[[0.5f, 0f]]'], ['reset!'],
        ['step!', '[[1f, -2f]]']]);

runs_as('a ring buffer', <<'CODE', [
type Ring { Ring(slots: List[Ref[float32]], at: Ref[int32], size: int32) }
def @ring(%n: int32) -> Ring {
  Ring(@map(fn (%i: int32) { ref(0f) }, @range(%n)), ref(0), %n)
}
let @r = @ring(3);
def @push(%r: Ring, %x: float32) -> () {
  ref_write(@nth(%r.slots, ref_read(%r.at)), %x);
  ref_write(%r.at, if (ref_read(%r.at) + 1 == %r.size) { 0 } else {
    ref_read(%r.at) + 1 })
}
def @sum(%r: Ring) -> float32 {
  @foldl(fn (%s: float32, %c: Ref[float32]) { %s + ref_read(%c) }, 0f, %r.slots)
}
def @mean(%x: float32) { @push(@r, %x); @sum(@r) / 3f }
CODE
        map { ['mean!', "${_}f"] } 1 .. 5]);

runs_as('a moving average over chunks', <<'CODE', [
let @tail = List[ref(0f), ref(0f)];
def @shift(%x: float32) -> float32 {
  let %a = @nth(@tail, 0);
  let %b = @nth(@tail, 1);
  let %y = (ref_read(%a) + ref_read(%b) + %x) / 3f;
  ref_write(%a, ref_read(%b));
  ref_write(%b, %x);
  %y
}
def @filter_all(%xs: List[float32]) { @map(@shift, %xs) }
CODE
        ['filter_all!', 'List[3f, 6f, 9f]'], ['filter_all!', 'List[0f]']]);

runs_as('nested functions that capture cells', <<'CODE', [
let @log = ref(Nil);
let @cells = List[ref(1), ref(10)];
def @run(%x: int32) -> int32 {
  let %local = ref(%x);
  let %bump = fn (%c: Ref[int32]) -> int32 {
    ref_write(%c, ref_read(%c) + ref_read(%local));
    ref_write(@log, Cons(ref_read(%c), ref_read(@log)));
    ref_read(%c)
  };
  let %twice = fn (%c: Ref[int32]) -> int32 {
    let %again = fn () -> int32 { %bump(%c) };
    %again() + %again()
  };
  let %r = @sum(@map(%twice, @cells));
  ref_write(%local, 100);
  %r + %twice(%local)
}
def @seen() { ref_read(@log) }
CODE
        ['run!', 2], ['seen'], ['run!', -1], ['seen']]);

runs_as('a cell of the state or a new one', <<'CODE', [
let @state = ref(3);
def @pick(%c: bool) -> Ref[int32] { if (%c) { @state } else { ref(0) } }
def @bump(%c: bool, %by: int32) -> int32 {
  let %r = if (%c) { @state } else { ref(%by * 2) };
  ref_write(%r, ref_read(%r) + %by);
  ref_read(%r)
}
def @given(%c: bool, %o: Option[int32]) -> int32 {
  let %r = match (%o) {
    Some(%x) if %c => { let %n = ref(%x); ref_write(%n, %x + 1); %n },
    Some(_) => @state,
    None => @pick(%c),
  };
  ref_write(%r, ref_read(%r) * 2);
  ref_read(%r) + ref_read(@pick(%c))
}
CODE
        ['bump!', 'True', 4], ['bump!', 'False', 4], ['given!', 'True',
        'Some(5)'], ['given!', 'False', 'Some(5)'], ['given!', 'True', 'None'],
        ['bump!', 'True', 0]]);

runs_as('what one of them is read by', <<'CODE', [
let @state = (ref(3), 1);
def @make(%x: int32) -> (Ref[int32], int32) { (ref(%x), 7) }
def @f(%c: bool, %x: int32) -> int32 {
  let %p = if (%c) { @state } else { @make(%x) };
  ref_write(%p.0, ref_read(%p.0) + %x);
  ref_read(%p.0) * 10 + %p.1
}
CODE
        ['f!', 'True', 2], ['f!', 'False', 2], ['f!', 'True', 1]]);

runs_as('a cell in a cell', <<'CODE', [
let @outer = ref(ref(1));
let @keep = ref_read(@outer);
def @swap(%x: int32) -> int32 {
  let %old = ref_read(@outer);
  ref_write(@outer, ref(%x));
  ref_write(%old, ref_read(%old) + 100);
  ref_read(ref_read(@outer)) + ref_read(@keep)
}
CODE
        ['swap!', 5], ['swap!', 6]]);

runs_as('a list of cells that grows', <<'CODE', [
let @all: Ref[List[Ref[int32]]] = ref(Nil);
def @push(%x: int32) -> int32 {
  ref_write(@all, Cons(ref(%x), ref_read(@all)));
  @map(fn (%c: Ref[int32]) { ref_write(%c, ref_read(%c) + 1) }, ref_read(@all));
  @sum(@map(fn (%c: Ref[int32]) { ref_read(%c) }, ref_read(@all)))
}
CODE
        map { ['push!', $_ * 10] } 1 .. 4]);

runs_as('a linked list of cells', <<'CODE', [
type Link { End, Link(int32, Ref[Link]) }
let @end = ref(End);
let @first = ref(Link(0, @end));
let @last = ref(@end);
def @append(%x: int32) -> () {
  let %c = ref(End);
  ref_write(ref_read(@last), Link(%x, %c));
  ref_write(@last, %c)
}
def @walk(%l: Link, %sum: int32) -> int32 {
  match (%l) {
    End => %sum,
    Link(%x, %next) => @walk(ref_read(%next), %sum * 10 + %x),
  }
}
def @read() { @walk(ref_read(@first), 0) }
CODE
        ['read'], ['append!', 4], ['append!', 2], ['read'], ['append!', 7],
        ['read']]);

runs_as('cells of several types and shapes', <<'CODE', [
type Any { I(Ref[int32]), F(Ref[Tensor[(2), float32]]), L(Ref[List[int32]]) }
let @all = List[I(ref(1)), F(ref([1f, 2f])), L(ref(Nil)), I(ref(5))];
def @each(%a: Any, %x: int32) -> () {
  match (%a) {
    I(%c) => ref_write(%c, ref_read(%c) * %x),
    F(%c) => ref_write(%c, ref_read(%c) + cast(%x, dtype="float32")),
    L(%c) => ref_write(%c, Cons(%x, ref_read(%c))),
  }
}
type Content { CI(int32), CF(Tensor[(2), float32]), CL(List[int32]) }
def @content(%a: Any) -> Content {
  match (%a) {
    I(%c) => CI(ref_read(%c)),
    F(%c) => CF(ref_read(%c)),
    L(%c) => CL(ref_read(%c)),
  }
}
def @step(%x: int32) {
  @map(fn (%a: Any) { @each(%a, %x) }, @all);
  @map(@content, @all)
}
CODE
        ['step!', 2], ['step!', 3]]);

runs_as('contents whose shapes differ', <<'CODE', [
let @rows: List[Ref[Tensor[(?, 2), float32]]] =
  List[ref(zeros(shape=[0, 2], dtype="float32")),
       ref(ones(shape=[1, 2], dtype="float32"))];
def @push(%i: int32, %x: Tensor[(1, 2), float32]) -> Tensor[(2), float32] {
  let %c = @nth(@rows, %i);
  ref_write(%c, concatenate((ref_read(%c), %x), axis=0));
  sum(ref_read(%c), axis=[0])
}
CODE
        ['push!', 0, '[[1f, 2f]]'], ['push!', 1, '[[1f, 2f]]'],
        ['push!', 0, '[[4f, 4f]]']]);

runs_as('two names for one cell', <<'CODE', [
let @a = ref(1);
let @l = List[@a, ref(2), @a];
let @same = @l;
def @f(%x: int32) {
  @map(fn (%c: Ref[int32]) { ref_write(%c, ref_read(%c) * %x) }, @same);
  ref_write(@a, ref_read(@a) + 1);
  @map(fn (%c: Ref[int32]) { ref_read(%c) }, @l)
}
CODE
        ['f!', 2], ['f!', 3]]);

runs_as('a function of cells that gives one', <<'CODE', [
let @a = ref(3);
let @b = ref(4);
def @less(%c: Ref[int32], %d: Ref[int32]) -> Ref[int32] {
  if (ref_read(%c) < ref_read(%d)) { %c } else { %d }
}
def @least(%l: List[Ref[int32]], %c: Ref[int32]) -> Ref[int32] {
  match (%l) {
    Nil => %c,
    Cons(%d, %l) => @least(%l, @less(%c, %d)),
  }
}
def @step(%x: int32) {
  let %own = ref(%x);
  let %c = @least(List[@a, %own], @b);
  ref_write(%c, ref_read(%c) + 10);
  (ref_read(@a), ref_read(@b), ref_read(%own))
}
CODE
        ['step!', 1], ['step!', 100], ['step!', 5]]);

runs_as('the order of what cells do', <<'CODE', [
let @l = List[ref(1), ref(2)];
let @log = ref(0);
def @note(%x: int32) -> int32 {
  ref_write(@log, ref_read(@log) * 10 + %x);
  %x
}
def @at(%i: int32) -> Ref[int32] { @note(%i + 1); @nth(@l, %i) }
def @f() {
  ref_write(@at(0), { let %v = ref_read(@at(1)); ref_write(@at(0), 9);
                      %v + @note(7) });
  let %t = (ref_read(@at(0)), { ref_write(@at(0), 5); @note(8) },
            ref_read(@at(0)));
  (%t, ref_read(@log))
}
CODE
        ['f!'], ['f!']]);

runs_as('a state machine of handlers by number', <<'CODE', [
type Event { Up(int32), Down, Reset }
type Machine { Idle(Ref[int32]), Busy(Ref[int32], Ref[List[Event]]) }
let @n = ref(0);
let @m: Ref[Machine] = ref(Idle(@n));
def @handle(%e: Event) -> int32 {
  match ((ref_read(@m), %e)) {
    (Idle(%c), Up(%k)) => {
      ref_write(%c, ref_read(%c) + %k);
      ref_write(@m, Busy(%c, ref(List[%e])))
    },
    (Busy(%c, %l), Up(%k)) => {
      ref_write(%c, ref_read(%c) + 10 * %k);
      ref_write(%l, Cons(%e, ref_read(%l)))
    },
    (Busy(%c, %l), Down) => {
      ref_write(%c, ref_read(%c) - @length(ref_read(%l)));
      ref_write(@m, Idle(%c))
    },
    (_, Reset) => ref_write(@n, 0),
    (Idle(_), Down) => (),
  };
  ref_read(@n)
}
CODE
        ['handle!', 'Up(3)'], ['handle!', 'Up(2)'], ['handle!', 'Down'],
        ['handle!', 'Down'], ['handle!', 'Reset'], ['handle!', 'Up(1)']]);

runs_as('many cells', <<'CODE', [
let @l = @map(fn (%i: int32) { ref(%i) }, @range(1000));
def @each(%f: fn(int32) -> int32) -> int32 {
  @foldl(fn (%s: int32, %c: Ref[int32]) {
           ref_write(%c, %f(ref_read(%c)));
           %s + ref_read(%c)
         }, 0, @l)
}
def @double() { @each(fn (%x) { %x * 2 }) }
CODE
        ['double!'], ['double!']]);

runs_as('graph variables beside cells in data', <<'CODE', [
let @l = List[ref(1), ref(2)];
def @f(%x: int32) {
  %0 = ref_read(@nth(@l, 0)) + %x;
  ref_write(@nth(@l, 1), %0);
  %1 = ref_read(@nth(@l, 1)) * 2;
  ref_write(@nth(@l, 0), %1);
  %0 + %1
}
CODE
        ['f!', 1], ['f!', 2]]);

runs_as('an iterator', <<'CODE', [
type Iter { Iter(rest: Ref[List[int32]], taken: Ref[int32]) }
def @iter(%l: List[int32]) -> Iter { Iter(ref(%l), ref(0)) }
let @it = @iter(@range(5));
let @other = @iter(List[100]);
def @next(%it: Iter) -> Option[int32] {
  match (ref_read(%it.rest)) {
    Nil => None,
    Cons(%x, %rest) => {
      ref_write(%it.rest, %rest);
      ref_write(%it.taken, ref_read(%it.taken) + 1);
      Some(%x)
    }
  }
}
def @step() { (@next(@it), @next(@it), @next(@other), ref_read(@it.taken)) }
CODE
        ['step!'], ['step!'], ['step!']]);

runs_as('cells wherever values are', <<'CODE', [
type M { M(Ref[int32]), N }
let @r = ref(0);
def @make(%x: int32) { M(ref(%x)) }
def @cell() { ref(20) }
let @m = M(ref(1));
let @made = @make(7);
let @p = (1, @cell(), @r);
def @read(%m: M) -> int32 { match (%m) { M(%c) => ref_read(%c), N => 0 } }
def @given() -> M { @m }
def @both() { (@r, @p.1) }
def @f(%x: int32) {
  let %local = fn (%c: Ref[int32]) { ref_write(%c, ref_read(%c) + %x) };
  %local(@r);
  match (@given()) { M(%c) => %local(%c), N => () };
  let %b = @both();
  %local(%b.1);
  (@read(@m), @read(N), @read(@made), ref_read(@p.1), ref_read(@p.2),
   ref_read(%b.0))
}
CODE
        ['f!', 3], ['f!', 4]]);

runs_as('functions of cells of any type', <<'CODE', [
type Pair[A] { Pair(Ref[A], A) }
let @l = List[Pair(ref(1), 10), Pair(ref(2), 20)];
let @m = List[Pair(ref([1f, 2f]), [0f, 1f])];
def @swap[A](%c: Ref[A], %x: A) -> A {
  let %old = ref_read(%c);
  ref_write(%c, %x);
  %old
}
def @turn[A](%p: Pair[A]) -> A {
  match (%p) { Pair(%c, %x) => @swap(%c, %x) }
}
def @all[A](%l: List[Pair[A]]) -> List[A] { @map(@turn, %l) }
def @times[A](%n: int32, %c: Ref[A], %f: fn(A) -> A) -> A {
  if (%n == 0) { ref_read(%c) } else {
    ref_write(%c, %f(ref_read(%c)));
    @times(%n - 1, %c, %f)
  }
}
def @fresh[A](%x: A) -> A { let %r = List[ref(%x)]; ref_read(@hd(%r)) }
def @f() {
  let %own = List[ref(True)];
  (@all(@l), @all(@m), @fresh(5), @fresh([1f]),
   @times(3, @hd(%own), logical_not), @times(2, ref(Nil), fn (%l) { Cons(1, %l)
   }))
}
CODE
        ['f!'], ['f!']]);

runs_as('types of nothing but cells', <<'CODE', [
type Box[A] { Box(Ref[A]) }
type L[A] { E, C(Ref[A], L[A], Box[A]) }
type Two[A, B] { Two(A, Box[B]) }
type Cell = Ref[int32];
let @l = List[Box(ref(1)), Box(ref(2))];
let @t = Two(5, Box(ref([1f])));
let @k = C(ref(1), C(ref(2), E, Box(ref(9))), Box(ref(3)));
def @get[A](%b: Box[A]) -> A { match (%b) { Box(%c) => ref_read(%c) } }
def @inc(%c: Cell) -> () { ref_write(%c, ref_read(%c) + 1) }
def @sum(%l: L[int32]) -> int32 {
  match (%l) {
    E => 0,
    C(%c, %r, %b) => {
      @inc(%c);
      ref_read(%c) * 2 + @sum(%r) + @get(%b)
    }
  }
}
def @two(%t: Two[int32, Tensor[(1), float32]]) {
  match (%t) { Two(%n, %b) => (%n, @get(%b)) }
}
def @f() {
  @map(fn (%b: Box[int32]) { match (%b) { Box(%c) => @inc(%c) } }, @l);
  let %b = Box(ref(7));
  (@map(@get, @l), @sum(@k), @two(@t), @get(%b))
}
CODE
        ['f!'], ['f!']]);

# The ways through them would be 2^30.
runs_as('thirty choices in a row', "let \@a = ref(0);\nlet \@b = ref(1);\n"
        . "def \@f(%k: bool) {\n"
        . '  let %c = if (%k) { @a } else { @b };'
        . " ref_write(%c, ref_read(%c) + 1);\n"
        . ('  let %c = if (ref_read(%c) > 9) { @a } else { @b };'
           . " ref_write(%c, ref_read(%c) + 1);\n") x 29
        . "  (ref_read(\@a), ref_read(\@b))\n}\n",
        [['f!', 'True'], ['f!', 'False']]);

# Each type would need a function of its own.
gives(rly('fmt', '--functional', spew($path, <<'CODE')), 1, '',
let @l = List[ref(1)];
def @f[A](%x: A, %n: int32) -> int32 {
  let %c = List[ref(%x)];
  if (%n == 0) { 0 } else { @f((ref_read(@hd(%c)), %x), %n - 1) }
}
def @g() { @f(1, 3) }
CODE
      qr/p\.rly:4:29: error\[E0508\]: .* a function of cells of any type, at a/,
      'types without an end');

# The functions that first values call read and write what is there.
runs_as('first values that call functions of the state', <<'CODE', [
type T { Node(T, T), Tip(Tensor[(2, ?), int64], Option[int32]) }
let @a = ref(0);
def @next() -> int32 { ref_write(@a, ref_read(@a) + 1); ref_read(@a) }
let @b = ref(@next() * 10 + @next());
let @c: Ref[T] = ref(Tip(zeros(shape=[2, 3], dtype="int64"), None));
let @d = fn (%x: int32) -> int32 { %x + 1 };
let @e = @next();
def @get() { (ref_read(@a), ref_read(@b), ref_read(@c), @e) }
def @f() { ref_write(@b, @next()) }
CODE
        ['get'], ['f!'], ['get']]);

# A derivative ends at a store: told of once, where a cell that may hold floats
# is made in a function, and the text takes derivatives.
sub told { rly('fmt', '--pass', 'stores', spew($path, shift)) }
my $in_list = <<'CODE';
def @f[A](%x: A) -> A { @g(List[ref(%x), ref(%x)]) }
def @g[A](%l: List[Ref[A]]) -> A {
  match? (%l) { Cons(%c, _) => ref_read(%c) }
}
CODE
gives(told("$in_list grad(fn (%x: float32) { \@f(%x) })(2f);"), 0,
      qr/store_add/,
      qr/\A\S+:1:33: warning\[W0009\]: a derivative ends.*\n(?: .*\n)*\z/,
      'a cell in a function of a text that differentiates');
gives(told("$in_list \@f(2f);"), 0, qr/store_add/, '',
      'no derivative, no warning');
my $of_integers = 'if (@f(1) > 0) { %x } else { 0f }';
gives(told("$in_list grad(fn (%x: float32) { $of_integers })(2f);"), 0,
      qr/store_add/, '', 'a cell of integers');
gives(told(<<'CODE'), 0, qr/store_add/, '', 'a cell from outside');
let @l = List[ref(2f)];
def @f(%x: float32) -> float32 {
  match? (@l) { Cons(%c, _) => ref_read(%c) * %x }
}
grad(@f)(2f);
CODE

done_testing;
