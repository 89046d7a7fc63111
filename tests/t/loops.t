#!/usr/bin/env perl
# Loops of scalars and tensors, whose steps share a record and find what they
# need in a cache (vm/stretch_loop.c): the same bits as where each operator has
# a record of its own, which --nan-stop asks for, and as where parts are run
# again.
#
# Programs are drawn: some variables of two dtypes go round, scalars and
# vectors; what a step makes of them is drawn, and so is what it leaves alone.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my %letter = (float32 => 'f', float64 => 'f64');

sub pick { return $_[rand @_] }

sub dtype_of { return $_[0] =~ s/.*(float\d+).*/$1/r }
sub is_vector { return $_[0] =~ /Tensor/ }
sub vector_of { return "Tensor[(3), $_[0]]" }

sub constant {
  my ($type) = @_;
  my $number = sprintf('%.2f%s', rand(2) - 1, $letter{dtype_of($type)});
  my $c = $number =~ s/^-(.*)/(-$1)/r;
  return is_vector($type) ? "[$c, $c, $c]" : $c;
}

# A constant, a variable of the type, or what becomes of one of another type.
sub leaf {
  my ($type, $vars) = @_;
  return constant($type) if rand() < 0.15;
  my $x = pick(sort keys %$vars);
  my $from = $vars->{$x};
  my $dtype = dtype_of($type);
  $x = "cast($x, dtype=\"$dtype\")" if dtype_of($from) ne $dtype;
  return $x if is_vector($from) == is_vector($type);
  return is_vector($type) ? "broadcast_to($x, shape=[3])" : "mean($x)";
}

# An expression whose value lies between -1.5 and 1.5 if those of the variables
# do.
sub expr {
  my ($type, $vars, $depth) = @_;
  return leaf($type, $vars) if $depth == 0 || rand() < 0.15;
  my ($a, $b) = map { expr($type, $vars, $depth - 1) } 1, 2;
  my $one = '1' . $letter{dtype_of($type)};
  return pick("tanh($a)", "sin($a + $b)", "tanh($a * $b)", "$a * cos($b)",
              "$a / ($one + $a * $a + $b * $b)", "maximum($a, $b)",
              "where($a < $b, $b, sin($a))", "tanh($a - $b * $b)",
              "sigmoid($a) * $b", "negative($a)");
}

# What variable `name` is after a step: often something new, else itself,
# another one, or now and then a constant.
sub next_value {
  my ($name, $vars) = @_;
  my $type = $vars->{$name};
  my $kind = rand();
  return expr($type, $vars, 1 + int rand 3) if $kind < 0.7;
  return $name if $kind < 0.8;
  return pick(grep { $vars->{$_} eq $type } sort keys %$vars) if $kind < 0.9;
  return "(if (%n - %n / 9 * 9 == 4) { stop_gradient($name) } else { "
      . expr($type, $vars, 1) . ' })';
}

# A value of the type, of one of these numbers or all three.
sub value_of {
  my ($type, @numbers) = @_;
  my @elements = map { $_ . $letter{dtype_of($type)} } @numbers;
  return is_vector($type) ? '[' . join(', ', @elements) . ']' : $elements[0];
}
sub drawn_value {
  return value_of($_[0], map { sprintf '%.3f', rand } 1 .. 3);
}

sub draw {
  my @carried = map {"%x$_"} 0 .. int rand 4;
  my @types = ('float32', 'float32', 'float64');
  my $vectors = pick(0, 1, 2); # none, some, all
  push @types, map { vector_of($_) } @types if $vectors == 1;
  @types = map { vector_of($_) } @types     if $vectors == 2;
  my %vars = ('%p' => pick(@types), '%q' => pick(@types),
              map { $_ => pick(@types) } @carried);
  my @order = (@carried, '%p', '%q');
  my $params = join ', ', map {"$_: $vars{$_}"} @order;
  my $step = sub {
    my %known = %vars;
    my $lets = '';
    for my $k (0 .. int rand 3) {
      my $type = pick(@types);
      $lets .= "    let %t$k = " . expr($type, \%known, 2) . ";\n";
      $known{"%t$k"} = $type;
    }
    my @to = map { next_value($_, {%known, $_ => $vars{$_}}) } @carried;
    return "$lets    " . '@go(' . join(', ', '%n - 1', @to, '%p', '%q') . ')';
  };
  my $body = $step->();
  $body = "    if (%n - %n / 3 * 3 == 1) {\n" . $step->()
      . "\n} else {\n$body }" if rand() < 0.3;
  my $scalar = sub { is_vector($vars{$_[0]}) ? "sum($_[1])" : $_[1] };
  my $sum = join ' + ',
      map { 'cast(' . $scalar->($_, $_) . ', dtype="float64")' } @order;
  my $n = 5 + int rand 120;
  my $last = @order - 1;
  my $call = join ', ', @order;
  my $values = join ', ', map { drawn_value($vars{$_}) } @order;
  my $tangents = join ', ',
      map { value_of($vars{$_}, ('0.5', '0.25', '0.125')) } @order;
  my $first = $scalar->($order[0], '%first.0');
  my $other = $scalar->($order[-1], "%first.$last");
  return <<END;
def \@go(%n: int32, $params) -> float64 {
  if (%n == 0) { $sum } else {
$body
  }
}
grad(fn ($params) { \@go($n, $call) })($values);
let %back = vjp(fn ($params) { \@go($n, $call) }, $values).1;
(%back(1f64), %back(0.3f64));
jvp(fn ($params) { \@go(9, $call) }, ($values), ($tangents));
grad(fn ($params) {
  let %first = grad(fn ($params) { \@go(7, $call) })
      ($call).1;
  cast($first, dtype="float64") * cast($other, dtype="float64")
})($values);
END
}

my ($programs, @wrong, $loops) = (is_release() ? 60 : 12);
srand 31;
for my $i (0 .. $programs - 1) {
  my $program = spew(scratch('drawn.rly'), draw());
  my $alone = rly('run', '--json', '--nan-stop', $program);
  if ($alone->{status} != 0) {
    push @wrong, "program $i: $alone->{err}" . slurp($program);
    last;
  }
  for my $memory ('1G', 1, 3000, 20000) {
    my $run = rly('run', '--json', '--tape-memory', $memory, $program);
    push @wrong, "program $i, tape of $memory: $run->{err}$run->{out}"
        . slurp($program)
        if $run->{status} || $run->{out} ne $alone->{out};
  }
}
is(join("\n", @wrong), '', "$programs loops give the same bits");

done_testing;
