#!/usr/bin/env perl
# The rule of each operator against differences of its values.
#
# The cases of the operators' conformance suite are programs of one operator
# with inputs that another program drew.  Each is written in float64 and
# differentiated at these inputs, along a direction t and with an adjoint v:
#
#   v . (f(x + h t) - f(x - h t)) / 2h = v . jvp(f, x, t) = t . vjp(f, x)(v)
#
# A case counts if its differences to both sides agree: at a kink or a jump
# they tell nothing.  Each operator with a rule has a case that counts, or
# stands in the list below; no derivative is refused.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

# cast_like and simulated_quantize take their dtype from an operand that is
# float32 here; the others have no case of floats.
my %without = map { $_ => 1 } qw(cast_like image.resize scatter_add
    nn.avg_pool2d_grad relay.op.annotation.simulated_quantize);

my $h = '1e-5f64';
my $support = <<'END';
def @along[s: Shape](%x: Tensor[s, float64], %k: float64)
    -> Tensor[s, float64] {
  let %n = cast(arange(ndarray_size(%x)), dtype="float64");
  reshape_like(sin(%n * 1.7f64 + %k), %x)
}
END

sub is_float { return $_[0] =~ /^(?:float64|Tensor\[.*, float64\])$/ }

# The parts of "A, (B, C)", which stand in no brackets of their own.
sub parts {
  my ($text) = @_;
  my ($depth, @parts) = (0, '');
  for my $c (split //, $text) {
    $depth++ if $c =~ /[(\[]/;
    $depth-- if $c =~ /[)\]]/;
    if ($c eq ',' && $depth == 0) { push @parts, '' }
    else { $parts[-1] .= $c }
  }
  return grep { length } map { s/^\s+|\s+$//gr } @parts;
}

# The sum of products, pair by pair.
sub dot { return join(' + ', map { "sum($_->[0] * $_->[1])" } @_) || '0f64' }

# The program that computes the three numbers; undef where the case has nothing
# to differentiate.
sub checking {
  my ($text) = @_;
  $text =~ s/\bfloat32\b/float64/g;
  $text =~ s/(?<![\w.])(\d+(?:\.\d*)?(?:e[-+]?\d+)?)f\b/$1f64/g;
  my ($type) = rly('check', '--types', spew(scratch('case.rly'), $text))->{out}
      =~ /^\@main : fn (.*)$/m or return undef;
  my ($given, $result) = $type =~ /^(\(.*\)) -> (.*)$/ or return undef;
  my @types = parts(substr $given, 1, -1);
  my ($params) = $text =~ /def \@main\((.*?)\)\s*(?:->[^{]*)?\{/s;
  my @names = $params =~ /(%\w+):/g;
  my @floats = grep { is_float($types[$_]) } 0 .. $#types;
  return undef if @names != @types || !@floats;
  my $tuple = $result =~ /^\(/;
  my @results = $tuple ? parts(substr $result, 1, -1) : ($result);
  my @outs = grep { is_float($results[$_]) } 0 .. $#results;
  return undef if !@outs;

  my $of = sub { my ($v, $i) = @_; return $tuple ? "$v.$i" : $v };
  my $at = sub {
    my ($step) = @_;
    my %moved = map { $_ => "%p$_ + $step * %t$_" } @floats;
    return '@main(' . join(', ', map { $moved{$_} // $names[$_] } 0 .. $#types)
        . ')';
  };
  my %float = map { $_ => 1 } @floats;
  my @points = map { $float{$_} ? "%p$_" : $names[$_] } 0 .. $#types;
  my @seeds = map {
    my $y = $of->('%y', $_);
    is_float($results[$_]) ? "\@along($y, 0.3f64)" : "zeros_like($y)";
  } 0 .. $#results;
  my @tangents = map { $float{$_} ? "%t$_" : "zeros_like($names[$_])" }
                 0 .. $#types;
  my $comma = @types == 1 ? ',' : '';
  my $head = $params =~ s/\bfloat64\b/float32/gr;
  my $lets = join '', map {
    "  let %p$_ = cast($names[$_], dtype=\"float64\");\n"
        . "  let %t$_ = \@along(%p$_, $_.1f64);\n"
  } @floats;
  my $seed = $tuple ? '(' . join(', ', @seeds) . (@seeds == 1 ? ',)' : ')')
                    : $seeds[0];
  my $back = dot(map { ["%a.$_", "%t$_"] } @floats);
  my $jvp = "jvp(\@main, (@{[join ', ', @points]}$comma), "
          . "(@{[join ', ', @tangents]}$comma)).1";
  my $differences = sub {
    my ($of_result) = @_;
    return dot(map { [$of->('%seed', $_), $of_result->($_)] } @outs);
  };
  my $slope = $differences->(sub {
    return '(' . $of->('%up', $_[0]) . ' - ' . $of->('%down', $_[0]) . ')';
  });
  my $bend = $differences->(sub {
    my ($up, $y, $down) = map { $of->($_, $_[0]) } qw(%up %y %down);
    return "($up - $y + ($down - $y))";
  });
  my $forth = $differences->(sub { return $of->($jvp, $_[0]) });
  return "$text\n$support" . "def \@check($head) {\n$lets"
      . "  let %v = vjp(\@main, @{[join ', ', @points]});\n"
      . "  let %y = %v.0;\n"
      . "  let %seed = $seed;\n"
      . "  let %a = %v.1(%seed);\n"
      . "  let %up = @{[$at->($h)]};\n  let %down = @{[$at->(\"-$h\")]};\n"
      . "  (($slope) / (2f64 * $h), ($bend) / $h, "
      . "$forth, $back)\n}\n";
}

my $number = qr/(-?\d[\d.]*(?:e[-+]?\d+)?)f64/;

# 'right', or what is wrong; undef where there is nothing to compare.
sub verdict {
  my ($case) = @_;
  my $program = checking(slurp($case)) // return undef;
  my $run = rly('run', '--entry', 'check', spew(scratch('check.rly'), $program),
                '--inputs', $case =~ s/rly$/safetensors/r);
  return "refused: $run->{err}"
      if $run->{status} && $run->{err} =~ m{E0609|gradients/|E07};
  my @found = $run->{out} =~ /^\($number, $number, $number, $number\)$/
      or return undef;
  my ($d, $bend, $j, $v) = @found;
  # The derivative lies between the slopes to both sides, which differ by $bend:
  # a cubic's second derivative jumps at elements.
  my $most = 1e-6 * (1 + abs($d) + abs($v)) + abs($bend) / 2;
  return undef if abs($bend) > 1e-3 * (1 + abs($d));
  return "differences $d, vjp $v" if abs($d - $v) > $most;
  return "differences $d, jvp $j" if abs($d - $j) > $most;
  return 'right';
}

my %cases;
for my $case (sort glob 'tests/conformance/ops/*.rly') {
  my ($op) = $case =~ m{/([^/]*?)__};
  push @{$cases{$op}}, $case if defined $op;
}
my @ops = grep { ($_->{gradient} // '') eq 'rule' }
          @{json(rly('ops', '--json')->{out})};
# Those that are their operand: tests/gradient/notes.rly.
$without{$_->{name}} = 1 for grep { $_->{identity} } @ops;
my ($count, @wrong, @lacking) = 0;
for my $op (map { $_->{name} } is_release() ? @ops : sample(@ops)) {
  my $right = 0;
  for my $case (@{$cases{$op} // []}) {
    my $verdict = verdict($case) // next;
    my ($name) = $case =~ m{([^/]*)\.rly$};
    if ($verdict eq 'right') { $right++ }
    else { push @wrong, "$name: $verdict" }
  }
  $count += $right;
  push @lacking, $op if !$right && !$without{$op};
}
is(join("\n", @wrong), '', "$count cases: the derivatives of differences");
is("@lacking", '', 'each operator with a rule has a case');

done_testing;
