/* Conversions from one dtype to every other, included like elementwise_body.h:
 * FN(CASTS) is indexed by the result's dtype, and so is FN(CAST_SCALARS) where
 * it is defined.
 *
 *   to bool       x != 0, so NaN is True
 *   to integers   from floats: truncated, saturated, NaN gives 0
 *                 from integers: the low bits (two's complement)
 *                 narrow ones likewise, by their bits
 *   to floats     rounded to nearest even, once
 *
 * From is C, the type that the source is computed in, which holds it exactly.
 * Where C does not lead to the result in one rounding (an int64 to float16 by
 * way of double would round twice), the first step rounds to odd (odd.h). */

/* The bounds are compared in C: where the greatest integer is no float it
 * rounds up to a power of two, which `>=` treats as beyond the range. */
#if IS_FLOAT
#define TO_INT(D, least, most, low) \
  (x != x ? 0 : x <= (C)(least) ? (least) : x >= (C)(most) ? (most) : (D)x)
#else
#define TO_INT(D, least, most, low) (D)(low)
#endif

#if IS_FLOAT
#define ODD(x) (x)
#else
#define ODD(x) \
  (IS_SIGNED ? signed_to_odd((int64_t)(x)) : unsigned_to_odd((uint64_t)(x)))
#endif
#if IS_FLOAT && !WIDE
#define TO_CODED(D, suffix, exponent) f32_to_##suffix(x)
#define TO_FINITE TO_CODED
#else
#define TO_CODED(D, suffix, exponent) \
  (D) f64_to_coded(ODD(x), 8 * sizeof(D), exponent)
#define TO_FINITE(D, suffix, exponent) \
  (D) f64_to_finite(ODD(x), 8 * sizeof(D), exponent)
#endif
#define TO_PLAIN(D, suffix, exponent) (D) x

/* To integers, by form and class. */
#define TO_PLAIN_I(id, D, bits) TO_INT(D, id##_MIN, id##_MAX, x)
#define TO_PLAIN_U(id, D, bits) TO_INT(D, 0, id##_MAX, x)
#define TO_NARROW_I(id, D, bits)                       \
  TO_INT(D, -(1 << ((bits)-1)), (1 << ((bits)-1)) - 1, \
         low_signed((uint64_t)x, bits))
#define TO_NARROW_U(id, D, bits) \
  TO_INT(D, 0, (1 << (bits)) - 1, low_unsigned((uint64_t)x, bits))

/* By the class of the result. */
#define TO_B(id, D, to, suffix, bits) x != 0
#define TO_I(id, D, to, suffix, bits) to##_I(id, D, bits)
#define TO_U(id, D, to, suffix, bits) to##_U(id, D, bits)
#define TO_F(id, D, to, suffix, bits) to(D, suffix, bits)

/* The loop is inlined twice: with steps of 1, which the compiler makes into
 * vectors, and with any steps. */
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
    if (STEPS_ARE(s->step[0] == 1 && s->out_step == 1))                        \
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

#define DTYPE(id, suffix, D, class, form, bits, ...) \
  CONVERSION(id, D, TO_##class(id, D, TO_##form, suffix, bits))
#include "tensor/dtype.def"
#undef DTYPE

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
#undef TO_CODED
#undef TO_FINITE
#undef TO_PLAIN
#undef TO_PLAIN_I
#undef TO_PLAIN_U
#undef TO_NARROW_I
#undef TO_NARROW_U
#undef TO_B
#undef TO_I
#undef TO_U
#undef TO_F
#undef ODD
#undef CONVERSION
#undef CONVERSION_STRIP
