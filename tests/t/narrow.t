#!/usr/bin/env perl
# int4 and uint4 on the way in and out: literals of inputs, files, state,
# streams, texts that are read back.
#
# An element takes a byte, of which four bits say all.  So each place where
# bytes come in from outside must refuse or wrap those that are no element, and
# each format must keep the dtype, or say that it cannot.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

my $relay = spew(scratch('p.rly'), <<'END');
#[version = "0.0.5"]
def @main(%x: Tensor[(4), int4], %n: uint4) {
  (add(%x, cast(1, dtype="int4")), %n)
}
END
my $sum = "(Tensor[(4), int4] [2, -8, -7, 0], 15u4)\n";

# --- Inputs by name ----------------------------------------------------------

gives(rly($relay, 'x=[1, 7, -8, -1]', 'n=15'), 0, $sum, '', 'plain numbers');
gives(rly($relay, 'x=[1i4, 7i4, -8i4, -1i4]', 'n=15u4'), 0, $sum, '',
      'numbers of the dtype');
gives(rly($relay, 'x=[1, 8, 0, 0]', 'n=0'), 1, '', qr/out of the dtype's range/,
      'a number that is no int4');
gives(rly($relay, 'x=[1, 1, 0, 0]', 'n=-1'), 1, '',
      qr/out of the dtype's range/, 'a number that is no uint4');
gives(rly($relay, 'x=[1i8, 1i8, 0i8, 0i8]', 'n=0'), 1, '',
      qr/dtype is not the declared one/, 'numbers of another dtype');
my $run = rly('run', $relay, '--json', 'x=[1, 7, -8, -1]', 'n=15');
my $value = json($run->{out});
is_deeply($value,
          {tuple => [{dtype => 'int4', shape => [4], data => [2, -8, -7, 0]},
                     {dtype => 'uint4', shape => [], data => [15]}]},
          'as JSON');

# --- Texts that are read back ---------------------------------------------

for my $way (['fmt'], ['fmt', '--relay'], ['dump']) {
  my $out = rly(@$way, $relay);
  is($out->{status}, 0, "@$way") or diag($out->{err});
  gives(rly(spew(scratch('again.rly'), $out->{out}), 'x=[1, 7, -8, -1]',
            'n=15'), 0, $sum, '', "@$way reads back");
}
my $literals = spew(scratch('literals.rly'),
                    "def \@main() { (-8i4, [15u4, 0u4], [[1i4], [-1i4]]) }\n");
my $shown = "(-8i4, Tensor[(2), uint4] [15, 0], Tensor[(2, 1), int4]\n"
            . "[[ 1],\n [-1]])\n";
for my $way (['fmt'], ['fmt', '--relay'], ['dump']) {
  my $out = rly(@$way, $literals);
  is($out->{status}, 0, "@$way of literals") or diag($out->{err});
  gives(rly(spew(scratch('again.rly'), $out->{out})), 0, $shown, '',
        "@$way of literals reads back");
}

# --- Files of tensors ---------------------------------------------------------

my $same = spew(scratch('same.rly'),
                "def \@main(\%x: Tensor[(4), int4]) { (\%x, \%x) }\n");
my $one = spew(scratch('one.rly'),
               "def \@main(\%x: Tensor[(4), int4]) { \%x }\n");
for my $file ('o.npy', 'o.npz', 'o.safetensors') {
  my $path = scratch($file);
  gives(rly('run', $one, 'x=[1, 7, -8, -1]', '--outputs', $path), 2, qr/^/,
        qr/E0507.*\Q$file\E.*no name for int4.*cast it to int8/s,
        "$file has no name for int4");
  ok(!-e $path, 'and no file is left');
}
my $params = scratch('o.params');
gives(rly('run', $same, 'x=[1, 7, -8, -1]', '--outputs', $params), 0, qr/^/, '',
      'NDArrays have one');
like(slurp($params), qr/\0\x04\x01\0.*\x04\0{7}\x01\x07\xF8\xFF/s,
     'code 0, 4 bits, 1 lane; 4 bytes');
my $held = spew(scratch('held.rly'),
                "param \@out0: Tensor[(4), int4];\n\@out0;\n");
gives(rly($held, '--params', $params), 0,
      "Tensor[(4), int4] [1, 7, -8, -1]\n", '', 'and are read');
spew(scratch('bad.params'),
     slurp($params) =~ s/\x01\x07\xF8\xFF/\x01\x08\xF8\xFF/r);
gives(rly($held, '--params', scratch('bad.params')), 1, '',
      qr/E0502.*an element is no int4/, 'a byte that is no int4 is refused');
spew(scratch('w.safetensors'), safetensors(['out0', 'U8', [4], [1, 2, 3, 4]]));
gives(rly($held, '--params', scratch('w.safetensors')), 1, '', qr/int4/,
      'uint8 is not int4');

# --- State and streams -------------------------------------------------------

my $counter = spew(scratch('counter.rly'), <<'END');
let @acc = ref([1i4, -8i4, 7i4]);
let @one = ref(-1i4);
let @high = ref(zeros(shape=[0], dtype="uint4"));
def @step(%x: int4) -> int4 {
  ref_write(@acc, ref_read(@acc) + %x);
  ref_write(@one, ref_read(@one) + %x);
  max(ref_read(@acc)) + ref_read(@one)
}
END
my $state = scratch('s.safetensors');
sub stream {
  my ($in, @args) = @_;
  return rly({in => $in}, 'stream', $counter, '--step', 'step', '--output', '-',
             @args);
}
my $whole = stream("\1\1\1\xFF")->{out};
is($whole, "\2\4\6\4", 'four steps, worked out by hand');
my $first = stream("\1\1", '--save-state', $state);
is($first->{status}, 0, 'int4 is saved') or diag($first->{err});
like(slurp($state), qr/"narrow":"[^"]*int4 /, 'under the name of its bytes');
my $second = stream("\1\xFF", '--load-state', $state);
is($first->{out} . $second->{out}, $whole, 'and goes on')
  or diag($second->{err});
my $damaged = slurp($state);
$damaged =~ s/int4 /int8 /;
spew(scratch('d.safetensors'), $damaged);
gives(stream("\1", '--load-state', scratch('d.safetensors')), 1, '',
      qr/E0502.*damaged/, 'another dtype in the list is damage');
gives(stream("\x08"), 2, '', qr/frame 0: an element is no int4/,
      'a frame with a byte that is no int4');

done_testing;
