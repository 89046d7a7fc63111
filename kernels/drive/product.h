/* Products of matrices in the law's order (kernels/isa.h), and the panels of
 * their right operands.  kernels/pack.h has packed right operands. */
#ifndef KERNELS_DRIVE_PRODUCT_H
#define KERNELS_DRIVE_PRODUCT_H

#include "kernels/call.h"
#include "kernels/isa.h"

/* False when `stop` was set, or with the fault set. */
bool product_run(OpCall *call, const Product *p);

/* The approximate time on one thread, in nanoseconds: that of the
 * multiplications, or that of reading b, whichever is longer. */
static inline double product_time(const Product *p) {
  double elements = (double)p->n * (double)p->k;
  return elements * (0.02 * (double)p->m + 0.2);
}

/* The transpose, as a view. */
static inline Matrix matrix_transposed(Matrix x) {
  return (Matrix){x.dtype, x.data, x.column_step, x.row_step};
}

/* --- Panels (panels.c) ---------------------------------------------------- */

/* The right operand b[k, n] of a product, read a part of a panel at a time; the
 * elements are float or uint32_t. */
typedef struct Panels {
  bool backwards;      /* from the last panel to the first */
  const float *packed; /* all panels (kernels/pack.h); or NULL, then `fill` */
  /* writes rows k .. k + rows of the panel that starts at column n, of which
   * it has `columns`; its rows are panel_width(columns) apart. */
  void (*fill)(const void *source, int64_t k, int rows, int64_t n, int columns,
               float *panel);
  const void *source;
} Panels;

/* Columns rounded up to whole groups; the columns added are 0. */
static inline int panel_width(int columns) {
  return (columns + GROUP - 1) / GROUP * GROUP;
}

/* With fewer columns a panel is mostly empty: then out^T = b^T a^T is computed,
 * which has the same sums. */
enum { COLUMNS_FEW = GROUP / 2 };

/* Panels copied from a matrix as needed, converted to the type that sums are
 * accumulated in. */
Panels panels_of_matrix(const Matrix *b);

/* Is a a transposed matrix that so many panels read that a copy with contiguous
 * rows is worth its time? */
bool product_turns(const Product *p);

/* Multiplies 32-bit operands; p->b is not read.  False when `stop` was set. */
bool product_of_panels(const OpCall *call, const Product *p, const Panels *b);

/* Runs a kernel of two operands.  Integers of different dtypes are cast to the
 * result's first. */
bool run_in_one_dtype(OpCall *call, KernelFn kernel);

/* A product accumulated in float32 or in 32-bit integers, of any dtypes. */
bool product_by_panels(OpCall *call, const Product *p);

#endif
