package Relay;
# A parser of Relay text as strict as TVM's: with its scanner's longest match,
# and without this project's extensions.  plain_relay($text) returns what is
# wrong with a module, or ''.
#
# It follows TVM's scanner in particular, where the surprises are: a number
# followed at once by letters, a comment that nests, a name that may hold a
# slash.  Being stricter than rly is the point; rly's own parser reads its
# extensions as well and would accept what TVM does not.
use strict;
use warnings;
use Exporter qw(import);

our @EXPORT = qw(plain_relay);

my %keyword = map { $_ => 1 }
  qw(let fn def if else type match extern free_var ref ref_read ref_write);
my $ident = qr{[A-Za-z_][A-Za-z_/0-9]*};

# --- Scanner ----------------------------------------------------------------

# After the block comment at `pos`: a star and what follows go together.
sub skip_comment {
  my ($text) = @_;
  my $depth = 0;
  while ($$text =~ m{\G(?:(/\*)|(\*/)|\*.|.)}gcs) {
    $depth++ if $1;
    $depth-- if $2;
    return if !$depth;
  }
  die "a comment without an end\n";
}

sub number {
  my ($minus, $run, $kind, $width) = @_;
  $kind //= '';
  die "a number `$run$kind$width`\n"
    if $width !~ /^(?:16|32|64)?$/ || !$kind && length $width
      || $kind ne 'f' && $run !~ /^\d+$/
      || $run !~ /^\d+(?:\.\d*)?(?:[eE][+-]?\d+)?$/;
  return [$kind eq 'f' ? 'FLOAT' : 'INT', $minus . $run];
}

sub scan {
  my ($text) = @_;
  my @tokens;
  pos($text) = 0;
  while (pos($text) < length $text) {
    next if $text =~ m{\G(?:[ \t\n]|\r(?=\n))+}gc;
    next if $text =~ m{\G//[^\n]*}gc;
    if ($text =~ m{\G(?=/\*)}gc) { skip_comment(\$text); next }
    my $at = pos $text;
    my $t =
        $text =~ /\G#\[version = "0\.0\.5"\]/gc ? ['VERSION']
      : $text =~ /\G#\[metadata\].*/gcs ? ['METADATA']
      : $text =~ /\G"([^"]*)"/gc ? ['STRING', $1]
      : $text =~ /\Gmeta\[([^\]]*)\]/gc ? ['META', $1]
      : $text =~ /\G(-*)inff/gc ? ['FLOAT', 'inff']
      : $text =~ /\G(-*)(\d[0-9.eE+-]*)(?:([fi])([0-9.eE+-]*))?/gc
        ? number($1, $2, $3, $4 // '')
      : $text =~ /\G%(\d+)/gc ? ['GRAPH', $1]
      : $text =~ /\G%($ident)/gc ? ['LOCAL', $1]
      : $text =~ /\G\@($ident)/gc ? ['GLOBAL', $1]
      : $text =~ /\Gmatch\?/gc ? ['match']
      : $text =~ /\G($ident)/gc ? [$keyword{$1} ? $1 : 'IDENT', $1]
      : $text =~ /\G(->|==|!=|<=|>=|=>|[-(){}\[\],.;:=<>+*\/?])/gc ? [$1]
      : die "unknown text: " . substr($text, $at, 20) . "\n";
    die "a keyword as a name: $t->[1]\n"
      if $t->[0] =~ /^(?:LOCAL|GLOBAL)$/ && $keyword{$t->[1]};
    die "a string with an escape\n" if $t->[0] eq 'STRING' && $t->[1] =~ /\\/;
    push @tokens, [@$t[0, 1], $at];
  }
  return @tokens, ['END', '', length $text];
}

# --- Parser -----------------------------------------------------------------

my (@tokens, %ctors, %graph);

sub kind { return $tokens[$_[0] // 0][0] }
sub at { return $tokens[0][0] eq $_[0] }

sub take {
  my ($kind) = @_;
  my $t = shift @tokens;
  die "expected $kind, found $t->[0] " . ($t->[1] // '') . " at $t->[2]\n"
    if $t->[0] ne $kind;
  return $t->[1];
}

sub maybe { return at($_[0]) ? (take($_[0]), 1)[1] : 0 }

# Items up to a closer, with an optional comma at the end.
sub list {
  my ($close, $item) = @_;
  until (at($close)) {
    $item->();
    maybe(',') or last;
  }
  take($close);
}

sub type {
  if (maybe('(')) { return list(')', \&type) }
  if (maybe('fn')) {
    take('(');
    list(')', \&type);
    take('->');
    return type();
  }
  my $name = take('IDENT');
  if ($name eq 'Tensor') {
    take('[');
    take('(');
    list(')', \&dim);
    take(',');
    take('IDENT');
    return take(']');
  }
  return if $name =~ /^(?:u?int|float|bool)/ || $name eq '_';
  list(']', \&type) if maybe('[');
}

sub dim {
  return if maybe('?') || maybe('INT');
  take('META');
  take('[');
  take('INT');
  take(']');
}

sub metaref { take('META'); take('['); take('INT'); take(']') }

sub attr_begins { return at('IDENT') && kind(1) eq '=' }

sub attrs {
  until (at(')')) {
    take('IDENT');
    take('IDENT') while maybe('.');
    take('=');
    attr_value();
    maybe(',');
  }
}

sub attr_value {
  return if maybe('STRING');
  return list(']', \&attr_value) if maybe('[');
  if (at('IDENT') && $tokens[0][1] =~ /^(?:None|nullptr)$/) {
    return take('IDENT');
  }
  atom();
}

sub arguments {
  take('(');
  until (at(')') || attr_begins()) {
    expr();
    maybe(',') or last;
  }
  attrs() if attr_begins();
  take(')');
}

sub fnrest {
  if (maybe('[')) { list(']', sub { take('IDENT') }) }
  take('(');
  while (at('LOCAL')) {
    take('LOCAL');
    type() if maybe(':');
    maybe(',') or last;
  }
  attrs() if attr_begins();
  take(')');
  type() if maybe('->');
  take('{');
  expr();
  take('}');
}

sub name {
  my $name = take('IDENT');
  while (at('.') && kind(1) eq 'IDENT') {
    take('.');
    $name .= '.' . take('IDENT');
  }
  return if $ctors{$name} || $name =~ /^(?:True|False|tensor_\w+)$/;
  die "`$name` is no constructor defined above, and is not called\n"
    if !at('(');
}

sub primary {
  my $k = kind();
  return take($k) if $k =~ /^(?:INT|FLOAT|LOCAL|GLOBAL)$/;
  return metaref() if $k eq 'META';
  return name() if $k eq 'IDENT';
  if (maybe('fn')) { return fnrest() }
  if ($k eq 'GRAPH') {
    my $n = take('GRAPH');
    die "%$n is not defined above\n" if !$graph{$n};
    return;
  }
  if (maybe('if')) {
    take('(');
    expr();
    take(')');
    for my $word ('', 'else') {
      take($word) if $word;
      take('{');
      expr();
      take('}');
    }
    return;
  }
  if ($k =~ /^ref/) {
    take($k);
    take('(');
    expr();
    if ($k eq 'ref_write') { take(','); expr() }
    return take(')');
  }
  take('(');
  list(')', \&expr);
}

sub atom {
  primary();
  take('INT') if maybe('.');
}

sub binop {
  while (1) {
    atom();
    arguments() while at('(');
    my ($op) = kind() =~ m{^(\*|/|\+|-|<|>|<=|>=|==|!=)$} or return;
    take($op);
  }
}

sub pattern {
  return list(')', \&pattern) if maybe('(');
  if (maybe('LOCAL')) { return maybe(':') && type() }
  take('IDENT');
  list(')', \&pattern) if maybe('(');
}

sub clauses {
  take('{');
  until (at('}')) {
    pattern();
    take('=>');
    expr();
    maybe(',');
  }
  take('}');
}

sub bindings {
  while (1) {
    if (maybe('let')) {
      take('LOCAL');
      type() if maybe(':');
      take('=');
      binop();
      take(';');
    } elsif (at('GRAPH') && kind(1) eq '=') {
      my $n = take('GRAPH');
      die "%$n is defined twice\n" if $graph{$n};
      take('=');
      binop();
      take(';');
      $graph{$n} = 1;
    } else {
      return expr();
    }
  }
}

sub item {
  if (at('let') || at('GRAPH') && kind(1) eq '=') { return bindings() }
  if (maybe('{')) { expr(); return take('}') }
  if (maybe('free_var')) { take('LOCAL'); return maybe(':') && type() }
  if (maybe('match')) { atom(); return clauses() }
  binop();
}

sub expr { do { item() } while maybe(';') }

sub adt {
  my $extern = maybe('extern');
  take('type');
  take('IDENT');
  list(']', sub { take('IDENT') }) if maybe('[');
  return $extern if $extern || !maybe('{');
  list('}', sub {
    $ctors{take('IDENT')} = 1;
    list(')', \&type) if maybe('(');
  });
  return 0;
}

sub module {
  take('VERSION');
  my $last = 0;
  until (at('METADATA') || at('END') || $last) {
    if (maybe('def')) { take('GLOBAL'); fnrest() }
    else { $last = adt() }
  }
  maybe('METADATA');
  take('END');
}

sub plain_relay {
  %graph = ();
  # Those of prelude.rly, nat.rly, core.rly and gradient.rly.
  %ctors = map { $_ => 1 }
    qw(Cons Nil Some None Rose zero succ Raw One Zero);
  return eval { @tokens = scan($_[0]); module(); 1 } ? '' : $@;
}

1;
