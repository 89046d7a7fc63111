/* See product.h. */
#include "kernels/ref/product.h"

#include "kernels/ref/loop.h"
#include "kernels/ref/tile.h"

#include <math.h>
#include <string.h>

/* --- Tiles ---------------------------------------------------------------- */

#define ID f32
#define C float
#define MULTIPLY_ADD(a, b, acc) fmaf(a, b, acc)
#include "kernels/ref/block_body.h"
#define ID u32
#define C uint32_t
#define MULTIPLY_ADD(a, b, acc) ((acc) + (a) * (b))
#include "kernels/ref/block_body.h"

/* --- Types of 64 bits ----------------------------------------------------- */

#define WIDE_LINKAGE
#define WIDE_PRODUCT ref_product
#define LOAD_TILE NAME_OF(tile_load, ID)
#define STORE_TILE NAME_OF(tile_store, ID)

#define ID f64
#define C double
#define MULTIPLY_ADD(a, b, acc) fma(a, b, acc)
#include "kernels/ref/product_body.h"
#undef ID
#undef C
#undef MULTIPLY_ADD
#define ID u64
#define C uint64_t
#define MULTIPLY_ADD(a, b, acc) ((acc) + (a) * (b))
#include "kernels/ref/product_body.h"
