/* How far the float32 functions of kernels/math lie from the truth, in units of
   the last place.

     ulp                   TAP: a sparse sweep of all floats, each function
                           within its limit
     ulp STRIDE [NAME...]  the largest error of each; with STRIDE 1 of all
                           2^32 arguments, minutes a function

   The truth is the C library's answer in double, good to 2^-29 ulp. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sanitizer.h"
#include "tests/lanes/lanes.h"

/* The address sanitizer is slow, and says nothing of accuracy, so that few
 * operands do under it. */
enum { BLOCK = 4096, SPARSE_STRIDE = SANITIZER_ADDRESS ? 16001 : 1009 };

/* --- References -----------------------------------------------------------*/

static double reference_rsqrt(double x) { return 1 / sqrt(x); }
static double reference_sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* Relay's fast_exp clips its argument. */
static double reference_fast_exp(double x) {
  const double most = 88.37626266479f;
  return exp(x > most ? most : x < -most ? -most : x);
}

/* limit: in ulp. Relay's approximations are good to five digits at best; the
   conformance suite asks for 2e-4, which is 1677 ulp. */
typedef struct {
  double (*reference)(double);
  double limit;
} Truth;

static const Truth truths[LANES_UNARY_COUNT] = {
    [LANES_exp] = {exp, 2},
    [LANES_log] = {log, 2},
    [LANES_log2] = {log2, 2},
    [LANES_log10] = {log10, 2},
    [LANES_sqrt] = {sqrt, 0.5},
    [LANES_rsqrt] = {reference_rsqrt, 2},
    [LANES_sigmoid] = {reference_sigmoid, 2},
    [LANES_erf] = {erf, 2},
    [LANES_sin] = {sin, 2},
    [LANES_cos] = {cos, 2},
    [LANES_tan] = {tan, 2},
    [LANES_asin] = {asin, 2},
    [LANES_acos] = {acos, 2},
    [LANES_atan] = {atan, 2},
    [LANES_sinh] = {sinh, 2},
    [LANES_cosh] = {cosh, 2},
    [LANES_tanh] = {tanh, 2},
    [LANES_asinh] = {asinh, 2},
    [LANES_acosh] = {acosh, 2},
    [LANES_atanh] = {atanh, 2},
    [LANES_floor] = {floor, 0},
    [LANES_ceil] = {ceil, 0},
    [LANES_trunc] = {trunc, 0},
    [LANES_round] = {round, 0},
    [LANES_fast_exp] = {reference_fast_exp, 400},
    [LANES_fast_tanh] = {tanh, 400},
    [LANES_fast_erf] = {erf, 400},
};

/* --- The sweep ------------------------------------------------------------*/

typedef struct {
  double error;
  float at;
} Worst;

/* The distance from y to the truth, in ulp of the float nearest the truth.
   Where one is NaN, or the rounded truth or y infinite, 0 or infinity. */
static double ulp_distance(float y, double truth) {
  if (isnan(truth)) return isnan(y) ? 0 : INFINITY;
  if (isinf(y) || isinf((float)truth)) return y == (float)truth ? 0 : INFINITY;
  if (y == 0 && truth == 0 && !signbit(y) != !signbit(truth)) return INFINITY;
  int exponent;
  frexp(truth, &exponent);
  if (truth == 0 || exponent < -125) exponent = -125;
  return isnan(y) ? INFINITY : ldexp(fabs(y - truth), 24 - exponent);
}

static Worst sweep(LanesUnary *function, const Truth *truth, uint64_t stride) {
  static float x[BLOCK], y[BLOCK];
  Worst worst = {0, 0};
  for (uint64_t bits = 0; bits < 1ull << 32;) {
    size_t count = 0;
    for (; count < BLOCK && bits < 1ull << 32; bits += stride) {
      uint32_t word = (uint32_t)bits;
      memcpy(&x[count++], &word, sizeof word);
    }
    function(x, y, count);
    for (size_t i = 0; i < count; i++) {
      double error = ulp_distance(y[i], truth->reference(x[i]));
      if (error > worst.error) worst = (Worst){error, x[i]};
    }
  }
  return worst;
}

/* --- Output ---------------------------------------------------------------*/

static int test_all(const Lanes *lanes) {
  int failures = 0;
  printf("1..%d\n", LANES_UNARY_COUNT);
  for (int i = 0; i < LANES_UNARY_COUNT; i++) {
    Worst worst = sweep(lanes->unary[i], &truths[i], SPARSE_STRIDE);
    int fine = worst.error <= truths[i].limit;
    printf("%sok %d - %s: %.3f ulp at %a, limit %g\n", fine ? "" : "not ",
           i + 1, lanes_unary_names[i], worst.error, (double)worst.at,
           truths[i].limit);
    failures += !fine;
  }
  return failures != 0;
}

static int is_wanted(const char *name, char **names) {
  for (char **n = names; *n; n++)
    if (strcmp(*n, name) == 0) return 1;
  return *names == NULL;
}

static void report(const Lanes *lanes, uint64_t stride, char **names) {
  for (int i = 0; i < LANES_UNARY_COUNT; i++) {
    if (!is_wanted(lanes_unary_names[i], names)) continue;
    Worst worst = sweep(lanes->unary[i], &truths[i], stride);
    printf("%-10s %8.3f at %a (%g)\n", lanes_unary_names[i], worst.error,
           (double)worst.at, (double)worst.at);
    fflush(stdout);
  }
}

int main(int argc, char **argv) {
  const Lanes *found[3];
  const Lanes *widest = found[lanes_available(found) - 1];
  if (argc < 2) return test_all(widest);
  uint64_t stride = strtoull(argv[1], NULL, 0);
  if (stride == 0) {
    fputs("ulp: STRIDE is a number from 1 on\n", stderr);
    return 2;
  }
  report(widest, stride, argv + 2);
  return 0;
}
