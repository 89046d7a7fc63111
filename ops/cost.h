/* What an operator's call amounts to. */
#ifndef OPS_COST_H
#define OPS_COST_H

#include "ops/ops.h"

/* Operations on numbers, as OpFlops says.  `out` is the first result. */
double op_flops(const OpInfo *op, const Attrs *attrs, int count,
                const Tensor *args, const Tensor *out);

typedef struct OpCost {
  double flops;
  double bytes;     /* of operands that are read and of results */
  double allocated; /* of results: a scalar takes no memory of its own */
} OpCost;

/* From the operands, tuples flattened, and all results; a view costs nothing.
 */
OpCost op_cost(const OpInfo *op, const Attrs *attrs, int count,
               const Tensor *args, int out_count, const Tensor *outs);

#endif
