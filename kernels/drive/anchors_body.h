/* Boxes around anchors, in the type C (float or double) named ID; included by
 * anchors.c. */
#include "kernels/drive/boxes_body.h"

static C FN(root)(C x) {
  return sizeof(C) == sizeof(float) ? (C)sqrtf((float)x) : (C)sqrt((double)x);
}

/* --- vision.multibox_prior -------------------------------------------------
 * A box for each size, of the first ratio, which counts as 1; then one of the
 * first size for each further ratio. */

static bool FN(prior)(OpCall *call) {
  const Attrs *a = call->attrs;
  const int64_t height = call->args[0]->shape[2];
  const int64_t width = call->args[0]->shape[3];
  const double *step = attr_get(a, ATTR_steps)->reals;
  const double *offset = attr_get(a, ATTR_offsets)->reals;
  const AttrValue *sizes = attr_get(a, ATTR_sizes);
  const AttrValue *ratios = attr_get(a, ATTR_ratios);
  const bool clip = attr_bool(a, ATTR_clip);
  C down = step[0] > 0 ? (C)step[0] : (C)1 / (C)height;
  C right = step[1] > 0 ? (C)step[1] : (C)1 / (C)width;
  int64_t row = 0, boxes = sizes->count + ratios->count - 1;
  for (int64_t i = 0; i < height; i++)
    for (int64_t k = 0; k < width; k++) {
      if (op_stopped(call)) return false;
      C y = ((C)i + (C)offset[0]) * down, x = ((C)k + (C)offset[1]) * right;
      for (int64_t b = 0; b < boxes; b++, row++) {
        bool by_size = b < sizes->count;
        C size = (C)sizes->reals[by_size ? b : 0];
        C ratio = by_size ? 1 : (C)ratios->reals[b - sizes->count + 1];
        C w = size * (C)height / (C)width * FN(root)(ratio) / 2;
        C h = size / FN(root)(ratio) / 2;
        C box[] = {x - w, y - h, x + w, y + h};
        for (int n = 0; n < 4 && clip; n++)
          box[n] = FN(most)(FN(least)(box[n], 1), 0);
        FN(put)(call->outs[0], row * 4, box, 4);
      }
    }
  return true;
}

/* --- vision.multibox_transform_loc ---------------------------------------- */

/* An anchor, moved and scaled by a prediction. */
static void FN(transformed)(const C *anchor, const C *by,
                            const double *variance, bool clip, C *box) {
  C sides[2], centre[2];
  for (int k = 0; k < 2; k++) {
    C side = anchor[k + 2] - anchor[k], scale = by[k + 2] * (C)variance[k + 2];
    C middle = (anchor[k] + anchor[k + 2]) / 2;
    FN(exp)(&scale);
    centre[k] = by[k] * (C)variance[k] * side + middle;
    sides[k] = scale * side / 2;
  }
  for (int k = 0; k < 4; k++) {
    box[k] = k < 2 ? centre[k] - sides[k] : centre[k - 2] + sides[k - 2];
    if (clip) box[k] = FN(most)(0, FN(least)(1, box[k]));
  }
}

static bool FN(transform_loc)(OpCall *call) {
  const Attrs *a = call->attrs;
  const int64_t *shape = call->args[0]->shape;
  const int64_t classes = shape[1], n = shape[2];
  const double *variance = attr_get(a, ATTR_variances)->reals;
  const bool clip = attr_bool(a, ATTR_clip);
  const bool background = attr_bool(a, ATTR_keep_background);
  const C threshold = (C)attr_real(a, ATTR_threshold), none = -1;
  C *p = FN(numbers)(call, call->args[0]);
  C *by = FN(numbers)(call, call->args[1]);
  C *anchors = FN(numbers)(call, call->args[2]);
  if (!p || !by || !anchors) return false;
  for (int64_t b = 0; b < shape[0]; b++) {
    int64_t count = 0, end = (b + 1) * n * 6;
    for (int64_t i = 0; i < n; i++) {
      C box[6], score = -1;
      int64_t class = 0;
      if (op_stopped(call)) return false;
      for (int64_t k = background ? 0 : 1; k < classes; k++) {
        C v = p[(b * classes + k) * n + i];
        if (!(v > score)) continue;
        score = v;
        class = k;
      }
      if (score < threshold) class = 0;
      if (!background && class == 0) continue;
      box[0] = (C)(background ? class : class - 1);
      box[1] = score;
      FN(transformed)
      (anchors + i * 4, by + (b * n + i) * 4, variance, clip, box + 2);
      FN(put)(call->outs[0], (b * n + count) * 6, box, 6);
      count++;
    }
    put_int(call->outs[1], b, count);
    for (int64_t i = (b * n + count) * 6; i < end; i++)
      FN(put)(call->outs[0], i, &none, 1);
  }
  return true;
}

/* --- vision.proposal -------------------------------------------------------
 * Coordinates are whole pixels: a box from 0 to 0 has length 1. */

/* Anchor k at position (y, x), moved by the prediction. */
static void FN(predicted)(const Proposal *p, int64_t k, int64_t y, int64_t x,
                          const C by[4], C box[4]) {
  for (int n = 0; n < 4; n++)
    box[n] = (C)p->anchors[k * 4 + n] + (C)((n % 2 ? y : x) * p->stride);
  if (p->shifts) {
    for (int n = 0; n < 4; n++) box[n] += by[n];
    return;
  }
  const C half = (C)0.5;
  for (int n = 0; n < 2; n++) {
    C side = box[n + 2] - box[n] + 1, scale = by[n + 2];
    C centre = by[n] * side + (box[n] + half * (side - 1));
    FN(exp)(&scale);
    C reach = half * (scale * side - 1);
    box[n] = centre - reach;
    box[n + 2] = centre + reach;
  }
}

/* A proposal and its score: within the image, and large enough, or else it has
 * the score -1. */
static void FN(proposed)(const Proposal *p, const C info[3], int64_t y,
                         int64_t x, C box[5]) {
  const C stride = (C)p->stride, small = info[2] * (C)p->least;
  for (int n = 0; n < 4; n++)
    box[n] = FN(most)(FN(least)(box[n], info[1 - n % 2] - 1), 0);
  bool inside = (C)y < (C)trunc((double)(info[0] / stride)) &&
                (C)x < (C)trunc((double)(info[1] / stride));
  if (!inside) box[4] = -1;
  if (box[2] - box[0] + 1 < small || box[3] - box[1] + 1 < small) {
    for (int n = 0; n < 4; n++) box[n] += n < 2 ? -(small / 2) : small / 2;
    box[4] = -1;
  }
}

static C FN(pixels_overlap)(const C *p, const C *q) {
  C width = FN(least)(p[2], q[2]) - FN(most)(p[0], q[0]) + 1;
  C height = FN(least)(p[3], q[3]) - FN(most)(p[1], q[1]) + 1;
  C area = FN(most)(0, width) * FN(most)(0, height);
  C both = (p[2] - p[0] + 1) * (p[3] - p[1] + 1) +
           (q[2] - q[0] + 1) * (q[3] - q[1] + 1) - area;
  return area / both;
}

/* All proposals of image b, 5 numbers each, by position and then anchor. */
static bool FN(propose)(OpCall *call, const Proposal *p, int64_t b,
                        const C *scores, const C *deltas, const C *info,
                        C *boxes) {
  const int64_t a = p->count, area = p->height * p->width;
  for (int64_t i = 0; i < area; i++) {
    if (op_stopped(call)) return false;
    for (int64_t k = 0; k < a; k++, boxes += 5) {
      C by[4];
      for (int n = 0; n < 4; n++)
        by[n] = deltas[((b * a + k) * 4 + n) * area + i];
      FN(predicted)(p, k, i / p->width, i % p->width, by, boxes);
      boxes[4] = scores[(b * 2 * a + a + k) * area + i];
      FN(proposed)(p, info + b * 3, i / p->width, i % p->width, boxes);
    }
  }
  return true;
}

/* Of the boxes in `order`, which are the best, those that overlap no better
 * one, in its place; how many, or -1 when the call was asked to stop. */
static int64_t FN(distinct)(OpCall *call, const Proposal *p, const C *boxes,
                            int64_t *order, int64_t n) {
  int64_t kept = 0;
  for (int64_t i = 0; i < n; i++) {
    bool hidden = false;
    const C *box = boxes + order[i] * 5;
    BLOCKS(call->stop, kept)
    for (int64_t k = at; k < end && !hidden; k++)
      hidden = FN(pixels_overlap)(boxes + order[k] * 5, box) > (C)p->threshold;
    if (op_stopped(call)) return -1;
    if (!hidden) order[kept++] = order[i];
  }
  return kept;
}

static bool FN(proposal)(OpCall *call, const Proposal *p) {
  const int64_t batch = call->args[0]->shape[0];
  const int64_t n = p->height * p->width * p->count;
  C *scores = FN(numbers)(call, call->args[0]);
  C *deltas = FN(numbers)(call, call->args[1]);
  C *info = FN(numbers)(call, call->args[2]);
  C *boxes = arena_array(call->arena, (size_t)n + 1, 5 * sizeof *boxes);
  int64_t *room = arena_array(call->arena, (size_t)n + 1, 2 * sizeof *room);
  if (!scores || !deltas || !info) return false;
  if (!boxes || !room) return op_out_of_memory(call);
  for (int64_t b = 0; b < batch; b++) {
    if (!FN(propose)(call, p, b, scores, deltas, info, boxes)) return false;
    int64_t *order = FN(ranked)(call, boxes + 4, 5, n, room);
    int64_t first = p->before > 0 && p->before < n ? p->before : n;
    int64_t kept = order ? FN(distinct)(call, p, boxes, order, first) : -1;
    if (kept < 0) return false;
    BLOCKS(call->stop, kept > 0 ? p->after : 0)
    for (int64_t i = at; i < end; i++) {
      C image = (C)b;
      FN(put)(call->outs[0], (b * p->after + i) * 5, &image, 1);
      FN(put)
      (call->outs[0], (b * p->after + i) * 5 + 1, boxes + order[i % kept] * 5,
       4);
    }
  }
  return true;
}
