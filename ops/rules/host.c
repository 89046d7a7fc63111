/* The rule of operators that a host has registered. */
#include "ops/rules/support.h"

/* A dimension -1 is one that only the host tells: `?`. */
static RuleType result_of(DType dtype, int rank, const Dim *dims) {
  RuleType t = rule_tensor(dtype, rank, dims);
  for (int i = 0; i < rank; i++)
    if (dim_below(t.dims[i], 0)) t.dims[i] = DIM_ANY;
  return t;
}

/* The next number of the list `fields`, which lib/operator.c has written. */
static int64_t next(const AttrValue *fields, int *at) {
  Dim d = *at < fields->count ? fields->ints[*at] : dim_of(0);
  ++*at;
  return dim_is_number(d) ? dim_value(d) : 0;
}

static const RuleType *operand(const RuleCall *c, int64_t i) {
  bool there = i >= 0 && i < c->args[0].count;
  return there ? &c->args[0].fields[i] : NULL;
}

/* Reads one result of several from `fields`: its dtype, or -1 - i for that of
 * operand i; a number of axes r; a number n; and n operands, whose ranks are
 * added to r. */
static RuleStatus next_result(RuleCall *c, const AttrValue *fields, int *at,
                              DType *dtype, int *rank) {
  int64_t code = next(fields, at), axes = next(fields, at);
  const RuleType *like = operand(c, -1 - code);
  *dtype = like ? like->dtype : code < 0 ? DTYPE_NONE : (DType)code;
  for (int64_t n = next(fields, at); n > 0; n--) {
    const RuleType *x = operand(c, next(fields, at));
    if (!x || x->rank < 0) return RULE_WAIT;
    axes += x->rank;
  }
  if (axes < 0 || axes > RANK_MAX)
    return rule_error(c, E0208, 0,
                      "a result would have %lld dimensions; at most %d are "
                      "possible",
                      (long long)axes, RANK_MAX);
  *rank = (int)axes;
  return *dtype == DTYPE_NONE ? RULE_WAIT : RULE_OK;
}

/* The shapes stand one after another in `shape`. */
static RuleStatus rule_results(RuleCall *c, const AttrValue *fields) {
  const AttrValue *shapes = attr_get(c->attrs, ATTR_shape);
  int at = 0, from = 0, count = (int)next(fields, &at);
  RuleType *results = rule_result_tuple(c, count);
  if (!results) return RULE_ERROR;
  for (int i = 0; i < count; i++) {
    DType dtype = DTYPE_NONE;
    int rank = 0;
    RuleStatus status = next_result(c, fields, &at, &dtype, &rank);
    if (status != RULE_OK) return status;
    if (from + rank > shapes->count) return RULE_WAIT;
    results[i] = result_of(dtype, rank, shapes->ints + from);
    from += rank;
  }
  return RULE_OK;
}

/*   d, t, e, u as the signature says, a -1 in d or e being a dimension that
 * only the host tells
 *   --------------------------------------------------------------------------
 *   host((x, ...), shape=d, dtype=t) : (d..., t)
 *   host((x, ...), shape=[d..., e...], fields=[2, t, ..., u, ...])
 *     : ((d..., t), (e..., u))                                               */
RULE(host, "(tensors) -> (shape, dtype)", .fits = FITS_ALWAYS);
static RuleStatus rule_host(RuleCall *c) {
  int rank;
  Dim dims[RANK_MAX];
  const AttrValue *fields = attr_get(c->attrs, ATTR_fields);
  if (fields->count > 0) return rule_results(c, fields);
  RuleStatus status = rule_shape_attr(c, ATTR_shape, &rank, dims);
  if (status != RULE_OK) return status;
  c->result = result_of(attr_dtype(c->attrs, ATTR_dtype), rank, dims);
  return RULE_OK;
}
