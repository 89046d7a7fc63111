/* Sixteen elements of a line at a time, one for each of the law's partial
 * results: a Part is one vector of AVX-512, two of AVX2, four of SSE2 or NEON.
 * part_sum() joins its lanes as the law does, +8, +4, +2, +1, whatever V is. */
#ifndef KERNELS_SIMD_PART_H
#define KERNELS_SIMD_PART_H

#include "kernels/law.h"
#include "kernels/simd/overlay.h"

/* LAW_PARTS elements: number i is lane i % V of vector i / V. */
enum { VECTORS = LAW_PARTS / V };
typedef struct Part {
  VF of[VECTORS];
} Part;

/* A loop over the vectors of the Parts named in its body. */
#define EACH_VECTOR VEC_UNROLL for (int i = 0; i < VECTORS; i++)

VEC_FN Part part_set(float c) {
  Part p;
  EACH_VECTOR p.of[i] = vf_set(c);
  return p;
}

VEC_FN Part part_load_all(const float *x) {
  Part p;
  EACH_VECTOR p.of[i] = vf_load(x + i * V);
  return p;
}

/* Loads LAW_PARTS elements; those beyond the end of the line are `rest`, chosen
 * by the caller to have no effect.  left > 0. */
VEC_FN Part part_load(const float *x, int64_t left, float rest) {
  if (left >= LAW_PARTS) return part_load_all(x);
  float padded[LAW_PARTS];
  for (int i = 0; i < LAW_PARTS; i++) padded[i] = rest;
  memcpy(padded, x, (size_t)left * sizeof *x);
  return part_load_all(padded);
}

/* Stores the elements up to the end of the line; the memory after it is
 * not touched. */
VEC_FN void part_store(float *x, int64_t left, Part p) {
  if (left >= LAW_PARTS) {
    EACH_VECTOR vf_store(x + i * V, p.of[i]);
    return;
  }
  memcpy(x, &p, (size_t)left * sizeof *x);
}

VEC_FN Part part_add(Part a, Part b) {
  EACH_VECTOR a.of[i] += b.of[i];
  return a;
}

VEC_FN Part part_square(Part a) {
  EACH_VECTOR a.of[i] *= a.of[i];
  return a;
}

/* Lane by lane: a if a > b, else b; so b where either is NaN. */
VEC_FN Part part_max(Part a, Part b) {
  EACH_VECTOR a.of[i] = vf_max(a.of[i], b.of[i]);
  return a;
}

/* Each lane less c, over c: a scalar is broadcast to the vector. */
VEC_FN Part part_less(Part a, float c) {
  EACH_VECTOR a.of[i] -= c;
  return a;
}

VEC_FN Part part_over(Part a, float c) {
  EACH_VECTOR a.of[i] /= c;
  return a;
}

/* a * b + c, rounded twice */
VEC_FN Part part_affine(Part a, const Part *b, const Part *c) {
  if (b) EACH_VECTOR a.of[i] *= b->of[i];
  if (c) EACH_VECTOR a.of[i] += c->of[i];
  return a;
}

/* +8, +4, +2, +1 */
VEC_FN float part_sum(Part p) {
  float x[LAW_PARTS];
  memcpy(x, &p, sizeof x);
  for (int half = LAW_PARTS / 2; half > 0; half /= 2)
    for (int k = 0; k < half; k++) x[k] += x[k + half];
  return x[0];
}

#endif
