/* The float32 functions of kernels/math behind plain pointers, once for each
   instruction set: the folders beside this file compile lanes.inc with their
   flags. For the tests that compare widths with each other and with a
   reference. */

#ifndef TESTS_LANES_LANES_H
#define TESTS_LANES_LANES_H

#include <stddef.h>

enum {
#define MATH_UNARY(name) LANES_##name,
#include "kernels/math/math.def"
  LANES_UNARY_COUNT
};

/* y[i] = f(x[i]) for n elements; the tail is a vector partly filled. */
typedef void LanesUnary(const float *x, float *y, size_t n);

typedef struct {
  const char *isa;
  int width;
  LanesUnary *unary[LANES_UNARY_COUNT];
  void (*power)(const float *x, const float *y, float *z, size_t n);
  void (*fma)(const float *a, const float *b, const float *c, float *z,
              size_t n);
} Lanes;

extern const Lanes lanes_generic, lanes_avx2, lanes_avx512;

/* Those that this processor runs, narrowest first; returns how many. */
int lanes_available(const Lanes *found[3]);

/* In the order of Lanes.unary. */
extern const char *const lanes_unary_names[LANES_UNARY_COUNT];

#endif
