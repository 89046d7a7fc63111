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

/* Which loops a dtype has, by its column `loops`: this folder's own or the
 * reference's. */
#define OVERLAID(own, reference) own
#define REFERENCE(own, reference) reference

extern const StripFn *const ISA(strips)[DTYPE_COUNT];
extern const StripFn *const ISA(casts)[DTYPE_COUNT];
extern const StripFn ISA(where)[WHERE_SIZES];
extern const Pairs *const ISA(pairs)[FLOAT_TYPES];
extern const Reducer *const ISA(reducers)[DTYPE_COUNT];
extern NormLineFn *const ISA(lines)[FLOAT_TYPES][LINE_KINDS];
extern const Tiles *const ISA(tiles)[TILE_TYPES];

#endif
