/* Rules of operators that look elements up: take, gather, scatter, unique. */
#include "ops/rules/support.h"

/*   x : (d..., t)    i : (e..., int)    d = l, d[k], m   e = b, f
 *   --------------------------------------------------------------
 *   take(x, i, axis=k) : (l, e, m, t)      axis None: x flattened
 *   with batch_dims=n the first n dims of x and i are one: (l, f, m, t)     */
RULE(take, "(d..., t), (i..., int) -> (d with i in place of axis, t)",
     .fits = FITS_UNBATCHED);
/* batch_dims counts axes of the indices, from the end when negative; data and
 * indices must agree on them. */
static RuleStatus rule_take(RuleCall *c) {
  const RuleType *x = &c->args[0], *at = &c->args[1];
  if (!rule_class(c, 1, TAKES_INT)) return RULE_ERROR;
  if (!attr_is_set(c->attrs, ATTR_axis))
    return rule_result(c, x->dtype, at->rank, at->dims);
  int axis;
  if (!rule_axis(c, ATTR_axis, x->rank, &axis)) return RULE_ERROR;
  Dim batches = attr_int(c->attrs, ATTR_batch_dims);
  int batch = -1;
  if (!dim_below(batches, -at->rank) && !dim_above(batches, at->rank))
    batch = axis_from(dim_value(batches), at->rank);
  if (batch < 0 || batch > axis)
    return rule_error(c, E0303, 1,
                      "batch_dims is out of range for data %s "
                      "and indices %s",
                      rule_shape(c, 0), rule_shape(c, 1));
  Dim dims[2 * RANK_MAX];
  int rank = 0;
  for (int i = 0; i < axis; i++) dims[rank++] = x->dims[i];
  for (int i = 0; i < batch; i++) {
    if (dim_equal(x->dims[i], at->dims[i]) == NO)
      return rule_error(c, E0209, 1,
                        "data %s and indices %s differ in their "
                        "batch",
                        rule_shape(c, 0), rule_shape(c, 1));
    dims[i] = rule_meet(x->dims[i], at->dims[i]);
  }
  for (int i = batch; i < at->rank; i++) dims[rank++] = at->dims[i];
  for (int i = axis + 1; i < x->rank; i++) dims[rank++] = x->dims[i];
  return rule_result(c, x->dtype, rank, dims);
}

/* Operand i has the rank of data and fits into it off the axis. */
static bool index_fits(RuleCall *c, int i, int axis) {
  const RuleType *x = &c->args[0], *at = &c->args[i];
  if (!rule_rank(c, i, x->rank)) return false;
  for (int k = 0; k < x->rank; k++) {
    if (k == axis || !dim_less(x->dims[k], at->dims[k])) continue;
    rule_error(c, E0209, i, "`%s` %s does not fit into data %s",
               rule_arg_name(c, i), rule_shape(c, i), rule_shape(c, 0));
    return false;
  }
  return true;
}

/*   x : (d..., t)    i : (e..., int)    e[j] <= d[j] for j not k
 *   --------------------------------------------------------------
 *   gather(x, i, axis=k) : (e..., t)                                        */
RULE(gather, "(d..., t), (i..., int) -> (i..., t)");
static RuleStatus rule_gather(RuleCall *c) {
  int axis;
  if (!rule_class(c, 1, TAKES_INT) ||
      !rule_axis(c, ATTR_axis, c->args[0].rank, &axis) ||
      !index_fits(c, 1, axis))
    return RULE_ERROR;
  return rule_result(c, c->args[0].dtype, c->args[1].rank, c->args[1].dims);
}

/* How many axes of data one index names: the first dim of the indices. */
static RuleStatus index_depth(RuleCall *c, int batch, int *depth) {
  const RuleType *x = &c->args[0], *at = &c->args[1];
  if (!rule_class(c, 1, TAKES_INT) || !rule_min_rank(c, 1, 1))
    return RULE_ERROR;
  Dim n = at->dims[0];
  if (dim_is_hole(n)) return RULE_WAIT;
  if (!dim_is_number(n))
    return rule_error(c, E0305, 1,
                      "the first dimension of the indices %s "
                      "decides the rank and must be known",
                      rule_shape(c, 1));
  if (batch > at->rank - 1 || dim_above(n, x->rank - batch))
    return rule_error(c, E0209, 1,
                      "indices %s name more axes than data %s "
                      "has",
                      rule_shape(c, 1), rule_shape(c, 0));
  *depth = (int)dim_value(n);
  return RULE_OK;
}

/* The shape of what indices (n, e...) pick from data. */
static RuleStatus picked(RuleCall *c, int batch, int *rank, Dim *dims) {
  const RuleType *x = &c->args[0], *at = &c->args[1];
  int depth = 0;
  RuleStatus status = index_depth(c, batch, &depth);
  if (status != RULE_OK) return status;
  *rank = 0;
  for (int i = 1; i < at->rank; i++) dims[(*rank)++] = at->dims[i];
  for (int i = 0; i < batch; i++) {
    if (dim_equal(dims[i], x->dims[i]) == NO)
      return rule_error(c, E0209, 1,
                        "indices %s and data %s differ in their "
                        "batch",
                        rule_shape(c, 1), rule_shape(c, 0));
    dims[i] = rule_meet(dims[i], x->dims[i]);
  }
  for (int i = batch + depth; i < x->rank; i++) dims[(*rank)++] = x->dims[i];
  return RULE_OK;
}

/* index_rank says what n is where the indices' type does not. */
static bool index_rank_fits(RuleCall *c) {
  RuleType *at = &c->args[1];
  if (!attr_is_set(c->attrs, ATTR_index_rank) || at->rank < 1) return true;
  Dim n = attr_int(c->attrs, ATTR_index_rank);
  if (!rule_in_range(c, ATTR_index_rank, n, 0, RANK_MAX)) return false;
  if (dim_equal(n, at->dims[0]) == NO) {
    rule_error(c, E0209, 1, "index_rank is %s, indices are %s",
               rule_dim_text(c, n), rule_shape(c, 1));
    return false;
  }
  if (!dim_is_hole(at->dims[0])) at->dims[0] = n;
  return true;
}

/*   x : (b, d1, ..., dn, m, t)    i : (n, b, e..., int)
 *   -----------------------------------------------------------
 *   gather_nd(x, i, batch_dims=rank of b) : (b, e..., m, t)                 */
RULE(gather_nd, "(d..., t), (n, i...) -> (i..., d after n axes, t)");
static RuleStatus rule_gather_nd(RuleCall *c) {
  if (!index_rank_fits(c)) return RULE_ERROR;
  int rank;
  Dim dims[2 * RANK_MAX];
  int64_t batch;
  if (!rule_number(c, ATTR_batch_dims, 0, RANK_MAX, &batch)) return RULE_ERROR;
  RuleStatus status = picked(c, (int)batch, &rank, dims);
  if (status != RULE_OK) return status;
  return rule_result(c, c->args[0].dtype, rank, dims);
}

/*   x : (d1, ..., dn, m, t)    i : (n, e..., int)    u : (e..., m, t)
 *   ------------------------------------------------------------------
 *   scatter_nd(x, i, u) : (d1, ..., dn, m, t)                               */
RULE(scatter_nd,
     "(d..., t), (n, i...), (i..., d after n axes, t) -> (d..., t)");
static RuleStatus rule_scatter_nd(RuleCall *c) {
  int rank;
  Dim dims[2 * RANK_MAX];
  if (!rule_same_dtype(c, 0, 2)) return RULE_ERROR;
  RuleStatus status = picked(c, 0, &rank, dims);
  if (status != RULE_OK) return status;
  return rule_fits(c, 2, rank, dims) ? rule_result_alike(c) : RULE_ERROR;
}

/*   x : (d1, ..., dr, t)
 *   ---------------------------
 *   argwhere(x) : (?, r, int32)                                             */
RULE(argwhere, "(d..., t) -> (?, rank of d, int32)", .fits = FITS_ALWAYS);
static RuleStatus rule_argwhere(RuleCall *c) {
  Dim dims[2] = {DIM_ANY, dim_of(c->args[0].rank)};
  return rule_result(c, DT_INT32, 2, dims);
}

/*   x : (n, t)
 *   -------------------------------------------------------------------------
 *   unique(x) : values (n, t), first positions (n, int32), inverse (n, int32),
 *               how many (1, int32), and on request counts (n, int32)       */
RULE(unique,
     "(n, t) -> ((n, t), (n, int32), (n, int32), (1, int32)[, (n, int32)])",
     .fits = FITS_ALWAYS);
static RuleStatus rule_unique(RuleCall *c) {
  if (!rule_rank(c, 0, 1)) return RULE_ERROR;
  Dim n = c->args[0].dims[0], one = dim_of(1);
  bool counts = attr_bool(c->attrs, ATTR_return_counts);
  RuleType *fields = rule_result_tuple(c, counts ? 5 : 4);
  if (!fields) return RULE_ERROR;
  fields[0] = rule_tensor(c->args[0].dtype, 1, &n);
  fields[1] = fields[2] = rule_tensor(DT_INT32, 1, &n);
  fields[3] = rule_tensor(DT_INT32, 1, &one);
  if (counts) fields[4] = fields[1];
  return RULE_OK;
}

/*   x : (d1, ..., dr, t)    ik : (ek..., int)    k = 1 .. n    e = e1 ^ .. ^ en
 *   --------------------------------------------------------------------------
 *   adv_index((x, i1, ..., in)) : (e..., d(n+1), ..., dr, t)                */
RULE(adv_index,
     "(d..., t), n times (ei..., int) -> (e1 ^ ... ^ en, d after n axes, t)");
static RuleStatus rule_adv_index(RuleCall *c) {
  const RuleType *all = &c->args[0], *x = &all->fields[0];
  int n = all->count - 1, rank;
  if (n < 1 || n > x->rank)
    return rule_error(c, E0301, 0, "takes data and 1 to %d index tensors",
                      all->count > 0 ? x->rank : RANK_MAX);
  RuleType index = {.dtype = DT_INT32};
  for (int k = 1; k <= n; k++) {
    const RuleType *one = &all->fields[k];
    if (!dtype_is_int(one->dtype))
      return rule_error(c, E0304, 0, "index %d is %s", k,
                        dtype_name(one->dtype));
    if (!rule_broadcast_dims(k == 1 ? one : &index, one, &index))
      return rule_error(c, E0203, 0,
                        "index %d of shape %s does not broadcast "
                        "with those before",
                        k, rule_dims_text(c, one->rank, one->dims));
  }
  Dim dims[2 * RANK_MAX];
  for (rank = 0; rank < index.rank; rank++) dims[rank] = index.dims[rank];
  for (int i = n; i < x->rank; i++) dims[rank++] = x->dims[i];
  return rule_result(c, x->dtype, rank, dims);
}

/*   x : (d..., t)    i : (e..., int)    u : (f..., t)    e[j] <= f[j], and
 *   e[j] <= d[j] for j not k
 *   ------------------------------------------------------------------------
 *   scatter_elements(x, i, u, axis=k) : (d..., t)                           */
RULE(scatter_elements,
     "(d..., t), (e..., int), (f..., t) -> (d..., t), f >= e");
static RuleStatus rule_scatter_elements(RuleCall *c) {
  const RuleType *at = &c->args[1], *updates = &c->args[2];
  int axis;
  bool more = false;
  if (!rule_class(c, 1, TAKES_INT) || !rule_same_dtype(c, 0, 2) ||
      !rule_axis(c, ATTR_axis, c->args[0].rank, &axis) ||
      !index_fits(c, 1, axis) || !rule_rank(c, 2, at->rank))
    return RULE_ERROR;
  for (int k = 0; k < at->rank; k++) {
    if (dim_less(updates->dims[k], at->dims[k]) &&
        !rule_fits(c, 2, at->rank, at->dims))
      return RULE_ERROR;
    more |= dim_less(at->dims[k], updates->dims[k]);
  }
  if (more)
    rule_warn(c,
              "of `updates` %s only as many as there are indices, %s, are "
              "used, as in Relay",
              rule_shape(c, 2), rule_shape(c, 1));
  return rule_result_alike(c);
}

/*   x : (n, int)
 *   --------------------------------
 *   invert_permutation(x) : (n, int)                                        */
RULE(invert_permutation, "(n, int) -> (n, int)");
static RuleStatus rule_invert_permutation(RuleCall *c) {
  if (!rule_rank(c, 0, 1) || !rule_class(c, 0, TAKES_INT)) return RULE_ERROR;
  return rule_result_alike(c);
}

/*   i : (d..., int)    r at most 1    shape : (n, int)
 *   ---------------------------------------------------
 *   unravel_index(i, shape) : (n, d..., int)                                */
RULE(unravel_index, "(d..., int), (n, int) -> (n, d..., int)");
static RuleStatus rule_unravel_index(RuleCall *c) {
  const RuleType *x = &c->args[0];
  if (!rule_class(c, 0, TAKES_INT) || !rule_class(c, 1, TAKES_INT) ||
      !rule_rank(c, 1, 1))
    return RULE_ERROR;
  if (x->rank > 1) return rule_rank(c, 0, 1) ? RULE_OK : RULE_ERROR;
  Dim dims[2] = {c->args[1].dims[0], x->dims[0]};
  return rule_result(c, x->dtype, 1 + x->rank, dims);
}
