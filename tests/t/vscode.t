#!/usr/bin/env perl
# The extension for VS Code: the package that vsce makes, and the bundled
# extension, with its real client and `rly lsp`, over a stand-in for VS Code
# (tests/vscode/host.mjs).  tests/t/lexers.t tests the grammar.
use strict;
use warnings;
use lib 'tests/t';
use JSON::PP;
use Rly;
use Test::More;

plan skip_all => 'no node' unless `node --version 2>/dev/null`;
plan skip_all => 'no vsce: make deps-vscode'
  unless -x 'build/deps/vscode/node_modules/.bin/vsce';

# --- The package --------------------------------------------------------------

my ($version) = rly('--version')->{out} =~ /(\d+\.\d+\.\d+)/;
my $package = scratch("rly-$version.vsix");
my $said = `node editors/vscode/build.mjs $version $package 2>&1`;
is("$?$said", 0, 'it is packaged without a warning')
  or do { diag($said); done_testing(); exit 1 };

sub part { return scalar `unzip -p $package extension/$_[0]` }
my @files = grep { !m{/$} } split /\n/, `unzip -Z1 $package`;
is(join(' ', sort @files), '[Content_Types].xml extension.vsixmanifest ' .
   join(' ', map { "extension/$_" } qw(LICENSE.txt
     dist/LICENSES.txt dist/extension.js
     language-configuration.json package.json readme.md
     syntaxes/rly.tmLanguage.json)), 'what it holds');
my $manifest = decode_json(part('package.json'));
is($manifest->{version}, $version, 'the version is that of the program');
my %has = map { $_ => 1 } @files;
my $gives = $manifest->{contributes};
my @named = map { s{^\./}{extension/}r } $manifest->{main},
  map { $_->{configuration} // $_->{path} }
    @{$gives->{languages}}, @{$gives->{grammars}};
is(scalar(grep { $has{$_} } @named), 3, 'what the manifest names is there')
  or diag("@named");
is_deeply(decode_json(part('language-configuration.json'))->{comments},
          {lineComment => '//', blockComment => ['/*', '*/']}, 'comments');
is(scalar(() = part('dist/LICENSES.txt') =~ /^Permission is hereby granted/mg) +
     scalar(() = part('dist/LICENSES.txt') =~ /^Permission to use, copy/mg), 8,
   'the licences of the eight packages in the bundle');
cmp_ok(length part('dist/extension.js'), '<', 500_000, 'the bundle is small');

# The problem matcher finds the place of a mistake that `rly run` tells.
my $wrong = spew(scratch('wrong.rly'), "let %x = 1;\n%x + 41;\n%y;\n");
my $pattern = $gives->{problemMatchers}[0]{pattern};
my ($line) = rly('run', $wrong)->{err} =~ /\A(.*)/;
my @found = $line =~ /$pattern->{regexp}/;
is(join(' ', map { $found[$pattern->{$_} - 1] }
          qw(file line column severity code)),
   "$wrong 3 1 error E0101", 'a mistake that is told has a place to go to');

# --- At work ------------------------------------------------------------------

sub host {
  my ($file) = @_;
  return scalar `node tests/vscode/host.mjs $package.files/dist/extension.js \\
    $ENV{RLY} $file 2>&1`;
}
my $right = spew(scratch('right.rly'),
                 "def \@f(%x: int32) { %x + 1 }\n\@f(3);\n[1, 2];\n");
$said = host($right);
is(join(' ', $said =~ /^command (\S+)$/mg),
   join(' ', map { $_->{command} } @{$gives->{commands}}),
   'the commands of the manifest are registered');
like($said, qr/^lens run\ntask run 1?true \$rly\n/m,
     'the lens `run` runs the file');
like($said, qr/^lens step\npage Steps of right\.rly true /m,
     'the lens `step` shows the page of its steps');
my $values = qr/^beside 1 4\nbeside 2 Tensor\[\(2\), int32\] \[1, 2\]\n/m;
is(scalar(() = $said =~ /$values/g), 2,
   'values stand beside their lines, and again after it was saved')
  or diag($said);
is(scalar(() = $said =~ /^page /mg), 2, '... as do the steps');
unlike($said, qr/^(?:diagnostic|error)/m, 'nothing is wrong with it');
like($said, qr/^over\n\z/m, 'all ends');

$said = host($wrong);
like($said, qr/^diagnostic 2 E0101$/m, "the server's mistakes are shown");
like($said, qr/^page Steps of wrong\.rly false true$/m,
     'a page tells why there are no steps');
unlike($said, qr/^error/m, 'the server starts');

(my $none = `RLY=/nowhere/rly; node tests/vscode/host.mjs \\
  $package.files/dist/extension.js \$RLY $right 2>&1`) =~ s/\n(?=.)/ /g;
like($none, qr{error rly: `/nowhere/rly lsp` did not start\. .*rly\.path},
     'without the program, which setting names it');
like($none, qr/over\n\z/, '... and it goes on');
done_testing();
