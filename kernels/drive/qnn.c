/* Operators on quantized tensors, step by step: what the row's `real` operator
 * computes on the numbers that integers stand for:
 *
 *   real = scale * (stored - zero point)
 *
 * Element-wise functions are computed in float32: dequantize, apply, quantize.
 * All others are computed in integers, as in Relay: a sum brings both operands
 * to the result's scale, a product multiplies the centred integers and has the
 * product of the scales.  Each step is an operator of the table (steps.h), so
 * it rounds and saturates as that operator does. */
#include "kernels/drive/fixed_point.h"
#include "kernels/drive/move.h"
#include "kernels/drive/steps.h"
#include "kernels/kernel.h"
#include "ops/rules/blocks.h"
#include "ops/rules/conv.h"

#include <math.h>

/* --- Parts --------------------------------------------------------------- */

static OpId real_of(const OpCall *call) { return op_id(call->op->real); }

/* A scale or zero point of one element as a number; others as they are. */
static Tensor number_view(const Tensor *t) {
  return tensor_count(t) == 1 ? geometry_of(t, 0, NULL, NULL, 0) : *t;
}

/* A vector that lies along an axis of tensors of this rank, as a view that
 * broadcasts over the others. */
static Tensor along(const Tensor *t, int axis, int rank) {
  int64_t shape[RANK_MAX], strides[RANK_MAX];
  if (tensor_count(t) == 1) return number_view(t);
  for (int k = 0; k < rank; k++) {
    shape[k] = k == axis ? t->shape[0] : 1;
    strides[k] = k == axis ? t->strides[0] : 0;
  }
  return geometry_of(t, rank, shape, strides, 0);
}

static bool all_zero(const Tensor *t) {
  for (int64_t i = 0; i < tensor_count(t); i++)
    if (tensor_i64_at(t, i) != 0) return false;
  return true;
}

/* x - zero as `dtype`; `zero` broadcasts.  Zero points of 0 are common, and
 * spare a pass. */
static const Tensor *centred(Steps *s, const Tensor *x, const Tensor *zero,
                             DType dtype) {
  x = step_cast(s, x, dtype);
  if (!x || all_zero(zero)) return x;
  return STEP(s, OP_SUBTRACT, NULL, x, step_cast(s, zero, dtype));
}

/* The same numbers at another scale and zero point; `in` and `out` are a scale
 * and a zero point each. */
static const Tensor *requantized(Steps *s, const Tensor *x,
                                 const Tensor *const *in, int axis,
                                 const Tensor *const *out, DType dtype) {
  if (!x) return NULL;
  Tensor scale = number_view(in[0]), zero = number_view(in[1]);
  Attrs *attrs = attrs_new(s->call->arena, op_info(OP_QNN_REQUANTIZE));
  attr_set_number(attrs, ATTR_axis, axis);
  attr_set_dtype(attrs, ATTR_out_dtype, dtype);
  return STEP(s, OP_QNN_REQUANTIZE, attrs, x, &scale, &zero, out[0], out[1]);
}

/* The last step: x clamped to the range of the result's dtype. */
static bool clamped(Steps *s, const Tensor *x) {
  DType dtype = s->call->outs[0]->dtype;
  Arena *arena = s->call->arena;
  Attrs *clip = attrs_new(arena, op_info(OP_CLIP));
  Attrs *cast = attrs_new(arena, op_info(OP_CAST));
  attr_set_real(clip, ATTR_a_min, (double)dtype_min_int(dtype));
  attr_set_real(clip, ATTR_a_max, (double)dtype_max_int(dtype));
  attr_set_dtype(cast, ATTR_dtype, dtype);
  return STEPS_END(s, OP_CAST, cast, STEP(s, OP_CLIP, clip, x));
}

/* The axis of channels, of a tensor that may have one axis or none. */
static int channel_axis(const OpCall *call, AttrName name, int rank) {
  return rank <= 1 ? 0 : attr_axis(call->attrs, name, rank);
}

/* --- Functions of one tensor --------------------------------------------- */

/* Operand 0 with the scale and zero point of operands 1 and 2. */
static const Tensor *dequantized(Steps *s) {
  const Tensor *const *a = s->call->args;
  return STEP(s, OP_QNN_DEQUANTIZE, NULL, a[0], a[1], a[2]);
}

/* The last step: x at the scale and zero point of operands 3 and 4. */
static bool quantized(Steps *s, const Tensor *x) {
  const Tensor *const *a = s->call->args;
  Attrs *attrs = attrs_new(s->call->arena, op_info(OP_QNN_QUANTIZE));
  attr_set_dtype(attrs, ATTR_out_dtype, s->call->outs[0]->dtype);
  return STEPS_END(s, OP_QNN_QUANTIZE, attrs, x, a[3], a[4]);
}

bool kernel_qnn_unary(OpCall *call) {
  Steps s = {.call = call};
  return quantized(&s, STEP(&s, real_of(call), NULL, dequantized(&s)));
}

/* x * clip(x + 3, 0, 6) / 6 */
bool kernel_qnn_hardswish(OpCall *call) {
  Steps s = {.call = call};
  Attrs *clip = attrs_new(call->arena, op_info(OP_CLIP));
  attr_set_real(clip, ATTR_a_min, 0);
  attr_set_real(clip, ATTR_a_max, 6);
  const Tensor *x = dequantized(&s);
  const Tensor *three = step_number(&s, DT_FLOAT32, 3);
  const Tensor *six = step_number(&s, DT_FLOAT32, 6);
  const Tensor *gate = STEP(&s, OP_ADD, NULL, x, three);
  gate = STEP(&s, OP_CLIP, clip, gate);
  const Tensor *scaled = STEP(&s, OP_MULTIPLY, NULL, x, gate);
  return quantized(&s, STEP(&s, OP_DIVIDE, NULL, scaled, six));
}

/* Multiplies by a real in fixed point; what is too small for the attribute's
 * range is 0. */
static const Tensor *times(Steps *s, const Tensor *x, double real) {
  FixedPoint f = fixed_point_of(real);
  if (f.shift < -31) f = (FixedPoint){0};
  Attrs *attrs = attrs_new(s->call->arena, op_info(OP_FIXED_POINT_MULTIPLY));
  attr_set_number(attrs, ATTR_multiplier, f.factor);
  attr_set_number(attrs, ATTR_shift, f.shift);
  return STEP(s, OP_FIXED_POINT_MULTIPLY, attrs, x);
}

/* Requantized, where there is another scale; what is below the zero point, then
 * alpha times that and 1 - alpha times the new zero point.  (A fourth operand
 * without a fifth holds alpha.) */
bool kernel_qnn_leaky_relu(OpCall *call) {
  Steps s = {.call = call};
  const Tensor *const *a = call->args;
  double alpha = attr_real(call->attrs, ATTR_alpha);
  const Tensor *x = step_cast(&s, a[0], DT_INT32);
  const Tensor *all = x, *zero = a[2];
  if (call->arg_count > 4) {
    all = requantized(&s, x, a + 1, -1, a + 3, DT_INT32);
    zero = a[4];
  }
  const Tensor *slope = times(&s, all, alpha);
  const Tensor *rest = times(&s, zero, 1 - alpha);
  const Tensor *below = STEP(&s, OP_ADD, NULL, slope, rest);
  const Tensor *is_below = STEP(&s, OP_LESS, NULL, x, a[2]);
  return clamped(&s, STEP(&s, OP_WHERE, NULL, is_below, below, all));
}

/* The mean of requantized integers, truncated as nn.avg_pool2d does it. */
bool kernel_qnn_avg_pool2d(OpCall *call) {
  Steps s = {.call = call};
  const Tensor *const *a = call->args;
  const Tensor *x = requantized(&s, a[0], a + 1, -1, a + 3, DT_INT32);
  return clamped(&s, STEP(&s, real_of(call), step_attrs(&s, real_of(call)), x));
}

/* --- Softmax ----------------------------------------------------------------
 * In integers: exp(x) = 2^(x log2 e), where log2 e is 1 + 1/2 - 1/16, and 2^-f
 * of a fraction f is 1 - f / 2.  All arithmetic wraps at 32 bits. */

/* Unsigned arithmetic, which wraps by definition; of int32_t an overflow would
 * be undefined. */
static int32_t shifted_left(int32_t x, int32_t by) {
  return (int32_t)((uint32_t)x << by);
}
static int32_t plus(int32_t x, int32_t y) {
  return (int32_t)((uint32_t)x + (uint32_t)y);
}
static int32_t product(int32_t x, int32_t y) {
  return (int32_t)((uint32_t)x * (uint32_t)y);
}

/* One element: the power of two that it lacks, and what that is times. */
typedef struct Power {
  int32_t fraction, whole;
} Power;

/* x is at most 0, with `one` standing for 1: exp(x) = 2^-whole * 2^-f.
 * Halvings are capped at 20; far fewer leave nothing of an 8-bit result. */
static Power power_of(int32_t x, int32_t one) {
  int32_t scaled = x + (x >> 1) - (x >> 4);
  int32_t whole = (int32_t)(-(int64_t)scaled / one);
  whole = whole > 20 ? 20 : whole;
  int32_t rest = plus(scaled, product(whole, one));
  return (Power){plus(rest >> 1, one), whole};
}

/* The elements of a line, `step` apart in both tensors. */
typedef struct SoftmaxLine {
  const int8_t *in;
  int32_t *out;
  int64_t n, step;
  int32_t one; /* 1 at the scale of the data */
} SoftmaxLine;

/* Three passes: the maximum, so that no exponent is positive; the largest
 * number of halvings, so that the smallest term keeps its bits; the terms and
 * their sum.  False when the exponentials sum to 0, which they can by
 * wrapping. */
static bool softmax_line(StopFlag *stop, const SoftmaxLine *l) {
  int32_t most = INT8_MIN, most_whole = 0, sum = 0;
  BLOCKS(stop, l->n)
  for (int64_t i = at; i < end; i++)
    if (l->in[i * l->step] > most) most = l->in[i * l->step];
  BLOCKS(stop, l->n)
  for (int64_t i = at; i < end; i++) {
    Power p = power_of(l->in[i * l->step] - most, l->one);
    if (p.whole > most_whole) most_whole = p.whole;
  }
  BLOCKS(stop, l->n)
  for (int64_t i = at; i < end; i++) {
    Power p = power_of(l->in[i * l->step] - most, l->one);
    int32_t exp = shifted_left(p.fraction, most_whole - p.whole);
    l->out[i * l->step] = exp;
    sum = plus(sum, exp);
  }
  if (sum == 0) return false;
  BLOCKS(stop, l->n)
  for (int64_t i = at; i < end; i++)
    l->out[i * l->step] = product((1 << 30) / sum, l->out[i * l->step]) >> 23;
  return true;
}

/* Lines along the axis: element i of the others is at i / step * step * n + i %
 * step. */
static bool softmax_lines(OpCall *call, const Tensor *x, Tensor *out,
                          int32_t one) {
  int axis = attr_axis(call->attrs, ATTR_axis, x->rank);
  SoftmaxLine l = {.n = x->shape[axis], .step = 1, .one = one};
  for (int k = axis + 1; k < x->rank; k++) l.step *= x->shape[k];
  int64_t count = tensor_count(x) / (l.n ? l.n : 1);
  for (int64_t i = 0; i < count; i++) {
    if (op_stopped(call)) return false;
    int64_t at = i / l.step * l.step * l.n + i % l.step;
    l.in = (const int8_t *)x->data + at;
    l.out = (int32_t *)out->data + at;
    if (!softmax_line(call->stop, &l) && !op_stopped(call))
      return op_fault(call, E0607, "the exponentials sum to 0");
  }
  return true;
}

/* The terms have 7 bits of fraction at zero point 0; requantizing brings them
 * to the result's scale. */
bool kernel_qnn_softmax(OpCall *call) {
  Steps s = {.call = call};
  const Tensor *const *a = call->args;
  float scale = tensor_bits_at(a[1], 0).f32;
  if (!(scale > 0 && scale <= 1))
    return op_fault(call, E0607, "a scale of %g is not above 0 and at most 1",
                    (double)scale);
  Value one = bits_from_f64(DT_INT32, (double)roundf(1.0f / scale));
  const Tensor *unit = step_number(&s, DT_FLOAT32, 1.0 / (1 << 7));
  const Tensor *zero = step_number(&s, DT_INT32, 0);
  Tensor *x = copy_of(call, a[0]);
  Tensor *out = x ? tensor_new(call->heap, DT_INT32, x->rank, x->shape) : NULL;
  bool ok = x && unit && zero && (out || op_out_of_memory(call)) &&
            softmax_lines(call, x, out, one.i32);
  Attrs *attrs = attrs_new(call->arena, op_info(OP_QNN_REQUANTIZE));
  ok = ok &&
       STEPS_END(&s, OP_QNN_REQUANTIZE, attrs, out, unit, zero, a[3], a[4]);
  steps_drop(&s);
  if (x) tensor_drop(call->heap, x);
  if (out) tensor_drop(call->heap, out);
  return ok;
}

/* --- Functions of two tensors -------------------------------------------- */

/* Where scales of channels lie along an operand. */
static int lhs_axis(const OpCall *call) {
  return channel_axis(call, ATTR_lhs_axis, call->args[0]->rank);
}
static int rhs_axis(const OpCall *call) {
  return channel_axis(call, ATTR_rhs_axis, call->args[1]->rank);
}

/* Sums and differences: both are brought to the scale of the result, where a
 * sum has its zero point twice, a difference not at all. */
bool kernel_qnn_add(OpCall *call) {
  Steps s = {.call = call};
  const Tensor *const *a = call->args;
  OpId real = real_of(call), back = real == OP_ADD ? OP_SUBTRACT : OP_ADD;
  const Tensor *x =
      requantized(&s, a[0], a + 2, lhs_axis(call), a + 6, DT_INT32);
  const Tensor *y =
      requantized(&s, a[1], a + 4, rhs_axis(call), a + 6, DT_INT32);
  x = step_cast(&s, x, DT_INT64);
  y = step_cast(&s, y, DT_INT64);
  const Tensor *zero = step_cast(&s, a[7], DT_INT64);
  const Tensor *both = STEP(&s, real, NULL, x, y);
  return clamped(&s, STEP(&s, back, NULL, both, zero));
}

/* The product has the product of the scales, and 0 as its zero point.  Scales
 * of channels lie along the axis of the operand that has them. */
bool kernel_qnn_mul(OpCall *call) {
  Steps s = {.call = call};
  const Tensor *const *a = call->args;
  int rank = call->outs[0]->rank;
  int k = lhs_axis(call), l = rhs_axis(call);
  Tensor zx = along(a[3], k, a[0]->rank), zy = along(a[5], l, a[1]->rank);
  Tensor sx = number_view(a[2]), sy = number_view(a[4]);
  int axis = sx.rank > 0 ? rank - a[0]->rank + k : rank - a[1]->rank + l;
  const Tensor *x = centred(&s, a[0], &zx, DT_INT32);
  const Tensor *y = centred(&s, a[1], &zy, DT_INT32);
  const Tensor *both = STEP(&s, OP_MULTIPLY, NULL, x, y);
  const Tensor *scale = STEP(&s, OP_MULTIPLY, NULL, &sx, &sy);
  const Tensor *zero = step_number(&s, DT_INT32, 0);
  Attrs *attrs = attrs_new(call->arena, op_info(OP_QNN_REQUANTIZE));
  attr_set_number(attrs, ATTR_axis, sx.rank + sy.rank > 0 ? axis : -1);
  attr_set_dtype(attrs, ATTR_out_dtype, call->outs[0]->dtype);
  return STEPS_END(&s, OP_QNN_REQUANTIZE, attrs, both, scale, zero, a[6], a[7]);
}

/* Each part brought to the scale of the result. */
bool kernel_qnn_concatenate(OpCall *call) {
  int n = (call->arg_count - 2) / 3;
  const Tensor *const *a = call->args, *const *to = a + 3 * n;
  Tensor *out = call->outs[0];
  int axis = attr_axis(call->attrs, ATTR_axis, out->rank);
  int64_t from = 0;
  bool ok = true;
  for (int i = 0; ok && i < n; i++) {
    Steps s = {.call = call};
    const Tensor *in[] = {a[n + i], a[2 * n + i]};
    Tensor part = geometry_slice(out, axis, from, a[i]->shape[axis]);
    const Tensor *x = requantized(&s, a[i], in, -1, to, out->dtype);
    ok = x && copy_into(call, &part, x);
    steps_drop(&s);
    from += a[i]->shape[axis];
  }
  return ok;
}

/* --- Products ------------------------------------------------------------ */

/* The axis of the weight's outputs, along which its zero points lie. */
static int output_axis(const OpCall *call, const Attrs *attrs) {
  const Tensor *x = call->args[0], *w = call->args[1];
  if (!attrs_have(attrs, ATTR_kernel_layout)) return 0;
  Conv conv;
  conv_of(attrs, attrs_have(attrs, ATTR_output_padding), &conv);
  conv_settle(&conv, dim_of(x->shape[conv.data.second]), dim_of(w->shape[0]),
              dim_of(w->shape[1]));
  return conv.weight.first;
}

/* The weight, without blocks. */
static const Tensor *plain_weight(Steps *s) {
  const OpCall *call = s->call;
  if (!attrs_have(call->attrs, ATTR_weight_layout)) return call->args[1];
  const char *text = attr_text(call->attrs, ATTR_weight_layout);
  return step_layout(s, call->args[1], text, layout_plain(call->arena, text));
}

/* The product of what data and weight stand for, at the product of their
 * scales. */
bool kernel_qnn_product(OpCall *call) {
  Steps s = {.call = call};
  const Tensor *const *a = call->args;
  Attrs *attrs = step_attrs(&s, real_of(call));
  DType wide = call->outs[0]->dtype == DT_INT64 ? DT_INT64 : DT_INT32;
  const Tensor *w = plain_weight(&s);
  if (!w) return false;
  Tensor zx = number_view(a[2]);
  Tensor zw = along(a[3], output_axis(call, attrs), w->rank);
  const Tensor *x = centred(&s, a[0], &zx, wide);
  w = centred(&s, w, &zw, wide);
  return STEPS_END(&s, real_of(call), attrs, x, w);
}

/* --- Simulation ---------------------------------------------------------- */

/* round(clip(x / scale)) * scale, unless `kind` says that it is the identity */
bool kernel_annotated_quantize(OpCall *call) {
  Steps s = {.call = call};
  const Tensor *const *a = call->args;
  if (attr_number(call->attrs, ATTR_kind) == 0)
    return copy_into(call, call->outs[0], a[0]);
  const Tensor *x = STEP(&s, OP_DIVIDE, NULL, a[0], a[1]);
  x = STEP(&s, OP_MINIMUM, NULL, x, a[3]);
  x = STEP(&s, OP_MAXIMUM, NULL, x, a[2]);
  x = STEP(&s, OP_ROUND, NULL, x);
  return STEPS_END(&s, OP_MULTIPLY, NULL, x, a[1]);
}
