/* Element-wise operators, conversions and `where` in plain C: the strips of the
 * reference's table, from which other tables borrow, and functions on scalars,
 * of which there is one build. */
#ifndef KERNELS_REF_ELEMENTWISE_H
#define KERNELS_REF_ELEMENTWISE_H

#include "kernels/scalar.h"
#include "kernels/isa.h"

#define DTYPE(id, ...)                            \
  extern const StripFn ref_strips_##id[OP_COUNT]; \
  extern const StripFn ref_casts_##id[DTYPE_COUNT];
#include "tensor/dtype.def"
#undef DTYPE

/* By the bytes of an element. */
int ref_where_1(const Strip *s);
int ref_where_2(const Strip *s);
int ref_where_4(const Strip *s);
int ref_where_8(const Strip *s);

#endif
