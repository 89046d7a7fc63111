/* DeadCodeElimination: a `let` that nothing uses goes, and so does an item of a
 * block whose value is dropped.
 *
 *   let %a = %x + 1f;
 *   let %b = %a * 2f;    ==>   %y
 *   let %c = %y;
 *   %c
 *
 * First the uses of a second name become uses of the first, so that nothing
 * uses it.
 *
 * What reads, writes, allocates, fails, diverges or prints stays, whether it is
 * used or not (TVM's pass of that name drops cells, too).  A `let` that only a
 * dropped one used goes with it: bindings are looked at from the last to the
 * first, and what a dropped value used is counted down.  So the pass takes time
 * in proportion to the text.  Functions that call themselves are kept. */
#include "passes/rewrite.h"
#include "types/types.h"

typedef struct Dead {
  Program *p;
  PtrMap uses;                   /* Var -> number of its uses */
  PtrMap dropped;                /* the values of bindings that go */
  VEC(const Binding *) bindings; /* in order of evaluation */
} Dead;

static intptr_t count(Dead *d, const Var *var, int by) {
  intptr_t n = (intptr_t)ptrmap_get(&d->uses, var) + by;
  if (by) ptrmap_put(&d->uses, var, (void *)n);
  return n;
}

/* --- Second names --------------------------------------------------------- */

/* The variable whose value the `let` gives another name; NULL: it does more. */
static Var *first_name(const ExprWalk *w, const Expr *value) {
  const Binding *b = expr_walk_binding(w);
  if (!b || value->kind != EX_VAR || value->var->lazy) return NULL;
  bool same = b->kind == BIND_LET && !b->var->lazy &&
              b->var->type == value->type && value->var->type == value->type;
  return same ? value->var : NULL;
}

static const Expr *without_second_names(Program *p, Arena *arena,
                                        const Expr *e) {
  PtrMap first; /* Var -> the one whose value it has */
  ExprMap m;
  ptrmap_init(&first, p->mem);
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    if (m.walk.event != WALK_LEAVE) continue;
    const Expr *at = m.made;
    Var *name = at->kind == EX_VAR ? ptrmap_get(&first, at->var) : NULL;
    const Expr *use = name ? expr_use(arena, at->span, name) : NULL;
    if (use && pass_may_replace(p, NULL, at, use)) expr_map_put(&m, use);
    name = first_name(&m.walk, m.made);
    if (name) ptrmap_put(&first, expr_walk_binding(&m.walk)->var, name);
  }
  ptrmap_done(&first);
  return expr_map_end(&m);
}

/* --- What nothing uses ---------------------------------------------------- */

/* A group joined by `and` stays whole. */
static bool is_alone(const Block *block, const Binding *b) {
  return b->kind == BIND_ITEM || block_is_let(block, b);
}

static void look(Dead *d, const Expr *root) {
  ExprWalk w;
  expr_walk_start(&w, d->p->mem, WALK_ENTER | WALK_LEAVE, root);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_ENTER && w.at->kind == EX_VAR) count(d, w.at->var, 1);
    if (w.event == WALK_LEAVE && w.role == ROLE_VALUE &&
        is_alone(w.parent->block, expr_walk_binding(&w)))
      VEC_PUSH(&d->bindings, expr_walk_binding(&w));
  }
  expr_walk_end(&w);
}

/* The bindings within a dropped value go with it, and are not looked at. */
static void drop(Dead *d, const Expr *value) {
  ExprWalk w;
  ptrmap_put(&d->dropped, value, d);
  expr_walk_start(&w, d->p->mem, WALK_ENTER, value);
  while (expr_walk_next(&w)) {
    if (w.at->kind == EX_VAR) count(d, w.at->var, -1);
    if (w.role == ROLE_VALUE) ptrmap_put(&d->dropped, w.at, d);
  }
  expr_walk_end(&w);
}

/* An annotation that the run compares with the value may fail. */
static bool may_fail(const Binding *b) {
  return b->var && types_need_check(b->value->type, b->var->type);
}

/* Is there anything that goes? */
static bool find_dropped(Dead *d) {
  bool found = false;
  for (size_t i = d->bindings.len; i-- > 0;) {
    const Binding *b = d->bindings.data[i];
    bool used = b->var && count(d, b->var, 0) > 0;
    if (used || ptrmap_has(&d->dropped, b->value)) continue;
    if (expr_is_pure(d->p, b->value) && !may_fail(b) &&
        pass_may_replace(d->p, NULL, b->value, NULL)) {
      drop(d, b->value);
      found = true;
    }
  }
  return found;
}

static bool goes(const Dead *d, const Block *block, const Binding *b) {
  return is_alone(block, b) && ptrmap_has(&d->dropped, b->value);
}

static void shorten_block(const Dead *d, Arena *arena, ExprMap *m) {
  const Block *was = m->walk.at->block, *block = m->made->block;
  Binding *kept = ARENA_ARRAY(arena, Binding, (size_t)was->count + 1);
  int n = 0;
  for (int i = 0; kept && i < was->count; i++)
    if (!goes(d, was, &was->bindings[i])) kept[n++] = block->bindings[i];
  if (kept && n < was->count) expr_map_put_block(m, n, kept, block->result);
}

static const Expr *without_dropped(const Dead *d, Arena *arena, const Expr *e) {
  ExprMap m;
  expr_map_start(&m, d->p->mem, arena, e);
  while (expr_map_next(&m))
    if (m.walk.event == WALK_LEAVE && m.made->kind == EX_BLOCK)
      shorten_block(d, arena, &m);
  return expr_map_end(&m);
}

Rewrite pass_dead_code;

const Expr *pass_dead_code(Program *p, Arena *arena, const Expr *e) {
  Dead d = {.p = p};
  e = without_second_names(p, arena, e);
  if (!e) return NULL;
  ptrmap_init(&d.uses, p->mem);
  ptrmap_init(&d.dropped, p->mem);
  VEC_INIT(&d.bindings, p->mem);
  look(&d, e);
  if (find_dropped(&d)) e = without_dropped(&d, arena, e);
  VEC_DONE(&d.bindings);
  ptrmap_done(&d.uses);
  ptrmap_done(&d.dropped);
  return e;
}
