/* The checker's driver: its phases in order, and what is added to the program
 * when none of them reported an error.
 *
 *   resolve -> scc -> infer -> exhaust, effects -> rules -> join
 *
 * Errors do not stop the phases up to inference, which live with error types;
 * matches, effects and the types of rules are looked at only in a program that
 * is right so far.
 * Memory that ran out stops everything.
 *
 * All or nothing: names enter p->user and slots are given only in join_program.
 * Before that the new definitions are seen through the unit's own scope, so a
 * unit with an error leaves the user's names as they were, and the prompt can
 * go on. */
#include "types/types.h"

#include <stdio.h>

#include "types/check.h"
#include "types/resolve.h"

/* --- A run --------------------------------------------------------------- */

static void checker_init(Checker *c, Program *p, Unit *unit, Scope *outer) {
  *c = (Checker){.p = p, .unit = unit, .mem = p->mem};
  c->errors_before = p->diags->errors;
  c->first_var = p->next_var_id;
  arena_init(&c->arena, c->mem);
  scope_init(&c->scope, outer, c->mem);
  VEC_INIT(&c->defs, c->mem);
  VEC_INIT(&c->steps, c->mem);
  VEC_INIT(&c->adts, c->mem);
  VEC_INIT(&c->generic_adts, c->mem);
  VEC_INIT(&c->adt_instances, c->mem);
  VEC_INIT(&c->sinking, c->mem);
  VEC_INIT(&c->matches, c->mem);
  VEC_INIT(&c->leaf_texts, c->mem);
  VEC_INIT(&c->holes, c->mem);
  VEC_INIT(&c->spine, c->mem);
  VEC_INIT(&c->components, c->mem);
  VEC_INIT(&c->generics, c->mem);
  VEC_INIT(&c->instances, c->mem);
  ptrmap_init(&c->dim_vars, c->mem);
  ptrmap_init(&c->no_ctors, c->mem);
  ptrmap_init(&c->rules, c->mem);
  VEC_INIT(&c->rule_items, c->mem);
}

/* A Definition lives in the checker's arena, so globals must not point to it
 * any longer. */
static void checker_done(Checker *c) {
  for (size_t i = 0; i < c->defs.len; i++) {
    Definition *d = c->defs.data[i];
    VEC_DONE(&d->uses);
    if (d->global) d->global->definition = NULL;
  }
  scope_done(&c->scope);
  VEC_DONE(&c->defs);
  VEC_DONE(&c->steps);
  VEC_DONE(&c->adts);
  VEC_DONE(&c->generic_adts);
  VEC_DONE(&c->adt_instances);
  VEC_DONE(&c->sinking);
  VEC_DONE(&c->matches);
  VEC_DONE(&c->leaf_texts);
  VEC_DONE(&c->holes);
  VEC_DONE(&c->spine);
  VEC_DONE(&c->components);
  VEC_DONE(&c->generics);
  VEC_DONE(&c->instances);
  ptrmap_done(&c->dim_vars);
  ptrmap_done(&c->no_ctors);
  ptrmap_done(&c->rules);
  VEC_DONE(&c->rule_items);
  arena_done(&c->arena);
}

/* --- What joins the program ---------------------------------------------- */

static void merge_names(PtrMap *to, const PtrMap *from) {
  for (size_t i = 0; i < from->cap; i++) {
    const void *key = from->slots[i].key;
    if (key) ptrmap_put(to, key, from->slots[i].value);
  }
}

/* Notes which definitions lose their names to those of the unit, the library's
 * among them. */
static void note_replaced(Checker *c) {
  Program *p = c->p;
  const PtrMap *globals = &c->scope.globals, *adts = &c->scope.adts;
  for (size_t i = 0; i < globals->cap; i++) {
    const Name *name = globals->slots[i].key;
    const Global *old = name ? scope_global(&p->user, name) : NULL;
    if (old) VEC_PUSH(&p->replaced, (Named){name, old, false});
  }
  for (size_t i = 0; i < adts->cap; i++) {
    const Name *name = adts->slots[i].key;
    const Adt *old = name ? scope_adt(&p->user, name) : NULL;
    if (old) VEC_PUSH(&p->replaced, (Named){name, old, true});
  }
}

/* A value's slot is its index in p->values, a param's that in p->params; a
 * session keeps their values by it. */
static void give_slot(Program *p, Global *g) {
  if (g->kind == GLOBAL_PARAM) {
    g->slot = (int)p->params.len;
    VEC_PUSH(&p->params, g);
  } else if (g->kind != GLOBAL_DEF) {
    g->slot = (int)p->values.len;
    VEC_PUSH(&p->values, g);
  }
}

/* May a later text name a value of this type? */
static bool can_be_named(const Type *t) {
  bool unit = t->kind == TY_TUPLE && !t->count;
  return !unit && !t->has_var && !(t->kind == TY_FN && t->param_count);
}

/* A name for an expression's result, or NULL.  Entry 3 of the prompt has `_3`
 * and, should it have more results, `_3_2`, `_3_3`; without entries they are
 * counted, `_1`, `_2`.  A result that is () or polymorphic gets none. */
static Global *name_result(Checker *c, const Definition *d) {
  Program *p = c->p;
  const Type *type = d->value->type;
  if (!p->name_results || !can_be_named(type)) return NULL;
  char text[32];
  int count = ++p->result_count;
  bool first = !p->entry || count == 1;
  if (first) snprintf(text, sizeof text, "_%d", p->entry ? p->entry : count);
  else snprintf(text, sizeof text, "_%d_%d", p->entry, count);
  Global *g = ARENA_NEW(&p->arena, Global);
  if (!g) return NULL;
  *g = (Global){.kind = GLOBAL_LOCAL,
                .name = name_of(p->names, text),
                .span = d->span,
                .value = d->value,
                .type = type,
                .effects = EFFECT_ALL};
  give_slot(p, g);
  ptrmap_put(&p->user.locals, g->name, g);
  return g;
}

/* What is to be evaluated, in the order of the text; imported files come where
 * their import stands. */
static void make_steps(Checker *c) {
  Unit *unit = c->unit;
  unit->steps = ARENA_ARRAY(&unit->arena, Step, c->steps.len);
  if (!unit->steps) return;
  unit->step_count = (int)c->steps.len;
  for (size_t i = 0; i < c->steps.len; i++) {
    const Definition *d = c->steps.data[i];
    Global *g = d->global ? d->global : name_result(c, d);
    unit->steps[i] = (Step){.kind = d->global ? STEP_LET : STEP_EXPR,
                            .global = g,
                            .expr = d->value,
                            .span = d->span};
  }
}

/* What a function that is checked by instance can do is what its instances
 * can. */
static void join_effects(const Checker *c) {
  for (size_t i = 0; i < c->instances.len; i++) {
    const Global *g = c->instances.data[i]->global;
    ((Global *)g->instance_of)->effects |= g->effects;
  }
}

static void join_program(Checker *c) {
  Scope *user = &c->p->user;
  note_replaced(c);
  merge_names(&user->globals, &c->scope.globals);
  merge_names(&user->locals, &c->scope.locals);
  merge_names(&user->adts, &c->scope.adts);
  merge_names(&user->ctors, &c->scope.ctors);
  for (size_t i = 0; i < c->defs.len; i++)
    if (c->defs.data[i]->global) give_slot(c->p, c->defs.data[i]->global);
  make_steps(c);
}

static bool went_well(const Checker *c) {
  return c->p->diags->errors == c->errors_before && !mem_exhausted(c->mem);
}

/* --- Types of params ----------------------------------------------------- */

/* Of a data type the declared fields are looked at once, and then the
 * arguments; of types with shared parts, each part once. */
static bool is_data(const Type *t, PtrMap *seen) {
  if (t->kind == TY_FN || t->kind == TY_REF) return false;
  if (ptrmap_has(seen, t)) return true;
  ptrmap_put(seen, t, (void *)t);
  bool data = true;
  for (int i = 0; i < t->count && data; i++) data = is_data(t->args[i], seen);
  if (t->kind != TY_ADT || ptrmap_has(seen, t->adt)) return data;
  ptrmap_put(seen, t->adt, (void *)t->adt);
  for (int i = 0; i < t->adt->ctor_count && data; i++)
    for (int k = 0; k < t->adt->ctors[i].field_count && data; k++)
      data = is_data(t->adt->ctors[i].fields[k], seen);
  return data && !t->adt->is_extern;
}

bool type_is_data(const Type *t, Mem *mem) {
  PtrMap seen;
  ptrmap_init(&seen, mem);
  bool data = is_data(t, &seen);
  ptrmap_done(&seen);
  return data;
}

static void check_params(Checker *c) {
  for (size_t i = 0; i < c->defs.len; i++) {
    const Definition *d = c->defs.data[i];
    if (d->item->kind != ITEM_PARAM || !d->declared) continue;
    if (!type_is_data(d->declared, c->mem)) {
      Diag *diag = diag_error(c->p->diags, E0212, d->item->annotation->span,
                              "a `param` holds tensors: its type has no "
                              "functions and no cells");
      diag_hint(diag, "what is no tensor is a value: let @x = ...;");
    }
  }
}

/* The order is forced: inference needs components, components need uses, and
 * uses come from resolution. */
static void find_types(Checker *c) {
  resolve_program(c);
  if (went_well(c)) check_params(c);
  if (!mem_exhausted(c->mem)) infer_program(c);
}

bool types_check(Program *p, Unit *unit) {
  Checker c;
  checker_init(&c, p, unit, &p->user);
  find_types(&c);
  if (c.instances.len > 0 && went_well(&c)) scc_sort_again(&c);
  if (went_well(&c)) {
    exhaust_program(&c);
    effects_program(&c);
    operators_check_calls(&c);
    join_effects(&c);
  }
  rules_check(&c);
  if (types_too_deep(p->types) && went_well(&c))
    diag_error(p->diags, E0214, unit->items[0].span,
               "a type that follows from this text is nested too deeply");
  bool ok = went_well(&c);
  if (ok) join_program(&c);
  else {
    instances_forget(&c, 0);
    adt_instances_forget(&c, 0);
  }
  checker_done(&c);
  return ok;
}

const Type *types_of_function(Checker *around, Unit *unit) {
  Checker c;
  checker_init(&c, around->p, unit, &around->scope);
  find_types(&c);
  const Type *type =
      went_well(&c) ? c.defs.data[0]->global->type->result : NULL;
  if (type && c.instances.len > 0) {
    DiagsMark mark = diags_mark(c.p->diags);
    scc_sort_again(&c);
    effects_program(&c);
    join_effects(&c);
    if (!mem_exhausted(c.mem)) diags_return(c.p->diags, mark);
  }
  instances_forget(&c, 0);
  adt_instances_forget(&c, 0);
  checker_done(&c);
  return type;
}

/* --- Questions ----------------------------------------------------------- */

/* Parameters in the order in which a type mentions them, bound ones, too.  Each
 * part is looked at once; types are as deep as the checker lets them be. */
typedef struct Free {
  PtrMap seen;
  VEC(const TypeVar *) vars;
} Free;

static void find_free(Free *f, const Type *t) {
  const void *key = t->kind == TY_VAR ? (const void *)t->var : t;
  if (!t->has_var || ptrmap_has(&f->seen, key)) return;
  ptrmap_put(&f->seen, key, f);
  if (t->kind == TY_VAR) VEC_PUSH(&f->vars, t->var);
  for (int i = 0; i < t->count; i++) find_free(f, t->args[i]);
  if (t->kind == TY_FN) find_free(f, t->result);
}

/* Bound parameters are found as well, so each is asked whether the type
 * mentions it freely. */
const Type *types_quantify(TypeTable *table, const Type *t) {
  if (t->kind != TY_FN || t->param_count > 0 || !t->has_var) return t;
  Mem *mem = types_mem(table);
  Free f;
  ptrmap_init(&f.seen, mem);
  VEC_INIT(&f.vars, mem);
  find_free(&f, t);
  int count = 0;
  for (size_t i = 0; i < f.vars.len; i++) {
    const TypeVar *var = f.vars.data[i];
    if (type_mentions(table, t, 1, &var)) f.vars.data[count++] = var;
  }
  t = type_fn(table, count, f.vars.data, t->count, t->args, t->result);
  VEC_DONE(&f.vars);
  ptrmap_done(&f.seen);
  return t;
}
