/* Every source of this folder starts with this header.  The Makefile compiles
 * each source once for each instruction set, named SIMD_ISA; ISA(x) is x_
 * followed by that name. */
#ifndef KERNELS_SIMD_OVERLAY_H
#define KERNELS_SIMD_OVERLAY_H

#include "kernels/isa.h"
#include "kernels/math/vec.h"
#include "kernels/ref/loop.h"

#define ISA_PASTE(name, isa) name##_##isa
#define ISA_OF(name, isa) ISA_PASTE(name, isa)
#define ISA(name) ISA_OF(name, SIMD_ISA)

#define ISA_QUOTE(isa) #isa
#define ISA_QUOTED(isa) ISA_QUOTE(isa)
#define ISA_TEXT ISA_QUOTED(SIMD_ISA)

/* A table by dtype: this folder's own rows for the dtypes used most, the
 * reference's for the others. */
#define OVERLAID(own, reference)                                          \
  {                                                                       \
    [DT_BOOL] = own##_BOOL, [DT_INT8] = reference##_INT8,                 \
    [DT_INT16] = reference##_INT16, [DT_INT32] = own##_INT32,             \
    [DT_INT64] = own##_INT64, [DT_UINT8] = reference##_UINT8,             \
    [DT_UINT16] = reference##_UINT16, [DT_UINT32] = reference##_UINT32,   \
    [DT_UINT64] = reference##_UINT64, [DT_FLOAT16] = reference##_FLOAT16, \
    [DT_BFLOAT16] = reference##_BFLOAT16, [DT_FLOAT32] = own##_FLOAT32,   \
    [DT_FLOAT64] = reference##_FLOAT64,                                   \
  }

extern const StripFn *const ISA(strips)[DTYPE_COUNT];
extern const StripFn *const ISA(casts)[DTYPE_COUNT];
extern const StripFn ISA(where)[WHERE_SIZES];
extern const Reducer *const ISA(reducers)[DTYPE_COUNT];
extern NormLineFn *const ISA(lines)[FLOAT_TYPES][LINE_KINDS];
extern const Tiles *const ISA(tiles)[TILE_TYPES];

#endif
