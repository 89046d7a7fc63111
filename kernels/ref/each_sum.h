/* Includes BODY once for each type that sums of products are made in, those
 * of tile.h; for the two floats alone where FLOATS_ALONE is defined.
 *
 *   ID                       the type's name: f32
 *   C                        the type
 *   MULTIPLY_ADD(a, b, acc)  a * b + acc, rounded once
 *   LOAD_TILE, STORE_TILE    runs of elements to C and back
 *   FN(name)                 name_f32                                       */
#include "kernels/ref/loop.h"
#include "kernels/ref/tile.h"

#include <math.h>

#define LOAD_TILE NAME_OF(tile_load, ID)
#define STORE_TILE NAME_OF(tile_store, ID)

#define ID f32
#define C float
#define MULTIPLY_ADD(a, b, acc) fmaf(a, b, acc)
#include BODY
#undef ID
#undef C
#undef MULTIPLY_ADD

#define ID f64
#define C double
#define MULTIPLY_ADD(a, b, acc) fma(a, b, acc)
#include BODY
#undef ID
#undef C
#undef MULTIPLY_ADD

#ifndef FLOATS_ALONE
#define MULTIPLY_ADD(a, b, acc) ((acc) + (a) * (b))
#define ID u32
#define C uint32_t
#include BODY
#undef ID
#undef C

#define ID u64
#define C uint64_t
#include BODY
#undef ID
#undef C
#undef MULTIPLY_ADD
#endif

#undef LOAD_TILE
#undef STORE_TILE
