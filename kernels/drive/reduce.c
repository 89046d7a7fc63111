/* Reductions over any axes, argmax and argmin, variance, scans, collapse_sum.
 * The loops are in the table in use and in ref/reduce.h.
 *
 * The axes of the operand fall into those that are reduced and those that are
 * kept, and a walk goes over each.  A result is computed a row at a time or,
 * when results are contiguous in memory, several columns at once; both ways do
 * the same operations in the same order:
 *
 *   sum over axis 1 of (r, c), row-major    rows: each a run of c elements
 *   sum over axis 0                         columns: 64 results at a time, each
 *                                           step reads 64 neighbours
 *
 * Read a column at a time, the second would touch a cache line for each
 * element.  Threads share the results, never the terms of one. */
#include "kernels/drive/elementwise.h"
#include "kernels/drive/move.h"
#include "kernels/kernel.h"
#include "kernels/parallel.h"
#include "kernels/ref/reduce.h"

#include <string.h>

static const double NANOSECONDS = 0.5; /* time for an element */

/* --- Which axes ---------------------------------------------------------- */

typedef struct Axes {
  unsigned reduced, kept;
  int64_t count; /* elements reduced to one result */
} Axes;

/* No axes named means all; `exclude` means all others. */
static Axes axes_of(const OpCall *call) {
  const Tensor *x = call->args[0];
  const AttrValue *named = attr_get(call->attrs, ATTR_axis);
  unsigned all = (1u << x->rank) - 1, set = 0;
  for (int i = 0; i < named->count; i++)
    set |= 1u << axis_from(attr_item(named, i), x->rank);
  if (named->count <= 0) set = all;
  else if (attr_bool(call->attrs, ATTR_exclude)) set = all & ~set;
  Axes axes = {.reduced = set, .kept = all & ~set, .count = 1};
  for (int i = 0; i < x->rank; i++)
    if (set >> i & 1) axes.count *= x->shape[i];
  return axes;
}

/* A view of the result with the reduced axes put back with stride 0, so that
 * both tensors have one shape and one walk goes over both. */
static Tensor out_over(const Tensor *out, const Tensor *x, unsigned reduced,
                       bool keepdims) {
  int64_t strides[RANK_MAX];
  for (int i = 0, own = 0; i < x->rank; i++) {
    bool gone = reduced >> i & 1;
    strides[i] = gone ? 0 : out->strides[keepdims ? i : own];
    own += !gone;
  }
  return geometry_of(out, x->rank, x->shape, strides, 0);
}

/* --- Driving ------------------------------------------------------------- */

/* The same walk over another place of the operand. */
static Walk at_address(const Walk *w, char *data) {
  Walk moved = *w;
  moved.data[0] = data;
  return moved;
}

/* Threads share a walk over results, each of which reads `count` elements. */
static bool share_walk(const OpCall *call, const Walk *outer, int64_t count,
                       ShareFn work, const void *data) {
  int64_t pieces = walk_pieces(outer);
  int threads = parallel_threads(call, pieces, NANOSECONDS * (double)count);
  return parallel_run(call, threads, pieces, work, data);
}

typedef struct Reduction {
  const OpCall *call;
  const Reducer *reducer;
  Walk inner, outer; /* the elements of one result; the results */
  int64_t divisor;
  bool side_by_side;
} Reduction;

/* Reduces columns: neighbouring results read neighbouring elements,
 * REDUCE_COLUMNS of them at a time. */
static bool run_columns(const Reduction *r, const Walk *outer) {
  for (int64_t j = 0; j < outer->n; j += REDUCE_COLUMNS) {
    if (op_stopped(r->call)) return false;
    int64_t left = outer->n - j;
    int n = left < REDUCE_COLUMNS ? (int)left : REDUCE_COLUMNS;
    Walk w = at_address(&r->inner, outer->data[0] + j * outer->size[0]);
    r->reducer->columns(&w,
                        outer->data[1] + j * outer->step[1] * outer->size[1],
                        outer->step[1], n, r->divisor);
  }
  return true;
}

/* One result after the other, each over its own inner walk. */
static bool run_rows(const Reduction *r, const Walk *outer) {
  Walk w = r->inner;
  for (int64_t j = 0; j < outer->n; j++) {
    if (op_stopped(r->call)) return false;
    w.data[0] = outer->data[0] + j * outer->step[0] * outer->size[0];
    r->reducer->row(&w, outer->data[1] + j * outer->step[1] * outer->size[1],
                    r->divisor);
  }
  return true;
}

static bool run_share(const void *data, const Share *share) {
  const Reduction *r = data;
  Walk outer = walk_part(&r->outer, share->from, share->to);
  while (walk_next(&outer))
    if (!(r->side_by_side ? run_columns : run_rows)(r, &outer)) return false;
  return true;
}

/* Two walks: `inner` over the elements of one result, `outer` over the results.
 * Where the outer walk's runs are contiguous in the operand, the results lie
 * side by side and are computed together. */
static bool reduce(OpCall *call, ReduceKind kind, const Tensor *x,
                   const Tensor *out, Axes axes, int64_t divisor) {
  Reduction r = {call, &isa_in_use()->reducers[x->dtype][kind],
                 .divisor = divisor};
  walk_axes(&r.inner, 1, &x, axes.reduced);
  walk_heed(&r.inner, call->stop);
  walk_axes(&r.outer, 2, (const Tensor *[]){x, out}, axes.kept);
  r.side_by_side = r.outer.step[0] == 1 && r.outer.n > 1;
  return share_walk(call, &r.outer, tensor_count(x), run_share, &r);
}

/* Reduces over the axes that the attributes name. */
static bool reduce_named(OpCall *call, ReduceKind kind, Axes axes,
                         int64_t divisor) {
  const Tensor *x = call->args[0];
  Tensor out = out_over(call->outs[0], x, axes.reduced,
                        attr_bool(call->attrs, ATTR_keepdims));
  return reduce(call, kind, x, &out, axes, divisor);
}

bool kernel_sum(OpCall *call) {
  return reduce_named(call, REDUCE_SUM, axes_of(call), 1);
}
bool kernel_prod(OpCall *call) {
  return reduce_named(call, REDUCE_PROD, axes_of(call), 1);
}
bool kernel_max(OpCall *call) {
  return reduce_named(call, REDUCE_MAX, axes_of(call), 1);
}
bool kernel_min(OpCall *call) {
  return reduce_named(call, REDUCE_MIN, axes_of(call), 1);
}

/* For floats 0 / 0 is NaN; for integers it would trap. */
bool kernel_mean(OpCall *call) {
  Axes axes = axes_of(call);
  if (axes.count == 0 && !dtype_is_float(call->args[0]->dtype) &&
      tensor_count(call->outs[0]) > 0)
    return op_fault(call, E0602, "division by zero: there are no elements");
  return reduce_named(call, REDUCE_SUM, axes, axes.count);
}

/* --- argmax, argmin ------------------------------------------------------ */

typedef struct Choosing {
  const OpCall *call;
  ArgBest best;
  Walk inner, outer; /* as in Reduction */
  bool least, last;
} Choosing;

static bool choose_share(const void *data, const Share *share) {
  const Choosing *c = data;
  Walk outer = walk_part(&c->outer, share->from, share->to);
  while (walk_next(&outer))
    for (int64_t j = 0; j < outer.n; j++) {
      if (op_stopped(c->call)) return false;
      Walk w = at_address(&c->inner,
                          outer.data[0] + j * outer.step[0] * outer.size[0]);
      ((int32_t *)outer.data[1])[j * outer.step[1]] =
          (int32_t)c->best(w, c->least, c->last);
    }
  return true;
}

/* Positions are int32, as in Relay; ties and NaN are ref/scan_body.h's
 * matter. */
static bool arg_reduce(OpCall *call, bool least) {
  const Tensor *x = call->args[0];
  Axes axes = axes_of(call);
  if (axes.count == 0 && tensor_count(call->outs[0]) > 0)
    return op_fault(call, E0607, "there are no elements to choose from");
  Choosing c = {call, ref_arg_best[x->dtype], .least = least,
                .last = attr_bool(call->attrs, ATTR_select_last_index)};
  Tensor out = out_over(call->outs[0], x, axes.reduced,
                        attr_bool(call->attrs, ATTR_keepdims));
  walk_axes(&c.inner, 1, &x, axes.reduced);
  walk_heed(&c.inner, call->stop);
  walk_axes(&c.outer, 2, (const Tensor *[]){x, &out}, axes.kept);
  return share_walk(call, &c.outer, tensor_count(x), choose_share, &c);
}

bool kernel_argmax(OpCall *call) { return arg_reduce(call, false); }
bool kernel_argmin(OpCall *call) { return arg_reduce(call, true); }

/* --- variance ---------------------------------------------------------------
 * A second pass over d = (x - mean)^2, each step rounded to the dtype; a sum of
 * 16-bit floats is rounded when it has been divided, as in a mean: neither the
 * sum nor the count need fit. */

/* out = a op b, by the element-wise kernels; out may be a or b. */
static bool combine(OpCall *call, OpId op, const Tensor *a, const Tensor *b,
                    Tensor *out) {
  OpCall one = *call;
  one.args = (const Tensor *[]){a, b};
  one.arg_count = 2;
  one.outs = &out;
  return elementwise_run(&one, strip_of(op, a->dtype), NULL);
}

/* sum((x - mean)^2) / n, or n - 1 when unbiased; the mean is an operand.  The
 * differences are stored, since each operation rounds to the dtype. */
bool kernel_variance(OpCall *call) {
  const Tensor *x = call->args[0];
  Axes axes = axes_of(call);
  int64_t divisor = axes.count - attr_bool(call->attrs, ATTR_unbiased);
  Tensor *square = tensor_new(call->heap, x->dtype, x->rank, x->shape);
  if (!square) return op_out_of_memory(call);
  Tensor out = out_over(call->outs[0], x, axes.reduced,
                        attr_bool(call->attrs, ATTR_keepdims));
  bool ok = combine(call, OP_SUBTRACT, x, call->args[1], square) &&
            combine(call, OP_MULTIPLY, square, square, square) &&
            reduce(call, REDUCE_SUM, square, &out, axes, divisor);
  tensor_drop(call->heap, square);
  return ok;
}

/* --- collapse_sum -------------------------------------------------------- */

/* Sums along the axes where the result is shorter: the inverse of
 * broadcasting.  Where none is, the operand itself is the result. */
bool kernel_collapse_sum(OpCall *call) {
  const Tensor *x = call->args[0];
  const RuleType *type = call->result;
  int64_t shape[RANK_MAX];
  shape_of_dims(type->rank, type->dims, shape);
  if (type->rank == x->rank &&
      memcmp(shape, x->shape, (size_t)x->rank * sizeof *shape) == 0)
    return view_out(call, 0, x);
  Tensor *to = call->outs[0] = op_tensor_new(call, type);
  if (!to) return false;
  Axes axes = {.count = 1};
  int lead = x->rank - to->rank;
  int64_t strides[RANK_MAX];
  for (int i = 0; i < x->rank; i++) {
    bool shorter = i < lead || to->shape[i - lead] != x->shape[i];
    axes.reduced |= (unsigned)shorter << i;
    strides[i] = shorter ? 0 : to->strides[i - lead];
  }
  axes.kept = ((1u << x->rank) - 1) & ~axes.reduced;
  Tensor out = geometry_of(to, x->rank, x->shape, strides, 0);
  if (reduce(call, REDUCE_SUM, x, &out, axes, 1)) return true;
  tensor_drop(call->heap, to);
  call->outs[0] = NULL;
  return false;
}

/* --- Scans --------------------------------------------------------------- */

/* The line of `t` along `axis` at the walk's current element. */
static Tensor line_at(const Tensor *t, int axis, char *data) {
  Tensor line = geometry_of(t, 1, &t->shape[axis], &t->strides[axis], 0);
  line.data = data;
  return line;
}

typedef struct Scanning {
  const OpCall *call;
  const Tensor *out, *x;
  int axis;
  bool is_product, exclusive;
  Walk lines;
} Scanning;

/* A scan is sequential along its line; lines are shared out. */
static bool scan_share(const void *data, const Share *share) {
  const Scanning *s = data;
  const OpCall *call = s->call;
  Walk w = walk_part(&s->lines, share->from, share->to);
  while (walk_next(&w))
    for (int64_t j = 0; j < w.n; j++) {
      if (op_stopped(call)) return false;
      char *to = w.data[0] + j * w.step[0] * w.size[0];
      char *from = w.data[1] + j * w.step[1] * w.size[1];
      Tensor sums = line_at(s->out, s->axis, to);
      Tensor line = line_at(s->x, s->axis, from);
      ref_scans[s->out->dtype](call->stop, &line, &sums, s->is_product,
                               s->exclusive);
    }
  return true;
}

static bool scan_axis(const OpCall *call, const Tensor *x, int axis,
                      bool is_product) {
  Scanning s = {call, call->outs[0], x, .axis = axis, .is_product = is_product};
  s.exclusive = attr_bool(call->attrs, ATTR_exclusive);
  walk_axes(&s.lines, 2, (const Tensor *[]){s.out, x},
            ((1u << x->rank) - 1) & ~(1u << axis));
  return share_walk(call, &s.lines, tensor_count(x), scan_share, &s);
}

/* Scans run in the result's dtype; other data is converted first. */
static Tensor *converted(OpCall *call, const Tensor *x, DType to) {
  Tensor *out = tensor_new(call->heap, to, x->rank, x->shape);
  if (!out) return op_out_of_memory(call), NULL;
  OpCall cast = *call;
  cast.arg_count = 1;
  cast.outs = &out;
  if (elementwise_run(&cast, strip_of_cast(x->dtype, to), NULL)) return out;
  tensor_drop(call->heap, out);
  return NULL;
}

/* A scan without an axis goes over all elements in row-major order. */
static bool scan(OpCall *call, bool is_product) {
  const Tensor *x = call->args[0];
  bool flat = !attr_is_set(call->attrs, ATTR_axis);
  Tensor *copy = NULL;
  if (x->dtype != call->outs[0]->dtype || (flat && !tensor_is_contiguous(x))) {
    copy = converted(call, x, call->outs[0]->dtype);
    if (!copy) return false;
    x = copy;
  }
  Tensor line =
      geometry_of(x, 1, &(int64_t){tensor_count(x)}, &(int64_t){1}, 0);
  int axis = flat ? 0 : attr_axis(call->attrs, ATTR_axis, x->rank);
  bool ok = scan_axis(call, flat ? &line : x, axis, is_product);
  if (copy) tensor_drop(call->heap, copy);
  return ok;
}

bool kernel_cumsum(OpCall *call) { return scan(call, false); }
bool kernel_cumprod(OpCall *call) { return scan(call, true); }
