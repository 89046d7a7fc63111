#!/usr/bin/env perl
# Derivatives by both machines: the VM, which records what operators do on a
# tape, and the small-step machine, which follows back where tensors came from
# and knows neither tapes, stretches, levels nor checkpoints.  They share the
# rules and the kernels, and must agree on every bit.  The long form is
# `make fuzz-grad`.
use strict;
use warnings;
use lib 'tests/t', 'fuzz';
use Rly;
use Smooth;
use Test::More;

my $differ = $ENV{RLY} =~ s{rly$}{fuzz/differ}r;
plan skip_all => "no $differ" unless -x $differ;

# What differ says of files, in order: "the same", "DIFFERENT" ...
sub verdicts {
  my $steps = is_release() ? 300_000 : 20_000;
  open my $out, '-|', $differ, '--steps', $steps, @_ or die "$differ: $!\n";
  my @verdicts = map { /^\S+\.rly: (.+)$/ ? $1 : () } <$out>;
  close $out;
  return @verdicts;
}

# Functions that are drawn: both derivatives, and each over the first.
my @seeds = 1 .. (is_release() ? 250 : 25);
is(join(' ', smooth_duels($differ, @seeds)), '', 'functions that are drawn');

# A difference is told of: the VM refuses this, since the code of @first
# does not know the type of the scalar.
my $refused = spew(scratch('refused.rly'), <<'END');
def @first[A, B](%p: (A, B)) -> A { %p.0 }
def @first_by(%first: fn[A, B]((A, B)) -> A, %p: (float32, int32), %x: float32)
    -> float32 {
  %first(%p) * %x
}
let %scalars = (3f, 1);
grad(fn (%x: float32) { @first_by(@first, %scalars, %x) })(2f);
END
is_deeply([verdicts($refused)], ['DIFFERENT'], 'a difference is seen');

# What passes through stop_gradient, what a rule of one's own makes a constant,
# and constants that linear operators are given.
my $constants = spew(scratch('constants.rly'), <<'END');
grad(fn (%x: float64) {
  let %f = stop_gradient(fn (%y: float64) { %x * %y });
  %f(1f64)
})(2f64);
grad(fn (%x: float64) {
  let %p = stop_gradient((%x, fn (%y: float64) { %x * %y }));
  %p.0 * %p.1(1f64)
})(2f64);
jvp(fn (%x: float64) {
  with_vjp(fn (%p: float64) { %x * %p },
           fn (%a: float64, %b: float64, %g: float64) { (%g,) })(1f64)
}, (2f64,), (1f64,));
jvp(fn (%x: float64) { %x * cast_like(5, %x) }, (1f64,), (1f64,));
jvp(fn (%x: float64) {
  if (%x > 0f64) { cast_like(True, %x) } else { %x }
}, (1f64,), (1f64,));
jvp(grad(fn (%v: Tensor[(2), float64]) { mean(%v) * mean(%v) }),
    ([4f64, 2f64],), ([1f64, 0f64],));
END
is_deeply([verdicts($constants)], ['the same'], 'what is a constant');

# Products and rows wait for what a stretch of operators gives and reads itself:
# they come after what its own operators add.  One is found where the other
# machine meets it, whether the branch is there or not.
my $waiting = spew(scratch('waiting.rly'), <<'END');
let %x = reshape(sin(arange(0f, 9f, 1f)), newshape=[3, 3]);
let %g = reshape(cos(arange(0f, 9f, 1f)), newshape=[3, 3]);
vjp(fn (%x: Tensor[(3, 3), float32]) {
  let %a = transpose(%x);
  sigmoid(%a) + (if (True) { nn.dense(%a, %a) } else { %a })
}, %x).1(%g);
vjp(fn (%x: Tensor[(3, 3), float32]) {
  let %a = transpose(%x);
  let %b = sigmoid(%a) + nn.dense(%a, %a);
  %b + (if (True) { nn.dense(%a, %a) } else { %a })
}, %x).1(%g);
vjp(fn (%x: Tensor[(3), float32]) {
  let %a = tanh(%x) * 0.7f;
  sin(%a) + sum(if (True) { tanh(%g + %a) } else { %g }, axis=[0])
}, [0.1f, 0.7f, -0.3f]).1([0.9f, 0.2f, 0.4f]);
jvp(fn (%x: Tensor[(3, 3), float32]) {
  vjp(fn (%x: Tensor[(3, 3), float32]) {
    let %a = transpose(%x);
    sigmoid(%a) + (if (True) { nn.dense(%a, %a) } else { %a })
  }, %x).1(%g).0
}, (%x,), (%g,));
END
is_deeply([verdicts($waiting)], ['the same'], 'what waits for a result');

# The items of a file that are no mistakes.  An item ends with a line that ends
# with `;` or `}` and begins with no blank; what is expected of it follows.
sub good_items {
  my (@items, $item);
  for my $line (split /^/, slurp($_[0])) {
    if (!defined $item && $line =~ m{^\s*(?://.*)?$}) {
      $items[-1][1] ||= $line =~ /expect.*error/ if @items;
      next;
    }
    $item .= $line;
    next unless $line =~ m{^(?:\S.*)?[;\}]\s*(?://.*)?$};
    push @items, [$item, $line =~ m{//.*expect.*error}];
    undef $item;
  }
  return map { $_->[1] ? () : $_->[0] } @items;
}

# Loops of a million steps take the small-step machine too long.
my $count = 0;
for my $path (glob 'tests/gradient/*.rly') {
  my @items = good_items($path);
  my $good = spew(scratch($path =~ s{.*/}{}r), @items);
  my ($verdict) = verdicts($good);
  like($verdict, qr/^(?:the same|too long)$/, $path);
  $count += @items if $verdict eq 'the same';
}
cmp_ok($count, '>', is_release() ? 350 : 150, 'most items were compared');

for my $path (glob 'examples/gradbench/*.rly') {
  like((verdicts($path))[0], qr/^(?:the same|too long)$/, $path);
}

done_testing;
