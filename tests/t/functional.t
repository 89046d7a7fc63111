#!/usr/bin/env perl
# rly fmt --functional: a module whose state lies in cells, as functions of an
# explicit state; --stateful: the way back.
#
# What is written has to compute what the module computes.  So each module is
# run twice, in a session by calls that stand below it, and as functions by the
# same calls with the state handed on, and what is printed must be the same,
# byte for byte.  The text of the pass alone is compared, and the plain Relay
# that `relay` makes of it.
use strict;
use warnings;
use lib 'tests/t';
use Functional;
use Relay;
use Rly;
use Test::More;

my $path = scratch('p.rly');
my $made = scratch('made.rly');

sub words {
  my $text = join ' ', split ' ', $_[0];
  return $text =~ s/(?<=\() | (?=\))//gr;
}

sub prints {
  my ($program, $expected, $name) = @_;
  my $run = rly('fmt', '--functional', spew($path, $program));
  is(words($run->{out}), words("#[version = \"0.0.5\"]\n$expected"), $name)
    or diag($run->{err});
  is(plain_relay($run->{out}), '', "$name: TVM's grammar");
}

my $cannot = 'an explicit state cannot express';

sub refused {
  my ($program, $place, $what, $name) = @_;
  gives(rly('fmt', '--functional', spew($path, $program)), 1, '',
        qr/p\.rly:$place: error\[E0508\]: $cannot \Q$what\E\n/, $name);
}

# --- What is written --------------------------------------------------------

my $counter = <<'END';
let @count = ref(1);
def @next(%by: int32) -> int32 {
  ref_write(@count, ref_read(@count) + %by);
  ref_read(@count)
}
def @peek() { ref_read(@count) }
def @twice(%x: int32) { %x * 2 }
END

prints($counter, <<'END', 'one cell: the state is what it holds');
def @init() { let %count: int32 = 1; %count }
def @next(%by: int32, %state: int32) -> (int32, int32) {
  let %count = %state + %by;
  (%count, %count)
}
def @peek(%state: int32) { %state }
def @twice(%x: int32) { %x * 2 }
END

prints(<<'END', <<'END', 'cells and other values; a branch that writes');
let @a = ref((1, 2f));
let @k = 5;
def @f(%x: int32) {
  if (%x > @k) { ref_write(@a, (%x, 0f)) } else { () };
  (ref_read(@a)).0
}
END
def @init() {
  let %a: (int32, float32) = (1, 2f);
  let %k: int32 = 5;
  (%a, %k)
}
def @f(%x: int32, %state: ((int32, float32), int32)) {
  let %r = if (%x > %state.1) {
    let %a = (%x, 0f);
    ((), (%a, %state.1))
  } else { ((), %state) };
  let %state_1 = %r.1;
  ((%state_1.0).0, %state_1)
}
END

prints("param \@w: int32;\nlet \@a = ref(\@w);\n"
       . 'def @f() { ref_write(@a, ref_read(@a) * @w) }', <<'END',
def @init(%w: int32) { let %a: int32 = %w; %a }
def @f(%w: int32, %state: int32) { let %a = %state * %w; ((), %a) }
END
       'a param is a parameter, before the others');

prints('def @f(%x: int32) { %x }', 'def @f(%x: int32) { %x }',
       'a module without cells stays');

prints(<<'END', <<'END', 'two parameters of one name: the first is meant');
let @a = ref(0);
def @f(%x: int32, %x: float32) {
  ref_write(@a, %x);
  match ((%x, 2)) { (%y, %y) => %y }
}
END
def @init() { let %a: int32 = 0; %a }
def @f(%x: int32, %x_1: float32, %state: int32) {
  (match (%x, 2) { (%y, %y_1) => { %y } }, %x)
}
END

prints(<<'END', <<'END', 'a script is @main');
let @a = ref(0);
let %x = 3;
ref_write(@a, %x);
ref_read(@a) + 1;
ref_read(@a);
END
def @init() { let %a: int32 = 0; %a }
def @main(%state: int32) {
  let %x = 3;
  let %v = %x + 1;
  ((%v, %x), %x)
}
END

# --- The same values --------------------------------------------------------

runs_as('a counter', $counter,
        [['next!', 2], ['peek'], ['next!', -7], ['next!', 9], ['peek']]);

runs_as('the order of evaluation', <<'END', [map { ['f!', $_] } 1 .. 4]);
let @log = ref(Nil);
let @n = ref(0);
def @note(%x: int32) -> int32 {
  ref_write(@log, Cons(%x, ref_read(@log)));
  ref_write(@n, ref_read(@n) + 1);
  ref_read(@n) * 10 + %x
}
def @read() { ref_read(@n) }
type P { P(a: int32, b: int32) }
def @f(%x: int32) {
  let %a = (@note(1), @read(), @note(2), @read() + @note(%x));
  let %b = { let %a = @note(4); %a * 2 } + %a.0 * { ref_write(@n, 7); @read() };
  let %c = P(b=@note(5), a=@note(6) + @read());
  let %d = {%c with a = @note(7)};
  let %e = [@read(), 3];
  let %g = match (Some(@note(8))) {
    Some(%y) if %y > @read() => @note(%y),
    None | Some(_) => 0,
  };
  let %h = if (@note(9) > 50 && @note(10) > 0) { @note(11) } else if (%x > 2) {
    @read()
  } else { -1 };
  let %i = fn (%p: int32) { %p + @note(12) };
  let %w = reshape(arange(6), newshape=[@note(0) * 0 + 2, @read() * 0 + 3]);
  (%a, %b, %c.a, %c.b, %d.a, %e, %g, %h, %i(%i(1)), %w |> sum(axis=[1]),
   ref_read(@log))
}
END

runs_as('recursion, local and mutual', <<'END',
let @even = ref(0);
let @odd = ref(0);
def @is_even(%n: int32) -> bool {
  ref_write(@even, ref_read(@even) + 1);
  if (%n == 0) { True } else { @is_odd(%n - 1) }
}
def @is_odd(%n: int32) -> bool {
  ref_write(@odd, ref_read(@odd) + 1);
  if (%n == 0) { False } else { @is_even(%n - 1) }
}
def @main(%n: int32) {
  let %own = ref(0);
  let %down = fn (%i: int32) -> int32 {
    if (%i == 0) { ref_read(%own) } else { ref_write(%own, %i); %up(%i - 1) }
  }
  and %up = fn (%i: int32) -> int32 {
    ref_write(@odd, ref_read(@odd) + 1);
    %down(%i)
  };
  (@is_even(%n), %down(%n), ref_read(@even), ref_read(@odd))
}
END
        [['main!', 5], ['main!', 100000]], undef);

runs_as('graph variables where the state is read', <<'END',
let @a = ref(4);
def @f(%x: int32) {
  %0 = ref_read(@a) + %x;
  if (%x > 0) { %1 = %0 * %0; %1 - ref_read(@a) } else { @g(%0) }
}
def @g(%x: int32) { ref_read(@a) / %x }
def @h() { ref_write(@a, ref_read(@a) + @f(3)) }
END
        [['f', 1], ['f', 0], ['h!'], ['f', -2]]);

runs_as('graph variables where the state is written', <<'CODE',
let @a = ref(4);
def @next() { ref_write(@a, ref_read(@a) * 3 + 1); ref_read(@a) }
def @f(%x: int32) {
  %0 = ref_read(@a) + %x;
  let %node = @next();
  %1 = fn (%y: int32) { %2 = @next() + %y; %2 * %2 - %0 };
  let %b = if (%x > 0) { %3 = %0 * %0; ref_write(@a, %3); %3 - ref_read(@a) }
           else { ref_write(@a, %0); %0 };
  (%0, %node, %b, %1(2), %1(3), ref_read(@a), %0 + %0)
}
CODE
        [['f!', 1], ['f!', 0], ['f!', -2]]);

runs_as('a state of several shapes', <<'END',
let @rows: Ref[Tensor[(?, 2), float32]] =
  ref(zeros(shape=[0, 2], dtype="float32"));
def @push(%x: Tensor[(1, 2), float32]) -> Tensor[(2), float32] {
  if (take(shape_of(ref_read(@rows)), 0) >= 2) {
    ref_write(@rows, zeros(shape=[0, 2], dtype="float32"))
  } else { ref_write(@rows, concatenate((ref_read(@rows), %x), axis=0)) };
  sum(ref_read(@rows), axis=[0])
}
END
        [map { ['push!', "[[$_.5f, 2f]]"] } 1 .. 5]);

runs_as('functions and lists in the state', <<'END',
let @f = ref(fn (%x: int32) -> int32 { %x + 1 });
let @all: Ref[List[(int32, bool)]] = ref(Nil);
def @apply(%x: int32) -> int32 {
  let %y = (ref_read(@f))(%x);
  ref_write(@f, fn (%z: int32) -> int32 { %z * %y });
  ref_write(@all, Cons((%y, %y > 3), ref_read(@all)));
  %y
}
def @list() { ref_read(@all) }
END
        [['apply!', 4], ['apply!', 5], ['list'], ['apply!', 6], ['list']]);

runs_as('first values that read and write', <<'END',
let @a = ref(1);
let @b = ref({ ref_write(@a, 5); ref_read(@a) + 1 });
let @c = ref_read(@b) * ref_read(@a);
def @get() { (ref_read(@a), ref_read(@b), @c) }
def @f() { ref_write(@b, @c) }
END
        [['get'], ['f!'], ['get']]);

prints("$counter\ndef \@all(%l: List[int32]) { \@map(\@next, %l) }", <<'CODE',
def @init() { let %count: int32 = 1; %count }
def @next(%by: int32, %state: int32) -> (int32, int32) {
  let %count = %state + %by;
  (%count, %count)
}
def @peek(%state: int32) { %state }
def @twice(%x: int32) { %x * 2 }
def @all(%l: List[int32], %state: int32) { @map_state(@next, %l, %state) }
def @map_state[A, B](%f: fn (A, int32) -> (B, int32), %xs: List[A],
                     %state: int32) -> (List[B], int32) {
  match (%xs) {
    Cons(%x, %rest) => {
      let %r = %f(%x, %state);
      let %state_1 = %r.1;
      let %r_1 = @map_state(%f, %rest, %state_1);
      let %state_2 = %r_1.1;
      (Cons(%r.0, %r_1.0), %state_2)
    },
    Nil => { (Nil, %state) },
  }
}
CODE
       'a function of the state is passed to a copy of @map');

runs_as('functions of the state as arguments', <<'CODE',
let @n = ref(0);
let @log = ref(Nil);
def @next(%by: int32) -> int32 {
  ref_write(@n, ref_read(@n) + %by);
  ref_write(@log, Cons(ref_read(@n), ref_read(@log)));
  ref_read(@n)
}
def @peek(%x: int32) -> int32 { %x + ref_read(@n) }
def @twice[A](%f: fn(A) -> A, %x: A) -> A { %f(%f(%x)) }
def @both[A, B](%f: fn(A) -> B, %g: fn(B) -> A, %x: A) -> A { %g(%f(%x)) }
def @until(%f: fn(int32) -> int32, %stop: fn(int32) -> bool, %x: int32)
    -> int32 {
  if (%stop(%x)) { %x } else { @until(%f, %stop, %f(%x)) }
}
def @down(%f: fn(int32) -> int32, %n: int32) -> int32 {
  ref_write(@n, ref_read(@n) + 1);
  if (%n == 0) { 0 } else { %f(%n) + @down(fn (%x) { %f(%x) * 2 }, %n - 1) }
}
def @lists(%k: int32) {
  let %l = @range(%k);
  let %t = Rose(1, List[Rose(%k, Nil), Rose(3, Nil)]);
  (@map(@next, %l), @map(@peek, %l), @map(fn (%x) { %x + 1 }, %l),
   @foldl(fn (%a, %x) { @next(%a) - %x }, 0, %l),
   @foldr(fn (%x, %a) { @next(%x) + %a * 3 }, @next(1), %l),
   @filter(fn (%x) { @next(%x) / 2 * 2 == ref_read(@n) }, %l),
   @for(%k, fn (%i, %s) { @twice(@next, %i + %s) }, 1), @tmap(@next, %t),
   @map(fn (%x) { @map(@next, %l) }, %l),
   @map_accuml(fn (%a, %x) { (@next(%a), @peek(%x)) }, 1, %l))
}
def @own(%k: int32) {
  let %by = 2;
  let %go = fn (%f: fn(int32) -> int32, %i: int32) -> int32 {
    if (%i == 0) { 0 } else { %f(%i + %by) + %go(%f, %i - 1) }
  };
  let %g = @next;
  let %h = %g;
  (%go(%g, %k), %go(@peek, %k), %go(fn (%x) { %x * 2 }, %k), %go(negative, %k),
   @twice(%h, 1), @twice(fn (%x) { %x + 1 }, 1), @both(@next, negative, %k),
   @both(negative, @next, %k), @both(@next, @next, %k), @both(%h, @peek, 4),
   @down(@twice(fn (%f) { %f }, negative), %k), @down(@next, 1),
   @until(@next, fn (%x) { ref_read(@n) > 500 }, 7), ref_read(@log))
}
def @deep(%n: int32) -> int32 { @length(@map(@next, @range(%n))) }
def @loop(%n: int32) -> int32 { @for(%n, fn (%i, %s) { @next(%i) }, 0) }
CODE
        [['lists!', 4], ['own!', 3], ['own!', 2], ['deep!', 100000],
         ['loop!', 100000]]);

# Parts of the state by other names, and as arguments.
prints(<<'CODE', <<'MADE', 'a copy of what takes a cell');
let @a = ref(1);
let @p = (ref(2f), 5);
def @raise(%c: Ref[int32], %by: int32) { ref_write(%c, ref_read(%c) + %by) }
def @f() { let %r = @a; @raise(%r, (@p).1); ref_write((@p).0, 1f) }
CODE
def @init() {
  let %a: int32 = 1;
  let %p: (float32, int32) = (2f, 5);
  (%a, %p)
}
def @f(%state: (int32, (float32, int32))) {
  let %r_1 = @raise_state((), (%state.1).1, %state);
  let %state_1 = %r_1.1;
  ((), (%state_1.0, (1f, (%state_1.1).1)))
}
def @raise_state(%c: (), %by: int32, %state: (int32, (float32, int32))) {
  let %a = %state.0 + %by;
  ((), (%a, %state.1))
}
MADE

runs_as('cells in tuples, aliases, cells as arguments', <<'CODE',
let @a = ref(1);
let @p = (ref(10), (ref(5f), 7), ref((1, 2)));
let @same = @a;
def @bump(%c: Ref[int32], %by: int32) -> int32 {
  ref_write(%c, ref_read(%c) + %by);
  ref_read(%c)
}
def @down(%c: Ref[int32], %n: int32) -> int32 {
  if (%n == 0) { ref_read(%c) } else { @bump(%c, %n); @down(%c, %n - 1) }
}
def @two(%c: Ref[int32], %d: Ref[int32]) {
  ref_write(%c, ref_read(%d) + ref_read(%c));
  ref_write(%d, 9);
  let %e = %c;
  @bump(%e, 1)
}
def @each(%c: Ref[int32], %f: fn(int32) -> int32) {
  ref_write(%c, %f(ref_read(%c)));
  ref_read(%c)
}
def @f(%x: int32) {
  let %r = @a;
  let %q = @p.1;
  ref_write(%r, %x);
  ref_write(%q.0, ref_read(%q.0) * 2f);
  ref_write((@p).0, ref_read(@same) + %q.1);
  ref_write((@p).2, ((ref_read((@p).2)).1, %x));
  let %get = fn () { ref_read(%r) };
  (ref_read(@same), ref_read((@p).0), ref_read(%q.0), (@p).1.1, %get(),
   ref_read((@p).2))
}
def @g() {
  (@bump(@a, 2), @bump((@p).0, 3), @down(@same, 4), @bump(ref(5), 6),
   @each(@a, fn (%x) { @bump((@p).0, %x) }), @each((@p).0, negative),
   @each(@a, fn (%x) { @bump(@a, %x) }), { let %r = ref(3); @two(%r, @a) })
}
def @peek() {
  let %r: (Ref[int32], (Ref[float32], int32), Ref[(int32, int32)]) = @p;
  ref_read(%r.0) + %r.1.1
}
def @unused(%c: Ref[int32], %x: int32) { %x }
def @h(%l: List[int32]) {
  (@two(@a, @a), @two(@a, (@p).0), @two((@p).0, @same), @unused(@a, 3),
   @map(fn (%x) { @bump(@a, %x) }, %l))
}
CODE
        [['f!', 3], ['g!'], ['peek'], ['h!', 'List[1, 2]'], ['g!'], ['f!', 4],
         ['peek']]);

runs_as('cells that branches choose and functions give', <<'CODE',
let @a = ref(1);
let @b = ref(20);
let @p = (ref(5), ref(7));
type Net { Net(h: Ref[int32], w: int32) }
let @n1 = Net(ref(1), 3);
let @n2 = Net(ref(2), 4);
let @n = ref(0);
def @next() -> int32 { ref_write(@n, ref_read(@n) + 1); ref_read(@n) }
def @bump(%c: Ref[int32], %by: int32) -> int32 {
  ref_write(%c, ref_read(%c) + %by);
  ref_read(%c)
}
def @pick(%k: bool) -> Ref[int32] { if (%k) { @a } else { @b } }
def @third(%k: int32, %c: Ref[int32]) {
  @next();
  if (%k == 0) { @a } else if (%k == 1) { %c } else { let %q = @p; %q.1 }
}
def @f(%k: bool, %x: int32) {
  let %c = if (%k) { @a } else { @b };
  ref_write(%c, ref_read(%c) + %x);
  let %d = @bump(%c, 2);
  (%d, ref_read(@a), ref_read(@b))
}
def @g(%o: Option[int32], %x: int32) {
  ref_write(match (%o) {
    Some(%x) if %x > 3 => { @next(); @a },
    Some(_) => @b,
    None => (@p).0,
  }, @next() + %x);
  let %v = @bump(@third(%x, (@p).0), @next());
  let %w = ref_read((if (%x > 1) { @n1 } else { @n2 }).h)
           + (if (%x > 1) { @n1 } else { @n2 }).w;
  match (if (%x > 0) { @n1 } else { @n2 }) {
    Net(%h, %by) => ref_write(%h, ref_read(%h) + %by)
  };
  (%v, %w, ref_read(@pick(%x > 0)), ref_read(@n), ref_read(@a), ref_read(@b),
   ref_read((@p).0), ref_read((@p).1), ref_read(@n1.h), ref_read(@n2.h))
}
def @loop(%k: int32) -> int32 {
  if (%k == 0) { ref_read(@a) } else {
    let %c = @pick(%k > 5);
    ref_write(%c, ref_read(%c) + %k);
    @loop(%k - 1)
  }
}
def @args(%k: bool) {
  let %z = (@bump(if (%k) { @a } else { @b }, @next()), @next());
  (%z, @bump(@pick(!%k), 1))
}
CODE
        [['f!', 'True', 3], ['f!', 'False', 4], ['g!', 'Some(9)', 0],
         ['g!', 'Some(2)', 1], ['g!', 'None', 2], ['loop!', 9],
         ['loop!', 100000], ['args!', 'True'], ['args!', 'False']]);

# A data value with one constructor and cells in it is the tuple of its fields.
runs_as('cells in data types', <<'CODE',
type Pair[A] { Pair(Ref[A], A) }
type Net {
  Net(w: float32, h: Ref[float32], in: Pair[int32], name: Option[int32])
}
type Nets = (Net, int32);
let @a = Net(2f, ref(1f), Pair(ref(10), 7), Some(3));
let @nets = (Net(w=3f, h=ref(0f), in=Pair(ref(1), 2), name=None), 5);
let @b = @a;
def @step(%n: Net, %x: float32) -> float32 {
  ref_write(%n.h, ref_read(%n.h) * %n.w + %x);
  ref_read(%n.h)
}
def @count(%p: Pair[int32]) {
  match (%p) {
    Pair(%c, %by) => ref_write(%c, ref_read(%c) + %by); ref_read(%c)
  }
}
def @rename(%o: Option[int32]) -> int32 {
  match (%o) { Some(%k) => %k, None => 0 }
}
def @f(%x: float32) {
  let %n = @nets.0;
  (@step(@a, %x), @step(%n, %x), @count(@b.in), @count(%n.in), @rename(@a.name),
   @nets.1, %n.w)
}
def @g() {
  match (@nets) {
    (Net(in=Pair(%c, _), h=%h, w=%w, name=%name), %k) => {
      ref_write(%h, ref_read(%h) + %w);
      ref_write(%c, %k);
      (ref_read(%h), @rename(%name))
    }
  }
}
def @loop(%n: Net, %k: int32) -> float32 {
  if (%k == 0) { ref_read(%n.h) } else { @step(%n, 1f); @loop(%n, %k - 1) }
}
def @peek() {
  match (@a) { Net(in=Pair(%c, %d), h=_, w=_, name=_) => ref_read(%c) + %d }
}
def @h() { (@loop(@nets.0, 3), @loop(@b, 2)) }
CODE
        [['f!', '1f'], ['g!'], ['peek'], ['h!'], ['f!', '4f'], ['g!'],
         ['peek']]);

# --- Entries ----------------------------------------------------------------

sub written {
  my ($program, $flags, $expected, $name) = @_;
  my $run = rly('fmt', @$flags, spew($path, $program));
  like($run->{out}, $expected, $name) or diag($run->{err});
  return $run->{out};
}

my $form = written($counter, [qw(--functional --entry @twice --entry peek)],
                   qr/^def \@twice\(.*\{ \(%x \* 2, %state/m,
                   'an entry gives the state in any case');
like($form, qr/^def \@peek\(%state: int32\) \{ \(%state, %state\) \}/m,
     'a second one');
written($form, ['--stateful', '--entry', 'peek'],
        qr/^def \@next\(.*^def \@peek\(\) \{\n  let %r = \@peek_pure/ms,
        'only the entry has a cell');
{
  spew($path, 'let @n = ref(3); '
       . 'def @step(%x: int32) -> int32 { %x + ref_read(@n) }');
  my $bytes = pack 'l<*', 4, -9;
  my $cells = rly({in => $bytes}, 'stream', $path, '--output', '-');
  is($cells->{out}, pack('l<*', 7, -6), 'a step that reads')
    or diag($cells->{err});
  my $made_of = rly('fmt', '--functional', '--entry', 'step', $path);
  my $run = rly({in => $bytes}, 'stream', spew($made, $made_of->{out}),
             '--init', 'init', '--output', '-');
  is($run->{out}, $cells->{out}, 'an entry can be fed from a pipe')
    or diag($made_of->{err}, $run->{err});
}
for my $flag ('--functional', '--stateful') {
  gives(rly('fmt', $flag, '--entry', 'who', spew($path, "$counter\ndef "
            . '@init() { 1 } def @f(%s: int32) { (1, %s) }')), 1, '',
        qr/error\[E0102\]: there is no function `\@who` in .*p\.rly/,
        "$flag: no such entry");
}
gives(rly('fmt', '--stateful', '--entry', 'g', spew($path, 'def @init() { 1 } '
          . 'def @f(%s: int32) { (1, %s) } def @g(%x: int32) { %x }')), 1, '',
      qr/p\.rly:1:53: error\[E0508\]: `\@g` is no function `\(inputs, S\) -> /,
      'an entry that does not fit');
gives(rly('fmt', '--relay', '--entry', 'f', $path), 1, '',
      qr/E0506.*--entry goes with --functional or --stateful/,
      'no pass takes it');

# An LSTM of the library, in chunks; `relay` gives the weights as parameters.
{
  my $ones = 'ones(shape=[8, 1], dtype="float32"), '
    . 'ones(shape=[8, 2], dtype="float32")';
  runs_as('a stateful LSTM', slurp('docs/tutorial/lstm.rly'),
          [['predict!', '[[[0.3f]], [[-2f]]]'], ['predict!', '[[[0.7f]]]'],
           ['reset!'], ['predict!', '[[[0.3f]], [[-2f]], [[0.7f]]]']],
          {predict => $ones});
}

# --- The way back -----------------------------------------------------------

# A module of functions is driven with the state; as a module of cells, in a
# session; and once more with the state, after that was made of the cells.
sub goes_back {
  my ($name, $module, @calls) = @_;
  my $driven = sub {
    my ($s, $text) = (0, "let %s0 = \@init();\n");
    for my $call (@calls) {
      $s++;
      my $with = $call =~ s/\)$/, %s@{[$s - 1]})/r =~ s/\(, /(/r;
      $text .= "let %r$s = \@$with;\n%r$s.0;\nlet %s$s = %r$s.1;\n";
    }
    return $text;
  };
  my $want = rly('run', spew($path, $module, $driven->()));
  is($want->{status}, 0, "$name: as functions") or diag($want->{err});
  my $cells = rly('fmt', '--stateful', spew($path, $module));
  my $got = rly('run', spew($made, $cells->{out}, map { "\@$_;\n" } @calls));
  is($got->{out}, $want->{out}, "$name: --stateful")
    or diag($cells->{err}, $got->{err});
  my $again = rly('fmt', '--functional', spew($path, $cells->{out}));
  $got = rly('run', spew($made, $again->{out}, $driven->()));
  is($got->{out}, $want->{out}, "$name: --functional of it")
    or diag($again->{err}, $got->{err});
}

my $sums = <<'END';
def @init() { 1 }
// the sum
def @add(%r: int32, %s: int32) -> (int32, int32) { (%s, %s + %r) }
def @twice(%x: int32, %s: int32) { @add(%x, @add(%x, %s).1) }
END
my $run = rly('fmt', '--stateful', spew($path, $sums));
is($run->{out}, <<'END', 'entries, a cell, comments') or diag($run->{err});
def @init_pure() { 1 }

// the sum
def @add_pure(%r: int32, %s: int32) -> (int32, int32) { (%s, %s + %r) }

def @twice_pure(%x: int32, %s: int32) { @add_pure(%x, @add_pure(%x, %s).1) }

let @state: ref(int32) = ref(@init_pure());

def @add(%r: int32) -> int32 {
  let %value_and_state = @add_pure(%r, ref_read(@state));
  ref_write(@state, %value_and_state.1);
  %value_and_state.0
}

def @twice(%x: int32) {
  let %r = @twice_pure(%x, ref_read(@state));
  ref_write(@state, %r.1);
  %r.0
}
END
goes_back('sums', $sums, 'add(3)', 'twice(4)', 'add(-1)');
goes_back('a record', <<'END', 'add(3)', 'next()', 'each(Cons(1, Nil))');
type M { M(sum: int32, peak: int32) }
def @init() -> M { M(0, -5) }
def @add(%x: int32, %s: M) -> (int32, M) {
  (%s.peak, {%s with sum = %s.sum + %x, peak = maximum(%s.peak, %x)})
}
def @next(%s: M) -> (int32, M) { @add(%s.sum, %s) }
def @each(%l: List[int32], %s: M) -> (int32, M) {
  match (%l) {
    Nil => (%s.peak, %s),
    Cons(%x, %l) => { let %r = @add(%x, %s); @each(%l, %r.1) }
  }
}
END
goes_back('rows', <<'END', 'push([[1f, 2f]])', 'push([[0.5f, 1f], [4f, 7f]])');
type State = (Tensor[(?, 2), float32], int32);
def @init() { (zeros(shape=[0, 2], dtype="float32"), 1) }
def @push[n: Dim](%x: Tensor[(n, 2), float32], %s: State)
    -> (Tensor[(2), float32], State) {
  let %all = concatenate((%s.0, %x), axis=0);
  (sum(%all, axis=[0]) * cast(%s.1, dtype="float32"), (%all, %s.1 + n))
}
END
goes_back('a filter of the last inputs', <<'END', 'step(3f)', 'step(6f)',
type Taps { Taps(a: float32, b: float32) }
def @init() { Taps(0f, 0f) }
def @step(%x: float32, %t: Taps) {
  ((%t.a + %t.b + %x) / 3f, Taps(%x, %t.a))
}
def @many(%xs: List[float32], %t: Taps) -> (List[float32], Taps) {
  match (%xs) {
    Nil => (Nil, %t),
    Cons(%x, %rest) => {
      let %y = @step(%x, %t);
      let %ys = @many(%rest, %y.1);
      (Cons(%y.0, %ys.0), %ys.1)
    }
  }
}
END
          'many(List[9f, 0f])', 'step(1f)');
goes_back('layers of an LSTM', <<'END', 'step([[1f, -2f]])', 'step([[0f, 3f]])',
type Cell { Cell(Tensor[(1, 2), float32], Tensor[(1, 2), float32]) }
def @weight() { reshape(sin(arange(0f, 16f, 1f)), newshape=[8, 2]) }
def @init() -> List[Cell] {
  let %z = zeros(shape=[1, 2], dtype="float32");
  List[Cell(%z, %z), Cell(%z + 1f, %z)]
}
def @step(%x: Tensor[(1, 2), float32], %l: List[Cell])
    -> (Tensor[(1, 2), float32], List[Cell]) {
  match (%l) {
    Nil => (%x, Nil),
    Cons(Cell(%h, %c), %rest) => {
      let %b = zeros(shape=[8], dtype="float32");
      let %r = @lstm_cell(%x, %h, %c, @weight(), @weight(), %b, %b);
      let %s = @step(%r.0, %rest);
      (%s.0, Cons(Cell(%r.0, %r.1), %s.1))
    }
  }
}
def @reset(%l: List[Cell]) -> ((), List[Cell]) { ((), @init()) }
END
          'reset()', 'step([[1f, -2f]])');
goes_back('a ring buffer', <<'END', map({ "push($_)" } 1 .. 5), 'sum()',
type Ring { Ring(Tensor[(3), int32], int32) }
def @init() { Ring(zeros(shape=[3], dtype="int32"), 0) }
def @push(%x: int32, %r: Ring) -> (Option[int32], Ring) {
  match (%r) {
    Ring(%slots, %n) => {
      let %at = %n - %n / 3 * 3;
      let %old = take(%slots, %at);
      let %new = where(arange(3) == %at, %x, %slots);
      (if (%n < 3) { None } else { Some(%old) }, Ring(%new, %n + 1))
    }
  }
}
def @sum(%r: Ring) { match (%r) { Ring(%slots, _) => (sum(%slots), %r) } }
END
          'push(7)');
goes_back('a tree', <<'END', 'insert(3)', 'insert(1)', 'insert(2)', 'rank(3)',
type Set { Leaf, Node(Set, int32, Set) }
def @init() -> Set { Leaf }
def @insert(%x: int32, %s: Set) -> (bool, Set) {
  match (%s) {
    Leaf => (True, Node(Leaf, %x, Leaf)),
    Node(%l, %y, %r) =>
      if (%x == %y) { (False, %s) }
      else if (%x < %y) {
        let %i = @insert(%x, %l);
        (%i.0, Node(%i.1, %y, %r))
      } else {
        let %i = @insert(%x, %r);
        (%i.0, Node(%l, %y, %i.1))
      },
  }
}
def @size(%s: Set) -> int32 {
  match (%s) { Leaf => 0, Node(%l, _, %r) => @size(%l) + 1 + @size(%r) }
}
def @rank(%x: int32, %s: Set) -> (int32, Set) {
  match (%s) {
    Leaf => (0, %s),
    Node(%l, %y, %r) =>
      if (%x <= %y) { let %k = @rank(%x, %l); (%k.0, %s) }
      else { let %k = @rank(%x, %r); (@size(%l) + 1 + %k.0, %s) },
  }
}
END
          'insert(2)', 'rank(9)');
goes_back('a function in the state', <<'END', 'call(2)', 'twice()', 'call(3)');
type S { S(fn(int32) -> int32, int32) }
def @init() -> S { S(fn (%x: int32) -> int32 { %x + 1 }, 0) }
def @call(%x: int32, %s: S) -> (int32, S) {
  match (%s) { S(%f, %n) => (%f(%x) + %n, S(%f, %n + 1)) }
}
def @twice(%s: S) -> (int32, S) {
  match (%s) {
    S(%f, %n) => (%n, S(fn (%x: int32) -> int32 { %f(%f(%x)) }, %n))
  }
}
END
gives(rly('fmt', '--stateful', spew($path, 'def @f(%s: int32) { (1, %s) }')), 1,
      '', qr/p\.rly:1:1: error\[E0508\]: .* a function `\@init\(\) -> S`/,
      'nothing gives a state');
gives(rly('fmt', '--stateful', spew($path, "def \@init() { 1 }\n"
          . 'def @f(%s: bool) { (1, %s) }')), 1, '',
      qr/p\.rly:1:5: error\[E0508\]: no function `\(inputs, S\) -> /,
      'nothing takes it');

# --- Examples ---------------------------------------------------------------

sub functional {
  my ($file) = @_;
  my $run = rly('fmt', '--pass', 'functional', $file);
  is($run->{status}, 0, $file) or diag($run->{err});
  return $run->{out};
}

my @weights = ('--params', 'examples/charlm/charlm.safetensors');
my $how = {in => 'This program is free software: you can'};
my $stream = 'examples/charlm/stream.rly';
my $want = rly($how, 'stream', $stream, @weights, '--output', '-');
my $got = rly($how, 'stream', spew($made, functional($stream)), '--init',
              'init', @weights, '--output', '-');
is($got->{out}, $want->{out}, 'the character LSTM says the same');
is(length $got->{out}, length $how->{in}, 'to each character');

@weights = map { ('--params', "examples/transducer/$_.safetensors") }
  qw(transducer long);
my $transducer = 'examples/transducer/transducer.rly';
$want = rly('run', $transducer, @weights);
spew($made, functional($transducer), 'let %r = (@main(@init())).0;',
     '%r.0; %r.1; %r.2;');
$got = rly('run', $made, @weights);
is($got->{out}, $want->{out}, 'the transducer hears the same');
like($got->{out}, qr/^Cons.*\nTrue\n\z/s, 'which is something');
for my $example (qw(charlm/law machine/machine transformer/transformer)) {
  my $file = "examples/$example.rly";
  my @params = map { ('--params', $_) }
    glob($file =~ s{[^/]*$}{*.safetensors}r);
  my $as_cells = rly('run', $file, @params);
  spew($made, functional($file), 'let %r = @main(@init()); %r.0;');
  my $as_functions = rly('run', $made, @params);
  is($as_functions->{out}, $as_cells->{out}, "$file prints the same")
    or diag($as_functions->{err});
  like($as_cells->{out}, qr/\w/, 'which is something');
}
is(rly('fmt', '--functional', $_)->{status}, 0, "$_ in plain Relay")
  for $stream, $transducer;

# --- Functions of the state that are values -----------------------------------

# Which of them is called only the run knows, so they become data first.  The
# value of the last expression is a number, which the session prints as well.
sub as_data {
  my ($name, $text) = @_;
  my $want = rly('run', spew($path, $text));
  my $run = rly('fmt', '--functional', $path);
  is($run->{status}, 0, $name) or return diag($run->{err});
  like($run->{out}, qr/^type Fn /m, "$name: data");
  my $got = rly('run', spew($made, $run->{out}, '(@main(@init())).0;'));
  my ($last) = $want->{out} =~ /(-?\d+)\n\z/;
  like($got->{out}, qr/(?<![\d-])\Q$last\E\)?\n\z/, "$name: the same")
      or diag($got->{err});
}
my $down = "${counter}def \@down(%by: int32) -> int32 { \@next(-%by * 3) }\n";
as_data('a function that is chosen', $down . <<'END');
def @f(%x: bool, %n: int32) {
  let %g = if (%x) { @next } else { @down };
  %g(%n)
}
100 * @f(True, 5) + 10 * @f(False, 1) + @peek();
END
as_data('functions in a list', $down . <<'END');
def @all(%n: int32) {
  @foldl(fn (%a: int32, %g: fn(int32) -> int32) { 10 * %a + %g(%n) }, 0,
         List[@next, @down, @next, fn (%x) { %x * %n + @peek() }])
}
@all(2) + @all(1);
END
as_data('a function in a cell', $down . <<'END');
def @f() { let %g = ref(@next); let %a = (ref_read(%g))(1);
           ref_write(%g, @down); %a * 100 + (ref_read(%g))(2) }
@f();
END
as_data('a function that goes round in a loop', $down . <<'END');
def @other(%k: int32) { if (mod(%k, 3) == 0) { @next } else { @down } }
def @turn(%g: fn(int32) -> int32, %k: int32) -> int32 {
  if (%k == 0) { %g(1) } else { @turn(@other(%g(%k)), %k - 1) }
}
@turn(@next, 7);
END
as_data('beside cells in data', $down . <<'END');
let @cells = List[ref(1), ref(2)];
def @bump(%c: Ref[int32], %by: int32) { ref_write(%c, ref_read(%c) * 2 + %by) }
def @f(%x: bool) {
  let %g = if (%x) { @next } else { @down };
  @bump(@nth(@cells, 1), %g(4));
  ref_read(@nth(@cells, 1)) * 10 + ref_read(@nth(@cells, 0))
}
@f(True) + @f(False);
END

# --- Functions in fields ---------------------------------------------------

runs_as('functions of the state in fields', <<'CODE', [
let @n = ref(1);
type Layer {
  Layer(run: fn(int32) -> int32, scale: int32, more: Option[fn(int32) -> int32])
}
type Net { End, Net(Layer, Net) }
def @tick(%x: int32) -> int32 {
  ref_write(@n, ref_read(@n) + %x);
  ref_read(@n)
}
def @twice(%x: int32) -> int32 { %x * 2 }
def @make(%k: int32) -> Layer {
  Layer(fn (%x) { @tick(%x) + %k }, %k, Some(@twice))
}
def @step(%l: Layer, %x: int32) -> int32 {
  let %y = %l.run(%x) * %l.scale;
  match (%l.more) { Some(%f) => %f(%y), None => %y }
}
def @all(%net: Net, %x: int32) -> int32 {
  match (%net) { End => %x, Net(%l, %r) => @all(%r, @step(%l, %x)) }
}
let @net = Net(@make(3), Net(Layer(@twice, 1, None),
                             Net(Layer(@tick, 2, Some(@tick)), End)));
def @go(%x: int32) -> int32 { @all(@net, %x) }
def @changed(%x: int32) -> int32 {
  match (@net) { Net(%l, _) => @step({%l with run = @tick}, %x), End => 0 }
}
CODE
        ['go!', 1], ['changed!', 2], ['go!', 5]]);

# --- What is refused --------------------------------------------------------

my $as_value = 'a function that uses the state, as a value';
refused("$counter\ndef \@f() { (\@next, 1) }", '9:13', $as_value,
        'a function in a tuple');
refused("$counter\ndef \@f() { \@next }", '9:12', $as_value,
        'a function as a result');
refused("$counter\ndef \@f(%g: fn(fn(int32) -> int32) -> int32) { "
        . '%g(@next) }', '9:50', $as_value, 'an argument of who knows what');
refused("$counter\ntype Act { Act(fn(int32) -> int32) }\n"
        . 'def @main() { Act(@next) }', '10:19', $as_value,
        'a function in a field that a host sees');
refused("let \@a = ref(0);\ndef \@for_from(%x: int32) { %x }\n"
        . 'def @f() { @for(3, fn (%i, %s: int32) { ref_write(@a, %i); %s }, 0) '
        . '}', '3:20', $as_value, 'the library, where its names mean others');
refused("let \@l = List[ref(0)];\n"
        . 'def @main[A](%c: Ref[A]) -> A { ref_read(%c) }',
        '2:33', 'a cell whose content is of any type, among cells that are '
        . 'kept in data', 'a function of any type that a host calls');
refused("let \@l = List[ref(0)];\n" . 'def @main() { (@hd(@l), 1) }', '2:5',
        'a function for a host that gives a cell', 'a cell for a host');
refused("let \@l = List[ref(0)];\n\@length(\@l);\n\@l;", '3:1',
        'an expression whose value has a cell in it, which is printed',
        'a cell that is printed');
refused("let \@l = List[ref(0)];\ndef \@store_add(%x: int32) { %x }", '2:1',
        'cells in data beside a definition of a name that a store of them has',
        'names of the library');
refused("def \@make() { let %c = ref(0); fn () { ref_read(%c) } }\n"
        . "let \@f = \@make();", '2:5', 'a function that may hold a cell',
        'a cell in a closure');
refused("let \@a = ref(0);\n"
        . 'def @f(%x: int32) { %0 = 1 / %x; if (%x > 0) { ref_write(@a, %0) } '
        . 'else if (%x < 0) { ref_write(@a, -%0) } else { () } }', '2:21',
        'a graph variable in a function that changes the state',
        'a graph variable that may fail');
refused($counter . 'def @f() { match (1) { %x if @next(1) > 0 => 1, _ => 2 } }',
        '8:30', 'a guard that changes the state', 'a guard that writes');
refused($counter . 'def @f() { [@next(1), 2] }', '8:13',
        'an element in brackets that changes the state', 'a bracket');
refused("let \@a = ref(0);\nref_read(\@a);\nlet \@b = ref(0);", '3:5',
        'a global value after an expression', 'a cell after an expression');
refused("let \@a = ref(0);\ndef \@init() { 1 }", '2:5',
        'a function called `@init`, which gives the first state', '@init');
refused("let \@a = ref(0);\ndef \@main() { 1 }\n2;", '3:1',
        'an expression at top level besides `@main`', 'two mains');
refused(<<'END', '4:14',
type Never { Never(Never) }
let @a = ref(0);
def @f() -> int32 { ref_write(@a, 1); 2 }
let @b = ref(@f());
let @n: Ref[fn(int32) -> Never] = ref(fn (%x: int32) -> Never { @loop() });
def @loop() -> Never { @loop() }
END
        'a first value that uses the state before `@n` is there, of whose type '
        . 'a value is needed', 'a call before a value of no known value');
gives(rly('fmt', '--functional', spew($path, "let \@a = ref(0);\n"
          . 'def @f() { print(1); ref_read(@a) }')), 1, '',
      qr/<functional>:\d+:\d+: error\[E0508\]: plain Relay .* operator `print`/,
      'what plain Relay cannot express');
gives(rly('fmt', '--functional', spew($path, 'def @f() { 1 + 2f }')), 1, '',
      qr/error\[E02/, 'a program that does not check');

# --- Hostile text -----------------------------------------------------------

my $cell = "let \@c = ref(0);\ndef \@n() -> int32 "
  . "{ ref_write(\@c, ref_read(\@c) + 1); ref_read(\@c) }\n"
  . "def \@id(%x: int32) -> int32 { ref_write(\@c, %x); %x }\n";
my $n = 20000;
my %deep = (
  calls => 'def @f() -> int32 { ' . '@id(' x $n . '1' . ')' x $n . ' }',
  sum => 'def @f() -> int32 { ' . '@n() + ' x $n . '1 }',
  ifs => 'def @f() -> int32 { ' . 'if (@n() > 0) { ' x $n . '1'
    . ' } else { 2 }' x $n . ' }',
  blocks => 'def @f() -> int32 { ' . '{ @n(); ' x $n . '1' . ' }' x $n . ' }',
  lets => 'def @f() -> int32 { ' . 'let %x = @n(); ' x $n . '%x }',
  functions => 'def @f() -> int32 { ' . 'let %g = fn () -> int32 { ' x $n
    . '@n()' . ' }; %g()' x $n . ' }',
  chain => join('', map { my $j = $_ + 1; "def \@f$_() -> int32 { \@f$j() }\n" }
                    1 .. $n) . 'def @f' . ($n + 1) . '() -> int32 { @n() }',
);
for my $name (sort keys %deep) {
  my $run = rly('fmt', '--pass', 'functional', '--max-memory', '2G',
                spew($path, $cell, $deep{$name}));
  is($run->{status}, 0, "$name, $n deep") or diag($run->{err});
  my $little = rly('fmt', '--pass', 'functional', '--max-memory', '16M', $path);
  like($little->{status}, qr/^[013]$/, "$name, in little memory");
}
my $cells = join '', map { "let \@c$_ = ref($_);\n" } 1 .. 3000;
my $writes = join '', map { "ref_write(\@c$_, 1); " } 1 .. 3000;
$run = rly('fmt', '--functional',
           spew($path, $cells, "def \@f() { $writes }"));
is($run->{status}, 0, 'thousands of cells') or diag($run->{err});

done_testing;
