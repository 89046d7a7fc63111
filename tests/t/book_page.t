#!/usr/bin/env perl
# The book in a browser, as a reader meets it: a block that runs and is edited,
# one that needs definitions from above, a session of the prompt, an exercise
# that is judged, search, contents, dark and light, a phone's width.
use strict;
use warnings;
use utf8;
use lib 'tests/t';
use Browser;
use Rly;
use Test::More;

my ($page, $url) = Browser->visit(1200, 900);
plan skip_all => $url if !$page;

sub go {
  my ($name) = @_;
  $page->load('about:blank');
  $page->load("${url}book/$name");
  $page->wait_for('document.documentElement.dataset.ready');
}

# The n-th block of a kind, from 0; its button makes it an editor.
sub block { return "[...document.querySelectorAll('.$_[0]')][$_[1]]" }
sub choose {
  my ($kind, $n) = @_;
  $page->js('document.querySelectorAll("#it").forEach(e => e.id = "");'
            . block($kind, $n) . '.id = "it"');
}
sub ran { return $page->after('run', $_[0], '#it') }
sub start {
  choose(live => $_[0]);
  ran(sub { $page->click('#it button') });
}
sub values_seen {
  return $page->js('[...document.querySelectorAll("#it .value")].map(v =>'
                   . ' v.textContent).join("; ")');
}
sub seen { return $page->js("document.querySelector('$_[0]').innerText") }
sub write_text { return $page->write_text($_[0], '#it') }
sub which {
  my ($code) = @_;
  return $page->js("[...document.querySelectorAll('.live')].findIndex($code)");
}

# A block of the operators' page, then a text of ours in its place.
go('operators.html');
start(0);
is(values_seen(), 'Tensor[(2), int32] [11, 22]', 'a block runs');
ran(sub { write_text("sum([1, 2, 3]);\n1 / 0;\n") });
is(values_seen(), '6', 'an edited one runs again');
like(seen('#it .output'),
     qr/division by zero/, '... and tells a mistake');
ran(sub { $page->click('#it .bar button:nth-of-type(2)') });
is(values_seen(), 'Tensor[(2), int32] [11, 22]', 'reset brings it back');

# A session of the prompt is a program: its entries, with their values.
go('tutorial-03-functions.html');
start(0);
is(values_seen(), '9f', 'a session runs as a program');
start(2);
is(values_seen(), '21; 0', '... and another beside it');

# An exercise, of which the lesson's own judge is asked.
choose(exercise => 1);
$page->click('#it button');
$page->wait_for('document.querySelector("#it [role=status]")?.innerText'
                . ' === ""');
sub answered {
  my ($text) = @_;
  my $was = $page->js('+document.querySelector("#it").dataset.judged || 0');
  write_text($text);
  $page->click('#it .bar button');
  $page->wait_for("+document.querySelector('#it').dataset.judged > $was");
  return seen('#it [role=status]') . ' ' . seen('#it .output');
}
like(answered("def \@sign(%x: int32) -> int32 {\n"
              . "  if (%x > 0) { 1 } else { -1 }\n}"),
     qr/^Not yet\. .*`\@sign\(0\) == 0` is False.*0 is not below 0/s,
     'a wrong answer is told why');
like(answered("def \@sign(%x: int32) -> int32 {\n  if (%x > 0) { 1 } else {"
              . " if (%x < 0) { -1 } else { 0 } }\n}"),
     qr/^Right\. Right\.$/, 'a right answer is right');

# A puzzle: its text to begin with, an operator that it does not allow, and an
# answer.
go('puzzles-15-recursion.html');
choose(exercise => 0);
$page->click('#it button');
$page->wait_for('document.querySelector("#it [role=status]")?.innerText'
                . ' === ""');
like(seen('#it .cm-content'), qr/^def \@ones\(%n: int32\) -> int32 \{\n  _/,
     'a puzzle begins with its text');
$page->wait_for('document.querySelector("#it .cm-content .t-keyword")');
is(seen('#it .cm-content .t-keyword'), 'def', '... in colours');
my $ones = 'def @ones(%n: int32) -> int32 { ';
like(answered("$ones sum([%n]) }"),
     qr/^Not yet\. .*`sum` is not among the words that are allowed/s,
     '... does not take every operator');
like(answered("$ones if (%n == 0) { 0 } else { mod(%n, 2) + \@ones(%n / 2) }"
              . ' }'), qr/^Right\. Right\.$/, '... and is solved');

# A definition from above is put in front.
go('state.html');
my $needs = which('b => /@reset\(\);/.test(b.dataset.program ?? "") &&'
                  . ' /@reset\(\);/.test(b.textContent) &&'
                  . ' !/def @reset/.test(b.textContent)');
start($needs);
unlike(values_seen(), qr/^$/, 'what a block needs stands in front of it');

# Search, by keys alone.
$page->click('#search');
$page->type('softmax');
$page->wait_for('document.documentElement.dataset.found === "softmax"');
like(seen('#found a'), qr/^nn\.softmax/,
     'what is named so comes first');
$page->key('ArrowDown');
is($page->js('document.activeElement.getAttribute("href")'),
   'operators.html#nnsoftmax', 'an arrow goes to what was found');
$page->js('(() => { const box = document.querySelector("#search");'
  . ' box.value = "qqqqq"; box.dispatchEvent(new Event("input")) })()');
$page->wait_for('document.documentElement.dataset.found === "qqqqq"');
is(seen('#found'), 'Nothing was found.',
   'what is not there is not found');

# A phone, dark and light.
$page->width(375, 700);
for my $name (qw(index operators diagnostics tutorial-03-functions language c
                 python-names performance library-control)) {
  go("$name.html");
  cmp_ok($page->js('document.documentElement.scrollWidth'), '<=', 375,
         "nothing of $name is wider than a phone");
}
my $shown = 'getComputedStyle(document.querySelector("nav")).display';
is($page->js($shown), 'none', 'a phone has no contents beside the text');
$page->click('#open');
is($page->js($shown), 'block', '... but above it, when asked');
my $ground = 'getComputedStyle(document.body).backgroundColor';
my $was = $page->js($ground);
$page->click('#theme');
isnt($page->js($ground), $was, 'dark and light');
is($page->elsewhere($url), 0, 'no request goes elsewhere');
is(join("\n", $page->complaints), '', 'the console has no complaint');
$page->quit;
done_testing();
