/* sigmoid with 512-bit vectors.  A division of 16 lanes occupies the divider
 * for 10 cycles, and all else the two multipliers for 7.  So the loop is
 * software-pipelined: four vectors go through each step together, four
 * more go through the stage before, and the divisions are spread over the
 * round.  One quotient in four is computed by the multipliers instead. */
#ifndef KERNELS_SIMD_SIGMOID_H
#define KERNELS_SIMD_SIGMOID_H

#include "kernels/math/f32.h"

/* n is kept in units of 32, so bit 30 of it is set when |n| >= 64.  Below that,
 * |x| < 44, nothing needs clipping or scaling. */
#define SIGMOID_UNIT 0x1p-5f
#define SIGMOID_MAGIC (VF_16THS + 127)
#define SIGMOID_C F32_EXP2_BEND[0]

enum { SIGMOIDS = 4, SIGMOIDS_ROUND = SIGMOIDS * V };

typedef struct Sigmoids {
  VF kept[SIGMOIDS], near[SIGMOIDS]; /* the vectors that are divided next */
  VF later[SIGMOIDS];                /* those in the stage before that */
  /* bit 30 of a lane: some |n| was too large */
  VI seen;
} Sigmoids;

#define EACH_SIGMOID VEC_UNROLL for (int i = 0; i < SIGMOIDS; i++)

VEC_FN VF sigmoids_kept(const float *x, int i) {
  return vsigmoid_kept(vf_load(x + i * V), SIGMOID_MAGIC, SIGMOID_UNIT);
}

VEC_FN VF sigmoids_n(VF kept) { return kept - SIGMOID_MAGIC * SIGMOID_UNIT; }

VEC_FN VF sigmoids_near(const float *x, int i, VF n) {
  return vsigmoid_near(vsigmoid_rest(vf_load(x + i * V), n, SIGMOID_UNIT));
}

VEC_FN VI sigmoids_or(VI a, VF b, VF c) {
  return (VI)_mm512_ternarylogic_epi32((__m512i)a, (__m512i)b, (__m512i)c,
                                       0xfe);
}

VEC_FN VI sigmoids_see(VI seen, const VF n[SIGMOIDS]) {
  return sigmoids_or(sigmoids_or(seen, n[0], n[1]), n[2], n[3]);
}

VEC_FN int sigmoids_beyond(const Sigmoids *s) {
  const __m512i bit = _mm512_set1_epi32(1 << 30);
  return _mm512_test_epi32_mask((__m512i)s->seen, bit) != 0;
}

/* Fills the pipeline: the vectors at x are divided next, those at `later`
 * are in the stage before that. */
VEC_FN void sigmoids_start(Sigmoids *s, const float *x, const float *later) {
  VF n[SIGMOIDS];
  EACH_SIGMOID s->kept[i] = sigmoids_kept(x, i);
  EACH_SIGMOID n[i] = sigmoids_n(s->kept[i]);
  EACH_SIGMOID s->near[i] = sigmoids_near(x, i, n[i]);
  EACH_SIGMOID s->later[i] = sigmoids_kept(later, i);
  s->seen = sigmoids_see((VI){0}, n);
}

/* Divides in halves, which is how wide the divider is.  The upper half is read
 * back from memory, because extracting it would occupy a multiplier's port. */
VEC_FN void sigmoids_divide(VF sum, float *y) {
  const __m256 c = _mm256_set1_ps(SIGMOID_C);
  volatile union {
    VF all;
    __m256 half[2];
  } lanes = {sum};
  _mm256_storeu_ps(y, c / lanes.half[0]);
  _mm256_storeu_ps(y + V / 2, c / lanes.half[1]);
}

/* c - a b in one instruction, without a negation. */
VEC_FN VF sigmoids_less(VF c, VF a, VF b) { return _mm512_fnmadd_ps(a, b, c); }

/* One round of the pipeline: stores the quotients that are next to y, moves the
 * vectors in the stage before on (they came from x), and takes in those at
 * `later`. The last quotient is Markstein's (IBM J. Res. Dev. 34, 1990): a
 * reciprocal of 14 bits, refined, and the quotient corrected by its remainder.
 * For this c it equals the division's result for every sum whose quotient is
 * normal; an exhaustive test has shown that. */
VEC_FN void sigmoids_round(Sigmoids *s, const float *x, const float *later,
                           float *y) {
  const VF c = vf_set(SIGMOID_C);
  VF n[SIGMOIDS], sum[SIGMOIDS], rest[SIGMOIDS];
  EACH_SIGMOID n[i] = sigmoids_n(s->later[i]);
  EACH_SIGMOID sum[i] = vsigmoid_sum(s->kept[i], s->near[i], SIGMOID_C);
  EACH_SIGMOID rest[i] = vsigmoid_rest(vf_load(x + i * V), n[i], SIGMOID_UNIT);
  sigmoids_divide(sum[0], y);
  VF r = _mm512_rcp14_ps(sum[3]);
  EACH_SIGMOID s->kept[i] = s->later[i];
  EACH_SIGMOID s->later[i] = sigmoids_kept(later, i);
  sigmoids_divide(sum[1], y + V);
  r = vf_fma(r, sigmoids_less(vf_set(1), sum[3], r), r);
  VF q = r * c;
  EACH_SIGMOID s->near[i] = vsigmoid_near(rest[i]);
  sigmoids_divide(sum[2], y + 2 * V);
  vf_store(y + 3 * V, vf_fma(sigmoids_less(c, sum[3], q), r, q));
  s->seen = sigmoids_see(s->seen, n);
}

/* Processes elements up to the first |x| >= 44 or NaN, rounded down to whole
 * rounds; returns how many.  At the end the pipeline is fed the last round
 * again, whose results are not used. */
static int64_t f32_ahead_sigmoid(const float *x, float *y, int64_t n) {
  const int64_t whole = n / SIGMOIDS_ROUND * SIGMOIDS_ROUND;
  if (whole == 0) return 0;
  const float *last = x + whole - SIGMOIDS_ROUND;
  const float *later = x < last ? x + SIGMOIDS_ROUND : last;
  Sigmoids s;
  sigmoids_start(&s, x, later);
  for (int64_t at = 0; at < whole; at += SIGMOIDS_ROUND) {
    if (__builtin_expect(sigmoids_beyond(&s), 0)) return at;
    x = later;
    later = x < last ? x + SIGMOIDS_ROUND : last;
    sigmoids_round(&s, x, later, y + at);
  }
  return whole;
}

#endif
