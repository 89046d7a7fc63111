/* float64: sine, cosine, tangent and their inverses, within an ulp. Angles
   are reduced exactly, whatever their size, by multiplication with as many
   bits of 2/pi as matter (Payne and Hanek). Exponentials and the rest are in
   f64.c.

   The polynomials are minimax ones, printed by minimax.py. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/math/dd.h"
#include "kernels/math/f64.h"

#define NOT_A_NUMBER __builtin_nan("")

static const DD PI = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
static const DD HALF_PI = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
static const DD QUARTER_PI = {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};

/* --- Reduction ------------------------------------------------------------*/

/* 2/pi: 64 zero bits, which stand before the point, then the fraction. */
static const uint64_t TWO_OVER_PI[] = {
    0,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
};

/* 192 bits, most significant word first. */
typedef struct {
  uint64_t word[3];
} Wide;

/* 192 bits of 2/pi from the one of weight 2^-first on, first >= -63. The
   table's leading word of zeros stands for the weights before the point. */
static Wide two_over_pi(int first) {
  int index = (first + 63) / 64, shift = (first + 63) % 64;
  const uint64_t *from = &TWO_OVER_PI[index];
  Wide window;
  for (int i = 0; i < 3; i++) {
    uint64_t next = shift ? from[i + 1] >> (64 - shift) : 0;
    window.word[i] = from[i] << shift | next;
  }
  return window;
}

/* Modulo 2^192. */
static Wide wide_multiply(Wide a, uint64_t b) {
  unsigned __int128 carry = 0;
  for (int i = 2; i >= 0; i--) {
    carry += (unsigned __int128)a.word[i] * b;
    a.word[i] = (uint64_t)carry;
    carry >>= 64;
  }
  return a;
}

static Wide wide_negate(Wide a) {
  unsigned __int128 carry = 1;
  for (int i = 2; i >= 0; i--) {
    carry += ~a.word[i];
    a.word[i] = (uint64_t)carry;
    carry >>= 64;
  }
  return a;
}

/* a / 2^192, of which the first 159 bits count: three doubles of 53 bits, added
   from the smallest up. */
static DD wide_fraction(Wide a) {
  uint64_t first = a.word[0] >> 11;
  uint64_t second = (a.word[0] & 0x7ff) << 42 | a.word[1] >> 22;
  uint64_t third = (a.word[1] & 0x3fffff) << 31 | a.word[2] >> 33;
  DD sum = dd_fast_sum((double)second * 0x1p-106, (double)third * 0x1p-159);
  DD top = dd_fast_sum((double)first * 0x1p-53, sum.high);
  return dd_fast_sum(top.high, top.low + sum.low);
}

/* x = m 2^e, m an integer: of m 2^e 2/pi only what is below 4 counts, so the
   bits of 2/pi with weight 2^(2-e) and above are left out. Two bits of the
   product are the quadrant, the others the fraction of a right angle.

   192 bits are enough. The 53 bits of m leave 139 that the bits left out behind
   the window cannot change; no double comes nearer to a multiple of pi/2 than
   2^-61 (Muller, "Elementary Functions", on the worst cases of reduction), so
   at least 75 bits of the fraction are significant.

   A fraction above 1/2 is taken from the next quadrant, with the other sign:
   |r| <= pi/4. */
static F64Angle angle_of_large(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int e = (int)(bits >> 52 & 0x7ff) - 1075;
  uint64_t m = (bits & 0xfffffffffffff) | 1ull << 52;
  Wide turns = wide_multiply(two_over_pi(e - 1), m);
  int quadrant = (int)(turns.word[0] >> 62);
  for (int i = 0; i < 3; i++) {
    uint64_t next = i < 2 ? turns.word[i + 1] >> 62 : 0;
    turns.word[i] = turns.word[i] << 2 | next;
  }
  bool above = turns.word[0] >> 63;
  DD r = wide_fraction(above ? wide_negate(turns) : turns);
  r = dd_multiply(r, HALF_PI);
  if (above != (x < 0)) r = dd_negate(r);
  quadrant += above;
  return (F64Angle){(x < 0 ? -quadrant : quadrant) & 3, r.high, r.low};
}

/* Small angles are reduced already. NaN and infinity have no angle. */
F64Angle f64_angle(double x) {
  double a = __builtin_fabs(x);
  if (a <= QUARTER_PI.high) return (F64Angle){0, x, 0};
  if (!(a < __builtin_inf())) return (F64Angle){0, NOT_A_NUMBER, 0};
  return angle_of_large(x);
}

/* --- Sine, cosine, tangent ------------------------------------------------*/

static const double SIN[] = {
    -0x1.5555555555548p-3, 0x1.111111110f7d1p-7,   -0x1.a01a019bfdf47p-13,
    0x1.71de3567d0e77p-19, -0x1.ae5e5a8c2cfc4p-26, 0x1.5d8fcf801804fp-33,
};

static const double COS[] = {
    0x1.555555555554bp-5,   -0x1.6c16c16c14f91p-10, 0x1.a01a019c84533p-16,
    -0x1.27e4f7eac7791p-22, 0x1.1ee9d7b6aedcep-29,  -0x1.8fa49ae5b5517p-37,
};

/* r + r^3 P(r^2), r = high + low; low matters to first order only: sin(h + l) =
   sin h + l cos h, and cos h = 1 - h^2 / 2 will do. */
static DD sin_kernel(F64Angle a) {
  double z = a.high * a.high;
  double tail = a.high * z * F64_POLY(z, SIN);
  return dd_fast_sum(a.high, tail + a.low * (1 - z / 2));
}

/* 1 - r^2 / 2 + r^4 P(r^2) */
static DD cos_kernel(F64Angle a) {
  DD z = dd_product(a.high, a.high);
  double tail = z.high * z.high * F64_POLY(z.high, COS);
  DD sum = dd_fast_sum(1, -z.high / 2);
  tail += sum.low - z.low / 2 - a.high * a.low;
  return dd_fast_sum(sum.high, tail);
}

/* The sine of a + turn * pi/2: odd quadrants are cosines, the upper two
   negative. The cosine is the sine turned by one. */
static double sin_turned(F64Angle a, int turn) {
  int quadrant = a.quadrant + turn;
  double y = quadrant & 1 ? cos_kernel(a).high : sin_kernel(a).high;
  return quadrant & 2 ? -y : y;
}

double f64_sin(double x) {
  if (__builtin_fabs(x) < 0x1p-28) return x;
  return sin_turned(f64_angle(x), 0);
}

double f64_cos(double x) { return sin_turned(f64_angle(x), 1); }

/* Both kernels in double-double, since each alone is rounded to an ulp and the
   quotient would have both errors. */
double f64_tan(double x) {
  if (__builtin_fabs(x) < 0x1p-28) return x;
  F64Angle a = f64_angle(x);
  DD s = sin_kernel(a), c = cos_kernel(a);
  return a.quadrant & 1 ? -dd_divide(c, s).high : dd_divide(s, c).high;
}

/* --- Arc sine and cosine --------------------------------------------------*/

static const double ASIN[] = {
    0x1.5555555555577p-3, 0x1.333333332e10dp-4, 0x1.6db6db7213ab2p-5,
    0x1.f1c71a94909a7p-6, 0x1.6e8bdee9667b2p-6, 0x1.1c49efcd62b6dp-6,
    0x1.ca1f9979e908fp-7, 0x1.75852f81e4957p-7, 0x1.613e631019f89p-7,
    0x1.e5db4b65cc63ep-9, 0x1.63a411e89d595p-6, -0x1.5807e3229db56p-6,
    0x1.0b49e646eabd7p-5,
};

/* |t| <= 1/2 */
static DD asin_kernel(DD t) {
  double z = t.high * t.high;
  return dd_fast_sum(t.high, t.high * z * F64_POLY(z, ASIN) + t.low);
}

/* 2 asin sqrt((1 - a) / 2), which is acos a, for a in [1/2, 1]. 1 - a is exact
   there, so that the result keeps its bits near 1, where acos is 0. */
static DD acos_of_large(double a) {
  return dd_times(asin_kernel(dd_sqrt((DD){(1 - a) / 2, 0})), 2);
}

double f64_asin(double x) {
  double a = __builtin_fabs(x);
  if (a <= 0.5) return a < 0x1p-28 ? x : asin_kernel((DD){x, 0}).high;
  if (!(a <= 1)) return NOT_A_NUMBER;
  double y = dd_add(HALF_PI, dd_negate(acos_of_large(a))).high;
  return __builtin_copysign(y, x);
}

double f64_acos(double x) {
  double a = __builtin_fabs(x);
  if (!(a <= 1)) return NOT_A_NUMBER;
  if (a <= 0.5) return dd_add(HALF_PI, dd_negate(asin_kernel((DD){x, 0}))).high;
  DD y = acos_of_large(a);
  return x > 0 ? y.high : dd_add(PI, dd_negate(y)).high;
}

/* --- Arc tangent ----------------------------------------------------------*/

static const double ATAN[] = {
    -0x1.5555555555554p-2, 0x1.999999999964bp-3,  -0x1.2492492475673p-3,
    0x1.c71c71b746994p-4,  -0x1.745d14b92b00bp-4, 0x1.3b136e215aa72p-4,
    -0x1.110c7221a60c9p-4, 0x1.e171f3ee621p-5,    -0x1.ab7d3abe96c88p-5,
    0x1.70ec512c29397p-5,  -0x1.1235d8c615069p-5, 0x1.f1e26d5019948p-7,
};

/* |t| <= tan(pi/8) */
static DD atan_kernel(DD t) {
  double z = t.high * t.high;
  double tail = t.high * z * F64_POLY(z, ATAN) + t.low * (1 - z);
  return dd_fast_sum(t.high, tail);
}

/* Turned by pi/4 or pi/2 to where the polynomial is good:
   (a - 1) / (a + 1) = tan(atan a - pi/4), -1 / a = tan(atan a - pi/2). */
static DD atan_positive(double a) {
  if (a < 0.4142) return atan_kernel((DD){a, 0});
  if (a > 2.4143) {
    DD t = dd_divide((DD){-1, 0}, (DD){a, 0});
    return dd_add(HALF_PI, atan_kernel(t));
  }
  DD t = dd_divide(dd_sum(a, -1), dd_sum(a, 1));
  return dd_add(QUARTER_PI, atan_kernel(t));
}

double f64_atan(double x) {
  double a = __builtin_fabs(x);
  if (x != x || a < 0x1p-28) return x;
  if (a > 0x1p60) return __builtin_copysign(HALF_PI.high, x);
  return __builtin_copysign(atan_positive(a).high, x);
}
