#!/usr/bin/env perl
# Programs do the same at -O0, after each pass alone, after all of them, after
# random sequences and at -O2: those of the conformance suites, as `rly` runs
# them, with what they print and their errors; generated ones as rly opt
# --verify runs them, which also calls each function with samples.  A sample of
# both here; `make pass-agree` takes every program of the suites, and
# AGREE_SEEDS generated ones (from AGREE_FROM on).
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $all = $ENV{AGREE_ALL};
my $seeds = $ENV{AGREE_SEEDS} // 1;
my $from = $ENV{AGREE_FROM} // 1;
(my $differ = $ENV{RLY}) =~ s{rly$}{fuzz/differ};

my @passes = grep { /^[A-Z]/ } map { /^(\S+)/ }
             split /\n/, rly('passes')->{out};
cmp_ok(scalar @passes, '>=', 20, 'there are passes');
my $path = scratch('p.rly');
my $made = scratch('made.rly');

# In a sample a program takes some of the ways, another one others.
sub ways {
  my ($number, $most) = @_;
  srand $number;
  my @ways = (['-O0'], ['-O1'], ['-O2'], ['--passes', join ',', @passes],
              map { ['--passes', $_] } @passes);
  push @ways, ['--passes', join ',', map { $passes[rand @passes] } 1 .. 6]
    for 1 .. 2;
  return @ways unless $most;
  return @ways[map { ($number * $most + $_) % @ways } 0 .. $most - 1];
}

# Places move, and what a value has to fit may get a name, so an error is its
# code and message without these.
sub does {
  my ($file) = @_;
  my $run = rly('--timeout', 20, $file);
  my ($error) = $run->{err} =~ /(error\[E\d+\]: .*)/;
  return "$run->{status}\n$run->{out}" .
         ($error // '') =~ s/which does not fit the \w+'s/which does not fit/r;
}

sub agrees {
  my ($case, @ways) = @_;
  my $was = does($case);
  my @other;
  for my $way (@ways) {
    my $opt = rly('opt', @$way, $case);
    spew($made, $opt->{out});
    push @other, "@$way: $opt->{err}"
      if $opt->{status} || does($made) ne $was;
  }
  return @other;
}

my @cases = (sort(glob 'tests/conformance/lang/*.rly'),
             sort(glob 'tests/conformance/ops/*.rly'),
             sort(glob 'tests/run/*.rly'));
my $every = $all ? 1 : is_release() ? 300 : 1200;
my ($checked, @other) = 0;
for my $i (grep { $_ % $every == 0 } 0 .. $#cases) {
  next if rly('check', $cases[$i])->{status};
  $checked++;
  my @ways = ways($i, $all ? 0 : 6);
  push @other, "$cases[$i]: $_\n" for agrees($cases[$i], @ways);
}
is("@other", '', "$checked programs of the suites do the same");
cmp_ok($checked, '>', @cases / $every / 4, 'which is a fair part of them');

SKIP: {
  skip "no $differ", 1 unless -x $differ;
  my ($made, @wrong) = 0;
  for my $seed ($from .. $from + $seeds - 1) {
    spew($path, scalar `$differ --print --seed $seed --size 60`);
    next if rly('check', $path)->{status};
    $made++;
    for my $way (ways($seed, 0)) {
      my $run = rly('opt', '--verify', @$way, $path);
      push @wrong, "seed $seed, @$way: $run->{err}" if $run->{status};
    }
    diag(join "\n", splice @wrong) if $all && @wrong;
  }
  is("@wrong", '', "$made generated programs do the same");
}

done_testing;
