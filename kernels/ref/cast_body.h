/* Conversions from one dtype to every other, included like elementwise_body.h:
 * FN(CASTS) is indexed by the result's dtype, and so is FN(CAST_SCALARS) where
 * it is defined. */

#if CLASS_FLOAT
#define TO_INT(D, least, most) \
  (x != x ? 0 : x <= (C)(least) ? (least) : x >= (C)(most) ? (most) : (D)x)
#if WIDE
#define TO_FLOAT16 f64_to_f16(x)
#define TO_BFLOAT16 f64_to_bf16(x)
#else
#define TO_FLOAT16 f32_to_f16(x)
#define TO_BFLOAT16 f32_to_bf16(x)
#endif
#else
#define TO_INT(D, least, most) (D) x
#define ODD(x) \
  (CLASS_SIGNED ? signed_to_odd((int64_t)(x)) : unsigned_to_odd((uint64_t)(x)))
#define TO_FLOAT16 f64_to_f16(ODD(x))
#define TO_BFLOAT16 f64_to_bf16(ODD(x))
#endif

#define CONVERSION_STRIP(id, D, expression)                                    \
  ALWAYS_INLINE D FN(to_##id)(C x) { return expression; }                      \
  ALWAYS_INLINE int FN(cast_loop_##id)(const Strip *s, int64_t i, int64_t k) { \
    const T *in = (const T *)s->in[0];                                         \
    D *out = (D *)s->out;                                                      \
    for (int64_t n = 0; n < s->n; n++)                                         \
      out[n * k] = FN(to_##id)(LOAD(in[n * i]));                               \
    return 0;                                                                  \
  }                                                                            \
  static int FN(cast_##id)(const Strip *s) {                                   \
    if (s->step[0] == 1 && s->out_step == 1)                                   \
      return FN(cast_loop_##id)(s, 1, 1);                                      \
    return FN(cast_loop_##id)(s, s->step[0], s->out_step);                     \
  }

#ifdef CAST_SCALARS
#define CONVERSION(id, D, expression)                                       \
  CONVERSION_STRIP(id, D, expression)                                       \
  static Value FN(cast_scalar_##id)(Value a, Value b, Value c, int *fail) { \
    T x;                                                                    \
    Value out = {0};                                                        \
    memcpy(&x, &a, sizeof x);                                               \
    (void)b, (void)c, (void)fail;                                           \
    D v = FN(to_##id)(LOAD(x));                                             \
    memcpy(&out, &v, sizeof v);                                             \
    return out;                                                             \
  }
#else
#define CONVERSION CONVERSION_STRIP
#endif

CONVERSION(BOOL, uint8_t, x != 0)
CONVERSION(INT8, int8_t, TO_INT(int8_t, INT8_MIN, INT8_MAX))
CONVERSION(INT16, int16_t, TO_INT(int16_t, INT16_MIN, INT16_MAX))
CONVERSION(INT32, int32_t, TO_INT(int32_t, INT32_MIN, INT32_MAX))
CONVERSION(INT64, int64_t, TO_INT(int64_t, INT64_MIN, INT64_MAX))
CONVERSION(UINT8, uint8_t, TO_INT(uint8_t, 0, UINT8_MAX))
CONVERSION(UINT16, uint16_t, TO_INT(uint16_t, 0, UINT16_MAX))
CONVERSION(UINT32, uint32_t, TO_INT(uint32_t, 0, UINT32_MAX))
CONVERSION(UINT64, uint64_t, TO_INT(uint64_t, 0, UINT64_MAX))
CONVERSION(FLOAT16, uint16_t, TO_FLOAT16)
CONVERSION(BFLOAT16, uint16_t, TO_BFLOAT16)
CONVERSION(FLOAT32, float, (float)x)
CONVERSION(FLOAT64, double, x)

STRIPS_LINKAGE const StripFn FN(CASTS)[DTYPE_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = FN(cast_##id),
#include "tensor/dtype.def"
#undef DTYPE
};

#ifdef CAST_SCALARS
static const ScalarFn FN(CAST_SCALARS)[DTYPE_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = FN(cast_scalar_##id),
#include "tensor/dtype.def"
#undef DTYPE
};
#endif

#undef TO_INT
#undef TO_FLOAT16
#undef TO_BFLOAT16
#undef ODD
#undef CONVERSION
#undef CONVERSION_STRIP
