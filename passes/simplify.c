/* SimplifyExpr: calls of operators become simpler ones by laws that hold for
 * every operand.
 *
 *   %x * 1f                              ==>   %x
 *   reshape(reshape(%x, newshape=[8]), newshape=[2, 4])
 *                                        ==>   reshape(%x, newshape=[2, 4])
 *
 * The laws are rules, those of stdlib/rules/SimplifyExpr.rly, but for the
 * second one: it holds of all operators whose rows say that they show their
 * operand under another shape, and a rule names its operators.
 *
 * Parts are simplified before the whole, and each node is looked at once, so
 * the pass is linear. */
#include "passes/rule_pass.h"

/* The operand that a call shows under another shape; NULL: it is no such call.
 * Where all dimensions are known, the checker has compared the sizes, so the
 * call does not fail. */
static const Expr *viewed(const Expr *e) {
  const OpInfo *op = expr_operator(e);
  bool view = op && op->storage == STORE_VIEW &&
              (op->view == VIEW_RESHAPE || op->view == VIEW_AXES);
  return view && e->count == 1 && e->call.bound &&
                 !attrs_have_operands(e->call.bound) &&
                 type_is_static(e->type) && type_is_static(e->args[0]->type)
             ? e->args[0]
             : NULL;
}

/* A 0 in the shape of a reshape copies a dimension of the operand. */
static const Expr *reshaped(Surroundings *s, const Expr *whole, const Expr *x) {
  const Type *t = whole->type;
  for (int i = 0; i < t->rank; i++)
    if (dim_is(t->dims[i], 0)) return NULL;
  Attrs *attrs = attrs_new(s->arena, op_info(OP_RESHAPE));
  attr_set_list(s->arena, attrs, ATTR_newshape, t->rank, t->dims);
  return EXPR_APPLY(s->p, s->arena, whole->span, OP_RESHAPE, attrs, x);
}

/* view(%x)         ==>   %x, of the same shape
 * view(view(%x))   ==>   reshape(%x, newshape=...)
 *
 * A view that a `let` names stays there, so its operand must be a name. */
static const Expr *view_simplified(Surroundings *s, const Expr *e) {
  const Expr *x = viewed(e);
  if (!x || x->type == e->type) return x;
  const Expr *named = x->kind == EX_VAR && !x->var->lazy
                          ? ptrmap_get(&s->values, x->var)
                          : NULL;
  const Expr *y = viewed(named ? named : x);
  if (!y || (named && !expr_is_simple(y))) return NULL;
  return y->type == e->type ? y : reshaped(s, e, y);
}

Pass pass_simplify_expr;

Unit *pass_simplify_expr(Program *p, Unit *unit) {
  return unit_apply_library(p, unit, view_simplified);
}
