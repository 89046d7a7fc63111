/* The functions of kernels/math: float64 against MPFR, special values against
 * IEEE 754 and C's Annex F, every vector width against the others in every
 * lane, conversions to 16 bits against MPFR. How far float32 results lie from
 * the truth over the whole range is the subject of tests/ulp.
 *
 * MPFR is the oracle, with 160 bits, rounded once: it shares no code with ours.
 * Arguments are random bits at every scale, and the places where such functions
 * go wrong: zeros, subnormals, halves, ends of ranges, arguments that are hard
 * to reduce. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mpfr.h>

#include "kernels/math/f64.h"
#include "tensor/half.h"
#include "tests/lanes/lanes.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* --- Pseudo-random arguments ----------------------------------------------*/

/* Marsaglia's xorshift, so that runs repeat. */
typedef struct {
  uint64_t state;
} Random;

static uint64_t random_bits(Random *random) {
  uint64_t x = random->state;
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return random->state = x;
}

static float float_of(uint64_t bits) { return f32_of_bits((uint32_t)bits); }

static double double_of(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Any bits at all; or of modest size, either sign; or close to 1. */
static double random_double(Random *random) {
  uint64_t bits = random_bits(random);
  int scale = (int)(random_bits(random) % 40);
  switch (bits % 4) {
    case 0: return double_of(random_bits(random));
    case 1: return 1 + ldexp((double)(int64_t)bits, -64 - scale);
    default: return ldexp((double)(int64_t)bits, -73 + scale / 2);
  }
}

static const double edges[] = {
    0.0,
    -0.0,
    0x1p-1074,
    -0x1p-1074,
    0x1p-149,
    0x1p-1022,
    1e-40,
    -1e-40,
    0x1p-126,
    -0x1p-126,
    1e-8,
    0.5,
    -0.5,
    0x1.fffffep-1,
    1,
    -1,
    0x1.000002p0,
    1.5,
    -1.5,
    2,
    -2,
    2.5,
    3,
    -3,
    4,
    10,
    80,
    -87.5,
    -100,
    88.5,
    89.2,
    127,
    128,
    -150,
    710.2,
    -745,
    1e5,
    0x1p19,
    0x1p22,
    8388607.5f,
    8388609,
    0x1p24,
    -1e10,
    0x1.fffffep127,
    -0x1.fffffep127,
    1e300,
    0x1.fffffffffffffp1023,
    INFINITY,
    -INFINITY,
    NAN,
    0x1.921fb6p0,
    0x1.6ac5b2p114 /* hard for the sine */,
};

/* --- Equality -------------------------------------------------------------*/

static int same_float(float a, float b) {
  return (isnan(a) && isnan(b)) || bits_of_f32(a) == bits_of_f32(b);
}

static int same_double(double a, double b) {
  return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static void assert_same_float(const char *what, float x, float y, float got,
                              float expected) {
  if (same_float(got, expected)) return;
  fail_msg("%s(%a, %a): %a where %a is expected", what, x, y, got, expected);
}

static void assert_same_double(const char *what, double x, double y, double got,
                               double expected) {
  if (same_double(got, expected)) return;
  fail_msg("%s(%a, %a): %a where %a is expected", what, x, y, got, expected);
}

/* --- float64 against MPFR -------------------------------------------------*/

enum { PRECISION = 160, SAMPLES = 50000 };

/* |got - truth| in ulp of the double nearest the truth. */
static double ulp_distance(double got, mpfr_t truth) {
  double nearest = mpfr_get_d(truth, MPFR_RNDN);
  if (!isfinite(nearest) || !isfinite(got) || got == nearest)
    return same_double(got, nearest) ? 0 : INFINITY;
  int exponent;
  frexp(nearest, &exponent);
  if (nearest == 0 || exponent < -1021) exponent = -1021;
  mpfr_t distance;
  mpfr_init2(distance, PRECISION);
  mpfr_sub_d(distance, truth, got, MPFR_RNDN);
  double ulps = ldexp(fabs(mpfr_get_d(distance, MPFR_RNDN)), 53 - exponent);
  mpfr_clear(distance);
  return ulps;
}

static int mpfr_sigmoid(mpfr_t y, const mpfr_t x, mpfr_rnd_t round) {
  mpfr_neg(y, x, round);
  mpfr_exp(y, y, round);
  mpfr_add_ui(y, y, 1, round);
  return mpfr_ui_div(y, 1, y, round);
}

/* MPFR has it at -0, too: -infinity. */
static int mpfr_rsqrt(mpfr_t y, const mpfr_t x, mpfr_rnd_t round) {
  mpfr_sqrt(y, x, round);
  return mpfr_ui_div(y, 1, y, round);
}

#define F64_ROW(name) \
  { #name, f64_##name, mpfr_##name }

static const struct {
  const char *name;
  double (*ours)(double);
  int (*truth)(mpfr_t, const mpfr_t, mpfr_rnd_t);
} f64_rows[] = {
    F64_ROW(exp),  F64_ROW(log),   F64_ROW(log2),    F64_ROW(log10),
    F64_ROW(sqrt), F64_ROW(rsqrt), F64_ROW(sigmoid), F64_ROW(erf),
    F64_ROW(sin),  F64_ROW(cos),   F64_ROW(tan),     F64_ROW(asin),
    F64_ROW(acos), F64_ROW(atan),  F64_ROW(sinh),    F64_ROW(cosh),
    F64_ROW(tanh), F64_ROW(asinh), F64_ROW(acosh),   F64_ROW(atanh),
};

static void check_f64(size_t row, double x) {
  mpfr_t truth;
  mpfr_init2(truth, PRECISION);
  mpfr_set_d(truth, x, MPFR_RNDN);
  f64_rows[row].truth(truth, truth, MPFR_RNDN);
  double got = f64_rows[row].ours(x), ulps = ulp_distance(got, truth);
  mpfr_clear(truth);
  if (ulps > 2)
    fail_msg("f64_%s(%a) = %a: %g ulp", f64_rows[row].name, x, got, ulps);
}

static void f64_is_within_two_ulp(void **state) {
  (void)state;
  Random random = {0x9e3779b97f4a7c15};
  for (size_t row = 0; row < COUNT(f64_rows); row++) {
    for (size_t i = 0; i < COUNT(edges); i++) check_f64(row, edges[i]);
    for (int i = 0; i < SAMPLES; i++) check_f64(row, random_double(&random));
  }
}

static double power_distance(double x, double y, double got) {
  mpfr_t truth, exponent;
  mpfr_inits2(PRECISION, truth, exponent, (mpfr_ptr)NULL);
  mpfr_set_d(truth, x, MPFR_RNDN);
  mpfr_set_d(exponent, y, MPFR_RNDN);
  mpfr_pow(truth, truth, exponent, MPFR_RNDN);
  double ulps = ulp_distance(got, truth);
  mpfr_clears(truth, exponent, (mpfr_ptr)NULL);
  return ulps;
}

static void f64_power_is_within_two_ulp(void **state) {
  (void)state;
  Random random = {0x2545f4914f6cdd1d};
  for (int i = 0; i < SAMPLES; i++) {
    double x = fabs(random_double(&random)), y = random_double(&random);
    if (i % 2) x = (double)(float)x, y = (double)(float)y;
    double got = f64_power(x, y), ulps = power_distance(x, y, got);
    if (ulps > 2) fail_msg("f64_power(%a, %a) = %a: %g ulp", x, y, got, ulps);
  }
}

/* MPFR rounds to float's precision; results that float cannot hold, or only
   with fewer bits, are left to the special values. */
static void f32_power_is_within_two_ulp(void **state) {
  (void)state;
  const Lanes *found[3];
  const Lanes *lanes = found[lanes_available(found) - 1];
  Random random = {0xda942042e4dd58b5};
  for (int i = 0; i < SAMPLES; i++) {
    float x = (float)fabs(random_double(&random));
    float y = (float)random_double(&random), z;
    lanes->power(&x, &y, &z, 1);
    if (!(fabsf(z) >= 0x1p-126f && fabsf(z) < INFINITY)) continue;
    double ulps = ldexp(power_distance(x, y, z), -29);
    if (ulps > 2) fail_msg("vpower(%a, %a) = %a: %g ulp", x, y, z, ulps);
  }
}

/* --- Special values -------------------------------------------------------*/

static const struct {
  int function;
  float x, y;
} specials[] = {
    {LANES_exp, 0, 1},
    {LANES_exp, -0.0f, 1},
    {LANES_exp, INFINITY, INFINITY},
    {LANES_exp, -INFINITY, 0},
    {LANES_exp, NAN, NAN},
    {LANES_exp, 0x1.62e43p6f, INFINITY},
    {LANES_exp, -104, 0},
    {LANES_exp, -0x1.9d1d9p6f, 0x1p-149f},
    {LANES_log, 1, 0},
    {LANES_log, 0, -INFINITY},
    {LANES_log, -0.0f, -INFINITY},
    {LANES_log, -1, NAN},
    {LANES_log, -INFINITY, NAN},
    {LANES_log, NAN, NAN},
    {LANES_log, INFINITY, INFINITY},
    {LANES_log, -0x1p-149f, NAN},
    {LANES_log2, 0x1p-149f, -149},
    {LANES_log2, 1024, 10},
    {LANES_log2, 0.5, -1},
    {LANES_log2, 0x1p127f, 127},
    {LANES_log2, 0, -INFINITY},
    {LANES_log10, 1, 0},
    {LANES_log10, 1000, 3},
    {LANES_log10, 1e10f, 10},
    {LANES_log10, INFINITY, INFINITY},
    {LANES_sqrt, -0.0f, -0.0f},
    {LANES_sqrt, -1, NAN},
    {LANES_sqrt, 4, 2},
    {LANES_sqrt, INFINITY, INFINITY},
    {LANES_sqrt, 0x1p-148f, 0x1p-74f},
    {LANES_rsqrt, 0, INFINITY},
    {LANES_rsqrt, 4, 0.5},
    {LANES_rsqrt, -1, NAN},
    {LANES_rsqrt, INFINITY, 0},
    {LANES_rsqrt, -0.0f, -INFINITY},
    {LANES_sigmoid, 0, 0.5},
    {LANES_sigmoid, INFINITY, 1},
    {LANES_sigmoid, -INFINITY, 0},
    {LANES_sigmoid, NAN, NAN},
    {LANES_sigmoid, 100, 1},
    {LANES_sigmoid, -0x1.9d1d9p6f, 0x1p-149f},
    {LANES_erf, 0, 0},
    {LANES_erf, -0.0f, -0.0f},
    {LANES_erf, INFINITY, 1},
    {LANES_erf, -INFINITY, -1},
    {LANES_erf, NAN, NAN},
    {LANES_erf, -7, -1},
    {LANES_sin, 0, 0},
    {LANES_sin, -0.0f, -0.0f},
    {LANES_sin, INFINITY, NAN},
    {LANES_sin, -INFINITY, NAN},
    {LANES_sin, NAN, NAN},
    {LANES_sin, 0x1p-149f, 0x1p-149f},
    {LANES_cos, 0, 1},
    {LANES_cos, INFINITY, NAN},
    {LANES_cos, NAN, NAN},
    {LANES_tan, -0.0f, -0.0f},
    {LANES_tan, INFINITY, NAN},
    {LANES_asin, -0.0f, -0.0f},
    {LANES_asin, 1, 0x1.921fb6p0f},
    {LANES_asin, 1.5, NAN},
    {LANES_asin, -INFINITY, NAN},
    {LANES_acos, 1, 0},
    {LANES_acos, -1, 0x1.921fb6p1f},
    {LANES_acos, 0, 0x1.921fb6p0f},
    {LANES_acos, -1.5, NAN},
    {LANES_atan, -0.0f, -0.0f},
    {LANES_atan, INFINITY, 0x1.921fb6p0f},
    {LANES_atan, -INFINITY, -0x1.921fb6p0f},
    {LANES_atan, NAN, NAN},
    {LANES_sinh, -0.0f, -0.0f},
    {LANES_sinh, INFINITY, INFINITY},
    {LANES_sinh, -INFINITY, -INFINITY},
    {LANES_sinh, -100, -INFINITY},
    {LANES_cosh, 0, 1},
    {LANES_cosh, -INFINITY, INFINITY},
    {LANES_cosh, 100, INFINITY},
    {LANES_cosh, NAN, NAN},
    {LANES_tanh, -0.0f, -0.0f},
    {LANES_tanh, INFINITY, 1},
    {LANES_tanh, -INFINITY, -1},
    {LANES_tanh, NAN, NAN},
    {LANES_tanh, 30, 1},
    {LANES_tanh, 0x1p-149f, 0x1p-149f},
    {LANES_asinh, -0.0f, -0.0f},
    {LANES_asinh, -INFINITY, -INFINITY},
    {LANES_acosh, 1, 0},
    {LANES_acosh, 0.5, NAN},
    {LANES_acosh, -1e10f, NAN},
    {LANES_acosh, INFINITY, INFINITY},
    {LANES_atanh, -0.0f, -0.0f},
    {LANES_atanh, 1, INFINITY},
    {LANES_atanh, -1, -INFINITY},
    {LANES_atanh, 1.5, NAN},
    {LANES_floor, -0.5, -1},
    {LANES_floor, -0.0f, -0.0f},
    {LANES_floor, 2.5, 2},
    {LANES_floor, -INFINITY, -INFINITY},
    {LANES_floor, NAN, NAN},
    {LANES_floor, -8388607.5f, -8388608},
    {LANES_floor, 1e30f, 1e30f},
    {LANES_ceil, -0.5, -0.0f},
    {LANES_ceil, 0.5, 1},
    {LANES_ceil, NAN, NAN},
    {LANES_ceil, INFINITY, INFINITY},
    {LANES_trunc, -1.5, -1},
    {LANES_trunc, -0.5, -0.0f},
    {LANES_trunc, NAN, NAN},
    {LANES_round, 0.5, 1},
    {LANES_round, 1.5, 2},
    {LANES_round, 2.5, 3},
    {LANES_round, -2.5, -3},
    {LANES_round, 0x1.fffffep-2f, 0},
    {LANES_round, -0.25, -0.0f},
    {LANES_round, 8388607.5f, 8388608},
    {LANES_round, NAN, NAN},
    {LANES_round, -INFINITY, -INFINITY},
    {LANES_fast_exp, NAN, NAN},
    {LANES_fast_exp, 0, 1},
    {LANES_fast_tanh, NAN, NAN},
    {LANES_fast_tanh, 0, 0},
    {LANES_fast_erf, NAN, NAN},
    {LANES_fast_erf, -0.0f, -0.0f},
};

static void f32_special_values(void **state) {
  (void)state;
  const Lanes *found[3];
  int count = lanes_available(found);
  for (int l = 0; l < count; l++) {
    for (size_t i = 0; i < COUNT(specials); i++) {
      float y;
      found[l]->unary[specials[i].function](&specials[i].x, &y, 1);
      assert_same_float(lanes_unary_names[specials[i].function], specials[i].x,
                        0, y, specials[i].y);
    }
  }
}

static int is_special(double x) {
  return x == 0 || isnan(x) || isinf(x) || x == 1;
}

/* Where the result is 0, 1, infinite or NaN, the C library's pow, which
   follows Annex F, is exact. */
static void power_special_values(void **state) {
  (void)state;
  const Lanes *found[3];
  const Lanes *lanes = found[lanes_available(found) - 1];
  for (size_t i = 0; i < COUNT(edges); i++) {
    for (size_t j = 0; j < COUNT(edges); j++) {
      double x = edges[i], y = edges[j], truth = pow(x, y);
      if (is_special(truth))
        assert_same_double("f64_power", x, y, f64_power(x, y), truth);
      float a = (float)x, b = (float)y, got,
            expected = (float)pow((double)a, (double)b);
      lanes->power(&a, &b, &got, 1);
      if (is_special(expected))
        assert_same_float("vpower", a, b, got, expected);
    }
  }
}

/* --- Widths ---------------------------------------------------------------*/

enum { STRESS = 1 << 14 };

/* Edges, any bits, modest sizes, so that rare and common lanes mix. */
static float *stress_floats(uint64_t seed) {
  Random random = {seed};
  float *x = malloc(STRESS * sizeof *x);
  assert_non_null(x);
  for (size_t i = 0; i < STRESS; i++) {
    uint64_t bits = random_bits(&random);
    x[i] = bits % 16 == 0  ? (float)edges[bits / 16 % COUNT(edges)]
           : bits % 3 == 0 ? float_of(bits >> 32)
                           : (float)random_double(&random);
  }
  return x;
}

static void assert_same_floats(const char *what, const Lanes *lanes,
                               const float *x, const float *got,
                               const float *expected, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!same_float(got[i], expected[i]))
      fail_msg("%s(%a): %a on %s, %a on %s", what, x[i], got[i], lanes->isa,
               expected[i], lanes_generic.isa);
}

/* Every element in every lane: the array is read from each of the first
   `width` elements on; its tail fills a vector partly. */
static void check_unary_lanes(const Lanes *lanes, int function, const float *x,
                              const float *expected) {
  static float y[STRESS];
  for (int lane = 0; lane < lanes->width; lane++) {
    lanes->unary[function](x + lane, y, STRESS - lane);
    assert_same_floats(lanes_unary_names[function], lanes, x + lane, y,
                       expected + lane, STRESS - lane);
  }
}

static void widths_agree_in_every_lane(void **state) {
  (void)state;
  static float expected[STRESS];
  const Lanes *found[3];
  int count = lanes_available(found);
  float *x = stress_floats(0x853c49e6748fea9b);
  for (int f = 0; f < LANES_UNARY_COUNT; f++) {
    lanes_generic.unary[f](x, expected, STRESS);
    for (int l = 0; l < count; l++) check_unary_lanes(found[l], f, x, expected);
  }
  free(x);
}

static void power_agrees_in_every_lane(void **state) {
  (void)state;
  static float z[STRESS], expected[STRESS];
  const Lanes *found[3];
  int count = lanes_available(found);
  float *x = stress_floats(0xc2b2ae3d27d4eb4f);
  float *y = stress_floats(0x165667b19e3779f9);
  lanes_generic.power(x, y, expected, STRESS);
  for (int l = 0; l < count; l++) {
    for (int lane = 0; lane < found[l]->width; lane++) {
      found[l]->power(x + lane, y + lane, z, STRESS - lane);
      assert_same_floats("power", found[l], x + lane, z, expected + lane,
                         STRESS - lane);
    }
  }
  free(x);
  free(y);
}

/* Half the triples nearly cancel, where emulation has to be exact; in others
   a * b lies halfway between two floats and c, too small for a double's sum
   to show, decides. */
static void fma_is_fused(void **state) {
  (void)state;
  static float z[STRESS];
  const Lanes *found[3];
  int count = lanes_available(found);
  float *a = stress_floats(0xff51afd7ed558ccd);
  float *b = stress_floats(0xc4ceb9fe1a85ec53);
  float *c = stress_floats(0x94d049bb133111eb);
  for (size_t i = 0; i < STRESS; i += 2)
    c[i] = nextafterf(-a[i] * b[i], i % 4 ? 0 : INFINITY);
  for (size_t i = 1; i < STRESS; i += 4) {
    a[i] = 1 + (float)(i % 512 | 1) * 0x1p-12f;
    b[i] = 1 + (float)(i / 512 | 1) * 0x1p-12f;
    c[i] = i % 8 == 1 ? 0x1p-100f : -0x1p-100f;
  }
  for (int l = 0; l < count; l++) {
    found[l]->fma(a, b, c, z, STRESS);
    for (size_t i = 0; i < STRESS; i++)
      assert_same_float("fma", a[i], b[i], z[i], fmaf(a[i], b[i], c[i]));
  }
  free(a);
  free(b);
  free(c);
}

/* --- Remainders -----------------------------------------------------------*/

static void trunc_mod_is_exact(void **state) {
  (void)state;
  Random random = {0xbf58476d1ce4e5b9};
  for (size_t i = 0; i < COUNT(edges); i++)
    for (size_t j = 0; j < COUNT(edges); j++)
      assert_same_double("trunc_mod", edges[i], edges[j],
                         f64_trunc_mod(edges[i], edges[j]),
                         fmod(edges[i], edges[j]));
  for (int i = 0; i < 4 * SAMPLES; i++) {
    double a = random_double(&random), b = random_double(&random);
    assert_same_double("trunc_mod", a, b, f64_trunc_mod(a, b), fmod(a, b));
  }
}

static void floor_mod_has_the_sign_of_the_divisor(void **state) {
  (void)state;
  static const double rows[][3] = {
      {5, 3, 2},
      {-5, 3, 1},
      {5, -3, -1},
      {-5, -3, -2},
      {5, INFINITY, 5},
      {1e20f, 3, 2},
      {6, 3, 0},
      {-6, 3, 0},
      {6, -3, -0.0},
      {5, 0, NAN},
      {NAN, 1, NAN},
      {1, NAN, NAN},
      {INFINITY, 1, NAN},
      {-5, INFINITY, INFINITY},
      {5, -INFINITY, -INFINITY},
      {-0.0, 1, 0},
      {-7.5, 2, 0.5},
  };
  for (size_t i = 0; i < COUNT(rows); i++)
    assert_same_double("floor_mod", rows[i][0], rows[i][1],
                       f64_floor_mod(rows[i][0], rows[i][1]), rows[i][2]);
}

/* --- 16-bit floats --------------------------------------------------------*/

/* A format as MPFR sees it: precision, and the exponents of 0.1xxx. */
typedef struct {
  int precision, least, greatest;
} MpfrFormat;

static const MpfrFormat mpfr_f16 = {11, -23, 16}, mpfr_bf16 = {8, -132, 128};

static double rounded(double x, MpfrFormat format) {
  mpfr_exp_t least = mpfr_get_emin(), greatest = mpfr_get_emax();
  mpfr_t y;
  mpfr_init2(y, format.precision);
  mpfr_set_emin(format.least);
  mpfr_set_emax(format.greatest);
  int inexact = mpfr_set_d(y, x, MPFR_RNDN);
  inexact = mpfr_check_range(y, inexact, MPFR_RNDN);
  mpfr_subnormalize(y, inexact, MPFR_RNDN);
  double result = mpfr_get_d(y, MPFR_RNDN);
  mpfr_clear(y);
  mpfr_set_emin(least);
  mpfr_set_emax(greatest);
  return result;
}

static void check_narrowing(double x) {
  double f16 = rounded(x, mpfr_f16), bf16 = rounded(x, mpfr_bf16);
  assert_same_double("f16", x, 0, f16_to_f32(f64_to_f16(x)), f16);
  assert_same_double("bf16", x, 0, bf16_to_f32(f64_to_bf16(x)), bf16);
  float y = (float)x;
  f16 = rounded(y, mpfr_f16), bf16 = rounded(y, mpfr_bf16);
  assert_same_double("f16", y, 0, f16_to_f32(f32_to_f16(y)), f16);
  assert_same_double("bf16", y, 0, bf16_to_f32(f32_to_bf16(y)), bf16);
}

static void narrowing_rounds_once_to_even(void **state) {
  (void)state;
  Random random = {0xd6e8feb86659fd93};
  for (size_t i = 0; i < COUNT(edges); i++) check_narrowing(edges[i]);
  for (int i = 0; i < SAMPLES; i++) {
    double x = f16_to_f32((uint16_t)random_bits(&random));
    double above = nextafter(x, INFINITY);
    check_narrowing(x);
    check_narrowing(random_double(&random));
    check_narrowing(x * (1 + 0x1p-11));
    check_narrowing(above * (1 + 0x1p-11));
    check_narrowing(ldexp((double)(random_bits(&random) % 4096), -26));
    check_narrowing(ldexp((double)(random_bits(&random) % 512), -135));
  }
  assert_int_equal(f64_to_f16(65519.99), 0x7bff);
  assert_int_equal(f64_to_f16(65520), 0x7c00);
}

static void widening_inverts_narrowing(void **state) {
  (void)state;
  for (uint32_t i = 0; i < 1 << 16; i++) {
    float f16 = f16_to_f32((uint16_t)i), bf16 = bf16_to_f32((uint16_t)i);
    int is_nan = (i & 0x7fff) > 0x7c00;
    assert_int_equal(isnan(f16) != 0, is_nan);
    if (!is_nan) assert_int_equal(f32_to_f16(f16), i);
    if (!isnan(bf16)) assert_int_equal(f32_to_bf16(bf16), i);
  }
  assert_true(f16_to_f32(0x0001) == 0x1p-24f);
  assert_true(f16_to_f32(0x3c00) == 1 && f16_to_f32(0xc500) == -5);
  assert_true(f16_to_f32(0x7bff) == 65504 && f16_to_f32(0xfc00) == -INFINITY);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(f64_is_within_two_ulp),
      cmocka_unit_test(f64_power_is_within_two_ulp),
      cmocka_unit_test(f32_power_is_within_two_ulp),
      cmocka_unit_test(f32_special_values),
      cmocka_unit_test(power_special_values),
      cmocka_unit_test(widths_agree_in_every_lane),
      cmocka_unit_test(power_agrees_in_every_lane),
      cmocka_unit_test(fma_is_fused),
      cmocka_unit_test(trunc_mod_is_exact),
      cmocka_unit_test(floor_mod_has_the_sign_of_the_divisor),
      cmocka_unit_test(narrowing_rounds_once_to_even),
      cmocka_unit_test(widening_inverts_narrowing),
  };
  cmocka_set_message_output(CM_OUTPUT_TAP);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
