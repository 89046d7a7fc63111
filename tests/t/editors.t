#!/usr/bin/env perl
# What shells and editors are given: completions of every command and flag, and
# the modes of Vim and Emacs, each tried in the program that it is for.  One
# that is not on this machine is skipped.
use strict;
use warnings;
use lib 'tests/t', 'docs';
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Rly;
use Tables ();
use Test::More;

my $rly = abs_path($ENV{RLY});
my $path = dirname($rly) . ":$ENV{PATH}";
sub has { return !system "command -v $_[0] >/dev/null" }

# --- Completions --------------------------------------------------------------

my %made = map { ($_ => scratch("completions.$_")) } qw(bash zsh fish);
for my $shell (sort keys %made) {
  my $text = `editors/completions $shell 2>&1`;
  ok($? == 0, "completions for $shell") or diag($text);
  spew($made{$shell}, $text);
}

my $folder = scratch('folder');
mkdir $folder;
spew("$folder/$_", '') for qw(model.onnx notes.txt run.rly);

# What bash offers for the last of these words.
sub bash {
  my @words = map { "'$_'" } @_;
  my $script = scratch('ask.sh');
  spew($script, <<"END");
. $made{bash}
cd $folder
compopt() { printf '%s\\n' "\$*"; }
COMP_WORDS=(@words)
COMP_CWORD=\$((\${#COMP_WORDS[\@]} - 1))
_rly rly
printf '%s\\n' "\${COMPREPLY[\@]}"
END
  local $ENV{PATH} = $path;
  return join ' ', sort split /\n/, `bash $script 2>&1`;
}

is(bash('rly', 'gra'), '-o filenames gradcheck graph', 'bash: a command');
is(bash('rly', 'opt', '--print-'),
   '--print-after --print-before --print-changed', 'a flag of the command');
is(bash('rly', 'check', '--print-'), '', 'and not of another');
is(bash('rly', 'r'), '-o filenames repl run run.rly', 'or a program');
is(bash('rly', 'run', ''), '-o filenames model.onnx run.rly',
   'files that rly reads');
is(bash('rly', 'run', '--color', 'a'), 'always auto', 'a word of a choice');
is(bash('rly', 'run', '--params', ''), '-o default', 'any file');
is(bash('rly', 'run', '-e', ''), '', 'no file for a text');
is(bash('rly', 'passes', 'FoldC'), 'FoldConstant', 'a name that rly lists');
is(bash('rly', 'doc', '@whi'), '@while', 'and one of the library');

my @flags = map { @{$_->{flags}} } Tables::commands();
cmp_ok(scalar @flags, '>', 200, 'each command has its flags');
for my $shell (sort keys %made) {
  my $text = slurp($made{$shell});
  my @missing = grep {
    my ($name) = $_->{flag} =~ /^-+(.*)/;
    $text !~ /(?<![\w-])-*(?:[los] )?\Q$name\E(?!\w)/;
  } @flags;
  is("@{[map { $_->{flag} } @missing]}", '', "$shell knows all flags");
}

SKIP: {
  skip 'no zsh', 1 if !has('zsh');
  is(`zsh -n $made{zsh} 2>&1`, '', 'zsh reads it');
}

SKIP: {
  skip 'no fish', 3 if !has('fish');
  my $fish = sub {
    local ($ENV{PATH}, $ENV{HOME}) = ($path, $folder);
    return `fish --no-config -c 'source $made{fish}; complete -C "$_[0]"' 2>&1`;
  };
  like($fish->('rly gra'), qr/^gradcheck\tcompare .*^graph\tdraw /ms,
       'fish: commands');
  is(join(' ', $fish->('rly opt --print-') =~ /^(\S+)\t/mg),
     '--print-after --print-before --print-changed', 'flags');
  like($fish->('rly ops nn.dens'), qr/^nn\.dense\t/m, 'names');
}

# --- Editors ------------------------------------------------------------------

# Words that are keywords in some places, and slashes and dots beside names.
my $names = "\@f(op=1); (\%a/\%b, \%c.0, \%d.e);\n"
            . "gradient f(\%x) -> (\%y, \%g) { ref(\%x) }\n"
            . "(2f8e4m3, infbf16);\n";
my $program = "def \@main() {\nlet %x = 1 + /* a /* b */ c */ 2;\n" .
              "(%x,\n%x)\n}\n";
my $indented = "def \@main() {\n  let %x = 1 + /* a /* b */ c */ 2;\n" .
               "  (%x, %x)\n}\n";

SKIP: {
  skip 'no vim', 1 if !has('vim');
  my $file = scratch('m.rly');
  spew($file, $program);
  my $names = join ' ', map { "synIDattr(synID($_, 1), \"name\")" }
    '1, 1', '2, 27';
  my $said = `vim -N -es -u NONE --cmd 'set rtp^=editors/vim' \\
    -c 'filetype plugin on' -c 'syntax on' -c 'edit $file' \\
    -c 'redir! >$file.out' -c 'echo &ft $names' -c 'redir END' -c 'qa!' 2>&1`;
  like(-e "$file.out" ? slurp("$file.out") : $said,
       qr/rly rlyKeyword rlyComment/, 'vim: the file type, and colours');
}

SKIP: {
  skip 'no vim', 1 if !has('vim');
  my $file = scratch('names.rly');
  spew($file, $names);
  my $at = join ', ', map { "synIDattr(synID($_, 1), 'name')" }
    '1, 4', '1, 14', '1, 15', '1, 21', '1, 27', '2, 1', '2, 30',
    '3, 3', '3, 12';
  spew("$file.vim", "edit $file\nsetf rly\nredir! >$file.out\n"
                    . "echo string([$at])\nredir END\nqa!\n");
  `vim -N -es -u NONE --cmd 'set rtp^=editors/vim' -c 'syntax on' \\
    -S $file.vim 2>&1`;
  is(-e "$file.out" ? slurp("$file.out") =~ s/\s|'//gr : '',
     '[rlyAttribute,,rlyLocal,,rlyLocal,rlyKeyword,rlyKeyword,'
     . 'rlyNumber,rlyNumber]',
     'vim: keywords and names by their places');
}

# Neovim's own client against `rly lsp`: it attaches by the file type, shows the
# diagnostics, and asks for what it knows.
SKIP: {
  skip 'no nvim', 7 if !has('nvim');
  my $file = scratch('served.rly');
  spew($file, "def \@f(%x:int32) { %x+1 }\n\@f(%y);\n");
  my $lua = scratch('served.lua');
  spew($lua, <<"END");
vim.opt.runtimepath:prepend('editors/vim')
vim.cmd('filetype plugin on')
require('rly').setup{program = '$rly'}
vim.cmd('edit $file')
local function say(...) io.stdout:write(table.concat({...}, ' '), '\\n') end
local uri = {uri = vim.uri_from_bufnr(0)}
local function ask(method, params)
  params.textDocument = uri
  local _, answer = next(vim.lsp.buf_request_sync(0, method, params, 60000))
  return answer and answer.result
end
say('type', vim.bo.filetype)
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end, 10)
for _, d in ipairs(vim.diagnostic.get(0)) do
  say('diagnostic', d.code or d.user_data.lsp.code, d.lnum, d.col)
end
vim.api.nvim_buf_set_lines(0, 1, 2, false, {'\@f(2);'})
vim.wait(60000, function() return #vim.diagnostic.get(0) == 0 end, 10)
say('then', #vim.diagnostic.get(0))
local at = {line = 1, character = 1}
say('hover', (ask('textDocument/hover', {position = at}).contents.value
              :gsub('\\n', ' ')))
say('definition', ask('textDocument/definition',
                      {position = at}).range.start.character)
say('symbol', ask('textDocument/documentSymbol', {})[1].name)
if vim.lsp.buf.format then vim.lsp.buf.format() else
  vim.lsp.buf.formatting_sync(nil, 60000)
end
say('text', vim.api.nvim_buf_get_lines(0, 0, 1, false)[1])
vim.cmd('qa!')
END
  my $said = `nvim --headless -u $lua 2>&1 </dev/null`;
  like($said, qr/^$_->[1]\r?$/m, "nvim: $_->[0]") or diag($said) for
    ['the file type', 'type rly'], ['diagnostics', 'diagnostic E0101 1 3'],
    ['mended', 'then 0'],
    ['hover', 'hover ```rly \\@f : fn \\(int32\\) -> int32 ``` effects: pure '],
    ['definition', 'definition 4'], ['symbols', 'symbol \\@f'],
    ['formatting', 'text def \\@f\\(%x: int32\\) \\{ %x \\+ 1 \\}'];
}

SKIP: {
  skip 'no emacs', 5 if !has('emacs');
  my ($file, $lisp) = (scratch('n.rly'), scratch('rly-mode.el'));
  spew($lisp, slurp('editors/emacs/rly-mode.el'));
  my $ask = scratch('ask.el');
  spew($ask, <<"END");
(setq byte-compile-error-on-warn t)
(princ (format "%s\\n" (byte-compile-file "$lisp")))
(load "${lisp}c")
(find-file "$file")
(insert "@{[$program =~ s/"/\\"/gr]}")
(setq rly-program "$rly")
(rly-format)
(font-lock-ensure)
(princ (format "%s\\n" major-mode))
(dolist (what '("def" "b " "%x"))
  (goto-char (point-min))
  (search-forward what)
  (princ (format "%s " (get-text-property (match-beginning 0) 'face))))
(princ (concat "\\n" (buffer-string) "\\f\\n"))
(erase-buffer)
(insert "@{[$names =~ s/"/\\"/gr]}")
(font-lock-ensure)
(dolist (what '("op" "/" "%b" ".0" ".e" "gradient" "ref"))
  (goto-char (point-min))
  (search-forward what)
  (princ (format "%s " (get-text-property (match-beginning 0) 'face))))
END
  my $said = `emacs -Q --batch -l $ask 2>/dev/null`;
  like($said, qr/^t$/m, 'emacs compiles the mode without a warning');
  like($said, qr/^rly-mode$/m, 'it is that of the files');
  my $faces = join ' ', map { "font-lock-$_-face" }
    qw(keyword comment variable-name);
  like($said, qr/^$faces $/m, 'colours');
  like($said, qr/\Q$indented\E\f/, 'rly fmt on a buffer');
  my $of = join ' ', 'nil', 'nil', $faces =~ /(\S+variable\S+)/, 'nil',
    ($faces =~ /(\S+variable\S+)/, ($faces =~ /(\S+keyword\S+)/) x 2);
  like($said, qr/\n\Q$of\E \z/, 'keywords and names by their places')
    or diag($said);
}

done_testing();
