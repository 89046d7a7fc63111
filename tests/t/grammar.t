#!/usr/bin/env perl
# The grammar in docs/LANGUAGE.md is what parser/ accepts:
#
#   - each name that it uses is defined, and each definition is reached;
#   - each token of parser/grammar.y occurs in it;
#   - what it makes, at random from a fixed seed, parser/ reads;
#   - what parser/ reads, it reads: the programs of the tests and the library.
#
# The rules are read from the page.  Those of lexemes, in capitals and what they
# use, become a regular expression; the others a recogniser that gives all ends
# of a rule at a place, each looked for once.
use strict;
use warnings;
no warnings 'recursion';
use lib 'tests/t';
use Rly;
use Test::More;

my %rule;
my @order;
my $page = slurp('docs/LANGUAGE.md');
my @blocks = $page =~ /^```ebnf\n(.*?)^```/msg;
is(scalar @blocks, 2, 'the page has the rules and the lexemes');

# --- Reading the rules ------------------------------------------------------
#
# A node is [kind, ...]: seq and alt of nodes, opt and rep of one, text "x",
# regex, name.

my @marks;

sub parse_alt {
  my @all = (parse_seq());
  while (@marks && $marks[0] eq '|') { shift @marks; push @all, parse_seq() }
  return @all == 1 ? $all[0] : ['alt', @all];
}

sub parse_seq {
  my @all;
  my %close = (']' => 1, '}' => 1, ')' => 1, '|' => 1, ';' => 1);
  while (@marks && !$close{$marks[0]}) {
    my $mark = shift @marks;
    if ($mark =~ /^["'](.*)["']$/s) { push @all, ['text', $1] }
    elsif ($mark =~ /^\? (.*) \?$/s) { push @all, ['regex', $1] }
    elsif ($mark =~ /^\w+$/) { push @all, ['name', $mark] }
    else {
      my $kind = { '[' => 'opt', '{' => 'rep', '(' => 'seq' }->{$mark}
        or die "the rules have `$mark`";
      push @all, [$kind, parse_alt()];
      shift @marks;
    }
  }
  return @all == 1 ? $all[0] : ['seq', @all];
}

for my $block (@blocks) {
  @marks = $block =~ /\? .*? \?(?=\s)|"[^"]*"|'[^']*'|\w+|\S/g;
  while (@marks) {
    my $name = shift @marks;
    die "`$name` is no name of a rule" unless $name =~ /^\w+$/;
    die "no `=` behind $name" unless shift(@marks) eq '=';
    die "$name is defined twice" if $rule{$name};
    push @order, $name;
    $rule{$name} = parse_alt();
    die "no `;` behind $name" unless shift(@marks) eq ';';
  }
}

sub walk {
  my ($node, $see) = @_;
  $see->($node);
  walk($_, $see) for grep { ref } @{$node}[1 .. $#$node];
}

# --- Whole ------------------------------------------------------------------

my (%reached, @undefined);
my @next = qw(file text);
while (defined(my $name = shift @next)) {
  next if $reached{$name}++;
  if (!$rule{$name}) { push @undefined, $name; next }
  walk($rule{$name}, sub { push @next, $_[0][1] if $_[0][0] eq 'name' });
}
is("@undefined", '', 'each name that is used is defined');
is(join(' ', grep { !$reached{$_} } @order), '', 'each rule is reached');

# Which rules are made of tokens: those that `file` reaches in small letters.
my (%syntax, %texts);
@next = 'file';
while (defined(my $name = shift @next)) {
  next if $name =~ /^[A-Z]/ || $syntax{$name}++;
  walk($rule{$name}, sub {
    push @next, $_[0][1] if $_[0][0] eq 'name';
    $texts{$_[0][1]} = 1 if $_[0][0] eq 'text';
  });
}

my $source = slurp('parser/grammar.y') =~ s/%code \{.*//sr =~ s{//.*}{}gr;
my $scanner = slurp('parser/scan.re');
my %spelling;
$spelling{$2}{$1} = 1
  while $scanner =~ /^\s+"([^"]+)"\s+\{ return TK_(\w+); \}/mg;
my @missing;
my %tokens = map { $_ => 1 } $source =~ /::=([^.]*)\./g
  ? map { /\b([A-Z][A-Z_]+)\b/g } $source =~ /::=([^.]*)\./g : ();
for my $token (sort keys %tokens) {
  next if $token eq 'MINUS';
  my @spelled = keys %{$spelling{$token} || {}};
  push @missing, $token
    unless $syntax{file} && ($rule{$token} || grep { $texts{$_} } @spelled);
}
cmp_ok(scalar keys %tokens, ">", 50, 'the tokens of parser/grammar.y');
is("@missing", '', 'occur in the rules');

# --- Lexemes ----------------------------------------------------------------

# Written out, as a call within a regular expression is slow; COMMENT alone
# holds itself.
my %within;

sub regex {
  my ($node) = @_;
  my ($kind, @parts) = @$node;
  return quotemeta $parts[0] if $kind eq 'text';
  return "(?:$parts[0])" if $kind eq 'regex';
  return '(?:' . join('|', map { regex($_) } @parts) . ')' if $kind eq 'alt';
  if ($kind eq 'name') {
    return "(?&$parts[0])" if $within{$parts[0]}++;
    my $whole = regex($rule{$parts[0]});
    my $called = $whole =~ /\(\?&$parts[0]\)/ ? "?<$parts[0]>" : '?:';
    delete $within{$parts[0]};
    return "($called$whole)";
  }
  my $all = join '', map { regex($_) } @parts;
  return "(?:$all)" . { seq => '', opt => '?', rep => '*' }->{$kind};
}

my %lexeme = map { my $it = regex(['name', $_]); $_ => qr/\G$it/ }
  qw(blank COMMENT VERSION METADATA INCOMPLETE META IDENT VARIABLE LOCAL GLOBAL
     GRAPH INDEX INTEGER NUMBER STRING);
my ($mark) = map { qr/\G(?:$_)/ } join '|', map { quotemeta }
  sort { length $b <=> length $a } grep { !/^\w+\??$/ } keys %texts;
my %soft = map { $_ => 1 }
  qw(and param import gradient rule when with op where Dim
     Shape DType Float Int);
my %hard = map { $_ => 1 } grep { /^\w/ && !$soft{$_} } keys %texts;

# The tokens of a text: [kind, text]; nothing where no lexeme fits.
sub tokens {
  my ($text) = @_;
  my @found;
  pos($text) = 0;
  for (;;) {
    1 while $text =~ /$lexeme{blank}/gc || $text =~ /$lexeme{COMMENT}/gc;
    last if pos $text == length $text || $text =~ /$lexeme{METADATA}/gc;
    my $before = @found ? $found[-1] : ['', ''];
    my @kinds = $before->[1] eq '.' ? qw(INDEX IDENT)
      : qw(INTEGER NUMBER INCOMPLETE META IDENT VARIABLE LOCAL GLOBAL GRAPH
           STRING VERSION);
    my $operand = $before->[0] =~ /^[A-Z]/ || $before->[1] =~ /^[])}_]$/
      || $before->[1] =~ /^(?:True|False)$/;
    my ($at, $best, $kind) = (pos $text, '', '');
    for (@kinds) {
      pos($text) = $at;
      next unless $text =~ /$lexeme{$_}/gc;
      my $it = substr $text, $at, pos($text) - $at;
      next if $operand && $it =~ /^-/;
      ($best, $kind) = ($it, $_) if length $it > length $best;
    }
    pos($text) = $at;
    if (!length $best) {
      $text =~ /($mark)/gc or return;
      ($best, $kind) = ($1, 'mark');
    }
    pos($text) = $at + length $best;
    if ($kind eq 'IDENT' && $before->[1] ne '.' && $hard{$best}) {
      $kind = 'word';
      $best .= '?' if $best eq 'match' && $text =~ /\G\?/gc;
    }
    push @found, [$kind, $best];
  }
  return @found;
}

# --- The recogniser ---------------------------------------------------------

my (@input, %memo);
my (%first, %empty); # by rule: tokens that it may begin with

# Does the token at hand fit the terminal?
sub fits {
  my ($node, $token) = @_;
  return $token->[1] eq $node->[1] && $token->[0] !~ /^(?!IDENT)[A-Z]/
    if $node->[0] eq 'text';
  return $token->[0] eq $node->[1]
    || $node->[1] eq 'NUMBER' && $token->[0] eq 'INTEGER';
}

sub terminal { return $_[0][0] eq 'text' || $_[0][1] =~ /^[A-Z]/ }
sub key { return $_[0][0] eq 'text' ? "\"$_[0][1]" : $_[0][1] }

# What a node may begin with: whether it may be empty, and the keys into %$into.
sub begins {
  my ($node, $into) = @_;
  my ($kind, @parts) = @$node;
  if ($kind eq 'text' || $kind eq 'name') {
    if (terminal($node)) { $into->{key($node)} = 1; return 0 }
    $into->{$_} = 1 for keys %{$first{$parts[0]}};
    return $empty{$parts[0]};
  }
  my $all = 1;
  my $any = 0;
  for (@parts) {
    my $may = begins($_, $into);
    $any ||= $may;
    $all &&= $may;
    last if $kind ne 'alt' && !$may;
  }
  return $kind eq 'alt' ? $any : $kind eq 'seq' ? $all : 1;
}

my $more = 1;
while ($more) {
  $more = 0;
  for my $name (grep { $syntax{$_} } @order) {
    my %found;
    my $may = begins($rule{$name}, \%found) ? 1 : 0;
    $more ||= keys %found != keys %{$first{$name} || {}}
      || $may != ($empty{$name} || 0);
    ($first{$name}, $empty{$name}) = (\%found, $may);
  }
}

# Each node gets what it may begin with.
sub mark_first {
  walk($_[0], sub {
    my ($node) = @_;
    return if $node->[0] !~ /^(?:seq|alt|opt|rep)$/;
    my %found;
    my $may = begins($node, \%found);
    $Rly::first{$node} = $may ? undef : \%found;
  });
}
mark_first($rule{$_}) for grep { $syntax{$_} } @order;

sub cannot {
  my ($set, $at) = @_;
  return 0 unless $set;
  my $token = $input[$at] or return 1;
  return 0 if $token->[0] eq 'INTEGER' && $set->{NUMBER};
  return !($set->{$token->[0]} || $set->{"\"$token->[1]"});
}

# The ends of a node that begins at `at`, as the keys of a hash.
sub ends {
  my ($node, $at) = @_;
  my ($kind, @parts) = @$node;
  if ($kind eq 'name' && !terminal($node)) {
    my $name = $parts[0];
    return {} if cannot($empty{$name} ? undef : $first{$name}, $at);
    return $memo{$name}[$at] ||= ends($rule{$name}, $at);
  }
  if ($kind eq 'text' || $kind eq 'name') {
    return $input[$at] && fits($node, $input[$at]) ? { $at + 1 => 1 } : {};
  }
  return {} if cannot($Rly::first{$node}, $at);
  if ($kind eq 'alt') {
    return { map { %{ends($_, $at)} } @parts };
  }
  if ($kind eq 'rep') {
    my %all = ($at => 1);
    my @new = ($at);
    while (@new) {
      my $from = shift @new;
      $all{$_}++ or push @new, $_ for keys %{ends($parts[0], $from)};
    }
    return \%all;
  }
  my %now = ($at => 1);
  for my $part (@parts) {
    %now = map { %{ends($part, $_)} } keys %now;
    last unless %now;
  }
  $now{$at} = 1 if $kind eq 'opt';
  return \%now;
}

sub reads {
  my ($text) = @_;
  @input = tokens($text) or return 0;
  %memo = ();
  return ends(['name', 'file'], 0)->{scalar @input};
}

ok(reads('1 + 2 * 3'), 'the recogniser reads');
ok(!reads($_), "and refuses $_")
  for '1 +', 'let %x = 1;; 2', 'def f() { 1 }', '{ let %x = 1; }', 'f(a=1 b)',
  'type T { A, B( }', '%x |> 1', 'match (1) { 1 => }', '(1', '"a', '[1, , 2]',
  'def @f(%x: Tensor[2, int32]) { 1 }', '1 2';

# --- Programs that the parser reads -----------------------------------------

# Programs that are refused for their text are told by what the suite expects.
my @files = grep {
  my $expected = s/\.rly$/.json/r;
  !-e $expected || slurp($expected) !~ /"expect": "(?:parse|type)-error"/;
} glob 'tests/conformance/lang/*.rly';
@files = @files[grep { $_ % 6 == 0 } 0 .. $#files];
# `$D` stands for the dtypes in the library's text.
push @files, grep { slurp($_) !~ /\$D/ } glob('stdlib/*.rly'),
  glob('examples/*/*.rly');
my @unread = grep { -s $_ < 40_000 && !reads(slurp($_)) } @files;
cmp_ok(scalar @files, '>', 80, 'programs of the tests, the library, examples');
is("@unread", '', 'are read by the rules');

# --- Programs that the rules make -------------------------------------------

my $seed = 20_260_101;
sub draw {
  my ($below) = @_;
  $seed = ($seed * 1_103_515_245 + 12_345) % 2**31;
  return int($seed / 2**31 * $below);
}

my %sample = (
  IDENT => [qw(nn Cons float32 x1 and)], LOCAL => [qw(%x %a/b %fc.w %l.0.b)],
  GLOBAL => [qw(@f @lstm.step)], GRAPH => [qw(%0 %12)], INDEX => [qw(0 1)],
  NUMBER => [qw(1 1.5 2f -3 1e5 7u8 inff 200i64)], INTEGER => [qw(0 3 12)],
  META => ['meta[a.B]'], VARIABLE => [qw($axis $n)],
  INCOMPLETE => ['meta[IncompleteType]'],
  STRING => ['"a\n\u00e9\x41\101"', '""'], VERSION => ['#[version = "0.0.5"]'],
);

# How deep the shallowest text of a node is.
my %height = map { $_ => 1e6 } keys %syntax;
sub height {
  my ($node) = @_;
  my ($kind, @parts) = @$node;
  return $kind eq 'text' || $parts[0] =~ /^[A-Z]/ ? 0 : 1 + $height{$parts[0]}
    if $kind eq 'text' || $kind eq 'name';
  return 0 if $kind eq 'opt' || $kind eq 'rep';
  my @all = sort { $a <=> $b } map { height($_) } @parts;
  return $kind eq 'alt' ? $all[0] : @all ? $all[-1] : 0;
}
for (1 .. 30) { $height{$_} = height($rule{$_}) for keys %syntax }

my @text;
sub make {
  my ($node, $depth) = @_;
  my ($kind, @parts) = @$node;
  if ($kind eq 'text') { push @text, $parts[0] }
  elsif ($kind eq 'name' && $sample{$parts[0]}) {
    my $of = $sample{$parts[0]};
    push @text, $of->[draw(scalar @$of)];
  }
  elsif ($kind eq 'name') { make($rule{$parts[0]}, $depth - 1) }
  elsif ($kind eq 'seq') { make($_, $depth) for @parts }
  elsif ($kind eq 'opt') { make($parts[0], $depth) if $depth > 0 && draw(2) }
  elsif ($kind eq 'rep') {
    for (1 .. ($depth > 0 ? draw(3) : 0)) { make($parts[0], $depth) }
  }
  else {
    my ($low) = sort { $a <=> $b } map { height($_) } @parts;
    my @fit = grep { height($_) <= ($depth > $low ? $depth : $low) } @parts;
    make($fit[draw(scalar @fit)], $depth);
  }
}

# The page's three rules for what could be read in two ways, and what a soft
# keyword is: a text that they would read otherwise is not asked for.
sub is_plain {
  my @open;
  for my $i (0 .. $#text) {
    my ($it, $next) = ($text[$i], $text[$i + 1] // ';');
    my $last = $i ? $text[$i - 1] : '';
    push @open, $i if $it =~ /^[[({]$/;
    my $from = $it =~ /^[])}]$/ ? pop @open : undef;
    # 1: an arm's block or match, and arms without commas.
    return 0 if $it eq '}' && $next eq '(';
    return 0 if $it eq '=>' && !arm_is_apart($i);
    # 3: a sign.
    return 0 if $it =~ /^-\d/ && $last =~ /^(?:[])}\w"%@]|.*\w$)/;
    return 0 if $it eq '-' && $next =~ /^[-\d]|^inff|^>/;
    return 0 if $it eq 'and' && $last =~ /[\w)}\]"]$/;
  }
  return 1;
}

# Does a comma, or the opening brace, stand before the pattern of the arm whose
# `=>` is at $at?
sub arm_is_apart {
  my ($at) = @_;
  my $depth = 0;
  for (my $i = $at - 1; $i >= 0; $i--) {
    my $it = $text[$i];
    $depth++ if $it =~ /^[])}]$/;
    return 1 if !$depth && ($it eq ',' || $it eq '{');
    return 0 if !$depth && $it eq '=>';
    $depth-- if $it =~ /^[[({]$/;
  }
  return 0;
}

my $wanted = 2000;
my @made;
for (my $tries = 0; @made < $wanted && $tries < 20 * $wanted; $tries++) {
  @text = ();
  make(['name', 'item'], 4 + draw(9));
  next if @text > 120 || !is_plain();
  push @made, join(' ', @text) =~ s/ \. (?=\d)/ ./gr;
}
is(scalar @made, $wanted, 'programs made by the rules');
# 2: what begins with a bracket does not follow a type.
@made = map { /^(?:extern )?type/ ? ($_, 'def @between() { 1 }') : $_ } @made;
my %refused;
for my $part (0 .. 9) {
  my @lines = @made[grep { $_ % 10 == $part } 0 .. $#made];
  @lines = map { ($_, 'def @apart() { 1 }') } @lines;
  my $file = spew(scratch("made$part.rly"), join("\n", @lines, ''));
  my $err = rly('fmt', $file)->{err};
  $refused{$lines[$1 - 1]} //= $2
    while $err =~ /made$part\.rly:(\d+):\d+: error\[(E00\d\d.*)/g;
}
is(join("\n", map { "$refused{$_}\n    $_" } sort keys %refused), '',
   'are read by the parser');
ok(reads($_), 'and by the rules') or diag($_)
  for @made[map { $_ * 97 } 0 .. 20];

done_testing;
