/* Products of matrices, in the law's order (kernels/isa.h), and the panels that
 * they read their right operand by.  Packed forms of right operands are in
 * kernels/pack.h. */
#ifndef KERNELS_DRIVE_PRODUCT_H
#define KERNELS_DRIVE_PRODUCT_H

#include "kernels/call.h"
#include "kernels/isa.h"

/* False when `stop` was seen, or with the fault set. */
bool product_run(OpCall *call, const Product *p);

/* About how long it takes one thread, in nanoseconds: multiplying, or else
 * reading b. */
static inline double product_time(const Product *p) {
  double elements = (double)p->n * (double)p->k;
  return elements * (0.02 * (double)p->m + 0.2);
}

/* The same matrix, read the other way. */
static inline Matrix matrix_transposed(Matrix x) {
  return (Matrix){x.dtype, x.data, x.column_step, x.row_step};
}

/* --- Panels (panels.c) ---------------------------------------------------- */

/* The right operand b[k, n] of a product, a part of a panel at a time; its
 * elements are float, or bits of uint32_t. */
typedef struct Panels {
  bool backwards;      /* go from the last panel to the first */
  const float *packed; /* every panel whole (kernels/pack.h), or NULL: */
  /* writes rows k .. k + rows of the panel that starts at column n, of which
   * it has `columns`; its rows are panel_width(columns) apart. */
  void (*fill)(const void *source, int64_t k, int rows, int64_t n, int columns,
               float *panel);
  const void *source;
} Panels;

/* Columns rounded up to whole groups; what lies beyond is 0. */
static inline int panel_width(int columns) {
  return (columns + GROUP - 1) / GROUP * GROUP;
}

/* Panels that are copied from a matrix as they are needed, its elements as
 * what they are accumulated in. */
Panels panels_of_matrix(const Matrix *b);

/* Operands of 32 bits; p->b is not looked at.  False when `stop` was seen. */
bool product_of_panels(const OpCall *call, const Product *p, const Panels *b);

/* A product that is accumulated in float32 or in 32 bits, of any dtypes. */
bool product_by_panels(OpCall *call, const Product *p);

#endif
