#!/usr/bin/env perl
# rly fmt --functional over the language's conformance suite.
#
# The suite's programs are plain Relay, without global values.  So each gets a
# counter of calls in a global cell, which each of its functions raises first:
# from then on all of them are functions of the state, and closures, patterns,
# graph variables and data types stand between.  In every second program the
# cell lies in a list, so that all its cells become numbers in stores.  Run in a
# session, it gives a value and a count; so must the functions, each of which
# begins with the first state, or the same error.  A program that is refused is
# counted by the reason, and no more may be for want of an explicit state than
# are listed here.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my %known = (
  'a graph variable in a function that changes the state' => 1,
  'a function that uses the state, as a value' => 3,
  # Where cells are numbers: programs whose result has a cell in it, and
  # functions of shapes and dtypes.
  'a function for a host that gives a cell' => 5,
  'a cell whose content is of any type, among cells that are kept in data' => 2,
);

my @counters = (
  ['let @ticks = ref(0);', '@ticks'],
  ['let @ticks = List[ref(9), ref(0)];', '@nth(@ticks, 1)'],
);
my $number = 0;

my %refused;
my $path = scratch('p.rly');
my $made = scratch('made.rly');

# What is printed, or the code of the error: a message may name what plain Relay
# has in the place of what the program says.
sub outcome {
  my ($run) = @_;
  return $run->{out} =~ s/("constructor": "\w+?)(?:_rank\d|_[a-z]+\d+)+"/$1"/gr
      if $run->{status} == 0;
  return "$run->{status} " . ($run->{out} =~ /"code": "(E\d+)"/)[0];
}

sub same {
  my ($name, $want, $calls, @how) = @_;
  my $run = rly('fmt', @how, $path);
  if ($run->{status}) {
    my ($why) = $run->{err} =~ /error\[E0508\]: ([^`\n]*)/;
    return fail("$name: @how") || diag($run->{err}) unless $why;
    $refused{"@how"}{$why =~ s/ $//r}++;
    return;
  }
  my $got = rly('run', '--json', spew($made, $run->{out}, $calls));
  is(outcome($got), outcome($want), "$name: @how") or diag($got->{err});
}

for my $file (sample(sort glob 'tests/conformance/lang/*.rly')) {
  my $expect = json(slurp($file =~ s/rly$/json/r))->{expect};
  next if $expect !~ /^(?:ok|runtime-error)$/;
  my ($name) = $file =~ m{([^/]*)\.rly$};
  my $text = slurp($file);
  spew($path, $text);
  my $want = rly('run', '--json', $path);
  same($name, $want, '', '--functional');

  next if $text !~ /^def \@main\(/m || $text =~ /#\[metadata\]/;
  my $own_list = $text =~ /^type List\b/m;
  my ($cell, $ticks) = @{$counters[$own_list ? 0 : $number++ % 2]};
  my $tick = "ref_write($ticks, ref_read($ticks) + 1);";
  $text =~ s/(^def @[^{]*\{)/$1 $tick/gm;
  $text =~ s/^(#\[version.*\n)?/$1$cell\n/;
  $text .= "\ndef \@ticked() { ref_read($ticks) }\n";
  spew($path, $text, "\@main();\n\@ticked();\n");
  $want = rly('run', '--json', $path);
  spew($path, $text);
  my $calls = "(\@main(\@init())).0;\n\@ticked((\@main(\@init())).1);\n";
  same("$name with a state", $want, "\n$calls", @$_)
    for ['--pass', 'functional'], ['--functional'];
}

for my $how (sort keys %refused) {
  for my $why (sort keys %{$refused{$how}}) {
    my $count = $refused{$how}{$why};
    diag("$how refuses $count: $why");
    next unless $why =~ s/^an explicit state cannot express //;
    cmp_ok($count, '<=', $known{$why} // 0, "$how: refused, $why");
  }
}

done_testing();
