#!/usr/bin/env perl
# The page of `make web` in a browser, as a visitor meets it: values beside
# lines, a mistake, a hover, completion, formatting, the views, a link,
# pictures, sliders, dropped files, an endless loop stopped, a phone's width;
# nothing red in the console, and no request to anywhere else.
# tests/t/book_page.t does so with the book.
use strict;
use warnings;
use utf8;
use lib 'tests/t';
use Browser;
use IO::Compress::Zip ();
use Rly;
use Test::More;
use Time::HiRes qw(time sleep);

my ($page, $url) = Browser->visit(1280, 900);
plan skip_all => $url if !$page;

sub seen { return $page->js("document.querySelector('$_[0]')?.innerText") }

sub values_seen {
  return $page->js('[...document.querySelectorAll(".value")].map(v =>'
                   . ' v.textContent).join("; ")');
}
sub text_seen {
  return $page->js('[...document.querySelectorAll(".cm-line")].map(l =>'
    . ' [...l.childNodes].filter(n => n.className !== "value").map(n =>'
    . ' n.textContent).join("")).join("\n")');
}

sub npy {
  my (@floats) = @_;
  my $head = "{'descr': '<f4', 'fortran_order': False, 'shape': ("
    . @floats . ',), }';
  $head .= ' ' x (64 - (10 + length($head) + 1) % 64) . "\n";
  return "\x93NUMPY\1\0" . pack('v/a* f<*', $head, @floats);
}
sub drop {
  my ($name, $bytes) = @_;
  $page->js('(() => { const all = new DataTransfer(); all.items.add(new File(['
    . 'new Uint8Array([' . join(',', unpack 'C*', $bytes) . "])], '$name'));"
    . ' dispatchEvent(new DragEvent("drop", {dataTransfer: all,'
    . ' cancelable: true})) })()');
}

# When what a visitor waits for was there, in milliseconds from the address. And
# answers of the engines can be held back: while `held` is a list, they wait in
# it.
$page->call('Page.addScriptToEvaluateOnNewDocument', {source => <<'JS'});
globalThis.seen = {};
new MutationObserver((_, observer) => {
  for (const [what, where] of [['editor', '.cm-content'], ['values', '.value']])
    if (document.querySelector(where)) seen[what] ??= performance.now();
  if (seen.values) observer.disconnect();
}).observe(document, {childList: true, subtree: true});
globalThis.Worker = class extends Worker {
  set onmessage(take) {
    super.onmessage = (e) =>
      globalThis.held?.push(() => take(e)) ?? take(e);
  }
};
JS
$page->load($url);
$page->wait_for('document.documentElement.dataset.run');
note(sprintf 'from the address to an editor: %.0f ms, to values: %.0f ms',
     map { $page->js("seen.$_") } qw(editor values));
like(values_seen(), qr/Tensor\[\(2\), float32\] \[6\.0, 15\.0\]/,
     'values stand beside their lines');

# What the page needs first stands in its own file.
is($page->js('[...new Set(performance.getEntriesByType("resource").map(r =>'
  . ' r.name.split("/").pop()))].filter(n => n !== "rly.later.wasm")'
  . '.sort().join(" ")'), 'main.js rly.wasm worker.js',
  'the page begins with few requests');

# A program of ours, with its values by hand.
my $begun = time;
$page->after(run => sub {
  $page->write_text("let %x = [3f, 4f];\nsum(%x * %x);\n%x + 1f;\n");
});
note(sprintf 'from a key to values: %.0f ms', 1000 * (time - $begun));
is(values_seen(), '25f; Tensor[(2), float32] [4.0, 5.0]', 'typed text is run');
# Colours come with the check, which the run does not wait for.
$page->wait_for('document.querySelector(".t-keyword")');

# The mouse over %x in the second line.
my $at = $page->js('(() => { const t = [...document.querySelectorAll('
  . '".cm-line")][1].querySelectorAll("span")[1].getBoundingClientRect();'
  . ' return [t.x + t.width / 2, t.y + t.height / 2] })()');
$page->point($at->[0] - 30, $at->[1] + 100);
$page->point(@$at);
$page->wait_for('document.querySelector(".hover")');
like(seen('.hover'), qr/%x : Tensor\[\(2\), float32\]/, 'a hover tells a type');
$page->point(900, 700);

# A mistake is underlined, and told; no value is shown.
$page->after(checked => sub { $page->write_text("1f + 2;\n") });
$page->wait_for('document.querySelector(".cm-lintRange-error")');
like(seen('#text'), qr/1:6: error E0207: .*float32 and int32/s,
     'a mistake is told');
is(values_seen(), '', 'values of an older text are gone');
$page->after(checked => sub { $page->write_text("1f + 2;\n%y;\n") });
like(seen('#text'), qr/^1:6: .*^2:1: /ms, 'mistakes are told in their order');

# What the server can mend has a button, and keys.
$page->after(checked => sub {
  $page->write_text("let %weight = 2f;\n%weight + 1;\n%wieght;\n");
});
my $mark = 'document.querySelectorAll(".cm-lintRange-error")';
$page->wait_for("$mark.length === 2");
my $over = $page->js("(() => { const b = ${mark}[0].getBoundingClientRect();"
                     . ' return [b.x + b.width / 2, b.y + b.height / 2] })()');
my $button = '.cm-diagnosticAction';
for (1 .. 20) {    # the answer takes a moment
  $page->point(900, 700);
  $page->point(@$over);
  sleep 0.5;
  last if $page->js("!!document.querySelector('$button')");
}
is(seen($button), 'replace by `1f`', 'a mistake that can be mended');
$page->after(checked => sub { $page->click($button) });
is(text_seen(), "let %weight = 2f;\n%weight + 1f;\n%wieght;\n", '... is');
$page->point(900, 700);
$page->js('document.querySelector(".cm-content").focus()');
for (1 .. 20) {
  $page->key('F8');
  $page->key('Enter', 'alt');
  sleep 0.5;
  last if text_seen() !~ /wieght/;
}
is(text_seen(), "let %weight = 2f;\n%weight + 1f;\n%weight;\n",
   '... by keys alone');

# A mistake of the run stands where it is.
$page->after(run => sub { $page->write_text("1;\n2 / 0;\n3;\n") });
is(values_seen(), '1', 'values up to a mistake');
like(seen('#text'), qr/E0602.*division by zero/s, '... which is told');
is($page->js('document.querySelectorAll(".cm-lintRange-error").length'), 1,
   '... and underlined');

# An answer about a text that has just become a shorter one has places that are
# no longer there (the console would tell).
$page->js('globalThis.held = []; undefined');
$page->write_text("1;\n" x 30 . "2 / 0;\n");
$page->wait_for('held.length === 2');
$page->after(run => sub {
  $page->js('document.execCommand("selectAll");'
    . ' document.execCommand("insertText", false, "3;"); setTimeout(() => {'
    . ' held.forEach(go => go()); held = null }); undefined');
});
is(values_seen(), '3', 'an answer about an older text is dropped');
is(join("\n", $page->complaints), '', '... without a complaint');

# Completion, and what it puts in.
$page->write_text("nn.softm");
$page->wait_for('document.querySelector(".cm-tooltip-autocomplete")');
like(seen('.cm-tooltip-autocomplete'), qr/nn\.softmax/, 'completion');
$page->key('Escape');

$page->after(run => sub { $page->write_text("1+1 ;") });
# Its run is waited for, or it would be taken for that of the view below.
$page->after(run => sub { $page->click('#format') });
is(text_seen(), "1 + 1;\n", 'formatting');

# Whether a frame shows something, which may take a moment. A picture of the
# empty one is a few hundred bytes, one of a page of text many thousand.
sub is_drawn {
  for (1 .. 100) {
    return 1 if length $page->shot('#frame') > 5000;
    sleep 0.1;
  }
  return 0;
}

# The views, each made by the program itself.
$page->after(run => sub { $page->click('[data-view=steps]') });
like($page->js('document.getElementById("frame").srcdoc'),
     qr/How it is evaluated/, 'the stepper');

# A view with a field: what is typed there decides what the view shows.
sub ask {
  my ($text) = @_;
  $page->js('(() => { const e = document.getElementById("asked");'
            . ' e.focus(); e.select() })()');
  $page->type($text);
}
is(seen('#asks'), '--steps', 'the stepper has a field');
ask('1');
$page->after(run => sub { $page->key('Enter') });
like($page->js('document.getElementById("frame").srcdoc'),
     qr/Stopped after 1 step; --steps N shows more/, '... for how many steps');
ask('many');
$page->after(run => sub { $page->key('Enter') });
like(seen('#text'), qr/--steps.* takes a whole number/s,
     '... which is a number');

$page->after(run => sub { $page->click('[data-view=passes]') });
like($page->js('document.getElementById("frame").srcdoc'),
     qr/What each pass makes/, 'the passes');
is(is_drawn(), 1, '... which are seen');
$page->after(run => sub { $page->click('[data-view=types]') });
$page->after(run => sub { $page->click('[data-view=passes]') });
is(is_drawn(), 1, '... also after another view');

# The field of the passes takes any pipeline, offers names, and is in the link.
is(seen('#asks'), 'Pipeline', 'the passes have a field');
is($page->js('document.getElementById("asked").value'), '-O2', '... for them');
ask('Inline,Fold');
$page->wait_for('[...document.querySelectorAll("#answers option")].some(o =>'
                . ' o.value === "Inline,FoldConstant")');
ask('Inline, FoldConstant');
$page->after(run => sub { $page->key('Enter') });
my $passes = $page->js('document.getElementById("frame").srcdoc');
like($passes, qr/Inline.*FoldConstant/s, 'a pipeline of these passes');
unlike($passes, qr/DeadCodeElimination/, '... and no others');
ask('Inlin');
$page->after(run => sub { $page->key('Enter') });
like(seen('#text'), qr{no pass `Inlin`}, 'a pass that is not there');
ask('-O1 --fast-math');
$page->after(run => sub { $page->key('Enter') });
like($page->js('document.getElementById("frame").srcdoc'),
     qr/What each pass makes/, 'a level and a flag');
$page->click('#share');
$page->wait_for('/asked=-O1/.test(location.hash)');
$page->after(run => sub {
  $page->js('location.hash = location.hash.replace("-O1", "-O0"); undefined');
});
is($page->js('document.getElementById("asked").value'), '-O0 --fast-math',
   'a link has what the field says');
$page->after(run => sub {
  $page->js('location.hash = location.hash.replace(/&asked=[^&]*/, "");'
            . ' undefined');
});
is($page->js('document.getElementById("asked").value'), '-O2',
   '... and without it the field is as at first');
$page->after(run => sub {
  $page->write_text("grad(fn (%x: float32) { tanh(%x) * %x })(3f);");
});
$page->after(run => sub { $page->click('[data-view=adjoint]') });
like($page->js('document.getElementById("frame").srcdoc'),
     qr/FirstOrderGradient.*let %\w+: float32 = tanh/s, 'a gradient as text');
$page->after(run => sub { $page->click('[data-view=bytecode]') });
like(seen('#text'), qr/\breturn\b|\bret\b/, 'the bytecode');
$page->after(run => sub {
  $page->js('document.querySelector("[aria-selected=true]").focus()');
  $page->key('ArrowRight');
});
is($page->js('document.activeElement.dataset.view'), 'types',
   'an arrow goes to the next view');
$page->after(run => sub { $page->click('[data-view=values]') });

# Gradients beside arguments: of s * sum(w * w) they are 2 s w, and sum(w * w)
# for s; a call of `grad` is shown as one of its function. The cell counts
# calls, of which each is made once, and is shown as it was before. Numbers of
# 17 digits stay what they are.
sub cells_seen {
  my $cell = 'c.innerText.trim().replace(/\s*\n\s*/g, ": ")';
  my $rows = '[...document.querySelectorAll("#drawn tbody tr")]';
  return $page->js("$rows.map(r => [...r.cells].map(c => $cell).join(' | '))"
                   . '.join("\n")');
}
sub last_label {
  return $page->js('[...document.querySelectorAll("#drawn canvas")].at(-1)'
                   . '.ariaLabel');
}
my $times = 'cast(ref_read(%c), dtype="float32")';
my $by_hand = "def \@f(%w: Tensor[(?), float32], %s: float32, %n: int64,"
  . " %c: Ref[int32]) {\n"
  . "  ref_write(%c, ref_read(%c) + 1); %s * sum(%w * %w)\n}\n"
  . "let %c = ref(0); let %exact = 0.12345678901234567f64;\n"
  . "\@f([3f, -1f, 2f], 0.5f, 9007199254740993i64, %c);\n"
  . "grad(\@f)([1f, 2f], $times, 0i64, %c).1;\n"
  . "def \@g(%k: Tensor[(?, ?), float32]) { sum(%k * [[1f, -2f], [0f, 4f]]) }\n"
  . "let %l = \@g([[1f, 1f], [1f, 1f]]);\n";
$page->after(run => sub { $page->click('[data-view=gradient]') });
$page->after(run => sub { $page->write_text($by_hand) });
like(seen('#drawn caption'), qr/^\@g\(.*\) in line 8 gives 3f$/,
     'the last call is shown');
is(cells_seen(), '%k: Tensor[(2, 2), float32] | [[1.0, 1.0], [1.0, 1.0]]'
   . ' | [[ 1.0, -2.0], [ 0.0, 4.0]]', '... with a gradient');
is(last_label(), 'shades around zero, from -2 to 4', '... as a picture');
# Of each element: is it red rather than blue, and how dark is it?
is($page->js('(() => {'
  . ' const c = [...document.querySelectorAll("#drawn canvas")].at(-1);'
  . ' return [[1, 1], [c.width - 2, 1], [1, c.height - 2],'
  . ' [c.width - 2, c.height - 2]].map(([x, y]) => {'
  . ' const [r, g, b, a] = c.getContext("2d").getImageData(x, y, 1, 1).data;'
  . ' return `${a && (r > b ? "red" : "blue")} ${a}` }).join(", ") })()'),
  'blue 64, red 128, 0 0, blue 255', '... of two colours');
$page->js('document.querySelector(".cm-content").focus()');
$page->after(run => sub { $page->key('ArrowUp') for 1 .. 4 });
is(cells_seen(), join("\n",
  '%w: Tensor[(3), float32] | [3.0, -1.0, 2.0] | [3.0, -1.0, 2.0]',
  '%s: float32 | 0.5f | 14f', '%n: int64 | 9007199254740993i64 | 0i64',
  '%c: ref(int32) | ref(0) | nothing'), 'the call in the cursor\'s line');
is(last_label(), 'bars around zero, from -1 to 3', '... a vector\'s as bars');
$page->after(run => sub { $page->key('ArrowDown') });
is(cells_seen(), join("\n",
  '%w: Tensor[(2), float32] | [1.0, 2.0] | [2.0, 4.0]', '%s: float32 | 1f | 5f',
  '%n: int64 | 0i64 | 0i64', '%c: ref(int32) | ref(1) | nothing'),
  'the arguments of a call of grad');
$page->after(run => sub { $page->key('ArrowUp') for 1 .. 4 });
like(seen('#drawn caption'), qr/in line 6/,
     'the last call of the function that the cursor is in');
$page->after(run => sub {
  $page->write_text("type P { P(w: Tensor[(3), float32], b: float32) }\n"
    . "def \@f(%p: P) { sum(%p.w * [1f, -2f, 0f]) - %p.b }\n"
    . "\@f(P([1f, 1f, 1f], 5f));\n");
});
like(cells_seen(), qr/^%p: P \| .* \| P\(Tensor.*\[1\.0, -2\.0, 0\.0\], -1f\)$/,
     'a gradient that is a record');
is(last_label(), 'bars around zero, from -2 to 1', '... with its tensor');
$page->after(run => sub {
  $page->write_text("def \@f(%x: float32) { reinterpret(%x,"
    . " dtype=\"float32\") }\n\@f(1f);\n");
});
like(seen('#text'), qr/^\/main\.rly:1:23: .* `reinterpret` has no derivative/,
     'why a call has no gradient');
$page->after(run => sub { $page->write_text("1 + 2;\n") });
like(seen('#text'), qr/^No call at top level/, 'a program without a gradient');
$page->after(run => sub { $page->click('[data-view=values]') });

# A link holds the program, and nothing of it goes to a server.
my $program = "// ünïcode\n6 * 7;\n";
$page->after(run => sub { $page->write_text($program) });
my $before = $page->js('location.hash');
$page->click('#share');
$page->wait_for("location.hash !== '$before'");
my $link = $page->js('location.href');
$page->after(run => sub { $page->write_text('0;') });
$page->load('about:blank');
$page->load($link);
$page->wait_for('document.documentElement.dataset.run');
is(values_seen(), '42', 'a link brings the program back');
is(text_seen(), $program, '... as it was');

# It holds the values that were given, the view and the place of the cursor too.
$page->after(run => sub {
  $page->write_text("param \@x: Tensor[(?), float32];\n\nsum(\@x);\n");
});
$page->after(run => sub { drop('x.npy', npy(1, 2, 4)) });
$page->after(run => sub { $page->click('[data-view=types]') });
my $was = $page->js('location.href');
$page->js('document.querySelector(".cm-content").focus()');
$page->key('ArrowUp');
$page->click('#share');
$page->wait_for("location.href !== '$was'");
$link = $page->js('location.href');
$page->load('about:blank');
$page->load($link);
$page->wait_for('document.documentElement.dataset.run');
is(values_seen(), '7f', 'a link brings values of params back');
is(seen('[aria-selected=true]'), 'Types', '... the view');
like(seen('#text'), qr/sum|float32/, '... which is shown');
is($page->js('document.querySelector(".cm-activeLineGutter").innerText'), '3',
   '... and the place');
$page->after(run => sub {
  $page->js('location.hash = location.hash.split("&")[0]; undefined');
});
like(seen('#text'), qr/E0503/, 'a link without values takes them away');
$page->js('location.hash = "#broken"; undefined');
$page->wait_for('/holds no program/.test('
                . 'document.getElementById("status").innerText)');

# An endless loop: the page lives, and stops it.
my $endless = "def \@loop(%n: int32) -> int32 { \@loop(%n + 1) }\n\@loop(0);\n";
$page->write_text($endless);
$page->wait_for('!document.getElementById("stop").disabled');
is($page->js('1 + 1'), 2, 'the page lives while a loop runs');
$begun = time;
$page->click('#stop');
$page->wait_for('document.getElementById("status").textContent === "Stopped."');
cmp_ok(1000 * (time - $begun), '<', 1000, 'a loop is stopped');
$page->after(run => sub { $page->write_text("2 + 3;\n") });
is(values_seen(), '5', '... and the next program runs');
# So does typing, which no one should have to stop by hand.
$page->write_text($endless);
$page->wait_for('!document.getElementById("stop").disabled');
$page->after(run => sub { $page->write_text("2 + 4;\n") });
is(values_seen(), '6', 'another text ends a loop');

# Nesting that a browser's stack has no room for is refused.
$page->after(checked => sub {
  $page->write_text('exp(' x 10_000 . '1f' . ')' x 10_000 . ';');
});
like(seen('#text'), qr/^1:1: error E0701: out of memory/,
     'too deep nesting is refused');
$page->after(run => sub {
  $page->js('(() => { const e = document.getElementById("examples");'
    . ' e.selectedIndex = 2; e.dispatchEvent(new Event("change")) })()');
});
is(values_seen(), 'cell: 0 -> 1 -> 2 -> 3 -> 4; 1; 2; (3, 4)',
   '... and an example runs');

# Shades of a matrix: the least is the palest. A line for a vector, no picture
# of a scalar.
$page->after(run => sub {
  $page->write_text("[[1f, 2f], [3f, 4f]];\n[1f, 4f, 2f];\n7f;\n"
    . "(1f, ([[5f, 6f, 7f]], 2f), [True, False, True]);\n");
});
is($page->js('[...document.querySelectorAll(".value canvas")].map(c =>'
             . ' c.ariaLabel).join("; ")'),
   'shades from 1 to 4; a line from 1 to 4; shades from 5 to 7; a line from 0'
  . ' to 1', 'pictures of tensors');
is_deeply($page->js('(() => {'
  . ' const c = document.querySelector(".value canvas");'
  . ' return [[1, 1], [c.width - 2, c.height - 2]].map(([x, y]) =>'
  . ' c.getContext("2d").getImageData(x, y, 1, 1).data[3]) })()'), [20, 255],
  '... whose shades are by value');
my $darkest = '(c => c.getContext("2d").getImageData(c.width - 2, c.height - 2,'
  . ' 1, 1).data.join())(document.querySelector(".value canvas"))';
my $was_drawn = $page->js($darkest);
$page->after(run => sub { $page->click('#theme') });
isnt($page->js($darkest), $was_drawn, '... in the colours of the theme');
$page->after(run => sub { $page->click('#theme') });

# What cells held: a line of numbers, shades of vectors, a row for each content.
$page->after(run => sub {
  $page->write_text("let %n = ref(1f);\nref_write(%n, 5f); ref_write(%n, 2f);\n"
    . "let %v = ref([0f, 8f]);\nref_write(%v, [2f, 3f]);\n"
    . "ref_write(%v, [4f, 4f]);\nlet %s = ref(7); ref_read(%n);\n");
});
my $tensor = 'Tensor[(2), float32]';
is(values_seen(), "cell: 1f -> 5f -> 2f; cell: $tensor [0.0, 8.0]"
   . " -> $tensor [2.0, 3.0] -> $tensor [4.0, 4.0]; 2f; cell: 7",
   'what cells held stands beside the lines that make them');
my $held = '3 contents of a cell, one after another:';
is($page->js('[...document.querySelectorAll(".value canvas")].map(c =>'
             . ' c.ariaLabel).join("; ")'),
   "$held a line from 1 to 5; $held shades from 0 to 8", '... with pictures');
is_deeply($page->js('(() => {'
  . ' const c = document.querySelectorAll(".value canvas")[1];'
  . ' return [[1, 1], [c.width - 2, 1]].map(([x, y]) =>'
  . ' c.getContext("2d").getImageData(x, y, 1, 1).data[3]) })()'), [20, 255],
  '... whose first row is the first content');

# Only what an edit changes is run.
my $first = "def \@f(%x: float32) { %x + 1f }\n"
  . "let %a = \@f(1f);\n%a * 2f;\n3f;\n";
$page->after(run => sub { $page->write_text($first) });
$page->after(run => sub { $page->write_text("${first}4f;\n") });
is(values_seen(), '4f; 3f; 4f', 'a line more');
like(seen('#status'), qr/, 1 of 4 steps\.$/, '... is one more step');
$page->after(run => sub { $page->write_text($first =~ s/\+/-/r) });
is(values_seen(), '0f; 3f', 'another definition');
like(seen('#status'), qr/, 2 of 3 steps\.$/, '... is run where it is used');

# The value of one that takes long is kept: 0.3 s here, six times what is long.
$first = "def \@count(%n: int32, %i: int32) -> int32 {\n"
  . "  if (%n == 0) { %i } else { \@count(%n - 1, bitwise_xor(%i * 5, %n)) }\n"
  . "}\nlet %a = \@count(12000000, 1);\n%a * 2;\n";
$page->after(run => sub { $page->write_text($first) });
$page->after(run => sub { $page->write_text($first =~ s/a \* 2/a - %a/r) });
is(values_seen(), '0', 'a step that uses a value');
like(seen('#status'), qr/, 1 of 2 steps\.$/, '... which took long runs alone');

# The same of a program with cells.
$first = "let %c = ref(0);\nref_write(%c, 1);\nlet %d = ref(5);\n"
  . "ref_write(%d, 6);\n2;\n";
$page->after(run => sub { $page->write_text($first) });
my $cells = 'cell: 0 -> 1; cell: 5 -> %d; %d';
is(values_seen(), sprintf($cells, 6, 2), 'two cells');
$first =~ s/^2;/3;/m;
$page->after(run => sub { $page->write_text($first) });
is(values_seen(), sprintf($cells, 6, 3), 'what they held is kept');
like(seen('#status'), qr/, 1 of 5 steps\.$/, '... while other steps run');
$page->after(run => sub { $page->write_text($first =~ s/6/7/r) });
is(values_seen(), sprintf($cells, 7, 3), 'what one held changes');
like(seen('#status'), qr/, 2 of 5 steps\.$/, '... with the steps of this cell');

# A value that branches is drawn, others are not.
$page->after(run => sub {
  $page->write_text("type T { Leaf(Tensor[(?), int32]), Node(T, T),"
    . " Tip(fn(int32) -> int32) }\n"
    . "Node(Leaf([1, 2]), Node(Leaf([3]), Tip(fn (%x) { %x })));\n"
    . "Cons(1, Cons(2, Nil));\n");
});
is($page->js('[...document.querySelectorAll(".value svg")].map(s =>'
  . ' s.ariaLabel + ": " + [...s.querySelectorAll("text")].map(t =>'
  . ' t.textContent).join(", ")).join("; ")'),
  'a tree of 5 nodes on 3 levels: Node, Leaf [1, 2], Node, Leaf [3],'
  . ' Tip <fn (in…',
  'a tree is drawn');
is($page->js('document.querySelectorAll(".value svg line").length'), 4,
   '... with its edges');

# A slider changes the number of its line.
$page->after(run => sub {
  $page->write_text("let %a = 0.25f; // \@slider(0, 1)\n%a * 2f;\n");
});
is(values_seen(), '0.5f', 'a number with a slider');
$page->after(run => sub {
  $page->js('(() => { const s = document.querySelector(".slider");'
    . ' s.value = 0.75; s.dispatchEvent(new Event("input")) })()');
});
is(values_seen(), '1.5f', '... which moves it');
like(text_seen(), qr/^let %a = 0\.75f; /, '... in the text');

# Files that are dropped are values of params, by their names. An npz file is an
# archive of npy files, packed or not.
my $needs = "param \@x: Tensor[(?), float32];\nparam \@y: float32 = 1f;\n"
  . "sum(\@x) * \@y;\n\@x;\n";
$page->after(run => sub { $page->write_text($needs) });
like(seen('#text'), qr/E0503/, 'a param without a value');
$page->after(run => sub { drop('x.npy', npy(1, 2, 4)) });
is(values_seen(), '7f; Tensor[(3), float32] [1.0, 2.0, 4.0]',
   'a file that is dropped is its value');
for my $packed (0, 1) {
  my $zip;
  IO::Compress::Zip::zip(\npy(5, $packed), \$zip, Name => 'x.npy',
    Method => $packed ? IO::Compress::Zip::ZIP_CM_DEFLATE()
                      : IO::Compress::Zip::ZIP_CM_STORE());
  $page->after(run => sub { drop('all.npz', $zip) });
  is(values_seen(), (5 + $packed) . "f; Tensor[(2), float32] [5.0, $packed.0]",
     $packed ? '... or packed' : 'so is what an archive holds');
}
$page->click('#save');
$page->wait_for('/result/.test(document.getElementById("status").textContent)');
# The length of the header, the header, padded to eight bytes, and two float32.
like(seen('#status'), qr/^result\.safetensors has \d+ bytes\./,
     'a result is saved');
drop('bad.txt', 'x');
$page->wait_for('/none of/.test(document.getElementById("status").innerText)');
$page->after(run => sub { $page->click('#given button') });
like(seen('#text'), qr/E0503/, 'a file is taken away again');
$page->after(run => sub { drop('p.rly', "1 + 2;\n") });
is(values_seen(), '3', 'a program is opened');

# A model becomes a program, and its weights are given.
SKIP: {
  rly('export', spew(scratch('model.rly'),
    "def \@main(%x: Tensor[(2), float32]) { %x + [1f, 2f] }\n"),
    '-o', scratch('model.onnx'));
  skip 'this build has no ONNX', 2 if !-e scratch('model.onnx');
  $page->after(checked => sub {
    drop('model.onnx', slurp(scratch('model.onnx')));
  });
  like(text_seen(), qr/^def \@main\(%x: Tensor\[\(2\), float32\]\)/m,
       'a model is imported');
  is(seen('#given'), 'model.safetensors ×', '... with its weights');
}

# A phone.
$page->width(375, 700);
$page->picture($ENV{PICTURE}) if $ENV{PICTURE};
$page->after(run => sub {
  $page->write_text(join(' + ', map { "[${_}f, 1f, 2f]" } 1 .. 9) . ';');
});
is($page->js('document.documentElement.scrollWidth <= 375'), 1,
   'nothing is wider than a phone');
is($page->js('document.querySelector(".value").getBoundingClientRect().right'
             . ' <= 375'), 1, '... nor a value beside a long line');
is($page->js('[...document.querySelectorAll("button")].every(b =>'
             . ' b.getBoundingClientRect().height >= 24)'), 1,
   'buttons have a size for fingers');
$page->click('#theme');
my $theme = $page->js('document.documentElement.dataset.theme');
$page->click('#theme');
isnt($page->js('document.documentElement.dataset.theme'), $theme,
     'dark and light');

is($page->elsewhere($url), 0, 'no request goes elsewhere');
is(join("\n", $page->complaints), '', 'the console has no complaint');
$page->quit;
done_testing();
