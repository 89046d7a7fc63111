/* EtaExpand: a function, an operator or a constructor that is a value becomes a
 * `fn` that calls it.
 *
 *   @map(@twice, %l)   ==>   @map(fn (%x: int32) { @twice(%x) }, %l)
 *
 * Only names are expanded.  Any other function value comes out of an
 * evaluation, which would be done at each call and not once.  A name that is
 * used at a type with parameters of its own stays, as a `fn` would have to
 * declare them. */
#include "ops/ops.h"
#include "passes/rewrite.h"

/* Names whose calls mean the same wherever they are evaluated. */
static bool expands(const Expr *e) {
  if (!e->type || e->type->kind != TY_FN || e->type->param_count) return false;
  switch (e->kind) {
    case EX_GLOBAL: return e->g.global->kind == GLOBAL_DEF;
    case EX_CTOR: return true;
    case EX_OP: return true;
    default: return false;
  }
}

static const Expr *expanded(Program *p, Arena *arena, const Expr *e) {
  int n = e->type->count;
  Var **params = ARENA_ARRAY(arena, Var *, (size_t)n + 1);
  const Expr **args = ARENA_ARRAY(arena, const Expr *, (size_t)n + 1);
  Fn *fn = ARENA_NEW(arena, Fn);
  if (!params || !args || !fn) return e;
  for (int i = 0; i < n; i++) {
    params[i] = var_new(arena, name_of(p->names, "x"), e->span, NULL);
    params[i]->id = p->next_var_id++;
    params[i]->type = e->type->args[i];
    args[i] = expr_use(arena, e->span, params[i]);
  }
  Expr *call = expr_call(arena, e->span, e, n, args);
  call->type = e->type->result;
  if (e->kind == EX_OP) call->call.bound = attrs_new(arena, op_info(e->op));
  *fn = (Fn){.param_count = n, .params = params, .body = call};
  Expr *made = expr_new(arena, EX_FN, e->span);
  made->fn = fn;
  made->type = e->type;
  return made;
}

Rewrite pass_eta_expand;

const Expr *pass_eta_expand(Program *p, Arena *arena, const Expr *e) {
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE || m.walk.role == ROLE_CALLEE ||
        !expands(m.made))
      continue;
    const Expr *made = expanded(p, arena, m.made);
    if (pass_may_replace(p, NULL, m.made, made)) expr_map_put(&m, made);
  }
  return expr_map_end(&m);
}
