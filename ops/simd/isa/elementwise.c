/* Element-wise operators, from the same source as the reference kernels: what
 * differs is the flags, and that elementary functions go straight from operand
 * to result where both are contiguous. */
#include "ops/simd/isa/isa.h"

#include "ops/kernel.h"
#include "ops/math/f32.h"
#include "ops/ref/elementwise.h"

#include <math.h>
#include <string.h>

/* --- Elementary functions ------------------------------------------------ */

/* Vectors whose steps are interleaved, so that the processor finds enough to do
 * at once within the instructions it looks ahead; registers bound it. */
enum { FLIGHT = V == 16 ? 4 : V == 8 ? 2 : 1 };

#define EACH(many) VEC_UNROLL for (int i = 0; i < (many); i++)

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

#define MATH_UNARY(name) F32_MAP(name, FLIGHT)
#define MATH_WIDE(name) F32_MAP(name, 1)
#ifdef __AVX512F__
/* As far as f32_ahead_NAME gets, then what it left, some at a time. */
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
#include "ops/simd/isa/sigmoid.h"
#endif
#include "ops/math/math.def"

static void f32_tile_power(float *x, const float *y, int n) {
  for (; n >= V; n -= V, x += V, y += V)
    vf_store(x, vpower(vf_load(x), vf_load(y)));
  if (n > 0) vf_store_n(x, vpower(vf_load_n(x, n), vf_load_n(y, n)), n);
}

/* --- The bodies ---------------------------------------------------------- */

enum { TILE = 256 };

#define LIST "ops/ref/elementwise_bool.def"
#define BODY "ops/ref/elementwise_body.h"
#include "ops/ref/each_bool.h"
#undef LIST
#define LIST "ops/ref/elementwise_int.def"
#define WIDE_ALONE
#include "ops/ref/each_int.h"
#undef LIST
#define LIST "ops/ref/elementwise_float.def"
#include "ops/simd/isa/each_float.h"

/* --- The table ----------------------------------------------------------- */

/* Straight from operand to result; with steps, by tiles. */
#define MATH(op, function)                                              \
  static int map_##op(const Strip *s) {                                 \
    if (s->step[0] != 1 || s->out_step != 1)                            \
      return table_FLOAT32[OP_##op].strip(s);                           \
    f32_map_##function((const float *)s->in[0], (float *)s->out, s->n); \
    return 0;                                                           \
  }
#define UNARY(op, expression)
#define BINARY(op, expression)
#define PARAM(op, expression)
#define TEST(op, expression)
#define COMPARE(op, expression)
#include LIST
#undef MATH

#define MATH(op, function) [OP_##op] = map_##op,
static const StripFn maps[OP_COUNT] = {
#include LIST
};

static const Elementwise *const tables[DTYPE_COUNT] = {
    [DT_BOOL] = table_BOOL,
    [DT_INT32] = table_INT32,
    [DT_INT64] = table_INT64,
    [DT_FLOAT32] = table_FLOAT32,
};

StripFn ISA(simd_strip)(OpId op, DType dtype) {
  if (dtype == DT_FLOAT32 && maps[op]) return maps[op];
  return tables[dtype] ? tables[dtype][op].strip : NULL;
}

/* --- Choosing ------------------------------------------------------------ */

#define WHERE(T)                                                    \
  ALWAYS_INLINE void loop_##T(const Strip *s, int64_t i, int64_t j, \
                              int64_t k) {                          \
    const uint8_t *c = (const uint8_t *)s->in[0];                   \
    const T *x = (const T *)s->in[1], *y = (const T *)s->in[2];     \
    T *out = (T *)s->out;                                           \
    for (int64_t n = 0; n < s->n; n++) {                            \
      T yes = x[n * j], no = y[n * k];                              \
      out[n] = c[n * i] ? yes : no;                                 \
    }                                                               \
  }                                                                 \
  static int where_##T(const Strip *s) {                            \
    int64_t i = s->step[0], j = s->step[1], k = s->step[2];         \
    if (i == 1 && j == 1 && k == 1) return loop_##T(s, 1, 1, 1), 0; \
    if (i == 1 && j == 1 && k == 0) return loop_##T(s, 1, 1, 0), 0; \
    if (i == 1 && j == 0 && k == 1) return loop_##T(s, 1, 0, 1), 0; \
    return loop_##T(s, i, j, k), 0;                                 \
  }
WHERE(uint32_t)
WHERE(uint64_t)

StripFn ISA(simd_where)(size_t size) {
  return size == 4 ? where_uint32_t : size == 8 ? where_uint64_t : NULL;
}
