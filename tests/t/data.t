#!/usr/bin/env perl
# rly dump --format json: what tools read (docs/DATA.md), by a reader that is
# not rly; and what rly refuses of documents that tools write.  The conformance
# runner's kinds json/lang and json/ops hold that a document is its program.
use strict;
use warnings;
use lib 'tests/t';
use JSON::PP ();
use Rly;
use Test::More;

sub document {
  my ($text) = @_;
  my $run = rly('dump', '--format', 'json', spew(scratch('p.rly'), $text));
  is($run->{err}, '', 'it is written without a word');
  return JSON::PP->new->utf8->decode($run->{out});
}

sub run_document {
  my ($document, @args) = @_;
  my $json = JSON::PP->new->utf8->canonical->allow_nonref->encode($document);
  return rly('run', spew(scratch('p.json'), $json), @args);
}

# --- What a tool sees ---------------------------------------------------------

my $d = document(<<'END');
type Shape { Disc(r: float32), Nothing }
def @area(%s: Shape) -> float32 {
  match (%s) { Disc(%r) if %r > 0f => 3f * %r * %r, _ => nanf }
}
let %k = ref(2);
def @main(%x: Tensor[(2, 3), float32]) {
  let %y = sum(%x, axis=[1], keepdims=True);
  (%y, @area(Disc(0.1f)))
}
END
is("$d->{format} $d->{version}", 'rly 1', 'it says what it is');
my ($sum) = grep { ($_->{op} // '') eq 'sum' } @{$d->{nodes}};
is_deeply($sum->{attrs},
  [{name => 'axis', value => [{dtype => 'int32', value => 1}]},
   {name => 'keepdims', value => JSON::PP::true}],
  'attributes have their dtypes');
my $type = $d->{types}[$sum->{type}];
is_deeply($type->{shape}, [2, 1], 'a node has the type that was found');
is($type->{text}, 'Tensor[(2, 1), float32]', 'as a text, too');
is_deeply($sum->{span}, [0, 7, 12, 7, 44], 'and the place where it stood');
is($d->{nodes}[$sum->{args}[0]]{name}, 'x', 'parts are named by their places');
my %items = map { ($_->{name} // '') => $_ } @{$d->{items}};
is_deeply($items{area}{effects}, [], 'a definition has its effects');
is_deeply($items{Shape}{constructors}[0]{labels}, ['r'], 'fields have names');
is_deeply([map { $_->{kind} } @{$d->{items}}], [qw(type def local def)],
  'items stand in their order');
my $before = 1;
for my $i (0 .. $#{$d->{nodes}}) {
  my $n = $d->{nodes}[$i];
  for my $part (@{$n->{args} // []}, @{$n->{items} // []}, $n->{body} // ()) {
    $before &&= $part < $i;
  }
}
ok($before, 'parts come before wholes');

# Another program of the same document: 0.1f becomes 2f.
for my $n (@{$d->{nodes}}) {
  $n->{value}{data}[0] = 2 if $n->{kind} eq 'constant'
    && $n->{value}{dtype} eq 'float32' && $n->{value}{data}[0] == 0.1;
}
gives(run_document($d, 'x=[[1,2,3],[4,5,6]]'), 0,
  qr/\[\[ 6\.0\],\s*\[15\.0\]\], 12f\)/, '',
  'a tool changes a constant, and the program runs');

# --- Bits -------------------------------------------------------------------

# 7.038531e-26 is the shortest text of a float32 whose reading as a double and
# rounding gives its neighbour.
my $bits = document(<<'END');
(7.038531e-26f, -0.0f, inff, nanf, 0.1, 18446744073709551615u64,
 -9223372036854775807i64, 1e-45f, 65504f16);
END
my @values = map { $_->{value}{data}[0] }
  grep { $_->{kind} eq 'constant' } @{$bits->{nodes}};
is(unpack('H*', pack('f>', $values[0])),
  unpack('H*', pack('f>', '7.03853069185120912085918801631e-26')),
  'a float32 survives the reading as a double');
is("@values[2, 3, 5]", 'inf nan 18446744073709551615', 'what JSON cannot say');
my $text = slurp(scratch('p.rly'));
my $again = rly('dump', '--format', 'json', scratch('p.rly'))->{out};
is_deeply(rly('run', spew(scratch('p.json'), $again)),
  rly('run', scratch('p.rly')), 'all of them read back');

my $large = document("cast([" . join(', ', map { "${_}f" } 0 .. 1999)
  . "], dtype=\"int32\");");
my ($constant) = grep { exists(($_->{value} // {})->{base64}) }
  grep { ref($_->{value} // '') eq 'HASH' } @{$large->{nodes}};
ok($constant, 'a large constant is base64') and do {
  require MIME::Base64;
  my $bytes = MIME::Base64::decode_base64($constant->{value}{base64});
  my @all = unpack 'f<*', $bytes;
  is("@all[0, 1, 1999] " . @all, '0 1 1999 2000', 'of its elements');
};

# --- Where programs come from -----------------------------------------------

my $main = JSON::PP->new->encode(document("1 + 1;\n"));
gives(rly({in => $main}, 'run', '-'), 0, "2\n", '', 'from stdin');
spew(scratch('lib.json'), JSON::PP->new->encode(
  document("def \@twice(%x: int32) { %x * 2 }\n")));
my $importer = qq(import "lib.json"; \@twice(4);\n);
gives(rly('run', spew(scratch('main.rly'), $importer)), 0,
  "8\n", '', 'by import');
gives(rly('fmt', '-w', scratch('lib.json')), 1, '', qr/fmt -w writes text/,
  'fmt -w does not put text into a .json');
gives(rly('opt', '-O2', scratch('lib.json')), 0, qr/def \@twice/, '',
  'opt reads it');
gives(rly('dump', '--format', 'yaml', scratch('p.rly')), 1, '',
  qr/takes text, json, dot or html, not `yaml`/, 'there are no other formats');

# --- Mistakes ---------------------------------------------------------------

sub refused {
  my ($nodes, $items, $words, $what, %more) = @_;
  my $d = {format => 'rly', version => 1, types => $more{types} // [],
           nodes => $nodes, items => $items};
  gives(run_document({%$d, %{$more{top} // {}}}), 1, '', $words,
    "$what: refused, and where");
}
my $one = {kind => 'constant',
           value => {dtype => 'int32', shape => [], data => [1]}};
my $expr = [{kind => 'expr', value => 0}];
my $i = sub { +{%$one, value => {%{$one->{value}}, @_}} };
refused([$one], $expr, qr/\$\.version: expected 1/, 'version',
  top => {version => 2});
refused([$one], $expr, qr/\$\.format/, 'another format',
  top => {format => 'onnx'});
refused([{kind => 'cal'}], [],
  qr/\$\.nodes\[0\]\.kind: no node is a `cal`/, 'kind');
refused([{}], [], qr/\$\.nodes\[0\]: `kind` is missing/, 'no kind');
refused([7], [], qr/\$\.nodes\[0\]: expected an object/, 'no object');
refused([$i->(data => [1, 2])], $expr,
  qr/\$\.nodes\[0\]\.value\.data: expected 1 elements/, 'too many elements');
refused([$i->(data => [3000000000])], $expr,
  qr/\$\.nodes\[0\]\.value\.data\[0\]: expected an element of int32/, 'range');
refused([$i->(dtype => 'bool', data => undef, base64 => 'Bw==')], $expr,
  qr/element 0 is none of bool/, 'a bool of 7');
refused([$i->(shape => [1 << 40, 1 << 40])], $expr,
  qr/larger than memory/, 'a huge shape');
refused([$i->(shape => [1 << 40], base64 => 'AAAA')], $expr,
  qr/expected the bytes of all/, 'a huge shape of few bytes');
refused([{kind => 'tuple', items => [0]}], $expr,
  qr/\$\.nodes\[0\]\.items: expected the place of an earlier node/, 'a circle');
refused([$one, {kind => 'tuple', items => [0, 0]}], $expr,
  qr/\$\.nodes\[1\]\.items: node 0 is part of another node already/, 'sharing');
refused([$one], [{kind => 'def', name => 'f', fn => 0}],
  qr/\$\.items\[0\]\.fn: expected a node of kind "fn"/, 'no function');
refused([{kind => 'var', name => 'x; evil'}], $expr,
  qr/`x; evil` is no name/, 'a name that is a program');
refused([$one], [{kind => 'let', name => 'x', annotation => 0, value => 0}],
  qr/\$\.types\[0\]\.shape: expected dimensions/, 'a dimension that is none',
  types => [{kind => 'tensor', dtype => 'int32', shape => ['n), int32] = (']}]);
refused([$one], [{kind => 'let', name => 'x', annotation => 3, value => 0}],
  qr/\$\.items\[0\]\.annotation: expected types by their places/,
  'no such type');
my @wide = ({kind => 'hole'},
            map { {kind => 'tuple', args => [$_, $_]} } 0 .. 60);
refused([$one], [{kind => 'let', name => 'x', annotation => 61, value => 0}],
  qr/the type is too large/, 'a type of 2^60 parts', types => \@wide);
refused([$one, {kind => 'call', op => 'nn.rleu', args => [0]}],
  [{kind => 'expr', value => 1}], qr/p\.json:1:1: error\[E0103\]/,
  'a mistake that the checker finds');
gives(rly('run', spew(scratch('p.json'), '{"format": "rly", ')), 1, '',
  qr/p\.json:1:\d+: error\[E0530\]: no JSON/, 'no JSON');
gives(rly('run', spew(scratch('p.json'), '{"format": ' . '[' x 100000)), 1, '',
  qr/no JSON/, 'a hundred thousand brackets');

# A mistake is told with the place where the part stood, and with the line of
# the text that the document became.
my $placed = document(<<'END');
type Pair { Pair(a: int32, b: int32) }
def @f(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  let %z =
     %x * 2f;
  %z   +   [1f, 2f, 3f]
}
def @g(%n: int32) -> int32 { if (%n == 0) { 1 / %n } else { @g(%n - 1) } }
@g(2);
END
gives(run_document($placed), 2, '',
  qr{p\.rly:7:45: error\[E0602\].*in the text of \S*p\.json:.* at \S*:7:45\n}s,
  'an error at run time has the place in the source');
my $json = JSON::PP->new->utf8->canonical;
my @again = map { $json->encode($_) } $placed, $json->decode(
  rly('dump', '--format', 'json',
      spew(scratch('p.json'), $json->encode($placed)))->{out});
is($again[1], $again[0], 'and places are kept by a document of a document');
(my $unplaced = $again[0]) =~ s/,?"span":\[[^]]*\]//g;
my $made = spew(scratch('q.json'), $unplaced);
my @lines = split /\n/, rly('fmt', $made)->{out};
my ($failing) = grep { $lines[$_ - 1] =~ m{1 / } } 1 .. @lines;
gives(rly('run', $made), 2, '',
  qr{q\.json:$failing:45: error.*\n  in the text of \S*q\.json:\n +$failing }s,
  'without places, the line that rly fmt prints, and the message says so');
for my $n (grep { $_->{kind} eq 'constant' } @{$placed->{nodes}}) {
  $n->{value} = {%{$n->{value}}, shape => [2], data => [1.5, 2.5]}
    if @{$n->{value}{shape}};
}
my $wrong = qr/p\.rly:5:12: error\[E0203\].*in the text of \S*p\.json:\n +\d /s;
gives(run_document($placed), 1, '', $wrong, 'so has a mistake of types');
my $as_json = json((split /\n/,
  rly('check', '--json', scratch('p.json'))->{out})[0]);
is("$as_json->{line}:$as_json->{column}-$as_json->{end_column}", '5:12-24',
  'as JSON, too');
for ([path => "a\e[31m", 'a path that a terminal would obey'],
     [path => '', 'no path'], [path => undef, 'a path that is none'],
     [span => [0, 0, 1, 2, 3], 'line 0'],
     [span => [7, 5, 12, 5, 24], 'no file'],
     [span => [0, 5, 12], 'a span of three'], [span => 'here', 'a word'],
     [span => [0, -5, 1e300, 'x', {}], 'no numbers']) {
  my ($what, $value, $name) = @$_;
  my $copy = $json->decode($json->encode($placed));
  $_->{path} = $value for $what eq 'path' ? @{$copy->{files}} : ();
  $_->{span} = $value
    for $what eq 'span' ? (@{$copy->{nodes}}, @{$copy->{items}}) : ();
  my $run = run_document($copy);
  like($run->{err}, qr/^\S*p\.(?:json:5:8|rly:5:3): error\[E0203\]/,
    "without a place: $name");
  unlike($run->{err}, qr/\e/, '... and nothing of it is shown');
}

# Sugar that no longer fits is written out.
my $sugar = document("True && False;\n");
for my $n (@{$sugar->{nodes}}) {
  $n->{value}{data}[0] = JSON::PP::true
    if $n->{kind} eq 'constant' && !$n->{value}{data}[0];
}
gives(run_document($sugar), 0, "True\n", '',
  'a changed `&&` keeps its meaning');

# --- Size -------------------------------------------------------------------

# Programs of the suites, read back: the types and effects of all definitions,
# what they print, their values, and the error that they end in.
sub told {
  my ($file) = @_;
  my $run = rly('--timeout', 20, $file);
  my ($error) = $run->{err} =~ /(error\[E\d+\]: .*)/;
  # A document has an annotated `let` for a value whose shape the run looks at.
  $error =~ s/does not fit the \K\w+(?='s \()/annotation/ if $error;
  return join "\n", $run->{status}, $run->{out}, $error // '',
    rly('check', '--types', '--effects', $file)->{out};
}
my $read = scratch('read.json');
my ($told, @other) = 0;
for my $file (one_in(19, 3, sort(glob 'tests/run/*.rly'),
                     sort(glob 'tests/conformance/lang/*.rly'))) {
  my $json = rly('dump', '--format', 'json', $file);
  next if $json->{status};
  spew($read, $json->{out});
  $told++;
  push @other, $file if told($file) ne told($read);
}
is("@other", '', "$told programs are the same when read from JSON");
cmp_ok($told, '>', 0, 'there are some');


# A chain to the left, one to the right, and one that nests: none recurses, and
# ten times as many nodes take about ten times as long.  The processor's clock
# is asked, since other processes may be at work.
sub seconds {
  my ($text) = @_;
  spew(scratch('large.rly'), $text);
  my $json = rly('dump', '--format', 'json', scratch('large.rly'))->{out};
  spew(scratch('large.json'), $json);
  my $before = (times)[2];
  my $read = rly('dump', scratch('large.json'));
  my $took = (times)[2] - $before;
  ok($read->{out} eq rly('dump', scratch('large.rly'))->{out},
    'it reads back as the same program');
  return $took;
}
my $n = ($ENV{MODE} // 'release') eq 'release' ? 20000 : 2000;
for my $make (
  sub { 'def @main(%x: float32) { ' . join(' + ', ('%x') x $_[0]) . ' }' },
  sub { 'def @main(%x: float32) { ' . 'tanh(' x $_[0] . '%x' . ')' x $_[0]
      . ' }' },
  sub { 'def @main(%x: float32) { ' . join('', map { "let %v$_ = tanh(%x);\n" }
      1 .. $_[0]) . '%x }' },
  sub { 'def @main(%x: ' . '(' x $_[0] . 'int32' . ',)' x $_[0]
      . ') { %x }' }) {
  my $small = seconds($make->($n / 10));
  my $large = seconds($make->($n));
  cmp_ok($large, '<', 30 * $small + 2, 'the time is in proportion to the size');
}

# The text of a type is for people, written or found: what lies deep is cut.
for my $text ('def @main(%x: ' . '(' x 300 . 'int32' . ',)' x 300 . ') { %x }',
              'let %x0 = 1; '
              . join('', map { "let %x$_ = (%x" . ($_ - 1) . ',); ' }
                     1 .. 300)) {
  my $long = grep { length $_->{text} > 203 } @{document("$text 1")->{types}};
  is($long, 0, 'the text of each type is short');
}

# Likewise `check --types`, where each value's type is within the next one's.
my $chain = join '', map { "let %x$_ = (%x" . ($_ - 1) . ',); ' } 1 .. 2000;
my $path = spew(scratch('p.rly'), "let %x0 = 1; $chain 1");
my $shown = rly('check', '--types', $path);
cmp_ok(length $shown->{out}, '<', 1_000_000, 'check shows no type in full');
like($shown->{out}, qr/^%x99 : \({99}int32(,\)){99}$/m, '  that is deep');
like($shown->{out}, qr/^%x2000 : \({100}\.\.\.(,\)){100}$/m,
     '  beyond a hundred');

# Each value holds the one before twice.
my $pairs = join '', map { "let %x$_ = (%x" . ($_ - 1) . ', %x' . ($_ - 1)
                           . '); ' } 1 .. 60;
my $doubled = rly('check', '--types', spew($path, "let %x0 = 1; $pairs 1"));
cmp_ok(length $doubled->{out}, '<', 60 * 20_000, 'nor one that is wide');
like($doubled->{out}, qr/^%x60 : \({60}int32, int32\).*\.\.\.$/m,
     '  but so much of it');

done_testing;
