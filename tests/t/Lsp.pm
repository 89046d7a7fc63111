package Lsp;
# A client of `rly lsp`, as an editor is one: requests and notifications over
# two pipes, and the text of each file as the editor has it.  Columns are
# counted here from the text itself, in UTF-16 code units, by Encode.
use strict;
use warnings;
use Encode qw(encode);
use IPC::Open2;
use JSON::PP ();

my $json = JSON::PP->new->utf8->canonical->allow_nonref;

sub start {
  my ($class, @flags) = @_;
  my $self = bless {id => 0, said => [], texts => {}}, $class;
  $self->{pid} = open2($self->{from}, $self->{to}, $ENV{RLY}, 'lsp', @flags);
  binmode $_ for $self->{from}, $self->{to};
  return $self;
}

# Starts and initializes; the capabilities are in {can}.
sub begin {
  my ($class, $offers, @flags) = @_;
  my $self = $class->start(@flags);
  $self->{can} = $self->ask('initialize', capabilities => $offers // {})
                      ->{capabilities};
  $self->tell('initialized');
  return $self;
}

sub send_raw {
  my ($self, $bytes) = @_;
  local $SIG{PIPE} = 'IGNORE';
  print {$self->{to}} $bytes;
  $self->{to}->flush;
}

sub send_body {
  my ($self, $body) = @_;
  $self->send_raw('Content-Length: ' . length($body) . "\r\n\r\n$body");
}

sub send_json { $_[0]->send_body($json->encode($_[1])) }

# The next message; undef: the server has gone.
sub receive {
  my ($self) = @_;
  my $from = $self->{from};
  my $length;
  while (defined(my $line = <$from>)) {
    $length = $1 if $line =~ /^Content-Length: (\d+)\r$/;
    last if $line eq "\r\n";
  }
  return unless defined $length;
  my $body;
  read $from, $body, $length;
  return $json->decode($body);
}

sub tell {
  my ($self, $method, %params) = @_;
  $self->send_json({jsonrpc => '2.0', method => $method, params => \%params});
}

# The whole answer; what the server tells meanwhile is kept in {said}.
sub call {
  my ($self, $method, %params) = @_;
  my $id = ++$self->{id};
  $self->send_json({jsonrpc => '2.0', id => $id, method => $method,
                    params => \%params});
  while (my $message = $self->receive) {
    return $message if exists $message->{id} && !exists $message->{method};
    push @{$self->{said}}, $message;
  }
  return;
}

sub ask { return $_[0]->call(@_[1 .. $#_])->{result} }

# How the server ended: its exit status.
sub end {
  my ($self) = @_;
  close $self->{to};
  waitpid $self->{pid}, 0;
  return $? & 127 ? 128 + ($? & 127) : $? >> 8;
}

sub stop {
  my ($self) = @_;
  $self->call('shutdown');
  $self->tell('exit');
  return $self->end;
}

# The bytes of a conversation: a text with a mistake, which is mended, and each
# request at a few of its places.
sub conversation {
  my ($class) = @_;
  my $text = "/// Adds.\ndef \@f(%x: int32) { let %y = %x + 1; %y }\n" .
             "type T { A(int32), B }\nsum([\@f(1)], axes=[0]);\n";
  my $bytes = '';
  my $id = 0;
  my $add = sub {
    my ($method, $asks, %params) = @_;
    my $body = $json->encode({jsonrpc => '2.0', method => $method,
                              params => \%params, $asks ? (id => ++$id) : ()});
    $bytes .= 'Content-Length: ' . length($body) . "\r\n\r\n$body";
  };
  my @document = $class->document('m.rly');
  my $requests = sub {
    $add->("textDocument/$_", 1, @document, newName => 'g',
           position => {line => 1, character => 5},
           range => {start => {line => 0, character => 0},
                     end => {line => 9, character => 0}})
      for qw(hover signatureHelp completion definition references
             documentHighlight rename prepareRename documentSymbol foldingRange
             formatting rangeFormatting codeAction semanticTokens/full inlayHint
             codeLens);
    $add->('workspace/symbol', 1, query => '');
  };
  $add->('initialize', 1, capabilities => {});
  $add->('textDocument/didOpen', 0, textDocument => {
    uri => uri('m.rly'), version => 1, text => $text});
  $requests->();
  $add->('textDocument/didChange', 0,
         textDocument => {uri => uri('m.rly'), version => 2},
         contentChanges => [{text => 'axis', range => {
           start => {line => 3, character => 14},
           end => {line => 3, character => 18}}}]);
  $requests->();
  $add->('completionItem/resolve', 1, label => 'sum',
         data => {uri => uri('m.rly'), name => 'sum'});
  $add->('textDocument/didClose', 0, @document);
  $add->('shutdown', 1);
  $add->('exit', 0);
  return $bytes;
}

# --- Texts and places ---------------------------------------------------------

sub uri { return "file:///test/$_[0]" }
sub document { return (textDocument => {uri => uri($_[1])}) }

sub open_text {
  my ($self, $name, $text) = @_;
  $self->{texts}{$name} = $text;
  $self->tell('textDocument/didOpen',
              textDocument => {uri => uri($name), languageId => 'rly',
                               version => 1, text => $text});
}

sub units { return length(encode('UTF-16LE', $_[0])) / 2 }

# The place of a character of the text.
sub at_offset {
  my ($text, $offset) = @_;
  my @before = split /\r\n|\n|\r/, substr($text, 0, $offset), -1;
  return {line => $#before, character => units($before[-1] // '')}
    if @before;
  return {line => 0, character => 0};
}

sub range { return {start => at_offset(@_[0, 1]), end => at_offset(@_[0, 2])} }

# The place where a piece of the text begins, or so many characters after that.
sub place {
  my ($self, $name, $piece, $behind) = @_;
  my $at = index $self->{texts}{$name}, $piece;
  die "no `$piece` in $name\n" if $at < 0;
  return at_offset($self->{texts}{$name}, $at + ($behind // 0));
}

# The range of the k-th such piece.
sub span {
  my ($self, $name, $piece, $k) = @_;
  my $at = -1;
  $at = index $self->{texts}{$name}, $piece, $at + 1 for 0 .. $k // 0;
  die "no `$piece` in $name\n" if $at < 0;
  return range($self->{texts}{$name}, $at, $at + length $piece);
}

# Replaces characters, and tells of it.
sub edit {
  my ($self, $name, $from, $to, $with) = @_;
  my $range = range($self->{texts}{$name}, $from, $to);
  substr($self->{texts}{$name}, $from, $to - $from) = $with;
  $self->tell('textDocument/didChange',
              textDocument => {uri => uri($name),
                               version => ++$self->{version}},
              contentChanges => [{range => $range, text => $with}]);
}

sub replace {
  my ($self, $name, $piece, $with) = @_;
  my $at = index $self->{texts}{$name}, $piece;
  die "no `$piece` in $name\n" if $at < 0;
  $self->edit($name, $at, $at + length $piece, $with);
}

# The text with the edits that the server answered.
sub applied {
  my ($text, $edits) = @_;
  my @starts = (0);
  push @starts, pos $text while $text =~ /\n/g;
  my $offset = sub { $starts[$_[0]{line}] + $_[0]{character} };
  for my $edit (reverse @$edits) {
    my ($from, $to) = map { $offset->($edit->{range}{$_}) } qw(start end);
    substr($text, $from, $to - $from) = $edit->{newText};
  }
  return $text;
}

# The diagnostics of the text as it is now: asks for something, and what was
# told before the answer, or with it, is theirs.
sub diagnostics {
  my ($self, $name) = @_;
  my $found;
  while (1) {
    my ($newest) = grep { $_->{method} eq 'textDocument/publishDiagnostics'
                          && $_->{params}{uri} eq uri($name) }
                   reverse @{$self->{said}};
    $found = $newest->{params} if $newest;
    last if $found && ($found->{version} // 0) == ($self->{version} // 1);
    push @{$self->{said}}, $self->receive // last;
  }
  $self->{said} = [];
  return $found->{diagnostics};
}

1;
