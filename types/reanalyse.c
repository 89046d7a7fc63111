/* What passes break and the checker finds again without a text: the effects of
 * functions, and what each `let` is bound to (known.c asks for that).
 *
 * The unit is in bound form with its types.  What was written down about
 * effects is taken back first, since the search only adds to it (effects.c);
 * then the search runs over the components of the call graph as it is now.
 * Instances of generic functions keep the effects that they have: passes leave
 * them as they are, and what they call can do no more than before. */
#include "ir/walk.h"
#include "types/check.h"
#include "types/types.h"

typedef struct Again {
  Checker *c;
  PtrMap by_global; /* Global -> its Definition */
} Again;

static void add(Again *a, Unit *unit, Global *g, const Expr *value) {
  if (g && (g->scheme || g->definition)) return;
  Definition *d = ARENA_NEW(&a->c->arena, Definition);
  if (!d) return;
  *d = (Definition){.global = g, .unit = unit, .value = value};
  VEC_INIT(&d->uses, a->c->mem);
  VEC_PUSH(&a->c->defs, d);
  if (!g) return;
  g->definition = d;
  ptrmap_put(&a->by_global, g, d);
}

static void add_unit(Again *a, Unit *unit) {
  for (int i = 0; i < unit->item_count; i++) {
    ItemKind kind = unit->items[i].kind;
    Global *g = kind == ITEM_DEF || kind == ITEM_PARAM
                    ? item_global(a->c->p, &unit->items[i])
                    : NULL;
    if (g) add(a, unit, g, g->value);
  }
  for (int i = 0; i < unit->step_count; i++) {
    Step *s = &unit->steps[i];
    bool let = s->kind == STEP_LET;
    add(a, unit, let ? s->global : NULL, let ? s->global->value : s->expr);
  }
}

static void forget_var(Var *var) {
  if (var) var->effects = 0;
}

/* Takes back what is known of the value, and finds what it uses. */
static void look(Again *a, Definition *d) {
  ExprWalk w;
  if (!d->value) return;
  if (d->global && d->global->type->kind == TY_FN) d->global->effects = 0;
  expr_walk_start(&w, a->c->mem, WALK_ENTER | WALK_LEAVE | WALK_BIND, d->value);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_BIND) forget_var(w.var);
    if (w.event == WALK_ENTER && w.at->kind == EX_FN)
      ((Fn *)w.at->fn)->effects = 0;
    if (w.event == WALK_ENTER && w.at->kind == EX_GLOBAL) {
      Definition *used = ptrmap_get(&a->by_global, w.at->g.global);
      if (used) VEC_PUSH(&d->uses, used);
    }
    const Binding *b = w.event == WALK_LEAVE ? expr_walk_binding(&w) : NULL;
    if (b && b->var) b->var->value = b->value;
  }
  expr_walk_end(&w);
}

/* Warnings were given when the text was checked. */
bool types_find_again(Program *p, Unit *unit) {
  Checker c = {.p = p, .unit = unit, .mem = p->mem};
  Again a = {.c = &c};
  DiagsMark mark = diags_mark(p->diags);
  arena_init(&c.arena, c.mem);
  VEC_INIT(&c.defs, c.mem);
  VEC_INIT(&c.components, c.mem);
  VEC_INIT(&c.sinking, c.mem);
  ptrmap_init(&a.by_global, c.mem);
  for (Unit *u = p->units; u; u = u->next)
    if (u == unit || (u->importer && !unit_is_library(u))) add_unit(&a, u);
  for (size_t i = 0; i < c.defs.len; i++) look(&a, c.defs.data[i]);
  scc_sort(&c);
  effects_program(&c);
  if (!mem_exhausted(c.mem)) diags_return(p->diags, mark);
  for (size_t i = 0; i < c.defs.len; i++) {
    Definition *d = c.defs.data[i];
    VEC_DONE(&d->uses);
    if (d->global) d->global->definition = NULL;
  }
  ptrmap_done(&a.by_global);
  VEC_DONE(&c.sinking);
  VEC_DONE(&c.components);
  VEC_DONE(&c.defs);
  arena_done(&c.arena);
  return !mem_exhausted(c.mem);
}
