/* Rules of operators on images: resizing, sampling, windows that are compared.
 * Images are (n, c, h, w), or what the layout says; coordinates and boxes are
 * operands, whose values a rule does not see, so the kernels check them. */
#include "ops/rules/window.h"

#include "ops/rules/support.h"

#include <math.h>

/* Where the axes of the layout stand, for data of that rank. */
static bool resize_order(RuleCall *c, AxisOrder *order) {
  int spatial = window_rank(c->op, ATTR_layout);
  const char *layout = attr_text(c->attrs, ATTR_layout);
  if (axis_order(layout, 'N', 'C', spatial, order))
    return rule_rank(c, 0, order->rank);
  rule_error(c, E0303, -1, "layout \"%s\" is not N, C and %d axes in order",
             layout, spatial);
  return false;
}

/*   x : (n, c, d..., t)
 *   ----------------------------------------------
 *   image.resize2d(x, size=s, out_dtype=u) : (n, c, s..., u)                */
RULE(resize, "(n, c, d..., t) -> (n, c, size..., t), t numeric",
     .takes = TAKES_NUMBER);
/* An axis without elements cannot get any: there is nothing to read. */
static RuleStatus rule_resize(RuleCall *c) {
  AxisOrder order;
  if (!resize_order(c, &order) || !rule_class(c, 0, TAKES_NUMBER))
    return RULE_ERROR;
  RuleType out = c->args[0];
  DType dtype = attr_dtype(c->attrs, ATTR_out_dtype);
  int spatial = out.rank - 2;
  const AttrValue *size = attr_get(c->attrs, ATTR_size);
  if (size->count != COUNT_UNKNOWN && size->count != spatial)
    return rule_error(c, E0303, -1, "size holds %d numbers", spatial);
  for (int k = SPATIAL_MAX - spatial; k < SPATIAL_MAX; k++) {
    Dim n = size->count < 0 ? DIM_ANY : size->ints[k - (SPATIAL_MAX - spatial)];
    int axis = order.spatial[k];
    if (dim_below(n, 0) || (dim_above(n, 0) && dim_is(out.dims[axis], 0)))
      return rule_error(c, E0303, 0,
                        "axis %d of data %s cannot have length "
                        "%s",
                        axis, rule_shape(c, 0), rule_dim_text(c, n));
    out.dims[axis] = n;
  }
  if (dtype == DT_BOOL)
    return rule_error(c, E0304, -1, "out_dtype is a number's");
  return rule_result(c, dtype == DTYPE_NONE ? out.dtype : dtype, out.rank,
                     out.dims);
}

/* round(length * scale); `?` while either is not known. */
static Dim scaled(Dim length, const AttrValue *scale, bool known) {
  if (!dim_is_number(length) || !known) return DIM_ANY;
  double from = (double)dim_value(length), n = round(from * scale->real);
  return dim_of(n >= 0 && n < 0x1p31 ? (int64_t)n : -1);
}

/*   x : (n, c, h, w, t)
 *   ----------------------------------------------------------------------
 *   nn.upsampling(x, scale_h, scale_w) :
 *       (n, c, round(h * scale_h), round(w * scale_w), t)                   */
RULE(upsampling,
     "(n, c, h, w, t) -> (n, c, h * scale_h, w * scale_w, t), t numeric",
     .takes = TAKES_NUMBER);
/* A factor that is an expression is known at run time only (dims is NULL
 * then). */
static RuleStatus rule_upsampling(RuleCall *c) {
  static const AttrName scales[2] = {ATTR_scale_h, ATTR_scale_w};
  AxisOrder order;
  if (!resize_order(c, &order) || !rule_class(c, 0, TAKES_NUMBER))
    return RULE_ERROR;
  RuleType out = c->args[0];
  for (int k = 0; k < 2; k++) {
    const AttrValue *scale = attr_get(c->attrs, scales[k]);
    int axis = order.spatial[k + 1];
    bool known = scale->operand < 0 || c->dims == NULL;
    out.dims[axis] = scaled(out.dims[axis], scale, known);
    if (dim_below(out.dims[axis], 0))
      return rule_error(c, E0303, -1, "%s is out of range",
                        attr_name_text(scales[k]));
  }
  return rule_result(c, out.dtype, out.rank, out.dims);
}
