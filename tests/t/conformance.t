#!/usr/bin/env perl
# The conformance runner judges correctly.  A stand-in for rly answers as the
# "program" it is given says; each row below says what the runner should
# conclude.
#
# Were the runner tested with the real program, all its cases would pass, which
# is the one verdict that needs no judgement.  The stand-in can print a wrong
# value or type, accept what should be refused, fail with the wrong code or end
# with another status, and each of these must be found and named: a runner that
# lets one slip makes the whole suite worthless without anybody seeing it.
use strict;
use warnings;
use Cwd qw(getcwd);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Test::More;

my $runner = getcwd() . "/build/$ENV{MODE}/tests/conformance/run";
my $tree = tempdir(CLEANUP => 1);
make_path("$tree/tests/conformance/$_") for qw(lang ops);
chdir $tree or die "$tree: $!\n";

sub spew {
  my ($path, @text) = @_;
  open my $out, '>:raw', $path or die "$path: $!\n";
  print $out @text;
  close $out or die "$path: $!\n";
}

# A program of the stand-in has lines COMMAND|STATUS|STDOUT|STDERR; what `run`
# prints goes to the file after --outputs, if there is one; in what it prints, ;
# is |.  A program without a line for fmt or dump is printed as it is.
spew('rly', <<'END');
#!/usr/bin/env perl
my ($command, $file, %option) = (@ARGV[0, 1], @ARGV[2 .. $#ARGV], '');
open my $in, '<', $file or die;
my @lines = <$in>;
my ($answer) = grep { /^\Q$command\E\|/ } @lines;
if (!$answer) { print @lines; exit }
chomp $answer;
s/\\n/\n/g, s/\\0/\0/g, s/FILE/$file/g for $answer;
my (undef, $status, $out, $err) = split /\|/, $answer;
$out =~ tr{;}{|};
if ($option{'--outputs'}) {
  open my $to, '>', $option{'--outputs'};
  print $to $out;
} else {
  print $out;
}
print STDERR $err;
exit $status;
END
chmod 0755, 'rly';

my %why;  # by case: '' or what the runner's reason should hold

sub lang {
  my ($name, $program, $spec, $why, $why_fmt, $why_dump) = @_;
  spew("tests/conformance/lang/$name.rly", $program);
  spew("tests/conformance/lang/$name.json", $spec);
  $why{"lang/$name"} = $why;
  $why{"fmt/lang/$name"} = $why_fmt // $why;
  $why{"dump/lang/$name"} = $why_dump // $why;
}

# A case of type `T` with the value in the first argument.
sub ok_spec { return qq({"expect": "ok", "main_type": "fn () -> T",
                         "result": $_[0]}) }
sub value {
  my ($name, $printed, $expected, $why) = @_;
  lang($name, "run|0|$printed|\ncheck|0|\@main : fn () -> T\\n|\n",
       ok_spec($expected), $why);
}
sub tensor { return qq({"dtype": "$_[0]", "shape": [$_[1]], "data": [$_[2]]}) }

value('same', tensor('int32', '2', '1, 2'), tensor('int32', '2', '1, 2'), '');
value('integer', tensor('int32', '', '1'), tensor('int32', '', '2'),
      'value 1, not 2');
value('dtype', tensor('int64', '', '1'), tensor('int32', '', '1'), 'int64');
value('shape', tensor('int32', '2, 1', '1, 2'), tensor('int32', '2', '1, 2'),
      'value [2,1], not [2]');
value('short', tensor('int32', '2', '1'), tensor('int32', '2', '1, 2'),
      'value [1], not [1,2]');
value('float_near', tensor('float32', '', '1.000009'),
      tensor('float32', '', '1'), '');
value('float_far', tensor('float32', '', '1.00002'),
      tensor('float32', '', '1'), 'value 1.00002');
value('float_rounds', tensor('float16', '', '0.1'),
      tensor('float16', '', '0.0999755859375'), '');
value('nan', tensor('float32', '', '"nan"'), tensor('float32', '', '"nan"'),
      '');
value('not_nan', tensor('float32', '', '1'), tensor('float32', '', '"nan"'),
      'not "nan"');
value('finite', tensor('float32', '', '1'), tensor('float32', '', '"inf"'),
      'not "inf"');
value('negative_inf', tensor('float32', '', '"inf"'),
      tensor('float32', '', '"-inf"'), 'not "-inf"');
value('bool', tensor('bool', '', '1'), tensor('bool', '', 'true'), 'not true');
value('constructor', '{"constructor": "Nil", "fields": []}',
      '{"constructor": "None", "fields": []}', 'value "Nil", not "None"');
value('tuple', '{"tuple": []}', '{"tuple": [{"closure": true}]}', 'value []');
value('twice', '{"tuple": []}\n{"tuple": []}', '{"tuple": []}',
      'not one JSON value');

my $unit = '{"tuple": []}';
lang('type', "run|0|$unit|\ncheck|0|\@main : fn () -> U\\n|\n",
     ok_spec($unit), 'type `@main : fn () -> U`');
lang('type_blanks', "run|0|$unit|\ncheck|0|\@f : T\\n\@main : fn()->T\\n|\n",
     ok_spec($unit), '');
lang('status', "run|3|$unit|limit\\nreached\n", ok_spec($unit),
     'exit status 3, not 0: limit');

sub error_spec {
  my ($kind, $line, $column, $words) = @_;
  return qq({"expect": "$kind", "error": {"line": $line, "column": $column,
             "contains": [$words]}});
}
my $said = 'FILE:3:7: error[E0203]: operands (2,  3) and (4)';
lang('error', "run|1||$said\n", error_spec('type-error', 3, 7, '"(2, 3)"'),
     '');
lang('error_line', "run|1||$said\n", error_spec('type-error', 4, 'null', ''),
     'does not name error_line.rly:4:', '', '');
lang('error_column', "run|1||$said\n", error_spec('type-error', 3, 8, ''),
     'does not name error_column.rly:3:8:', '', '');
lang('error_case', "run|2||$said\n",
     error_spec('runtime-error', 3, 'null', '"OPERANDS"'), '');
lang('error_words', "run|1||$said\n",
     error_spec('type-error', 3, 'null', '"rank"'), 'lacks `rank`');
lang('error_place', "run|1||$said\n",
     error_spec('type-error', 3, 'null', '"7"'), 'lacks `7`');
lang('error_quote', "run|1||$said\\n   3 |   add(%x)\n",
     error_spec('type-error', 3, 'null', '"%x"'), 'lacks `%x`');
lang('error_status', "run|1||$said\n",
     error_spec('runtime-error', 3, 'null', ''), 'exit status 1, not 2');
lang('error_unformatted', "run|1||$said\nfmt|1||$said\n",
     error_spec('parse-error', 3, 'null', ''), '');
lang('error_undumped', "run|1||$said\ndump|1||$said\n",
     error_spec('type-error', 3, 'null', ''), '');
lang('crash', "run|139||\n", error_spec('type-error', 3, 'null', ''),
     'exit status 139');

my $fine = "run|0|$unit|\ncheck|0|\@main : fn () -> T\\n|\n";
lang('fmt_refuses', $fine . "fmt|1||no\n", ok_spec($unit), '',
     'exit status 1, not 0: no');
lang('fmt_moves', $fine . "fmt|0|x\\nfmt;0;y\\n|\n", ok_spec($unit), '',
     'formatting twice');
lang('fmt_changes', $fine . "fmt|0|run;0;[];\\n|\n", ok_spec($unit), '',
     'value [], not {"tuple":[]}');
lang('dump_refuses', $fine . "dump|1||no\n", ok_spec($unit), '', '',
     'exit status 1, not 0: no');
lang('dump_moves', $fine . "dump|0|x\\ndump;0;y\\n|\n", ok_spec($unit), '', '',
     'dumping twice');
lang('dump_changes', $fine . "dump|0|run;0;[];\\n|\n", ok_spec($unit), '', '',
     'value [], not {"tuple":[]}');

# One operator case: the file expected, and the one that the stand-in writes.
sub file_of {
  my ($header, $data) = @_;
  return pack('Q<', length $header) . $header . $data;
}
sub floats {
  my ($dtype, $shape, @values) = @_;
  my $size = 4 * @values;
  return file_of(qq({"__metadata__": {"rtol": "0.01", "atol": "0"},
    "out0": {"dtype": "$dtype", "shape": [$shape],
             "data_offsets": [0, $size]}}) =~ s/\n\s*//gr,
    pack($dtype eq 'F32' ? 'f<*' : 'l<*', @values));
}
sub ops {
  my ($name, $written, $expected, $why) = @_;
  spew("tests/conformance/ops/$name.safetensors", $expected);
  spew("tests/conformance/ops/$name.rly", 'run|0|', $written, "|\n");
  $why{"$_$name"} = $why for qw(ops/ fmt/ops/ dump/ops/);
}
my $pair = floats('F32', 2, 1, 2);
ops('same', $pair, $pair, '');
ops('near', floats('F32', 2, 1.0078125, 2), $pair, '');
ops('far', floats('F32', 2, 1, 2.25), $pair, 'out0: element 1 is 2.25, not 2');
ops('nan', floats('F32', 1, 'nan'), floats('F32', 1, 'nan'), '');
ops('infinite', floats('F32', 1, 1), floats('F32', 1, 'inf'), 'not inf');
ops('dtype', floats('I32', 2, 1, 2), $pair, 'dtype I32, not F32');
ops('integers', floats('I32', 2, 1, 3), floats('I32', 2, 1, 2),
    'element 1 differs');
ops('shape', floats('F32', '1, 2', 1, 2), $pair, 'shape [1, 2], not [2]');
ops('missing', file_of('{}', ''), $pair, 'no tensor out0');
ops('more', $pair, file_of('{}', ''), '1 results, not 0');
ops('lies', $pair =~ s/\Q[0, 8]/[0, 9]/r, $pair, 'no tensor out0');
ops('nothing', '', $pair, 'no outputs');

my $report = `'$runner' --rly ./rly`;
for my $case (sort keys %why) {
  my ($line) = $report =~ /^  \Q$case\E: (.*)$/m;
  if ($why{$case}) {
    like($line // 'passed', qr/\Q$why{$case}\E/, "$case fails, and why");
  } else {
    is($line, undef, "$case passes");
  }
}
my $failed = grep { m{^ops/} && $why{$_} } keys %why;
like($report, qr/^ops: 3 passed, $failed failed$/m, 'a suite is counted');

# The ratchet: passing.txt grows and holds.
my $list = 'tests/conformance/passing.txt';
spew($list, "ops/gone\n");
is(system("'$runner' --rly ./rly --promote >promoted"), 0, 'promotes');
my $passing = do { local (@ARGV, $/) = $list; <> };
like($passing, qr{^lang/same$}m, 'what passes is listed');
unlike($passing, qr{^lang/integer$}m, 'what fails is not');
like($passing, qr{^ops/gone$}m, 'nothing leaves the list');
isnt(system("'$runner' --rly ./rly --ratchet >lost"), 0, 'a lost case fails');
spew($list, $passing =~ s{ops/gone\n}{}r);
is(system("'$runner' --rly ./rly --ratchet >kept"), 0, 'the list holds');
spew('tests/conformance/lang/same.rly', "run|2||broken\n");
my $broken = `'$runner' --rly ./rly --ratchet`;
isnt($?, 0, 'a case that passed before may not fail');
like($broken, qr{lang/same: exit status 2, not 0: broken}, 'and is named');
unlike($broken, qr{lang/integer}, 'unlike those that never passed');
is(system("'$runner' --rly ./rly --ratchet ops/ >part"), 0,
   'a part of the suites may be chosen');

done_testing();
