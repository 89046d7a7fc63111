/* Weights that a fast convolution has transformed, as their rules and kernels
 * see them. */
#ifndef OPS_RULES_TRANSFORMED_H
#define OPS_RULES_TRANSFORMED_H

#include "ops/attr.h"

/* Is a kernel of this depth transformed along it, too? */
bool winograd_depth(int64_t depth);

/* Tiles of a matrix of `n` columns and `k` rows each.  The rows are padded to a
 * multiple of `round`.  A tile is stored by columns where it is turned. */
typedef struct GemmTiles {
  int64_t n, k, round;
  bool turned;
} GemmTiles;
GemmTiles gemm_tiles(const Attrs *attrs, DType dtype);

#endif
