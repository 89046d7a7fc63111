/* Packed right operands of products, which read them once and in order: the
 * columns of b[k, n] in panels of PANEL columns, one after the other, each
 * k-major; the last panel has only the whole groups of columns that it needs.
 * Packed forms hang on the buffer that holds b, keyed by b's geometry.  They
 * live as long as the buffer and serve every session that shares it.  A matrix
 * is packed when it is a right operand for the second time. */
#ifndef KERNELS_PACK_H
#define KERNELS_PACK_H

#include "kernels/call.h"
#include "kernels/isa.h"

typedef struct Packed {
  float *panels;
  size_t bytes;
  _Atomic bool backwards; /* see pack_backwards() */
} Packed;

/* The packed form of b[k, n], whose elements are in `buffer`.  NULL when this
 * is the first use, when memory is short, or when `stop` was set.  It belongs
 * to the buffer.  Of the call only heap, stop, threads and contention are read.
 */
Packed *pack_find(const OpCall *call, Buffer *buffer, const Matrix *b,
                  int64_t k, int64_t n);

/* Shall this product read the panels from last to first?  When they exceed the
 * cache, every second product does, and so starts with the panels that the one
 * before it left there. */
bool pack_backwards(Packed *p);

/* Makes the next use of a right operand in t's buffer count as the second.  For
 * parameters, which are certain to be used again. */
void ops_pack(const Tensor *t);

#endif
