/* FoldConstant: operators on small integer tensors whose values are known
 * become constants (types/known.c says which), and an `if` whose condition is
 * one becomes the branch that is taken.
 *
 *   if (take(shape_of(%x), 0) == 4) { %a } else { %b }   ==>   %a
 *
 * Parts are folded before the whole, so what is left of a branch has constants
 * in it already.  What goes must do nothing but give its value. */
#include "ops/ops.h"
#include "passes/calls.h"
#include "types/types.h"

enum { ELEMENTS }; /* the pass's argument */

/* What a text leaves open (`?`) stays open: beside a constant of a known
 * length, operands that do not fit would be a mistake of types, where they are
 * one of the run. */
static bool is_small_integer(const Type *t) {
  return t && t->kind == TY_TENSOR && t->rank <= 1 && type_is_static(t) &&
         (t->dtype == DT_BOOL || dtype_is_int((DType)t->dtype));
}

static const Expr *constant(Program *p, Arena *arena, const Expr *e,
                            const Known *known) {
  int64_t count = known->count;
  Tensor *t = program_tensor_new(p, known->dtype, known->rank, &count);
  if (!t) return e;
  size_t size = (size_t)dtype_size(known->dtype);
  for (int i = 0; i < known->count; i++)
    bits_store(known->dtype, (char *)t->data + (size_t)i * size,
               bits_from_i64(known->dtype, dim_value(known->items[i])));
  t = program_constant_take(p, t);
  if (!t) return e;
  Expr *made = expr_const(arena, e->span, t);
  made->type = e->type;
  return made;
}

static const Expr *fold_call(Program *p, Arena *arena, const Expr *e) {
  const OpInfo *op = expr_operator(e);
  Known known;
  bool folds = op && (op->known || op->dim) && is_small_integer(e->type) &&
               types_known(p, arena, e, &known) &&
               known.count <= pass_arg(p, ELEMENTS) && expr_is_pure(p, e);
  const Expr *made = folds ? constant(p, arena, e, &known) : e;
  return made != e && pass_may_replace(p, NULL, e, made) ? made : e;
}

/* A graph node that may fail is evaluated at its first use where that lies in a
 * branch, else where it stands.  Without the branches it would be evaluated
 * earlier than what is shown or written between. */
static bool uses_lazy(Program *p, const Expr *e) {
  ExprWalk w;
  bool found = false;
  expr_walk_start(&w, p->mem, WALK_ENTER, e);
  while (!found && expr_walk_next(&w))
    found = w.at->kind == EX_VAR && w.at->var->lazy;
  expr_walk_end(&w);
  return found;
}

/* An `else if` that stands alone is an `if`. */
static const Expr *standing_alone(Arena *arena, const Expr *e,
                                  const Expr *place) {
  if (e->kind != EX_IF || e->sugar != SUGAR_ELSE_IF) return e;
  Expr *alone = arena_copy(arena, e, sizeof *e);
  if (!alone) return e;
  alone->sugar = place->sugar == SUGAR_ELSE_IF && e->type == place->type
                     ? SUGAR_ELSE_IF
                     : SUGAR_NONE;
  return alone;
}

/* The type stays that of both branches, in which dimensions may be `?`: what
 * stands around was checked with it, and the branch may fail there when it
 * runs, as one of shape (4) does where (n) is due. */
static const Expr *fold_if(Program *p, Arena *arena, const Expr *e) {
  const Expr *c = e->args[0];
  if (c->kind != EX_CONST || c->constant->rank != 0) return e;
  if (uses_lazy(p, e) || !pass_may_rewrite(p, e->span)) return e;
  const Expr *taken = e->args[tensor_i64_at(c->constant, 0) ? 1 : 2];
  return expr_of_type(p, arena, standing_alone(arena, taken, e), e);
}

const Expr *expr_fold(Program *p, Arena *arena, const Expr *e) {
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE) continue;
    if (m.made->kind == EX_CALL) expr_map_put(&m, fold_call(p, arena, m.made));
    else if (m.made->kind == EX_IF) expr_map_put(&m, fold_if(p, arena, m.made));
  }
  return expr_map_end(&m);
}

Pass pass_fold_constant;

Unit *pass_fold_constant(Program *p, Unit *unit) {
  return unit_rewrite(p, unit, expr_fold);
}
