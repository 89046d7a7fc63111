# The rooms of the house: what each folder of C code may use.  tests/lint checks
# includes by this table, tests/t/rooms.t checks calls.
#
# The order is what keeps the house open to change: a room can be understood,
# tested and rewritten with what stands below it, and nothing below has to know.
# A new entry in a row is a decision, made here where it shows in a diff, and
# not by an include somewhere.
package Rooms;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT = qw(%may_use %only @rooms door_of room_circles);

# From the bottom up: each room may include from and call what it names, all of
# which stands before it, so the rooms make no circle.
my @table = (
  base      => '',
  tensor    => 'base',
  ir        => 'tensor base',
  stdlib    => '',
  include   => '',
  io        => 'ir tensor base',
  parser    => 'ir tensor base',
  ops       => 'tensor base',
  rules     => 'ops ir tensor base',
  kernels   => 'ops tensor base',
  types     => 'rules ops ir tensor base',
  onnx      => 'io ops tensor base',
  export    => 'onnx types ops ir tensor base',
  passes    => 'types rules ops ir tensor base',
  data      => 'types ops ir tensor base',
  value     => 'ir tensor base',
  bytecode  => 'value kernels types ops ir tensor base',
  vm        => 'bytecode value kernels types ops ir tensor base',
  state     => 'vm bytecode value types ir tensor base',
  observe   => 'vm bytecode value types ops ir tensor base',
  smallstep => 'vm bytecode value kernels types ops ir tensor base',
  stepper   => 'smallstep vm value types ops ir tensor base',
  lib       => 'include stdlib export onnx stepper smallstep observe state vm bytecode
                value data passes types rules parser io kernels ops ir tensor base',
  server    => 'include lib data passes types parser ops ir tensor base',
  team      => 'tensor base',
  repl      => 'team server include lib onnx stepper smallstep observe vm data passes types
                rules parser ops ir tensor base',
);

# The headers that other rooms may include; of a room that is not named, all.
# Beside those named, repl/ and server/ call what lib/inside.h shows them of lower
# rooms.
my %doors = (
  parser    => 'parser.h literal.h',
  types     => 'types.h gradient.h stretch.h',
  onnx      => 'onnx.h ops.h write.h',
  export    => 'export.h',
  passes    => 'pass.h pipeline.h cost.h specialise.h tail.h',
  data      => 'data.h',
  value     => 'value.h show.h structure.h',
  bytecode  => 'code.h code.ids',
  vm        => 'session.h machine.h',
  state     => 'state.h',
  observe   => 'observe.h',
  smallstep => 'step.h step_machine.h',
  stepper   => 'stepper.h',
  lib       => 'inside.h',
  server    => 'server.h',
  team      => 'team.h',
);
my %shown = map { $_ => 1 } qw(include/rly.h lib/inside.h);
our %only = (server => {%shown}, repl => {%shown, 'server/server.h' => 1, 'team/team.h' => 1});

our (@rooms, %may_use);
while (my ($room, $uses) = splice @table, 0, 2) {
  for my $used (split ' ', $uses) {
    die "$room stands below $used\n" unless exists $may_use{$used};
  }
  push @rooms, $room;
  $may_use{$room} = {map { $_ => 1 } split ' ', $uses};
}

# May a file of room `from` include this header of room `to`?
sub door_of {
  my ($from, $to, $header) = @_;
  return $only{$from}{$header} if $only{$from};
  return 1 unless $doors{$to};
  return grep { $header eq "$to/$_" } split ' ', $doors{$to};
}

# The rooms that reach themselves by the edges {from}{to}, in circles, as text.
sub room_circles {
  my ($edges) = @_;
  my %reach;
  for my $start (keys %$edges) {
    my @todo = keys %{$edges->{$start}};
    while (defined(my $at = pop @todo)) {
      next if $reach{$start}{$at}++;
      push @todo, keys %{$edges->{$at} // {}};
    }
  }
  my (%done, @circles);
  for my $start (sort keys %$edges) {
    next if $done{$start} || !$reach{$start}{$start};
    my @circle = sort grep { $reach{$start}{$_} && $reach{$_}{$start} }
                 keys %$edges;
    @done{@circle} = (1) x @circle;
    push @circles, join ' ', @circle;
  }
  return @circles;
}

1;
