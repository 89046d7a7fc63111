/* Rules of the random generators.  A key is ten words; see
 * kernels/drive/random.c. */
#include "ops/rules/support.h"

static const Dim key_dims[1] = {{10}};

static bool takes_key(RuleCall *c) {
  return rule_dtype(c, 0, DT_UINT64) && rule_fits(c, 0, 1, key_dims);
}

/* (new key, numbers of the given dtype) */
static RuleStatus key_and_numbers(RuleCall *c, DType dtype) {
  int rank;
  Dim dims[RANK_MAX];
  RuleStatus status = rule_result_shape(c, ATTR_out_shape, &rank, dims);
  if (status != RULE_OK) return status;
  RuleType *fields = rule_result_tuple(c, 2);
  if (!fields) return RULE_ERROR;
  fields[0] = rule_tensor(DT_UINT64, 1, key_dims);
  fields[1] = rule_tensor(dtype, rank, dims);
  return RULE_OK;
}

/*   key : (10, uint64)
 *   ----------------------------------------------------------------
 *   random.threefry_generate(key, out_shape=d) : (key, (d..., uint64))       */
RULE(threefry_generate, "(10, uint64) -> ((10, uint64), (out_shape, uint64))");
static RuleStatus rule_threefry_generate(RuleCall *c) {
  return takes_key(c) ? key_and_numbers(c, DT_UINT64) : RULE_ERROR;
}

/*   key : (10, uint64)
 *   ------------------------------------------
 *   random.threefry_split(key) : (key, key)                                 */
RULE(threefry_split, "(10, uint64) -> ((10, uint64), (10, uint64))");
static RuleStatus rule_threefry_split(RuleCall *c) {
  if (!takes_key(c)) return RULE_ERROR;
  RuleType *fields = rule_result_tuple(c, 2);
  if (!fields) return RULE_ERROR;
  fields[0] = fields[1] = rule_tensor(DT_UINT64, 1, key_dims);
  return RULE_OK;
}

/*   seed : int
 *   -------------------------------------
 *   random.threefry_key(seed) : (10, uint64)                                */
RULE(threefry_key, "() -> (10, uint64)");
static RuleStatus rule_threefry_key(RuleCall *c) {
  if (!rule_rank(c, 0, 0) || !rule_class(c, 0, TAKES_INT)) return RULE_ERROR;
  return rule_result(c, DT_UINT64, 1, key_dims);
}

/*   key : (10, uint64)    low, high : t    t float32 or float64
 *   -------------------------------------------------------------------------
 *   random.uniform(key, low, high, out_shape=d, out_dtype=t) : (key, (d..., t))
 */
RULE(random_real,
     "(10, uint64), (dtype), (dtype) -> ((10, uint64), (out_shape, dtype))");
static RuleStatus rule_random_real(RuleCall *c) {
  DType dtype = attr_dtype(c->attrs, ATTR_out_dtype);
  if (dtype != DT_FLOAT32 && dtype != DT_FLOAT64)
    return rule_error(c, E0304, -1, "out_dtype is float32 or float64");
  for (int i = 1; i <= 2; i++)
    if (!rule_dtype(c, i, dtype) || !rule_rank(c, i, 0)) return RULE_ERROR;
  return takes_key(c) ? key_and_numbers(c, dtype) : RULE_ERROR;
}

/*   key : (10, uint64)    p : (d..., n, t)    t floating-point
 *   -------------------------------------------------------------------------
 *   random.multinomial(key, p, num_samples=k) : (key, (d..., k, int32))     */
RULE(multinomial,
     "(10, uint64), (d..., n, t) -> ((10, uint64), (d..., num_samples, "
     "int32)), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_multinomial(RuleCall *c) {
  RuleType p = c->args[1];
  Dim k = attr_int(c->attrs, ATTR_num_samples);
  if (!takes_key(c) || !rule_class(c, 1, TAKES_FLOAT) ||
      !rule_min_rank(c, 1, 1))
    return RULE_ERROR;
  if (!rule_in_range(c, ATTR_num_samples, k, 0, INT64_MAX)) return RULE_ERROR;
  if (dim_is(p.dims[p.rank - 1], 0))
    return rule_error(c, E0209, 1, "there is nothing to choose from");
  p.dims[p.rank - 1] = k;
  RuleType *fields = rule_result_tuple(c, 2);
  if (!fields) return RULE_ERROR;
  fields[0] = rule_tensor(DT_UINT64, 1, key_dims);
  fields[1] = rule_tensor(DT_INT32, p.rank, p.dims);
  return RULE_OK;
}
