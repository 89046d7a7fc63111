/* Reductions of one dtype, as FN(REDUCERS); included through each_*.h by
 * reduce.c and, for each instruction set, by simd/reduce.c.
 *
 * The law: element r of the reduced axes, counted in row-major order, goes to
 * partial result r mod 16, which starts at the operation's neutral element; at
 * the end +8, +4, +2, +1 join them:
 *
 *   part[0..15]   0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
 *   +8            0+8 1+9 ...  7+15
 *   +4            0+4 ... 3+7        of these, and so on to part[0]
 *
 * Sixteen chains are enough for vectors of any width, and the order does not
 * depend on that width.  Two loops keep it: ROWS, where the reduced elements
 * lie along a run, and COLUMN_TILE, where the results do, so that memory is
 * read in its own order either way.
 *
 * An empty reduction gives the neutral element: 0, 1, the least, the
 * greatest. */

#include "kernels/ref/reduce_join.h"

/* Adds a run of n elements, the first being number r of the reduced axes: first
 * up to a multiple of 16, then 16 at a time, then the rest. */
#define RUN(name, JOIN)                                                        \
  ALWAYS_INLINE void FN(run_##name)(C * part, int r, const T *x, int64_t step, \
                                    int64_t n) {                               \
    int64_t i = 0;                                                             \
    for (; i < n && (r + i) % LAW_PARTS; i++) {                                \
      C *p = &part[(r + i) % LAW_PARTS], v = LOAD(x[i * step]);                \
      *p = JOIN(*p, v);                                                        \
    }                                                                          \
    for (; i + LAW_PARTS <= n; i += LAW_PARTS)                                 \
      for (int k = 0; k < LAW_PARTS; k++) {                                    \
        C v = LOAD(x[(i + k) * step]);                                         \
        part[k] = JOIN(part[k], v);                                            \
      }                                                                        \
    for (int k = 0; i < n; i++, k++) {                                         \
      C v = LOAD(x[i * step]);                                                 \
      part[k] = JOIN(part[k], v);                                              \
    }                                                                          \
  }

/* Rows: computes one result from the runs of a walk over the reduced axes. */
#define ROWS(name, JOIN, neutral)                                             \
  RUN(name, JOIN)                                                             \
  static C FN(join_##name)(C * part) {                                        \
    for (int half = LAW_PARTS / 2; half > 0; half /= 2)                       \
      for (int k = 0; k < half; k++) part[k] = JOIN(part[k], part[k + half]); \
    return part[0];                                                           \
  }                                                                           \
  static C FN(all_##name)(Walk w) {                                           \
    C part[LAW_PARTS];                                                        \
    int64_t r = 0;                                                            \
    for (int k = 0; k < LAW_PARTS; k++) part[k] = (C)(neutral);               \
    while (walk_next(&w)) {                                                   \
      const T *x = (const T *)w.data[0];                                      \
      int phase = (int)(r % LAW_PARTS);                                       \
      if (STEPS_ARE(w.step[0] == 1)) FN(run_##name)(part, phase, x, 1, w.n);  \
      else FN(run_##name)(part, phase, x, w.step[0], w.n);                    \
      r += w.n;                                                               \
    }                                                                         \
    return FN(join_##name)(part);                                             \
  }

/* Columns: computes up to REDUCE_COLUMNS results that are contiguous, at once.
 * Each has its own sixteen partial results: 4 KB of floats. */
#define COLUMN_TILE(name, JOIN, neutral)                                  \
  static void FN(tile_##name)(Walk w, int columns, C *out) {              \
    C part[LAW_PARTS][REDUCE_COLUMNS];                                    \
    int64_t r = 0;                                                        \
    for (int k = 0; k < LAW_PARTS; k++)                                   \
      for (int j = 0; j < REDUCE_COLUMNS; j++) part[k][j] = (C)(neutral); \
    while (walk_next(&w))                                                 \
      for (int64_t i = 0; i < w.n; i++, r++) {                            \
        const T *x = (const T *)w.data[0] + i * w.step[0];                \
        C *p = part[r % LAW_PARTS];                                       \
        for (int j = 0; j < columns; j++) {                               \
          C v = LOAD(x[j]);                                               \
          p[j] = JOIN(p[j], v);                                           \
        }                                                                 \
      }                                                                   \
    for (int half = LAW_PARTS / 2; half > 0; half /= 2)                   \
      for (int k = 0; k < half; k++)                                      \
        for (int j = 0; j < columns; j++)                                 \
          part[k][j] = JOIN(part[k][j], part[k + half][j]);               \
    memcpy(out, part[0], (size_t)columns * sizeof *out);                  \
  }

#define REDUCTION(name, JOIN, neutral) \
  ROWS(name, JOIN, neutral) COLUMN_TILE(name, JOIN, neutral)

REDUCTION(sum, ADD_OF, 0)
REDUCTION(prod, MUL_OF, 1)
REDUCTION(max, MAX_OF, LEAST)
REDUCTION(min, MIN_OF, MOST)

/* For the mean: the sum divided by the number of elements; else by 1.  Integers
 * truncate. */
ALWAYS_INLINE C FN(finish)(C v, int64_t divisor) {
#if IS_FLOAT
  return v / (C)divisor;
#elif IS_SIGNED
  return (C)((int64_t)v / divisor);
#else
  return (C)((uint64_t)v / (uint64_t)divisor);
#endif
}

static void FN(put)(char *out, int64_t step, const C *v, int n,
                    int64_t divisor) {
  for (int i = 0; i < n; i++)
    ((T *)out)[i * step] = STORE(FN(finish)(v[i], divisor));
}

#define REDUCE_OF(name)                                                    \
  static void FN(rows_##name)(const Walk *w, char *out, int64_t divisor) { \
    C v = FN(all_##name)(*w);                                              \
    FN(put)(out, 1, &v, 1, divisor);                                       \
  }                                                                        \
  static void FN(columns_##name)(const Walk *w, char *out, int64_t step,   \
                                 int columns, int64_t divisor) {           \
    C v[REDUCE_COLUMNS];                                                   \
    FN(tile_##name)(*w, columns, v);                                       \
    FN(put)(out, step, v, columns, divisor);                               \
  }
REDUCE_OF(sum)
REDUCE_OF(prod)
REDUCE_OF(max)
REDUCE_OF(min)

REDUCERS_LINKAGE const Reducer FN(REDUCERS)[REDUCE_KINDS] = {
    [REDUCE_SUM] = {FN(rows_sum), FN(columns_sum)},
    [REDUCE_PROD] = {FN(rows_prod), FN(columns_prod)},
    [REDUCE_MAX] = {FN(rows_max), FN(columns_max)},
    [REDUCE_MIN] = {FN(rows_min), FN(columns_min)},
};

#undef ADD_OF
#undef MUL_OF
#undef MAX_OF
#undef MIN_OF
#undef RUN
#undef ROWS
#undef COLUMN_TILE
#undef REDUCTION
#undef REDUCE_OF
