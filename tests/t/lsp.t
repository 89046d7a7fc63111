#!/usr/bin/env perl
# The language server, `rly lsp`, driven by messages as an editor sends them:
# each method, broken messages, limits; then a thousand random edits, after
# which the server must know what a new one knows that is given the text.
#
# What is expected was worked out from the texts below by hand; places are found
# in the texts by the client (Lsp.pm).
use strict;
use warnings;
use utf8;
use lib 'tests/t';
use Lsp;
use List::Util qw(min);
use Rly;
use Test::More;
use Time::HiRes qw(time);

binmode Test::More->builder->$_, ':utf8'
  for qw(output failure_output todo_output);

my $text = <<'END';
// Façade 🙂
/// Scales a vector.
def @scale(%x: Tensor[(3), float32], %by: float32) {
  let %scaled = %x * %by;
  %scaled
}

type Shape2 { Circle(float32), Square(float32) }

def @area(%s: Shape2) -> float32 {
  match (%s) { Circle(%r) => 3f * %r * %r, Square(%a) => %a * %a }
}

let %v = @scale([1f, 2f, 3f], 2f);
/* 🙂 */ sum(%v, axis=[0]) + @area(Circle(1f));
END

my $c = Lsp->begin;
is($c->{can}{positionEncoding}, 'utf-16', 'columns are UTF-16 by default');
is($c->{can}{textDocumentSync}{change}, 2, 'changes are incremental');
$c->open_text('a.rly', $text);
is_deeply($c->diagnostics('a.rly'), [], 'a text without mistakes');

sub hover {
  my ($piece, $behind) = @_;
  my $hover = $c->ask('textDocument/hover', Lsp->document('a.rly'),
                      position => $c->place('a.rly', $piece, $behind));
  return $hover ? $hover->{contents}{value} : '';
}

# --- Hover --------------------------------------------------------------------

is(hover('@scale(%x', 3), <<'END', 'a function: type, effects, doc comment');
```rly
@scale : fn (Tensor[(3), float32], float32) -> Tensor[(3), float32]
```
effects: pure

Scales a vector.
END
is(hover('%scaled', 1), "```rly\n%scaled : Tensor[(3), float32]\n```\n",
   'a variable with its shape');
is(hover('Circle(%r)', 1), <<'END', 'a constructor with its type');
```rly
Circle : fn (float32) -> Shape2[]
type Shape2 { Circle(float32), Square(float32) }
```
END
like(hover('sum(%v', 1), qr/^`sum\(data, axis=None.*\n\nSum over axes/,
     'an operator as `rly ops` tells of it');
like(hover('* %by', 0), qr/^`multiply\(lhs, rhs\)`/, 'or by its sign');
$c->open_text('own.rly', <<'END');
/// Twice.
op @twice(%x: float32) -> float32 = { %x + %x };
gradient @twice(%x) -> (%y, %g) { %g * 2f }
rule @once(%x: float32) when pure(%x) { tanh(%x) + tanh(%x) } => {
  @twice(tanh(%x))
}
END
my $twice = $c->ask('textDocument/hover', Lsp->document('own.rly'),
                    position => $c->place('own.rly', '@twice(%x: ', 1));
is($twice->{contents}{value}, <<'END', 'an op with its derivative and rules');
```rly
@twice : fn (float32) -> float32
```
effects: pure

Twice.

```rly
gradient @twice(%x) -> (%y, %g) { %g * 2f }
rule @once(%x: float32) when pure(%x) { tanh(%x) + tanh(%x) } => {
  @twice(tanh(%x))
}
```
END
is(hover('3f * %r', 0), "```rly\nfloat32\n```\n", 'a literal');
is($c->ask('textDocument/hover', Lsp->document('a.rly'),
           position => $c->place('a.rly', 'çade')), undef, 'nothing');

# --- Names --------------------------------------------------------------------

sub locations { return [map { {uri => Lsp::uri('a.rly'), range => $_} } @_] }

my ($definition) = @{locations($c->span('a.rly', '%v'))};
is_deeply($c->ask('textDocument/definition', Lsp->document('a.rly'),
                  position => $c->place('a.rly', '%v, axis', 2)),
          $definition, 'where a variable is declared, after an emoji');
is($c->ask('textDocument/definition', Lsp->document('a.rly'),
           position => $c->place('a.rly', 'sum(')), undef,
   'an operator is declared nowhere');
sub references {
  my ($piece, $declaration) = @_;
  return $c->ask('textDocument/references', Lsp->document('a.rly'),
                 position => $c->place('a.rly', $piece),
                 context => {includeDeclaration => $declaration});
}
is_deeply(references('Circle(%r)', JSON::PP::true),
          locations(map { $c->span('a.rly', 'Circle', $_) } 0 .. 2),
          'all uses of a constructor');
is_deeply(references('%a * %a', JSON::PP::false),
          locations(map { $c->span('a.rly', '%a', $_) } 1, 2),
          'uses without the declaration');
is_deeply(references('Shape2)', JSON::PP::true),
          locations(map { $c->span('a.rly', 'Shape2', $_) } 0, 1),
          'a type in an annotation');
is_deeply($c->ask('textDocument/documentHighlight', Lsp->document('a.rly'),
                  position => $c->place('a.rly', '%by')),
          [map { {range => $c->span('a.rly', '%by', $_)} } 0, 1], 'highlights');

sub rename_to {
  my ($piece, $name) = @_;
  return $c->call('textDocument/rename', Lsp->document('a.rly'),
                  position => $c->place('a.rly', $piece), newName => $name);
}
is_deeply($c->ask('textDocument/prepareRename', Lsp->document('a.rly'),
                  position => $c->place('a.rly', '%by')),
          {range => $c->span('a.rly', '%by'), placeholder => '%by'},
          'what a rename is of');
is_deeply(rename_to('@scale', 'times')->{result}{changes},
          {Lsp::uri('a.rly') => [map { {newText => '@times',
             range => $c->span('a.rly', '@scale', $_)} } 0, 1]},
          'a rename, with or without the sigil');
like(rename_to('@scale', '@area')->{error}{message}, qr/would be wrong/,
     'not to a name that is taken');
like(rename_to('%by', '%x')->{error}{message}, qr/would be wrong/,
     'nor to one that means something else there');
like(rename_to('%by', 'a b')->{error}{message}, qr/no name/, 'nor to no name');
like(rename_to('sum(%v', 'total')->{error}{message}, qr/not declared/,
     'an operator keeps its name');

# In a long text a rename takes as long as a few checks: it is one itself.  Its
# time once went by the pairs of names.  Of each the least of three counts.
sub least_of_three {
  my ($work) = @_;
  return min map {
    my $begun = time;
    $work->($_);
    time - $begun;
  } 1 .. 3;
}

{
  my $long = Lsp->begin;
  my $lines = join '', map { "let %v$_ = $_;\n" } 1 .. 10_000;
  $long->open_text('long.rly', "let %first = 1;\n$lines%first;\n");
  $long->diagnostics('long.rly');
  my $check = least_of_three(sub {
    $long->edit('long.rly', 0, 0, ' ');
    $long->diagnostics('long.rly');
  });
  my $done;
  my $rename = least_of_three(sub {
    $done = $long->ask('textDocument/rename', Lsp->document('long.rly'),
                       position => $long->place('long.rly', '%first'),
                       newName => "last$_[0]");
  });
  is(scalar @{$done->{changes}{Lsp::uri('long.rly')}}, 2, 'of a long text');
  cmp_ok($rename, '<', 10 * $check, '... in little time');
  $long->stop;
}

# --- Completion ---------------------------------------------------------------

sub offers {
  my ($piece, $behind, $name) = @_;
  return $c->ask('textDocument/completion', Lsp->document($name // 'a.rly'),
                 position => $c->place($name // 'a.rly', $piece, $behind));
}
sub labels { return [map { $_->{label} } @{offers(@_)}] }
is_deeply(labels('axis=[0]', 2), ['axis='], 'an attribute');
is_deeply(labels("%scaled\n}", 2), ['%scaled'], 'a variable');
is_deeply([sort @{labels("%scaled\n}", 1)}], [qw(%by %scaled %v %x)],
          'all that the item has');
is_deeply([sort grep { /^\@(?:scale|area|map|length)$/ }
           @{labels('@area(Ci', 1)}],
          [qw(@area @length @map @scale)], 'functions, also of the library');
my ($offer) = grep { $_->{label} eq '@scale' } @{offers('@scale([', 3)};
my $resolved = $c->ask('completionItem/resolve', %$offer);
is($resolved->{detail},
   'def @scale(%x: Tensor[(3), float32], %by: float32)', 'with its signature');
is($resolved->{documentation}{value}, "Scales a vector.\n", 'and doc comment');

sub signature {
  my $help = $c->ask('textDocument/signatureHelp', Lsp->document('a.rly'),
                     position => $c->place('a.rly', @_));
  return unless $help;
  my $signature = $help->{signatures}[0];
  my $label = $signature->{parameters}[$help->{activeParameter}]{label};
  return substr $signature->{label}, $label->[0], $label->[1] - $label->[0];
}
is(signature('[1f, 2f, 3f], 2f', 14), '%by: float32', 'the second argument');
is(signature('sum(%v', 4), 'data', 'an operator’s first');
is(signature('let %v', 0), undef, 'no call');

# --- Outlines -----------------------------------------------------------------

my $symbols = $c->ask('textDocument/documentSymbol', Lsp->document('a.rly'));
is_deeply([map { [@$_{qw(name kind)}] } @$symbols],
          [['@scale', 12], ['Shape2', 5], ['@area', 12], ['%v', 13]],
          'symbols');
is_deeply([map { $_->{name} } @{$symbols->[1]{children}}], [qw(Circle Square)],
          'with constructors');
is($symbols->[2]{detail}, 'fn (Shape2[]) -> float32', 'and types');
is_deeply($symbols->[3]{range},
          $c->span('a.rly', 'let %v = @scale([1f, 2f, 3f], 2f);'),
          'and their places');
is_deeply([map { $_->{name} } @{$c->ask('workspace/symbol', query => 'AREA')}],
          ['@area'], 'symbols of all texts by a part of the name');
is_deeply([map { [@$_{qw(startLine endLine)}] }
           sort { $a->{startLine} <=> $b->{startLine} }
           @{$c->ask('textDocument/foldingRange', Lsp->document('a.rly'))}],
          [[0, 1], [2, 4], [9, 10]], 'what can be folded');
is_deeply([map { [$_->{command}{title}, $_->{range}{start}{line}] }
           @{$c->ask('textDocument/codeLens', Lsp->document('a.rly'))}],
          [['run', 14], ['step', 14]], 'lenses at the first expression');

my $hints = $c->ask('textDocument/inlayHint', Lsp->document('a.rly'),
                    range => Lsp::range($text, 0, length $text));
is_deeply([sort map { $_->{label} . ' ' . $_->{position}{line} } @$hints],
          [' -> Tensor[(3), float32] 2', ': Tensor[(3), float32] 13',
           ': Tensor[(3), float32] 3'], 'types that were inferred');

# Tokens as [text, type, modifiers].
sub tokens {
  my ($client, $name) = @_;
  my @lines = split /\n/, $client->{texts}{$name};
  my @types = @{$client->{can}{semanticTokensProvider}{legend}{tokenTypes}};
  my @data = @{$client->ask('textDocument/semanticTokens/full',
                            Lsp->document($name))->{data}};
  my ($line, $column, @found) = (0, 0);
  while (my ($down, $right, $length, $type, $modifiers) = splice @data, 0, 5) {
    $column = 0 if $down;
    $line += $down;
    $column += $right;
    my $units = Encode::encode('UTF-16LE', $lines[$line]);
    my $word = Encode::decode('UTF-16LE',
                              substr $units, 2 * $column, 2 * $length);
    push @found, [$word, $types[$type], $modifiers];
  }
  return @found;
}
my @tokens = tokens($c, 'a.rly');
is_deeply([@tokens[0, 1, 2, 3, 4]],
          [['// Façade 🙂', 'comment', 0],
           ['/// Scales a vector.', 'comment', 0],
           ['def', 'keyword', 0], ['@scale', 'function', 1],
           ['%x', 'parameter', 1]], 'tokens with their meaning');
is_deeply([grep { $_->[0] =~ /^(?:Circle|sum|Shape2)$/ } @tokens],
          [['Shape2', 'type', 1], ['Circle', 'enumMember', 1],
           ['Shape2', 'type', 0], ['Circle', 'enumMember', 0],
           ['sum', 'function', 2], ['Circle', 'enumMember', 0]], 'names, too');

# --- Layout -------------------------------------------------------------------

is_deeply($c->ask('textDocument/formatting', Lsp->document('a.rly'),
                  options => {}), [], 'a text that is laid out');
my $ragged = "def \@f( %x :int32 ){%x+1}\n\ndef \@g(%y: int32) {%y}\n";
$c->open_text('b.rly', $ragged);
is(Lsp::applied($ragged, $c->ask('textDocument/formatting',
                                 Lsp->document('b.rly'), options => {})),
   "def \@f(%x: int32) { %x + 1 }\n\ndef \@g(%y: int32) { %y }\n",
   'one that is not');
is(Lsp::applied($ragged, $c->ask('textDocument/rangeFormatting',
                                 Lsp->document('b.rly'), options => {},
                                 range => $c->span('b.rly', '@g'))),
   "def \@f( %x :int32 ){%x+1}\n\ndef \@g(%y: int32) { %y }\n", 'a part of it');
$c->replace('b.rly', '{%x+1}', '{%x+');
like($c->call('textDocument/formatting', Lsp->document('b.rly'))
       ->{error}{message}, qr/\S/, 'what does not parse keeps its layout');
$c->tell('textDocument/didClose', Lsp->document('b.rly'));

# --- Mistakes -----------------------------------------------------------------

$c->{version} = 1;
$c->{said} = [];
$c->replace('a.rly', 'axis=[0]', 'axes=[0]');
my ($wrong) = @{$c->diagnostics('a.rly')};
is($wrong->{code}, 'E0109', 'a diagnostic has its code');
is_deeply($wrong->{range}, $c->span('a.rly', 'axes=[0]'), 'its place');
is($wrong->{message},
   "`sum` has no attribute `axes`\nhint: did you mean `axis`?", 'and a hint');
sub actions {
  return $c->ask('textDocument/codeAction', Lsp->document('a.rly'),
                 range => $c->span('a.rly', @_),
                 context => {diagnostics => []});
}
my ($action) = @{actions('axes=[0]')};
is_deeply($action->{edit}{changes}{Lsp::uri('a.rly')},
          [{range => $c->span('a.rly', 'axes'), newText => 'axis'}],
          'which mends it');
is_deeply(actions('%x * %by'), [], 'elsewhere nothing is to be mended');
$c->replace('a.rly', 'axes', 'axis');
is_deeply($c->diagnostics('a.rly'), [], 'mended');

$c->replace('a.rly', '2f);', '2);');
my ($suffix) = @{$c->diagnostics('a.rly')};
like($suffix->{message}, qr/write `2f`/, 'a number of another type');
is_deeply([map { $_->{edit}{changes}{Lsp::uri('a.rly')}[0]{newText} }
           @{actions('2);')}], ['2f'], 'gets its suffix');
$c->replace('a.rly', '2);', '2f);');

$c->replace('a.rly', '-> float32', '-> int32');
my ($clash) = @{$c->diagnostics('a.rly')};
is($clash->{severity}, 1, 'an error');
ok(scalar(grep { $_->{location}{uri} eq Lsp::uri('a.rly') }
          @{$clash->{relatedInformation}}), 'with the places of its notes')
  or diag(explain($clash));
is(hover('%scaled', 1), "```rly\n%scaled : Tensor[(3), float32]\n```\n",
   'what checks of a text with a mistake is known');
is(hover('%r * %r', 1), "```rly\n%r : float32\n```\n",
   'and of the rest what was known of it before');
like($c->call('textDocument/rename', Lsp->document('a.rly'), newName => 'q',
              position => $c->place('a.rly', '%by'))->{error}{message},
     qr/mend the text/, 'a rename waits');
$c->replace('a.rly', '-> int32', '-> float32');

$c->replace('a.rly', '%scaled = %x', '%scaled = (((%x');
ok(scalar @{$c->diagnostics('a.rly')}, 'brackets that stay open');
is_deeply([map { $_->{name} } @{$c->ask('textDocument/documentSymbol',
                                         Lsp->document('a.rly'))}],
          ['@scale', 'Shape2', '@area', '%v'], 'do not take in what follows');
is(hover('Square(%a)', 8), "```rly\n%a : float32\n```\n",
   'of which everything is known');
is_deeply(labels('%scaled = (((%x * %b', 20), ['%by'], 'nor end completion');
$c->replace('a.rly', '(((', '');

# --- A text that imports another ----------------------------------------------

my $lib = spew(scratch('lib.rly'), "def \@twice(%n: int32) { %n + %n }\n");
my $use = "import \"lib.rly\";\n\@twice(2);\n";
my $path = scratch('use.rly');
my $there = {uri => "file://$lib",
             range => {start => {line => 0, character => 4},
                       end => {line => 0, character => 10}}};
sub told {
  push @{$c->{said}}, $c->receive
    until grep { ($_->{params}{uri} // '') eq "file://$path" } @{$c->{said}};
  my ($told) = grep { ($_->{params}{uri} // '') eq "file://$path" }
    splice @{$c->{said}};
  return $told->{params}{diagnostics};
}
$c->{said} = [];
$c->tell('textDocument/didOpen', textDocument => {
  uri => "file://$path", languageId => 'rly', version => 1, text => $use});
is_deeply(told(), [], 'a file is found beside the text');
is_deeply($c->ask('textDocument/definition',
                  textDocument => {uri => "file://$path"},
                  position => {line => 1, character => 2}),
          $there, 'a definition in another file');
spew($lib, "def \@twice(%n: int32) { %m + %n }\n");
$c->tell('textDocument/didSave', textDocument => {uri => "file://$path"});
my ($imported) = @{told()};
is_deeply($imported->{range}, {start => {line => 0, character => 0},
                               end => {line => 0, character => 17}},
          'a mistake in it is told where it is imported');
like($imported->{message}, qr/^\S*lib\.rly:1: .*%m/, 'with its place');

# --- Life, and broken messages ------------------------------------------------

sub code { return $_[0]{error}{code} }
is(code($c->call('rly/nothing')), -32601, 'an unknown method');
is(code($c->call('textDocument/hover')), -32602, 'a request without a text');
is(code($c->call('textDocument/hover', Lsp->document('a.rly'),
                 position => {line => -1, character => 0})), -32602,
   'a place that is none');
is(ref $c->call('textDocument/hover', Lsp->document('a.rly'),
                position => {line => 9999, character => 9999}), 'HASH',
   'a place after the end');
is(code($c->call('initialize', capabilities => {})), -32600, 'a second start');
$c->tell('rly/nothing');
$c->tell('$/cancelRequest', id => 1);
for my $body ('{', '', '[]', 'null', '"x"', '{"id": 7}', "\0\1\2",
              '{"method": 3, "id": 1}', '[' x 100_000) {
  $c->send_body($body);
  my $answer = $c->receive;
  like(code($answer), qr/^-32(?:700|600)$/,
       'no request: ' . substr $body, 0, 20);
}
is(hover('%scaled', 1), "```rly\n%scaled : Tensor[(3), float32]\n```\n",
   'and the server goes on');
is_deeply($c->call('shutdown')->{result}, undef, 'shutdown');
is(code($c->call('textDocument/hover')), -32600, 'after it nothing is served');
$c->tell('exit');
is($c->end, 0, 'exit');

gives(rly('lsp', 'a.rly'), 1, '', qr/is a word too many/, 'a file is no text');
my $early = Lsp->start;
is(code($early->call('textDocument/hover')), -32002, 'too early');
$early->tell('exit');
is($early->end, 1, 'an exit without a shutdown');
is(Lsp->start->end, 1, 'a client that goes');
for (['a header without a length', "Content-Type: x\r\n\r\n{}"],
     ['a length that is none', "Content-Length: -4\r\n\r\n{}"],
     ['a length beyond all', 'Content-Length: ' . '9' x 30 . "\r\n\r\n{}"],
     ['a header without an end', 'x' x 10_000]) {
  my ($name, $bytes) = @$_;
  my $broken = Lsp->start;
  $broken->send_raw($bytes);
  is(code($broken->receive), -32700, "$name: is told");
  is($broken->end, 1, 'and ends the conversation');
}
my $short = Lsp->start;
$short->send_raw("Content-Length: 99999999999\r\n\r\n{}");
is($short->end, 1, 'a message that does not come');
my $deaf = Lsp->start;
close $deaf->{from};
$deaf->send_json({id => $_, method => 'initialize'}) for 1 .. 2;
is($deaf->end, 1, 'a client that does not listen');

# --- Limits -------------------------------------------------------------------

my $small = Lsp->begin(undef, '--max-memory', '8M');
$small->open_text('big.rly', "let %x = 1;\n" x 200_000);
my ($no_room) = grep { defined } $small->receive;
like($no_room->{params}{message} // $no_room->{error}{message} // '',
     qr/memory/, 'a text beyond the limit of memory is told');
$small->open_text('a.rly', "1 + 1;\n");
is_deeply($small->diagnostics('a.rly'), [], 'and others are served');
is($small->stop, 0, 'to the end');

# The name that was known is longer than the text that is left of it.
my $cut = Lsp->begin;
$cut->open_text('c.rly', 'let %longer = 1;');
$cut->ask('workspace/symbol', query => '');
$cut->diagnostics('c.rly');
$cut->edit('c.rly', 6, 16, '');
is_deeply($cut->ask('textDocument/hover', Lsp->document('c.rly'),
                    position => {line => 0, character => 6}),
          {contents => {kind => 'markdown',
                        value => "```rly\n%longer : int32\n```\n"}},
          'a name that is cut short is known, without a range');
is($cut->stop, 0, 'to the end');

my $bytes = Lsp->begin({general => {positionEncodings => ['utf-8', 'utf-16']}});
is($bytes->{can}{positionEncoding}, 'utf-8', 'columns in bytes, where offered');
$bytes->open_text('a.rly', "/* 🙂 */ %y;\n");
is_deeply($bytes->diagnostics('a.rly')->[0]{range},
          {start => {line => 0, character => 11},
           end => {line => 0, character => 13}}, 'four for an emoji');
is($bytes->stop, 0, 'to the end');

# --- A thousand random edits --------------------------------------------------

srand 25;
my @scraps = ('(', ')', '{', '}', '[', ']', ';', ',', '"', "\n", "\r\n", ' ',
              '%x', '@area', 'let %q = 1f;', '/* ', ' */', '// ', '🙂', 'é',
              '1f', ' + ', 'def ', 'Circle(', 'match (', "\0", '=>', '-');
my $e = Lsp->begin;
$e->open_text('r.rly', $text);
for my $k (1 .. 1000) {
  my $length = length $e->{texts}{'r.rly'};
  my $from = int rand($length + 1);
  my $to = $from + int rand 4;
  $to = $length if $to > $length;
  $e->edit('r.rly', $from, $to, rand() < 0.7 ? $scraps[rand @scraps] : '');
  # a user undoes, too
  $e->edit('r.rly', 0, length $e->{texts}{'r.rly'}, $text) if $k % 40 == 0;
  next if $k % 8;
  $e->ask('textDocument/hover', Lsp->document('r.rly'),
          position => Lsp::at_offset($e->{texts}{'r.rly'}, $from));
}
sub known {
  my ($client) = @_;
  my @document = Lsp->document('r.rly');
  my $range = Lsp::range($client->{texts}{'r.rly'}, 0, 1);
  return {
    problems => $client->diagnostics('r.rly'),
    map { $_ => $client->ask("textDocument/$_", @document, range => $range) }
      qw(documentSymbol semanticTokens/full foldingRange codeLens),
  };
}
for my $state ('after the edits', 'and mended') {
  my $new = Lsp->begin;
  $new->open_text('r.rly', $e->{texts}{'r.rly'});
  is_deeply(known($e), known($new), "the same as from a new start, $state");
  is($new->stop, 0, 'which ends well');
  $e->edit('r.rly', 0, length $e->{texts}{'r.rly'}, $text);
}
is_deeply($e->diagnostics('r.rly'), [], 'without mistakes at the end');
is($e->stop, 0, 'the server ends well');

done_testing();
