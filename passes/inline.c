/* Inline: a call of a small function that does not reach itself becomes the
 * function's body.
 *
 *   def @twice(%x: int32) -> int32 { %x * 2 }
 *   @twice(%a) + @twice(%b + 1)
 *                     ==>   %a * 2 + { let %x: int32 = %b + 1; %x * 2 }
 *
 * Arguments are evaluated once, in their order, before the body, as in the
 * call.  Functions with a `let` of their own are inlined in its scope.  A
 * function of the library stays a call, and so does one with attributes
 * (Primitive=1), one that is checked by instance or has parameters in brackets.
 * Each call gets the body as it was before the pass, of at most `size` nodes,
 * so a program grows by that factor at most. */
#include "passes/rewrite.h"

enum { SIZE }; /* the pass's argument */

Unit *inlining_rewrite(Inlining *in, Program *p, Unit *unit,
                       RewriteWith *rewrite, void *data) {
  ptrmap_init(&in->recursive, p->mem);
  ptrmap_init(&in->local, p->mem);
  unit = unit_with_lets(p, unit);
  if (unit) find_recursive(p, unit, &in->recursive);
  if (unit) unit = unit_rewrite_with(p, unit, rewrite, data);
  ptrmap_done(&in->recursive);
  ptrmap_done(&in->local);
  return unit;
}

const Expr *inlining_target(const Inlining *in, const Expr *call) {
  const Expr *callee = call->call.callee;
  if (callee->kind == EX_VAR) return ptrmap_get(&in->local, callee->var);
  if (callee->kind != EX_GLOBAL) return NULL;
  const Global *g = callee->g.global;
  bool open = g->kind == GLOBAL_DEF && !g->library && !g->instance_of;
  return open && ptrmap_has(&in->recursive, g) == in->loops ? g->value : NULL;
}

void inlining_bind(Inlining *in, const Program *p, const ExprWalk *w) {
  const Binding *b = w->binding;
  if (!b || !block_is_let(w->at->block, b) || b->value->kind != EX_FN) return;
  if (expr_is_small(p, b->value, in->size) &&
      expr_mentions(p, b->value, b->var) == in->loops)
    ptrmap_put(&in->local, b->var, (void *)b->value);
}

const Expr *expr_inline(void *data, Program *p, Arena *arena, const Expr *e) {
  Inlining *in = data;
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event == WALK_BIND) inlining_bind(in, p, &m.walk);
    if (m.walk.event != WALK_LEAVE || m.made->kind != EX_CALL) continue;
    const Expr *fn = inlining_target(in, m.made);
    bool fits = fn && call_is_plain(p, m.made, fn) &&
                expr_is_small(p, fn->fn->body, in->size);
    const Expr *made = fits ? call_inlined(p, arena, m.made, fn) : NULL;
    if (made && pass_may_replace(p, NULL, m.made, made)) expr_map_put(&m, made);
  }
  return expr_map_end(&m);
}

Pass pass_inline;

Unit *pass_inline(Program *p, Unit *unit) {
  Inlining in = {.size = pass_arg(p, SIZE)};
  return inlining_rewrite(&in, p, unit, expr_inline, &in);
}
