#!/usr/bin/env perl
# rly fmt on files: comments stay wherever they stand, lines end within 80
# columns, -w replaces the file atomically and keeps its mode.
#
# A formatter may not lose what a person wrote, and comments are where one does,
# since the tree has no place for most of them.  Places chosen by hand would be
# those that the author of the formatter had thought of.  So a numbered comment
# goes into every gap between two tokens of many programs: the numbers must come
# out complete and in order, and formatting the result must change nothing.
# Once per file one comment stands alone, because neighbours can hide that a
# single one is dropped.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $path = scratch('f.rly');

sub formatted { return rly('fmt', spew($path, $_[0])) }

# --- Comments at every gap between tokens ------------------------------------

my $blank = qr{(?:\s|//[^\n]*|/\*.*?\*/)+}s;
my $token = qr{\.\.\.|"(?:\\.|[^"])*"|\#\[[^\]]*\]|match\?|meta\[[^\]]*\]
               |[%@]?[A-Za-z_][\w/]*|%\d+|\d(?:[eE][+-]?(?=\d)|[\w.])*
               |->|=>|==|!=|<=|>=|&&|\|\||\|>|.}xs;

# The places between the tokens of a text that has no metadata.  A minus and
# its number, a name and its dots stay together.
sub gaps {
  my ($text) = @_;
  my @gaps;
  pos($text) = 0;
  while (pos($text) < length $text) {
    next if $text =~ /\G$blank/gc;
    push @gaps, pos $text;
    $text =~ /\G(?:-+(?=\d|inf|nan))?$token(?:\.\w+)*/gc or last;
  }
  return @gaps, length $text;
}

sub with_comments {
  my ($text, $comment, @gaps) = @_;
  my $n = @gaps;
  for my $at (reverse @gaps) {
    $n--;
    substr($text, $at, 0) = sprintf " $comment ", $n;
  }
  return $text;
}

# The reason why a text's formatting is wrong, or nothing: comments keep their
# order, and formatting again changes nothing.
sub trouble {
  my ($text, $count) = @_;
  my $run = formatted($text);
  return $run->{err} if $run->{status};
  my @found = $run->{out} =~ /~(\d+)~/g;
  return "comments: @found" if "@found" ne join ' ', 0 .. $count - 1;
  my $again = formatted($run->{out});
  return $again->{out} eq $run->{out} ? '' : "again: $again->{out}";
}

my ($tried, @wrong) = (0);
for my $file (sample(glob 'tests/conformance/lang/*.rly')) {
  my $text = slurp($file);
  next if $text =~ m{#\[metadata\]|//|/\*.*/\*}s || formatted($text)->{status};
  my @gaps = gaps($text);
  $tried++;
  for my $comment ('/* ~%d~ */', "// ~%d~\n") {
    my $why = trouble(with_comments($text, $comment, @gaps), scalar @gaps);
    push @wrong, "$file: $why" if $why;
  }
  # One alone, elsewhere in each file.
  my $one = $gaps[$tried * 7 % @gaps];
  my $why = trouble(with_comments($text, "// ~%d~\n", $one), 1);
  push @wrong, "$file at $one: $why" if $why;
}
is_deeply(\@wrong, [], 'comments stay, at every gap of every program');
cmp_ok($tried, '>', is_release() ? 100 : 10, 'which are many');

# --- Lines ------------------------------------------------------------------

my $run = formatted(join '', 'let %x = ', join(' + ', ('foo(%y)') x 40), ';');
is_deeply([grep { length > 80 } split /\n/, $run->{out}], [],
          'no line is wider than 80 columns');

my $type = 'Tensor[(1, 1, 1, 2), float32]';
$run = formatted("let %conv_backward_weight: $type = "
                 . 'nn.conv2d_backward_weight(%x, %dy, kernel_size=[1, 2]);'
                 . "let %x: $type = // why\n%y;");
is($run->{out}, <<"END", 'a value that does not fit after its name hangs');
let %conv_backward_weight: $type =
  nn.conv2d_backward_weight(%x, %dy, kernel_size=[1, 2]);
let %x: $type = // why
  %y;
END

my @wide;
for my $file (glob '{stdlib,examples/*,tests/*}/*.rly') {
  push @wide, map { "$file: $_" }
    grep { length > 80 && !m{^\s*//} } split /\n/, rly('fmt', $file)->{out};
}
is_deeply(\@wide, [], 'nor is a line of a program of ours');

$run = formatted("\xEF\xBB\xBF1 +\r\n// a\r\n2;\r\n/* b\r\n c */\r\n");
is($run->{out}, "1 +\n  // a\n  2;\n/* b\n c */\n",
   'a byte order mark and carriage returns go') or diag($run->{err});

# --- Fields -----------------------------------------------------------------

# A field of a variable may be read as a name with a dot.  What a pass has made
# a field must read back as one, also where a variable has that name.
my $fields = <<'END';
type Point { Point(x: int32, y: int32) }
type Line { Line(from: Point, to: Point) }
let @line = Line(Point(1, 2), Point(3, 4));
let %line = @line;
def @both(%p: (Line, Line)) -> int32 { (%p).0.to.x + ((%p.1).from).y }
def @near(%l: Line) -> int32 { let %l.to = 5; (%l).to.x + %l.to + %l.from.x }
@both((@line, %line)) + @near(@line) + %line.to.y;
{@line.to with x = 7}.x + @line.from.y;
END
sub apart {
  my ($text) = @_;
  return $text =~ s/\(%p\)\.0/(%p.0)/r =~ s/\(\(%p\.1\)\.from\)/(%p.1).from/r
    =~ s/%l\.from/(%l).from/r =~ s/%line\.to/(%line).to/r
    =~ s/\@line\.(to|from)/(\@line).$1/gr;
}
my $printed = "18\n9\n";
gives(rly('run', spew($path, $fields)), 0, $printed, '', 'fields');
gives(rly('fmt', $path), 0, qr/ \(%p\.0\)\.to\.x \+ \(%p\.1\)\.from\.y /, '',
      'the parentheses that a field needs stay');
my $split = rly('fmt', spew($path, apart($fields)))->{out};
for my $pass ('check', 'static') {
  gives(rly('fmt', '--pass', $pass, spew($path, $fields)), 0, $split, '',
        "fields after the pass `$pass`");
}
gives(rly('run', spew($path, $split)), 0, $printed, '', '... run as before');
my $functions = rly('fmt', '--pass', 'functional', spew($path, $fields));
is($functions->{status}, 0, 'fields of a state') or diag($functions->{err});
gives(rly('check', spew($path, $functions->{out})), 0, '', '',
      '... are checked');

# --- In place ---------------------------------------------------------------

spew($path, '1+2');
chmod 0751, $path;
my $link = scratch('link.rly');
symlink $path, $link;
gives(rly('fmt', '-w', $link), 0, '', '', '-w through a link');
ok(-l $link, 'which stays a link');
is(slurp($path), "1 + 2;\n", 'to the formatted file');
is((stat $path)[2] & 07777, 0751, 'of the same mode');
my @files = glob scratch('*.tmp');
is_deeply(\@files, [], 'and nothing is left beside it');

spew($path, "1 +\n");
my $before = (stat $path)[1];
gives(rly('fmt', '-w', $path), 1, '', qr/E0004/, 'what is wrong is refused');
is((stat $path)[1], $before, 'and its file is the one it was');

# --- What is no program ------------------------------------------------------

my %bad = ("1 +\0 2" => qr/f\.rly:1:4: error\[E0001\]: a NUL at byte 3/,
           "1 +\n \xFF" => qr/f\.rly:2:2: error\[E0001\]: invalid UTF-8/,
           '(' x 5000 => qr/f\.rly:1:5000: error\[E0004\]/,
           '{' x 5000 . ')' => qr/f\.rly:1:5001: error\[E0004\]/,
           '/* ' => qr/f\.rly:1:1: error\[E0002\]/);
for my $command (qw(fmt check dump)) {
  for my $text (sort keys %bad) {
    my $name = substr $text =~ s/[^ -~]/?/gr, 0, 10;
    gives(rly($command, spew($path, $text)), 1, '', $bad{$text},
          "$command: $name");
  }
  gives(rly($command, scratch('')), 1, '',
        qr/error\[E0501\]: cannot read .*dir/, "$command: a directory");
  gives(rly($command, scratch('nowhere.rly')), 1, '', qr/error\[E0501\]/,
        "$command: no file");
}
gives(rly('test', scratch('')), 1, qr/^not ok 1 - .*cannot be read/m,
      qr/error\[E0501\]: cannot read .*dir/, 'test: a directory');
gives(rly('test', spew($path, "1;\0")), 1, qr/^not ok 1 - .*: holds a NUL/m, '',
      'test: a NUL');
gives(rly('explain', "\xFF\0"), 1, '', qr/no diagnostic/, 'explain: no code');

done_testing;
