package Functional;
# Shared by the tests of rly fmt --functional: a module of cells is run twice, in
# a session by calls that stand below it, and as functions by the same calls with
# the state handed on, and what is printed must be the same, byte for byte.
use strict;
use warnings;
use Exporter qw(import);
use Rly;
use Test::More;

our @EXPORT = qw(runs_as);

my $path = scratch('p.rly');
my $made = scratch('made.rly');

# Calls are [NAME, ARGUMENTS]; of a name that ends in `!`, the call changes the
# state.  %first are arguments that `relay` puts before the others, by name; no
# hash: plain Relay has no words for the module.
sub runs_as {
  my ($name, $module, $calls, $first) = @_;
  $first = {} if @_ < 4;
  my $calls_of = sub {
    my ($by_name, $init) = @_;
    my ($text, $s) = ("let %s0 = \@init($init);\n", 0);
    for my $call (@$calls) {
      my ($f, @args) = @$call;
      my $writes = $f =~ s/!$//;
      push @args, "%s$s";
      unshift @args, $by_name->{$f} if $by_name->{$f};
      my $all = join ', ', @args;
      my $next = $s + 1;
      $text .= $writes ? "let %r$next = \@$f($all);\n%r$next.0;\n"
                         . "let %s$next = %r$next.1;\n"
                       : "\@$f($all);\n";
      $s = $next if $writes;
    }
    return $text;
  };
  my $session = join '', map {
    my ($f, @args) = @$_;
    sprintf "\@%s(%s);\n", $f =~ s/!$//r, join ', ', @args;
  } @$calls;
  my $want = rly('run', spew($path, $module, $session));
  is($want->{status}, 0, "$name: the session") or diag($want->{err});
  spew($path, $module);
  goes_round($name, $session, $want->{out}, map { $_->[0] =~ s/!$//r } @$calls)
    if !$first || !%$first;
  for my $how ('--pass=functional', $first ? '--functional' : ()) {
    my $run = rly('fmt', split(/=/, $how), $path);
    my %first = $how eq '--functional' ? %$first : ();
    spew($made, $run->{out}, $calls_of->(\%first, $first{init} // ''));
    my $got = rly('run', $made);
    is($got->{out}, $want->{out}, "$name: $how") or diag($run->{err},
                                                         $got->{err});
  }
}

# There and back: cells, functions of which each is an entry, cells again.
sub goes_round {
  my ($name, $session, $want, @names) = @_;
  my @entries = map { ('--entry', $_) } @names;
  my $there = rly('fmt', '--pass', 'functional', @entries, $path);
  my $back = rly('fmt', '--stateful', @entries, spew($made, $there->{out}));
  my $got = rly('run', spew($made, $back->{out}, $session));
  is($got->{out}, $want, "$name: --functional, --stateful")
    or diag($there->{err}, $back->{err}, $got->{err});
}

1;
