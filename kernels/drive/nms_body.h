/* Boxes that overlap, in the type C (float or double) named ID; included by
 * nms.c. */

#include "kernels/drive/boxes_body.h"

/* --- Overlap ---------------------------------------------------------------
 * Boxes are given by two opposite corners. */

/* The area that two boxes share, divided by the area of both together; 0 when
 * that is not positive. */
static C FN(overlap)(const C *p, const C *q) {
  C left = FN(least)(p[0], p[2]), right = FN(most)(p[0], p[2]);
  C top = FN(least)(p[1], p[3]), bottom = FN(most)(p[1], p[3]);
  C left2 = FN(least)(q[0], q[2]), right2 = FN(most)(q[0], q[2]);
  C top2 = FN(least)(q[1], q[3]), bottom2 = FN(most)(q[1], q[3]);
  C width = FN(least)(right, right2) - FN(most)(left, left2);
  C height = FN(least)(bottom, bottom2) - FN(most)(top, top2);
  C area = FN(most)(0, height) * FN(most)(0, width);
  C both = (right - left) * (bottom - top) +
           (right2 - left2) * (bottom2 - top2) - area;
  return both <= 0 ? 0 : area / both;
}

/* --- vision.get_valid_counts ---------------------------------------------- */

static bool FN(valid_counts)(OpCall *call) {
  const Tensor *x = call->args[0];
  int64_t n = x->shape[1], e = x->shape[2];
  int64_t score = attr_number(call->attrs, ATTR_score_index);
  int64_t id = attr_number(call->attrs, ATTR_id_index);
  C threshold = (C)tensor_f64_at(call->args[1], 0);
  C *boxes = FN(numbers)(call, x);
  if (!boxes) return false;
  for (int64_t b = 0; b < x->shape[0]; b++) {
    int64_t count = 0;
    BLOCKS(call->stop, n)
    for (int64_t i = at; i < end; i++) {
      const C *box = boxes + (b * n + i) * e;
      if (!(box[score] > threshold) || (id >= 0 && !(box[id] >= 0))) continue;
      FN(put)(call->outs[1], (b * n + count) * e, box, e);
      put_int(call->outs[2], b * n + count, i);
      count++;
    }
    put_int(call->outs[0], b, count);
    const C none = -1;
    BLOCKS(call->stop, n - count)
    for (int64_t i = count + at; i < count + end; i++) {
      for (int64_t k = 0; k < e; k++)
        FN(put)(call->outs[1], (b * n + i) * e + k, &none, 1);
      put_int(call->outs[2], b * n + i, -1);
    }
  }
  return true;
}

/* --- vision.non_max_suppression ------------------------------------------- */

static void FN(clear)(const Suppression *s, C *rows, int64_t *origin,
                      int64_t i) {
  for (int64_t k = 0; k < s->e; k++) rows[i * s->e + k] = -1;
  origin[i] = -1;
}

/* Does row i overlap one before it that was kept, and that may suppress it? */
static bool FN(overlaps)(const Suppression *s, const C *rows, int64_t i) {
  const C *p = rows + i * s->e;
  BLOCKS(s->call->stop, i)
  for (int64_t k = at; k < end; k++) {
    const C *q = rows + k * s->e;
    if (!(q[s->score] > 0) || (s->id >= 0 && !(q[s->id] >= 0))) continue;
    if (!s->force && s->id >= 0 && p[s->id] != q[s->id]) continue;
    if (FN(overlap)(p + s->corner, q + s->corner) >= (C)s->threshold)
      return true;
  }
  return false;
}

/* The boxes of an image, the best first, those cleared that are suppressed or
 * too many; `origin` receives where each comes from, or -1. */
static bool FN(suppress)(const Suppression *s, const C *boxes, int64_t valid,
                         C *rows, int64_t *origin) {
  int64_t kept = valid, found = 0;
  const int64_t *order = NULL;
  if ((C)s->threshold > 0) {
    if (s->top > 0 && s->top < valid) kept = s->top;
    order = FN(ranked)(s->call, boxes + s->score, s->e, valid, s->room);
    if (!order) return false;
  }
  for (int64_t i = 0; i < s->n; i++) {
    if (op_stopped(s->call)) return false;
    if (i >= kept) {
      FN(clear)(s, rows, origin, i);
      continue;
    }
    C *row = rows + i * s->e;
    origin[i] = order ? order[i] : i;
    memcpy(row, boxes + origin[i] * s->e, (size_t)s->e * sizeof *row);
    if (!order) continue;
    if (found == s->most) FN(clear)(s, rows, origin, i);
    else if (!(row[s->score] > 0)) continue;
    else if (FN(overlaps)(s, rows, i)) FN(clear)(s, rows, origin, i);
    else found++;
  }
  return true;
}

static bool FN(non_max_suppression)(OpCall *call, Suppression *s) {
  const Tensor *x = call->args[0], *counts = call->args[1];
  bool indices = attr_bool(call->attrs, ATTR_return_indices);
  bool packed = attr_bool(call->attrs, ATTR_invalid_to_bottom);
  int64_t size = s->n * s->e;
  C *boxes = FN(numbers)(call, x);
  C *rows = arena_array(call->arena, (size_t)size + 1, sizeof *rows);
  int64_t *origin = arena_array(call->arena, (size_t)s->n + 1, sizeof *origin);
  if (!boxes) return false;
  if (!rows || !origin) return op_out_of_memory(call);
  for (int64_t b = 0; b < x->shape[0]; b++) {
    int64_t valid = tensor_i64_at(counts, b);
    if (!FN(suppress)(s, boxes + b * size, valid, rows, origin)) return false;
    if (indices) {
      put_origins(call, b, s->n, origin);
      continue;
    }
    int64_t to = 0;
    const C none = -1;
    for (int64_t i = 0; i < s->n; i++)
      if (!packed || rows[i * s->e] >= 0)
        FN(put)(call->outs[0], b * size + to++ * s->e, rows + i * s->e, s->e);
    for (to *= s->e; to < size; to++)
      FN(put)(call->outs[0], b * size + to, &none, 1);
  }
  return true;
}

/* --- vision.all_class_non_max_suppression --------------------------------- */

/* The boxes of one class, the best first, without those that overlap a better
 * one; their number, or -1 when the call was asked to stop.  The scores of what
 * is suppressed are overwritten. */
static int64_t FN(suppress_class)(const AllClasses *a, const C *boxes,
                                  C *scores, C floor, int64_t *chosen) {
  const int64_t *order = FN(ranked)(a->call, scores, 1, a->n, a->room);
  int64_t valid = 0, found = 0;
  if (!order) return -1;
  while (valid < a->n && scores[order[valid]] > floor) valid++;
  int64_t most = a->most > 0 ? a->most : valid;
  if (!((C)a->threshold > 0)) return 0;
  for (int64_t i = 0; i < valid && found < most; i++) {
    if (!(scores[order[i]] > -1)) continue;
    chosen[found++] = order[i];
    BLOCKS(a->call->stop, valid)
    for (int64_t k = at > i ? at : i + 1; k < end; k++)
      if (scores[order[k]] > 0 &&
          FN(overlap)(boxes + order[i] * 4, boxes + order[k] * 4) >=
              (C)a->threshold)
        scores[order[k]] = -1;
    if (op_stopped(a->call)) return -1;
  }
  return found;
}

static bool FN(all_classes)(OpCall *call, AllClasses *a) {
  const Tensor *x = call->args[0];
  int64_t batch = x->shape[0], classes = call->args[1]->shape[1], total = 0;
  bool onnx = attr_word(call->attrs, ATTR_output_format) == BOXES_OF_ONNX;
  C floor = (C)tensor_f64_at(call->args[4], 0);
  C *boxes = FN(numbers)(call, x), *scores = FN(numbers)(call, call->args[1]);
  C *line = arena_array(call->arena, (size_t)a->n + 1, sizeof *line);
  if (!boxes || !scores) return false;
  if (!line) return op_out_of_memory(call);
  for (int64_t b = 0; b < batch; b++) {
    if (!onnx) total = 0;
    for (int64_t c = 0; c < classes; c++) {
      C *of_class = scores + (b * classes + c) * a->n;
      if (a->n > 0) memcpy(line, of_class, (size_t)a->n * sizeof *line);
      int64_t n =
          FN(suppress_class)(a, boxes + b * a->n * 4, line, floor, a->chosen);
      if (n < 0) return false;
      for (int64_t i = 0; i < n; i++, total++) {
        int64_t row = onnx ? total * 3 : (b * classes * a->n + total) * 2;
        if (onnx) put_int(call->outs[0], row++, b);
        put_int(call->outs[0], row, c);
        put_int(call->outs[0], row + 1, a->chosen[i]);
        if (!onnx) FN(put)(call->outs[1], row / 2, &of_class[a->chosen[i]], 1);
      }
    }
    if (!onnx) put_int(call->outs[2], b, total);
  }
  if (onnx) put_int(call->outs[1], 0, total);
  return true;
}

/* --- vision.regular_non_max_suppression ----------------------------------- */

/* Boxes are (top, left, bottom, right); those without area overlap nothing. */
static C FN(plain_overlap)(const C *p, const C *q) {
  C one = (p[2] - p[0]) * (p[3] - p[1]), two = (q[2] - q[0]) * (q[3] - q[1]);
  if (!(one > 0 && two > 0)) return 0;
  C height = FN(least)(p[2], q[2]) - FN(most)(p[0], q[0]);
  C width = FN(least)(p[3], q[3]) - FN(most)(p[1], q[1]);
  C area = FN(most)(height, 0) * FN(most)(width, 0);
  return area / (one + two - area);
}

typedef struct FN(Found) {
  int64_t box, class;
  C score;
} FN(Found);

/* Adds the best boxes of a class after `count` others; their number with
 * these, or -1 when the call was asked to stop. */
static int64_t FN(add_class)(const Regular *r, const C *boxes, const C *scores,
                             int64_t class, FN(Found) * found, int64_t count) {
  int64_t step = r->columns, taken = 0, first = count;
  const C *column = scores + r->columns - r->classes + class;
  const int64_t *order = FN(ranked)(r->call, column, step, r->n, r->room);
  if (!order) return -1;
  for (int64_t i = 0; i < r->n && taken < r->of_class; i++) {
    const C *box = boxes + order[i] * 4;
    C score = column[order[i] * step];
    if (!(score >= (C)r->floor)) continue;
    bool hidden = false;
    BLOCKS(r->call->stop, taken)
    for (int64_t k = at; k < end && !hidden; k++)
      hidden = FN(plain_overlap)(boxes + found[first + k].box * 4, box) >
               (C)r->threshold;
    if (op_stopped(r->call)) return -1;
    if (hidden) continue;
    found[count++] = (FN(Found)){order[i], class, score};
    taken++;
  }
  return count;
}

/* Keeps the `most` best of `count`: a sort by merging, as all scores before
 * `old` and all from there on are sorted. */
static int64_t FN(keep_best)(FN(Found) * found, FN(Found) * room, int64_t old,
                             int64_t count, int64_t most) {
  int64_t i = 0, k = old, n = 0;
  for (; n < count && n < most; n++) {
    bool left = k == count || (i < old && !(found[i].score < found[k].score));
    room[n] = left ? found[i++] : found[k++];
  }
  if (n > 0) memcpy(found, room, (size_t)n * sizeof *found);
  return n;
}

static bool FN(regular)(OpCall *call, const Regular *r) {
  int64_t batch = call->args[0]->shape[0], m = r->most;
  int64_t size = m < r->n * r->classes ? m : r->n * r->classes;
  C *boxes = FN(numbers)(call, call->args[0]);
  C *scores = FN(numbers)(call, call->args[1]);
  FN(Found) *found =
      arena_array(call->arena, (size_t)(size + r->n) + 1, 2 * sizeof *found);
  if (!boxes || !scores) return false;
  if (!found) return op_out_of_memory(call);
  for (int64_t b = 0; b < batch; b++) {
    int64_t n = 0;
    for (int64_t class = 0; class < r->classes; class ++) {
      int64_t all =
          FN(add_class)(r, boxes + b * r->n * 4, scores + b * r->n * r->columns,
                        class, found, n);
      if (all < 0) return false;
      n = FN(keep_best)(found, found + size + r->n, n, all, m);
    }
    for (int64_t i = 0; i < n; i++) {
      C class = (C)found[i].class;
      FN(put)
      (call->outs[0], (b * m + i) * 4, boxes + (b * r->n + found[i].box) * 4,
       4);
      FN(put)(call->outs[1], b * m + i, &class, 1);
      FN(put)(call->outs[2], b * m + i, &found[i].score, 1);
    }
    put_int(call->outs[3], b, n);
  }
  return true;
}
