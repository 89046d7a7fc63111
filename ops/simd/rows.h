/* Kernels on lines that are computed in float32, as overlays of
 * ops/ref/rows.c. */
#ifndef OPS_SIMD_ROWS_H
#define OPS_SIMD_ROWS_H

#include "ops/ops.h"
#include "ops/ref/rows.h"

/* Does the table in use take lines of x?  Then run it on every line: the
 * elements over the axes in `set`, row-major. */
bool simd_rows_take(const Tensor *x, const RowCall *row);
bool simd_rows_run(OpCall *call, const Tensor *x, const Tensor *out,
                   unsigned set, const RowCall *row);

#endif
