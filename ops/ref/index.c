/* Kernels that look elements up or put them somewhere: take, gather,
 * gather_nd, scatter_nd, argwhere, unique.  Indices of any integer dtype. */
#include "ops/kernel.h"
#include "ops/ref/elementwise.h"
#include "ops/ref/move.h"
#include "ops/ref/sort.h"

#include <string.h>

static bool out_of_range(OpCall *call, int64_t at, int64_t n) {
  return op_fault(call, E0604, "index %lld is out of range for an axis of "
                  "length %lld", (long long)at, (long long)n);
}

/* --- take ---------------------------------------------------------------- */

typedef enum TakeMode { TAKE_CLIP, TAKE_WRAP, TAKE_FAST } TakeMode;

/* The position that an index means on an axis of n elements. */
static bool take_position(OpCall *call, TakeMode mode, int64_t n,
                          int64_t *at) {
  int64_t i = *at;
  if (n == 0 || (mode == TAKE_FAST && (i < 0 || i >= n)))
    return out_of_range(call, i, n);
  if (mode == TAKE_WRAP) *at = (i % n + n) % n;
  if (mode == TAKE_CLIP) *at = i < 0 ? 0 : i >= n ? n - 1 : i;
  return true;
}

/* One row, as a view. */
static bool take_row(OpCall *call, TakeMode mode, int axis) {
  const Tensor *x = call->args[0];
  int64_t at = tensor_i64_at(call->args[1], 0);
  if (!take_position(call, mode, x->shape[axis], &at)) return false;
  Tensor row = geometry_slice(x, axis, at, 1);
  row.rank--;
  for (int i = axis; i < row.rank; i++) {
    row.shape[i] = x->shape[i + 1];
    row.strides[i] = x->strides[i + 1];
  }
  return view_out(call, 0, &row);
}

/* The result with the axes of the indices as one, in place of `axis`. */
static Tensor take_target(const Tensor *out, const Tensor *x, int axis,
                          int64_t count) {
  int64_t shape[RANK_MAX], strides[RANK_MAX];
  memcpy(shape, x->shape, sizeof shape);
  shape[axis] = count;
  strides_row_major(x->rank, shape, strides);
  return geometry_of(out, x->rank, shape, strides, 0);
}

/* Indices first..first+count of the index tensor pick rows of `x`. */
static bool take_rows(OpCall *call, TakeMode mode, const Tensor *x, int axis,
                      int64_t first, int64_t count, const Tensor *to) {
  for (int64_t i = 0; i < count; i++) {
    if (op_stopped(call)) return false;
    int64_t at = tensor_i64_at(call->args[1], first + i);
    if (!take_position(call, mode, x->shape[axis], &at)) return false;
    Tensor from = geometry_slice(x, axis, at, 1);
    Tensor row = geometry_slice(to, axis, i, 1);
    tensor_copy_into(&row, &from);
  }
  return true;
}

/* The first `batch` axes at their position number `at`. */
static Tensor batch_at(const Tensor *t, int batch, int64_t at) {
  Tensor part = *t;
  for (int i = batch - 1; i >= 0; i--) {
    part = geometry_slice(&part, i, at % t->shape[i], 1);
    at /= t->shape[i];
  }
  return part;
}

static bool take_axis(OpCall *call, TakeMode mode, int axis, Tensor *out) {
  const Tensor *x = call->args[0], *indices = call->args[1];
  int64_t batch = attr_int(call->attrs, ATTR_batch_dims), batches = 1;
  if (batch < 0) batch += indices->rank;
  for (int i = 0; i < batch; i++) batches *= x->shape[i];
  if (tensor_count(out) == 0) return true;
  int64_t count = tensor_count(indices) / batches;
  Tensor target = take_target(out, x, axis, count);
  for (int64_t b = 0; b < batches; b++) {
    Tensor from = batch_at(x, (int)batch, b);
    Tensor to = batch_at(&target, (int)batch, b);
    if (!take_rows(call, mode, &from, axis, b * count, count, &to))
      return false;
  }
  return true;
}

/* Indices into the elements in row-major order. */
static bool take_flat(OpCall *call, TakeMode mode, Tensor *out) {
  const Tensor *x = call->args[0];
  int64_t n = tensor_count(x), count = tensor_count(out);
  for (int64_t i = 0; i < count; i++) {
    if (op_stopped(call)) return false;
    int64_t at = tensor_i64_at(call->args[1], i);
    if (!take_position(call, mode, n, &at)) return false;
    bits_store(out->dtype, out->data + i * (int64_t)dtype_size(out->dtype),
               tensor_bits_at(x, at));
  }
  return true;
}

bool kernel_take(OpCall *call) {
  const Tensor *x = call->args[0];
  const RuleType *to = call->result;
  bool flat = !attr_is_set(call->attrs, ATTR_axis);
  int64_t axis = flat ? 0 : attr_int(call->attrs, ATTR_axis);
  if (axis < 0) axis += x->rank;
  TakeMode mode = (TakeMode)attr_word(call->attrs, ATTR_mode);
  if (!flat && call->args[1]->rank == 0)
    return take_row(call, mode, (int)axis);
  Tensor *out = tensor_new(call->heap, to->dtype, to->rank, to->dims);
  if (!out) return op_out_of_memory(call);
  if (flat ? take_flat(call, mode, out)
           : take_axis(call, mode, (int)axis, out)) {
    call->outs[0] = out;
    return true;
  }
  tensor_drop(call->heap, out);
  return false;
}

/* --- gather -------------------------------------------------------------- */

bool kernel_gather(OpCall *call) {
  const Tensor *x = call->args[0], *indices = call->args[1];
  Tensor *out = call->outs[0];
  int64_t axis = attr_int(call->attrs, ATTR_axis), n = tensor_count(out);
  if (axis < 0) axis += x->rank;
  int64_t size = (int64_t)dtype_size(x->dtype);
  for (int64_t i = 0; i < n; i++) {
    if (op_stopped(call)) return false;
    int64_t at = tensor_i64_at(indices, i), rest = i, offset = 0;
    if (at < 0 || at >= x->shape[axis])
      return out_of_range(call, at, x->shape[axis]);
    for (int k = out->rank - 1; k >= 0; k--) {
      int64_t position = rest % out->shape[k];
      rest /= out->shape[k];
      offset += (k == axis ? at : position) * x->strides[k];
    }
    bits_store(out->dtype, out->data + i * size,
               bits_load(x->dtype, x->data + offset * size));
  }
  return true;
}

/* --- gather_nd, scatter_nd --------------------------------------------------
 * Index number i, of those that the trailing axes of `indices` hold, names
 * the part of a tensor at (indices[0, i], ..., indices[n-1, i]). */

static bool part_at(OpCall *call, const Tensor *t, int batch, int64_t i,
                    Tensor *part) {
  const Tensor *indices = call->args[1];
  int64_t n = indices->shape[0], count = tensor_count(indices) / n;
  int64_t in_batch = count, offset = 0, rest;
  for (int k = 0; k < batch; k++) in_batch /= indices->shape[k + 1];
  rest = i / in_batch;
  for (int k = batch - 1; k >= 0; k--) {
    offset += rest % t->shape[k] * t->strides[k];
    rest /= t->shape[k];
  }
  for (int k = 0; k < n; k++) {
    int64_t at = tensor_i64_at(indices, k * count + i);
    int axis = batch + k;
    if (at < 0 || at >= t->shape[axis])
      return out_of_range(call, at, t->shape[axis]);
    offset += at * t->strides[axis];
  }
  int named = batch + (int)n;
  geometry_set(part, t, t->rank - named, t->shape + named, t->strides + named,
               offset);
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

bool kernel_gather_nd(OpCall *call) {
  Tensor *out = call->outs[0];
  const Tensor *indices = call->args[1];
  int batch = (int)attr_int(call->attrs, ATTR_batch_dims);
  if (tensor_count(out) == 0) return true;
  if (indices->shape[0] == 0)
    return op_fault(call, E0607, "indices without coordinates");
  int64_t count = tensor_count(indices) / indices->shape[0];
  for (int64_t i = 0; i < count; i++) {
    Tensor part, to;
    if (op_stopped(call) || !part_at(call, call->args[0], batch, i, &part))
      return false;
    row_like(out, i, &part, &to);
    tensor_copy_into(&to, &part);
  }
  return true;
}

/* The operator that a mode combines with, in the order of the row's words;
 * OP_COPY: it replaces. */
static OpId scatter_mode(const OpCall *call, AttrName name) {
  static const OpId modes[] = {OP_COPY,    OP_ADD,     OP_MULTIPLY,
                               OP_MINIMUM, OP_MAXIMUM, OP_MEAN};
  return modes[attr_word(call->attrs, name)];
}

/* part = part op update */
static bool scatter_one(OpCall *call, OpId op, Tensor *part,
                        const Tensor *update) {
  if (op == OP_COPY) {
    tensor_copy_into(part, update);
    return true;
  }
  OpCall one = *call;
  one.args = (const Tensor *[]){part, update};
  one.arg_count = 2;
  one.outs = &part;
  return elementwise_run(&one, elementwise_of(op, part->dtype).strip, NULL);
}

bool kernel_scatter_nd(OpCall *call) {
  const Tensor *indices = call->args[1], *updates = call->args[2];
  Tensor *out = call->outs[0], *copy = NULL;
  OpId op = scatter_mode(call, ATTR_mode);
  copy_unless_same(out, call->args[0]);
  if (tensor_count(updates) == 0) return true;
  if (indices->shape[0] == 0)
    return op_fault(call, E0607, "indices without coordinates");
  if (!tensor_is_contiguous(updates)) {
    copy = tensor_copy(call->heap, updates);
    if (!copy) return op_out_of_memory(call);
    updates = copy;
  }
  int64_t count = tensor_count(indices) / indices->shape[0];
  bool ok = true;
  for (int64_t i = 0; ok && i < count; i++) {
    Tensor part, update;
    ok = !op_stopped(call) && part_at(call, out, 0, i, &part);
    if (!ok) break;
    row_like(updates, i, &part, &update);
    ok = scatter_one(call, op, &part, &update);
  }
  if (copy) tensor_drop(call->heap, copy);
  return ok;
}

/* --- adv_index, scatter_elements ----------------------------------------- */

/* The part of data that the indices name at position number `i` of their
 * common shape, the first `rank` dims of the result. */
static bool advanced_part(OpCall *call, int rank, int64_t i, Tensor *part) {
  const Tensor *x = call->args[0], *out = call->outs[0];
  int n = call->arg_count - 1;
  *part = *x;
  for (int k = 0; k < n; k++) {
    Tensor index = geometry_broadcast(call->args[k + 1], rank, out->shape);
    int64_t at = tensor_i64_at(&index, i);
    if (at < 0 || at >= x->shape[k]) return out_of_range(call, at, x->shape[k]);
    *part = geometry_slice(part, k, at, 1);
  }
  *part = geometry_of(part, x->rank - n, part->shape + n, part->strides + n, 0);
  return true;
}

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
    tensor_copy_into(&to, &part);
  }
  return true;
}

/* old (op) update; the mean is of the two: (old + update) / 2 */
static Value scatter_value(OpId op, DType dtype, Value old, Value update) {
  int fail = 0;
  OpId first = op == OP_MEAN ? OP_ADD : op;
  if (op == OP_COPY) return update;
  Value v = elementwise_of(first, dtype).scalar(old, update, old, &fail);
  if (op != OP_MEAN) return v;
  return elementwise_of(OP_DIVIDE, dtype)
      .scalar(v, bits_from_i64(dtype, 2), old, &fail);
}

/* Indices count from the end when negative. */
bool kernel_scatter_elements(OpCall *call) {
  const Tensor *indices = call->args[1], *updates = call->args[2];
  Tensor *out = call->outs[0];
  int64_t axis = attr_int(call->attrs, ATTR_axis), n = tensor_count(indices);
  int64_t size = (int64_t)dtype_size(out->dtype);
  OpId op = scatter_mode(call, ATTR_reduction);
  if (axis < 0) axis += out->rank;
  copy_unless_same(out, call->args[0]);
  for (int64_t i = 0; i < n; i++) {
    if (op_stopped(call)) return false;
    int64_t at = tensor_i64_at(indices, i), length = out->shape[axis];
    if (at < -length || at >= length) return out_of_range(call, at, length);
    if (at < 0) at += length;
    int64_t rest = i, offset = at * out->strides[axis];
    for (int k = out->rank - 1; k >= 0; k--) {
      if (k != axis) offset += rest % indices->shape[k] * out->strides[k];
      rest /= indices->shape[k];
    }
    char *place = out->data + offset * size;
    bits_store(out->dtype, place,
               scatter_value(op, out->dtype, bits_load(out->dtype, place),
                             tensor_bits_at(updates, i)));
  }
  return true;
}

/* --- Permutations and positions ------------------------------------------ */

static void put_int(Tensor *out, int64_t i, int64_t v) {
  bits_store(out->dtype, out->data + i * (int64_t)dtype_size(out->dtype),
             bits_from_i64(out->dtype, v));
}

bool kernel_invert_permutation(OpCall *call) {
  const Tensor *x = call->args[0];
  int64_t n = x->shape[0];
  fill_with(call->outs[0], (Value){0});
  for (int64_t i = 0; i < n; i++) {
    if (op_stopped(call)) return false;
    int64_t at = tensor_i64_at(x, i);
    if (at < 0 || at >= n) return out_of_range(call, at, n);
    put_int(call->outs[0], at, i);
  }
  return true;
}

/* Row-major positions in a tensor of that shape, as coordinates. */
bool kernel_unravel_index(OpCall *call) {
  const Tensor *x = call->args[0], *shape = call->args[1];
  int64_t n = tensor_count(x), rank = shape->shape[0];
  for (int64_t i = 0; i < n; i++) {
    if (op_stopped(call)) return false;
    int64_t rest = tensor_i64_at(x, i), at = rest;
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

static bool is_true(const Tensor *t, int64_t i) {
  Value v = tensor_bits_at(t, i);
  int fail = 0;
  return elementwise_cast(t->dtype, DT_BOOL).scalar(v, v, v, &fail).b;
}

bool kernel_argwhere(OpCall *call) {
  const Tensor *x = call->args[0];
  int64_t n = tensor_count(x), shape[2] = {0, x->rank};
  for (int64_t i = 0; i < n; i++) {
    if (op_stopped(call)) return false;
    shape[0] += is_true(x, i);
  }
  Tensor *out = tensor_new(call->heap, DT_INT32, 2, shape);
  if (!out) return op_out_of_memory(call);
  int32_t *row = (int32_t *)out->data;
  for (int64_t i = 0; i < n; i++) {
    if (!is_true(x, i)) continue;
    int64_t rest = i;
    for (int k = x->rank - 1; k >= 0; k--) {
      row[k] = (int32_t)(rest % x->shape[k]);
      rest /= x->shape[k];
    }
    row += x->rank;
  }
  call->outs[0] = out;
  return true;
}

/* --- unique -------------------------------------------------------------- */

/* Equal values: position `first` of the data is the first of `count`. */
typedef struct Group { int64_t first, count, number; } Group;

typedef struct Groups {
  Group *all;
  int64_t count;
  int64_t *group_of;  /* position in the data -> its group */
} Groups;

static bool same_value(const Tensor *x, int64_t i, int64_t k) {
  ScalarFn equal = elementwise_of(OP_EQUAL, x->dtype).scalar;
  int fail = 0;
  Value a = tensor_bits_at(x, i), b = tensor_bits_at(x, k);
  return equal(a, b, a, &fail).b;
}

/* Groups in ascending order of their value. */
static bool groups_of(OpCall *call, const Tensor *x, Groups *g) {
  int64_t n = x->shape[0];
  int64_t *room = ARENA_ARRAY(call->arena, int64_t, 2 * (size_t)n + 1);
  g->all = ARENA_ARRAY(call->arena, Group, (size_t)n + 1);
  g->group_of = ARENA_ARRAY(call->arena, int64_t, (size_t)n + 1);
  if (!room || !g->all || !g->group_of) return op_out_of_memory(call);
  Line line = {x->dtype, x->data, x->strides[0], n, false};
  const int64_t *order = line_sort(call, &line, room, room + n);
  if (!order) return false;
  for (int64_t i = 0; i < n; i++) {
    bool joins = i > 0 && same_value(x, order[i - 1], order[i]);
    if (!joins) g->all[g->count++] = (Group){.first = order[i]};
    g->all[g->count - 1].count++;
    g->group_of[order[i]] = g->count - 1;
  }
  return true;
}

/* Numbers the groups: by value, or by where they come up first. */
static void number_groups(Groups *g, int64_t n, bool sorted) {
  int64_t next = 0;
  for (int64_t i = 0; i < n; i++) {
    Group *group = &g->all[g->group_of[i]];
    if (group->first != i) continue;
    group->number = sorted ? g->group_of[i] : next++;
  }
}

bool kernel_unique(OpCall *call) {
  const Tensor *x = call->args[0];
  int64_t n = x->shape[0];
  Groups g = {0};
  if (!groups_of(call, x, &g)) return false;
  number_groups(&g, n, attr_bool(call->attrs, ATTR_sorted));
  for (int i = 0; i < call->out_count; i++)
    fill_with(call->outs[i], (Value){0});
  int32_t *first = (int32_t *)call->outs[1]->data;
  int32_t *inverse = (int32_t *)call->outs[2]->data;
  int64_t size = (int64_t)dtype_size(x->dtype);
  for (int64_t i = 0; i < g.count; i++) {
    const Group *group = &g.all[i];
    bits_store(x->dtype, call->outs[0]->data + group->number * size,
               tensor_bits_at(x, group->first));
    first[group->number] = (int32_t)group->first;
    if (call->out_count > 4)
      ((int32_t *)call->outs[4]->data)[group->number] = (int32_t)group->count;
  }
  for (int64_t i = 0; i < n; i++)
    inverse[i] = (int32_t)g.all[g.group_of[i]].number;
  *(int32_t *)call->outs[3]->data = (int32_t)g.count;
  return true;
}
