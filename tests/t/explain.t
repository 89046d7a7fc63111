#!/usr/bin/env perl
# Every diagnostic has a section of its own, under its title, and `rly explain`
# prints it.  tests/t/programs.t checks the examples.
#
# A code is what people search for, so none may lead nowhere.  Sections and
# codes are compared as lists, in both directions: a code without a section is
# as wrong as a section whose code is gone.
use strict;
use warnings;
use lib 'tests/t';
use File::Basename qw(dirname);
use File::Spec;
use Rly;
use Test::More;

gives(rly('explain'), 0, qr/\A(?:[EW]\d{4} \S.*\n){40,}\z/, '',
      'alone it lists codes and titles');
my @codes = split /\n/, rly('explain')->{out};
my @sections = slurp('docs/DIAGNOSTICS.md') =~ /^## (.*)$/mg;
is_deeply(\@sections, \@codes, 'a section for each code, under its title');

# Each example fails with the code of its section, or is a command's output.
my @parts = split /^## /m, slurp('docs/DIAGNOSTICS.md');
my @unshown = grep {
  my ($code) = /^(\w+)/;
  !/^(?:\/\/ expect (?:runtime )?error\[$code\]: \S|.*\[$code\]: )/m
} @parts[1 .. $#parts];
is_deeply([map { /^(\w+)/ } @unshown], [], 'each section shows the message');

# And a corrected example: a program that runs, or a second command.  No small
# program reaches these codes, or only a model does, which tests/t/onnx.t makes,
# or a host in C (tests/unit/operator_test.c).
my %large = map { $_ => 1 } qw(E0010 E0704 E0705 E0706 E0802 E0803 E0804 E0805
                               E0806 E0807 E0808 E0908);
my @unmended = grep {
  my ($code) = /^(\w+)/;
  my @rly = grep { !/expect (?:runtime )?error/ } /^```rly\n(.*?)^```/msg;
  my @shell = grep { 1 < (() = /\brly\b(?! *>)/g) }
    map { join "\n", /^\$ (.*)/mg } /^```shell-session\n(.*?)^```/msg;
  !$large{$code} && !@rly && !@shell
    && !(/```rly/ && /```shell-session/);
} @parts[1 .. $#parts];
is_deeply([map { /^(\w+)/ } @unmended], [], 'and one that is mended');

# Terminal sessions on the page are real: every line of a block appears in
# order, perhaps with others between.  In a line, ... stands for any number.
sub shown_by {
  my ($block) = @_;
  my @commands = $block =~ /^\$ (.*)$/mg;
  my $script = spew(scratch('block.sh'), map { "$_\n" } @commands);
  my $rly = File::Spec->rel2abs($ENV{RLY});
  my $dir = scratch('');
  return `cd $dir && PATH=${\dirname($rly)}:\$PATH sh block.sh 2>&1 </dev/null`;
}

my $pages = join '', map { slurp("docs/$_.md") } qw(DIAGNOSTICS LANGUAGE TYPES);
for my $block ($pages =~ /^```shell-session\n(.*?)^```/msg) {
  my @expected = grep { !/^\$ / } split /\n/, $block;
  my $found = shown_by($block);
  my @patterns = map { quotemeta } @expected;
  s/with\K\\ (?:\\\.){3}(?=\\ of)/ [\\d.]+[KM]?/ for @patterns;
  my $pattern = join '\n(?:.*\n)*?', @patterns;
  like($found, qr/^$pattern$/m, 'shown: ' . $expected[0]);
}

gives(rly('explain', 'E0203'), 0,
      qr{\AE0203 operands do not broadcast\n\nShapes .*\n\n    ones.*
    // expect error\[E0203\]: .*\n\n    ones.*[^\n]\n\z}s,
      '', 'a code: its section, up to the next');
unlike(rly('explain', 'E0203')->{out}, qr/E0204|```/, 'and no more than that');
is(rly('explain', 'e0203')->{out}, rly('explain', 'E0203')->{out},
   'small letters will do');
is(rly('explain', '203')->{out}, rly('explain', 'E0203')->{out},
   'the number alone');
gives(rly("explain", "broadcast"), 0, qr{^E0203 }, "", "by a word");
gives(rly('explain', 'dimension'), 0, qr/^E0115 .*\nE0209 .*\n\z/, '',
      'by a word of several');
gives(rly('explain', 'xyzzy'), 1, '', qr/no diagnostic `xyzzy`/, 'of none');
gives(rly('explain', 'E0299'), 1, '', qr/no diagnostic `E0299`.*E0209/,
      'an unknown code: the nearest one');
gives(rly('explain', 'E02030'), 1, '', qr/did you mean E0203\?/,
      'a code is five characters');

done_testing;
