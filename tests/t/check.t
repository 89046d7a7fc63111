#!/usr/bin/env perl
# rly check --static: is every shape known before the program runs, and if not,
# where does the unknown come from and what does it reach?
#
# Both halves matter.  A report that a shape is unknown helps only with the
# place where the unknown was born, often functions away, so the notes are
# compared with their lines and not only the message.  What is said of known
# shapes is nothing at all, and that is tested just as much: a warning that a
# person learns to ignore would be worse than none.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $path = scratch('p.rly');

# A message as [line, text], with its notes as more of them.
sub messages {
  my $run = rly('check', '--static', '--json', spew($path, @_));
  return map {
    my $d = JSON::PP::decode_json($_);
    [map { [$_->{line}, $_->{message}] } $d, @{$d->{notes}}]
  } grep { /"code": "E0306"/ } split /\n/, $run->{out};
}

sub static {
  my ($program, $name) = @_;
  gives(rly('check', '--static', spew($path, $program)), 0, '', '', $name);
}

# Each expected message: its line and text, then those of its notes.
sub unknown {
  my ($program, $name, @expected) = @_;
  is_deeply([messages($program)], \@expected, $name);
  is(rly('check', '--static', $path)->{status}, 1, "$name: refused");
}

# --- What is known ----------------------------------------------------------

static('def @f(%x: Tensor[(2, 3), float32]) { sum(%x + 1f, axis=[0]) }',
       'numbers are known');
static('def @f[n: Dim](%x: Tensor[(n, 4), float32]) {
          reshape(%x, newshape=[-1]) }', 'named dimensions are known');
static('def @f(%l: List[Tensor[(3), float32]]) {
          @map(fn (%t: Tensor[(3), float32]) { %t * %t }, %l) }',
       'the library works at the shapes that it is given');
static("def \@f[n: Dim](%x: Tensor[(n), int32]) { arange(n) + %x }\n",
       'a name used as a value is still a name');

# --- Values that shapes depend on ---------------------------------------------

# What a definition gives, by what it is called with and its body.
sub gives_shape {
  my ($params, $body, $shape, $name) = @_;
  spew($path, "def \@f$params { $body }\n");
  my $run = rly('check', '--types', $path);
  is($run->{out} =~ /-> (Tensor\[.*?\)), \w+\]$/m ? $1 : $run->{err},
     "Tensor[$shape", $name);
}

my $x = '(%x: Tensor[(4), float32])';
my $y = '(%x: Tensor[(4), float32], %y: Tensor[(2, 2), float32])';
my $n = '[n: Dim](%x: Tensor[(n, 6), float32])';
my $c = '(%x: Tensor[(4), float32], %c: bool)';

static("def \@f$y { let %k = [2, 2]; reshape(%x, newshape=%k) }
def \@g$y { %0 = shape_of(%y); dyn.reshape(%x, %0) }",
       'the shapes of a let and of shape_of are known');
gives_shape($x, 'reshape(%x, newshape=[7 - 5, -1])', '(2, 2)', 'arithmetic');
gives_shape($y, 'reshape(%x, newshape=[take(shape_of(%y), 0), -1])', '(2, 2)',
            'one length of a shape');
gives_shape($n, 'let %k = shape_of(%x);
  reshape(%x, newshape=concatenate((%k, [-1])))', '(n, 6, 1)',
            'names in a shape stay names');
gives_shape($n, 'let %t = (n * 2, -1); reshape(%x, newshape=[%t.0, %t.1])',
            '(n * 2, 3)', 'fields of a tuple, with names');
gives_shape($x, 'reshape(%x, newshape=strided_slice([1, 2, 3, 2], begin=[-1],
  end=[-9], strides=[-2]))', '(2, 2)', 'a slice that goes down');
gives_shape($n, 'zeros(shape=strided_slice(shape_of(%x), begin=[0], end=[1]),
  dtype="int8")', '(n)', 'a slice of a shape');
gives_shape($x, 'broadcast_to(1f, shape=2i64 * cast(shape_of(%x),
  dtype="int64"))', '(8)', 'other integers');
gives_shape($x, 'arange(0, ndarray_size(%x) / 2, 1)', '(2)', 'a length');
gives_shape($x, 'nn.pad(%x, pad_width=[[take(shape_of(%x), 0), 1]])', '(9)',
            'a list of lists');
gives_shape('(%x: Tensor[(2, 3), float32])',
            'let %k = True; sum(%x, axis=[0], keepdims=%k)', '(1, 3)',
            'what decides a rank');
for (['[0, -3]', '(2, 12)'], ['[-4, 1, -1, -2]', '(1, 2, 3, 4)'],
     ['[-1, 4]', '(6, 4)'], ['[-2]', '(2, 3, 4)']) {
  my ($codes, $shape) = @$_;
  gives_shape('(%x: Tensor[(2, 3, 4), float32])', "let %k = $codes; $_",
              $shape, "the codes $codes: $_")
    for 'reshape(%x, newshape=%k)', 'dyn.reshape(%x, %k)';
}
gives_shape($c, 'reshape(%x, newshape=if (%c) { [2, 2] } else { [2, -1] })',
            '(2, ?)', 'what branches agree in');

# Calls are followed, decided branches too, and a recursion that ends soon.
spew($path, "def \@half(%n: int32) -> int32 { %n / 2 }
def \@pow(%n: int32, %k: int32) -> int32 {
  if (%n == 0) { %k } else { \@pow(%n - 1, %k * 2) } }
let \@two = [2, 2];
def \@a$x { reshape(%x, newshape=[\@half(take(shape_of(%x), 0)), -1]) }
def \@b$x { reshape(%x, newshape=[\@pow(1, 1), -1]) }
def \@c$x { let %f = fn (%k) { take(\@two, %k) };
  reshape(%x, newshape=[%f(0), -1]) }
def \@d$x { reshape(%x, newshape=\@two) }
");
gives(rly('check', '--static', $path), 0, '', '', 'calls are followed');

# Two functions of one text, of two calls: %g means the %n of its own call.
gives_shape($x, 'let %outer = fn (%n: int32, %f: fn () -> int32) -> int32 {
    let %g = fn () { %n };
    if (%n == 0) { %f() } else { %outer(%n - 1, %g) }
  };
  reshape(%x, newshape=[%outer(2, fn () { 7 }), -1])', '(?, ?)',
            'a function that is handed on is not guessed at');

# Nothing is known of what the run decides, or would compute otherwise.
for (['@p', 'a param'], ['2147483647 + 3', 'a sum that wraps around'],
     ['cast(cast(260, dtype="uint8"), dtype="int32")', 'a narrow integer'],
     ['4 / 0', 'a division by zero'],
     ['{ let %r = ref(2); ref_write(%r, 4); ref_read(%r) }', 'a cell'],
     ['take([2, 4], 9, mode="fast")', 'an index that is out of range'],
     ['@more(2)', 'a recursion without an end']) {
  my ($value, $name) = @$_;
  spew($path, "param \@p: int32 = 2;
def \@more(%n: int32) -> int32 { \@more(%n + 1) }
def \@f$x { reshape(%x, newshape=[$value, -1]) }\n");
  like(rly('check', '--types', $path)->{out}, qr/\Q[(?, ?), float32]\E$/m,
       "$name is not known");
}

# A wrong value is an error before the run, with its numbers.
like(rly('check', spew($path, "def \@f$x { let %k = [3, 2];
  reshape(%x, newshape=%k) }\n"))->{err},
     qr/E0209.*data \(4\) does not have as many elements as \(3, 2\)/,
     'a wrong value is refused');

# Long chains, deep nests, many questions: bounded, and no stack of C's.
my $lets = join '', map { my $p = $_ - 1;
  "let %a$_ = (%a$p.0 + %a$p.1 - 4, %a$p.1 * 1 + %a$p.0 - 4);\n" } 1 .. 200;
for (["let %a0 = (4, 4);\n${lets}reshape(%x, newshape=[%a200.0, -1])",
      'values that double'],
     ['reshape(%x, newshape=[' . '1 + ' x 20000 . '3, -1])', 'a long sum'],
     ['reshape(%x, newshape=[' . '(' x 500 . '3, 4)' . ', 3)' x 499 .
      '.0' x 500 . ', -1])', 'nested tuples'],
     ["let %a0 = 4;\n" . join('', map { "let %a$_ = %a" . ($_ - 1) .
        "; reshape(%x, newshape=[%a$_, -1]);\n" } 1 .. 5000) . '%x',
      'a chain of names']) {
  my ($body, $name) = @$_;
  is(rly('check', spew($path, "def \@f$x { $body }\n"))->{status}, 0, $name);
}

# --- Diagnostics as JSON, as cli.md lays them down ---------------------------

my $refused = rly('check', '--json', spew($path, 'def @f(%value: int32) {
  %valeu; match (%value) { _ => 1 } + 1
}
def @g() { "a\"b" + @h() }'));
is($refused->{status}, 1, '--json: refused');
is($refused->{err}, '', 'and nothing on stderr');
my @lines = split /\n/, $refused->{out}, -1;
is(pop @lines, '', 'each diagnostic ends its line');
my @found = map { json($_) } @lines;
is_deeply([map { [@$_{qw(severity code line column end_line end_column)}] }
           @found],
          [['error', 'E0101', 2, 3, 2, 9], ['error', 'E0102', 4, 21, 4, 23]],
          'one a line');
is_deeply([sort keys %{$found[0]}],
          [sort qw(severity code file line column end_line end_column message
                   notes hint)], 'with all the keys, and no others');
is($found[0]{file}, $path, 'the file');
is($found[0]{message}, 'the variable `%valeu` is not bound here',
   'the message');
is($found[0]{hint}, 'did you mean `%value`?', 'the hint');
is_deeply($found[0]{notes}, [], 'the notes');

my $sorted = rly('check', '--json',
                 spew($path, "def \@f() { 1 + 2f }\ndef \@g() { \@h() }"));
is_deeply([map { json($_)->{line} } split /\n/, $sorted->{out}], [1, 2],
          'in the order of their places, as text: names are looked up first');

my $note = json(rly('check', '--json',
                    spew($path, "def \@f() { 1 }\ndef \@f() { 2 }"))->{out});
is_deeply($note->{notes}, [{file => $path, line => 1, column => 5,
                            message => 'first defined here'}],
          'a note has its place');

my $typed = rly('check', '--json', spew($path, 'def @f(%x: int32) { 1 / %x }
let %y = 2f;'));
is($typed->{status}, 0, 'what is right');
is_deeply(json($typed->{out}),
          {definitions => [{name => '@f', type => 'fn (int32) -> int32',
                            effects => 'may fail'},
                           {name => '%y', type => 'float32',
                            effects => 'pure'}]},
          'ends with its definitions');

my $json = rly('check', '--static', '--json',
               spew($path, 'def @f(%x: int32) { %x }'));
is($json->{status}, 0, 'with --json, a static program is accepted');
like($json->{out}, qr/^\{"definitions": \[\{"name": "\@f"/,
     'and its definitions come as ever');

# --- Where the unknown comes from -------------------------------------------

unknown('def @pick(%n: int32) {
  let %i = arange(%n);
  let %y = cast(%i, dtype="float32");
  %y * 2f
}
def @use(%n: int32) {
  let %z = @pick(%n);
  sum(%z)
}', 'an operator, and the chain from it',
  [[2, 'the shape that `arange` gives depends on a value'],
   [2, 'so `%i` is Tensor[(?), int32]'],
   [3, 'so `%y` is Tensor[(?), float32]'],
   [1, 'so the result of `@pick` is Tensor[(?), float32]'],
   [7, 'so `%z` is Tensor[(?), float32]']]);

unknown('def @f(%x: Tensor[(3), float32]) { (argwhere(%x), exp(%x)) }',
  'an operator whose result depends on its data',
  [[1, 'the shape that `argwhere` gives depends on a value'],
   [1, 'so the result of `@f` is '
       . '(Tensor[(?, 1), int32], Tensor[(3), float32])']]);

unknown('def @f(%x: Tensor[(?), float32], %s: Tensor[(2), int32]) {
  sum(reshape(%x, newshape=%s))
}', 'an attribute that is a value, besides an operand that is not known',
  [[1, '`%x` is declared with `?`']],
  [[2, 'the shape that `reshape` gives depends on a value']]);

unknown('def @f(%x: Tensor[(?, 4), float32]) {
  let %k = nn.relu(%x);
  sum(%k)
}', 'a parameter',
  [[1, '`%x` is declared with `?`'],
   [2, 'so `%k` is Tensor[(?, 4), float32]']]);

unknown('param @w: Tensor[(?), float32];
def @f() { @w + 1f }', 'a param of the program',
  [[1, '`@w` is declared with `?`'],
   [2, 'so the result of `@f` is Tensor[(?), float32]']]);

unknown('def @f(%x: Tensor[(3), float32]) -> Tensor[(?), float32] { %x }',
  'a result that is declared wider than it is',
  [[1, 'the result is declared with `?`']]);

unknown('def @f(%x: Tensor[(3), float32]) {
  let %y: Tensor[(?), float32] = %x;
  %y
}', 'an annotation that is wider than the value',
  [[2, '`%y` is declared with `?`'],
   [1, 'so the result of `@f` is Tensor[(?), float32]']]);

unknown('type Box { Box(Tensor[(?), float32]) }
def @f(%b: Box) { match (%b) { Box(%t) => sum(%t) } }',
  'a field of a constructor',
  [[2, 'the field `%t` is declared with `?`']]);

unknown('def @f[n: Dim, m: Dim](%c: bool, %x: Tensor[(n), int32],
  %y: Tensor[(m), int32]) { sum(if (%c) { %x } else { %y }) }',
  'branches of different names',
  [[2, 'the branches differ in a dimension']]);

unknown('def @f(%n: int32) { match (arange(%n)) { %v => %v * 2 } }
@f(3);', 'through a match and a call',
  [[1, 'the shape that `arange` gives depends on a value'],
   [1, 'so `%v` is Tensor[(?), int32]'],
   [1, 'so the result of `@f` is Tensor[(?), int32]']]);

unknown('def @f[n: Dim](%x: Tensor[(n), float32]) { %x * 2f }
def @g(%y: Tensor[(?), float32]) { @f(%y) }',
  'a name that a call does not know',
  [[2, '`%y` is declared with `?`'],
   [2, 'so the result of `@g` is Tensor[(?), float32]']]);

static('def @f[n: Dim](%x: Tensor[(n), float32]) {
          concatenate((%x, %x), axis=0) }
def @g[m: Dim](%y: Tensor[(m, 3), float32]) {
  @f(reshape(%y, newshape=[m * 3])) }', 'names of names are known');

# --- Places -----------------------------------------------------------------

# A derivative's parameter has the type of its operator's, which is elsewhere.
gives(rly('-e', 'op @f(%x: float32, %w: float32) -> float32 = { %x };
gradient @f(%a, %a) -> (%y, %g) { (%a, %g) }
@f(1f, 2f);'), 0, "1f\n",
      qr/^ +\| {13}--  \^\^\n +\| {13}the first one is here$/m,
      'of two parameters of one name both are marked, and no more');

# --- Several files ----------------------------------------------------------

# Each file is a program of its own: it does not see the other's names.
my $one = spew(scratch('one.rly'), "def \@id(%a: int32) { %a + 1 }\n");
my $two = spew(scratch('two.rly'), "def \@f() { \@id(1f) }\n");
my $bad = spew(scratch('bad.rly'), "def \@f() { \@none }\n");
gives(rly('check', '--types', $one, $two), 0,
      "\@id : fn (int32) -> int32\n\@f : fn () -> float32\n", '',
      'files are checked by themselves');
gives(rly('check', '--types', $bad, $one), 1, "\@id : fn (int32) -> int32\n",
      qr/bad\.rly:1:12: error\[E0102\]/, 'and all of them');

done_testing;
