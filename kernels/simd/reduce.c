/* Reductions, from the reference's source, for the dtypes that programs reduce
 * most; and contiguous lines of float32, whose sixteen partial results stay in
 * registers as the lanes of a Part.  In the reference's loop they are an array
 * that the compiler reads and writes for each step, because the phase in which
 * a run begins is not known to it; a whole line begins at phase 0. */
#include "kernels/simd/part.h"

#include "kernels/ref/reduce.h"

#include <string.h>

#define OVERLAID_ALONE 1
#define REDUCERS own
#define REDUCERS_LINKAGE static
#define BODY "kernels/ref/reduce_body.h"
#include "kernels/ref/each_bool.h"
#include "kernels/ref/each_int.h"
#include "kernels/ref/each_float.h"

/* --- Lines of float32 ---------------------------------------------------- */

/* Maximum or minimum without NaN, and a mask of where a NaN was met.  The
 * instructions forget a NaN at the next element, but the law lets it win
 * (MAX_OF in kernels/ref/reduce_join.h), so it is noted beside and put back at
 * the end. */
typedef struct Extreme {
  Part best;
  VI bad[VECTORS];
} Extreme;

VEC_FN Part part_times(Part a, Part b) {
  EACH_VECTOR a.of[i] *= b.of[i];
  return a;
}

VEC_FN Part part_min(Part a, Part b) {
  EACH_VECTOR a.of[i] = vf_min(a.of[i], b.of[i]);
  return a;
}

VEC_FN Part part_spoilt(Extreme e) {
  EACH_VECTOR e.best.of[i] =
      vf_select(e.bad[i], vf_set(__builtin_nanf("")), e.best.of[i]);
  return e.best;
}

/* Joins sixteen elements; x != x where they are NaN. */
VEC_FN void meet(Extreme *e, Part x, Part (*join)(Part, Part)) {
  e->best = join(e->best, x);
  EACH_VECTOR e->bad[i] |= x.of[i] != x.of[i];
}

/* The neutral element fills up the last Part. */
#define SUM_LINE(name, JOIN, neutral)                                  \
  static Part line_##name(StopFlag *stop, const float *x, int64_t n) { \
    Part all = part_set(neutral);                                      \
    BLOCKS(stop, n)                                                    \
    for (int64_t i = at; i < end; i += LAW_PARTS)                      \
      all = JOIN(all, part_load(x + i, n - i, neutral));               \
    return all;                                                        \
  }
#define EXTREME_LINE(name, JOIN, neutral)                              \
  static Part line_##name(StopFlag *stop, const float *x, int64_t n) { \
    Extreme e = {.best = part_set(neutral)};                           \
    BLOCKS(stop, n)                                                    \
    for (int64_t i = at; i < end; i += LAW_PARTS)                      \
      meet(&e, part_load(x + i, n - i, neutral), JOIN);                \
    return part_spoilt(e);                                             \
  }
SUM_LINE(sum, part_add, 0)
SUM_LINE(prod, part_times, 1)
EXTREME_LINE(max, part_max, -__builtin_inff())
EXTREME_LINE(min, part_min, __builtin_inff())

/* Lines that are not contiguous take the reference's loop. */
#define REDUCE_LINE(name)                                                \
  static void reduce_##name(const Walk *w, char *out, int64_t divisor) { \
    int64_t n = w->rank ? w->shape[0] : 1;                               \
    bool is_line = w->rank <= 1 && (n == 1 || w->step[0] == 1);          \
    if (!is_line || w->done) {                                           \
      rows_##name##_FLOAT32(w, out, divisor);                            \
      return;                                                            \
    }                                                                    \
    float part[LAW_PARTS], v;                                            \
    Part all = line_##name(w->stop, (const float *)w->data[0], n);       \
    memcpy(part, &all, sizeof part);                                     \
    v = join_##name##_FLOAT32(part);                                     \
    put_FLOAT32(out, 1, &v, 1, divisor);                                 \
  }
REDUCE_LINE(sum)
REDUCE_LINE(prod)
REDUCE_LINE(max)
REDUCE_LINE(min)

/* Rows by the functions above, columns as the other dtypes have them. */
static const Reducer lines_FLOAT32[REDUCE_KINDS] = {
    [REDUCE_SUM] = {reduce_sum, columns_sum_FLOAT32},
    [REDUCE_PROD] = {reduce_prod, columns_prod_FLOAT32},
    [REDUCE_MAX] = {reduce_max, columns_max_FLOAT32},
    [REDUCE_MIN] = {reduce_min, columns_min_FLOAT32},
};

/* --- The table ----------------------------------------------------------- */

/* The table below names own_FLOAT32 by its dtype. */
#define own_FLOAT32 lines_FLOAT32
const Reducer *const ISA(reducers)[DTYPE_COUNT] = {
#define DTYPE(id, suffix, T, class, form, exponent, in, loops, ...) \
  [DT_##id] = loops(own_##id, ref_reducers_##id),
#include "tensor/dtype.def"
#undef DTYPE
};
