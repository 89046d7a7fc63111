#!/usr/bin/env perl
# The book of `make web`, read as files: links lead to places that exist, every
# `rly` block of docs/ is live, what a block becomes in an editor runs, and the
# search knows each operator, diagnostic and function of the library.
#
# A block is run by this build's program (tests/t/web.t sees that the module's
# answers are the same): one in sixteen, fewer under sanitizers, all of them in
# `make sweep`.
use strict;
use warnings;
use utf8;
use lib 'tests/t';
use File::Temp qw(tempdir);
use JSON::PP qw(decode_json);
use Rly;
use Test::More;

my $book = 'build/web/book';
plan skip_all => "no $book: make deps-web web" unless -e "$book/index.html";

sub text_of {
  my ($file, $how) = @_;
  open my $in, $how // '<:encoding(UTF-8)', $file or die "$file: $!\n";
  local $/;
  return <$in>;
}

my %characters = (lt => '<', gt => '>', quot => '"', amp => '&');

sub words {
  my ($html) = @_;
  return $html =~ s/<[^>]*>//gr =~ s/&(lt|gt|quot|amp);/$characters{$1}/gr;
}

my %html = map { m{([^/]+)$} => text_of($_) } glob "$book/*.html";
cmp_ok(scalar keys %html, '>', 60, 'there are pages');

# --- Links -------------------------------------------------------------------

my %ids = map {
  $_ => {map { $_ => 1 } $html{$_} =~ /\bid="([^"]+)"/g}
} keys %html;
my @dangling;
for my $page (sort keys %html) {
  for my $href ($html{$page} =~ /<a [^>]*href="([^"]+)"/g) {
    next if $href =~ m{^\w+:} || $href eq '../index.html';
    my ($file, $id) = split /#/, $href, 2;
    $file = $page if $file eq '';
    push @dangling, "$page: $href"
      if !$html{$file} || (defined $id && !$ids{$file}{$id});
  }
}
is(join("\n", @dangling), '', 'every link leads somewhere');

# --- Blocks ------------------------------------------------------------------

sub blocks_of {
  my ($page) = @_;
  my @blocks;
  while ($page =~ m{<div\ class="live"(?:\ data-program="([^"]*)")?>
                    <pre[^>]*><code>(.*?)</code>}xgs) {
    push @blocks, {shown => words($2), program => words($1 // $2)};
  }
  return @blocks;
}

my @blocks = map { my $p = $_; map { +{%$_, page => $p} } blocks_of($html{$p}) }
             sort keys %html;
my $fences = 0;
$fences += () = text_of($_) =~ /^```rly$/gm
  for glob 'docs/*.md docs/tutorial/*.md README.md python/README.md';
is(scalar(grep { $_->{shown} !~ /^rly> /m } @blocks), $fences,
   'each block is live');

my $folder = tempdir(CLEANUP => 1);
my @wrong;
for my $block (one_in(16, 0, @blocks)) {
  my ($shown, $program, $page) = @$block{qw(shown program page)};
  # What is shown to be refused is; a session may show a part of it, and an end
  # without end.
  next if $shown =~ m{// expect (?:runtime )?error|error\[|^\.\.\.$}m;
  open my $out, '>:encoding(UTF-8)', "$folder/main.rly" or die "main.rly: $!\n";
  print $out $program;
  close $out;
  my ($said) = grep { /error\[/ } split /\n/,
    `timeout 60 $ENV{RLY} watch --once $folder/main.rly 2>&1 </dev/null`;
  # Definitions alone run nothing, and a param is given by who runs it.
  push @wrong, "$page: $said\n$program"
    if $said && $said !~ /error\[E0113\]|error\[E0503\]/;
}
is(join("\n", @wrong), '', 'blocks run by themselves');

# Exercises are numbered as `rly learn` asks them.
my ($lesson) = text_of('docs/tutorial/03-functions.md');
my @asked = $lesson =~ /^### Exercise: (.*)$/gm;
my @numbers = $html{'tutorial-03-functions.html'} =~
  /class="exercise" data-lesson="3" data-number="(\d+)"/g;
is_deeply(\@numbers, [1 .. @asked], 'an exercise has its number');

# A puzzle's editor begins with its text; what is hidden stays so, in pages and
# in the search.
for my $n (14 .. 17) {
  my ($file) = glob "docs/puzzles/$n-*.md";
  my ($name) = $file =~ m{([^/]+)\.md$};
  my $page = $html{"puzzles-$name.html"};
  my @starts = text_of($file) =~ /^```rly start\n(.*?)^```/msg;
  is_deeply([map { words($_) } $page =~ /data-lesson="$n"\ data-number="\d+"
               \ data-start="([^"]*)"/xg], \@starts, "$name: the beginnings");
  my @hidden = map { split /\n/ } text_of($file) =~
    /^```rly hidden\n(.*?)^```/msg;
  cmp_ok(scalar @hidden, '>', 2 * @starts, '... are judged by many properties');
  my $all = words($page) . text_of("$book/search.json");
  is(join("\n", grep { index($all, $_) >= 0 } @hidden), '',
     '... which are not shown');
}

# --- Search ------------------------------------------------------------------

my %found;
push @{$found{$_->[3]}}, "$_->[0].html#$_->[1]"
  for @{decode_json(text_of("$book/search.json", '<:raw'))};
my @operators = map { $_->{name} }
                @{decode_json(scalar `$ENV{RLY} ops --json`)};
my @codes = text_of('base/diag.def') =~ /^DIAG\((\w+)/gm;
my @headings = keys %found;
is(join(' ', grep { !$found{$_} } @operators), '', 'the search has operators');
is(join(' ', grep { my $c = $_; !grep { /^\Q$c\E\b/ } @headings } @codes), '',
   '... and diagnostics');
ok($found{$_}, "... and $_") for qw(@while @map rly_session_call Program.grad);
is(join(' ', grep { my ($file, $id) = split /#/; !$ids{$file}{$id} }
                map { @$_ } values %found), '', 'what is found is there');

done_testing();
