/* image.resize1d, resize2d, resize3d and resize, nn.upsampling and
 * upsampling3d.  Along each axis, a coordinate of the result lies somewhere in
 * the data; it names up to four elements there, its taps, with their weights:
 *
 *   nearest   the element it rounds to
 *   linear    the two around it, by distance
 *   cubic     the two on either side, by the cubic with parameter alpha
 *
 * An element of the result is the sum over the taps of D, H and W of the
 * products of their weights and the elements: at most 64 terms.  The axes are
 * independent of each other, so taps are worked out once for each coordinate,
 * not for each element.  Coordinates and weights are float32 in every dtype, as
 * in Relay; the sums are in the type that the data is computed in.
 *
 * Long axes go in runs of TAPS_NEAR coordinates, so the tables have a bound. */
#include "kernels/kernel.h"
#include "kernels/parallel.h"
#include "kernels/ref/loop.h"
#include "kernels/drive/blocks.h"
#include "kernels/drive/move.h"
#include "ops/rules/window.h"

#include <math.h>
#include <string.h>

enum { TAPS_MAX = 4 };

typedef struct Taps {
  int count;
  int64_t index[TAPS_MAX];
  float weight[TAPS_MAX];
} Taps;

#define ID f32
#define C float
#include "kernels/drive/resize_body.h"
#define ID f64
#define C double
#include "kernels/drive/resize_body.h"

/* --- Coordinates --------------------------------------------------------- */

typedef enum Method { NEAREST, LINEAR, CUBIC } Method;

typedef struct Resize {
  Method method;
  Coordinates coordinates;
  Rounding rounding;
  float alpha;
  bool cut_outside; /* elements outside the data have weight 0 */
} Resize;

/* The coordinate in data of `length` for coordinate o of n.  Pixels are squares
 * whose centres lie at 0.5, 1.5, ... (the half_pixel modes), or points
 * (asymmetric, align_corners, where the first and last points coincide):
 *
 *   length 2 to n = 4   half_pixel     -0.25 0.25 0.75 1.25
 *                       asymmetric      0    0.5  1    1.5
 *                       align_corners   0    1/3  2/3  1 */
static float source_of(const Resize *r, int64_t o, int64_t n, int64_t length) {
  float scale = (float)length / (float)n, x = (float)o;
  if (r->coordinates == ALIGN_CORNERS)
    return n > 1 ? x * ((float)(length - 1) / (float)(n - 1)) : 0;
  if (r->coordinates == ASYMMETRIC) return x * scale;
  if (r->coordinates == TF_HALF_PIXEL_FOR_NN) return (x + 0.5f) * scale;
  if (r->coordinates == PYTORCH_HALF_PIXEL && n == 1) return 0;
  return (x + 0.5f) * scale - 0.5f;
}

/* Where the coordinates decide, halves go away from 0 when corners are aligned,
 * and else all goes down.  The margins are Relay's. */
static float rounded(const Resize *r, float x) {
  Rounding how = r->rounding;
  if (how == ROUND_AS_COORDINATES)
    how = r->coordinates == ALIGN_CORNERS ? ROUND_HALF_AWAY : ROUND_FLOOR;
  switch (how) {
    case ROUND_PREFER_FLOOR: return ceilf(x - 0.5f);
    case ROUND_PREFER_CEIL: return floorf(x + 0.5f);
    case ROUND_FLOOR: return floorf(x + 1e-5f);
    case ROUND_CEIL: return ceilf(x - 1e-5f);
    default: return roundf(x);
  }
}

static int64_t clamped(int64_t v, int64_t length) {
  return v < 0 ? 0 : v >= length ? length - 1 : v;
}

static void add_tap(Taps *t, int64_t at, int64_t length, float weight) {
  t->index[t->count] = clamped(at, length);
  t->weight[t->count++] = weight;
}

/* Keys, "Cubic convolution interpolation for digital image processing" (1981):
 * the weights of the four elements around a place that is a fraction x after
 * the second.  They sum to 1, and a = -0.5 is exact for parabolas. */
static void cubic_weights(float x, float a, float w[4]) {
  float x2 = x * x, x3 = x2 * x;
  w[0] = a * (x3 - 2 * x2 + x);
  w[1] = (a + 2) * x3 - (3 + a) * x2 + 1;
  w[2] = -(a + 2) * x3 + (3 + 2 * a) * x2 - a * x;
  w[3] = -a * x3 + a * x2;
}

/* Elements outside the data are the border's, or, with cut_outside, have no
 * weight, and the others share it out. */
static void cubic_taps(const Resize *r, float x, int64_t length, Taps *t) {
  int64_t first = (int64_t)floorf(x) - 1;
  float w[4], sum = 0;
  cubic_weights(x - floorf(x), r->alpha, w);
  for (int i = 0; i < 4; i++) {
    bool outside = first + i < 0 || first + i >= length;
    if (outside && r->cut_outside) w[i] = 0;
    sum += w[i];
  }
  for (int i = 0; i < 4; i++)
    add_tap(t, first + i, length, r->cut_outside ? w[i] / sum : w[i]);
}

/* An axis of one element that stays one has a single tap whatever the method,
 * so a missing axis costs nothing.  Taps outside are moved to the border. */
static Taps taps_at(const Resize *r, int64_t o, int64_t n, int64_t length) {
  Taps t = {0};
  if (length == n && n == 1) {
    add_tap(&t, 0, 1, 1);
    return t;
  }
  float x = source_of(r, o, n, length);
  float low = floorf(x);
  if (r->method == NEAREST) add_tap(&t, (int64_t)rounded(r, x), length, 1);
  if (r->method == CUBIC) cubic_taps(r, x, length, &t);
  if (r->method == LINEAR) {
    add_tap(&t, (int64_t)low, length, 1 - (x - low));
    add_tap(&t, (int64_t)low + 1, length, x - low);
  }
  return t;
}

/* --- Running ------------------------------------------------------------- */

enum { TAPS_NEAR = 4096 }; /* coordinates whose taps are computed at a time */

static const double NANOSECONDS = 10; /* time for an element */

/* The taps of a run of coordinates of the result along an axis. */
typedef struct TapsRun {
  int64_t first, count;
  Taps *taps;
} TapsRun;

typedef struct ResizePlan {
  const Resize *how;
  Tensor data, out; /* (N, C, D, H, W) */
  TapsRun runs[SPATIAL_MAX];
} ResizePlan;

static int64_t run_length(const ResizePlan *p, int k, int64_t first) {
  int64_t left = p->out.shape[2 + k] - first;
  return left < TAPS_NEAR ? left : TAPS_NEAR;
}

/* The first run is the longest, so its length is the room for all. */
static bool make_room(OpCall *call, ResizePlan *p) {
  for (int k = 0; k < SPATIAL_MAX; k++) {
    size_t n = (size_t)run_length(p, k, 0);
    p->runs[k].taps = ARENA_ARRAY(call->arena, Taps, n);
    if (!p->runs[k].taps) return op_out_of_memory(call);
  }
  return true;
}

static void find_taps(ResizePlan *p, int k, int64_t first) {
  TapsRun *run = &p->runs[k];
  int64_t n = p->out.shape[2 + k], length = p->data.shape[2 + k];
  run->first = first;
  run->count = run_length(p, k, first);
  for (int64_t i = 0; i < run->count; i++)
    run->taps[i] = taps_at(p->how, first + i, n, length);
}

/* Nearest copies the element's bits, unless the dtypes differ. */
static void resize_element(const ResizePlan *p, const int64_t index[5]) {
  Method method = p->how->method;
  const Tensor *x = &p->data, *out = &p->out;
  int64_t size = (int64_t)dtype_size(x->dtype), offset = 0;
  bool wide = dtype_in(x->dtype) == IN_F64 || dtype_in(out->dtype) == IN_F64;
  const Taps *taps[SPATIAL_MAX];
  const char *at =
      x->data + (index[0] * x->strides[0] + index[1] * x->strides[1]) * size;
  for (int i = 0; i < 5; i++) offset += index[i] * out->strides[i];
  for (int k = 0; k < SPATIAL_MAX; k++)
    taps[k] = &p->runs[k].taps[index[2 + k] - p->runs[k].first];
  char *to = out->data + offset * (int64_t)dtype_size(out->dtype);
  if (method != NEAREST) {
    (wide ? put_weighted_f64 : put_weighted_f32)(x, at, taps, out->dtype, to);
    return;
  }
  for (int k = 0; k < SPATIAL_MAX; k++)
    at += taps[k]->index[0] * x->strides[2 + k] * size;
  Value v = bits_load(x->dtype, at);
  if (x->dtype != out->dtype)
    v = bits_from_f64(out->dtype, bits_to_f64(x->dtype, v));
  bits_store(out->dtype, to, v);
}

typedef struct ResizeRuns {
  const OpCall *call;
  const ResizePlan *plan;
} ResizeRuns;

static bool resize_share(const void *data, const Share *share) {
  const ResizeRuns *r = data;
  const ResizePlan *p = r->plan;
  for (int64_t i = share->from; i < share->to; i++) {
    int64_t index[5], rest = i;
    if (op_stopped(r->call)) return false;
    for (int k = SPATIAL_MAX - 1; k >= 0; k--) {
      index[2 + k] = p->runs[k].first + rest % p->runs[k].count;
      rest /= p->runs[k].count;
    }
    index[1] = rest % p->out.shape[1];
    index[0] = rest / p->out.shape[1];
    resize_element(p, index);
  }
  return true;
}

/* Computes the elements whose coordinates have their taps ready. */
static bool resize_runs(const OpCall *call, const ResizePlan *p) {
  int64_t n = p->out.shape[0] * p->out.shape[1];
  for (int k = 0; k < SPATIAL_MAX; k++) n *= p->runs[k].count;
  return parallel_run(call, parallel_threads(call, n, NANOSECONDS * (double)n),
                      n, resize_share, &(ResizeRuns){call, p});
}

/* Runs of D, H and W are nested, so at one time the taps of one run of each are
 * in the tables. */
static bool run_resize(OpCall *call, const Resize *r) {
  AxisOrder order;
  int spatial = window_rank(call->op, ATTR_layout);
  axis_order(attr_text(call->attrs, ATTR_layout), 'N', 'C', spatial, &order);
  ResizePlan p = {.how = r,
                  .data = window_geometry(call->args[0], &order),
                  .out = window_geometry(call->outs[0], &order)};
  const int64_t *n = p.out.shape + 2;
  if (tensor_count(&p.out) == 0) return true;
  if (!make_room(call, &p)) return false;
  for (int64_t d = 0; d < n[0]; d += TAPS_NEAR) {
    find_taps(&p, 0, d);
    for (int64_t h = 0; h < n[1]; h += TAPS_NEAR) {
      find_taps(&p, 1, h);
      for (int64_t w = 0; w < n[2]; w += TAPS_NEAR) {
        find_taps(&p, 2, w);
        if (!resize_runs(call, &p)) return false;
      }
    }
  }
  return true;
}

static Method method_of(const Attrs *a) {
  static const Method methods[] = {[RESIZE_NEAREST] = NEAREST,
                                   [RESIZE_LINEAR] = LINEAR,
                                   [RESIZE_CUBIC] = CUBIC,
                                   [RESIZE_LINEAR_TOO] = LINEAR,
                                   [RESIZE_CUBIC_TOO] = CUBIC};
  return methods[attr_word(a, ATTR_method)];
}

static Resize resize_of(const Attrs *a) {
  return (Resize){.method = method_of(a),
                  .coordinates = (Coordinates)attr_word(
                      a, ATTR_coordinate_transformation_mode),
                  .alpha = -0.5f};
}

static bool resize(OpCall *call) {
  Resize r = resize_of(call->attrs);
  return run_resize(call, &r);
}

/* image.resize1d, resize2d and resize3d, which say more of how than
 * image.resize. */
static bool resize_nd(OpCall *call) {
  const Attrs *a = call->attrs;
  Resize r = resize_of(a);
  r.rounding = (Rounding)attr_word(a, ATTR_rounding_method);
  r.alpha = (float)attr_real(a, ATTR_cubic_alpha);
  r.cut_outside = attr_number(a, ATTR_cubic_exclude) != 0;
  return run_resize(call, &r);
}

/* Nearest takes the element before a place, i / scale, unless corners align. */
static bool upsampling(OpCall *call) {
  Resize r = {.method = method_of(call->attrs),
              .coordinates = ASYMMETRIC,
              .alpha = -0.5f};
  if (attr_bool(call->attrs, ATTR_align_corners)) r.coordinates = ALIGN_CORNERS;
  return run_resize(call, &r);
}

bool kernel_resize(OpCall *call) { return run_without_blocks(call, resize); }
bool kernel_resize_nd(OpCall *call) {
  return run_without_blocks(call, resize_nd);
}
bool kernel_upsampling(OpCall *call) {
  return run_without_blocks(call, upsampling);
}
