#!/usr/bin/env perl
# The language server and what no editor sends: each hostile program of
# limits/Hostile.pm as an open text, messages that are broken or do not fit, and
# conversations that stop in the middle.  Each request has an answer, as LSP
# says, each program the diagnostic that its row tells, and the server goes on.
use strict;
use warnings;
use lib 'tests/t', 'tests/limits';
use Encode ();
use Hostile;
use Limits;
use Lsp;
use Rly;
use Test::More;

my @limits = ('--safe', '--max-memory', '256M', '--max-depth', 100000,
              '--timeout', 60);
$SIG{ALRM} = sub { die "the server does not answer\n" };

# --- Programs ---------------------------------------------------------------

my @document = Lsp->document('hostile.rly');
my $start = {line => 0, character => 1};
my %asked = (position => $start, options => {}, newName => '%q', query => '',
             range => {start => $start, end => {line => 0, character => 9}});
my @methods = qw(hover completion signatureHelp definition references
                 documentSymbol foldingRange formatting semanticTokens/full
                 inlayHint codeLens codeAction rename);
my $c = Lsp->begin(undef, @limits);

# What is wrong, or nothing.
sub served {
  my ($verdict, $text) = @_;
  my ($class, $place, $code) = split ' ', $verdict;
  my @wrong;
  $c->{said} = [];
  $c->open_text('hostile.rly', $text);
  for my $method (@methods) {
    my $answer = $c->call("textDocument/$method", @document, %asked)
        or die "the server is gone: $method\n";
    my $failure = $answer->{error} or next;
    push @wrong, "$method: $failure->{code}\n"
        if $failure->{code} !~ /^-32(803|602)$/ || $failure->{message} eq '';
  }
  my @codes = map { $_->{code} }
      grep { $_->{severity} == 1 } @{$c->diagnostics('hostile.rly')};
  $c->tell('textDocument/didClose', @document);
  my $told = $class =~ /refused|checked/ ? grep { /^$code/ } @codes : !@codes;
  return (@wrong, $told ? () : "told: @codes\n");
}

for my $what (one_in(1, 0, sort keys %programs)) {
  my ($verdict, $bytes) = @{$programs{$what}};
  my $text = eval { Encode::decode('UTF-8', $bytes, Encode::FB_CROAK) };
  next if !defined $text; # JSON holds no such text
  alarm 300;
  my @wrong = served($verdict, $text);
  alarm 0;
  ok(!@wrong, "$what: $verdict") or diag(@wrong);
}

# --- Messages ---------------------------------------------------------------

my $good = "let %x = 1f;\n";
$c->open_text('good.rly', $good);
my $uri = Lsp::uri('good.rly');
my $most = '9223372036854775807';

# A request of that id about the good text, as JSON; `rest` is more of it.
sub request {
  my ($id, $method, $rest) = @_;
  return qq({"jsonrpc":"2.0","id":$id,"method":"$method","params":)
      . qq({"textDocument":{"uri":"$uri"}$rest}});
}
sub hover_at { return request(7, 'textDocument/hover', qq(,"position":$_[0])) }

# Each has the code of its answer, and its words; 0: it has a result.
my $object = 'a request is an object with a method';
my @messages = (
  ['JSON that ends', '{"id":7,', -32700, 'is no JSON'],
  ['two values', '{} {}', -32700, 'is no JSON'],
  ['bytes that are no UTF-8', "{\"id\":7,\"method\":\"\xFF\"}", -32700, 'JSON'],
  ['half a surrogate', '{"id":7,"method":"\ud800"}', -32601, 'no method'],
  ['lists that nest', '[' x 1000000, -32700, 'is no JSON'],
  ['objects that nest', '{"a":' x 1000000, -32600, 'the limit of memory'],
  ['a list that nests less', '[' x 2000 . ']' x 2000, -32600, $object],
  ['a batch', '[' . hover_at('{}') . ']', -32600, $object],
  ['a method that is a number', '{"id":7,"method":7}', -32600, $object],
  ['a method with a NUL', '{"id":7,"method":"exit\u0000"}', -32600, $object],
  ['a method of a megabyte', '{"id":7,"method":"' . 'x' x 1000000 . '"}',
   -32601, 'there is no method xxx'],
  ['no method', '{"id":7}', -32600, $object],
  ['an id beyond int64', request("${most}0", 'shutdown', ''), -32700, 'JSON'],
  ['the largest id', request($most, 'rly/x', ''), -32601, 'no method rly/x'],
  ['an id of a megabyte', request('"' . 'i' x 1000000 . '"', 'rly/x', ''),
   -32601, 'no method rly/x'],
  map({ [$_->[0], request($_->[1], 'textDocument/hover', ''), -32600,
         'an id is an integer or a string'] }
      ['an id that nests', '[' x 1000 . ']' x 1000],
      ['an id that is an object', '{"a":1}'], ['an id of null', 'null'],
      ['an id that is a fraction', '1.5']),
  ['params that are a number',
   '{"id":7,"method":"textDocument/hover","params":7}', -32602, 'no such text'],
  ['params that are a list',
   '{"id":7,"method":"textDocument/hover","params":[1]}', -32602, 'no such'],
  ['a notification that asks', request(7, 'textDocument/didOpen', ''), -32600,
   'is a notification'],
  ['a cancel that asks', request(7, '$/cancelRequest', ''), -32601,
   'no method $/cancelRequest'],
  map({ my ($name, $text) = @$_;
        ["a URI $name", qq({"id":7,"method":"textDocument/hover","params":)
         . qq({"textDocument":{"uri":$text},"position":)
         . qq({"line":0,"character":0}}}), -32602, 'no such text is open'] }
      ['of nobody', '"file:///nobody.rly"'], ['of no scheme', '"x"'],
      ['of nothing', '""'], ['that is a number', '7'],
      ['with a NUL', qq("$uri\\u0000")],
      ['of a megabyte', '"file:///' . '%41' x 300000 . '"'],
      ['that is cut', '"file:///%"']),
  map({ my ($name, $place) = @$_;
        ["a place $name", hover_at($place), -32602, '`position` is none'] }
      ['below zero', '{"line":-1,"character":0}'],
      ['before its line', '{"line":0,"character":-1}'],
      ['of fractions', '{"line":0.5,"character":0}'],
      ['of texts', '{"line":"0","character":"0"}'],
      ['of half', '{"line":0}'], ['that is a list', '[0,0]']),
  map({ my ($name, $place) = @$_;
        ["a place $name", hover_at($place), 0, ''] }
      ['after the end', qq({"line":$most,"character":$most})],
      ['after its line', qq({"line":0,"character":$most})]),
  ['a range that is turned', request(7, 'textDocument/rangeFormatting',
   ',"range":{"start":{"line":9,"character":0},'
   . '"end":{"line":0,"character":0}}'), -32602, '`range` is none'],
  ['a name that is a program', request(7, 'textDocument/rename',
   ',"position":{"line":0,"character":5},"newName":"1; fail()"'),
   -32602, 'is no name'],
  ['a name that is a number', request(7, 'textDocument/rename',
   ',"position":{"line":0,"character":5},"newName":7'), -32602, 'is no name'],
);
for (@messages) {
  my ($name, $body, $code, $words) = @$_;
  $c->send_body($body);
  alarm 60;
  my $answer;
  do { $answer = $c->receive } while $answer && $answer->{method};
  alarm 0;
  my $failure = $answer->{error} // {code => 0, message => ''};
  ok($failure->{code} == $code && index($failure->{message}, $words) >= 0,
     "$name: $code $words")
      or diag(substr "$failure->{code} $failure->{message}", 0, 300);
}

# --- Notifications ----------------------------------------------------------

# What does not fit has no answer; where the text would be another than the
# editor's the user is told, and the text is not served until it is opened.
sub change {
  $c->tell('textDocument/didChange',
           textDocument => {uri => $uri, version => 2},
           contentChanges => $_[0]);
}
sub hover {
  return $c->call('textDocument/hover', Lsp->document('good.rly'),
                  position => {line => 0, character => 5});
}
my $whole = {start => {line => 0, character => 0},
             end => {line => 0, character => 3}};
for (['below zero', [{text => '', range => {%$whole, start =>
                      {line => -1, character => 0}}}]],
     ['that is turned', [{text => '', range => {start => $whole->{end},
                                                end => $whole->{start}}}]],
     ['without a text', [{range => $whole}]],
     ['whose text is a number', [{range => $whole, text => 7}]],
     ['after one that fits', [{text => 'x', range => $whole}, {text => 7}]],
     ['that is a number', [7]], ['that is no list', {text => ''}]) {
  my ($name, $changes) = @$_;
  $c->open_text('good.rly', $good);
  $c->{said} = [];
  change($changes);
  is(hover()->{error}{code}, -32602, "a change $name: the text is not served");
  is((grep { $_->{method} eq 'window/showMessage' } @{$c->{said}})[0]
         ->{params}{message},
     'rly: a change does not fit the text, which is not looked at until it is '
     . 'opened again', '... and the user is told');
}
$c->open_text('good.rly', $good);
change([{text => '', range => {start => {line => 8, character => 0},
                               end => {line => 9, character => 9}}}]);
like(hover()->{result}{contents}{value}, qr/%x : float32/,
     'a change after the end is one at the end');

# Half a surrogate is one code unit of the editor's text, and of the server's.
for (['high', '\ud83d', 1], ['low', '\uDE00', 1], ['turned', '\ude00\ud83d', 2],
     ['beside a pair', '\ud83d\ud83d\ude00', 3],
     ['behind a backslash', '\\\\\ud83d', 2],
     ['of six letters', '\\\\ud83d', 6]) {
  my ($name, $half, $units) = @$_;
  $c->open_text('good.rly', "/* */ $good");
  $c->send_body(<<"END");
{"method": "textDocument/didChange", "params": {"textDocument": {"uri": "$uri",
 "version": 2}, "contentChanges": [{"text": "$half", "range":
 {"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 3}}}]}}
END
  change([{text => '%zz', range => {
      start => {line => 0, character => 9 + $units},
      end => {line => 0, character => 11 + $units}}}]);
  my $found = $c->call('textDocument/hover', Lsp->document('good.rly'),
                       position => {line => 0, character => 10 + $units});
  like($found->{result}{contents}{value}, qr/%zz : float32/,
       "a surrogate $name: the text is the editor's");
}
$c->open_text('good.rly', $good);

$c->tell($_->[0], @{$_->[1]}) for
    ['$/cancelRequest', [id => 12345]], ['$/cancelRequest', []],
    ['$/nobody', []], ['textDocument/hover', [@document]],
    ['textDocument/didClose', [@document]], ['textDocument/didOpen', []],
    ['textDocument/didOpen', [textDocument => {uri => 7, text => 7}]],
    ['textDocument/didChange', []], ['textDocument/didSave', []];
like(hover()->{result}{contents}{value}, qr/%x : float32/,
     'notifications of what is not there are passed over');
$c->send_json({jsonrpc => '2.0', id => 7, result => {}});
like(hover()->{result}{contents}{value}, qr/%x : float32/,
     'and an answer to what was not asked');
is($c->stop, 0, 'the server ends well');

# --- Conversations that stop ------------------------------------------------

for (['within a header', 'Content-Len'], ['after a header',
      "Content-Length: 100\r\n\r\n"], ['within a message',
      "Content-Length: 100\r\n\r\n{\"id\":"]) {
  my ($name, $bytes) = @$_;
  my $half = Lsp->begin(undef, @limits);
  $half->send_raw($bytes);
  is($half->end, 1, "a conversation that stops $name");
}
for (['a length too long by one', 1], ['a length too short by one', -1]) {
  my ($name, $more) = @$_;
  my $wrong = Lsp->begin(undef, @limits);
  my $body = '{"jsonrpc":"2.0","id":1,"method":"rly/x"}';
  $wrong->send_raw('Content-Length: ' . (length($body) + $more)
                   . "\r\n\r\n$body");
  $wrong->send_body($body);
  alarm 60;
  is($wrong->receive->{error}{code}, -32700, "$name: is told");
  is($wrong->receive->{error}{code}, -32700, '... and the next message broken');
  alarm 0;
  is($wrong->end, 1, '... the server ends');
}
within_memory();
done_testing();
