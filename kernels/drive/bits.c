/* Kernels of numbers of a few bits: nn.bitpack, and bitserial_dense and
 * bitserial_conv2d, which are products of integers.  The reference computes
 * these bit by bit: the sum over bits b and c of the operands of the number of
 * places where both are set, times 2^(b + c).  That is the sum of the products,
 * and since integers wrap, the order of the sums does not affect it. */
#include <string.h>

#include "kernels/drive/steps.h"
#include "kernels/kernel.h"

static void put_int(Tensor *out, int64_t i, int64_t value) {
  bits_store(out->dtype, out->data + i * (int64_t)dtype_size(out->dtype),
             bits_from_i64(out->dtype, value));
}

/* --- Packing -------------------------------------------------------------- */

/* The integer of one bit of `width` elements of a line, the first of which is
 * the highest. */
static uint64_t packed(const Tensor *x, const char *line, int64_t step,
                       int width, int bit) {
  uint64_t word = 0;
  for (int k = 0; k < width; k++) {
    Value v = bits_load(x->dtype, line + k * step);
    word = word << 1 | ((uint64_t)bits_to_i64(x->dtype, v) >> bit & 1);
  }
  return word;
}

bool kernel_bitpack(OpCall *call) {
  const Tensor *x = call->args[0];
  Tensor *out = call->outs[0];
  int from = attr_axis(call->attrs, ATTR_pack_axis, x->rank);
  int to = attr_axis(call->attrs, ATTR_bit_axis, out->rank);
  int width = dtype_info[out->dtype].bits;
  int64_t n = tensor_count(out), size = (int64_t)dtype_size(x->dtype);
  for (int64_t i = 0; i < n; i++) {
    if (op_stopped(call)) return false;
    int64_t rest = i, offset = 0, bit = 0;
    for (int k = out->rank - 1; k >= 0; k--) {
      int64_t place = rest % out->shape[k];
      int axis = k > to ? k - 1 : k;
      rest /= out->shape[k];
      if (k == to) bit = place;
      else offset += place * x->strides[axis] * (axis == from ? width : 1);
    }
    uint64_t word = packed(x, x->data + offset * size, x->strides[from] * size,
                           width, (int)bit);
    put_int(out, i, (int64_t)word);
  }
  return true;
}

/* --- Products ------------------------------------------------------------- */

/* x's lowest bits as integers of the result's dtype, each times `scale`, less
 * `zero`. */
static const Tensor *low_bits(Steps *s, const Tensor *x, int64_t bits,
                              int64_t scale, int64_t zero) {
  if (!x) return NULL;
  Tensor *out = step_room(s, s->call->outs[0]->dtype, x->rank, x->shape);
  if (!out) return NULL;
  int64_t mask = ((int64_t)1 << bits) - 1;
  BLOCKS(s->call->stop, tensor_count(x))
  for (int64_t i = at; i < end; i++)
    put_int(out, i, (tensor_i64_at(x, i) & mask) * scale - zero);
  return out;
}

/* A packed weight as it was: axis `from` packed, the bits at `axis`. */
static const Tensor *unpacked(Steps *s, const Tensor *w, int from, int axis) {
  int64_t shape[RANK_MAX], width = dtype_info[w->dtype].bits;
  int64_t size = (int64_t)dtype_size(w->dtype), bits = w->shape[axis];
  int64_t bit_step = w->strides[axis] * size;
  int rank = 0;
  for (int i = 0; i < w->rank; i++)
    if (i != axis) shape[rank++] = w->shape[i] * (i == from ? width : 1);
  Tensor *out = step_room(s, DT_INT32, rank, shape);
  if (!out) return NULL;
  BLOCKS(s->call->stop, tensor_count(out))
  for (int64_t i = at; i < end; i++) {
    int64_t rest = i, offset = 0, shift = 0, value = 0;
    for (int k = w->rank - 1, to = rank - 1; k >= 0; k--) {
      if (k == axis) continue;
      int64_t place = rest % shape[to];
      rest /= shape[to--];
      if (k == from) shift = width - 1 - place % width;
      offset += (k == from ? place / width : place) * w->strides[k];
    }
    for (int64_t b = 0; b < bits; b++) {
      Value v = bits_load(w->dtype, w->data + offset * size + b * bit_step);
      value |= (int64_t)(v.u64 >> shift & 1) << b;
    }
    put_int(out, i, value);
  }
  return out;
}

/* With `unipolar` a bit of a weight is 1 or -1, so that a number w of n bits
 * stands for 2 * w - (2^n - 1). */
static bool on_integers(OpCall *call, OpId op, AttrName data_bits, Attrs *attrs,
                        int from, int axis) {
  Steps s = {.call = call};
  const Tensor *w = call->args[1];
  bool signs = attr_bool(call->attrs, ATTR_unipolar);
  int64_t bits = attr_number(call->attrs, ATTR_weight_bits);
  if (w->rank > call->args[0]->rank) w = unpacked(&s, w, from, axis);
  w = low_bits(&s, w, bits, signs ? 2 : 1,
               signs ? ((int64_t)1 << bits) - 1 : 0);
  const Tensor *x =
      low_bits(&s, call->args[0], attr_number(call->attrs, data_bits), 1, 0);
  attr_set_dtype(attrs, ATTR_out_dtype, call->outs[0]->dtype);
  return STEPS_END(&s, op, attrs, x, w);
}

bool kernel_bitserial_dense(OpCall *call) {
  Steps s = {.call = call};
  Attrs *attrs = step_attrs(&s, OP_NN_DENSE);
  return on_integers(call, OP_NN_DENSE, ATTR_data_bits, attrs, 2, 1);
}

bool kernel_bitserial_conv2d(OpCall *call) {
  Steps s = {.call = call};
  Attrs *attrs = step_attrs(&s, OP_NN_CONV2D);
  bool last = attr_word(call->attrs, ATTR_data_layout) == CHANNELS_LAST;
  attr_set_text(attrs, ATTR_kernel_layout, last ? "HWIO" : "OIHW");
  return on_integers(call, OP_NN_CONV2D, ATTR_activation_bits, attrs,
                     last ? 2 : 1, 4);
}
