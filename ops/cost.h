/* What an operator's call amounts to. */
#ifndef OPS_COST_H
#define OPS_COST_H

#include "ops/ops.h"

/* Operations on numbers: two for each multiply-add of products and
 * convolutions; for others one for each element read or made, whichever are
 * more; none where elements are only moved, or where nobody can say.  `out` is
 * the first result. */
double op_flops(const OpInfo *op, const Attrs *attrs, int count,
                const Tensor *args, const Tensor *out);

#endif
