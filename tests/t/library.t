#!/usr/bin/env perl
# The library's doc comments: docs/library.md is what they say, each definition
# has one with its parameters and an example, and the examples hold also of what
# templates make for other dtypes (`make test` runs those of the page).
#
# The page is for readers who have no program at hand, and it is in the tree so
# that a change of a definition shows in its diff.  It can only be trusted if it
# cannot lag behind, hence the comparison of the whole text rather than of a few
# entries.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

gives(rly('doc', '--markdown'), 0, slurp('docs/library.md'), '',
      'the page says what the comments say: `make docs` writes it');

my $list = rly('doc');
my @names = $list->{out} =~ /^(\S+)/mg;
cmp_ok(scalar @names, '>', 300, 'the list has ' . @names . ' names');
ok(!grep(!/^\S+ +\S/, split /\n/, $list->{out}), 'each with a sentence');
like($list->{out}, qr/^\@range +The list 0 \.\. %n - 1$/m,
     'which two dots do not end');

my $page = rly('doc', '--markdown', @names)->{out};
my (@bare, @unsaid);
for my $section (split /^## /m, $page) {
  my ($name, $head, $doc) = $section =~ /^(\S+)\n\n```\n(.*?)```\n(.*)/s
      or next;
  push @bare, $name unless $doc =~ /^```rly\n.*^\/\/ expect/ms;
  next unless $head =~ /^def /;
  my ($text) = $doc =~ /^(.*?)```/s;
  my %said = map { $_ => 1 } $text =~ /(%\w+)/g;
  my ($params) = $head =~ /^def \S+?\(?(.*)/s;
  push @unsaid, map { "$name: $_" } grep { !$said{$_} } $head =~ /(%\w+):/g;
}
is("@bare", '', 'each has an example with what is expected');
is("@unsaid", '', 'each says what its parameters are');

my $copies = rly('test', spew(scratch('library.md'), $page));
is($copies->{status}, 0, 'the examples hold') or diag($copies->{out});
cmp_ok(scalar(() = $copies->{out} =~ /^ok/mg), '>=', scalar @names,
       'at least one for each name');

# --- Doc comments of one's own ---------------------------------------------

my $own = spew(scratch('own.rly'), <<'END');
/// Twice as much.
/// - %n: a number
///
///     @twice(3)
///     // expect: 6
///     @twice([1])
///     // expect error: int32
def @twice(%n: int32) -> int32 { @sum(List[%n, %n]) }
/// Wrong.
///     let %k = 2;
///     @thrice(%k)
///     // expect: 7
def @thrice(%n: int32) -> int32 { %n * 3 }
@twice(4);
// expect: 8
END
my $run = rly('test', $own);
is($run->{status}, 1, 'rly test runs the examples of doc comments');
like($run->{out},
     qr/^ok \d - \S+:5\n.*^ok \d - \S+:7\n.*^not ok \d - \S+:12\n/ms,
     'each at its line');
rly('test', '--promote', $own);
like(slurp($own), qr{^///     \@thrice\(%k\)\n///     // expect: 6\ndef }m,
     '--promote writes them');
is(rly('test', $own)->{status}, 0, 'then they hold');
gives(rly('fmt', $own), 0, qr{^/// Wrong\.\n///     let %k = 2;$}m, '',
      'rly fmt keeps them');

gives(rly('doc', 'hd'), 0, qr/^def \@hd\[A\].*\n  The first element/, '',
      'rly doc NAME');
gives(rly('doc', '@hdd'), 1, '', qr/`\@hdd` here; did you mean `\@hd`\?/,
      'an unknown one');
done_testing;
