/* Rules of operators that make tensors, or ask for their shapes. */
#include "ops/rules/support.h"

/* The dims that a shape-like attribute gives.  A list whose length is not known
 * is refused here, and then tried with every length (trial.c). */
RuleStatus rule_shape_attr(RuleCall *c, AttrName name, int *rank, Dim *dims) {
  const AttrValue *v = attr_get(c->attrs, name);
  if (v->state != AV_SET)
    return rule_error(c, E0110, -1, "`%s` is missing", attr_name_text(name));
  if (v->count == COUNT_UNKNOWN)
    return rule_error(c, E0305, v->operand, "the length of `%s` is not known",
                      attr_name_text(name));
  if (v->count > RANK_MAX)
    return rule_error(c, E0208, v->operand,
                      "`%s` has %d dimensions; at most "
                      "%d are possible",
                      attr_name_text(name), v->count, RANK_MAX);
  *rank = v->count;
  for (int i = 0; i < v->count; i++) dims[i] = v->ints[i];
  return RULE_OK;
}

/* The same for a result's shape, which has no negative dims. */
RuleStatus rule_result_shape(RuleCall *c, AttrName name, int *rank, Dim *dims) {
  RuleStatus status = rule_shape_attr(c, name, rank, dims);
  if (status != RULE_OK) return status;
  for (int i = 0; i < *rank; i++)
    if (dim_below(dims[i], 0))
      return rule_attr_error(c, E0303, name,
                             "`%s` holds a negative dimension, %s",
                             attr_name_text(name), rule_dim_text(c, dims[i]));
  return RULE_OK;
}

static RuleStatus filled(RuleCall *c, DType dtype) {
  int rank;
  Dim dims[RANK_MAX];
  RuleStatus status = rule_result_shape(c, ATTR_shape, &rank, dims);
  return status == RULE_OK ? rule_result(c, dtype, rank, dims) : status;
}

/*   ------------------------------------
 *   zeros(shape=d, dtype=t) : (d..., t)                                     */
RULE(init, "() -> (shape, dtype)");
static RuleStatus rule_init(RuleCall *c) {
  return filled(c, attr_dtype(c->attrs, ATTR_dtype));
}

/*   v : t
 *   ---------------------------------------------------------
 *   full(v, shape=d, dtype=u) : (d..., u), u = t when left out              */
RULE(full, "(t) -> (shape, dtype)");
static RuleStatus rule_full(RuleCall *c) {
  DType dtype = attr_dtype(c->attrs, ATTR_dtype);
  if (!rule_rank(c, 0, 0)) return RULE_ERROR;
  return filled(c, dtype == DTYPE_NONE ? c->args[0].dtype : dtype);
}

/*   x : (d..., t)    v : t
 *   ------------------------------
 *   full_like(x, v) : (d..., t)                                             */
RULE(full_like, "(d..., t), (t) -> (d..., t)", .fits = FITS_ALWAYS);
static RuleStatus rule_full_like(RuleCall *c) {
  if (!rule_rank(c, 1, 0) || !rule_same_dtype(c, 0, 1)) return RULE_ERROR;
  return rule_result_alike(c);
}

static Dim value_of(const RuleType *t) {
  return t->value && t->value->rank == 0 ? t->value->items[0] : DIM_ANY;
}

static Dim arange_length(RuleCall *c, int n) {
  DimTable *t = c->dims;
  Dim start = n > 1 ? value_of(&c->args[0]) : dim_of(0);
  Dim stop = value_of(&c->args[n > 1]);
  Dim step = n > 2 ? value_of(&c->args[2]) : dim_of(1);
  if (!dim_is_number(step) || dim_is(step, 0)) return DIM_ANY;
  Dim length = dim_sub(t, stop, start);
  bool down = dim_below(step, 0);
  if (dim_is_number(length) && dim_below(length, 0) != down) return dim_of(0);
  if (!down) return dim_div_ceil(t, length, dim_value(step));
  Dim backwards = dim_sub(t, dim_of(0), step);
  return dim_div_ceil(t, dim_sub(t, dim_of(0), length), dim_value(backwards));
}

/*   start, stop, step : t    n = ceil((stop - start) / step)
 *   ---------------------------------------------------------
 *   arange(start, stop, step) : (n, t)                                      */
RULE(arange, "(t), (t), (t) -> (ceil((stop - start) / step), t), t numeric",
     .takes = TAKES_NUMBER, .values = true);
static RuleStatus rule_arange(RuleCall *c) {
  int n = rule_operands(c);
  for (int i = 0; i < n; i++)
    if (!rule_rank(c, i, 0) || !rule_class(c, i, TAKES_NUMBER) ||
        !rule_same_dtype(c, 0, i))
      return RULE_ERROR;
  DType dtype = attr_dtype(c->attrs, ATTR_dtype);
  Dim length = arange_length(c, n);
  return rule_result(c, dtype == DTYPE_NONE ? c->args[0].dtype : dtype, 1,
                     &length);
}

/*   x : (d1, ..., dr, t)
 *   ----------------------------------
 *   shape_of(x, dtype=u) : (r, u)                                           */
RULE(shape_of, "(d..., t) -> (rank of d, dtype)", .fits = FITS_ALWAYS);
static RuleStatus rule_shape_of(RuleCall *c) {
  Dim rank = dim_of(c->args[0].rank);
  return rule_result(c, rule_dtype_or_int32(c), 1, &rank);
}

/*   x : (d..., t)
 *   ----------------------------------
 *   ndarray_size(x, dtype=u) : u                                            */
RULE(ndarray_size, "(d..., t) -> ((), dtype)", .fits = FITS_ALWAYS);
static RuleStatus rule_ndarray_size(RuleCall *c) {
  return rule_result(c, rule_dtype_or_int32(c), 0, NULL);
}

/*   i : (d..., int)    on, off : u    0 <= k <= rank of d
 *   ---------------------------------------------------------
 *   one_hot(i, on, off, depth=n, axis=k, dtype=t) : (d with n before k, t)  */
RULE(one_hot, "(d..., int), (), () -> (d with depth at axis, dtype)");
static RuleStatus rule_one_hot(RuleCall *c) {
  const RuleType *x = &c->args[0];
  if (!rule_class(c, 0, TAKES_INT) || !rule_rank(c, 1, 0) ||
      !rule_rank(c, 2, 0) || !rule_same_dtype(c, 1, 2))
    return RULE_ERROR;
  Dim depth = attr_int(c->attrs, ATTR_depth);
  if (!rule_in_range(c, ATTR_depth, depth, 0, INT64_MAX)) return RULE_ERROR;
  int axis;
  if (!rule_axis(c, ATTR_axis, x->rank + 1, &axis)) return RULE_ERROR;
  Dim dims[RANK_MAX + 1];
  for (int i = 0; i <= x->rank; i++)
    dims[i] = i == axis ? depth : x->dims[i - (i > axis)];
  DType dtype = attr_dtype(c->attrs, ATTR_dtype);
  if (dtype == DTYPE_NONE) dtype = c->args[1].dtype;
  return rule_result(c, dtype, x->rank + 1, dims);
}
