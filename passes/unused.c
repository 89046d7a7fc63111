/* RemoveUnusedFunctions: functions that nothing reaches from `@main`, the
 * expressions, the values and the params go.
 *
 *   def @twice(%x: int32) -> int32 { %x * 2 }
 *   def @once(%x: int32) -> int32 { %x }        ==>   def @once ...
 *   @once(1);                                         @once(1);
 *
 * After TVM's pass of that name, whose roots are its entry functions.  Of a
 * text without expressions and `@main`, as a module with state is one, a host
 * calls any function: all of it stays. */
#include "passes/rewrite.h"

typedef struct Unused {
  Program *p;
  PtrMap reached; /* Globals of texts */
  VEC(const Global *) todo;
} Unused;

static void reach(Unused *u, const Global *g) {
  g = global_of_text(g);
  if (ptrmap_has(&u->reached, g)) return;
  ptrmap_put(&u->reached, g, u);
  VEC_PUSH(&u->todo, g);
}

static void reach_from(Unused *u, const Expr *e) {
  ExprWalk w;
  expr_walk_start(&w, u->p->mem, WALK_ENTER, e);
  while (expr_walk_next(&w))
    if (w.at->kind == EX_GLOBAL) reach(u, w.at->g.global);
  expr_walk_end(&w);
}

static void add_roots(void *data, Unit *unit) {
  Unused *u = data;
  for (int i = 0; i < unit->item_count; i++) {
    const Item *item = &unit->items[i];
    const Global *g = item_global(u->p, item);
    if (g && (item_is_main(item) || item->kind != ITEM_DEF)) reach(u, g);
  }
  for (int i = 0; i < unit->step_count; i++) reach_from(u, unit->steps[i].expr);
}

static void keep_reached(void *data, Unit *unit) {
  Unused *u = data;
  Item *kept = ARENA_ARRAY(&unit->arena, Item, (size_t)unit->item_count + 1);
  int n = 0;
  for (int i = 0; kept && i < unit->item_count; i++) {
    const Item *item = &unit->items[i];
    const Global *g = item->kind == ITEM_DEF ? item_global(u->p, item) : NULL;
    if (!g || ptrmap_has(&u->reached, g) || !pass_may_rewrite(u->p, item->span))
      kept[n++] = *item;
  }
  if (!kept) return;
  unit->items = kept;
  unit->item_count = n;
}

Pass pass_remove_unused;

Unit *pass_remove_unused(Program *p, Unit *unit) {
  Unused u = {.p = p};
  ptrmap_init(&u.reached, p->mem);
  VEC_INIT(&u.todo, p->mem);
  unit_each(p, unit, add_roots, &u);
  while (u.todo.len > 0 && !mem_exhausted(p->mem)) {
    const Global *g = VEC_POP(&u.todo);
    if (g->value) reach_from(&u, g->value);
    for (const Global *of = g->instances; of; of = of->next_instance)
      if (of->value) reach_from(&u, of->value);
  }
  if (unit_runs(p, unit)) unit_each(p, unit, keep_reached, &u);
  VEC_DONE(&u.todo);
  ptrmap_done(&u.reached);
  return mem_exhausted(p->mem) ? NULL : unit;
}
