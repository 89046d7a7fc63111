/* Choosing between elements of type T, the condition being bool; makes the
 * StripFn where_T.  Only bits are moved, so there is one for each size of
 * element.  Both choices are read before one is stored, so that the compiler
 * may select in vectors; the constants are for operands that are contiguous or
 * a broadcast scalar. */

ALWAYS_INLINE int FN(where_loop)(const Strip *s, int64_t i, int64_t j,
                                 int64_t k, int64_t to) {
  const uint8_t *c = (const uint8_t *)s->in[0];
  const T *x = (const T *)s->in[1], *y = (const T *)s->in[2];
  T *out = (T *)s->out;
  for (int64_t n = 0; n < s->n; n++) {
    T yes = x[n * j], no = y[n * k];
    out[n * to] = c[n * i] ? yes : no;
  }
  return 0;
}

STRIPS_LINKAGE int FN(WHERE)(const Strip *s) {
  int64_t i = s->step[0], j = s->step[1], k = s->step[2], to = s->out_step;
  if (!STEPS_ARE(i == 1 && to == 1)) return FN(where_loop)(s, i, j, k, to);
  if (j == 1 && k == 1) return FN(where_loop)(s, 1, 1, 1, 1);
  if (j == 1 && k == 0) return FN(where_loop)(s, 1, 1, 0, 1);
  if (j == 0 && k == 1) return FN(where_loop)(s, 1, 0, 1, 1);
  return FN(where_loop)(s, 1, j, k, 1);
}

#undef ID
#undef T
