#!/usr/bin/env perl
# Readers find things by the README files: links lead to files that exist, the
# answers to common questions name what really stands there, and each room's
# page lists the rooms that it may use, as tests/Rooms.pm does.
#
# A page that names a file which has moved sends its reader away for good, and
# no compiler reads it.  The lists of rooms stand twice, here for people and in
# tests/Rooms.pm for the checks; so one is compared with the other.
use strict;
use warnings;
use utf8;
use FindBin;
use lib "$FindBin::Bin/..";
use File::Basename qw(dirname);
use Rooms;
use Test::More;

sub text_of {
  my ($file) = @_;
  open my $in, '<:encoding(UTF-8)', $file or die "$file: $!\n";
  local $/;
  return <$in>;
}

# Every link of a page as [words, path], without what leads out of the tree.
sub links_of {
  my ($text) = @_;
  $text =~ s/^```.*?^```//gms;
  my @links;
  while ($text =~ /\[([^][]+)\]\(([^()\s]+)\)/g) {
    my ($words, $path) = ($1, $2 =~ s/#.*//r);
    push @links, [$words, $path] if $path =~ m{[./]} && $path !~ /^\w+:/;
  }
  return @links;
}

my @pages = grep { !m{^build/} } split /\n/,
            `find . -name '*.md' -not -path './build/*' -not -path './.git/*'`;
my @dangling;
for my $page (@pages) {
  for my $link (links_of(text_of($page))) {
    my $path = dirname($page) . "/$link->[1]";
    push @dangling, "$page: $link->[1]" unless -e $path;
  }
}
cmp_ok(scalar @pages, '>', 25, 'there are pages');
is(join("\n", @dangling), '', 'every link leads somewhere');

# A row of the top page: what is looked for, and links from the names of what is
# found to the files where it stands.
my $readme = text_of('README.md');
for my $what ('broadcasting of `?`', 'tail calls', 'in-place reuse',
              "the LSTM's product", 'Ctrl-C', 'a snapshot',
              'the message for a wrong attribute') {
  my ($answer) = $readme =~ /^\| \Q$what\E \| (.*) \|$/m;
  ok($answer, "$what: README.md says where it is") or next;
  my @links = links_of($answer);
  my @wrong = grep {
    my ($name) = $_->[0] =~ /^`(.+)`$/;
    !$name || index(text_of($_->[1]), $name) < 0
  } @links;
  ok(@links, "$what: there is a link");
  is(join(' ', map { "$_->[0] in $_->[1]" } @wrong), '',
     "$what: the file has what is named");
}

# Each of the ten programs, which `make test` runs, has its counterparts.
my (undef, @programs) = split /^## (?=\d)/m, text_of('docs/COMING_FROM.md');
is(scalar @programs, 10, 'docs/COMING_FROM.md has ten programs');
for my $program (@programs) {
  my ($name) = $program =~ /^(.*)$/m;
  my ($ours, $relay) = $program =~ /^```rly\n(.*?)^```/msg;
  like($ours, qr{^// expect: }m, "$name: what it gives is told");
  like($relay, qr/^#\[version/, "$name: as Relay's text");
  my ($elsewhere) = $program =~ /^```python\n(.*?)^```/ms;
  like($elsewhere, qr/# $_/, "$name: as in $_") for qw(PyTorch JAX Keras);
}

for my $room (@rooms) {
  my $page = text_of("$room/README.md");
  my ($may, $not) = $page =~ /^May\suse\s(.*?)\.\s+
                              Must\snot\s+know\s(.*)\Z/xms;
  ok($may && $not, "$room/README.md says what it may use, must not know")
    or next;
  my %uses = map { s{^include/.*}{include}r => 1 }
             keys %{$only{$room} // $may_use{$room}};
  my %said = map { s{/$}{}r => 1 } $may =~ /`([\w.\/]+)`/g;
  is(join(' ', sort keys %said), join(' ', sort keys %uses),
     "$room/README.md names the rooms of tests/Rooms.pm");
}

done_testing();
