/* float64: exponential, logarithm and what follows from them, erf, powers,
   exact remainders. Two kernels in double-double, e^x and log x, carry some
   ten bits more than a double; each function then is its textbook formula,
   within an ulp. Trigonometric functions are in f64_trig.c.

   The polynomials are minimax ones, printed by minimax.py. */

#include "kernels/math/f64.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/math/dd.h"

#define INF __builtin_inf()
#define NOT_A_NUMBER __builtin_nan("")

static const DD LN2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

/* ln 2 once more: a multiple of the first part up to 2^11 is exact. */
#define LN2_FIRST 0x1.62e42fefa38p-1
#define LN2_SECOND 0x1.ef35793c7673p-45

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static double double_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* --- Rounding, roots ------------------------------------------------------*/

double f64_floor(double x) { return __builtin_floor(x); }
double f64_ceil(double x) { return __builtin_ceil(x); }
double f64_trunc(double x) { return __builtin_trunc(x); }
double f64_round(double x) { return __builtin_round(x); }
double f64_sqrt(double x) { return __builtin_sqrt(x); }
double f64_rsqrt(double x) { return 1 / __builtin_sqrt(x); }

/* --- The exponential kernel -----------------------------------------------*/

/* e^x = 2^n (1 + u), |u| < 0.42 */
typedef struct {
  DD u;
  int n;
} Exp;

/* e^r = 1 + r + r^2 / 2 + r^3 P(r) */
static const double EXP[] = {
    0x1.5555555555559p-3,  0x1.555555555555cp-5,  0x1.111111110f3ecp-7,
    0x1.6c16c16c1184fp-10, 0x1.a01a01b11d51fp-13, 0x1.a01a01c7343dap-16,
    0x1.71ddf4fd7c02ep-19, 0x1.27e484027a72ep-22, 0x1.af64f4386ceddp-26,
    0x1.2013edeacc341p-29,
};

/* |x| <= 1500; u is good to 2^-58.

   Cody and Waite's reduction: x = n ln 2 + r, |r| <= ln(2) / 2, with ln 2 in
   two parts so that n times the first is exact and the difference keeps its
   bits. The result is 1 + u, not e^r: near 0, where e^x - 1 is wanted, u has no
   leading 1 to cancel. */
static Exp exp_kernel(DD x) {
  double n = __builtin_round(x.high * 0x1.71547652b82fep+0);
  DD second = dd_product(n, LN2_SECOND);
  DD r = dd_sum(x.high - n * LN2_FIRST, -second.high);
  r = dd_fast_sum(r.high, r.low + (x.low - second.low));
  DD square = dd_product(r.high, r.high);
  double tail = r.high * square.high * F64_POLY(r.high, EXP);
  DD u = dd_fast_sum(r.high, square.high / 2);
  u.low += square.low / 2 + r.low + r.high * r.low + tail;
  return (Exp){dd_fast_sum(u.high, u.low), (int)n};
}

/* e^x 2^shift, rounded. The high parts are added first and exactly, so that one
   rounding is left. */
static double exp_rounded(DD x, int shift) {
  Exp e = exp_kernel(x);
  DD sum = dd_fast_sum(1, e.u.high);
  return __builtin_ldexp(sum.high + (sum.low + e.u.low), e.n + shift);
}

/* e^x - 1 for |x| < 80 */
static DD exp_minus_1(double x) {
  Exp e = exp_kernel((DD){x, 0});
  double scale = __builtin_ldexp(1, e.n);
  return dd_add(dd_sum(scale, -1), dd_times(e.u, scale));
}

/* Beyond these bounds the result is infinite, or less than half the least
   subnormal; within them the kernel's n fits. */
double f64_exp(double x) {
  if (x != x) return x;
  if (x > 710) return INF;
  if (x < -746) return 0;
  return exp_rounded((DD){x, 0}, 0);
}

/* With E = e^-|x|: 1 / (1 + E) or E / (1 + E). E never overflows, and the power
   of two in E is put back last, so that it may underflow but once. */
double f64_sigmoid(double x) {
  if (x != x) return x;
  if (__builtin_fabs(x) > 746) return x < 0 ? 0 : 1;
  Exp e = exp_kernel((DD){-__builtin_fabs(x), 0});
  DD p = dd_add(DD_ONE, e.u);
  DD d = dd_add(DD_ONE, dd_times(p, __builtin_ldexp(1, e.n)));
  if (x >= 0) return dd_divide(DD_ONE, d).high;
  return __builtin_ldexp(dd_divide(p, d).high, e.n);
}

/* --- Hyperbolic functions -------------------------------------------------*/

/* From here on the smaller exponential does not count. */
#define HYPERBOLIC_LARGE 40

/* e^x / 2, which is finite a little longer than e^x. */
static double half_exp(double x) {
  return x > 711 ? INF : exp_rounded((DD){x, 0}, -1);
}

/* With t = e^|x| - 1: (t + t / (t + 1)) / 2. e^x - e^-x itself would cancel
   near 0. */
double f64_sinh(double x) {
  double a = __builtin_fabs(x), y;
  if (x != x || a < 0x1p-28) return x;
  if (a < HYPERBOLIC_LARGE) {
    DD t = exp_minus_1(a);
    y = dd_add(t, dd_divide(t, dd_add(t, DD_ONE))).high / 2;
  } else {
    y = half_exp(a);
  }
  return __builtin_copysign(y, x);
}

/* With E = e^|x|: (E + 1 / E) / 2. */
double f64_cosh(double x) {
  double a = __builtin_fabs(x);
  if (x != x) return x;
  if (a >= HYPERBOLIC_LARGE) return half_exp(a);
  DD e = dd_add(exp_minus_1(a), DD_ONE);
  return dd_add(e, dd_divide(DD_ONE, e)).high / 2;
}

/* With t = e^2|x| - 1: t / (t + 2). From 22 on the difference from 1 is less
   than half an ulp. */
double f64_tanh(double x) {
  double a = __builtin_fabs(x);
  if (x != x || a < 0x1p-28) return x;
  if (a > 22) return __builtin_copysign(1, x);
  DD t = exp_minus_1(2 * a);
  double y = dd_divide(t, dd_add(t, (DD){2, 0})).high;
  return __builtin_copysign(y, x);
}

/* --- The logarithm kernel -------------------------------------------------*/

/* log((1 + s) / (1 - s)) = s (2 + z (2/3 + z (2/5 + z P(z)))), z = s^2 */
static const double LOG[] = {
    0x1.24924924927cep-2, 0x1.c71c71c659e2ep-3, 0x1.745d17d77d913p-3,
    0x1.3b13782b90814p-3, 0x1.111dcfe640e56p-3, 0x1.de9e425389fb7p-4,
    0x1.e7e22ac37862ap-4,
};

static const DD TWO_THIRDS = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
static const DD TWO_FIFTHS = {0x1.999999999999ap-2, -0x1.999999999999ap-56};

/* The first three coefficients carry double-double, the tail one double: |s| is
   at most 0.172, so z^3 weighs the tail down by 2^-15. */
static DD log_of_ratio(DD s) {
  DD z = dd_multiply(s, s);
  DD sum = dd_add(TWO_FIFTHS, (DD){z.high * F64_POLY(z.high, LOG), 0});
  sum = dd_add(TWO_THIRDS, dd_multiply(sum, z));
  sum = dd_add((DD){2, 0}, dd_multiply(sum, z));
  return dd_multiply(sum, s);
}

/* log(x.high + x.low) for positive finite x: x.high = 2^e m, with m between the
   roots of 1/2 and 2, and s = (m - 1) / (m + 1). Good to 2^-68.

   The offset makes the exponent field turn over at the root of 1/2 instead of
   at 1, so that numbers near 1 have e = 0: with m in [1, 2), those just below 1
   would be -ln 2 + log m, which cancels. Subnormals are scaled up first. x.low
   enters to first order: log(1 + low / high) = low / high. */
static DD log_kernel(DD x) {
  bool tiny = x.high < 0x1p-1022;
  uint64_t bits = bits_of(tiny ? x.high * 0x1p54 : x.high);
  uint64_t offset = bits + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
  double e = (double)((int)(offset >> 52) - 1023 - (tiny ? 54 : 0));
  double m = double_of((offset & 0xfffffffffffff) + 0x3fe6a09e667f3bcd);
  DD y = log_of_ratio(dd_divide((DD){m - 1, 0}, dd_sum(m, 1)));
  DD octaves = dd_add((DD){e * LN2_FIRST, 0}, dd_product(e, LN2_SECOND));
  y = dd_add(octaves, y);
  return dd_add(y, (DD){x.low / x.high, 0});
}

/* Where the kernel must not be asked: NaN, negative, zero, infinite. */
static bool log_is_special(double x) { return !(x > 0 && x < INF); }

/* NaN and infinity as they are. */
static double log_special(double x) {
  return x < 0 ? NOT_A_NUMBER : x == 0 ? -INF : x;
}

static double log_scaled(double x, DD factor) {
  if (log_is_special(x)) return log_special(x);
  return dd_multiply(log_kernel((DD){x, 0}), factor).high;
}

double f64_log(double x) { return log_scaled(x, DD_ONE); }

double f64_log2(double x) {
  return log_scaled(x, (DD){0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56});
}

double f64_log10(double x) {
  return log_scaled(x, (DD){0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57});
}

/* --- Inverse hyperbolic functions -----------------------------------------*/

/* log(x + sqrt(x^2 + sign)) for x > 0; from 2^30 on it is log 2 x. The square
   is an exact double-double, so that near 1, where acosh is 0, x^2 - 1 keeps
   its bits. */
static double log_with_root(double x, double sign) {
  if (x == INF) return x;
  if (x > 0x1p30) return dd_add(log_kernel((DD){x, 0}), LN2).high;
  DD root = dd_sqrt(dd_add(dd_product(x, x), (DD){sign, 0}));
  return log_kernel(dd_add((DD){x, 0}, root)).high;
}

double f64_asinh(double x) {
  double a = __builtin_fabs(x);
  if (x != x || a < 0x1p-28) return x;
  return __builtin_copysign(log_with_root(a, 1), x);
}

double f64_acosh(double x) {
  return x >= 1 ? log_with_root(x, -1) : NOT_A_NUMBER;
}

double f64_atanh(double x) {
  double a = __builtin_fabs(x);
  if (x != x || a < 0x1p-28) return x;
  if (a >= 1) return a == 1 ? __builtin_copysign(INF, x) : NOT_A_NUMBER;
  DD ratio = dd_divide(dd_sum(1, a), dd_sum(1, -a));
  return __builtin_copysign(log_kernel(ratio).high / 2, x);
}

/* --- Error function -------------------------------------------------------*/

static const double ERF_SMALL[] = {
    0x1.06eba8214db69p-3,   -0x1.812746b0379e7p-2, 0x1.ce2f21a042bdap-4,
    -0x1.b82ce312887c8p-6,  0x1.565bcd0e5cc3p-8,   -0x1.c02db3fc5f6e3p-11,
    0x1.f9a326430c3cep-14,  -0x1.f4d245afaf1dp-17, 0x1.b9e4e09835aeep-20,
    -0x1.5f579d5e4cd0ep-23, 0x1.fa812e8d599d9p-27, -0x1.42cda6d77f6bfp-30,
    0x1.26a390e50e4fcp-34,
};

/* (1 + 2 x) e^(x^2) erfc(x) = P((x - 2) / (x + 2)), after Shepherd and
   Laframboise, Mathematics of Computation 36 (1981). */
static const double ERFCX[] = {
    0x1.46e80e2277953p+0,   -0x1.7bf5ec170065ep-4,  -0x1.5407bebf32446p-3,
    0x1.4ffa1e14e3c63p-3,   -0x1.bc2b9561997fep-5,  -0x1.0742340a376bdp-7,
    0x1.1dd2ec92885ebp-7,   0x1.4d4622d6553dcp-10,  -0x1.7de5239d74d76p-10,
    -0x1.dc6ab1c178739p-12, 0x1.b0ca4134293ddp-13,  0x1.3cddb5fd7e383p-13,
    -0x1.9ec66a1248742p-20, -0x1.341c7a07a00f1p-15, -0x1.bd9f5a711df5dp-17,
    0x1.39dfd53a90f1ep-18,  0x1.33a155fc3d349p-18,
};

/* x + x P(x^2) near 0; else 1 - erfc x, where erfc x is small and its error
   shrinks with it; 1 from 6 on. */
double f64_erf(double x) {
  double a = __builtin_fabs(x);
  if (a < 0.85) return __builtin_fma(x, F64_POLY(x * x, ERF_SMALL), x);
  if (a >= 6) return __builtin_copysign(1, x);
  if (x != x) return x;
  double mapped = F64_POLY((a - 2) / (a + 2), ERFCX) / (1 + 2 * a);
  double erfc = exp_rounded(dd_negate(dd_product(a, a)), 0) * mapped;
  return __builtin_copysign(1 - erfc, x);
}

/* --- Power ----------------------------------------------------------------*/

/* x^y for finite x > 0 and y. Beyond 800 all is infinite or 0. The logarithm is
   good to 2^-68 of itself, so its product with y, below 2^10, is good to 2^-58:
   an error of the exponent that the result shows as a relative one. */
static double power_positive(double x, double y) {
  DD log = log_kernel((DD){x, 0});
  double size = log.high * y;
  if (size > 800) return INF;
  if (size < -800) return 0;
  DD t = dd_product(log.high, y);
  t.low += log.low * y;
  return exp_rounded(dd_fast_sum(t.high, t.low), 0);
}

/* x^y where x is positive, 0 or infinite, or y infinite: a limit. */
static double power_magnitude(double x, double y) {
  if (x == 0) return y < 0 ? INF : 0;
  if (x == INF) return y < 0 ? 0 : INF;
  if (__builtin_fabs(y) < INF) return power_positive(x, y);
  if (x == 1) return 1;
  return (x > 1) == (y > 0) ? INF : 0;
}

/* The sign comes from x when y is an odd integer. Every double of 2^53 or more
   is an even integer. */
double f64_power(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return NOT_A_NUMBER;
  double b = __builtin_fabs(y);
  bool whole = __builtin_trunc(b) == b;
  bool odd = whole && __builtin_trunc(b / 2) != b / 2;
  if (x < 0 && x > -INF && !whole) return NOT_A_NUMBER;
  double r = power_magnitude(__builtin_fabs(x), y);
  return odd ? __builtin_copysign(r, x) : r;
}

double f64_fast_exp(double x) { return f64_exp(x); }
double f64_fast_tanh(double x) { return f64_tanh(x); }
double f64_fast_erf(double x) { return f64_erf(x); }

/* --- Exact remainders -----------------------------------------------------*/

/* x = mantissa * 2^exponent for finite x > 0, exactly. */
typedef struct {
  uint64_t mantissa;
  int exponent;
} Parts;

static Parts parts_of(double x) {
  uint64_t bits = bits_of(x), fraction = bits & 0xfffffffffffff;
  int exponent = (int)(bits >> 52);
  if (exponent == 0) return (Parts){fraction, -1074};
  return (Parts){fraction | 1ull << 52, exponent - 1075};
}

/* Long division, eleven binary digits of the quotient at a time: the rest is
   below 2^53, and shifted by 11 it still fits in 64 bits. At most 190 rounds,
   whatever the quotient, whose digits are not kept. */
double f64_trunc_mod(double a, double b) {
  double dividend = __builtin_fabs(a), divisor = __builtin_fabs(b);
  if (!(dividend < INF) || b == 0 || b != b) return NOT_A_NUMBER;
  if (dividend < divisor) return a;
  Parts d = parts_of(divisor), n = parts_of(dividend);
  uint64_t rest = n.mantissa % d.mantissa;
  for (int left = n.exponent - d.exponent; left > 0 && rest;) {
    int step = left < 11 ? left : 11;
    rest = (rest << step) % d.mantissa;
    left -= step;
  }
  return __builtin_copysign(__builtin_ldexp((double)rest, d.exponent), a);
}

double f64_floor_mod(double a, double b) {
  double r = f64_trunc_mod(a, b);
  if (r == 0) return __builtin_copysign(0, b);
  return (r < 0) == (b < 0) ? r : r + b;
}
