/* Products: sums over k of a[m, k] * b[k, n], in the law's order. */
#ifndef OPS_REF_PRODUCT_H
#define OPS_REF_PRODUCT_H

#include "ops/ops.h"

/* A matrix as a product sees it: any strides, in elements. */
typedef struct Matrix {
  DType dtype;
  char *data;
  int64_t row_step, column_step;
} Matrix;

/* out[m, n] = sum_k a[m, k] * b[k, n].  False when `stop` was seen.
 *
 *   float32, float16, bfloat16   acc = fmaf(a, b, acc), from +0, k ascending,
 *                                in float32, rounded once to out's dtype
 *   float64                      the same with fma
 *   integers                     wrapping, in out's dtype                   */
typedef struct Product {
  int64_t m, n, k;
  Matrix a, b, out;
  Buffer *weights; /* holds b; where packed forms hang (ops/pack.h) or NULL */
} Product;
bool product_run(OpCall *call, const Product *p);

/* About how long it takes one thread, in nanoseconds: multiplying, or else
 * reading b. */
static inline double product_time(const Product *p) {
  double elements = (double)p->n * (double)p->k;
  return elements * (0.02 * (double)p->m + 0.2);
}

#endif
