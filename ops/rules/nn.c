/* Rules of neural-network layers: products, normalisation, activations. */
#include "ops/rules/blocks.h"
#include "ops/rules/support.h"

#include <string.h>

static DType out_dtype(const RuleCall *c) {
  DType dtype = attr_dtype(c->attrs, ATTR_out_dtype);
  return dtype == DTYPE_NONE ? c->args[0].dtype : dtype;
}

/* A product's result: the dtype asked for, of the operands' kind. */
static RuleStatus product_result(RuleCall *c, int rank, const Dim *dims) {
  DType in = c->args[0].dtype, out = out_dtype(c);
  if (!rule_class(c, 0, TAKES_NUMBER)) return RULE_ERROR;
  if (dtype_is_float(in) != dtype_is_float(out) || out == DT_BOOL)
    return rule_error(c, E0304, -1, "cannot give %s from %s", dtype_name(out),
                      dtype_name(in));
  return rule_result(c, out, rank, dims);
}

/* The number of outputs: an attribute, else the weight's own, when known. */
static Dim units_of(RuleCall *c, int rank, int axis) {
  const RuleType *w = &c->args[1];
  bool known = w->kind == RT_TENSOR && w->rank == rank;
  if (!attr_is_set(c->attrs, ATTR_units))
    return known ? w->dims[axis] : DIM_HOLE;
  Dim units = attr_int(c->attrs, ATTR_units);
  return known && dim_is_any(units) ? w->dims[axis] : units;
}

/* A product's operands disagree: says what was expected of the second, whose
 * axis `k` is reduced, and whether it is merely transposed. */
static RuleStatus product_error(RuleCall *c, Dim *expected, int k) {
  const RuleType *w = &c->args[1];
  if (!attr_is_set(c->attrs, ATTR_units)) expected[!k] = DIM_ANY;
  if (dim_equal(w->dims[!k], expected[k]) == YES &&
      dim_equal(w->dims[k], expected[!k]) != NO)
    rule_hint(c, "it looks transposed: write transpose(...)");
  rule_error(c, c->code, 1, "data %s needs a weight of shape %s, not %s",
             rule_shape(c, 0), rule_dims_text(c, 2, expected),
             rule_shape(c, 1));
  c->other = 0;
  return RULE_ERROR;
}

/*   x : (d..., k, t)    w : (n, k, t)
 *   ----------------------------------------------------------
 *   nn.dense(x, w, units=n, out_dtype=u) : (d..., n, u), u = t by default   */
RULE(dense, "(d..., k, t), (units, k, t) -> (d..., units, t), t numeric",
     .takes = TAKES_NUMBER);
static RuleStatus rule_dense(RuleCall *c) {
  if (!rule_min_rank(c, 0, 1)) return RULE_ERROR;
  RuleType x = c->args[0];
  Dim expected[2] = {units_of(c, 2, 0), x.dims[x.rank - 1]};
  DType dtype = rule_weight_dtype(c);
  if (!rule_expect(c, 1, dtype, 2, expected))
    return c->args[1].rank == 2 && c->args[1].dtype == dtype
               ? product_error(c, expected, 1)
               : RULE_ERROR;
  x.dims[x.rank - 1] = rule_meet(expected[0], c->args[1].dims[0]);
  return product_result(c, x.rank, x.dims);
}

/*   x : (m, k, t)    w : (n, k, t) in blocks of layout l
 *   -------------------------------------------------------------
 *   nn.contrib_dense_pack(x, w, weight_layout=l) : (m, n, t)                */
RULE(dense_pack, "(m, k, t), (n, k, t) in blocks -> (m, n, t), t numeric",
     .takes = TAKES_NUMBER);
static RuleStatus rule_dense_pack(RuleCall *c) {
  return rule_dense_in_blocks(c, rule_dense);
}

/*   a : (d..., m, k, t)    b : (k, n, t)    (either transposed on request)
 *   -----------------------------------------------------------------------
 *   nn.matmul(a, b) : (d..., m, n, t)                                       */
RULE(matmul, "(d..., m, k, t), (k, n, t) -> (d..., m, n, t), t numeric",
     .takes = TAKES_NUMBER);
static RuleStatus rule_matmul(RuleCall *c) {
  bool ta = attr_bool(c->attrs, ATTR_transpose_a);
  bool tb = attr_bool(c->attrs, ATTR_transpose_b);
  if (!rule_min_rank(c, 0, ta ? 2 : 1)) return RULE_ERROR;
  RuleType a = c->args[0];
  Dim k = a.dims[a.rank - 1 - ta], expected[2];
  expected[tb] = k;
  expected[!tb] = units_of(c, 2, !tb);
  DType dtype = rule_weight_dtype(c);
  if (!rule_expect(c, 1, dtype, 2, expected))
    return c->args[1].rank == 2 && c->args[1].dtype == dtype
               ? product_error(c, expected, tb)
               : RULE_ERROR;
  if (ta) a.dims[a.rank - 2] = a.dims[a.rank - 1];
  a.dims[a.rank - 1] = rule_meet(expected[!tb], c->args[1].dims[!tb]);
  return product_result(c, a.rank, a.dims);
}

/*   a : (p, m, k, t)    b : (q, k, n, t)    p ^ q = r
 *   --------------------------------------------------
 *   nn.batch_matmul(a, b) : (r, m, n, t)   (either transposed on request)   */
RULE(batch_matmul, "(b, m, k, t), (b, k, n, t) -> (b, m, n, t), t numeric",
     .takes = TAKES_NUMBER);
static RuleStatus rule_batch_matmul(RuleCall *c) {
  if (!rule_rank(c, 0, 3) || !rule_rank(c, 1, 3)) return RULE_ERROR;
  if (c->args[1].dtype != rule_weight_dtype(c) && !rule_same_dtype(c, 0, 1))
    return RULE_ERROR;
  const Dim *a = c->args[0].dims, *b = c->args[1].dims;
  bool ta = attr_bool(c->attrs, ATTR_transpose_a);
  bool tb = attr_bool(c->attrs, ATTR_transpose_b);
  Dim k = a[ta ? 1 : 2], other = b[tb ? 2 : 1];
  RuleType p = rule_tensor(DT_INT32, 1, a), q = rule_tensor(DT_INT32, 1, b);
  RuleType batch = {.dtype = DT_INT32};
  if (dim_equal(k, other) == NO) {
    rule_error(c, E0209, 1,
               "%s and %s: the reduced dimensions, %s and %s, "
               "differ",
               rule_shape(c, 0), rule_shape(c, 1), rule_dim_text(c, k),
               rule_dim_text(c, other));
    return rule_hint(c,
                     "transpose_a and transpose_b exchange the last two "
                     "axes of an operand");
  }
  if (!rule_broadcast_dims(&p, &q, &batch))
    return rule_error(c, E0203, 1, "the batches of %s and %s differ",
                      rule_shape(c, 0), rule_shape(c, 1));
  Dim dims[3] = {batch.dims[0], a[ta ? 2 : 1], b[tb ? 1 : 2]};
  return product_result(c, 3, dims);
}

/* Does the vector, whose length was not known before, turn out to have one
 * element?  It broadcasts then, as in Relay. */
static bool is_late_scalar(const RuleCall *c) {
  const RuleType *x = &c->args[0], *v = &c->args[1];
  return !c->dims && v->rank == 1 && dim_is(v->dims[0], 1) &&
         v->dtype == x->dtype;
}

/*   x : (d..., t)    b : (d[k], t)
 *   --------------------------------------
 *   nn.bias_add(x, b, axis=k) : (d..., t)                                   */
RULE(bias_add, "(d..., t), (d[axis], t) -> (d..., t)");
static RuleStatus rule_bias_add(RuleCall *c) {
  int axis;
  if (!rule_axis(c, ATTR_axis, c->args[0].rank, &axis)) return RULE_ERROR;
  RuleType x = c->args[0];
  if (is_late_scalar(c)) return rule_result_alike(c);
  if (!rule_expect(c, 1, x.dtype, 1, &x.dims[axis])) return RULE_ERROR;
  x.dims[axis] = rule_meet(x.dims[axis], c->args[1].dims[0]);
  return rule_result(c, x.dtype, x.rank, x.dims);
}

/*   x : (d..., t)    t floating-point    -r <= k < r
 *   -------------------------------------------------
 *   nn.softmax(x, axis=k) : (d..., t)                                       */
RULE(softmax, "(d..., t) -> (d..., t), t floating-point, axis in range",
     .takes = TAKES_FLOAT, .fits = FITS_ALWAYS);
static RuleStatus rule_softmax(RuleCall *c) {
  int axis;
  if (!rule_class(c, 0, TAKES_FLOAT) ||
      !rule_axis(c, ATTR_axis, c->args[0].rank, &axis))
    return RULE_ERROR;
  return rule_result_alike(c);
}

/*   x : (d..., t)
 *   ---------------------------------------
 *   nn.dropout(x) : ((d..., t), (d..., t))                                  */
RULE(dropout, "(d..., t) -> ((d..., t), (d..., t)), t floating-point",
     .takes = TAKES_FLOAT, .fits = FITS_ALWAYS);
static RuleStatus rule_dropout(RuleCall *c) {
  if (!rule_class(c, 0, TAKES_FLOAT)) return RULE_ERROR;
  RuleType *fields = rule_result_tuple(c, 2);
  if (!fields) return RULE_ERROR;
  fields[0] = fields[1] = c->args[0];
  return RULE_OK;
}

/* Operands 1 to n are vectors along the axis of operand 0. */
static bool channel_vectors(RuleCall *c, int n) {
  int axis;
  RuleType x = c->args[0];
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_axis(c, ATTR_axis, x.rank, &axis))
    return false;
  for (int i = 1; i <= n; i++)
    if (!rule_expect(c, i, x.dtype, 1, &x.dims[axis])) return false;
  return true;
}

/*   x : (d..., t)    gamma, beta, mean, var : (d[k], t)
 *   ----------------------------------------------------------------------
 *   nn.batch_norm(x, ..., axis=k) : ((d..., t), (d[k], t), (d[k], t))       */
RULE(batch_norm,
     "(d..., t), 4 times (d[axis], t) -> ((d..., t), 2 times (d[axis], t)), t "
     "floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_batch_norm(RuleCall *c) {
  if (!channel_vectors(c, 4)) return RULE_ERROR;
  RuleType *fields = rule_result_tuple(c, 3);
  if (!fields) return RULE_ERROR;
  fields[0] = c->args[0];
  fields[1] = c->args[3];
  fields[2] = c->args[4];
  return RULE_OK;
}

/*   x : (d..., t)    gamma, beta : (d[k], t)
 *   -------------------------------------------------
 *   nn.layer_norm(x, gamma, beta, axis=k) : (d..., t)                       */
RULE(channel_norm,
     "(d..., t), 2 times (d[axis], t) -> (d..., t), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_channel_norm(RuleCall *c) {
  return channel_vectors(c, 2) ? rule_result_alike(c) : RULE_ERROR;
}

/* Vectors along an axis after the batch. */
static bool channels_of_batch(RuleCall *c, int *axis) {
  if (!channel_vectors(c, 2) || !rule_axis(c, ATTR_axis, c->args[0].rank, axis))
    return false;
  if (*axis == 0)
    rule_attr_error(c, E0302, ATTR_axis,
                    "axis 0 is the batch, not the channels");
  return *axis != 0;
}

/*   x : (n, d..., t)    gamma, beta : (d[k], t)    k > 0
 *   -----------------------------------------------------
 *   nn.instance_norm(x, gamma, beta, axis=k) : (n, d..., t)                 */
RULE(instance_norm,
     "(n, d..., t), 2 times (d[axis], t) -> (n, d..., t), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_instance_norm(RuleCall *c) {
  int axis;
  return channels_of_batch(c, &axis) ? rule_result_alike(c) : RULE_ERROR;
}

/*   x : (n, d..., t)    gamma, beta : (d[k], t)    groups divide d[k], k > 0
 *   -------------------------------------------------------------------------
 *   nn.group_norm(x, gamma, beta, num_groups, axis=k) : (n, d..., t)        */
RULE(group_norm,
     "(n, d..., t), 2 times (d[axis], t) -> (n, d..., t), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_group_norm(RuleCall *c) {
  int axis;
  bool inexact = false;
  if (!channels_of_batch(c, &axis)) return RULE_ERROR;
  Dim n = attr_int(c->attrs, ATTR_num_groups);
  if (!rule_in_range(c, ATTR_num_groups, n, 1, INT64_MAX)) return RULE_ERROR;
  dim_div_exact(c->dims, c->args[0].dims[axis], n, &inexact);
  if (inexact)
    return rule_error(c, E0303, 0,
                      "the channels of %s do not divide into num_groups",
                      rule_shape(c, 0));
  return rule_result_alike(c);
}

/*   x : (d..., t)    axes in range
 *   -------------------------------------
 *   nn.l2_normalize(x, axis=S) : (d..., t)                                  */
RULE(l2_normalize, "(d..., t) -> (d..., t), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_l2_normalize(RuleCall *c) {
  AxisSet set;
  if (!rule_class(c, 0, TAKES_FLOAT) ||
      !rule_axis_set(c, ATTR_axis, c->args[0].rank, &set))
    return RULE_ERROR;
  return rule_result_alike(c);
}

/*   x : (d..., t)    size odd, axis in range
 *   -----------------------------------------
 *   nn.lrn(x, size) : (d..., t)                                             */
RULE(lrn, "(d..., t) -> (d..., t), t floating-point", .takes = TAKES_FLOAT);
static RuleStatus rule_lrn(RuleCall *c) {
  int64_t size;
  if (!rule_number(c, ATTR_size, 1, STEP_MOST, &size)) return RULE_ERROR;
  if (size % 2 == 0)
    return rule_attr_error(c, E0303, ATTR_size, "size is odd and at least 1");
  return rule_softmax(c);
}

/*   x, y : (n, c, t)
 *   --------------------------
 *   nn.cross_entropy(x, y) : t                                              */
RULE(cross_entropy, "(n, c, t), (n, c, t) -> ((), t), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_cross_entropy(RuleCall *c) {
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_same_dtype(c, 0, 1) ||
      !rule_rank(c, 0, 2) || !rule_fits(c, 1, 2, c->args[0].dims))
    return RULE_ERROR;
  return rule_result(c, c->args[0].dtype, 0, NULL);
}

/*   x : (n, c, d..., t)    y : (n, d..., int)    w : (c, t)
 *   ----------------------------------------------------------------
 *   nn.nll_loss(x, y, w) : t; with reduction="none" (n, d..., t)            */
RULE(nll_loss,
     "(n, c, d..., t), (n, d..., int), (c, t) -> ((), t) or (n, d..., t), t "
     "floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_nll_loss(RuleCall *c) {
  RuleType x = c->args[0];
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_class(c, 1, TAKES_INT) ||
      !rule_same_dtype(c, 0, 2) || !rule_min_rank(c, 0, 2) ||
      !rule_fits(c, 2, 1, &x.dims[1]))
    return RULE_ERROR;
  for (int i = 1; i < x.rank - 1; i++) x.dims[i] = x.dims[i + 1];
  if (!rule_fits(c, 1, x.rank - 1, x.dims)) return RULE_ERROR;
  if (attr_word(c->attrs, ATTR_reduction) == LOSS_TERMS)
    return rule_result(c, x.dtype, x.rank - 1, x.dims);
  return rule_result(c, x.dtype, 0, NULL);
}

/*   x : (d..., t)    a : (d[k], t)
 *   -----------------------------------
 *   nn.prelu(x, a, axis=k) : (d..., t)                                      */
RULE(prelu, "(d..., t), (d[axis], t) -> (d..., t), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_prelu(RuleCall *c) {
  int axis;
  if (!rule_class(c, 0, TAKES_FLOAT) ||
      !rule_axis(c, ATTR_axis, c->args[0].rank, &axis))
    return RULE_ERROR;
  bool fits = is_late_scalar(c) || channel_vectors(c, 1);
  return fits ? rule_result_alike(c) : RULE_ERROR;
}
