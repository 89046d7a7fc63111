/* The checker's driver: phases in order, and what joins the program when all
 * went well. */
#include "types/types.h"

#include "types/check.h"
#include "types/resolve.h"

/* --- A run --------------------------------------------------------------- */

static void checker_init(Checker *c, Program *p, Unit *unit) {
  *c = (Checker){.p = p, .unit = unit, .mem = p->mem};
  c->errors_before = p->diags->errors;
  c->first_var = p->next_var_id;
  arena_init(&c->arena, c->mem);
  scope_init(&c->scope, &p->user, c->mem);
  VEC_INIT(&c->defs, c->mem);
  VEC_INIT(&c->steps, c->mem);
  VEC_INIT(&c->adts, c->mem);
  VEC_INIT(&c->sinking, c->mem);
  VEC_INIT(&c->components, c->mem);
  ptrmap_init(&c->by_global, c->mem);
  ptrmap_init(&c->dim_vars, c->mem);
}

static void checker_done(Checker *c) {
  for (size_t i = 0; i < c->defs.len; i++) VEC_DONE(&c->defs.data[i]->uses);
  scope_done(&c->scope);
  VEC_DONE(&c->defs);
  VEC_DONE(&c->steps);
  VEC_DONE(&c->adts);
  VEC_DONE(&c->sinking);
  VEC_DONE(&c->components);
  ptrmap_done(&c->by_global);
  ptrmap_done(&c->dim_vars);
  arena_done(&c->arena);
}

/* --- What joins the program ---------------------------------------------- */

static void merge_names(PtrMap *to, const PtrMap *from) {
  for (size_t i = 0; i < from->cap; i++) {
    const void *key = from->slots[i].key;
    if (key) ptrmap_put(to, key, from->slots[i].value);
  }
}

static void give_slot(Program *p, Global *g) {
  if (g->kind == GLOBAL_PARAM) {
    g->slot = (int)p->params.len;
    VEC_PUSH(&p->params, g);
  } else if (g->kind != GLOBAL_DEF) {
    g->slot = (int)p->values.len;
    VEC_PUSH(&p->values, g);
  }
}

static void make_steps(Checker *c) {
  Unit *unit = c->unit;
  unit->steps = ARENA_ARRAY(&unit->arena, Step, c->steps.len);
  if (!unit->steps) return;
  unit->step_count = (int)c->steps.len;
  for (size_t i = 0; i < c->steps.len; i++) {
    const Definition *d = c->steps.data[i];
    unit->steps[i] = (Step){.kind = d->global ? STEP_LET : STEP_EXPR,
                            .global = d->global, .expr = d->value,
                            .span = d->span};
  }
}

static void join_program(Checker *c) {
  Scope *user = &c->p->user;
  merge_names(&user->globals, &c->scope.globals);
  merge_names(&user->locals, &c->scope.locals);
  merge_names(&user->adts, &c->scope.adts);
  merge_names(&user->ctors, &c->scope.ctors);
  for (size_t i = 0; i < c->defs.len; i++) {
    if (c->defs.data[i]->global) give_slot(c->p, c->defs.data[i]->global);
  }
  make_steps(c);
}

static bool went_well(const Checker *c) {
  return c->p->diags->errors == c->errors_before && !mem_exhausted(c->mem);
}

bool types_check(Program *p, Unit *unit) {
  Checker c;
  checker_init(&c, p, unit);
  resolve_program(&c);
  if (!mem_exhausted(c.mem)) scc_sort(&c);
  if (!mem_exhausted(c.mem)) infer_program(&c);
  if (went_well(&c)) {
    exhaust_program(&c);
    effects_program(&c);
  }
  bool ok = went_well(&c);
  if (ok) join_program(&c);
  checker_done(&c);
  return ok;
}

/* --- Questions ----------------------------------------------------------- */

const Type *types_resolve(Program *p, const TypeExpr *t) {
  Checker c;
  checker_init(&c, p, p->last_unit);
  Definition none = {.unit = p->last_unit, .scope = &p->user};
  Resolver r;
  resolver_init(&r, &c, &none);
  const Type *type = resolve_type(&r, t);
  if (type->has_meta) {
    diag_error(p->diags, E0202, t->span, "a type without holes is needed");
  }
  bool ok = went_well(&c) && !type->has_meta;
  resolver_done(&r);
  checker_done(&c);
  return ok ? type : NULL;
}
