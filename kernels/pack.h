/* Packed forms of right operands, which products read once and in order: the
 * columns of b[k, n] in panels of PANEL, one behind the other, each k-major;
 * the last is as wide as whole groups of columns need.
 *
 * They hang on the buffer that holds b, keyed by b's geometry, live as long as
 * the buffer, and serve every session that shares it.  A matrix is packed when
 * it is used as a right operand for the second time. */
#ifndef KERNELS_PACK_H
#define KERNELS_PACK_H

#include "kernels/isa.h"

typedef struct Packed {
  float *panels;
  size_t bytes;
  _Atomic bool backwards; /* see pack_backwards() */
} Packed;

/* The packed form of b[k, n], which lies in `buffer`, or NULL when this is the
 * first use, memory for it is short, or `stop` was seen (NULL: there is none).
 * It belongs to the buffer. */
Packed *pack_find(Buffer *buffer, const Matrix *b, int64_t k, int64_t n,
                  Mem *mem, const _Atomic int *stop);

/* Shall this product go from the last panel to the first?  Where panels are
 * more than a cache holds, every other one does, and so begins with those that
 * the one before it has left there. */
bool pack_backwards(Packed *p);

/* Lets the first use of a right operand in t's buffer count as the second:
 * for parameters, which will be used again and again. */
void ops_pack(const Tensor *t);

#endif
