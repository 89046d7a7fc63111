/* See walk.h.  A walk's cost is in its set-up and in its runs, so the set-up
 * does little and the runs are made long: axes of length 1 are left out, and
 * neighbours that are one run in every operand are merged.
 *
 *   operands           a (4, 1, 3), b (4, 5, 3), out (4, 5, 3), row-major
 *   steps along        0: 3 15 15     1: 0 3 3     2: 1 1 1
 *   axes of the walk   0, 1 and 2: nothing merges, since a repeats along 1
 *   runs               20 of 3 elements
 *
 * Steps are in elements; addresses move by step * size. */
#include "kernels/ref/walk.h"

/* The stride of t along the result's axis `axis`; 0 where it is broadcast.
 * Shapes are aligned at their last axes. */
static int64_t broadcast_step(const Tensor *t, const Tensor *out, int axis) {
  int own = axis - (out->rank - t->rank);
  if (own < 0 || (t->shape[own] == 1 && out->shape[axis] != 1)) return 0;
  return t->strides[own];
}

/* Can an axis of n elements with these steps join the last one?  One step along
 * the last must be n steps along the new one, in every operand. */
static bool merges(const Walk *w, const int64_t *steps, int64_t n) {
  int last = w->rank - 1;
  if (last < 0) return false;
  for (int k = 0; k < w->count; k++)
    if (w->steps[k][last] != steps[k] * n) return false;
  return true;
}

/* Adds the next axis inward, or lets the last one take it in. */
static void add_axis(Walk *w, const int64_t *steps, int64_t n) {
  if (n == 1) return;
  bool merged = merges(w, steps, n);
  if (!merged) {
    w->index[w->rank] = 0;
    w->shape[w->rank++] = 1;
  }
  w->shape[w->rank - 1] *= n;
  for (int k = 0; k < w->count; k++) w->steps[k][w->rank - 1] = steps[k];
}

/* Sets only what will be used: a whole Walk is several cache lines, and most
 * calls are small. */
static void start_empty(Walk *w, int count) {
  w->count = count;
  w->rank = 0;
  w->started = w->done = false;
  w->n = 1;
  w->stop = NULL;
  w->into = 0;
}

/* The innermost axis becomes the run (n, step); the others are counted by
 * `index`.  An axis without elements ends the walk before it begins, but the
 * set-up goes on, so that the walk is well formed. */
void walk_axes(Walk *w, int count, const Tensor *const *operands,
               unsigned set) {
  const Tensor *out = operands[0];
  start_empty(w, count);
  for (int k = 0; k < count; k++) {
    w->step[k] = 0;
    w->data[k] = operands[k]->data;
    w->size[k] = (int64_t)dtype_size(operands[k]->dtype);
  }
  for (int i = 0; i < out->rank; i++) {
    int64_t steps[WALK_MAX];
    if (!(set >> i & 1)) continue;
    if (out->shape[i] == 0) w->done = true;
    for (int k = 0; k < count; k++)
      steps[k] = broadcast_step(operands[k], out, i);
    add_axis(w, steps, out->shape[i]);
  }
  int last = w->rank - 1;
  if (last < 0) return;
  w->n = w->shape[last];
  for (int k = 0; k < count; k++) w->step[k] = w->steps[k][last];
}

/* The same shape and strides, so the same run. */
static bool lies_like(const Tensor *t, const Tensor *out) {
  if (t->rank != out->rank) return false;
  for (int i = 0; i < out->rank; i++)
    if (t->shape[i] != out->shape[i] || t->strides[i] != out->strides[i])
      return false;
  return true;
}

bool walk_as_run(Walk *w, int count, const Tensor *const *operands) {
  const Tensor *out = operands[0];
  int64_t n = 1;
  for (int i = out->rank - 1; i >= 0; n *= out->shape[i--])
    if (out->strides[i] != n) return false;
  for (int k = 1; k < count; k++)
    if (!lies_like(operands[k], out)) return false;
  w->count = count;
  w->n = n;
  for (int k = 0; k < count; k++) {
    w->data[k] = operands[k]->data;
    w->size[k] = (int64_t)dtype_size(operands[k]->dtype);
    w->step[k] = 1;
  }
  return true;
}

void walk_start(Walk *w, int count, const Tensor *const *operands) {
  walk_axes(w, count, operands, ~0u);
}

enum { PIECES_ENOUGH = 16 };

/* The outermost axis that is long enough to split, or else the longest.  The
 * outermost, so that each thread's part of memory is of one piece; long enough
 * for several shares to a thread (parallel.c). */
static int axis_to_split(const Walk *w) {
  int best = 0;
  for (int i = 0; i < w->rank; i++) {
    if (w->shape[i] >= PIECES_ENOUGH) return i;
    if (w->shape[i] > w->shape[best]) best = i;
  }
  return best;
}

/* A walk of one element is one piece, an empty one none. */
int64_t walk_pieces(const Walk *w) {
  if (w->done) return 0;
  return w->rank ? w->shape[axis_to_split(w)] : 1;
}

static void copy_operand(Walk *to, const Walk *from, int k) {
  to->size[k] = from->size[k];
  to->data[k] = from->data[k];
  to->step[k] = from->step[k];
  for (int i = 0; i < from->rank; i++) to->steps[k][i] = from->steps[k][i];
}

/* A copy of the walk that starts `from` pieces along the axis and has only to -
 * from of them.  Copied field by field: the struct has room for RANK_MAX axes
 * and WALK_MAX operands, and few of either are in use. */
Walk walk_part(const Walk *w, int64_t from, int64_t to) {
  Walk part;
  start_empty(&part, w->count);
  part.rank = w->rank;
  part.done = w->done;
  part.n = w->n;
  part.stop = w->stop;
  for (int i = 0; i < w->rank; i++) {
    part.shape[i] = w->shape[i];
    part.index[i] = 0;
  }
  for (int k = 0; k < w->count; k++) copy_operand(&part, w, k);
  if (w->rank == 0) return part;
  int axis = axis_to_split(w);
  part.shape[axis] = to - from;
  if (axis == w->rank - 1) part.n = to - from;
  for (int k = 0; k < w->count; k++)
    part.data[k] += from * w->steps[k][axis] * w->size[k];
  return part;
}

static int64_t run_length(const Walk *w) {
  return w->rank ? w->shape[w->rank - 1] : 1;
}

/* Every operand by so many steps along the run. */
static void move_along(Walk *w, int64_t by) {
  for (int k = 0; k < w->count; k++) w->data[k] += by * w->step[k] * w->size[k];
}

/* Only the first block is set here; next_block() goes on. */
void walk_heed(Walk *w, StopFlag *stop) {
  w->stop = stop;
  if (stop && w->n > STOP_BLOCK) w->n = STOP_BLOCK;
}

/* Advances to the next block of a long run; after the last, and when asked to
 * stop, back to the run's start, from which walk_next() steps to the next
 * run. */
static bool next_block(Walk *w) {
  w->into += w->n;
  int64_t end =
      w->into < run_length(w) ? block_end(w->stop, w->into, run_length(w)) : 0;
  if (end > 0) {
    move_along(w, w->n);
    w->n = end - w->into;
    return true;
  }
  move_along(w, w->n - w->into);
  w->into = 0;
  w->n = block_end(NULL, 0, run_length(w));
  return false;
}

/* An odometer: the axis next to the run moves; one that ends is wound back, and
 * the axis before it moves. */
bool walk_next(Walk *w) {
  if (w->done) return false;
  if (!w->started) return w->started = true;
  if (w->stop) {
    if (next_block(w)) return true;
    if (stop_seen(w->stop)) return !(w->done = true);
  }
  for (int i = w->rank - 2; i >= 0; i--) {
    bool more = ++w->index[i] < w->shape[i];
    int64_t by = more ? 1 : 1 - w->shape[i];
    if (!more) w->index[i] = 0;
    for (int k = 0; k < w->count; k++)
      w->data[k] += by * w->steps[k][i] * w->size[k];
    if (more) return true;
  }
  w->done = true;
  return false;
}
