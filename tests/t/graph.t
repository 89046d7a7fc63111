#!/usr/bin/env perl
# rly graph: nodes, what flows between them, and the order of effects, against
# what a reader of the program says; Graphviz takes the dot; in a browser the
# page draws, searches, folds and goes by keys, at two widths.
use strict;
use warnings;
use lib 'tests/t';
use Browser;
use JSON::PP ();
use Rly;
use Test::More;

my $program = spew(scratch('g.rly'), <<'END');
let @count = ref(0);
def @tick(%x: float32) -> float32 {
  ref_write(@count, ref_read(@count) + 1);
  ref_write(@count, 7);
  %x * 2f
}
def @main(%x: Tensor[(2, 3), float32], %c: bool) {
  let %h = nn.relu(%x);
  let %s = if (%c) { nn.softmax(%h, axis=0) } else { %h + %h };
  let %f = fn (%a: float32) { %a * @tick(0.5f) };
  print(%f(1f));
  match (Some(%s)) { Some(%v) => %v, None => %x }
}
def @alone() { "</script><b>" }
END

sub graph {
  my $run = rly('graph', '--format', 'json', @_);
  is($run->{err}, '', 'it is drawn without a word');
  return JSON::PP->new->utf8->decode($run->{out});
}

my $g = graph($program);
my @nodes = @{$g->{nodes}};

# The nodes with that label in the region with that one.
sub nodes {
  my ($label, $region) = @_;
  return grep { $nodes[$_]{label} eq $label
    && $g->{regions}[$nodes[$_]{region}]{label} eq $region } 0 .. $#nodes;
}
sub edges {
  my ($from, $to, $control) = @_;
  return grep { $_->{from} == $from && $_->{to} == $to
    && !$control == !$_->{control} } @{$g->{edges}};
}

my ($read) = nodes('ref_read', '@tick');
my ($first, $second) = nodes('ref_write', '@tick');
ok(edges($read, $first, 1), 'a write comes after the read before it');
ok(edges($first, $second, 1), 'and after the write before it');
ok(!edges($read, $second, 1), 'what follows from these is not drawn');
my ($product) = nodes('multiply', '@tick');
ok(!grep({ $_->{control} && $_->{to} == $product } @{$g->{edges}}),
  'what does nothing waits for nothing');
my ($relu) = nodes('nn.relu', '@main');
my ($softmax) = nodes('nn.softmax', 'then');
my ($flow) = edges($relu, $softmax);
is($flow->{type}, 'Tensor[(2, 3), float32]', 'data flows with its type');
is($nodes[$relu]{name}, '%h', 'a node has the name that a let gives it');
is($nodes[$softmax]{detail}, 'axis=0', 'and its attributes');
is(scalar(edges($relu, nodes('add', 'else'))), 2, 'two operands, two edges');
is($g->{regions}[$nodes[$softmax]{region}]{kind}, 'then',
  'branches are regions');
is_deeply([sort map { $_->{kind} } @{$g->{regions}}],
  [qw(arm arm def def def else fn steps then)], 'so are functions and arms');
my ($print) = nodes('print', '@main');
my ($call) = nodes('call', '@main');
ok(edges($call, $print, 1), 'a print waits for a call that writes');

my $entry = graph('--entry', 'tick', $program);
is_deeply([map { $_->{label} } @{$entry->{regions}}], ['@tick'],
  '--entry draws one function');
my $reached = graph('--entry', 'main', $program);
is_deeply([sort grep { /@/ } map { $_->{label} } @{$reached->{regions}}],
  ['@main', '@tick'], 'and those that it reaches');
gives(rly('graph', '--format', 'text', $program), 1, '',
  qr/takes dot, html or json, not `text`/, 'a graph has no text');

gives(rly('graph', '--entry', 'non', $program), 1, '', qr/E0102/,
  'no such function');

# --- The order of effects -----------------------------------------------------

# Of two effects in one region of which the first is evaluated before the
# second, and one changes or shows something, a way along control edges leads
# from the first to the second, and none back.  Nodes are numbered as they are
# evaluated.
sub is_step { return $_[0] =~ /write|print|calls/ }
sub unordered {
  my ($g) = @_;
  my (@after, @wrong);
  push @{$after[$_->{from}]}, $_->{to}
      for grep { $_->{control} } @{$g->{edges}};
  my @nodes = @{$g->{nodes}};
  my @does = grep { ($nodes[$_]{effects} // '') =~ s/allocates(, )?//r }
             0 .. $#nodes;
  for my $from (@does) {
    my (%seen, @todo);
    push @todo, $from;
    while (@todo) {
      my $at = pop @todo;
      push @todo, grep { !$seen{$_}++ } @{$after[$at] // []};
    }
    push @wrong, "$from after itself" if $seen{$from};
    for my $to (grep { $_ != $from
                       && $nodes[$_]{region} == $nodes[$from]{region} } @does) {
      my $step =
          is_step($nodes[$from]{effects}) || is_step($nodes[$to]{effects});
      push @wrong, "$from before $to" if $to < $from && $seen{$to};
      push @wrong, "$to does not wait for $from"
        if $to > $from && $step && !$seen{$to};
    }
  }
  return @wrong;
}

my $ordered = graph(spew(scratch('o.rly'), <<'END'));
def @main(%c: Ref[int32], %b: bool, %g: fn () -> ()) -> int32 {
  print("a");
  ref_write(%c, 1);
  let %x = ref_read(%c);
  print("b");
  if (%b) { print("c"); ref_write(%c, 2) } else { () };
  %g();
  %x + ref_read(%c) / %x
}
END
is("@{[unordered($ordered)]}", '', 'prints, writes and reads are in order');
my @shown = map { $_->{effects} // () } @{$ordered->{nodes}};
is_deeply(\@shown, ['prints', 'writes', 'reads', 'prints', 'prints', 'writes',
                    "calls its arguments", 'reads', 'may fail'],
          'and these are all that there are');
my $loose = {%$ordered,
             edges => [grep { !$_->{control} } @{$ordered->{edges}}]};
cmp_ok(scalar(unordered($loose)), '>', 10, 'a graph without them is found out');

my (@bad, $graphs, $effects) = ();
for my $case (one_in(24, 5, sort(glob 'tests/conformance/lang/*.rly'),
                     sort glob 'tests/run/*.rly')) {
  my $run = rly('graph', '--format', 'json', $case);
  next if $run->{status};
  my $drawn = JSON::PP->new->utf8->decode($run->{out});
  $graphs++;
  $effects += grep { is_step($_->{effects} // '') } @{$drawn->{nodes}};
  push @bad, "$case: $_" for unordered($drawn);
}
is("@bad", '', "effects are in order in $graphs programs of the suites");
cmp_ok($effects, '>=', 1, 'which have some');

# The edges are in proportion to the nodes, whatever the effects.
my $n = 2000;
my $many = graph(spew(scratch('many.rly'), "let \@r = ref(0);\ndef \@main() {\n"
  . "  let %x = ref_read(\@r);\n" x $n
  . "  if (%x > 0) { ref_write(\@r, 1) } else { ref_write(\@r, 2) };\n" x $n
  . "  %x\n}\n"));
cmp_ok(scalar @{$many->{edges}}, '<', 40 * $n, 'few edges for many effects');

# --- Graphviz ---------------------------------------------------------------

my $dot = rly('graph', $program);
like($dot->{out},
  qr/^digraph rly \{.*subgraph cluster_0.*style=dashed.*\}\n\z/s,
  'dot has clusters and the order of effects');
SKIP: {
  skip 'no dot: make deps-graph', 1 unless -x '/usr/bin/dot';
  my $file = spew(scratch('g.dot'), $dot->{out});
  my $svg = `/usr/bin/dot -Tsvg '$file' 2>&1`;
  like($svg, qr/<svg.*nn\.softmax.*<\/svg>/s, 'Graphviz lays it out');
}

# --- The page ---------------------------------------------------------------

my $html = spew(scratch('g.html'),
  rly('graph', '--format', 'html', $program)->{out});
my $text = slurp($html);
unlike($text, qr{</script><b>}, 'text of the program ends no script');
unlike($text, qr{(src|href)=|https?://(?!www\.w3\.org/2000/svg)},
  'nothing is fetched');
is(rly('dump', '--format', 'html', $program)->{out}, $text, 'dump has it, too');

SKIP: {
  skip 'no chromium: make deps-browser', 1 unless Browser::installed();
  my ($page, $why) = Browser->try('about:blank', 1280, 900);
  skip "chromium does not start here: $why", 1 if !$page;
  for my $wide (1280, 480) {
    $page->width($wide, 900);
    $page->load("file://$html");
    is($page->js('document.querySelectorAll(".node").length'), scalar @nodes,
      "$wide: every node is drawn");
    is($page->js('document.querySelectorAll("path.edge").length'),
      scalar @{$g->{edges}}, "$wide: every edge is drawn");
    ok($page->js('document.documentElement.scrollWidth <= innerWidth'),
      "$wide: the page is as wide as the window");
    is($page->js(<<'END'), 0, "$wide: no two nodes lie on one another");
(() => { const b = nodes.filter(n => n.g); let k = 0;
  for (const n of b) for (const m of b)
    k += n.i < m.i && Math.abs(n.x - m.x) < (n.w + m.w) / 2 - 1 &&
      Math.abs(n.y - m.y) < (n.h + m.h) / 2 - 1;
  return k })()
END
    $page->js('box.value = "softmax"; box.dispatchEvent(new Event("input"))');
    is($page->js('found.textContent'), '1 found', "$wide: search finds");
    $page->js('next(1)');
    is($page->js('selected.label'), 'nn.softmax', "$wide: and goes there");
    like($page->js('side.innerText'), qr/float32/, "$wide: with its type");
    $page->key('ArrowUp');
    is($page->js('selected.label'), 'nn.relu', "$wide: up along the edge");
    $page->js('foldAll(true)');
    is($page->js('document.querySelectorAll(".node").length'), 0,
      "$wide: folded, the regions are left");
    $page->js('toggle(regions.findIndex(r => r.label === "@tick"))');
    ok($page->js('nodes.some(n => n.g && n.label === "ref_write")'),
      "$wide: one is opened");
    $page->picture("$ENV{GRAPH_PICTURES}/graph-$wide.png")
      if $ENV{GRAPH_PICTURES};
  }
  $page->quit;
}

done_testing;
