/* float32 functions computed in double, half a vector at a time: those whose
   formulas lose too much in single precision and whose speed matters less.
   The errors of the plain formulas here vanish in the final rounding, so
   results are within 0.51 ulp. No fused multiply-add is used, since not every
   machine has one for doubles. Include f32.h for all functions.

   The polynomials are minimax ones, printed by minimax.py. */

#ifndef KERNELS_MATH_F32_DOUBLE_H
#define KERNELS_MATH_F32_DOUBLE_H

#include "kernels/math/f32_single.h"
#include "kernels/math/f64.h"

#define VD_INF __builtin_inf()
#define VD_PI 0x1.921fb54442d18p+1
#define VD_LN2 0x1.62e42fefa39efp-1
#define VD_LOG2E 0x1.71547652b82fep+0

/* --- Exponential and logarithm --------------------------------------------*/

static const double WIDE_EXP[] = {
    0x1.fffffffff1401p-2,  0x1.5555555589ee8p-3,  0x1.5555557dee385p-5,
    0x1.1111108e34e2dp-7,  0x1.6c163bea0d4d1p-10, 0x1.a01b735e42a6dp-13,
    0x1.a16e3203c135fp-16, 0x1.7101b153f562bp-19,
};

/* 2^t. Clamping at +-250 changes no float32 result. Adding the magic number
   rounds t to an integer, which then stands in the low bits of the sum: shifted
   into the exponent's place it is the scale. What is left of t is at most
   1/2. */
VEC_FN VD vd_exp2(VD t) {
  t = vd_max(vd_set(-250), vd_min(vd_set(250), t));
  VD whole = t + (VD_MAGIC + 1023);
  VD r = (t - (whole - (VD_MAGIC + 1023))) * VD_LN2;
  VD scale = (VD)((VUL)whole << 52);
  return (r * r * VD_POLY(r, WIDE_EXP) + r + 1) * scale;
}

VEC_FN VD vd_exp(VD x) { return vd_exp2(x * VD_LOG2E); }

/* log((1 + s) / (1 - s)) = 2 s + s^3 P(s^2) */
static const double WIDE_LOG[] = {
    0x1.555555561e72p-1,  0x1.999996a8adb26p-2, 0x1.24941239a5159p-2,
    0x1.c62af907b9c3dp-3, 0x1.91174276e442cp-3,
};

/* x = 2^e m with m in [sqrt 1/2, sqrt 2). No argument is subnormal: they are
   floats, whose least is a normal double. The last three lines are for NaN and
   infinity, negative numbers, and zeros. */
VEC_FN VD vd_log(VD x) {
  VUL offset = (VUL)x + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
  VD e = (VD)((VL)(offset >> 52) + (VL)vd_set(VD_MAGIC)) - (VD_MAGIC + 1023);
  VD m = (VD)((VL)(offset & 0xfffffffffffff) + 0x3fe6a09e667f3bcd);
  VD s = (m - 1) / (m + 1), z = s * s;
  VD y = s * z * VD_POLY(z, WIDE_LOG) + 2 * s + e * VD_LN2;
  y = vd_select(x < VD_INF, y, x);
  y = vd_select(x < 0, vd_set(__builtin_nan("")), y);
  return vd_select(x == 0, vd_set(-VD_INF), y);
}

/* --- Hyperbolic functions, and their inverses ------------------------------*/

/* Below this, two or three terms of the series are enough. */
#define WIDE_TINY 0x1p-6

/* (e^x - e^-x) / 2 cancels near 0, where a few terms of the series are exact
   enough. Both are computed in every lane, and one is chosen. */
VEC_FN VD vd_sinh(VD x) {
  VD e = vd_exp(x), z = x * x;
  VD near = x * (1 + z * (1.0 / 6 + z * (1.0 / 120)));
  return vd_select(vd_abs(x) < WIDE_TINY, near, (e - 1 / e) / 2);
}

VEC_FN VD vd_cosh(VD x) {
  VD e = vd_exp(vd_abs(x));
  return (e + 1 / e) / 2;
}

VEC_FN VD vd_asinh(VD x) {
  VD a = vd_abs(x), z = x * x;
  VD near = a * (1 - z * (1.0 / 6 - z * (3.0 / 40)));
  VD far = vd_log(a + vd_sqrt(z + 1));
  return vd_copysign(vd_select(a < WIDE_TINY, near, far), x);
}

/* (x - 1)(x + 1) rather than x^2 - 1, which would cancel near 1. */
VEC_FN VD vd_acosh(VD x) {
  VD y = vd_log(x + vd_sqrt((x - 1) * (x + 1)));
  return vd_select(x < 1, vd_set(__builtin_nan("")), y);
}

VEC_FN VD vd_atanh(VD x) {
  VD a = vd_abs(x), z = x * x;
  VD near = a * (1 + z * (1.0 / 3 + z * (1.0 / 5)));
  VD far = vd_log((1 + a) / (1 - a)) / 2;
  return vd_copysign(vd_select(a < WIDE_TINY, near, far), x);
}

/* --- Trigonometric functions ----------------------------------------------*/

/* x = quadrant * pi/2 + r, |r| <= pi/4; the quadrant modulo 2^51. */
typedef struct {
  VL quadrant;
  VD r;
} Angle;

/* From here on, or infinite, lanes are reduced one by one. */
#define WIDE_LARGE 0x1p19

/* Lanes from WIDE_LARGE on, one by one, exactly (f64_trig.c): rare, and as slow
   as it must be. */
VEC_FN Angle vd_angle_large(VD x, Angle a) {
  for (int i = 0; i < V / 2; i++) {
    if (__builtin_fabs(x[i]) < WIDE_LARGE) continue;
    F64Angle exact = f64_angle(x[i]);
    a.quadrant[i] = exact.quadrant;
    a.r[i] = exact.high;
  }
  return a;
}

/* pi/2 in two parts; the first has 32 bits, so its multiples are exact, up to
   WIDE_LARGE. The quadrant is in the low bits of `whole`. */
VEC_FN Angle vd_angle(VD x) {
  VD whole = x * 0x1.45f306dc9c883p-1 + VD_MAGIC, n = whole - VD_MAGIC;
  VD r = x - n * 0x1.921fb544p+0 - n * 0x1.0b4611a626331p-34;
  Angle a = {(VL)whole, r};
  VL large = vd_abs(x) >= WIDE_LARGE;
  return __builtin_expect(vd_any(large), 0) ? vd_angle_large(x, a) : a;
}

static const double WIDE_SIN[] = {
    -0x1.5555554c7216ep-3,
    0x1.1111086a896cp-7,
    -0x1.a00f7f3e95f63p-13,
    0x1.6cd1f60e93cap-19,
};

static const double WIDE_COS[] = {
    -0.5,
    0x1.5555554ed9169p-5,
    -0x1.6c16b829cfe4ap-10,
    0x1.a010deb48f02dp-16,
    -0x1.241e9881d28fbp-22,
};

/* The sine of (quadrant * pi/2 + r): odd quadrants take the cosine, and bit 1
   of the quadrant becomes the sign. */
VEC_FN VD vd_sin_angle(VL quadrant, VD r) {
  VD z = r * r;
  VD s = r * (1 + z * VD_POLY(z, WIDE_SIN)), c = 1 + z * VD_POLY(z, WIDE_COS);
  VD y = vd_select(-(quadrant & 1), c, s);
  return (VD)((VUL)y ^ (VUL)(quadrant & 2) << 62);
}

VEC_FN VD vd_sin(VD x) {
  Angle a = vd_angle(x);
  return vd_sin_angle(a.quadrant, a.r);
}

VEC_FN VD vd_cos(VD x) {
  Angle a = vd_angle(x);
  return vd_sin_angle(a.quadrant + 1, a.r);
}

static const double WIDE_TAN[] = {
    0x1.5555556bcdabp-2,  0x1.111105c2c4bc1p-3,   0x1.ba1f877a652dp-5,
    0x1.65fb846335c9dp-6, 0x1.265f7ff98f3d1p-7,   0x1.9e39621bb0622p-9,
    0x1.39238d36383aap-9, -0x1.2bb20c7d08509p-11, 0x1.f26541d19b8c5p-11,
};

/* tan(r + pi/2) = -1 / tan r. */
VEC_FN VD vd_tan(VD x) {
  Angle a = vd_angle(x);
  VD z = a.r * a.r, t = a.r * (1 + z * VD_POLY(z, WIDE_TAN));
  return vd_select(-(a.quadrant & 1), -1 / t, t);
}

static const double WIDE_ASIN[] = {
    0x1.55555547dfc13p-3, 0x1.333340865624ep-4, 0x1.6db25d26e3d56p-5,
    0x1.f2819704a56aap-6, 0x1.66441c97218f3p-6, 0x1.522d80673673dp-6,
    0x1.055acc95d8057p-9, 0x1.0d7bb14ecc5b3p-5,
};

/* asin t for t in [0, 1/2] */
VEC_FN VD vd_asin_small(VD t) {
  VD z = t * t;
  return t + t * z * VD_POLY(z, WIDE_ASIN);
}

/* asin a = pi/2 - 2 asin sqrt((1 - a) / 2) */
VEC_FN VD vd_asin(VD x) {
  VD a = vd_abs(x);
  VL large = a > 0.5;
  VD y = vd_asin_small(vd_select(large, vd_sqrt((1 - a) / 2), a));
  return vd_copysign(vd_select(large, VD_PI / 2 - 2 * y, y), x);
}

/* pi/2 - asin x near 0; 2 asin sqrt((1 - |x|) / 2) near 1, and pi less that
   near -1. Beyond 1 the root is NaN. */
VEC_FN VD vd_acos(VD x) {
  VD a = vd_abs(x);
  VL large = a > 0.5;
  VD y = vd_asin_small(vd_select(large, vd_sqrt((1 - a) / 2), a));
  VD turned = vd_select(x < 0, VD_PI - 2 * y, 2 * y);
  return vd_select(large, turned, VD_PI / 2 - vd_copysign(y, x));
}

/* A vector of floats, its lower and its upper half as vectors of doubles. */
#define VF_BY_HALVES(name)                                       \
  VEC_FN VF v##name(VF x) {                                      \
    return vf_join(vd_##name(vd_low(x)), vd_##name(vd_high(x))); \
  }

VF_BY_HALVES(sinh)
VF_BY_HALVES(cosh)
VF_BY_HALVES(asinh)
VF_BY_HALVES(acosh)
VF_BY_HALVES(atanh)
VF_BY_HALVES(sin)
VF_BY_HALVES(cos)
VF_BY_HALVES(tan)
VF_BY_HALVES(asin)
VF_BY_HALVES(acos)

/* --- Power ----------------------------------------------------------------*/

/* |x|^y, but for 1^inf. Logarithms of 0 and infinity do the rest of the special
   cases: the sign of y times theirs decides between 0 and infinity. */
VEC_FN VD vd_power(VD x, VD y) { return vd_exp2(y * (vd_log(x) * VD_LOG2E)); }

/* x^y with all the special cases of C's pow: |x|^y, then the sign of x where y
   is an odd integer, NaN for a negative base and a fraction, and 1 for y = 0, x
   = 1 and +-1 to an infinite power. */
VEC_FN VF vpower(VF x, VF y) {
  const VF inf = vf_set(__builtin_inff()), one = vf_set(1);
  VF a = vf_abs(x), b = vf_abs(y), half = b * 0.5f;
  VF r =
      vf_join(vd_power(vd_low(a), vd_low(y)), vd_power(vd_high(a), vd_high(y)));
  VI whole = vtrunc(b) == b;
  VI odd = whole & (vtrunc(half) != half);
  r = (VF)((VI)r ^ (odd & (VI)x & INT32_MIN));
  VI undefined = (x < 0) & (a < inf) & ~whole;
  r = vf_select(undefined, vf_set(__builtin_nanf("")), r);
  VI always_one = (y == 0) | (x == 1) | ((a == 1) & (b == inf));
  return vf_select(always_one, one, r);
}

#endif
