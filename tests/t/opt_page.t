#!/usr/bin/env perl
# The page of `rly opt --html`: for each pass the program before it and after
# it, line beside line, with what stays folded; text that looks like HTML; and
# in a browser, where there is one, one pass at a time.
use strict;
use warnings;
use lib 'tests/t';
use Browser;
use Rly;
use Test::More;

my $lets = join '', map { "  let %v$_ = %x * ${_}f;\n" } 1 .. 12;
my $source = spew(scratch('shown.rly'), <<"END");
def \@f(%x: Tensor[(4), float32]) {
$lets  let %k = take(shape_of(%x), 0) + 1;
  let %s = "</script><img src=x onerror='window.hurt = 1'>&amp;";
  print(%s);
  (%v1 + %v12, %k)
}
\@f([1f, 2f, 3f, 4f]);
END
my $file = scratch('page.html');
my @passes = qw(FoldConstant Unroll DeadCodeElimination);

sub html_text {
  my ($text) = @_;
  my %meant = (lt => '<', gt => '>', quot => '"', amp => '&');
  return $text =~ s/&(lt|gt|quot|amp);/$meant{$1}/gr;
}

# An article as [left, right] for each row; '' where a side has none.
sub rows {
  my ($article) = @_;
  return map { [map { html_text($_) } m{<code>(.*?)</code>}g] }
    $article =~ m{^<div class="row[^"]*">(.*)</div>$}mg;
}

# The lines of one side, by its numbers.
sub side {
  my ($article, $side) = @_;
  my @lines;
  for ($article =~ m{^<div class="row[^"]*">(.*)</div>$}mg) {
    my @parts = m{<i>(\d*)</i><code>(.*?)</code>}g;
    push @lines, html_text($parts[2 * $side + 1])
      if $parts[2 * $side] ne '' && $parts[2 * $side] == @lines + 1;
  }
  return join '', map { "$_\n" } @lines;
}

gives(rly('opt', '--html', $file, '--passes', join(',', @passes), $source), 0,
  '', '', 'a page is written, and nothing else');
my $page = slurp($file);
my @articles = $page =~ m{^(<article .*?^</article>)$}msg;
is(scalar @articles, 4, 'an article for each pass, and one for all');
my @texts = map { rly('opt', '--passes', join(',', @passes[0 .. $_ - 1]) || '',
                      $_ ? () : '-O0', $source)->{out} } 1 .. 3;
unshift @texts, rly('opt', '-O0', $source)->{out};
for my $i (0 .. 2) {
  is(side($articles[$i], 0), $texts[$i], "$passes[$i]: the text before");
  is(side($articles[$i], 1), $texts[$i + 1], "... and after");
  is($articles[$i] =~ /^<article[^>]*class="changed"/ ? 1 : 0,
     $texts[$i] ne $texts[$i + 1] ? 1 : 0, '... and whether it changes it');
}
is(side($articles[3], 0), $texts[0], 'all: the first text');
is(side($articles[3], 1), $texts[3], '... and the last');
my ($pair) = grep { $_->[0] ne $_->[1] } rows($articles[0]);
like("@$pair", qr/take\(shape_of.* 5;/,
  'a line stands beside the one that replaces it');
my ($folded) = $articles[0] =~ m{<details><summary>(\d+) lines stay<};
my ($inside) = $articles[0] =~ m{<details>(.*?)</details>}s;
is(() = $inside =~ /class="row"/g, $folded, 'what stays is folded');
my @shown = rows($articles[0] =~ s{<details>.*?</details>}{}gsr);
cmp_ok(scalar @shown, '<=', 7, '... but for three lines on each side');
is(scalar(() = $articles[1] =~ /<details>/g), 1, 'all of it where all stays');
unlike($page, qr/<img/, 'a text of the program is no HTML');
unlike($page =~ s/<script>.*//sr, qr{(?:src|href)=|https?:|\@import},
  'the page loads nothing');

gives(rly('opt', '--html', scratch('none/p.html'), $source), 1, '',
  qr/error\[E0507\]: cannot write/, 'a file that cannot be written');
for my $flag (['--bisect'], ['--reduce', 'false {}']) {
  gives(rly('opt', '--html', $file, @$flag, $source), 1, '',
    qr/--html and --rewrites show what passes change/, "not with $flag->[0]");
}
my $quiet = scratch('quiet.html');
rly('opt', '--html', $quiet, '--passes', 'Unroll', '--exec', 'cat', '--json',
    '--time-passes', $source);
like(slurp($quiet), qr{<h2>2\. cat<small>[\d.]+ ms</small>},
  'a command is a pass; its time');

SKIP: {
  skip 'no chromium: make deps-browser', 1 unless Browser::installed();
  my ($at, $why) = Browser->try("file://$file", 1280, 900);
  skip "chromium does not start here: $why", 1 if !$at;
  is($at->shown, 'pass-1', 'the first pass that changes something is shown');
  $at->key('ArrowRight');
  is($at->shown, 'pass-3', 'an arrow goes to the next that does');
  $at->click('#back');
  is($at->shown, 'pass-1', 'a button goes back');
  $at->click('#list');
  is($at->shown, 'pass-1 pass-2 pass-3 all', 'all at once');
  $at->click('#folds');
  is($at->js('[...document.querySelectorAll("details")].every(f => f.open)'), 1,
    'what stays can be opened');
  is($at->js('window.hurt || "safe"'), 'safe', 'the text of a program is text');
  $at->width(480, 900);
  is($at->js('document.documentElement.scrollWidth <= innerWidth'), 1,
    'a narrow page does not scroll sideways');
}

done_testing;
