/* Rules of sparse operators.  A compressed matrix is three vectors: values,
 * their columns, and where each row begins among them (one more at the end);
 * values of rank 3 are blocks. */
#include "ops/rules/support.h"

/* Operands i, i + 1, i + 2 are values, columns and row starts. */
static bool compressed(RuleCall *c, int i) {
  RuleType *values = &c->args[i];
  if (!rule_class(c, i + 1, TAKES_INT) || !rule_class(c, i + 2, TAKES_INT) ||
      !rule_rank(c, i + 2, 1) || !rule_fits(c, i + 1, 1, values->dims))
    return false;
  Dim starts = c->args[i + 2].dims[0];
  bool good = (values->rank == 1 || values->rank == 3) && !dim_below(starts, 1);
  if (!good)
    rule_error(c, E0208, i,
               "values %s and row starts %s are no compressed "
               "matrix",
               rule_shape(c, i), rule_shape(c, i + 2));
  return good;
}

/* Rows of the compressed matrix at operand i. */
static Dim compressed_rows(RuleCall *c, int i) {
  Dim rows = dim_sub(c->dims, c->args[i + 2].dims[0], dim_of(1));
  const RuleType *values = &c->args[i];
  return values->rank == 3 ? dim_mul(c->dims, rows, values->dims[1]) : rows;
}

/*   x : (m, k, t)    w a compressed matrix of n rows and k columns
 *   -----------------------------------------------------------------
 *   nn.sparse_dense(x, w...) : (m, n, t); with sparse_lhs (n, m, t)         */
RULE(sparse_dense,
     "(m, k, t), a compressed matrix (n, k) -> (m, n, t), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_sparse_dense(RuleCall *c) {
  if (!rule_rank(c, 0, 2) || !rule_same_dtype(c, 0, 1) || !compressed(c, 1) ||
      !rule_class(c, 0, TAKES_FLOAT))
    return RULE_ERROR;
  Dim m = c->args[0].dims[0], n = compressed_rows(c, 1);
  bool lhs = attr_bool(c->attrs, ATTR_sparse_lhs);
  return rule_result(c, c->args[0].dtype, 2,
                     lhs ? (Dim[]){n, m} : (Dim[]){m, n});
}

/*   x : (b, h, w, k, t)    w blocks (s, r, t) or (s, r, c, t) of a compressed
 *   matrix of n rows; its columns are those of kernels of one element, or of 3
 *   by 3, which have a padding of 1
 *   -------------------------------------------------------------------------
 *   nn.sparse_conv2d(x, w...) : (b, h, w, n, t)                             */
RULE(sparse_conv2d,
     "(b, h, w, k, t), a compressed matrix (n, kernel * k) -> (b, h, w, n, t), "
     "t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_sparse_conv2d(RuleCall *c) {
  RuleType out = c->args[0];
  const RuleType *values = &c->args[1], *starts = &c->args[3];
  const AttrValue *k = attr_get(c->attrs, ATTR_kernel_size);
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_same_dtype(c, 0, 1) ||
      !rule_rank(c, 0, 4) || !rule_class(c, 2, TAKES_INT) ||
      !rule_class(c, 3, TAKES_INT) || !rule_rank(c, 3, 1))
    return RULE_ERROR;
  if ((values->rank != 2 && values->rank != 3) || dim_below(starts->dims[0], 1))
    return rule_error(c, E0208, 1,
                      "values %s and row starts %s are no compressed matrix of "
                      "blocks",
                      rule_shape(c, 1), rule_shape(c, 3));
  if (!rule_fits(c, 2, 1, values->dims)) return RULE_ERROR;
  bool odd = k->count == 2 && dim_same(k->ints[0], k->ints[1]) &&
             (dim_is(k->ints[0], 1) || dim_is(k->ints[0], 3));
  if (!odd)
    return rule_attr_error(c, E0303, ATTR_kernel_size,
                           "`kernel_size` is [1, 1] or [3, 3]");
  int axis = attr_word(c->attrs, ATTR_layout) == CHANNELS_LAST ? 3 : 1;
  Dim rows = dim_sub(c->dims, starts->dims[0], dim_of(1));
  out.dims[axis] = dim_mul(c->dims, rows, values->dims[1]);
  return rule_result(c, out.dtype, 4, out.dims);
}

/*   x : (m, n, t)    y a compressed matrix of m rows
 *   -------------------------------------------------
 *   nn.sparse_add(x, y...) : (m, n, t)                                      */
RULE(sparse_add, "(m, n, t), a compressed matrix (m, n) -> (m, n, t)");
static RuleStatus rule_sparse_add(RuleCall *c) {
  if (!rule_rank(c, 0, 2) || !rule_same_dtype(c, 0, 1) || !rule_rank(c, 1, 1) ||
      !compressed(c, 1))
    return RULE_ERROR;
  if (dim_equal(c->args[0].dims[0], compressed_rows(c, 1)) == NO)
    return rule_error(c, E0209, 3, "row starts %s for data %s",
                      rule_shape(c, 3), rule_shape(c, 0));
  return rule_result_alike(c);
}

/*   a square compressed matrix
 *   -------------------------------------------------------------
 *   nn.sparse_transpose(values, columns, starts) : the same types           */
RULE(sparse_transpose, "a square compressed matrix -> another");
static RuleStatus rule_sparse_transpose(RuleCall *c) {
  if (!rule_rank(c, 0, 1) || !compressed(c, 0)) return RULE_ERROR;
  RuleType *fields = rule_result_tuple(c, 3);
  if (!fields) return RULE_ERROR;
  for (int i = 0; i < 3; i++) fields[i] = c->args[i];
  return RULE_OK;
}

/*   i : (n, r, int), (n, int) or int    v : (n, t) or t    d : t
 *   -------------------------------------------------------------
 *   sparse_to_dense(i, v, d, output_shape=s) : (s..., t), of rank r or 1    */
RULE(sparse_to_dense, "(n, r, int), (n, t), (t) -> (output_shape, t)");
static RuleStatus rule_sparse_to_dense(RuleCall *c) {
  const RuleType *at = &c->args[0];
  int rank;
  Dim dims[RANK_MAX], r = at->rank == 2 ? at->dims[1] : dim_of(1);
  if (!rule_class(c, 0, TAKES_INT)) return RULE_ERROR;
  if (at->rank > 2 || c->args[1].rank > 1)
    return rule_error(c, E0208, 0, "indices %s and values %s", rule_shape(c, 0),
                      rule_shape(c, 1));
  if (rule_operands(c) > 2 &&
      (!rule_rank(c, 2, 0) || !rule_same_dtype(c, 1, 2)))
    return RULE_ERROR;
  if (c->args[1].rank == 1 && at->rank > 0 && !rule_fits(c, 1, 1, at->dims))
    return RULE_ERROR;
  RuleStatus status = rule_result_shape(c, ATTR_output_shape, &rank, dims);
  if (status != RULE_OK) return status;
  if (dim_equal(r, dim_of(rank)) == NO)
    return rule_error(c, E0209, 0, "indices %s for a result of rank %d",
                      rule_shape(c, 0), rank);
  return rule_result(c, c->args[1].dtype, rank, dims);
}

/* A scalar or, as Relay takes it, a vector that turns out to have one element.
 */
static bool one_element(RuleCall *c, int i) {
  const RuleType *x = &c->args[i];
  if (x->rank != 1 || dim_equal(x->dims[0], dim_of(1)) == NO)
    return rule_rank(c, i, 0);
  rule_warn(c, "of `%s` %s the one element is read, as in Relay",
            rule_arg_name(c, i), rule_shape(c, i));
  return true;
}

/*   i : (n, r, int64)    v : (n, t)    s : (r, int64)    d : t
 *   -----------------------------------------------------------------------
 *   sparse_fill_empty_rows(i, v, s, d) : ((?, r), (?, t), (?)), i and s's
 *   dtype in the first and last                                             */
RULE(sparse_fill_empty_rows,
     "(n, r, int), (n, t), (r, int), (t) -> ((?, r, int), (?, t), (?, int))");
static RuleStatus rule_sparse_fill_empty_rows(RuleCall *c) {
  const RuleType *at = &c->args[0], *v = &c->args[1];
  if (!rule_rank(c, 0, 2) || !rule_class(c, 0, TAKES_INT) ||
      !rule_fits(c, 1, 1, at->dims) || !rule_fits(c, 2, 1, at->dims + 1) ||
      !one_element(c, 3) || !rule_same_dtype(c, 1, 3) ||
      !rule_class(c, 2, TAKES_INT))
    return RULE_ERROR;
  Dim any = DIM_ANY;
  RuleType *fields = rule_result_tuple(c, 3);
  if (!fields) return RULE_ERROR;
  fields[0] = rule_tensor(at->dtype, 2, (Dim[]){DIM_ANY, at->dims[1]});
  fields[1] = rule_tensor(v->dtype, 1, &any);
  fields[2] = rule_tensor(c->args[2].dtype, 1, &any);
  return RULE_OK;
}

/*   i : (n, r, int)    s : (r, int)    e : (q, int)
 *   ------------------------------------------------------
 *   sparse_reshape(i, s, e) : ((n, q, int), (q, int))                       */
RULE(sparse_reshape,
     "(n, r, int), (r, int), (q, int) -> ((n, q, int), (q, int))");
static RuleStatus rule_sparse_reshape(RuleCall *c) {
  const RuleType *at = &c->args[0], *to = &c->args[2];
  for (int i = 0; i < 3; i++)
    if (!rule_class(c, i, TAKES_INT) || !rule_rank(c, i, i == 0 ? 2 : 1))
      return RULE_ERROR;
  if (!rule_fits(c, 1, 1, at->dims + 1)) return RULE_ERROR;
  RuleType *fields = rule_result_tuple(c, 2);
  if (!fields) return RULE_ERROR;
  fields[0] = rule_tensor(at->dtype, 2, (Dim[]){at->dims[0], to->dims[0]});
  fields[1] = *to;
  return RULE_OK;
}
