/* float32 functions computed in single precision: those that networks spend
   their time in. Each is a straight line of arithmetic without branches, at
   most 2 ulp; README.md lists what an exhaustive sweep measured. The rest,
   computed in double, is in f32_double.h; include f32.h for all of them.

   The polynomials are minimax ones, printed by minimax.py. */

#ifndef OPS_MATH_F32_SINGLE_H
#define OPS_MATH_F32_SINGLE_H

#include "ops/math/vec.h"

/* --- Rounding and roots ---------------------------------------------------*/

/* From 2^23 on every float is an integer; below, the way over int32 is exact.
   The sign is put back for the sake of -0. */
VEC_FN VF vtrunc(VF x) {
  VI small = vf_abs(x) < 0x1p23f;
  VI whole = __builtin_convertvector(vf_select(small, x, (VF){0}), VI);
  VF y = __builtin_convertvector(whole, VF);
  return vf_select(small, vf_copysign(y, x), x);
}

VEC_FN VF vfloor(VF x) {
  VF t = vtrunc(x);
  return vf_select(t > x, t - 1, t);
}

VEC_FN VF vceil(VF x) {
  VF t = vtrunc(x);
  return vf_copysign(vf_select(t < x, t + 1, t), x);
}

/* Halves away from zero. */
VEC_FN VF vround(VF x) {
  VF t = vtrunc(x);
  VF away = t + vf_copysign(vf_set(1), x);
  return vf_select(vf_abs(x - t) >= 0.5f, away, t);
}

VEC_FN VF vsqrt(VF x) { return vf_sqrt(x); }

/* One over the rounded root. */
VEC_FN VF vrsqrt(VF x) { return 1 / vf_sqrt(x); }

/* --- Exponential ----------------------------------------------------------*/

/* e^x = 2^n (1 + u), n integral, 1 + u in [0.7, 1.42]. */
typedef struct {
  VF n, u;
} ExpParts;

static const float F32_EXP[] = {
  0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558eep-5f, 0x1.1239d6p-7f,
  0x1.6a25e8p-10f,
};

#define F32_LOG2E 0x1.715476p+0f
#define F32_LN2_HIGH 0x1.62e4p-1f
#define F32_LN2_LOW 0x1.7f7d1cp-20f

/* x = n ln2 + r; the high part of ln2 has 17 bits, so n of it is exact.
   |x| <= 150 or NaN. */
VEC_FN ExpParts vexp_parts(VF x) {
  VF n = vf_fma(x, vf_set(F32_LOG2E), vf_set(VF_MAGIC)) - VF_MAGIC;
  VF r = vf_fma(n, vf_set(-F32_LN2_HIGH), x);
  r = vf_fma(n, vf_set(-F32_LN2_LOW), r);
  return (ExpParts){n, vf_fma(r * r, VF_POLY(r, F32_EXP), r)};
}

/* Beyond -104 all is 0, beyond 89 infinite. */
VEC_FN VF vexp(VF x) {
  x = vf_max(vf_set(-104), vf_min(vf_set(89), x));
  ExpParts e = vexp_parts(x);
  return vf_scale(e.u + 1, e.n);
}

/* -P(-r) for the P of F32_EXP. */
static const float F32_EXP_TURNED[] = {
  -0x1.fffffcp-2f, 0x1.555492p-3f, -0x1.5558eep-5f, 0x1.1239d6p-7f,
  -0x1.6a25e8p-10f,
};

/* 1 / (1 + e^-x), both sides scaled by 2^-24 so that the denominator never
   overflows before the quotient is 0. 2^n + 1 is exact unless n > 23, where
   what it lost joins the smaller part. With n ln2 + x = r, e^-x is
   2^n (1 - v); -2^(n-24) comes for one shift, 256 being its sign. */
VEC_FN VF vsigmoid(VF x) {
  const float bias = VF_MAGIC + 127 - 24 + 256;
  x = vf_max(vf_set(-104), vf_min(vf_set(30), x));
  VF biased = vf_fma(x, vf_set(-F32_LOG2E), vf_set(bias)), n = biased - bias;
  VF r = vf_fma(n, vf_set(F32_LN2_HIGH), x);
  r = vf_fma(n, vf_set(F32_LN2_LOW), r);
  VF v = vf_fma(r * r, VF_POLY(r, F32_EXP_TURNED), r);
  VF minus = (VF)((VU)biased << 23);
  VF sum = 0x1p-24f - minus, lost = 0x1p-24f - (sum + minus);
  return 0x1p-24f / (sum + vf_fma(minus, v, lost));
}

static const float F32_TANH[] = {
  -0x1.555524p-2f, 0x1.1103f2p-3f, -0x1.b7cff4p-5f, 0x1.4f5efp-6f,
  -0x1.6970d2p-8f,
};

/* x + x^3 P(x^2) near zero, 1 - 2 / (e^2x + 1) elsewhere; 1 from 10 on. */
VEC_FN VF vtanh(VF x) {
  VF a = vf_min(vf_set(10), vf_abs(x)), z = a * a;
  VF near = vf_fma(a * z, VF_POLY(z, F32_TANH), a);
  ExpParts e = vexp_parts(a + a);
  VF scale = vf_exp2i(e.n);
  VF far = 1 - 2 / vf_fma(scale, e.u, scale + 1);
  return vf_copysign(vf_select(a < 0.625f, near, far), x);
}

static const float F32_ERF_SMALL[] = {
  0x1.06eba8p-3f, -0x1.812742p-2f, 0x1.ce2e0ap-4f, -0x1.b80e9p-6f,
  0x1.54c7f4p-8f, -0x1.aa3f24p-11f, 0x1.5cd482p-14f,
};

/* log(1 - erf(x)) */
static const float F32_ERF_LARGE[] = {
  0x1.6e52e2p-13f, -0x1.2127e4p+0f, -0x1.44460ep-1f, -0x1.bb83d4p-4f,
  0x1.9b8e56p-6f, -0x1.115a94p-8f, 0x1.c7907ap-12f, -0x1.61e9c2p-16f,
};

/* x + x P(x^2) near zero, 1 - e^P(x) elsewhere; 1 from 4 on. */
VEC_FN VF verf(VF x) {
  VF a = vf_min(vf_set(4), vf_abs(x)), z = a * a;
  VF near = vf_fma(a, VF_POLY(z, F32_ERF_SMALL), a);
  ExpParts e = vexp_parts(VF_POLY(a, F32_ERF_LARGE));
  VF scale = vf_exp2i(e.n);
  VF far = 1 - vf_fma(scale, e.u, scale);
  return vf_copysign(vf_select(a < 0.925f, near, far), x);
}

/* --- Logarithms -----------------------------------------------------------*/

/* A base b: 1 / ln b and log_b 2 in two parts each, and the polynomial Q of
   log_b (1 + f) = f / ln b + f^2 Q(f), |f| <= 1/3. */
typedef struct {
  float unit, unit_low, octave, octave_low, q[10];
} LogBase;

static const LogBase F32_LOG = {
  1, 0, 0x1.62e4p-1f, 0x1.7f7d1cp-20f,
  {-0x1p-1f, 0x1.555556p-2f, -0x1.fffdfp-3f, 0x1.999856p-3f,
   -0x1.55b96ep-3f, 0x1.24d74ap-3f, -0x1.f0af2p-4f, 0x1.bb6728p-4f,
   -0x1.0c946cp-3f, 0x1.df8b8ap-4f},
};

static const LogBase F32_LOG2 = {
  0x1.715476p+0f, 0x1.4ae0cp-26f, 1, 0,
  {-0x1.715478p-1f, 0x1.ec709ep-2f, -0x1.7152fap-2f, 0x1.2775dcp-2f,
   -0x1.ed0106p-3f, 0x1.a67afp-3f, -0x1.664826p-3f, 0x1.3fd8fep-3f,
   -0x1.837a8cp-3f, 0x1.59eb2cp-3f},
};

static const LogBase F32_LOG10 = {
  0x1.bcb7b2p-2f, -0x1.5b235ep-27f, 0x1.344p-2f, 0x1.3509f8p-18f,
  {-0x1.bcb7b2p-3f, 0x1.287a76p-3f, -0x1.bcb5e6p-4f, 0x1.63c50ep-4f,
   -0x1.28d166p-4f, 0x1.fcb784p-5f, -0x1.af6a12p-5f, 0x1.81228ap-5f,
   -0x1.d29224p-5f, 0x1.a0870ep-5f},
};

/* log x + e log 2 for positive normal x = 2^k (1 + f), 1 + f in [2/3, 4/3). */
VEC_FN VF vlog_normal(VF x, VF e, const LogBase *base) {
  VI bits = (VI)((VU)x - 0x3f2aaaab);
  e += __builtin_convertvector(bits >> 23, VF);
  VF f = (VF)((bits & 0x7fffff) + 0x3f2aaaab) - 1;
  VF sum = f * f * VF_POLY(f, base->q);
  sum = vf_fma(e, vf_set(base->octave_low), sum);
  sum = vf_fma(f, vf_set(base->unit_low), sum);
  sum = vf_fma(f, vf_set(base->unit), sum);
  return vf_fma(e, vf_set(base->octave), sum);
}

/* The same for vectors with a zero, subnormal, negative, infinite or NaN. */
VEC_FN VF vlog_any(VF x, const LogBase *base) {
  VI tiny = x < 0x1p-126f;
  VF scaled = vf_select(tiny, x * 0x1p23f, x);
  VF y = vlog_normal(scaled, vf_select(tiny, vf_set(-23), (VF){0}), base);
  y = vf_select(x < __builtin_inff(), y, x);
  y = vf_select(x < 0, vf_set(__builtin_nanf("")), y);
  return vf_select(x == 0, vf_set(-__builtin_inff()), y);
}

VEC_FN VF vlog_base(VF x, const LogBase *base) {
  VI rare = (VU)x - 0x800000 >= 0x7f000000;
  if (__builtin_expect(vf_any(rare), 0)) return vlog_any(x, base);
  return vlog_normal(x, (VF){0}, base);
}

VEC_FN VF vlog(VF x) { return vlog_base(x, &F32_LOG); }
VEC_FN VF vlog2(VF x) { return vlog_base(x, &F32_LOG2); }
VEC_FN VF vlog10(VF x) { return vlog_base(x, &F32_LOG10); }

/* --- Arc tangent ----------------------------------------------------------*/

static const float F32_ATAN[] = {
  -0x1.55553ep-2f, 0x1.9991fcp-3f, -0x1.2421b2p-3f, 0x1.c099e6p-4f,
  -0x1.583454p-4f, 0x1.dac93cp-5f, -0x1.fed058p-6f, 0x1.65a582p-7f,
  -0x1.d62ed2p-10f,
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

/* The `fast_` operators are defined by these formulas of TVM's
   topi/elemwise.h; tanh and erf are Eigen's rational functions. */

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
    4.89352455891786e-03f, 6.37261928875436e-04f, 1.48572235717979e-05f,
    5.12229709037114e-08f, -8.60467152213735e-11f, 2.00018790482477e-13f,
    -2.76076847742355e-16f,
  };
  static const float q[] = {
    4.89352518554385e-03f, 2.26843463243900e-03f, 1.18534705686654e-04f,
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
