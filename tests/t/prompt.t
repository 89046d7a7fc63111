#!/usr/bin/env perl
# The prompt's commands, through a pipe: the answer to each.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

# Runs a session of these lines; returns its standard output and error.
sub session {
  my ($lines, $out, $err, $name) = @_;
  gives(rly({in => $lines}, 'repl'), 0, $out, $err, $name);
}

# --- State --------------------------------------------------------------------

my $counter = <<'END';
let @n = ref(1);
let %m = (ref(zeros(shape=[2], dtype="float32")), 2);
let @again = @n;
def @step() { ref_write(@n, ref_read(@n) + 1); ref_read(@n) }
END

session(":state\n${counter}:state\n:state %m\n:state \@x\n", <<'END',
no cells
@n : ref(int32) = 1
  also @again
%m.0 : ref(Tensor[(2), float32]) = Tensor[(2), float32] [0.0, 0.0]
%m.0 : ref(Tensor[(2), float32]) = Tensor[(2), float32] [0.0, 0.0]
END
        qr/^:state: no cell `\@x`$/, ':state lists cells');

session("$counter:set \@n 40\n\@step()\n:set %m.0 [1f, 2f]\n:state %m\n",
        "41\n%m.0 : ref(Tensor[(2), float32]) = "
            . "Tensor[(2), float32] [1.0, 2.0]\n", '', ':set changes one');
session("$counter:set \@n 1f\n:set %m.0 [1f]\n:set \@zz 3\n:set \@n 1 +\n"
            . ":set \@n\n\@step()\n", "2\n",
        qr/the\ cell\ holds\ int32,\ the\ value\ is\ float32
           .*holds\ Tensor\[\(2\),\ float32\].*is\ Tensor\[\(1\),\ float32\]
           .*no\ such\ cell.*E0004.*takes\ a\ cell's\ path/sx,
        ':set refuses what does not fit, and changes nothing then');

session("$counter:snapshot\n\@step()\n:snapshot two\n\@step()\n:restore\n"
            . "\@step()\n:restore 1\n\@step()\n:restore no\n",
        "snapshot 1\n2\nsnapshot two\n3\n3\n2\n", qr/no snapshot `no`/,
        ':snapshot and :restore');
session("$counter:set \@n 7\n:reset\n\@step()\n", "2\n", '', ':reset');

my $file = scratch('state.safetensors');
session("$counter\@step()\n:snapshot $file\n:reset\n:restore $file\n\@step()\n",
        "2\n3\n", '', 'a snapshot in a file');
session("let \@k = ref(1);\n:restore $file\n", '', qr/E05\d\d/,
        'is refused where it does not fit');

# A copy continues independently; a let that one of them evaluated is
# unevaluated in the other.
session(<<"END", "2\n3\nmain\ntry *\n3\n4\n", qr/E0108/, ':fork');
$counter\@step()
:fork try
\@step()
let %q = \@step();
:fork
:fork main
\@step()
%q
:fork try
%q
END
session("$counter:snapshot a\n:fork try\n:restore a\n", "snapshot a\n",
        qr/this session has no snapshot `a`/, 'a snapshot is one session\'s');

# Code that a stepper has run is evaluated again for the names that it defines,
# but its output is not printed again.
session(":step let %a = { print(7); ref(4) }\n"
            . ":dbg let %b = { print(8); ref_write(%a, 5); 3 }\n"
            . "ref_read(%a) + %b\nprint(9)\n",
        qr/\A7\n1 print .*\nthe end[^\n]*\n8\n%b : int32 = 3[^\n]*\n8\n9\n\z/s,
        '', 'what a stepper printed');

# --- Mistakes -----------------------------------------------------------------

session(":stae\n:zzzzz\n:re\n:load\n:info\n:type\n:bench 1 +\n:bench foo()\n",
        '', <<'END', 'each is told what is amiss');
no command `:stae`; did you mean `:state`?
no command `:zzzzz`; `:help` lists them
`:re` may mean `:reload` or `:restore` or `:reset`; write more of it
:load: takes FILE
:info: takes NAME
:type: takes EXPR
<type>:1:4: error[E0004]: expected an expression, found the end of the text
    1 | 1 +
      |    ^
<type>:1:1: error[E0103]: `foo` is no constructor and no operator
    1 | foo()
      | ^^^
END
session("let %w = [1f, 2f]\n:bench %w + %w\ndef \@f() { print(1); 2 }\n"
            . ":bench 1 / 0\n:bench (1; 2)\n",
        qr/^(?:min .*, median .* \(\d+ calls\)\n){2}\z/, qr/E0602/,
        ':bench takes items');

# A command may be written by its letter, or by a beginning of its own.
session(":t 1 + 1\n:ty 2f\n:type True\n", "int32\nfloat32\nbool\n", '',
        'shortened commands');

# --- What a name stands for ---------------------------------------------------

session("$counter:effects \@step\n:effects \@step() + 1\n"
            . ":effects fn () { \@step() }\n:effects 1 / ref_read(\@n)\n",
        "a call: reads, writes\nreads, writes\npure\nreads, may fail\n", '',
        ':effects');
session(":kind List\n:kind List[int32]\n:kind Tensor\n:kind ref\n"
            . ":kind Tensor[(2, ?), float32]\n:kind Foo\n", <<'END',
List : fn (Type) -> Type
List[int32] : Type
Tensor : fn (Shape, DType) -> Type
ref : fn (Type) -> Type
Tensor[(2, ?), float32] : Type
END
        qr/there is no type `Foo`/, ':kind');

# --- How values are shown -----------------------------------------------------

my $matrix = 'let %m = reshape(arange(0, 6, 1), newshape=[2, 3]);';
session("$matrix\n%m\n[1f, 2f]\n:info %m\n", <<'END', '',
Tensor[(2, 3), int32]  6 elements, min 0, max 5, mean 2.5
[[0, 1, 2],
 [3, 4, 5]]
Tensor[(2), float32] [1.0, 2.0]
%m : Tensor[(2, 3), int32]
  6 elements, min 0, max 5, mean 2.5
  defined at <1>:1:5
END
        'a block of a tensor stands below its facts');
session("reshape([0f/0f, 1f/0f, 2f, 5f], newshape=[2, 2])\n"
            . "ones(shape=[101], dtype=\"bool\")\n"
            . "zeros(shape=[2, 0, 1], dtype=\"int8\")\n",
        qr/\ 4\ elements,\ min\ 2,\ max\ inf,\ mean\ 3.5,\ 1\ NaN,\ 1\ Inf\n
           .*\ 101\ elements,\ 101\ True\n.*^Tensor\[\(2,\ 0,\ 1\).*0\ elements$
          /msx, '', 'facts leave out what is no number');
session("$matrix\n(%m, (7, ref(%m)))\n", <<'END', '', 'parts stand below');
tuple of 2
├─ Tensor[(2, 3), int32]  6 elements, min 0, max 5, mean 2.5
│  [[0, 1, 2],
│   [3, 4, 5]]
└─ tuple of 2
   ├─ 7
   └─ ref
      └─ Tensor[(2, 3), int32]  6 elements, min 0, max 5, mean 2.5
         [[0, 1, 2],
          [3, 4, 5]]
END
my $down = 'def @down(%n: int32) -> List[int32] '
         . '{ if (%n == 0) { Nil } else { Cons(%n, @down(%n - 1)) } }';
session("$down\n\@down(3)\n\@down(40)\n",
        "Cons(3, Cons(2, Cons(1, Nil)))\nCons of 40 in a row\n"
            . join('', map { "├─ $_\n" } reverse 29 .. 40)
            . "├─ ... 24 more\n├─ 4\n├─ 3\n├─ 2\n└─ 1\n", '',
        'a list as the sequence that it is');
my $nat = "type N { Z, S(N) }\ndef \@n(%k: int32) -> N "
        . "{ if (%k == 0) { Z } else { S(\@n(%k - 1)) } }\n";
session("$nat\@n(200000)\n", qr/\AS\n└─ S\n.*└─ S\(S\(.*\.\.\.\n\z/s, '',
        'what is deep is cut off');
gives(rly({in => "$matrix\n%m\n"}, 'repl', '--json'), 0,
      qr/^\{"dtype": "int32", "shape": \[2, 3\].*\}$/, '', '--json stays JSON');
gives(rly({in => "$matrix\nCons(%m, Nil)\n"}, 'repl', '--color=always'), 0,
      qr/^\e\[1mCons\e\[0m.*\e\[36mTensor\[\(2, 3\), int32\]\e\[0m/s, '',
      'colours where they are asked for');

# --- Drawings -----------------------------------------------------------------

# A line from corner to corner: 65 columns of two dots by 12 rows of four.
my $line = rly({in => ":plot [0f, 1f]\n"}, 'repl')->{out};
my @rows = split /\n/, $line;
like($rows[0], qr/^ {9}1 ┤ {60}/, ':plot begins at the greatest');
my $alone = rly({in => ":plot [1f, nanf, 3f, inff]\n"}, 'repl')->{out};
like($alone, qr/\A {9}3 ┤ {40,}[^ \n]+ +\n/, 'and shows what stands alone');
like($rows[11], qr/^ {9}0 ┤⣀/, 'and ends at the least');
like($rows[12], qr/^ {12}0 +1$/, 'above the indices');
is($rows[13], '  2 elements, min 0, max 1, mean 0.5', 'and the facts');
session(":plot [1f, 0f/0f, 3f]\n:plot 3\n:plot zeros(shape=[0], dtype=\"int8\")"
            . "\n:heat [[0f / 0f]]\n:plot [\n",
        qr/ 3 elements, min 1, max 3, mean 2, 1 NaN$/,
        qr/:plot:\ takes\ a\ vector.*:plot:\ takes\ a\ vector
           .*:heat:\ no\ element\ is\ finite.*E0004/sx,
        ':plot of what is no series');
session(":heat reshape(arange(0, 4, 1), newshape=[2, 2])\n", <<'END', '',
  ░░
▓▓██
0    ░░░▒▒▓▓▓███ 3
  4 elements, min 0, max 3, mean 1.5
END
        ':heat');
my $svg = scratch('line.svg');
session(":plot $svg [0f, 1f]\n", '', '', ':plot to a file');
like(slurp($svg), qr{^<svg .* d="M48\.00 272\.00 L592\.00 48\.00 "/>.*</svg>}s,
     'draws the line from end to end');
session(":heat $svg reshape(arange(0, 4, 1), newshape=[2, 2])\n"
            . ":heat /none/x.svg [[1f]]\n", '', qr/E050\d/, ':heat, too');
is(() = slurp($svg) =~ /<rect x=/g, 4, 'replaces it whole');

# --- The start-up file --------------------------------------------------------

my $startup = spew(scratch('startup.rly'), <<'END');
def @four() -> int32 {
  4
}
@none()
:limit depth 77
1 / 0
def @five() { 5
}
:nonsense
END
gives(rly({in => "\@four() + \@five()\n:limit\n%it\n"}, 'repl', '--startup',
          $startup), 0, qr/^9\nmemory .*\ndepth 77\n.*\n9\n\z/,
      qr/startup\.rly:4:1:\ error\[E0102\].*startup\.rly:6:1:\ error\[E0602\]
         .*no\ command/sx, 'what is wrong in a start-up file stops nothing');
gives(rly({in => "7\n"}, 'repl', '--startup', scratch('none.rly')), 0, "7\n",
      qr/none\.rly: No such file/, 'nor does one that is not there');
gives(rly({in => "7\n"}, 'repl', '--no-startup', '--startup', $startup), 0,
      "7\n", '', 'it can be left out');

# --- What is defined anew -----------------------------------------------------

my $chain = <<'END';
def @f(%x: int32) -> int32 { %x + 1 }
def @g(%x: int32) -> int32 { @f(%x) * 2 }
def @h(%x: int32) { @g(%x) }
END
session("${chain}def \@f(%x: int32) -> int32 { %x + 100 }\n\@h(1)\n", "202\n",
        '', 'what uses a definition uses the new one');
session("${chain}let %y = \@h(1);\nlet \@z = fn (%a: int32) { \@f(%a) };\n"
            . "def \@f(%x: int32) -> int32 { 0 }\n:info \@h\n:info %y\n"
            . ":info \@z\n%y\n\@z(4)\n", <<'END', '',
@h : fn (int32) -> int32
  effects: pure
  defined at <3>:1:5
%y : int32
  stale: made with an earlier `@h`
  defined at <4>:1:5
@z : fn (int32) -> int32
  effects: pure
  stale: made with an earlier `@f`
  defined at <5>:1:5
4
5
END
        'values stay as they are, and say so');
session("${chain}def \@f(%x: float32) -> float32 { %x }\n\@h(1)\n:info \@g\n"
            . "7\ndef \@k() { 1 }\n"
            . "def \@f(%x: int32) -> int32 { %x - 1 }\n\@h(1)\n:info \@g\n",
        qr/^4\n.*^\ \ stale:\ made\ with\ an\ earlier\ `\@f`$
           .*^7\n0\n(?!.*stale)/msx,
        qr/^<2>:1:33:\ warning\[W0003\]:\ `\@g`\ does\ not\ fit\ the\ new\ `\@f`
           .*expected\ float32,\ found\ int32\n.*\^\^\ int32\n
           .*<4>:1:8:\n(?!.*W0003)/sx,
        'what does not fit goes on, is named once, and fits again later');
session("${chain}def \@f(%x: int32) -> int32 { "
            . "if (%x == 0) { 1 } else { \@h(%x - 1) } }\n\@h(3)\n", "16\n", '',
        'definitions of several entries may come to call each other');
session(<<'END', "3\n3\n", qr/`\@t` does not fit the new `T`.*`C` is not/s,
type T { A(int32), B }
def @t(%t: T) { match (%t) { A(%x) => %x, B => 0 } }
type U { V(T) }
def @u(%u: U) { match (%u) { V(%t) => @t(%t) } }
@u(V(A(3)))
type T { A(int32), B, D(T) }
type T { A(int32), B, C }
def @t(%t: T) { match (%t) { A(%x) => %x, _ => 0 } }
@u(V(A(3)))
END
        'types, too');

# --- Limits and measures ------------------------------------------------------

my $deep = "def \@d(%n: int32) -> int32 "
         . "{ if (%n == 0) { 0 } else { 1 + \@d(%n - 1) } }\n";
session("$deep:limit depth 100\n\@d(1000)\n:limit depth none\n\@d(1000)\n",
        "1000\n", qr/E0702.*100 calls/, ':limit depth');
session(":limit memory 64M\nsum(zeros(shape=[1000, 100000], dtype=\"int32\"))\n"
            . ":limit memory 3G\n:limit timeout 2.5\n:limit\n",
        "memory 3G\ndepth 10000000\ntimeout 2.5\n", qr/E0701/, ':limit memory');
session("$deep:limit timeout 0.01\ndef \@l() -> int32 { \@l() }\n\@l()\n7\n",
        "7\n", qr/E0703/, ':limit timeout');
session(":limit space 3\n:limit depth x\n", '',
        qr/(:limit: takes memory BYTES.*\n){2}/, ':limit says what it takes');
session(":profile sum(ones(shape=[100], dtype=\"float32\"))\n1\n",
        qr/^100f\nby line\n.* sum  <1>:1\n.*by operator\n.* sum\n.*\n1\n\z/s,
        '', ':profile');

# By hand: 2*8*64*32 operations on 8*64 + 32*64 elements give 8*32 of 4 bytes.
my $weights = <<'END';
let %x = ones(shape=[8, 64], dtype="float32");
let %w = ones(shape=[32, 64], dtype="float32");
def @layer(%a: Tensor[(?, 64), float32], %b: Tensor[(?, 64), float32]) {
  let %y = nn.dense(%a, %b);
  nn.relu(%y)
}
END
my $table = <<'END';
     calls          flops          bytes      allocated  operator
         1          32768          11264           1024  nn.dense
         1            256           2048           1024  nn.relu
         2          33024          13312           2048  in all
END
session("$weights:cost nn.relu(nn.dense(%x, %w))\n:cost \@layer(%x, %w)\n",
        $table . $table, '', ':cost, also where a function leaves shapes open');
session("$weights:cost if (True) { %x } else { \@layer(%x, %x) }\n",
        qr/ nn\.dense\n.* in all
of branches the dearer one is counted\n\z/s, '',
        '... of two branches the dearer');
session("def \@r(%n: int32) -> int32 { \@r(%n - 1) }\n:cost \@r(3)\n"
            . ":cost \@map(fn (%v: int32) { %v }, Nil)\n"
            . "def \@u(%t: Tensor[(?), float32]) { %t + %t }\n"
            . ":cost fn (%t: Tensor[(?), float32]) { \@u(%t) }([1f])\n"
            . ":cost negative(argwhere([1, 0]))\n:cost 1 +\n",
        qr/a\ recursive\ call\ is\ counted\ once.*functions\ that\ are\ passed
           .*\ 4\ .*\ add\n
           .*^2\ operators\ are\ left\ out,\ for\ want\ of\ a\ shape/msx,
        qr/E0004/, '... and what it cannot know');
# 6 of 4 bytes, read and written.
session("let %x = arange(0f, 6f, 1f);\n:cost negative(%x)\n",
        qr/^\ +1\ +6\ +48\ +24\ \ negative\n/mx, '',
        '... and a shape that only the value has');

done_testing();
