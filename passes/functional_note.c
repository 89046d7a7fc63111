/* Who touches the session's values: the first walk (functional_reach.c) over a
 * definition or an item.  It notes who reads and writes which part of the
 * state, who calls whom, and where functions and parts of the state are passed
 * on.
 *
 * Names have the meanings that they have there: a local name may be a function
 * whose calls are known, or a part of the state. */
#include "passes/functional_reach.h"

/* --- Functions ------------------------------------------------------------ */

static Fun *fun_new(Functional *f, const Expr *fn) {
  Fun *fun = ARENA_NEW(f->arena, Fun);
  *fun = (Fun){.fn = fn, .graph = SPAN_NONE, .arity = -1};
  VEC_INIT(&fun->callers, f->p->mem);
  VEC_INIT(&fun->uses, f->p->mem);
  VEC_PUSH(&f->funs, fun);
  return fun;
}

Fun *reach_fun(Functional *f, const Expr *fn) {
  Fun *fun = ptrmap_get(&f->fun_of, fn);
  if (fun) return fun;
  fun = fun_new(f, fn);
  ptrmap_put(&f->fun_of, fn, fun);
  return fun;
}

/* --- What is refused ------------------------------------------------------ */

void reach_refuse_graph(Functional *f, Span span) {
  functional_refuse(f, span, "bind it by `let` instead",
                    "a graph variable in a function that changes the state");
}

void reach_refuse_part(Functional *f, const Expr *e, const Part *part) {
  f->loses_cell = true;
  functional_refuse(f, e->span,
                    "read or write it here, give it another name by `let`, or "
                    "pass it to a `def`: the text has to say which cell is "
                    "meant",
                    "the cell `@%s` where it is neither read nor written",
                    part->cell->item->name->text);
}

/* --- The walk ------------------------------------------------------------- */

/* Who calls the function, and where it is passed, is looked at by settle(). */
void reach_raise(Reach *r, Fun *fun, unsigned touch) {
  if ((fun->touch | touch) == fun->touch) return;
  fun->touch |= touch;
  VEC_PUSH(&r->risen, fun);
}

static Fun *home(const Reach *r) {
  return r->under_way.len ? VEC_LAST(&r->under_way) : NULL;
}

void reach_add_caller(Reach *r, Fun *fun, Fun *caller) {
  if (!caller) return;
  VEC_PUSH(&fun->callers, caller);
  reach_raise(r, caller, fun->touch);
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

void reach_hide(Reach *r, const Name *name, Fun *fun, const Part *part) {
  VEC_PUSH(&r->hidden, (Hidden){name, ptrmap_get(&r->locals, name),
                                ptrmap_get(&r->parts, name)});
  ptrmap_put(&r->locals, name, fun);
  ptrmap_put(&r->parts, name, (void *)part);
}

/* The part of a global value that an expression stands for; NULL: it is another
 * value.  Names of the library's own globals are not those of the text. */
static const Part *meant_part(const Reach *r, const Expr *e) {
  const Expr *root = e;
  while (functional_is_field(root)) root = root->args[0];
  if (root->kind == EX_GLOBAL && r->in_library) return NULL;
  return functional_chain_part(r->f, &r->parts, e);
}

Fun *reach_meant(const Reach *r, const Expr *e) {
  if (e->kind == EX_LOCAL) return ptrmap_get(&r->locals, e->name);
  if (e->kind != EX_GLOBAL || r->in_library) return NULL;
  return ptrmap_get(&r->f->defs, e->g.name);
}

/* Parameters come one after the other. */
static Fun *bind_param(Reach *r, const Expr *fn, const Var *var) {
  Functional *f = r->f;
  Fun *of = reach_fun(f, fn);
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
    fun = reach_fun(r->f, value);
    fun->named = true;
  } else if (value) {
    fun = reach_meant(r, value);
    part = ptrmap_get(&r->f->name, value);
  } else if (w->at->kind == EX_FN) {
    const Fun *of = reach_fun(r->f, w->at);
    part = of->parts ? of->parts[of->bound] : NULL;
    fun = bind_param(r, w->at, w->var);
  } else if (functional_opens(r->f, w->at)) {
    part =
        functional_part_of_var(r->f, w->at->match->arms[0].pattern,
                               ptrmap_get(&r->f->name, w->at->args[0]), w->var);
  }
  reach_hide(r, w->var->name, fun, part);
}

static void unbind(Reach *r, const Var *var) {
  if (!var || r->hidden.len == 0) return;
  Hidden h = VEC_POP(&r->hidden);
  ptrmap_put(&r->locals, h.name, h.fun);
  ptrmap_put(&r->parts, h.name, (void *)h.part);
}

/* Is it the value that a name is given? */
static bool is_alias(const Reach *r, const ExprWalk *w) {
  return w->at == r->script_let || expr_walk_is_value(w, BIND_LET);
}

static void note_function(Reach *r, const ExprWalk *w, Fun *fun) {
  if (!fun) return;
  if (w->role == ROLE_CALLEE) {
    ptrmap_put(&r->f->callee, w->parent, fun);
    if (!fun->fn) fun->arity = w->parent->count;
    reach_add_caller(r, fun, home(r));
  } else if (is_alias(r, w)) {
    ptrmap_put(&r->f->fun_of, w->at, fun);
  } else {
    add_use(r, w, fun);
  }
}

static void note_touch(Reach *r, const Expr *e, unsigned touch) {
  ptrmap_put(&r->f->touch, e, (void *)(uintptr_t)touch);
  if (home(r)) reach_raise(r, home(r), touch);
}

static void note_global(Reach *r, const ExprWalk *w) {
  const Cell *c = ptrmap_get(&r->f->cell_of, w->at->g.name);
  if (r->in_library) return;
  if (!c) note_function(r, w, reach_meant(r, w->at));
  else if (!c->has_ref) note_touch(r, w->at, TOUCH_READ);
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
  } else if (!cell &&
             (is_alias(r, w) ||
              (w->role == ROLE_ARG &&
               (w->parent->kind == EX_CALL ||
                (w->index == 0 && functional_may_open(f, w->parent, part)))))) {
    ptrmap_put(&f->name, e, (void *)part);
  } else if (!cell) {
    reach_refuse_part(f, e, part);
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
  else reach_refuse_graph(r->f, span);
}

static void enter(Reach *r, ExprWalk *w) {
  const Expr *e = w->at;
  if (note_part(r, w)) return;
  switch (e->kind) {
    case EX_FN: {
      Fun *fun = reach_fun(r->f, e);
      if (!fun->named) note_function(r, w, fun);
      VEC_PUSH(&r->under_way, fun);
      break;
    }
    case EX_GLOBAL: note_global(r, w); break;
    case EX_LOCAL: note_function(r, w, reach_meant(r, e)); break;
    case EX_READ: note_cell(r, e, TOUCH_READ); break;
    case EX_WRITE: note_cell(r, e, TOUCH_WRITE); break;
    default: break;
  }
}

void reach_note(Reach *r, const Expr *root) {
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
