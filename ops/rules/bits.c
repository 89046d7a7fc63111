/* Rules of operators whose numbers have a few bits, and of weights packed by
 * them: 8 to 64 elements along an axis become one integer for each bit. */
#include "ops/rules/support.h"

enum { BITS_MOST = 8 };

/* An attribute that names a dtype of a class; `otherwise` where none is
 * named. */
static bool dtype_attr(RuleCall *c, AttrName name, DType otherwise,
                       bool is_unsigned, DType *dtype) {
  *dtype = attr_dtype(c->attrs, name);
  if (*dtype == DTYPE_NONE) *dtype = otherwise;
  DTypeClass class = dtype_info[*dtype].class;
  if (class == CLASS_U || (class == CLASS_I && !is_unsigned)) return true;
  rule_error(c, E0304, -1, "`%s` is an %sinteger's, not %s",
             attr_name_text(name), is_unsigned ? "unsigned " : "",
             dtype_name(*dtype));
  return false;
}

/*   x : (d..., t)    d = (.., k, ..) at pack_axis    t, u integers
 *   -----------------------------------------------------------------------
 *   nn.bitpack(x, bits=n, pack_type=u) : (.., k / bits of u, .. and n, u)   */
RULE(bitpack,
     "(d..., t) -> (d with an axis shortened, and one of bits, pack_type), t "
     "integer",
     .takes = TAKES_INT);
static RuleStatus rule_bitpack(RuleCall *c) {
  RuleType x = c->args[0];
  int from, to;
  int64_t bits;
  DType dtype;
  if (!rule_class(c, 0, TAKES_INT) || !rule_min_rank(c, 0, 1) ||
      !rule_number(c, ATTR_bits, 1, BITS_MOST, &bits) ||
      !rule_axis(c, ATTR_pack_axis, x.rank, &from) ||
      !rule_axis(c, ATTR_bit_axis, x.rank + 1, &to) ||
      !dtype_attr(c, ATTR_pack_type, DT_UINT32, true, &dtype))
    return RULE_ERROR;
  int64_t width = dtype_info[dtype].bits;
  if (dim_is_number(x.dims[from]) && dim_value(x.dims[from]) % width)
    return rule_error(c, E0303, 0,
                      "axis %d of data %s is no multiple of the "
                      "%lld bits of %s",
                      from, rule_shape(c, 0), (long long)width,
                      dtype_name(dtype));
  Dim dims[RANK_MAX + 1];
  for (int i = 0, k = 0; i <= x.rank; i++)
    if (i == to) dims[i] = dim_of(bits);
    else if (k++ == from) dims[i] = dim_div_floor(c->dims, x.dims[from], width);
    else dims[i] = x.dims[k - 1];
  return rule_result(c, dtype, x.rank + 1, dims);
}

/* The weight as it is without packing, where axis `packed` is packed and the
 * bits are at `axis`. */
static bool unpacked_weight(RuleCall *c, int packed, int axis,
                            RuleType *plain) {
  RuleType w = c->args[1];
  int64_t bits = attr_number(c->attrs, ATTR_weight_bits);
  *plain = w;
  if (dtype_info[w.dtype].class != CLASS_U) {
    rule_error(c, E0304, 1, "a packed weight is of unsigned integers, not %s",
               dtype_name(w.dtype));
    return false;
  }
  if (dim_equal(w.dims[axis], dim_of(bits)) == NO) {
    rule_error(c, E0209, 1, "axis %d of the weight %s is of %lld bits", axis,
               rule_shape(c, 1), (long long)bits);
    return false;
  }
  plain->rank = 0;
  for (int i = 0; i < w.rank; i++) {
    Dim width = dim_of(i == packed ? dtype_info[w.dtype].bits : 1);
    if (i != axis)
      plain->dims[plain->rank++] = dim_mul(c->dims, w.dims[i], width);
  }
  return true;
}

/* Runs the rule of the operator on plain integers of the result's dtype. */
static RuleStatus on_integers(RuleCall *c, RuleId rule, AttrName data_bits,
                              int rank, int packed, int axis) {
  RuleType args[] = {c->args[0], c->args[1]};
  int64_t bits, weight_bits;
  DType dtype,
      other = c->op->rule == RULE_bitserial_dense ? args[0].dtype : DT_INT16;
  if (!rule_class(c, 0, TAKES_INT) || !rule_class(c, 1, TAKES_INT) ||
      !rule_number(c, data_bits, 1, BITS_MOST, &bits) ||
      !rule_number(c, ATTR_weight_bits, 1, BITS_MOST, &weight_bits) ||
      !dtype_attr(c, ATTR_out_dtype, other, false, &dtype))
    return RULE_ERROR;
  if (c->args[1].rank == rank + 1) {
    if (!unpacked_weight(c, packed, axis, &args[1])) return RULE_ERROR;
  } else if (!rule_rank(c, 1, rank)) {
    return RULE_ERROR;
  }
  args[0].dtype = args[1].dtype = dtype;
  RuleCall plain = *c;
  plain.op = op_info(rule == RULE_conv ? OP_NN_CONV2D : OP_NN_DENSE);
  plain.named = c->op;
  Attrs *attrs = attrs_shared(c->arena, plain.op, c->attrs);
  attr_set_dtype(attrs, ATTR_out_dtype, dtype);
  plain.attrs = attrs;
  plain.args = args;
  RuleStatus status = rule_table[rule]->run(&plain);
  rule_adopt(c, &plain);
  c->result = plain.result;
  return status;
}

/*   x : (m, k, t)    w : (n, k, u), or packed (n, weight_bits, k / bits of u)
 *   ------------------------------------------------------------------------
 *   nn.bitserial_dense(x, w, out_dtype=v) : (m, n, v)                       */
RULE(bitserial_dense,
     "(m, k, t), (n, k, u) or packed (n, bits, k / bits of u) -> (m, n, "
     "out_dtype), t, u integers",
     .takes = TAKES_INT);
static RuleStatus rule_bitserial_dense(RuleCall *c) {
  if (!rule_rank(c, 0, 2)) return RULE_ERROR;
  return on_integers(c, RULE_dense, ATTR_data_bits, 2, 2, 1);
}

/*   x : (b, c, h, w, t)    w : (o, c, k..., u), or packed, with bits last
 *   -----------------------------------------------------------------------
 *   nn.bitserial_conv2d(x, w, out_dtype=v) : as nn.conv2d, v                */
RULE(bitserial_conv2d,
     "(b, c, h, w, t), (o, c, k..., u) or packed (o, c / bits of u, k..., "
     "bits) -> that of nn.conv2d, out_dtype, t, u integers",
     .takes = TAKES_INT);
static RuleStatus rule_bitserial_conv2d(RuleCall *c) {
  bool last = attr_word(c->attrs, ATTR_data_layout) == CHANNELS_LAST;
  Attrs *attrs = attrs_shared(c->arena, c->op, c->attrs);
  attr_set_text(attrs, ATTR_kernel_layout, last ? "HWIO" : "OIHW");
  const Attrs *written = c->attrs;
  c->attrs = attrs;
  RuleStatus status =
      on_integers(c, RULE_conv, ATTR_activation_bits, 4, last ? 2 : 1, 4);
  c->attrs = written;
  return status;
}
