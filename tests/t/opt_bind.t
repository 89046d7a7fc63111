#!/usr/bin/env perl
# --bind-shape and --bind: a program for shapes and values of its parameters
# does what the program for any does, called with such operands.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $path = scratch('p.rly');
my $made = scratch('made.rly');

sub bound {
  my ($program, @flags) = @_;
  return rly('opt', @flags, spew($path, $program));
}
sub refused {
  my ($program, $flags, $error, $name) = @_;
  for my $command (qw(opt check dump)) {
    gives(rly($command, @$flags, spew($path, $program)), 1, '', $error,
          "$command: $name");
  }
}

# --- Shapes -------------------------------------------------------------------

my $rows = 'def @main[n: Dim](%x: Tensor[(n, 3), float32],
          %y: Tensor[(n), float32])
    -> Tensor[(?, ?), float32] {
  let %z: Tensor[(?), float32] = %y * cast(n, dtype="float32");
  let %f = fn [n: Dim](%a: Tensor[(n,), float32]) -> Tensor[(n,), float32] {
    %a + cast(n, dtype="float32")
  };
  %x + reshape(%f(%z), newshape=[n, 1])
}
';
my @operands = ('x=[[1, 2, 3], [4, 5, 6]]', 'y=[7, 8]');
my $wanted = rly('run', spew($path, $rows), @operands)->{out};
is($wanted, "Tensor[(2, 3), float32]\n" .
   "[[17.0, 18.0, 19.0],\n [22.0, 23.0, 24.0]]\n", 'by hand: x + (y * 2 + 2)');
for my $level (qw(-O0 -O1 -O2)) {
  my $opt = bound($rows, $level, '--bind-shape', 'x=(2,3)');
  unlike($opt->{out}, qr/\?|%x: Tensor\[\(n/, "$level: no dimension is open");
  like($opt->{out}, qr/^  %y: Tensor\[\(2\), float32\]/m,
       'what follows for another parameter');
  gives(rly('check', '--static', spew($made, $opt->{out})), 0, '', '',
        "$level: static");
  gives(rly('run', $made, @operands), 0, $wanted, '', "$level: the same bits");
}
isnt(rly('check', '--static', $path)->{status}, 0, 'which it was not before');
gives(rly('check', '--static', '--bind-shape', 'x=(2,3)', $path), 0, '', '',
      'check takes the flag');
gives(rly({in => $rows}, 'dump', '--ir', '-', '--bind-shape', '%x = ( 2, 3, )'),
      0, bound($rows, '-O0', '--bind-shape', 'x=(2,3)')->{out}, '',
      'dump, stdin, blanks');

# Shapes, dtypes, sums of dimensions, aliases, attributes.
my $generic = 'type Any = Tensor[?, float32];
def @k[s: Shape, n: Dim, d: DType](%x: Tensor[(s..., n), d], %y: Any)
    -> Tensor[(s..., n + 1), d] {
  let %q = %y + 1f;
  concatenate((%x, reshape(%x, newshape=[s..., n])), axis=-1)
    |> strided_slice(begin=[0, 0], end=[9, n + 1])
}
let %x = [[1i8, 2i8], [3i8, 4i8]];
@k(%x, 0f);
';
my $k = bound($generic, '--entry', '@k', '--bind-shape', 'x=(2,2)',
              '--bind-shape', 'y=()');
my $head = "def \@k[d: DType](%x: Tensor[(2, 2), d], %y: float32)";
like($k->{out}, qr/^\Q$head\E/m,
     'a shape, and a scalar');
gives(rly(spew($made, $k->{out})), 0,
      "Tensor[(2, 3), int8]\n[[1, 2, 1],\n [3, 4, 3]]\n", '', 'by hand');

# Params, and the parameters of Relay's text of a lone expression.
like(bound("param \@w: Tensor[?, float32];\ndef \@f() { \@w + 1f }\n",
           '--bind-shape', 'w=(2, 5)')->{out},
     qr/-> Tensor\[\(2, 5\), float32\]/, 'a param');
like(bound('free_var %x: Tensor[(?, 4), float32]; %x + 1f', '--bind-shape',
           'x=(3,4)')->{out}, qr/-> Tensor\[\(3, 4\)/, 'a free variable');

# What may hold other shapes later stays open.
my $cell = 'def @main(%x: Tensor[(?), float32]) {
  let %c: Ref[Tensor[(?), float32]] = ref(%x);
  ref_write(%c, concatenate((%x, %x)));
  ref_read(%c)
}
';
like(bound($cell, '--bind-shape', 'x=(2)')->{out},
     qr/%c: ref\(Tensor\[\(\?\), float32\]\)/, 'a cell keeps its type');

# --- Values -------------------------------------------------------------------

my $file = scratch('w.safetensors');
my $npy = scratch('y.npy');
rly('-e', '[7f, 8f];', '--outputs', $npy);
my $value = bound($rows, '--bind', "y=$npy");
gives(rly('run', spew($made, $value->{out}), $operands[0]), 0, $wanted, '',
      'a value: the parameter is gone, and the result the same');
like($value->{out}, qr/^def \@main\(%x: Tensor\[\(2, 3\), float32\]\)/m,
     'its shape tells that of another');
rly('-e', '([1f, 2f], 3i8);', '--outputs', $file);
my $weights = "def \@main() { \@out0 + 1f }\n" .
              "param \@out0: Tensor[(2), float32];\n";
gives(rly('run', spew($made, bound($weights, '--bind', "out0=$file")->{out})),
      0, "Tensor[(2), float32] [2.0, 3.0]\n", '', 'a param by its name');
gives(rly('opt', spew($path, $weights), '--bind', "out0=$npy"), 0,
      qr/let \@out0: Tensor\[\(2\), float32\] = \[7f, 8f\];/, '',
      'the only tensor of a file');

# --- Mistakes -----------------------------------------------------------------

for my $case (
  ['zzz=(1)', qr/^--bind-shape:1:1: error\[E0541\].*there are %x, %y/s],
  ['x=(2)', qr/^--bind-shape:1:3: .*E0542.* has 2 dim.*p\.rly:1:23/s],
  ['x=(2,4)', qr/error\[E0542\].*dimension 1 is 3 in its type/],
  ['x=(2,3', qr/^--bind-shape:1:7: error\[E0540\]: expected `,` or `\)`/],
  ['x=(2,3)4', qr/error\[E0540\]: expected the end/],
  ['x=(2,-3)', qr/^--bind-shape:1:6: error\[E0540\]: expected a number/],
  ['x=(99999999999999999999,3)', qr/error\[E0540\]: expected a smaller/],
  ['x=(' . '1,' x 40 . ')', qr/error\[E0540\]: expected `\)`/],
  ['=(2)', qr/error\[E0540\]: expected the name/], ['', qr/error\[E0540\]/],
  ['x', qr/error\[E0540\]: expected `=`/],
  ['@x=(2,3)', qr/error\[E0541\]/],
) {
  my ($text, $error) = @$case;
  refused($rows, ['--bind-shape', $text], $error, "`$text`");
}
refused($rows, ['--bind-shape', 'x=(2,3)', '--bind-shape', 'y=(4)'],
        qr/`n` is 4 here, but 2 by what is given elsewhere.*given here/s,
        'two numbers for one name');
refused($rows, ['--bind-shape', 'x=(2,3)', '--bind-shape', 'x=(2,3)'],
        qr/error\[E0541\]: `x` is given twice.*here first/s, 'twice');
refused($rows, ['--bind-shape', 'x=(2,3)', '--entry', 'mian'],
        qr/error\[E0102\]: there is no function `\@mian`/, 'no such entry');
refused("def \@main(%x) { %x + 1 }\n", ['--bind-shape', 'x=()'],
        qr/error\[E0542\]: `x` has no type/, 'no type');
refused("def \@main(%x: (int32, int32)) { %x.0 }\n", ['--bind-shape', 'x=()'],
        qr/error\[E0542\]: `x` is no tensor/, 'no tensor');
refused($rows, ['--bind', 'y=' . scratch('none.npy')],
        qr/error\[E0501\]: cannot read/, 'no file');
refused($rows, ['--bind', "y=" . spew(scratch('bad.npy'), 'nothing')],
        qr/error\[E0502\]/, 'a file that is none');
refused($rows, ['--bind', "y=$file"],
        qr/error\[E0542\]: .* has 2 tensors, but none of the name `y`/,
        'a file without that name');
rly('-e', '[7, 8];', '--outputs', $npy);
refused($rows, ['--bind', "y=$npy"],
        qr/the value of `y` is of int32, and its type of float32/,
        'another dtype');
refused("def \@main(%x: Tensor[(?), float32]) { \@g(%x) }\n" .
        "def \@g(%x: Tensor[(2), float32]) { %x }\n",
        ['--bind-shape', 'x=(3)'], qr/p\.rly:1:.*error\[E02/s,
        'what the program does not take');
# Inner functions keep their own names.
like(bound("def \@main[n: Dim](%x: Tensor[(n), float32]) {\n" .
           "  let %f = fn [n: Dim](%a: Tensor[(n, 2), float32]) { %a };\n" .
           "  (%x, %f([[1f, 2f]]))\n}\n",
           '-O0', '--bind-shape', 'x=(7)')->{out},
     qr/fn \[n: Dim\]\(%a: Tensor\[\(n, 2\)/, 'a name that is declared anew');
is(rly('opt', spew($path, $rows), '--bind-shape', 'x=(2,3)', '-O2', '--verify')
   ->{status}, 0, '--verify');

done_testing();
