package Screen;
# A terminal: it runs rly on a pseudo terminal of a given size and keeps what a
# person would see, by the few control sequences that rly and readline send.
# `script` opens the pseudo terminal.
#
# The lines that have scrolled away are kept above `top`, the first line of the
# screen, since messages longer than a screen are judged as a whole.  A wide
# character takes two cells, of which the second is an empty text; so a column
# is an index, and a caret's place can be compared with the cell above it.
use strict;
use warnings;
use Encode qw(decode encode FB_DEFAULT);
use Exporter qw(import);
use IPC::Open2;
use Rly;
use Test::More;

our @EXPORT = qw(screen_missing);

# Why there can be no screen here; undef: there can.
sub screen_missing {
  return 'there is no `script`' if system('command -v script >/dev/null');
  return;
}

# Starts rly with these arguments.  %how: columns, rows, env (more variables).
sub new {
  my ($class, %how) = @_;
  my $self = bless {columns => $how{columns} // 80, rows => $how{rows} // 24,
                    lines => [[]], top => 0, x => 0, y => 0, rest => '',
                    heard => ''}, $class;
  local %ENV = (%ENV, TERM => 'xterm-256color', INPUTRC => '/dev/null',
                LC_ALL => 'C.UTF-8', XDG_STATE_HOME => scratch('state'),
                XDG_CONFIG_HOME => scratch('config'), PAGER => '',
                %{$how{env} // {}});
  delete $ENV{NO_COLOR} unless $how{env}{NO_COLOR};
  my $size = "stty rows $self->{rows} cols $self->{columns}";
  $self->{pid} = open2($self->{from}, $self->{to}, 'script', '-q', '-e', '-c',
                       "$size; exec $ENV{RLY} @{$how{args} // []}",
                       '/dev/null');
  return $self;
}

# --- What rly sends ---------------------------------------------------------

# The cells that a character takes, from Perl's own tables.
sub width {
  my ($c) = @_;
  return 0 if $c =~ /\p{Mn}|\p{Me}|\p{Cf}/;
  return $c =~ /\p{Ea=W}|\p{Ea=F}/ ? 2 : 1;
}

# The line below, which may be a new one at the bottom.
sub down {
  my ($self) = @_;
  $self->{y}++;
  $self->{lines}[$self->{y}] //= [];
  my $top = $self->{y} - $self->{rows} + 1;
  $self->{top} = $top if $top > $self->{top};
}

sub put {
  my ($self, $c) = @_;
  my $width = width($c);
  my $line = $self->{lines}[$self->{y}];
  if ($width == 0) {
    $line->[$self->{x} - 1] .= $c if $self->{x};
    return;
  }
  if ($self->{x} + $width > $self->{columns}) {
    $self->{x} = 0;
    $self->down;
    $line = $self->{lines}[$self->{y}];
  }
  $line->[$_] //= ' ' for 0 .. $self->{x};
  $line->[$self->{x}] = $c;
  $line->[$self->{x} + 1] = '' if $width == 2;
  $self->{x} += $width;
}

sub control {
  my ($self, $args, $final) = @_;
  my $n = $args =~ /^(\d+)/ ? $1 : 0;
  my $line = $self->{lines}[$self->{y}];
  my $many = $n || 1;
  if ($final eq 'A') {
    $self->{y} -= $many;
    $self->{y} = $self->{top} if $self->{y} < $self->{top};
  } elsif ($final eq 'B') {
    for (1 .. $many) {
      last if $self->{y} + 1 >= $self->{top} + $self->{rows};
      $self->{y}++;
      $self->{lines}[$self->{y}] //= [];
    }
  } elsif ($final eq 'C') {
    $self->{x} += $many;
    $self->{x} = $self->{columns} - 1 if $self->{x} >= $self->{columns};
  } elsif ($final eq 'D') {
    $self->{x} -= $many;
    $self->{x} = 0 if $self->{x} < 0;
  } elsif ($final eq 'K') {
    splice @$line, $self->{x} if @$line > $self->{x};
  } elsif ($final eq 'J') {
    if ($n == 2) { @{$self->{lines}}[$self->{top} .. $#{$self->{lines}}] = () }
    else { splice @$line, $self->{x} if @$line > $self->{x} }
    splice @{$self->{lines}}, $self->{y} + 1 if $n != 2;
    $_ //= [] for @{$self->{lines}};
  } elsif ($final eq 'H') {
    $self->{y} = $self->{top};
    $self->{x} = 0;
  }
}

# Takes what was sent; a character or a sequence that is cut waits for more.
sub take {
  my ($self, $bytes) = @_;
  $self->{heard} .= $bytes;
  $self->{rest} .= $bytes;
  my $cut = $self->{rest} =~ s/(\e[^a-zA-Z~]*|[\xC0-\xFF][\x80-\xBF]{0,2})\z//
                && $1;
  $cut ||= '';
  if ($cut =~ /^[^\e]/) {
    my $need = ord($cut) >= 0xF0 ? 4 : ord($cut) >= 0xE0 ? 3 : 2;
    if (length $cut == $need) { $self->{rest} .= $cut; $cut = '' }
  }
  my $text = decode('UTF-8', $self->{rest}, FB_DEFAULT);
  $self->{rest} = $cut;
  while ($text =~ /\G(?:\e\[([?>=0-9;]*)([a-zA-Z~])|\e[=>()].?|(.))/gs) {
    if (defined $2) { $self->control($1, $2) unless $1 =~ /^[?>=]/ }
    elsif (!defined $3) { next }
    elsif ($3 eq "\r") { $self->{x} = 0 }
    elsif ($3 eq "\n") { $self->down }
    elsif ($3 eq "\b") { $self->{x}-- if $self->{x} }
    elsif (ord $3 >= 32) { $self->put($3) }
  }
}

# --- What a person does and sees --------------------------------------------

# All lines, with those that have scrolled off; without blanks at their ends and
# without empty lines below the cursor.
sub all {
  my ($self) = @_;
  my $lines = $self->{lines};
  pop @$lines while $#$lines > $self->{y} && !@{$lines->[-1]};
  return join "\n", map { join('', map { $_ // ' ' } @$_) =~ s/ +$//r }
                        @{$self->{lines}};
}

# The lines on the screen, and the cursor.
sub shown {
  my ($self) = @_;
  my @lines = split /\n/, $self->all, -1;
  return join "\n", @lines[$self->{top} .. $#lines];
}

sub cursor {
  my ($self) = @_;
  return ($self->{x}, $self->{y} - $self->{top});
}

sub type {
  my ($self, $keys) = @_;
  syswrite $self->{to}, encode('UTF-8', $keys);
}

# Takes what rly sends next; false: it has ended, or has been silent for so long
# that what is waited for will not come.
sub more {
  my ($self) = @_;
  my $ready = '';
  vec($ready, fileno $self->{from}, 1) = 1;
  return 0 if $self->{silent};
  if (!select $ready, undef, undef, 60) {
    $self->{silent} = 1;
    return 0;
  }
  sysread $self->{from}, my $more, 65536 or return 0;
  $self->take($more);
  return 1;
}

# Reads on until the screen (with `all`: and what is above it) matches.
sub expect {
  my ($self, $pattern, $name, $all) = @_;
  my $look = sub { $all ? $self->all : $self->shown };
  while ($look->() !~ $pattern) { $self->more or last }
  local $Test::Builder::Level = $Test::Builder::Level + 1;
  ok($look->() =~ $pattern, $name) or diag("the screen:\n", $look->());
}

# Reads to the end; checks the exit status.
sub ends {
  my ($self, $status, $name) = @_;
  1 while $self->more;
  kill TERM => $self->{pid} if $self->{silent};
  waitpid $self->{pid}, 0;
  local $Test::Builder::Level = $Test::Builder::Level + 1;
  is($? >> 8, $status, $name);
}

1;
