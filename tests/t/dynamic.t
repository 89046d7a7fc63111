#!/usr/bin/env perl
# DynamicToStatic over the reference's dyn.* cases, each with the values of its
# shapes in the text: every shape is then known before the program runs, and the
# results are the same bits.  What is bound is what the JSON of the case says
# that attributes are computed from.
use strict;
use warnings;
use lib 'tests/t';
use JSON::PP ();
use Rly;
use Test::More;

my %pack = (I32 => 'l<*', I64 => 'q<*', I8 => 'c*', I16 => 's<*', U8 => 'C*',
            F16 => 'S<*', F32 => 'f<*', F64 => 'd<*');
my %suffix = (I32 => '', I64 => 'i64', I8 => 'i8', I16 => 'i16', U8 => 'u8',
              F16 => 'f16', F32 => 'f', F64 => 'f64');
my %dtype = (I32 => 'int32', I64 => 'int64', I8 => 'int8', I16 => 'int16',
             U8 => 'uint8', F16 => 'float16', F32 => 'float32',
             F64 => 'float64', BOOL => 'bool');

# The inputs of a case: name => [dtype, shape, bytes].
sub inputs {
  my $bytes = slurp($_[0]);
  my $length = unpack 'Q<', $bytes;
  my $header = JSON::PP->new->decode(substr $bytes, 8, $length);
  delete $header->{__metadata__};
  return map {
    my ($from, $to) = @{$header->{$_}{data_offsets}};
    ($_ => [$header->{$_}{dtype}, $header->{$_}{shape},
            substr($bytes, 8 + $length + $from, $to - $from)])
  } keys %$header;
}

# A normal number of 16 bits, or zero.
sub half {
  my ($bits) = @_;
  my ($sign, $exponent, $fraction) = ($bits >> 15, $bits >> 10 & 31,
                                      $bits & 1023);
  return 0 if !$exponent && !$fraction;
  return (-1) ** $sign * (1 + $fraction / 1024) * 2 ** ($exponent - 15);
}

sub literal {
  my ($dtype, $shape, $bytes) = @{$_[0]};
  my @all = unpack $pack{$dtype}, $bytes;
  @all = map { half($_) } @all if $dtype eq 'F16';
  @all = map { sprintf('%.17g', $_) . $suffix{$dtype} } @all;
  return $all[0] if !@$shape;
  return '[' . join(', ', @all) . ']' if @$shape == 1;
  my $rows = $shape->[1];
  return '[' . join(', ', map {
    '[' . join(', ', @all[$_ * $rows .. ($_ + 1) * $rows - 1]) . ']'
  } 0 .. $shape->[0] - 1) . ']';
}

# The variables that attributes of the program are computed from.
sub computed {
  my $d = JSON::PP->new->utf8->decode(
    rly('dump', '--format', 'json', $_[0])->{out});
  my %names;
  for my $call (grep { $_->{attrs} } @{$d->{nodes}}) {
    for my $value (map { $_->{value} } @{$call->{attrs}}) {
      next if ref $value ne 'HASH' || !exists $value->{node};
      my $node = $d->{nodes}[$value->{node}];
      $names{$node->{name}} = 1 if $node->{kind} eq 'var';
    }
  }
  return %names;
}

my $static = 0;
# In these slices of the reference's tests, bounds are computed from a parameter
# or from what non-maximum suppression found, so that no constant decides them.
my $by_values = qr{/dyn\.strided_slice__reference_};
my @cases = one_in(2, 0, grep { !/$by_values/ }
                            sort glob 'tests/conformance/ops/dyn.*.rly');
cmp_ok(scalar @cases, '>', 2, 'there are cases');
for my $case (@cases) {
  my $stem = $case =~ s/\.rly$//r;
  my %inputs = inputs("$stem.safetensors");
  my %computed = computed($case);
  my $text = slurp($case);
  my ($params) = $text =~ /def \@main\((.*?)\)(?: ->[^{]*)? \{\n/s or next;
  my (@kept, @lets);
  for my $name ($params =~ /%(\w+):/g) {
    my $in = $inputs{$name};
    push @lets, "  let %$name = " . literal($in) . ";\n" if $computed{$name};
    push @kept, "%$name: Tensor[(" . join(', ', @{$in->[1]})
      . "), $dtype{$in->[0]}]" if !$computed{$name};
  }
  $text =~ s/def \@main\(.*?\)(?: ->[^{]*)? \{\n/
             "def \@main(" . join(', ', @kept) . ") {\n" . join('', @lets)/es;
  my $bound = spew(scratch('bound.rly'), $text);
  my $made = rly('opt', '--passes', 'DynamicToStatic', $bound);
  my $file = spew(scratch('made.rly'), $made->{out});
  my $check = rly('check', '--static', $file);
  my @run = ('--inputs', "$stem.safetensors");
  my $same = rly('run', $file, @run)->{out} eq rly('run', $case, @run)->{out};
  $static += !$check->{status};
  ok(!$check->{status} && $made->{out} !~ /dyn\./ && $same, $case)
    or diag("$text\n$made->{out}$made->{err}$check->{err}");
}

is($static, scalar @cases, 'all become static');

# --- The suites ---------------------------------------------------------------

# How many programs `check --static` accepts: as they are, after the pass, and
# after it for the shapes of the inputs that an operator's case comes with.
# docs/PASSES.md has the counts, which SWEEP compares.
sub bound_shapes {
  my ($case) = @_;
  my $file = $case =~ s/\.rly$/.safetensors/r;
  return () unless -e $file;
  my %inputs = inputs($file);
  my ($params) = slurp($case) =~ /def \@main\((.*?)\)(?: ->[^{]*)? \{\n/s or
    return ();
  return map { ('--bind-shape', "$_=(" . join(',', @{$inputs{$_}[1]}) . ')') }
         grep { $inputs{$_} } $params =~ /%(\w+): Tensor\[/g;
}
sub accepts { return !rly('check', '--static', @_)->{status} }
my (%count, @lost);
my $table = slurp('docs/PASSES.md');
for my $suite (['the language', 'lang'], ['operators', 'ops']) {
  my ($name, $folder) = @$suite;
  my @counts = (0, 0, 0, 0);
  for my $case (one_in(100, 7, sort glob "tests/conformance/$folder/*.rly")) {
    next if rly('check', $case)->{status};
    my $after = spew(scratch('after.rly'),
                     rly('opt', '--passes', 'DynamicToStatic', $case)->{out});
    my @is = (1, accepts($case), accepts($after),
              accepts($after, bound_shapes($case)));
    push @lost, $case if $is[1] && !$is[2] || $is[2] && !$is[3];
    $counts[$_] += $is[$_] for 0 .. 3;
  }
  cmp_ok($counts[1], '>', 0, "programs of $name are static");
  my $row = "| $name | " . join(' | ', @counts) . " |\n";
  like($table, qr/^\Q$row\E/m, "the table's row of $name") if $ENV{SWEEP};
}
is("@lost", '', 'no program is less static than before');

done_testing;
