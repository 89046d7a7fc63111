/* One line of float32 at a time: softmax, its logarithm, normalisation by mean
 * and variance.  The formulas and the order of sums are those of
 * ops/ref/rows_body.h.  A line is passed over two or three times, and results
 * may take the place of the operand. */
#include "ops/simd/isa/part.h"

#include "ops/math/f32.h"

VEC_FN Part part_exp(Part a) {
  EACH_VECTOR a.of[i] = vexp(a.of[i]);
  return a;
}

/* Every PARTS elements of a line, from number i on. */
#define EACH_PART(l)        \
  BLOCKS((l)->stop, (l)->n) \
  for (int64_t i = at; i < end; i += PARTS)

/* --- Softmax ------------------------------------------------------------- */

/* Of a line with a NaN any number: its results are NaN whatever is taken off
 * before the exponential.  Two chains, since each waits for itself. */
static float line_max(const SimdLine *l) {
  Part most = part_set(-__builtin_inff()), other = most;
  BLOCKS(l->stop, l->n) {
    int64_t i = at;
    for (; i + 2 * PARTS <= end; i += 2 * PARTS) {
      most = part_max(most, part_load_all(l->x + i));
      other = part_max(other, part_load_all(l->x + i + PARTS));
    }
    for (; i < end; i += PARTS)
      most = part_max(most, part_load(l->x + i, l->n - i, -__builtin_inff()));
  }
  most = part_max(most, other);
  float x[PARTS], best;
  memcpy(x, &most, sizeof x);
  best = x[0];
  for (int k = 1; k < PARTS; k++) best = best > x[k] ? best : x[k];
  return best;
}

/* The sum of exp(x - most), each of which is stored when `out` is set. */
VEC_FN float line_exp_sum(const SimdLine *l, float most, float *out) {
  Part sum = part_set(0);
  EACH_PART(l) {
    int64_t left = l->n - i;
    Part x = part_load(l->x + i, left, -__builtin_inff());
    Part e = part_exp(part_less(x, most));
    if (out) part_store(out + i, left, e);
    sum = part_add(sum, e);
  }
  return part_sum(sum);
}

static void softmax(const SimdLine *l) {
  float sum = line_exp_sum(l, line_max(l), l->out);
  EACH_PART(l) {
    int64_t left = l->n - i;
    Part e = part_load(l->out + i, left, 0);
    part_store(l->out + i, left, part_over(e, sum));
  }
}

static void log_softmax(const SimdLine *l) {
  float most = line_max(l);
  float log_sum = f32_log(line_exp_sum(l, most, NULL));
  EACH_PART(l) {
    int64_t left = l->n - i;
    Part d = part_less(part_load(l->x + i, left, 0), most);
    part_store(l->out + i, left, part_less(d, log_sum));
  }
}

/* --- Normalisation ------------------------------------------------------- */

static float line_sum(const SimdLine *l) {
  Part sum = part_set(0);
  EACH_PART(l)
  sum = part_add(sum, part_load(l->x + i, l->n - i, 0));
  return part_sum(sum);
}

/* The sum of (x - mean)^2. */
static float line_square_sum(const SimdLine *l, float mean) {
  Part sum = part_set(0);
  EACH_PART(l) {
    Part x = part_load(l->x + i, l->n - i, mean);
    sum = part_add(sum, part_square(part_less(x, mean)));
  }
  return part_sum(sum);
}

static void normalize(const SimdLine *l) {
  float n = (float)l->n, mean = line_sum(l) / n;
  float deviation = line_square_sum(l, mean) / n + l->epsilon;
  deviation = f32_sqrt(deviation);
  EACH_PART(l) {
    int64_t left = l->n - i;
    Part d = part_less(part_load(l->x + i, left, 0), mean), g = d, b = d;
    if (l->gamma) g = part_load(l->gamma + i, left, 0);
    if (l->beta) b = part_load(l->beta + i, left, 0);
    d = part_affine(part_over(d, deviation), l->gamma ? &g : NULL,
                    l->beta ? &b : NULL);
    part_store(l->out + i, left, d);
  }
}

SimdLineFn *const ISA(simd_lines)[ROW_KINDS] = {
    [ROW_SOFTMAX] = softmax,
    [ROW_LOG_SOFTMAX] = log_softmax,
    [ROW_NORMALIZE] = normalize,
};
