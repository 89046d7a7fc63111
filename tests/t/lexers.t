#!/usr/bin/env perl
# The lexers for Pygments, highlight.js and VS Code, and the colours of
# tree-sitter's parser, over programs of the suites, the library and the
# examples: what the server calls a keyword, a number, a string or a comment is
# one there, and nothing else is.  A sample;
# `make sweep` takes all 3,851.
use strict;
use warnings;
use lib 'tests/t';
use IPC::Open2;
use Lsp;
use Rly;
use Test::More;

my %lexers = (
  Pygments => [['/usr/bin/python3', 'tests/lexers/classes.py'],
               '/usr/bin/python3 -c "import pygments"'],
  'highlight.js' => [['node', 'tests/lexers/classes.mjs'],
                     'test -d build/deps/npm/node_modules/highlight.js'
                     . ' && node --version'],
  'tree-sitter' => [['build/tree-sitter/read', 'classes',
                     'editors/tree-sitter/queries/highlights.scm'],
                    'test -x build/tree-sitter/read'],
  TextMate => [['node', 'tests/lexers/textmate.mjs'],
               'test -d build/deps/vscode/node_modules/vscode-textmate'
               . ' && node --version'],
);
my @there = grep { !system "$lexers{$_}[1] >/dev/null 2>&1" } sort keys %lexers;
plan skip_all => 'no reader of a lexer is here' if !@there;

# Programs of plain characters: a server counts in UTF-16.
my @paths = grep { slurp($_) !~ /[^\x00-\x7f]/ }
  one_in(16, 0, sort split /\n/,
         `find tests/run tests/conformance examples stdlib -name '*.rly'`);

# The server's tokens of a program as a letter for each character; undef: it
# has none, for it refuses the text.
my %letters = (keyword => 'K', number => 'N', string => 'S', comment => 'C');
my $client = Lsp->begin;
my @kinds = @{$client->{can}{semanticTokensProvider}{legend}{tokenTypes}};
sub served {
  my ($text) = @_;
  my %document = (uri => 'file:///tmp/one.rly');
  $client->tell('textDocument/didOpen', textDocument =>
    {%document, languageId => 'rly', version => 1, text => $text});
  my @data = @{$client->ask('textDocument/semanticTokens/full',
                            textDocument => \%document)->{data}};
  $client->tell('textDocument/didClose', textDocument => \%document);
  my @starts = (0);
  push @starts, pos $text while $text =~ /\n/g;
  my ($line, $column, $all) = (0, 0, '.' x length $text);
  while (my ($down, $right, $size, $kind) = splice @data, 0, 5) {
    $column = $down ? $right : $column + $right;
    $line += $down;
    substr $all, $starts[$line] + $column, $size,
      ($letters{$kinds[$kind]} // '.') x $size;
  }
  return $all;
}
my %served = map { $_ => served(slurp($_)) } @paths;

for my $name (@there) {
  my $pid = open2(my $from, my $to, @{$lexers{$name}[0]});
  print $to map { "$_\n" } @paths;
  close $to;
  chomp(my @classes = <$from>);
  waitpid $pid, 0;
  is(scalar @classes, scalar @paths, "$name reads all");
  my @wrong;
  for my $i (0 .. $#paths) {
    my ($text, $path) = (slurp($paths[$i]), $paths[$i]);
    next if $served{$path} !~ /[KNSC]/;
    while ($text =~ /[^\s-]/g) {
      my $at = pos($text) - 1;
      my ($is, $found) = map { substr $_, $at, 1 } $served{$path}, $classes[$i];
      next if $is eq $found;
      # The server takes `where` for the operator, wherever it stands, and a
      # field may have a keyword's name.
      next if substr($text, $at > 4 ? $at - 4 : 0, 9) =~ /\bwhere\b/;
      next if $is eq 'K' && substr($text, $at) =~ /^\w+\s*[:=]/;
      push @wrong, sprintf '%s: %s for %s at: %s', $path, $found, $is,
        substr($text, $at, 30) =~ s/\n.*//sr;
      last;
    }
  }
  is(join("\n", @wrong), '', "$name tells them as the server does");
}
done_testing();
