#!/usr/bin/env perl
# The parser for tree-sitter, which editors/tree-sitter/generate makes of the
# tables of parser/grammar.y: it refuses what rly refuses for its syntax, reads
# all else, and reads a changed text as it would read that text anew.  Its nodes
# and colours are tried in Neovim, too.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

plan skip_all => 'no libtree-sitter: make deps-tree-sitter'
  if !-f '/usr/include/tree_sitter/parser.h';

# Made here, so that it cannot be older than the grammar.
my $tree = scratch('tree-sitter');
my $said = `make -s tree-sitter tree=$tree 2>&1`;
ok($? == 0, 'make tree-sitter') or BAIL_OUT($said);

my $list = scratch('paths');
sub read_by {
  my ($how, @paths) = @_;
  spew($list, join '', map { "$_\n" } @paths);
  chomp(my @lines = `$tree/read $how < $list`);
  is(scalar @lines, scalar @paths, "read $how: a line for each program");
  return @lines;
}

# --- What is refused ----------------------------------------------------------

my @paths = one_in(1, 0, sort split /\n/,
                   `find tests examples stdlib -name '*.rly'`);
my @found = read_by('errors', @paths);

# The first mistake in each text, unless it is one of meaning: what the parser
# finds when it makes nodes of what the grammar has accepted.
my $meaning = join '|', 'E00(?:03|05|11|12)\]',
  'E0004\]: expected (?:`name=value` after|the kind of|a type, found `meta)';
my %refused;
spew($list, join '', map { "$_\n" } @paths);
for (`xargs -a $list $ENV{RLY} check 2>&1`) {
  next if !/^([^ :]+):\d+:\d+: error\[E00\d\d\]/ || exists $refused{$1};
  my $path = $1;
  $refused{$path} = !/error\[(?:$meaning)/;
}
my @differ = grep { ($found[$_] ne 'ok') != ($refused{$paths[$_]} // 0) }
             0 .. $#paths;
is(join("\n", map { "$paths[$_]: $found[$_]" } @differ), '',
   'the same programs are refused');
cmp_ok(scalar(grep { $_ ne 'ok' } @found), '>', 0, 'some are');

# --- Changes ------------------------------------------------------------------

my @sample = one_in(100, 3, @paths);
for my $seed (1 .. 5) {
  my @said = read_by("edits $seed", @sample);
  my @wrong = grep { $said[$_] ne 'ok' } 0 .. $#said;
  is(join("\n", map { "$sample[$_]: $said[$_]" } @wrong), '',
     'a changed text is read as a new one');
}

# --- Nodes --------------------------------------------------------------------

my $file = scratch('one.rly');
my $query = 'editors/tree-sitter/queries';
sub tree_of {
  my ($text) = @_;
  spew($file, $text);
  spew($list, "$file\n");
  return `$tree/read tree < $list`;
}
is(tree_of("def \@f(%x: int32) { let %y = nn.relu(%x, k=2); %y - -1 }\n"),
   '(source_file (function name: (global) '
   . '(parameter name: (local) type: (named_type name: (identifier))) '
   . 'body: (let name: (local) value: (call '
   . 'function: (path (identifier) (identifier)) arguments: (local) '
   . 'arguments: (attribute name: (identifier) value: (number)))) '
   . "body: (infix left: (local) right: (prefix operand: (number)))))\n",
   'nodes and fields');
like(tree_of("match (%o) { Some(%q) if %q == 2 => %q.0, _ => 3 }\n"),
     qr/\Q(arm pattern: (constructor_pattern name: (identifier) \E
        \Q(variable_pattern name: (local))) \E
        \Q(guard condition: (infix left: (local) right: (number))) \E
        \Qbody: (projection object: (local) index: (index)))\E/x, 'arms');
my $broken = tree_of("def \@a() { 1 }\ndef \@b() { (2 + }\ndef \@c() { 3 }\n");
like($broken, qr/ERROR|MISSING/, 'a mistake is seen');
like($broken, qr/^\(source_file \(function name: \(global\) body: \(number\)\)/,
     'what stands before it keeps its nodes');
for my $name (qw(highlights locals folds indents)) {
  my ($line) = read_by("classes $query/$name.scm", 'stdlib/tensor_array.rly');
  ok($line, "the query $name fits the nodes");
}

# --- Neovim -------------------------------------------------------------------

SKIP: {
  skip 'no nvim: make deps-editors', 4 if system 'command -v nvim >/dev/null';
  spew($file, "// one\ndef \@f(%x: int32) { if (%x < 2) { 1 } else { 2 } }\n");
  my $lua = scratch('look.lua');
  spew($lua, <<"END");
vim.opt.runtimepath:prepend('editors/vim')
vim.opt.runtimepath:prepend('$tree')
vim.cmd('filetype plugin on | edit $file')
local function say(...) io.stdout:write(table.concat({...}, ' '), '\\n') end
local root = vim.treesitter.get_parser(0, 'rly'):parse()[1]:root()
say('root', root:type(), tostring(root:has_error()))
local query = vim.treesitter.get_query or vim.treesitter.query.get
for _, name in ipairs{'highlights', 'locals', 'folds', 'indents'} do
  local seen = {}
  for id in query('rly', name):iter_captures(root, 0, 0, -1) do
    seen[query('rly', name).captures[id]] = true
  end
  local all = vim.tbl_keys(seen)
  table.sort(all)
  say(name, unpack(all))
end
vim.api.nvim_buf_set_lines(0, 1, 2, false, {'def \@f(%x: int32) { %x + }'})
root = vim.treesitter.get_parser(0):parse()[1]:root()
say('then', tostring(root:has_error()))
vim.cmd('qa!')
END
  my $seen = `nvim --headless -i NONE -n -u $lua 2>&1 </dev/null`;
  like($seen, qr/^root source_file false\r?$/m, 'nvim reads a text')
    or diag($seen);
  like($seen, qr/^highlights[ ]comment[ ]conditional[ ]function[ ]
                 keyword.function[ ]number[ ]operator[ ]parameter[ ]
                 punctuation.bracket[ ]punctuation.delimiter[ ]type[ ]
                 variable\r?$/mx, 'colours') or diag($seen);
  like($seen, qr/^folds fold\r?$/m, 'folds');
  like($seen, qr/^then true\r?$/m, 'and what it became');
}

done_testing();
