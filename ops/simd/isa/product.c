/* Products in types of 64 bits, from the same source as the reference
 * kernels. */
#include "ops/simd/isa/isa.h"

#include "ops/kernel.h"
#include "ops/ref/each_names.h"
#include "ops/ref/elementwise.h"
#include "ops/ref/tile.h"

enum { ROWS = 8, COLUMNS = 32, BLOCK = 128 };

#define ID u64
#define C uint64_t
#define MULTIPLY_ADD(a, b, acc) ((acc) + (a) * (b))
#define LOAD_TILE tile_load_u64
#define STORE_TILE tile_store_u64
#include "ops/ref/product_body.h"
#undef ID
#undef C
#undef MULTIPLY_ADD
#undef LOAD_TILE
#undef STORE_TILE

/* Where the instruction is missing, the C library's function is as good. */
#if defined __AVX512F__ || defined __FMA__ || defined __ARM_FEATURE_FMA
#define ID f64
#define C double
#define MULTIPLY_ADD(a, b, acc) __builtin_fma(a, b, acc)
#define LOAD_TILE tile_load_f64
#define STORE_TILE tile_store_f64
#include "ops/ref/product_body.h"
#undef ID
#undef C
#undef MULTIPLY_ADD
#undef LOAD_TILE
#undef STORE_TILE
#else
#define run_f64 NULL
#endif

const SimdPlainProduct ISA(simd_plain_products)[] = {
    [SIMD_F64] = run_f64,
    [SIMD_U64] = run_u64,
};
