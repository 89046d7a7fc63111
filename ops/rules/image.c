/* Rules of operators on images: resizing, sampling, windows that are compared.
 * Images are (n, c, h, w), or what the layout says; coordinates and boxes are
 * operands, whose values a rule does not see, so the kernels check them. */
#include "ops/rules/window.h"

#include "ops/rules/blocks.h"
#include "ops/rules/layout.h"
#include "ops/rules/support.h"

#include <math.h>

/* Where the axes of the layout stand, for data of that rank. */
static bool resize_order(RuleCall *c, AxisOrder *order) {
  int spatial = window_rank(c->op, ATTR_layout);
  const char *layout = attr_text(c->attrs, ATTR_layout);
  if (axis_order(layout, 'N', 'C', spatial, order))
    return rule_rank(c, 0, order->rank);
  rule_attr_error(c, E0303, ATTR_layout,
                  "layout \"%s\" is not N, C and %d axes in order", layout,
                  spatial);
  return false;
}

/*   x : (n, c, d..., t)
 *   ----------------------------------------------
 *   image.resize2d(x, size=s, out_dtype=u) : (n, c, s..., u)                */
RULE(resize, "(n, c, d..., t) -> (n, c, size..., t), t numeric",
     .takes = TAKES_NUMBER);
/* An axis without elements cannot get any: there is nothing to read. */
static RuleStatus plain_resize(RuleCall *c) {
  AxisOrder order;
  if (!resize_order(c, &order) || !rule_class(c, 0, TAKES_NUMBER))
    return RULE_ERROR;
  RuleType out = c->args[0];
  DType dtype = attr_dtype(c->attrs, ATTR_out_dtype);
  int spatial = out.rank - 2;
  const AttrValue *size = attr_get(c->attrs, ATTR_size);
  if (size->count != COUNT_UNKNOWN && size->count != spatial)
    return rule_attr_error(c, E0303, ATTR_size, "size holds %d numbers",
                           spatial);
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

static RuleStatus rule_resize(RuleCall *c) {
  return rule_without_blocks(c, plain_resize);
}

/* round(length * scale); `?` while either is not known, since the rounded
 * product is no polynomial.  -1 for what is negative, NaN or beyond 2^31. */
static Dim scaled(Dim length, const AttrValue *scale, bool known) {
  if (!dim_is_number(length) || !known) return DIM_ANY;
  double from = (double)dim_value(length), n = round(from * scale->real);
  return dim_of(n >= 0 && n < 0x1p31 ? (int64_t)n : -1);
}

/*   x : (n, c, d..., t)
 *   ----------------------------------------------------------------------
 *   nn.upsampling(x, scale_h, scale_w) : (n, c, round(d * scale)..., t)     */
RULE(upsampling, "(n, c, d..., t) -> (n, c, d * scale..., t), t numeric",
     .takes = TAKES_NUMBER);
/* A factor that is an expression is known at run time only (dims is NULL
 * then), unless it is a constant. */
static RuleStatus plain_upsampling(RuleCall *c) {
  static const AttrName scales[SPATIAL_MAX] = {ATTR_scale_d, ATTR_scale_h,
                                               ATTR_scale_w};
  AxisOrder order;
  if (!resize_order(c, &order) || !rule_class(c, 0, TAKES_NUMBER))
    return RULE_ERROR;
  RuleType out = c->args[0];
  for (int k = 0; k < SPATIAL_MAX; k++) {
    int axis = order.spatial[k];
    if (axis < 0) continue;
    const AttrValue *scale = attr_get(c->attrs, scales[k]);
    bool known = scale->operand < 0 || scale->known || c->dims == NULL;
    out.dims[axis] = scaled(out.dims[axis], scale, known);
    if (dim_below(out.dims[axis], 0))
      return rule_attr_error(c, E0303, scales[k], "%s is out of range",
                             attr_name_text(scales[k]));
  }
  return rule_result(c, out.dtype, out.rank, out.dims);
}

static RuleStatus rule_upsampling(RuleCall *c) {
  return rule_without_blocks(c, plain_upsampling);
}

/* An attribute of two lengths, of the result's rows and columns. */
static bool two_lengths(RuleCall *c, AttrName name, int64_t least) {
  const AttrValue *v = attr_get(c->attrs, name);
  if (v->count != 2)
    rule_attr_error(c, E0303, name, "%s holds two numbers, rows and columns",
                    attr_name_text(name));
  return v->count == 2 &&
         rule_in_range(c, name, v->ints[0], least, STEP_MOST) &&
         rule_in_range(c, name, v->ints[1], least, STEP_MOST);
}

/*   x : (n, c, h, w, t)    b : (m, 4)    i : (m, int)    t numeric
 *   ---------------------------------------------------------------------
 *   image.crop_and_resize(x, b, i, crop_size=s, out_dtype=u) : (m, c, s, u) */
RULE(crop_and_resize,
     "(n, c, h, w, t), (m, 4), (m, int) -> (m, c, crop_size, t), t numeric",
     .takes = TAKES_NUMBER);
/* A result for each box: the boxes and their image numbers are equally many. */
static RuleStatus rule_crop_and_resize(RuleCall *c) {
  AxisOrder order;
  const RuleType *boxes = &c->args[1];
  if (!resize_order(c, &order) || !rule_class(c, 0, TAKES_NUMBER) ||
      !rule_rank(c, 1, 2) || !rule_class(c, 1, TAKES_NUMBER) ||
      !rule_fits(c, 1, 2, (Dim[]){boxes->dims[0], dim_of(4)}) ||
      !rule_class(c, 2, TAKES_INT) || !rule_fits(c, 2, 1, boxes->dims) ||
      !two_lengths(c, ATTR_crop_size, 1))
    return RULE_ERROR;
  RuleType out = c->args[0];
  DType dtype = attr_dtype(c->attrs, ATTR_out_dtype);
  if (dtype == DT_BOOL)
    return rule_error(c, E0304, -1, "out_dtype is a number's");
  out.dims[order.first] = rule_meet(boxes->dims[0], c->args[2].dims[0]);
  for (int k = 0; k < 2; k++)
    out.dims[order.spatial[1 + k]] =
        attr_get(c->attrs, ATTR_crop_size)->ints[k];
  return rule_result(c, dtype == DTYPE_NONE ? out.dtype : dtype, out.rank,
                     out.dims);
}

/*   m : (n, 2, 3, t)    t floating-point
 *   --------------------------------------------------
 *   image.affine_grid(m, target_shape=s) : (n, 2, s, t)                     */
RULE(affine_grid, "(n, 2, 3, t) -> (n, 2, target_shape, t), t floating-point",
     .takes = TAKES_FLOAT);
/* At least two points along each axis, since they are spread from end to
 * end. */
static RuleStatus rule_affine_grid(RuleCall *c) {
  const RuleType *m = &c->args[0];
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_rank(c, 0, 3) ||
      !rule_fits(c, 0, 3, (Dim[]){m->dims[0], dim_of(2), dim_of(3)}) ||
      !two_lengths(c, ATTR_target_shape, 2))
    return RULE_ERROR;
  const Dim *s = attr_get(c->attrs, ATTR_target_shape)->ints;
  return rule_result(c, m->dtype, 4,
                     (Dim[]){m->dims[0], dim_of(2), s[0], s[1]});
}

/*   x : (n, c, d..., t)    g : (n, r, e...)    r axes in d, 2 or 3
 *   ---------------------------------------------------------------
 *   image.grid_sample(x, g) : (n, c, e..., t)                               */
RULE(grid_sample,
     "(n, c, d..., t), (n, rank of d, e...) -> (n, c, e..., t), t "
     "floating-point",
     .takes = TAKES_FLOAT);
/* The grid's second axis holds the coordinates, one for each spatial axis. */
static RuleStatus rule_grid_sample(RuleCall *c) {
  AxisOrder order;
  RuleType out = c->args[0];
  const RuleType *grid = &c->args[1];
  const char *layout = attr_text(c->attrs, ATTR_layout);
  int spatial = out.rank - 2;
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_class(c, 1, TAKES_FLOAT))
    return RULE_ERROR;
  if (spatial != 2 && spatial != 3)
    return rule_error(c, E0208, 0, "`data` must have rank 4 or 5, not shape %s",
                      rule_shape(c, 0));
  if (!axis_order(layout, 'N', 'C', spatial, &order)) {
    rule_attr_error(c, E0303, ATTR_layout,
                    "layout \"%s\" is not that of data %s", layout,
                    rule_shape(c, 0));
    return rule_hint(c, "write layout=\"%s\"", spatial == 2 ? "NCHW" : "NCDHW");
  }
  if (spatial == 3 && attr_word(c->attrs, ATTR_method) == GRID_CUBIC)
    return rule_attr_error(c, E0303, ATTR_method,
                           "bicubic is of images, not of volumes");
  if (!rule_rank(c, 1, out.rank)) return RULE_ERROR;
  Dim dims[RANK_MAX] = {out.dims[order.first], dim_of(spatial)};
  for (int k = 2; k < out.rank; k++) dims[k] = grid->dims[k];
  if (!rule_fits(c, 1, out.rank, dims)) return RULE_ERROR;
  out.dims[order.first] = rule_meet(dims[0], grid->dims[0]);
  for (int k = 0; k < spatial; k++)
    out.dims[order.spatial[SPATIAL_MAX - spatial + k]] = grid->dims[2 + k];
  return rule_result(c, out.dtype, out.rank, out.dims);
}

/* What an out_dtype says: a float of floats, an integer of integers; never
 * bool. */
static bool same_kind(RuleCall *c, DType from, DType *dtype) {
  *dtype = attr_dtype(c->attrs, ATTR_out_dtype);
  if (*dtype == DTYPE_NONE) *dtype = from;
  if (dtype_is_float(*dtype) == dtype_is_float(from) && *dtype != DT_BOOL)
    return true;
  rule_attr_error(c, E0304, ATTR_out_dtype, "cannot give %s from %s",
                  dtype_name(*dtype), dtype_name(from));
  return false;
}

/*   x : (n, c, h, w, t)    k : (c, a, b, t)    t numeric
 *   -----------------------------------------------------------------------
 *   image.dilation2d(x, k) : (n, c, windows of (a, b) that fit, t)          */
RULE(dilation2d,
     "(n, c, h, w, t), (c, k..., t) -> (n, c, number of windows..., t), t "
     "numeric",
     .takes = TAKES_NUMBER);
/* The layouts are checked before the operands, whose axes they name. */
static RuleStatus rule_dilation2d(RuleCall *c) {
  static const char letters[] = "IHW";
  const char *data = attr_text(c->attrs, ATTR_data_layout);
  const char *kernel = attr_text(c->attrs, ATTR_kernel_layout);
  RuleType out = c->args[0];
  WindowAxis axes[SPATIAL_MAX];
  AxisOrder order;
  Layout layout;
  bool good = layout_parse(kernel, &layout) && layout.rank == 3;
  for (int i = 0; i < 3 && good; i++)
    good = layout_axis(&layout, letters[i]) >= 0;
  if (!axis_order(data, 'N', 'C', 2, &order))
    return rule_attr_error(c, E0303, ATTR_data_layout,
                           "layout \"%s\" is no order of N, C, H, W", data);
  if (!good)
    return rule_attr_error(c, E0303, ATTR_kernel_layout,
                           "layout \"%s\" is no order of I, H, W", kernel);
  if (!rule_windows(c, 2)) return RULE_ERROR;
  window_axes(c->attrs, 2, axes);
  DType dtype;
  if (!rule_class(c, 0, TAKES_NUMBER) || !rule_rank(c, 0, 4) ||
      !rule_same_dtype(c, 0, 1) || !rule_rank(c, 1, 3) ||
      !same_kind(c, out.dtype, &dtype))
    return RULE_ERROR;
  const Dim *k = c->args[1].dims;
  Dim channels = k[layout_axis(&layout, 'I')];
  if (dim_equal(channels, out.dims[order.second]) == NO)
    return rule_error(c, E0209, 1,
                      "the kernel %s is not for the %s channels "
                      "of data %s",
                      rule_shape(c, 1),
                      rule_dim_text(c, out.dims[order.second]),
                      rule_shape(c, 0));
  out.dims[order.second] = rule_meet(out.dims[order.second], channels);
  for (int i = 1; i < 3; i++) {
    Dim size = k[layout_axis(&layout, letters[i])];
    Dim *length = &out.dims[order.spatial[i]];
    if (dim_below(size, 1))
      return rule_error(c, E0209, 1, "the kernel %s has no elements",
                        rule_shape(c, 1));
    *length = window_slides(c->dims, *length, size, &axes[i]);
    if (dim_below(*length, 0))
      return rule_error(c, E0209, 1,
                        "the kernel %s is larger than data %s with its padding",
                        rule_shape(c, 1), rule_shape(c, 0));
  }
  return rule_result(c, dtype, 4, out.dims);
}

/*   x : (n, c, h, w, t)    b : (m, 5)    t floating-point
 *   ------------------------------------------------------
 *   vision.roi_pool(x, b, pooled_size=s) : (m, c, s, t)                     */
RULE(roi, "(n, c, h, w, t), (m, 5) -> (m, c, pooled_size, t), t floating-point",
     .takes = TAKES_FLOAT);
/* A box is five numbers: its image, then two corners. */
static RuleStatus rule_roi(RuleCall *c) {
  AxisOrder order;
  RuleType out = c->args[0];
  const RuleType *boxes = &c->args[1];
  if (!resize_order(c, &order) || !rule_class(c, 0, TAKES_FLOAT) ||
      !rule_class(c, 1, TAKES_NUMBER) || !rule_rank(c, 1, 2) ||
      !rule_fits(c, 1, 2, (Dim[]){boxes->dims[0], dim_of(5)}) ||
      !two_lengths(c, ATTR_pooled_size, 1))
    return RULE_ERROR;
  out.dims[order.first] = boxes->dims[0];
  for (int k = 0; k < 2; k++)
    out.dims[order.spatial[1 + k]] =
        attr_get(c->attrs, ATTR_pooled_size)->ints[k];
  return rule_result(c, out.dtype, out.rank, out.dims);
}

/*   the same, with at most 4096 samples along an axis of a bin              */
RULE(roi_align,
     "(n, c, h, w, t), (m, 5) -> (m, c, pooled_size, t), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_roi_align(RuleCall *c) {
  int64_t samples;
  if (!rule_number(c, ATTR_sample_ratio, -STEP_MOST, 4096, &samples))
    return RULE_ERROR;
  return rule_roi(c);
}

/* Windows of data2 that a window of data1 is compared with, along an axis: at
 * distances -max_displacement .. max_displacement, stride2 apart, 0 among
 * them. */
static Dim displacements(RuleCall *c) {
  const Attrs *a = c->attrs;
  Dim reach = dim_div_floor(c->dims, attr_int(a, ATTR_max_displacement),
                            attr_number(a, ATTR_stride2));
  return dim_add(c->dims, dim_mul(c->dims, reach, dim_of(2)), dim_of(1));
}

/*   x, y : (n, c, h, w, t)    s displacements along an axis
 *   ---------------------------------------------------------------
 *   nn.correlation(x, y) : (n, s * s, places of windows..., t)              */
RULE(correlation,
     "2 times (n, c, h, w, t) -> (n, displacements, windows..., t), t "
     "floating-point",
     .takes = TAKES_FLOAT);
/* An odd kernel has a centre.  Around each centre `most` + kernel / 2 elements
 * must exist with the padding, which leaves ceil(room / stride1) centres. */
static RuleStatus rule_correlation(RuleCall *c) {
  RuleType x = c->args[0];
  int64_t kernel, most, stride1, stride2;
  WindowAxis axes[SPATIAL_MAX];
  DimTable *t = c->dims;
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_rank(c, 0, 4) ||
      !rule_same_dtype(c, 0, 1) || !rule_fits(c, 1, 4, x.dims) ||
      !rule_number(c, ATTR_kernel_size, 1, STEP_MOST, &kernel) ||
      !rule_number(c, ATTR_max_displacement, 0, STEP_MOST, &most) ||
      !rule_number(c, ATTR_stride1, 1, STEP_MOST, &stride1) ||
      !rule_number(c, ATTR_stride2, 1, STEP_MOST, &stride2))
    return RULE_ERROR;
  const AttrValue *padding = attr_get(c->attrs, ATTR_padding);
  for (int i = 0; i < padding->count; i++)
    if (!rule_in_range(c, ATTR_padding, padding->ints[i], 0, STEP_MOST))
      return RULE_ERROR;
  if (kernel % 2 == 0)
    return rule_attr_error(c, E0303, ATTR_kernel_size,
                           "kernel_size is odd, not %lld", (long long)kernel);
  if (!window_count_is(c->attrs, ATTR_padding, 2, true))
    return rule_attr_error(c, E0303, ATTR_padding,
                           "padding holds one, two or four numbers");
  window_axes(c->attrs, 2, axes);
  Dim side = displacements(c), dims[4] = {x.dims[0], dim_mul(t, side, side)};
  Dim border = dim_mul(t, dim_of(2), dim_of(most));
  border = dim_add(t, border, dim_of(kernel - 1));
  for (int k = 0; k < 2; k++) {
    const WindowAxis *a = &axes[1 + k];
    Dim length = rule_meet(x.dims[2 + k], c->args[1].dims[2 + k]);
    Dim room = dim_add(t, length, dim_of(a->before + a->after));
    room = dim_sub(t, room, border);
    if (dim_below(room, 0))
      return rule_error(c, E0209, 0,
                        "data %s with its padding has no room for windows "
                        "displaced by %lld",
                        rule_shape(c, 0), (long long)most);
    dims[2 + k] = dim_div_ceil(t, room, stride1);
  }
  dims[0] = rule_meet(dims[0], c->args[1].dims[0]);
  return rule_result(c, x.dtype, 4, dims);
}
