/* Kernels that rearrange elements.  Each one describes a part of its operand
 * and a part of its result as strided tensors of one shape, headers on the C
 * stack that share the elements, and lets copy_into() do the rest: it merges
 * axes, goes by tiles where a copy is a transposition, polls `stop` and shares
 * large copies among threads.  So a kernel here is geometry alone:
 *
 *   depth_to_space   for each position in a block: channels -> a grid of cells
 *   reverse_sequence for each batch: a run with a negative stride
 *   trilu            for each row: the part to clear
 *   set_diag         for each diagonal: an axis whose stride is row + column
 *
 * Kernels whose parts do not cover the result first copy or fill the whole. */
#include "kernels/kernel.h"
#include "kernels/drive/elementwise.h"
#include "kernels/drive/move.h"
#include "kernels/ref/walk.h"
#include "ops/rules/layout.h"
#include "ops/rules/slice.h"

#include <string.h>

static int64_t ints_at(const OpCall *call, AttrName name, int i) {
  return attr_item(attr_get(call->attrs, name), i);
}

/* A view of n elements of an axis, `step` apart, starting at `from`.  The
 * stride of an axis of one element is never used, so it stays small. */
static Tensor every(const Tensor *t, int axis, int64_t from, int64_t step,
                    int64_t n) {
  Tensor part = geometry_slice(t, axis, from, n);
  if (n > 1) part.strides[axis] *= step;
  return part;
}

/* --- Layouts ------------------------------------------------------------- */

/* Splits each axis that is split in the other layout, and orders the axes by
 * their letters.  Two tensors refined by each other's layouts have equal
 * shapes, so a copy between them is a change of layout:
 *
 *            C        H  N  W
 *   NCHW     8 / 4, 4 H  N  W    of (N, 8, H, W)
 *   NCHW4c   2, 4     H  N  W    of (N, 2, H, W, 4) */
static void refine(const Layout *own, const Layout *other, const Tensor *t,
                   Tensor *out) {
  out->rank = 0;
  for (char letter = 'A'; letter <= 'Z'; letter++) {
    int axis = layout_axis(own, letter);
    if (axis < 0) continue;
    bool split = layout_inside(own, letter) > 1;
    const Layout *parts = split ? own : other;
    int64_t inside = split ? 1 : layout_inside(other, letter);
    out->shape[out->rank] = t->shape[axis] / inside;
    out->strides[out->rank++] = t->strides[axis] * inside;
    for (int i = 0; i < parts->rank; i++) {
      if (parts->axes[i].primal != letter || parts->axes[i].block <= 1)
        continue;
      out->shape[out->rank] = parts->axes[i].block;
      out->strides[out->rank++] =
          split ? t->strides[i] : t->strides[axis] * layout_behind(parts, i);
    }
  }
}

/* Copies from one layout to another; at most one of them has blocked axes. */
static bool copy_between(const OpCall *call, const Layout *from,
                         const Tensor *x, const Layout *to, const Tensor *y) {
  Tensor source = *x, target = *y;
  refine(from, to, x, &source);
  refine(to, from, y, &target);
  return copy_into(call, &target, &source);
}

/* The layout without its inner (block) axes, and the resulting shape: NCHW4c
 * becomes NCHW, with four times as many channels. */
static Layout unblocked(const Layout *l, const Tensor *x, int64_t *shape) {
  Layout plain = {0};
  for (int i = 0; i < l->rank; i++) {
    if (l->axes[i].block > 0) continue;
    shape[plain.rank] = x->shape[i] * layout_inside(l, l->axes[i].primal);
    plain.axes[plain.rank++] = l->axes[i];
  }
  return plain;
}

/* One copy where at most one layout has blocks.  Two blocked layouts may split
 * an axis into unequal blocks, which no single pair of geometries describes;
 * these go by way of the plain layout. */
bool kernel_layout_transform(OpCall *call) {
  const Tensor *x = call->args[0], *out = call->outs[0];
  Layout from, to;
  int64_t shape[RANK_MAX], ignored[RANK_MAX];
  layout_parse(attr_text(call->attrs, ATTR_src_layout), &from);
  layout_parse(attr_text(call->attrs, ATTR_dst_layout), &to);
  Layout plain = unblocked(&from, x, shape);
  if (plain.rank == from.rank || unblocked(&to, out, ignored).rank == to.rank)
    return copy_between(call, &from, x, &to, out);
  Tensor *middle = tensor_new(call->heap, x->dtype, plain.rank, shape);
  if (!middle) return op_out_of_memory(call);
  bool whole = copy_between(call, &from, x, &plain, middle) &&
               copy_between(call, &plain, middle, &to, out);
  tensor_drop(call->heap, middle);
  return whole;
}

/* --- Blocks -------------------------------------------------------------- */

/* The channels of the deep tensor that hold block position number `position` of
 * the wide one.  In mode DCR channel number position * C + c belongs to channel
 * c, in CRD c * block^2 + position. */
static Tensor channels_of(const Tensor *deep, int axis, int64_t block,
                          int64_t position, bool dcr) {
  int64_t channels = deep->shape[axis] / (block * block);
  if (dcr) return geometry_slice(deep, axis, position * channels, channels);
  return every(deep, axis, position, block * block, channels);
}

/* wide[n, c, h * block + i, w * block + j] and the channel of deep that belongs
 * to (c, i * block + j), at (h, w), are one element; the direction says which
 * side is copied.  One copy for each position in a block. */
static bool depth_space(OpCall *call, bool to_space) {
  const Tensor *x = call->args[0], *out = call->outs[0];
  const Tensor *deep = to_space ? x : out, *wide = to_space ? out : x;
  int64_t block = attr_number(call->attrs, ATTR_block_size);
  const char *mode = attr_text(call->attrs, ATTR_mode);
  bool dcr = !to_space || strcmp(mode, "DCR") == 0;
  Layout l;
  layout_parse(attr_text(call->attrs, ATTR_layout), &l);
  int h = layout_axis(&l, 'H'), w = layout_axis(&l, 'W');
  for (int64_t k = 0; k < block * block; k++) {
    if (op_stopped(call)) return false;
    Tensor part = channels_of(deep, layout_axis(&l, 'C'), block, k, dcr);
    Tensor rows = every(wide, h, k / block, block, deep->shape[h]);
    Tensor cells = every(&rows, w, k % block, block, deep->shape[w]);
    Tensor *target = to_space ? &cells : &part;
    if (!copy_into(call, target, to_space ? &part : &cells)) return false;
  }
  return true;
}

bool kernel_depth_to_space(OpCall *call) { return depth_space(call, true); }
bool kernel_space_to_depth(OpCall *call) { return depth_space(call, false); }

/* Within an image, element i of the result is that at the same place of
 * (offset, channel, h, w), where the image's elements in order are seen as
 * (channel, h * stride, w * stride) and the offset chooses one of each square
 * of stride * stride. */
bool kernel_yolo_reorg(OpCall *call) {
  const Tensor *x = call->args[0];
  int64_t s = attr_number(call->attrs, ATTR_stride);
  if (tensor_count(x) == 0) return true;
  Tensor *copy = tensor_is_contiguous(x) ? NULL : copy_of(call, x);
  if (!copy && !tensor_is_contiguous(x)) return false;
  int64_t channels = x->shape[1] / (s * s), h = x->shape[2], w = x->shape[3];
  int64_t shape[] = {x->shape[0], s, s, channels, h, w};
  int64_t from[] = {x->shape[1] * h * w, w * s, 1, h * s * w * s, s * w * s, s};
  int64_t to[6] = {[5] = 1};
  for (int i = 5; i > 0; i--) to[i - 1] = to[i] * shape[i];
  Tensor source = geometry_of(copy ? copy : x, 6, shape, from, 0);
  Tensor target = geometry_of(call->outs[0], 6, shape, to, 0);
  bool done = copy_into(call, &target, &source);
  if (copy) tensor_drop(call->heap, copy);
  return done;
}

/* The coordinate along block axis i of block position number `at`, in row-major
 * order. */
static int64_t block_position(const AttrValue *block, int i, int64_t at) {
  for (int k = block->count - 1; k > i; k--) at /= attr_item(block, k);
  return at % attr_item(block, i);
}

static int64_t block_count(const AttrValue *block) {
  int64_t count = 1;
  for (int i = 0; i < block->count; i++) count *= attr_item(block, i);
  return count;
}

/* The two parts that block position `at` pairs: a range of batches of the
 * batched tensor, and elements a block apart of the spread-out one.  Along each
 * axis, with `before` elements missing in front:
 *
 *   batched[., p, .]  =  spread[., p * size + offset - before, .]
 *
 * where offset is the coordinate of `at` in the block.  Both parts are cut to
 * the p whose element exists; the rest of `batched` is padding. */
static void block_parts(const AttrValue *block, AttrName margins,
                        const OpCall *call, int64_t at, Tensor *batched,
                        Tensor *spread) {
  int64_t batches = batched->shape[0] / block_count(block);
  *batched = geometry_slice(batched, 0, at * batches, batches);
  for (int i = 0; i < block->count; i++) {
    int64_t size = attr_item(block, i), length = spread->shape[i + 1];
    int64_t before = attr_item_of(attr_get(call->attrs, margins), i, 0);
    int64_t first = block_position(block, i, at) - before;
    int64_t skipped = first < 0 ? (-first + size - 1) / size : 0;
    first += skipped * size;
    int64_t n = first < length ? (length - first - 1) / size + 1 : 0;
    *spread = every(spread, i + 1, n ? first : 0, size, n);
    *batched = geometry_slice(batched, i + 1, n ? skipped : 0, n);
  }
}

/* Fills the result with the padding's value first: what the parts leave out. */
bool kernel_space_to_batch(OpCall *call) {
  const AttrValue *block = attr_get(call->attrs, ATTR_block_shape);
  Tensor *out = call->outs[0];
  Value pad = bits_from_f64(out->dtype, attr_real(call->attrs, ATTR_pad_value));
  if (tensor_count(out) == 0) return true;
  if (!fill_with(call, out, pad)) return false;
  for (int64_t k = 0; k < block_count(block); k++) {
    if (op_stopped(call)) return false;
    Tensor batched = *out, spread = *call->args[0];
    block_parts(block, ATTR_paddings, call, k, &batched, &spread);
    if (!copy_into(call, &batched, &spread)) return false;
  }
  return true;
}

bool kernel_batch_to_space(OpCall *call) {
  const AttrValue *block = attr_get(call->attrs, ATTR_block_shape);
  if (tensor_count(call->outs[0]) == 0) return true;
  for (int64_t k = 0; k < block_count(block); k++) {
    if (op_stopped(call)) return false;
    Tensor batched = *call->args[0], spread = *call->outs[0];
    block_parts(block, ATTR_crops, call, k, &batched, &spread);
    if (!copy_into(call, &spread, &batched)) return false;
  }
  return true;
}

/* out[i * stride] = x[i], and the value between them elsewhere. */
bool kernel_dilate(OpCall *call) {
  const Tensor *x = call->args[0];
  Tensor to = *call->outs[0];
  Value between =
      bits_from_f64(to.dtype, attr_real(call->attrs, ATTR_dilation_value));
  if (!fill_with(call, &to, between)) return false;
  for (int i = 0; i < x->rank; i++)
    to = every(&to, i, 0, ints_at(call, ATTR_strides, i), x->shape[i]);
  if (!copy_into(call, &to, x)) return false;
  return true;
}

/* --- Windows, grids ------------------------------------------------------ */

/* A view: the windows overlap in memory.  An axis of windows steps by the
 * stride, and each window's own axis by the data's step. */
bool kernel_sliding_window(OpCall *call) {
  const Tensor *x = call->args[0];
  const RuleType *to = call->result;
  int windows = attr_get(call->attrs, ATTR_window_shape)->count;
  int axis = x->rank - windows;
  int64_t shape[RANK_MAX], strides[RANK_MAX];
  for (int i = 0; i < x->rank; i++) {
    strides[i] = x->strides[i];
    if (i < axis) continue;
    if (dim_above(to->dims[i], 1))
      strides[i] *= ints_at(call, ATTR_strides, i - axis);
    strides[i + windows] = x->strides[i];
  }
  shape_of_dims(to->rank, to->dims, shape);
  Tensor view = geometry_of(x, to->rank, shape, strides, 0);
  return view_out(call, 0, &view);
}

/* Each vector along its axis of the grid, and with stride 0 along all others.
 * In mode xy the first two vectors exchange their axes, as in NumPy. */
bool kernel_meshgrid(OpCall *call) {
  bool xy = attr_word(call->attrs, ATTR_indexing) == INDEXING_XY;
  for (int i = 0; i < call->out_count; i++) {
    const Tensor *x = call->args[i], *out = call->outs[i];
    int64_t strides[RANK_MAX] = {0};
    int axis = xy && i < 2 && call->out_count > 1 ? 1 - i : i;
    strides[axis] = x->rank == 0 ? 0 : x->strides[0];
    Tensor grid = geometry_of(x, out->rank, out->shape, strides, 0);
    if (!copy_into(call, call->outs[i], &grid)) return false;
  }
  return true;
}

/* --- Sequences ----------------------------------------------------------- */

/* Copies everything, then each sequence's first n elements again, backwards.
 * Lengths are cut to the axis. */
bool kernel_reverse_sequence(OpCall *call) {
  const Tensor *x = call->args[0];
  Tensor *out = call->outs[0];
  int seq = attr_axis(call->attrs, ATTR_seq_axis, x->rank);
  int batch = attr_axis(call->attrs, ATTR_batch_axis, x->rank);
  if (!copy_into(call, out, x)) return false;
  for (int64_t b = 0; b < x->shape[batch]; b++) {
    if (op_stopped(call)) return false;
    int64_t n = tensor_i64_at(call->args[1], b);
    n = n < 0 ? 0 : n > x->shape[seq] ? x->shape[seq] : n;
    if (n == 0) continue;
    Tensor from = geometry_slice(x, batch, b, 1);
    Tensor to = geometry_slice(out, batch, b, 1);
    from = every(&from, seq, n - 1, -1, n);
    to = geometry_slice(&to, seq, 0, n);
    if (!copy_into(call, &to, &from)) return false;
  }
  return true;
}

/* How many of the indices from 0 to `most` are below a length, compared in its
 * dtype: an index beyond 2^11 is rounded when lengths are float16.  Rounding is
 * monotonic, so a binary search finds the first index that is not below.  All
 * are below where the length is NaN, since no comparison with it is true. */
static int64_t count_below(const Tensor *lengths, int64_t i, int64_t most) {
  DType dtype = (DType)lengths->dtype;
  int64_t low = 0, high = most, n = tensor_i64_at(lengths, i);
  if (!dtype_is_float(dtype)) return n < 0 ? 0 : n > most ? most : n;
  double length = tensor_f64_at(lengths, i);
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    double index = bits_to_f64(dtype, bits_from_i64(dtype, middle));
    if (index >= length) high = middle;
    else low = middle + 1;
  }
  return low;
}

bool kernel_sequence_mask(OpCall *call) {
  Tensor *out = call->outs[0];
  int seq = (int)attr_number(call->attrs, ATTR_axis), batch = 1 - seq;
  Value mask =
      bits_from_f64(out->dtype, attr_real(call->attrs, ATTR_mask_value));
  if (!copy_unless_same(call, out, call->args[0])) return false;
  for (int64_t b = 0; b < out->shape[batch]; b++) {
    if (op_stopped(call)) return false;
    int64_t n = count_below(call->args[1], b, out->shape[seq]);
    Tensor row = geometry_slice(out, batch, b, 1);
    row = geometry_slice(&row, seq, n, out->shape[seq] - n);
    if (!fill_with(call, &row, mask)) return false;
  }
  return true;
}

/* Shifts the buffer: its end moves to its front, then the data is appended. */
bool kernel_fifo_buffer(OpCall *call) {
  const Tensor *x = call->args[0], *buffer = call->args[1];
  Tensor *out = call->outs[0];
  int axis = attr_axis(call->attrs, ATTR_axis, x->rank);
  int64_t n = x->shape[axis], kept = out->shape[axis] - n;
  Tensor old = geometry_slice(buffer, axis, n, kept);
  Tensor head = geometry_slice(out, axis, 0, kept);
  Tensor tail = geometry_slice(out, axis, kept, n);
  if (!copy_into(call, &head, &old)) return false;
  if (!copy_into(call, &tail, x)) return false;
  return true;
}

/* --- Diagonals, triangles, parts ----------------------------------------- */

/* Row i of each matrix keeps the columns >= i + k (upper) or <= i + k (lower).
 * `edge` is the first column on the right of the border; k is clamped first, so
 * that the sum cannot overflow. */
bool kernel_trilu(OpCall *call) {
  Tensor *out = call->outs[0];
  int rows = out->rank - 2, columns = out->rank - 1;
  bool upper = attr_bool(call->attrs, ATTR_upper);
  int64_t n = out->shape[columns], k = tensor_i64_at(call->args[1], 0);
  k = k < -out->shape[rows] ? -out->shape[rows] : k > n ? n : k;
  if (!copy_unless_same(call, out, call->args[0])) return false;
  for (int64_t i = 0; i < out->shape[rows]; i++) {
    if (op_stopped(call)) return false;
    int64_t edge = i + k + !upper;
    edge = edge < 0 ? 0 : edge > n ? n : edge;
    Tensor row = geometry_slice(out, rows, i, 1);
    row = upper ? geometry_slice(&row, columns, 0, edge)
                : geometry_slice(&row, columns, edge, n - edge);
    if (!fill_with(call, &row, (Value){0})) return false;
  }
  return true;
}

/* Diagonal k of the matrices in the last two axes, as a view with one axis
 * less: an element is followed by the one a row down and a column on.  k > 0
 * lies above the main diagonal. */
static Tensor diagonal_of(const Tensor *t, int64_t k) {
  int rows = t->rank - 2, columns = t->rank - 1;
  int64_t row = k < 0 ? -k : 0, column = k > 0 ? k : 0;
  int64_t n = t->shape[rows] - row, m = t->shape[columns] - column;
  Tensor d = geometry_slice(t, rows, row, 1);
  d = geometry_slice(&d, columns, column, 1);
  d.rank--;
  d.shape[rows] = n < m ? n : m;
  d.strides[rows] = t->strides[rows] + t->strides[columns];
  return d;
}

/* Diagonals are stored from the highest to the lowest, padded to equal length:
 * on the left when they are aligned right. */
bool kernel_matrix_set_diag(OpCall *call) {
  const Tensor *values = call->args[1];
  Tensor *out = call->outs[0];
  int64_t low = attr_number(call->attrs, ATTR_k1);
  int64_t high = attr_number(call->attrs, ATTR_k2);
  if (!copy_unless_same(call, out, call->args[0])) return false;
  if (tensor_count(out) == 0) return true;
  for (int64_t k = low; k <= high; k++) {
    Tensor to = diagonal_of(out, k), from = *values;
    int axis = out->rank - 2;
    if (low < high) {
      from = geometry_slice(&from, axis, high - k, 1);
      from.rank--;
      from.shape[axis] = values->shape[axis + 1];
      from.strides[axis] = values->strides[axis + 1];
    }
    bool right = attr_bool(call->attrs, k >= 0 ? ATTR_super_diag_right_align
                                               : ATTR_sub_diag_right_align);
    int64_t n = to.shape[axis], spare = from.shape[axis] - n;
    from = geometry_slice(&from, axis, right ? spare : 0, n);
    if (!copy_into(call, &to, &from)) return false;
  }
  return true;
}

/* Element i of a list that may be shorter than the tensor's rank. */
static int64_t bound_at(const Tensor *list, int i, int64_t otherwise) {
  return i < list->shape[0] ? tensor_i64_at(list, i) : otherwise;
}

/* The part is described first, and every axis checked, before anything is
 * copied. */
bool kernel_strided_set(OpCall *call) {
  const Tensor *v = call->args[1];
  Tensor *out = call->outs[0], part = *out;
  for (int i = 0; i < out->rank; i++) {
    Slice s;
    int64_t n = out->shape[i], stride = bound_at(call->args[4], i, 1);
    if (stride == 0) return op_fault(call, E0607, "a stride of 0");
    int64_t begin = bound_at(call->args[2], i, stride > 0 ? 0 : n);
    int64_t end = bound_at(call->args[3], i, stride > 0 ? n : -n - 1);
    slice_bounds(n, begin, end, stride, &s);
    if (s.count != v->shape[i])
      return op_fault(call, E0603,
                      "axis %d of the slice is %lld long, that of "
                      "`v` %lld",
                      i, (long long)s.count, (long long)v->shape[i]);
    part = every(&part, i, s.count ? s.first : 0, s.step, s.count);
  }
  if (!copy_unless_same(call, out, call->args[0])) return false;
  if (!copy_into(call, &part, v)) return false;
  return true;
}
