/* float32 functions, vectorised: vexp, vlog, ... on V lanes (vec.h), f32_exp,
   f32_log, ... on one float. math.def lists them; vpower takes two arguments.
   f32_single.h and f32_double.h hold them, by the precision they compute in.
   At most 2 ulp, measured in README.md. Every lane gets the bits that the
   same argument gets in any other lane, width or instruction set: one float
   is a vector of which one lane is read. */

#ifndef KERNELS_MATH_F32_H
#define KERNELS_MATH_F32_H

#include "kernels/math/f32_double.h"

#define MATH_UNARY(name) \
  static inline float f32_##name(float x) { return v##name(vf_set(x))[0]; }
#include "kernels/math/math.def"

static inline float f32_power(float x, float y) {
  return vpower(vf_set(x), vf_set(y))[0];
}

#endif
