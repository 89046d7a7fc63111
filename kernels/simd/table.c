/* Products in 64-bit types, from the reference's source; and the table of the
 * instruction set, whose other parts come from the files beside this one. */
#include "kernels/simd/overlay.h"

#include "kernels/ref/product.h"
#include "kernels/ref/tile.h"

#include <string.h>

#define WIDE_LINKAGE static
#define WIDE_PRODUCT product
#define LOAD_TILE NAME_OF(tile_load, ID)
#define STORE_TILE NAME_OF(tile_store, ID)

#define ID u64
#define C uint64_t
#define MULTIPLY_ADD(a, b, acc) ((acc) + (a) * (b))
#include "kernels/ref/product_body.h"
#undef ID
#undef C
#undef MULTIPLY_ADD

/* Without the instruction, the C library's function gives the same bits. */
#if defined __AVX512F__ || defined __FMA__ || defined __ARM_FEATURE_FMA
#define ID f64
#define C double
#define MULTIPLY_ADD(a, b, acc) __builtin_fma(a, b, acc)
#include "kernels/ref/product_body.h"
#else
#define product_f64 ref_product_f64
#endif

static WideProductFn *const products[WIDE_TYPES] = {
    [WIDE_F64] = product_f64,
    [WIDE_U64] = product_u64,
};

extern const Isa ISA(isa);
const Isa ISA(isa) = {
    .name = ISA_TEXT,
    .strips = ISA(strips),
    .casts = ISA(casts),
    .where = ISA(where),
    .pairs = ISA(pairs),
    .reducers = ISA(reducers),
    .lines = ISA(lines),
    .tiles = ISA(tiles),
    .products = products,
};
