/* Kernels that read or write elements by index: take, gather, gather_nd,
 * adv_index, scatter_nd, scatter_elements, argwhere, unique.  Indices may have
 * any integer dtype.  What an index names:
 *
 *   take          a slice of an axis; all else is kept
 *   gather        for each place of the indices, one element along the axis
 *   gather_nd     by n coordinates, the part after them; a column of indices
 *   adv_index     the same, each coordinate from a tensor of its own
 *
 * and the same for writing: scatter_elements is gather's counterpart,
 * scatter_nd that of gather_nd.
 *
 * take, gather and scatter_elements convert their indices to int64 once, check
 * all of them, and then move elements without a check, so that the inner loops
 * (MOVE_ELEMENTS) are a load, a load and a store.  They know sizes, not dtypes.
 * The others move parts, and check each index when they come to it.
 *
 * take and gather are shared among threads.  Writing is not: a place may be
 * named twice, and then the order of the updates decides, which is that of the
 * indices. */
#include "kernels/kernel.h"
#include "kernels/scalar.h"
#include "kernels/parallel.h"
#include "kernels/drive/elementwise.h"
#include "kernels/drive/move.h"
#include "kernels/drive/sort.h"

#include <string.h>

static bool out_of_range(OpCall *call, int64_t at, int64_t n) {
  return op_fault(call, E0604,
                  "index %lld is out of range for an axis of "
                  "length %lld",
                  (long long)at, (long long)n);
}

/* Element i of an index tensor.  An unsigned one beyond int64 is as far out of
 * range as the largest int64. */
static int64_t index_at(const Tensor *t, int64_t i) {
  int64_t at = tensor_i64_at(t, i);
  return t->dtype == DT_UINT64 && at < 0 ? INT64_MAX : at;
}

/* The elements of an index tensor as int64, row-major, in the call's arena;
 * NULL when memory runs out or the call was asked to stop.  A uint64 of 2^63 or
 * more becomes negative by the cast, and is put back to the largest int64. */
static int64_t *indices_of(OpCall *call, const Tensor *t) {
  int64_t *all = ARENA_ARRAY(call->arena, int64_t, (size_t)tensor_count(t) + 1);
  if (!all) return op_out_of_memory(call), NULL;
  Tensor to = tensor_on_data(DT_INT64, t->rank, t->shape, all);
  OpCall cast = *call;
  cast.args = &t;
  cast.arg_count = 1;
  cast.outs = (Tensor *[]){&to};
  bool ok = elementwise_run(&cast, strip_of_cast(t->dtype, DT_INT64), NULL);
  for (int64_t i = 0; t->dtype == DT_UINT64 && i < tensor_count(t); i++)
    if (all[i] < 0) all[i] = INT64_MAX;
  return ok ? all : NULL;
}

/* Do all indices lie between `least` and n - 1? */
static bool all_in_range(OpCall *call, const int64_t *indices, int64_t count,
                         int64_t least, int64_t n) {
  BLOCKS(call->stop, count)
  for (int64_t i = at; i < end; i++)
    if (indices[i] < least || indices[i] >= n)
      return out_of_range(call, indices[i], n);
  return !op_stopped(call);
}

/* Copies n elements of type T between a strided line and places given by
 * index. */
#define MOVE_ELEMENTS(T)                                                     \
  static void gather_##T(char *to, const char *from, const int64_t *places,  \
                         int64_t place_step, int64_t step, int64_t n) {      \
    const T *x = (const T *)from;                                            \
    T *out = (T *)to;                                                        \
    for (int64_t i = 0; i < n; i++)                                          \
      out[i] = x[places[i] * place_step + i * step];                         \
  }                                                                          \
  static void scatter_##T(char *to, const char *from, const int64_t *places, \
                          int64_t place_step, int64_t step, int64_t n) {     \
    const T *x = (const T *)from;                                            \
    T *out = (T *)to;                                                        \
    for (int64_t i = 0; i < n; i++)                                          \
      out[places[i] * place_step + i * step] = x[i];                         \
  }
MOVE_ELEMENTS(uint8_t)
MOVE_ELEMENTS(uint16_t)
MOVE_ELEMENTS(uint32_t)
MOVE_ELEMENTS(uint64_t)
#undef MOVE_ELEMENTS

typedef void (*MoveElements)(char *to, const char *from, const int64_t *places,
                             int64_t place_step, int64_t step, int64_t n);
static const struct {
  MoveElements gather, scatter;
} moves[9] = {
    [1] = {gather_uint8_t, scatter_uint8_t},
    [2] = {gather_uint16_t, scatter_uint16_t},
    [4] = {gather_uint32_t, scatter_uint32_t},
    [8] = {gather_uint64_t, scatter_uint64_t},
};

/* out[i] = x[places[i] * place_step + i * step] */
static bool gather_line(const OpCall *call, int64_t size, char *to,
                        const char *from, const int64_t *places,
                        int64_t place_step, int64_t step, int64_t n) {
  BLOCKS(call->stop, n)
  moves[size].gather(to + at * size, from + at * step * size, places + at,
                     place_step, step, end - at);
  return !op_stopped(call);
}

/* out[places[i] * place_step + i * step] = x[i] */
static void scatter_line(const OpCall *call, int64_t size, char *to,
                         const char *from, const int64_t *places,
                         int64_t place_step, int64_t step, int64_t n) {
  BLOCKS(call->stop, n)
  moves[size].scatter(to + at * step * size, from + at * size, places + at,
                      place_step, step, end - at);
}

static const double NANOSECONDS = 1; /* time for an element */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A slice of up to so many bytes is copied without polling `stop`. */
enum { SLICE_NEAR = 1 << 20 };

/* --- take ---------------------------------------------------------------- */

/* Resolves an index on an axis of n elements by the mode: clip and wrap accept
 * any index, fast refuses one that is out of range.  An axis without elements
 * has nothing to take in any mode. */
static bool take_position(OpCall *call, TakeMode mode, int64_t n, int64_t *at) {
  int64_t i = *at;
  if (n == 0 || (mode == TAKE_FAST && (i < 0 || i >= n)))
    return out_of_range(call, i, n);
  if (mode == TAKE_WRAP) *at = (i % n + n) % n;
  if (mode == TAKE_CLIP) *at = i < 0 ? 0 : i >= n ? n - 1 : i;
  return true;
}

/* The index modulo n, computed on unsigned bits: here an index of INT64_MAX may
 * stand for a larger uint64, which index_at() has cut. */
static int64_t wrapped(const Tensor *indices, int64_t i, int64_t n) {
  return n ? (int64_t)(tensor_bits_at(indices, i).u64 % (uint64_t)n) : 0;
}

/* Takes a single row, as a view: a program that reads a row of its weights in
 * each step copies nothing. */
static bool take_row(OpCall *call, TakeMode mode, int axis) {
  const Tensor *x = call->args[0];
  const Tensor *index = call->args[1];
  int64_t n = x->shape[axis], at = index_at(index, 0);
  if (at == INT64_MAX && mode == TAKE_WRAP) at = wrapped(index, 0, n);
  if (!take_position(call, mode, n, &at)) return false;
  Tensor row = geometry_slice(x, axis, at, 1);
  row.rank--;
  for (int i = axis; i < row.rank; i++) {
    row.shape[i] = x->shape[i + 1];
    row.strides[i] = x->strides[i + 1];
  }
  return view_out(call, 0, &row);
}

/* The part of a tensor at position number `at` of its first `batch` axes. */
static Tensor batch_at(const Tensor *t, int batch, int64_t at) {
  Tensor part = *t;
  for (int i = batch - 1; i >= 0; i--) {
    part = geometry_slice(&part, i, at % t->shape[i], 1);
    at /= t->shape[i];
  }
  return part;
}

/* All indices, resolved on an axis of n elements. */
static int64_t *take_positions(OpCall *call, TakeMode mode, int64_t n) {
  const Tensor *indices = call->args[1];
  int64_t *all = indices_of(call, indices);
  if (!all) return NULL;
  BLOCKS(call->stop, tensor_count(indices))
  for (int64_t i = at; i < end; i++) {
    if (all[i] == INT64_MAX && mode == TAKE_WRAP)
      all[i] = wrapped(indices, i, n);
    if (!take_position(call, mode, n, &all[i])) return NULL;
  }
  return all;
}

/* Copies slices of the data in the order of the result.  A slice is what
 * follows `axis`; each place before the axis takes one slice for each index:
 *
 *   x (A, N, S...), indices (I...)   out (A, I..., S...)
 *   place a, index i                 out[a, i, ...] = x[a, positions[i], ...]
 *
 * With batch axes in front, which data and indices share, each batch has its
 * own `count` indices.  Pieces of work are slices of the result in order, so a
 * share is a run of memory. */
typedef struct Taking {
  const OpCall *call;
  int axis;
  int64_t per_batch; /* places before the axis, after the batch axes */
  int64_t count;     /* indices in a batch */
  const int64_t *positions;
  Tensor slice; /* the geometry of a slice */
  char *out;
  int64_t bytes; /* bytes of a slice in the result */
  bool contiguous;
} Taking;

/* A large slice goes through copy_into(), which polls `stop`. */
static bool take_slice(const Taking *t, const char *from, char *to) {
  if (t->contiguous && t->bytes <= SLICE_NEAR) {
    memcpy(to, from, (size_t)t->bytes);
    return !op_stopped(t->call);
  }
  Tensor slice = t->slice,
         out = tensor_on_data((DType)slice.dtype, slice.rank, slice.shape, to);
  slice.data = (char *)from;
  return copy_into(t->call, &out, &slice);
}

/* Copies n slices of one place, from `first` on; slices of one element
 * together. */
static bool take_slices(const Taking *t, int64_t place, int64_t first,
                        int64_t n) {
  const Tensor *x = t->call->args[0];
  int64_t size = (int64_t)dtype_size(x->dtype);
  int64_t step = x->strides[t->axis];
  const int64_t *at = t->positions + place / t->per_batch * t->count + first;
  Tensor from = batch_at(x, t->axis, place);
  char *to = t->out + (place * t->count + first) * t->bytes;
  if (t->bytes == size)
    return gather_line(t->call, size, to, from.data, at, step, 0, n);
  for (int64_t i = 0; i < n; i++, to += t->bytes)
    if (!take_slice(t, from.data + at[i] * step * size, to)) return false;
  return true;
}

/* A share may begin and end within a place. */
static bool take_share(const void *data, const Share *share) {
  const Taking *t = data;
  for (int64_t i = share->from, end; i < share->to; i = end) {
    int64_t place = i / t->count, first = place * t->count;
    end = least(first + t->count, share->to);
    if (op_stopped(t->call) || !take_slices(t, place, i - first, end - i))
      return false;
  }
  return true;
}

/* The slices are counted by bytes: a slice of no elements would divide by 0,
 * but then the result is empty, too. */
static bool take_axis(OpCall *call, TakeMode mode, int axis, Tensor *out) {
  const Tensor *x = call->args[0], *indices = call->args[1];
  int batch = attr_axis(call->attrs, ATTR_batch_dims, indices->rank);
  if (tensor_count(out) == 0) return true;
  Taking t = {.call = call,
              .axis = axis,
              .per_batch = 1,
              .count = tensor_count(indices),
              .out = out->data};
  for (int i = 0; i < batch; i++) t.count /= x->shape[i];
  for (int i = batch; i < axis; i++) t.per_batch *= x->shape[i];
  t.positions = take_positions(call, mode, x->shape[axis]);
  if (!t.positions) return false;
  t.slice = geometry_of(x, x->rank - axis - 1, x->shape + axis + 1,
                        x->strides + axis + 1, 0);
  t.contiguous = tensor_is_contiguous(&t.slice);
  t.bytes = (int64_t)tensor_bytes(&t.slice);
  int64_t slices =
      tensor_count(out) * (int64_t)dtype_size(out->dtype) / t.bytes;
  double work = NANOSECONDS * (double)tensor_count(out);
  return parallel_run(call, parallel_threads(call, slices, work), slices,
                      take_share, &t);
}

/* Takes elements by their row-major number, as take does without an axis. */
typedef struct TakingFlat {
  const OpCall *call;
  const int64_t *positions;
  Tensor *out;
} TakingFlat;

/* Elements of a strided tensor are addressed one by one. */
static bool flat_share(const void *data, const Share *share) {
  const TakingFlat *t = data;
  const Tensor *x = t->call->args[0];
  int64_t size = (int64_t)dtype_size(x->dtype), n = share->to - share->from;
  const int64_t *at = t->positions + share->from;
  char *to = t->out->data + share->from * size;
  if (tensor_is_contiguous(x))
    return gather_line(t->call, size, to, x->data, at, 1, 0, n);
  for (int64_t i = 0; i < n; i++, to += size) {
    if (op_stopped(t->call)) return false;
    bits_store(x->dtype, to, tensor_bits_at(x, at[i]));
  }
  return true;
}

static bool take_flat(OpCall *call, TakeMode mode, Tensor *out) {
  int64_t count = tensor_count(out);
  TakingFlat t = {call, take_positions(call, mode, tensor_count(call->args[0])),
                  out};
  if (!t.positions) return false;
  return parallel_run(
      call, parallel_threads(call, count, NANOSECONDS * (double)count), count,
      flat_share, &t);
}

/* The result is made here, not by the caller: a single row is a view
 * (STORE_VIEW). */
bool kernel_take(OpCall *call) {
  const Tensor *x = call->args[0];
  bool flat = !attr_is_set(call->attrs, ATTR_axis);
  int axis = flat ? 0 : attr_axis(call->attrs, ATTR_axis, x->rank);
  TakeMode mode = (TakeMode)attr_word(call->attrs, ATTR_mode);
  if (!flat && call->args[1]->rank == 0) return take_row(call, mode, axis);
  Tensor *out = op_tensor_new(call, call->result);
  if (!out) return false;
  if (flat ? take_flat(call, mode, out) : take_axis(call, mode, axis, out)) {
    call->outs[0] = out;
    return true;
  }
  tensor_drop(call->heap, out);
  return false;
}

/* --- gather -------------------------------------------------------------- */

/* The places that an index tensor of the same rank names: each index replaces
 * the coordinate along `axis`, the other coordinates are the index's own.
 *
 *   gather, axis 1    out[i, j, k] = x[i, at[i, j, k], k] */
typedef struct Named {
  const OpCall *call;
  const Tensor *indices, *tensor;
  const int64_t *at;
  int axis;
} Named;

/* A line along the last axis: the address of its first place; `*step` to the
 * next.  Where the index replaces the last coordinate, the line itself does not
 * move: step 0. */
static char *named_line(const Named *n, int64_t line, int64_t *step) {
  const Tensor *t = n->tensor, *like = n->indices;
  int last = like->rank - 1;
  int64_t offset = 0;
  for (int k = last - 1; k >= 0; k--) {
    if (k != n->axis) offset += line % like->shape[k] * t->strides[k];
    line /= like->shape[k];
  }
  *step = n->axis == last ? 0 : t->strides[last];
  return t->data + offset * (int64_t)dtype_size(t->dtype);
}

/* A line of the result at a time; all indices are in range by now. */
static bool gather_share(const void *data, const Share *share) {
  const Named *n = data;
  int64_t size = (int64_t)dtype_size(n->tensor->dtype), step;
  int64_t length = n->indices->shape[n->indices->rank - 1];
  char *to = n->call->outs[0]->data;
  for (int64_t i = share->from; i < share->to; i++) {
    const char *from = named_line(n, i, &step);
    if (op_stopped(n->call) ||
        !gather_line(n->call, size, to + i * length * size, from,
                     n->at + i * length, n->tensor->strides[n->axis], step,
                     length))
      return false;
  }
  return true;
}

bool kernel_gather(OpCall *call) {
  const Tensor *x = call->args[0], *indices = call->args[1];
  int axis = attr_axis(call->attrs, ATTR_axis, x->rank);
  int64_t count = tensor_count(indices);
  Named n = {call, indices, x, indices_of(call, indices), axis};
  if (!n.at || !all_in_range(call, n.at, count, 0, x->shape[axis]))
    return false;
  if (count == 0) return true;
  int64_t lines = count / indices->shape[indices->rank - 1];
  return parallel_run(
      call, parallel_threads(call, lines, NANOSECONDS * (double)count), lines,
      gather_share, &n);
}

/* --- gather_nd, scatter_nd --------------------------------------------------
 * Index number i, of those that the trailing axes of `indices` hold, names
 * the part of a tensor at (indices[0, i], ..., indices[n-1, i]). */

static bool offset_at(OpCall *call, const Tensor *t, int batch, int64_t i,
                      int64_t *offset) {
  const Tensor *indices = call->args[1];
  int64_t n = indices->shape[0], count = tensor_count(indices) / n;
  int64_t in_batch = count, rest;
  *offset = 0;
  for (int k = 0; k < batch; k++) in_batch /= indices->shape[k + 1];
  rest = i / in_batch;
  for (int k = batch - 1; k >= 0; k--) {
    *offset += rest % t->shape[k] * t->strides[k];
    rest /= t->shape[k];
  }
  for (int k = 0; k < n; k++) {
    int64_t at = index_at(indices, k * count + i);
    int axis = batch + k;
    if (at < 0 || at >= t->shape[axis])
      return out_of_range(call, at, t->shape[axis]);
    *offset += at * t->strides[axis];
  }
  return true;
}

/* Parts of a tensor that indices name, each paired with a row of a contiguous
 * tensor.  Both headers have one shape and are set up once; for each index only
 * their addresses change. */
typedef struct Parts {
  Tensor part, row;
  char *first_part, *first_row;
  size_t size, bytes; /* bytes of an element, bytes of a row */
  bool dense;         /* both are contiguous */
} Parts;

static void parts_init(Parts *p, const Tensor *t, int named,
                       const Tensor *rows) {
  int rank = t->rank - named;
  int64_t strides[RANK_MAX];
  strides_row_major(rank, t->shape + named, strides);
  geometry_set(&p->part, t, rank, t->shape + named, t->strides + named, 0);
  geometry_set(&p->row, rows, rank, t->shape + named, strides, 0);
  p->first_part = t->data;
  p->first_row = rows->data;
  p->size = dtype_size(t->dtype);
  p->bytes = tensor_bytes(&p->row);
  p->dense = tensor_is_contiguous(&p->part);
}

/* Sets the pair: the part at `offset`, in elements, and row i. */
static void parts_move(Parts *p, int64_t offset, int64_t i) {
  p->part.data = p->first_part + offset * (int64_t)p->size;
  p->row.data = p->first_row + i * (int64_t)p->bytes;
}

static bool parts_copy(const OpCall *call, const Parts *p, Tensor *to,
                       const Tensor *from) {
  if (!p->dense || p->bytes > SLICE_NEAR) return copy_into(call, to, from);
  memcpy(to->data, from->data, p->bytes);
  return true;
}

bool kernel_gather_nd(OpCall *call) {
  Tensor *out = call->outs[0];
  const Tensor *indices = call->args[1];
  int batch = (int)attr_number(call->attrs, ATTR_batch_dims);
  if (tensor_count(out) == 0) return true;
  if (indices->shape[0] == 0)
    return op_fault(call, E0607, "indices without coordinates");
  int64_t count = tensor_count(indices) / indices->shape[0], offset;
  Parts p;
  parts_init(&p, call->args[0], batch + (int)indices->shape[0], out);
  for (int64_t i = 0; i < count; i++) {
    if (op_stopped(call) || !offset_at(call, call->args[0], batch, i, &offset))
      return false;
    parts_move(&p, offset, i);
    if (!parts_copy(call, &p, &p.row, &p.part)) return false;
  }
  return true;
}

/* The operator that combines old and new elements; OP_COPY replaces. */
static OpId scatter_mode(const OpCall *call, AttrName name) {
  static const OpId modes[] = {
      [SCATTER_UPDATE] = OP_COPY,  [SCATTER_ADD] = OP_ADD,
      [SCATTER_MUL] = OP_MULTIPLY, [SCATTER_MIN] = OP_MINIMUM,
      [SCATTER_MAX] = OP_MAXIMUM,  [SCATTER_MEAN] = OP_MEAN};
  return modes[attr_word(call->attrs, name)];
}

/* part = part op row: an element-wise operator in place. */
static bool scatter_one(OpCall *call, OpId op, Parts *p) {
  if (op == OP_COPY) return parts_copy(call, p, &p->part, &p->row);
  OpCall one = *call;
  one.args = (const Tensor *[]){&p->part, &p->row};
  one.arg_count = 2;
  one.outs = (Tensor *[]){&p->part};
  return elementwise_run(&one, strip_of(op, p->part.dtype), NULL);
}

static bool scatter_rows(OpCall *call, OpId op, Tensor *out,
                         const Tensor *rows) {
  const Tensor *indices = call->args[1];
  int64_t count = tensor_count(indices) / indices->shape[0], offset;
  Parts p;
  parts_init(&p, out, (int)indices->shape[0], rows);
  for (int64_t i = 0; i < count; i++) {
    if (op_stopped(call) || !offset_at(call, out, 0, i, &offset)) return false;
    parts_move(&p, offset, i);
    if (!scatter_one(call, op, &p)) return false;
  }
  return true;
}

/* The result begins as a copy of the data, unless it is the data's own
 * memory. */
bool kernel_scatter_nd(OpCall *call) {
  const Tensor *updates = call->args[2];
  OpId op = scatter_mode(call, ATTR_mode);
  if (!copy_unless_same(call, call->outs[0], call->args[0])) return false;
  if (tensor_count(updates) == 0) return true;
  if (call->args[1]->shape[0] == 0)
    return op_fault(call, E0607, "indices without coordinates");
  if (tensor_is_contiguous(updates))
    return scatter_rows(call, op, call->outs[0], updates);
  Tensor *copy = copy_of(call, updates);
  if (!copy) return false;
  bool ok = scatter_rows(call, op, call->outs[0], copy);
  tensor_drop(call->heap, copy);
  return ok;
}

/* --- adv_index, scatter_elements ----------------------------------------- */

/* The part of data named by the indices at position number `i` of their common
 * shape, which is the first `rank` dims of the result.  The index tensors
 * broadcast to that shape. */
static bool advanced_part(OpCall *call, int rank, int64_t i, Tensor *part) {
  const Tensor *x = call->args[0], *out = call->outs[0];
  int n = call->arg_count - 1;
  *part = *x;
  for (int k = 0; k < n; k++) {
    Tensor index = geometry_broadcast(call->args[k + 1], rank, out->shape);
    int64_t at = index_at(&index, i);
    if (at < 0 || at >= x->shape[k]) return out_of_range(call, at, x->shape[k]);
    *part = geometry_slice(part, k, at, 1);
  }
  *part = geometry_of(part, x->rank - n, part->shape + n, part->strides + n, 0);
  return true;
}

/* Row i of a contiguous tensor whose last axes have the shape of `part`. */
static void row_like(const Tensor *t, int64_t i, const Tensor *part,
                     Tensor *row) {
  int64_t strides[RANK_MAX];
  strides_row_major(part->rank, part->shape, strides);
  geometry_set(row, t, part->rank, part->shape, strides,
               i * tensor_count(part));
}

/* One part for each position of the common shape. */
bool kernel_adv_index(OpCall *call) {
  const Tensor *x = call->args[0];
  Tensor *out = call->outs[0];
  int rank = out->rank - (x->rank - (call->arg_count - 1));
  int64_t count = 1;
  for (int i = 0; i < rank; i++) count *= out->shape[i];
  for (int64_t i = 0; i < count && tensor_count(out) > 0; i++) {
    Tensor part, to;
    if (op_stopped(call) || !advanced_part(call, rank, i, &part)) return false;
    row_like(out, i, &part, &to);
    if (!copy_into(call, &to, &part)) return false;
  }
  return true;
}

/* old (op) update; the mode `mean` gives (old + update) / 2 for each update in
 * turn, as the reference does, not the mean of all. */
static Value scatter_value(OpId op, DType dtype, Value old, Value update) {
  int fail = 0;
  OpId first = op == OP_MEAN ? OP_ADD : op;
  if (op == OP_COPY) return update;
  Value v = op_scalar(first, dtype, dtype)(old, update, old, &fail);
  if (op != OP_MEAN) return v;
  return op_scalar(OP_DIVIDE, dtype, dtype)(v, bits_from_i64(dtype, 2), old,
                                            &fail);
}

/* Applies one line of updates in order, because a place may be named twice. */
static void scatter_named(const Named *n, OpId op, int64_t line,
                          const char *updates) {
  int64_t size = (int64_t)dtype_size(n->tensor->dtype), step;
  int64_t length = n->indices->shape[n->indices->rank - 1];
  int64_t along = n->tensor->strides[n->axis];
  const int64_t *places = n->at + line * length;
  DType dtype = (DType)n->tensor->dtype;
  char *first = named_line(n, line, &step);
  updates += line * length * size;
  if (op == OP_COPY) {
    scatter_line(n->call, size, first, updates, places, along, step, length);
    return;
  }
  BLOCKS(n->call->stop, length)
  for (int64_t i = at; i < end; i++, updates += size) {
    char *place = first + (places[i] * along + i * step) * size;
    bits_store(dtype, place,
               scatter_value(op, dtype, bits_load(dtype, place),
                             bits_load(dtype, updates)));
  }
}

/* The updates in the shape of the indices and contiguous; copied to the arena
 * where necessary.  They may be longer than the indices along any axis: what is
 * beyond is not used. */
static const char *updates_of(OpCall *call, const Tensor *indices) {
  const Tensor *updates = call->args[2];
  Tensor part =
      geometry_of(updates, indices->rank, indices->shape, updates->strides, 0);
  if (tensor_is_contiguous(&part)) return part.data;
  size_t bytes = tensor_bytes(&part);
  char *room = arena_array(call->arena, bytes + 1, 1);
  if (!room) return op_out_of_memory(call), NULL;
  Tensor copy = tensor_on_data((DType)part.dtype, part.rank, part.shape, room);
  return copy_into(call, &copy, &part) ? room : NULL;
}

/* Negative indices count from the end. */
static bool scatter_elements(OpCall *call, OpId op) {
  const Tensor *indices = call->args[1];
  Tensor *out = call->outs[0];
  int axis = attr_axis(call->attrs, ATTR_axis, out->rank);
  int64_t count = tensor_count(indices);
  int64_t length = out->shape[axis], *all = indices_of(call, indices);
  if (!copy_unless_same(call, out, call->args[0])) return false;
  if (!all || !all_in_range(call, all, count, -length, length)) return false;
  BLOCKS(call->stop, count)
  for (int64_t i = at; i < end; i++) all[i] += all[i] < 0 ? length : 0;
  Named n = {call, indices, out, all, axis};
  const char *updates = updates_of(call, indices);
  int64_t lines = count ? count / indices->shape[indices->rank - 1] : 0;
  for (int64_t i = 0; updates && i < lines; i++) {
    if (op_stopped(call)) return false;
    scatter_named(&n, op, i, updates);
  }
  return updates != NULL;
}

bool kernel_scatter_elements(OpCall *call) {
  return scatter_elements(call, scatter_mode(call, ATTR_reduction));
}

bool kernel_scatter_add(OpCall *call) { return scatter_elements(call, OP_ADD); }

/* --- Permutations and positions ------------------------------------------ */

static void put_int(Tensor *out, int64_t i, int64_t v) {
  bits_store(out->dtype, out->data + i * (int64_t)dtype_size(out->dtype),
             bits_from_i64(out->dtype, v));
}

/* Checks that each position is named once: with n indices in range, the result
 * is then complete. */
bool kernel_invert_permutation(OpCall *call) {
  const Tensor *x = call->args[0];
  int64_t n = x->shape[0];
  bool *named = ARENA_ARRAY(call->arena, bool, (size_t)n + 1); /* zeroed */
  if (!named) return op_out_of_memory(call);
  for (int64_t i = 0; i < n; i++) {
    if (op_stopped(call)) return false;
    int64_t at = index_at(x, i);
    if (at < 0 || at >= n) return out_of_range(call, at, n);
    if (named[at])
      return op_fault(call, E0604,
                      "%lld stands twice in what should be a "
                      "permutation",
                      (long long)at);
    named[at] = true;
    put_int(call->outs[0], at, i);
  }
  return true;
}

/* Converts row-major positions in a shape to coordinates, the last axis first.
 * A rest that is left after the first axis means a position beyond the
 * shape. */
bool kernel_unravel_index(OpCall *call) {
  const Tensor *x = call->args[0], *shape = call->args[1];
  int64_t n = tensor_count(x), rank = shape->shape[0];
  for (int64_t i = 0; i < n; i++) {
    if (op_stopped(call)) return false;
    int64_t rest = index_at(x, i), at = rest;
    for (int64_t k = rank - 1; k >= 0; k--) {
      int64_t length = tensor_i64_at(shape, k);
      if (length <= 0 || rest < 0)
        return op_fault(call, E0604, "no position %lld in that shape",
                        (long long)at);
      put_int(call->outs[0], k * n + i, rest % length);
      rest /= length;
    }
    if (rest > 0)
      return op_fault(call, E0604, "position %lld is out of range",
                      (long long)at);
  }
  return true;
}

/* --- argwhere ------------------------------------------------------------ */

/* Not zero: the language's cast to bool decides, so NaN is true. */
static bool is_true(const Tensor *t, int64_t i) {
  Value v = tensor_bits_at(t, i);
  int fail = 0;
  return op_scalar(OP_CAST, t->dtype, DT_BOOL)(v, v, v, &fail).b;
}

/* Writes the coordinates of the true elements, one row each. */
static void put_places(StopFlag *stop, const Tensor *x, int32_t *row) {
  BLOCKS(stop, tensor_count(x))
  for (int64_t i = at; i < end; i++) {
    if (!is_true(x, i)) continue;
    int64_t rest = i;
    for (int k = x->rank - 1; k >= 0; k--) {
      row[k] = (int32_t)(rest % x->shape[k]);
      rest /= x->shape[k];
    }
    row += x->rank;
  }
}

/* Two passes: the number of true elements is the result's first dimension. */
bool kernel_argwhere(OpCall *call) {
  const Tensor *x = call->args[0];
  int64_t n = tensor_count(x), shape[2] = {0, x->rank};
  for (int64_t i = 0; i < n; i++) {
    if (op_stopped(call)) return false;
    shape[0] += is_true(x, i);
  }
  Tensor *out = tensor_new(call->heap, DT_INT32, 2, shape);
  if (!out) return op_out_of_memory(call);
  put_places(call->stop, x, (int32_t *)out->data);
  call->outs[0] = out;
  return true;
}

/* --- unique -------------------------------------------------------------- */

/* A set of equal values: `count` of them, the first at position `first`. */
typedef struct Group {
  int64_t first, count, number;
} Group;

typedef struct Groups {
  Group *all;
  int64_t count;
  int64_t *group_of; /* position in the data -> its group */
} Groups;

/* By the operator `equal`, so that NaN equals nothing and -0 is 0. */
static bool same_value(const Tensor *x, int64_t i, int64_t k) {
  ScalarFn equal = op_scalar(OP_EQUAL, x->dtype, DT_BOOL);
  int fail = 0;
  Value a = tensor_bits_at(x, i), b = tensor_bits_at(x, k);
  return equal(a, b, a, &fail).b;
}

/* Groups equal values by sorting; groups ascend by value.  The sort is stable,
 * so the first member of a group is its first occurrence.  A NaN equals nothing
 * and makes a group of its own. */
static bool groups_of(OpCall *call, const Tensor *x, Groups *g) {
  int64_t n = x->shape[0];
  int64_t *room = ARENA_ARRAY(call->arena, int64_t, 2 * (size_t)n + 1);
  g->all = ARENA_ARRAY(call->arena, Group, (size_t)n + 1);
  g->group_of = ARENA_ARRAY(call->arena, int64_t, (size_t)n + 1);
  if (!room || !g->all || !g->group_of) return op_out_of_memory(call);
  Line line = {x->dtype, x->data, x->strides[0], n, false};
  const int64_t *order = line_sort(call, &line, room, room + n);
  if (!order) return false;
  BLOCKS(call->stop, n)
  for (int64_t i = at; i < end; i++) {
    bool joins = i > 0 && same_value(x, order[i - 1], order[i]);
    if (!joins) g->all[g->count++] = (Group){.first = order[i]};
    g->all[g->count - 1].count++;
    g->group_of[order[i]] = g->count - 1;
  }
  return !op_stopped(call);
}

/* Numbers the groups: by value, or by first occurrence.  Each group is numbered
 * where its first member is met. */
static void number_groups(StopFlag *stop, Groups *g, int64_t n, bool sorted) {
  int64_t next = 0;
  BLOCKS(stop, n)
  for (int64_t i = at; i < end; i++) {
    Group *group = &g->all[g->group_of[i]];
    if (group->first != i) continue;
    group->number = sorted ? g->group_of[i] : next++;
  }
}

/* The results have the length of the data; entries beyond the groups stay 0. */
static void put_groups(const OpCall *call, const Groups *g) {
  const Tensor *x = call->args[0];
  int32_t *first = (int32_t *)call->outs[1]->data;
  int64_t size = (int64_t)dtype_size(x->dtype);
  BLOCKS(call->stop, g->count)
  for (int64_t i = at; i < end; i++) {
    const Group *group = &g->all[i];
    bits_store(x->dtype, call->outs[0]->data + group->number * size,
               tensor_bits_at(x, group->first));
    first[group->number] = (int32_t)group->first;
    if (call->out_count > 4)
      ((int32_t *)call->outs[4]->data)[group->number] = (int32_t)group->count;
  }
}

/* Values, first positions, inverse, number of groups, and counts on request. */
bool kernel_unique(OpCall *call) {
  const Tensor *x = call->args[0];
  int64_t n = x->shape[0];
  Groups g = {0};
  if (!groups_of(call, x, &g)) return false;
  number_groups(call->stop, &g, n, attr_bool(call->attrs, ATTR_sorted));
  for (int i = 0; i < call->out_count; i++)
    if (!fill_with(call, call->outs[i], (Value){0})) return false;
  int32_t *inverse = (int32_t *)call->outs[2]->data;
  put_groups(call, &g);
  BLOCKS(call->stop, n)
  for (int64_t i = at; i < end; i++)
    inverse[i] = (int32_t)g.all[g.group_of[i]].number;
  *(int32_t *)call->outs[3]->data = (int32_t)g.count;
  return true;
}
