#!/usr/bin/env perl
# tests/lint finds in a small tree what it should, and nothing else.
#
# A check that never complains looks exactly like a tree that is in order; so
# for each check there is a file that it must refuse, at its first line and with
# the words expected, beside a file as close to it as possible that it must let
# pass.  The trees are made in a temporary folder, since one of these files in
# the real tree would make the real check fail.
use strict;
use warnings;
use utf8;
use File::Basename qw(dirname);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Test::More;

my $todo = 'TO' . 'DO';

# Runs tests/lint over a tree of these files; returns its exit status and words.
sub lint {
  my %files = @_;
  my $tree = tempdir(CLEANUP => 1);
  system('git', 'init', '-q', $tree) == 0 or die "git init: $?\n";
  for my $path (keys %files) {
    make_path(dirname("$tree/$path"));
    open my $out, '>:encoding(UTF-8)', "$tree/$path" or die "$path: $!\n";
    print $out $files{$path};
    close $out;
  }
  my $words = `$^X tests/lint $tree 2>&1`;
  return ($?, $words);
}

sub accepts {
  my ($path, $text) = @_;
  my ($status, $words) = lint($path, $text);
  is($status, 0, "accepted: $path: " . substr $text =~ s/\n.*//sr, 0, 50)
    or diag($words);
}

sub refuses {
  my ($path, $text, $complaint) = @_;
  my ($status, $words) = lint($path, $text);
  isnt($status, 0, "refused: $path: $complaint");
  like($words, qr/^#\s+\Q$path:1: $complaint\E/m, 'and says where and why');
}

sub include { return "#include \"$_[0]\"\n" }

accepts('tensor/view.c', include('base/mem.h') . include('tensor/view.h'));
accepts('parser/scan.re', include('parser/grammar.h') . include('ir/expr.h'));
accepts('types/relation.c', include('ops/ops.h'));
accepts('lib/session.c', include('vm/session.h') . include('include/rly.h'));
accepts('tests/unit/vm.c', include('vm/vm.h'));
accepts('base/mem.h', '/* ' . 'é' x 74 . " */\n");
accepts('python/rly/a.py', "# SPDX-License-Identifier" .
        ": Apache-2.0\nx = 1\n"); # in two parts, or `reuse` takes it as ours
accepts('python/tests/a.py', "x = 1\n");
refuses('python/rly/a.py', "x = 1\n", 'it travels alone');
refuses('include/a.h', "/* A header. */\n", 'it travels alone');
refuses('editors/vim/a.vim', "\" Vim's.\n", 'it travels alone');
accepts('tests/values.rly', '// ' . 'x' x 90 . "\n");
accepts('tests/conformance/lang/a.rly', "// $todo\n");
accepts('build/release/gen/a.c', "/* $todo */\n");

refuses('base/mem.c', include('tensor/view.h'), 'base/ may not use tensor/');
refuses('ops/dense.c', include('ir/expr.h'), 'ops/ may not use ir/');
refuses('ops/cost.c', include('kernels/call.h'),
        'ops/ may not use kernels/');
refuses('ir/print.c', include('ops/ops.h'), 'ir/ may not use ops/');
refuses('vm/vm.c', include('lib/session.h'), 'vm/ may not use lib/');
accepts('repl/fmt.c', include('include/rly.h') . include('lib/inside.h'));
refuses('repl/fmt.c', include('lib/handles.h'),
        'repl/ may not use lib/handles.h');
refuses('repl/repl.c', include('ir/expr.h'), 'repl/ may not use ir/expr.h');
refuses('repl/main.c', include('parser/parser.h'),
        'repl/ may not use parser/');
accepts('server/check.c', include('lib/inside.h'));
refuses('server/check.c', include('repl/cli.h'), 'server/ may not use repl/');
refuses('repl/lsp.c', include('server/inside.h'),
        'repl/ may not use server/inside.h');
accepts('state/state.c', include('vm/machine.h') . include('value/value.h'));
refuses('state/state.c', include('vm/vm.h'), 'state/ may not use vm/vm.h');
refuses('bytecode/code.h', include('vm/session.h'),
        'bytecode/ may not use vm/');
refuses('vm/vm.c', include('observe/observe.h'), 'vm/ may not use observe/');
refuses('parser/grammar.y', include('types/type.h'),
        'parser/ may not use types/');
refuses('types/infer.c', include('kernels/ref/dense.h'),
        'types/ may not use kernels/');
accepts('kernels/simd/a.c', include('kernels/ref/loop.h')
        . include('kernels/isa.h') . include('kernels/math/vec.h'));
accepts('kernels/drive/a.c', include('kernels/ref/pool.h')
        . include('kernels/call.h'));
refuses('kernels/ref/a.c', include('kernels/simd/part.h'),
        'kernels/ref/ may not use kernels/simd/part.h');
refuses('kernels/ref/a.c', include('kernels/drive/move.h'),
        'kernels/ref/ may not use kernels/drive/move.h');
refuses('kernels/simd/a.c', include('kernels/drive/move.h'),
        'kernels/simd/ may not use kernels/drive/move.h');
refuses('kernels/simd/a.c', include('kernels/call.h'),
        'kernels/simd/ may not use kernels/call.h');
refuses('kernels/math/a.c', include('kernels/isa.h'),
        'kernels/math/ may not use kernels/isa.h');
refuses('ir/expr.c', include('expr.h'),
        '"expr.h" is not written from the root');
refuses('base/mem.c', "/* $todo: free */\n", "/* $todo: free */");
refuses('ops/ops.def', "#if " . "0\n", '#if ' . '0');
refuses('stdlib/nat.rly', '// good enough for' . " now\n", '// good enough');
refuses('ops/rules/nn.c', "x = dim_value(dims[f(i)]) + 1;\n",
        'arithmetic on an attribute');
refuses('ops/rules/nn.c', "x = -dim_value(k);\n", 'arithmetic on an attribute');
refuses('ops/rules/nn.c', "x = d.word;\n", 'arithmetic on an attribute');
accepts('ops/rules/nn.c', "x = dim_value(k) % 2;\n");
accepts('kernels/ref/nn.c', "x = attr_number(a, ATTR_k) + 1;\n");
refuses('kernels/drive/loss.c', "b = call->op == op_info(OP_SUM);\n",
        'it asks');
refuses('kernels/drive/loss.c', "switch ((int)op_id(call->op)) {\n",
        'it asks');
refuses('ops/rules/nn.c', "b = c->op == op_info(OP_NN_LRN);\n", 'it asks');
accepts('kernels/drive/loss.c', "if (op == OP_COPY) return old;\n");
refuses('repl/main.c', 'x' x 81 . "\n", '81 columns');
refuses('stdlib/nat.rly', 'x' x 81 . "\n", '81 columns');
accepts('base/mem.h', "/* --- Blocks ---- */\n\n"
                      . "/* --- Files ---\n *\n * Of a host. */\n");
refuses('base/mem.h', "/* --- Blocks ----\n */\n", 'the heading has too many');
accepts('base/mem.c', "#include <zip.h>\nint mem_get(void);\n"
                      . "/* zip.h, base/mem.c, mem.c, mem_get() */\n"
                      . "const char *text = \"/* none.c */\";\n");
refuses('base/mem.c', "/* memory.c has more */\n", 'there is no memory.c');
refuses('base/mem.c', "/* lib/mem.c */\n", 'there is no lib/mem.c');
refuses('base/mem.c', "/* ask mem_left() */\n", 'there is no mem_left()');
accepts('README.md', "# a tree\n");
accepts('docs/add.rly', "1;\n");
refuses('add.rly', "1;\n", 'it lies at the top of the tree');
refuses('old.patch', '', 'it lies at the top of the tree');
refuses('base/mem.c', "int  two_spaces;\n", 'make format')
  if `clang-format --version 2>&1` =~ /version 14\./;

# Through a header, too.
my ($status, $words) = lint('types/infer.c' => include('ops/ops.h'),
                            'ops/ops.h' => include('ops/row.h'),
                            'ops/row.h' => include('kernels/call.h'));
isnt($status, 0, 'refused: a header that leads to a room above');
like($words, qr{^\#\stypes/infer.c:\stypes/\sreaches\skernels/call.h
                \sby\sops/ops.h$}mx, 'and says by which include');

done_testing();
