/* Pairs of arithmetic operators, a vector at a time.  Chains run them on as few
 * as 16 elements, so the loops are not interleaved: what counts is how soon the
 * first vector is stored. */
#include "kernels/simd/overlay.h"

#include "kernels/ref/pairs.h"

#define PAIRS_LINKAGE static
#define PAIRS pairs
#define LANES (int64_t)(sizeof(VT) / sizeof(T))

/* The loops for elements of T, V of them or V / 2 in a VT.  READ and READ_N
 * read z, whole vectors and the part of one at the end; NEXT goes on in z. */
#define DENSE(s, expression, READ, READ_N)               \
  const T *a = (const T *)(s)->in[0];                    \
  const T *b = (const T *)(s)->in[1];                    \
  T *out = (T *)(s)->out;                                \
  int64_t i = 0, n = (s)->n;                             \
  for (; i + LANES <= n; i += LANES) {                   \
    VT x = LOAD(a + i), y = LOAD(b + i);                 \
    READ STORE(out + i, expression);                     \
  }                                                      \
  if (i < n) {                                           \
    int left = (int)(n - i);                             \
    VT x = LOAD_N(a + i, left), y = LOAD_N(b + i, left); \
    READ_N STORE_N(out + i, expression, left);           \
  }
#define DENSE_SINGLE(s, expression) DENSE(s, expression, , )
#define DENSE_PAIR(s, expression)     \
  const T *c = (const T *)(s)->in[2]; \
  DENSE(s, expression, VT z = LOAD(c + i);, VT z = LOAD_N(c + i, left);)

/* Operand k is read at `v`, `v_by` elements further at each vector.  A single
 * element is read from a vector of it, again and again. */
#define OPERAND(s, k, v)                   \
  VT v##_all;                              \
  const T *v##_at = (const T *)(s)->in[k]; \
  int64_t v##_by = LANES;                  \
  if ((s)->step[k] == 0) {                 \
    v##_all = SET(*v##_at);                \
    v##_at = (const T *)&v##_all;          \
    v##_by = 0;                            \
  }
#define ANY(s, expression, READ, READ_N, NEXT)                   \
  T *out = (T *)(s)->out;                                        \
  int64_t left = (s)->n;                                         \
  OPERAND(s, 0, x)                                               \
  OPERAND(s, 1, y)                                               \
  for (; left >= LANES; left -= LANES, out += LANES) {           \
    VT x = LOAD(x_at), y = LOAD(y_at);                           \
    READ STORE(out, expression);                                 \
    x_at += x_by, y_at += y_by;                                  \
    NEXT                                                         \
  }                                                              \
  if (left > 0) {                                                \
    VT x = LOAD_N(x_at, (int)left), y = LOAD_N(y_at, (int)left); \
    READ_N STORE_N(out, expression, (int)left);                  \
  }
#define ANY_SINGLE(s, expression) ANY(s, expression, , , )
#define ANY_PAIR(s, expression)                                          \
  OPERAND(s, 2, z)                                                       \
  ANY(s, expression, VT z = LOAD(z_at);, VT z = LOAD_N(z_at, (int)left); \
      , z_at += z_by;)

#define ID f32
#define T float
#define VT VF
#define SET vf_set
#define LOAD vf_load
#define LOAD_N vf_load_n
#define STORE vf_store
#define STORE_N vf_store_n
#include "kernels/ref/pairs_body.h"
#undef VT
#undef SET
#undef LOAD
#undef LOAD_N
#undef STORE
#undef STORE_N
#define ID f64
#define T double
#define VT VD
#define SET vd_set
#define LOAD vd_load
#define LOAD_N vd_load_n
#define STORE vd_store
#define STORE_N vd_store_n
#include "kernels/ref/pairs_body.h"

const Pairs *const ISA(pairs)[FLOAT_TYPES] = {&pairs_f32, &pairs_f64};
