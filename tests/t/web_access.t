#!/usr/bin/env perl
# The page of `make web` for who reads it by ear or with weak eyes, and for who
# has no mouse: axe-core finds nothing wrong with any of its states, dark and
# light, wide and on a phone; and keys alone go everywhere.
use strict;
use warnings;
use utf8;
use lib 'tests/t';
use Browser;
use Rly;
use Test::More;

my ($page, $url) = Browser->visit(1280, 900);
plan skip_all => $url if !$page;

sub focused {
  return $page->js('(e => e.id || e.dataset.view || e.ariaLabel || e.tagName)'
                   . '(document.activeElement)');
}

$page->load($url);
$page->wait_for('document.documentElement.dataset.run');

SKIP: {
  skip 'no axe-core: make deps-web', 1 if !Browser->has_axe;
  my @states = (
    ['values' => sub {
       $page->after(run => sub {
         $page->write_text(
           "let %a = 0.5f; // \@slider(0, 1)\n%a;\n[[1f], [%a]];\n");
       });
     }],
    ['a mistake' => sub {
      $page->after(checked => sub { $page->write_text("1f + 2;\n") });
    }],
    map({ my $view = $_; [$view => sub {
            $page->after(run => sub { $page->write_text("1 + 2;\n") })
              if $page->js('!!document.querySelector(".cm-lintRange-error")');
            $page->after(run => sub { $page->click("[data-view=$view]") });
          }] } @{$page->js('[...document.querySelectorAll("[role=tab]")]'
                           . '.map(t => t.dataset.view)')}),
    ['a phone' => sub { $page->width(375, 700) }],
  );
  for my $theme (1, 2) {
    $page->width(1280, 900);
    $page->after(run => sub { $page->click('#theme') }); # looks again
    for (@states) {
      my ($name, $do) = @$_;
      $do->();
      my $which = $page->js('document.documentElement.dataset.theme');
      is(join("\n", $page->unfit), '', "axe-core: $name, $which");
    }
  }
  $page->width(1280, 900);
}

# By keys: in the editor Tab indents until Ctrl-M, or for a moment after Escape.
$page->after(run => sub {
  $page->js('document.querySelector("[data-view=values]").click()');
});
$page->js('document.querySelector(".cm-content").focus()');
like($page->js('document.activeElement.ariaDescription'), qr/Escape/,
     'the editor says how to leave it by keys');
$page->key('m', 'ctrl');
$page->key('Tab');
is(focused(), 'tab-values', 'Tab leaves the editor for the views');
$page->after(run => sub { $page->key('ArrowLeft') });
is(focused(), 'tab-types', 'an arrow goes to another view');
$page->key('Tab');
is(focused(), 'text', 'Tab goes into the view');
is(join("\n", $page->complaints), '', 'the console has no complaint');
$page->quit;
done_testing();
