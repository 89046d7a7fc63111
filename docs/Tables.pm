# What the tables of the program's commands and flags say, and what the header of
# the library declares, for what is made of them: manual pages, the completions
# of shells, the book.
package Tables;
use strict;
use warnings;
use Exporter 'import';
our @EXPORT = qw(slurp flags commands declarations statuses);

sub slurp {
  my ($path) = @_;
  open my $in, '<', $path or die "$path: $!\n";
  local $/;
  return <$in>;
}

my $string = qr/"([^"]*)"/;

# One string of several that stand beside each other.
sub joined { return join '', $_[0] =~ /$string/g }

# FLAG("--entry", "NAME", TEXT, entry, IN_RUN, "call this global " "instead")
# as {flag, value, kind, set, help}; `set` is the expression of commands.
sub flags {
  my $rows = slurp('repl/flags.def');
  my @flags;
  while ($rows =~ /^FLAG\($string,\s*(?:$string|NULL),\s*(\w+),\s*[\w.]+,
                   \s*([^"]*?),\s*(".*?")\)$/xmsg) {
    push @flags, {flag => $1, value => $2 // '', kind => $3, set => $4,
                  help => joined($5)};
  }
  return @flags;
}

# COMMAND(RUN, run, "run", 0, ANY, "FILE.rly [ARGS...]", "run a script") as {name,
# words, help, flags}.
sub commands {
  my $rows = slurp('repl/commands.def');
  my (@commands, %bit);
  while ($rows =~ /^COMMAND\((\w+),\s*\w+,\s*$string,\s*\d+,\s*\w+,\s*$string,
                   \s*((?:$string\s*)+)\)$/xmg) {
    my ($id, $name, $words, $help) = ($1, $2, $3, joined($4));
    $bit{"IN_$id"} = 1 << @commands;
    push @commands, {name => $name, words => $words, help => $help,
                     in => $bit{"IN_$id"}};
  }
  $bit{IN_ALL} = (1 << @commands) - 1;
  my @flags = flags();
  for my $c (@commands) {
    $c->{flags} = [grep { $c->{in} & of_set($_->{set}, \%bit) } @flags];
  }
  return @commands;
}

# The bits of `IN_ALL & ~IN_STEP`, or of another such set.
sub of_set {
  my ($set, $bit) = @_;
  $set =~ s/(IN_\w+)/$bit->{$1} \/\/ die "no set $1\n"/ge;
  die "no set: $set\n" if $set !~ /^[\d\s|&~()]+$/;
  return eval $set;
}

# A comment's text, without a ruler, which becomes a heading.
sub comment {
  my ($text) = @_;
  my ($heading) = $text =~ s{^/\* --- (.*?) -{3,}}{/*} ? $1 : '';
  $text =~ s{^/\*|\*/\s*\z}{}g;
  $text =~ s/\s*\n \* ?/ /g;
  $text =~ s/^\s+|\s+\z//g;
  return ($heading, $text);
}

# What include/rly.h declares, in its order, as {heading, said, code}: lines of
# code and what the comment above them says; a heading begins a part.
sub declarations {
  my ($header) = slurp('include/rly.h') =~
    /visibility push\(default\)\n#endif\n(.*)#ifdef __GNUC__/s
      or die "include/rly.h: what is declared is not marked\n";
  my @found = {heading => '', said => '', code => []};
  while ($header =~ m{\G(/\*.*?\*/[ \t]*\n|[^\n]*\n)}gs) {
    my $piece = $1;
    my ($heading, $said) = $piece =~ m{^/\*} ? comment($piece) : ('', '');
    if ($piece =~ m{^/\*|^\s*$}) {
      push @found, {heading => $heading, said => $said, code => []};
    } else {
      push @{$found[-1]{code}}, $piece =~ s/\n\z//r;
    }
  }
  return grep { $_->{heading} || $_->{said} ne '' || @{$_->{code}} } @found;
}

# The functions of rly.h that give a status, as {name, gives}: what follows
# "Gives:" in the comment over one, or over the group that it stands in.
sub statuses {
  my @functions;
  for my $d (declarations()) {
    my ($gives) = $d->{said} =~ /\bGives:\s+(\w+(?:,\s+\w+)*)\./;
    for my $name (map { /^rly_status (rly_\w+)\(/ } @{$d->{code}}) {
      die "include/rly.h: $name does not say what it gives\n" if !$gives;
      push @functions, {name => $name, gives => [split /,\s+/, $gives]};
    }
  }
  return @functions;
}

1;
