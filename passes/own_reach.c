/* Which definitions the operators of a text's own use (own_call.h).
 *
 *   op @f(%x: float32) -> float32 = { @g(%x) };
 *   def @g(%x: float32) -> float32 { exp(%x) }
 *   rule @into(%x: float32) { exp(%x) } => { @f(%x) }
 *
 * Within @g the rule would make @g call itself by way of @f.  Where a rule was
 * applied, the definition at hand has come to use the operator, so what uses
 * that definition uses the operator as well. */
#include "passes/own_call.h"

void own_reach_start(OwnReach *r, Program *p) {
  *r = (OwnReach){.p = p};
  VEC_INIT(&r->ops, p->mem);
  VEC_INIT(&r->reached, p->mem);
}

void own_reach_end(OwnReach *r) {
  for (size_t i = 0; i < r->reached.len; i++) {
    ptrmap_done(r->reached.data[i]);
    mem_free(r->p->mem, r->reached.data[i], sizeof *r->reached.data[i]);
  }
  VEC_DONE(&r->ops);
  VEC_DONE(&r->reached);
}

/* What a node names, of the checked form or, in a function that is checked by
 * instance, of the parsed one. */
static const Global *named(const Program *p, const Expr *e) {
  if (e->kind != EX_GLOBAL) return NULL;
  const Global *g =
      e->g.global ? e->g.global : scope_global(&p->user, e->g.name);
  return g && !g->library ? global_of_text(g) : NULL;
}

static const Expr *body_of(const Program *p, const Global *g) {
  const Item *item = g->scheme ? global_item_of(p, g) : NULL;
  return item ? item->expr : g->value;
}

static void reach(const Program *p, const Global *op, PtrMap *out) {
  ExprWalk w;
  ptrmap_put(out, op, (void *)op);
  expr_walk_start(&w, p->mem, WALK_ENTER, body_of(p, op));
  while (expr_walk_next(&w)) {
    const Global *g = named(p, w.at);
    if (!g || ptrmap_has(out, g)) continue;
    ptrmap_put(out, g, (void *)g);
    const Expr *body = body_of(p, g);
    if (body) expr_walk_add(&w, body);
  }
  expr_walk_end(&w);
}

static const PtrMap *reached_by(const OwnReach *r, const Global *op) {
  for (size_t i = 0; i < r->ops.len; i++)
    if (r->ops.data[i] == op) return r->reached.data[i];
  return NULL;
}

static bool introduces(const OwnOp *own) { return own->right && !own->left; }

void own_reach_add(OwnReach *r, const Rule *rule) {
  Mem *mem = r->p->mem;
  for (int i = 0; i < rule->own_count; i++) {
    const Global *op = rule->own[i].found;
    if (!introduces(&rule->own[i]) || reached_by(r, op)) continue;
    PtrMap *map = mem_alloc(mem, sizeof *map);
    if (!map) return;
    ptrmap_init(map, mem);
    reach(r->p, op, map);
    VEC_PUSH(&r->ops, op);
    VEC_PUSH(&r->reached, map);
  }
}

bool own_reach_allows(const OwnReach *r, const Rule *rule) {
  const Global *within = r->p->passing->within;
  for (int i = 0; within && i < rule->own_count; i++) {
    const OwnOp *own = &rule->own[i];
    const PtrMap *map = introduces(own) ? reached_by(r, own->found) : NULL;
    if (introduces(own) && (!map || ptrmap_has(map, within))) return false;
  }
  return true;
}

static void join(PtrMap *to, const PtrMap *from) {
  for (size_t i = 0; from && i < from->cap; i++)
    if (from->slots[i].key)
      ptrmap_put(to, from->slots[i].key, from->slots[i].value);
}

void own_reach_note(OwnReach *r, const Rule *rule) {
  const Global *within = r->p->passing->within;
  for (int i = 0; within && i < rule->own_count; i++)
    for (size_t k = 0; introduces(&rule->own[i]) && k < r->ops.len; k++)
      if (ptrmap_has(r->reached.data[k], within))
        join(r->reached.data[k], reached_by(r, rule->own[i].found));
}
