#!/usr/bin/env perl
# :opt at the prompt: what passes make of an expression and of what it uses.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $entered = 'type Pair { Pair(int32, int32) }
def @twice(%x: int32) -> int32 { %x * 2 }
def @unused(%x: int32) -> int32 { %x - 1 }
let %y = 3;
let %z = 4;
print("once");
';
my $said = rly({in => $entered}, 'repl')->{out};

my $twice = rly({in => "$entered:opt -O0 \@twice(%y)\n"}, 'repl')->{out};
like($twice, qr/^def \@twice/m, 'a function that it calls');
like($twice, qr/^let %y: int32 = 3;/m, 'a value that it names');
like($twice, qr/^\@twice\(%y\);\n\z/m, 'the expression is last');
unlike($twice, qr/\@unused|%z|print/, 'and nothing else');
is(() = $twice =~ /\[111, 110, 99, 101\]/g, 1, 'which is not run again');

my $small = rly({in => "$entered:opt -O2 \@twice(%y)\n"}, 'repl')->{out};
like($small, qr/^6;\n\z/m, '-O2 inlines and folds');
unlike($small, qr/\@twice/, 'and drops what is inlined');
like(rly({in => "$entered:opt \@map(\@twice, List[%y])\n"}, 'repl')->{out},
     qr/^\@map\(\@twice, List\[%y\]\);\n\z/m, '-O1, and the library');
like(rly({in => "$entered:opt Inline(size=1) , \@twice(%y)\n"}, 'repl')->{err},
     qr/error/, 'a list that is broken off');
like(rly({in => "$entered:opt Inline( size = 8 ),FoldConstant \@twice(%y)\n"},
         'repl')->{out}, qr/^6;\n\z/m, 'passes by name');
# Functions and operators of any shape are used by instance, and printed as they
# are written.
my $any = <<'END';
op @half[s: Shape](%x: Tensor[s, float32]) -> Tensor[s, float32] = { %x / 2f };
def @any[s: Shape](%x: Tensor[s, float32]) -> Tensor[s, float32] { @half(%x) }
END
my $instance = rly({in => "${any}:opt -O0 \@any([1f])\n"}, 'repl');
is($instance->{err}, '', 'a function of any shape');
like($instance->{out}, qr/^op \@half\[s: Shape\].*^def \@any\[s: Shape\]/ms,
     'as it is written, and the operator that it calls')
  or diag($instance->{out});
like(rly({in => "$entered:opt Pair(1, 2)\n"}, 'repl')->{out},
     qr/^Pair\(1, 2\);\n\z/m, 'a constructor is no pass');

# What it does is what the expression does.
my $text = $small =~ s/^Tensor.*\n//mr;
gives(rly({in => $text}, 'run', '-'), 0, "6\n", '', 'its text runs');

for my $case (['', qr/takes an expression/], ['-O1', qr/takes an expression/],
              ['Inline', qr/takes an expression/],
              ['-O7 1', qr/there are -O0, -O1 and -O2, and no -O7/],
              ['@twice(', qr/error\[E0/], ['def @g() { 1 }', qr/E0506/],
              ['@twcie(1)', qr/^<expression>:1:1: error\[E0102\].*`\@twice`/s],
              ['Inline(siz=1) 2', qr/error\[E0521\]/]) {
  my ($line, $error) = @$case;
  my $got = rly({in => "$entered:opt $line\n"}, 'repl');
  like($got->{err}, $error, "`:opt $line`");
  is($got->{out}, $said, 'and nothing is shown');
}

# Names that were defined anew mean their last definition.
my $anew = rly({in => "${entered}def \@twice(%x: int32) { 2 * %x }\n:opt -O0 " .
                      "\@twice(%y)\n"}, 'repl')->{out};
like($anew, qr/-> int32 \{ 2 \* %x \}\n/, 'defined anew');
unlike($anew, qr/%x \* 2/, 'and only so');

done_testing();
