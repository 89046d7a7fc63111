/* sigmoid with 512 bits, where a division of 16 lanes occupies the divider for
 * 10 cycles and all else the two multipliers for 7. So four vectors go from
 * step to step together, and four behind them at other steps, so that nothing
 * waits for what was only just begun; the divisions are spread over the round;
 * and one quotient in four is made by the multipliers. */
#ifndef KERNELS_SIMD_SIGMOID_H
#define KERNELS_SIMD_SIGMOID_H

#include "kernels/math/f32.h"

/* With n kept in units of 32, bit 30 of it says that |n| >= 64. Below, |x| <
 * 44, nothing need be clipped or scaled. */
#define SIGMOID_UNIT 0x1p-5f
#define SIGMOID_MAGIC (VF_16THS + 127)
#define SIGMOID_C F32_EXP2_BEND[0]

enum { SIGMOIDS = 4, SIGMOIDS_ROUND = SIGMOIDS * V };

typedef struct Sigmoids {
  VF kept[SIGMOIDS], near[SIGMOIDS]; /* of those whose quotients are next */
  VF later[SIGMOIDS];                /* kept, of those behind them */
  VI seen;                           /* bit 30: some |n| was too large */
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

/* Those at x have their quotients next, those at `later` are behind them. */
VEC_FN void sigmoids_start(Sigmoids *s, const float *x, const float *later) {
  VF n[SIGMOIDS];
  EACH_SIGMOID s->kept[i] = sigmoids_kept(x, i);
  EACH_SIGMOID n[i] = sigmoids_n(s->kept[i]);
  EACH_SIGMOID s->near[i] = sigmoids_near(x, i, n[i]);
  EACH_SIGMOID s->later[i] = sigmoids_kept(later, i);
  s->seen = sigmoids_see((VI){0}, n);
}

/* The divider takes half of the lanes at a time. Reading them from memory
 * leaves the multipliers the instruction that would take them apart. */
VEC_FN void sigmoids_divide(VF sum, float *y) {
  const __m256 c = _mm256_set1_ps(SIGMOID_C);
  volatile union {
    VF all;
    __m256 half[2];
  } lanes = {sum};
  _mm256_storeu_ps(y, c / lanes.half[0]);
  _mm256_storeu_ps(y + V / 2, c / lanes.half[1]);
}

/* c - a b, without what negating one of them would take. */
VEC_FN VF sigmoids_less(VF c, VF a, VF b) { return _mm512_fnmadd_ps(a, b, c); }

/* The quotients that are next to y; on with those behind them, which came from
 * x, and with those at `later`.
 *
 * The last quotient is made as Markstein (IBM J. Res. Dev. 34, 1990) has it: a
 * reciprocal of 14 bits, refined, and the quotient corrected by its remainder.
 * For this c that gives what a division gives for every sum whose quotient is
 * normal: all were tried. */
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

/* Up to the first |x| >= 44 or NaN, but for less than a round; how many
 * elements that was. Behind the end the last round is gone on with again, to no
 * avail and to no harm. */
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
