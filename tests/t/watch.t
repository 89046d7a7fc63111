#!/usr/bin/env perl
# `rly watch`: a file is run again when it, or what it imports, is saved; on a
# pipe each value is a line, on a terminal it stands beside its line.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Screen;
use JSON::PP 'decode_json';
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
rename $file, "$file.away" or die "$file: $!\n";
await(sub { slurp(scratch('stderr')) =~ /No such file/ });
like(slurp(scratch('stderr')),
     qr/error\[E0501\]: cannot read \Q$file\E: No such file or directory\n\z/,
     'that a file is gone is said once');
rename "$file.away", $file or die "$file: $!\n";
is(heard(qr/9\n\z/), "$file:1: 9\n", '... and it is run when it is back');
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
symlink 'round.rly', scratch('round.rly') or die "symlink: $!\n";
gives(rly('watch', scratch('round.rly')), 1, '',
      qr/E0501.*levels of symbolic links/, 'why a file cannot be read');
gives(rly('watch', scratch('none.rly')), 1, '',
      qr/E0501.*none\.rly: No such file/, 'one that is not there');

SKIP: {
  my $why = screen_missing();
  skip $why, 7 if $why;
  save($file, "let %x = 20;\n\n%x + 1;   \n// done\n");
  my $s = Screen->new(args => ['watch', $file], columns => 40);
  $s->expect(qr{^let %x = 20;\n\n%x \+ 1;     // 21\n// done$}m,
             'a terminal shows the text with its values');
  save($file, "let %x = 20;\n\n%x + 2;\n");
  $s->expect(qr{\Alet %x = 20;\n\n%x \+ 2;  // 22\n*\z}, 'and what was saved');
  $s->type("\cC");
  $s->ends(130, 'Ctrl-C');
  save($file, "let %x = (ref(4), ref(5));\nref_write(%x.0, 7);\n");
  $s = Screen->new(args => ['watch', '--cells', $file], columns => 60);
  $s->expect(qr{^let %x = .*;  // cell: 4 -> 7; cell: 5$}m,
             'the cells of a line stand beside it, one after another');
  $s->type("\cC");
  $s->ends(130, 'Ctrl-C');
  save($file, "def \@f(%n: int32) -> int32 { \@f(%n + 1) }\n1;\n\@f(0);\n");
  $s = Screen->new(args => ['watch', $file], columns => 80);
  $s->expect(qr{w\.rly is running$}m, 'a long run is said to be one');
  $s->type("\cC");
  $s->ends(130, 'Ctrl-C');
}

# A matrix is in one line, too.
spew($file, "[[1f, 2f], [3f, 4f]];\n");
is(rly('watch', '--once', $file)->{out},
   "$file:1: Tensor[(2, 2), float32] [[1.0, 2.0], [3.0, 4.0]]\n",
   'a value is a line');

# What cells held, beside the lines that make them: a number after each write, a
# list, cells of one line, and one that many writes thin out.  Content n of
# @many is the sum of the first n odd numbers, n * n.
spew($file, <<'END');
let @sum = ref(0);
let %list = ref(Cons(0, Nil));
def @new(%x: int32) -> ref(int32) { ref(%x) }
def @add(%n: int32) -> () {
  if (%n > 0) { ref_write(@sum, ref_read(@sum) + %n); @add(%n - 1) }
  else { () }
}
@add(3);
let %a = @new(4);
let %b = @new(5);
ref_write(%a, 7);
ref_write(%list, Cons(1, ref_read(%list)));
END
is(rly('watch', '--once', '--cells', $file)->{out},
   "$file:1: cell: 0 -> 3 -> 5 -> 6\n"
   . "$file:2: cell: Cons(0, Nil) -> Cons(1, Cons(0, Nil))\n"
   . "$file:3: cell: 4 -> 7\n$file:3: cell: 5\n",
   'the contents of cells, one after another');
is(rly('watch', '--once', $file)->{out}, '', '... when they are asked for');

spew($file, <<'END');
let @many = ref(0);
def @go(%n: int32, %to: int32) -> () {
  if (%n < %to) {
    ref_write(@many, ref_read(@many) + 2 * %n + 1);
    @go(%n + 1, %to)
  } else { () }
}
@go(0, 1000);
@map(fn (%i) { ref_read(ref(%i)) }, @range(11));
END
is(rly('watch', '--once', '--cells', $file)->{out},
   "$file:9: Cons(0, Cons(1, Cons(2, Cons(3, Cons(4, Cons(5, Cons(6, Cons(7, "
   . "Cons(8, Cons(9, Cons(10, Nil)))))))))))\n"
   . "$file:1: cell, 1 in 8 of 1001: "
   . join(' -> ', map { (8 * $_) ** 2 } 0 .. 125) . "\n"
   . join('', map { "$file:9: cell: $_\n" } 0 .. 7)
   . "$file:9: 3 more cells\n",
   'those at equal distances of many, the first few of many cells');

# The text of a cell's place is the user's where the library makes the cell; and
# a write by differentiated code counts.
spew($file, <<'END');
let @seen = ref(1f);
def @f(%x: float32) -> float32 { ref_write(@seen, 2f); %x * ref_read(@seen) }
grad(@f)(3f);
END
like(rly('watch', '--once', '--cells', $file)->{out},
     qr/:1: cell: 1f -> 2f\n\z/, 'a write by differentiated code');

# With --json each line is an object, whose values are those of `rly run`.
sub objects { map { decode_json($_) } split /\n/, $_[0] }

spew($file, <<'END');
1 + 1;
(2f, [1, 2]);
let @sum = ref(0);
ref_write(@sum, 7);
1 / 0;
END
my @run = objects(rly('run', '--json', $file)->{out});
my @lines = (1, 2, 4);
my @json = map { {file => $file, line => $lines[$_], value => $run[$_]} }
  0 .. 2;
my $cell = {file => $file, line => 3, cell => ['0', '7'], every => 1, of => 2,
            more => 0};
my @watch = ('watch', '--once', '--json', '--cells');
is_deeply([objects(rly(@watch, $file)->{out})], [@json, $cell, $run[3]],
          'values, cells and a mistake as JSON');
my $kept = scratch('kept');
for my $round (1, 2) {
  is(rly('watch', '--once', '--kept', $kept, $file)->{out},
     "$file:1: 2\n$file:2: (2f, Tensor[(2), int32] [1, 2])\n", "text $round");
  is_deeply([objects(rly(@watch, '--kept', $kept, $file)->{out})],
            [@json, $cell, $run[3]], "... and JSON, of one --kept");
}
$pid = start('--json', $file);
heard(qr/division/);
unlink $file;
my ($gone) = objects(heard(qr/No such file.*\n\z/));
is_deeply([@$gone{qw(code message)}],
          ['E0501', "cannot read $file: No such file or directory"],
          'that a file is gone, as JSON');
spew($file, "5;\n");
is_deeply([objects(heard(qr/5.*\n\z/))],
          [{file => $file, line => 1,
            value => {dtype => 'int32', shape => [], data => [5]}}],
          '... and its value when it is back');
kill INT => $pid;
$run = rly_wait($pid);
is($run->{status}, 130, '... until Ctrl-C');
is($run->{err}, '', '... with nothing on stderr');

# Once, as a tool asks that shows values beside lines.
spew($file, "1 + 1;\n2 / 0;\n3;\n");
my $once = rly('watch', '--once', $file);
is($once->{out}, "$file:1: 2\n", 'values up to a mistake');
like($once->{err}, qr/:2:1: error\[E0602\]/, '... which is told');
is($once->{status}, 2, '... and what `rly run` would exit with');
is(rly('watch', '--once', spew($file, "7;\n"))->{status}, 0, 'or 0');

SKIP: {
  skip 'no /dev/full', 2 unless -c '/dev/full';
  # So much that writing fails while the program still runs.
  spew($file, "1;\n" x 9999);
  for my $once ([], ['--once']) {
    is(rly({out => '/dev/full'}, 'watch', @$once, $file)->{status}, 2,
       "output that cannot be written: watch @$once");
  }
}

done_testing();
