/* Effects: what evaluating an expression, or calling a function, can do.
 *
 * One search answers for both.  It joins the effects of the nodes that it
 * meets. effects_program() also writes down what calling each `fn` literal and
 * each variable of function type can do.  It searches a component of the call
 * graph until nothing changes, which happens because effects only grow.
 *
 * A call of a parameter counts as EFFECT_PARAM inside the function, and at a
 * call of the function as the effects of the argument.  Functions that come out
 * of containers, cells or calls can do everything.  A `fn` inside another
 * cannot tell its own parameters from outer ones, so calling it keeps
 * EFFECT_PARAM; that is dropped where no function around takes functions.
 *
 * effects_op.c knows operators. */
#include "types/effects.h"
#include "ir/walk.h"
#include "types/check.h"

/* --- The search --------------------------------------------------------- */

typedef struct Search {
  const Program *p;
  Checker *c; /* NULL: it only asks */
  int component;
  int takers; /* enclosing functions that take functions */
  Effects found;
  VEC(Effects) outside; /* found around the functions and items under way */
  bool recursive;       /* the component mentions one of its own */
  bool changed;         /* since the pass began */
  bool asked;   /* for the effects of one of the component's own globals */
  bool again;   /* something was asked for before all of it was found */
  bool idle;    /* an item has none, as far as is known */
  bool warns;   /* effects are known: of such items */
  PtrMap *each; /* Expr -> what evaluating it can do; NULL: nobody asks */
  ExprWalk walk;
} Search;

static bool is_function(const Type *t) { return t && t->kind == TY_FN; }

static bool takes_functions(const Type *t) {
  for (int i = 0; i < t->count; i++)
    if (is_function(t->args[i])) return true;
  return false;
}

/* Effects that are written down only grow. */
static void raise(Search *s, uint16_t *to, Effects e) {
  if ((*to | e) == *to) return;
  s->changed = true;
  s->again |= *to & EFFECT_KNOWN;
  *to |= e;
}

/* The same of a global.  Nobody has to ask again who has not asked yet. */
static void raise_global(Search *s, Global *g, Effects e) {
  if ((g->effects | e) == g->effects) return;
  s->changed = true;
  s->again |= s->asked;
  g->effects |= e;
}

/* A mention of one of the component's own functions makes it recursive.  That
 * calling it may diverge is noted before anybody asks, so that a function with
 * no effects but this one is searched once. */
static void meet_global(Search *s, Global *g) {
  const Definition *d = s->c ? g->definition : NULL;
  if (!d || d->component != s->component) return;
  if (is_function(g->type)) g->effects |= EFFECT_DIVERGE;
  s->recursive = s->asked = true;
}

/* A tensor that crosses from `?` to a number is checked. */
static void cross(void *data, const Type *actual, const Type *expected,
                  bool out) {
  Search *s = data;
  bool check = out ? types_need_check_out(s->p, actual, expected)
                   : types_need_check(actual, expected);
  if (check) s->found |= EFFECT_FAIL;
}

/* --- Functions as values ------------------------------------------------ */

/* The effects written down.  While a search still writes, these are the ones
 * found so far. */
static Effects noted(Search *s, Effects effects) {
  bool known = effects & EFFECT_KNOWN;
  if (!known && !s->c) return EFFECT_ALL;
  s->again |= !known;
  return effects & ~EFFECT_KNOWN;
}

static bool knows_params(const Type *fn) {
  for (int i = 0; i < fn->count; i++)
    if (types_know_dims(fn->args[i])) return true;
  return false;
}

/* Does a use of the function check arguments when it is entered?  It does when
 * the function has to bind its named dimensions, and when callers may know less
 * about dimensions than the function does. */
static bool checks_entry(const Search *s, const Expr *e) {
  return types_use_binds(s->p, e) ||
         (s->p->loose && is_function(e->type) && knows_params(e->type));
}

static Effects callable(Search *s, const Expr *e);

/* with_vjp(f, g) is f; where it is differentiated, g is called, too. */
static Effects made_effects(Search *s, const Expr *e) {
  const Expr *callee = e->call.callee;
  bool known =
      callee->kind == EX_OP && op_info(callee->op)->special == SPECIAL_WITH_VJP;
  return known ? callable(s, e->args[0]) | callable(s, e->args[1]) : EFFECT_ALL;
}

static Effects body_effects(Search *s, const Expr *e) {
  switch (e->kind) {
    case EX_FN: return noted(s, e->fn->effects);
    case EX_VAR: return noted(s, e->var->effects);
    case EX_GLOBAL: meet_global(s, e->g.global); return e->g.global->effects;
    case EX_CTOR: return 0;
    case EX_OP:
      return op_effects(&(OpUse){.op = op_info(e->op),
                                 .count = e->type->count,
                                 .types = e->type->args});
    case EX_CALL: return made_effects(s, e);
    default: return EFFECT_ALL;
  }
}

/* What calling the value of an expression can do. */
static Effects callable(Search *s, const Expr *e) {
  Effects does = body_effects(s, expr_result(e));
  return checks_entry(s, e) ? does | EFFECT_FAIL : does;
}

/* The effects of calling an argument.  The functions that the argument takes
 * are not known here. */
static Effects callable_given(Search *s, const Expr *arg) {
  Effects e = callable(s, arg);
  return e & EFFECT_PARAM && takes_functions(arg->type) ? EFFECT_ALL : e;
}

/*   f does E    f's parameters are called    args[i] does Ei
 *   ---------------------------------------------------------
 *   f(args...) does E, E1, ... En                              */
static Effects applied(Search *s, const Expr *e) {
  Effects does = callable(s, e->call.callee);
  if (!(does & EFFECT_PARAM)) return does;
  if (e->call.callee->kind == EX_GLOBAL) does &= ~EFFECT_PARAM;
  for (int i = 0; i < e->count; i++)
    if (is_function(e->args[i]->type)) does |= callable_given(s, e->args[i]);
  return does;
}

/* --- Calls -------------------------------------------------------------- */

static Effects op_applied(const Expr *e) {
  return op_effects(&(OpUse){.op = op_info(e->call.callee->op),
                             .attrs = e->call.bound,
                             .count = e->count,
                             .args = e->args});
}

static void meet_call(Search *s, const Expr *e) {
  const Expr *callee = e->call.callee;
  if (callee->kind == EX_OP) {
    s->found |= op_applied(e);
    OpSpecial form = op_info(callee->op)->special;
    if (form == SPECIAL_VJP || form == SPECIAL_JVP)
      s->found |= callable_given(s, e->args[0]);
    return;
  }
  s->found |= applied(s, e);
}

/* --- Binders ------------------------------------------------------------ */

/* What calling a variable's value can do, if that is a function. */
static void note_var(Search *s, Var *var, Effects e) {
  if (s->c && is_function(var->type)) raise(s, &var->effects, e | EFFECT_KNOWN);
}

/* Notes parameters, variables in patterns and free variables.  A variable that
 * a `let` binds is noted after its value. */
static void note_binder(Search *s, const ExprWalk *w) {
  if (w->at->kind == EX_FN) note_var(s, w->var, EFFECT_PARAM);
  else if (w->at->kind == EX_MATCH || w->binding->kind == BIND_FREE)
    note_var(s, w->var, EFFECT_ALL);
}

/* A function's variable is first met inside the value that it is bound to, or
 * in its group: it is recursive. */
static void meet_var(Search *s, Var *var) {
  if (var->lazy) s->found |= EFFECT_FAIL | EFFECT_DIVERGE;
  if (s->c && is_function(var->type) && !(var->effects & EFFECT_KNOWN))
    raise(s, &var->effects, EFFECT_DIVERGE);
}

/* From here on effects are collected separately, up to end_apart. */
static void begin_apart(Search *s) {
  VEC_PUSH(&s->outside, s->found);
  s->found = 0;
}

static Effects end_apart(Search *s) {
  Effects inside = s->found;
  s->found = s->outside.len ? VEC_POP(&s->outside) : EFFECT_ALL;
  return inside;
}

/* Making a function does nothing; calling it does what its body does. */
static void enter_fn(Search *s, const Expr *e) {
  begin_apart(s);
  s->takers += e->type && takes_functions(e->type);
}

static void leave_fn(Search *s, const Expr *e) {
  types_crossings(e, cross, s);
  if (!s->takers) s->found &= ~EFFECT_PARAM;
  s->takers -= e->type && takes_functions(e->type);
  Effects inside = end_apart(s);
  s->found |= inside & EFFECT_TYPED;
  raise(s, &((Fn *)e->fn)->effects, inside | EFFECT_KNOWN);
}

/* A general function is compiled for the types at which it is used.  So where
 * its code depends on these types, so does the code that uses it. */
static void meet_general(Search *s, const Expr *use) {
  if (!use->targs) return;
  const Effects *of =
      use->kind == EX_VAR ? &use->var->effects : &use->g.global->effects;
  s->found |= *of & EFFECT_TYPED;
}

/* `e;` is only written for its effects, so it should have some. */
static void leave_item(Search *s, const Expr *e) {
  Effects does = end_apart(s);
  s->found |= does;
  does &= ~EFFECT_TYPED;
  s->idle |= !does;
  if (s->warns && !does && e->type && !type_is_unit(e->type)) {
    diag_warning(s->p->diags, W0002, e->span,
                 "this value is not used, and evaluating it does nothing");
  }
}

/* A variable that its own value mentions is recursive, and so is the
 * function. */
static void bind_let(Search *s, const Binding *b) {
  if (b->value->kind == EX_FN) {
    Fn *fn = (Fn *)b->value->fn;
    raise(s, &fn->effects, b->var->effects & EFFECT_DIVERGE);
  }
  note_var(s, b->var, callable(s, b->value));
  if (!is_function(b->var->type))
    raise(s, &b->var->effects, s->found & EFFECT_TYPED);
}

/* All values of a group come before its variables. */
static void leave_value(Search *s, const Block *block, int i) {
  const Binding *b = block->bindings;
  if (b[i].kind == BIND_ITEM) leave_item(s, b[i].value);
  if (b[i].kind != BIND_LET && b[i].kind != BIND_AND) return;
  if (i + 1 < block->count && b[i + 1].kind == BIND_AND) return;
  int first = i;
  while (first > 0 && b[first].kind == BIND_AND) first--;
  for (; first <= i; first++) bind_let(s, &b[first]);
}

/* --- Expressions -------------------------------------------------------- */

/* Of a node without parts, only that it is a binding's value matters when it is
 * left. */
static void pass_leaf(Search *s, ExprWalk *w) {
  if (w->role != ROLE_VALUE && !s->each) expr_walk_skip(w);
}

/* Writes down what evaluating the node can do.  Making a function does
 * nothing. */
static void leave_told(Search *s, const Expr *e) {
  Effects inside = end_apart(s) & ~EFFECT_TYPED;
  if (e->kind == EX_FN) inside = 0;
  s->found |= inside;
  ptrmap_put(s->each, e, (void *)(uintptr_t)(inside | EFFECT_KNOWN));
}

static Effects written(const Expr *e) {
  const Type *cell = e->args[0]->type;
  bool typed = !cell || cell->has_var;
  return typed ? EFFECT_WRITE | EFFECT_TYPED : EFFECT_WRITE;
}

/* What a node adds besides its parts. */
static void enter(Search *s, ExprWalk *w) {
  const Expr *e = w->at;
  if (s->each || (s->c && expr_walk_is_value(w, BIND_ITEM))) begin_apart(s);
  if (e->kind != EX_FN) types_crossings(e, cross, s);
  switch (e->kind) {
    case EX_VAR:
      meet_var(s, e->var), meet_general(s, e), pass_leaf(s, w);
      break;
    case EX_GLOBAL:
      meet_global(s, e->g.global), meet_general(s, e), pass_leaf(s, w);
      break;
    case EX_OP:
      if (w->role != ROLE_CALLEE) s->found |= callable(s, e) & EFFECT_TYPED;
      pass_leaf(s, w);
      break;
    case EX_CONST: pass_leaf(s, w); break;
    case EX_FN:
      if (s->c) enter_fn(s, e);
      else if (!s->each) expr_walk_skip(w);
      break;
    case EX_CALL: meet_call(s, e); break;
    case EX_MATCH:
      if (e->match->partial) s->found |= EFFECT_FAIL;
      break;
    case EX_REF: s->found |= EFFECT_ALLOC; break;
    case EX_WRITE: s->found |= written(e); break;
    case EX_READ: s->found |= EFFECT_READ; break;
    default: break;
  }
}

static void leave(Search *s, const ExprWalk *w) {
  if (s->each) {
    leave_told(s, w->at);
    return;
  }
  if (w->at->kind == EX_FN) leave_fn(s, w->at);
  if (w->role == ROLE_VALUE) leave_value(s, w->parent->block, w->index);
}

static void search(Search *s, const Expr *root) {
  ExprWalk *w = &s->walk;
  expr_walk_add(w, root);
  while (expr_walk_next(w))
    if (w->event == WALK_ENTER) enter(s, w);
    else if (w->event == WALK_LEAVE) leave(s, w);
    else note_binder(s, w);
}

/* A question about an expression writes nothing down and needs only the events
 * of entering. */
static void search_begin(Search *s, const Program *p, Checker *c) {
  unsigned events = c ? WALK_ENTER | WALK_LEAVE | WALK_BIND : WALK_ENTER;
  *s = (Search){.p = p, .c = c};
  VEC_INIT(&s->outside, p->mem);
  expr_walk_start(&s->walk, p->mem, events, NULL);
}

static bool search_end(Search *s) {
  VEC_DONE(&s->outside);
  return expr_walk_end(&s->walk);
}

/* What evaluating the expression can do: EFFECT_TYPED is about its code, and
 * left out.  When memory ran out: everything. */
static Effects answer(Search *s) {
  return search_end(s) ? s->found & ~EFFECT_TYPED : EFFECT_ALL;
}

Effects expr_effects(const Program *p, const Expr *e) {
  Search s;
  search_begin(&s, p, NULL);
  search(&s, e);
  return answer(&s);
}

Effects expr_own_effects(const Program *p, const Expr *e) {
  Search s;
  search_begin(&s, p, NULL);
  expr_walk_add(&s.walk, e);
  if (expr_walk_next(&s.walk)) enter(&s, &s.walk);
  return answer(&s);
}

bool expr_effects_each(const Program *p, const Expr *e, PtrMap *out) {
  Search s;
  search_begin(&s, p, NULL);
  s.walk.wanted |= WALK_LEAVE;
  s.each = out;
  search(&s, e);
  return search_end(&s);
}

/* --- Programs ----------------------------------------------------------- */

/* The effects of calling what a definition defines; of another value, which
 * may be general, what its code depends on. */
static void note_global(Search *s, const Definition *d) {
  Global *g = d->global;
  if (!g) return;
  if (!is_function(g->type)) {
    raise_global(s, g, s->found & EFFECT_TYPED);
    return;
  }
  Effects e = callable(s, d->value);
  raise_global(s, g, s->recursive ? e | EFFECT_DIVERGE : e);
}

/* One pass over a component, definitions [from, to).  Is another one needed?
 * Where nothing was asked for before it was known, the first finds all. */
static bool search_component(Search *s, size_t from, size_t to) {
  bool was_recursive = s->recursive;
  s->changed = s->asked = s->again = s->idle = false;
  for (size_t i = from; i < to; i++) {
    const Definition *d = s->c->components.data[i];
    if (!d->value) continue;
    s->found = 0;
    search(s, d->value);
    note_global(s, d);
  }
  /* Those that were noted before the first mention. */
  for (size_t i = from; s->recursive && !was_recursive && i < to; i++)
    if (s->c->components.data[i]->value)
      note_global(s, s->c->components.data[i]);
  return s->changed && s->again;
}

/* Of the nodes that may sink into a branch or an arm, those that may only fail
 * or diverge are evaluated where they are used.  A node that uses one of these
 * is like it, so the list, which is in the order of definition, is gone
 * through until no more are found. */
static void mark_lazy(Checker *c) {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < c->sinking.len; i++) {
      const Sinking *s = &c->sinking.data[i];
      bool dropped = !s->value->type; /* in a branch that is never taken */
      if (s->var->lazy || dropped) continue;
      Effects e = expr_effects(c->p, s->value);
      s->var->lazy = e && !(e & ~(EFFECT_FAIL | EFFECT_DIVERGE));
      changed |= s->var->lazy;
    }
  }
}

/* A component is searched until nothing changes, and once more where there are
 * items to be warned of. */
void effects_program(Checker *c) {
  Search s;
  size_t from = 0, to = 0;
  search_begin(&s, c->p, c);
  for (; from < c->components.len; from = to) {
    const Definition *first = c->components.data[from];
    s.component = first->component;
    while (to < c->components.len &&
           c->components.data[to]->component == s.component)
      to++;
    s.recursive = s.warns = false;
    while (search_component(&s, from, to)) {
    }
    s.warns = s.idle && !unit_is_library(first->unit);
    if (s.warns) search_component(&s, from, to);
  }
  search_end(&s);
  mark_lazy(c);
}

void effects_print(StrBuf *out, Effects e) {
  static const struct {
    Effects bit;
    const char *text;
  } rows[] = {
      {EFFECT_READ, "reads"},
      {EFFECT_WRITE, "writes"},
      {EFFECT_ALLOC, "allocates"},
      {EFFECT_DIVERGE, "may diverge"},
      {EFFECT_FAIL, "may fail"},
      {EFFECT_PRINT, "prints"},
      {EFFECT_PARAM, "calls its arguments"},
  };
  const char *between = "";
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!(e & rows[i].bit)) continue;
    strbuf_addf(out, "%s%s", between, rows[i].text);
    between = ", ";
  }
  if (!*between) strbuf_add(out, "pure");
}
