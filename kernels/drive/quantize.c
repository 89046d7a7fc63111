/* Quantization: real = scale * (stored - zero point). */
#include "kernels/kernel.h"

#include <math.h>
#include <string.h>

/* The scale or zero point that applies to element i. */
static Value of_element(const OpCall *call, int operand, int64_t i) {
  const Tensor *x = call->args[0], *v = call->args[operand];
  if (v->rank == 0) return tensor_bits_at(v, 0);
  int axis = attr_axis(call->attrs, ATTR_axis, x->rank);
  for (int k = x->rank - 1; k > axis; k--) i /= x->shape[k];
  return tensor_bits_at(v, i % x->shape[axis]);
}

static float scale_of(const OpCall *call, int operand, int64_t i) {
  return of_element(call, operand, i).f32;
}

static int64_t zero_of(const OpCall *call, int operand, int64_t i) {
  return of_element(call, operand, i).i32;
}

/* Stores v clamped to the range of the result's dtype. */
static void put(Tensor *out, int64_t i, int64_t v) {
  int64_t least = dtype_min_int(out->dtype);
  int64_t most = (int64_t)dtype_max_int(out->dtype);
  v = v < least ? least : v > most ? most : v;
  bits_store(out->dtype, out->data + i * (int64_t)dtype_size(out->dtype),
             bits_from_i64(out->dtype, v));
}

/* round(x / scale) + zero point */
bool kernel_quantize(OpCall *call) {
  int64_t n = tensor_count(call->args[0]);
  for (int64_t i = 0; i < n; i++) {
    if (op_stopped(call)) return false;
    float x = tensor_bits_at(call->args[0], i).f32 / scale_of(call, 1, i);
    int64_t v = bits_from_f64(DT_INT32, roundf(x)).i32;
    put(call->outs[0], i, v + zero_of(call, 2, i));
  }
  return true;
}

/* (x - zero point) * scale */
bool kernel_dequantize(OpCall *call) {
  Tensor *out = call->outs[0];
  size_t size = dtype_size(out->dtype);
  int64_t n = tensor_count(call->args[0]);
  for (int64_t i = 0; i < n; i++) {
    if (op_stopped(call)) return false;
    int64_t x = tensor_i64_at(call->args[0], i), v;
    if (__builtin_sub_overflow(x, zero_of(call, 2, i), &v)) v = x;
    float real = (float)v * scale_of(call, 1, i);
    bits_store(out->dtype, out->data + (size_t)i * size,
               bits_from_f64(out->dtype, (double)real));
  }
  return true;
}

/* x * ratio in fixed point: 31 bits of the ratio's fraction, then a shift that
 * rounds halves up or away from zero. */
static int64_t fixed_multiply(int64_t x, double ratio, bool away) {
  int exponent;
  if (!(ratio > 0x1p-80) || ratio > 0x1p62) return 0;
  int64_t factor = (int64_t)round(ldexp(frexp(ratio, &exponent), 31));
  int shift = 31 - exponent;
  __int128 product = (__int128)x * factor;
  if (shift <= 0) return (int64_t)(product * ((__int128)1 << -shift));
  __int128 half = (__int128)1 << (shift - 1);
  return (int64_t)((product + half - (away && x < 0)) >> shift);
}

bool kernel_requantize(OpCall *call) {
  int64_t n = tensor_count(call->args[0]);
  bool away = strcmp(attr_text(call->attrs, ATTR_rounding), "TONEAREST") == 0;
  for (int64_t i = 0; i < n; i++) {
    if (op_stopped(call)) return false;
    int64_t x = tensor_i64_at(call->args[0], i), v;
    double ratio = (double)scale_of(call, 1, i) / (double)scale_of(call, 3, i);
    if (__builtin_sub_overflow(x, zero_of(call, 2, i), &v)) v = x;
    v = fixed_multiply(v, ratio, away);
    if (__builtin_add_overflow(v, zero_of(call, 4, i), &v)) v = INT64_MAX;
    put(call->outs[0], i, v);
  }
  return true;
}
