/* Elementary functions on tiles: f32_tile_exp(x, n) replaces n floats by their
 * exponentials, and likewise for each row of math.def; f64_tile_exp for
 * doubles. n may be any number; one code does body and tail. */
#ifndef KERNELS_REF_ELEMENTARY_H
#define KERNELS_REF_ELEMENTARY_H

#define MATH_UNARY(name)                 \
  void f32_tile_##name(float *x, int n); \
  void f64_tile_##name(double *x, int n);
#include "kernels/math/math.def"

/* x[i] to the power y[i] */
void f32_tile_power(float *x, const float *y, int n);
void f64_tile_power(double *x, const double *y, int n);

#endif
