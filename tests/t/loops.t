#!/usr/bin/env perl
# Loops of scalars, whose steps share a record and find what they need in a
# cache (vm/stretch_loop.c): the same bits as where each operator has a record
# of its own, which --nan-stop asks for, and as where parts are computed again.
#
# Programs are drawn: some variables of two dtypes go round, what a step makes
# of them is drawn, and so is what it leaves as it is.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my %letter = (float32 => 'f', float64 => 'f64');

sub pick { return $_[rand @_] }

# A constant, a variable of the dtype, or of another one.
sub leaf {
  my ($dtype, $vars) = @_;
  return sprintf('%.2f%s', rand(2) - 1, $letter{$dtype}) =~ s/^-(.*)/(-$1)/r
      if rand() < 0.15;
  my $name = pick(sort keys %$vars);
  return $vars->{$name} eq $dtype ? $name : "cast($name, dtype=\"$dtype\")";
}

# An expression whose value lies between -1.5 and 1.5 if those of the variables
# do.
sub expr {
  my ($dtype, $vars, $depth) = @_;
  return leaf($dtype, $vars) if $depth == 0 || rand() < 0.15;
  my ($a, $b) = map { expr($dtype, $vars, $depth - 1) } 1, 2;
  my $one = "1$letter{$dtype}";
  return pick("tanh($a)", "sin($a + $b)", "tanh($a * $b)", "$a * cos($b)",
              "$a / ($one + $a * $a + $b * $b)", "maximum($a, $b)",
              "where($a < $b, $b, sin($a))", "tanh($a - $b * $b)",
              "sigmoid($a) * $b", "negative($a)");
}

# What variable `name` is after a step: often something new, else itself,
# another one, or now and then a constant.
sub next_value {
  my ($name, $vars) = @_;
  my $dtype = $vars->{$name};
  my $kind = rand();
  return expr($dtype, $vars, 1 + int rand 3) if $kind < 0.7;
  return $name if $kind < 0.8;
  return pick(grep { $vars->{$_} eq $dtype } sort keys %$vars) if $kind < 0.9;
  return "(if (%n - %n / 9 * 9 == 4) { stop_gradient($name) } else { "
      . expr($dtype, $vars, 1) . ' })';
}

sub draw {
  my @carried = map {"%x$_"} 0 .. int rand 4;
  my %vars = ('%p' => 'float32', '%q' => 'float64',
              map { $_ => pick('float32', 'float32', 'float64') } @carried);
  my @order = (@carried, '%p', '%q');
  my $params = join ', ', map {"$_: $vars{$_}"} @order;
  my $step = sub {
    my %known = %vars;
    my $lets = '';
    for my $k (0 .. int rand 3) {
      my $dtype = pick('float32', 'float64');
      $lets .= "    let %t$k = " . expr($dtype, \%known, 2) . ";\n";
      $known{"%t$k"} = $dtype;
    }
    my @to = map { next_value($_, {%known, $_ => $vars{$_}}) } @carried;
    return "$lets    " . '@go(' . join(', ', '%n - 1', @to, '%p', '%q') . ')';
  };
  my $body = $step->();
  $body = "    if (%n - %n / 3 * 3 == 1) {\n" . $step->()
      . "\n} else {\n$body }" if rand() < 0.3;
  my $sum = join ' + ', map {"cast($_, dtype=\"float64\")"} @order;
  my $n = 5 + int rand 120;
  my $last = @order - 1;
  my $call = join ', ', @order;
  my $values = join ', ', map { sprintf '%.3f%s', rand, $letter{$vars{$_}} }
      @order;
  my $tangents = join ', ', map { '0.5' . $letter{$vars{$_}} } @order;
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
  cast(%first.0, dtype="float64") * %first.$last
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
