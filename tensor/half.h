/* float16 and bfloat16 to and from float and double, rounding to nearest even
 * in one step.  NaNs stay NaNs and keep the leading bits of their payload.
 *
 *            exponent bits   fraction bits
 *   float16        5              10
 *   bfloat16       8               7        (the upper half of a float)   */
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

/* x / 2^shift, to nearest even; 0 < shift < 64. */
static inline uint64_t shift_to_even(uint64_t x, int shift) {
  uint64_t quotient = x >> shift, half = (uint64_t)1 << (shift - 1);
  uint64_t rest = x & ((half << 1) - 1);
  return quotient + (rest > half || (rest == half && (quotient & 1)));
}

/* Rounds a double to a format of so many bits, at most 16, some of which are
 * the exponent's.  A carry out of the fraction increments the exponent, up to
 * infinity. */
static inline uint16_t f64_to_coded(double v, int all_bits, int exponent_bits) {
  const int fraction_bits = all_bits - 1 - exponent_bits;
  const int64_t most = (1 << exponent_bits) - 1, bias = most >> 1;
  const uint64_t hidden = (uint64_t)1 << 52;
  uint64_t bits = bits_of_f64(v), fraction = bits & (hidden - 1);
  int64_t biased = (int64_t)(bits >> 52 & 0x7FF);
  uint16_t sign = (uint16_t)(bits >> 63 << (all_bits - 1));
  uint16_t infinity = (uint16_t)(most << fraction_bits);

  if (biased == 0x7FF && fraction) {
    uint64_t quiet = (uint64_t)1 << (fraction_bits - 1);
    return (uint16_t)(sign | infinity | quiet |
                      fraction >> (52 - fraction_bits));
  }
  int64_t exponent = biased - 1023 + bias;
  if (exponent >= most) return sign | infinity;
  if (exponent > 0) {
    uint64_t x = (uint64_t)exponent << 52 | fraction;
    return (uint16_t)(sign | shift_to_even(x, 52 - fraction_bits));
  }
  int64_t shift = 52 - fraction_bits + 1 - exponent;
  return (uint16_t)(sign | shift_to_even(hidden | fraction,
                                         shift < 63 ? (int)shift : 63));
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

/* Moves the bits into place, which reads as a float 2^112 times too small;
 * infinities and NaNs then get the largest exponent. */
static inline float f16_to_f32(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16;
  uint32_t magnitude = (uint32_t)(h & 0x7FFF) << 13;
  uint32_t bits = bits_of_f32(f32_of_bits(magnitude) * 0x1p112f);
  uint32_t endless = magnitude >= 0x7C00u << 13 ? 0x7F800000 : 0;
  return f32_of_bits(sign | bits | endless);
}

#endif
