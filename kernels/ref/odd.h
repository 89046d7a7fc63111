/* Integers as doubles rounded to odd, for conversions to 16-bit floats. */
#ifndef KERNELS_REF_ODD_H
#define KERNELS_REF_ODD_H

#include <stdbool.h>
#include <stdint.h>

/* An integer as a double, rounded to odd: a second rounding, to 16 bits, then
 * gives what one direct rounding would (Boldo and Melquiond, 2008). */
static inline double unsigned_to_odd(uint64_t x) {
  const uint64_t low = 0x7FF;
  bool exact = x < (uint64_t)1 << 53 || !(x & low);
  return (double)(exact ? x : (x & ~low) | (low + 1));
}

static inline double signed_to_odd(int64_t x) {
  double magnitude = unsigned_to_odd(x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
  return x < 0 ? -magnitude : magnitude;
}

#endif
