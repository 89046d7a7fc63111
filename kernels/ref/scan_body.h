/* Scans, argmax and argmin of one dtype; included by reduce.c through
 * each_*.h. */

#include "kernels/ref/reduce_join.h"

/* --- Where the largest or smallest element is -------------------------------
 * No rounding, so simply in order: NaN first, then the first of equals, or
 * the last. */

ALWAYS_INLINE bool FN(beats)(C v, C best, bool least, bool last) {
#if IS_FLOAT
  if (best != best) return last && v != v;
  if (v != v) return true;
#endif
  bool better = least ? v < best : v > best;
  return better || (last && v == best);
}

static int64_t FN(arg_best)(Walk w, bool least, bool last) {
  int64_t best_at = 0, r = 0;
  C best = 0;
  while (walk_next(&w))
    for (int64_t i = 0; i < w.n; i++, r++) {
      C v = LOAD(((const T *)w.data[0])[i * w.step[0]]);
      if (r > 0 && !FN(beats)(v, best, least, last)) continue;
      best = v;
      best_at = r;
    }
  return best_at;
}

/* --- Scans ------------------------------------------------------------------
 * Sequential; `exclusive` leaves the element itself out. */

static void FN(scan)(StopFlag *stop, const Tensor *in, const Tensor *out,
                     bool is_product, bool exclusive) {
  const T *x = (const T *)in->data;
  T *y = (T *)out->data;
  C total = is_product ? 1 : 0;
  BLOCKS(stop, in->shape[0])
  for (int64_t i = at; i < end; i++) {
    C v = LOAD(x[i * in->strides[0]]), next;
    next = is_product ? MUL_OF(total, v) : ADD_OF(total, v);
    y[i * out->strides[0]] = STORE(exclusive ? total : next);
    total = next;
  }
}

#undef ADD_OF
#undef MUL_OF
#undef MAX_OF
#undef MIN_OF
