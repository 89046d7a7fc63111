package Onnx;
# Packs ONNX models, field by field, by ONNX's own numbers (onnx/onnx.proto), so
# that what rly reads is written by something that is not rly.
use strict;
use warnings;
use Exporter 'import';
our @EXPORT = qw(varint int_of bytes_of value inside_node node node_in tensor
                 model_of model model_with floats_of ints_attr int_attr
                 float_attr text_attr graph_attr input output);

sub varint {
  my ($n) = @_;
  my $out = '';
  $n = unpack 'Q', pack 'q', $n if $n < 0;
  while ($n > 127) { $out .= chr($n & 127 | 128); $n >>= 7; }
  return $out . chr $n;
}
sub int_of { varint($_[0] << 3) . varint($_[1]) }
sub bytes_of { varint($_[0] << 3 | 2) . varint(length $_[1]) . $_[1] }

sub dim { ref $_[0] ? bytes_of(2, ${$_[0]}) : int_of(1, $_[0]) }
# A value's name and type: numbers are dimensions, references their names.
sub value {
  my ($name, $dtype, @dims) = @_;
  my $shape = join '', map { bytes_of(1, dim($_)) } @dims;
  my $tensor = int_of(1, $dtype) . bytes_of(2, $shape);
  return bytes_of(1, $name) . bytes_of(2, bytes_of(1, $tensor));
}
sub inside_node {
  my ($op, $in, $out, @attrs) = @_;
  return join '', (map { bytes_of(1, $_) } @$in),
    (map { bytes_of(2, $_) } @$out), bytes_of(3, "n_$out->[0]"),
    bytes_of(4, $op), map { bytes_of(5, $_) } @attrs;
}
sub node { bytes_of(1, inside_node(@_)) }
# A node of another domain, and a model that has its operators.
sub node_in {
  my ($domain, @node) = @_;
  return bytes_of(1, inside_node(@node) . bytes_of(7, $domain));
}
sub tensor {
  my ($name, $dtype, $dims, @rest) = @_;
  return bytes_of(5, join '', (map { int_of(1, $_) } @$dims), int_of(2, $dtype),
                  bytes_of(8, $name), @rest);
}
sub model_of {
  my ($opset, @graph) = @_;
  return int_of(1, 8) . bytes_of(7, join '', @graph)
         . bytes_of(8, int_of(2, $opset));
}
sub model { model_of(17, @_) }
sub model_with {
  my ($domain, @graph) = @_;
  return model(@graph) . bytes_of(8, bytes_of(1, $domain) . int_of(2, 1));
}
sub floats_of { tensor($_[0], 1, $_[1], bytes_of(9, pack 'f<*', @{$_[2]})) }
sub ints_attr { bytes_of(1, $_[0]) . join('', map { int_of(8, $_) } @{$_[1]})
                . int_of(20, 7) }
sub int_attr { bytes_of(1, $_[0]) . int_of(3, $_[1]) . int_of(20, 2) }
sub float_attr { bytes_of(1, $_[0]) . varint(2 << 3 | 5) . pack('f<', $_[1])
                 . int_of(20, 1) }
sub text_attr { bytes_of(1, $_[0]) . bytes_of(4, $_[1]) . int_of(20, 3) }
sub graph_attr {
  my ($name, @graph) = @_;
  return bytes_of(1, $name) . bytes_of(6, join '', @graph) . int_of(20, 5);
}
sub input { bytes_of(11, value(@_)) }
sub output { bytes_of(12, value(@_)) }

1;
