/* Boxes of one image that overlap: vision.get_valid_counts and the three
 * operators that keep the best of those that overlap (non-maximum suppression).
 * The computations are in nms_body.h. */
#include "kernels/drive/boxes.h"
#include "kernels/drive/move.h"

/* Room for two permutations of n, and n further numbers. */
static int64_t *permutations(OpCall *call, int64_t n) {
  return arena_array(call->arena, (size_t)n + 1, 3 * sizeof(int64_t));
}

/* --- Plans ---------------------------------------------------------------- */

/* vision.non_max_suppression */
typedef struct Suppression {
  const OpCall *call;
  int64_t n, e;              /* boxes of an image, numbers of a box */
  int64_t score, id, corner; /* places in a box; id < 0: there is none */
  int64_t top;               /* how many are looked at; < 1: all */
  int64_t most;              /* how many are kept; < 0: all */
  double threshold;
  bool force; /* boxes of different classes suppress each other, too */
  int64_t *room;
} Suppression;

/* vision.all_class_non_max_suppression */
typedef struct AllClasses {
  const OpCall *call;
  int64_t n, most; /* boxes; how many of a class are kept, < 1: all */
  double threshold;
  int64_t *room, *chosen;
} AllClasses;

/* vision.regular_non_max_suppression */
typedef struct Regular {
  const OpCall *call;
  int64_t n, columns, classes; /* the first columns are of no class */
  int64_t of_class, most;      /* how many are kept: of a class, in all */
  double threshold, floor;
  int64_t *room;
} Regular;

/* The boxes of image b that were kept, the first result, by their numbers in
 * operand 2; how many there are, the second. */
static void put_origins(OpCall *call, int64_t b, int64_t n,
                        const int64_t *origin) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; i++) {
    if (origin[i] < 0) continue;
    int64_t index = tensor_i64_at(call->args[2], b * n + origin[i]);
    if (index >= 0) put_int(call->outs[0], b * n + count++, index);
  }
  put_int(call->outs[1], b, count);
  for (; count < n; count++) put_int(call->outs[0], b * n + count, -1);
}

#define FLOATS_ALONE
#define BODY "kernels/drive/nms_body.h"
#include "kernels/ref/each_sum.h"

/* --- Kernels -------------------------------------------------------------- */

bool kernel_get_valid_counts(OpCall *call) {
  return (boxes_are_wide(call) ? valid_counts_f64 : valid_counts_f32)(call);
}

bool kernel_non_max_suppression(OpCall *call) {
  const Attrs *a = call->attrs;
  const Tensor *x = call->args[0], *counts = call->args[1];
  Suppression s = {.call = call,
                   .n = x->shape[1],
                   .e = x->shape[2],
                   .score = attr_number(a, ATTR_score_index),
                   .id = attr_number(a, ATTR_id_index),
                   .corner = attr_number(a, ATTR_coord_start),
                   .top = attr_number(a, ATTR_top_k),
                   .most = tensor_i64_at(call->args[3], 0),
                   .threshold = tensor_f64_at(call->args[4], 0),
                   .force = attr_bool(a, ATTR_force_suppress)};
  if (x->shape[0] == 0) return true;
  for (int64_t b = 0; b < x->shape[0]; b++) {
    int64_t valid = tensor_i64_at(counts, b);
    if (valid < 0 || valid > s.n)
      return op_fault(call, E0604, "image %lld has %lld valid boxes of %lld",
                      (long long)b, (long long)valid, (long long)s.n);
  }
  if (!(s.room = permutations(call, s.n))) return op_out_of_memory(call);
  return (boxes_are_wide(call) ? non_max_suppression_f64
                               : non_max_suppression_f32)(call, &s);
}

bool kernel_all_class_non_max_suppression(OpCall *call) {
  AllClasses a = {.call = call,
                  .n = call->args[0]->shape[1],
                  .most = tensor_i64_at(call->args[2], 0),
                  .threshold = tensor_f64_at(call->args[3], 0)};
  for (int i = 0; i < call->out_count; i++)
    if (!fill_with(call, call->outs[i], (Value){0})) return false;
  if (tensor_count(call->args[1]) == 0) return true;
  if (!(a.room = permutations(call, a.n))) return op_out_of_memory(call);
  a.chosen = a.room + 2 * a.n;
  return (boxes_are_wide(call) ? all_classes_f64 : all_classes_f32)(call, &a);
}

bool kernel_regular_non_max_suppression(OpCall *call) {
  const Attrs *a = call->attrs;
  const Tensor *scores = call->args[1];
  Regular r = {.call = call,
               .n = scores->shape[1],
               .columns = scores->shape[2],
               .classes = attr_number(a, ATTR_num_classes),
               .of_class = attr_number(a, ATTR_max_detections_per_class),
               .most = attr_number(a, ATTR_max_detections),
               .threshold = attr_real(a, ATTR_iou_threshold),
               .floor = attr_real(a, ATTR_score_threshold)};
  for (int i = 0; i < call->out_count; i++)
    if (!fill_with(call, call->outs[i], (Value){0})) return false;
  if (tensor_count(scores) == 0) return true;
  if (!(r.room = permutations(call, r.n))) return op_out_of_memory(call);
  return (boxes_are_wide(call) ? regular_f64 : regular_f32)(call, &r);
}
