/* See pairs.h. */
#include "kernels/ref/pairs.h"

#include "kernels/ref/loop.h"

#define PAIRS_LINKAGE
#define PAIRS ref_pairs

#define EACH_SINGLE(s, i, j, expression)                          \
  const T *a = (const T *)(s)->in[0], *b = (const T *)(s)->in[1]; \
  T *out = (T *)(s)->out;                                         \
  INDEPENDENT for (int64_t n = 0; n < (s)->n; n++) {              \
    T x = a[n * (i)], y = b[n * (j)];                             \
    out[n] = expression;                                          \
  }
#define EACH_PAIR(s, i, j, k, expression)                         \
  const T *a = (const T *)(s)->in[0], *b = (const T *)(s)->in[1]; \
  const T *c = (const T *)(s)->in[2];                             \
  T *out = (T *)(s)->out;                                         \
  INDEPENDENT for (int64_t n = 0; n < (s)->n; n++) {              \
    T x = a[n * (i)], y = b[n * (j)], z = c[n * (k)];             \
    out[n] = expression;                                          \
  }
#define DENSE_SINGLE(s, expression) EACH_SINGLE(s, 1, 1, expression)
#define DENSE_PAIR(s, expression) EACH_PAIR(s, 1, 1, 1, expression)
#define ANY_SINGLE(s, expression) \
  EACH_SINGLE(s, (s)->step[0], (s)->step[1], expression)
#define ANY_PAIR(s, expression) \
  EACH_PAIR(s, (s)->step[0], (s)->step[1], (s)->step[2], expression)

#define ID f32
#define T float
#include "kernels/ref/pairs_body.h"
#define ID f64
#define T double
#include "kernels/ref/pairs_body.h"
