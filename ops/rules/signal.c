/* Rules of Fourier transforms, quantization, and drawing by weight. */
#include "ops/rules/support.h"

/*   re, im : (d..., n, t)    t floating-point
 *   ------------------------------------------
 *   dft(re, im) : ((d..., n, t), (d..., n, t))                              */
RULE(dft, "2 times (d..., n, t) -> 2 times (d..., n, t), t floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_dft(RuleCall *c) {
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_min_rank(c, 0, 1) ||
      !rule_same_dtype(c, 0, 1) ||
      !rule_fits(c, 1, c->args[0].rank, c->args[0].dims))
    return RULE_ERROR;
  RuleType *fields = rule_result_tuple(c, 2);
  if (!fields) return RULE_ERROR;
  fields[0] = fields[1] = c->args[0];
  return RULE_OK;
}

/*   x : (b, n, t) or (n, t)    window : (win_length, t)
 *   -----------------------------------------------------------------------
 *   stft(x, window) : (b, n_fft / 2 + 1 or n_fft, frames, 2, t), without b
 *   for a vector; frames = (n - n_fft) / hop_length + 1                     */
RULE(stft,
     "(b, n, t), (win_length, t) -> (b, frequencies, frames, 2, t), t "
     "floating-point",
     .takes = TAKES_FLOAT);
static RuleStatus rule_stft(RuleCall *c) {
  RuleType x = c->args[0];
  int64_t n, hop;
  Dim width = attr_int(c->attrs, ATTR_win_length);
  if (!rule_number(c, ATTR_n_fft, 1, STEP_MOST, &n) ||
      !rule_number(c, ATTR_hop_length, 1, STEP_MOST, &hop) ||
      !rule_in_range(c, ATTR_win_length, width, 1, n))
    return RULE_ERROR;
  if (!rule_class(c, 0, TAKES_FLOAT) || !rule_same_dtype(c, 0, 1) ||
      !rule_fits(c, 1, 1, &width))
    return RULE_ERROR;
  if (x.rank < 1 || x.rank > 2)
    return rule_error(c, E0303, 0, "takes 1 or 2 dims, not data %s",
                      rule_shape(c, 0));
  Dim room = dim_sub(c->dims, x.dims[x.rank - 1], dim_of(n));
  if (dim_below(room, 0))
    return rule_error(c, E0209, 0, "data %s is shorter than n_fft",
                      rule_shape(c, 0));
  bool onesided = attr_bool(c->attrs, ATTR_onesided);
  Dim dims[4] = {x.dims[0]};
  int rank = x.rank - 1;
  Dim frames = dim_div_floor(c->dims, room, hop);
  dims[rank++] = dim_of(onesided ? n / 2 + 1 : n);
  dims[rank++] = dim_add(c->dims, frames, dim_of(1));
  dims[rank++] = dim_of(2);
  return rule_result(c, x.dtype, rank, dims);
}

/* Operands i and i + 1 are a scale and a zero point: scalars, or one of each
 * for an element of the axis. */
static bool scale_and_zero(RuleCall *c, int i) {
  const RuleType *x = &c->args[0];
  int axis = 0;
  if (!rule_dtype(c, i, DT_FLOAT32) || !rule_dtype(c, i + 1, DT_INT32))
    return false;
  if (c->args[i].rank == 0 && c->args[i + 1].rank == 0) return true;
  Dim last = attr_int(c->attrs, ATTR_axis);
  if (!rule_axis_value(c, last, x->rank, &axis)) return false;
  for (int k = i; k <= i + 1; k++)
    if (c->args[k].rank != 0 && !rule_fits(c, k, 1, &x->dims[axis]))
      return false;
  return true;
}

static RuleStatus quantized(RuleCall *c) {
  DType out = attr_dtype(c->attrs, ATTR_out_dtype);
  if (!dtype_is_int(out) || dtype_size(out) > 4)
    return rule_error(c, E0304, -1,
                      "out_dtype is an integer of at most 32 "
                      "bits");
  return rule_result(c, out, c->args[0].rank, c->args[0].dims);
}

/*   x : (d..., float32)    s, z scalars or (d[k])
 *   ---------------------------------------------------------
 *   qnn.quantize(x, s, z, axis=k, out_dtype=u) : (d..., u)                  */
RULE(quantize, "(d..., float32), scale, zero point -> (d..., out_dtype)");
static RuleStatus rule_quantize(RuleCall *c) {
  if (!rule_dtype(c, 0, DT_FLOAT32) || !scale_and_zero(c, 1)) return RULE_ERROR;
  return quantized(c);
}

/*   x : (d..., int)    s, z scalars or (d[k])
 *   ------------------------------------------------------
 *   qnn.dequantize(x, s, z, axis=k, out_dtype=u) : (d..., u)                */
RULE(dequantize,
     "(d..., int), scale, zero point -> (d..., out_dtype), floating-point");
static RuleStatus rule_dequantize(RuleCall *c) {
  DType out = attr_dtype(c->attrs, ATTR_out_dtype);
  if (!rule_class(c, 0, TAKES_INT) || !scale_and_zero(c, 1)) return RULE_ERROR;
  if (!dtype_is_float(out))
    return rule_error(c, E0304, -1, "out_dtype is a floating-point dtype");
  return rule_result(c, out, c->args[0].rank, c->args[0].dims);
}

/*   x : (d..., int)    s1, z1, s2, z2 scalars or (d[k])
 *   -------------------------------------------------------------
 *   qnn.requantize(x, s1, z1, s2, z2, out_dtype=u) : (d..., u)              */
RULE(requantize, "(d..., int), 2 times scale, zero point -> (d..., out_dtype)");
static RuleStatus rule_requantize(RuleCall *c) {
  if (!rule_class(c, 0, TAKES_INT) || !scale_and_zero(c, 1) ||
      !scale_and_zero(c, 3))
    return RULE_ERROR;
  return quantized(c);
}
