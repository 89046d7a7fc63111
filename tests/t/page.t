#!/usr/bin/env perl
# The page of `rly step --html` in a browser, at two widths: what a step
# becomes, slider, arrows and folding, the source, calls, names and cells beside
# it, heat maps, and text that looks like HTML.
use strict;
use warnings;
use lib 'tests/t';
use Browser;
use Rly;
use Test::More;

plan skip_all => 'no chromium: make deps-browser' unless Browser::installed();
my ($page, $why) = Browser->try('about:blank', 1280, 900);
plan skip_all => "chromium does not start here: $why" if !$page;

my $source = spew(scratch('shown.rly'), <<'END');
def @fact(%n: int32) -> int32 {
  if (%n < 2) { 1 } else { %n * @fact(%n - 1) }
}
// </pre><script>window.hurt = 1</script>
let @c = ref(1);
def @both(%d: Ref[int32]) -> int32 {
  let %p = (%d, 7);
  ref_write(%d, ref_read(%d) + @fact(2));
  ref_read(%p.0)
}
@both(@c);
{ let %w = reshape(arange(512f), newshape=[16, 32]) - 200f;
  let %s = "</script><img src=x onerror='window.hurt = 1'>";
  let %r = (nn.relu(%w), %s);
  sum(%r.0) }
END
my $file = scratch('page.html');
is(rly('step', '--html', $file, $source)->{status}, 0, 'a page is written');
cmp_ok(-s $file, '<', 200_000, '... of a bounded size');
my @steps = map { json($_) } split /\n/, rly('step', '--json', $source)->{out};

$page->load("file://$file");

# What is seen of the step at hand; text that is hidden has none.
sub seen { return $page->js("document.querySelector('$_[0]').innerText") }
sub step { return "article:not([hidden]) $_[0]" }
sub at { return '#' . $page->js('at.id') }
sub go { $page->js("go(steps.find(s => s.id === 'step-$_[0]'))") }

for my $wide (1280, 480) {
  $page->width($wide, 900);

  # Every step: what the page shows is what the machine says.
  my @wrong;
  for my $step (grep { exists $_->{contractum} } @steps) {
    go($step->{step});
    my $marked = $page->js('[...document.querySelectorAll("'
      . step('.text mark') . '")].map(m => m.textContent)');
    my @want = ($step->{redex}, length $step->{contractum}
                || ($marked->[1] // '') eq '' && @$marked == 2
                ? $step->{contractum} : ());
    push @wrong, $step->{step} unless "@$marked" eq "@want";
  }
  is("@wrong", '', "redex and contractum are marked at $wide");

  # The next step's text is this one's contractum in its place.
  go(13);
  my $becomes = seen(step('.becomes pre'));
  $page->key('ArrowRight');
  is(at(), '#step-14', 'an arrow goes to the next step');
  is(seen(step('.text > pre')), $becomes, '... which is what it became');
  $page->key('ArrowLeft');
  is(at(), '#step-13', 'and back');
  $page->click('#forth');
  is(at(), '#step-14', 'as a button does');

  # Folding: the slider has a place for each step that is not folded.
  go(6);
  my $all = $page->js('+slider.max');
  $page->click('input[value=names]');
  my $left = $page->js('shown.length');
  is($page->js('+slider.max'), $left - 1, 'the slider goes over what is shown');
  cmp_ok($left, '<', $all, '... which is less');
  is(at(), '#step-7', 'a folded step gives way to the next');
  $page->key('ArrowLeft');
  is(at(), '#step-5', 'arrows pass over what is folded');
  is($page->js('+slider.value'), $page->js('shown.indexOf(at)'),
     'the slider follows');
  like(seen(step('.becomes pre')), qr/^let %p = \(%d, 7\);/,
       'what becomes of a step does not depend on folding');
  $page->js('slider.value = 0; slider.oninput()');
  is(at(), '#step-1', 'and leads');
  $page->key('End');
  is($page->js('+slider.value'), $left - 1, 'End is the end of both');
  $page->click('input[value=names]');
  is($page->js('+slider.max'), $all, 'unfolded, all are there again');

  # Beside the step.
  my ($write) = grep { $_->{rule} eq 'ref_write' } @steps;
  go($write->{step});
  like(seen(step('.file .now')), qr/ref_write/, 'the line of the source');
  is($page->js('document.querySelector("' . step('.file .now mark')
               . '").textContent'),
     'ref_write(%d, ref_read(%d) + @fact(2))', '... with the redex in it');
  like(seen(step('.cells .new')),
       qr/cell#1\s+1 -> 3\s+held by %p \(inside\), %d, \@c: one cell/,
       'the cell, and who shares it');
  like(seen(step('.calls')), qr/\@both at .*shown\.rly:8/, 'the calls');
  like(seen(step('.side .names')), qr/%p\s+\(cell#1, 7\)/, 'the names');
  my ($let) = grep { $_->{redex} =~ /^let %p/ } @steps;
  go($let->{step});
  like(seen(step('.names .new')), qr/^%p/, 'what is bound is marked');

  # A heat map.
  my ($big) = grep { ($_->{says} // '') =~ /^`nn.relu`/ } @steps;
  go($big->{step});
  $page->click(step('.operands summary'));
  my $drawn = step('.operands canvas');
  $page->wait_for(qq(document.querySelector("$drawn")));
  my $pixel = 'Array.from(document.querySelector("' . $drawn . '")'
    . '.getContext("2d").getImageData(%d, %d, 1, 1).data)';
  my $blue = $page->js(sprintf $pixel, 2, 2);
  cmp_ok($blue->[2], '>', $blue->[0] + 50, 'a negative element is blue');
  my $end = '(c => [c.width - 2, c.height - 2])(document.querySelector("'
    . $drawn . '"))';
  my $red = $page->js(sprintf $pixel, @{$page->js($end)});
  cmp_ok($red->[0], '>', $red->[2] + 50, 'a positive one red');
  like(seen(step('.operands figcaption')),
       qr/\(16, 32\).*512 elements, -200 to 311/,
       '... and the facts');
  $page->click(step('.operands summary'));

  is($page->js('document.documentElement.scrollWidth <= innerWidth'), 1,
     "nothing is cut off at $wide");
}

ok(!$page->js('window.hurt || document.querySelectorAll("img").length'),
   'text of the program is text');
$page->click('#list');
is($page->js('document.querySelectorAll("article:not([hidden])").length'),
   scalar @steps, 'all at once');
$page->load("file://$file?#step-9");
is(at(), '#step-9', 'the address names a step');
$page->picture($ENV{RLY_PICTURE}) if $ENV{RLY_PICTURE};
$page->quit;

done_testing();
