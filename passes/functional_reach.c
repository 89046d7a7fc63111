/* Who touches the session's values.  The first walk (functional_note.c) notes
 * who reads, writes and calls whom; what a function calls it touches, too,
 * until nothing changes; the second walk sums it up for every expression.
 *
 * A function that touches the state is called with it, so every call of it must
 * be known.  As a value it may have another name, or be an argument:
 *
 *   def @next(%by: int32) { ... }        @map_state(@next, %xs, %state)
 *   @map(@next, %xs)               ==>
 *                                        def @map_state[A, B](
 *                                            %f: fn(A, S) -> (B, S),
 *                                            %xs: List[A], %state: S)
 *                                            -> (List[B], S) { ... }
 *
 * A call of a `def` with such an argument becomes one of a copy, whose
 * parameter is a function of the state; the `def` itself stays for others
 * (monomorphising by effect).  There is one copy for each set of such
 * parameters, of the library's functions, too.  A parameter of a local function
 * is one for all calls: what else it is given is wrapped to take and give the
 * state.
 *
 * With all this a call of an unknown function touches nothing.  What remains is
 * refused: a function of the state that is given, kept or chosen, which may be
 * data instead (passes/defunctionalize.c; rly fmt asks for it), and a cell that
 * stands anywhere but in `ref_read` and `ref_write`. */
#include "passes/functional_reach.h"

/* --- Copies --------------------------------------------------------------- */

/* Parameters that may be functions of the state; and copies, of which there
 * could be one for each set of parameters. */
enum { GIVEN_MOST = 64, COPIES_MOST = 1000 };

const Expr *functional_copy(Functional *f, const Expr *e) {
  ExprMap m;
  expr_map_start(&m, f->p->mem, f->arena, e);
  while (expr_map_next(&m))
    if (m.walk.event == WALK_LEAVE) expr_map_own(&m);
  return expr_map_end(&m);
}

static const Name *name_copy(Functional *f, const Name *of) {
  Program *p = f->p;
  const char *text = arena_printf(f->arena, "%s_state", of->text);
  const Name *name = name_of(p->names, text);
  for (int i = 1; ptrmap_has(&f->taken, name) && !mem_exhausted(p->mem); i++)
    name = name_of(p->names, arena_printf(f->arena, "%s_%d", text, i));
  ptrmap_put(&f->taken, name, (void *)name);
  return name;
}

/* A function that is given a function of the state uses the state itself. */
static void give(Reach *r, Fun *fun, int param) {
  fun->takes = true;
  reach_raise(r, fun, TOUCH_READ | TOUCH_WRITE);
  reach_raise(r, fun->params[param], TOUCH_READ | TOUCH_WRITE);
}

static bool same_part(const Part *a, const Part *b) {
  if (!a || !b) return a == b;
  bool same = a->cell == b->cell && a->count == b->count;
  for (int i = 0; same && i < a->count; i++) same = a->path[i] == b->path[i];
  return same;
}

static bool same_parts(const Fun *def, const Part *const *a,
                       const Part *const *b) {
  if (!a || !b) return a == b;
  for (int i = 0; i < def->fn->fn->param_count; i++)
    if (!same_part(a[i], b[i])) return false;
  return true;
}

/* The copy of a `def` in which parameters are functions of the state, or parts
 * of it. */
static Fun *copy_of(Reach *r, Fun *def, uint64_t given,
                    const Part *const *parts) {
  Functional *f = r->f;
  for (Fun *copy = def->copies; copy; copy = copy->next)
    if (copy->given == given && same_parts(def, copy->parts, parts))
      return copy;
  if (def->copy_count == COPIES_MOST)
    functional_refuse(f, def->fn->span,
                      "pass it fewer different cells and functions",
                      "more than %d copies of a function", COPIES_MOST);
  if (def->copy_count++ >= COPIES_MOST) return NULL;
  const Expr *fn = functional_copy(f, def->fn);
  if (!fn) return NULL;
  Fun *copy = reach_fun(f, fn);
  copy->named = true;
  copy->name = name_copy(f, def->name);
  copy->given = given;
  copy->parts = parts;
  copy->origin = def;
  copy->library = def->library;
  copy->next = def->copies;
  def->copies = copy;
  VEC_PUSH(&f->copies, copy);
  r->in_library = copy->library;
  reach_note(r, fn);
  r->in_library = false;
  for (int i = 0; i < copy->bound && i < GIVEN_MOST; i++)
    if (given >> i & 1) give(r, copy, i);
  return copy;
}

/* Does the text give a name in the library's function another meaning? */
static bool hides_names(const Functional *f, const Expr *fn) {
  PtrMap names, globals;
  ptrmap_init(&names, f->p->mem);
  ptrmap_init(&globals, f->p->mem);
  functional_mention(f, &names, fn);
  ExprWalk w;
  expr_walk_start(&w, f->p->mem, WALK_ENTER, fn);
  while (expr_walk_next(&w))
    if (w.at->kind == EX_GLOBAL)
      ptrmap_put(&globals, w.at->g.name, (void *)w.at);
  expr_walk_end(&w);
  bool hides = false;
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    if (item->kind == ITEM_TYPE) hides |= functional_is_mentioned(&names, item);
    else hides |= item->name && ptrmap_has(&globals, item->name);
  }
  ptrmap_done(&names);
  ptrmap_done(&globals);
  return hides;
}

static Fun *library_fun(Reach *r, const Name *name) {
  Program *p = r->f->p;
  if (ptrmap_has(&r->library, name)) return ptrmap_get(&r->library, name);
  Fun *fun = NULL;
  Unit *unit = p->find_in_library ? p->find_in_library(p, '@', name) : NULL;
  for (int i = 0; unit && !fun && i < unit->item_count; i++) {
    const Item *item = &unit->items[i];
    if (item->kind != ITEM_DEF || item->name != name) continue;
    if (hides_names(r->f, item->expr)) break;
    fun = reach_fun(r->f, item->expr);
    fun->name = name;
    fun->named = fun->library = true;
  }
  ptrmap_put(&r->library, name, fun);
  return fun;
}

/* --- What follows --------------------------------------------------------- */

/* The function that the call calls, whose body is there to be copied. */
static Fun *callee_of(Reach *r, const FunUse *u) {
  const Expr *callee = u->call->call.callee;
  Fun *fun = ptrmap_get(&r->f->callee, u->call);
  if (!fun && callee->kind == EX_GLOBAL &&
      !ptrmap_has(&r->f->defs, callee->g.name))
    fun = library_fun(r, callee->g.name);
  bool fits = fun && fun->fn && u->index < fun->fn->fn->param_count;
  return fits && u->index < GIVEN_MOST ? fun : NULL;
}

/* A function of the state is passed on.  A `fn` without a name gives the state
 * back also where it only reads, for no other call of it is known. */
static void lead(Reach *r, FunUse *u) {
  Fun *fun = u->call && !u->led ? callee_of(r, u) : NULL;
  if (!fun) return;
  uint64_t bit = (uint64_t)1 << u->index;
  if (fun->name && !(fun->given & bit)) {
    Fun *def = fun->origin ? (Fun *)fun->origin : fun;
    Fun *copy = copy_of(r, def, fun->given | bit, fun->parts);
    if (!copy) return;
    ptrmap_put(&r->f->callee, u->call, copy);
    reach_add_caller(r, copy, u->home);
    fun = copy;
  }
  if (!fun->params || u->index >= fun->bound) return;
  u->led = true;
  give(r, fun, u->index);
  if (!u->fun->named && u->fun->fn) reach_raise(r, u->fun, TOUCH_WRITE);
}

/* Parts of the state are passed to a copy whose parameters mean them. */
static void lead_parts(Reach *r, const PartCall *c) {
  Functional *f = r->f;
  const Expr *call = c->call;
  const Part **parts = NULL;
  Fun *fun = ptrmap_get(&f->callee, call);
  bool is_def = fun && fun->name && !fun->library &&
                fun->fn->fn->param_count == call->count &&
                fun->fn->fn->type_param_count == 0;
  if (is_def) parts = ARENA_ARRAY(f->arena, const Part *, (size_t)call->count);
  for (int i = 0; i < call->count; i++) {
    const Part *part = ptrmap_get(&f->name, call->args[i]);
    if (parts) parts[i] = part;
    else if (part) reach_refuse_part(f, call->args[i], part);
  }
  if (!parts) return;
  Fun *def = fun->origin ? (Fun *)fun->origin : fun;
  Fun *copy = copy_of(r, def, fun->given, parts);
  if (!copy) return;
  def->in_parts = true;
  ptrmap_put(&f->callee, call, copy);
  reach_add_caller(r, copy, c->home);
}

/* What a function touches, its callers touch, and what it is passed to: a
 * worklist of functions that have got to touch more.  Ends, as flags only rise,
 * and sets of parameters and of parts of the state are finite. */
static void settle(Reach *r) {
  while ((r->calls.len || r->risen.len) && !mem_exhausted(r->f->p->mem)) {
    if (r->calls.len) {
      PartCall call = VEC_POP(&r->calls);
      lead_parts(r, &call);
      continue;
    }
    Fun *fun = VEC_POP(&r->risen);
    for (size_t i = 0; i < fun->callers.len; i++)
      reach_raise(r, fun->callers.data[i], fun->touch);
    for (size_t i = 0; i < fun->uses.len; i++) lead(r, fun->uses.data[i]);
  }
}

/* A function that writes also gives the state back where it does not write, so
 * it takes it. */
static void refuse_functions(Functional *f) {
  for (size_t i = 0; i < f->uses.len; i++) {
    if (!f->uses.data[i]->fun->touch || f->uses.data[i]->led) continue;
    f->loses_function = true;
    functional_refuse(f, f->uses.data[i]->use->span,
                      "call it here, or pass it to a function that calls it: "
                      "the text has to say who is called",
                      "a function that uses the state, as a value");
  }
  for (size_t i = 0; i < f->funs.len; i++) {
    const Fun *fun = f->funs.data[i];
    if (fun->touch & TOUCH_WRITE && span_exists(fun->graph))
      reach_refuse_graph(f, fun->graph);
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
    functional_refuse(f, w->at->span,
                      "bind it by `let` before the match, or write in the arm",
                      "a guard that changes the state");
  if (in->kind == EX_BRACKET && touch & TOUCH_WRITE)
    functional_refuse(f, w->at->span, "bind it by `let` before",
                      "an element in brackets that changes the state");
}

static void make_live(Functional *f, Fun *fun) {
  if (!fun || !fun->name || fun->live) return;
  fun->live = true;
  VEC_PUSH(&f->live, fun);
}

/* Whom a live function uses by name. */
static void note_live(Functional *f, const ExprWalk *w) {
  const Expr *e = w->at;
  Fun *callee = ptrmap_get(&f->callee, e);
  make_live(f, callee);
  if (e->kind != EX_GLOBAL) return;
  callee = w->role == ROLE_CALLEE ? ptrmap_get(&f->callee, w->parent) : NULL;
  if (!callee) make_live(f, ptrmap_get(&f->defs, e->g.name));
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
    note_live(f, &w);
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
  if (c && c->item != item) return NULL;
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
      Fun *fun = reach_fun(f, of->expr);
      fun->named = true;
      reach_hide(r, of->name, fun, NULL);
    }
    r->script_let = item->kind == ITEM_LET_LOCAL ? item->expr : NULL;
    reach_note(r, item->expr);
    if (item->kind == ITEM_LET_LOCAL && !first)
      reach_hide(r, item->name, reach_meant(r, item->expr),
                 ptrmap_get(&f->name, item->expr));
  }
}

void functional_reach(Functional *f, const Unit *unit) {
  Reach r = {.f = f};
  ptrmap_init(&r.locals, f->p->mem);
  ptrmap_init(&r.library, f->p->mem);
  ptrmap_init(&r.parts, f->p->mem);
  VEC_INIT(&r.calls, f->p->mem);
  VEC_INIT(&r.risen, f->p->mem);
  VEC_INIT(&r.hidden, f->p->mem);
  VEC_INIT(&r.under_way, f->p->mem);

  /* Register the definitions by name. */
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    f->script |= is_script(item);
    if (item->kind != ITEM_DEF) continue;
    Fun *fun = reach_fun(f, item->expr);
    fun->named = true;
    fun->name = item->name;
    ptrmap_put(&f->defs, item->name, fun);
  }

  /* Note what each function reads, writes and calls. */
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    const Expr *value = item->expr ? value_of(f, item) : NULL;
    if (value && !is_script(item)) reach_note(&r, value);
  }
  if (f->script) note_script(&r);

  /* A host gives an entry the state and takes the new one. */
  for (int i = 0; i < unit->entry_count; i++) {
    Fun *entry = ptrmap_get(&f->defs, unit->entries[i]);
    if (!entry) continue;
    reach_raise(&r, entry, TOUCH_READ | TOUCH_WRITE);
    make_live(f, entry);
  }

  /* Raise callers to what their callees touch, until nothing changes. */
  settle(&r);
  refuse_functions(f);

  /* Sum up what each expression touches: in items that are evaluated, then in
   * the functions that are still used. */
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    const Expr *value = item->expr ? value_of(f, item) : NULL;
    Fun *def = item->kind == ITEM_DEF ? reach_fun(f, value) : NULL;
    if (def && !def->in_parts) make_live(f, def);
    if (value && !def) sum_up(f, value);
  }
  while (f->live.len && !mem_exhausted(f->p->mem)) {
    const Fun *fun = VEC_POP(&f->live);
    sum_up(f, fun->fn);
  }

  ptrmap_done(&r.locals);
  ptrmap_done(&r.library);
  ptrmap_done(&r.parts);
  VEC_DONE(&r.calls);
  VEC_DONE(&r.risen);
  VEC_DONE(&r.hidden);
  VEC_DONE(&r.under_way);
}
