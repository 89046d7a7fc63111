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

void inlining_start(Inlining *in, Program *p) {
  ptrmap_init(&in->recursive, p->mem);
  ptrmap_init(&in->local, p->mem);
}

void inlining_end(Inlining *in) {
  ptrmap_done(&in->recursive);
  ptrmap_done(&in->local);
}

/* The function that is called, where it may take the call's place. */
static const Expr *small_target(const Inlining *in, const Program *p,
                                const Expr *call) {
  const Expr *callee = call->call.callee, *fn = NULL;
  if (callee->kind == EX_VAR) fn = ptrmap_get(&in->local, callee->var);
  if (callee->kind == EX_GLOBAL) {
    const Global *g = callee->g.global;
    bool open = g->kind == GLOBAL_DEF && !g->library && !g->instance_of &&
                !ptrmap_has(&in->recursive, g);
    fn = open ? g->value : NULL;
  }
  bool fits = fn && call_is_plain(p, call, fn) &&
              expr_is_small(p, fn->fn->body, in->size);
  return fits ? fn : NULL;
}

/* A `let` of a function joined to no other, which does not name itself. */
static void note_local(Inlining *in, const Program *p, const ExprWalk *w) {
  const Binding *b = w->binding;
  if (!b || b->kind != BIND_LET || !b->value || b->value->kind != EX_FN) return;
  const Block *block = w->at->block;
  int i = (int)(b - block->bindings);
  if (block_group(block, i) == 1 && expr_is_small(p, b->value, in->size) &&
      !expr_mentions(p, b->value, b->var))
    ptrmap_put(&in->local, b->var, (void *)b->value);
}

const Expr *expr_inline(void *data, Program *p, Arena *arena, const Expr *e) {
  Inlining *in = data;
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event == WALK_BIND) note_local(in, p, &m.walk);
    if (m.walk.event != WALK_LEAVE || m.made->kind != EX_CALL) continue;
    const Expr *fn = small_target(in, p, m.made);
    const Expr *made = fn ? call_inlined(p, arena, m.made, fn) : NULL;
    if (made && pass_may_replace(p, NULL, m.made, made)) expr_map_put(&m, made);
  }
  return expr_map_end(&m);
}

Pass pass_inline;

Unit *pass_inline(Program *p, Unit *unit) {
  Inlining in = {.size = pass_arg(p, SIZE)};
  inlining_start(&in, p);
  unit = unit_with_lets(p, unit);
  if (unit) find_recursive(p, unit, &in.recursive);
  if (unit) unit = unit_rewrite_with(p, unit, expr_inline, &in);
  inlining_end(&in);
  return unit;
}
