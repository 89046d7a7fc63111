/* Kernels that read images between their elements: image.crop_and_resize,
 * grid_sample and affine_grid, vision.roi_align and roi_pool,
 * nn.deformable_conv2d.  Along each axis a coordinate names up to four
 * elements, its taps, with their weights (sample_body.h).
 *
 * Unlike resizing, the coordinates come from operands and differ from element
 * to element, so nothing is worked out in advance: each element of the result
 * is computed by itself, by a SampleFn, and threads share the elements.  What
 * is constant in a call is in its plan.  Coordinates are data and may be
 * anything, NaN and 1e30 included: each function bounds them before it makes an
 * index. */
#include "kernels/drive/sample.h"

#include "kernels/kernel.h"
#include "kernels/parallel.h"
#include "ops/rules/conv.h"

#include <string.h>

enum { TAPS_MAX = 4 };

static const double NANOSECONDS = 50; /* time for an element */

/* --- Every element by itself --------------------------------------------- */

static bool sampling_share(const void *data, const Share *share) {
  const Sampling *s = data;
  const int64_t *shape = s->out.shape;
  for (int64_t i = share->from; i < share->to; i++) {
    int64_t index[5], rest = i;
    if (op_stopped(s->call)) return false;
    for (int k = 4; k > 0; k--) {
      index[k] = rest % shape[k];
      rest /= shape[k];
    }
    index[0] = rest;
    s->element(s, index, element_at(&s->out, index));
  }
  return true;
}

bool sampling_run(OpCall *call, const Sampling *s, double nanoseconds) {
  int64_t n = tensor_count(&s->out);
  if (n == 0) return true;
  return parallel_run(call, parallel_threads(call, n, nanoseconds * (double)n),
                      n, sampling_share, s);
}

/* --- Plans --------------------------------------------------------------- */

/* The image that a box is of must be one of the batch. */
static bool image_fault(OpCall *call, double image, int64_t images) {
  return op_fault(call, E0604, "a box is of image %g of %lld", image,
                  (long long)images);
}

/* Boxes are (image, left, top, right, bottom). */
static bool roi_images_check(OpCall *call, const Tensor *rois, int64_t images) {
  BLOCKS(call->stop, rois->shape[0])
  for (int64_t i = at; i < end; i++) {
    double image = f64_at(rois, (int64_t[]){i, 0});
    if (!(image > -1 && image < (double)images))
      return image_fault(call, image, images);
  }
  return true;
}

typedef struct RoiPlan {
  const Tensor *rois;
  double scale;
  int64_t samples; /* along an axis of a bin; 0: as many as it has elements */
  bool max;
} RoiPlan;

typedef struct Crop {
  bool nearest;
  bool wide; /* coordinates are computed in double, as boxes of doubles are */
} Crop;

typedef struct GridSample {
  Tensor grid; /* (N, 2 or 3, D, H, W) */
  int spatial;
  GridMethod method;
  GridPadding padding;
  bool align_corners;
} GridSample;

typedef struct Deform {
  Tensor offset, weight; /* (N, C, 1, H, W), (O, I, 1, H, W) */
  WindowAxis axes[SPATIAL_MAX];
  int64_t group_inputs, group_outputs; /* channels of a group */
  int64_t shared;                      /* channels that share offsets */
} Deform;

/* --- Computing ----------------------------------------------------------- */

/* Coordinate o of n of a crop between two ends, which are parts of the length;
 * a single coordinate lies in the middle.  In the type of the boxes. */
#define CROP_AT(ID, T)                                              \
  static T ID(T from, T to, int64_t o, int64_t n, int64_t length) { \
    T last = (T)(length - 1);                                       \
    if (n == 1) return (from + to) / 2 * last;                      \
    return from * last + (to - from) * last / (T)(n - 1) * (T)o;    \
  }
CROP_AT(crop_at_f32, float)
CROP_AT(crop_at_f64, double)
#undef CROP_AT

#define FLOATS_ALONE
#define BODY "kernels/drive/sample_body.h"
#include "kernels/ref/each_sum.h"

/* Is any of the two computed in double? */
static bool is_wide(const Tensor *a, const Tensor *b) {
  return dtype_in(a->dtype) == IN_F64 || dtype_in(b->dtype) == IN_F64;
}

static Tensor image_view(const Tensor *t, const char *layout) {
  AxisOrder order;
  axis_order(layout, 'N', 'C', t->rank - 2, &order);
  return window_geometry(t, &order);
}

/* --- Kernels ------------------------------------------------------------- */

/* Image numbers are checked here, once; boxes may lie anywhere. */
bool kernel_crop_and_resize(OpCall *call) {
  const char *layout = attr_text(call->attrs, ATTR_layout);
  const Tensor *x = call->args[0], *images = call->args[2];
  Sampling s = {.call = call,
                .data = image_view(x, layout),
                .out = image_view(call->outs[0], layout)};
  BLOCKS(call->stop, images->shape[0])
  for (int64_t i = at; i < end; i++) {
    int64_t image = tensor_i64_at(images, i);
    if (image < 0 || image >= s.data.shape[0])
      return image_fault(call, (double)image, s.data.shape[0]);
  }
  Crop plan = {attr_word(call->attrs, ATTR_method) == CROP_NEAREST,
               dtype_in(call->args[1]->dtype) == IN_F64};
  s.plan = &plan;
  s.element = is_wide(x, call->outs[0]) ? crop_f64 : crop_f32;
  return sampling_run(call, &s, NANOSECONDS);
}

bool kernel_affine_grid(OpCall *call) {
  Sampling s = {.call = call,
                .data = image_view(call->outs[0], "NCHW"),
                .out = image_view(call->outs[0], "NCHW")};
  s.element = is_wide(call->args[0], call->outs[0]) ? affine_f64 : affine_f32;
  return sampling_run(call, &s, NANOSECONDS);
}

/* The grid has the layout of its rank, whatever the data's is. */
bool kernel_grid_sample(OpCall *call) {
  const Attrs *a = call->attrs;
  const char *layout = attr_text(a, ATTR_layout);
  const Tensor *x = call->args[0], *grid = call->args[1];
  GridSample plan = {
      .grid = image_view(grid, grid->rank == 4 ? "NCHW" : "NCDHW"),
      .spatial = grid->rank - 2,
      .method = (GridMethod)attr_word(a, ATTR_method),
      .padding = (GridPadding)attr_word(a, ATTR_padding_mode),
      .align_corners = attr_bool(a, ATTR_align_corners)};
  Sampling s = {.call = call,
                .data = image_view(x, layout),
                .out = image_view(call->outs[0], layout),
                .plan = &plan};
  s.element = is_wide(x, grid) ? grid_f64 : grid_f32;
  return sampling_run(call, &s, NANOSECONDS);
}

/* Each box of operand 1, by one of two functions.  The boxes' images are
 * checked here, once, and not for each element. */
static bool run_boxes(OpCall *call, RoiPlan *plan, SampleFn *single,
                      SampleFn *wide) {
  const char *layout = attr_text(call->attrs, ATTR_layout);
  const Tensor *x = call->args[0], *rois = call->args[1];
  plan->rois = rois;
  plan->scale = attr_real(call->attrs, ATTR_spatial_scale);
  Sampling s = {.call = call,
                .data = image_view(x, layout),
                .out = image_view(call->outs[0], layout),
                .plan = plan,
                .element = is_wide(x, rois) ? wide : single};
  return roi_images_check(call, rois, s.data.shape[0]) &&
         sampling_run(call, &s, NANOSECONDS);
}

bool kernel_roi_align(OpCall *call) {
  int64_t samples = attr_number(call->attrs, ATTR_sample_ratio);
  RoiPlan plan = {.samples = samples > 0 ? samples : 0,
                  .max = attr_word(call->attrs, ATTR_mode) == ROI_MAXIMA};
  return run_boxes(call, &plan, roi_align_f32, roi_align_f64);
}

bool kernel_roi_pool(OpCall *call) {
  RoiPlan plan = {0};
  return run_boxes(call, &plan, roi_pool_f32, roi_pool_f64);
}

/* An element costs as much as the weights of its output channel. */
bool kernel_deformable_conv2d(OpCall *call) {
  Conv conv;
  Deform plan;
  conv_of(call->attrs, false, &conv);
  int64_t shared = attr_number(call->attrs, ATTR_deformable_groups);
  Sampling s = {.call = call,
                .data = window_geometry(call->args[0], &conv.data),
                .out = window_geometry(call->outs[0], &conv.out),
                .plan = &plan};
  plan.offset = window_geometry(call->args[1], &conv.data);
  plan.weight = window_geometry(call->args[2], &conv.weight);
  memcpy(plan.axes, conv.axes, sizeof plan.axes);
  plan.group_inputs = s.data.shape[1] / conv.groups;
  plan.group_outputs = s.out.shape[1] / conv.groups;
  plan.shared = s.data.shape[1] / shared;
  s.element = is_wide(call->args[0], call->outs[0]) ? deform_f64 : deform_f32;
  int64_t terms = plan.weight.shape[1] * plan.weight.shape[3];
  return sampling_run(call, &s, NANOSECONDS * (double)(1 + terms));
}
