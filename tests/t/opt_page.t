#!/usr/bin/env perl
# The page of `rly opt --html`: for each pass the program before it and after
# it, line beside line, with what stays folded; text that looks like HTML; the
# same beside the steps of the last version, by `rly step --html`; and in a
# browser, where there is one, one pass and one view at a time.
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
    $article =~ m{^<div class="pair[^"]*">(.*)</div>$}mg;
}

# The lines of one side, by its numbers.
sub side {
  my ($article, $side) = @_;
  my @lines;
  for ($article =~ m{^<div class="pair[^"]*">(.*)</div>$}mg) {
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
is(() = $inside =~ /class="pair"/g, $folded, 'what stays is folded');
my @shown = rows($articles[0] =~ s{<details>.*?</details>}{}gsr);
cmp_ok(scalar @shown, '<=', 7, '... but for three lines on each side');
is(scalar(() = $articles[1] =~ /<details>/g), 1, 'all of it where all stays');
unlike($page, qr/<img/, 'a text of the program is no HTML');
unlike($page =~ s/<script>.*//sr, qr{(?:src|href)=|https?:|\@import},
  'the page loads nothing');

gives(rly('opt', '--html', scratch('none/p.html'), $source), 2, '',
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

# The versions beside the steps: those of the opt page, and the steps are those
# of the last of them.
my $both = scratch('both.html');
my $passes = join ',', @passes;
rly('opt', '--html', $file, '--passes', $passes, $source);
my $stepped = rly('step', '--html', $both, '--passes', $passes, $source);
is($stepped->{status}, 0, 'the page of steps has the versions, too');
my $view = qr{^(<section class="view versions".*?^</section>)$}ms;
my ($alone) = slurp($file) =~ $view;
is((slurp($both) =~ $view)[0], $alone, '... as the page of opt has them');
my $last = spew(scratch('last.rly'), $texts[3]);
sub steps {
  my ($page) = @_;
  my ($view) = slurp($page) =~ m{^(<section class="view steps".*?</footer>)}ms;
  return $view =~ s{\Q$source\E after \Q$passes\E|\Q$last\E}{TEXT}gr;
}
my $steps = scratch('steps.html');
rly('step', '--html', $steps, $last);
is(steps($both), steps($steps), 'the steps are those of the last version');
unlike(slurp($steps), $view, 'without passes there are no versions');
my $o2 = rly('opt', '-O2', '--dump-pipeline')->{out};
rly('step', '--html', $both, '-O2', $source);
is(join('', map { "$_\n" } slurp($both) =~ m{<h2>\d+\. (.*?)(?:<|$)}mg),
   $o2, 'a level stands for its passes');
is(rly('run', '--passes', $passes, $source)->{out},
   rly('run', $source)->{out}, 'rly run takes passes, too');
gives(rly('step', '--html', $both, '--passes', 'None', $source), 1, '',
  qr/no pass `None`/, 'a pass that there is not');

SKIP: {
  skip 'no chromium: make deps-browser', 1 unless Browser::installed();
  my ($at, $why) = Browser->try("file://$file", 1280, 900);
  skip "chromium does not start here: $why", 1 if !$at;
  is($at->shown, 'pass-1', 'the first pass that changes something is shown');
  $at->key('ArrowRight');
  is($at->shown, 'pass-3', 'an arrow goes to the next that does');
  $at->click('.versions .back');
  is($at->shown, 'pass-1', 'a button goes back');
  $at->click('.versions .list');
  is($at->shown, 'pass-1 pass-2 pass-3 all', 'all at once');
  $at->click('.unfold');
  is($at->js('[...document.querySelectorAll("details")].every(f => f.open)'), 1,
    'what stays can be opened');
  is($at->js('window.hurt || "safe"'), 'safe', 'the text of a program is text');
  $at->width(480, 900);
  is($at->js('document.documentElement.scrollWidth <= innerWidth'), 1,
    'a narrow page does not scroll sideways');

  # Two views, of which one is shown.
  my $view = sub {
    $at->js('[...document.querySelectorAll(".view")].filter(v => !v.hidden)'
      . '.map(v => v.dataset.title).join(" ")');
  };
  my $shown = sub {
    $at->js('[...document.querySelectorAll(".view:not([hidden]) article")]'
      . '.filter(a => !a.hidden).map(a => a.id).join(" ")');
  };
  my $press = sub {
    $at->js("[...document.querySelectorAll('nav.views button')]"
      . ".find(b => b.textContent === '$_[0]').click()");
  };
  $at->width(1280, 900);
  rly('step', '--html', $both, '--passes', $passes, $source);
  $at->load("file://$both");
  is($view->(), 'steps', 'the steps are shown first');
  $at->key('ArrowRight');
  is($shown->(), 'step-2', 'arrows go over them');
  $press->('versions');
  is($view->(), 'versions', 'a button shows the versions');
  is($shown->(), 'pass-1', '... the first pass that changes something');
  $at->key('ArrowRight');
  is($shown->(), 'pass-3', 'arrows go over the passes now');
  is($at->js('location.hash'), '#pass-3', '... as the address says');
  $press->('steps');
  is($shown->(), 'step-2', 'and the steps stand where they stood');
  is($at->js('location.hash'), '#step-2', '... as the address says again');
  $at->load("file://$both?#pass-2");
  is($view->() . ' ' . $shown->(), 'versions pass-2',
    'the address names a pass');
  $at->js('location.hash = "#step-5"');
  $at->wait_for('!document.querySelector(".steps").hidden');
  is($shown->(), 'step-5', '... or a step');
  is($at->js('window.hurt || "safe"'), 'safe', 'text is text here as well');
  for my $wide (1280, 480) {
    $at->width($wide, 900);
    for my $name ('steps', 'versions') {
      $press->($name);
      is($at->js('document.documentElement.scrollWidth <= innerWidth'), 1,
        "$name: nothing is cut off at $wide");
    }
  }
  $at->width(1280, 900);
  $at->picture($ENV{RLY_PICTURE}) if $ENV{RLY_PICTURE};
  $at->quit;
}

done_testing;
