/* sort, argsort and topk, by a bottom-up merge sort on positions, which is
 * stable and takes n log n steps whatever the data.  The merge is ref/sort.h's,
 * one for each dtype; NaN comes last, ascending or descending.  searchsorted is
 * a binary search.
 *
 * What is sorted is an array of positions, never the elements, so that one sort
 * gives values and indices, and elements of any stride stay where they are. */
#include "kernels/drive/sort.h"

#include "kernels/kernel.h"
#include "kernels/parallel.h"
#include "kernels/drive/elementwise.h"
#include "kernels/ref/walk.h"

#include <string.h>

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* `order` and `scratch` have n positions each and change roles after each
 * round; the result is in the one that is returned.  NULL when asked to stop.
 *
 *   width 1   merges pairs, 2 fours, 4 eights, ... until one run is left */
int64_t *line_sort(const OpCall *call, const Line *line, int64_t *order,
                   int64_t *scratch) {
  int64_t n = line->n;
  MergeFn merge = ref_merges[line->dtype];
  BLOCKS(call->stop, n)
  for (int64_t i = at; i < end; i++) order[i] = i;
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t from = 0; from < n; from += 2 * width) {
      int64_t middle = least(from + width, n), to = least(middle + width, n);
      merge(line, call->stop, order, scratch, from, middle, to);
      if (op_stopped(call)) return NULL;
    }
    int64_t *sorted = scratch;
    scratch = order;
    order = sorted;
  }
  return order;
}

/* --- Kernels ------------------------------------------------------------- */

static const double NANOSECONDS = 10; /* time for an element */

/* The results computed from a sorted line; either may be NULL. */
typedef struct Sorted {
  Tensor *values, *indices;
} Sorted;

/* The first n of the order, as values or as positions. */
static void put_sorted(const Line *line, StopFlag *stop, const int64_t *order,
                       int64_t n, Tensor *out, char *to, int64_t step,
                       bool indices) {
  int64_t size = (int64_t)dtype_size(out->dtype);
  BLOCKS(stop, n)
  for (int64_t i = at; i < end; i++) {
    const char *from =
        line->data + order[i] * line->step * (int64_t)dtype_size(line->dtype);
    Value v = indices ? bits_from_i64(out->dtype, order[i])
                      : bits_load(line->dtype, from);
    bits_store(out->dtype, to + i * step * size, v);
  }
}

/* The part of operand k that belongs to line j of the walk. */
static char *line_of(const Walk *w, int k, int64_t j) {
  return w->data[k] + j * w->step[k] * w->size[k];
}

typedef struct Sorting {
  const OpCall *call;
  Walk lines; /* operands: the data, the values, the indices */
  Line line;  /* the geometry that all lines have */
  Sorted out;
  /* elements kept of a line, and their stride in a result */
  int64_t kept, step;
  int64_t *room; /* two permutations for each thread */
} Sorting;

/* `room` holds two permutations of the line. */
static bool sort_line(const Sorting *s, const Walk *w, int64_t j,
                      int64_t *room) {
  StopFlag *stop = s->call->stop;
  Line line = s->line;
  line.data = line_of(w, 0, j);
  const int64_t *order = line_sort(s->call, &line, room, room + line.n);
  if (!order) return false;
  if (s->out.values)
    put_sorted(&line, stop, order, s->kept, s->out.values, line_of(w, 1, j),
               s->step, false);
  if (s->out.indices)
    put_sorted(&line, stop, order, s->kept, s->out.indices, line_of(w, 2, j),
               s->step, true);
  return true;
}

static bool sort_share(const void *data, const Share *share) {
  const Sorting *s = data;
  Walk w = walk_part(&s->lines, share->from, share->to);
  while (walk_next(&w))
    for (int64_t j = 0; j < w.n; j++)
      if (!sort_line(s, &w, j, s->room + 2 * share->worker * s->line.n))
        return false;
  return true;
}

/* The walk wants three operands; where one result is missing, the other takes
 * its place and is not written twice.  Threads share the lines, each with room
 * of its own. */
static bool sort_lines(OpCall *call, int axis, bool descend, Sorted out) {
  const Tensor *x = call->args[0];
  const Tensor *values = out.values ? out.values : out.indices;
  const Tensor *indices = out.indices ? out.indices : out.values;
  Sorting s = {.call = call,
               .out = out,
               .kept = values->shape[axis],
               .step = values->strides[axis],
               .line = {.dtype = x->dtype,
                        .step = x->strides[axis],
                        .n = x->shape[axis],
                        .descend = descend}};
  walk_axes(&s.lines, 3, (const Tensor *[]){x, values, indices},
            ((1u << x->rank) - 1) & ~(1u << axis));
  int64_t pieces = walk_pieces(&s.lines);
  int threads =
      parallel_threads(call, pieces, NANOSECONDS * (double)tensor_count(x));
  s.room = arena_array(call->arena, (size_t)s.line.n + 1,
                       2 * (size_t)threads * sizeof *s.room);
  if (!s.room) return op_out_of_memory(call);
  return parallel_run(call, threads, pieces, sort_share, &s);
}

/* The attributes that all three share. */
static bool sort_call(OpCall *call, Sorted out) {
  int axis = attr_axis(call->attrs, ATTR_axis, call->args[0]->rank);
  bool descend = !attr_bool(call->attrs, ATTR_is_ascend);
  return sort_lines(call, axis, descend, out);
}

bool kernel_sort(OpCall *call) {
  return sort_call(call, (Sorted){.values = call->outs[0]});
}

/* The positions alone: no element is moved. */
bool kernel_argsort(OpCall *call) {
  return sort_call(call, (Sorted){.indices = call->outs[0]});
}

/* The first k of a whole sort. */
bool kernel_topk(OpCall *call) {
  if (call->out_count == 2)
    return sort_call(call, (Sorted){call->outs[0], call->outs[1]});
  bool indices = attr_word(call->attrs, ATTR_ret_type) == TOPK_INDICES;
  return sort_call(call, indices ? (Sorted){.indices = call->outs[0]}
                                 : (Sorted){.values = call->outs[0]});
}

/* --- searchsorted -------------------------------------------------------- */

/* The sorted row to search for value number `i`: the only one, or that of the
 * value's own line. */
static Line sequence_of(const Tensor *s, const Tensor *values, int64_t i) {
  int last = s->rank - 1;
  Line line = {s->dtype, s->data, s->strides[last], s->shape[last], false};
  if (s->rank == 1) return line;
  i /= values->shape[last];
  for (int k = last - 1; k >= 0; k--) {
    line.data +=
        i % s->shape[k] * s->strides[k] * (int64_t)dtype_size(s->dtype);
    i /= s->shape[k];
  }
  return line;
}

bool kernel_searchsorted(OpCall *call) {
  const Tensor *s = call->args[0], *values = call->args[1];
  Tensor *out = call->outs[0];
  bool right = attr_bool(call->attrs, ATTR_right);
  int64_t n = tensor_count(values), size = (int64_t)dtype_size(out->dtype);
  for (int64_t i = 0; i < n; i++) {
    if (op_stopped(call)) return false;
    Line line = sequence_of(s, values, i);
    Value v = tensor_bits_at(values, i);
    int64_t at = ref_searches[s->dtype](&line, (const char *)&v, right);
    bits_store(out->dtype, out->data + i * size, bits_from_i64(out->dtype, at));
  }
  return true;
}
