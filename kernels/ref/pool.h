/* Maximum and mean of one window, and their gradients, by dtype. */
#ifndef KERNELS_REF_POOL_H
#define KERNELS_REF_POOL_H

#include "base/stop.h"
#include "ops/rules/window.h"

/* The elements of a window along an axis: first, first + step, ... */
typedef struct PoolSpan {
  int64_t first, step, n;
} PoolSpan;

/* The elements of a window that lie in the data, and the divisor of a mean.
 * Pooling of lower rank has axes of length 1 in front. */
typedef struct Window {
  PoolSpan axes[SPATIAL_MAX];
  int64_t divisor;
  StopFlag *stop; /* NULL for a small window */
} Window;

static inline int64_t span_at(const PoolSpan *s, int64_t i) {
  return s->first + i * s->step;
}

static inline int64_t window_size(const Window *w) {
  return w->axes[0].n * w->axes[1].n * w->axes[2].n;
}

/* The offset of element number i of a window in one channel of `t`. */
static inline int64_t window_offset(const Window *w, int64_t i,
                                    const Tensor *t) {
  int64_t offset = 0;
  for (int k = SPATIAL_MAX - 1; k >= 0; k--) {
    offset += span_at(&w->axes[k], i % w->axes[k].n) * t->strides[2 + k];
    i /= w->axes[k].n;
  }
  return offset;
}

/* The mean (0) or maximum (1) of the part of a window that lies in the data. */
typedef void (*PoolFn)(const Tensor *x, const char *channel, const Window *w,
                       char *out);
extern const PoolFn ref_pools[DTYPE_COUNT][2];

/* Adds the gradient of either to `to`. */
typedef void (*PoolGradFn)(const Tensor *x, const char *channel,
                           const Window *w, const char *grad, const Tensor *to,
                           char *to_channel);
extern const PoolGradFn ref_pool_grads[DTYPE_COUNT][2];

#endif
