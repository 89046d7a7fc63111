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

/* A product and a sum may be made of several parts of the rows, the first part
 * first: each goes on from what the parts before gave, so that the bits are
 * those of all rows at once.  Of a call only heap, stop, threads and contention
 * are read. */

/* a' b, as nn.matmul with transpose_a has it; block i of a has as many rows as
 * block i of b.  `before` is the product of the rows before these, which is
 * taken, or NULL where these are the first.  NULL when `stop` was set or memory
 * ran out. */
Tensor *rows_product(const OpCall *call, Tensor *before, RowBlocks a,
                     RowBlocks b);

/* A sum of rows under way; all zeros at first. */
typedef struct RowsSum {
  Tensor *parts; /* the partial sums, which are owned; NULL: of no rows */
  int64_t rows;  /* how many are in them */
} RowsSum;

/* Adds the rows of x.  False when `stop` was set or memory ran out. */
bool rows_sum_add(const OpCall *call, RowsSum *sum, RowBlocks x);
/* The sum of all rows, of which there was at least one block, as `sum` over
 * axis 0 has it; ends `sum`.  NULL when memory ran out. */
Tensor *rows_sum_end(Heap *heap, RowsSum *sum);

#endif
