/* Rules of convolutions.
 *
 *   data    (n, c, d...)           in the order that data_layout gives
 *   weight  (o, c / groups, k...)  in that of kernel_layout
 *   result  (n, o, e...)           e = windows of k that fit into d + padding
 *
 * The rule is written once for one, two and three dimensions, for every layout,
 * and for both directions: Conv says where each axis stands, and Dims do the
 * arithmetic, so that lengths may be names.  The weight's shape may be unknown;
 * then it follows from channels, kernel_size and the data (`infers`). */
#include "ops/rules/conv.h"

#include "ops/rules/blocks.h"
#include "ops/rules/support.h"

#include <string.h>

/* The weight's letters.  Relay's releases call the kernel of a transposed
 * convolution OIW or OIDHW, and mean inputs first; for two dimensions the
 * letters mean what they say. */
static bool weight_order(const char *text, Conv *conv) {
  bool inputs_first =
      conv->transposed && conv->spatial != 2 && strncmp(text, "OI", 2) == 0;
  AxisOrder *w = &conv->weight;
  if (!axis_order(text, 'O', 'I', conv->spatial, w)) return false;
  if (inputs_first) {
    w->first = 1;
    w->second = 0;
  }
  return true;
}

/* A transposed convolution of two dimensions without a layout is ambiguous: TVM
 * 0.9 reads OIHW, later releases IOHW. */
static const char *kernel_layout(const Attrs *attrs, Conv *conv) {
  const char *text = attr_text(attrs, ATTR_kernel_layout);
  conv->either = conv->transposed && conv->spatial == 2 && !*text;
  return conv->either ? "IOHW" : text;
}

/* Decides an ambiguous weight by its dims: IOHW, unless only OIHW has the input
 * channels where they belong.  False while a dimension that would decide is not
 * known. */
bool conv_settle(Conv *conv, Dim inputs, Dim weight0, Dim weight1) {
  if (!conv->either) return true;
  Truth inputs_first = dim_equal(weight0, inputs);
  Truth outputs_first = dim_equal(weight1, inputs);
  if (inputs_first == MAYBE && outputs_first != NO) return false;
  if (inputs_first == NO && outputs_first == MAYBE) return false;
  if (inputs_first == NO && outputs_first == YES) {
    conv->weight.first = 0;
    conv->weight.second = 1;
  }
  return true;
}

/* NULL, or what is wrong with the attributes, in words for the user. */
AttrName conv_of(const Attrs *attrs, bool transposed, Conv *conv) {
  *conv = (Conv){.transposed = transposed};
  conv->spatial = window_rank(attrs->op, ATTR_data_layout);
  conv->groups = attr_number(attrs, ATTR_groups);
  if (!axis_order(attr_text(attrs, ATTR_data_layout), 'N', 'C', conv->spatial,
                  &conv->data))
    return ATTR_data_layout;
  if (!weight_order(kernel_layout(attrs, conv), conv))
    return ATTR_kernel_layout;
  const char *out = attr_text(attrs, ATTR_out_layout);
  conv->out = conv->data;
  if (*out && !axis_order(out, 'N', 'C', conv->spatial, &conv->out))
    return ATTR_out_layout;
  window_axes(attrs, conv->spatial, conv->axes);
  return ATTR_NONE;
}

static bool conv_read(RuleCall *c, bool transposed, Conv *conv) {
  AttrName wrong = conv_of(c->attrs, transposed, conv);
  if (wrong == ATTR_NONE) return true;
  rule_attr_error(c, E0303, wrong, "%s is an order of %s and the spatial axes",
                  attr_name_text(wrong),
                  wrong == ATTR_kernel_layout ? "O, I" : "N, C");
  return false;
}

/* A dimension of the weight; a hole while its type is not known. */
static Dim weight_dim(RuleCall *c, int rank, int axis) {
  const RuleType *w = &c->args[1];
  bool known = w->kind == RT_TENSOR && w->rank == rank;
  return known ? w->dims[axis] : DIM_HOLE;
}

/* One group for each input channel: then the weight may also be written as
 * (inputs, channels / inputs, k...), which is how Relay has it. */
static bool is_depthwise(RuleCall *c, const Conv *conv) {
  Dim inputs = c->args[0].dims[conv->data.second];
  return !conv->transposed && conv->groups > 1 &&
         dim_equal(inputs, dim_of(conv->groups)) == YES;
}

/* The number of output channels that the weight tells. */
static Dim weight_channels(RuleCall *c, const Conv *conv) {
  Dim own = weight_dim(c, conv->spatial + 2, conv->weight.first);
  Dim other = weight_dim(c, conv->spatial + 2, conv->weight.second);
  if (is_depthwise(c, conv)) return dim_mul(c->dims, own, other);
  return conv->transposed ? dim_mul(c->dims, own, dim_of(conv->groups)) : own;
}

/* The attribute, or what the weight tells; the run compares the two where the
 * attribute is not known before. */
static Dim channels_of(RuleCall *c, const Conv *conv) {
  if (!attr_is_set(c->attrs, ATTR_channels)) return weight_channels(c, conv);
  Dim channels = attr_int(c->attrs, ATTR_channels);
  if (!dim_is_any(channels)) return channels;
  Dim told = weight_channels(c, conv);
  return dim_is_hole(told) ? channels : told;
}

/* The weight's shape: (channels, inputs / groups, k...), of a transposed
 * convolution (inputs, channels / groups, k...), in its layout's order.  Checks
 * a weight that is known, fills in one that is not. */
static bool conv_weight(RuleCall *c, const Conv *conv, Dim channels) {
  const RuleType *x = &c->args[0];
  Dim inputs = x->dims[conv->data.second], dims[RANK_MAX];
  bool bad_inputs = false, bad_channels = false;
  Dim groups = dim_of(conv->groups);
  Dim group_inputs = dim_div_exact(c->dims, inputs, groups, &bad_inputs);
  Dim group_channels = dim_div_exact(c->dims, channels, groups, &bad_channels);
  if (bad_inputs || bad_channels) {
    rule_error(c, E0209, 0,
               "%s input and %s output channels do not divide "
               "into %lld groups",
               rule_dim_text(c, inputs), rule_dim_text(c, channels),
               (long long)conv->groups);
    return false;
  }
  dims[conv->weight.first] = conv->transposed ? group_channels : channels;
  dims[conv->weight.second] = conv->transposed ? inputs : group_inputs;
  Dim own = weight_dim(c, conv->spatial + 2, conv->weight.first);
  if (is_depthwise(c, conv) && dim_equal(own, channels) != YES) {
    dims[conv->weight.first] = inputs;
    dims[conv->weight.second] = group_channels;
  }
  for (int k = SPATIAL_MAX - conv->spatial; k < SPATIAL_MAX; k++) {
    int axis = conv->weight.spatial[k];
    dims[axis] = window_dim(c->attrs, ATTR_kernel_size, conv->spatial, k,
                            weight_dim(c, conv->spatial + 2, axis));
  }
  return rule_expect(c, 1, rule_weight_dtype(c), conv->spatial + 2, dims);
}

/* The length of the result along an axis, from the kernel's k there:
 *
 *   convolution  floor((length + padding - reach) / stride) + 1
 *   transposed   (length - 1) * stride + reach + output_padding - padding
 *
 * with reach = (k - 1) * dilation + 1.  The transposed length is that of the
 * data from which the convolution would give `length`; output_padding chooses
 * among the several that would. */
static Dim conv_length(RuleCall *c, const Conv *conv, int axis, Dim length,
                       Dim k) {
  const WindowAxis *a = &conv->axes[axis];
  DimTable *t = c->dims;
  if (!conv->transposed) return window_slides(t, length, k, a);
  Dim one = dim_of(1), padding = dim_of(a->before + a->after);
  Dim reach = dim_mul(t, dim_sub(t, k, one), dim_of(a->dilation));
  reach = dim_add(t, reach, one);
  Dim full = dim_mul(t, dim_sub(t, length, one), dim_of(a->stride));
  full = dim_add(t, full, reach);
  Dim extra =
      window_dim(c->attrs, ATTR_output_padding, conv->spatial, axis, dim_of(0));
  return dim_sub(t, dim_add(t, full, extra), padding);
}

/* Finds which of the weight's first two axes holds the input channels.  False
 * when the dimensions do not tell that yet. */
static bool settle_weight(RuleCall *c, Conv *conv) {
  Dim inputs = c->args[0].dims[conv->data.second];
  Dim first = weight_dim(c, 4, 0), second = weight_dim(c, 4, 1);
  if (!conv->either || dim_is_hole(first)) return true;
  bool settled = conv_settle(conv, inputs, first, second);
  if (dim_equal(first, inputs) == YES && dim_equal(second, inputs) == YES)
    rule_warn(c,
              "the weight %s is read as IOHW; in texts of TVM 0.9 it is "
              "OIHW: say so by `kernel_layout`",
              rule_shape(c, 1));
  return settled;
}

/* The order matters for messages: attributes first, then the data, then the
 * weight, then the lengths, so that a mistake is reported where it was made. */
static RuleStatus plain_conv_rule(RuleCall *c, bool transposed) {
  Conv conv;
  int64_t groups;
  int spatial = window_rank(c->op, ATTR_data_layout);
  if (!rule_windows(c, spatial) ||
      !rule_number(c, ATTR_groups, 1, INT64_MAX, &groups))
    return RULE_ERROR;
  if (attr_is_set(c->attrs, ATTR_channels) &&
      !rule_in_range(c, ATTR_channels, attr_int(c->attrs, ATTR_channels), 0,
                     INT64_MAX))
    return RULE_ERROR;
  if (!conv_read(c, transposed, &conv)) return RULE_ERROR;
  if (transposed && conv.spatial == 1 &&
      attr_get(c->attrs, ATTR_output_padding)->count == 2)
    rule_warn(c,
              "of two numbers in `output_padding` the first counts, as in "
              "Relay");
  if (!rule_rank(c, 0, conv.spatial + 2) || !rule_class(c, 0, TAKES_NUMBER))
    return RULE_ERROR;
  bool settled = settle_weight(c, &conv);
  Dim channels = channels_of(c, &conv);
  if (!settled && !attr_is_set(c->attrs, ATTR_channels)) channels = DIM_ANY;
  if (settled && !conv_weight(c, &conv, channels)) return RULE_ERROR;
  const RuleType *x = &c->args[0];
  DType dtype = attr_dtype(c->attrs, ATTR_out_dtype);
  if (dtype == DTYPE_NONE) dtype = x->dtype;
  if (dtype_is_float(dtype) != dtype_is_float(x->dtype) || dtype == DT_BOOL)
    return rule_error(c, E0304, -1, "cannot give %s from %s", dtype_name(dtype),
                      dtype_name(x->dtype));
  Dim out[RANK_MAX];
  out[conv.out.first] = x->dims[conv.data.first];
  out[conv.out.second] = channels;
  for (int k = SPATIAL_MAX - conv.spatial; k < SPATIAL_MAX; k++) {
    Dim size = c->args[1].dims[conv.weight.spatial[k]];
    Dim *to = &out[conv.out.spatial[k]];
    if (dim_below(size, 1))
      return rule_error(c, E0209, 1, "the kernel %s has no elements",
                        rule_shape(c, 1));
    *to = conv_length(c, &conv, k, x->dims[conv.data.spatial[k]], size);
    if (dim_below(*to, 0))
      return rule_error(c, E0209, 1,
                        "the kernel %s is larger than data %s "
                        "with its padding",
                        rule_shape(c, 1), rule_shape(c, 0));
  }
  return rule_result(c, dtype, x->rank, out);
}

static RuleStatus plain_conv(RuleCall *c) { return plain_conv_rule(c, false); }
static RuleStatus plain_transposed(RuleCall *c) {
  return plain_conv_rule(c, true);
}

/*   x : (n, c, d..., t)    w : (o, c / groups, k..., t)
 *   -------------------------------------------------------------------------
 *   nn.conv2d(x, w) :
 *     (n, o, floor((d + padding - dilation * (k - 1) - 1) / stride) + 1, t) */
RULE(conv,
     "(n, c, d..., t), (o, c / groups, k..., t) -> (n, o, (d + padding - "
     "dilation * (k - 1) - 1) / stride + 1, t), t numeric",
     .takes = TAKES_NUMBER);
static RuleStatus rule_conv(RuleCall *c) {
  return rule_without_blocks(c, plain_conv);
}

/*   x : (n, c, d..., t)    w : (c, o / groups, k..., t)
 *   -------------------------------------------------------------------------
 *   nn.conv2d_transpose(x, w) : (n, o, (d - 1) * stride + dilation * (k - 1)
 *       + 1 - padding + output_padding, t)                                  */
RULE(conv_transpose,
     "(n, c, d..., t), (c, o / groups, k..., t) -> (n, o, (d - 1) * stride + "
     "dilation * (k - 1) + 1 - padding + output_padding, t), t numeric",
     .takes = TAKES_NUMBER);
static RuleStatus rule_conv_transpose(RuleCall *c) {
  return rule_without_blocks(c, plain_transposed);
}

/* Is the gradient's shape that of the convolution with kernels of size k?  The
 * kernel's size cannot be computed from the shapes, since the floor in the
 * length loses it: several sizes give the same result. */
static bool grad_fits(RuleCall *c, const WindowAxis *axes, const Dim *k) {
  const Dim *g = c->args[0].dims, *x = c->args[1].dims;
  DimTable *t = c->dims;
  bool fits = dim_equal(g[0], x[0]) != NO;
  for (int i = 0; i < 2; i++) {
    const WindowAxis *a = &axes[SPATIAL_MAX - 2 + i];
    Dim one = dim_of(1), before_last = dim_sub(t, k[i], one);
    Dim room = dim_add(t, x[2 + i], dim_of(a->before + a->after - 1));
    room = dim_sub(t, room, dim_mul(t, before_last, dim_of(a->dilation)));
    Dim length = dim_add(t, dim_div_floor(t, room, a->stride), one);
    fits = fits && dim_equal(g[2 + i], length) != NO;
  }
  if (fits) return true;
  rule_error(c, E0209, 0,
             "gradient %s is not that of a convolution of data %s "
             "with kernels (%s, %s)",
             rule_shape(c, 0), rule_shape(c, 1), rule_dim_text(c, k[0]),
             rule_dim_text(c, k[1]));
  return false;
}

/*   g : (n, o, e..., t)    x : (n, c, d..., t)    e the result's shape
 *   -------------------------------------------------------------------
 *   nn.conv2d_backward_weight(g, x, kernel_size=k) : (o, c / groups, k, t)  */
RULE(conv_backward_weight,
     "(n, o, e..., t), (n, c, d..., t) -> (o, c / groups, k..., t), t numeric",
     .takes = TAKES_NUMBER);
/* O and I / G as in the convolution whose weight this is; k is the
 * attribute's. */
static RuleStatus rule_conv_backward_weight(RuleCall *c) {
  WindowAxis axes[SPATIAL_MAX];
  const AttrValue *k = attr_get(c->attrs, ATTR_kernel_size);
  int64_t groups;
  if (!rule_number(c, ATTR_groups, 1, INT64_MAX, &groups) ||
      !rule_windows(c, 2) || !rule_rank(c, 0, 4) || !rule_rank(c, 1, 4) ||
      !rule_class(c, 0, TAKES_NUMBER) || !rule_same_dtype(c, 0, 1))
    return RULE_ERROR;
  if (k->count != 2)
    return rule_attr_error(c, E0303, ATTR_kernel_size,
                           "kernel_size holds two numbers");
  window_axes(c->attrs, 2, axes);
  Dim outputs = c->args[0].dims[1], inputs = c->args[1].dims[1];
  bool inexact = false;
  dim_div_exact(c->dims, outputs, dim_of(groups), &inexact);
  Dim own = dim_div_exact(c->dims, inputs, dim_of(groups), &inexact);
  if (inexact)
    return rule_error(c, E0209, 0,
                      "%s input and %s output channels do not "
                      "divide into %lld groups",
                      rule_dim_text(c, inputs), rule_dim_text(c, outputs),
                      (long long)groups);
  if (!grad_fits(c, axes, k->ints)) return RULE_ERROR;
  return rule_result(c, c->args[0].dtype, 4,
                     (Dim[]){outputs, own, k->ints[0], k->ints[1]});
}

/*   x : (n, c, d..., t)    w : (o, c / groups, k..., t)    e the result's d
 *   offset : (n, 2 * k0 * k1 * deformable_groups, e..., t)
 *   ----------------------------------------------------------------------
 *   nn.deformable_conv2d(x, offset, w) : (n, o, e..., t)                    */
RULE(deformable_conv,
     "(n, c, d..., t), (n, 2 * elements of k * deformable_groups, e..., t), "
     "(o, c / groups, k..., t) -> (n, o, e..., t), t floating-point",
     .takes = TAKES_FLOAT);
/* Offsets are inferred like the weight: their shape follows from the
 * result's. */
static RuleStatus rule_deformable_conv(RuleCall *c) {
  Conv conv;
  int64_t groups, shared;
  DimTable *t = c->dims;
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_windows(c, 2) ||
      !rule_number(c, ATTR_groups, 1, INT64_MAX, &groups) ||
      !rule_number(c, ATTR_deformable_groups, 1, INT64_MAX, &shared))
    return RULE_ERROR;
  if (!conv_read(c, false, &conv)) return RULE_ERROR;
  const RuleType *x = &c->args[0], *w = &c->args[2];
  if (!rule_rank(c, 0, 4)) return RULE_ERROR;
  bool known = w->kind == RT_TENSOR && w->rank == 4;
  Dim inputs = x->dims[conv.data.second];
  Dim channels = known ? w->dims[conv.weight.first] : DIM_HOLE;
  if (attr_is_set(c->attrs, ATTR_channels))
    channels = rule_meet(attr_int(c->attrs, ATTR_channels), channels);
  bool inexact = false;
  Dim own = dim_div_exact(t, inputs, dim_of(groups), &inexact);
  dim_div_exact(t, channels, dim_of(groups), &inexact);
  dim_div_exact(t, inputs, dim_of(shared), &inexact);
  if (inexact)
    return rule_error(c, E0209, 0,
                      "%s input and %s output channels do not divide into "
                      "%lld groups and %lld deformable groups",
                      rule_dim_text(c, inputs), rule_dim_text(c, channels),
                      (long long)groups, (long long)shared);
  Dim weight[4], offset[4], out[4],
      places = dim_mul(t, dim_of(2), dim_of(shared));
  weight[conv.weight.first] = channels;
  weight[conv.weight.second] = own;
  for (int k = 1; k < SPATIAL_MAX; k++) {
    int axis = conv.weight.spatial[k];
    weight[axis] = window_dim(c->attrs, ATTR_kernel_size, 2, k,
                              known ? w->dims[axis] : DIM_HOLE);
  }
  if (!rule_expect(c, 2, x->dtype, 4, weight)) return RULE_ERROR;
  for (int k = 1; k < SPATIAL_MAX; k++) {
    Dim size = c->args[2].dims[conv.weight.spatial[k]];
    Dim length = x->dims[conv.data.spatial[k]];
    Dim windows = window_slides(t, length, size, &conv.axes[k]);
    if (dim_below(size, 1) || dim_below(windows, 0))
      return rule_error(c, E0209, 2,
                        "the kernel %s has no elements, or is larger than data "
                        "%s with its padding",
                        rule_shape(c, 2), rule_shape(c, 0));
    places = dim_mul(t, places, size);
    offset[conv.data.spatial[k]] = out[conv.out.spatial[k]] = windows;
  }
  offset[conv.data.first] = out[conv.out.first] = x->dims[conv.data.first];
  offset[conv.data.second] = places;
  out[conv.out.second] = c->args[2].dims[conv.weight.first];
  if (!rule_expect(c, 1, x->dtype, 4, offset)) return RULE_ERROR;
  DType dtype = attr_dtype(c->attrs, ATTR_out_dtype);
  if (dtype == DTYPE_NONE) dtype = x->dtype;
  if (!dtype_is_float(dtype))
    return rule_error(c, E0304, -1, "cannot give %s from %s", dtype_name(dtype),
                      dtype_name(x->dtype));
  return rule_result(c, dtype, 4, out);
}
