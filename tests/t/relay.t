#!/usr/bin/env perl
# rly fmt --relay: each extension written out in what TVM's parser reads, or
# named with its place; plain programs stay what they are.
#
# TVM is not there where the tests run, hence a parser as strict as its own
# (Relay.pm), which every text that is written must pass.  Each is then
# translated once more and must stay as it is: what is plain has nothing left to
# write out, so a second change would be a mistake in one of the two.
use strict;
use warnings;
use lib 'tests/t';
use Relay;
use Rly;
use MIME::Base64;
use Test::More;

my $header = "#[version = \"0.0.5\"]\n";
my $path = scratch('p.rly');
my $plain = scratch('plain.rly');

# The result of `rly fmt --relay` for the body of @main, with these parameters.
sub becomes {
  my ($params, $body, $expected, $name) = @_;
  prints("def \@main($params) { $body }", "def \@main($params) { $expected }",
         $name);
}

# The layout is the formatter's, so blanks do not count here.
sub words {
  my $text = join ' ', split ' ', $_[0];
  return $text =~ s/(?<=\() | (?=\))//gr;
}

sub prints {
  my ($program, $expected, $name) = @_;
  my $run = rly('fmt', '--relay', spew($path, $program));
  is(words($run->{out}), words("$header$expected"), $name) or diag($run->{err});
  is(plain_relay($run->{out}), '', "$name: TVM's grammar");
  my $again = rly('fmt', '--relay', spew($plain, $run->{out}));
  is($again->{out}, $run->{out}, "$name: once is enough");
}

sub refused {
  my ($program, $place, $what, $name) = @_;
  gives(rly('fmt', '--relay', spew($path, $program)), 1, '',
        qr/p\.rly:$place: error\[E0508\]: plain Relay cannot express \Q$what\E/,
        $name);
}

# --- Operators and branches -------------------------------------------------

becomes('%a: bool, %b: bool', '%a && %b',
        'if (%a) { %b } else { False }', '&&');
becomes('%a: bool, %b: bool', '%a || !%b',
        'if (%a) { True } else { logical_not(%b) }', '|| and !');
becomes('%x: int32', '-%x*2 - -1', 'negative(%x) * 2 - -1', 'unary minus');
becomes('%x: int32', '%x+1', '%x + 1', 'blanks around operators');
becomes('%a: bool', 'if (%a) { 1 } else if (%a) { 2 } else { 3 }',
        'if (%a) { 1 } else { if (%a) { 2 } else { 3 } }', 'else if');
becomes('%x: Tensor[(2, 3), int32]',
        'if (take(shape_of(%x), 0) == 2) { 1 } else { %x }', '1',
        'an `if` that shapes decide');
becomes('%x: Tensor[(2, 3), int32]',
        '2 * if (take(shape_of(%x), 0) == 2) { 1 + 2 } else { %x }',
        '2 * (1 + 2)', 'one inside of an operator');
prints('def @f[n: Dim](%x: Tensor[(n), int32]) { if (True) { n } else { 2 } }',
       'def @f(%x: Tensor[(?), int32]) { if (True) {
         take(shape_of(%x, dtype="int32"), 0, axis=0) } else { 2 } }',
       'a branch that is a dimension');
becomes('', '1; 2;', '1; 2; ()', 'a semicolon at the end');

# --- Lists ------------------------------------------------------------------

becomes('%x: int32', 'List[1, %x + 1, 3]',
        'Cons(1, Cons(%x + 1, Cons(3, Nil)))', 'a list literal');
becomes('', 'List[List[], List[2f]]', 'Cons(Nil, Cons(Cons(2f, Nil), Nil))',
        'lists of lists');
prints('type T { E, C(int32, T) } def @main() { T[1, 2] }',
       'type T { E, C(int32, T) } def @main() { C(1, C(2, E)) }',
       'a literal of a type of the program');

# --- Literals ---------------------------------------------------------------

becomes('', '(1.0, 1e2, 2f64, 3i64, 4i16)', '(1f, 100f, 2f64, 3i64, 4i16)',
        'numbers have the suffixes of Relay');
becomes('', '(18446744073709551615u64, 9223372036854775807u64)',
        '(cast(-1i64, dtype="uint64"),
  cast(9223372036854775807i64, dtype="uint64"))',
        'a uint64 beyond int64 wraps into place');
becomes('', '9223372036854775808u64',
        'cast(-9223372036854775807i64 - 1i64, dtype="uint64")',
        'and so does the first that is');
becomes('', '(1i8, 2u8, 3u64, 1bf16)', '(cast(1, dtype="int8"),
  cast(2, dtype="uint8"), cast(3, dtype="uint64"), cast(1f, dtype="bfloat16"))',
        'dtypes without a literal are casts');
becomes('', '(inff, inff64, nanf)',
        '(inff, cast(inff, dtype="float64"), inff - inff)', 'infinity, NaN');
becomes('', '-9223372036854775808', '-9223372036854775807i64 - 1i64',
        'the smallest int64');
becomes('', '[[1, 2f], [3, 4]]',
        'stack((stack((1f, 2f), axis=0), stack((3f, 4f), axis=0)), axis=0)',
        'a tensor literal, of one dtype');
becomes('%x: int64', '[%x, 1i64, 2]', 'stack((%x, 1i64, 2i64), axis=0)',
        'a bracket of expressions');
becomes('', '"hi"', 'cast(stack((104, 105), axis=0), dtype="uint8")',
        'a string');
becomes('', '""', 'zeros(shape=[0], dtype="uint8")', 'an empty string');

# --- Where Relay's grammar wants parentheses ----------------------------------

becomes('%t: ((int32, (int32,)), int32)', '%t.0.1.0', '((%t.0).1).0',
        'projections one at a time');
prints('def @f() { (1, 2) } def @main() { @f().0 }',
       'def @f() { (1, 2) } def @main() { (@f()).0 }',
       'a projection of a call');
becomes('%t: (int32, int32)', 'let %x = match (%t) { (%a, _) => %a }; %x',
        'let %x = ( match (%t) { (%a, _) => { %a } } ); %x',
        'a match that is bound');
becomes('', 'let %x = let %y = 1; %y; %x', 'let %x = ( let %y = 1; %y ); %x',
        'a let that is bound');
becomes('', '%0 = { let %y = 1; %y }; %0', '%0 = ( let %y = 1; %y ); %0',
        'a block that is bound');

# --- Names ------------------------------------------------------------------

becomes('', 'let %ref = 1; let %type = 2; %ref + %type',
        'let %ref_1 = 1; let %type_1 = 2; %ref_1 + %type_1',
        'keywords are no names');
becomes('%x: int32', 'let %x = %x + 1; %x', 'let %x_1 = %x + 1; %x_1',
        'a name is bound once: TVM would return the parameter');
becomes('%x_1: int32, %x: int32', 'let %x = %x; (%x, %x_1)',
        'let %x_2 = %x; (%x_2, %x_1)', 'new names are new');
prints('def @f() { %0 = 1; %0 } def @g() { %0 = 2; %0 }',
       'def @f() { %0 = 1; %0 } def @g() { %1 = 2; %1 }',
       'graph variables are numbered through');

# --- Long literals ----------------------------------------------------------

# The arrays of a metadata section, each [is the magic number DD5E40F096B4A13F
# there?, code, bits, shape, elements' bytes].
sub arrays {
  my ($text) = @_;
  my ($section) = $text =~ /^#\[metadata\]\n(.*)\z/ms or return;
  return map {
    my ($magic, $none, $device, $id, $rank, $code, $bits, $lanes, $rest) =
      unpack 'Q<Q<l<l<l<CCS<a*', decode_base64($_);
    my @shape = unpack "q<$rank", $rest;
    [$magic eq '15951258332257624383', $code, $bits, [@shape],
     substr $rest, 8 * ($rank + 1)]
  } @{json($section)->{b64ndarrays}};
}

my @thirds = map { $_ / 4 } -20 .. 19;
my $long = 'def @main() { ([[' . join(', ', map { "${_}f" } @thirds[0 .. 19])
  . '], [' . join(', ', map { "${_}f" } @thirds[20 .. 39]) . ']], ['
  . join(', ', 1 .. 33) . '], "' . 'abcd' x 8 . '", ['
  . join(', ', 1 .. 31) . ']) }';
my $sections = rly('fmt', '--relay', spew($path, $long));
is_deeply([arrays($sections->{out})],
          [[1, 2, 32, [2, 20], pack('f<*', @thirds)],
           [1, 0, 32, [33], pack('l<*', 1 .. 33)],
           [1, 1, 8, [32], 'abcd' x 8]],
          'long literals are constants of the metadata section')
  or diag($sections->{out});
like($sections->{out}, qr/\(\s*meta\[relay.Constant\]\[0\],.*\[2\],\s*stack/s,
     'and are named in their places, but for short ones');
is(plain_relay($sections->{out}), '', 'in TVM\'s grammar');
is(rly(spew($plain, $sections->{out}))->{out}, rly($path)->{out},
   'they mean the same');
is(rly('fmt', '--relay', $plain)->{out}, $sections->{out}, 'once is enough');
my $uneven = '[' . join(', ', map { '[1f, 2f]' } 1 .. 20) . ', [3f]]';
unlike(rly('fmt', '--relay', spew($path, "def \@main() { $uneven }"))->{out},
       qr/meta/, 'rows of several lengths are left to the checker');

# --- Types ------------------------------------------------------------------

prints('def @f[A, n: Dim](%a: A, %x: Tensor[(n, n * 2, 3), int32]) {
          (%a, %x) }',
       'def @f[A](%a: A, %x: Tensor[(?, ?, 3), int32]) { (%a, %x) }',
       'named dimensions');
becomes('', 'let %r: Ref[int32] = ref(1); ref_read(%r)',
        'let %r = ref(1); ref_read(%r)', 'the type of a cell is left out');
becomes('', 'let %f: fn [A](A) -> A = fn [A](%a: A) -> A { %a }; %f(1)',
        'let %f = fn [A](%a: A) -> A { %a }; %f(1)',
        'so is that of a polymorphic function');
becomes('%x: Tensor[(?), int32]', 'shape_of(%x)',
        'shape_of(%x, dtype="int32")', 'shape_of says its dtype');
prints('def @f() { A } type T { A }', 'type T { A } def @f() { A }',
       'constructors come before their uses');

# --- Programs ---------------------------------------------------------------

prints('param @w: int32; param @v: int32 = 2;
        def @f(%w: int32) { %w * @w }
        def @g(%x: int32) { if (%x == 0) { @f(%x) } else { @g(%x - 1) } }
        def @h() { @v } def @i() { 1 }',
       'def @v() -> int32 { 2 } def @f(%w: int32, %w_1: int32) { %w_1 * %w }
        def @g(%w: int32, %x: int32) { if (%x == 0) { @f(%w, %x) }
          else { @g(%w, %x - 1) } }
        def @h(%v: int32) { %v } def @i() { 1 }',
       'params go to the functions that reach them');
prints('1+2', 'def @main() { 1 + 2 }', 'a script of one expression is @main');
prints("// one\ndef \@main() { /* two **/ 1 } // three",
       "// one\ndef \@main() { /* two * */ 1 } // three",
       'comments stay, in words that TVM finds the end of');
prints("// f\ndef \@f() { A } // of f\n// T\ntype T { /* A */ A } // of T\n",
       "// T\ntype T { /* A */ A } // of T\n\n// f\ndef \@f() { A } // of f",
       'comments go with what they stand at');
is(rly('fmt', '--relay', spew($path, "// a\nparam \@w: int32 = 2; // b\n"
       . "// c\ntype T { A } // d\n/* e */ def \@f() { \@w } // f\n"))->{out},
   "#[version = \"0.0.5\"]\n// c\ntype T { A } // d\n\n// a\n"
   . "def \@w() -> int32 { 2 } // b\n\n"
   . "/* e */ def \@f(%w: int32) { %w } // f\n",
   'on lines of their own or at the end of one, as they were');
prints('def @def() { 1 } def @main() { @def() }',
       'def @def_1() { 1 } def @main() { @def_1() }',
       'keywords are no global names either');
prints('let %x = 1; let %y: int32 = %x + 1; %x * %y',
       'def @main() { let %x = 1; let %y: int32 = %x + 1; %x * %y }',
       'the lets of a script go into @main');
becomes('', '@map(negative, Cons(1, Nil))',
        '@map(fn (%data) { negative(%data) }, Cons(1, Nil))',
        'an operator as a value is a function');
becomes('%f: fn (Tensor[(?), int32]) -> Tensor[(1), int32]',
        '@compose(%f, shape_of)',
        '@compose(%f, fn (%data) { shape_of(%data, dtype="int32") })',
        'which says its dtype');
prints('def @f[n: Dim](%t: (int32, Tensor[(4, n), int32])) { n * 2 }',
       'def @f(%t: (int32, Tensor[(4, ?), int32])) {
          take(shape_of(%t.1, dtype="int32"), 1, axis=0) * 2 }',
       'a dimension as a value is read from a parameter');
becomes('%x: Tensor[(2), int32], %s: Tensor[(1), int32]',
        'reshape(%x, newshape=%s)', 'dyn.reshape(%x, %s)',
        'a computed attribute is an operand');
becomes('%x: Tensor[(4), int32], %n: int32',
        'strided_slice(%x, begin=[%n], end=[3])',
        'dyn.strided_slice(%x, stack((%n,), axis=0), stack((3,), axis=0),
           ones_like(stack((3,), axis=0)))',
        'and so are those beside it');
becomes('', 'arange(3)', 'arange(0, 3, 1, start=0, stop=3, step=1,
  dtype="int32")', 'arange says all that it takes');
becomes('%n: float32', 'arange(1f, %n + 1f)',
        'arange(1f, %n + 1f, 1f, start=1f, stop=(%n + 1f), step=1f,
          dtype="float32")', 'as expressions, too');
prints('def @f(%x: int32, relay.reshape_only=1, Primitive=1) { %x }',
       'def @f(%x: int32, Primitive=1, relay.reshape_only=1) { %x }',
       'an undotted attribute comes first');

# --- The library ------------------------------------------------------------

prints('def @main(%x: Tensor[(2, 1), float32]) { @softplus(@map_of(%x)) }
def @map_of(%x: Tensor[(2, 1), float32]) { %x }',
       'def @main(%x: Tensor[(2, 1), float32]) {
  @softplus_rank2_float32(@map_of(%x)) }
def @map_of(%x: Tensor[(2, 1), float32]) { %x }
def @softplus_rank2_float32(%x: Tensor[(?, ?), float32])
    -> Tensor[(?, ?), float32] {
  maximum(%x, cast(0, dtype="float32")) +
    log(cast(1, dtype="float32") + exp(negative(abs(%x)))) }',
       'a function that TVM lacks joins the text, at the rank and dtype used');
prints('def @col[s: Shape, n: Dim, d: Int](%x: Tensor[(s..., n), d])
    -> Tensor[(s..., n, 1), d] { reshape(%x, newshape=[s..., n, 1]) }
def @main() { (@col([1u8, 2u8]), @col([[3]])) }',
       'def @main() {
  (@col_rank0_uint8(stack((cast(1, dtype="uint8"), cast(2, dtype="uint8")),
    axis=0)), @col_rank1_int32(stack((stack((3,), axis=0),), axis=0))) }
def @col_rank1_int32(%x: Tensor[(?, ?), int32])
    -> Tensor[(?, ?, 1), int32] {
  dyn.reshape(%x, stack((take(shape_of(%x, dtype="int32"), 0, axis=0),
    take(shape_of(%x, dtype="int32"), 1, axis=0), 1), axis=0)) }
def @col_rank0_uint8(%x: Tensor[(?), uint8]) -> Tensor[(?, 1), uint8] {
  dyn.reshape(%x, stack((take(shape_of(%x, dtype="int32"), 0, axis=0), 1),
    axis=0)) }',
       'each instance of a function of shapes and dtypes is one');
prints('def @lstm_gates_float32(%x: int32) { %x } // ours
def @main(%g: Tensor[(1, 4), float32], %c: Tensor[(1, 1), float32],
          %w: Tensor[(4, 1), float32], %b: Tensor[(4), float32]) {
  @lstm_cell(%c, %c, %c, %w, %w, %b, %b) }',
       'def @lstm_gates_float32(%x: int32) { %x } // ours
def @main(%g: Tensor[(1, 4), float32], %c: Tensor[(1, 1), float32],
          %w: Tensor[(4, 1), float32], %b: Tensor[(4), float32]) {
  @lstm_cell_float32(%c, %c, %c, %w, %w, %b, %b) }
def @lstm_cell_float32(%x: Tensor[(?, ?), float32], %h: Tensor[(?, ?), float32],
               %c: Tensor[(?, ?), float32], %w_ih: Tensor[(?, ?), float32],
               %w_hh: Tensor[(?, ?), float32], %b_ih: Tensor[(?), float32],
               %b_hh: Tensor[(?), float32])
    -> (Tensor[(?, ?), float32], Tensor[(?, ?), float32]) {
  @lstm_gates_float32_1(
    nn.dense(%x, %w_ih) + %b_ih + (nn.dense(%h, %w_hh) + %b_hh), %c) }
def @lstm_gates_float32_1(%gates: Tensor[(?, ?), float32],
                          %c: Tensor[(?, ?), float32])
    -> (Tensor[(?, ?), float32], Tensor[(?, ?), float32]) {
  let %s = split(%gates, indices_or_sections=4, axis=1);
  let %c2 = sigmoid(%s.1) * %c + sigmoid(%s.0) * tanh(%s.2);
  (sigmoid(%s.3) * tanh(%c2), %c2) }',
       'and keeps its meaning beside a function of its name');

# An instance of a library function calls the library's functions, whatever the
# text defines under their names.  By hand: two rows; 7 is the text's own.
my $beside = spew($path, 'def @range(%x: int32) { %x }
def @main() { (@unstack([1, 2]), @range(7)) }');
is(rly('run', spew($plain, rly('fmt', '--relay', $beside)->{out}))->{out},
   "(Cons(1, Cons(2, Nil)), 7)\n", 'an instance keeps to the library');

for my $call ('@gelu([[0.5, -1.5]])', '@range(3)',
              '@set_row([[1f, 2f], [3f, 4f]], 1, [5f, 6f])',
              '@lstm([[[1f, 2f]], [[3f, 4f]]], [[0f]], [[0f]],
                 full(0.3, shape=[4, 2], dtype="float32"),
                 full(0.2, shape=[4, 1], dtype="float32"),
                 [0.1, 0.2, 0.3, 0.4], [0f, 0f, 0f, 0f])',
              '@store_add(6, (@store_add(5, Store(0, EmptyCells))).1)') {
  my $file = spew($path, "def \@main() { $call }");
  my $run = rly('fmt', '--relay', $file);
  is(plain_relay($run->{out}), '', "$call: TVM's grammar");
  my $here = rly('run', $file);
  is("$here->{status} $here->{err}", '0 ', '... of a program that runs');
  is(rly('run', spew($plain, $run->{out}))->{out}, $here->{out},
     '... and the same value');
}

# --- What Relay cannot say --------------------------------------------------

refused('1; 2;', '1:4', 'an expression at top level besides another',
        'a script of more');
refused("def \@main() { 1 }\n\@main();", '2:1',
        'an expression at top level besides @main', 'a call of @main');
refused('let @x = 1;', '1:1', 'a global value', 'global values');
refused('1; let %x = 2;', '1:4', 'a `let` at top level that no expression',
        'a let at the end of a script');
refused('def @f(%x: Tensor[(4), int32], %n: int32) {
  strided_slice(%x, begin=[%n], end=[3], axes=[0]) }', '2:42',
        '`axes` beside computed attributes', 'axes of a computed slice');
refused('def @f(%x: int32, relay.reshape_only=1) { %x }', '1:19',
        'the attribute `relay.reshape_only`', 'dotted attributes alone');
refused('def @f(%n: int32) { arange(%n) }', '1:21',
        'an `arange` whose dtype is not written', 'arange of an unknown dtype');
refused('def @f(%x: int32) { %x }
def @g(%x: Tensor[(1, 1, 1), float32], %w: Tensor[(4, 1), float32],
       %b: Tensor[(4), float32]) {
  @f(1); @lstm_stack(%x, %x, %x, List[(%w, %w, %b, %b)]) }', '4:10',
        '`@lstm_stack`, which needs the operator `assert`', 'our own library');
refused('import "a.rly";', '1:1', 'an `import`', 'imports');
refused('def @f() { let %a = fn () -> int32 { %b() }
and %b = fn () -> int32 { 1 }; %a }', '2:1', 'functions joined by `and`',
        'local mutual recursion');
refused('def @f(%x: float32) { grad(fn (%y: float32) { %y })(%x) }', '1:23',
        'the operator `grad`', 'derivatives');
refused('def @f() { print(1) }', '1:12', 'the operator `print`',
        'operators of our own');
refused('def @f(%x: Tensor[(2), int32], %a: int32) {
  expand_dims(%x, axis=0, num_newaxis=%a) }', '2:39',
        'an attribute that is an expression', 'attributes that are values');
refused('def @f(%x: int32) { cast(%x, dtype="a\"b") }', '1:36',
        'a string that needs escapes', 'strings with escapes');
refused('def @f[s: Shape](%x: Tensor[s, float32]) -> float32 {
  if (take(shape_of(shape_of(%x)), 0) == 0) { %x } else { sum(%x) } }
def @g() { (@f(1f), @f([1f])) }', '2:3',
        'an `if` that each shape of a function decides',
        'an `if` that instances decide in two ways');
refused('type S { S(Ref[int32]) }', '1:12', 'this type, which cannot be left',
        'fields that are cells');
refused('param @w: int32; def @f(%x: int32) { @w } def @g() { @map(@f, Nil) }',
        '1:59', '`@f` as a value, for it reaches a `param`',
        'functions that would change their type');

# --- Plain programs ---------------------------------------------------------

# Every program of the conformance suites still gives the same: the value of its
# @main, a run-time error, or, where @main has inputs, its types.
sub answers {
  my ($file) = @_;
  my $run = rly('run', $file, '--json');
  return "$run->{status} " . ($run->{status} ? '' : $run->{out})
    if $run->{status} != 1;
  my $types = rly('check', '--types', $file);
  return $types->{status} ? undef : join "\n", sort split /\n/, $types->{out};
}

# What cannot be said in plain Relay (E0508): a cell in a field of a data type,
# an error with values, an `if` that is decided by the shape of each instance.
sub cannot_be_said {
  my ($file) = @_;
  return slurp($file) =~ /^type[^}]*\b[Rr]ef[\[(] | \b(?:assert|fail)\( |
                          \[s:\ Shape.*\{\ if\ \(take/mx;
}

# What can be said where types can be left out, and else is refused: tensors of
# any rank, which computed attributes give, and in data types of shapes or
# dtypes cells, and dimensions as values.
sub may_be_unsaid {
  my ($file, $why) = @_;
  my $text = slurp($file);
  return 1
      if $text =~ /Tensor\[\?|(?:keepdims|num_newaxis|newshape|channels)=%|
                    ax[ei]s=%/x;
  return $text =~ /^type \w+\[[^\]]*: (?:Shape|DType|Float|Int)\b/m
      && $why =~ /this type|the named dimension/;
}

# An instance of a data type of shapes or dtypes has a name of its own.
sub without_instances {
  my ($answers) = @_;
  return $answers =~ s/("constructor": "\w+?)(?:_rank\d|_[a-z]+\d+)+"/$1"/gr;
}

my ($count, @changed) = (0);
for my $file (sample(glob 'tests/conformance/lang/*.rly '
                          . 'tests/conformance/ops/*.rly')) {
  my ($name) = $file =~ m{(\w+)\.rly$};
  my $before = answers($file) // next;
  my $run = rly('fmt', '--relay', $file);
  if (cannot_be_said($file)) {
    push @changed, "$name: said" if $run->{err} !~ /error\[E0508\]/;
    next;
  }
  next if $run->{err} =~ /error\[E0508\]/ && may_be_unsaid($file, $run->{err});
  $count++;
  my $wrong = $run->{err} || plain_relay($run->{out});
  my $after = $wrong ? '' : answers(spew($plain, $run->{out}));
  push @changed, "$name: $wrong"
      unless $after && without_instances($after) eq $before;
}
is_deeply(\@changed, [], 'no program of the conformance suites changes')
  or diag map { substr($_, 0, 300) . "\n" } @changed;
cmp_ok($count, '>', is_release() ? 500 : 40, 'which are many');

# --- Size variables ---------------------------------------------------------

my $size = 'Tensor[(meta[tir.SizeVar][0]), float32]';
my $sizes = <<"END";
def \@same(%x: $size, %y: $size) -> $size { %x + %y }

def \@main(%x: Tensor[(?), float32], %y: Tensor[(?), float32]) {
  \@same(%x, %y)
}

#[metadata]
{"root": 1, "nodes": [
  {"type_key": ""},
  {"type_key": "Map", "keys": ["tir.SizeVar"], "data": [2]},
  {"type_key": "Array", "data": [3]},
  {"type_key": "tir.SizeVar", "attrs": {"dtype": "int64", "name": "n"}}
], "b64ndarrays": [], "attrs": {"tvm_version": "0.9.0"}}
END
spew($path, $header . $sizes);
gives(rly('check', '--types', $path), 0,
      qr/^\@same : fn \[n: Dim\]\((Tensor\[\(n\), float32\](, )?){2}\)/, '',
      'a size variable is a dimension of one name');
gives(rly('run', $path, 'x=[1f, 2f]', 'y=[3f, 4f]'), 0,
      "Tensor[(2), float32] [4.0, 6.0]\n", '', 'which two values share');
gives(rly('run', $path, 'x=[1f]', 'y=[3f, 4f]'), 2, '',
      qr/E0603.*where n is 1/, 'or are refused');
like(rly('fmt', $path)->{out}, qr/\Q%x: $size/, 'it is printed as written');

# --- Types without words ----------------------------------------------------

prints('def @f(%r: Ref[int32]) -> int32 { ref_write(%r, 4); ref_read(%r) } '
           . '@f(ref(2))',
       'def @f(%r) -> int32 { ref_write(%r, 4); ref_read(%r) } '
           . 'def @main() { @f(ref(2)) }',
       'the type of a cell is left out where it can be inferred');
my $without = qr/  help: without it, the program does not check\n/;
gives(rly('fmt', '--relay', spew($path, "def \@f(%r: Ref[int32]) -> int32 "
          . "{ ref_read(%r) + 1 }\n\@f(ref(2))\n")), 1, '',
      qr/p\.rly:1:12: error\[E0508\]: .* this type\n(.*\n){2}$without/,
      'and named where it cannot');
gives(rly('fmt', '--relay', spew($path,
          "def \@g(%h: fn [A](A) -> A) -> int32 { %h(2f); %h(1) }\n"
          . "\@g(fn [A](%x: A) -> A { %x })\n")), 1, '',
      qr/p\.rly:1:12: error\[E0508\]: .* this type\n(.*\n){2}$without/,
      'so is that of a polymorphic function');

done_testing;
