/* The tiles of one type, from FN(tile)(block, rows, by_offset), which must be
 * inlined: one function for each number of rows, so that the compiler knows it.
 * EACH_TILE(name) lists them for a table.  Included by ref/block_body.h and
 * simd/tile_body.h. */

#define TILE_OF(rows)                                     \
  static void FN(tile_##rows)(const ProductBlock *b) {    \
    FN(tile)(b, rows, false);                             \
  }                                                       \
  static void FN(tile_at_##rows)(const ProductBlock *b) { \
    FN(tile)(b, rows, true);                              \
  }
TILE_OF(1)
TILE_OF(2)
TILE_OF(3)
TILE_OF(4)
TILE_OF(5)
TILE_OF(6)
#undef TILE_OF

#define EACH_TILE(name)                                                 \
  FN(name##_1), FN(name##_2), FN(name##_3), FN(name##_4), FN(name##_5), \
      FN(name##_6)
