/* Effects: what evaluating an expression, or calling a function, can do.
 *
 * One walk answers for both.  It collects the effects of what it meets; where
 * it is run by effects_program() it also writes down, for each `fn` literal
 * and each variable of function type, what calling it can do.  A component of
 * the call graph is walked until nothing changes; effects only ever grow.
 *
 * A function given as a parameter is EFFECT_PARAM inside the function, and at
 * a call what the argument is known to do.  Functions that come out of
 * containers, cells or calls can do everything.  A `fn` nested in another
 * cannot tell its own parameters from outer ones, so calling it keeps
 * EFFECT_PARAM, which is dropped where no function around takes functions.
 *
 * effects_op.c knows operators. */
#include "types/effects.h"
#include "types/check.h"

/* --- The walk ----------------------------------------------------------- */

typedef struct Walk {
  const Program *p;
  Checker *c; /* NULL: it only asks */
  int component;
  int takers; /* functions around that take functions */
  Effects found;
  bool recursive; /* the component mentions one of its own */
  bool changed;
  bool warns; /* effects are known: of what is useless */
} Walk;

static void walk(Walk *w, const Expr *e);

static bool is_function(const Type *t) { return t && t->kind == TY_FN; }

static bool takes_functions(const Type *t) {
  for (int i = 0; i < t->count; i++)
    if (is_function(t->args[i])) return true;
  return false;
}

/* Effects that are written down only grow. */
static void raise(Walk *w, uint8_t *to, Effects e) {
  if ((*to | e) == *to) return;
  *to |= e;
  w->changed = true;
}

/* A tensor that crosses from `?` to a number is checked. */
static void cross(void *data, const Type *actual, const Type *expected,
                  bool out) {
  Walk *w = data;
  bool check = out ? types_need_check_out(w->p, actual, expected)
                   : types_need_check(actual, expected);
  if (check) w->found |= EFFECT_FAIL;
}

/* --- Functions as values ------------------------------------------------ */

/* What was written down; while the walk still writes, so far. */
static Effects noted(const Walk *w, uint8_t effects) {
  if (!(effects & EFFECT_KNOWN) && !w->c) return EFFECT_ALL;
  return effects & ~EFFECT_KNOWN;
}

static bool knows_params(const Type *fn) {
  for (int i = 0; i < fn->count; i++)
    if (types_know_dims(fn->args[i])) return true;
  return false;
}

/* Arguments are looked at when a function is entered that has to bind its
 * named dimensions, or whose callers may know less of them than it does. */
static bool checks_entry(const Walk *w, const Expr *e) {
  return types_use_binds(w->p, e) ||
         (w->p->loose && is_function(e->type) && knows_params(e->type));
}

static Effects body_effects(const Walk *w, const Expr *e) {
  switch (e->kind) {
    case EX_FN: return noted(w, e->fn->effects);
    case EX_VAR: return noted(w, e->var->effects);
    case EX_GLOBAL: return e->g.global->effects;
    case EX_CTOR: return 0;
    case EX_OP:
      return op_effects(&(OpUse){.op = op_info(e->op),
                                 .count = e->type->count,
                                 .types = e->type->args});
    default: return EFFECT_ALL;
  }
}

/* What calling the value of an expression can do. */
static Effects callable(const Walk *w, const Expr *e) {
  while (e->kind == EX_BLOCK) e = e->block->result;
  Effects does = body_effects(w, e);
  return checks_entry(w, e) ? does | EFFECT_FAIL : does;
}

/* The same of an argument, whose own parameters nobody here knows. */
static Effects callable_given(const Walk *w, const Expr *arg) {
  Effects e = callable(w, arg);
  return e & EFFECT_PARAM && takes_functions(arg->type) ? EFFECT_ALL : e;
}

/*   f does E    f's parameters are called    args[i] does Ei
 *   ---------------------------------------------------------
 *   f(args...) does E, E1, ... En                              */
static Effects applied(const Walk *w, const Expr *e) {
  Effects does = callable(w, e->call.callee);
  if (!(does & EFFECT_PARAM)) return does;
  if (e->call.callee->kind == EX_GLOBAL) does &= ~EFFECT_PARAM;
  for (int i = 0; i < e->count; i++)
    if (is_function(e->args[i]->type)) does |= callable_given(w, e->args[i]);
  return does;
}

/* --- Calls -------------------------------------------------------------- */

static Effects op_applied(const Expr *e) {
  return op_effects(&(OpUse){.op = op_info(e->call.callee->op),
                             .attrs = e->call.bound,
                             .count = e->count,
                             .args = e->args});
}

static void walk_call(Walk *w, const Expr *e) {
  const Expr *callee = e->call.callee;
  if (callee->kind == EX_OP) {
    w->found |= op_applied(e);
    return;
  }
  w->found |= applied(w, e);
}

/* --- Binders ------------------------------------------------------------ */

/* What calling a variable's value can do, if that is a function. */
static void note_var(Walk *w, Var *var, Effects e) {
  if (w->c && is_function(var->type)) raise(w, &var->effects, e | EFFECT_KNOWN);
}

/* A variable is mentioned before anything is known of it: inside its own
 * value, or its group's. */
static void walk_var(Walk *w, Var *var) {
  if (var->lazy) w->found |= EFFECT_FAIL | EFFECT_DIVERGE;
  if (w->c && is_function(var->type) && !(var->effects & EFFECT_KNOWN))
    raise(w, &var->effects, EFFECT_DIVERGE);
}

static void walk_global(Walk *w, const Global *g) {
  if (!w->c) return;
  const Definition *d = g->definition;
  if (d && d->component == w->component) w->recursive = true;
}

/* Making a function does nothing; calling it does what its body does. */
static void walk_fn(Walk *w, const Expr *e) {
  if (!w->c) return;
  Fn *fn = (Fn *)e->fn;
  for (int i = 0; i < fn->param_count; i++)
    note_var(w, fn->params[i], EFFECT_PARAM);
  Effects outside = w->found;
  int taker = e->type && takes_functions(e->type);
  w->found = 0;
  w->takers += taker;
  walk(w, fn->body);
  types_crossings(e, cross, w);
  if (!w->takers) w->found &= ~EFFECT_PARAM;
  raise(w, &fn->effects, w->found | EFFECT_KNOWN);
  w->takers -= taker;
  w->found = outside;
}

/* A variable that its own value mentions is recursive, and so is the
 * function. */
static void bind_let(Walk *w, const Binding *b) {
  if (b->kind == BIND_FREE) note_var(w, b->var, EFFECT_ALL);
  if (b->kind != BIND_LET && b->kind != BIND_AND) return;
  if (!w->c) return;
  if (b->value->kind == EX_FN) {
    Fn *fn = (Fn *)b->value->fn;
    raise(w, &fn->effects, b->var->effects & EFFECT_DIVERGE);
  }
  note_var(w, b->var, callable(w, b->value));
}

/* `e;` is written for its effects. */
static void walk_item(Walk *w, const Expr *e) {
  Effects before = w->found;
  w->found = 0;
  walk(w, e);
  if (w->warns && !w->found && e->type && !type_is_unit(e->type)) {
    diag_warning(w->p->diags, W0002, e->span,
                 "this value is not used, and evaluating it does nothing");
  }
  w->found |= before;
}

/* All values of a group come before its variables. */
static void walk_bindings(Walk *w, const Block *block) {
  for (int i = 0, bound = 0; i < block->count; i++) {
    const Binding *b = &block->bindings[i];
    if (b->kind == BIND_ITEM) walk_item(w, b->value);
    else if (b->value) walk(w, b->value);
    if (i + 1 < block->count && b[1].kind == BIND_AND) continue;
    while (bound <= i) bind_let(w, &block->bindings[bound++]);
  }
}

/* Patterns nest no deeper than the parser lets them. */
static void walk_pattern(Walk *w, const Pattern *p) {
  if (p->kind == PT_VAR) note_var(w, p->var, EFFECT_ALL);
  for (int i = 0; i < p->count; i++) walk_pattern(w, p->fields[i]);
}

static void walk_arms(Walk *w, const Match *m) {
  if (m->partial) w->found |= EFFECT_FAIL;
  for (int i = 0; i < m->arm_count; i++) {
    walk_pattern(w, m->arms[i].pattern);
    walk(w, m->arms[i].body);
  }
}

/* --- Expressions -------------------------------------------------------- */

/* What a node adds besides its arguments, its callee and its result. */
static void walk_node(Walk *w, const Expr *e) {
  if (e->kind != EX_FN) types_crossings(e, cross, w);
  switch (e->kind) {
    case EX_VAR: walk_var(w, e->var); break;
    case EX_GLOBAL: walk_global(w, e->g.global); break;
    case EX_FN: walk_fn(w, e); break;
    case EX_CALL: walk_call(w, e); break;
    case EX_BLOCK: walk_bindings(w, e->block); break;
    case EX_MATCH: walk_arms(w, e->match); break;
    case EX_REF: w->found |= EFFECT_ALLOC; break;
    case EX_WRITE: w->found |= EFFECT_WRITE; break;
    case EX_READ: w->found |= EFFECT_READ; break;
    default: break;
  }
}

/* The child along which programs get deep: the last of an `else if` chain, the
 * callee of f(a)(b)(c), the first operand of a + b + c and of a && b && c. */
static const Expr *spine_of(const Expr *e) {
  bool chain = e->sugar == SUGAR_AND || e->sugar == SUGAR_OR;
  switch (e->kind) {
    case EX_BLOCK: return e->block->result;
    case EX_IF: return e->args[chain ? 0 : 2];
    case EX_CALL:
      if (e->call.callee->kind != EX_OP) return e->call.callee;
      break;
    default: break;
  }
  return e->count > 0 ? e->args[0] : NULL;
}

/* Loops along the spine; elsewhere no deeper than the parser lets programs
 * nest. */
static void walk(Walk *w, const Expr *e) {
  while (e) {
    walk_node(w, e);
    const Expr *spine = spine_of(e);
    for (int i = 0; i < e->count; i++)
      if (e->args[i] != spine) walk(w, e->args[i]);
    e = spine;
  }
}

Effects expr_effects(const Program *p, const Expr *e) {
  Walk w = {.p = p};
  walk(&w, e);
  return w.found;
}

/* --- Programs ----------------------------------------------------------- */

/* The effects of calling what a definition defines. */
static void note_global(Walk *w, const Definition *d) {
  Global *g = d->global;
  if (!g || !is_function(g->type)) return;
  Effects e = callable(w, d->value);
  raise(w, &g->effects, w->recursive ? e | EFFECT_DIVERGE : e);
}

/* One pass over a component, definitions [from, to). */
static bool walk_component(Walk *w, size_t from, size_t to) {
  w->changed = false;
  for (size_t i = from; i < to; i++) {
    const Definition *d = w->c->components.data[i];
    if (!d->value) continue;
    walk(w, d->value);
    note_global(w, d);
  }
  return w->changed;
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
      if (s->var->lazy) continue;
      Effects e = expr_effects(c->p, s->value);
      s->var->lazy = e && !(e & ~(EFFECT_FAIL | EFFECT_DIVERGE));
      changed |= s->var->lazy;
    }
  }
}

void effects_program(Checker *c) {
  size_t from = 0, to = 0;
  for (; from < c->components.len; from = to) {
    int component = c->components.data[from]->component;
    while (to < c->components.len &&
           c->components.data[to]->component == component)
      to++;
    Walk w = {.p = c->p, .c = c, .component = component};
    while (walk_component(&w, from, to)) {
    }
    w.warns = !unit_is_library(c->components.data[from]->unit);
    if (w.warns) walk_component(&w, from, to);
  }
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
