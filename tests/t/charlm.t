#!/usr/bin/env perl
# The character model agrees with the network it was trained as:
# charlm_expected.safetensors holds what that one computed in float64.
#
# The numbers came from outside: the network was trained and asked by another
# program, and its logits were stored once.  A result that our own kernels had
# written down would also repeat their mistakes.  Logits are compared within a
# bound, since float32 adds in another order than float64; the text that is
# generated is compared as such.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $expected = tensors('tests/reference/charlm_expected.safetensors');
my $prompt = $expected->{__metadata__}{prompt};
my @charlm = ('run', 'examples/charlm/charlm.rly',
              '--params', 'examples/charlm/charlm.safetensors');

# Its alphabet: 0 is newline, i is the character of code 31 + i.
sub text { return join '', map { $_ ? chr 31 + $_ : "\n" } @_ }

my $run = rly(@charlm, '--entry', 'last_logits', '--json',
              qq(prompt="$prompt"));
is($run->{status}, 0, 'the logits after the prompt') or diag($run->{err});
my $logits = eval { json($run->{out})->{data} } // [];
near($logits, $expected->{last_logits}{data}, 1e-4, 'are the network\'s');

my $greedy = text(@{$expected->{greedy_ids}{data}});
is($greedy, $expected->{__metadata__}{greedy_text}, 'the file is read right');
gives(rly(@charlm, qq(prompt="$prompt")), 0, "$prompt$greedy\n", '',
      'greedy choice writes what the network writes');
gives(rly(@charlm, qq(prompt="$prompt"), 'length=7'), 0,
      $prompt . substr($greedy, 0, 7) . "\n", '', 'as much as is asked for');

sub sample {
  my ($seed) = @_;
  my $run = rly(@charlm, 'prompt="You"', 'length=60', 'temperature=0.8',
                "seed=$seed");
  like($run->{out}, qr/\AYou[ -~\n]{60}\n\z/, "sampled with seed $seed")
    or diag($run->{err});
  return $run->{out};
}
my $one = sample(1);
is(sample(1), $one, 'the same seed, the same text');
isnt(sample(2), $one, 'another seed, another text');

gives(rly(@charlm[0, 1]), 1, '',
      qr/E0503(?=.*\bembedding\b)(?=.*\bout_bias\b)/s,
      'without its weights it names what is missing');

done_testing();
