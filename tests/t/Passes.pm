# What the tests of passes share.
package Passes;
use strict;
use warnings;
use Exporter 'import';
use Rly;
use Test::More;

our @EXPORT = qw(opt becomes same $made $path);

our $path = scratch('p.rly');
our $made = scratch('made.rly');

sub opt {
  my ($pass, $program) = @_;
  return rly('opt', '--passes', $pass, spew($path, $program));
}

# The pass makes this body of that one.
sub becomes {
  my ($pass, $before, $after, $name, $more) = @_;
  my $head = ($more // '') . 'def @f(%x: int32, %c: Ref[int32]) -> int32 ';
  my $want = rly('opt', '-O0', spew($path, "$head\{ $after }\n"));
  gives($want, 0, qr/def/, '', "$pass: $name (what is expected)");
  gives(opt($pass, "$head\{ $before }\n"), 0, $want->{out}, '',
        "$pass: $name");
}

# What it makes of the program gives the same; the text is returned.
sub same {
  my ($pass, $program, $name) = @_;
  my $run = rly(spew($path, $program));
  my $text = opt($pass, $program);
  is($text->{status}, 0, "$pass: $name (is made)") or diag($text->{err});
  my $again = rly(spew($made, $text->{out}));
  is($again->{out}, $run->{out}, "$pass: $name (output)");
  is($again->{status}, $run->{status}, "$pass: $name (status)");
  return $text->{out};
}

1;
