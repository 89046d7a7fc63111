#!/usr/bin/env perl
# Nothing that a file can make deep overflows the C stack: each way to nest
# and each way to chain in the grammar, through the commands that take a
# script, on a small stack.  Where a limit of memory or time ends it, that is an
# answer, too.  `make depth` goes a million deep with all commands; SHAPE='sum'
# picks shapes by name.  What has a value is also run, most of it a hundred
# thousand deep, and the value read.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $depth = $ENV{DEPTH} || (is_release() ? 8000 : 2000);
my $stack = $ENV{STACK} || 512;     # KB
my $only = $ENV{SHAPE};             # a regular expression
my $all = $ENV{DEPTH} || $ENV{COMMANDS};

# --- Ways to be deep ---------------------------------------------------------

# OPEN n times, the middle, CLOSE n times; all of it between two texts.
sub nest {
  my ($open, $middle, $close, $before, $after) = @_;
  return sub {
    my ($n) = @_;
    return join '', $before // '', $open x $n, $middle, $close x $n,
        $after // '';
  };
}

# A link for each number: `<i>` is the number, `<j>` the one before.
sub links {
  my ($link, @numbers) = @_;
  return join '', map {
    my %number = (i => $_, j => $_ - 1);
    $link =~ s/<([ij])>/$number{$1}/gr;
  } @numbers;
}

# A head, the links from 1 to n, a tail, where `<n>` is n.
sub chain {
  my ($head, $link, $tail) = @_;
  return sub {
    my ($n) = @_;
    return $head . links($link, 1 .. $n) . ($tail // '') =~ s/<n>/$n/gr;
  };
}

# The same with the last link first.
sub backwards {
  my ($head, $link, $tail) = @_;
  return sub {
    my ($n) = @_;
    return $head . links($link, reverse 1 .. $n) . $tail =~ s/<n>/$n/gr;
  };
}

# A dimension in a signature.
sub dimension {
  my ($shape) = @_;
  return sub {
    return 'def @f[n: Dim](%y: Tensor[(n), int8], %x: Tensor[('
        . $shape->(@_) . '), int8]) { 1 } 1';
  };
}

# A type of a parameter.
sub type {
  my ($open, $close) = @_;
  return nest($open, 'int32', $close, 'fn (%x: ', ') { 1 }');
}

my $nat = 'type Nat { Z, S(Nat) } ';
my $f = 'def @f(%x: int32) -> int32 { %x } ';

my %shapes = (
  # Expressions that nest
  'parentheses' => nest('(', '1', ')'),
  'tuples' => nest('(', '1', ',)'),
  'brackets' => nest('[', '1', ']'),
  'blocks' => nest('{', '1', '}'),
  'negation' => nest('-', '1', ''),
  'not' => nest('!', 'True', ''),
  'negations apart' => nest('- (', '1', ')'),
  'sums to the right' => nest('1 + (', '1', ')'),
  'calls' => nest('@f(', '1', ')', $f),
  'operator calls' => nest('negative(', '1', ')'),
  'constructors' => nest('S(', 'Z', ')', $nat),
  'list' => nest('Cons(1, ', 'Nil', ')'),
  'list literals' => nest('List[', '1', ']'),
  'functions' => nest('fn (%x: int32) { ', '1', ' }'),
  'generic functions' => nest('fn [A](%x: A) { ', '1', ' }'),
  'called functions' => nest('(fn (%x: int32) { ', '1', ' })(1)'),
  'conditions' => nest('if (', 'True', ') { True } else { False }'),
  'then' => nest('if (True) { ', '1', ' } else { 1 }'),
  'else' => nest('if (True) { 1 } else { ', '1', ' }'),
  'scrutinees' => nest('match ', '1', ' { _ => 1 }'),
  'arms' => nest('match (1) { _ => ', '1', ' }'),
  'arms in braces' => nest('match (1) { _ => { ', '1', ' } }'),
  'refs' => nest('ref(', '1', ')'),
  'reads' => nest('ref_read(ref(', '1', '))'),
  'writes' => nest('ref_write(ref(()), ', '()', ')'),
  'lets in blocks' => nest('{ let %x = ', '1', '; %x }'),
  'lets as values' => nest('let %x = ', '1', '; 1'),
  'lets as bodies' => nest('let %x = 1; (', '1', ')'),
  'lets as operands' => nest('1 + let %x = 1; ', '1', ''),
  'attributes' => nest('squeeze(1, axis=', '1', ')'),
  'attribute lists' => nest('[', '1', ']', 'squeeze(1, axis=', ')'),
  'attributes with lets' =>
      nest('let %x = ', '0', '; 0', 'sum([1], axis=', ')'),
  'graph in blocks' => nest('{ %0 = 1; %0 + ', '1', ' }'),
  'comments' => nest('/* ', '1', ' */'),
  'opened brackets' => nest('(', '', ''),
  'opened braces' => nest('{', '', ''),
  'closed brackets' => nest('', '1', ')'),

  # Expressions that chain
  map({ ("chain of $_" => chain('1', " $_ 1")) } '+', '-', '*', '/'),
  'sum of tensors' => chain('let %x = [1f, 2f]; %x', ' + %x'),
  'comparisons' => chain('True', ' == True'),
  'and' => chain('True', ' && True'),
  'or' => chain('False', ' || False'),
  'or and and' => chain('False', ' || True && False'),
  'else if' => chain('if (False) { 1 }', ' else if (False) { 1 }',
                     ' else { 1 }'),
  'calls of results' => chain($f . '@f', '(1)'),
  'projections' => chain('(1,)', '.0'),
  'projections of a parameter' => chain('fn (%x) { %x', '.0', ' }'),
  'lets' => chain('', 'let %x<i> = 1; ', '1'),
  'lets of lets' =>
      chain('let %x0 = 1; ', 'let %x<i> = %x<j> + 1; ', '%x<n>'),
  'one let' => chain('let %x = 1; ', 'let %x = %x + 1; ', '%x'),
  'mutual lets' =>
      chain('let %f0 = fn (%x: int32) -> int32 { %x }',
            ' and %f<i> = fn (%x: int32) -> int32 { %f<j>(%x) }',
            '; %f<n>(1)'),
  'local functions' =>
      chain('let %f0 = fn (%x: int32) { %x }; ',
            'let %f<i> = fn (%x: int32) { %f<j>(%x) + 1 }; ', '%f<n>(1)'),
  'statements' => chain('{ ', '(); ', '1 }'),
  'unused graph' => chain('%0 = 1; ', '%<i> = %<j> + 1; ', '1'),
  'graph' => chain('%0 = 1; ', '%<i> = %<j> + 1; ', '%<n>'),
  'graph in a branch' =>
      chain('def @g(%c: bool) { %0 = 1; ', '%<i> = %<j> + 1; ',
            'if (%c) { %<n> } else { 0 } } @g(True)'),
  'graph of tensors' =>
      chain('def @g(%x: Tensor[(2), float32]) { %0 = %x; ',
            '%<i> = %<j> + %x; ', '%<n> } @g([1f, 2f])'),
  'arguments' => chain('fn (%x) { () }(1', ', 1', ')'),
  'wide tuple' => chain('(1', ', 1', ')'),
  'wide bracket' => chain('[1', ', 1', ']'),
  'wide stack' => chain('let %x = 1; [%x', ', %x', ']'),
  'dotted name' => chain('nn', '.x'),
  'string' => chain('"', 'a', '"'),
  'line comments' => chain('', "// x\n", '1'),
  'long name' => chain('let %x', 'x', ' = 1; 1'),
  'long number' => chain('1', '1'),
  'errors' => chain('', '? '),
  'unbound names' => chain('1', ' + %u<i>'),

  # Types
  'tuple types' => type('(', ',)'),
  'ref types' => type('Ref[', ']'),
  'ref types in parentheses' => type('ref(', ')'),
  'applied types' => type('List[', ']'),
  'results of functions' => type('fn () -> ', ''),
  'parameters of functions' => type('fn (', ') -> int32'),
  'generic function types' => type('fn [A](A) -> ', ''),
  'types of params' => nest('fn () -> ', 'int32', '', 'param @p: ', '; 1'),

  # Types that grow by inference
  map({
    my ($what, $made, $use) = @$_;
    ("inferred $what" => chain('let %x0 = 1; ', "let %x<i> = $made; ", $use))
  } ['tuples', '(%x<j>,)', '%x<n>'], ['pairs', '(%x<j>, %x<j>)', '1'],
    ['cells', 'ref(%x<j>)', 'ref_read(%x<n>); 1'],
    ['functions', 'fn () { %x<j> }', '%x<n>; 1'],
    ['lists', 'Cons(%x<j>, Nil)', '%x<n>'],
    ['mistakes', '(%x<j>,)', '%x<n> + 1']),

  # Dimensions
  map({ ("dimension of $_" => dimension(chain('n', " $_ n"))) }
      '+', '-', '*', '/'),
  'mixed dimension' => dimension(chain('n', ' + n * 2 - 1')),
  'dimension of numbers' => dimension(chain('1', ' + 1')),
  'nested quotients' => dimension(nest('1 / (n + ', 'n', ')')),
  'nested dimension' => dimension(nest('(', 'n', ')')),
  'dimension to the right' => dimension(nest('1 + (', 'n', ')')),
  'many dimensions' => dimension(chain('1', ', 1')),
  'many named dimensions' => dimension(chain('n', ', n')),

  # Patterns
  'matching tuples' => sub {
    my ($open, $close) = ('(' x $_[0], ',)' x $_[0]);
    return "def \@f(%x: ${open}int32$close) { match (%x) { "
        . "${open}%y$close => %y } } \@f(${open}7$close)";
  },
  'literal patterns' =>
      chain('match? (9) { ', '<i> => <j>, ', '_ => 0 }'),
  'literals in tuples' => sub {
    my ($open, $close) = ('(' x $_[0], ',)' x $_[0]);
    return "def \@f(%x: ${open}int32$close) { match? (%x) { "
        . "${open}8$close => 1, ${open}7$close => 2 } } \@f(${open}7$close)";
  },
  'tuple patterns' => nest('(', '_', ',)', 'match (1) { ', ' => 1 }'),
  'constructor patterns' =>
      nest('S(', '_', ')', "$nat match (Z) { ", ' => 1, _ => 2 }'),
  'annotated pattern' =>
      nest('fn () -> ', 'int32', '', 'match (1) { %x: ', ' => 1 }'),
  'many arms' => chain('match (1) { ', '%x => 1 ', '}'),
  'wide pattern' => chain('fn (%x) { match (%x) { (_', ', _', ') => 1 } }'),

  # Definitions
  'many parameters' => chain('fn (%x: int32', ', %x<i>: int32', ') { 1 }'),
  'many type parameters' => chain('fn [A', ', A<i>', '](%x: A) { 1 }'),
  'definitions' =>
      chain('def @f0(%x: int32) { %x } ',
            'def @f<i>(%x: int32) { @f<j>(%x) } ', '@f0(1)'),
  'definitions called through' =>
      chain('def @f0(%x: int32) { %x } ',
            'def @f<i>(%x: int32) { @f<j>(%x) + 1 } ', '@f<n>(1)'),
  'ring of definitions' =>
      chain('def @f0(%x: int32) -> int32 { @f1(%x) } ',
            'def @f<i>(%x: int32) -> int32 { @f<j>(%x) } ', '1'),
  'definitions backwards' =>
      backwards($f =~ s/f/f0/r, 'def @f<i>(%x: int32) { @f<j>(%x) } ',
                '@f<n>(1)'),
  'generic definitions' =>
      chain('def @f0[A](%x: A) { %x } ',
            'def @f<i>[A](%x: A) { @f<j>(%x) } ', '@f0(1)'),
  'types of types' =>
      chain('type T0 { T0 } ', 'type T<i> { T<i>(T<j>) } ', '1'),
  'types backwards' =>
      backwards('type T0 { T0 } ', 'type T<i> { T<i>(T<j>) } ', '1'),
  'constructors of a type' => chain('type T { T0', ', T<i>', '} 1'),
  'fields of a constructor' => chain('type T { T(int32', ', int32', ')} 1'),
  'list literal' => chain('@length(List[1', ', 1', '])'),
  'list of sums' => chain('@length(List[1 + 1', ', 1 + 1', '])'),
  'items' => chain('', '1; ', '1'),
  'global lets' =>
      chain('let @x0 = 1; ', 'let @x<i> = @x<j> + 1; ', '@x<n>'),
  'global tuples' => chain('let @x0 = 1; ', 'let @x<i> = (@x<j>,); ', '1'),

  # Values and calls
  'deep list' =>
      chain('def @l(%n: int32, %l: List[int32]) -> List[int32] '
            . '{ if (%n == 0) { %l } else { @l(%n - 1, Cons(%n, %l)) } } ',
            '', '@l(<n>, Nil)'),
  'deep number' =>
      chain($nat . 'def @s(%n: int32, %l: Nat) -> Nat '
            . '{ if (%n == 0) { %l } else { @s(%n - 1, S(%l)) } } ',
            '', '@s(<n>, Z)'),
  'deep calls' =>
      chain('def @d(%n: int32) -> int32 '
            . '{ if (%n == 0) { 0 } else { 1 + @d(%n - 1) } } ',
            '', '@d(<n>)'),
);

# --- Running -----------------------------------------------------------------

my @commands = ('check --types --effects', 'run', 'fmt', 'fmt --relay',
                'dump --ir', 'run --json', 'step --steps 100');
@commands = split /;/, $ENV{COMMANDS} if $ENV{COMMANDS};

# Its status as a shell gives it.
sub status {
  my ($command, $path) = @_;
  # The address sanitizer's own exit status is 1, which would be an answer.
  local $ENV{ASAN_OPTIONS} =
      join ':', grep { defined } $ENV{ASAN_OPTIONS}, 'exitcode=99';
  my $limits = '--max-memory 4G';
  $limits .= ' --timeout 200' if $command =~ /run|step/;
  system("ulimit -s $stack; exec $ENV{RLY} $command $limits $path "
         . '>/dev/null 2>&1 </dev/null');
  return $? & 127 ? 128 + ($? & 127) : $? >> 8;
}

# The sample takes one command for each shape, in turn; the long form all.  Slow
# builds take an eighth of the shapes.
my $turn = 0;
for my $name ($all ? sort keys %shapes : one_in(1, 0, sort keys %shapes)) {
  next if defined $only && $name !~ /$only/;
  my $path = spew(scratch('deep.rly'), $shapes{$name}->($depth));
  my @chosen = $all ? @commands : ($commands[$turn++ % @commands]);
  my @bad = grep { $_->[1] > 3 } map { [$_, status($_, $path)] } @chosen;
  ok(!@bad, "$name: " . ($all ? 'all commands' : "@chosen"))
    or diag(map { "$_->[0]: status $_->[1]\n" } @bad);
}

# --- Values ------------------------------------------------------------------

# A shape, a depth, and the output: text, or a pattern.
my @values = (
  ['parentheses', 100_000, '1'],
  ['blocks', 100_000, '1'],
  ['negation', 100_000, '1'],
  ['not', 100_001, 'False'],
  ['negations apart', 100_001, '-1'],
  ['sums to the right', 100_000, '100001'],
  ['calls', 100_000, '1'],
  ['operator calls', 100_001, '-1'],
  ['constructors', 100_000, qr/^S\(S\(S\(.*\)\)\)$/],
  ['list', 100_000, qr/^Cons\(1, Cons\(1, .*\)\)$/],
  ['list literal', 1_000_000, '1000001'],
  ['list of sums', 300_000, '300001'],
  ['called functions', 2_000, '1'], # their free variables: quadratic
  ['conditions', 100_000, 'True'],
  ['then', 100_000, '1'],
  ['else', 100_000, '1'],
  ['else if', 100_000, '1'],
  ['scrutinees', 100_000, '1'],
  ['arms in braces', 100_000, '1'],
  ['reads', 100_000, '1'],
  ['lets in blocks', 100_000, '1'],
  ['lets as values', 100_000, '1'],
  ['lets as bodies', 100_000, '1'],
  ['lets as operands', 100_000, '100001'],
  ['chain of +', 100_000, '100001'],
  ['tuple types', 100_000, qr/^<fn /],
  ['applied types', 100_000, qr/^<fn /],
  ['parameters of functions', 100_000, qr/^<fn /],
  ['types of params', 100_000, qr/E0212/],
  ['inferred tuples', 100_000, qr/^\(\(\(.*\.\.\./],
  ['inferred lists', 100_000, qr/^Cons\(Cons\(.*\.\.\./],
  ['inferred pairs', 100_000, '1'],
  ['constructor patterns', 20_000, '2'],
  ['matching tuples', 100_000, '7'],
  ['literals in tuples', 100_000, '2'],
  ['literal patterns', 100_000, '8'],
  ['attribute lists', 100_000, qr/E0111/],
  ['deep number', 100_000, qr/^S\(S\(S\(.*\)\)\)$/],
  ['deep calls', 100_000, '100000'],
);
for (one_in(1, 0, @values)) {
  my ($name, $n, $value) = @$_;
  next if defined $only && $name !~ /$only/;
  my $path = spew(scratch('value.rly'), $shapes{$name}->($n));
  my $text = without_notes(
    scalar `ulimit -s $stack; $ENV{RLY} run --timeout 600 $path 2>&1`);
  my $right = ref $value ? $text =~ $value : $text eq "$value\n";
  ok($right, "$name, $n deep: its value") or diag(substr $text, 0, 300);
}
done_testing();
