/* Who touches the session's values.  The first walk notes who reads, writes and
 * calls whom; what a function calls it touches, too, until nothing changes; the
 * second walk sums it up for every expression.
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
#include "ir/walk.h"
#include "passes/functional.h"

/* What a local name meant before: a function, or a part of the state. */
typedef struct Hidden {
  const Name *name;
  Fun *fun;
  const Part *part;
} Hidden;

/* A call with parts of the state among its arguments. */
typedef struct PartCall {
  const Expr *call;
  Fun *home;
} PartCall;

typedef struct Reach {
  Functional *f;
  PtrMap locals; /* Name -> the Fun that it names */
  PtrMap parts;  /* Name -> the Part that it names */
  VEC(PartCall) calls;
  VEC(Hidden) hidden;
  VEC(Fun *) under_way;
  PtrMap library;         /* Name -> the Fun of a `def` of the library */
  bool in_library;        /* a copy from there is walked */
  const Expr *script_let; /* the value that the script gives a name */
  VEC(Fun *) risen;       /* they touch more than those know who use them */
} Reach;

static void refuse_graph(Functional *f, Span span) {
  functional_refuse(f, span, "bind it by `let` instead",
                    "a graph variable in a function that changes the state");
}

static Fun *fun_new(Functional *f, const Expr *fn) {
  Fun *fun = ARENA_NEW(f->arena, Fun);
  *fun = (Fun){.fn = fn, .graph = SPAN_NONE, .arity = -1};
  VEC_INIT(&fun->callers, f->p->mem);
  VEC_INIT(&fun->uses, f->p->mem);
  VEC_PUSH(&f->funs, fun);
  return fun;
}

static Fun *fun_for(Functional *f, const Expr *fn) {
  Fun *fun = ptrmap_get(&f->fun_of, fn);
  if (fun) return fun;
  fun = fun_new(f, fn);
  ptrmap_put(&f->fun_of, fn, fun);
  return fun;
}

/* --- The first walk ------------------------------------------------------- */

/* Who calls the function, and where it is passed, is looked at by settle(). */
static void raise(Reach *r, Fun *fun, unsigned touch) {
  if ((fun->touch | touch) == fun->touch) return;
  fun->touch |= touch;
  VEC_PUSH(&r->risen, fun);
}

static Fun *home(const Reach *r) {
  return r->under_way.len ? VEC_LAST(&r->under_way) : NULL;
}

static void add_caller(Reach *r, Fun *fun, Fun *caller) {
  if (!caller) return;
  VEC_PUSH(&fun->callers, caller);
  raise(r, caller, fun->touch);
}

static void add_use(Reach *r, const ExprWalk *w, Fun *fun) {
  FunUse *u = ARENA_NEW(r->f->arena, FunUse);
  bool arg = w->role == ROLE_ARG && w->parent->kind == EX_CALL;
  *u = (FunUse){.use = w->at, .fun = fun, .home = home(r)};
  u->call = arg ? w->parent : NULL;
  u->index = w->index;
  ptrmap_put(&r->f->fun_of, w->at, fun);
  VEC_PUSH(&r->f->uses, u);
  VEC_PUSH(&fun->uses, u);
  if (fun->touch) VEC_PUSH(&r->risen, fun);
}

static void hide(Reach *r, const Name *name, Fun *fun, const Part *part) {
  VEC_PUSH(&r->hidden, (Hidden){name, ptrmap_get(&r->locals, name),
                                ptrmap_get(&r->parts, name)});
  ptrmap_put(&r->locals, name, fun);
  ptrmap_put(&r->parts, name, (void *)part);
}

/* The place of the field that a projection, or the name of a field, means; -1:
 * the checker has not seen it. */
static int field_index(const Expr *e) {
  if (e->kind == EX_PROJ) return (int)e->index;
  const Ctor *ctor = e->field.ctor;
  return ctor ? ctor_field(ctor, e->field.name) : -1;
}

/* One field further; NULL: what has the field is held whole. */
static const Part *part_field(Functional *f, const Part *of, int index) {
  bool held = index < 0 || index >= functional_field_count(f, of->type);
  Part *made = held ? NULL : arena_copy(f->arena, of, sizeof *of);
  int *path = ARENA_ARRAY(f->arena, int, (size_t)of->count + 1);
  if (!made || !path) return NULL;
  for (int i = 0; i < of->count; i++) path[i] = of->path[i];
  path[made->count++] = index;
  made->path = path;
  made->type = functional_field(f, of->type, index);
  return made;
}

/* A chain of projections and fields of a name; NULL: it is no part of a global
 * value.  `parts`: by local name. */
static const Part *chain_part(Functional *f, const PtrMap *parts,
                              const Expr *e) {
  int depth = 0;
  const Expr *at = e;
  for (; functional_is_field(at); at = at->args[0]) depth++;
  const Part *from = NULL;
  if (at->kind == EX_LOCAL && parts) from = ptrmap_get(parts, at->name);
  if (at->kind == EX_GLOBAL) {
    const Cell *c = ptrmap_get(&f->cell_of, at->g.name);
    if (!c || !c->has_ref) return NULL;
    Part *whole = ARENA_NEW(f->arena, Part);
    *whole = (Part){.cell = c, .type = c->whole};
    from = whole;
  }
  int *path = ARENA_ARRAY(f->arena, int, (size_t)depth);
  if (!path) return NULL;
  at = e;
  for (int i = depth; i-- > 0; at = at->args[0]) path[i] = field_index(at);
  for (int i = 0; from && i < depth; i++) from = part_field(f, from, path[i]);
  return from;
}

const Part *functional_global_part(Functional *f, const Expr *e) {
  return chain_part(f, NULL, e);
}

/* The part of a global value that an expression stands for; NULL: it is another
 * value.  Names of the library's own globals are not those of the text. */
static const Part *meant_part(const Reach *r, const Expr *e) {
  const Expr *root = e;
  while (functional_is_field(root)) root = root->args[0];
  if (root->kind == EX_GLOBAL && r->in_library) return NULL;
  return chain_part(r->f, &r->parts, e);
}

/* --- Matches -------------------------------------------------------------- */

/* Does the pattern take every value of the type, and leave whole what the state
 * holds whole? */
static bool only_opens(const Functional *f, const Pattern *p, const Type *t) {
  if (p->kind == PT_WILD || p->kind == PT_VAR) return true;
  int count = functional_field_count(f, t);
  const Ctor *ctor = t->kind == TY_ADT && count >= 0 ? t->adt->ctors : NULL;
  if (p->kind != (ctor ? PT_CTOR : PT_TUPLE) || count < 0) return false;
  for (int i = 0; i < p->count; i++) {
    const Pattern *field = p->fields[i];
    int place = field->label && ctor ? ctor_field(ctor, field->label) : i;
    if (place < 0 || place >= count ||
        !only_opens(f, field, functional_field(f, t, place)))
      return false;
  }
  return true;
}

/* A match on a part of the state that decides nothing. */
static bool opens(const Functional *f, const Expr *e, const Part *part) {
  const Match *match = e->kind == EX_MATCH ? e->match : NULL;
  return match && match->arm_count == 1 && !match->arms[0].guard &&
         only_opens(f, match->arms[0].pattern, part->type);
}

/* What a variable of the pattern stands for; NULL: it is not there. */
static const Part *part_of_var(Functional *f, const Pattern *p,
                               const Part *part, const Var *var) {
  if (p->kind == PT_VAR) return p->var == var ? part : NULL;
  const Ctor *ctor = part->type->kind == TY_ADT ? part->type->adt->ctors : NULL;
  const Part *found = NULL;
  for (int i = 0; i < p->count && !found; i++) {
    const Pattern *field = p->fields[i];
    int place = field->label && ctor ? ctor_field(ctor, field->label) : i;
    const Part *of = part_field(f, part, place);
    if (of) found = part_of_var(f, field, of, var);
  }
  return found;
}

/* The function that a name means; NULL: none that is known. */
static Fun *meant(const Reach *r, const Expr *e) {
  if (e->kind == EX_LOCAL) return ptrmap_get(&r->locals, e->name);
  if (e->kind != EX_GLOBAL || r->in_library) return NULL;
  return ptrmap_get(&r->f->defs, e->g.name);
}

/* Parameters come one after the other. */
static Fun *bind_param(Reach *r, const Expr *fn, const Var *var) {
  Functional *f = r->f;
  Fun *of = fun_for(f, fn);
  int count = fn->fn->param_count;
  if (!of->params) of->params = ARENA_ARRAY(f->arena, Fun *, (size_t)count);
  if (!of->params || of->bound >= count) return NULL;
  Fun *param = of->params[of->bound++] = fun_new(f, NULL);
  const TypeExpr *type = var->annotation;
  if (type && type->kind == TX_FN) param->arity = type->arg_count;
  return param;
}

static void bind(Reach *r, const ExprWalk *w) {
  const Expr *value = w->binding ? w->binding->value : NULL;
  Fun *fun = NULL;
  const Part *part = NULL;
  if (!w->var) return;
  if (value && value->kind == EX_FN) {
    fun = fun_for(r->f, value);
    fun->named = true;
  } else if (value) {
    fun = meant(r, value);
    part = ptrmap_get(&r->f->name, value);
  } else if (w->at->kind == EX_FN) {
    const Fun *of = fun_for(r->f, w->at);
    part = of->parts ? of->parts[of->bound] : NULL;
    fun = bind_param(r, w->at, w->var);
  } else if (functional_opens(r->f, w->at)) {
    part = part_of_var(r->f, w->at->match->arms[0].pattern,
                       ptrmap_get(&r->f->name, w->at->args[0]), w->var);
  }
  hide(r, w->var->name, fun, part);
}

static void unbind(Reach *r, const Var *var) {
  if (!var || r->hidden.len == 0) return;
  Hidden h = VEC_POP(&r->hidden);
  ptrmap_put(&r->locals, h.name, h.fun);
  ptrmap_put(&r->parts, h.name, (void *)h.part);
}

/* Is it the value that a name is given? */
static bool is_alias(const Reach *r, const ExprWalk *w) {
  return w->at == r->script_let ||
         (w->role == ROLE_VALUE &&
          w->parent->block->bindings[w->index].kind == BIND_LET);
}

static void note_function(Reach *r, const ExprWalk *w, Fun *fun) {
  if (!fun) return;
  if (w->role == ROLE_CALLEE) {
    ptrmap_put(&r->f->callee, w->parent, fun);
    if (!fun->fn) fun->arity = w->parent->count;
    add_caller(r, fun, home(r));
  } else if (is_alias(r, w)) {
    ptrmap_put(&r->f->fun_of, w->at, fun);
  } else {
    add_use(r, w, fun);
  }
}

static void note_touch(Reach *r, const Expr *e, unsigned touch) {
  ptrmap_put(&r->f->touch, e, (void *)(uintptr_t)touch);
  if (home(r)) raise(r, home(r), touch);
}

static void note_global(Reach *r, const ExprWalk *w) {
  const Cell *c = ptrmap_get(&r->f->cell_of, w->at->g.name);
  if (r->in_library) return;
  if (!c) note_function(r, w, meant(r, w->at));
  else if (!c->has_ref) note_touch(r, w->at, TOUCH_READ);
}

static void refuse_part(Functional *f, const Expr *e, const Part *part) {
  f->loses_cell = true;
  functional_refuse(f, e->span,
                    "read or write it here, give it another name by `let`, or "
                    "pass it to a `def`: the text has to say which cell is "
                    "meant",
                    "the cell `@%s` where it is neither read nor written",
                    part->cell->item->name->text);
}

/* A value that is a part of the state, or has one in it: it has another name
 * there, is an argument, or a part without cells.  What it projects from is of
 * it.  True: the names in it are noted by this. */
static bool note_part(Reach *r, ExprWalk *w) {
  Functional *f = r->f;
  const Expr *e = w->at;
  if (!functional_is_field(e) && e->kind != EX_LOCAL && e->kind != EX_GLOBAL)
    return false;
  const Part *part = meant_part(r, e);
  if (!part) return false;
  bool cell =
      w->role == ROLE_ARG && w->index == 0 && functional_part(f, w->parent);
  if (!functional_has_ref(f, part->type)) {
    ptrmap_put(&f->part, e, (void *)part);
    note_touch(r, e, TOUCH_READ);
  } else if (!cell && (is_alias(r, w) ||
                       (w->role == ROLE_ARG &&
                        (w->parent->kind == EX_CALL ||
                         (w->index == 0 && opens(f, w->parent, part)))))) {
    ptrmap_put(&f->name, e, (void *)part);
  } else if (!cell) {
    refuse_part(f, e, part);
  }
  if (functional_is_field(e)) expr_walk_skip(w);
  return true;
}

/* A cell of the state that is read or written. */
static void note_cell(Reach *r, const Expr *e, unsigned touch) {
  const Part *part = meant_part(r, e->args[0]);
  if (!part || part->type->kind != TY_REF) return;
  ptrmap_put(&r->f->part, e, (void *)part);
  note_touch(r, e, touch);
}

static void note_call(Reach *r, const Expr *call) {
  for (int i = 0; i < call->count; i++) {
    if (!ptrmap_has(&r->f->name, call->args[i])) continue;
    VEC_PUSH(&r->calls, (PartCall){call, home(r)});
    return;
  }
}

/* A graph variable is evaluated before the item of its home scope that holds
 * its first use, and a function that changes the state is made of other items.
 */
static void note_graph(Reach *r, Span span) {
  if (r->under_way.len) VEC_LAST(&r->under_way)->graph = span;
  else refuse_graph(r->f, span);
}

static void enter(Reach *r, ExprWalk *w) {
  const Expr *e = w->at;
  if (note_part(r, w)) return;
  switch (e->kind) {
    case EX_FN: {
      Fun *fun = fun_for(r->f, e);
      if (!fun->named) note_function(r, w, fun);
      VEC_PUSH(&r->under_way, fun);
      break;
    }
    case EX_GLOBAL: note_global(r, w); break;
    case EX_LOCAL: note_function(r, w, meant(r, e)); break;
    case EX_READ: note_cell(r, e, TOUCH_READ); break;
    case EX_WRITE: note_cell(r, e, TOUCH_WRITE); break;
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
        if (w.at->kind == EX_CALL) note_call(r, w.at);
        break;
      case WALK_BIND:
        bind(r, &w);
        if (!w.var && w.binding) note_graph(r, w.binding->span);
        break;
      case WALK_UNBIND: unbind(r, w.var); break;
    }
  }
  expr_walk_end(&w);
}

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

/* What is given a function of the state uses the state itself. */
static void give(Reach *r, Fun *fun, int param) {
  fun->takes = true;
  raise(r, fun, TOUCH_READ | TOUCH_WRITE);
  raise(r, fun->params[param], TOUCH_READ | TOUCH_WRITE);
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
  Fun *copy = fun_for(f, fn);
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
  note(r, fn);
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
    fun = fun_for(r->f, item->expr);
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
    add_caller(r, copy, u->home);
    fun = copy;
  }
  if (!fun->params || u->index >= fun->bound) return;
  u->led = true;
  give(r, fun, u->index);
  if (!u->fun->named && u->fun->fn) raise(r, u->fun, TOUCH_WRITE);
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
    else if (part) refuse_part(f, call->args[i], part);
  }
  if (!parts) return;
  Fun *def = fun->origin ? (Fun *)fun->origin : fun;
  Fun *copy = copy_of(r, def, fun->given, parts);
  if (!copy) return;
  def->in_parts = true;
  ptrmap_put(&f->callee, call, copy);
  add_caller(r, copy, c->home);
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
      raise(r, fun->callers.data[i], fun->touch);
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
      Fun *fun = fun_for(f, of->expr);
      fun->named = true;
      hide(r, of->name, fun, NULL);
    }
    r->script_let = item->kind == ITEM_LET_LOCAL ? item->expr : NULL;
    note(r, item->expr);
    if (item->kind == ITEM_LET_LOCAL && !first)
      hide(r, item->name, meant(r, item->expr),
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
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    f->script |= is_script(item);
    if (item->kind != ITEM_DEF) continue;
    Fun *fun = fun_for(f, item->expr);
    fun->named = true;
    fun->name = item->name;
    ptrmap_put(&f->defs, item->name, fun);
  }
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    const Expr *value = item->expr ? value_of(f, item) : NULL;
    if (value && !is_script(item)) note(&r, value);
  }
  if (f->script) note_script(&r);
  for (int i = 0; i < unit->entry_count; i++) {
    Fun *entry = ptrmap_get(&f->defs, unit->entries[i]);
    if (!entry) continue;
    raise(&r, entry, TOUCH_READ | TOUCH_WRITE);
    make_live(f, entry);
  }
  settle(&r);
  refuse_functions(f);
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    const Expr *value = item->expr ? value_of(f, item) : NULL;
    Fun *def = item->kind == ITEM_DEF ? fun_for(f, value) : NULL;
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
