/* Rules of weights that a fast convolution has transformed, and of the
 * convolutions that take them.  These have the rule of nn.conv2d or nn.conv3d
 * on the weight as it was. */
#include "ops/rules/support.h"
#include "ops/rules/transformed.h"

enum { TILE_LEAST = 2, TILE_MOST = 8, KERNEL_LEAST = 3, KERNEL_MOST = 7 };

bool winograd_depth(int64_t depth) {
  return depth >= KERNEL_LEAST && depth <= KERNEL_MOST;
}

/* Are the kernel's sides equal and of a length that can be transformed?  Its
 * depth, the first of three, may be any other length. */
static bool kernel_fits(RuleCall *c, int culprit, int spatial, const Dim *k) {
  Dim side = k[spatial - 1];
  bool square = dim_equal(k[spatial - 2], side) != NO;
  bool deep =
      spatial == 3 && dim_is_number(k[0]) && winograd_depth(dim_value(k[0]));
  if (deep) square = square && dim_equal(k[0], side) != NO;
  if (square && !dim_below(side, KERNEL_LEAST) && !dim_above(side, KERNEL_MOST))
    return true;
  rule_error(c, E0303, culprit, "kernels are %s, of length %d to %d, not %s",
             spatial == 2 ? "squares"
                          : "cubes, or squares of another depth than these",
             KERNEL_LEAST, KERNEL_MOST, rule_dims_text(c, spatial, k));
  return false;
}

/* The transformed weight: (r, r, o, i), (r, r, r, o, i), or (r, r, d, o, i)
 * where the depth is not transformed; r = tile_size + k - 1. */
static void transformed_dims(RuleCall *c, int spatial, Dim o, Dim i,
                             const Dim *k, Dim *dims) {
  Dim tile = attr_int(c->attrs, ATTR_tile_size);
  Dim r = dim_sub(c->dims, dim_add(c->dims, tile, k[spatial - 1]), dim_of(1));
  bool known = dim_is_number(k[0]);
  dims[0] = dims[1] = r;
  if (spatial == 3)
    dims[2] = !known ? DIM_ANY : winograd_depth(dim_value(k[0])) ? r : k[0];
  dims[spatial] = o;
  dims[spatial + 1] = i;
}

static bool tile_fits(RuleCall *c) {
  int64_t tile;
  return rule_number(c, ATTR_tile_size, TILE_LEAST, TILE_MOST, &tile);
}

static RuleStatus transformed_weight(RuleCall *c, int spatial) {
  const RuleType *w = &c->args[0];
  Dim dims[RANK_MAX];
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_rank(c, 0, spatial + 2) ||
      !tile_fits(c) || !kernel_fits(c, 0, spatial, w->dims + 2))
    return RULE_ERROR;
  transformed_dims(c, spatial, w->dims[0], w->dims[1], w->dims + 2, dims);
  return rule_result(c, w->dtype, spatial + 2, dims);
}

/*   w : (o, i, k, k, t)    r = tile_size + k - 1
 *   -----------------------------------------------------------------------
 *   nn.contrib_conv2d_winograd_weight_transform(w) : (r, r, o, i, t)        */
RULE(winograd_weight,
     "(o, i, k..., t) -> (tile_size + k - 1..., o, i, t), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_winograd_weight(RuleCall *c) {
  return transformed_weight(c, 2);
}

/* The same of w : (o, i, d, k, k, t). */
RULE(winograd_weight_3d,
     "(o, i, k..., t) -> (tile_size + k - 1..., o, i, t), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_winograd_weight_3d(RuleCall *c) {
  return transformed_weight(c, 3);
}

/* --- Convolutions -------------------------------------------------------- */

/* The dimensions that a convolution's attributes give its weight: the input
 * channels are the data's. */
static bool own_weight(RuleCall *c, int spatial, const char *layout, Dim *dims,
                       Dim *inputs) {
  int64_t one;
  const AttrValue *k = attr_get(c->attrs, ATTR_kernel_size);
  const char *data = attr_text(c->attrs, ATTR_data_layout);
  const char *at = strchr(data, 'C');
  if (!rule_rank(c, 0, spatial + 2) || !rule_number(c, ATTR_groups, 1, 1, &one))
    return false;
  if (!attr_is_set(c->attrs, ATTR_channels) || k->count != spatial || !at ||
      at - data >= spatial + 2) {
    rule_error(c, E0303, -1,
               "needs `channels`, %d numbers in `kernel_size`, and the data's "
               "channels in `data_layout`",
               spatial);
    rule_hint(c, "a transformed weight does not tell them");
    return false;
  }
  *inputs = c->args[0].dims[at - data];
  for (int n = 0, s = 0; layout[n]; n++)
    dims[n] = layout[n] == 'O'   ? attr_int(c->attrs, ATTR_channels)
              : layout[n] == 'I' ? *inputs
                                 : k->ints[s++];
  return true;
}

/* Runs the rule of the convolution on a weight of `dims`. */
static RuleStatus on_own_weight(RuleCall *c, int spatial, const char *layout,
                                const Dim *dims) {
  RuleType args[] = {c->args[0],
                     rule_tensor(c->args[1].dtype, spatial + 2, dims)};
  RuleCall plain = *c;
  plain.op = op_info(spatial == 3 ? OP_NN_CONV3D : OP_NN_CONV2D);
  plain.named = c->op;
  Attrs *attrs = attrs_shared(c->arena, plain.op, c->attrs);
  attr_set_text(attrs, ATTR_kernel_layout, layout);
  plain.attrs = attrs;
  plain.args = args;
  RuleStatus status = op_rule(plain.op)->run(&plain);
  rule_adopt(c, &plain);
  c->result = plain.result;
  return status;
}

static RuleStatus transformed_conv(RuleCall *c, int spatial) {
  const char *layout = spatial == 3 ? "OIDHW" : "OIHW";
  Dim own[RANK_MAX], dims[RANK_MAX], inputs;
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_same_dtype(c, 0, 1) ||
      !tile_fits(c) || !own_weight(c, spatial, layout, own, &inputs) ||
      !kernel_fits(c, -1, spatial, own + 2))
    return RULE_ERROR;
  transformed_dims(c, spatial, own[0], own[1], own + 2, dims);
  if (!rule_fits(c, 1, spatial + 2, dims)) return RULE_ERROR;
  return on_own_weight(c, spatial, layout, own);
}

/*   x : (n, c, d, d, t)    w : a transformed weight (o, c, k, k, t)
 *   -----------------------------------------------------------------------
 *   nn.contrib_conv2d_winograd_without_weight_transform(x, w) : as nn.conv2d */
RULE(winograd_conv,
     "(n, c, d..., t), (tile_size + k - 1..., o, c, t) -> that of nn.conv2d, t "
     "floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_winograd_conv(RuleCall *c) {
  return transformed_conv(c, 2);
}

/* The same of three dimensions, as nn.conv3d. */
RULE(winograd_conv_3d,
     "(n, c, d..., t), (tile_size + k - 1..., o, c, t) -> that of nn.conv2d, t "
     "floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_winograd_conv_3d(RuleCall *c) {
  return transformed_conv(c, 3);
}

/* --- Tiles --------------------------------------------------------------- */

GemmTiles gemm_tiles(const Attrs *attrs, DType dtype) {
  bool old = attr_is_set(attrs, ATTR_tile_rows);
  GemmTiles t = {.turned = old || dtype_info[dtype].bits == 8};
  t.n = attr_number(attrs, old ? ATTR_tile_rows : ATTR_tile_N);
  t.k = attr_number(attrs, old ? ATTR_tile_cols : ATTR_tile_K);
  t.round = old ? t.k : 4 * t.k;
  return t;
}

/* Both attributes or none; small enough to compute with. */
static bool tiles_fit(RuleCall *c, AttrName n, AttrName k, bool *set) {
  int64_t number;
  *set = attr_is_set(c->attrs, n);
  if (*set != attr_is_set(c->attrs, k)) {
    rule_error(c, E0303, -1, "`%s` and `%s` belong together", attr_name_text(n),
               attr_name_text(k));
    return false;
  }
  return !*set || (rule_number(c, n, 1, STEP_MOST, &number) &&
                   rule_number(c, k, 1, STEP_MOST, &number));
}

/* n rounded up to a multiple, in parts. */
static Dim parts_of(RuleCall *c, Dim n, int64_t multiple, int64_t part) {
  Dim whole = dim_div_ceil(c->dims, n, multiple);
  return dim_mul(c->dims, whole, dim_of(multiple / part));
}

/*   w : (h, w, i, o, t)    tiles of n columns and k rows of (h * w * i, o)
 *   -----------------------------------------------------------------------
 *   nn.contrib_conv2d_gemm_weight_transform(w) :
 *     (columns / n, rows / k, k, n, t), with 8 bits (.., n, k, t)           */
RULE(gemm_weight,
     "(h, w, i, o, t) -> (tiles of o, tiles of h * w * i, tile..., t), t "
     "numeric",
     .takes = TAKES_NUMBER);
static RuleStatus rule_gemm_weight(RuleCall *c) {
  const RuleType *w = &c->args[0];
  bool now, before;
  if (!rule_class(c, 0, TAKES_NUMBER) || !rule_rank(c, 0, 4) ||
      !tiles_fit(c, ATTR_tile_N, ATTR_tile_K, &now) ||
      !tiles_fit(c, ATTR_tile_rows, ATTR_tile_cols, &before))
    return RULE_ERROR;
  if (now == before) {
    rule_error(c, E0303, -1, "needs the size of its tiles");
    return rule_hint(c,
                     "write tile_N=4, tile_K=16; in texts of TVM 0.9 these "
                     "are tile_rows and tile_cols");
  }
  GemmTiles t = gemm_tiles(c->attrs, w->dtype);
  Dim rows = dim_product(c->dims, 3, w->dims), columns = w->dims[3];
  Dim dims[] = {parts_of(c, columns, t.n, t.n), parts_of(c, rows, t.round, t.k),
                dim_of(t.turned ? t.n : t.k), dim_of(t.turned ? t.k : t.n)};
  return rule_result(c, w->dtype, 4, dims);
}

/*   x : (n, h, w, i, t)    w : tiles of (k..., i, o, t)
 *   -----------------------------------------------------------------------
 *   nn.contrib_conv2d_gemm_without_weight_transform(x, w) : as nn.conv2d    */
RULE(gemm_conv,
     "(n, h, w, i, t), (tiles of o, tiles of k * i, tile..., t) -> that of "
     "nn.conv2d, t numeric",
     .takes = TAKES_NUMBER);
static RuleStatus rule_gemm_conv(RuleCall *c) {
  Dim own[RANK_MAX], inputs;
  if (!rule_class(c, 0, TAKES_NUMBER) || !rule_same_dtype(c, 0, 1) ||
      !rule_rank(c, 1, 4) || !own_weight(c, 2, "HWIO", own, &inputs))
    return RULE_ERROR;
  const RuleType *w = &c->args[1];
  bool turned = dtype_info[w->dtype].bits == 8;
  Dim rows = dim_mul(c->dims, w->dims[1], w->dims[turned ? 3 : 2]);
  Dim columns = dim_mul(c->dims, w->dims[0], w->dims[turned ? 2 : 3]);
  if (dim_less(rows, dim_product(c->dims, 3, own)) || dim_less(columns, own[3]))
    return rule_error(c, E0209, 1, "tiles %s do not hold a weight of shape %s",
                      rule_shape(c, 1), rule_dims_text(c, 4, own));
  return on_own_weight(c, 2, "HWIO", own);
}
