#!/usr/bin/env perl
# Mistakes that are planted in a pass (tests/planted/plant.pl): --bisect names
# the wrong one of the pass's rewrites, and --reduce ends at 12 nodes or fewer
# in most.  A sample of them here; `make planted` takes all, some 50.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

plan skip_all => 'a command has less memory than a sanitizer maps'
  if $ENV{MODE} =~ /^[at]san$/;

my @kinds = qw(number plus minus times less equal condition write print pair
               field bool max axis);
my @cases = map { my $file = $_; map { [$file, $_] } @kinds }
            sort glob 'tests/planted/*.rly';
my $all = $ENV{PLANTED};
my $text = scratch('text.rly');
my $left = scratch('left.rly');
my ($planted, $reduced) = (0, 0);

sub plant { return "perl tests/planted/plant.pl $_[0]" }

# Without an error of the checker, which would have found the mistake itself.
sub is_wrong {
  my ($file, $kind) = @_;
  my $run = rly('opt', '--verify', '--exec', plant($kind), $file);
  return $run->{status} == 1 && $run->{err} !~ /refused/;
}

for my $case ($all ? @cases : @cases[grep { $_ % 19 == 4 } 0 .. $#cases]) {
  my ($file, $kind) = @$case;
  my $name = "$kind in $file";
  spew($text, rly('opt', '-O0', $file)->{out});
  my $command = plant($kind);
  my $sites = `$command --sites <$text`;
  my ($wrong) = grep { is_wrong($file, "$kind $_") } reverse 1 .. $sites or
    diag("$name: no mistake"), next;
  $planted++;
  like(rly('opt', '--bisect', '--exec', plant("$kind $wrong"), $file)->{out},
       qr/^pass 1, .*: rewrite $wrong changed what the program does$/m,
       "$name: --bisect names rewrite $wrong of $sites");
  # All of the kind at once may be what the checker refuses.
  next unless is_wrong($file, $kind);
  $reduced++;
  my $fails = "$ENV{RLY} opt --verify --exec '$command' {} 2>&1 >/dev/null | " .
              q(perl -0ne 'exit(/error/ && !/refused/)');
  my $run = rly('opt', '--reduce', $fails, $file);
  my ($nodes) = $run->{err} =~ /^(\d+) nodes of \d+ are left/m;
  cmp_ok($nodes // 1e9, '<=', 12, "$name: --reduce") or
    diag $run->{err}, $run->{out};
  ok(is_wrong(spew($left, $run->{out}), $kind), "$name: what is left is wrong");
}
cmp_ok($planted, '>=', $all ? 50 : 2, 'there are mistakes');
cmp_ok($reduced, '>=', $all ? 50 : 2, 'which are reduced');

done_testing;
