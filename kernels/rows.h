/* Products and sums over matrices whose rows lie in several tensors, one below
 * the other.  The terms are added in the order of the rows, so that the result
 * has the bits of the operator on the joined matrix, which is never made: a
 * recurrence's gradient sums over the rows of all its steps. */
#ifndef KERNELS_ROWS_H
#define KERNELS_ROWS_H

#include "kernels/call.h"

/* Blocks of rows: float32 matrices of as many columns. */
typedef struct RowBlocks {
  int64_t count; /* at least 1 */
  const Tensor *const *of;
} RowBlocks;

/* Are the tensors such blocks? */
bool row_blocks_fit(RowBlocks x);

/* a' b, as nn.matmul with transpose_a has it; block i of a has as many rows as
 * block i of b.  Of the call only heap, stop, threads and crowd are read.  NULL
 * when `stop` was set or memory ran out. */
Tensor *rows_product(const OpCall *call, RowBlocks a, RowBlocks b);

/* The sum of all rows, as `sum` over axis 0 has it; likewise. */
Tensor *rows_sum(const OpCall *call, RowBlocks x);

#endif
