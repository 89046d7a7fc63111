/* float32 functions computed in single precision: those that networks spend
   their time in. Each is a straight line of arithmetic without branches, at
   most 2 ulp; README.md lists what an exhaustive sweep measured. The rest,
   computed in double, is in f32_double.h; include f32.h for all of them.

   The polynomials are minimax ones, printed by minimax.py. */

#ifndef KERNELS_MATH_F32_SINGLE_H
#define KERNELS_MATH_F32_SINGLE_H

#include "kernels/math/vec.h"

/* --- Rounding and roots ---------------------------------------------------*/

/* From 2^23 on every float is an integer; below, the way over int32 is exact.
   The sign is put back for the sake of -0. */
VEC_FN VF vtrunc(VF x) {
  VI small = vf_abs(x) < 0x1p23f;
  VI whole = __builtin_convertvector(vf_select(small, x, (VF){0}), VI);
  VF y = __builtin_convertvector(whole, VF);
  return vf_select(small, vf_copysign(y, x), x);
}

/* One less than truncation where that rounded up. */
VEC_FN VF vfloor(VF x) {
  VF t = vtrunc(x);
  return vf_select(t > x, t - 1, t);
}

VEC_FN VF vceil(VF x) {
  VF t = vtrunc(x);
  return vf_copysign(vf_select(t < x, t + 1, t), x);
}

/* Halves away from zero. x - t is exact, so 0.49999997 is not mistaken for a
   half, as it would be by trunc(x + 0.5). */
VEC_FN VF vround(VF x) {
  VF t = vtrunc(x);
  VF away = t + vf_copysign(vf_set(1), x);
  return vf_select(vf_abs(x - t) >= 0.5f, away, t);
}

VEC_FN VF vsqrt(VF x) { return vf_sqrt(x); }

/* One over the rounded root, so two roundings. */
VEC_FN VF vrsqrt(VF x) { return 1 / vf_sqrt(x); }

/* --- Exponential ----------------------------------------------------------*/

#define F32_LOG2E 0x1.715476p+0f
#define F32_LN2_HIGH 0x1.62e4p-1f
#define F32_LN2_LOW 0x1.7f7d1cp-20f

/* e^r = 1 + r + r^2 P(r), |r| <= ln2 / 32 */
static const float F32_EXP[] = {0x1.00021ep-1f, 0x1.55559ap-3f};

/* 2^(i/16) */
static const float F32_EXP2[16] = {
    0x1p+0f,        0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f,
    0x1.306fep+0f,  0x1.3dea64p+0f, 0x1.4bfdaep+0f, 0x1.5ab07ep+0f,
    0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
    0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f,
};

/* x = n ln2 + r, n in sixteenths, kept as vec.h says; |x| <= 150 or NaN. Of n
   times the high part of ln2, x less that is exact. */
typedef struct {
  VF kept, r;
} ExpParts;

/* n in sixteenths makes r so small that two terms of P are enough. The magic
   number rounds x log2 e to sixteenths in the same multiply-add. */
VEC_FN ExpParts vexp_parts(VF x, float magic) {
  VF kept = vf_fma(x, vf_set(F32_LOG2E), vf_set(magic)), n = kept - magic;
  VF r = vf_fma(n, vf_set(-F32_LN2_HIGH), x);
  return (ExpParts){kept, vf_fma(n, vf_set(-F32_LN2_LOW), r)};
}

/* table[16 n modulo 16] e^r */
VEC_FN VF vexp_near(ExpParts e, const float *table) {
  VF t = vf_16th_of(table, e.kept);
  VF u = vf_fma(e.r * e.r, VF_POLY(e.r, F32_EXP), e.r);
  return vf_fma(t, u, t);
}

/* Beyond -104 all is 0, beyond 89 infinite. The bounds are the first operands
   of vf_min and vf_max, which then return a NaN in x. */
VEC_FN VF vexp(VF x) {
  x = vf_max(vf_set(-104), vf_min(vf_set(89), x));
  ExpParts e = vexp_parts(x, VF_16THS);
  return vf_scale_floor(vexp_near(e, F32_EXP2), e.kept);
}

/* c 2^(i/16) / (1 + i/16): what vf_exp2_line lacks, times a c with which all
   16 are within a fifth of an ulp of a float, and c / (c + c e^-x) loses
   least. */
static const float F32_EXP2_BEND[16] = {
    0x1.9f6126p-1f, 0x1.984108p-1f, 0x1.92a4ep-1f,  0x1.8e573p-1f,
    0x1.8b2d84p-1f, 0x1.8905cep-1f, 0x1.87c486p-1f, 0x1.87534p-1f,
    0x1.879fap-1f,  0x1.889a8cp-1f, 0x1.8a3792p-1f, 0x1.8c6c6ap-1f,
    0x1.8f309ap-1f, 0x1.927d28p-1f, 0x1.964c5ep-1f, 0x1.9a999ap-1f,
};

/* Steps to c + c e^-x, -x being n ln2 - r so that x need not be negated. n is
   kept as vec.h says, all times a power of two, `unit`. */
VEC_FN VF vsigmoid_kept(VF x, float magic, float unit) {
  return vf_fma(x, vf_set(-F32_LOG2E * unit), vf_set(magic * unit));
}

VEC_FN VF vsigmoid_rest(VF x, VF n, float unit) {
  VF r = vf_fma(n, vf_set(F32_LN2_HIGH / unit), x);
  return vf_fma(n, vf_set(F32_LN2_LOW / unit), r);
}

/* e^-r - 1 */
VEC_FN VF vsigmoid_near(VF r) {
  VF p = vf_fma(r, vf_set(-F32_EXP[1]), vf_set(F32_EXP[0]));
  return vf_fma(r * r, p, -r);
}

VEC_FN VF vsigmoid_sum(VF kept, VF near, float c) {
  VF t = vf_16th_of(F32_EXP2_BEND, kept);
  return vf_fma(vf_exp2_line(kept), vf_fma(t, near, t), vf_set(c));
}

/* c / (c + c e^-x), all scaled by 2^-24 so that the denominator never
   overflows before the quotient is 0. */
VEC_FN VF vsigmoid(VF x) {
  const float c = F32_EXP2_BEND[0] * 0x1p-24f, magic = VF_16THS + 127 - 24;
  x = vf_max(vf_set(-104), vf_min(vf_set(30), x));
  VF kept = vsigmoid_kept(x, magic, 1);
  VF r = vsigmoid_rest(x, kept - magic, 1);
  return c / vsigmoid_sum(kept, vsigmoid_near(r), c);
}

static const float F32_TANH[] = {
    -0x1.555524p-2f, 0x1.1103f2p-3f,  -0x1.b7cff4p-5f,
    0x1.4f5efp-6f,   -0x1.6970d2p-8f,
};

/* x + x^3 P(x^2) near zero, 1 - 2c / (c e^2x + c) elsewhere; 1 from 10 on. Near
   zero the second would cancel; from 0.625 on the result is above 1/2, and less
   than a bit is lost. c is that of vsigmoid. */
VEC_FN VF vtanh(VF x) {
  VF a = vf_min(vf_set(10), vf_abs(x)), z = a * a;
  VF near = vf_fma(a * z, VF_POLY(z, F32_TANH), a);
  const float c = F32_EXP2_BEND[0];
  ExpParts e = vexp_parts(a + a, VF_16THS + 127);
  VF rest = vexp_near(e, F32_EXP2_BEND);
  VF far = 1 - 2 * c / vf_fma(vf_exp2_line(e.kept), rest, vf_set(c));
  return vf_copysign(vf_select(a < 0.625f, near, far), x);
}

static const float F32_ERF_SMALL[] = {
    0x1.06eba8p-3f, -0x1.812742p-2f,  0x1.ce2e0ap-4f,  -0x1.b80e9p-6f,
    0x1.54c7f4p-8f, -0x1.aa3f24p-11f, 0x1.5cd482p-14f,
};

/* log((1 - erf(x)) / c) */
static const float F32_ERF_LARGE[] = {
    0x1.aca908p-3f, -0x1.2127e4p+0f, -0x1.44460ep-1f, -0x1.bb83d4p-4f,
    0x1.9b8e56p-6f, -0x1.115a94p-8f, 0x1.c7907ap-12f, -0x1.61e9c2p-16f,
};

/* x + x P(x^2) near zero, 1 - c e^P(x) elsewhere; 1 from 4 on. */
VEC_FN VF verf(VF x) {
  VF a = vf_min(vf_set(4), vf_abs(x)), z = a * a;
  VF near = vf_fma(a, VF_POLY(z, F32_ERF_SMALL), a);
  ExpParts e = vexp_parts(VF_POLY(a, F32_ERF_LARGE), VF_16THS + 127);
  VF rest = vexp_near(e, F32_EXP2_BEND);
  VF far = vf_fma(vf_exp2_line(e.kept), -rest, vf_set(1));
  return vf_copysign(vf_select(a < 0.925f, near, far), x);
}

/* --- Logarithms -----------------------------------------------------------*/

/* A base b: 1 / ln b and log_b 2 in two parts each, and the polynomial Q of
   log_b (1 + f) = f / ln b + f^2 Q(f), f in [-1/4, 1/2]. */
typedef struct {
  float unit, unit_low, octave, octave_low, q[10];
} LogBase;

static const LogBase F32_LOG = {
    1,
    0,
    0x1.62e4p-1f,
    0x1.7f7d1cp-20f,
    {-0x1.fffffep-2f, 0x1.555554p-2f, -0x1.000132p-2f, 0x1.999dfp-3f,
     -0x1.54f8b2p-3f, 0x1.23954cp-3f, -0x1.049e62p-3f, 0x1.ec968p-4f,
     -0x1.91df98p-4f, 0x1.59694cp-5f},
};

static const LogBase F32_LOG2 = {
    0x1.715476p+0f,
    0x1.4ae0cp-26f,
    1,
    0,
    {-0x1.715474p-1f, 0x1.ec709ap-2f, -0x1.71562ep-2f, 0x1.2779e6p-2f,
     -0x1.ebeaf6p-3f, 0x1.a4aa66p-3f, -0x1.77fe46p-3f, 0x1.6353bap-3f,
     -0x1.21e3fp-3f, 0x1.f252bcp-5f},
};

static const LogBase F32_LOG10 = {
    0x1.bcb7b2p-2f,
    -0x1.5b235ep-27f,
    0x1.344p-2f,
    0x1.3509f8p-18f,
    {-0x1.bcb7bp-3f, 0x1.287a74p-3f, -0x1.bcb9c4p-4f, 0x1.63c9ecp-4f,
     -0x1.2829fep-4f, 0x1.fa882ap-5f, -0x1.c4bdb2p-5f, 0x1.abdb3ep-5f,
     -0x1.5d1014p-5f, 0x1.2c053cp-6f},
};

/* log x = e log 2 + log (1 + f) for x = 2^e (1 + f). A part that is 0 is left
   out, since 0 times the exponent of 0 would be NaN. Smallest terms first: the
   low parts, f^2 Q(f), f / ln b, then the octaves. */
VEC_FN VF vlog_base(VF x, const LogBase *base) {
  VecSplit s = vf_split(x);
  VF f = s.m - 1, q = vf_fma(f, vf_poly(f, base->q + 1, 9), vf_set(base->q[0]));
  VF low = base->octave_low ? s.e * base->octave_low : f * base->unit_low;
  if (base->octave_low && base->unit_low)
    low = vf_fma(f, vf_set(base->unit_low), low);
  VF sum = vf_fma(f, vf_set(base->unit), vf_fma(f * f, q, low));
  return vf_fma(s.e, vf_set(base->octave), sum);
}

VEC_FN VF vlog(VF x) { return vlog_base(x, &F32_LOG); }
VEC_FN VF vlog2(VF x) { return vlog_base(x, &F32_LOG2); }
VEC_FN VF vlog10(VF x) { return vlog_base(x, &F32_LOG10); }

/* --- Arc tangent ----------------------------------------------------------*/

static const float F32_ATAN[] = {
    -0x1.55553ep-2f, 0x1.9991fcp-3f,  -0x1.2421b2p-3f,
    0x1.c099e6p-4f,  -0x1.583454p-4f, 0x1.dac93cp-5f,
    -0x1.fed058p-6f, 0x1.65a582p-7f,  -0x1.d62ed2p-10f,
};

/* t + t^3 P(t^2) with t = |x| up to 1; beyond, pi/2 less that of t = 1 / |x|,
   the difference's own error added back. */
VEC_FN VF vatan(VF x) {
  VF a = vf_abs(x);
  VI large = a > 1;
  VF t = vf_select(large, 1 / a, a), z = t * t;
  VF tail = z * vf_horner(z, F32_ATAN, 8, 1);
  VF high = 0x1.921fb6p+0f - t;
  VF low = 0x1.921fb6p+0f - high - t - 0x1.777a5cp-25f;
  VF turned = high + vf_fma(-t, tail, low);
  return vf_copysign(vf_select(large, turned, vf_fma(t, tail, t)), x);
}

/* --- Relay's approximations -----------------------------------------------*/

/* The `fast_` operators are defined by the formulas of TVM's operator library
   (TOPI, element-wise); tanh and erf are Eigen's rational functions. */

VEC_FN VF vfast_exp(VF x) {
  static const float p[] = {
      5.0000001201e-1f, 1.6666665459e-1f, 4.1665795894e-2f,
      8.3334519073e-3f, 1.3981999507e-3f, 1.9875691500e-4f,
  };
  x = vf_max(vf_set(-88.3762626647949f), vf_min(vf_set(88.3762626647950f), x));
  VF n = vf_fma(x, vf_set(F32_LOG2E), vf_set(VF_MAGIC)) - VF_MAGIC;
  VF f = vf_fma(n, vf_set(-0.6931471805f), x);
  return vf_scale(vf_fma(VF_POLY(f, p), f * f, f) + 1, n);
}

VEC_FN VF vfast_tanh(VF x) {
  static const float p[] = {
      4.89352455891786e-03f,  6.37261928875436e-04f,  1.48572235717979e-05f,
      5.12229709037114e-08f,  -8.60467152213735e-11f, 2.00018790482477e-13f,
      -2.76076847742355e-16f,
  };
  static const float q[] = {
      4.89352518554385e-03f,
      2.26843463243900e-03f,
      1.18534705686654e-04f,
      1.19825839466702e-06f,
  };
  x = vf_max(vf_set(-9), vf_min(vf_set(9), x));
  VF z = x * x;
  return x * VF_POLY(z, p) / VF_POLY(z, q);
}

VEC_FN VF vfast_erf(VF x) {
  static const float p[] = {
      -1.60960333262415e-02f, -2.95459980854025e-03f, -7.34990630326855e-04f,
      -5.69250639462346e-05f, -2.10102402082508e-06f, 2.77068142495902e-08f,
      -2.72614225801306e-10f,
  };
  static const float q[] = {
      -1.42647390514189e-02f, -7.37332916720468e-03f, -1.68282697438203e-03f,
      -2.13374055278905e-04f, -1.45660718464996e-05f,
  };
  x = vf_max(vf_set(-4), vf_min(vf_set(4), x));
  VF z = x * x;
  return x * VF_POLY(z, p) / VF_POLY(z, q);
}

#endif
