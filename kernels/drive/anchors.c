/* Boxes around anchors, which are fixed boxes at each position of an image:
 * vision.multibox_prior, multibox_transform_loc, proposal.  The computations
 * are in anchors_body.h. */
#include <math.h>

#include "kernels/drive/boxes.h"
#include "kernels/drive/move.h"
#include "kernels/ref/elementary.h"

static void exp_f32(float *x) { f32_tile_exp(x, 1); }
static void exp_f64(double *x) { f64_tile_exp(x, 1); }

/* vision.proposal */
typedef struct Proposal {
  int64_t height, width, count; /* positions; anchors of each */
  const double *anchors;        /* left, top, right, bottom */
  int64_t stride;               /* from one position to the next */
  int64_t least;                /* side of the smallest box */
  int64_t before, after;        /* boxes compared (< 1: all); results */
  double threshold;
  bool shifts; /* predictions are added to the corners */
} Proposal;

#define FLOATS_ALONE
#define BODY "kernels/drive/anchors_body.h"
#include "kernels/ref/each_sum.h"

bool kernel_multibox_prior(OpCall *call) {
  if (tensor_count(call->outs[0]) == 0) return true;
  return (boxes_are_wide(call) ? prior_f64 : prior_f32)(call);
}

bool kernel_multibox_transform_loc(OpCall *call) {
  return (boxes_are_wide(call) ? transform_loc_f64 : transform_loc_f32)(call);
}

/* The anchors at position 0: for each ratio of height to width, squares of
 * `stride` are stretched to whole sides, and then scaled. */
static const double *anchors_of(OpCall *call, int64_t stride) {
  const AttrValue *scales = attr_get(call->attrs, ATTR_scales);
  const AttrValue *ratios = attr_get(call->attrs, ATTR_ratios);
  int64_t n = (int64_t)scales->count * ratios->count;
  double *to = ARENA_ARRAY(call->arena, double, (size_t)n * 4);
  if (!to) return op_out_of_memory(call), NULL;
  double side = (double)stride, centre = 0.5 * (side - 1);
  for (int64_t i = 0; i < n; i++) {
    double ratio = ratios->reals[i / scales->count];
    double scale = scales->reals[i % scales->count];
    double area = floor(side * side / ratio);
    double width = floor(sqrt(area) + 0.5) * scale;
    double height = floor(width / scale * ratio + 0.5) * scale;
    for (int k = 0; k < 4; k++) {
      double reach = 0.5 * ((k % 2 ? height : width) - 1);
      to[i * 4 + k] = k < 2 ? centre - reach : centre + reach;
    }
  }
  return to;
}

bool kernel_proposal(OpCall *call) {
  const Attrs *a = call->attrs;
  const int64_t *shape = call->args[0]->shape;
  Proposal p = {.height = shape[2],
                .width = shape[3],
                .count = shape[1] / 2,
                .stride = attr_number(a, ATTR_feature_stride),
                .least = attr_number(a, ATTR_rpn_min_size),
                .before = attr_number(a, ATTR_rpn_pre_nms_top_n),
                .after = attr_number(a, ATTR_rpn_post_nms_top_n),
                .threshold = attr_real(a, ATTR_threshold),
                .shifts = attr_bool(a, ATTR_iou_loss)};
  if (tensor_count(call->outs[0]) == 0) return true;
  if (!fill_with(call, call->outs[0], (Value){0})) return false;
  p.anchors = anchors_of(call, p.stride);
  if (!p.anchors) return false;
  return (boxes_are_wide(call) ? proposal_f64 : proposal_f32)(call, &p);
}
