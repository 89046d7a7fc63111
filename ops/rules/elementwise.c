/* Rules of operators that work element by element. */
#include "ops/rules/support.h"

static RuleStatus like_operand(RuleCall *c, int i, DType dtype) {
  return rule_result(c, dtype, c->args[i].rank, c->args[i].dims);
}

/*   x : (d..., t)
 *   ------------------
 *   op(x) : (d..., t)                                                       */
RULE(same, "(d..., t) -> (d..., t)", .fits = FITS_ALWAYS);
static RuleStatus rule_same(RuleCall *c) { return rule_result_alike(c); }

static RuleStatus unary_of(RuleCall *c, TypeClass class) {
  return rule_class(c, 0, class) ? rule_result_alike(c) : RULE_ERROR;
}

RULE(unary, "(d..., t) -> (d..., t), t numeric", .takes = TAKES_NUMBER,
     .fits = FITS_ALWAYS);
static RuleStatus rule_unary(RuleCall *c) { return unary_of(c, TAKES_NUMBER); }
RULE(unary_float, "(d..., t) -> (d..., t), t floating-point",
     .takes = TAKES_FLOAT, .fits = FITS_ALWAYS);
static RuleStatus rule_unary_float(RuleCall *c) {
  return unary_of(c, TAKES_FLOAT);
}
RULE(unary_bits, "(d..., t) -> (d..., t), t integer or bool",
     .takes = TAKES_BITS, .fits = FITS_ALWAYS);
static RuleStatus rule_unary_bits(RuleCall *c) {
  return unary_of(c, TAKES_BITS);
}
RULE(unary_bool, "(d..., bool) -> (d..., bool)", .takes = TAKES_BOOL,
     .fits = FITS_ALWAYS);
static RuleStatus rule_unary_bool(RuleCall *c) {
  return unary_of(c, TAKES_BOOL);
}

/*   x : (d..., t)    t numeric
 *   ---------------------------
 *   isnan(x) : (d..., bool)                                                 */
RULE(number_test, "(d..., t) -> (d..., bool), t numeric", .takes = TAKES_NUMBER,
     .fits = FITS_ALWAYS, .gives_bool = true);
static RuleStatus rule_number_test(RuleCall *c) {
  if (!rule_class(c, 0, TAKES_NUMBER)) return RULE_ERROR;
  return like_operand(c, 0, DT_BOOL);
}

/*   x : (a..., t)    y : (b..., t)    a ^ b = d
 *   --------------------------------------------
 *   op(x, y) : (d..., t)
 *
 * where ^ aligns the shapes at the right and, for each pair of dimensions,
 *   1 ^ d = d ^ 1 = d      d ^ d = d      ? ^ d = d ^ ? = d  (d not 1)      */
RULE(broadcast, "(a..., t), (b..., t) -> (a ^ b, t)", .fits = FITS_BROADCAST);
static RuleStatus rule_broadcast(RuleCall *c) {
  RuleType out = {.dtype = c->args[0].dtype};
  if (!rule_same_dtype(c, 0, 1) || !rule_broadcast_pair(c, 0, 1, &out))
    return RULE_ERROR;
  c->result = out;
  return RULE_OK;
}

static RuleStatus broadcast_of(RuleCall *c, TypeClass class) {
  if (!rule_same_dtype(c, 0, 1) || !rule_class(c, 0, class)) return RULE_ERROR;
  return rule_broadcast(c);
}

RULE(broadcast_number, "(a..., t), (b..., t) -> (a ^ b, t), t numeric",
     .takes = TAKES_NUMBER, .fits = FITS_BROADCAST);
static RuleStatus rule_broadcast_number(RuleCall *c) {
  return broadcast_of(c, TAKES_NUMBER);
}
RULE(broadcast_float, "(a..., t), (b..., t) -> (a ^ b, t), t floating-point",
     .takes = TAKES_FLOAT, .fits = FITS_BROADCAST);
static RuleStatus rule_broadcast_float(RuleCall *c) {
  return broadcast_of(c, TAKES_FLOAT);
}
RULE(broadcast_bits, "(a..., t), (b..., t) -> (a ^ b, t), t integer or bool",
     .takes = TAKES_BITS, .fits = FITS_BROADCAST);
static RuleStatus rule_broadcast_bits(RuleCall *c) {
  return broadcast_of(c, TAKES_BITS);
}
RULE(broadcast_int, "(a..., t), (b..., t) -> (a ^ b, t), t integer",
     .takes = TAKES_INT, .fits = FITS_BROADCAST);
static RuleStatus rule_broadcast_int(RuleCall *c) {
  return broadcast_of(c, TAKES_INT);
}
RULE(broadcast_bool, "(a..., bool), (b..., bool) -> (a ^ b, bool)",
     .takes = TAKES_BOOL, .fits = FITS_BROADCAST);
static RuleStatus rule_broadcast_bool(RuleCall *c) {
  return broadcast_of(c, TAKES_BOOL);
}

/*   x : (a..., t)    y : (b..., t)
 *   -------------------------------
 *   less(x, y) : (a ^ b, bool)                                              */
RULE(compare, "(a..., t), (b..., t) -> (a ^ b, bool)", .fits = FITS_BROADCAST,
     .gives_bool = true);
static RuleStatus rule_compare(RuleCall *c) {
  RuleStatus status = rule_broadcast(c);
  c->result.dtype = DT_BOOL;
  return status;
}

/*   p : (c..., u)    x : (a..., t)    y : (b..., t)
 *   ------------------------------------------------
 *   where(p, x, y) : (c ^ a ^ b, t)                                         */
RULE(where, "(c..., u), (a..., t), (b..., t) -> (c ^ a ^ b, t)",
     .fits = FITS_BROADCAST);
static RuleStatus rule_where(RuleCall *c) {
  RuleType both = {.dtype = c->args[1].dtype};
  if (!rule_same_dtype(c, 1, 2) || !rule_broadcast_pair(c, 1, 2, &both))
    return RULE_ERROR;
  RuleType out = {.dtype = both.dtype};
  if (rule_broadcast_dims(&c->args[0], &both, &out)) {
    c->result = out;
    return RULE_OK;
  }
  return rule_error(c, E0203, 0, "condition %s and values %s do not broadcast",
                    rule_shape(c, 0), rule_dims_text(c, both.rank, both.dims));
}

/*   x : (d..., t)
 *   ----------------------------------
 *   cast(x, dtype=u) : (d..., u)                                            */
RULE(cast, "(d..., t) -> (d..., dtype)", .fits = FITS_ALWAYS);
static RuleStatus rule_cast(RuleCall *c) {
  return like_operand(c, 0, attr_dtype(c->attrs, ATTR_dtype));
}

/*   x : (d..., t)    y : (e..., u)
 *   -------------------------------
 *   cast_like(x, y) : (d..., u)                                             */
RULE(cast_like, "(d..., t), (e..., u) -> (d..., u)", .fits = FITS_ALWAYS);
static RuleStatus rule_cast_like(RuleCall *c) {
  return like_operand(c, 0, c->args[1].dtype);
}

/*   x : (d..., t)    |t| = |u|
 *   -----------------------------------
 *   reinterpret(x, dtype=u) : (d..., u)                                     */
RULE(reinterpret, "(d..., t) -> (d..., dtype), both of as many bits",
     .fits = FITS_ALWAYS);
static RuleStatus rule_reinterpret(RuleCall *c) {
  DType from = c->args[0].dtype, to = attr_dtype(c->attrs, ATTR_dtype);
  if (dtype_info[from].bits != dtype_info[to].bits)
    return rule_error(c, E0304, 0, "%s has %d bits and %s %d", dtype_name(from),
                      dtype_info[from].bits, dtype_name(to),
                      dtype_info[to].bits);
  return like_operand(c, 0, to);
}
