/* See move.h; also the kernels that only copy, fill or choose.
 *
 * Geometry here is a Tensor on the C stack: a shape, strides and an address
 * over another tensor's elements.  It holds no reference, so it costs nothing,
 * and must not outlive the tensor that it looks at.
 *
 * Copies are tensor_copy_into()'s (tensor/copy.c), cut into pieces so that a
 * request to stop is seen within milliseconds, and shared among threads when
 * they are large.  Filling is copying a scalar that is broadcast. */
#include "kernels/drive/move.h"

#include "kernels/kernel.h"
#include "kernels/parallel.h"
#include "kernels/scalar.h"

#include <string.h>
#include <stdlib.h>

/* --- Geometry ------------------------------------------------------------ */

void geometry_set(Tensor *to, const Tensor *t, int rank, const int64_t *shape,
                  const int64_t *strides, int64_t offset) {
  to->obj = t->obj;
  to->dtype = t->dtype;
  to->rank = (uint8_t)rank;
  to->buffer = t->buffer;
  to->data = t->data + offset * (int64_t)dtype_size(t->dtype);
  for (int i = 0; i < rank; i++) {
    to->shape[i] = shape[i];
    to->strides[i] = strides[i];
  }
}

Tensor geometry_of(const Tensor *t, int rank, const int64_t *shape,
                   const int64_t *strides, int64_t offset) {
  Tensor v = *t;
  geometry_set(&v, t, rank, shape, strides, offset);
  return v;
}

/* An empty slice does not move the address, which might leave the buffer. */
Tensor geometry_slice(const Tensor *t, int axis, int64_t from, int64_t n) {
  Tensor v = *t;
  v.shape[axis] = n;
  if (n > 0) v.data += from * t->strides[axis] * (int64_t)dtype_size(t->dtype);
  return v;
}

/* Shapes are aligned at their last axes; an axis of length 1 repeats by stride
 * 0. */
Tensor geometry_broadcast(const Tensor *t, int rank, const int64_t *shape) {
  int64_t strides[RANK_MAX];
  for (int i = 0; i < rank; i++) {
    int own = i - (rank - t->rank);
    bool repeats = own < 0 || (t->shape[own] == 1 && shape[i] != 1);
    strides[i] = repeats ? 0 : t->strides[own];
  }
  return geometry_of(t, rank, shape, strides, 0);
}

/* Operands without a buffer are headers on the C stack, made for another kernel
 * or for a scalar: nothing could keep their elements alive. */
bool view_out(OpCall *call, int i, const Tensor *g) {
  if (!g->buffer) return (call->outs[i] = copy_of(call, g)) != NULL;
  call->outs[i] = tensor_view(call->heap, g, g->rank, g->shape, g->strides, 0);
  return call->outs[i] != NULL || op_out_of_memory(call);
}

static const double NANOSECONDS = 0.05; /* time to copy a byte */

/* --- Copying and filling ------------------------------------------------- */

enum { PIECE = 4 << 20 }; /* bytes between two polls of `stop` */

/* The axis with the largest stride; -1 for a tensor of one element. */
static int widest_axis(const Tensor *t) {
  int best = -1;
  for (int i = 0; i < t->rank; i++) {
    if (t->shape[i] == 1) continue;
    if (best < 0 || llabs(t->strides[i]) > llabs(t->strides[best])) best = i;
  }
  return best;
}

/* Copies a small tensor at once, and a large one by pieces of the axis that is
 * outermost in memory, so that each piece touches few pages of the target.  A
 * piece of one index along that axis may still be large, and is cut along the
 * next: so it recurses at most once for each axis. */
static bool copy_alone(const OpCall *call, Tensor *to, const Tensor *from) {
  size_t bytes = tensor_bytes(to);
  if (op_stopped(call)) return false;
  int axis = widest_axis(to);
  if (bytes <= PIECE || axis < 0) {
    tensor_copy_into(to, from);
    return true;
  }
  int64_t n = to->shape[axis], step = (int64_t)(PIECE / (bytes / (size_t)n));
  if (step < 1) step = 1;
  for (int64_t i = 0; i < n; i += step) {
    int64_t count = n - i < step ? n - i : step;
    Tensor part = geometry_slice(to, axis, i, count);
    Tensor source = geometry_slice(from, axis, i, count);
    if (!copy_alone(call, &part, &source)) return false;
  }
  return true;
}

/* The slices that threads share: along the first axis that is long enough, or
 * else the last. */
typedef struct Copying {
  const OpCall *call;
  const Tensor *to, *from;
  int axis;
} Copying;

static bool copy_share(const void *data, const Share *share) {
  const Copying *c = data;
  int64_t n = share->to - share->from;
  Tensor to = geometry_slice(c->to, c->axis, share->from, n);
  Tensor from = geometry_slice(c->from, c->axis, share->from, n);
  return copy_alone(c->call, &to, &from);
}

bool copy_into(const OpCall *call, Tensor *to, const Tensor *from) {
  Copying c = {call, to, from, 0};
  double work = NANOSECONDS * (double)tensor_bytes(to);
  while (c.axis < to->rank - 1 && to->shape[c.axis] < 16) c.axis++;
  int64_t pieces = to->rank ? to->shape[c.axis] : 1;
  int threads = parallel_threads(call, pieces, work);
  if (threads > 1) return parallel_run(call, threads, pieces, copy_share, &c);
  return copy_alone(call, to, from);
}

/* Owned by the caller. */
Tensor *copy_of(OpCall *call, const Tensor *t) {
  Tensor *copy = tensor_new(call->heap, t->dtype, t->rank, t->shape);
  if (!copy) return op_out_of_memory(call), NULL;
  if (copy_into(call, copy, t)) return copy;
  tensor_drop(call->heap, copy);
  return NULL;
}

bool copy_unless_same(const OpCall *call, Tensor *out, const Tensor *from) {
  return from == out || from->data == out->data || copy_into(call, out, from);
}

/* A scalar with all strides 0, copied. */
bool fill_with(const OpCall *call, Tensor *dst, Value bits) {
  Tensor scalar = tensor_on_bits(dst->dtype, &bits);
  Tensor repeated = geometry_broadcast(&scalar, dst->rank, dst->shape);
  return copy_into(call, dst, &repeated);
}

/* In place where the operand's memory has become the result's. */
bool kernel_copy(OpCall *call) {
  Tensor from = *call->args[0];
  /* for reinterpret: another dtype of equal size */
  from.dtype = call->outs[0]->dtype;
  return copy_unless_same(call, call->outs[0], &from);
}

/* Results are views, so nothing is copied for a checkpoint or an annotation. */
bool kernel_identity(OpCall *call) {
  for (int i = 0; i < call->arg_count; i++)
    if (!view_out(call, i, call->args[i])) return false;
  return true;
}

bool kernel_zeros(OpCall *call) {
  return fill_with(call, call->outs[0], (Value){0});
}

bool kernel_ones(OpCall *call) {
  Tensor *out = call->outs[0];
  return fill_with(call, out, bits_from_i64(out->dtype, 1));
}

/* The value is converted once, as a scalar, to the result's dtype. */
static bool full_of(OpCall *call, const Tensor *value) {
  DType to = call->outs[0]->dtype;
  int fail = 0;
  Value bits = bits_load(value->dtype, value->data);
  ScalarFn convert = op_scalar(OP_CAST, value->dtype, to);
  return fill_with(call, call->outs[0], convert(bits, bits, bits, &fail));
}

bool kernel_full(OpCall *call) { return full_of(call, call->args[0]); }
bool kernel_full_like(OpCall *call) { return full_of(call, call->args[1]); }
