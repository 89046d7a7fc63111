/* See elementary.h; the functions themselves are in kernels/math.  float32 goes
 * V elements at a time, whatever vectors the build's target has: the law lets
 * the width change nothing.  The last vector is filled up with zeros, whose
 * results are not stored.  float64 goes one by one. */
#include "kernels/ref/elementary.h"

#include "kernels/math/f32.h"
#include "kernels/math/f64.h"

#define MATH_UNARY(name)                                             \
  void f32_tile_##name(float *x, int n) {                            \
    for (; n >= V; n -= V, x += V) vf_store(x, v##name(vf_load(x))); \
    vf_store_n(x, v##name(vf_load_n(x, n)), n);                      \
  }                                                                  \
  void f64_tile_##name(double *x, int n) {                           \
    for (int i = 0; i < n; i++) x[i] = f64_##name(x[i]);             \
  }
#include "kernels/math/math.def"

void f32_tile_power(float *x, const float *y, int n) {
  for (; n >= V; n -= V, x += V, y += V)
    vf_store(x, vpower(vf_load(x), vf_load(y)));
  vf_store_n(x, vpower(vf_load_n(x, n), vf_load_n(y, n)), n);
}

void f64_tile_power(double *x, const double *y, int n) {
  for (int i = 0; i < n; i++) x[i] = f64_power(x[i], y[i]);
}
