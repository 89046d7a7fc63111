#!/usr/bin/env perl
# The reports of a run: --stats, --profile, --trace, --nan-stop.  None of them
# may change a result.
#
# A report is switched on when something is wrong already, so it must be true
# just then: of a run that is interrupted, of one that fails, of calls that
# never return.  The values printed are the same in every row, with a report and
# without, since a report that changed how the program runs would describe a
# program that nobody runs.  Counts are compared, durations never.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $program = spew(scratch('net.rly'), <<'END');
def @sum_to(%n: int32, %acc: int32) -> int32 {
  if (%n == 0) { %acc } else { @sum_to(%n - 1, %acc + %n) }
}
def @count(%n: int32) -> int32 {
  if (%n == 0) { 0 } else { @count(%n - 1) + 1 }
}
def @list(%n: int32) -> List[int32] {
  if (%n == 0) { Nil } else { Cons(%n, @list(%n - 1)) }
}
def @layers(%x: Tensor[(8, 8), float32], %n: int32) -> Tensor[(8, 8), float32] {
  if (%n == 0) { %x } else {
    let %y = nn.dense(%x, %x);
    let %z = concatenate((%y, %y), axis=0);
    @layers(strided_slice(%z, begin=[0], end=[8]), %n - 1)
  }
}
@sum_to(10, @count(5));
@list(3);
sum(@layers(full(0.125, shape=[8, 8], dtype="float32"), 5));
END
my $results = "60\nCons(3, Cons(2, Cons(1, Nil)))\n8f\n";

# --- --stats ----------------------------------------------------------------

gives(rly($program), 0, $results, '', 'a run that nobody looks at');
my $run = rly('--stats', $program);
gives($run, 0, $results, qr/^instructions\t[1-9]\d*\ncells\t/m, '--stats');
my %stats = $run->{err} =~ /^([a-z ]+)\t(\d+)$/mg;
is($stats{cells} >= 3, 1, 'it counts cells');
my %again = rly('--stats', $program)->{err} =~ /^([a-z ]+)\t(\d+)$/mg;
is($again{instructions}, $stats{instructions}, 'instructions are no chance');
my %longer = rly('--stats', '-e', 'def @f(%n: int32) -> int32 '
                 . '{ if (%n == 0) { 0 } else { @f(%n - 1) } } @f(1000)')
             ->{err} =~ /^([a-z ]+)\t(\d+)$/mg;
ok($longer{instructions} >= 2000 && $longer{instructions} < 2100,
   'a loop of a thousand rounds is two thousand instructions and a few');
# The arithmetic of shapes makes no tensors as long as shapes stay the same: a
# turn makes one for the product and one header for each view.
my $shapes = <<'END';
def @go(%i: int32, %x: Tensor[(?, ?), float32], %w: Tensor[(4, 4), float32]) {
  if (%i == 0) { %x } else {
    let %y = nn.dense(%x, %w);
    let %s = shape_of(%y);
    let %flat = reshape(%y, newshape=[take(%s, 0) * take(%s, 1)]);
    @go(%i - 1, reshape(%flat, newshape=[take(%s, 0), take(%s, 1)]), %w)
  }
}
@go(TURNS, ones(shape=[1, 4]), ones(shape=[4, 4]) * 0.25f);
END
my @buffers = map {
  (my $turns = $shapes) =~ s/TURNS/$_/;
  rly('--stats', '-e', $turns)->{err} =~ /^buffers\t(\d+)$/m;
} 100, 300;
is($buffers[1] - $buffers[0], 200,
   'a turn over shapes at hand makes a buffer for its product alone');

# --- --profile --------------------------------------------------------------

$run = rly('--profile', $program);
gives($run, 0, $results, qr/\Aby line\n.*^by operator\n/ms, '--profile');
my ($calls, $bytes, $rate) = $run->{err} =~
    /^\s*[\d.]+\s+[\d.]+\s+(\d+)\s+(\d+)\s+(\S+)\s+\S+  nn\.dense  \S+:12$/m;
is_deeply([$calls, $bytes], [5, 5 * 3 * 8 * 8 * 4],
          'calls and bytes of a product, by its line');
like($rate, qr/^\d+\.\d+$/, 'and operations per second');
like($run->{err}, qr/^.* 5 +\d+ +- +\S+  concatenate$/m,
     'moving elements is no operation; rows by operator have no line');
my $chain = rly('--profile', '-e', 'let %x = [1f, 4f]; %x * [2f, 3f] - 1f');
like($chain->{err}, qr/ 1 +\d+ .*  multiply\+subtract  <command line>:1$/m,
     'operators that run as one have a row');
like($run->{err}, qr/\(other code\)  \S+net\.rly:2$/m, 'scalar code by line');

# Two operators on each of 1,000,000 elements, whose results are joined.
my $joined = rly('--profile', spew(scratch('joined.rly'), <<'END'));
def @joined(%x: Tensor[(1000000), float32]) {
  let %a = %x * 2f;
  concatenate((%a, %a + 1f))
}
take(@joined(ones(shape=[1000000], dtype="float32")), 0);
END
my ($ms, $giga) = $joined->{err} =~
    /^ +([\d.]+) .* ([\d.]+) +[\d.]+  multiply\+add\+concatenate$/m;
near([$ms * $giga], [2], 0.8, 'operations of a chain that joins its results');

# --- --trace ----------------------------------------------------------------

sub trace { return json(slurp(scratch('trace.json'))) }

# Every call that begins ends, and none but the innermost.
sub is_nested {
  my ($events, $name) = @_;
  my ($depth, $least) = (0, 0);
  for my $e (@$events) {
    $depth += $e->{ph} eq 'B' ? 1 : $e->{ph} eq 'E' ? -1 : 0;
    $least = $depth if $depth < $least;
  }
  is_deeply([$depth, $least], [0, 0], $name);
}

gives(rly('--trace', scratch('trace.json'), $program), 0, $results, '',
      '--trace');
my $events = trace()->{traceEvents};
is_nested($events, 'calls are nested');
my @begun = map { $_->{name} } grep { $_->{ph} eq 'B' } @$events;
is(scalar(grep { $_ eq '@count' } @begun), 6, 'each call');
is(scalar(grep { $_ eq '@sum_to' } @begun), 1, 'a loop is one');
is(scalar(grep { $_->{ph} eq 'X' && $_->{name} eq 'nn.dense' } @$events), 5,
   'each operator');
ok((grep { $_->{ph} eq 'C' && $_->{args}{bytes} > 0 } @$events),
   'a counter of live bytes');
like((grep { $_->{name} eq '@count' } @$events)[0]{args}{at},
     qr/net\.rly:4$/, 'where it stands');

SKIP: {
  skip 'no /dev/full', 1 unless -c '/dev/full';
  gives(rly('--trace', '/dev/full', $program), 2, $results,
        qr/\Aerror\[E0507\]: cannot write .*full: No space/,
        'a trace that cannot be written');
}

# A loop that is interrupted, and one that fails.
my $endless = spew(scratch('endless.rly'),
                   "def \@f(\%n: int32) -> int32 { \@f(\%n + 1) }\n",
                   "print(0);\n\@f(0) + 1;\n");
unlink scratch('stdout');
my $pid = rly_start('--trace', scratch('trace.json'), $endless);
select undef, undef, undef, 0.02 until -s scratch('stdout');
kill INT => $pid;
gives(rly_wait($pid), 130, "0\n", qr/E0704/, 'a run that is interrupted');
is_nested(trace()->{traceEvents}, 'has a whole trace, too');
gives(rly('--trace', scratch('trace.json'), '-e',
          'def @f(%n: int32) -> int32 { 1 / %n + @f(%n - 1) } @f(3)'),
      2, '', qr/E0602/, 'one that fails');
is(scalar(grep { $_->{ph} eq 'B' && $_->{name} eq '@f' }
          @{trace()->{traceEvents}}), 4, 'has one of what there was');
is_deeply([grep { !/trace\.json$/ } glob scratch('trace*')], [],
          'and no temporary file is left');
gives(rly('--trace', scratch('no/trace.json'), '-e', '1'), 2, '', qr/E0507/,
      'a file that cannot be written');

# --- --nan-stop -------------------------------------------------------------

sub stops { gives(rly('--nan-stop', '-e', $_[0]), 2, '', $_[1], $_[2]) }

gives(rly('--nan-stop', $program), 0, $results, '', '--nan-stop');
stops('def @f(%x: Tensor[(2, 2), float32]) { sqrt(%x - 3f) + 1f }
@f([[4f, 5f], [3f, 1f]])',
      qr/:1:39: error\[E0608\]: `sqrt` makes a NaN at \[1, 1\] from -2f\n/,
      'the first operator, element and operand');
stops('let %a = [[0f], [1f]]; %a / [1f, 0f]; 2',
      qr/E0608\]: `divide` makes a NaN at \[0, 1\] from 0f, 0f\n/,
      'operands that broadcast');
stops('nn.softmax([inff, 1f])',
      qr/`nn.softmax` makes a NaN at \[0\] from Tensor\[\(2\), float32\]\n/,
      'one that is not element by element');
stops('def @f(%a: float32, %l: List[int32]) { (%a / 0f, %l) }
@f(0f, Cons(1, Nil))', qr/:1:41: .*`divide` makes a NaN from 0f, 0f\n/,
      'scalars');
stops('log(-1.0)', qr/`log` makes a NaN from -1f\n/, 'functions of scalars');
stops('fn (%x: Tensor[(2), float32]) { let %y = %x + 1f; (%y * 0f, %y) }'
      . '([inff, 1f])', qr/`multiply` makes a NaN at \[0\] from inff, 0f\n/,
      'where the operand is of use further on');
gives(rly('--nan-stop', '-e', 'let %n = nanf; %n + 1f; [nanf, 1f] * 2f;'),
      0, "nanf\nTensor[(2), float32] [nan, 2.0]\n", '',
      'NaNs that were there before do not matter');

# Of derivatives: where the rule is, then where the operator stands that has it.
# sqrt'(0) is 0 / 0 where the adjoint is 0, and infinite where it is not.
sub underived {
  my ($text, $made, $by, $what) = @_;
  my $run = rly('--nan-stop', '-e', $text);
  my $rule = qr/stdlib\/gradients\/\w+\.rly:\d+:\d+/;
  like($run->{err}, qr/^$rule: error\[E0608\]: $made\n/, $what);
  my ($name, $place) = @$by;
  like($run->{err},
       qr/^  <command line>:$place:\n.*\n.*in the derivative of `$name` here/m,
       "$what: the operator's place");
  my @notes = $run->{err} =~ /in the derivative of/g;
  is(@notes, 1, "$what: told once");
}
underived('grad(fn (%x: float32) { sqrt(%x) * 0f })(0f)',
          qr/`divide` makes a NaN from 0f, 0f/, ['sqrt', '1:25'],
          'the derivative of a scalar');
underived('def @f(%x: Tensor[(2), float32]) {
  sum(tanh(
    sqrt(%x * %x) * 0f) + %x)
}
grad(@f)([1f, 0f])', qr/`divide` makes a NaN at \[1\] from 0f, 0f/,
          ['sqrt', '3:5'], 'one of operators that are else fused');
underived('def @f(%n: int32, %x: Tensor[(2), float32]) {
  if (%n == 0) { %x } else {
    @f(%n - 1, tanh(exp(%x) *
               log(%x)))
  }
}
grad(fn (%x: Tensor[(2), float32]) { sum(@f(2, %x) * 0f) })([2f, 3f]);
grad(fn (%x: Tensor[(2), float32]) { sum(@f(1, %x)) })([0f, 3f])',
          qr/`multiply` makes a NaN at \[0\] from 0f, -inff/,
          ['multiply', '3:21'], 'one of a loop');
underived('grad(fn (%x: float32) {
  grad(fn (%y: float32) { %y * sqrt(%y) })(%x).1.0
})(0f)', qr/`divide` makes a NaN from 0f, 0f/, ['sqrt', '2:32'],
          'a derivative of a derivative');
stops('grad(fn (%x: float32) { %x / (%x * 1f) })(0f)',
      qr/:1:25: error\[E0608\]: `divide` makes a NaN from 0f, 0f\n/,
      'an operator that is differentiated');

# Adjoints are added at the place of the gradient.
my $sum = rly('--nan-stop', '-e', 'grad(fn (%x: float32) {
  sqrt(%x) -
  sqrt(%x)
})(0f)');
like($sum->{err}, qr/^<command line>:1:1: .*`add` makes a NaN from -inff, inff/,
     'a sum of adjoints');
like($sum->{err},
     qr/\n +2 \|   sqrt\(%x\) -\n.* in the derivative of `sqrt` here/,
     'and whose derivative was added');
my $weight = rly('--nan-stop', '-e', '
def @net(%w: Tensor[(2, 2), float32], %x: Tensor[(2, 2), float32]) {
  let %y = nn.matmul(%x, %w);
  sum(minimum(nn.matmul(%y, %w), 1f))
}
grad(@net)(ones(shape=[2, 2], dtype="float32"), [[inff, 1f], [3f, 4f]])');
like($weight->{err}, qr/`nn.matmul` makes a NaN at \[0, 0\]/,
     'products that are summed');
like($weight->{err},
     qr/\n +3 \|   let.*\n.* in the derivative of `nn.matmul` here/,
     'and the first use of the weight');
my $loop = spew(scratch('loop.rly'), <<'END');
def @go(%w: Tensor[(3, 3), float32], %b: Tensor[(3), float32],
        %x: Tensor[(2, 3), float32], %n: int32) -> Tensor[(2, 3), float32] {
  if (%n == 0) { %x }
  else { @go(%w, %b, tanh(nn.dense(%x, %w) + %b) * 0.9, %n - 1) }
}
grad(fn (%w: Tensor[(3, 3), float32], %b: Tensor[(3), float32]) {
  sum(@go(%w, %b, reshape(arange(0f, 6f, 1f), newshape=[2, 3]), 20))
})(reshape(arange(0f, 9f, 1f), newshape=[3, 3]) / 9f, [0.1, 0.2, 0.3])
END
gives(rly('--nan-stop', $loop), 0, rly($loop)->{out}, '',
      'gradients are the same where they are looked at');

done_testing();
