#!/usr/bin/env perl
# Programs do the same at -O0, after each pass alone, after all of them, after
# random sequences and at -O2: those of the conformance suites, as `rly` runs
# them, with what they print and their errors; models that rly stream feeds,
# with the bits that come out and the state that is left; generated programs
# as rly opt --verify runs them, which also calls each function with samples,
# and as the step machine runs what was there before.  A sample here; `make
# pass-agree` takes every program of the suites, and AGREE_SEEDS generated
# ones (from AGREE_FROM on), `make fuzz-passes` generated ones by the
# thousand.
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
  my ($file, @flags) = @_;
  my $run = rly('run', '--timeout', 20, @flags, $file);
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
  push @other, map { "run $_" } grep { does($case, $_) ne $was } qw(-O1 -O2);
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

# What generated programs showed, and programs of the suites.
my %found = (
  'a pattern that binds a name twice' => ['PartialEval', <<'END'],
def @pick(%p: (int32, int32)) { match (%p) { (%a, %a) => %a } }
@pick((3, 4));
END
  'parameters of one name' => ['ToCPS', <<'END'],
def @other(%x: float32, %y: int32, %x: int32) {
  let %f = fn (%z, %z) { (%z, %x) };
  %f(%y, 7)
}
@other(1f, 6, 3);
END
  'a dimension that a fused group reads' => ['FuseOps', <<'END'],
def @f[n: Dim](%x: Tensor[(n), int32]) -> Tensor[(1), int32] {
  strided_slice(full(n, shape=[3]), begin=[1], end=[2])
}
@f([7, 8]);
END
  'a node that fails after what is shown' => ['FoldConstant', <<'END'],
def @main() {
  %0 = 0 / 0;
  print(if (False) { %0 } else { 1 });
  %0
}
END
);
for my $name (sort keys %found) {
  my ($passes, $text) = @{$found{$name}};
  my $program = spew(scratch('found.rly'), $text);
  is(join(' ', agrees($program, ['--passes', $passes])), '', $name);
}

# Streams: what comes out, and the state that is left.
spew(scratch('mean.rly'), <<'END');
// The mean of what has come so far, and how often it was above a bound.
let @sum = ref(zeros(shape=[2], dtype="float32"));
let @count = ref(0);
let @above = ref(0);
def @mean() -> Tensor[(2), float32] {
  ref_read(@sum) / cast(ref_read(@count), dtype="float32")
}
def @note(%c: Ref[int32], %yes: bool) -> () {
  if (%yes) { ref_write(%c, ref_read(%c) + 1) } else { () }
}
def @step(%x: Tensor[(1, 2), float32]) -> Tensor[(1, 2), float32] {
  let %row = reshape(%x, newshape=[2]);
  ref_write(@sum, ref_read(@sum) + %row);
  ref_write(@count, ref_read(@count) + 1);
  let %m = @mean();
  @note(@above, max(%m) > 0.25f);
  reshape(@mean() * cast(ref_read(@above), dtype="float32"), newshape=[1, 2])
}
END
my $spotting = 'examples/spotting/spotting';
my $charlm = 'examples/charlm/';
my %streams = (
  mean => [scratch('mean.rly'), pack('f<*', map { sin $_ } 1 .. 40)],
  spotting => ["$spotting.rly", '', '--frame', 64, '--params',
               "$spotting.safetensors", '--input',
               'examples/spotting/audio.npy'],
  charlm => ["${charlm}stream.rly", 'This program is free soft', '--params',
             "${charlm}charlm.safetensors"],
);
sub streamed {
  my ($program, $bytes, @flags) = @_;
  my ($out, $state) = (scratch('out.npy'), scratch('state.safetensors'));
  unlink $out, $state;
  my $run = rly({in => $bytes}, 'stream', $program, '--step', 'step', @flags,
                '--output', $out, '--save-state', $state);
  return join "\n", $run->{status}, map { -e $_ ? slurp($_) : '' } $out, $state;
}
for my $name (sort keys %streams) {
  my ($program, @rest) = @{$streams{$name}};
  my $was = streamed($program, @rest);
  cmp_ok(length $was, '>', 400, "$name: something comes out") or diag $was;
  my @other;
  for my $way (ways(length $name, $all || is_release() ? 0 : 6)) {
    my $opt = rly('opt', @$way, $program);
    spew($made, $opt->{out});
    push @other, "@$way: $opt->{err}"
      if $opt->{status} || streamed($made, @rest) ne $was;
  }
  is("@other", '', "$name: a stream has the same bits after passes");
}

SKIP: {
  skip "no $differ", 2 unless -x $differ;
  like(scalar `$differ --count 24 --seed $from --size 80 --ways 2`,
       qr/^24 programs: \d+ agree, 0 differ, 0 crash/,
       'the step machine agrees');
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
