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

my %pack = (I32 => 'l<*', I64 => 'q<*', I8 => 'c*', I16 => 's<*', U8 => 'C*');
my %suffix = (I32 => '', I64 => 'i64', I8 => 'i8', I16 => 'i16', U8 => 'u8');
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

sub literal {
  my ($dtype, $shape, $bytes) = @{$_[0]};
  my @all = map { $_ . $suffix{$dtype} } unpack $pack{$dtype}, $bytes;
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

my (%left, $static);
my @cases = one_in(2, 0, sort glob 'tests/conformance/ops/dyn.*.rly');
cmp_ok(scalar @cases, '>', 2, 'there are cases');
for my $case (@cases) {
  my $stem = $case =~ s/\.rly$//r;
  my %inputs = inputs("$stem.safetensors");
  my %computed = computed($case);
  my $text = slurp($case);
  my ($params) = $text =~ /def \@main\((.*?)\)(?: ->[^{]*)? \{\n/s or next;
  my (@kept, @lets, @floats);
  for my $name ($params =~ /%(\w+):/g) {
    my $in = $inputs{$name};
    push @floats, $name if $computed{$name} && !$pack{$in->[0]};
    push @lets, "  let %$name = " . literal($in) . ";\n"
      if $computed{$name} && $pack{$in->[0]};
    push @kept, "%$name: Tensor[(" . join(', ', @{$in->[1]})
      . "), $dtype{$in->[0]}]" if !$computed{$name} || !$pack{$in->[0]};
  }
  if (@floats) {
    $left{$stem =~ s/.*\/(dyn\.[\w.]*?)__.*/$1/r}++;
    next;
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

# Scales, and lengths that Relay lets be floats: the checker keeps values of
# integers only.
is_deeply([grep { !/^dyn\.(nn\.upsampling|nn\.upsampling3d|tile|topk)$/ }
             keys %left], [], 'only floats stay computed');

done_testing;
