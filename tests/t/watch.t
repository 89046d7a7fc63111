#!/usr/bin/env perl
# `rly watch`: a file is run again when it, or what it imports, is saved; on a
# pipe each value is a line, on a terminal it stands beside its line.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Screen;
use Test::More;
use Time::HiRes qw(sleep);

my $file = scratch('w.rly');
my $part = spew(scratch('part.rly'), "def \@two() { 2 }\n");

# Waits until a condition holds, or a minute at most.
sub await {
  my ($holds) = @_;
  for (1 .. 1200) {
    return if $holds->();
    sleep 0.05;
  }
}

# What was written since the last call, once it is like `what`.
my $seen = 0;
sub heard {
  my ($what) = @_;
  my $new = '';
  await(sub {
    $new = substr slurp(scratch('stdout')), $seen if -e scratch('stdout');
    return $new =~ $what;
  });
  $seen += length $new;
  return $new;
}

# As an editor saves: another file in the place of the old one.
sub save {
  my ($path, $text) = @_;
  spew("$path.new", $text);
  rename "$path.new", $path or die "$path: $!\n";
}

sub start {
  unlink scratch('stdout');
  $seen = 0;
  return rly_start('watch', @_);
}

spew($file, "import \"part.rly\";\n\n1 + 1;\n\@two() + 3;\n");
my $pid = start($file);
is(heard(qr/5\n\z/), "$file:3: 2\n$file:4: 5\n", 'values with their lines');
save($file, "import \"part.rly\";\n\@two() *\n  10;\n");
is(heard(qr/20\n\z/), "$file:3: 20\n", 'again when the file is saved');
save($part, "def \@two() { 3 }\n");
is(heard(qr/30\n\z/), "$file:3: 30\n", 'or one that it imports');
save($file, "import \"part.rly\";\n\@three();\n");
await(sub { slurp(scratch('stderr')) =~ /E0102/ });
like(slurp(scratch('stderr')), qr/E0102.*there is no global `\@three`/s,
     'a mistake is told');
save($file, "def \@main() -> int32 {\n  7\n}\n");
is(heard(qr/7\n\z/), "$file:1: 7\n", 'and mended; the value of @main');
save($file, "def \@f(%n: int32) -> int32 { \@f(%n + 1) }\n\@f(0);\n");
sleep 0.5;
save($file, "8;\n");
is(heard(qr/8\n\z/), "$file:1: 8\n", 'a run without an end is stopped');
unlink $file;
sleep 0.3;
spew($file, "9;\n");
is(heard(qr/9\n\z/), "$file:1: 9\n", 'a file that was gone for a moment');
kill INT => $pid;
my $run = rly_wait($pid);
is($run->{status}, 130, 'Ctrl-C ends it');
unlike($run->{err}, qr/interrupt/, 'that runs were stopped is not told');

save($file, "def \@f(%n: int32) -> int32 { \@f(%n + 1) }\n1;\n\@f(0);\n");
$pid = start($file);
heard(qr/1\n\z/);
kill INT => $pid;
is(rly_wait($pid)->{status}, 130, 'also while the program runs');

gives(rly('watch'), 1, '', qr/watch needs a file/, 'no file');
gives(rly('watch', scratch('none.rly')), 1, '', qr/no file .*none\.rly/,
      'one that is not there');

SKIP: {
  my $why = screen_missing();
  skip $why, 3 if $why;
  save($file, "let %x = 20;\n\n%x + 1;   \n// done\n");
  my $s = Screen->new(args => ['watch', $file], columns => 40);
  $s->expect(qr{^let %x = 20;\n\n%x \+ 1;     // 21\n// done$}m,
             'a terminal shows the text with its values');
  save($file, "let %x = 20;\n\n%x + 2;\n");
  $s->expect(qr{\Alet %x = 20;\n\n%x \+ 2;  // 22\n*\z}, 'and what was saved');
  $s->type("\cC");
  $s->ends(130, 'Ctrl-C');
}

# A matrix is in one line, too.
spew($file, "[[1f, 2f], [3f, 4f]];\n");
is(rly('watch', '--once', $file)->{out},
   "$file:1: Tensor[(2, 2), float32] [[1.0, 2.0], [3.0, 4.0]]\n",
   'a value is a line');

# Once, as a tool asks that shows values beside lines.
spew($file, "1 + 1;\n2 / 0;\n3;\n");
my $once = rly('watch', '--once', $file);
is($once->{out}, "$file:1: 2\n", 'values up to a mistake');
like($once->{err}, qr/:2:1: error\[E0602\]/, '... which is told');
is($once->{status}, 2, '... and what `rly run` would exit with');
is(rly('watch', '--once', spew($file, "7;\n"))->{status}, 0, 'or 0');

done_testing();
