/* Pooling: maximum and mean over windows, adaptive and global ones, and the
 * gradients of both.  ref/pool.h has the loops over a window.
 *
 * One, two and three dimensions are one case: window_geometry() sees every
 * layout as (N, C, D, H, W), with axes of length 1 for those that are missing.
 * A window is a span along each of D, H and W, cut to the data.  Threads share
 * the channels of all batches, and each goes window by window, so that a
 * window's spans are worked out once for all of its channels.
 *
 * Windows that lie wholly in the padding are not visited: padding may be as
 * wide as a hostile program likes.  They all have one value, the neutral
 * element, with which the result is filled first. */
#include "kernels/kernel.h"
#include "kernels/parallel.h"
#include "kernels/ref/pool.h"
#include "kernels/drive/blocks.h"
#include "kernels/drive/elementwise.h"
#include "kernels/drive/move.h"
#include "ops/rules/window.h"

static const double NANOSECONDS = 10; /* least time for a window */

/* --- Windows ------------------------------------------------------------- */

typedef struct PoolPlan {
  Tensor data, out; /* (N, C, D, H, W) */
  WindowAxis axes[SPATIAL_MAX];
  StopFlag *stop;
  bool adaptive;
  bool count_padding; /* a mean divides by padding, too */
} PoolPlan;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Window number o of n over an axis: from floor(o * length / n) to ceil((o + 1)
 * * length / n), as in Relay.  The products may exceed 64 bits. */
static PoolSpan adaptive_span(int64_t o, int64_t n, int64_t length) {
  int64_t first = (int64_t)((__int128)o * length / n);
  int64_t last = (int64_t)(((__int128)(o + 1) * length - 1) / n);
  return (PoolSpan){first, 1, last + 1 - first};
}

/* The part of a sliding window that lies in the data; `*counted` receives how
 * many of its elements lie in the padded data.  With size 3, stride 2, one
 * element of padding on each side, and a line of 5:
 *
 *   padded    . a b c d e .
 *   o = 0     . a b            first 0, 2 elements, 3 counted
 *   o = 1         b c d        first 1, 3 elements, 3 counted
 *   o = 2             d e .    first 3, 2 elements, 3 counted */
static PoolSpan sliding_span(const WindowAxis *a, int64_t o, int64_t length,
                             int64_t *counted) {
  int64_t first = o * a->stride - a->before, step = a->dilation;
  int64_t padded = length + a->after - first;
  *counted = padded <= 0 ? 0 : least(a->size, (padded - 1) / step + 1);
  int64_t skipped = first < 0 ? (-first + step - 1) / step : 0;
  int64_t room = length - (first + skipped * step);
  int64_t n = room <= 0 ? 0 : (room - 1) / step + 1;
  int64_t left = a->size > skipped ? a->size - skipped : 0;
  return (PoolSpan){first + skipped * step, step, least(n, left)};
}

/* The window at a row-major position.  A mean's divisor is never 0: a window
 * without elements has the sum 0, and the mean 0. */
static Window window_at(const PoolPlan *p, int64_t position) {
  Window w = {.divisor = 1};
  int64_t padded = 1;
  for (int k = SPATIAL_MAX - 1; k >= 0; k--) {
    int64_t n = p->out.shape[2 + k], length = p->data.shape[2 + k];
    int64_t o = position % n, counted = 1;
    w.axes[k] = p->adaptive ? adaptive_span(o, n, length)
                            : sliding_span(&p->axes[k], o, length, &counted);
    padded *= counted;
    position /= n;
  }
  int64_t size = window_size(&w);
  w.divisor = p->count_padding ? padded : size;
  if (size > STOP_BLOCK) w.stop = p->stop;
  if (w.divisor < 1) w.divisor = 1;
  return w;
}

/* For each axis, the range of windows that may overlap the data: padding can be
 * wider than any window.  Window o begins at o * stride - before and reaches
 * dilation * (size - 1) further, so the first that touches is the least o with
 * o * stride >= before - dilation * (size - 1), the last the greatest with o *
 * stride <= length - 1 + before. */
typedef struct Box {
  int64_t from[SPATIAL_MAX], n[SPATIAL_MAX];
} Box;

static Box touching(const PoolPlan *p) {
  Box box;
  for (int k = 0; k < SPATIAL_MAX; k++) {
    const WindowAxis *a = &p->axes[k];
    int64_t n = p->out.shape[2 + k], length = p->data.shape[2 + k];
    int64_t early = p->adaptive ? 0 : a->before - a->dilation * (a->size - 1);
    int64_t end = p->adaptive ? n : (length - 1 + a->before) / a->stride + 1;
    box.from[k] = early > 0 ? least(n, (early - 1) / a->stride + 1) : 0;
    box.n[k] = length > 0 ? least(n, end) - box.from[k] : 0;
    if (box.n[k] < 0) box.n[k] = 0;
  }
  return box;
}

static int64_t box_size(const Box *box) {
  return box->n[0] * box->n[1] * box->n[2];
}

/* The row-major position, among all windows, of window number i of the box. */
static int64_t box_position(const Box *box, const PoolPlan *p, int64_t i) {
  int64_t at[SPATIAL_MAX];
  for (int k = SPATIAL_MAX - 1; k >= 0; k--) {
    at[k] = box->from[k] + i % box->n[k];
    i /= box->n[k];
  }
  return (at[0] * p->out.shape[3] + at[1]) * p->out.shape[4] + at[2];
}

/* --- Running ------------------------------------------------------------- */

static char *channel_of(const Tensor *t, int64_t batch, int64_t channel) {
  return t->data + (batch * t->strides[0] + channel * t->strides[1]) *
                       (int64_t)dtype_size(t->dtype);
}

static char *position_of(const Tensor *t, char *channel, int64_t position) {
  int64_t offset = 0;
  for (int k = 4; k >= 2; k--) {
    offset += position % t->shape[k] * t->strides[k];
    position /= t->shape[k];
  }
  return channel + offset * (int64_t)dtype_size(t->dtype);
}

static int64_t positions_of(const Tensor *t) {
  return t->shape[2] * t->shape[3] * t->shape[4];
}

typedef struct Pooling {
  const OpCall *call;
  const PoolPlan *plan;
  PoolFn pool;
  Box box;
} Pooling;

/* Computes a share of the channels of all batches.  Each window goes over all
 * of them before the next window is set up. */
static bool run_share(const void *data, const Share *share) {
  const Pooling *all = data;
  const Tensor *x = &all->plan->data, *out = &all->plan->out;
  for (int64_t number = 0; number < box_size(&all->box); number++) {
    int64_t at = box_position(&all->box, all->plan, number);
    Window w = window_at(all->plan, at);
    for (int64_t i = share->from; i < share->to; i++) {
      int64_t n = i / out->shape[1], c = i % out->shape[1];
      if (op_stopped(all->call)) return false;
      all->pool(x, channel_of(x, n, c), &w,
                position_of(out, channel_of(out, n, c), at));
    }
  }
  return true;
}

/* Threads share the channels of all batches, each with the windows in `box`. */
static bool share_channels(const OpCall *call, const Tensor *out,
                           const Box *box, ShareFn run, const void *data) {
  int64_t channels = out->shape[0] * out->shape[1];
  double work = NANOSECONDS * (double)channels * (double)box_size(box);
  return parallel_run(call, parallel_threads(call, channels, work), channels,
                      run, data);
}

/* Sets the windows that lie wholly in the padding: what the loop gives for a
 * window of no elements. */
static bool fill_empty(const OpCall *call, Tensor *out, PoolFn pool) {
  char value[sizeof(Value)];
  pool(out, out->data, &(Window){.divisor = 1}, value);
  return fill_with(call, out, bits_load(out->dtype, value));
}

static bool run_pool(OpCall *call, const PoolPlan *p, PoolFn pool) {
  Pooling all = {call, p, pool, touching(p)};
  int64_t windows = box_size(&all.box);
  bool empty = windows < positions_of(&p->out);
  if (empty && !fill_empty(call, call->outs[0], pool)) return false;
  return share_channels(call, &p->out, &all.box, run_share, &all);
}

/* The gradient's plan takes the windows from the same attributes. */
static PoolPlan plan_of(const OpCall *call, const Tensor *data,
                        const Tensor *out, bool adaptive) {
  PoolPlan p = {.adaptive = adaptive, .stop = call->stop};
  AxisOrder order;
  int spatial = window_rank(call->op, ATTR_layout);
  axis_order(attr_text(call->attrs, ATTR_layout), 'N', 'C', spatial, &order);
  p.data = window_geometry(data, &order);
  p.out = window_geometry(out, &order);
  if (adaptive) return p;
  window_axes(call->attrs, spatial, p.axes);
  for (int k = 0; k < SPATIAL_MAX; k++)
    p.axes[k].size = window_value(call->attrs, ATTR_pool_size, spatial, k, 1);
  return p;
}

static bool pool(OpCall *call, bool is_max, bool adaptive) {
  PoolPlan p = plan_of(call, call->args[0], call->outs[0], adaptive);
  p.count_padding =
      !is_max && !adaptive && attr_bool(call->attrs, ATTR_count_include_pad);
  return run_pool(call, &p, ref_pools[p.data.dtype][is_max]);
}

static bool max_pool(OpCall *call) { return pool(call, true, false); }
static bool avg_pool(OpCall *call) { return pool(call, false, false); }
static bool adaptive_max(OpCall *call) { return pool(call, true, true); }
static bool adaptive_avg(OpCall *call) { return pool(call, false, true); }

bool kernel_max_pool(OpCall *call) {
  return run_without_blocks(call, max_pool);
}
bool kernel_avg_pool(OpCall *call) {
  return run_without_blocks(call, avg_pool);
}
bool kernel_adaptive_max_pool(OpCall *call) {
  return run_without_blocks(call, adaptive_max);
}
bool kernel_adaptive_avg_pool(OpCall *call) {
  return run_without_blocks(call, adaptive_avg);
}

/* --- Gradients --------------------------------------------------------------
 * Windows in row-major order add to what they cover. */

typedef struct PoolGrad {
  const OpCall *call;
  PoolPlan plan, target;
  Box box;
  PoolGradFn add;
} PoolGrad;

/* Windows overlap within a channel, so threads share channels, never
 * windows. */
static bool grad_share(const void *data, const Share *share) {
  const PoolGrad *g = data;
  const Tensor *x = &g->plan.data, *grad = &g->plan.out;
  const Tensor *to = &g->target.data;
  for (int64_t number = 0; number < box_size(&g->box); number++) {
    int64_t at = box_position(&g->box, &g->plan, number);
    Window w = window_at(&g->plan, at);
    for (int64_t i = share->from; i < share->to; i++) {
      int64_t n = i / grad->shape[1], c = i % grad->shape[1];
      if (op_stopped(g->call)) return false;
      g->add(x, channel_of(x, n, c), &w,
             position_of(grad, channel_of(grad, n, c), at), to,
             channel_of(to, n, c));
    }
  }
  return true;
}

/* The target has the geometry of the data; a gradient adds up from 0. */
static bool pool_grad(OpCall *call, bool is_max) {
  const Tensor *grad = call->args[0], *x = call->args[1];
  PoolGrad g = {.call = call,
                .plan = plan_of(call, x, grad, false),
                .target = plan_of(call, call->outs[0], grad, false),
                .add = ref_pool_grads[x->dtype][is_max]};
  g.plan.count_padding =
      !is_max && attr_bool(call->attrs, ATTR_count_include_pad);
  if (!fill_with(call, call->outs[0], (Value){0})) return false;
  g.box = touching(&g.plan);
  return share_channels(call, &g.plan.out, &g.box, grad_share, &g);
}

bool kernel_max_pool_grad(OpCall *call) { return pool_grad(call, true); }
bool kernel_avg_pool_grad(OpCall *call) { return pool_grad(call, false); }
