#!/usr/bin/env perl
# The default of an attribute is the one that the reference registers, in its
# last version that has the attribute: tests/reference/attribute_defaults.tsv.
# Where ours is another, the reason stands here.
#
# A default that differs by accident is the kind of error that nobody meets for
# months: the program runs, and computes something else than the model it was
# taken from.  So the table is compared as a whole, and a difference that is
# meant has to give its reason here, where the next reader will look for it.
use strict;
use warnings;
use lib 'tests/t';
use Rly;
use Test::More;

# Reasons, and what each holds for: OPERATOR ATTRIBUTE OURS.
my %reasons = (
  'the reference has none, but its Python functions do' => <<'END',
nn.bitserial_dense units None
nn.contrib_dense_pack units None
nn.matmul units None
nn.dense units None
nn.l2_normalize axis None
nn.nll_loss ignore_index -100
nn.upsampling scale_h 1
nn.upsampling scale_w 1
nn.upsampling3d scale_d 1
nn.upsampling3d scale_h 1
nn.upsampling3d scale_w 1
qnn.contrib_dense_pack units None
qnn.dense units None
qnn.dequantize out_dtype "float32"
qnn.quantize out_dtype "uint8"
slice_like axes None
strided_slice axes None
strided_slice strides None
topk k 1
transpose axes None
END
  'texts of each version have two of them' => <<'END',
nn.contrib_conv2d_gemm_weight_transform tile_N None
nn.contrib_conv2d_gemm_weight_transform tile_K None
nn.contrib_conv2d_gemm_weight_transform tile_rows None
nn.contrib_conv2d_gemm_weight_transform tile_cols None
END
  'no dtype is the one that its Python functions give' => <<'END',
argsort dtype "int32"
ones dtype "float32"
qnn.batch_matmul out_dtype "int32"
qnn.contrib_dense_pack out_dtype "int32"
qnn.conv2d out_dtype "int32"
qnn.conv2d_transpose out_dtype "int32"
qnn.dense out_dtype "int32"
qnn.requantize out_dtype "int8"
random.normal out_dtype "float32"
random.uniform out_dtype "float32"
topk dtype "int32"
zeros dtype "float32"
END
  'without it, the operands decide' => <<'END',
arange dtype ""
END
  'the reference fails with its default' => <<'END',
gather axis required
image.crop_and_resize crop_size required
image.resize1d size required
image.resize2d size required
image.resize3d size required
nn.conv2d_backward_weight kernel_size required
nn.group_norm num_groups required
stft hop_length required
stft n_fft required
stft win_length required
END
  'the reference takes the first axis, too' => <<'END',
reverse axis 0
END
  'both versions are read: the shape of the weight tells' => <<'END',
nn.conv2d_transpose kernel_layout ""
qnn.conv2d_transpose kernel_layout ""
END
  '"None" means this one' => <<'END',
qnn.requantize rounding "UPWARD"
END
);
my (%ours, %met);
for (map { split /\n/ } values %reasons) {
  my ($op, $attr, $value) = split / /, $_, 3;
  $ours{"$op $attr"} = $value;
}

# A default as the table writes it.
sub text {
  my ($value) = @_;
  return 'None' if !defined $value;
  return $value ? 'True' : 'False' if JSON::PP::is_bool($value);
  return '[' . join(', ', @$value) . ']' if ref $value;
  return $value =~ /^-?[\d.]+(?:e-?\d+)?$/ ? $value + 0 : qq("$value");
}

# Truth values are numbers, and one number stands for one on each axis.
sub same {
  my @texts = @_;
  for (@texts) {
    s/^True$/1/;
    s/^False$/0/;
    s/^\[(-?[\d.]+)(?:, \1)*\]$/[$1]/;
  }
  return $texts[0] eq $texts[1];
}

# Attributes of ours that are not in the record which the reference registers
# for the operator, with our defaults: texts of older versions have them, or the
# operator is registered with the record of another.
my %unregistered = (
  'reshape reverse' => 'False',
  'contrib_reverse_reshape reverse' => 'True',
  'nn.pad pad_value' => 'None',
  'nn.contrib_dense_pack weight_layout' => '"NC"',
  'nn.avg_pool2d_grad count_include_pad' => 'False',
);

my (%registered, @rows, @changed);
for (split /\n/, slurp('tests/reference/attribute_defaults.tsv')) {
  next if /^#/;
  my ($op, $attr, $old, $new) = split /\t/;
  $registered{$op}{$attr} = $new eq '-' ? $old : $new;
  push @changed, [$op, $attr, $old, $new]
    if $old ne '-' && $new ne '-' && $old ne $new;
}
for my $row (@{json(rly('ops', '--json')->{out})}) {
  my $known = $registered{$row->{name}} or next;
  my (@wrong, %has);
  for my $attr (@{$row->{attributes}}) {
    my ($name, $key) = ($attr->{name}, "$row->{name} $attr->{name}");
    $has{$name} = 1;
    next if $attr->{type} eq 'ignored';
    my $is = $attr->{required} ? 'required' : text($attr->{default});
    $met{$key} = 1 if defined $ours{$key};
    my $wanted = $ours{$key} // $known->{$name} // delete $unregistered{$key};
    if (!defined $wanted) {
      push @wrong, "$name is not registered";
      next;
    }
    push @wrong, "$name is $is, not $wanted" if !same($is, $wanted);
    push @wrong, "$name needs no reason any more"
      if defined $ours{$key} && same($is, $known->{$name} // '');
  }
  push @wrong, "$_ is missing" for grep { !$has{$_} } sort keys %$known;
  push @rows, $row->{name};
  is_deeply(\@wrong, [], "$row->{name}");
}
cmp_ok(@rows, '>', 120, 'there are many');
is_deeply([sort keys %met], [sort keys %ours], 'each reason is of an operator');
is_deeply(\%unregistered, {}, 'and so is each attribute of no record');

# --- What changed between the versions, as docs/LANGUAGE.md tells it ----------

# Rows of the form | `operator` | `attribute` | `0.9` | `0.18` | ... |
my (undef, $told) = split /^## Defaults that changed$/m,
                          slurp('docs/LANGUAGE.md');
my @told = map { [map { s/^`|`$//gr } (split /\s*\|\s*/)[1 .. 4]] }
           grep { /^\| `/ } split /\n/, $told =~ s/^## .*//msr;
is_deeply([sort { "@$a" cmp "@$b" } @told],
          [sort { "@$a" cmp "@$b" }
           map { [map { s/^"|"$//gr =~ s/^required$/none/r } @$_] } @changed],
          'docs/LANGUAGE.md lists each default that changed, and no other');

done_testing();
