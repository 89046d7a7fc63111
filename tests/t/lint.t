#!/usr/bin/env perl
# tests/lint finds in a small tree what it should, and nothing else.
use strict;
use warnings;
use utf8;
use File::Basename qw(dirname);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Test::More;

my $todo = 'TO' . 'DO';

# Runs tests/lint over a tree of one file; returns its exit status and words.
sub lint {
  my ($path, $text) = @_;
  my $tree = tempdir(CLEANUP => 1);
  make_path(dirname("$tree/$path"));
  open my $out, '>:encoding(UTF-8)', "$tree/$path" or die "$path: $!\n";
  print $out $text;
  close $out;
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
accepts('lib/session.c', include('interp/vm.h') . include('include/rly.h'));
accepts('tests/unit/vm.c', include('interp/vm.h'));
accepts('base/mem.h', '/* ' . 'é' x 74 . " */\n");
accepts('tests/values.rly', '// ' . 'x' x 90 . "\n");
accepts('tests/conformance/lang/a.rly', "// $todo\n");
accepts('build/release/gen/a.c', "/* $todo */\n");

refuses('base/mem.c', include('tensor/view.h'), 'base/ may not use tensor/');
refuses('ops/dense.c', include('ir/expr.h'), 'ops/ may not use ir/');
refuses('ir/print.c', include('ops/ops.h'), 'ir/ may not use ops/');
refuses('interp/vm.c', include('lib/session.h'), 'interp/ may not use lib/');
accepts('repl/fmt.c', include('lib/handles.h') . include('ir/print.h'));
refuses('repl/fmt.c', include('interp/vm.h'), 'repl/ may not use interp/');
refuses('repl/repl.c', include('ir/expr.h'), 'repl/ may not use ir/');
refuses('repl/main.c', include('interp/vm.h'), 'repl/ may not use interp/');
refuses('parser/grammar.y', include('types/type.h'),
        'parser/ may not use types/');
refuses('types/infer.c', include('ops/ref/dense.h'),
        'types/ may not use ops/ref/dense.h');
refuses('ir/expr.c', include('expr.h'),
        '"expr.h" is not written from the root');
refuses('base/mem.c', "/* $todo: free */\n", "/* $todo: free */");
refuses('ops/ops.def', "#if " . "0\n", '#if ' . '0');
refuses('stdlib/nat.rly', '// good enough for' . " now\n", '// good enough');
refuses('repl/main.c', 'x' x 81 . "\n", '81 columns');
refuses('stdlib/nat.rly', 'x' x 81 . "\n", '81 columns');

done_testing();
