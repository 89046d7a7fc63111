#!/usr/bin/env perl
# One sitting at a terminal, at two widths: what a person asks who has never
# seen the prompt, and the mistakes that such a person makes.  Nothing may be
# wider than the terminal, no word is torn, and nothing gets stuck.
#
# That each answer is right in all its cases is tested where it is made
# (prompt.t, step.t, cli.t), from a pipe; here it is seen to arrive.
use strict;
use warnings;
use utf8;
use lib 'tests/t';
use Rly;
use Screen;
use Test::More;

plan skip_all => screen_missing() if screen_missing();
binmode $_, ':utf8' for Test::More->builder->failure_output;

my ($s, $columns);

# Types a line and waits until the answer fits, and the next prompt is there.
# What follows an answer that never came tells nothing.
my $stuck;
sub asks {
  return if $stuck;
  my ($line, $answer, $name) = @_;
  $s->type("$line\n");
  # The entry is drawn in rows of the terminal; its last characters will do.
  my $end = quotemeta substr $line, -6;
  $s->expect(qr/$end\n(?:$answer)(?:rly(?: \@\w+)?|step)>\z/s,
             "$columns: " . ($name // $line)) or $stuck = 1;
  my @wide = grep { length > $columns } split /\n/, $s->all;
  is("@wide", '', '... fits');
}

for (60, 80) {
  $columns = $_;
  $s = Screen->new(columns => $columns, rows => 100, args => ['--no-startup'],
                   env => {XDG_STATE_HOME => scratch("state$columns"),
                           PAGER => 'cat'});
  $s->expect(qr/^rly>\z/m, "a prompt of $columns columns");

  # A param without a value stops only what uses it.
  my $scale = 'docs/tutorial/scale.rly';
  asks(":load $scale", qr/error\[E0503\].*:param x = VALUE.*/s);
  asks('1 + 1', qr/2\n/s, 'a param without a value blocks nothing');
  asks('@x', qr/.*E0503.*`x`.*/s, 'but what uses it');
  asks(':param x = [1f, 2f]', qr/(?!.*\[2\.0, 4\.0\])(?!.*error).*/s,
       'it is given its value; nothing that was refused runs now');
  asks('@scale(@x)', qr/Tensor\[\(2\), float32\] \[2\.0, 4\.0\]\n/s);

  # The stepper shows values whole, or their corner and facts.
  my $eight = 'ones(shape=[1, 8], dtype="float32")';
  asks(":step let %x = $eight; sum(%x + %x)",
       qr/1\ operator.*\[(?:1\.0,\s+){7}1\.0\].*/sx,
       'the stepper shows eight elements');
  asks('goto 5', qr/.*^5 operator.*`add`.*\s\[\[2\.0,.*/ms);
  asks('quit', qr//);
  asks(':step sum(ones(shape=[40, 50], dtype="float32"))',
       qr/.*\(40, 50\), float32\].*2000\s+elements.*/s,
       '... and facts of many');
  asks('quit', qr//);

  # What it will cost, by running the shapes.
  asks('def @f(%n: int32, %x: Tensor[(4, 4), float32]) '
       . '-> Tensor[(4, 4), float32] '
       . '{ if (%n == 0) { %x } else { @f(%n - 1, nn.dense(%x, %x)) } }', qr//,
       'a loop');
  asks(':cost @f(7, ones(shape=[4, 4], dtype="float32"))',
       qr/.* calls .*operator\n +7 +896 .* nn\.dense\n.*called 8 times\n/s);
  asks(':cost @f', qr/.*until it is called\n/s);

  # Remedies that lead somewhere.
  asks('1 == 1f', qr/.*E0207.*\n +\| \^.*help: write `1f`\n/s);
  asks('ref(Nil)', qr/ref\(Nil\)\n/s);
  asks('def @g(x: int32) { x }', qr/.*help:.*%x.*/s);
  asks('exit', qr/.*Ctrl-D\s+leaves.*/s);
  asks('help', qr/.*listed by :help\n/s);
  asks('[5, True, 0]', qr/.*error.*/s, 'a bool among numbers');

  # A file of weights that does not fit.
  my $weights = spew(scratch('weights.safetensors'),
                     safetensors(['model.w', 'F32', [2], [1, 2]],
                                 ['other', 'F32', [1], [3]]));
  asks('param @w: Tensor[(2), float32];', qr//, 'a param');
  asks(":params $weights", qr//, 'weights');
  asks('@w', qr/.*weights\.safetensors\s+holds\s+`model\.w`:.*/s,
       'near misses are named');

  # Abbreviations, operators, messages by number.
  asks(':f', qr/.*`:find`.*write\s+more.*/s);
  asks(':bench 1/0', qr/(?!.*wrapper).*E0602.*\^\^\^.*/s);
  asks(':ops nn.re', qr/nn\.relu +\w.*/s);
  asks(':explain 203', qr/E0203 .*broadcast.*/s);

  # The prompt explains itself.
  asks(':doc @foldl', qr/def \@foldl.*expect: 34\n/s);
  asks(':source @f', qr/.*^def \@f\(%n: int32, .*/ms);
  asks(':names f', qr/\@f : fn \(int32.*/s);
  asks(':help cost', qr/:cost EXPR\n.*/s);
  asks(':find fn(List[A]) -> A', qr/\@hd : .*/s);
  asks('nn.relu(_)', qr/.*E0215.*in\s+scope\s+fit.*/s, 'a hole');

  # Results by number, which mistakes do not use up.
  asks('20 + 22', qr/42\n/s);
  asks('1 + nope', qr/.*error.*/s, 'a mistake');
  asks('%it + 1', qr/43\n/s);

  # Stopped, not dead.
  asks('def @deep(%n: int32) -> int32 '
       . '{ if (%n == 0) { 1 / %n } else { 1 + @deep(%n - 1) } }', qr//,
       'recursion');
  asks('@deep(33)', qr/.*E0602.*\.\.\. 32 more like this\n.*/s);
  asks(':where', qr/> +0 +\@deep.*\.\.\. 32 more like this\n/s);
  asks(':up', qr/> +1 +\@deep.*%n = 1 .*/s);
  asks('%n + 10', qr/11\n/s);
  asks(':leave', qr//);
  asks(':break @deep if %n == 2', qr//);
  asks('@deep(5)', qr/.*%n = 2.*/s, '... stops there');
  $s->type("\x04");
  $s->type("\x04") for 1 .. 2;
  $s->ends(0, 'leaves');
}

done_testing();
