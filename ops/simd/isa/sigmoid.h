/* sigmoid with 512 bits, where a division of 16 lanes occupies the divider for
 * 10 cycles and all else the two multipliers for 7: every vector a step on from
 * the next, so that nothing waits for what was only just begun, and one
 * quotient in four made by the multipliers. */
#ifndef OPS_SIMD_ISA_SIGMOID_H
#define OPS_SIMD_ISA_SIGMOID_H

#include "ops/math/f32.h"

/* With n kept in units of 32, bit 30 of it says that |n| >= 64. Below, |x| <
 * 44, nothing need be clipped or scaled. */
#define SIGMOID_UNIT 0x1p-5f
#define SIGMOID_MAGIC (VF_16THS + 127)
#define SIGMOID_C F32_EXP2_BEND[0]

/* Five vectors, the latest first. */
typedef struct Sigmoids {
  VF x, kept;
  VF kept_2, rest;
  VF kept_3, near;
  VF sum;
  VF quotient;
  VI beyond;  /* bit 30: some n was */
} Sigmoids;

/* All but the quotient, and x[0 .. V) behind them. */
VEC_FN void sigmoids_step(Sigmoids *s, const float *x) {
  s->sum = vsigmoid_sum(s->kept_3, s->near, SIGMOID_C);
  s->kept_3 = s->kept_2;
  s->near = vsigmoid_near(s->rest);
  VF n = s->kept - SIGMOID_MAGIC * SIGMOID_UNIT;
  s->beyond |= (VI)n;
  s->kept_2 = s->kept;
  s->rest = vsigmoid_rest(s->x, n, SIGMOID_UNIT);
  s->x = vf_load(x);
  s->kept = vsigmoid_kept(s->x, SIGMOID_MAGIC, SIGMOID_UNIT);
}

VEC_FN int sigmoids_beyond(const Sigmoids *s) {
  const __m512i bit = _mm512_set1_epi32(1 << 30);
  return _mm512_test_epi32_mask((__m512i)s->beyond, bit) != 0;
}

/* Four quotients to y. The second is made as Markstein (IBM J. Res. Dev. 34,
 * 1990) has it: a reciprocal of 14 bits, refined, and the quotient corrected by
 * its remainder. For this c that gives what a division gives for every sum
 * whose quotient is normal: all were tried. */
VEC_FN void sigmoids_round(Sigmoids *s, const float *x, float *y) {
  const VF c = vf_set(SIGMOID_C);
  VF sum = s->sum, r = _mm512_rcp14_ps(sum);
  vf_store(y, s->quotient);
  sigmoids_step(s, x);
  VF e = vf_fma(-sum, r, vf_set(1));
  s->quotient = c / s->sum;
  sigmoids_step(s, x + V);
  r = vf_fma(r, e, r);
  VF q = r * c;
  vf_store(y + 2 * V, s->quotient);
  s->quotient = c / s->sum;
  sigmoids_step(s, x + 2 * V);
  vf_store(y + V, vf_fma(vf_fma(-sum, q, c), r, q));
  vf_store(y + 3 * V, s->quotient);
  s->quotient = c / s->sum;
  sigmoids_step(s, x + 3 * V);
}

enum { SIGMOIDS = 5, SIGMOIDS_ROUND = 4 * V };

/* Up to the first |x| >= 44 or NaN, but for what is less than a round; how
 * many elements that was. */
static int64_t f32_ahead_sigmoid(const float *x, float *y, int64_t n) {
  Sigmoids s = {.kept = vf_set(SIGMOID_MAGIC * SIGMOID_UNIT)};
  const float *start = y;
  if (n < SIGMOIDS * V) return 0;
  for (int i = 1; i < SIGMOIDS; i++, x += V) sigmoids_step(&s, x);
  s.quotient = SIGMOID_C / s.sum;
  sigmoids_step(&s, x);
  x += V;
  for (n -= SIGMOIDS * V; n >= SIGMOIDS_ROUND; n -= SIGMOIDS_ROUND) {
    if (__builtin_expect(sigmoids_beyond(&s), 0)) return y - start;
    sigmoids_round(&s, x, y);
    x += SIGMOIDS_ROUND;
    y += SIGMOIDS_ROUND;
  }
  for (int i = 0; i < SIGMOIDS && !sigmoids_beyond(&s); i++, y += V) {
    vf_store(y, s.quotient);
    s.quotient = SIGMOID_C / s.sum;
    sigmoids_step(&s, x - V);
  }
  return y - start;
}

#endif
