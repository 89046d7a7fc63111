/* Windows (window.h), and the rules of poolings.
 *
 * Attributes of windows are lists of one number for all axes, or one for each;
 * padding may also have one for each side.  The functions below hide that: axis
 * k of D, H, W has a WindowAxis, and axes that an operator lacks have size,
 * stride and dilation 1.  Since a two-dimensional operator's axes are H and W,
 * its lists begin at k = 1: k - (SPATIAL_MAX - spatial) is the index into
 * them. */
#include "ops/rules/window.h"

#include "ops/rules/blocks.h"
#include "ops/rules/layout.h"
#include "ops/rules/support.h"

#include <string.h>

/* --- Attributes ---------------------------------------------------------- */

/* "NCHW" has two letters that are not spatial. */
int window_rank(const OpInfo *op, AttrName layout) {
  for (int i = 0; i < op->attr_count; i++)
    if (op->attrs[i].name == layout) return (int)strlen(op->attrs[i].text) - 2;
  return 0;
}

/* The spatial letters must occur in the order D, H, W and side by side: NHWC
 * and NCHW, but not NHCW.  Kernels merge spatial axes on that ground. */
bool axis_order(const char *text, char first, char second, int spatial,
                AxisOrder *order) {
  static const char letters[] = "DHW";
  Layout l;
  if (!layout_parse(text, &l) || l.rank != spatial + 2) return false;
  order->rank = l.rank;
  order->first = layout_axis(&l, first);
  order->second = layout_axis(&l, second);
  bool found = order->first >= 0 && order->second >= 0;
  for (int k = 0; k < SPATIAL_MAX; k++) {
    order->spatial[k] = layout_axis(&l, letters[k]);
    bool needed = k >= SPATIAL_MAX - spatial;
    found = found && (order->spatial[k] >= 0) == needed;
  }
  for (int k = SPATIAL_MAX - spatial; found && k < SPATIAL_MAX - 1; k++)
    found = order->spatial[k + 1] == order->spatial[k] + 1;
  return found;
}

/* A missing axis, attribute or item is `otherwise`; one number is for all
 * axes. */
Dim window_dim(const Attrs *attrs, AttrName name, int spatial, int k,
               Dim otherwise) {
  const AttrValue *v = attr_get(attrs, name);
  k -= SPATIAL_MAX - spatial;
  if (k < 0 || v->state != AV_SET || v->count < 1) return otherwise;
  return v->ints[v->count == 1 ? 0 : k % v->count];
}

int64_t window_value(const Attrs *attrs, AttrName name, int spatial, int k,
                     int64_t otherwise) {
  return dim_value(window_dim(attrs, name, spatial, k, dim_of(otherwise)));
}

bool window_count_is(const Attrs *attrs, AttrName name, int spatial,
                     bool both_sides) {
  const AttrValue *v = attr_get(attrs, name);
  if (v->state != AV_SET || v->count == 0) return true;
  return v->count == 1 || v->count == spatial ||
         (both_sides && v->count == 2 * spatial);
}

/* One number, or one for each axis; of padding also one for each side.  In one
 * dimension Relay's output_padding may have a second number. */
static bool holds_as_many(RuleCall *c, AttrName name, int spatial) {
  bool sides =
      name == ATTR_padding || (name == ATTR_output_padding && spatial == 1);
  if (window_count_is(c->attrs, name, spatial, sides)) return true;
  int most = sides ? 2 * spatial : spatial;
  const char *axes =
      sides && spatial > 1 ? arena_printf(c->arena, ", %d", spatial) : "";
  const char *last = most > 1 ? arena_printf(c->arena, " or %d", most) : "";
  rule_attr_error(c, E0303, name, "`%s` holds %d numbers, not 1%s%s",
                  attr_name_text(name), attr_get(c->attrs, name)->count, axes,
                  last);
  return false;
}

/* Lists are as long as the axes ask for.  The bounds keep what follows free of
 * overflow: two numbers below 2^31 multiply and add within int64. */
bool rule_windows(RuleCall *c, int spatial) {
  static const struct {
    AttrName name;
    int64_t least;
  } all[] = {
      {ATTR_strides, 1},        {ATTR_dilation, 1},    {ATTR_dilations, 1},
      {ATTR_padding, 0},        {ATTR_pool_size, 1},   {ATTR_kernel_size, 1},
      {ATTR_output_padding, 0}, {ATTR_output_size, 1},
  };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    if (!attrs_have(c->attrs, all[k].name)) continue;
    const AttrValue *v = attr_get(c->attrs, all[k].name);
    if (!holds_as_many(c, all[k].name, spatial)) return false;
    for (int i = 0; v->state == AV_SET && i < v->count; i++)
      if (!rule_in_range(c, all[k].name, v->ints[i], all[k].least, STEP_MOST))
        return false;
  }
  return true;
}

/* Padding on both sides: one value, one for each axis, or all those before
 * and then all those after. */
static void padding_axis(const Attrs *attrs, int spatial, int k,
                         WindowAxis *a) {
  const AttrValue *v = attr_get(attrs, ATTR_padding);
  a->before = window_value(attrs, ATTR_padding, spatial, k, 0);
  a->after = a->before;
  if (v->count == 2 * spatial && k >= SPATIAL_MAX - spatial)
    a->after = attr_item(v, k - (SPATIAL_MAX - spatial) + spatial);
}

void window_axes(const Attrs *attrs, int spatial,
                 WindowAxis axes[SPATIAL_MAX]) {
  AttrName dilation =
      attrs_have(attrs, ATTR_dilations) ? ATTR_dilations : ATTR_dilation;
  bool dilates = attrs_have(attrs, dilation);
  bool strides = attrs_have(attrs, ATTR_strides);
  for (int k = 0; k < SPATIAL_MAX; k++) {
    WindowAxis *a = &axes[k];
    a->stride = strides ? window_value(attrs, ATTR_strides, spatial, k, 1) : 1;
    a->dilation = dilates ? window_value(attrs, dilation, spatial, k, 1) : 1;
    padding_axis(attrs, spatial, k, a);
  }
}

/* Axes that are missing have length 1, and stride 0, which is never used. */
Tensor window_geometry(const Tensor *t, const AxisOrder *order) {
  Tensor g = *t;
  const int axes[5] = {order->first, order->second, order->spatial[0],
                       order->spatial[1], order->spatial[2]};
  g.rank = 5;
  for (int i = 0; i < 5; i++) {
    g.shape[i] = axes[i] < 0 ? 1 : t->shape[axes[i]];
    g.strides[i] = axes[i] < 0 ? 0 : t->strides[axes[i]];
  }
  return g;
}

/* floor((length + padding - reach) / stride) + 1, where reach = (size - 1) *
 * dilation + 1 elements are what a window spans.  For names only where the
 * division is exact, else `?`. */
Dim window_slides(DimTable *t, Dim length, Dim size, const WindowAxis *a) {
  Dim one = dim_of(1), padding = dim_of(a->before + a->after);
  Dim reach = dim_mul(t, dim_sub(t, size, one), dim_of(a->dilation));
  Dim room = dim_add(t, length, padding);
  room = dim_sub(t, room, dim_add(t, reach, one));
  if (dim_below(room, 0)) return dim_of(-1);
  return dim_add(t, dim_div_floor(t, room, a->stride), one);
}

/* --- Poolings ------------------------------------------------------------ */

/* How many windows fit; with `ceil`, also one that sticks out at the end.  What
 * rule_windows lets pass does not overflow: reach is below 2^62. */
static Dim window_count(DimTable *t, Dim length, const WindowAxis *a,
                        bool ceil) {
  int64_t reach = a->dilation * (a->size - 1) + 1;
  Dim room = dim_add(t, length, dim_of(a->before + a->after - reach));
  if (ceil) room = dim_add(t, room, dim_of(a->stride - 1));
  return dim_add(t, dim_div_floor(t, room, a->stride), dim_of(1));
}

/* Where the axes of the pooled operand i stand.  A pooling does not change the
 * layout, so an out_layout may only repeat it. */
static bool pool_order(RuleCall *c, int i, AxisOrder *order) {
  int spatial = window_rank(c->op, ATTR_layout);
  const char *layout = attr_text(c->attrs, ATTR_layout);
  const char *out = attr_text(c->attrs, ATTR_out_layout);
  if (*out && strcmp(out, layout)) {
    rule_attr_error(c, E0303, ATTR_out_layout,
                    "out_layout \"%s\" is not layout, \"%s\"", out, layout);
    return false;
  }
  if (axis_order(layout, 'N', 'C', spatial, order))
    return rule_rank(c, i, order->rank);
  rule_attr_error(c, E0303, ATTR_layout,
                  "layout \"%s\" is not N, C and %d axes in order", layout,
                  spatial);
  return false;
}

/* The product of the sizes must fit in 64 bits as well, since kernels count the
 * elements of a window. */
static bool pool_axes(RuleCall *c, int spatial, WindowAxis *axes) {
  if (!rule_windows(c, spatial)) return false;
  window_axes(c->attrs, spatial, axes);
  Dim elements = dim_of(1);
  for (int k = 0; k < SPATIAL_MAX; k++) {
    axes[k].size = window_value(c->attrs, ATTR_pool_size, spatial, k, 1);
    elements = dim_mul(NULL, elements, dim_of(axes[k].size));
  }
  if (dim_is_huge(elements)) {
    const AttrValue *v = attr_get(c->attrs, ATTR_pool_size);
    rule_attr_error(c, E0303, ATTR_pool_size,
                    "a window of `pool_size` %s is too large",
                    rule_dims_text(c, v->count, v->ints));
    return false;
  }
  return true;
}

/* The type of the pooled operand i: its spatial lengths become numbers of
 * windows. */
static bool pooled_shape(RuleCall *c, int i, RuleType *out) {
  AxisOrder order;
  WindowAxis axes[SPATIAL_MAX];
  if (!pool_order(c, i, &order) || !pool_axes(c, order.rank - 2, axes))
    return false;
  *out = c->args[i];
  bool ceil = attr_bool(c->attrs, ATTR_ceil_mode);
  for (int k = 0; k < SPATIAL_MAX; k++) {
    int axis = order.spatial[k];
    if (axis < 0) continue;
    out->dims[axis] = window_count(c->dims, out->dims[axis], &axes[k], ceil);
    if (!dim_below(out->dims[axis], 1)) continue;
    rule_error(c, E0209, i, "the window is larger than data %s",
               rule_shape(c, i));
    return false;
  }
  return true;
}

/*   x : (n, c, d..., t)    w windows of size k * dilation fit into d + padding
 *   ---------------------------------------------------------------------------
 *   nn.max_pool2d(x, pool_size=k, ...) : (n, c, w..., t)                    */
RULE(pool, "(n, c, d..., t) -> (n, c, number of windows..., t), t numeric",
     .takes = TAKES_NUMBER);
static RuleStatus plain_pool(RuleCall *c) {
  RuleType out;
  if (!rule_class(c, 0, TAKES_NUMBER) || !pooled_shape(c, 0, &out))
    return RULE_ERROR;
  return rule_result(c, out.dtype, out.rank, out.dims);
}

static RuleStatus rule_pool(RuleCall *c) {
  return rule_without_blocks(c, plain_pool);
}

/*   g : the type of pool(x)    x : (n, c, d..., t)
 *   -----------------------------------------------
 *   nn.max_pool2d_grad(g, x) : (n, c, d..., t)                              */
RULE(pool_grad,
     "(the pooled type), (n, c, d..., t) -> (n, c, d..., t), t numeric",
     .takes = TAKES_NUMBER);
/* The gradient's shape is checked against the pooling's own rule. */
static RuleStatus rule_pool_grad(RuleCall *c) {
  RuleType out;
  if (!rule_class(c, 1, TAKES_NUMBER) || !rule_same_dtype(c, 1, 0) ||
      !pooled_shape(c, 1, &out) || !rule_fits(c, 0, out.rank, out.dims))
    return RULE_ERROR;
  if (dtype_is_int(out.dtype))
    rule_warn(c,
              "gradients of integers are whole: shares of a window are "
              "truncated, as in Relay");
  return rule_result(c, out.dtype, c->args[1].rank, c->args[1].dims);
}

/*   x : (n, c, d..., t)    o lengths, of which missing ones are those of d
 *   ----------------------------------------------------------------------
 *   nn.adaptive_avg_pool2d(x, output_size=o) : (n, c, o..., t)
 *   nn.global_avg_pool2d(x)                  : (n, c, 1..., t)              */
RULE(adaptive_pool, "(n, c, d..., t) -> (n, c, output_size..., t), t numeric",
     .takes = TAKES_NUMBER);
/* output_size may be longer than the data: then windows overlap, down to one
 * element each.  Data without elements is refused. */
static RuleStatus plain_adaptive(RuleCall *c) {
  AxisOrder order;
  if (!rule_class(c, 0, TAKES_NUMBER) || !pool_order(c, 0, &order))
    return RULE_ERROR;
  RuleType out = c->args[0];
  bool global = !attrs_have(c->attrs, ATTR_output_size);
  if (!rule_windows(c, out.rank - 2)) return RULE_ERROR;
  for (int k = 0; k < SPATIAL_MAX; k++) {
    int axis = order.spatial[k];
    if (axis < 0) continue;
    if (dim_is(out.dims[axis], 0))
      return rule_error(c, E0209, 0, "data %s has no elements to pool",
                        rule_shape(c, 0));
    out.dims[axis] = global ? dim_of(1)
                            : window_dim(c->attrs, ATTR_output_size,
                                         out.rank - 2, k, out.dims[axis]);
  }
  return rule_result(c, out.dtype, out.rank, out.dims);
}

static RuleStatus rule_adaptive_pool(RuleCall *c) {
  return rule_without_blocks(c, plain_adaptive);
}
