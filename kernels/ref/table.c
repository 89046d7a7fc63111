/* The reference's table of inner loops: plain C, in the order that the law
 * fixes.  Every other table is compared with this one (tests/unit/simd_test.c),
 * and takes from it the loops that it has no faster ones for.  Loops that no
 * instruction set replaces, such as those of pooling and sorting, stand in no
 * table and are called directly. */
#include "kernels/ref/elementwise.h"
#include "kernels/ref/lines.h"
#include "kernels/ref/pairs.h"
#include "kernels/ref/product.h"
#include "kernels/ref/reduce.h"

/* An array for each dtype, indexed by operator; NULL where the operator does
 * not take the dtype. */
static const StripFn *const strips[DTYPE_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = ref_strips_##id,
#include "tensor/dtype.def"
#undef DTYPE
};

static const StripFn *const casts[DTYPE_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = ref_casts_##id,
#include "tensor/dtype.def"
#undef DTYPE
};

/* Indexed by size, with holes: there are no elements of 3 bytes. */
static const StripFn where[WHERE_SIZES] = {
    [1] = ref_where_1,
    [2] = ref_where_2,
    [4] = ref_where_4,
    [8] = ref_where_8,
};

static const Pairs *const pairs[FLOAT_TYPES] = {
    [IN_F32] = &ref_pairs_f32,
    [IN_F64] = &ref_pairs_f64,
};

static const Reducer *const reducers[DTYPE_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = ref_reducers_##id,
#include "tensor/dtype.def"
#undef DTYPE
};

#define LINES_IN(id)                                                \
  {                                                                 \
    [LINE_SOFTMAX] = ref_softmax_##id,                              \
    [LINE_LOG_SOFTMAX] = ref_log_softmax_##id,                      \
    [LINE_NORMALIZE] = ref_normalize_##id, [LINE_L2] = ref_l2_##id, \
    [LINE_LRN] = ref_lrn_##id,                                      \
  }
static NormLineFn *const lines[FLOAT_TYPES][LINE_KINDS] = {
    [IN_F32] = LINES_IN(f32),
    [IN_F64] = LINES_IN(f64),
};

/* Products in 32 bits go by tiles of panels, those in 64 bits are whole
 * loops. */
static const Tiles *const tiles[TILE_TYPES] = {
    [TILE_F32] = &ref_tiles_f32,
    [TILE_U32] = &ref_tiles_u32,
};

static WideProductFn *const products[WIDE_TYPES] = {
    [WIDE_F64] = ref_product_f64,
    [WIDE_U64] = ref_product_u64,
};

const Isa isa_reference = {
    .name = "reference",
    .strips = strips,
    .casts = casts,
    .where = where,
    .pairs = pairs,
    .reducers = reducers,
    .lines = lines,
    .tiles = tiles,
    .products = products,
};
