#!/usr/bin/env perl
# Each operator refuses, when the program is checked and with a place: more
# operands than it has, a function for an operand, an attribute that it has
# not, one of the wrong kind, a word that is none of its words.
#
# The calls are made from the examples on the page, by rule, for every operator:
# a row added to the table is tested without anyone writing a line here, and one
# whose description allows too much is found.  All of them go through one
# process of `rly test`, since a process for each of some thousand would take
# minutes.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $page = slurp('docs/operators.md');
my @lines;

sub refused {
  my ($expression, $code, $words) = @_;
  push @lines, "$expression;", "// expect error$code: $words";
}

# An attribute more in a call, in place of one of that name.
sub with {
  my ($call, $name, $value) = @_;
  my $list = qr/\[(?:[^\[\]]|\[[^\]]*\])*\]/;
  return $call if $call =~ s/\b$name=(?:"[^"]*"|$list|[^\s,)]+)/$name=$value/;
  my $comma = $call =~ /\(\)$/ ? '' : ', ';
  return $call =~ s/\)((?:\.\d)?)$/$comma$name=$value)$1/r;
}

# A value that an attribute of a kind cannot have.
sub other_kind {
  my ($kind) = @_;
  return '"text"' if $kind =~ /^(?:integer|float|bool)/;
  return '[1, 2]' if $kind =~ /^(?:string|dtype)/;
  return '"text"' if $kind =~ /^lists/;
  return undef;
}

for my $entry (split /^## /m, $page) {
  my ($name, $signature) = $entry =~ /\A(\S+)\n\n`[^(]*\((.*?)\)`/s or next;
  my ($call) = $entry =~ /^```rly\n(.*?);\n\/\//ms;
  # Any number of values may stand after a message, and no attribute after
  # them; or of the last operand.
  my $values = $signature =~ /\b(?:values|other)\.\.\./;
  next if $name eq 'fail';
  # Forms take as many operands as a function does: tests/gradient/forms.rly.
  next if $entry =~ /^- type: `(?:\(fn|Storage|int64, any)/m;
  refused("$name(" . join(', ', (1) x 12) . ')', '[E0204]',
          "too many arguments for `$name`") unless $values;
  my ($attributes) = $entry =~ /^- attributes: `(.*?)`$/ms;
  my @attributes = split /,\s+/, $attributes // '';
  my %named = map { /^(\w+)/ ? ($1 => 1) : () } @attributes;
  my @operands = grep { /^[a-z]\w*[?.]*$/ && !$named{$_} }
    split /, /, $signature;
  refused("$name(" . join(', ', ('fn () { 1 }') x @operands) . ')', '',
          "`$name`") if @operands && $entry !~ /^- type: `(?:T|any)/m;
  next if $call !~ /^\Q$name\E\(/;
  my $more = $call =~ /message=/ ? $call =~ s/message=/nosuch=1, message=/r
                     : with($call, 'nosuch', 1);
  refused($more, '[E0109]', "no attribute `nosuch`");
  for (@attributes) {
    my ($attribute, $kind) = /^(\w+)\s+(.*)/s;
    next if $kind eq 'not read';
    my $words = $kind =~ /\|/;
    my $value = $words ? '"nonsense"' : other_kind($kind) // next;
    refused(with($call, $attribute, $value), $words ? '[E0303]' : '[E0111]',
            $words ? "not \"nonsense\"" : $attribute);
  }
}

my $file = spew(scratch('refusals.rly'), join "\n", @lines, '');
my $run = rly('test', $file);
my @failed = grep { /^not ok|^#/ } split /\n/, $run->{out};
is_deeply(\@failed, [], scalar(@lines) / 2 . ' mistakes are refused');
is($run->{status}, 0, 'with nothing to say about the test');

done_testing();
