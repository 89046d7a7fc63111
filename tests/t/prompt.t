#!/usr/bin/env perl
# The prompt's commands, through a pipe: the answer to each.
#
# A pipe is the plain way to test what a command says: no echo, no editing, no
# timing, so output can be compared to the letter.  What needs a terminal is in
# repl.t, and what needs eyes, sizes and colours, in terminal.t.  A session is
# one piece of text, since a command's answer mostly depends on what was entered
# before it.
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

# The lines are those that a function gives for a limit of time.
sub timed_session {
  my ($lines, $out, $err, $name) = @_;
  gives(patiently(sub { rly({in => $lines->($_[0])}, 'repl') },
                  sub { $_[0]{out} =~ $out && $_[0]{err} =~ $err }),
        0, $out, $err, $name);
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

# A cell that a derivative gives in a function: 5 + 6 y.
my $given = <<'END';
let %f = vjp(fn (%x: float32) {
  let %c = ref(5f);
  let %k = %x * 3f;
  fn (%y: float32) { ref_write(%c, ref_read(%c) + %y * %k); ref_read(%c) }
}, 2f).0;
END
session(<<"IN", qr/\A5f\n%f\{%c\} : ref\(float32\) = 5f\n/, '',
${given}%f(0f)
:state %f
IN
        '... those that a derivative gave, too');
session(<<"IN", qr/^value after 13 steps\n17f$/m, '', ':step steps through it');
${given}:step %f(2f)
IN

session("$counter:set \@n 40\n\@step()\n:set %m.0 [1f, 2f]\n:state %m\n",
        "41\n%m.0 : ref(Tensor[(2), float32]) = "
            . "Tensor[(2), float32] [1.0, 2.0]\n", '', ':set changes one');
session("$counter:set \@n 1f\n:set %m.0 [1f]\n:set \@zz 3\n:set \@n 1 +\n"
            . ":set \@n\n\@step()\n", "2\n",
        qr/the\ cell\ holds\ int32,\ the\ value\ is\ float32
           .*holds\ Tensor\[\(2\),\ float32\].*is\ Tensor\[\(1\),\ float32\]
           .*no\ such\ cell.*E0004.*takes\ a\ cell's\ path/sx,
        ':set refuses what does not fit, and changes nothing then');

my $anew = "let \@c = ref(0);\nlet \@c = ref(5);\n";
session("$anew:set \@c 9\nref_read(\@c)\n:state\n", <<'END', '',
9
@c#2 : ref(int32) = 0
@c : ref(int32) = 9
END
        'of two cells of one name, the name is that of the newest');
session("$anew:snapshot $_\n:set \@c 7\n:restore $_\n:state\n", <<'END', '',
@c#2 : ref(int32) = 0
@c : ref(int32) = 5
END
        '... in a file, too')
    for scratch('anew.safetensors');
session("let \@c = ref(0);\n:fork b\nlet \@c = ref(5);\n:fork main\n"
            . ":set \@c#2 3\n:reset\n:state\n:fork b\n:state\n", <<'END', '',
@c#2 : ref(int32) = 0
@c#2 : ref(int32) = 0
@c : ref(int32) = 5
END
        '... and in a fork that has not entered it');

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
        qr/\A7\n1 print .*\nthe end[^\n]*\n8\nlet %b = .* => 3\n.*\n8\n9\n\z/s,
        '', 'what a stepper printed');

# Text that comes by a pipe is nobody's own: --safe keeps it from files, and
# from the limits of the command line.
my $kept_out = scratch('kept_out');
mkdir $kept_out;
my @files = (":load $kept_out/a.rly", ":save $kept_out/b.rly", ':edit',
             ":params $kept_out/c.npz", ":param x = \@$kept_out/d.npy",
             ":snapshot $kept_out/e.safetensors",
             ":restore $kept_out/f.safetensors", ":plot $kept_out/g.svg [1f]",
             ":heat $kept_out/h.svg [[1f]]");
{
  my $run = rly({in => join("\n", @files, '1 + 1', '')}, 'repl', '--safe');
  is($run->{out}, "2\n", '--safe: a pipe goes on');
  my @refused = $run->{err} =~ /^:(\w+): --safe: no files/mg;
  is_deeply(\@refused, [map { /^:(\w+)/ } @files], '... without its files');
  is_deeply([glob "$kept_out/*"], [], '... none of which is written');

  my @limits = ('--max-memory', '64M', '--max-depth', 1000,
                '--max-steps', 99999, '--timeout', 100);
  my $lines = join '', map { ":limit $_ none\n" }
                       qw(memory depth steps tape timeout);
  gives(rly({in => ":limit\n$lines:limit\n"}, 'repl', '--safe', @limits), 0,
        qr/\A(memory 64M\ndepth 1000\nsteps 99999\ntimeout 100\n.*)\1\z/s,
        qr/\A(:limit: --safe: no other limits.*\n){5}\z/,
        '--safe: a pipe keeps its limits');
}

# --- Mistakes -----------------------------------------------------------------

session(":stae\n:zzzzz\n:re\n:load\n:info\n:type\n:bench 1 + ]\n:bench foo()\n",
        '', <<'END', 'each is told what is amiss');
no command `:stae`; did you mean `:state`?
no command `:zzzzz`; `:help` lists them
`:re` may mean `:reload` or `:restore` or `:reset`; write more of it
:load: takes FILE [x=VALUE]
:info: takes NAME
:type: takes EXPR
<expression>:1:5: error[E0004]: expected an expression, found `]`
    1 | 1 + ]
      |     ^
  help: no bracket is open that it closes
<expression>:1:1: error[E0103]: `foo` is no constructor and no operator
    1 | foo()
      | ^^^
  help: a variable is written `%foo`, a function `@foo`
END
session("let %w = [1f, 2f]\n:bench %w + %w\ndef \@f() { print(1); 2 }\n"
            . ":bench 1 / 0\n:bench (1; 2)\n",
        qr/^(?:min .*, median .* \(\d+ calls\)\n){2}\z/, qr/E0602/,
        ':bench takes items');

# A command may be written by its letter, or by a beginning of its own.
session(":t 1 + 1\n:ty 2f\n:type True\n", "int32\nfloat32\nbool\n", '',
        'shortened commands');

# An entry, its result and the messages about it share a number, which those
# that fail and define nothing leave to the next.
session("1 + 2\nlet %x = 5\n%x * 2\n1 / 0\n)\n%zz\n%_3 + %_1\n1; 2\n"
            . "%_5_2 + %_5\nlet %y = 1 / 0\n%zz\n:entries\n", <<'END',
3
10
13
1
2
3
   1 1 + 2
   2 let %x = 5
   3 %x * 2
   4 %_3 + %_1
   5 1; 2
   6 %_5_2 + %_5
END
        qr/^<4>.*E0602.*^<4>.*E0004.*^<4>.*E0101.*^<7>.*E0602.*^<8>.*E0101/ms,
        'numbers of entries');

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
        qr/there is no type `Foo`\n.*\| Foo\n/, ':kind');

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
session("$nat\@n(200000)\n", qr/\AS\n└─ S\n.*└─ S of 199988 values\n\z/s,
        '', 'what is deep is counted');
my $tree = "type T { N, L(T, int32, T) }\ndef \@t(%d: int32) -> T "
         . "{ if (%d == 0) { N } else { L(\@t(%d - 1), %d, \@t(%d - 1)) } }\n";
session("$tree\@t(12)\n", qr/\AL\n(?!.*\.\.\.).*
        ^├─\ 12\n└─\ L\n(?:.*\n)+?\ {9}└─\ L\ of\ 765\ values\n\z/msx, '',
        'all branches equally deep');
gives(rly({in => "$matrix\n%m\n"}, 'repl', '--json'), 0,
      qr/^\{"dtype": "int32", "shape": \[2, 3\].*\}$/, '', '--json stays JSON');
gives(rly({in => "$matrix\nCons(%m, Nil)\n"}, 'repl', '--color=always'), 0,
      qr/^\e\[1mCons\e\[0m.*\e\[36mTensor\[\(2, 3\), int32\]\e\[0m/s, '',
      'colours where they are asked for');

# --- Settings ----------------------------------------------------------------

session(":set depth 1\n(1, (2, ones(shape=[2, 2], dtype=\"int8\")))\n:set\n",
        "tuple of 2\n├─ 1\n└─ tuple of 2 values\n"
            . "depth      1       levels of a tree\n"
            . "rows       64      rows of a value\n"
            . "width      auto    columns of a value; auto: the terminal's\n"
            . "precision  all     significant digits of floats\n"
            . "pager      on      for what is longer than the screen\n", '',
        ':set shows and changes settings');
session(":set depth 21\n:set depth x\n:set pager\n:set tiefe 3\n", '', <<'END',
:set: depth takes 1 to 20
:set: depth takes 1 to 20
:set: pager takes off or on
:set: takes depth, rows, width, precision or pager, or a cell's path and a value
END
        '... to what they take');
# 2/3 and 20000/3, rounded by hand.
session(":set precision 3\n2f / 3f\n[2f / 3f, 20000f / 3f, 0.5f]\n"
            . ":set precision all\n2f / 3f\n",
        "0.667f\nTensor[(3), float32] [0.667, 6670.0, 0.5]\n0.6666667f\n", '',
        '... and floats to so many digits');
my $set = spew(scratch('set.rly'), ":set width 30\n");
gives(rly({in => "arange(0f, 9f, 1f)\n"}, 'repl', '--startup', $set), 0,
      "Tensor[(9), float32]\n  9 elements, min 0, max 8, mean 4\n"
          . "[0.0, 1.0, 2.0, 3.0, 4.0, 5.0,\n 6.0, 7.0, 8.0]\n", '',
      '... also in the start-up file');

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
        qr/:plot:\ a\ single\ number.*:plot:\ there\ are\ no\ elements
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

# Several series, lists over time, how elements are distributed.
my $two = rly({in => ":plot [0f, 1f, 2f], [2f, 0f]\n"}, 'repl')->{out};
@rows = split /\n/, $two;
like($rows[0], qr/^ {9}2 ┤\++ +\*+$/, 'two series have one scale');
like($rows[12], qr/^ {12}0 +2$/, '... and one axis');
is($rows[13], '  * [0f, 1f, 2f]  min 0, max 2', 'the legend names them');
is($rows[14], '  + [2f, 0f]  min 0, max 2', '... all');
like($rows[11], qr/^ {9}0 ┤\*+ *\++ *$/, 'the shorter one ends earlier');
my $gates = 'List[([0f, 1f], 1f), ([1f, 0f], 3f), ([1f, 0f], nanf)]';
session(":heat $gates\n", <<'END', '', ':heat of a list is over time');
.0
  ████
██    
0    ░░░▒▒▓▓▓███ 1
.1
  ██??
1    ░░░▒▒▓▓▓███ 3
END
my $lists = rly({in => ":plot List[3, 1, 2]\n:plot ref([1f, 2f])\n"
                     . ":plot [[1, 2, 3], [3, 2, 1]]\n"}, 'repl')->{out};
like($lists, qr/^ +3 ┤.*^ {12}0 +2\n {9}2 ┤.*^  \* \[0\]  .*^  \+ \[1\]  /ms,
     ':plot of a list, of a cell, of rows');
my ($full, $third) = ('█' x 55, '█' x 18);
session(":hist [1, 1, 3, 1]\n", <<"END", '', ':hist of whole numbers');
         1 │$full 3
         2 │ 0
         3 │$third▍ 1
  4 elements, min 1, max 3, mean 1.5
END
my $hist = rly({in => ":hist [0f, 1f, nanf, 0.01f], [[2f], [2f]]\n"
                    . ":hist [-1.7e308f64, 1.7e308f64]\n"}, 'repl')->{out};
@rows = split /\n/, $hist;
is_deeply([@rows[0, 1, 2, 17 .. 19]],
          ['[0f, 1f, nanf, 0.01f]', "         0 │$full 2", '    0.0625 │ 0',
           '         1 ╵', '[[2f], [2f]]', "         2 │$full 2"],
          '... of others');
is_deeply([@rows[20, 21, 36]],
          [" -1.7e+308 │$full 1", '-1.49e+308 │ 0', '  1.7e+308 ╵'],
          '... whose range is no number');
session(":plot ones(shape=[2, 3, 4], dtype=\"int8\")\n:plot Nil\n"
            . ":plot Some(3)\n:plot ones(shape=[20, 3], dtype=\"int8\")\n"
            . ":plot \@map\n"
            . ":plot ones(shape=[100000000], dtype=\"int8\")\n:plot 1 / 0\n"
            . ":hist List[(1, True, Nil)]\n:heat 1f, 2f\n", '',
        qr/more\ than\ two\ axes.*no\ elements.*takes\ tensors,\ lists.*
           ^:plot:\ takes\ a\ vector.*^:plot:.*too\ many\ elements.*E0602.*
           ^:hist:\ the\ elements\ are\ no.*^:heat:\ a\ single/smx,
        'what cannot be drawn');
session(":plot $svg [0f, 1f], [1f < 2f, False]\n", '', '', 'several to a file');
like(slurp($svg), qr{#1f77b4.*#ff7f0e.*>\[1f &lt; 2f, False\]</text>}s,
     '... with a legend');
session(":hist $svg [1, 1, 2]\n", '', '', ':hist to a file');
is(() = slurp($svg) =~ /<rect x=/g, 2, '... with a bar for each number');

# --- Watches -----------------------------------------------------------------

session("let %w = 2;\nlet %y = %w * 10;\nlet %z = %y + 1;\n:watch %z\n:watch\n"
            . "let %w = 3;\n%y\nlet %other = 1;\nlet %y = 7;\n", <<'END', '',
watch 1: %z
21
1  %z
watch 1: %z
31
30
watch 1: %z
8
END
        ':watch computes again what lies between');
session("def \@f(%n: int32) { %n * 2 }\nlet \@g = 4;\ndef \@h() { \@f(\@g) }\n"
            . "let %k = \@h();\n:watch %k\ndef \@f(%n: int32) { %n * 3 }\n"
            . "let \@g = 5;\ntype T { A, B }\n", <<'END', '',
watch 1: %k
8
watch 1: %k
12
watch 1: %k
15
END
        '... also through functions');
session("$counter:watch ref_read(\@n)\n\@step()\n1\n:set \@n 9\n",
        qr/\Awatch 1: .*\n1\n2\nwatch 1: .*\n2\n1\nwatch 1: .*\n9\n\z/, '',
        '... shows cells when they change');
session("let %a = 1;\nlet %p = { print(%a); %a };\nlet %r = ref(%a);\n"
            . "let %b = 1;\nlet %c = %b;\nlet %b = %c + 1;\n"
            . ":watch (%p, ref_read(%r), %b)\nlet %a = 2;\nlet %c = 5;\n",
        qr/\A1\nwatch.*\n\(1,\ 1,\ 2\)\nwatch.*\n\(1,\ 1,\ 2\)\n
           watch.*\n\(1,\ 1,\ 6\)\n\z/x, '',
        '... leaves effects alone, and values of circles');
session(":watch print(1)\n:watch %none\n:watch :help\n:watch 1 +\n:unwatch 1\n"
            . "let %v = [1f];\n:watch :plot %v\nlet %v = 1f;\nlet %v = 0;\n"
            . ":unwatch 1\n:watch\nlet %v = [2f];\n:watch @{['1 + ' x 20]}\n",
        qr/\Awatch 1: :plot %v\n +1 ┤(?:.*\n)+nothing is watched\n\z/,
        qr/^:watch:\ this\ writes.*E0101.*^:watch:\ takes.*E0004.*^:unwatch:
           .*^:plot:\ a\ single.*^:plot:\ a\ single.*E0004/smx,
        'what cannot be watched');
{
  my $all = join '', map { ":watch $_\n" } 1 .. 17;
  my $run = rly({in => $all}, 'repl');
  like($run->{err}, qr/\A:watch: 16 are watched/, '... nor so much');
}

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
          $startup), 0,
      qr/^9\nmemory .*\ndepth 77\nsteps none\n.*\ntape 1G\n9\n\z/,
      qr/startup\.rly:4:1:\ error\[E0102\].*startup\.rly:6:1:\ error\[E0602\]
         .*no\ command/sx, 'what is wrong in a start-up file stops nothing');
gives(rly({in => "7\n"}, 'repl', '--startup', scratch('none.rly')), 1, "7\n",
      qr/none\.rly: No such file/, 'nor does one that is not there');
gives(rly({in => "7\n"}, 'repl', '--no-startup', '--startup', $startup), 0,
      "7\n", '', 'it can be left out');

# --- What is defined anew -----------------------------------------------------

session("type T { A, B }\nlet %t = A;\ntype T { A, C }\n"
        . "match (%t) { A => 1, C => 2 }\n", '',
        qr/E0403.*\n.*made\ with\ this\ `T`\n.*\n.*entered\ anew\ here/xs,
        'a value of a type that is no more, in a match');

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
session(<<'END', "1\n7\n", qr/\A<3>:1:26: warning\[W0003\].*`Y` is not.*\z/s,
type A { X(int32) }
type B = A
def @f(%b: B) -> int32 { match (%b) { X(%n) => %n } }
@f(X(1))
type A { X(int32), Y }
def @f(%b: B) -> int32 { match (%b) { X(%n) => %n, Y => 7 } }
@f(Y)
END
        'an alias means the new type');

# --- Limits and measures ------------------------------------------------------

my $deep = "def \@d(%n: int32) -> int32 "
         . "{ if (%n == 0) { 0 } else { 1 + \@d(%n - 1) } }\n";
session("$deep:limit depth 100\n\@d(1000)\n:limit depth none\n\@d(1000)\n",
        "1000\n", qr/E0702.*100 calls/, ':limit depth');
session(":limit tape-memory 2M\n:limit max-depth 9\n:limit\n",
        qr/^depth 9\n.*^tape 2M\n/ms, '', ':limit by the names of flags');
session(":limit memory 64M\nsum(zeros(shape=[1000, 100000], dtype=\"int32\"))\n"
            . ":limit memory 3G\n:limit timeout 2.5\n:limit\n",
        "memory 3G\ndepth 10000000\nsteps none\ntimeout 2.5\ntape 1G\n",
        qr/E0701/, ':limit memory');
session("$deep:limit steps 100\n\@d(1000)\n\@d(5)\n:limit steps none\n"
            . "\@d(1000)\n", "5\n1000\n", qr/E0707.* 100 /,
        ':limit steps, for each entry');
timed_session(sub {
  "$deep:limit timeout $_[0]\ndef \@l() -> int32 { \@l() }\n\@l()\n7\n"
}, qr/\A7\n\z/, qr/\A<\d+>:1:\d+: error\[E0703\](?!.*error\[)/s,
              ':limit timeout');
# A value of 60 cells that is printed as 2^60.
my $sharing = "type T { L(int32), N(T, T) }\n"
    . "def \@grow(%n: int32, %t: T) -> T "
    . "{ if (%n == 0) { %t } else { \@grow(%n - 1, N(%t, %t)) } }\n"
    . "let \@t = ref(\@grow(60, L(1)));\n";
session("$sharing:state\n",
        qr/\A\@t : ref\(T\[\]\) = .*than 1000000 .*than 10000 values/s, '',
        ':state shows the beginning of a value that shares its parts');
session("$sharing:watch \@t\n", qr/more than 10000 values/, '', '... :watch');
session("$sharing:dbg ref_read(\@t)\n", qr/^N\((?:N\()+.*\.\.\.\)+\n\z/m,
        '', '... :dbg');
session("$sharing:cost ref_read(\@t)\n", qr/in all\n\z/, '', '... :cost');

session(":limit space 3\n:limit depth x\n:limit steps 0\n", '',
        qr/\A(:limit: takes one of memory BYTES, .*tape BYTES, or .*\n){3}\z/,
        ':limit says what it takes');
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
   calls        flops        bytes    allocated  operator
       1        32768        11264         1024  nn.dense
       1          256         2048         1024  nn.relu
       2        33024        13312         2048  in all
END
session("$weights:cost nn.relu(nn.dense(%x, %w))\n:cost \@layer(%x, %w)\n",
        "$table${table}functions are called 1 time\n", '',
        ':cost, also where a function leaves shapes open');
# An LSTM of 7 steps, 2 sequences, 3 inputs, 5 units: each step multiplies by
# (4 * 5, 3 + 5) weights, a multiplication and an addition for each, and applies
# three sigmoids and two tanh.
my ($steps, $ones) = (7, 'ones(shape=');
my $lstm = "\@lstm(${ones}[7, 2, 3], dtype=\"float32\"), "
    . join(', ', map { "${ones}[$_], dtype=\"float32\")" }
               '2, 5', '2, 5', '20, 3', '20, 5', '20', '20') . ')';
# Of a product with itself 2,000 operations, and as many for the adjoint of each
# side.
session("def \@f(%x: Tensor[(10, 10), float32]) { sum(nn.dense(%x, %x)) }\n"
            . ":cost grad(\@f)(ones(shape=[10, 10]))\n",
        qr/^ +2 +4000 .* nn\.matmul\n +1 +2000 .* nn\.dense\n/m, '',
        ':cost of a gradient');
my $cost = rly({in => ":cost $lstm\n"}, 'repl')->{out};
my %row = map { reverse /^ +(\d+ +\d+) .* (\S+)$/ } split /\n/, $cost;
like($row{'nn.dense'}, qr/^\d+ +@{[2 * $steps * 2 * 20 * (3 + 5)]}$/,
     ':cost runs an LSTM by its shapes: products');
like($row{sigmoid}, qr/^21 +@{[21 * 2 * 5]}$/, '... functions');
like($row{tanh}, qr/^14 +@{[14 * 2 * 5]}$/, '... of each step');
like($cost, qr/^functions are called \d+ times\n\z/m,
     '... and nothing is left out');
session("def \@fact(%n: int32) -> int32 {"
            . " if (%n <= 1) { 1 } else { %n * \@fact(%n - 1) } }\n"
            . ":cost \@fact(5)\n"
            . ":cost \@map(fn (%v: int32) { print(%v); %v + 1 },"
            . " List[1, 2, 3])\nlet \@c = ref(0);\n:cost ref_write(\@c, 5)\n"
            . "\@c\n", <<'END', '', '... recursion, functions as values');
   calls        flops        bytes    allocated  operator
       5            5            0            0  less_equal
       4            4            0            0  subtract
       4            4            0            0  multiply
      13           13            0            0  in all
functions are called 5 times
   calls        flops        bytes    allocated  operator
       3            3            0            0  add
       3            3            0            0  in all
functions are called 7 times
   calls        flops        bytes    allocated  operator
       0            0            0            0  in all
ref(0)
END
my $big = "sum(${ones}[100, 100], dtype=\"float32\"))";
session("$weights:cost if ($big > 0f) { %x } else { \@layer(%x, %x) }\n",
        qr/\Awhat\ happens\ depends\ on\ values.*,\ at\ <expression>:1:5\n
           .*\ nn\.dense\n.*\ in\ all\n
           so\ each\ call\ is\ counted\ once,\ as\ its\ types\ tell\n
           of\ branches\ the\ dearer\ one\ is\ counted\n\z/sx, '',
        '... what values decide is said');
session("def \@r(%v: float32, %f: fn (float32) -> float32) -> float32 {"
            . " if (%v < 1f) { %v } else { \@r(%f(%v), %f) } }\n"
            . ":cost \@r($big, fn (%v: float32) { %v / 2f })\n"
            . "def \@u(%t: Tensor[(?), float32]) { %t + %t }\n"
            . ":cost fn (%t: Tensor[(?), float32]) { \@u(%t) }([1f])\n"
            . ":cost negative(argwhere([1, 0]))\n:cost 1 +\n:cost 1 / 0\n"
            . "param \@p: Tensor[(3), float32];\n:cost \@p + \@p\n",
        qr/a\ recursive\ call\ is\ counted\ once.*functions\ that\ are\ passed
           .*\ 12\ +4\ +add\n
           .*^\ +1\ +1\ +8\ +4\ +negative\n
           .*^it\ would\ fail:\ .*division\ by\ zero,\ at\ <expression>:1:1\n
           .*^it\ would\ fail:\ `p`\ has\ no\ value.*\ add\n/msx,
        qr/E0004/, '... and what fails');
my $huge = '1000000, 1000000';
timed_session(sub {
  "def \@r(%n: int32) -> int32 { \@r(%n + 1) }\n:limit timeout $_[0]\n"
  . ":cost \@r(3)\n:cost ${ones}[$huge], dtype=\"float32\") * 2f\n"
  . ":cost ${ones}[$huge, $huge], dtype=\"float32\")\n"
},
        qr/\ add\n.*^functions\ are\ called\ \d+\ times\n
           stopped\ after\ \d+\ steps:\ what\ is
           .*^\ +1\ +1000000000000\ .*\ multiply\n/msx, qr/E0/,
        '... never ends, or would not fit');
# 6 of 4 bytes, read and written.
session("let %x = arange(0f, 6f, 1f);\n:cost negative(%x)\n",
        qr/^\ +1\ +6\ +48\ +24\ \ negative\n/mx, '',
        '... and a shape that only the value has');

# --- What is written about a name ---------------------------------------------

session(":doc \@hd\n:doc map\n:doc relu\n:doc List\n:doc \@mpa\n",
        qr/^def\ \@hd\[A\].*^def\ \@map\[A,\ B\].*^nn\.relu\(data\)
           .*^type\ List\[A\]\ \{/msx,
        qr/^nothing is called `\@mpa` here; did you mean `\@map`\?$/, ':doc');
session("/// One.\n/// Two.\n\n1\n/// Three.\ndef \@f() { 3 }\n:doc \@f\n"
            . ":source f\nlet %v = [1, 2];\n:doc %v\n",
        "1\ndef \@f()\n  Three.\n// <3>:2\n/// Three.\ndef \@f() { 3 }\n"
            . "%v : Tensor[(2), int32]\n"
            . "  no doc comment: lines of `///` above the definition, <4>:1, "
            . "are one\n",
        '', 'a doc comment waits for its definition, unless a line is empty');
# With an operator stands what the program's texts say of it: the derivative
# that its text states, and rules on either side.
my $own = spew(scratch('own.rly'), <<'END');
/// Twice.
op @twice[s: Shape](%x: Tensor[s, float32]) -> Tensor[s, float32] = { %x + %x };
gradient @twice(%x) -> (%y, %g) { %g * 2f }
/// Made once.
rule @once(%x: float32) when pure(%x) { tanh(%x) + tanh(%x) } => {
  @twice(tanh(%x))
}
rule @other(%x: float32) { %x * 1f } => { %x }
END
session(":load $own\n:doc \@twice\n", <<'END', '', ':doc of an op');
op @twice[s: Shape](%x: Tensor[s, float32]) -> Tensor[s, float32] = { %x + %x }
  Twice.
  gradient @twice(%x) -> (%y, %g) { %g * 2f }
  /// Made once.
  rule @once(%x: float32) when pure(%x) { tanh(%x) + tanh(%x) } => {
    @twice(tanh(%x))
  }
END
session(":load $own\n:doc tanh\n",
        qr/^tanh\(data\)\n.*^  \/\/\/ Made once\.\n  rule \@once.*\n  }\n\z/ms,
        '', '... and of an operator that a rule calls');
session(":load $own\nop \@twice(%x: float32) -> float32 = { %x * 2f }\n"
          . ":doc \@twice\n",
        qr/^op \@twice\(%x: .*\n  no doc comment.*\n\z/m, '',
        '... and nothing of one that lost its name');
session(":names\ndef \@f() { 1 }\nlet %wa = 2;\ntype T { A }\n:names\n"
            . ":names w*\n:names zz\n3\n:names _*\n",
        "type T\n%wa : int32\n\@f : fn () -> int32\n%wa : int32\n3\n"
            . "%_4 : int32\n",
        "nothing is defined yet\nnothing of yours is called `zz`\n", ':names');
session(":explain\n1 +* 2\n:explain\n:explain 203\n:explain zzz\n",
        qr/^E0004 .*^E0203 /ms,
        qr/no error yet.*error\[E0004\].*no diagnostic `zzz`/s, ':explain');
session(":help cost\n:help :q\n:help zz\n",
        qr/\A:cost EXPR\n  \S.*\n    :cost \S.*\n:quit   also :q\n  leave\n\z/,
        qr/no command `:zz`/, ':help CMD');
session(":help nn.relu\n:help \@map\n:help where\n",
        qr/\Ann\.relu.*^def \@map.*^:where /ms, '',
        ':help of an operator and a function');
session(":ops image.res\n:ops zz\n", qr/\Aimage\.resize1d .*image\.resize /s,
        qr/no operator's name has `zz`/, ':ops PART');
session(":ops tanh\n", rly('ops', 'tanh')->{out}, '', ':ops NAME');

session(":doc \@hd \t\n", qr/\Adef \@hd/, '', 'a space that completion leaves');
session("assert(1 > 2)\n", '', qr/E0605\]: assertion failed\n/,
        'an assertion without words says one thing');

# --- Search by type, holes ---------------------------------------------------

session(":find List[nosuch]\n", '', qr/`nosuch`\n.*\| List\[nosuch\]\n/,
        ':find shows what was typed');
# Places are in what was typed, not in the text that is made of it.  Where the
# parameters of a function's type are added, blanks stand for its `fn`.
for ([':find List[nosuch]', 6, 'List[nosuch]'],
     [':find fn (List[A]) -> nosuch', 17, '   (List[A]) -> nosuch'],
     [':find fn (int32) -> nosuch', 15, 'fn (int32) -> nosuch'],
     [':find fn [k: Dim](nosuch) -> int8', 13, 'fn [k: Dim](nosuch) -> int8'],
     [':find 1 +', 1, '1 +'], [':kind List[nosuch]', 6, 'List[nosuch]'],
     [':kind 1 +', 1, '1 +']) {
  my ($entry, $column, $line) = @$_;
  session("$entry\n", '',
          qr/\A<expression>:1:$column: .*\n    1 \| \Q$line\E\n/,
          "the place of what is amiss in $entry");
}
session(":find fn(List[X]) -> X\n",
        qr/\A\@hd : fn \[A\]\(List\[A\]\) -> A\nof types that can be .*
\@length : fn \[A\]\(List\[A\]\) -> int32\n\@sum : .*
\@tensor_array_concat_float32 : .*\n\@tensor_array_stack_float32 : .*\n\z/,
        '', ':find, up to names');
session("def \@mine(%xs: List[int32]) -> int32 { 1 }\n"
            . ":find fn(List[int32]) -> int32\n", <<'END', '', '... and wider');
@mine : fn (List[int32]) -> int32
@sum : fn (List[int32]) -> int32
more general:
@hd : fn [A](List[A]) -> A
@length : fn [A](List[A]) -> int32
END
session("def \@rows_of[n: Dim, m: Dim](%x: Tensor[(n, m), int8])"
            . " -> List[Tensor[(m), int8]] { Nil }\n"
            . ":find fn(Tensor[(i, j), int8]) -> List[Tensor[(j), int8]]\n"
            . ":find nat\n",
        qr/^\@rows_of : .*^\@nat_add : /ms, '',
        ':find by shapes, by result');
my $kinds = <<'END';
def @halved[s: Shape, d: Float](%x: Tensor[s, d]) -> Tensor[s, d] {
  %x * cast(0.5, dtype=d)
}
def @only[n: Dim, d: Int](%x: Tensor[(n), d]) -> Tensor[(1), d] {
  take(%x, [0], axis=0)
}
END
session("$kinds:find fn(Tensor[(n, 3), float64]) -> Tensor[(n, 3), float64]\n",
        qr/\Amore general:
\@halved : fn \[s: Shape, d: Float\]\(.*\n\@gelu : .*\n\@id : .*/,
        '', ':find tries functions of kinds');
session("$kinds:find fn [k: Dim](Tensor[(k), int8]) -> Tensor[(1), int8]\n",
        qr/\Amore general:\n\@only : fn \[n: Dim, d: Int\].*\nof types /, '',
        '... whose dtype fits');
session("$kinds:find fn(Tensor[(n), int8]) -> (int8, int8)\n"
            . ":find fn(Tensor[(4), float16]) -> Tensor[(2), int8]\n",
        '', "no function has such a type\n" x 2, '... and none that does not');
session("$kinds:find Tensor[(1), uint8]\n",
        qr/^\@only : /m, '', '... and by their result');
session(":find fn(uint16, uint16) -> float64\n:find fn(Foo) -> 1\n:find\n", '',
        qr/^no function has such a type\n.*E0004.*:find: takes TYPE/ms,
        ':find refuses');
session("let %v = [1f, 2f];\nlet %n = True;\nnn.relu(_)\n"
            . "if (_) { 1 } else { 2 }\n",
        '', qr/E0215.*`data`\ of\ `nn\.relu`.*in\ scope\ fit.*`%v`
               .*E0215.*of\ type\ bool.*in\ scope\ fits\ `%n`\ \(bool\)/sx,
        'a hole says what is wanted and what fits');

# --- Stopped, not dead --------------------------------------------------------

my $inner = <<'END';
def @inner(%x: Tensor[(?), float32], %n: int32) -> Tensor[(?), float32] {
  let %y = %x * 2f;
  if (%n == 0) { assert(sum(%y) < 0f, message="no"); %y }
  else { @inner(%y, %n - 1) + 1f }
}
def @outer(%k: int32) { let %w = @inner([1f, 2f], %k); sum(%w) }
END
session("$inner\@outer(40)\n:where\n", qr/\A>\ \ 0\ \ \@inner\ at\ <1>:3:18
          \n\ +%n\ =\ 0\ \(int32\)\n.*^\ \ \ 1\ \ \@inner\ at\ <1>:4:\d+\n.*
          ^\ +\.\.\.\ 39\ more\ like\ this\n\ \ 41\ \ \@outer\ at\ .*
          %k\ =\ 40\ \(int32\)\n\z/msx,
        qr/E0605[^!]*\n  in \@inner at <1>:3:18\n  in .*
  \.\.\. 39 more like this\n/,
        ':where lists functions, those alike once; so does the trace');
session("$inner\@outer(1)\n:where\nsum(%y)\n%n + 10\n:up\n%n + 10\n%nope\n"
            . ":down\n:down\nlet %z = 5;\n%z\n:up\n",
        qr/^12f\n10\n>  1  \@inner.*^11\n>  0.*^5\n\z/ms,
        qr/variable\ `%nope`.*the\ innermost\ function.*
           nothing\ is\ stopped/msx, ':up and :down, and expressions there');
session("let \@c = ref(5);\n"
            . "def \@bump() { ref_write(\@c, 6); 1 / (ref_read(\@c) - 6) }\n"
            . "\@bump()\n:where\nref_read(\@c)\nref_write(\@c, 3)\n:leave\n"
            . "ref_read(\@c)\n",
        qr/\A> .*\n6\n6\n\z/, qr/E0602.*would change a cell/s,
        'an entry that changes cells is seen again on a copy');
session(":where\n1\n:where\n:leave\n", "1\n",
        qr/\A(nothing is stopped.*\n){3}\z/, 'nothing is stopped');

done_testing();
