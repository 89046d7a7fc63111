/* Products, convolutions, pools, normalisations, padding. */
#include <string.h>

#include "export/say.h"

/* --- Products ------------------------------------------------------------- */

/* With the last two axes swapped, where `swap` says so. */
static Val *swapped(const Said *s, Val *v, bool swap) {
  int rank;
  int64_t perm[RANK_MAX];
  if (!v || !swap) return v;
  if (!val_rank(s->x, v, s->e->span, &rank)) return NULL;
  for (int i = 0; i < rank; i++) perm[i] = i;
  perm[rank - 2] = rank - 1;
  perm[rank - 1] = rank - 2;
  OnnxNode *n = said_over(s, "Transpose", 1, &v);
  if (n) onnx_attr_ints(s->x->w, n, "perm", rank, perm);
  return said_step_out(s, n, val_dtype(v), rank);
}

/* Both are computed in the result's dtype, which has room for the sums. */
static Val *product(const Said *s, bool swap_a, bool swap_b) {
  DType dtype = (DType)s->type->dtype;
  Val *a = cast_to(s->x, s->args[0], dtype);
  Val *b = cast_to(s->x, s->args[1], dtype);
  return said_last(s, "MatMul", 2,
                   (Val *[]){swapped(s, a, swap_a), swapped(s, b, swap_b)});
}

/* A product of two matrices is a Gemm, which takes the weight as it is. */
Val *say_dense(const Said *s) {
  int rank = said_rank(s, 0);
  DType dtype = (DType)s->type->dtype;
  if (rank < 0) return NULL;
  if (rank != 2 || dtype != val_dtype(s->args[0]) ||
      dtype != val_dtype(s->args[1]) || !dtype_is_float(dtype))
    return product(s, false, true);
  OnnxNode *n = said_node(s, "Gemm");
  if (n) onnx_attr_int(s->x->w, n, "transB", 1);
  return said_out(s, n);
}

Val *say_matmul(const Said *s) {
  return product(s, attr_bool(s->attrs, ATTR_transpose_a),
                 attr_bool(s->attrs, ATTR_transpose_b));
}

/* A vector as wide as it broadcasts along one axis of a tensor. */
static Val *along(const Said *s, Val *v, int axis, int rank) {
  int64_t axes[RANK_MAX];
  int behind = rank - 1 - axis;
  if (behind == 0) return v;
  for (int i = 0; i < behind; i++) axes[i] = i + 1;
  Val *list = val_ints(s->x, behind, axes);
  return said_step(s, "Unsqueeze", val_dtype(v), behind + 1, 2,
                   (Val *[]){v, list});
}

Val *say_bias_add(const Said *s) {
  int rank = said_rank(s, 0);
  int64_t axis;
  if (rank < 0 || !said_int(s, ATTR_axis, &axis)) return NULL;
  Val *bias = along(s, s->args[1], axis_from(axis, rank), rank);
  return said_last(s, "Add", 2, (Val *[]){s->args[0], bias});
}

Val *say_prelu(const Said *s) {
  int rank = said_rank(s, 0);
  int64_t axis;
  if (rank < 0 || !said_int(s, ATTR_axis, &axis)) return NULL;
  Val *slope = along(s, s->args[1], axis_from(axis, rank), rank);
  return said_last(s, "PRelu", 2, (Val *[]){s->args[0], slope});
}

/* --- Windows -------------------------------------------------------------- */

static bool is_usual(const Said *s, AttrName name, const char *usual) {
  const char *text = attr_text(s->attrs, name);
  if (!text || !*text || !strcmp(text, usual)) return true;
  said_refuse(s, "ONNX has channels in axis 1, and weights as rows of them");
  return false;
}

/* Relay's padding is one number, one per axis, or one per side (all begins,
 * then all ends); ONNX wants the last form. */
static bool put_pads(const Said *s, OnnxNode *n, int axes) {
  int64_t said[RANK_MAX], pads[RANK_MAX];
  int count = said_ints(s, ATTR_padding, 2 * axes, said);
  if (count < 0) return false;
  for (int i = 0; i < 2 * axes; i++)
    pads[i] = said[count == 1 ? 0 : count == 2 * axes ? i : i % axes];
  onnx_attr_ints(s->x->w, n, "pads", 2 * axes, pads);
  return true;
}

static bool put_list(const Said *s, OnnxNode *n, AttrName name,
                     const char *theirs, int axes) {
  int64_t list[RANK_MAX];
  int count = said_ints(s, name, axes, list);
  if (count < 0) return false;
  for (int i = count; i < axes; i++) list[i] = list[0];
  onnx_attr_ints(s->x->w, n, theirs, axes, list);
  return true;
}

/* data_layout and its like have one letter for each axis. */
static const char *usual_layout(int axes) {
  return axes == 1 ? "NCW" : axes == 2 ? "NCHW" : "NCDHW";
}

static OnnxNode *window_node(const Said *s, const char *op, int *axes) {
  int rank = said_rank(s, 0);
  *axes = rank - 2;
  OnnxNode *n = rank < 0 ? NULL : said_node(s, op);
  bool fine = n && put_list(s, n, ATTR_strides, "strides", *axes) &&
              put_pads(s, n, *axes);
  return fine ? n : NULL;
}

static Val *conv_of(const Said *s, const char *op, const char *weight[3]) {
  int axes = said_rank(s, 0) - 2;
  int64_t groups;
  if (axes < 1 || axes > 3 ||
      !is_usual(s, ATTR_data_layout, usual_layout(axes)) ||
      !is_usual(s, ATTR_kernel_layout, weight[axes - 1]) ||
      !is_usual(s, ATTR_out_layout, usual_layout(axes)) ||
      !said_default(s, ATTR_out_dtype) || !said_int(s, ATTR_groups, &groups))
    return NULL;
  OnnxNode *n = window_node(s, op, &axes);
  if (!n || !put_list(s, n, ATTR_dilation, "dilations", axes)) return NULL;
  onnx_attr_int(s->x->w, n, "group", groups);
  if (*op == 'C' && attrs_have(s->attrs, ATTR_output_padding) &&
      !put_list(s, n, ATTR_output_padding, "output_padding", axes))
    return NULL;
  return said_out(s, n);
}

Val *say_conv(const Said *s) {
  static const char *const weight[] = {"OIW", "OIHW", "OIDHW"};
  return conv_of(s, "Conv", (const char **)weight);
}

Val *say_conv_transpose(const Said *s) {
  static const char *const weight[] = {"IOW", "IOHW", "IODHW"};
  return conv_of(s, "ConvTranspose", (const char **)weight);
}

static OnnxNode *pool(const Said *s, const char *op) {
  int axes = said_rank(s, 0) - 2;
  if (axes < 1 || !is_usual(s, ATTR_layout, usual_layout(axes)) ||
      !is_usual(s, ATTR_out_layout, usual_layout(axes)))
    return NULL;
  OnnxNode *n = window_node(s, op, &axes);
  if (!n || !put_list(s, n, ATTR_pool_size, "kernel_shape", axes)) return NULL;
  if (attr_bool(s->attrs, ATTR_ceil_mode))
    onnx_attr_int(s->x->w, n, "ceil_mode", 1);
  return n;
}

Val *say_max_pool(const Said *s) {
  OnnxNode *n = pool(s, "MaxPool");
  bool fine =
      n && put_list(s, n, ATTR_dilation, "dilations", said_rank(s, 0) - 2);
  return fine ? said_out(s, n) : NULL;
}

Val *say_avg_pool(const Said *s) {
  OnnxNode *n = pool(s, "AveragePool");
  if (!n) return NULL;
  if (s->x->w->opset < 19) {
    if (!said_default(s, ATTR_dilation)) return NULL;
  } else if (!put_list(s, n, ATTR_dilation, "dilations", said_rank(s, 0) - 2)) {
    return NULL;
  }
  onnx_attr_int(s->x->w, n, "count_include_pad",
                attr_bool(s->attrs, ATTR_count_include_pad));
  return said_out(s, n);
}

/* --- Normalisations ------------------------------------------------------- */

/* What ONNX leaves no choice in. */
static bool usual_norm(const Said *s, int64_t wanted) {
  int64_t axis;
  int rank = said_rank(s, 0);
  if (rank < 0 || !said_int(s, ATTR_axis, &axis) ||
      !said_default(s, ATTR_center) || !said_default(s, ATTR_scale))
    return false;
  if (axis_from(axis, rank) == axis_from(wanted, rank)) return true;
  said_refuse(s, "ONNX normalises another axis");
  return false;
}

static OnnxNode *norm(const Said *s, const char *op, int64_t axis) {
  OnnxNode *n = usual_norm(s, axis) ? said_node(s, op) : NULL;
  if (n) onnx_attr_float(s->x->w, n, "epsilon", said_real(s, ATTR_epsilon));
  return n;
}

/* The mean and the variance that it gives are those that it takes. */
Val *say_batch_norm(const Said *s) {
  OnnxNode *n = norm(s, "BatchNormalization", 1);
  Val **items = ARENA_ARRAY(s->x->arena, Val *, 3);
  if (!n || !items) return NULL;
  items[0] = node_out(s->x, n, s->type->args[0]);
  items[1] = s->args[3];
  items[2] = s->args[4];
  return val_tuple(s->x, s->type, 3, items);
}

Val *say_layer_norm(const Said *s) {
  OnnxNode *n = norm(s, "LayerNormalization", -1);
  if (n) onnx_attr_int(s->x->w, n, "axis", -1);
  return said_out(s, n);
}

Val *say_instance_norm(const Said *s) {
  return said_out(s, norm(s, "InstanceNormalization", 1));
}

/* --- Padding -------------------------------------------------------------- */

Val *say_pad(const Said *s) {
  const AttrValue *widths = attr_get(s->attrs, ATTR_pad_width);
  int64_t pads[RANK_MAX * 2];
  int rank = widths->count;
  if (rank < 0 || rank > RANK_MAX || widths->operand >= 0)
    return said_refuse(s, "its widths have to be known before the run");
  for (int i = 0; i < rank; i++)
    for (int k = 0; k < 2; k++) pads[k * rank + i] = attr_item_of(widths, i, k);
  bool constant = attr_word(s->attrs, ATTR_pad_mode) == PAD_CONSTANT;
  Val *value = NULL;
  if (constant && s->count > 1)
    value = cast_to(s->x, s->args[1], val_dtype(s->args[0]));
  else if (constant && said_set(s, ATTR_pad_value))
    value = said_like(s, 0, said_real(s, ATTR_pad_value));
  OnnxNode *n =
      said_over(s, "Pad", value ? 3 : 2,
                (Val *[]){s->args[0], val_ints(s->x, 2 * rank, pads), value});
  if (n && !constant)
    onnx_attr_text(s->x->w, n, "mode", attr_text(s->attrs, ATTR_pad_mode));
  return said_out(s, n);
}
