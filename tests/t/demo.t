#!/usr/bin/env perl
# `make demo`: from a pipe the text and the check; at a terminal of several
# widths also what the network expects and remembers, and a prompt of one's own.
use strict;
use warnings;
use utf8;
use lib 'tests/t';
use Rly;
use Screen;
use Test::More;

binmode $_, ':utf8' for Test::More->builder->failure_output;
my $demo = 'examples/charlm/demo';

# What law.rly shows of the three states, and says of them.
my $bits = qr/((?:\ [0-9a-f]{8}){5})/x;
my $same = qr/^whole:\ {7}$bits\nin\ chunks:\ {3}$bits\nstep\ by\ step:$bits\n
              whole\ and\ in\ chunks\ of\ 16,[^\n]*:\ True\n
              whole\ and\ step\ by\ step,[^\n]*:\ True$/mx;
my $three = qr/Now type:\s+\S+ learn\s+\S+ step --html .*\s+\S+ run /s;

# --- From a pipe --------------------------------------------------------------

my $piped = `echo 'not asked for' | $demo 2>&1`;
is($?, 0, 'from a pipe it runs');
like($piped, qr/\AA network learns.*^10 steps of 10;.*^  A tensor .{100}/ms,
     'a network learns to write');
like($piped, qr/\nThis program is free software.{150}/s, 'another one writes');
unlike($piped, qr/\e|of your own|not asked/, '... draws and asks nothing');
like($piped, $same, '... shows the three states');
like($piped, $three, '... and three things to type');
my @states = $piped =~ $same;
ok($states[0] eq $states[1] && $states[1] eq $states[2], 'they are the same');

# --- At a terminal ------------------------------------------------------------

if (my $why = screen_missing()) {
  note($why);
  done_testing();
  exit;
}

sub demo {
  my (%how) = @_;
  my $own = {RLY => "env RLY=$ENV{RLY} DEMO_SECONDS=0 $demo"};
  return Screen->new(rows => 50, %how,
                     env => {DEMO_ROUNDS => '', %{$how{env} // {}}, %$own});
}

# Five rows of a character, a bar and its share; below them the strip.
sub drawing {
  my ($bar, $shade) = @_;
  my $row = qr/^  '(?:.'|\\n') +${bar}* \d+%\n/m;
  return qr/$row{5}$shade/m;
}

for my $case ([60, {}, '[ ]', qr/^ {0,40}$/m, 'in colours'],
              [100, {}, '[ ]', qr/^ {0,80}$/m, 'in colours'],
              [60, {NO_COLOR => 1}, '█', qr/^[▁▂▃▄▅▆▇█]{40}$/m,
               'without colours'],
              [100, {NO_COLOR => 1}, '█', qr/^[▁▂▃▄▅▆▇█]{80}$/m,
               'without colours'],
              [60, {NO_COLOR => 1, LC_ALL => 'C'}, '#',
               qr/^[ .:=+*#@-]{1,40}$/m, 'in ASCII']) {
  my ($columns, $env, $bar, $shade, $how) = @$case;
  my $s = demo(columns => $columns, env => $env);
  $s->expect(qr/Begin a text of your own:\z/, "$columns, $how: it asks");
  like($s->all, qr/\AThis program is free software/, '... after its own text');
  like($s->all, drawing($bar, $shade), '... with five bars and the state');
  my @rows = $s->all =~ /^(  '(?:.'|\\n') .*%)$/mg;
  is(scalar @rows, 5, '... drawn in one place');
  my @shares = map { /(\d+)%$/ } @rows;
  is("@shares", join(' ', sort { $b <=> $a } @shares), '... largest first');
  cmp_ok($shares[0] + $shares[1] + $shares[2] + $shares[3] + $shares[4], '<=',
         102, '... by their shares');
  my @long = grep { length > $columns } split /\n/, $s->all;
  is("@long", '', '... and nothing is wider than the terminal');
  my $coloured = $s->{heard} =~ /\e\[48;5;\d+m/ ? 'colours' : 'none';
  is($coloured, $env->{NO_COLOR} ? 'none' : 'colours', '... in its colours');
  $s->type("A \"quoted\" \\ t\n");
  $s->expect(qr/A "quoted" \\ t.*The network reads "A "quoted" \\ t" in/s,
             '... goes on with what was typed', 1);
  $s->ends(0, '... ends');
  like($s->all, $same, '... and reads it in three ways');
  like($s->all, $three, '... and names three things');
}

if (is_release()) {
  my $s = demo(columns => 80, env => {DEMO_ROUNDS => '1'});
  # It learns from the book, with which the steps grow.
  $s->expect(qr/step \d+\/3\d  loss /, 'a line tells how it learns');
  $s->expect(qr/It writes:\n\n  A tensor .*Begin a text of your own:\z/s,
             'it writes what it learned');
  $s->type("\x04");
  $s->ends(0, 'then all goes on');
}

for my $columns (60, 100) {
  my $s = demo(columns => $columns, env => {TERM => 'dumb'});
  $s->expect(qr/Begin a text of your own:\z/, 'a dumb terminal is asked, too');
  unlike($s->{heard}, qr/\e\[\d/, '... and drawn nothing on');
  $s->type("\x04");
  $s->ends(0, '... where no answer is one');
  like($s->all, qr/reads "You may" in/, '... with a text of its own');
}

done_testing();
