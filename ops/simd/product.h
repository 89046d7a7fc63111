/* Products over panels, in float32 and in integers of 32 bits: the drivers
 * around the inner loops of isa/tile.c.  Packed forms of right operands are in
 * ops/pack.h. */
#ifndef OPS_SIMD_PRODUCT_H
#define OPS_SIMD_PRODUCT_H

#include "ops/ref/product.h"
#include "ops/simd/simd.h"

/* The right operand b[k, n] of a product, a part of a panel at a time; its
 * elements are float, or bits of uint32_t. */
typedef struct Panels {
  bool backwards;      /* go from the last panel to the first */
  const float *packed; /* every panel whole (ops/pack.h), or NULL: */
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
bool simd_product_panels(const OpCall *call, const Product *p, const Panels *b);

/* Does the table in use take this product?  Then run it. */
bool simd_product_takes(const Product *p);
bool simd_product_run(OpCall *call, const Product *p);

#endif
