#!/usr/bin/env perl
# The contract of the command line: what goes where, and the exit status.
#
# Scripts are written against this contract: values and nothing else on stdout,
# everything that is said about the run on stderr, and an exit status by the
# kind of failure, so that a caller need not read English.  Hence both streams
# and the status are compared in every row.  Where the words of a message are
# not the point, a pattern stands for them.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

# A program in a file of its own; its path.
my $files = 0;
sub program { return spew(scratch('p' . ++$files . '.rly'), @_) }

# --- Results and errors -----------------------------------------------------

gives(rly('-e', '1 + 1'), 0, "2\n", '', 'a value goes to stdout');
gives(rly('-e', '1 + 1; 2 * 3; ()'), 0, "2\n6\n", '',
      'each item is printed, () is not');
gives(rly('-e', '1 +'), 1, '', qr/^<command line>:1:\d+: error\[E0004\]/,
      'a parse error is refused');
gives(rly('-e', '1; 1 + 1f'), 1, '', qr/^<command line>:1:\d+: error\[E\d+\]/,
      'a type error is refused before anything is evaluated');
gives(rly('-e', '1; 1 / 0; 2'), 2, "1\n",
      qr/^<command line>:1:\d+: error\[E0602\]/,
      'a run-time error: what came before stays, what comes after does not');
gives(rly('-e', '@f(1); def @f(%n: int32) -> int32 { 7 / (%n - 1) }'), 2, '',
      qr/\n  in \@f at <command line>:1:\d+\n/, 'with the trace of calls');

# An attribute record as TVM prints it: an axis that is None is node 0.
gives(rly('run', program(<<'END')), 0, <<'OUT', '', 'None in metadata');
#[version = "0.0.5"]
def @main() {
  (squeeze([[[1f], [1f]]], meta[relay.attrs.SqueezeAttrs][0]),
   take([[1, 2], [3, 4]], 1, meta[relay.attrs.TakeAttrs][0]))
}
#[metadata]
{"root": 1, "nodes": [{"type_key": ""},
 {"type_key": "Map", "data": [2, 4],
  "keys": ["relay.attrs.SqueezeAttrs", "relay.attrs.TakeAttrs"]},
 {"type_key": "Array", "data": [3]},
 {"type_key": "relay.attrs.SqueezeAttrs", "attrs": {"axis": "0"}},
 {"type_key": "Array", "data": [5]},
 {"type_key": "relay.attrs.TakeAttrs",
  "attrs": {"axis": "0", "batch_dims": "0", "mode": "clip"}}],
 "b64ndarrays": []}
END
(Tensor[(2), float32] [1.0, 1.0], 2)
OUT

# Libraries that a run may not need are loaded by what needs them: each costs
# every start (repl/readline.h, io/libzip.h).
my $loads = do {
  local $ENV{LD_DEBUG} = 'files';
  rly('-e', '1');
};
SKIP: {
  skip 'this system does not tell what it loads', 1
      unless $loads->{err} =~ /libc\.so/;
  unlike($loads->{err}, qr/libreadline|libtinfo|libzip/,
         'a run loads neither readline nor libzip');
}

# --- Checks at run time -----------------------------------------------------

# A program in which every dimension is known checks nothing.
gives(rly('run', '--stats', program(<<'END')), 0, <<'OUT', qr/^checks\s+0$/m,
type Pair { Pair(Tensor[(2), float32], fn (Tensor[(2), float32]) -> float32) }
def @dot[n: Dim](%x: Tensor[(n), float32], %y: Tensor[(n), float32])
    -> Tensor[(n * 2), float32] {
  let %f = fn (%a: Tensor[(n), float32]) -> Tensor[(n), float32] { %a * %y };
  concatenate((%f(%x), %f(%y)))
}
def @use(%f: fn (Tensor[(2), float32], Tensor[(2), float32])
                -> Tensor[(4), float32]) {
  let %r = ref(%f([1f, 2f], [3f, 4f]));
  match (Pair([1f, 2f], fn (%x) { sum(%x) })) {
    Pair(%x, %g) => (@map(%g, Cons(%x, Nil)), ref_read(%r))
  }
}
@use(@dot);
@dot([1f], [2f]);
END
(Cons(3f, Nil), Tensor[(4), float32] [3.0, 8.0, 9.0, 16.0])
Tensor[(2), float32] [2.0, 4.0]
OUT
     'a static program checks nothing');

# --- Where programs come from -----------------------------------------------

my $three = program("1 + 2;\n");
gives(rly($three), 0, "3\n", '', 'a file');
gives(rly('run', $three), 0, "3\n", '', 'a file after `run`');
gives(rly({in => '2 * 4'}), 0, "8\n", '', 'a script on stdin');
gives(rly({in => '2 * 4'}, 'run', '-'), 0, "8\n", '', 'the same as `run -`');
gives(rly({in => '2 *'}), 1, '', qr/^<stdin>:1:\d+: error/,
      'its messages name it');
gives(rly(program("def \@main() -> int32 { 42 }\n")), 0, "42\n", '', '@main');
gives(rly(program("def \@main() -> int32 { 42 }\n7;\n")), 0, "7\n", '',
      'expressions are run instead of @main');
gives(rly(program("let \@x = 6;\ndef \@main() -> int32 { \@x * 7 }\n")), 0,
      "42\n", '', 'a let is no expression');
gives(rly(program("def \@f() -> int32 { 42 }\n")), 1, '',
      qr/nothing to run/, 'neither of them');
gives(rly('run', '--entry', 'g',
          program("def \@main() -> int32 { 1 }\ndef \@g() -> int32 { 5 }\n")),
      0, "5\n", '', '--entry');
my $scale = program("def \@scale() -> int32 { 1 }\n");
gives(rly('run', '--entry', '@scale', $scale), 0, "1\n", '', '... with an @');
gives(rly('run', '--entry', 'scle', $scale), 1, '',
      qr/E0102\]: there is no function `\@scle`\n  help: .*`\@scale`\?/,
      'an unknown one');
my $many =
    program("def \@main[s: Shape](%x: Tensor[s, int32]) -> int32 { 1 }\n");
for my $which ([], ['--entry', 'main']) {
  gives(rly('run', @$which, $many, 'x=[1]'), 1, '',
        qr/:1:5: error\[E0113\]: `\@main` is a function for each shape/,
        "one of many types: @$which");
}

# An entry may have parameters of its type: the given values bind named
# dimensions, and no value can be given for a type A.
my $dims = program(<<'END');
def @main[n: Dim](%x: Tensor[(n), float32], %y: Tensor[(n), float32])
    -> Tensor[(n), float32] { %x + %y }
END
gives(rly('run', $dims, 'x=[1, 2]', 'y=[3, 4]'), 0,
      "Tensor[(2), float32] [4.0, 6.0]\n", '', 'named dimensions of an entry');
gives(rly('run', $dims, 'x=[1, 2]', 'y=[3]'), 2, '', qr/E0603.*where n is 2/,
      'bound by the first that has them');
# A value that does not fit is reported where the parameter is declared, not
# where it is used.
my $loose = "type B { Box(Tensor[(3), int32]) }\n" .
            "def \@two() -> Tensor[(?), int32] { [1, 2] }\n" .
            "def \@f(%x: Tensor[(3), int32]) { %x }\n" .
            "let %g = fn (%x: Tensor[(3), int32]) { %x };\n" .
            "let %r = ref([1, 2, 3]);\n";
for (['Box(@two())', 'Box'],
     ['@f(@two())', '%x: Tensor[(3), int32]'],
     ['%g(@two())', '%x: Tensor[(3), int32]'],
     ['ref_write(%r, @two())', '%r']) {
  my ($use, $declared) = @$_;
  my $err = rly(program("$loose$use;\n"))->{err};
  my ($line, $under) = $err =~ /\| (.*)\n +\| ( *-+) declared here/;
  my ($before, $marks) = ($under // '') =~ /^( *)(-*)/;
  is(substr($line // '', length $before, length $marks), $declared,
     "declared where, of $use");
}
gives(rly('run', program('def @main() { (Nil, fn (%x) { %x }) }')), 0,
      "(Nil, <fn (B) -> B>)\n", '', 'an entry whose result is polymorphic');
gives(rly('run', program('def @main[A](%x: A) -> A { %x }'), '1'), 1, '',
      qr/E0504.*`x` is declared as A/, 'an argument of any type');
gives(rly(program("\xEF\xBB\xBF1 +\r\n  1;\r\n")), 0, "2\n", '',
      'a BOM and CRLF');

# --- Usage ------------------------------------------------------------------

gives(rly('--nonsense'), 1, '', qr/unknown flag `--nonsense`/,
      'an unknown flag');
gives(rly('-e', '1', '-e', '2'), 1, '', qr/there can be only one `-e`/,
      'one of two texts would be dropped');
gives(rly('--threads', '2', '-e', '1', '--threads=1'), 0, qr/\A1\n\z/, '',
      'of two settings the last counts');
gives(rly('check', '-e', '1'), 1, '', qr/does not take `-e`/,
      "another command's flag");
gives(rly('-e'), 1, '', qr/value is missing after `-e`/, 'a missing value');
for (['--timeout', 'soon', 'seconds, such as 1.5, or none'],
     ['--timeout', '-1', 'seconds, such as 1.5, or none'],
     ['--max-steps', '0', 'a whole number, 1 or more, or none'],
     ['--max-memory', '50MBi', 'bytes, such as 512M, or none'],
     ['--max-memory', '0', 'bytes, such as 512M, or none'],
     ['--max-depth', '1e9', 'a whole number, 1 or more, or none'],
     ['--repeat', '0', 'a whole number from 1 to 1000000'],
     ['--repeat', '1000001', 'a whole number from 1 to 1000000'],
     ['--threads', '0', 'a number from 1 to 1024'],
     ['--color', 'sometimes', 'auto, always or never']) {
  my ($flag, $value, $takes) = @$_;
  gives(rly("$flag=$value", '-e', '1'), 1, '',
        "rly: `$flag` takes $takes, not `$value`\n", "$flag $value");
}
# A limit is written as at the prompt, and the last one counts.
my @limited = qw(--max-memory 1M --tape-memory 1M --max-steps 5 --timeout 9
                 --max-depth 7);
my @unlimited = map { /^--/ ? ($_, 'none') : () } @limited;
gives(rly({in => ":limit\n"}, 'repl', @limited), 0,
      "memory 1M\ndepth 7\nsteps 5\ntimeout 9\ntape 1M\n", '',
      'limits of the command line');
gives(rly({in => ":limit\n"}, 'repl', @limited, @unlimited), 0,
      "memory none\ndepth 10000000\nsteps none\ntimeout none\ntape none\n", '',
      'and none of them');
my $wide = q(zeros(shape=[9999, 9999], dtype="int8"));
for (qw(64m 64MB 64MiB 65536K 0.0625G 67108864 67108864B)) {
  gives(rly('--max-memory', $_, '-e', $wide), 3, '',
        qr{: 95.35M more asked for, with [\d.]+K of 64M in use},
        "--max-memory $_");
}
gives(rly('-e', 'sparse_fill_empty_rows([[0i64, 0i64]], [1f], '
                . '[4000000000000000000i64, 5i64], 0f)'), 3, '',
      qr{out of memory: more asked for than can be addressed\n},
      'a size that overflows');
gives(rly('--version'), 0, qr/^rly \d+\.\d+\.\d+\n\z/, '', '--version');
gives(rly('--help'), 0, qr/^  rly check /m, '', '--help');
gives(rly('help', 'run'), 0, qr/^  --entry NAME /m, '', 'help of a command');
gives(rly('run', '--help'), 0, qr/^  --entry NAME /m, '', 'the same by flag');
gives(rly('check', '--jsno', 'x'), 1, '', qr/did you mean `--json`\?/,
      'a misspelt flag');
gives(rly('chekc', 'x'), 1, '',
      "rly: no command `chekc`; did you mean `check`?\n", 'a misspelt command');
gives(rly('chekc.rly'), 1, '', qr/E0501.*chekc\.rly/, '... is no file');
my $dot = program('1;');
gives(rly('help', 'tset'), 1, '', qr/did you mean `test`\?/, 'nor for help');
gives(rly('help', 'nothing'), 1, '', qr/no command `nothing`/,
      'of one that there is not');
for ('ops add multiply', "ops $dot $dot", 'explain E0203 nope',
     'help run check', "repl $dot", 'repl x=1', "dump $dot $dot",
     "graph $dot $dot", "opt $dot $dot", "gradcheck $dot $dot", "lsp $dot",
     'learn 1 2', 'serve-docs . x') {
  my @words = split;
  gives(rly(@words), 1, '',
        qr/E0506\]: `\Q$words[-1]\E` is a word too many: rly/,
        "a word too many: $_");
}
gives(rly($_), 1, '', qr/^error\[E0506\]: $_ needs a file/, "$_ without a file")
    for qw(check fmt dump graph export opt verify test gradcheck train watch);
# A flag that says more about another one is refused without it.
for (['check', $dot, '--entry f', '--entry needs --bind or --bind-shape'],
     ['dump', $dot, '--entry f', '--entry needs --bind or --bind-shape'],
     ['opt', $dot, '--entry f', '--entry needs --bind or --bind-shape'],
     ['opt', $dot, '--trial-timeout 3', '--trial-timeout needs --reduce'],
     ['opt', $dot, '--cost rows', '--cost needs --saturate'],
     ['import', '.', '--test -o z', '--test writes no program'],
     ['run', $dot, '--startup x', '--startup .* needs -i'],
     ['train', program("def \@init(%k: Tensor[(2), uint64]) { 1f }\n"
                       . "def \@data() { ([[1f]],) }\n"
                       . "def \@loss(%w: float32, %x: Tensor[(?, 1), float32])"
                       . " { %w * sum(%x) }\n"),
      '--epoch-steps 3', '--epoch-steps counts what `\@batch` draws']) {
  my ($command, $file, $flags, $why) = @$_;
  gives(rly($command, $file, split / /, $flags), 1, '', qr/E0506\]: $why/,
        "$command $flags");
}
gives(rly('serve-docs', '--timeout', 1), 1, '',
      qr/this command does not take `--timeout`/, 'serve-docs --timeout');
is(json(rly('test', '--json')->{out})->{message}, 'test needs a file',
   '... as JSON');
gives(rly(scratch('none.rly')), 1, '', qr/E0501.*none\.rly/, 'no such file');
gives(rly(scratch('')), 1, '', qr/E0501/, 'a directory');

my $echo = program("def \@main(\%x: int32) -> int32 { \%x }\n");
gives(rly($echo, '-5'), 0, "-5\n", '', 'a negative number is no flag');
gives(rly($echo, '--', '-5'), 0, "-5\n", '', 'after -- nothing is a flag');
gives(rly($echo, '--', '--json'), 1, '', qr/E0\d+/, 'not even a real one');

# Flags may stand before the command.
gives(rly('--json', 'check', $dot), 0, qr/^\{"definitions"/, '',
      'a flag before the command');
gives(rly('--color', 'never', '--types', 'check', $echo), 0,
      "\@main : fn (int32) -> int32\n", '', '... with its value, and others');
gives(rly('--color=never', 'help'), 0, qr/^  rly check /m, '', '... of help');
gives(rly('--help', 'run'), 0, qr/^  --entry NAME /m, '', '--help before');
gives(rly('--max-memory', 'check', $dot), 1, '', qr/takes bytes/,
      'what follows a flag that needs a value is that');
gives(rly('--types', $dot), 1, '', qr/does not take `--types`/,
      'a flag of another command than run');
gives(rly('--json', 'chekc', $dot), 1, '', qr/did you mean `check`/,
      'a misspelt command behind a flag');
gives(rly('--', 'check', $dot), 1, '', qr/E0501.*check/, 'a file after --');
gives(rly('--json', $echo, 'check'), 1, qr/E0504/, '', 'an argument');

gives(rly('--color=always', '-e', '1 +'), 1, '', qr/\e\[1;31merror/,
      'colour where it is asked for');
gives(rly('-e', '1 +'), 1, '', qr/\A[^\e]*\z/, 'and not by itself in a file');

# --- Bad text ---------------------------------------------------------------

gives(rly(program("1;\0 2")), 1, '', qr/E0001.*\b2\b/, 'a NUL byte');
gives(rly(program("1 // \xFF\xFE\n")), 1, '', qr/E0001/, 'invalid UTF-8');
gives(rly(program('')), 1, '', qr/nothing to run/, 'an empty file');
gives(rly(program('/* no end')), 1, '', qr/:1:1: error\[E0002\]/,
      'an unterminated comment');
gives(rly(program('(' x 100_000)), 1, '', qr/E000[46]/, 'an abyss');
my @many = map { "\%x$_;\n" } 1 .. 50;
my $run = rly(program(@many));
is(() = $run->{err} =~ /error\[/g, 20, 'twenty errors are shown of fifty');

# --- JSON -------------------------------------------------------------------

sub value_json {
  my ($text, $expected, $name) = @_;
  my $run = rly('--json', '-e', $text);
  is_deeply([$run->{status}, eval { json($run->{out}) }], [0, $expected], $name)
    or diag($run->{out}, $run->{err});
}
sub tensor { return {dtype => $_[0], shape => $_[1], data => $_[2]} }

value_json('[[1, 2], [3, 4]]', tensor('int32', [2, 2], [1, 2, 3, 4]),
           'JSON of a tensor');
value_json('1.5', tensor('float32', [], [1.5]), 'of a scalar');
value_json('[inff, -inff, nanf]',
           tensor('float32', [3], ['inf', '-inf', 'nan']), 'of no numbers');
value_json('(1, True)',
           {tuple => [tensor('int32', [], [1]),
                      tensor('bool', [], [JSON::PP::true])]}, 'of a tuple');
value_json('()', {tuple => []}, 'of the empty tuple');
value_json('Cons(1, Nil)',
           {constructor => 'Cons',
            fields => [tensor('int32', [], [1]),
                       {constructor => 'Nil', fields => []}]},
           'of a constructor');
value_json('ref(2)', {ref => tensor('int32', [], [2])}, 'of a cell');
my $ring = 'type R { E, L(Ref[R]) } let @r = ref(E); ref_write(@r, L(@r));';
is_deeply(json((split /\n/, rly('--json', '-e', "$ring \@r")->{out})[-1]),
          {ref => {constructor => 'L', fields => [{cycle => 1}]}},
          'of a cell that leads back to itself');
value_json('fn (%x: int32) -> int32 { %x }', {closure => JSON::PP::true},
           'of a function');
like(rly('--json', '-e', '0.1; -0.0')->{out},
     qr/"data": \[0\.1\]\}\n.*"data": \[-0\.0\]/,
     'one a line, the shortest floats, signed zeros');

$run = rly('--json', '-e', "1 +\n  2f");
my $d = eval { json($run->{out}) } // {};
is_deeply([@$run{qw(status err)}, @$d{qw(severity file)}],
          [1, '', 'error', '<command line>'], 'a diagnostic goes to stdout')
  or diag(explain($run));
like($d->{code}, qr/^E02\d\d$/, 'with its code');
is_deeply([sort keys %$d],
          [sort qw(severity code file line column end_line end_column message
                   notes hint)], 'and all that the contract lists');
like($d->{hint} // '', qr/1f/, 'and its hint');

# --- Binding ----------------------------------------------------------------

my $params = program(<<'END');
param @w: Tensor[(2, 2), float32];
param @n: int32 = 3;
param @b: Tensor[(2), float32];
def @main(%x: Tensor[(1, 2), float32]) -> Tensor[(1, 2), float32] {
  nn.dense(%x, @w) + @b
}
END
sub weights { return spew(scratch("w.safetensors"), safetensors(@_)) }
my @w = ['w', 'F32', [2, 2], [1, 2, 3, 4]];
my @b = ['b', 'F32', [2], [10, 20]];
my $w = weights(@w, @b, ['unknown', 'I64', [1], [0]]);
my @run = ('run', '--json', '--params', $w);

sub result_is {
  my ($run, $expected, $name) = @_;
  my $found = eval { json($run->{out}) };
  is_deeply([$run->{status}, $found && $found->{data}], [0, $expected], $name)
    or diag($run->{out}, $run->{err});
}
result_is(rly(@run, $params, '[[1, 1]]'), [13, 27], 'weights from a file');
result_is(rly(@run, $params, 'x=[[1, 1]]', 'b=[0, 0]'), [3, 7],
          'the command line wins');
my $in = spew(scratch('in.safetensors'),
              safetensors(['x', 'F32', [1, 2], [2, 0]],
                          ['b', 'F32', [2], [1, 1]]));
result_is(rly(@run, '--inputs', $in, $params), [3, 7],
          '--inputs wins over --params');
result_is(rly(@run, '--inputs', $in, $params, 'x=[[0, 1]]'), [3, 5],
          'and loses against the command line');

# A file of other weights: what it holds instead.
my $weights = program('param @w: Tensor[(2), float32];
param @bias: Tensor[(2), float32] = [0f, 0f];
@w + @bias;');
my %file = map { my ($name, @tensors) = @$_;
                 ($name => spew(scratch("$name.safetensors"),
                                safetensors(map { [@$_, [2], [1, 2]] }
                                            @tensors))) }
  ['case', ['W', 'F32']], ['prefix', ['model.w', 'F32']],
  ['near', ['ww', 'F32']], ['other', ['a', 'F32'], ['b', 'F32']],
  ['more', ['w', 'F32'], ['biass', 'F32']];
gives(rly($weights, '--params', $file{case}), 1, '',
      qr/case.safetensors holds `W`: Tensor\[\(2\), float32\]/, "case");
gives(rly($weights, '--params', $file{prefix}), 1, '', qr/holds `model\.w`/,
      'a prefix');
gives(rly($weights, '--params', $file{near}), 1, '', qr/holds `ww`/, 'a slip');
gives(rly($weights, '--params', $file{other}), 1, '',
      qr/note: the files hold a, b$/m, 'nothing like it');
gives(rly($weights, '--params', $file{more}), 0, qr/1\.0, 2\.0/, '',
      'a default, and a tensor without use');
gives(rly('run', '--strict', $weights, '--params', $file{more}), 1, '',
      qr/E0505.*more.safetensors\n.*`biass`; did you mean `bias`.*E0503.*bias/s,
      '... are refused by --strict');
gives(rly('run', '--strict', $weights, '--params', $file{more}, 'bias=[1, 1]'),
      1, '', qr/E0505/, '... each');
my $many = spew(scratch('many.safetensors'),
                safetensors(map { [sprintf('t%02d', $_), 'F32', [], [0]] }
                            1 .. 52));
my $refused = rly('run', '--strict', $weights, '--params', $file{more},
                  '--params', $many, 'bias=[1, 1]');
is(scalar(() = $refused->{err} =~ /^  note: `/mg), 50, '... the first 50');
like($refused->{err}, qr/^  note: `t01` of \Q$many\E$/m, '... of which file');
like($refused->{err}, qr/^  note: and 3 more$/m, '... and the others counted');
gives(rly('run', '--strict', $params, 1, 2, 3, 4, 5), 1, '',
      qr/E0505.*more arguments than the entry has parameters/,
      '... and arguments without a parameter');

gives(rly($params, 'x=1', 'x=2'), 1, '', qr/E0505.*`x` is given twice/,
      'a value given twice');
gives(rly($params), 1, '', qr/E0503(?=.*\bw\b)(?=.*\bb\b)(?=.*\bx\b)/s,
      'all that is missing is listed');
unlike(rly($params)->{err}, qr/`n`/, 'but nothing with a default');
gives(rly(@run[0, 2, 3], $params, '[[1, 1]]', 'q=1'), 1, '',
      qr/nothing named `q`/, 'an unknown name');
gives(rly(@run[0, 2, 3], $params, '[[1, 1]]', 'ww=1'), 1, '',
      qr/did you mean `w`/, 'with the one that may be meant');
gives(rly(@run[0, 2, 3], $params, '[[1, 1]]', '5'), 1, '', qr/E0505/,
      'too many arguments');
gives(rly('check', (spew(scratch('one.rly'), "1;\n")) x 1100),
      0, '', '', 'as many files as the system takes');
gives(rly(@run[0, 2, 3], $params, '[[1, 1, 1]]'), 1, '',
      qr{`x` is declared as Tensor\[\(1, 2\), float32\].*\(1, 3\).*declared}s,
      'an argument of the wrong shape');
gives(rly(@run[0, 2, 3], $params, '[[1, 1]]', 'n=1f'), 1, '', qr/`n`/,
      'of the wrong dtype');
gives(rly(@run[0, 2, 3], $params, '[[1, 1]]', 'n=99999999999'), 1, '',
      qr/range/, 'out of range');
gives(rly('run', '--params', weights(['w', 'F32', [4, 1], [1 .. 4]], @b),
          $params, '[[1, 1]]'), 1, '',
      qr/`w`.*\(2, 2\).*\(4, 1\)/, 'a weight of the wrong shape');
gives(rly('run', '--params', weights(['w', 'I32', [2, 2], [1 .. 4]], @b),
          $params, '[[1, 1]]'), 1, '',
      qr/`w`.*float32.*int32/, 'of the wrong dtype');
gives(rly('run', '--params', scratch('none'), $params, '[[1, 1]]'), 1, '',
      qr/E0501.*none/, 'a missing file');
my $pair = program("def \@main(\%p: (int32, (int32, int32))) -> int32 {\n",
                   "  \%p.0 + \%p.1.0 * 10 + \%p.1.1 * 100\n}\n");
gives(rly($pair, 'p.0=1', 'p.1.0=2', 'p.1.1=3'), 0, "321\n", '',
      "a tuple's fields");
gives(rly(program("def \@main(\%s: Tensor[(?), uint8]) -> int32 {\n",
                  "  take(shape_of(\%s), 0)\n}\n"), '"four"'), 0, "4\n", '',
      'a string');

# --- Hostile weights --------------------------------------------------------

my $good = slurp(weights(@w, @b));
my $len = unpack 'Q<', $good;
# The file with its header's text changed; the header keeps its length.
sub with_header {
  my ($from, $to) = @_;
  my $header = substr $good, 8, $len;
  $header =~ s/$from/$to/ or die "no $from in $header";
  return pack('Q<', length $header) . $header . substr $good, 8 + $len;
}
my %hostile = (
  'nothing' => '',
  'a length without a header' => substr($good, 0, 8),
  'a truncated header' => substr($good, 0, 40),
  'truncated data' => substr($good, 0, -1),
  'more data than tensors' => $good . 'x',
  'a header longer than the file' => pack('Q<', 1 << 40) . substr($good, 8),
  'a header of 2^64 - 1 bytes' => pack('Q<', ~0) . substr($good, 8),
  'no JSON' => pack('Q<', 4) . '{"a"',
  'JSON that is no object' => pack('Q<', 2) . '[]',
  'JSON nested deeply' => pack('Q<', 100_000) . '[' x 100_000,
  'a huge shape' => with_header(qr/"shape":\[2,2\]/,
                                '"shape":[4611686018427387904,4]'),
  'a shape whose size overflows'
    => with_header(qr/"shape":\[2,2\]/, '"shape":[4294967296,4294967296]'),
  'a negative dimension' => with_header(qr/\[2,2\]/, '[-2,-2]'),
  'a fraction for a dimension' => with_header(qr/\[2,2\]/, '[2.5,2]'),
  'another shape than its bytes' => with_header(qr/\[2,2\]/, '[2,3]'),
  'offsets after the end' => with_header(qr/\[0,16\]/, '[0,160]'),
  'offsets backwards' => with_header(qr/\[0,16\]/, '[16,0]'),
  'negative offsets' => with_header(qr/\[0,16\]/, '[-8,8]'),
  'overlapping tensors' => with_header(qr/\[0,16\]/, '[4,20]'),
  'a dtype that is no text' => with_header(qr/"F32"/, '32'),
);
for my $what (sort keys %hostile) {
  my $path = spew(scratch('hostile.safetensors'), $hostile{$what});
  gives(rly('run', '--params', $path, $params, '[[1, 1]]'), 1, '',
        qr/\A\S*error\[E0502\]: .*hostile\.safetensors.*\n\z/,
        "refused: $what");
}

# --- Outputs ----------------------------------------------------------------

mkdir scratch('out');
my $out = scratch('out/r.safetensors');
my $several = program("def \@main() -> (int32, List[Tensor[(1), float32]]) {\n",
                      "  (7, Cons([1f], Cons([2f], Nil)))\n}\n");
gives(rly('run', '--outputs', $out, $several), 0, '', '', '--outputs');
my $t = tensors($out);
is_deeply([map { [@{$t->{"out$_"}}{qw(dtype shape data)}] } 0 .. 2],
          [['I32', [], [7]], ['F32', [1], [1]], ['F32', [1], [2]]],
          'flattened in order');
is(() = grep({ /^out/ } keys %$t), 3, 'and no more than there is');

sub entries { return [map { s{.*/}{}r } glob scratch('out/*')] }
is_deeply(entries(), ['r.safetensors'], 'nothing beside it is left');
my $before = slurp($out);
my $failing = program("def \@main(\%x: int32) -> int32 { 1 / \%x }\n");
gives(rly('run', '--outputs', $out, $failing, '0'), 2, '', qr/E0602/,
      'a run that fails');
ok(slurp($out) eq $before, 'leaves the old file as it was');
my $function = program("def \@main() -> fn (int32) -> int32 {\n",
                       "  fn (\%x: int32) -> int32 { \%x }\n}\n");
gives(rly('run', '--outputs', $out, $function), 2, '', qr/E0507/,
      'a function cannot be written');
ok(slurp($out) eq $before, 'and the old file stays');
is_deeply(entries(), ['r.safetensors'], 'and nothing beside it');
my $circular = program("type R { E, L(Ref[R]) }\n",
                      "def \@main() { let \%r = ref(E); ",
                      "ref_write(\%r, L(\%r)); \%r }\n");
gives(rly('run', '--outputs', $out, $circular), 2, '', qr/E0507.*no end/,
      'nor one that leads back to itself');
gives(rly('run', '--outputs', scratch('none/r'), $several), 2, '', qr/E0507/,
      'an unwritable place');

gives(rly('run', '--trace', scratch('none/t'), $several), 2, '', qr/E0507/,
      '... for a trace');
my $source = program('1;');
gives(rly(@$_, $source, $source), 1, '', qr/E0506.*would be overwritten/,
      "the program is not written over by @$_")
  for ['run', '--outputs'], ['run', '--trace'], ['opt', '--html'],
      ['opt', '--rewrites'], ['step', '--html'];
is(slurp($source), '1;', '... and stays');
gives(rly(@$_, '-'), 1, '', qr/`$$_[-1]` takes the path of a file, not `-`/,
      "- is no file to be written by @$_")
  for ['run', $source, '--outputs'], ['opt', $source, '--html'],
      ['export', $source, '-o'], ['stream', $source, '--save-state'];
# All that a command reads is safe, not the program alone.
{
  my $imported = program('def @main(%x: Tensor[(1), float32]) { %x }');
  my $importer = program("import \"$imported\";\n\@main([1f]);\n");
  my $rules = program('rule { %x + 0 } => { %x }');
  my $value = scratch('value.npy');
  gives(rly('-e', '[1f]', '--outputs', $value), 0, qr//, '', 'a value');
  my %before = map { $_ => slurp($_) } $imported, $rules, $value;
  gives(rly(@$_), 1, '', qr/E0506.*would be (overwritten|lost)/,
        "so is what is read by @$_[0, -2]")
    for ['run', $importer, '--outputs', $imported],
        ['run', $importer, '--trace', $imported],
        ['watch', '--once', $importer, '--kept', $imported],
        ['opt', $importer, '--html', $imported],
        ['step', $importer, '--html', $imported],
        ['export', $importer, '-o', $imported],
        ['opt', $source, '--rules', $rules, '--rewrites', $rules],
        ['run', $imported, "x=\@$value", '--outputs', $value],
        ['run', $imported, "\@$value", '--outputs', $value],
        ['opt', $imported, '--bind', "x=$value", '--html', $value],
        ['run', '-i', $source, '--startup', $rules, '--outputs', $rules];
  is(slurp($_), $before{$_}, '... and stays') for sort keys %before;
}
my $trace = scratch('closed.json');
is(system("$ENV{RLY} run --trace $trace $source >&- 2>/dev/null") >> 8, 2,
   'a closed stdout is told');
unlike(slurp($trace), qr/^1/, '... and what is printed goes to no other file');
my $main = program('def @main() { 1 }');
is(system("$ENV{RLY} run --outputs /dev/stdout $main >&- 2>/dev/null") >> 8, 2,
   '... nor is it lost in silence under another name');

my $shown = scratch('out/shown.safetensors');
gives(rly('-e', '1; (2f, [3, 4])', '--outputs', $shown), 0,
      "1\n(2f, Tensor[(2), int32] [3, 4])\n", '', 'expressions print');
my $last = tensors($shown);
is_deeply([map { [@{$last->{"out$_"}}{qw(dtype shape)}] } 0 .. 1],
          [['F32', []], ['I32', [2]]], 'and the last is written');
is(() = grep({ /^out/ } keys %$last), 2, 'and no other');
gives(rly('-e', '(1, 2)', '--outputs', scratch('out/two.npy')), 2,
      "(1, 2)\n", qr/E0507.*one tensor/, 'or what hinders it is said');

SKIP: {
  skip 'no /dev/full', 8 unless -c '/dev/full';
  gives(rly({out => '/dev/full'}, '-e', '1'), 2, qr//,
        qr/not be written: No space/, 'a full disk');
  gives(rly({out => '/dev/full'}, @$_), 2, qr//,
        qr/\Arly: output could not be written: No space.*\n\z/,
        "for @$_, too")
      for ['--help'], ['--version'], ['ops'], ['explain', 'E0501'];
  gives(rly({out => '/dev/full'}, @$_, '--json', program('%a;')), 2, qr//,
        qr/\Arly: output could not be written: No space.*\n\z/,
        "for diagnostics of @$_ on stdout") for ['run'], ['check'], ['verify'];
}
pipe my $reader, my $writer or die "pipe: $!\n";
close $reader;
gives(rly({to => $writer}, '-e', '1; 2'), 2, '', '', 'a closed pipe');
gives(rly({to => $writer}, '-e', 'print_text("x")'), 2, '', '',
      'that print writes to');
my $talk = 'def @f() -> () { print(1); @f() } @f()';
gives(rly({to => $writer}, '-e', $talk), 2, '', '',
      'a program that nobody hears stops');

# --- Limits -----------------------------------------------------------------

my $endless = program("def \@f(\%n: int32) -> int32 { \@f(\%n + 1) }\n",
                      "\@f(0);\n");
gives(rly('--timeout', '0.1', $endless), 3, '', qr/E0703/, '--timeout');
gives(rly('--max-steps', '1000', $endless), 3, '', qr/E0707/, '--max-steps');
my $deep = program("def \@f(\%n: int32) -> int32 { 1 + \@f(\%n + 1) }\n",
                   "\@f(0);\n");
gives(rly('--max-depth', '1000', $deep), 3, '',
      qr/E0702.*  \.\.\. 999 more like this\n  in top level/s,
      '--max-depth, and a trace that counts what repeats');
gives(rly(@$_, program("1;\n")), 1, '',
      qr/E0506\]: $$_[1] and $$_[2] do not go together\n/, "rly @$_")
  for ['fmt', '--functional', '--relay'], ['fmt', '--functional', '--stateful'],
      ['opt', '--dump-pipeline', '--verify'];
gives(rly('ops', '--markdown', '--json'), 1,
      qr/"--markdown and --json do not go together"/, '',
      'rly ops --markdown --json');
gives(rly('test', '--max-memory', $_, program("1 + 1;\n// expect: 2\n")), 1,
      qr/\Anot ok 1 - .*: out of memory\n1\.\.1\n\z/,
      "rly: out of memory\n", "rly test --max-memory $_")
  for '1K', '3K';
my $calls = spew(scratch('calls.rly'),
                 'def @f(%n: int32) -> int32 { if (%n == 0) { 0 } else { '
                 . '1 + @f(%n - 1) } } @f(20000)');
gives(rly('--max-depth', $_, $calls), 0, "20000\n", '', "--max-depth $_")
  for '18446744073709551615', '18446744073709551611', 'none';
my $turns = program((map { "def \@f$_(\%n: int32) -> int32 { 1 + \@f"
                           . ($_ + 1) % 30 . "(\%n + 1) }\n" } 0 .. 29),
                    "\@f0(0);\n");
gives(rly('--max-depth', '1000', $turns), 3, '',
      qr/E0702(?s:.*?)\n(?:\ \ in\ \S+\ at .*\n){10}
         \ \ \.\.\.\ 981\ frames\ \.\.\.\n(?:\ \ in\ \S.*\n){10}\z/x,
      '... and is cut to its ends');
gives(rly('--max-memory', '50M', $deep), 3, '', qr/E070[12]/,
      '--max-memory, for calls');
gives(rly('--max-memory', '50M', '-e',
          'zeros(shape=[100000, 100000], dtype="float32")'), 3, '', qr/E0701/,
      '--max-memory, for a tensor');
gives(rly('-e', 'def @f(%n: int32) -> int32 { if (%n == 0) { 0 } '
                . 'else { 1 + @f(%n - 1) } } @f(1000000)'), 0,
      "1000000\n", '', 'a million calls deep is within them');

# --- fmt, check, dump, ops, test --------------------------------------------

my $ugly = "// first\ndef\@f( \%x:int32 )->int32{ \%x+ 1 /* why */ }\n"
           . '@f( 2 ) ;';
my $ugly_file = program($ugly);
$run = rly('fmt', $ugly_file);
is($run->{status}, 0, 'fmt') or diag($run->{err});
like($run->{out}, qr{// first(?=.*/\* why \*/)}s, 'keeps comments');
isnt($run->{out}, $ugly, 'and changes something');
my $once = $run->{out};
is(rly('fmt', program($once))->{out}, $once, 'fmt is idempotent');
gives(rly(program($once)), 0, "3\n", '', 'and keeps the meaning');
gives(rly({in => 'def @f(%x:int32){%x}'}, 'fmt', '-'), 0,
      "def \@f(%x: int32) { %x }\n", '', 'fmt - takes stdin');
gives(rly({in => '1'}, 'fmt', '-w', '-'), 1, '', qr/E0501.*stdin/,
      'which it cannot write');
gives(rly({in => 'def @f(%x: int32) { %y }'}, 'check', '-'), 1, '',
      qr/^<stdin>:1:21: error\[E0101\]/, 'check - takes stdin');
# --safe tells nothing of files outside, not even whether they are there.
for my $outside ('/etc/passwd', '/no/such/file', '../no/such/file', '..',
                 './../x.rly', 'a/../../x.rly') {
  gives(rly('run', '--safe', program("import \"$outside\";")), 1, '',
        qr/E0112.*: it lies outside the importing folder/, "not $outside");
}
# Nor through a link that stands inside.
mkdir scratch('outside');
spew(scratch('outside/there.rly'), '1;');
mkdir scratch('inside');
symlink '../outside', scratch('inside/link');
symlink '../outside/none.rly', scratch('inside/none.rly');
symlink '../outside/there.rly', scratch('inside/there.rly');
for my $link ('link/there.rly', 'link/none.rly', 'there.rly', 'none.rly') {
  my $from = spew(scratch('inside/from.rly'), "import \"$link\"; 1");
  gives(rly('run', '--safe', $from), 1, '',
        qr/E0112.*: it lies outside the importing folder/, "not $link");
}
gives(rly('run', '--safe', program('import "a/../none.rly";')), 1, '',
      qr/E0112.*No such file/, 'but of those inside');
gives(rly('run', '-h'), 0, qr/^rly run FILE/, '', '-h is --help');
gives(rly('fmt', '-w', $ugly_file), 0, '', '', 'fmt -w');
is(slurp($ugly_file), $once, 'writes the file');
my $broken = program('def @f(');
gives(rly('fmt', '-w', $broken), 1, '', qr/E0004/, 'unless it is wrong');
is(slurp($broken), 'def @f(', 'and then leaves it alone');

my $defs = program("let \@a = [1f];\n",
                   "def \@id[A](\%x: A) -> A { \%x }\n",
                   "def \@f(\%n: int32) { \@id(\%n) + 1 }\n");
gives(rly('check', $defs), 0, '', '', 'check has nothing to say');
gives(rly('check', '--types', $defs), 0,
      "\@a : Tensor[(1), float32]\n\@id : fn [A](A) -> A\n"
      . "\@f : fn (int32) -> int32\n", '', 'check --types');
gives(rly('check', program("\%x;\n")), 1, '', qr/E0101/, 'check refuses');
$run = rly('check', '--json', $defs);
is_deeply([map { [@$_{qw(name type)}] }
             @{(eval { json($run->{out}) } // {})->{definitions} // []}],
          [['@a', 'Tensor[(1), float32]'], ['@id', 'fn [A](A) -> A'],
           ['@f', 'fn (int32) -> int32']], 'check --json')
  or diag($run->{out});
gives(rly('dump', '--bytecode', $defs), 0, qr/\@f/, '', 'dump --bytecode');
gives(rly('passes'), 0, qr/^relay +\S.* Relay/m, '', 'passes');
gives(rly('passes', 'static'), 0,
      qr/^  by     rly fmt --pass static\n  needs +types\n  gives +shapes$/m,
      '', 'passes NAME');
gives(rly('passes', 'statik'), 1, '', qr/`statik`; did you mean `static`/,
      'a pass that is nearly there');
gives(rly('passes', '--json'), 0, qr/"gives": \["plain"\]/, '',
      'passes --json');
like(rly('help', 'fmt')->{out}, qr/^  --pass NAME +.*marks with \(fmt\)/m,
     'which passes fmt has, says its help');
for (split /\n/, rly('passes')->{out}) {
  my ($pass, $of_fmt) = /^(\w+).*?( \(fmt\))?$/;
  my $run = rly('fmt', '--pass', $pass, $defs);
  my $refused = $run->{err} =~ /`$pass` is a pass of rly opt --passes/;
  ok($of_fmt ? !$refused : $refused, "... as it is with $pass");
}
gives(rly('fmt', '--pass', 'FoldConstan', $defs), 1, '',
      qr/no pass `FoldConstan`; rly passes lists them/,
      'no pass is proposed that fmt has not');
gives(rly('ops'), 0, qr/^nn\.dense +\S/m, '', 'ops');
gives(rly('ops', 'nn.dense'), 0, qr/^nn\.dense\(data, weight/, '', 'ops NAME');
gives(rly('ops', 'softmax'), 0, qr/^nn\.softmax\(data, axis/, '',
      'ops with the last part of a name');
gives(rly('ops', 'tests/oom/operators.rly'), 0,
      qr/^op \@even\[n: Dim\].*op \@swish/s, '', 'ops FILE');
gives(rly('ops', 'tests/rules/own.rly'), 0, qr/^  rule \@/m, '',
      '... with the rules of each');
gives(rly('ops', 'dnse'), 1, '', qr/no operator `dnse`/, '... that is none');
gives(rly('ops', 'nn.dnse'), 1, '', qr/`nn.dnse`; did you mean `nn.dense`/,
      'a misspelt operator');
gives(rly('ops', 'nn.none'), 1, '', qr/no operator `nn.none`/,
      'an unknown one');

my $cases = "1 + 1;\n// expect: 2\n\%x;\n// expect error[E0101]: x\n";
gives(rly('test', program($cases)), 0, qr/^ok 1 - .*^ok 2 - .*^1\.\.2$/ms, '',
      'test');
my $wrong = program($cases =~ s/expect: 2/expect: 3/r);
gives(rly('test', $wrong), 1, qr/^not ok 1 .*^ok 2 /ms, qr//,
      'an expectation that fails');
gives(rly('test', '--promote', $wrong), 0, qr//, '', 'test --promote');
is(slurp($wrong), $cases, 'writes what was found');
spew($wrong, ($cases =~ s/expect: 2/expect: 3/r) =~ s/\n/\r\n/gr);
gives(rly('test', '--promote', $wrong), 0, qr//, '', '... in a file of CRLF');
is(slurp($wrong), $cases =~ s/\n/\r\n/gr, '... with the line ends of the file');
my $kinds = program("1 / 0;\n// expect error: division\n"
                    . "1 + 1f;\n// expect runtime error: float\n");
gives(rly('test', $kinds), 1, qr/refused,\ saying:.*found\ a\ runtime\ error:
        .*a\ runtime\ error,\ saying:.*found\ that\ it\ was\ refused:/msx,
      qr//, '... says which kind of error came up');

# A page of commands, with a session that continues from block to block.
my $page = spew(scratch('page.md'), <<'MD');
```console
$ rly -e '1 + 1'
2
$ rly -e '1 / 0'
...
error[E0602]: integer division by zero
```
```rly
40 + 2;
// expect: 42
```
```console
rly> let %x = 3;
rly> def @f(%a: int32) {
  ...   %a + 1
  ... }
rly> @f(%x)
4
```
```console
rly> %x * 2
7
```
MD
gives(rly('test', $page), 0, qr/^ok 2 - .* # SKIP --shell runs/m, '',
      'test of a page runs no command unasked');
gives(rly('test', '--shell', $page), 1,
      qr/^ok\ 1\ .*^not\ ok\ 2\ .*page\.md:4$
         .*^ok\ 3\ .*^ok\ 4\ .*^ok\ 5\ .*^ok\ 6\ .*
         ^not\ ok\ 7\ .*page\.md:21$/msx, '', 'test of a page');
gives(rly('test', '--safe', '--shell', $page), 0,
      qr/^ok 2 - .* # SKIP --safe$/m, '',
      '... which --safe does not run');
rly('test', '--promote', '--shell', $page);
gives(rly('test', '--shell', $page), 0, qr/^1\.\.7$/m, '', '... promoted');

# What a page writes does not stay, whether the page ends or is ended.
my $where = scratch('where');
my $writes = spew(scratch('writes.md'), <<"MD");
```console
\$ ls tests/t/cli.t
tests/t/cli.t
\$ echo '2 + 2;' > written.rly
\$ rly run written.rly
4
\$ pwd > $where
```
MD
gives(rly('test', '--shell', $writes), 0, qr/^1\.\.4$/m, '',
      'a page reads what is here, and what it has written');
ok(!-e 'written.rly', '... which is not here afterwards');
my $folder = slurp($where) =~ s/\n//r;
ok($folder && !-e $folder, '... nor where it was');
spew($writes, "```console\n\$ pwd > $where; sleep 1000\n```\n");
unlink $where;
my $child = fork // die "fork: $!";
if (!$child) {
  open STDOUT, '>', '/dev/null' or die "/dev/null: $!";
  exec $ENV{RLY}, 'test', '--shell', $writes or die "exec: $!";
}
select undef, undef, undef, 0.01 until -s $where;
kill TERM => $child;
waitpid $child, 0;
is($? & 127, 15, 'a page that is ended');
$folder = slurp($where) =~ s/\n//r;
ok($folder && !-e $folder, '... leaves nothing');

# --- The network -------------------------------------------------------------

# What the program takes from the system's libraries is nothing that connects.
SKIP: {
  skip 'a sanitizer brings calls of its own', 1
      if ($ENV{MODE} // '') ne 'release';
  my @calls = map { /(\w+)(?:@\S*)?$/ } `nm -D --undefined-only $ENV{RLY}`;
  my @bad = grep { /^(?:socket|socketpair|connect|bind|accept4?|getaddrinfo)$/ }
      @calls;
  ok(@calls > 50 && !@bad, 'rly opens no network connection') or diag("@bad");
}

# --- Imports ----------------------------------------------------------------

mkdir scratch('parts');
spew(scratch('parts/x.rly'), "let \@x = 5;\nprint(1);\n");
spew(scratch('parts/round.rly'), "import \"../round.rly\";\n");
spew(scratch('parts/bad.rly'), "def \@f() { \%z }\n");
my $imports = spew(scratch('imports.rly'),
  qq(import "parts/x.rly";\nimport "parts/../parts/x.rly";\n\@x;\n));
gives(rly('run', $imports), 0, "1\n5\n", '', 'a file is imported once');
system('mkfifo', scratch('pipe')) == 0 or die;
gives(rly('-e', "import \"$_\"; 1"), 1, '',
      qr/E0112.*it is not a regular file/, "no import of $_")
  for scratch('pipe'), '/dev/zero';
my $of_folder = spew(scratch('folder.rly'), qq(1;\nimport "parts";\n));
gives(rly('check', $of_folder), 1, '',
      qr/folder\.rly:2:1:.*E0112.*"parts": Is a directory/, 'nor of a folder');
my $round = spew(scratch('round.rly'), qq(import "parts/round.rly";\n));
gives(rly('run', $round), 1, '',
      qr{^\Q${\scratch('parts/round.rly')}\E:1:1:.*it imports itself}m,
      'but not by itself');
my $twice = 'import "' . scratch('parts/bad.rly') . qq(";\n);
gives(rly({in => "$twice$twice"}, 'repl'), 0, '', qr/(E0101.*){2}/s,
      'a file that was refused may be imported again');

# --- What the prompt reads --------------------------------------------------

gives(rly({in => ":set depth 5\r\n1 +\r\n2\r\n:quit\r\n4\r\n"}, 'repl'), 0,
      "3\n", '', 'lines of CRLF at the prompt');
my $startup = spew(scratch('startup.rly'), ":set rows 30\r\nlet %a = 5;\r\n");
gives(rly({in => '%a'}, 'repl', '--startup', $startup), 0, "5\n", '',
      '... and in a start-up file');
gives(rly({in => "1\0 + (\n3\n"}, 'repl'), 0, "3\n", qr/E0001/,
      'a line with a NUL is refused');
gives(rly({in => '1'}, 'repl', '--startup', scratch('none.rly')), 1, "1\n",
      qr/E0501.*none.rly: No such file/, 'no such start-up file');
gives(rly({in => '1'}, 'repl', '--startup', scratch('')), 1, "1\n",
      qr/E0501.*Is a directory/, '... or a folder');

# --- Ctrl-C -----------------------------------------------------------------

# The program says when it is running; then it is interrupted.
my $said = scratch('said');
my $pid = rly_start({out => $said}, '-e',
                    'def @f(%n: int32) -> int32 { @f(%n + 1) } '
                    . '{ print(1); @f(0) }');
select undef, undef, undef, 0.01 until -s $said || waitpid($pid, 1);
kill INT => $pid;
$run = rly_wait($pid);
is($run->{status}, 130, 'an interrupt ends a run') or diag($run->{err});

done_testing();
