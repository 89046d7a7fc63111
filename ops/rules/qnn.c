/* Rules of quantized tensors.  A real number is scale * (stored - zero point);
 * the scale and the zero point are numbers, or vectors along an axis. */
#include <math.h>

#include "ops/rules/blocks.h"
#include "ops/rules/conv.h"
#include "ops/rules/support.h"

/* --- From and to real numbers -------------------------------------------- */

/* One element serves all, whatever the rank, as in Relay. */
static bool is_single(const RuleType *t) {
  for (int i = 0; i < t->rank; i++)
    if (!dim_is(t->dims[i], 1)) return false;
  return true;
}

/* Operands i and i + 1 are a scale and a zero point: of one element each, or
 * of one for each element of the axis. */
static bool scale_and_zero(RuleCall *c, int i) {
  const RuleType *x = &c->args[0];
  int axis = 0;
  if (!rule_dtype(c, i, DT_FLOAT32) || !rule_dtype(c, i + 1, DT_INT32))
    return false;
  if (is_single(&c->args[i]) && is_single(&c->args[i + 1])) return true;
  Dim last = attr_int(c->attrs, ATTR_axis);
  if (!rule_axis_value(c, ATTR_axis, last, x->rank, &axis)) return false;
  for (int k = i; k <= i + 1; k++)
    if (!is_single(&c->args[k]) && !rule_fits(c, k, 1, &x->dims[axis]))
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

/* --- Scales and zero points ---------------------------------------------- */

static bool is_small_int(RuleCall *c, int i) {
  DType t = c->args[i].dtype;
  if (dtype_is_int(t) && dtype_size(t) <= 4) return true;
  rule_error(c, E0304, i, "`%s` holds integers of at most 32 bits, not %s",
             rule_arg_name(c, i), dtype_name(t));
  return false;
}

/* Operand i is a number, or a vector of so many. */
static bool rule_per_axis(RuleCall *c, int i, DType dtype, Dim n) {
  if (!rule_dtype(c, i, dtype)) return false;
  return is_single(&c->args[i]) || rule_fits(c, i, 1, &n);
}

/* Operands i and i + 1 are the scale and the zero point of a whole tensor. */
static bool rule_single_scale(RuleCall *c, int i) {
  return rule_dtype(c, i, DT_FLOAT32) && rule_dtype(c, i + 1, DT_INT32) &&
         rule_rank(c, i, 0) && rule_rank(c, i + 1, 0);
}

/* Runs the rule of the operator on real numbers on the first operands, as if
 * they were of dtype `as`; a mistake is reported as this call's.  The result
 * is in `out`. */
static RuleStatus rule_real(RuleCall *c, int count, DType as, RuleType *out) {
  RuleType args[2] = {c->args[0], count > 1 ? c->args[1] : c->args[0]};
  for (int i = 0; i < count && as != DTYPE_NONE; i++) args[i].dtype = as;
  RuleCall real = *c;
  real.op = c->op->real;
  real.named = c->op;
  real.attrs = attrs_shared(c->arena, real.op, c->attrs);
  real.args = args;
  real.count = count;
  RuleStatus status = op_rule(real.op)->run(&real);
  *out = real.result;
  rule_adopt(c, &real);
  return status;
}

/* --- Element-wise -------------------------------------------------------- */

/*   x : (d..., t)    s1, s2 scales    z1, z2 zero points
 *   -----------------------------------------------------
 *   qnn.tanh(x, s1, z1, s2, z2) : (d..., t)
 *
 * A fourth operand without a fifth is an attribute.                         */
RULE(qnn_unary,
     "(d..., t), 2 times scale, zero point -> (d..., t), t integer of at most "
     "32 bits");
static RuleStatus rule_qnn_unary(RuleCall *c) {
  if (!is_small_int(c, 0) || !rule_single_scale(c, 1) ||
      (c->count > 4 && !rule_single_scale(c, 3)))
    return RULE_ERROR;
  return rule_result_alike(c);
}

/*   as qnn_unary    |alpha| <= 2^30
 *   -----------------------------------------------------
 *   qnn.leaky_relu(x, s1, z1, s2, z2, alpha=) : (d..., t)
 *
 * Relay of 0.9 has no s2 and z2: they are s1 and z1.                        */
RULE(qnn_leaky_relu,
     "(d..., t), 1 or 2 times scale, zero point -> (d..., t), t integer of at "
     "most 32 bits");
static RuleStatus rule_qnn_leaky_relu(RuleCall *c) {
  double alpha = attr_real(c->attrs, ATTR_alpha);
  if (!(fabs(alpha) <= 0x1p30))
    return rule_attr_error(c, E0303, ATTR_alpha,
                           "alpha is from -2^30 to 2^30, not %g", alpha);
  if (c->count - attrs_operand_count(c->attrs) == 4)
    return rule_error(c, E0204, 3, "`%s` stands beside `%s`",
                      rule_arg_name(c, 3), "output_zero_point");
  return rule_qnn_unary(c);
}

/*   x : (d..., int8)    -r <= k < r
 *   --------------------------------------------------------
 *   qnn.softmax(x, s1, z1, s2, z2, axis=k) : (d..., int8)                   */
RULE(qnn_softmax,
     "(d..., int8), 2 times scale, zero point -> (d..., int8), axis in range");
static RuleStatus rule_qnn_softmax(RuleCall *c) {
  int axis;
  if (!rule_dtype(c, 0, DT_INT8) ||
      !rule_axis(c, ATTR_axis, c->args[0].rank, &axis))
    return RULE_ERROR;
  return rule_qnn_unary(c);
}

/* Operands `scale` and `scale + 1` belong to the channels of operand i, which
 * lie along an axis that an attribute names; along a vector's only one. */
static bool rule_channels(RuleCall *c, int i, int scale, AttrName name) {
  const RuleType *x = &c->args[i];
  Dim n = dim_of(1);
  int axis = 0;
  if (x->rank > 1 && !rule_axis(c, name, x->rank, &axis)) return false;
  if (x->rank > 0) n = x->dims[axis];
  return rule_per_axis(c, scale, DT_FLOAT32, n) &&
         rule_per_axis(c, scale + 1, DT_INT32, n);
}

/*   x : (a..., t)    y : (b..., t)    s1, z1 numbers or (a[k])
 *   s2, z2 numbers or (b[l])    s3 a scale    z3 a zero point
 *   --------------------------------------------------------------------
 *   qnn.add(x, y, s1, z1, s2, z2, s3, z3, lhs_axis=k, rhs_axis=l) :
 *     (a ^ b, t)                                                          */
RULE(qnn_binary,
     "(a..., t), (b..., t), 3 times scale, zero point -> (a ^ b, t), t integer "
     "of at most 32 bits");
static RuleStatus rule_qnn_binary(RuleCall *c) {
  RuleType out;
  if (!is_small_int(c, 0)) return RULE_ERROR;
  RuleStatus status = rule_real(c, 2, DTYPE_NONE, &out);
  if (status != RULE_OK) return status;
  if (!rule_channels(c, 0, 2, ATTR_lhs_axis) ||
      !rule_channels(c, 1, 4, ATTR_rhs_axis) || !rule_single_scale(c, 6))
    return RULE_ERROR;
  return rule_result(c, out.dtype, out.rank, out.dims);
}

/*   as qnn_binary; where both s1 and s2 are vectors, they meet in one axis
 *   ----------------------------------------------------------------------
 *   qnn.mul(x, y, s1, z1, s2, z2, s3, z3, ...) : (a ^ b, t)                 */
RULE(qnn_mul,
     "(a..., t), (b..., t), 3 times scale, zero point -> (a ^ b, t), t integer "
     "of at most 32 bits");
static RuleStatus rule_qnn_mul(RuleCall *c) {
  RuleStatus status = rule_qnn_binary(c);
  if (status != RULE_OK || is_single(&c->args[2]) || is_single(&c->args[4]))
    return status;
  int k = 0, l = 0, a = c->args[0].rank, b = c->args[1].rank;
  if (a > 1 && !rule_axis(c, ATTR_lhs_axis, a, &k)) return RULE_ERROR;
  if (b > 1 && !rule_axis(c, ATTR_rhs_axis, b, &l)) return RULE_ERROR;
  if (a - k == b - l) return RULE_OK;
  return rule_error(c, E0303, -1,
                    "lhs_axis and rhs_axis, both of several scales, are "
                    "different axes of the result");
}

/*   xi : (d..., t) with ni at k    si, zi a scale and a zero point
 *   ---------------------------------------------------------------------
 *   qnn.concatenate((x1, ...), (s1, ...), (z1, ...), s, z, axis=k) :
 *     (d with n1 + ... at k, t)                                           */
RULE(qnn_concatenate,
     "n times (d..., t), n scales, n zero points, scale, zero point -> (d with "
     "the sum at axis, t), t integer of at most 32 bits");
static RuleStatus rule_qnn_concatenate(RuleCall *c) {
  RuleType out, *x = c->args;
  RuleStatus status = rule_real(c, 1, DTYPE_NONE, &out);
  if (status != RULE_OK) return status;
  if (!dtype_is_int(out.dtype) || dtype_size(out.dtype) > 4)
    return rule_error(c, E0304, 0, "holds integers of at most 32 bits, not %s",
                      dtype_name(out.dtype));
  for (int i = 1; i <= 2; i++) {
    DType dtype = i == 1 ? DT_FLOAT32 : DT_INT32;
    if (x[i].count != x[0].count)
      return rule_error(c, E0209, i, "%d tensors have %d of `%s`", x[0].count,
                        x[i].count, rule_arg_name(c, i));
    for (int k = 0; k < x[i].count; k++)
      if (x[i].fields[k].rank != 0 || x[i].fields[k].dtype != dtype)
        return rule_error(c, E0301, i, "`%s` holds numbers of %s",
                          rule_arg_name(c, i), dtype_name(dtype));
  }
  if (!rule_single_scale(c, 3)) return RULE_ERROR;
  return rule_result(c, out.dtype, out.rank, out.dims);
}

/*   as nn.avg_pool2d, t an integer
 *   ---------------------------------------------------------
 *   qnn.avg_pool2d(x, s1, z1, s2, z2, ...) : (n, c, w..., t)                */
RULE(qnn_pool,
     "(n, c, d..., t), 2 times scale, zero point -> (n, c, number of "
     "windows..., t), t integer of at most 32 bits");
static RuleStatus rule_qnn_pool(RuleCall *c) {
  RuleType out;
  RuleStatus status = rule_qnn_unary(c);
  if (status == RULE_OK) status = rule_real(c, 1, DTYPE_NONE, &out);
  if (status != RULE_OK) return status;
  return rule_result(c, out.dtype, out.rank, out.dims);
}

/* --- Products ------------------------------------------------------------ */

/* Operands 2 to 5 are the zero points of data and weight and their scales.
 * Those of the weight may be vectors along its axis of outputs, of length n.
 * The scale of the result is the product of the two: it is not computed. */
static bool rule_product_scales(RuleCall *c, Dim zeros, Dim scales) {
  return rule_per_axis(c, 2, DT_INT32, dim_of(1)) &&
         rule_per_axis(c, 3, DT_INT32, zeros) &&
         rule_per_axis(c, 4, DT_FLOAT32, dim_of(1)) &&
         rule_per_axis(c, 5, DT_FLOAT32, scales);
}

static RuleStatus qnn_product(RuleCall *c, RuleType *out) {
  DType dtype = attr_dtype(c->attrs, ATTR_out_dtype);
  if (!is_small_int(c, 0) || !is_small_int(c, 1)) return RULE_ERROR;
  if (dtype != DT_INT16 && dtype != DT_INT32 && dtype != DT_INT64)
    return rule_error(c, E0304, -1, "out_dtype is int16, int32 or int64");
  return rule_real(c, 2, DT_INT32, out);
}

/* The product of two matrices.  Where the second holds weights, its units may
 * have zero points and scales of their own. */
static RuleStatus matrix_product(RuleCall *c, bool weights) {
  RuleType out;
  RuleStatus status = qnn_product(c, &out);
  if (status != RULE_OK) return status;
  Dim units = weights ? c->args[1].dims[0] : dim_of(1);
  if (!rule_product_scales(c, units, units)) return RULE_ERROR;
  return rule_result(c, out.dtype, out.rank, out.dims);
}

/*   x : (d..., k, t)    w : (n, k, u)    zx a number    zw a number or (n)
 *   ------------------------------------------------------------------------
 *   qnn.dense(x, w, zx, zw, sx, sw, out_dtype=v) : (d..., n, v)             */
RULE(qnn_dense,
     "(d..., k, t), (units, k, u), 2 zero points, 2 scales -> (d..., units, "
     "out_dtype), integers");
static RuleStatus rule_qnn_dense(RuleCall *c) {
  return matrix_product(c, true);
}

/*   as qnn.dense, w in blocks of layout l
 *   --------------------------------------------------------------------
 *   qnn.contrib_dense_pack(x, w, zx, zw, sx, sw, weight_layout=l) :
 *     (m, n, v)                                                           */
RULE(qnn_dense_pack,
     "(m, k, t), (n, k, u) in blocks, 2 zero points, 2 scales -> (m, n, "
     "out_dtype), integers");
static RuleStatus rule_qnn_dense_pack(RuleCall *c) {
  return rule_dense_in_blocks(c, rule_qnn_dense);
}

/*   as nn.batch_matmul    zero points and scales numbers
 *   ----------------------------------------------------------------------
 *   qnn.batch_matmul(x, y, zx, zy, sx, sy, out_dtype=v) : (b, m, n, v)      */
RULE(qnn_batch_matmul,
     "(b, m, k, t), (b, k, n, u), 2 zero points, 2 scales -> (b, m, n, "
     "out_dtype), integers");
static RuleStatus rule_qnn_batch_matmul(RuleCall *c) {
  return matrix_product(c, false);
}

static RuleStatus qnn_conv(RuleCall *c, bool transposed) {
  RuleType out;
  RuleStatus status = qnn_product(c, &out);
  if (status != RULE_OK) return status;
  Conv conv;
  const Attrs *attrs = attrs_shared(c->arena, c->op->real, c->attrs);
  AttrName wrong = conv_of(attrs, transposed, &conv);
  if (wrong != ATTR_NONE)
    return rule_attr_error(c, E0303, wrong,
                           "layouts of quantized tensors are plain");
  const Dim *x = c->args[0].dims, *w = c->args[1].dims;
  bool settled = conv_settle(&conv, x[conv.data.second], w[0], w[1]);
  Dim zeros = settled ? w[conv.weight.first] : DIM_ANY;
  if (!rule_product_scales(c, zeros, out.dims[conv.out.second]))
    return RULE_ERROR;
  return rule_result(c, out.dtype, out.rank, out.dims);
}

/*   as nn.conv2d    zx a number    zw a number or (o)
 *   ---------------------------------------------------------------------
 *   qnn.conv2d(x, w, zx, zw, sx, sw, out_dtype=v) : as nn.conv2d, v         */
RULE(qnn_conv,
     "(n, c, d..., t), (o, c / groups, k..., u), 2 zero points, 2 scales -> "
     "that of nn.conv2d, out_dtype, integers");
static RuleStatus rule_qnn_conv(RuleCall *c) { return qnn_conv(c, false); }

RULE(qnn_conv_transpose,
     "(n, c, d..., t), (c, o / groups, k..., u), 2 zero points, 2 scales -> "
     "that of nn.conv2d_transpose, out_dtype, integers");
static RuleStatus rule_qnn_conv_transpose(RuleCall *c) {
  return qnn_conv(c, true);
}

/* --- Fixed point --------------------------------------------------------- */

/*   x : (d..., int32)
 *   --------------------------------------------------------------
 *   fixed_point_multiply(x, multiplier=, shift=) : (d..., int32)            */
RULE(fixed_point_multiply, "(d..., int32) -> (d..., int32)",
     .fits = FITS_ALWAYS);
static RuleStatus rule_fixed_point_multiply(RuleCall *c) {
  int64_t number;
  if (!rule_dtype(c, 0, DT_INT32) ||
      !rule_number(c, ATTR_multiplier, INT32_MIN, INT32_MAX, &number) ||
      !rule_number(c, ATTR_shift, -31, 31, &number))
    return RULE_ERROR;
  return rule_result_alike(c);
}

/*   x : (d..., int32)    m, l, r : (d[k], int32)
 *   ----------------------------------------------------------------------
 *   fixed_point_multiply_per_axis(x, m, l, r, axes=[k]) : (d..., int32)     */
RULE(fixed_point_multiply_per_axis,
     "(d..., int32), 3 times (d[axis], int32) -> (d..., int32)");
static RuleStatus rule_fixed_point_multiply_per_axis(RuleCall *c) {
  const AttrValue *axes = attr_get(c->attrs, ATTR_axes);
  int axis;
  if (!rule_dtype(c, 0, DT_INT32)) return RULE_ERROR;
  if (axes->count != 1)
    return rule_attr_error(c, E0303, ATTR_axes, "axes holds one axis, not %d",
                           axes->count);
  if (!rule_axis_value(c, ATTR_axes, axes->ints[0], c->args[0].rank, &axis))
    return RULE_ERROR;
  for (int i = 1; i <= 3; i++)
    if (!rule_per_axis(c, i, DT_INT32, c->args[0].dims[axis]))
      return RULE_ERROR;
  return rule_result_alike(c);
}

/* --- Simulations --------------------------------------------------------- */

/*   x : (d..., float32)    d a code of a dtype    s, z numbers or (d[k])
 *   --------------------------------------------------------------------
 *   qnn.simulated_quantize(x, d, s, z, axis=k) : (d..., float32)            */
RULE(simulated,
     "(d..., float32), dtype's code, scale, zero point -> (d..., float32)");
static RuleStatus rule_simulated(RuleCall *c) {
  const RuleType *x = &c->args[0];
  int axis = 0;
  if (!rule_dtype(c, 0, DT_FLOAT32) || !rule_rank(c, 1, 0) ||
      !rule_class(c, 1, TAKES_INT))
    return RULE_ERROR;
  bool single = is_single(&c->args[2]) && is_single(&c->args[3]);
  if (!single && !rule_axis(c, ATTR_axis, x->rank, &axis)) return RULE_ERROR;
  Dim n = single ? dim_of(1) : x->dims[axis];
  if (!rule_per_axis(c, 2, DT_FLOAT32, n) ||
      !rule_per_axis(c, 3, c->args[3].dtype, n))
    return RULE_ERROR;
  if (!dtype_is_int(c->args[3].dtype) && c->args[3].dtype != DT_FLOAT32)
    return rule_error(c, E0304, 3, "`%s` is an integer or float32",
                      rule_arg_name(c, 3));
  return rule_result_alike(c);
}

/*   x : (d..., t)    s, least, most : t
 *   --------------------------------------------------------------------
 *   relay.op.annotation.simulated_quantize(x, s, least, most) : (d..., t)   */
RULE(annotated_quantize,
     "(d..., t), 3 times ((), t) -> (d..., t), t "
     "floating-point",
     .takes = TAKES_FLOAT, .fits = FITS_ALWAYS);
static RuleStatus rule_annotated_quantize(RuleCall *c) {
  if (!rule_class(c, 0, TAKES_FLOAT)) return RULE_ERROR;
  for (int i = 1; i <= 3; i++)
    if (!rule_same_dtype(c, 0, i) || !rule_rank(c, i, 0)) return RULE_ERROR;
  return rule_result_alike(c);
}
