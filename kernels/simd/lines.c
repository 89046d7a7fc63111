/* One line of float32 at a time: softmax, log_softmax, normalisation by mean
 * and variance.  The formulas and the order of sums are those of
 * kernels/ref/lines_body.h.  A line is read two or three times, and results may
 * overwrite the operand.
 *
 * Everything goes in Parts of sixteen elements, one for each of the law's
 * partial sums, which therefore are the lanes of one Part and stay in
 * registers.  The last Part of a line is filled up with elements that leave a
 * sum as it is: x = -infinity under exp, x = mean under (x - mean)^2.  Adding
 * +0 changes no partial sum, since these start from +0 and so are never -0. */
#include "kernels/simd/part.h"

#include "kernels/math/f32.h"
#include "kernels/ref/lines.h"

VEC_FN Part part_exp(Part a) {
  EACH_VECTOR a.of[i] = vexp(a.of[i]);
  return a;
}

/* Loops over LAW_PARTS elements of a line at a time, from number i on. */
#define EACH_PART(l)        \
  BLOCKS((l)->stop, (l)->n) \
  for (int64_t i = at; i < end; i += LAW_PARTS)

/* --- Softmax ------------------------------------------------------------- */

/* The maximum.  For a line with a NaN it may be any number, because all results
 * are NaN whatever is subtracted.  Two accumulators hide the latency. */
static float line_max(const NormLine *l) {
  const float *line = l->x;
  Part most = part_set(-__builtin_inff()), other = most;
  BLOCKS(l->stop, l->n) {
    int64_t i = at;
    for (; i + 2 * LAW_PARTS <= end; i += 2 * LAW_PARTS) {
      most = part_max(most, part_load_all(line + i));
      other = part_max(other, part_load_all(line + i + LAW_PARTS));
    }
    for (; i < end; i += LAW_PARTS)
      most = part_max(most, part_load(line + i, l->n - i, -__builtin_inff()));
  }
  most = part_max(most, other);
  float x[LAW_PARTS], best;
  memcpy(x, &most, sizeof x);
  best = x[0];
  for (int k = 1; k < LAW_PARTS; k++) best = best > x[k] ? best : x[k];
  return best;
}

/* The sum of exp(x - most); each term is stored when `out` is set.  In one
 * pass: a Part is stored after the place where the next one is read. */
VEC_FN float line_exp_sum(const NormLine *l, float most, float *out) {
  const float *line = l->x;
  Part sum = part_set(0);
  EACH_PART(l) {
    int64_t left = l->n - i;
    Part x = part_load(line + i, left, -__builtin_inff());
    Part e = part_exp(part_less(x, most));
    if (out) part_store(out + i, left, e);
    sum = part_add(sum, e);
  }
  return part_sum(sum);
}

/* Divides by the sum, as the formula says: multiplying by its reciprocal would
 * round twice. */
static void softmax(const NormLine *l) {
  float *out = l->out, sum = line_exp_sum(l, line_max(l), out);
  EACH_PART(l) {
    int64_t left = l->n - i;
    Part e = part_load(out + i, left, 0);
    part_store(out + i, left, part_over(e, sum));
  }
}

/* The terms of the sum are not needed again, and x - most is computed anew:
 * cheaper than storing and reading it, and the same bits. */
static void log_softmax(const NormLine *l) {
  const float *x = l->x;
  float *out = l->out, most = line_max(l);
  float log_sum = f32_log(line_exp_sum(l, most, NULL));
  EACH_PART(l) {
    int64_t left = l->n - i;
    Part d = part_less(part_load(x + i, left, 0), most);
    part_store(out + i, left, part_less(d, log_sum));
  }
}

/* --- Normalisation ------------------------------------------------------- */

static float line_sum(const NormLine *l) {
  const float *x = l->x;
  Part sum = part_set(0);
  EACH_PART(l)
  sum = part_add(sum, part_load(x + i, l->n - i, 0));
  return part_sum(sum);
}

/* The sum of (x - mean)^2. */
static float line_square_sum(const NormLine *l, float mean) {
  const float *line = l->x;
  Part sum = part_set(0);
  EACH_PART(l) {
    Part x = part_load(line + i, l->n - i, mean);
    sum = part_add(sum, part_square(part_less(x, mean)));
  }
  return part_sum(sum);
}

/* Takes a root and divides by it, as the formula says. */
static void normalize(const NormLine *l) {
  const float *x = l->x, *gamma = l->gamma, *beta = l->beta;
  float *out = l->out, n = (float)l->n, mean = line_sum(l) / n;
  float deviation = line_square_sum(l, mean) / n + (float)l->epsilon;
  deviation = f32_sqrt(deviation);
  EACH_PART(l) {
    int64_t left = l->n - i;
    Part d = part_less(part_load(x + i, left, 0), mean), g = d, b = d;
    if (gamma) g = part_load(gamma + i, left, 0);
    if (beta) b = part_load(beta + i, left, 0);
    d = part_affine(part_over(d, deviation), gamma ? &g : NULL,
                    beta ? &b : NULL);
    part_store(out + i, left, d);
  }
}

/* The other lines are rare, and are the reference's. */
NormLineFn *const ISA(lines)[FLOAT_TYPES][LINE_KINDS] = {
    [IN_F32] =
        {
            [LINE_SOFTMAX] = softmax,
            [LINE_LOG_SOFTMAX] = log_softmax,
            [LINE_NORMALIZE] = normalize,
            [LINE_L2] = ref_l2_f32,
            [LINE_LRN] = ref_lrn_f32,
        },
    [IN_F64] =
        {
            [LINE_SOFTMAX] = ref_softmax_f64,
            [LINE_LOG_SOFTMAX] = ref_log_softmax_f64,
            [LINE_NORMALIZE] = ref_normalize_f64,
            [LINE_L2] = ref_l2_f64,
            [LINE_LRN] = ref_lrn_f64,
        },
};
