/* Who touches the session's values.  The first walk notes who reads, writes and
 * calls whom; what a function calls it touches, too, until nothing changes; the
 * second walk sums it up for every expression.
 *
 * A function that is used as a value could be called from anywhere, without the
 * state.  So a function that touches the state may only be called by its name,
 * and a cell may only stand in `ref_read` and `ref_write`.  With this, a call
 * of an unknown function touches nothing. */
#include "ir/walk.h"
#include "passes/functional.h"

/* What a local name meant before. */
typedef struct Hidden {
  const Name *name;
  void *meant;
} Hidden;

typedef struct Reach {
  Functional *f;
  PtrMap locals; /* Name -> the Fun that it names */
  VEC(Hidden) hidden;
  VEC(Fun *) under_way;
} Reach;

const Cell *functional_cell(const Functional *f, const Expr *e) {
  if (e->kind != EX_READ && e->kind != EX_WRITE) return NULL;
  const Expr *r = e->args[0];
  const Cell *c =
      r->kind == EX_GLOBAL ? ptrmap_get(&f->cell_of, r->g.name) : NULL;
  return c && c->is_ref ? c : NULL;
}

static void refuse_graph(Functional *f, Span span) {
  functional_refuse(f, span,
                    "a graph variable in a function that changes the state");
}

static Fun *fun_for(Functional *f, const Expr *fn) {
  Fun *fun = ptrmap_get(&f->fun_of, fn);
  if (fun) return fun;
  fun = ARENA_NEW(f->arena, Fun);
  *fun = (Fun){.fn = fn, .graph = SPAN_NONE};
  VEC_INIT(&fun->callers, f->p->mem);
  ptrmap_put(&f->fun_of, fn, fun);
  VEC_PUSH(&f->funs, fun);
  return fun;
}

/* --- The first walk ------------------------------------------------------- */

static void hide(Reach *r, const Name *name, Fun *fun) {
  VEC_PUSH(&r->hidden, (Hidden){name, ptrmap_get(&r->locals, name)});
  ptrmap_put(&r->locals, name, fun);
}

static void bind(Reach *r, const Var *var, const Expr *value) {
  Fun *fun = NULL;
  if (value && value->kind == EX_FN) {
    fun = fun_for(r->f, value);
    fun->named = true;
  }
  if (var) hide(r, var->name, fun);
}

static void unbind(Reach *r, const Var *var) {
  if (!var || r->hidden.len == 0) return;
  Hidden h = VEC_POP(&r->hidden);
  ptrmap_put(&r->locals, h.name, h.meant);
}

static void note_function(Reach *r, const ExprWalk *w, Fun *fun) {
  if (!fun) return;
  if (w->role != ROLE_CALLEE) {
    VEC_PUSH(&r->f->uses, (FunUse){w->at, fun});
    return;
  }
  ptrmap_put(&r->f->callee, w->parent, fun);
  if (r->under_way.len) VEC_PUSH(&fun->callers, VEC_LAST(&r->under_way));
}

static void note_touch(Reach *r, const Expr *e, unsigned touch) {
  ptrmap_put(&r->f->touch, e, (void *)(uintptr_t)touch);
  if (r->under_way.len) VEC_LAST(&r->under_way)->touch |= touch;
}

/* The name of a cell counts for nothing where the cell is read or written: that
 * node is noted itself. */
static void note_global(Reach *r, const ExprWalk *w) {
  const Cell *c = ptrmap_get(&r->f->cell_of, w->at->g.name);
  if (!c) {
    note_function(r, w, ptrmap_get(&r->f->defs, w->at->g.name));
  } else if (!c->is_ref) {
    note_touch(r, w->at, TOUCH_READ);
  } else if (!w->parent || w->role != ROLE_ARG || w->index != 0 ||
             !functional_cell(r->f, w->parent)) {
    functional_refuse(r->f, w->at->span,
                      "the cell `@%s` where it is neither read nor written",
                      w->at->g.name->text);
  }
}

/* A graph variable is evaluated before the item of its home scope that holds
 * its first use, and a function that changes the state is made of other items.
 */
static void note_graph(Reach *r, Span span) {
  if (r->under_way.len) VEC_LAST(&r->under_way)->graph = span;
  else refuse_graph(r->f, span);
}

static void enter(Reach *r, const ExprWalk *w) {
  const Expr *e = w->at;
  switch (e->kind) {
    case EX_FN: VEC_PUSH(&r->under_way, fun_for(r->f, e)); break;
    case EX_GLOBAL: note_global(r, w); break;
    case EX_LOCAL: note_function(r, w, ptrmap_get(&r->locals, e->name)); break;
    case EX_READ:
      if (functional_cell(r->f, e)) note_touch(r, e, TOUCH_READ);
      break;
    case EX_WRITE:
      if (functional_cell(r->f, e)) note_touch(r, e, TOUCH_WRITE);
      break;
    default: break;
  }
}

static void note(Reach *r, const Expr *root) {
  ExprWalk w;
  expr_walk_start(&w, r->f->p->mem,
                  WALK_ENTER | WALK_LEAVE | WALK_BIND | WALK_UNBIND, root);
  while (expr_walk_next(&w)) {
    switch ((int)w.event) {
      case WALK_ENTER: enter(r, &w); break;
      case WALK_LEAVE:
        if (w.at->kind == EX_FN) r->under_way.len--;
        break;
      case WALK_BIND:
        bind(r, w.var, w.binding ? w.binding->value : NULL);
        if (!w.var && w.binding) note_graph(r, w.binding->span);
        break;
      case WALK_UNBIND: unbind(r, w.var); break;
    }
  }
  expr_walk_end(&w);
}

/* --- What follows --------------------------------------------------------- */

/* What a function touches, its callers touch: a worklist of functions that have
 * got to touch more.  Ends, as flags only rise. */
static void spread(Functional *f) {
  VEC(Fun *) work;
  VEC_INIT(&work, f->p->mem);
  for (size_t i = 0; i < f->funs.len; i++)
    if (f->funs.data[i]->touch) VEC_PUSH(&work, f->funs.data[i]);
  while (work.len) {
    const Fun *fun = VEC_POP(&work);
    for (size_t i = 0; i < fun->callers.len; i++) {
      Fun *caller = fun->callers.data[i];
      if ((caller->touch | fun->touch) == caller->touch) continue;
      caller->touch |= fun->touch;
      VEC_PUSH(&work, caller);
    }
  }
  VEC_DONE(&work);
}

/* A function that writes also gives the state back where it does not write, so
 * it takes it. */
static void refuse_functions(Functional *f) {
  for (size_t i = 0; i < f->uses.len; i++)
    if (f->uses.data[i].fun->touch)
      functional_refuse(f, f->uses.data[i].use->span,
                        "a function that uses the state, as a value");
  for (size_t i = 0; i < f->funs.len; i++) {
    const Fun *fun = f->funs.data[i];
    if (fun->touch && !fun->named)
      functional_refuse(f, fun->fn->span,
                        "a function that uses the state, as a value");
    if (fun->touch & TOUCH_WRITE && span_exists(fun->graph))
      refuse_graph(f, fun->graph);
  }
}

/* --- The second walk ------------------------------------------------------ */

typedef struct Sum {
  unsigned touch;
  const Expr *writer;
} Sum;

/* Where the state would have to be threaded through what is evaluated more than
 * once, later, or by other rules than from left to right. */
static void check_place(Functional *f, const ExprWalk *w, unsigned touch) {
  const Expr *in = w->parent;
  if (!in || !touch) return;
  if (w->role == ROLE_GUARD && touch & TOUCH_WRITE)
    functional_refuse(f, w->at->span, "a guard that changes the state");
  if (in->kind == EX_BRACKET && touch & TOUCH_WRITE)
    functional_refuse(f, w->at->span,
                      "an element in brackets that changes the state");
}

/* Evaluating a `fn` touches nothing; calling it does. */
static void sum_up(Functional *f, const Expr *root) {
  VEC(Sum) sums;
  VEC_INIT(&sums, f->p->mem);
  ExprWalk w;
  expr_walk_start(&w, f->p->mem, WALK_ENTER | WALK_LEAVE, root);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_ENTER) {
      VEC_PUSH(&sums, (Sum){0});
      continue;
    }
    if (sums.len == 0) break;
    Sum s = VEC_POP(&sums);
    const Fun *fun = ptrmap_get(&f->callee, w.at);
    s.touch |= functional_touch(f, w.at) | (fun ? fun->touch : 0);
    if (w.at->kind == EX_FN) s.touch = 0;
    if (s.touch) ptrmap_put(&f->touch, w.at, (void *)(uintptr_t)s.touch);
    if (s.writer) ptrmap_put(&f->writer, w.at, (void *)s.writer);
    check_place(f, &w, s.touch);
    if (sums.len == 0) continue;
    VEC_LAST(&sums).touch |= s.touch;
    if (s.touch & TOUCH_WRITE) VEC_LAST(&sums).writer = w.at;
  }
  expr_walk_end(&w);
  VEC_DONE(&sums);
}

/* --- All of it ------------------------------------------------------------ */

static bool is_script(const Item *item) {
  return item->kind == ITEM_EXPR || item->kind == ITEM_LET_LOCAL;
}

static const Expr *value_of(const Functional *f, const Item *item) {
  const Cell *c = item->kind == ITEM_LET_GLOBAL
                      ? ptrmap_get(&f->cell_of, item->name)
                      : NULL;
  return c ? c->initial : item->expr;
}

/* Names of a script's own are visible to what stands below them, also in the
 * `fn`s of a group that begins there. */
static void note_script(Reach *r) {
  Functional *f = r->f;
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    if (!is_script(item)) continue;
    bool first = item->kind == ITEM_LET_LOCAL && item->expr->kind == EX_FN;
    for (size_t k = i; first && !item->continues && k < f->items.len; k++) {
      const Item *of = f->items.data[k];
      if (k > i && !of->continues) break;
      Fun *fun = fun_for(f, of->expr);
      fun->named = true;
      hide(r, of->name, fun);
    }
    note(r, item->expr);
    if (item->kind == ITEM_LET_LOCAL && !first) hide(r, item->name, NULL);
  }
}

void functional_reach(Functional *f) {
  Reach r = {.f = f};
  ptrmap_init(&r.locals, f->p->mem);
  VEC_INIT(&r.hidden, f->p->mem);
  VEC_INIT(&r.under_way, f->p->mem);
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    f->script |= is_script(item);
    if (item->kind != ITEM_DEF) continue;
    Fun *fun = fun_for(f, item->expr);
    fun->named = true;
    ptrmap_put(&f->defs, item->name, fun);
  }
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    if (item->expr && !is_script(item)) note(&r, value_of(f, item));
  }
  if (f->script) note_script(&r);
  spread(f);
  refuse_functions(f);
  for (size_t i = 0; i < f->items.len; i++)
    if (f->items.data[i]->expr) sum_up(f, value_of(f, f->items.data[i]));
  ptrmap_done(&r.locals);
  VEC_DONE(&r.hidden);
  VEC_DONE(&r.under_way);
}
