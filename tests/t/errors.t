#!/usr/bin/env perl
# What an error shows: its place, the line with carets under the part that is
# wrong, a second place, and what to write instead; nothing is evaluated, and
# the exit status says so.
#
# These texts are pinned to the letter, as few others are: the layout is what is
# tested, and carets that stand one column off are wrong although every word is
# right.  There is one program for each form a message can take, not one for
# each message; tests/mistakes has those, and checks the words alone, so that a
# better wording is changed in one place.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

# A program and the text on stderr, from the first line to the last.
sub refuses {
  my ($program, $text) = @_;
  my $run = rly('run', spew(scratch('p.rly'), "$program\n"));
  my $dir = scratch('');
  $run->{err} =~ s/\Q$dir\E\/?//g;
  is($run->{err}, $text, $program);
  is("$run->{status} $run->{out}", '1 ', 'nothing is evaluated');
}

refuses('match (1f) { 0 => 1, _ => 2 }', <<'END');
p.rly:1:14: error[E0403]: a pattern for int32 does not fit float32
    1 | match (1f) { 0 => 1, _ => 2 }
      |       ----   ^
      |       this is what is matched: float32
  help: write `0f`
END

refuses('match (Some(1)) { Some(%x) | None => 1 }', <<'END');
p.rly:1:30: error[E0405]: this alternative does not bind `%x`
    1 | match (Some(1)) { Some(%x) | None => 1 }
      |                        --    ^^^^
      |                        the first alternative binds it here
END

refuses('match (True) { True => 1 }', <<'END');
p.rly:1:1: error[E0401]: match on bool is not exhaustive: `False` is not covered
    1 | match (True) { True => 1 }
      | ^^^^^
  help: write the missing arm, `False => ...`, or one for `_`
END

refuses('2 |> add(3) + 1', <<'END');
p.rly:1:6: error[E0011]: `|>` passes a value to a function, and this is none
    1 | 2 |> add(3) + 1
      |   -- ^^^^^^^^^^
      |   this `|>` reaches as far right as it can
  help: put what comes before it in parentheses: (%x |> @f) + 1
END

# An attribute is to blame where its value stands.
refuses('sum([[1, 2], [3, 4]], axis=[0, 7])', <<'END');
p.rly:1:28: error[E0302]: `sum`: axis 7 is out of range for rank 2
    1 | sum([[1, 2], [3, 4]], axis=[0, 7])
      |                            ^^^^^^
  help: axes run from -2 to 1
END

refuses('take([1, 2], 0, mode="fats")', <<'END');
p.rly:1:22: error[E0303]: `take`: mode is "clip", "wrap" or "fast", not "fats"
    1 | take([1, 2], 0, mode="fats")
      |                      ^^^^^^
END

refuses('nn.max_pool1d([[[1f]]], pool_size=[1], padding=[0, 0, 0])',
        <<'END');
p.rly:1:48: error[E0303]: `nn.max_pool1d`: `padding` holds 3 numbers, not 1 or 2
    1 | nn.max_pool1d([[[1f]]], pool_size=[1], padding=[0, 0, 0])
      |                                                ^^^^^^^^^
END

refuses('type A = (int32, A);', <<'END');
p.rly:1:6: error[E0118]: the alias `A` stands for itself
    1 | type A = (int32, A);
      |      ^
  help: a type that holds itself is a data type: type A { ... }
END

done_testing;
