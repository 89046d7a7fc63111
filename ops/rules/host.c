/* The rule of operators that a host has registered. */
#include "ops/rules/support.h"

/*   d, t as the signature says, a -1 in d being a dimension that only the host
 *   tells
 *   --------------------------------------------------------------------------
 *   host((x, ...), shape=d, dtype=t) : (d..., t) */
RULE(host, "(tensors) -> (shape, dtype)", .fits = FITS_ALWAYS);
static RuleStatus rule_host(RuleCall *c) {
  int rank;
  Dim dims[RANK_MAX];
  RuleStatus status = rule_shape_attr(c, ATTR_shape, &rank, dims);
  if (status != RULE_OK) return status;
  for (int i = 0; i < rank; i++)
    if (dim_below(dims[i], 0)) dims[i] = DIM_ANY;
  return rule_result(c, attr_dtype(c->attrs, ATTR_dtype), rank, dims);
}
