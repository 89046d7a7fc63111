#!/usr/bin/env perl
# The library's recurrent layers against PyTorch's results, and the programs of
# bench/ against known results or results computed here in Perl's doubles.
#
# The layers' conventions are where recurrent code goes wrong: the order of the
# gates, where the second bias goes, what a bidirectional layer does with its
# last state.  All of these give plausible numbers when they are wrong.  So the
# expected results are those of another implementation, stored with their inputs
# under tests/reference/rnn/, and small enough to be kept.
use strict;
use warnings;
use lib 'tests/t';
use List::Util qw(sum);
use Rly;
use Test::More;

# Runs an entry of a file on tensors; the results' tensors, undef on failure.
sub results {
  my ($file, $inputs, @args) = @_;
  my $out = scratch('out.safetensors');
  my $run = rly('run', $file, '--inputs', $inputs, '--outputs', $out, @args);
  return tensors($out) if ok($run->{status} == 0, "$file @args");
  diag($run->{err});
  return;
}

# --- Layers -----------------------------------------------------------------

# A file of tests/reference/rnn/ binds to the parameters of an entry of
# `program`; the results are the tensors named.
sub agrees {
  my ($program, $entry, $name, $args, @results) = @_;
  my $path = "tests/reference/rnn/$name.safetensors";
  my $found = results("tests/reference/$program.rly", $path, '--entry', $entry,
                      @$args) or return;
  my $expected = tensors($path);
  for my $i (0 .. $#results) {
    my ($e, $f) = ($expected->{$results[$i]}, $found->{"out$i"});
    is_deeply($f->{shape}, $e->{shape}, "the shape of $results[$i]");
    near($f->{data}, $e->{data}, 1e-5, $results[$i]);
  }
}

# The library's layer; then the same over a list, unrolled and streamed.
for (
  [qw(lstm_l1 y hn cn)], [qw(lstm_batch_first_nobias y hn cn)],
  [qw(lstm_l2_bi y hn cn)], [qw(lstm_proj y hn cn)], [qw(gru_l1 y hn)],
  [qw(gru_l2_bi y hn)], [qw(rnn_relu_l1 y hn)], [qw(rnn_tanh_l2 y hn)],
) {
  my ($name, @results) = @$_;
  agrees('layers', $name eq 'lstm_proj' ? 'lstm_proj_l1' : $name, $name, [],
         @results);
  agrees('forms', $name, $name, ["form=$_"], @results) for 1 .. 3;
}
agrees('layers', 'treelstm_childsum', 'treelstm_childsum', [], qw(h c));
agrees('layers', "lstm_l1_$_", 'lstm_l1', [], qw(y hn cn))
  for qw(list unrolled);

# --- Control flow -----------------------------------------------------------

for (
  [fib => 'n=30', 832_040],
  [loop => 'i=1000', 'acc=0', 142 * (1 + 2 + 3 + 4 + 5 + 6) + 21],
  [maplist => 'k=3', 'n=100', 'acc=0', 100 * 101 / 2 + 100],
  [bintree => 'd=10', 2**10],
  [queens => 'n=8', 92],
) {
  my ($entry, @args) = @$_;
  my $expected = pop @args;
  gives(rly('run', 'bench/control.rly', '--entry', $entry, @args), 0,
        "$expected\n", '', "\@$entry, @args");
}

# --- LSTMs ------------------------------------------------------------------

my $state = 1;

# A tensor of small multiples of 2^-12, which float32 holds exactly.
sub random_tensor {
  my ($name, @shape) = @_;
  my $count = 1;
  $count *= $_ for @shape;
  my @data = map {
    $state = ($state * 1_103_515_245 + 12_345) % 2**31;
    (($state >> 12) % 513 - 256) / 4096;
  } 1 .. $count;
  return [$name, 'F32', [@shape], \@data];
}

sub sigmoid { return 1 / (1 + exp -$_[0]) }
sub tanh { return 2 * sigmoid(2 * $_[0]) - 1 }

# w x for a row-major w.
sub product {
  my ($w, $x) = @_;
  my $n = @$x;
  return map {
    my ($sum, $row) = (0, $_ * $n);
    $sum += $w->[$row + $_] * $x->[$_] for 0 .. $n - 1;
    $sum;
  } 0 .. @$w / $n - 1;
}
sub added {
  my ($a, @others) = @_;
  return map { my $i = $_; sum($a->[$i], map { $_->[$i] } @others) } 0 .. $#$a;
}

sub lstm_step {
  my ($x, $h, $c, $w) = @_;
  my $n = @$h;
  my @g = added([product($w->{w_ih}, $x)], [product($w->{w_hh}, $h)], $w->{b});
  my @c2 = map {
    sigmoid($g[$n + $_]) * $c->[$_] + sigmoid($g[$_]) * tanh($g[2 * $n + $_])
  } 0 .. $n - 1;
  return ([map { sigmoid($g[3 * $n + $_]) * tanh($c2[$_]) } 0 .. $n - 1],
          \@c2);
}

sub lstm_loop {
  my ($file, $steps, $in, $hidden) = @_;
  my @rows = (random_tensor('xs', $steps, 1, $in),
              random_tensor('h', 1, $hidden), random_tensor('c', 1, $hidden),
              random_tensor('w_ih', 4 * $hidden, $in),
              random_tensor('w_hh', 4 * $hidden, $hidden),
              random_tensor('b', 4 * $hidden));
  my $inputs = spew(scratch('in.safetensors'), safetensors(@rows));
  my $found = results($file, $inputs, "n=$steps") or return;
  my %w = map { $_->[0] => $_->[3] } @rows;
  my ($h, $c) = @w{qw(h c)};
  for my $t (0 .. $steps - 1) {
    my @x = @{$w{xs}}[$t * $in .. ($t + 1) * $in - 1];
    ($h, $c) = lstm_step(\@x, $h, $c, \%w);
  }
  near($found->{out0}{data}, $h, 1e-5, 'its h');
  near($found->{out1}{data}, $c, 1e-5, 'its c');
}

lstm_loop('bench/lstm_loop_small.rly', 20, 40, 64);
lstm_loop('bench/lstm_loop.rly', 1, 300, 512);

# --- A Tree-LSTM ------------------------------------------------------------

# (h, c) of a full tree of that depth.
sub tree_node {
  my ($depth, $w) = @_;
  my $x = $w->{x};
  my @children = $depth ? (tree_node($depth - 1, $w)) x 2 : ();
  my @h = added([(0) x 150], map { $_->[0] } @children);
  my @g = added([product($w->{w_iou}, $x)], [product($w->{u_iou}, \@h)],
                $w->{b_iou});
  my @kept = map {
    my ($child, @f) = ($_, added([product($w->{w_f}, $x)], $w->{b_f},
                                 [product($w->{u_f}, $_->[0])]));
    [map { sigmoid($f[$_]) * $child->[1][$_] } 0 .. 149];
  } @children;
  my @c = added([map { sigmoid($g[$_]) * tanh($g[300 + $_]) } 0 .. 149],
                @kept);
  return [[map { sigmoid($g[150 + $_]) * tanh($c[$_]) } 0 .. 149], \@c];
}

my @rows = (random_tensor('x', 1, 300),
            random_tensor('w_iou', 450, 300), random_tensor('u_iou', 450, 150),
            random_tensor('b_iou', 450), random_tensor('w_f', 150, 300),
            random_tensor('u_f', 150, 150), random_tensor('b_f', 150));
my $inputs = spew(scratch('in.safetensors'), safetensors(@rows));
my $found = results('bench/treelstm.rly', $inputs, 'd=2');
my $expected = tree_node(2, {map { $_->[0] => $_->[3] } @rows});
near($found->{"out$_"}{data} // [], $expected->[$_], 1e-5,
     'its ' . (qw(h c))[$_]) for 0, 1;

done_testing();
