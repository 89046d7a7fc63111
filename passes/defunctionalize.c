/* Defunctionalization: functions that are values become data (Reynolds,
 * "Definitional interpreters for higher-order programming languages", 1972).
 *
 *   def @f(%n: int32, %l: List[int32]) { @map(fn (%x) { %x * %n }, %l) }
 *
 *   def @f(%n: int32, %l: List[int32]) { @map_data(Fn_fn(%n), %l) }
 *   type Fn { Fn_fn(int32) }
 *   def @apply_fn(%x: int32, %fn: Fn) -> int32 {
 *     match (%fn) { Fn_fn(%n) => { @lifted_fn(%n, %x) } }
 *   }
 *   def @map_data(%f: Fn, ...) { ... @apply_fn(%h, %f) ... }
 *
 * Each type of functions becomes one data type.  Its values are the functions
 * of that type that the text has as values: a constructor each, whose fields
 * are the variables that the function mentions.  A call of a value becomes one
 * of @apply_fn, which takes the value last, as a call evaluates its callee.
 * LambdaLift goes before, so that a function that calls itself is a definition.
 *
 * A definition that takes or gives functions is copied: for each combination of
 * types that it is used at, as data types have no parameters for functions.
 * The definition itself stays for a host, or goes with what nothing reaches.
 *
 * This file finds the types whose values all are known.  These stay types of
 * functions: what a host sees (the values of expressions and params), what a
 * type of the library or one with parameters declares as a field, what mentions
 * a type parameter where no copy is made, what operators such as `grad` take
 * and give, and what a `fn` has that LambdaLift leaves.  All types in one that
 * stays stay, too.  defunctionalize_map.c does the rest. */
#include "passes/defunctionalize.h"

#include "ops/ops.h"
#include "types/types.h"

enum {
  TYPE_MOST = 1000,   /* parts of a type that becomes data */
  CAPTURED_MOST = 32, /* variables of a function */
  INSTANCES_MOST =
      1000, /* a function may use itself at larger types for ever */
};

/* --- Types ---------------------------------------------------------------- */

Class *defun_class(const Defun *d, const Type *t) {
  return t ? ptrmap_get(&d->class_of, t) : NULL;
}

typedef VEC(const Type *) Types;

static void push_parts(Types *work, const Type *t) {
  for (int i = 0; i < t->count; i++) VEC_PUSH(work, t->args[i]);
  if (t->kind == TY_FN) VEC_PUSH(work, t->result);
}

static void push_fields(Types *work, const Type *t) {
  if (t->kind != TY_ADT) return;
  for (int i = 0; i < t->adt->ctor_count; i++)
    for (int k = 0; k < t->adt->ctors[i].field_count; k++)
      VEC_PUSH(work, t->adt->ctors[i].fields[k]);
}

/* Shows each type that a value of type `whole` may have inside, once: also
 * those in the fields of data types, as they are declared.  A declared type
 * whose fields may change has no parameters, so it is found without a
 * substitution. */
static void each_inside(Defun *d, const Type *whole,
                        void (*visit)(Defun *d, const Type *t)) {
  Types work;
  PtrMap met;
  VEC_INIT(&work, d->p->mem);
  ptrmap_init(&met, d->p->mem);
  if (whole) VEC_PUSH(&work, whole);
  while (work.len && !mem_exhausted(d->p->mem)) {
    const Type *t = VEC_POP(&work);
    if (ptrmap_has(&met, t)) continue;
    ptrmap_put(&met, t, d);
    visit(d, t);
    push_parts(&work, t);
    push_fields(&work, t);
  }
  VEC_DONE(&work);
  ptrmap_done(&met);
}

static Class *add_class(Defun *d, const Type *t) {
  Class *c = ARENA_NEW(d->arena, Class);
  if (!c) return NULL;
  *c = (Class){.type = t};
  c->stays = t->size > TYPE_MOST;
  ptrmap_init(&c->ctor_of, d->p->mem);
  VEC_INIT(&c->ctors, d->p->mem);
  VEC_INIT(&c->arms, d->p->mem);
  ptrmap_put(&d->class_of, t, c);
  VEC_PUSH(&d->classes, c);
  return c;
}

static void keep_one(Defun *d, const Type *t) {
  Class *c = defun_class(d, t);
  if (!c && t->kind == TY_FN && !t->has_var && !t->param_count)
    c = add_class(d, t);
  if (c) c->stays = true;
}

/* All types of functions in it stay, and so do those in the fields of the data
 * types in it. */
static void keep(Defun *d, const Type *whole) {
  each_inside(d, whole, keep_one);
}

/* Does it hold a function, but for what stands for a parameter? */
static bool has_function(const Defun *d, const Type *whole) {
  Types work;
  VEC_INIT(&work, d->p->mem);
  if (whole) VEC_PUSH(&work, whole);
  bool found = false;
  for (int seen = 0; work.len && !found; seen++) {
    const Type *t = VEC_POP(&work);
    found = t->kind == TY_FN || seen > TYPE_MOST;
    push_parts(&work, t);
  }
  VEC_DONE(&work);
  return found;
}

/* Does it hold a function with type parameters of its own? */
static bool has_scheme(const Defun *d, const Type *whole) {
  Types work;
  VEC_INIT(&work, d->p->mem);
  VEC_PUSH(&work, whole);
  bool found = false;
  for (int seen = 0; work.len && !found; seen++) {
    const Type *t = VEC_POP(&work);
    found = t->param_count > 0 || seen > TYPE_MOST;
    push_parts(&work, t);
  }
  VEC_DONE(&work);
  return found;
}

/* Functions in fields stay, but for those of types whose fields may change
 * (defunctionalize_field.c).  Types within fields are not looked into: where a
 * value has one, that is the type of an expression, too. */
static void keep_fields(Defun *d, const Type *t) {
  const Adt *adt = t->adt;
  for (int i = 0; i < adt->ctor_count; i++)
    for (int k = 0; k < adt->ctors[i].field_count; k++) {
      const Type *field = adt->ctors[i].fields[k];
      bool open = defun_is_declared(d, t) && !has_scheme(d, field);
      if (!open && has_function(d, field))
        keep(d, type_substitute(d->p->types, field, adt->param_count,
                                adt->params, t->args, NULL));
    }
}

/* Adds the classes of a type's parts. */
static void note_type(Defun *d, const Type *whole) {
  Types work;
  VEC_INIT(&work, d->p->mem);
  if (whole) VEC_PUSH(&work, whole);
  while (work.len && !mem_exhausted(d->p->mem)) {
    const Type *t = VEC_POP(&work);
    if (ptrmap_has(&d->noted, t)) continue;
    ptrmap_put(&d->noted, t, d);
    if (t->kind == TY_FN && !t->has_var && !t->param_count &&
        !defun_class(d, t))
      add_class(d, t);
    push_parts(&work, t);
    if (defun_is_declared(d, t)) push_fields(&work, t);
    if (t->kind == TY_ADT) keep_fields(d, t);
  }
  VEC_DONE(&work);
}

/* Does a parameter or the result of the definition hold one? */
static bool is_higher_order(const Defun *d, const Global *g) {
  bool found = g->type && has_function(d, g->type->result);
  for (int i = 0; g->type && !found && i < g->type->count; i++)
    found = has_function(d, g->type->args[i]);
  return found;
}

const Type *defun_type(const Defun *d, const Instance *in, const Type *t) {
  if (!in || !t || !t->has_var) return t;
  return type_substitute(d->p->types, t, in->of->param_count, in->of->params,
                         in->args, NULL);
}

/* --- Instances ------------------------------------------------------------ */

Instance *defun_instance(Defun *d, const Instance *in, const Expr *use) {
  Global *g = use->g.global;
  int n = g->param_count;
  const Type **args = ARENA_ARRAY(d->arena, const Type *, (size_t)n + 1);
  if (!args || g->kind != GLOBAL_DEF || (n && use->targ_count != n))
    return NULL;
  for (int i = 0; i < n; i++) {
    args[i] = defun_type(d, in, use->targs[i]);
    if (!args[i] || args[i]->has_var || g->params[i]->kind != KIND_TYPE)
      return NULL;
    if (args[i]->size > TYPE_MOST) {
      d->grows = true;
      return NULL;
    }
  }
  Instance *first = ptrmap_get(&d->first, g), *at = first;
  for (; at; at = at->next) {
    bool same = true;
    for (int i = 0; i < n; i++) same &= at->args[i] == args[i];
    if (same) return at;
  }
  if (d->instances.len == INSTANCES_MOST) {
    d->grows = true;
    return NULL;
  }
  if (!(at = ARENA_NEW(d->arena, Instance))) return NULL;
  *at = (Instance){.of = g, .args = args, .next = first};
  at->type = type_fn(d->p->types, 0, NULL, g->type->count, g->type->args,
                     g->type->result);
  at->type = defun_type(d, at, at->type);
  ptrmap_put(&d->first, g, at);
  VEC_PUSH(&d->instances, at);
  return at;
}

/* Would all names in a function of the library mean the same in the text? */
static bool names_hold(const Defun *d, const Global *g) {
  if (!g->library) return true;
  ExprWalk w;
  const Scope *scope = &d->p->user;
  bool hold = true;
  expr_walk_start(&w, d->p->mem, WALK_ENTER | WALK_PATTERN, g->value);
  while (hold && expr_walk_next(&w)) {
    const Ctor *ctor = w.event == WALK_PATTERN ? w.pattern->ctor
                       : w.at->kind == EX_CTOR ? w.at->ctor
                                               : NULL;
    if (ctor && !ctor->adt->literals)
      hold = scope_ctor(scope, ctor->name) == ctor;
    if (w.event == WALK_ENTER && w.at->kind == EX_GLOBAL)
      hold &= scope_global(scope, w.at->g.name) == w.at->g.global;
  }
  return expr_walk_end(&w) && hold;
}

static bool can_be_copied(const Defun *d, const Global *g) {
  return g->value && g->value->kind == EX_FN && !g->scheme && !g->instance_of &&
         !g->value->fn->attr_count && names_hold(d, g);
}

/* --- Values --------------------------------------------------------------- */

bool defun_is_direct(const Expr *callee) {
  return callee->kind == EX_OP || callee->kind == EX_CTOR ||
         callee->kind == EX_FN ||
         (callee->kind == EX_GLOBAL && callee->g.global->kind == GLOBAL_DEF);
}

void defun_free(const Defun *d, const Expr *fn, Vars *out) {
  ExprWalk w;
  PtrMap met;
  ptrmap_init(&met, d->p->mem);
  expr_walk_start(&w, d->p->mem, WALK_ENTER | WALK_BIND, fn);
  while (expr_walk_next(&w) && out->len <= CAPTURED_MOST) {
    Var *var = w.event == WALK_BIND   ? w.var
               : w.at->kind == EX_VAR ? w.at->var
                                      : NULL;
    if (!var || ptrmap_has(&met, var)) continue;
    ptrmap_put(&met, var, var);
    if (w.event == WALK_ENTER) VEC_PUSH(out, var);
  }
  expr_walk_end(&w);
  ptrmap_done(&met);
}

/* Does it mention what another definition does not see: a named dimension, a
 * `%x` of the top level, or a type parameter that no instance gives? */
static bool is_local(const Defun *d, const Instance *in, const Expr *fn) {
  ExprWalk w;
  bool found = false;
  expr_walk_start(&w, d->p->mem, WALK_ENTER, fn);
  while (!found && expr_walk_next(&w))
    found = w.at->kind == EX_DIM ||
            (!in && w.at->type && w.at->type->has_var) ||
            (w.at->kind == EX_GLOBAL && w.at->g.global->kind == GLOBAL_LOCAL);
  expr_walk_end(&w);
  return found;
}

/* Can the variables that it mentions be fields? */
static bool is_closed(Defun *d, const Instance *in, const Expr *fn) {
  Vars vars;
  VEC_INIT(&vars, d->p->mem);
  defun_free(d, fn, &vars);
  bool ok = vars.len <= CAPTURED_MOST && !is_local(d, in, fn);
  for (size_t i = 0; i < vars.len && ok; i++) {
    const Var *var = vars.data[i];
    const Type *t = defun_type(d, in, var->type);
    ok = !var->lazy && !var->is_dim && !var->param_count && t && !t->has_var &&
         t->size <= TYPE_MOST;
    if (ok) (void)type_as_written(d->p, d->arena, t, var->span, NULL, &ok);
  }
  VEC_DONE(&vars);
  return ok;
}

static void note_value(Class *c, const Expr *e) {
  if (!c->valued) c->made_at = e->span;
  c->valued = true;
}

/* A `fn` that a `let` names is one that LambdaLift left, and it may call itself
 * by the name. */
static void look_at_fn(Defun *d, const Instance *in, const ExprWalk *w,
                       bool root) {
  const Expr *e = w->at;
  Class *c = defun_class(d, defun_type(d, in, e->type));
  if (root || w->role == ROLE_CALLEE || !c) return;
  const Binding *b = expr_walk_binding(w);
  bool named = b && b->kind != BIND_ITEM;
  if (named || e->fn->attr_count || e->fn->type_param_count ||
      !is_closed(d, in, e))
    keep(d, c->type);
  else note_value(c, e);
}

/* A use of a definition: of one that takes or gives functions, a copy is used
 * where one can be made. */
static void look_at_definition(Defun *d, const Instance *in, const Expr *e,
                               bool value) {
  Global *g = e->g.global;
  const Type *t = defun_type(d, in, e->type);
  bool higher = is_higher_order(d, g);
  Instance *use = higher || value ? defun_instance(d, in, e) : NULL;
  if (higher && (!use || !can_be_copied(d, g))) keep(d, t);
  Class *c = value ? defun_class(d, t) : NULL;
  if (c && use) note_value(c, e);
  else if (c) keep(d, t);
}

typedef struct Crossed {
  Defun *d;
  const Instance *in;
} Crossed;

/* Dimensions may differ between what a function is and what it is used as. */
static void note_crossing(void *place, const Type *actual, const Type *expected,
                          bool out) {
  const Crossed *at = place;
  const Type *a = defun_type(at->d, at->in, actual);
  const Type *b = defun_type(at->d, at->in, expected);
  (void)out;
  if (a == b) return;
  keep(at->d, a);
  keep(at->d, b);
}

/* `grad` and its like take functions and give some; no operator has another. */
static void look_at_call(Defun *d, const Instance *in, const Expr *e) {
  const OpInfo *op = expr_operator(e);
  if (op && op_is_form(op)) {
    keep(d, defun_type(d, in, e->type));
    for (int i = 0; i < e->count; i++)
      keep(d, defun_type(d, in, e->args[i]->type));
  }
  if (!defun_is_direct(e->call.callee) && e->call.attr_count)
    keep(d, defun_type(d, in, e->call.callee->type));
}

static void look_at(Defun *d, const Instance *in, const ExprWalk *w,
                    bool root) {
  const Expr *e = w->at;
  const Type *t = defun_type(d, in, e->type);
  Class *c = defun_class(d, t);
  bool value = w->role != ROLE_CALLEE;
  note_type(d, t);
  types_crossings(e, note_crossing, &(Crossed){d, in});
  if (expr_joins_types(e)) keep(d, t);
  switch (e->kind) {
    case EX_FN: look_at_fn(d, in, w, root); break;
    case EX_OP:
    case EX_CTOR:
      if (value && (c = defun_class(d, t))) note_value(c, e);
      break;
    case EX_GLOBAL:
      if (e->g.global->kind == GLOBAL_DEF) look_at_definition(d, in, e, value);
      else if (e->g.global->kind == GLOBAL_PARAM || e->targ_count) keep(d, t);
      break;
    case EX_CALL: look_at_call(d, in, e); break;
    default:
      if (e->targ_count) keep(d, t);
      break;
  }
}

/* The value of a definition is no value of its type. */
static void look(Defun *d, const Instance *in, const Expr *whole,
                 bool definition) {
  ExprWalk w;
  expr_walk_start(&w, d->p->mem, WALK_ENTER | WALK_BIND, whole);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_ENTER) {
      look_at(d, in, &w, definition && w.role == ROLE_ROOT);
      continue;
    }
    const Type *t = defun_type(d, in, w.var->type);
    note_type(d, t);
    if (t && w.var->param_count) keep(d, t);
  }
  expr_walk_end(&w);
}

static void keep_if_declared(Defun *d, const Type *t) {
  if (defun_is_declared(d, t)) keep(d, t);
}

/* The fields of all declared types in it stay what they are. */
static void keep_declared(Defun *d, const Type *whole) {
  each_inside(d, whole, keep_if_declared);
}

/* Does a host call the definition by its name? */
static bool is_for_host(const Defun *d, const Global *g) {
  bool found = g->name == name_of(d->p->names, "main");
  for (int i = 0; i < d->unit->entry_count && !found; i++)
    found = d->unit->entries[i] == g->name;
  return found;
}

/* A definition that is not rewritten finds functions in the values of globals
 * and in fields, and one that is checked by instance may hand them to others.
 */
static void keep_used(Defun *d, const Expr *whole, bool definitions) {
  ExprWalk w;
  expr_walk_start(&w, d->p->mem, WALK_ENTER, whole);
  while (expr_walk_next(&w)) {
    if (w.at->kind == EX_GLOBAL && w.at->type &&
        (definitions || w.at->g.global->kind != GLOBAL_DEF))
      keep(d, w.at->type);
    keep_declared(d, w.at->type);
  }
  expr_walk_end(&w);
}

static void look_at_items(void *data, Unit *u) {
  Defun *d = data;
  for (int i = 0; i < u->item_count; i++) {
    const Global *g = item_global(d->p, &u->items[i]);
    if (!g) continue;
    for (const Global *of = g->instances; of; of = of->next_instance)
      if (of->value) keep_used(d, of->value, true);
    if (g->scheme) continue;
    if (g->kind == GLOBAL_PARAM) keep(d, g->type);
    if (g->kind == GLOBAL_DEF && is_for_host(d, g)) keep_declared(d, g->type);
    if (g->kind == GLOBAL_DEF && is_higher_order(d, g))
      ptrmap_put(&d->kept, g, (void *)g);
    if (!g->value || g->kind == GLOBAL_VALUE || g->kind == GLOBAL_LOCAL)
      continue;
    if (ptrmap_has(&d->kept, g)) keep_used(d, g->value, false);
    else look(d, NULL, g->value, g->kind == GLOBAL_DEF);
  }
}

/* In a unit whose `fn`s were lifted. */
static void find(Defun *d) {
  unit_each(d->p, d->unit, defun_find_declared, d);
  unit_each(d->p, d->unit, look_at_items, d);
  for (int i = 0; i < d->unit->step_count; i++) {
    const Step *step = &d->unit->steps[i];
    bool let = step->kind == STEP_LET;
    const Expr *e = let ? step->global->value : step->expr;
    look(d, NULL, e, false);
    if (!let || step->global->param_count || step->global->type != e->type)
      keep(d, e->type);
  }
  for (size_t i = 0; i < d->instances.len; i++) {
    Instance *in = d->instances.data[i];
    in->copied = is_higher_order(d, in->of) && can_be_copied(d, in->of);
    if (in->copied) look(d, in, in->of->value, true);
  }
}

Pass pass_lambda_lift, pass_remove_unused, pass_defunctionalize;

Unit *pass_defunctionalize(Program *p, Unit *unit) {
  if (p->loose || !(unit = pass_lambda_lift(p, unit))) return unit;
  Defun d = {.p = p, .unit = unit, .arena = &unit->arena};
  PtrMap *const maps[] = {&d.class_of, &d.noted, &d.now,     &d.first,
                          &d.kept,     &d.vars,  &d.declared};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
    ptrmap_init(maps[i], p->mem);
  VEC_INIT(&d.classes, p->mem);
  VEC_INIT(&d.instances, p->mem);
  VEC_INIT(&d.made, p->mem);
  find(&d);
  if (!mem_exhausted(p->mem) && !d.grows) defun_map(&d);
  unit_add_items(unit, d.made.len, d.made.data);
  if (d.made.len && !mem_exhausted(p->mem)) unit = pass_remove_unused(p, unit);
  for (size_t i = 0; i < d.classes.len; i++) {
    ptrmap_done(&d.classes.data[i]->ctor_of);
    VEC_DONE(&d.classes.data[i]->ctors);
    VEC_DONE(&d.classes.data[i]->arms);
  }
  VEC_DONE(&d.classes);
  VEC_DONE(&d.instances);
  VEC_DONE(&d.made);
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) ptrmap_done(maps[i]);
  return mem_exhausted(p->mem) ? NULL : unit;
}
