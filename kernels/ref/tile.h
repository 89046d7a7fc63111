/* Loads and stores runs of elements as arrays of the type computed with: floats
 * as float or double, integers and bool as uint32_t or uint64_t, which wrap.
 * `step` is in elements.  A store rounds to nearest even, or truncates
 * integers. */
#ifndef KERNELS_REF_TILE_H
#define KERNELS_REF_TILE_H

#include "tensor/tensor.h"

/* Elements that kernels process at a time: 2 KB of doubles, on the stack. */
enum { TILE = 256 };

#define TRANSFER(To, name)                                                  \
  void tile_load_##name(DType from, const char *x, int64_t step, int64_t n, \
                        To *to);                                            \
  void tile_store_##name(DType to, char *out, int64_t step, int64_t n,      \
                         const To *from);
TRANSFER(float, f32)
TRANSFER(double, f64)
TRANSFER(uint32_t, u32)
TRANSFER(uint64_t, u64)
#undef TRANSFER

#endif
