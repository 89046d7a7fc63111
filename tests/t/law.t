#!/usr/bin/env perl
# The law, by random chunkings of random recurrent models: whole, in chunks,
# step by step and a row of the batch alone give the same bits; so do every
# instruction set of the machine, and one thread and two.  So do chains of
# element-wise operators and Fourier transforms that are large enough for
# threads to share them.
#
# Why bits and not a bound: a stream may be cut anywhere, at a place that the
# sender chooses and the model cannot see, so a difference of one bit between
# two ways to cut would make a result depend on when packets happened to arrive,
# and a fault could not be replayed.  The models are random because the
# interesting chunkings are those nobody would write down, such as a chunk of
# one step after one of seven.  The generator of random numbers is our own, so
# that a failure seen on one machine can be seen on any.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $seed = 20;

# 0 .. $n - 1, from a generator of our own, the same on every machine.
sub random {
  my ($n) = @_;
  $seed = ($seed * 1_103_515_245 + 12_345) % 2**31;
  return ($seed >> 8) % $n;
}

# --- Models -----------------------------------------------------------------

# One row a layer: its gates, the tensors of its state by the names of their
# sizes (the first is what the layer gives), the shape of an extra weight.
my %layers = (
  lstm      => {gates => 4, states => [qw(h c)]},
  lstm_proj => {gates => 4, states => [qw(p c)], extra => ['p', 'h']},
  gru       => {gates => 3, states => [qw(h)]},
  rnn_tanh  => {gates => 1, states => [qw(h)]},
  rnn_relu  => {gates => 1, states => [qw(h)]},
);

# Random sizes: of the input, hidden state, projection, batch and steps.
sub sizes {
  my %size = (i => 1 + random(20), h => 1 + random(40), b => 1 + random(5),
              t => 2 + random(12));
  $size{c} = $size{h};
  $size{p} = 1 + random($size{h});
  return \%size;
}

# Numbers in (-1, 1) by a formula of the language, different for each name.
my $numbers = <<'RLY';
def @numbers(%n: int32, %from: float32) -> Tensor[(?), float32] {
  sin(cast(arange(0, %n, 1), dtype="float32") * 1.7 + %from)
}
def @same(%a: Tensor[(?), int32], %b: Tensor[(?), int32]) -> () {
  assert(all(%a == %b), message="other bits")
}
def @bits2(%a: Tensor[(?, ?), float32]) -> Tensor[(?), int32] {
  reshape(reinterpret(%a, dtype="int32"), newshape=[-1])
}
def @bits3(%a: Tensor[(?, ?, ?), float32]) -> Tensor[(?), int32] {
  reshape(reinterpret(%a, dtype="int32"), newshape=[-1])
}
RLY

my $from = 0;

sub tensor {
  my ($name, @shape) = @_;
  my $count = 1;
  $count *= $_ for @shape;
  $from += 3;
  return sprintf 'let @%s = reshape(@numbers(%d, %df), newshape=[%s]);' . "\n",
                 $name, $count, $from, join ', ', @shape;
}

# Lengths of random chunks, %t in all.
sub chunks {
  my ($t) = @_;
  my @lengths;
  while ($t > 0) {
    my $n = 1 + random($t);
    push @lengths, $n;
    $t -= $n;
  }
  return @lengths;
}

# --- Programs ---------------------------------------------------------------

# Runs the layer over chunks of these lengths, named %$name_0, %$name_1 ...
# and checks y and the last state against those of @whole.
sub chunked {
  my ($name, $call, $states, @lengths) = @_;
  my ($text, $t, @ys) = ('', 0);
  my @state = map { "\@$_" . '0' } @$states;
  for my $i (0 .. $#lengths) {
    my $var = "%${name}_$i";
    my $end = $t + $lengths[$i];
    $text .= "let $var = " . $call->("take(\@x, arange($t, $end, 1), axis=0)",
                                     @state) . ";\n";
    @state = map { "$var.$_" } 1 .. @$states;
    push @ys, "$var.0";
    $t = $end;
  }
  my $y = @ys > 1 ? 'concatenate((' . join(', ', @ys) . '), axis=0)' : $ys[0];
  $text .= "\@same(\@bits3($y), \@bits3(\@whole.0));\n";
  $text .= "\@same(\@bits2($state[$_ - 1]), \@bits2(\@whole.$_));\n"
    for 1 .. @$states;
  return $text;
}

# A program that fails where the law is broken; its result is the whole run.
sub program {
  my ($layer, $size) = @_;
  my ($i, $h, $b, $t, $p) = @{$size}{qw(i h b t p)};
  my $row = $layers{$layer};
  my ($g, $states) = ($row->{gates} * $h, $row->{states});
  my $hidden = $size->{$states->[0]};
  my @weights = qw(w_ih w_hh b_ih b_hh);
  my $text = $numbers . tensor('x', $t, $b, $i) . tensor('w_ih', $g, $i)
    . tensor('w_hh', $g, $hidden) . tensor('b_ih', $g) . tensor('b_hh', $g);
  $text .= tensor($_ . '0', $b, $size->{$_}) for @$states;
  if ($row->{extra}) {
    $text .= tensor('w_hr', map { $size->{$_} } @{$row->{extra}});
    push @weights, 'w_hr';
  }
  my $call = sub {
    return "\@$layer(" . join(', ', @_, map { "\@$_" } @weights) . ')';
  };
  my @start = map { "\@$_" . '0' } @$states;
  $text .= 'let @whole = ' . $call->('@x', @start) . ";\n";
  $text .= chunked('chunk', $call, $states, chunks($t));
  $text .= chunked('step', $call, $states, (1) x $t);

  my $one = random($b);
  my $alone = $call->("take(\@x, [$one], axis=1)",
                      map { "take($_, [$one], axis=0)" } @start);
  $text .= "let %row = $alone;\n"
    . "\@same(\@bits3(%row.0), \@bits3(take(\@whole.0, [$one], axis=1)));\n";
  return $text . "\@whole;\n";
}

# Chains over rows, which are views of one tensor: all of them together and
# some alone; a row and a column are repeated.
sub chain {
  my ($rows, $columns) = @_;
  my ($gates, $count) = (2 * $columns, $rows * $columns);
  my ($from, $to) = sort { $a <=> $b } random($rows), random($rows);
  $to++;
  my $cut = "begin=[$from], end=[$to], axes=[0]";
  return $numbers . <<'RLY' . <<"RLY";
def @chain(%gates: Tensor[(?, ?), float32], %row: Tensor[(?), float32],
           %column: Tensor[(?, 1), float32]) -> Tensor[(?, ?), float32] {
  let %two = split(%gates, indices_or_sections=2, axis=1);
  let %state = sigmoid(%two.0) * %row + tanh(%two.1 / %column);
  where(%state > 0f, exp(%state) - 1f, %state * %column)
}
RLY
let \@gates =
  reshape(\@numbers(2 * $count, 1f), newshape=[$rows, $gates]);
let \@row = \@numbers($columns, 2f);
let \@column = reshape(\@numbers($rows, 3f), newshape=[$rows, 1]);
let \@whole = \@chain(\@gates, \@row, \@column);
\@same(\@bits2(strided_slice(\@whole, $cut)),
      \@bits2(\@chain(strided_slice(\@gates, $cut), \@row,
                    strided_slice(\@column, $cut))));
sum(\@bits2(\@whole) * arange(0, $count, 1));
RLY
}

# Fourier transforms: a frame of a recording alone, and a row of several.
sub spectrum {
  my ($rows, $frames, $n) = @_;
  my ($row, $frame) = (random($rows), random($frames));
  my ($hop, $width) = (1 + random($n), 1 + random($n));
  my $length = $n + ($frames - 1) * $hop;
  my ($from, $to) = ($frame * $hop, $frame * $hop + $n);
  my $cut = "begin=[$row, $from], end=[" . ($row + 1) . ", $to]";
  my $how = "n_fft=$n, hop_length=$hop, win_length=$width";
  return $numbers . <<"RLY";
let \@audio = reshape(\@numbers($rows * $length, 1f),
                     newshape=[$rows, $length]);
let \@window = \@numbers($width, 2f);
let \@whole = stft(\@audio, \@window, $how);
let \@alone = stft(strided_slice(\@audio, $cut), \@window, $how);
\@same(\@bits2(take(take(\@whole, $frame, axis=2), $row, axis=0)),
      \@bits2(take(take(\@alone, 0, axis=2), 0, axis=0)));
let \@both = dft(\@audio, cos(\@audio));
let \@one = take(\@audio, [$row], axis=0);
let \@lone = dft(\@one, cos(\@one));
\@same(\@bits2(take(\@both.1, [$row], axis=0)), \@bits2(\@lone.1));
sum(reinterpret(\@whole, dtype="int32"));
sum(reinterpret(\@both.0, dtype="int32"));
RLY
}

# --- Runs -------------------------------------------------------------------

# The instruction sets of this machine; rly refuses the others.
my @isas = grep {
  local $ENV{RLY_ISA} = $_;
  rly('-e', '1')->{status} == 0;
} qw(generic avx2 avx512 neon);
ok(@isas > 0, "instruction sets: @isas");

# With every instruction set, on one thread and on two.
sub runs_alike {
  my ($what, $file) = @_;
  my %bytes;
  for my $isa (@isas) {
    for my $threads (1, 2) {
      local $ENV{RLY_ISA} = $isa;
      my $run = rly('run', $file, '--threads', $threads, '--json');
      ok($run->{status} == 0, "$what, $isa, threads $threads")
        or diag($run->{out}, $run->{err});
      push @{$bytes{$run->{out}}}, "$isa/$threads";
    }
  }
  is(scalar keys %bytes, 1, '... and all of them the same')
    or diag(join "\n", map { "@$_" } values %bytes);
}

for my $layer (sort keys %layers) {
  for my $round (1 .. 3) {
    my $size = sizes();
    my $sizes = join ' ', map { "$_=$size->{$_}" } sort keys %$size;
    runs_alike("\@$layer, $sizes",
               spew(scratch("$layer.rly"), program($layer, $size)));
  }
}

for my $rows (1, 3, 800) {
  my $columns = 100 + int(100_000 / $rows);
  runs_alike("a chain, $rows x $columns",
             spew(scratch('chain.rly'), chain($rows, $columns)));
}

for my $shape ([1, 1, 5], [3, 4, 70], [2, 40, 64]) {
  my ($rows, $frames, $n) = @$shape;
  runs_alike("a spectrum, $rows x $frames frames of $n",
             spew(scratch('spectrum.rly'), spectrum($rows, $frames, $n)));
}

done_testing();
