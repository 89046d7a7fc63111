/* Double-double arithmetic: an unevaluated sum high + low with |low| at most
   half an ulp of high, about 104 bits. The error-free transformations are
   Knuth's, Dekker's and the fused multiply-add's (Handbook of Floating-Point
   Arithmetic, chapter 4); the sums, products and quotients of pairs are those
   that Joldes, Muller and Popescu analyse ("Tight and rigorous error bounds for
   basic building blocks of double-word arithmetic", 2017). For f64.c and
   f64_trig.c only.

   They hold in round-to-nearest without contraction, which the build and
   base/float_env.h ensure: a compiler that was free to fuse a - b * c would
   break each of them. */

#ifndef KERNELS_MATH_DD_H
#define KERNELS_MATH_DD_H

typedef struct {
  double high, low;
} DD;

static const DD DD_ONE = {1, 0};

/* a + b exactly, |a| >= |b| or a = 0. Three operations: Dekker's. */
static inline DD dd_fast_sum(double a, double b) {
  double sum = a + b;
  return (DD){sum, b - (sum - a)};
}

/* a + b exactly, whichever is larger. Six operations: Knuth's. */
static inline DD dd_sum(double a, double b) {
  double sum = a + b, part = sum - a;
  return (DD){sum, (a - (sum - part)) + (b - part)};
}

/* a * b exactly, but for underflow. */
static inline DD dd_product(double a, double b) {
  double product = a * b;
  return (DD){product, __builtin_fma(a, b, -product)};
}

/* The rounding errors of the low parts are dropped, which costs bits only where
   a and b nearly cancel. */
static inline DD dd_add(DD a, DD b) {
  DD sum = dd_sum(a.high, b.high);
  return dd_fast_sum(sum.high, sum.low + (a.low + b.low));
}

static inline DD dd_negate(DD a) { return (DD){-a.high, -a.low}; }

/* By a power of two, exact but for underflow. */
static inline DD dd_times(DD a, double power) {
  return (DD){a.high * power, a.low * power};
}

/* Leaves out low * low, about 2^-106 of the product. */
static inline DD dd_multiply(DD a, DD b) {
  DD product = dd_product(a.high, b.high);
  product.low += a.high * b.low + a.low * b.high;
  return dd_fast_sum(product.high, product.low);
}

/* One step of long division: the remainder of the first quotient is exact, and
   its quotient is the low part. */
static inline DD dd_divide(DD a, DD b) {
  double q = a.high / b.high;
  double rest = __builtin_fma(-q, b.high, a.high) + (a.low - q * b.low);
  return dd_fast_sum(q, rest / b.high);
}

/* One step of Newton's iteration, from the rounded root. 0 apart, since the
   step would divide by it. */
static inline DD dd_sqrt(DD a) {
  double root = __builtin_sqrt(a.high);
  if (root == 0) return (DD){0, 0};
  double rest = __builtin_fma(-root, root, a.high) + a.low;
  return dd_fast_sum(root, rest / (2 * root));
}

/* c[0] + c[1] x + ... by Horner's rule */
static inline double f64_poly(double x, const double *c, int terms) {
  double sum = c[terms - 1];
  for (int i = terms - 2; i >= 0; i--) sum = __builtin_fma(sum, x, c[i]);
  return sum;
}

#define F64_POLY(x, c) f64_poly(x, c, (int)(sizeof(c) / sizeof *(c)))

#endif
