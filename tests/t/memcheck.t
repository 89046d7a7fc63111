#!/usr/bin/env perl
# A sample of commands under valgrind, which finds what the address sanitizer
# does not: branches and results that depend on uninitialized memory.  Each
# command must print what it prints without valgrind, with no error and no block
# lost.  `make sweep` takes every program of tests/run.
use strict;
use warnings;
use File::Path qw(remove_tree);
use lib 'tests/t';
use Lsp;
use Rly;
use Test::More;

plan skip_all => 'valgrind is not installed: make deps-memcheck'
    if system('valgrind --version >/dev/null 2>&1') != 0;
plan skip_all => 'of the release build' if !is_release();

# Kernels on threads, too.  valgrind runs one thread at a time.
$ENV{OMP_NUM_THREADS} = 2;
my $log = scratch('valgrind.log');
my @valgrind = ('valgrind', "--log-file=$log", '--error-exitcode=99',
                '--leak-check=full', '--errors-for-leak-kinds=definite');

# Runs a command with and without valgrind, each time with the text on stdin and
# without the folder that a training leaves.
my $kept = scratch('kept');

sub agrees {
  my ($what, $in, @args) = @_;
  remove_tree($kept);
  my $plain = rly({in => $in}, @args);
  remove_tree($kept);
  my $watched = rly({in => $in, by => \@valgrind}, @args);
  is_deeply($watched, $plain, $what) or diag(slurp($log));
}

agrees("run $_", '', 'run', $_)
    for one_in(4, 1, glob('tests/run/*.rly')), 'tests/gradient/memory.rly',
    'tests/gradient/stretch.rly';
agrees('mistakes', '', 'check', 'tests/mistakes/habits.rly');

my $program = 'tests/oom/passes.rly';
agrees("$_->[0] of a program that has something for each pass", '', @$_,
       $program)
    for ['check', '--types', '--effects'], ['fmt'], ['dump', '--bytecode'],
    ['dump', '--format', 'json'], ['opt', '-O2'];
agrees('step', '', 'step', '--steps', 40, 'tests/oom/own.rly');
agrees('verify', '', 'verify', 'tests/rules/page.rly');
agrees('train', '', qw(train --epochs 1 --epoch-steps 2 --quiet -o), $kept,
       'tests/oom/train.rly');
agrees('lsp', slurp(spew(scratch('messages'), Lsp->conversation)), 'lsp');
agrees('the prompt', <<'END', 'repl');
let %c = ref([1f, 2f]);
def @step(%x: Tensor[(2), float32]) {
  ref_write(%c, ref_read(%c) * %x);
  ref_read(%c)
}
@step([2f, 3f])
:snapshot a
@step([2f, 3f])
:restore a
:state
:type @step
@step([1f])
grad(fn (%x: float32) { %x * %x * %x })(2f)
:plot [1f, 4f, 9f]
:no such command
END

# Files: written, and read again.
my $cell = spew(scratch('cell.rly'), <<'END');
let %c = ref([(1f, Some([1i8, 2i8]))]);
ref_write(%c, Cons((2f, None), ref_read(%c)));
ref_read(%c);
END
my $reader = spew(scratch('reads.rly'),
                  "param out0: Tensor[(2, 2), float32];\n%out0 + %out0;\n");
for my $suffix (qw(npy npz safetensors params)) {
  my $file = scratch("out0.$suffix");
  agrees("a tensor written as $suffix", '', '-e', '[[1f, 2f], [3f, 4f]]',
         '--outputs', $file);
  agrees("a tensor read from $suffix", '', 'run', '--params', $file, $reader);
}
my $state = scratch('state.safetensors');
agrees('a state saved', '', 'run', '--save-state', $state, $cell);
agrees('a state loaded', '', 'run', '--load-state', $state, $cell);

my $model = scratch('reader.onnx');
SKIP: {
  spew($model, slurp('examples/import/reader.onnx'));
  skip 'without ONNX', 2 if rly('import', $model)->{err} =~ /E0806/;
  agrees('import', '', 'import', $model);
  agrees('export', '', 'export', '-o', scratch('out.onnx'),
         spew(scratch('programs.rly'), slurp('tests/export/programs.rly')
              =~ s/\@collatz\(/\@main(/gr));
}

done_testing();
