/* Kernels that view or copy elements in another arrangement.  The first half
 * makes views: a header with new strides on the operand's buffer (view_out), so
 * they cost the same for any size.  The rest copies, through views on the
 * result. */
#include "base/stop.h"
#include "kernels/kernel.h"
#include "kernels/drive/move.h"
#include "ops/rules/slice.h"

#include <string.h>

/* The shape that the rule computed, for result i of the call. */
static const RuleType *result_type(const OpCall *call, int i) {
  const RuleType *r = call->result;
  return r->kind == RT_TUPLE ? &r->fields[i] : r;
}

/* --- reshape, squeeze, expand_dims --------------------------------------- */

/* The elements keep their row-major order, so of a contiguous operand the
 * result is a view; of any other it is a view of a copy. */
bool kernel_reshape(OpCall *call) {
  const Tensor *x = call->args[0];
  const RuleType *to = result_type(call, 0);
  Tensor *copy = NULL;
  if (!tensor_is_contiguous(x)) {
    copy = copy_of(call, x);
    if (!copy) return false;
    x = copy;
  }
  int64_t shape[RANK_MAX], strides[RANK_MAX];
  shape_of_dims(to->rank, to->dims, shape);
  strides_row_major(to->rank, shape, strides);
  Tensor view = geometry_of(x, to->rank, shape, strides, 0);
  bool ok = view_out(call, 0, &view);
  if (copy) tensor_drop(call->heap, copy);
  return ok;
}

/* Without axes the order is reversed. */
bool kernel_transpose(OpCall *call) {
  const Tensor *x = call->args[0];
  const AttrValue *axes = attr_get(call->attrs, ATTR_axes);
  bool named = axes->state == AV_SET && axes->count > 0;
  int64_t shape[RANK_MAX], strides[RANK_MAX];
  for (int i = 0; i < x->rank; i++) {
    int axis = named ? axis_from(attr_item(axes, i), x->rank) : x->rank - 1 - i;
    shape[i] = x->shape[axis];
    strides[i] = x->strides[axis];
  }
  Tensor view = geometry_of(x, x->rank, shape, strides, 0);
  return view_out(call, 0, &view);
}

/* A view: a repeated axis has stride 0. */
bool kernel_broadcast_to(OpCall *call) {
  const RuleType *to = result_type(call, 0);
  int64_t shape[RANK_MAX];
  shape_of_dims(to->rank, to->dims, shape);
  Tensor view = geometry_broadcast(call->args[0], to->rank, shape);
  return view_out(call, 0, &view);
}

/* An axis attribute, which the rule has found to be in range. */
static int axis_of(const OpCall *call, int rank) {
  return attr_axis(call->attrs, ATTR_axis, rank);
}

/* The same elements from the last one back, with a negative stride. */
bool kernel_reverse(OpCall *call) {
  Tensor view = *call->args[0];
  int axis = axis_of(call, view.rank);
  int64_t last = view.shape[axis] - 1;
  if (last > 0)
    view.data += last * view.strides[axis] * (int64_t)dtype_size(view.dtype);
  view.strides[axis] = -view.strides[axis];
  return view_out(call, 0, &view);
}

/* --- Slices -------------------------------------------------------------- */

/* A view kernel makes its results, so after a failure it drops those it has
 * made. */
static void drop_parts(OpCall *call, int n) {
  while (n-- > 0) tensor_drop(call->heap, call->outs[n]);
}

/* Parts are views on the operand's buffer, which lives as long as any of
 * them. */
bool kernel_split(OpCall *call) {
  const Tensor *x = call->args[0];
  int axis = axis_of(call, x->rank);
  int64_t from = 0;
  for (int i = 0; i < call->out_count; i++) {
    int64_t n = dim_value(result_type(call, i)->dims[axis]);
    Tensor view = geometry_slice(x, axis, from, n);
    if (!view_out(call, i, &view)) return drop_parts(call, i), false;
    from += n;
  }
  return true;
}

/* A negative step makes a negative stride, from the first element that it
 * takes. */
bool kernel_strided_slice(OpCall *call) {
  const Tensor *x = call->args[0];
  Tensor view = *x;
  Slice slices[RANK_MAX];
  slices_of(call->attrs, x->rank, x->shape, slices);
  for (int i = 0; i < x->rank; i++) {
    view.shape[i] = slices[i].count;
    /* the stride of an axis of length 1 is never used */
    view.strides[i] = slices[i].count > 1 ? x->strides[i] * slices[i].step : 1;
    if (tensor_count(x) > 0 && slices[i].count > 0)
      view.data +=
          slices[i].first * x->strides[i] * (int64_t)dtype_size(x->dtype);
  }
  return view_out(call, 0, &view);
}

bool kernel_slice_like(OpCall *call) {
  Tensor view = *call->args[0];
  const RuleType *to = result_type(call, 0);
  shape_of_dims(view.rank, to->dims, view.shape);
  return view_out(call, 0, &view);
}

/* --- Joining ------------------------------------------------------------- */

/* Are the operands, one after the other, the result's memory, and few enough
 * to be joined by one thread without a look at `stop`? */
static bool joins_runs(const OpCall *call, const Tensor *out, int axis) {
  for (int i = 0; i < axis; i++)
    if (out->shape[i] != 1) return false;
  for (int i = 0; i < call->arg_count; i++)
    if (!tensor_is_contiguous(call->args[i])) return false;
  return tensor_is_contiguous(out) && tensor_count(out) <= STOP_BLOCK;
}

/* Each operand fills a slice of the result. */
bool kernel_concatenate(OpCall *call) {
  Tensor *out = call->outs[0];
  int axis = axis_of(call, out->rank);
  int64_t from = 0;
  if (joins_runs(call, out, axis)) {
    char *to = out->data;
    for (int i = 0; i < call->arg_count; i++) {
      size_t bytes = tensor_bytes(call->args[i]);
      if (bytes) memcpy(to, call->args[i]->data, bytes);
      to += bytes;
    }
    return true;
  }
  for (int i = 0; i < call->arg_count; i++) {
    if (op_stopped(call)) return false;
    int64_t n = call->args[i]->shape[axis];
    Tensor part = geometry_slice(out, axis, from, n);
    if (!copy_into(call, &part, call->args[i])) return false;
    from += n;
  }
  return true;
}

/* The element `at` of axis `axis`, as a view without that axis. */
static Tensor row_of(const Tensor *t, int axis, int64_t at) {
  Tensor row = geometry_slice(t, axis, at, 1);
  row.rank--;
  for (int i = axis; i < row.rank; i++) {
    row.shape[i] = t->shape[i + 1];
    row.strides[i] = t->strides[i + 1];
  }
  return row;
}

/* Each operand fills one index of the new axis. */
bool kernel_stack(OpCall *call) {
  Tensor *out = call->outs[0];
  int axis = axis_of(call, out->rank);
  for (int i = 0; i < call->arg_count; i++) {
    if (op_stopped(call)) return false;
    Tensor row = row_of(out, axis, i);
    if (!copy_into(call, &row, call->args[i])) return false;
  }
  return true;
}

/* --- Repeating ----------------------------------------------------------- */

/* Fills axes 0..axis of a tiled result whose later axes are complete, by
 * copying the filled part after itself, n elements of the axis at a time. */
static bool tile_axis(const OpCall *call, Tensor *out, int axis, int64_t n) {
  for (int64_t at = n; at < out->shape[axis]; at += n) {
    Tensor from = geometry_slice(out, axis, 0, n);
    Tensor to = geometry_slice(out, axis, at, n);
    if (!copy_into(call, &to, &from)) return false;
  }
  return true;
}

/* The data goes to the corner of the result; then the filled corner is repeated
 * along the last axis, the result of that along the axis before it, and so on:
 *
 *   a b . .      a b a b      a b a b
 *   c d . .  ->  c d c d  ->  c d c d
 *   . . . .      . . . .      a b a b
 *   . . . .      . . . .      c d c d
 *
 * The copies get longer with each axis. */
bool kernel_tile(OpCall *call) {
  Tensor *out = call->outs[0];
  const Tensor *x = call->args[0];
  if (tensor_count(out) == 0) return true;
  Tensor padded = geometry_broadcast(x, out->rank, out->shape);
  Tensor done = *out; /* the corner that is filled so far */
  int lead = out->rank - x->rank;
  for (int i = 0; i < out->rank; i++)
    padded.shape[i] = done.shape[i] = i < lead ? 1 : x->shape[i - lead];
  if (!copy_into(call, &done, &padded)) return false;
  for (int i = out->rank - 1; i >= 0; i--) {
    int64_t n = done.shape[i];
    done.shape[i] = out->shape[i];
    if (!tile_axis(call, &done, i, n)) return false;
  }
  return true;
}

/* Sees the result's axis as (n, repeats): every slice of it is a copy of the
 * data. */
bool kernel_repeat(OpCall *call) {
  Tensor *out = call->outs[0];
  const Tensor *x = call->args[0];
  int64_t repeats = attr_number(call->attrs, ATTR_repeats);
  bool flat = !attr_is_set(call->attrs, ATTR_axis);
  int axis = flat ? 0 : axis_of(call, x->rank);
  for (int64_t i = 0; i < repeats && tensor_count(out) > 0; i++) {
    if (op_stopped(call)) return false;
    Tensor to = geometry_slice(out, axis, i, 1);
    to.shape[axis] = out->shape[axis] / repeats;
    to.strides[axis] = out->strides[axis] * repeats;
    if (!flat) {
      if (!copy_into(call, &to, x)) return false;
      continue;
    }
    int64_t strides[RANK_MAX];
    strides_row_major(x->rank, x->shape, strides);
    for (int k = 0; k < x->rank; k++) strides[k] *= repeats;
    Tensor spread = geometry_of(&to, x->rank, x->shape, strides, 0);
    if (!copy_into(call, &spread, x)) return false;
  }
  return true;
}

/* --- Padding ------------------------------------------------------------- */

typedef enum Fill {
  FILL_CONSTANT,
  FILL_EDGE,
  FILL_REFLECT,
  FILL_SYMMETRIC
} Fill;

static int64_t clamped(int64_t v, int64_t least, int64_t most) {
  return v < least ? least : v > most ? most : v;
}

/* The part of `out` that data fills, and the part of data that fits there.  A
 * negative width cuts the data. */
static void pad_centre(Tensor *to, Tensor *from, const AttrValue *width) {
  for (int i = 0; i < from->rank; i++) {
    int64_t before = attr_item_of(width, i, 0), n = from->shape[i];
    int64_t first = clamped(-before, 0, n);
    int64_t last = clamped(to->shape[i] - before, first, n);
    *from = geometry_slice(from, i, first, last - first);
    *to = geometry_slice(to, i, first + before, last - first);
  }
}

/* The source of position `at` on a padded axis of n elements, `at` < 0 in
 * front:
 *
 *   edge        a a | a b c | c c
 *   reflect     c b | a b c | b a     period 2 (n - 1): the ends once
 *   symmetric   b a | a b c | c b     period 2 n: the ends twice */
static int64_t pad_source(Fill fill, int64_t at, int64_t n) {
  if (fill == FILL_EDGE || n == 1) return clamped(at, 0, n - 1);
  bool symmetric = fill == FILL_SYMMETRIC;
  int64_t period = symmetric ? 2 * n : 2 * (n - 1);
  at = ((at % period) + period) % period;
  return at < n ? at : period - at - symmetric;
}

/* Fills both margins of one axis from the n elements between them, a slice at a
 * time; the loop jumps over what lies between. */
static bool pad_margins(const OpCall *call, Tensor *out, int axis, Fill fill,
                        int64_t before, int64_t n) {
  for (int64_t i = 0; i < out->shape[axis]; i++) {
    if (i == before && (i += n) == out->shape[axis]) break;
    int64_t source = pad_source(fill, i - before, n) + before;
    Tensor to = geometry_slice(out, axis, i, 1);
    Tensor from = geometry_slice(out, axis, source, 1);
    if (!copy_into(call, &to, &from)) return false;
  }
  return true;
}

/* Pads by copies of the data, axis after axis from the last, so that margins of
 * several axes are filled, too.  Refuses to cut an axis (a negative width). */
static bool pad_from_data(OpCall *call, Fill fill, const AttrValue *width) {
  Tensor *out = call->outs[0];
  const Tensor *x = call->args[0];
  for (int i = 0; i < x->rank; i++)
    if (x->shape[i] == 0 || attr_item_of(width, i, 0) < 0 ||
        attr_item_of(width, i, 1) < 0)
      return op_fault(call, E0303,
                      "this pad_mode needs elements on every "
                      "axis, and widths that are not negative");
  Tensor done = *out;
  for (int i = 0; i < x->rank; i++)
    done = geometry_slice(&done, i, attr_item_of(width, i, 0), x->shape[i]);
  for (int i = x->rank - 1; i >= 0; i--) {
    if (op_stopped(call)) return false;
    int64_t before = attr_item_of(width, i, 0);
    done.data -= before * out->strides[i] * (int64_t)dtype_size(out->dtype);
    done.shape[i] = out->shape[i];
    if (!pad_margins(call, &done, i, fill, before, x->shape[i])) return false;
  }
  return true;
}

/* Constant padding fills everything and copies the data over it. */
static bool pad(OpCall *call, Fill fill) {
  const AttrValue *width = attr_get(call->attrs, ATTR_pad_width);
  Tensor to = *call->outs[0], from = *call->args[0];
  if (tensor_count(&to) == 0) return true;
  if (fill == FILL_CONSTANT) {
    double value = attr_real(call->attrs, ATTR_pad_value);
    Value bits = call->arg_count > 1
                     ? bits_load(from.dtype, call->args[1]->data)
                     : bits_from_f64(from.dtype, value);
    if (!fill_with(call, call->outs[0], bits)) return false;
  }
  pad_centre(&to, &from, width);
  if (!copy_into(call, &to, &from)) return false;
  return fill == FILL_CONSTANT || pad_from_data(call, fill, width);
}

bool kernel_pad(OpCall *call) {
  static const Fill fills[] = {[PAD_CONSTANT] = FILL_CONSTANT,
                               [PAD_EDGE] = FILL_EDGE,
                               [PAD_REFLECT] = FILL_REFLECT};
  return pad(call, fills[attr_word(call->attrs, ATTR_pad_mode)]);
}

bool kernel_mirror_pad(OpCall *call) {
  bool reflects = attr_word(call->attrs, ATTR_mode) == MIRROR_REFLECT;
  return pad(call, reflects ? FILL_REFLECT : FILL_SYMMETRIC);
}
