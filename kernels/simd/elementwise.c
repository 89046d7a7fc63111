/* Strips, from the reference's source (kernels/ref/elementwise_body.h),
 * compiled with the flags of each instruction set.  The differences are these
 * flags, and that elementary functions read from operand to result directly
 * when both are contiguous, several vectors at a time.  Bits cannot differ:
 * vector functions give a lane the same bits at every width
 * (kernels/math/vec.h), and the rest is IEEE arithmetic without contraction. */
#include "kernels/simd/overlay.h"

#include "kernels/math/f32.h"
#include "kernels/ref/elementwise.h"
#include "kernels/ref/odd.h"
#include "kernels/ref/tile.h"
#include "tensor/half.h"

#include <math.h>
#include <string.h>

/* --- Elementary functions ------------------------------------------------ */

/* Vectors whose steps are interleaved, so that the processor finds enough
 * independent instructions within its window; the number of registers bounds
 * it. */
enum { FLIGHT = V == 16 ? 4 : V == 8 ? 2 : 1 };

#define EACH(many) VEC_UNROLL for (int i = 0; i < (many); i++)

/* y[i] = NAME(x[i]) over n elements: `many` vectors interleaved, then one at a
 * time, then a part of one.  x and y are equal or do not overlap. */
#define F32_LOOP(map, name, many)                                            \
  static void map(const float *x, float *y, int64_t n) {                     \
    const int64_t step = (many)*V;                                           \
    for (; n >= step; n -= step, x += step, y += step) {                     \
      VF t[many];                                                            \
      EACH(many) t[i] = vf_load(x + i * V);                                  \
      EACH(many) t[i] = v##name(t[i]);                                       \
      EACH(many) vf_store(y + i * V, t[i]);                                  \
    }                                                                        \
    for (; n >= V; n -= V, x += V, y += V) vf_store(y, v##name(vf_load(x))); \
    if (n > 0) vf_store_n(y, v##name(vf_load_n(x, (int)n)), (int)n);         \
  }

#define F32_TILE(name) \
  static void f32_tile_##name(float *x, int n) { f32_map_##name(x, x, n); }

#define F32_MAP(name, many) F32_LOOP(f32_map_##name, name, many) F32_TILE(name)

/* Functions that are computed in double occupy twice the registers, so theirs
 * are not interleaved. */
#define MATH_UNARY(name) F32_MAP(name, FLIGHT)
#define MATH_WIDE(name) F32_MAP(name, 1)
#ifdef __AVX512F__
/* Runs f32_ahead_NAME as far as it gets, then interleaved vectors over the
 * elements that made it stop, up to 16 vectors of them, and so on in turns. */
#define MATH_QUOTIENT(name)                                         \
  F32_LOOP(f32_plain_##name, name, FLIGHT)                          \
  static void f32_map_##name(const float *x, float *y, int64_t n) { \
    while (n > 0) {                                                 \
      int64_t done = f32_ahead_##name(x, y, n), most = 16 * V;      \
      int64_t left = n - done < most ? n - done : most;             \
      f32_plain_##name(x + done, y + done, left);                   \
      x += done + left;                                             \
      y += done + left;                                             \
      n -= done + left;                                             \
    }                                                               \
  }                                                                 \
  F32_TILE(name)
#include "kernels/simd/sigmoid.h"
#endif
#include "kernels/math/math.def"

/* Of two arguments, so it has no place among the rows of math.def. */
static void f32_tile_power(float *x, const float *y, int n) {
  for (; n >= V; n -= V, x += V, y += V)
    vf_store(x, vpower(vf_load(x), vf_load(y)));
  if (n > 0) vf_store_n(x, vpower(vf_load_n(x, n), vf_load_n(y, n)), n);
}

/* --- Operators, conversions, choices -------------------------------------- */

#define STRIPS_LINKAGE static
#define OVERLAID_ALONE 1

#define STRIPS strips
#define MAP(function) f32_map_##function
#include "kernels/ref/each_list.h"

#define CASTS casts
#define BODY "kernels/ref/cast_body.h"
#include "kernels/ref/each_bool.h"
#include "kernels/ref/each_int.h"
#include "kernels/ref/each_float.h"
#undef BODY

/* Choices of one and two bytes are the reference's. */
#define WHERE where
#define ID 4
#define T uint32_t
#include "kernels/ref/where_body.h"
#define ID 8
#define T uint64_t
#include "kernels/ref/where_body.h"

/* --- Their tables --------------------------------------------------------- */

/* The column `loops` of dtype.def says which dtypes are worth their own. */
const StripFn *const ISA(strips)[DTYPE_COUNT] = {
#define DTYPE(id, suffix, T, class, form, exponent, in, loops, ...) \
  [DT_##id] = loops(strips_##id, ref_strips_##id),
#include "tensor/dtype.def"
#undef DTYPE
};
const StripFn *const ISA(casts)[DTYPE_COUNT] = {
#define DTYPE(id, suffix, T, class, form, exponent, in, loops, ...) \
  [DT_##id] = loops(casts_##id, ref_casts_##id),
#include "tensor/dtype.def"
#undef DTYPE
};
const StripFn ISA(where)[WHERE_SIZES] = {
    [1] = ref_where_1,
    [2] = ref_where_2,
    [4] = where_4,
    [8] = where_8,
};
