/* The inner loops of products: a few rows of a by one panel of b, with the sums
 * in registers.  kernels/drive/panels.c has the loops around them. */
#include "kernels/simd/overlay.h"

/* Vectors side by side in a tile.  rows x that many sums, a vector for each
 * column and one factor must fit in the registers, and there must be enough
 * sums to hide the latency of a multiply-add: two start in a cycle and take
 * four, so eight.  With 32 registers 6 x 4 sums, 4 columns and a factor are 29;
 * with 16 registers 6 x 2, 2 and 1 are 15. */
#if defined __AVX512F__ || defined __ARM_FEATURE_FMA
#define STRIP_OF(rows) ((rows) == 1 ? 8 : 4)
#else
#define STRIP_OF(rows) ((rows) == 1 ? 8 : (rows) <= 3 ? 4 : 2)
#endif
enum { STRIP_MAX = 8 };

#define ID f32
#define VT VF
#define SET(p) vf_set(*(p))
#define MULTIPLY_ADD(a, b, sum) vf_fma(a, b, sum)
#include "kernels/simd/tile_body.h"

/* The same bits in every lane; through an integer, since a float might be a NaN
 * whose bits a conversion would change. */
VEC_FN VU vu_set(const float *p) {
  uint32_t bits;
  memcpy(&bits, p, sizeof bits);
  return (VU){0} + bits;
}

#define ID u32
#define VT VU
#define SET(p) vu_set(p)
#define MULTIPLY_ADD(a, b, sum) ((sum) + (a) * (b))
#include "kernels/simd/tile_body.h"

const Tiles *const ISA(tiles)[TILE_TYPES] = {
    [TILE_F32] = &tiles_f32,
    [TILE_U32] = &tiles_u32,
};
