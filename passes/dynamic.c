/* DynamicToStatic: attributes that an operand holds, but whose values the
 * checker has found, become literals.
 *
 *   let %k = shape_of(%y);         let %k = shape_of(%y);
 *   dyn.reshape(%x, %k)      ==>   reshape(%x, newshape=[2, 2])
 *
 * After TVM's pass of that name, which folds constants until nothing changes;
 * here the checker has done so (types/known.c), and the record of the call
 * holds the numbers.  The operand goes, so it must do nothing but give its
 * value.  Names of dimensions stay computed, for they have no literals. */
#include "ops/ops.h"
#include "passes/rewrite.h"

static bool is_literal(const AttrSpec *spec, const AttrValue *v) {
  switch (spec->type) {
    case AT_INT:
    case AT_BOOL: return dim_is_number(v->integer);
    case AT_INT_OR_INTS:
    case AT_INTS:
      if (v->count == COUNT_SCALAR) return dim_is_number(v->integer);
      for (int i = 0; i < v->count; i++)
        if (!dim_is_number(v->ints[i])) return false;
      return v->count >= 0;
    case AT_LISTS:
      for (int i = 0; i < v->count; i++)
        for (int k = 0; k < v->lists[i].count; k++)
          if (!dim_is_number(v->lists[i].ints[k])) return false;
      return v->count >= 0;
    case AT_FLOAT:
    case AT_FLOATS: return v->known;
    default: return false;
  }
}

/* All attributes that operands hold, or none: the operands left must be the
 * first ones. */
static int literal_operands(const Program *p, const Expr *call,
                            const OpInfo *op) {
  const Attrs *attrs = call->call.bound;
  int left = call->count;
  for (int i = 0; i < op->attr_count; i++) {
    const AttrValue *v = &attrs->values[i];
    if (v->operand < 0) continue;
    if (!is_literal(&op->attrs[i], v) ||
        !expr_is_pure(p, call->args[v->operand]))
      return call->count;
    if (v->operand < left) left = v->operand;
  }
  return left;
}

Rewrite pass_dynamic_to_static;

const Expr *pass_dynamic_to_static(Program *p, Arena *arena, const Expr *e) {
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE) continue;
    const OpInfo *op = expr_operator(m.made);
    if (!op || !m.made->call.bound) continue;
    int left = literal_operands(p, m.made, op);
    if (left == m.made->count || !pass_may_rewrite(p, m.made->span)) continue;
    Expr *call = expr_map_own(&m);
    Attrs *attrs = attrs_shared(arena, op, call->call.bound);
    for (int i = 0; i < op->attr_count; i++) attrs->values[i].operand = -1;
    call->call.bound = attrs;
    call->count = left;
    call->call.late = 0;
  }
  return expr_map_end(&m);
}
