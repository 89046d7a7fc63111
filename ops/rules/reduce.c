/* Rules of reductions and scans. */
#include "ops/rules/support.h"

/* The reduced axes: those named, all others with `exclude`, every one when
 * none is named. */
static bool reduced_axes(RuleCall *c, int rank, AxisSet *set) {
  if (!rule_axis_set(c, ATTR_axis, rank, set)) return false;
  AxisSet all = (1u << rank) - 1;
  bool any_named = attr_get(c->attrs, ATTR_axis)->count > 0;
  if (!any_named) *set = all;
  else if (attr_bool(c->attrs, ATTR_exclude)) *set = all & ~*set;
  return true;
}

static RuleStatus reduced(RuleCall *c, DType dtype) {
  const RuleType *x = &c->args[0];
  AxisSet set;
  if (!reduced_axes(c, x->rank, &set)) return RULE_ERROR;
  bool keep = attr_bool(c->attrs, ATTR_keepdims);
  Dim dims[RANK_MAX];
  int rank = 0;
  for (int i = 0; i < x->rank; i++) {
    bool is_reduced = set >> i & 1;
    if (!is_reduced || keep) dims[rank++] = is_reduced ? dim_of(1) : x->dims[i];
  }
  return rule_result(c, dtype, rank, dims);
}

/*   x : (d..., t)
 *   -------------------------------------------------------
 *   sum(x, axis=S) : (d without the axes in S, t)
 *   sum(x, axis=S, keepdims=True) : (d with 1 at S, t)                      */
RULE(reduce, "(d..., t) -> (d without the reduced axes, t)",
     .fits = FITS_ALWAYS);
static RuleStatus rule_reduce(RuleCall *c) {
  return reduced(c, c->args[0].dtype);
}

RULE(reduce_number, "(d..., t) -> (d without the reduced axes, t), t numeric",
     .takes = TAKES_NUMBER, .fits = FITS_ALWAYS);
static RuleStatus rule_reduce_number(RuleCall *c) {
  return rule_class(c, 0, TAKES_NUMBER) ? rule_reduce(c) : RULE_ERROR;
}

RULE(reduce_bool, "(d..., bool) -> (d without the reduced axes, bool)",
     .takes = TAKES_BOOL, .fits = FITS_ALWAYS);
static RuleStatus rule_reduce_bool(RuleCall *c) {
  return rule_class(c, 0, TAKES_BOOL) ? rule_reduce(c) : RULE_ERROR;
}

/*   x : (d..., t)
 *   --------------------------------------------------
 *   argmax(x, axis=S) : (d without the axes in S, int32)                    */
RULE(reduce_arg, "(d..., t) -> (d without the reduced axes, int32)",
     .fits = FITS_ALWAYS);
static RuleStatus rule_reduce_arg(RuleCall *c) { return reduced(c, DT_INT32); }

/*   x : (d..., t)    mean : (d with 1 at S, t), or without the axes in S
 *   ---------------------------------------------------------------------
 *   variance(x, mean, axis=S) : (d without the axes in S, t)                */
RULE(variance,
     "(d..., t), mean -> (d without the reduced axes, t), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_variance(RuleCall *c) {
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_same_dtype(c, 0, 1))
    return RULE_ERROR;
  RuleType x = c->args[0], both = {.dtype = x.dtype};
  if (!rule_broadcast_pair(c, 0, 1, &both)) return RULE_ERROR;
  if (!rule_fits(c, 1, c->args[1].rank, c->args[1].dims) || both.rank != x.rank)
    return rule_error(c, E0209, 1,
                      "a mean of shape %s does not broadcast to "
                      "data %s",
                      rule_shape(c, 1), rule_shape(c, 0));
  return rule_reduce(c);
}

/*   x : (d..., t)
 *   -----------------------------------------
 *   cumsum(x, axis=k) : (d..., t)
 *   cumsum(x)         : (product of d, t)                                   */
RULE(scan, "(d..., t) -> (d..., t); without axis (product of d, t)",
     .fits = FITS_ALWAYS);
static RuleStatus rule_scan(RuleCall *c) {
  const RuleType *x = &c->args[0];
  DType dtype = attr_dtype(c->attrs, ATTR_dtype);
  if (dtype == DTYPE_NONE) dtype = x->dtype;
  if (!attr_is_set(c->attrs, ATTR_axis)) {
    Dim all = dim_product(c->dims, x->rank, x->dims);
    return rule_result(c, dtype, 1, &all);
  }
  int axis;
  if (!rule_axis(c, ATTR_axis, x->rank, &axis)) return RULE_ERROR;
  return rule_result(c, dtype, x->rank, x->dims);
}
