/* Pooling in one dtype, included by pool.c through each_*.h: the maximum or
 * mean of a window of up to three axes, d, h and v (as wide as the window's
 * part that lies in the data).  Reductions, so the law's order: element r of
 * the window, in row-major order, goes to partial result r mod 16; then +8, +4,
 * +2, +1 join them.  Layouts differ in the strides alone. */

#if IS_FLOAT
/* NaN wins a maximum in either position, as in reduce_join.h. */
#define ADD_OF(a, b) (a + b)
#define MAX_OF(a, b) (a > b || a != a ? a : b)
#else
#define ADD_OF(a, b) ((C)STORE((W)a + (W)b))
#define MAX_OF(a, b) (a > b ? a : b)
#endif

/* `is_max` is a constant in each caller, so the compiler makes two functions.
 * A window without elements gives the neutral element.  Polls `stop` only where
 * the window is large. */
ALWAYS_INLINE C FN(window)(const Tensor *x, const char *channel,
                           const Window *w, bool is_max) {
  C part[LAW_PARTS];
  int64_t r = 0;
  for (int i = 0; i < LAW_PARTS; i++) part[i] = is_max ? (C)LEAST : (C)0;
  for (int64_t d = 0; d < w->axes[0].n && !stop_seen(w->stop); d++)
    for (int64_t h = 0; h < w->axes[1].n && !stop_seen(w->stop); h++) {
      const T *line = (const T *)channel +
                      span_at(&w->axes[0], d) * x->strides[2] +
                      span_at(&w->axes[1], h) * x->strides[3];
      int64_t n = w->axes[2].n;
      for (int64_t v = 0; v < n; v++, r++) {
        if (w->stop && v % STOP_BLOCK == 0 && stop_seen(w->stop)) break;
        C e = LOAD(line[span_at(&w->axes[2], v) * x->strides[4]]);
        C *p = &part[r % LAW_PARTS];
        *p = is_max ? MAX_OF(*p, e) : ADD_OF(*p, e);
      }
    }
  for (int half = LAW_PARTS / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++)
      part[i] = is_max ? MAX_OF(part[i], part[i + half])
                       : ADD_OF(part[i], part[i + half]);
  return part[0];
}

static void FN(pool_max)(const Tensor *x, const char *channel, const Window *w,
                         char *out) {
  *(T *)out = STORE(FN(window)(x, channel, w, true));
}

static void FN(pool_avg)(const Tensor *x, const char *channel, const Window *w,
                         char *out) {
  C sum = FN(window)(x, channel, w, false);
#if IS_FLOAT
  *(T *)out = STORE(sum / (C)w->divisor);
#elif IS_SIGNED
  *(T *)out = (T)STORE((int64_t)sum / w->divisor);
#else
  *(T *)out = (T)STORE((uint64_t)sum / (uint64_t)w->divisor);
#endif
}

/* to[i] += v */
ALWAYS_INLINE void FN(add_to)(T *to, C v) { *to = STORE(ADD_OF(LOAD(*to), v)); }

/* The gradient of a maximum goes to the first element that has it: the rest are
 * not greater.  A NaN is never greater than what came before, and nothing is
 * greater than a NaN that comes first.  Windows overlap, so gradients add
 * up. */
static void FN(grad_max)(const Tensor *x, const char *channel, const Window *w,
                         const char *grad, const Tensor *to, char *to_channel) {
  int64_t best = -1, best_to = 0;
  C most = (C)LEAST;
  BLOCKS(w->stop, window_size(w))
  for (int64_t i = at; i < end; i++) {
    C e = LOAD(((const T *)channel)[window_offset(w, i, x)]);
    if (best >= 0 && !(e > most)) continue;
    best = i;
    most = e;
    best_to = window_offset(w, i, to);
  }
  if (best >= 0) FN(add_to)((T *)to_channel + best_to, LOAD(*(const T *)grad));
}

/* The gradient of a mean goes to each element in equal shares. */
static void FN(grad_avg)(const Tensor *x, const char *channel, const Window *w,
                         const char *grad, const Tensor *to, char *to_channel) {
#if IS_FLOAT
  C share = LOAD(*(const T *)grad) / (C)w->divisor;
#elif IS_SIGNED
  C share = (C)((int64_t)LOAD(*(const T *)grad) / w->divisor);
#else
  C share = (C)((uint64_t)LOAD(*(const T *)grad) / (uint64_t)w->divisor);
#endif
  (void)x, (void)channel;
  BLOCKS(w->stop, window_size(w))
  for (int64_t i = at; i < end; i++)
    FN(add_to)((T *)to_channel + window_offset(w, i, to), share);
}

#undef ADD_OF
#undef MAX_OF
