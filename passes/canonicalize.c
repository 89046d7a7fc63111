/* CanonicalizeOps: operators that are short for others become these.
 *
 *   nn.bias_add(%x, %b, axis=1)   ==>   %x + expand_dims(%b, axis=1,
 *                                                        num_newaxis=2)
 *
 * Both sides add the same two numbers for each element, so the bits are the
 * same.  A vector of length 1 along a longer axis, which a sum would repeat, is
 * none of bias_add's, and the types tell the two apart.  After TVM's pass of
 * that name (relay/transforms/canonicalize_ops.cc). */
#include "passes/calls.h"

/* The vector gets axes of length 1 after its own. */
static const Expr *sum_of_bias(Program *p, Arena *arena, const Expr *call,
                               const Expr *const *args) {
  const Type *t = call->type;
  if (t->kind != TY_TENSOR || t->any_rank || args[1]->type->rank != 1)
    return NULL;
  int axis = attr_axis(call->call.bound, ATTR_axis, t->rank);
  if (dim_equal(args[1]->type->dims[0], t->dims[axis]) != YES) return NULL;
  const Expr *bias = args[1];
  if (axis < t->rank - 1) {
    Attrs *attrs = attrs_new(arena, op_info(OP_EXPAND_DIMS));
    attr_set_number(attrs, ATTR_axis, 1);
    attr_set_number(attrs, ATTR_num_newaxis, t->rank - 1 - axis);
    bias = EXPR_APPLY(p, arena, call->span, OP_EXPAND_DIMS, attrs, bias);
  }
  return bias ? EXPR_APPLY(p, arena, call->span, OP_ADD, NULL, args[0], bias)
              : NULL;
}

static const Expansion rows[] = {{OP_NN_BIAS_ADD, false, sum_of_bias}};

static const Expr *canonical(Program *p, Arena *arena, const Expr *e) {
  return calls_expand(p, arena, e, sizeof rows / sizeof *rows, rows);
}

Pass pass_canonicalize_ops;

Unit *pass_canonicalize_ops(Program *p, Unit *unit) {
  return unit_rewrite(p, unit, canonical);
}
