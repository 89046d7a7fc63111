#!/usr/bin/env perl
# A run takes from the one before it what an edit has not changed, and says what
# a run of everything says: after random edits, of programs with values,
# functions, types, cells that several values lead to, and mistakes.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $file = scratch('w.rly');
my $kept = scratch('kept');

my @how; # --cells

# What a run says that has what the last one kept, and how many steps it ran.
sub again {
  my ($text) = @_;
  spew($file, $text) if defined $text;
  my $run = rly('watch', '--once', @how, '--kept', $kept, $file);
  my ($ran, $all) = -e $kept
    ? slurp($kept) =~ /^rly kept: (\d+) of (\d+) steps ran, sum \w{16}\n/ : ();
  return ($run, $ran, $all);
}

# What a run of everything says.
sub fresh { rly('watch', '--once', @how, $file) }

sub forget { unlink $kept }

# How many steps run after an edit.
sub runs {
  my ($text, $edit, $ran, $what) = @_;
  forget();
  again($text);
  local $_ = $text;
  $edit->();
  die "no edit: $what\n" if $_ eq $text;
  my ($run, $did) = again($_);
  my $fresh = fresh();
  is_deeply([$did, @$run{qw(out err status)}],
            [$ran, @$fresh{qw(out err status)}], $what);
}

my $text = <<'END_OF_TEXT';
type Pair { Pair(int32, int32) }
param @given: int32 = 5;
def @one(%x: int32) -> int32 { %x + 1 }
def @two(%x: int32) -> int32 { @one(%x) * 2 }
def @sum(%p: Pair) -> int32 { match (%p) { Pair(%a, %b) => %a + %b } }
let %a = @two(20);
let %b = 3;
let %c = ref(0);
let %d = ref(10);
let %both = (%c, 1);
%a + 1;
%b * 2;
@sum(Pair(%b, 4));
print(%b);
ref_write(%c, %b);
ref_write(%both.0, ref_read(%both.0) + 1);
ref_read(%c);
ref_write(%d, 11);
ref_read(%d);
@given;
END_OF_TEXT

forget();
my ($run, $ran, $all) = again($text);
is_deeply([$ran, $all], [15, 15], 'at first all steps run');
my ($next) = again();
is_deeply([@$next{qw(out err status)}, (again())[1]],
          [@$run{qw(out err status)}, 0], 'then none, and it says the same');

runs($text, sub { s/\@given;/\@given + 1;/ }, 1, 'an expression by itself');
runs($text, sub { s/^/\n\n/ }, 0, 'places are those of the new text');
runs($text, sub { s/%x \+ 1/%x + 2/ }, 2,
     'a function: the value that it gives, and what uses that');
runs($text, sub { s/\* 2;/* 3;/ }, 2, 'a value that is used is computed again');
runs($text, sub { s/%a, %b\) =>/%n, %b) =>/; s/%a \+ %b \}/%n * %b }/ }, 2,
     'a function over a type');
runs($text, sub { s/Pair\(int32, int32\) \}/Pair(int32, int32), Other }/;
                  s/(%a \+ %b) \}/$1, Other => 0 }/ }, 2, 'a type');
runs($text, sub { s/%d, 11/%d, 12/ }, 3,
     'a write of a cell: what touches it, and not other cells');
runs($text, sub { s/%c, %b/%c, 7/ }, 5,
     'of one that another value leads to: with what goes by that');
runs($text, sub { s/ref_read\(%d\);/-ref_read(%d);/ }, 3,
     'a read: the writes before it');
runs($text, sub { s/= 5;/= 6;/ }, 1, 'the default of a param');
runs($text, sub { s/let %b = 3;/let %b = 4;/ }, 9, 'a value that many use');

# What cells held: a cell's line is told by the text in which it stands,
# wherever that is now.  Of the steps that share a cell, those after one that
# has changed run.  What is made in one place is counted over all steps.
@how = '--cells';
my $cells = <<'END_OF_TEXT';
def @new(%x: int32) -> ref(int32) { ref(%x) }
def @many(%n: int32) -> () {
  if (%n > 0) { @new(%n); @many(%n - 1) } else { () }
}
def @up(%r: ref(int32), %n: int32) -> () {
  if (%n > 0) { ref_write(%r, ref_read(%r) + 1); @up(%r, %n - 1) } else { () }
}
let %a = ref(0);
let %b = @new(10);
@many(3);
@many(7);
let %f = fn (%x: int32) { (ref(%x), @new(%x)) };
let %c = %f(5);
@up(%a, 300);
@up(%a, 1);
ref_write(%b, 11);
ref_write(%c.0, 6);
let %seen = ref_read(%b);
ref_write(%b, 12);
%seen + 1;
END_OF_TEXT
forget();
my ($held) = again($cells);
is($held->{out}, fresh()->{out}, 'the contents of cells');
is((again())[1], 0, '... are kept');
is((again())[0]{out}, $held->{out}, '... and said');
runs($cells, sub { s/^/\n\n/ }, 0, 'beside their lines');
runs($cells, sub { s/\@many\(3\)/\@many(1)/ }, 1,
     'fewer cells of a line, so others of it are shown');
runs($cells, sub { s/\@many\(3\)/\@many(9)/ }, 1, 'more cells of it');
runs($cells, sub { s/%a, 300/%a, 10/ }, 3, 'fewer contents');
runs($cells, sub { s/%a, 1\)/%a, 200)/ }, 3, 'more contents');
runs($cells, sub { s/%c\.0, 6/%c.1, 7/ }, 3, 'another cell of a function');
runs($cells, sub { s/seen \+ 1/seen + 2/ }, 4,
     'those before a value run, and those after it say what they said');
runs($cells, sub { s/ref\(%x\) \}/ref(%x + 1) }/ }, 10,
     'a place where several make cells');
runs($cells, sub { s/%b, 12/%b, 1 \/ 0/ }, 4, 'a mistake');
@how = ();
is((again())[1], 12, 'what was kept without cells is of no use with them');

# The value of a step that took longer than --keep-over is kept, if it is data.
my $slow = <<'END_OF_TEXT';
def @count(%n: int32, %i: int32) -> int32 {
  if (%n == 0) { %i } else { @count(%n - 1, bitwise_xor(%i * 5, %n)) }
}
let %slow = @count(3000000, 1);
let %more = (@count(3000000, %slow), %slow);
let %c = ref(@count(1000, 2));
%more.0 + %slow;
%more.1 + ref_read(%c);
END_OF_TEXT
@how = ('--keep-over', 0.001);
runs($slow, sub { s/0 \+ %slow/0 - %slow/ }, 1,
     'a value that took long is kept');
runs($slow, sub { s/1 \+ ref/1 - ref/ }, 2, '... and a cell is made again');
runs($slow, sub { s/, %slow\);/, 2);/ }, 4,
     'what needs it runs, and its cell');
@how = ('--keep-over', 1000);
runs($slow, sub { s/0 \+ %slow/0 - %slow/ }, 3, 'no value took so long');
@how = ('--keep-over', '1e-9');
my @values = (
  '3', '2.5f', 'True', 'cast(-0f / 0f, dtype="float16")', '()',
  'cast([1, 7, -8], dtype="int4")', 'cast([1f, 2.5f], dtype="bfloat16")',
  'zeros(shape=[2, 0, 3], dtype="float64")', '[[1, 2], [3, 4]]',
  'transpose([[1f, 2f], [3f, 4f]])', '(1, (2f, [True, False]), ())',
  '[1f / 3f, 0f - 0f, 1f / 0f]', '@range(5)', 'Some([1f, 2f])', '@dag(60)',
  'Cons([1f, 4f], Cons([2f, 3f], Nil))', '(Some(@dag(2)), Some(@dag(3)))',
  '@map(fn (%i) { (%i, Node(Leaf, %i, Leaf)) }, @range(3))', '"text"',
);
my $i = 0;
my $lets = join '', map { $i++; "let %v$i = $_;\n" } @values;
my $all_kinds = <<'END_OF_TEXT' . $lets;
type Tree[A] { Leaf, Node(Tree[A], A, Tree[A]) }
def @dag(%n: int32) -> Tree[int32] {
  if (%n == 0) { Leaf } else { let %t = @dag(%n - 1); Node(%t, %n, %t) }
}
def @least(%t: Tree[int32]) -> int32 {
  match (%t) { Leaf => 0, Node(%l, %x, _) => @least(%l) + %x }
}
let %fn = fn (%x: int32) { %x };
END_OF_TEXT
my @used = map { $values[$_ - 1] =~ /^\@dag/ ? "\@least(%v$_)" : "%v$_" }
  1 .. @values;
runs("$all_kinds(%v1,);\n",
     sub { s/\(%v1,\);/'(' . join(', ', @used) . ');'/e }, 1,
     'values of all kinds are kept');
runs("$all_kinds%fn(1);\n", sub { s/fn\(1\)/fn(2)/ }, 2,
     'a function is evaluated again');

# The call of @main is a step, too.
my $module = <<'END_OF_TEXT';
param @w: int32 = 3;
let @a = @w + 1;
let @c = ref(0);
def @main(%x: int32) -> int32 { ref_write(@c, ref_read(@c) + 1); @a * %x + 1 }
def @other(%x: int32) -> (int32, int32) { (@a * %x, ref_read(@c)) }
END_OF_TEXT
sub module {
  my ($text, @words) = @_;
  spew($file, $text);
  my $run = rly('watch', '--once', @how, '--kept', $kept, $file, @words);
  my $fresh = rly('watch', '--once', @how, $file, @words);
  my ($ran) = slurp($kept) =~ /^rly kept: (\d+) of 3 steps/;
  is_deeply([@$run{qw(out err status)}], [@$fresh{qw(out err status)}],
            "\@main: @words, it says the same");
  return $ran;
}
for my $cells (0, 1) {
  push @how, '--cells' if $cells;
  forget();
  is(module($module, 'x=2'), 3, 'a call of @main');
  is(module($module, 'x=2'), 0, '... which is the same');
  is(module($module, 'x=5'), 2, 'of another argument, with its cell');
  is(module($module, 'x=5', 'w=1'), 3, 'another value of a param');
  is(module($module =~ s/%x \+ 1/%x + 2/r, 'x=5', 'w=1'), 2, 'another body');
  is(module($module . "\@main(1);\n"), 3, 'with expressions, these are run');
  forget();
  my @entry = ('--entry', 'other');
  is(module("$module\n1 + 1;\n", 'x=2', @entry), 3, 'another entry');
  is(module("$module\n1 + 2;\n", 'x=2', @entry), 0, '... expressions aside');
  is(module($module =~ s/\(\@a \* %x/(\@a - %x/r, 'x=2', @entry), 2,
     '... which has changed');
  module($module, 'y=2');
}
@how = ();

# What was bound to a param.
forget();
again($text);
rly('watch', '--once', '--kept', $kept, $file, 'given=7');
like(slurp($kept), qr/^rly kept: 15 of 15 /, 'another value of a param');

# Mistakes.
forget();
again($text);
again("$text 1 / 0;\n");
is((again($text))[1], 0, 'a run that failed keeps what it reached');
again("1 / 0;\n$text");
is((again($text))[1], 0, '... and what it did not');
again("$text %");
is((again($text))[1], 0, 'nor does a text that is refused lose anything');
$next = rly('watch', '--once', '--max-steps', 3, '--kept', $kept, $file);
is($next->{status}, 3, 'a limit of steps counts all steps');

# These records with a sum that is right (FNV-1a, lib/kept.c).
my ($version) = rly('--version')->{out} =~ /(\d+\.\d+\.\d+)/;
sub summed {
  my ($records) = @_;
  use integer;
  my $sum = -3750763034362895579;
  $sum = ($sum ^ $_) * 1099511628211 for unpack 'C*', "$version\0$records";
  return sprintf "rly kept: 0 of 0 steps ran, sum %016x\n%s", $sum, $records;
}

# What a file holds is not trusted.
again($text);
my ($head, $records) = slurp($kept) =~ /\A(.*?\n)(.*)\z/s;
spew($kept, summed($records));
is((again($text))[1], 0, 'records that are as they were left');
for my $bad ('', "rly kept: 0 of 0 steps ran\n82 99999999999\nx\n",
             summed("82 99999999999\nx\n"),
             summed("1 18446744073709551615\n\n"), $head,
             "$head$records\n", $head . $records =~ s/1/2/r) {
  again($text);
  spew($kept, $bad);
  is((again($text))[1], 15, 'a file that holds something else');
}
for my $other ("\n", "\0" x 40, "1;\n") {
  spew($kept, $other);
  gives(rly('watch', '--once', '--kept', $kept, $file), 1, '',
        qr/E0506.*was not left by --kept/, 'a file of another kind');
  is(slurp($kept), $other, '... stays');
}
spew($kept, '');
again($text);
my $whole = slurp($kept);
for (1 .. 20) {
  spew($kept, substr $whole, 0, 1 + int rand length $whole);
  is((again($text))[0]{out}, $run->{out}, 'one that is cut');
}
# Elements and skeletons of values are among the bytes.
@how = ('--cells', '--keep-over', '1e-9');
my $damaged = $cells . $all_kinds . '(' . join(', ', @used) . ");\n";
forget();
again($damaged);
$whole = slurp($kept);
my ($crashed, $altered, $words) = (0, 0, length 'rly kept: ');
my $said = fresh()->{out};
for (1 .. (is_release() ? 200 : 20)) {
  my $bad = $whole;
  for (1 .. 1 + rand 4) {
    my $byte = rand() < 0.7 ? 48 + rand 10 : rand 256;
    substr($bad, $words + rand(length($bad) - $words), 1) = chr $byte;
  }
  spew($kept, $bad =~ s/\A.*?\n//sr =~ s/\A(.*)\z/summed($1)/ser);
  $crashed++ if (again($damaged =~ s/\);\n\z/, 1);\n/r))[0]{status};
  spew($kept, $bad);
  $altered++ if (again($damaged))[0]{out} ne $said;
}
is($crashed, 0, 'others in which bytes are others');
is($altered, 0, '... which the sum tells');
@how = ();

# A file that cannot be read or written.
my $folder = scratch('folder');
mkdir $folder;
spew($file, "1;\n");
$next = rly('watch', '--once', '--kept', $folder, $file);
is($next->{status}, 1, 'a folder for a file');
like($next->{err},
     qr/^error\[E0501\]: cannot read \Q$folder\E: /,
     '... is named');
$next = rly('watch', '--once', '--kept', "$folder/none/kept", $file);
is_deeply([@$next{qw(status out)}],
          [2, "$file:1: 1\n"],
          'no folder for the file');
like($next->{err},
     qr/^error\[E0507\]: cannot write \Q$folder\E/,
     '... is said');

# Random edits.  A line of a program is one of these, with numbers and names of
# its own; what a later line needs may be missing, which is a mistake that both
# runs are to tell.
srand($ENV{SEED} // 25);
sub one_of { $_[rand @_] }
sub number { int rand 4 }
sub name { one_of(qw(a b c d)) }
my @LINES = (
  sub { sprintf 'let %%%s = %d;', name(), number() },
  sub { sprintf 'let %%%s = ref(%d);', one_of(qw(r s t)), number() },
  sub { sprintf 'let %%%s = %%%s;', one_of(qw(r s t)), one_of(qw(r s t)) },
  sub { sprintf 'let %%p = (%%%s, %%%s);', one_of(qw(r s t)),
                one_of(qw(r s t)) },
  sub { sprintf 'ref_write(%%%s, %d);', one_of(qw(r s t)), number() },
  sub { sprintf 'ref_write(%%p.%d, ref_read(%%p.%d) + 1);', int rand 2,
                int rand 2 },
  sub { sprintf 'ref_read(%%%s);', one_of(qw(r s t)) },
  sub { sprintf '%%%s;', one_of(qw(a b c d r s p)) },
  sub { sprintf 'print(%%%s);', one_of(qw(a b r p)) },
  sub { sprintf '%%%s + @f(%%%s);', name(), name() },
  sub { sprintf '@g(%%%s);', name() },
  sub { sprintf 'let %%%s = @g(%d) + %%%s;', name(), number(), name() },
  sub { sprintf 'let %%k = fn (%%x: int32) { ref_write(%%%s, %%x); %%x + %d };',
                one_of(qw(r s t)), number() },
  sub { sprintf '%%k(%d);', number() },
  sub { '@bump();' },
  sub { 'ref_read(@v);' },
  sub { sprintf 'let %%%s = @new(%d);', one_of(qw(r s t)), number() },
  sub { sprintf 'let %%%s = %%m(%d);', one_of(qw(r s t)), number() },
  sub { sprintf 'let %%m = fn (%%x) { ref(%%x + %d) };', number() },
  sub { sprintf '@many(%d);', 3 * number() },
  sub { sprintf '@up(%%%s, %d);', one_of(qw(r s t)), one_of(1, 60, 300) },
  sub { sprintf '6 / (%%%s - %d);', name(), number() },
  sub { sprintf '@map(fn (%%i) { %%i * %%%s }, @range(%d));', name(),
                number() },
  sub { sprintf 'Box(%%%s, %d);', name(), number() },
);
my @definitions = (
  'def @f(%%x: int32) -> int32 { %%x * %d }',
  'def @g(%%x: int32) -> int32 { @f(%%x) + %d }',
  'def @bump() -> () { ref_write(@v, ref_read(@v) + %d) }',
  'type Box { Box(int32, int32)%s }',
  'def @new(%%x: int32) -> ref(int32) { ref(%%x + %d) }',
);
# Several cells of one place, and many contents of one.
my $loops = <<'END_OF_TEXT';
def @many(%n: int32) -> () {
  if (%n > 0) { @new(%n); @many(%n - 1) } else { () }
}
def @up(%r: ref(int32), %n: int32) -> () {
  if (%n > 0) { ref_write(%r, ref_read(%r) + 1); @up(%r, %n - 1) } else { () }
}
END_OF_TEXT
my @begin = map { "let %$_ = 1;" } qw(a b c d);
push @begin, (map { "let %$_ = ref(0);" } qw(r s t)), 'let @v = ref(1);',
  'let %p = (%r, %s);', 'let %k = fn (%x: int32) { %x };',
  'let %m = fn (%x: int32) { ref(%x) };';

my @body;
my @numbers = (1, 2, 3, '', 0);
sub program {
  join "\n", $loops, @begin,
    (map { sprintf $definitions[$_], $numbers[$_] } 0 .. $#definitions),
    @body, '';
}
sub edit {
  my $what = int rand 10;
  if ($what < 5 || @body < 6) {
    splice @body, int rand(1 + @body), 0, one_of(@LINES)->();
  } elsif ($what < 7) {
    splice @body, int rand @body, 1;
  } elsif ($what < 8) {
    my ($i, $k) = (int rand @body, int rand @body);
    @body[$i, $k] = @body[$k, $i];
  } elsif ($what < 9) {
    $begin[rand @begin] =~ s/\b\d+/number()/e;
  } else {
    my $i = int rand @numbers;
    $numbers[$i] = $i == 3 ? one_of('', ', Bag(int32)') : number();
  }
  splice @body, int rand @body, 1 if @body > 24;
}

sub random_edits {
  my ($edits) = @_;
  my ($wrong, $did, $would, $fine) = (0, 0, 0, 0);
  forget();
  for my $i (1 .. $edits) {
    edit();
    my ($some, $ran, $of) = again(program());
    my $all = fresh();
    if ($all->{status} == 0) {
      $did += $ran;
      $would += $of;
      $fine++;
    }
    next if join("\0", @$some{qw(out err status)})
         eq join("\0", @$all{qw(out err status)});
    $wrong++;
    diag("edit $i:\n", program(), "\n--- again\n", @$some{qw(out err)},
         "\n--- all\n", @$all{qw(out err)}) if $wrong < 3;
  }
  my $what = "random edits, @how";
  is($wrong, 0, "$what: it says what a run of everything says");
  cmp_ok($fine, '>', $edits / 4,
         "... mostly of programs without mistakes: $fine");
  cmp_ok($did, '<', $would / 2, "... with few of the steps: $did of $would");
}

my $edits = $ENV{SWEEP} ? 4000 : is_release() ? 120 : 15;
random_edits($edits);
@how = '--cells';
random_edits($edits);
@how = ('--cells', '--keep-over', '1e-9');
random_edits($edits);

# Programs of the tests, which do more: twice, and with another line in them.
for my $path (glob 'tests/run/*.rly') {
  my $text = slurp($path);
  next if $text =~ /^\s*import\b/m;
  forget();
  my $all = (again($text))[0];
  my $more = (again("$text\n1 + 1;\n"))[0];
  my $fresh = fresh();
  is_deeply([@$more{qw(out err status)}], [@$fresh{qw(out err status)}], $path);
}

done_testing();
