/* Vectors of the machine's native width, one source for every instruction set.

   V lanes of float (VF), int32 (VI), uint32 (VU), or V / 2 lanes of double
   (VD), int64 (VL). V follows the flags the including file is compiled with:
   16 for AVX-512, 8 for AVX2 with FMA, 4 elsewhere. Arithmetic is the
   compiler's: a + b, a < b (lanes of 0 or -1), x * 2 with a scalar.

   Every function here gives the same bits in every lane of every width; that
   is what the law of the language rests on. Elementary functions are built on
   it in kernels/math/f32.h, kernels in kernels/simd. */

#ifndef KERNELS_MATH_VEC_H
#define KERNELS_MATH_VEC_H

#include <stdint.h>
#include <string.h>

#if defined __AVX512F__
#include <immintrin.h>
enum { V = 16 };
#define VEC_X86(name) _mm512_##name
#elif defined __AVX2__ && defined __FMA__
#include <immintrin.h>
enum { V = 8 };
#define VEC_X86(name) _mm256_##name
#elif defined __SSE2__
#include <emmintrin.h>
enum { V = 4 };
#define VEC_X86(name) _mm_##name
#else
enum { V = 4 };
#endif
#ifdef __ARM_FEATURE_FMA
#include <arm_neon.h>
#endif

typedef float VF __attribute__((vector_size(4 * V)));
typedef int32_t VI __attribute__((vector_size(4 * V)));
typedef uint32_t VU __attribute__((vector_size(4 * V)));
typedef double VD __attribute__((vector_size(4 * V)));
typedef int64_t VL __attribute__((vector_size(4 * V)));
typedef uint64_t VUL __attribute__((vector_size(4 * V)));

/* Constants stay in registers across a kernel's loop only if inlined. */
#define VEC_FN static inline __attribute__((always_inline))

/* Unrolls fully the loop that follows, which has a small constant number of
 * iterations. */
#ifdef __clang__
#define VEC_UNROLL _Pragma("unroll")
#else
#define VEC_UNROLL _Pragma("GCC unroll 16")
#endif

/* Adding it, and taking it away again, rounds to an integer, which then
   stands in the low bits of the sum. Good for |x| < 2^22 and 2^51. */
#define VF_MAGIC 0x1.8p23f
#define VD_MAGIC 0x1.8p52

/* --- Lanes ----------------------------------------------------------------*/

/* c in every lane. Subtracting zero keeps -0; adding it would not. */
VEC_FN VF vf_set(float c) { return c - (VF){0}; }
VEC_FN VD vd_set(double c) { return c - (VD){0}; }

VEC_FN VF vf_load(const float *p) {
  VF x;
  memcpy(&x, p, sizeof x);
  return x;
}

VEC_FN void vf_store(float *p, VF x) { memcpy(p, &x, sizeof x); }

VEC_FN VD vd_load(const double *p) {
  VD x;
  memcpy(&x, p, sizeof x);
  return x;
}

VEC_FN void vd_store(double *p, VD x) { memcpy(p, &x, sizeof x); }

/* The first n elements, the other lanes 0; n is at most the lanes.  Memory
   beyond them is not touched. */
#if defined __AVX512F__
VEC_FN VF vf_load_n(const float *p, int n) {
  return _mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
}

VEC_FN void vf_store_n(float *p, VF x, int n) {
  _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), x);
}
#elif defined __AVX2__ && defined __FMA__
VEC_FN __m256i vi_first(int n) {
  return (__m256i)((VI){0, 1, 2, 3, 4, 5, 6, 7} < n);
}

VEC_FN VF vf_load_n(const float *p, int n) {
  return _mm256_maskload_ps(p, vi_first(n));
}

VEC_FN void vf_store_n(float *p, VF x, int n) {
  _mm256_maskstore_ps(p, vi_first(n), x);
}
#else
VEC_FN VF vf_load_n(const float *p, int n) {
  VF x = {0};
  memcpy(&x, p, n * sizeof *p);
  return x;
}

VEC_FN void vf_store_n(float *p, VF x, int n) { memcpy(p, &x, n * sizeof *p); }
#endif

VEC_FN VD vd_load_n(const double *p, int n) {
  VD x = {0};
  memcpy(&x, p, (size_t)n * sizeof *p);
  return x;
}

VEC_FN void vd_store_n(double *p, VD x, int n) {
  memcpy(p, &x, (size_t)n * sizeof *p);
}

/* yes where mask is -1, no where it is 0. */
VEC_FN VF vf_select(VI mask, VF yes, VF no) {
  return (VF)((mask & (VI)yes) | (~mask & (VI)no));
}

VEC_FN VD vd_select(VL mask, VD yes, VD no) {
  return (VD)((mask & (VL)yes) | (~mask & (VL)no));
}

/* Whether any lane of a mask is set. */
VEC_FN int vf_any(VI mask) {
#if defined __AVX512F__
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined VEC_X86
  return VEC_X86(movemask_ps)((VF)mask) != 0;
#else
  int32_t any = 0;
  for (int i = 0; i < V; i++) any |= mask[i];
  return any != 0;
#endif
}

VEC_FN int vd_any(VL mask) { return vf_any((VI)mask); }

/* --- Sign -----------------------------------------------------------------*/

VEC_FN VF vf_abs(VF x) { return (VF)((VI)x & 0x7fffffff); }
VEC_FN VD vd_abs(VD x) { return (VD)((VL)x & INT64_MAX); }

/* The magnitude of x with the sign of s. */
VEC_FN VF vf_copysign(VF x, VF s) {
  return (VF)(((VI)x & 0x7fffffff) | ((VI)s & INT32_MIN));
}

VEC_FN VD vd_copysign(VD x, VD s) {
  return (VD)(((VL)x & INT64_MAX) | ((VL)s & INT64_MIN));
}

/* --- Comparison: a if a < b, else b; so b when either is NaN ---------------*/

#ifdef VEC_X86
VEC_FN VF vf_min(VF a, VF b) { return VEC_X86(min_ps)(a, b); }
VEC_FN VF vf_max(VF a, VF b) { return VEC_X86(max_ps)(a, b); }
VEC_FN VD vd_min(VD a, VD b) { return VEC_X86(min_pd)(a, b); }
VEC_FN VD vd_max(VD a, VD b) { return VEC_X86(max_pd)(a, b); }
#else
VEC_FN VF vf_min(VF a, VF b) { return vf_select(a < b, a, b); }
VEC_FN VF vf_max(VF a, VF b) { return vf_select(a > b, a, b); }
VEC_FN VD vd_min(VD a, VD b) { return vd_select(a < b, a, b); }
VEC_FN VD vd_max(VD a, VD b) { return vd_select(a > b, a, b); }
#endif

/* --- Halves: V / 2 floats as doubles, exactly, and back, rounded -----------*/

typedef float VHalf __attribute__((vector_size(2 * V)));

VEC_FN VD vd_low(VF x) {
  VHalf half;
  memcpy(&half, &x, sizeof half);
  return __builtin_convertvector(half, VD);
}

VEC_FN VD vd_high(VF x) {
  VHalf half;
  memcpy(&half, (const char *)&x + sizeof half, sizeof half);
  return __builtin_convertvector(half, VD);
}

VEC_FN VF vf_join(VD low, VD high) {
  VHalf half[2] = {__builtin_convertvector(low, VHalf),
                   __builtin_convertvector(high, VHalf)};
  VF x;
  memcpy(&x, half, sizeof x);
  return x;
}

/* --- Fused multiply-add: a * b + c, rounded once ---------------------------*/

/* a * b + c for floats widened to double, rounded to odd: the product is exact
   (24 + 24 bits), the sum's error is found by two-sum and, if there is one, the
   last bit is made odd. Rounding that to float is then right, since a double
   has more than two bits to spare (Boldo and Melquiond 2008): a sum that lies
   between two floats cannot be taken for their middle, whose last bit is even.
   Infinite sums have a NaN for error and stay. */
VEC_FN VD vd_fma_odd(VD a, VD b, VD c) {
  VD product = a * b, sum = product + c;
  VD part = sum - product;
  VD error = (product - (sum - part)) + (c - part);
  VL inexact = (error < 0) | (error > 0);
  VL even = ((VL)sum & 1) - 1;
  VUL apart = ((VUL)sum ^ (VUL)error) >> 63;
  VL toward = 1 - 2 * (VL)apart;
  return (VD)((VL)sum + (inexact & even & toward));
}

VEC_FN VF vf_fma_emulated(VF a, VF b, VF c) {
  return vf_join(vd_fma_odd(vd_low(a), vd_low(b), vd_low(c)),
                 vd_fma_odd(vd_high(a), vd_high(b), vd_high(c)));
}

#if defined __AVX512F__ || (defined __AVX2__ && defined __FMA__)
VEC_FN VF vf_fma(VF a, VF b, VF c) { return VEC_X86(fmadd_ps)(a, b, c); }
#elif defined __ARM_FEATURE_FMA
VEC_FN VF vf_fma(VF a, VF b, VF c) {
  return (VF)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
#else
VEC_FN VF vf_fma(VF a, VF b, VF c) { return vf_fma_emulated(a, b, c); }
#endif

/* --- Square root, rounded right -------------------------------------------*/

#ifdef VEC_X86
VEC_FN VF vf_sqrt(VF x) { return VEC_X86(sqrt_ps)(x); }
VEC_FN VD vd_sqrt(VD x) { return VEC_X86(sqrt_pd)(x); }
#else
VEC_FN VF vf_sqrt(VF x) {
  for (int i = 0; i < V; i++) x[i] = __builtin_sqrtf(x[i]);
  return x;
}

VEC_FN VD vd_sqrt(VD x) {
  for (int i = 0; i < V / 2; i++) x[i] = __builtin_sqrt(x[i]);
  return x;
}
#endif

/* --- Powers of two --------------------------------------------------------*/

/* 2^n for an integral n in [-126, 127], given as n + 127 + VF_MAGIC. */
VEC_FN VF vf_exp2m(VF biased) { return (VF)((VU)biased << 23); }
VEC_FN VF vf_exp2i(VF n) { return vf_exp2m(n + (VF_MAGIC + 127)); }

/* x * 2^n, rounded once, for |x| in [0.5, 2) and an integral n, |n| <= 200: the
   first of two factors leaves x normal, so only the second rounds. One factor
   would not do, since 2^n itself may be no float. */
VEC_FN VF vf_scale(VF x, VF n) {
#ifdef __AVX512F__
  return _mm512_scalef_ps(x, n);
#else
  VF half = n * 0.5f + VF_MAGIC - VF_MAGIC;
  return x * vf_exp2i(half) * vf_exp2i(n - half);
#endif
}

/* --- Sixteenths: n a multiple of 1/16, kept as n + VF_16THS ----------------*/

/* Adding it rounds to sixteenths; 16 n is then in the low bits. |n| < 2^17. */
#define VF_16THS 0x1.8p19f

/* Picks, in each lane, one of 16 numbers: that at index 16 n modulo 16. */
#if defined __AVX512F__
VEC_FN VF vf_16th_of(const float *table, VF kept) {
  return _mm512_permutexvar_ps((__m512i)kept, _mm512_loadu_ps(table));
}
#elif defined __AVX2__ && defined __FMA__
VEC_FN VF vf_16th_of(const float *table, VF kept) {
  __m256i at = (__m256i)kept;
  __m256 low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), at);
  __m256 high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), at);
  return _mm256_blendv_ps(low, high, (__m256)((VU)kept << 28));
}
#elif defined __aarch64__
VEC_FN VF vf_16th_of(const float *table, VF kept) {
  const uint8_t *bytes = (const uint8_t *)table;
  uint8x16x4_t all = {{vld1q_u8(bytes), vld1q_u8(bytes + 16),
                       vld1q_u8(bytes + 32), vld1q_u8(bytes + 48)}};
  VU at = ((VU)kept & 15) * 0x04040404 + 0x03020100;
  return (VF)vqtbl4q_u8(all, (uint8x16_t)at);
}
#else
VEC_FN VF vf_16th_of(const float *table, VF kept) {
  VU at = (VU)kept & 15;
  VF x;
  for (int i = 0; i < V; i++) x[i] = table[at[i]];
  return x;
}
#endif

/* 2^floor(n) (1 + n - floor(n)) for n in [-126, 128), given as n + 127 +
   VF_16THS: 5 bits, and as near 2^n as a straight line. */
VEC_FN VF vf_exp2_line(VF biased) { return (VF)((VU)biased << 19); }

/* x * 2^floor(n), rounded once, for |x| in [0.5, 2) and |n| <= 200. The whole
   part of n is above its four bits of sixteenths; it is split in halves as in
   vf_scale. */
VEC_FN VF vf_scale_floor(VF x, VF kept) {
#ifdef __AVX512F__
  return _mm512_scalef_ps(x, kept - VF_16THS);
#else
  VU whole = ((VU)kept >> 4) + 254, half = whole >> 1;
  return x * (VF)(half << 23) * (VF)((whole - half) << 23);
#endif
}

/* --- Fraction and exponent ------------------------------------------------*/

/* x = 2^e m, m in [3/4, 3/2), subnormal x as others. Of 0 e is -infinity, of
   infinity infinity, m being 1; of NaN m is NaN, of what is negative, too. */
typedef struct {
  VF e, m;
} VecSplit;

#ifdef __AVX512F__
VEC_FN VecSplit vf_split(VF x) {
  /* 3: NaN of a negative one, but not of -0 */
  VF m = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, (_MM_MANTISSA_SIGN_ENUM)3);
  return (VecSplit){_mm512_getexp_ps(x) - _mm512_getexp_ps(m), m};
}
#else
#define VF_3_QUARTERS 0x3f400000

/* Of positive normal numbers. */
VEC_FN VecSplit vf_split_normal(VF x) {
  VI bits = (VI)((VU)x - VF_3_QUARTERS);
  return (VecSplit){__builtin_convertvector(bits >> 23, VF),
                    (VF)((bits & 0x7fffff) + VF_3_QUARTERS)};
}

/* The rare cases: subnormals are scaled up first; 0, infinity, NaN and negative
   numbers are put in by selection. */
VEC_FN VecSplit vf_split_any(VF x) {
  const VF one = vf_set(1), inf = vf_set(__builtin_inff());
  VI tiny = x < 0x1p-126f;
  VecSplit s = vf_split_normal(vf_select(tiny, x * 0x1p23f, x));
  s.e = vf_select(tiny, s.e - 23, s.e);
  s.e = vf_select(x == 0, -inf, vf_select(x == inf, inf, s.e));
  s.m = vf_select((x == 0) | (x == inf), one, vf_select(x > 0, s.m, x));
  s.m = vf_select(x < 0, vf_set(-__builtin_nanf("")), s.m);
  return s;
}

VEC_FN VecSplit vf_split(VF x) {
  /* One comparison of the bits, as unsigned numbers, finds all that is not
     positive and normal. */
  VI rare = (VU)x - 0x800000 >= 0x7f000000;
  if (__builtin_expect(vf_any(rare), 0)) return vf_split_any(x);
  return vf_split_normal(x);
}
#endif

/* --- Polynomials: c[0] + c[1] x + ... --------------------------------------*/

/* Horner's rule over each step-th coefficient, down from c[last]. */
VEC_FN VF vf_horner(VF x, const float *c, int last, int step) {
  VF sum = vf_set(c[last]);
  VEC_UNROLL
  for (int i = last - step; i >= 0; i -= step)
    sum = vf_fma(sum, x, vf_set(c[i]));
  return sum;
}

/* Even and odd powers apart: two chains of half the latency. Where the two
   nearly cancel, as in alternating series near 1, Horner's rule is better. */
VEC_FN VF vf_poly(VF x, const float *c, int terms) {
  VF z = x * x;
  int even = (terms - 1) & ~1, odd = (terms - 2) | 1;
  VF sum = vf_horner(z, c + 1, odd - 1, 2);
  return vf_fma(sum, x, vf_horner(z, c, even, 2));
}

/* Without fused multiply-adds, which not every machine has for doubles. */
VEC_FN VD vd_poly(VD x, const double *c, int terms) {
  VD sum = vd_set(c[terms - 1]);
  VEC_UNROLL
  for (int i = terms - 2; i >= 0; i--) sum = sum * x + c[i];
  return sum;
}

#define VF_POLY(x, c) vf_poly(x, c, (int)(sizeof(c) / sizeof *(c)))
#define VD_POLY(x, c) vd_poly(x, c, (int)(sizeof(c) / sizeof *(c)))

#endif
