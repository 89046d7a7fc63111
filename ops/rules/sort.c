/* Rules of sorting operators. */
#include "ops/rules/support.h"

#include <string.h>

/*   x : (d..., t)    -r <= k < r
 *   ------------------------------
 *   sort(x, axis=k) : (d..., t)                                             */
RULE(sort, "(d..., t) -> (d..., t), axis in range", .fits = FITS_ALWAYS);
static RuleStatus rule_sort(RuleCall *c) {
  int axis;
  if (!rule_axis(c, ATTR_axis, c->args[0].rank, &axis)) return RULE_ERROR;
  return rule_result_alike(c);
}

/*   x : (d..., t)
 *   ----------------------------------------
 *   argsort(x, axis=k, dtype=u) : (d..., u)                                 */
RULE(argsort, "(d..., t) -> (d..., dtype), axis in range", .fits = FITS_ALWAYS);
static RuleStatus rule_argsort(RuleCall *c) {
  RuleStatus status = rule_sort(c);
  c->result.dtype = rule_dtype_or_int32(c);
  return status;
}

/*   x : (d..., t)    e = d with n at k    (n < 1: all of the axis)
 *   ---------------------------------------------------------------------
 *   topk(x, k=n, axis=k, ret_type="both", dtype=u) : ((e, t), (e, u))       */
RULE(topk, "(d..., t) -> ((d with k at axis, t), (the same, dtype))");
static RuleStatus rule_topk(RuleCall *c) {
  RuleType x = c->args[0];
  int axis;
  if (!rule_axis(c, ATTR_axis, x.rank, &axis)) return RULE_ERROR;
  Dim k = attr_int(c->attrs, ATTR_k), length = x.dims[axis];
  if (!dim_below(k, 1)) x.dims[axis] = k;
  if (dim_less(length, k))
    return rule_error(c, E0303, 0, "k is %s, axis %d of %s is shorter",
                      rule_dim_text(c, k), axis, rule_shape(c, 0));
  RuleType values = rule_tensor(x.dtype, x.rank, x.dims);
  RuleType indices = rule_tensor(rule_dtype_or_int32(c), x.rank, x.dims);
  int what = attr_word(c->attrs, ATTR_ret_type);
  if (what == TOPK_BOTH) {
    RuleType *fields = rule_result_tuple(c, 2);
    if (!fields) return RULE_ERROR;
    fields[0] = values;
    fields[1] = indices;
    return RULE_OK;
  }
  c->result = what == TOPK_VALUES ? values : indices;
  return RULE_OK;
}

/*   s : (n, t) or (d..., n, t)    v : (d..., m, t)
 *   ------------------------------------------------------
 *   searchsorted(s, v, dtype=u) : (d..., m, u)                              */
RULE(searchsorted, "(n, t), (m..., t) -> (m..., dtype)");
static RuleStatus rule_searchsorted(RuleCall *c) {
  const RuleType *s = &c->args[0], *v = &c->args[1];
  if (!rule_same_dtype(c, 0, 1) || !rule_min_rank(c, 0, 1)) return RULE_ERROR;
  bool fits = s->rank == 1 || s->rank == v->rank;
  for (int i = 0; fits && s->rank > 1 && i < s->rank - 1; i++)
    fits = dim_equal(s->dims[i], v->dims[i]) != NO;
  if (!fits)
    return rule_error(c, E0209, 1,
                      "values %s need a sequence of rank 1, or "
                      "one for each row, not %s",
                      rule_shape(c, 1), rule_shape(c, 0));
  return rule_result(c, rule_dtype_or_int32(c), v->rank, v->dims);
}
