/* Multiplication by a real number in fixed point, as quantized networks do it:
 * 31 bits of the number's fraction, then a shift that rounds. */
#ifndef KERNELS_DRIVE_FIXED_POINT_H
#define KERNELS_DRIVE_FIXED_POINT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* factor * 2^(shift - 31), where |factor| < 2^31. */
typedef struct FixedPoint {
  int64_t factor;
  int shift;
} FixedPoint;

/* The nearest one, of at most 2^62, which takes every integer but 0 beyond 32
 * bits.  Numbers below 2^-80 and NaN are 0. */
static inline FixedPoint fixed_point_of(double real) {
  FixedPoint f = {0, 0};
  if (!(fabs(real) > 0x1p-80)) return f;
  if (fabs(real) > 0x1p62) real = copysign(0x1p62, real);
  f.factor = (int64_t)round(ldexp(frexp(real, &f.shift), 31));
  if (f.factor == INT64_C(1) << 31) {
    f.factor /= 2;
    f.shift++;
  }
  return f;
}

/* x times f, exactly but for the rounding: halves go up, or away from zero.
 *
 *   floor((x * factor + 2^(right - 1)) / 2^right),   right = 31 - shift
 *
 * For a negative product and `away`, 1 is subtracted before the floor, so that
 * an exact half goes down.  fixed_point_of() makes shifts from -79 to 63, with
 * which nothing overflows: |x * factor| is below 2^94, and 2^32 times that
 * below 2^126. */
static inline __int128 fixed_point_times(int64_t x, FixedPoint f, bool away) {
  int right = 31 - f.shift;
  __int128 product = (__int128)x * f.factor;
  if (right <= 0) return product * ((__int128)1 << -right);
  __int128 half = (__int128)1 << (right - 1);
  return (product + half - (away && product < 0)) >> right;
}

#endif
