#!/usr/bin/env perl
# The page of `rly opt --rewrites`: each rewrite by a rule or a pass is a step
# of the stepper's page, its redex and contractum marked.  What is marked is
# said here by hand; that the steps lead from the first program to the last is
# compared with what `rly opt` prints.
use strict;
use warnings;
use lib 'tests/t';
use Browser;
use Rly;
use Test::More;

my $file = scratch('page.html');

sub html_text {
  my ($text) = @_;
  my %meant = (lt => '<', gt => '>', quot => '"', amp => '&');
  return $text =~ s/&(lt|gt|quot|amp);/$meant{$1}/gr;
}

# The steps of a page: heading, the two texts with 〈...〉 for marks, what
# stands beside.
sub steps {
  my ($page) = @_;
  my @steps;
  while ($page =~ m{^<article id="step-(\d+)"(.*?)^</article>$}msg) {
    my ($number, $all) = ($1, $2);
    my ($head) = $all =~ m{<h2>(.*?)</h2>};
    my ($text, $side) = split /<div class="side">/, $all;
    my @texts = map { html_text(s{<mark.*?>}{〈}gr =~ s{</mark>}{〉}gr) }
      $text =~ m{<pre>(.*?)</pre>}sg;
    push @steps, {number => $number, before => $texts[0], after => $texts[1],
                  head => html_text(join ' ', $head =~ /([^<>]+)(?=<|$)/g),
                  side => html_text($side =~ s/<[^>]*>//gr), all => $all};
  }
  return @steps;
}

sub marked { return $_[0] =~ /〈(.*?)〉/s ? $1 : undef }
sub plain { return $_[0] =~ s/〈|〉//gr }

sub page_of {
  my ($source, @flags) = @_;
  gives(rly('opt', '--rewrites', $file, @flags, $source), 0, '', '',
    'a page is written, and nothing else');
  return slurp($file);
}

# --- Rules ------------------------------------------------------------------

my $layer = 'docs/optimiser/layer.rly';
my @flags = ('--rules', 'docs/optimiser/mine.rly', '--passes',
             'ApplyRules,DeadCodeElimination');
my $page = page_of($layer, @flags);
my @steps = steps($page);
is(scalar @steps, 4, 'a step for each rewrite');
my @wanted = (
  ['@transposed', 'transpose(%t, axes=[1, 0])', 'transpose(%h, axes=[0, 1])'],
  ['@same', 'transpose(%h, axes=[0, 1])', '%h'],
  ['@add_zero', 'abs(abs(%h)) / 4f + 0f', 'abs(abs(%h)) / 4f'],
  ['DeadCodeElimination',
   'let %t: Tensor[(4, 2), float32] = transpose(%h, axes=[1, 0]);', '']);
for my $i (0 .. 3) {
  my ($name, $redex, $contractum) = @{$wanted[$i]};
  like($steps[$i]{head}, qr/^@{[$i + 1]}\s+\Q$name\E\b/, "$name: its name");
  is(marked($steps[$i]{before}), $redex, '... the redex');
  is(marked($steps[$i]{after}), $contractum, '... the contractum');
  is(plain($steps[$i]{after}), plain($steps[$i + 1]{before}),
    '... and on from there') if $i < 3;
}
like($steps[1]{head}, qr/ApplyRules, rewrite 2\s+in \@layer$/,
  'its pass and the definition');
like($steps[1]{side}, qr/when \$p == identity\(\$p\) \{/,
  'beside it the rule, with its condition');
like($steps[3]{side}, qr/Drop what nothing uses/, 'or what the pass does');
like($steps[3]{all}, qr/nothing is left in its place/, 'what is dropped');
is(plain($steps[0]{before}), rly('opt', '-O0', $layer)->{out},
  'the first text is the program');
is(plain($steps[3]{after}), rly('opt', @flags, $layer)->{out},
  'the last is what rly opt prints');
like($page, qr{<label title="Apply.*?"><input type="checkbox" value="ApplyR},
  'a pass can be folded');
unlike($page =~ s/<script>.*//sr, qr{(?:src|href)=|https?:|\@import},
  'the page loads nothing');

# A rule of the library, and a part of a chain of operators.
my $chain = spew(scratch('chain.rly'), <<'END');
def @f(%a: int32, %b: int32) -> int32 { %a * 2 + 0 + %b - 1 }
END
@steps = steps(page_of($chain, '--passes', 'SimplifyExpr'));
is($steps[0]{before}, "def \@f(%a: int32, %b: int32) -> int32 {"
  . " 〈%a * 2 + 0〉 + %b - 1 }\n", 'a part of a chain is marked alone');
is($steps[0]{after}, "def \@f(%a: int32, %b: int32) -> int32 {"
  . " 〈%a * 2〉 + %b - 1 }\n", '... and what becomes of it');
like($steps[0]{side}, qr/rule \@add_zero_int\b.* => \{\s+%x\s+\}/s,
  "a pass's list has rules, too");

# --- Passes -----------------------------------------------------------------

my $calls = spew(scratch('calls.rly'), <<'END');
def @twice(%x: int32) -> int32 { %x * 2 }
def @f(%x: int32, %y: Tensor[(3), float32]) -> int32 {
  let %s = "</script><img src=x onerror='window.hurt = 1'>&amp;";
  print(%s);
  @twice(%x) + take(shape_of(%y), 0)
}
END
@steps = steps(page_of($calls, '--passes', 'Inline,FoldConstant'));
is_deeply([map { [marked($_->{before}), marked($_->{after})] } @steps],
  [['@twice(%x)', '%x * 2'], ['shape_of(%y)', '[3]'], ['take([3], 0)', '3']],
  'passes in C say what they replace by what');
unlike(slurp($file), qr/<img/, 'a text of the program is no HTML');

# Every pass of the second level, on programs of the suites: the steps of a page
# go on from one another within a pass.
for my $source ('docs/optimiser/swish.rly', 'examples/trees/trees.rly',
                'examples/attention/attention.rly',
                'examples/transformer/transformer.rly') {
  my @all = steps(page_of($source, '-O2'));
  my $broken = 0;
  for my $i (0 .. $#all) {
    $broken++ unless defined marked($all[$i]{before})
      && defined marked($all[$i]{after}) && $all[$i]{number} == $i + 1;
    next if $i == $#all || $all[$i + 1]{head} =~ /rewrite 1\b/;
    $broken++ if plain($all[$i]{after}) ne plain($all[$i + 1]{before})
      && $all[$i]{all} !~ /class="left"/ && $all[$i + 1]{all} !~ /class="left"/;
  }
  is($broken, 0, "$source: all steps are in order");
}

@steps = steps(page_of($layer, '--exec', q{sed 's/4f/8f/'}));
is(scalar @steps, 1, 'what a command does is one step');
is(marked($steps[0]{before}) . ' ' . marked($steps[0]{after}), '4f 8f',
  '... in which whole words are marked');
is(scalar steps(page_of($chain, '--passes', 'Inline')), 0, 'nothing to show');
like(slurp($file), qr/<footer>No pass rewrites anything\./, '... is said');

# --- Refusals ---------------------------------------------------------------

gives(rly('opt', '--rewrites', scratch('none/p.html'), $layer), 2, '',
  qr/error\[E0507\]: cannot write/, 'a file that cannot be written');
for my $flag (['--bisect'], ['--reduce', 'false {}']) {
  gives(rly('opt', '--rewrites', $file, @$flag, $layer), 1, '',
    qr/--html and --rewrites show what passes change/, "not with $flag->[0]");
}

# --- In a browser -----------------------------------------------------------

page_of($layer, @flags);
SKIP: {
  skip 'no chromium: make deps-browser', 1 unless Browser::installed();
  my ($at, $why) = Browser->try("file://$file", 1280, 900);
  skip "chromium does not start here: $why", 1 if !$at;
  is($at->shown, 'step-1', 'the first step is shown');
  is($at->js('document.querySelector("footer").offsetHeight'), 0,
     'how it ends is not told yet');
  $at->key('ArrowRight');
  is($at->shown, 'step-2', 'an arrow goes on');
  $at->click('#forth');
  $at->click('#back');
  is($at->shown, 'step-2', 'buttons go forth and back');
  is($at->js('document.querySelector("article:not([hidden]) mark.redex")'
    . '.textContent'), 'transpose(%h, axes=[0, 1])', 'the redex is marked');
  is($at->js('document.querySelector("article:not([hidden]) mark.contractum")'
    . '.textContent'), '%h', '... and the contractum');
  is($at->js('getComputedStyle(document.querySelector('
    . '"article:not([hidden]) .law")).display'), 'block',
    'the rule is in sight');
  $at->click('input[value=ApplyRules]');
  is($at->shown, 'step-4', 'the steps of a pass can be folded');
  $at->js('go(steps[steps.length - 1])');
  isnt($at->js('document.querySelector("footer").offsetHeight'), 0,
     'how it ends stands below the last step');
  $at->width(480, 900);
  is($at->js('document.documentElement.scrollWidth <= innerWidth'), 1,
    'a narrow page does not scroll sideways');
  $at->quit;
}

done_testing;
