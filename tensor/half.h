/* Floats that no C type holds, to and from float and double, rounding to
 * nearest even in one step.  A NaN stays a NaN; where there are several it
 * keeps the leading bits of its payload.
 *
 *                 exponent bits   fraction bits   greatest number
 *   float16             5              10              65504
 *   bfloat16            8               7        (the upper half of a float)
 *   e5m2_float8         5               2              57344
 *   e4m3_float8         4               3                448
 *
 * The first three are IEEE 754's: the largest exponent is that of infinities
 * and NaNs.  e4m3_float8 is FINITE, which doubles its range: the largest
 * exponent is a number's, too, all ones is the one NaN of each sign, and what
 * is too large becomes it (Micikevicius et al., "FP8 formats for deep
 * learning", 2022). */
#ifndef TENSOR_HALF_H
#define TENSOR_HALF_H

#include <stdint.h>
#include <string.h>

static inline float f32_of_bits(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
static inline uint32_t bits_of_f32(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}
static inline uint64_t bits_of_f64(double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}

/* x / 2^shift, to nearest even; 0 < shift < 64.  Rounds up when the bits
 * shifted out exceed one half, or equal it and the quotient is odd. */
static inline uint64_t shift_to_even(uint64_t x, int shift) {
  uint64_t quotient = x >> shift, half = (uint64_t)1 << (shift - 1);
  uint64_t rest = x & ((half << 1) - 1);
  return quotient + (rest > half || (rest == half && (quotient & 1)));
}

/* Rounds the magnitude of a double that is no NaN to a format of so many bits,
 * as if exponents had no end: the caller knows what is too large.  The two
 * cases by the exponent in the new format:
 *
 *   normal     exponent and fraction as one integer, shifted to the new width:
 *              a carry out of the fraction increments the exponent, as it
 * should too small  subnormal: the hidden bit becomes explicit, and is shifted
 *              further the smaller the exponent; beyond 63 all bits are lost */
static inline uint64_t f64_magnitude(double v, int all_bits,
                                     int exponent_bits) {
  const int fraction_bits = all_bits - 1 - exponent_bits;
  const int64_t bias = ((int64_t)1 << (exponent_bits - 1)) - 1;
  const uint64_t hidden = (uint64_t)1 << 52;
  uint64_t bits = bits_of_f64(v), fraction = bits & (hidden - 1);
  int64_t exponent = (int64_t)(bits >> 52 & 0x7FF) - 1023 + bias;
  if (exponent > 0) {
    uint64_t x = (uint64_t)exponent << 52 | fraction;
    return shift_to_even(x, 52 - fraction_bits);
  }
  int64_t shift = 52 - fraction_bits + 1 - exponent;
  return shift_to_even(hidden | fraction, shift < 63 ? (int)shift : 63);
}

/* Rounds to a format with infinities, of at most 16 bits. */
static inline uint16_t f64_to_coded(double v, int all_bits, int exponent_bits) {
  const int fraction_bits = all_bits - 1 - exponent_bits;
  const uint64_t infinity = (((uint64_t)1 << exponent_bits) - 1)
                            << fraction_bits;
  uint64_t bits = bits_of_f64(v), sign = bits >> 63 << (all_bits - 1);
  uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
  if ((bits >> 52 & 0x7FF) == 0x7FF && fraction) {
    uint64_t quiet = (uint64_t)1 << (fraction_bits - 1);
    return (uint16_t)(sign | infinity | quiet |
                      fraction >> (52 - fraction_bits));
  }
  uint64_t magnitude = f64_magnitude(v, all_bits, exponent_bits);
  return (uint16_t)(sign | (magnitude < infinity ? magnitude : infinity));
}

/* Rounds to a format without infinities: NaN takes NaNs and what is too
 * large. */
static inline uint16_t f64_to_finite(double v, int all_bits,
                                     int exponent_bits) {
  const uint64_t nan = ((uint64_t)1 << (all_bits - 1)) - 1;
  uint64_t bits = bits_of_f64(v), sign = bits >> 63 << (all_bits - 1);
  uint64_t magnitude = nan;
  if ((bits >> 52 & 0x7FF) != 0x7FF)
    magnitude = f64_magnitude(v, all_bits, exponent_bits);
  return (uint16_t)(sign | (magnitude < nan ? magnitude : nan));
}

static inline uint16_t f64_to_f16(double v) { return f64_to_coded(v, 16, 5); }
static inline uint16_t f64_to_bf16(double v) { return f64_to_coded(v, 16, 8); }

/* Converting through double would be right but slow, so this has its own code.
 * Below 2^-14, adding 1/2 leaves the rounded subnormal in the last bits; above,
 * the exponent is rebased and half a unit added, less one when even. */
static inline uint16_t f32_to_f16(float v) {
  uint32_t bits = bits_of_f32(v), magnitude = bits & 0x7FFFFFFF, half;
  if (magnitude > 0x7F800000) half = 0x7E00 | (magnitude >> 13 & 0x3FF);
  else if (magnitude >= 0x477FF000) half = 0x7C00;
  else if (magnitude < 0x38800000)
    half = bits_of_f32(f32_of_bits(magnitude) + 0.5f) - 0x3F000000;
  else half = (magnitude - (112 << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;
  return (uint16_t)(half | (bits >> 16 & 0x8000));
}

static inline uint16_t f32_to_bf16(float v) {
  uint32_t bits = bits_of_f32(v);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static inline float bf16_to_f32(uint16_t h) {
  return f32_of_bits((uint32_t)h << 16);
}

/* The magnitude of an element, without its sign, of a format whose exponent has
 * at most 8 bits.  Moved into place, exponent and fraction read as a float that
 * is a power of two too small: 2^(127 - bias). */
static inline float f32_of_magnitude(uint32_t x, int all_bits,
                                     int exponent_bits) {
  const int fraction_bits = all_bits - 1 - exponent_bits;
  const uint32_t bias = ((uint32_t)1 << (exponent_bits - 1)) - 1;
  return f32_of_bits(x << (23 - fraction_bits)) *
         f32_of_bits((254 - bias) << 23);
}

/* Infinities and NaNs get a float's largest exponent. */
static inline float coded_to_f32(uint32_t x, int all_bits, int exponent_bits) {
  const int fraction_bits = all_bits - 1 - exponent_bits;
  const uint32_t infinity = (((uint32_t)1 << exponent_bits) - 1)
                            << fraction_bits;
  uint32_t sign = x >> (all_bits - 1) << 31;
  uint32_t magnitude = x & (((uint32_t)1 << (all_bits - 1)) - 1);
  uint32_t bits =
      bits_of_f32(f32_of_magnitude(magnitude, all_bits, exponent_bits));
  uint32_t endless = magnitude >= infinity ? 0x7F800000 : 0;
  return f32_of_bits(sign | bits | endless);
}

static inline float finite_to_f32(uint32_t x, int all_bits, int exponent_bits) {
  const uint32_t nan = ((uint32_t)1 << (all_bits - 1)) - 1;
  uint32_t sign = x >> (all_bits - 1) << 31, magnitude = x & nan;
  uint32_t bits =
      bits_of_f32(f32_of_magnitude(magnitude, all_bits, exponent_bits));
  return f32_of_bits(sign | (magnitude == nan ? 0x7FC00000 : bits));
}

static inline float f16_to_f32(uint16_t h) { return coded_to_f32(h, 16, 5); }

/* float8: few enough to be rounded from double, which holds every float. */
static inline float f8e5m2_to_f32(uint8_t x) { return coded_to_f32(x, 8, 5); }
static inline uint8_t f32_to_f8e5m2(float v) {
  return (uint8_t)f64_to_coded((double)v, 8, 5);
}
static inline float f8e4m3_to_f32(uint8_t x) { return finite_to_f32(x, 8, 4); }
static inline uint8_t f32_to_f8e4m3(float v) {
  return (uint8_t)f64_to_finite((double)v, 8, 4);
}

#endif
