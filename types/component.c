/* Inference of a program, one strongly connected component of its definitions
 * after the other, callees first (scc.c).
 *
 *   1. declare    each member gets a type that the others see: a function
 *                 its skeleton, a value its annotation or a variable
 *   2. infer      each body, at level 2
 *   3. solve      until nothing changes; report what fails (solve_finish)
 *   4. generalise what is left open, at level 1
 *
 * Type variables have levels (Remy, 1992): level 1 belongs to global values,
 * whose types later text may determine, level 2 to the component at hand,
 * deeper ones to lets.
 *
 * Within its component a function is monomorphic, as in ML, unless its types
 * are all written: then its scheme is known from the start, and the members may
 * use it at several types (polymorphic recursion). */
#include "types/infer.h"

#include <string.h>

static bool is_fn(const Definition *d) {
  return d->value && d->value->kind == EX_FN;
}

/* --- Signatures ---------------------------------------------------------- */

/* The node is copied, because the skeleton goes on as the monomorphic type that
 * the body is checked against. */
static void quantify_signature(Infer *in, Definition *d, const Fn *fn) {
  if (fn->type_param_count == 0 || d->type->kind != K_FN) return;
  Ty *t = ARENA_NEW(in->arena, Ty);
  *t = *d->type;
  t->closed = t->monomorphic = false;
  t->param_count = fn->type_param_count;
  t->params = fn->type_vars;
  d->type = t;
  d->param_count = t->param_count;
  d->params = t->params;
}

void definition_declare(Infer *in, Definition *d, Ty **skeleton) {
  *skeleton = NULL;
  if (is_fn(d)) {
    *skeleton = d->type = fn_skeleton(in, d->value->fn);
    if (fn_is_annotated(d->value->fn)) quantify_signature(in, d, d->value->fn);
  } else if (d->declared) {
    d->type = ty_of_type(in, d->declared);
  } else {
    d->type = ty_meta(in);
  }
}

/* --- Bodies -------------------------------------------------------------- */

static const Name *name_of_definition(const Definition *d) {
  return d->global ? global_of_text(d->global)->name : NULL;
}

static const char *sigil_of_definition(const Definition *d) {
  return d->global ? global_sigil(d->global) : "";
}

/* An annotation beside a function, as in `let @f: fn (A) -> B = fn ...`, is
 * what others see, so the inferred type has to flow to it. */
static void infer_fn_definition(Infer *in, Definition *d, Ty *skeleton) {
  Ty *type = infer_fn(in, d->value, skeleton, sigil_of_definition(d),
                      name_of_definition(d));
  if (!d->declared) return;
  Ty *declared = ty_of_type(in, d->declared);
  require_flow(in, type, declared,
               (Why){.kind = WHY_ANNOTATION,
                     .span = d->value->span,
                     .other = d->item->annotation->span,
                     .name = name_of_definition(d),
                     .sigil = sigil_of_definition(d)});
  d->type = declared;
}

/* A param without a default has a declared type and nothing to infer.  The
 * level is raised for values alone (see infer_let). */
static void infer_value_definition(Infer *in, Definition *d) {
  if (!d->value) return;
  bool value = !d->declared && is_value(in->mem, d->value);
  in->level += value;
  Ty *found = infer_expr(in, d->value);
  in->level -= value;
  Why why = {.kind = WHY_ANNOTATION,
             .span = d->value->span,
             .name = name_of_definition(d),
             .sigil = sigil_of_definition(d)};
  if (d->item->annotation) why.other = d->item->annotation->span;
  if (d->declared) require_flow(in, found, d->type, why);
  else require_same(in, found, d->type, why);
}

/* --- Generalising -------------------------------------------------------- */

/* Nothing after the component can determine the parameters of a def.  The
 * parameter is poisoned after the report, so that no use of it is reported,
 * too. */
static void require_params(Infer *in, const Definition *d) {
  const Fn *fn = d->value->fn;
  for (int i = 0; i < fn->param_count; i++) {
    Ty *t = var_info(in, fn->params[i])->type;
    if (!t || !ty_is_open(in, t)) continue;
    const Var *var = fn->params[i];
    Diag *diag =
        diag_error(in->p->diags, E0202, var->span,
                   "the type of `%%%s` cannot be inferred", var->name->text);
    hint_annotation(in, diag, "%", var->name, t);
    require_flow(in, in->error, t, (Why){.kind = WHY_OPERATOR});
  }
}

/* A function with written type parameters gets those and no others.  All else
 * follows the value restriction (is_value). */
static void generalise(Infer *in, Definition *d) {
  if (d->declared || ty_is_poly(ty_head(d->type))) return;
  if (is_fn(d)) {
    quantify_signature(in, d, d->value->fn);
    if (d->param_count > 0) return;
  }
  if (!d->value || !is_value(in->mem, d->value)) return;
  d->param_count = ty_generalise(in, d->type, &d->params);
  Ty *t = ty_head(d->type);
  if (d->param_count == 0 || t->kind != K_FN) return;
  Ty *poly = ARENA_NEW(in->arena, Ty);
  *poly = *t;
  poly->closed = false;
  poly->param_count = d->param_count;
  poly->params = d->params;
  d->type = poly;
}

/* --- Components ---------------------------------------------------------- */

/* Declarations come before all bodies, since members may call one another in
 * either direction.  ty_keep_open comes last: what a global value still leaves
 * open moves to level 1, from where later components can bind it but not
 * quantify it. */
static void infer_component(Infer *in, Definition **members, size_t n) {
  Ty **skeletons = ty_array(in, (int)n);
  if (!skeletons) return;
  in->level = 2;
  /* A later use may determine what is open in the type of a value.  It cannot
   * for a def's parameters and for an expression. */
  in->patient = true;
  for (size_t i = 0; i < n; i++) {
    ItemKind kind = members[i]->item->kind;
    in->patient &= kind == ITEM_LET_GLOBAL || kind == ITEM_LET_LOCAL;
  }
  /* All members have a type before any body is looked at. */
  for (size_t i = 0; i < n; i++)
    definition_declare(in, members[i], &skeletons[i]);
  size_t first = in->p->diags->list.len, errors = in->p->diags->errors;
  for (size_t i = 0; i < n; i++) {
    in->home = members[i];
    if (skeletons[i]) infer_fn_definition(in, members[i], skeletons[i]);
    else infer_value_definition(in, members[i]);
  }
  solve_finish(in, false);
  for (size_t i = 0; i < n && in->p->diags->errors > errors; i++) {
    if (!members[i]->instance) continue;
    instance_failed(in, members[i]->instance, first);
    break;
  }
  in->level = 1;
  for (size_t i = 0; i < n; i++) {
    Definition *d = members[i];
    if (d->item->kind == ITEM_DEF) require_params(in, d);
    generalise(in, d);
    ty_keep_open(in, d->type);
  }
}

/* The table of variables is indexed by id and made at its full size: resolution
 * has numbered all variables of this run. */
static void infer_init(Infer *in, Checker *c) {
  *in = (Infer){.c = c,
                .p = c->p,
                .types = c->p->types,
                .arena = &c->arena,
                .mem = c->mem,
                .level = 1,
                .first_var = c->first_var};
  VEC_INIT(&in->vars, c->mem);
  VEC_INIT(&in->typed, c->mem);
  VEC_INIT(&in->patterns, c->mem);
  VEC_INIT(&in->queue, c->mem);
  VEC_INIT(&in->pending, c->mem);
  VEC_INIT(&in->failing, c->mem);
  VEC_INIT(&in->warning, c->mem);
  VEC_INIT(&in->casting, c->mem);
  VEC_INIT(&in->dirty, c->mem);
  VEC_INIT(&in->slots, c->mem);
  VEC_INIT(&in->edges, c->mem);
  VEC_INIT(&in->op_values, c->mem);
  VEC_INIT(&in->notes, c->mem);
  VEC_INIT(&in->late_vars, c->mem);
  ptrmap_init(&in->known, c->mem);
  ptrmap_init(&in->sized, c->mem);
  ptrmap_init(&in->rigid_levels, c->mem);
  arena_init(&in->asked, c->mem);
  split_start(&in->stack, c->mem);
  in->error = ARENA_NEW(in->arena, Ty);
  *in->error = (Ty){.kind = K_ERROR, .closed = true};
  in->unit = ty_tuple(in, 0, ty_array(in, 0));
  in->boolean = ty_tensor(in, DT_BOOL, 0, NULL);
  size_t vars = c->p->next_var_id - c->first_var + 1;
  if (VEC_RESERVE(&in->vars, vars)) {
    memset(in->vars.data, 0, vars * sizeof *in->vars.data);
    in->vars.len = vars;
  }
}

static void infer_done(Infer *in) {
  VEC_DONE(&in->vars);
  VEC_DONE(&in->late_vars);
  VEC_DONE(&in->typed);
  VEC_DONE(&in->patterns);
  VEC_DONE(&in->queue);
  VEC_DONE(&in->pending);
  VEC_DONE(&in->failing);
  VEC_DONE(&in->warning);
  VEC_DONE(&in->casting);
  VEC_DONE(&in->dirty);
  VEC_DONE(&in->slots);
  VEC_DONE(&in->edges);
  VEC_DONE(&in->op_values);
  VEC_DONE(&in->notes);
  ptrmap_done(&in->known);
  ptrmap_done(&in->sized);
  ptrmap_done(&in->rigid_levels);
  arena_done(&in->asked);
  split_end(&in->stack);
}

/* The components from `first` on.  Their definitions may ask for instances,
 * which are not among them. */
static void infer_components(Infer *in, size_t first) {
  const Definitions *all = &in->c->components;
  size_t end = all->len;
  for (size_t i = first; i < end && !mem_exhausted(in->mem);) {
    size_t n = 1;
    while (i + n < end &&
           all->data[i + n]->component == all->data[i]->component)
      n++;
    const Instance *instance = all->data[i]->instance;
    bool failed = instance && instance->of->failed;
    if (!failed) infer_component(in, all->data + i, n);
    i += n;
  }
}

void infer_new(Infer *in) {
  Checker *c = in->c;
  do {
    size_t first = c->components.len;
    scc_sort(c);
    infer_components(in, first);
  } while (c->components.len < c->defs.len && !mem_exhausted(in->mem));
}

/* Components are runs of one number in c->components.  The last solve_finish
 * ends the patience with global values that no text determined. */
void infer_program(Checker *c) {
  Infer in;
  infer_init(&in, c);
  if (in.vars.len > 0) {
    infer_new(&in);
    check_generics(&in);
  }
  solve_finish(&in, true);
  if (!mem_exhausted(c->mem)) zonk_program(&in);
  infer_done(&in);
}
