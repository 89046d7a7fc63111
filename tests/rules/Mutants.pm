package Mutants;
# Mutants of rules: each changes one thing of a right side or a condition, so
# that what was equal most likely no longer is.  They are made from the text as
# rly fmt prints it.
#
# A change that is known to leave the rule what it is makes no mutant:
#
#   - operands that swap in what commutes to the bit
#   - copy(%x) to %x, which has the same value by its definition
#   - in zeros_like and ones_like, which look at types alone, a variable to
#     another one of the same type
#   - in a condition, what only effects or dimensions without numbers can make
#     false: pure, is_constant, static, uses, and that the result of two operands
#     has the shape of one of them.  An experiment has values and numbers
#     there, and where numbers do not fit, both sides fail.
use strict;
use warnings;
use Exporter 'import';
our @EXPORT = qw(mutants);

# Words and signs that take each other's place.
my %other = (
  ' + ' => ' - ', ' - ' => ' + ', ' * ' => ' + ', ' / ' => ' * ',
  ' < ' => ' <= ', ' > ' => ' >= ', ' <= ' => ' < ', ' >= ' => ' > ',
  ' == ' => ' != ', ' != ' => ' == ',
  'maximum(' => 'minimum(', 'minimum(' => 'maximum(',
  'max(' => 'min(', 'min(' => 'max(', 'sum(' => 'max(',
  'floor(' => 'ceil(', 'ceil(' => 'floor(', 'round(' => 'trunc(',
  'trunc(' => 'round(', 'exp(' => 'tanh(', 'sin(' => 'cos(',
  'cos(' => 'sin(', 'tanh(' => 'sin(', 'zeros' => 'ones', 'ones' => 'zeros',
  'logical_and(' => 'logical_or(', 'logical_or(' => 'logical_xor(',
  'logical_xor(' => 'logical_or(', 'bitwise_and(' => 'bitwise_or(',
  'bitwise_or(' => 'bitwise_xor(', 'any(' => 'all(', 'all(' => 'any(',
  'True' => 'False', 'False' => 'True', 'rsqrt(' => 'sqrt(',
);
my $others = join '|', map { quotemeta } sort { length $b <=> length $a }
             keys %other;
my $unary = qr/(?:abs|floor|ceil|round|trunc|sign|exp|log|sqrt|tanh|sin|cos|tan|
                  nn\.relu|logical_not|bitwise_not|erf|atan|sinh|cosh|asin|
                  rsqrt|sigmoid)/x;

# The text with each match of a pattern replaced in turn by what `change` makes
# of it; nothing where that is the same.
sub each_match {
  my ($text, $pattern, $change) = @_;
  my @made;
  while ($text =~ /$pattern/g) {
    my ($from, $to) = ($-[0], $+[0]);
    my $new = $change->(substr($text, $from, $to - $from));
    next if !defined $new;
    push @made, substr($text, 0, $from) . $new . substr($text, $to);
  }
  return grep { $_ ne $text } @made;
}

# The text with one mention of a variable replaced by another variable.
sub other_variables {
  my ($text, $types) = @_;
  my (@of_types, @made);
  push @of_types, [$-[1], $+[1]]
    while $text =~ /(?:zeros|ones)_like(\((?:[^()]|(?1))*\))/g;
  while ($text =~ /%\w+/g) {
    my ($from, $to, $x) = ($-[0], $+[0], $&);
    next if !$types->{$x};
    my $typed = grep { $_->[0] < $from && $from < $_->[1] } @of_types;
    push @made, map { substr($text, 0, $from) . $_ . substr($text, $to) }
      grep { $_ ne $x && !($typed && $types->{$_} eq $types->{$x}) }
      sort keys %$types;
  }
  return @made;
}

sub of_right {
  my ($right, $types) = @_;
  my @made = each_match($right, qr/(?<![A-Za-z_.])(?:$others)/,
                        sub { $other{$_[0]} });
  push @made, each_match($right, qr/(?<![\w%\$.])\d+(?=[fi,\])\s]|$)/,
                         sub { $_[0] + 1 });
  push @made, each_match($right, qr/%\w+ [-\/<>]=? %\w+/, sub {
    my ($x, $sign, $y) = split / /, $_[0];
    return "$y $sign $x";
  });
  push @made, each_match($right, qr/(?:where\(%c, )%\w+, %\w+\)/, sub {
    my ($x, $y) = $_[0] =~ /(%\w+), (%\w+)\)$/;
    return "where(%c, $y, $x)";
  });
  push @made, each_match($right, qr/\(\(%\w+, %\w+/, sub {
    my ($x, $y) = $_[0] =~ /(%\w+), (%\w+)/;
    return "(($y, $x";
  });
  push @made, each_match($right, qr/(?<![\w.])$unary(?=\()/, sub { '' });
  push @made, each_match($right, qr/(?<![%\w)\]] )-(?=[%\w(])/, sub { '' });
  push @made, each_match($right, qr/compose\(\$p, \$q\)/,
                         sub { 'compose($q, $p)' });
  push @made, each_match($right, qr/(?<=axes=)\$p/, sub { 'reverse($p)' });
  return @made, other_variables($right, $types);
}

# What `&&` joins outside of parentheses.
sub terms {
  my ($text) = @_;
  my ($nested, @terms) = (qr/(\((?:[^()]|(?-1))*\))/, '');
  for my $part (split / && /, $text =~ s/$nested/$1 =~ s, && ,\0,gr/ger) {
    push @terms, $part =~ s/\0/ && /gr;
  }
  return grep { length } @terms;
}

my $unseen = qr/^!?(?:pure|is_constant|static|uses)|
                ^broadcasts\((%\w+),\ (%\w+)\)\ \|\|\ broadcasts\(\2,\ \1\)$/x;

# A condition without one of what it demands, or with another number.
sub of_condition {
  my ($condition) = @_;
  my @terms = terms($condition =~ s/\s+/ /gr);
  my @made;
  for my $i (0 .. $#terms) {
    next if $terms[$i] =~ $unseen;
    my @rest = @terms;
    splice @rest, $i, 1;
    push @made, join ' && ', @rest;
    push @made, map { my @t = @terms; $t[$i] = $_; join ' && ', @t }
      each_match($terms[$i], qr/(?<=== )-?\d+/, sub { $_[0] + 1 });
  }
  return @made;
}

# Of a text of rules: [name, text of a rule].
sub mutants {
  my ($text) = @_;
  my @made;
  for my $rule ($text =~ /^(rule \@.*?)(?=^rule |^\/\/|\z)/gms) {
    my ($name) = $rule =~ /^rule \@(\w+)/;
    my ($before, $right) = $rule =~ /^(.*\} => \{)(.*)\}\s*$/s or next;
    my %types = $before =~ /(%\w+): (Tensor\[\(.*?\),.*?\]|Tensor\[.*?\])/g;
    push @made, map { [$name, "$before$_}\n"] } of_right($right, \%types);
    my ($head, $condition, $left) =
      $before =~ /^(.*?)\bwhen (.*?)( \{.*\} => \{)$/s or next;
    push @made, map { [$name, $head . ($_ ? "when $_" : '') .
                              "$left$right}\n"] } of_condition($condition);
  }
  return @made;
}

1;
