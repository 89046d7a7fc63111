/* Declarations: the names that a unit's items bring into scope, before any body
 * is looked at, so that definitions may be used above their text.
 *
 * For each item there is left behind
 *
 *   type     an Adt with its constructors, and an AdtWork whose fields
 *            resolve.c fills in
 *   def, let, param, expression
 *            a Definition in c->defs; those that are evaluated also in
 *            c->steps, in the order of the text
 *   import   the items of the other file, declared in its place
 *
 * What is made here for good lies in the program's arena, what only the checker
 * needs in its own. */
#include "types/resolve.h"

/* --- Duplicates ---------------------------------------------------------- */

/* A name is defined once in a file.  A file may define a name anew that an
 * earlier entry of the prompt defined. */
static bool is_duplicate(Checker *c, const PtrMap *map, const Name *name,
                         Span span, Span first, const char *what) {
  if (!ptrmap_has(map, name)) return false;
  Diag *d = diag_error(c->p->diags, E0105, span, "%s%s` is defined twice", what,
                       name->text);
  diag_note(d, first, "first defined here");
  return true;
}

/* --- Types --------------------------------------------------------------- */

static void check_labels(Checker *c, const CtorDecl *decl) {
  PtrMap seen;
  ptrmap_init(&seen, c->mem);
  for (int i = 0; decl->labels && i < decl->field_count; i++) {
    const FieldName *label = &decl->labels[i], *first;
    if (!label->name) continue;
    first = ptrmap_get(&seen, label->name);
    ptrmap_put(&seen, label->name, (void *)label);
    if (!first) continue;
    Diag *d = diag_error(c->p->diags, E0105, label->span,
                         "the field `%s` is defined twice", label->name->text);
    diag_note(d, first->span, "first defined here");
    diag_hint(d, "each field of a constructor has a name of its own");
  }
  ptrmap_done(&seen);
}

/* A constructor's tag is its place in the declaration; code knows the
 * constructor by it, in 16 bits. */
static void declare_ctor(Checker *c, Scope *scope, Adt *adt, int tag,
                         const CtorDecl *decl) {
  Ctor *ctor = &adt->ctors[tag];
  *ctor = (Ctor){.name = decl->name,
                 .span = decl->span,
                 .adt = adt,
                 .tag = tag,
                 .field_count = decl->field_count,
                 .labels = decl->labels};
  check_labels(c, decl);
  const Ctor *old = ptrmap_get(&scope->ctors, decl->name);
  if (is_duplicate(c, &scope->ctors, decl->name, decl->span,
                   old ? old->span : SPAN_NONE, "constructor `"))
    return;
  ptrmap_put(&scope->ctors, decl->name, ctor);
}

static const TypeVar *const *adt_params(Checker *c, const AdtDecl *decl) {
  const TypeVar **params =
      ARENA_ARRAY(&c->p->arena, const TypeVar *, (size_t)decl->param_count);
  for (int i = 0; params && i < decl->param_count; i++) {
    const TypeParam *p = &decl->params[i];
    params[i] = typevar_new(c->p->types, p->name, p->span, p->kind);
  }
  return params;
}

/* fn [s: Shape](Tensor[s, float32]) -> Layer[s], of a constructor: what its
 * uses are matched with. */
static const TypeExpr *ctor_scheme(Checker *c, const AdtDecl *decl,
                                   const CtorDecl *ctor) {
  Arena *arena = &c->p->arena;
  size_t count = (size_t)decl->param_count;
  TypeExpr *fn = ARENA_NEW(arena, TypeExpr);
  TypeExpr *result = ARENA_NEW(arena, TypeExpr);
  TypeExpr *names = ARENA_ARRAY(arena, TypeExpr, count);
  const TypeExpr **args = ARENA_ARRAY(arena, const TypeExpr *, count);
  for (size_t i = 0; names && args && i < count; i++) {
    const TypeParam *p = &decl->params[i];
    names[i] = (TypeExpr){.kind = TX_NAME, .span = p->span, .name = p->name};
    args[i] = &names[i];
  }
  *result = (TypeExpr){.kind = TX_NAME,
                       .span = decl->span,
                       .name = decl->name,
                       .brackets = true,
                       .arg_count = names && args ? decl->param_count : 0,
                       .args = args};
  *fn = (TypeExpr){.kind = TX_FN,
                   .span = ctor->span,
                   .arg_count = ctor->field_count,
                   .args = ctor->fields,
                   .result = result,
                   .param_count = decl->param_count,
                   .params = decl->params};
  return fn;
}

/* `extern type Storage` says that the type is defined elsewhere: in the
 * library, if that has one of the name. */
static bool is_of_library(Checker *c, const Unit *unit, const AdtDecl *decl) {
  Program *p = c->p;
  if (!decl->is_extern || unit_is_library(unit)) return false;
  if (ptrmap_has(&p->library.adts, decl->name)) return true;
  Unit *found =
      p->find_in_library ? p->find_in_library(p, 'T', decl->name) : NULL;
  if (found) declare_unit(c, found, &p->library);
  return found;
}

/* The type is in scope before its fields are looked at, so that types may
 * mention themselves and one another. */
static void declare_adt(Checker *c, Unit *unit, Scope *scope,
                        const AdtDecl *decl) {
  if (is_of_library(c, unit, decl)) return;
  const Adt *old = ptrmap_get(&scope->adts, decl->name);
  if (is_duplicate(c, &scope->adts, decl->name, decl->span,
                   old ? old->span : SPAN_NONE, "type `"))
    return;
  Arena *arena = &c->p->arena;
  Adt *adt = ARENA_NEW(arena, Adt);
  *adt = (Adt){.name = decl->name,
               .span = decl->span,
               .is_extern = decl->is_extern,
               .library = unit_is_library(unit),
               .is_alias = decl->meaning != NULL,
               .decl = decl,
               .param_count = decl->param_count,
               .params = adt_params(c, decl),
               .ctor_count = decl->ctor_count};
  if (!adt->params) adt->param_count = 0;
  _Static_assert((int)CTORS_MAX <= (int)TAG_CLOSURE,
                 "a constructor's tag is its own");
  if (adt->ctor_count > CTORS_MAX) {
    diag_error(c->p->diags, E0214, decl->ctors[CTORS_MAX].span,
               "the type `%s` has more than %d constructors", decl->name->text,
               CTORS_MAX);
    adt->ctor_count = CTORS_MAX;
  }
  adt->ctors = ARENA_ARRAY(arena, Ctor, (size_t)adt->ctor_count);
  if (!adt->ctors && adt->ctor_count > 0) adt->ctor_count = 0;
  ptrmap_put(&scope->adts, decl->name, adt);
  for (int i = 0; i < adt->ctor_count; i++)
    declare_ctor(c, scope, adt, i, &decl->ctors[i]);
  if (params_generic(decl->param_count, decl->params)) {
    adt->is_generic = true;
    adt->unit = unit;
    for (int i = 0; i < adt->ctor_count; i++)
      adt->ctors[i].scheme = ctor_scheme(c, decl, &decl->ctors[i]);
    VEC_PUSH(&c->generic_adts, adt);
    return;
  }
  AdtWork *work = ARENA_NEW(&c->arena, AdtWork);
  *work = (AdtWork){adt, decl, unit, scope, adt->params, false};
  if (adt->is_alias) adt->pending = work;
  VEC_PUSH(&c->adts, work);
}

/* --- Definitions --------------------------------------------------------- */

static const GlobalKind kind_of_item[] = {
    [ITEM_DEF] = GLOBAL_DEF,
    [ITEM_PARAM] = GLOBAL_PARAM,
    [ITEM_LET_GLOBAL] = GLOBAL_VALUE,
    [ITEM_LET_LOCAL] = GLOBAL_LOCAL,
};

/* `order` is the place of the item in its file, by which E0108 tells whether a
 * value is used above its text. */
Definition *definition_new(Checker *c, Unit *unit, Scope *scope,
                           const Item *item, int order) {
  Definition *d = ARENA_NEW(&c->arena, Definition);
  *d = (Definition){.item = item,
                    .unit = unit,
                    .scope = scope,
                    .order = order,
                    .span = item->span};
  VEC_INIT(&d->uses, c->mem);
  VEC_PUSH(&c->defs, d);
  return d;
}

static Global *global_new(Checker *c, const Unit *unit, const Item *item) {
  Global *g = ARENA_NEW(&c->p->arena, Global);
  *g = (Global){.kind = kind_of_item[item->kind],
                .name = item->name,
                .span = item->name_span,
                .library = unit_is_library(unit),
                .op = item->kind == ITEM_DEF && item->own,
                .annotation = item->annotation,
                .slot = -1};
  return g;
}

/* --- Functions that are checked by instance ------------------------------ */

/* Does a value of the type say what the parameter is?  A shape must be the only
 * one that a tensor's dimensions hold, or be known from another tensor. */
static bool determines(const TypeExpr *t, const Name *name, bool shape) {
  if (t->kind == TX_TENSOR) {
    bool found = !shape && t->dtype_name == name;
    for (int i = 0; i < t->dim_count; i++)
      found |=
          shape && t->dims[i]->kind == DX_SPLAT && t->dims[i]->name == name;
    return found;
  }
  if (t->kind == TX_NAME && t->name == name) return !shape;
  if (t->kind == TX_DIM)
    return shape && t->dims[0]->kind == DX_SPLAT && t->dims[0]->name == name;
  for (int i = 0; i < t->arg_count; i++) {
    const TypeExpr *arg = t->args[i];
    bool whole = t->kind == TX_NAME && arg->kind == TX_NAME;
    if (whole && arg->name == name) return true;
    if (determines(arg, name, shape)) return true;
  }
  return t->result && determines(t->result, name, shape);
}

static bool is_determined(const Fn *fn, const TypeParam *p) {
  bool shape = p->kind == KIND_SHAPE;
  for (int i = 0; i < fn->param_count; i++) {
    const TypeExpr *t = fn->params[i]->annotation;
    if (t && determines(t, p->name, shape)) return true;
  }
  return fn->result && determines(fn->result, p->name, shape);
}

/* A use knows the types of its arguments, not the body. */
static bool is_written(const TypeExpr *t) {
  if (!t || t->kind == TX_HOLE) return false;
  for (int i = 0; i < t->arg_count; i++)
    if (!is_written(t->args[i])) return false;
  return !t->result || is_written(t->result);
}

static void require_types(Checker *c, Generic *g) {
  const Fn *fn = g->item->expr->fn;
  const char *name = g->item->name->text;
  for (int i = 0; i < fn->param_count; i++) {
    if (is_written(fn->params[i]->annotation)) continue;
    g->refused = true;
    Diag *d = diag_error(c->p->diags, E0202, fn->params[i]->span,
                         "the type of `%%%s` must be written out: `@%s` is "
                         "checked for each shape and dtype by itself",
                         fn->params[i]->name->text, name);
    diag_hint(d, "write `%%%s: Tensor[s, d]`, or the like",
              fn->params[i]->name->text);
  }
  if (is_written(fn->result)) return;
  g->refused = true;
  Diag *d = diag_error(c->p->diags, E0202, g->item->name_span,
                       "the result type of `@%s` must be written out: it is "
                       "checked for each shape and dtype by itself",
                       name);
  diag_hint(d, "write `-> Tensor[s, d]`, or the like, before the body");
}

bool types_require_determined(Checker *c, const Fn *fn) {
  bool all = true;
  for (int i = 0; i < fn->type_param_count; i++) {
    const TypeParam *p = &fn->type_params[i];
    if (kind_info[p->kind].solve != SOLVE_INSTANCE) continue;
    if (is_determined(fn, p)) continue;
    all = false;
    Diag *d = diag_error(c->p->diags, E0115, p->span,
                         "no parameter says what `%s` is, %s", p->name->text,
                         kind_info[p->kind].meaning);
    if (p->kind == KIND_SHAPE)
      diag_hint(d, "a shape stands in a parameter's type: Tensor[%s, float32]",
                p->name->text);
    else
      diag_hint(d, "a dtype stands in a parameter's type: Tensor[(2), %s]",
                p->name->text);
  }
  return all;
}

/* fn [s: Shape, ...](...) -> ... */
const TypeExpr *scheme_written(Checker *c, const Expr *e) {
  const Fn *fn = e->fn;
  TypeExpr *t = ARENA_NEW(&c->p->arena, TypeExpr);
  const TypeExpr **args =
      ARENA_ARRAY(&c->p->arena, const TypeExpr *, (size_t)fn->param_count);
  *t = (TypeExpr){.kind = TX_FN,
                  .span = e->span,
                  .arg_count = args ? fn->param_count : 0,
                  .args = args,
                  .result = fn->result,
                  .param_count = fn->type_param_count,
                  .params = fn->type_params};
  static const TypeExpr hole = {.kind = TX_HOLE};
  for (int i = 0; i < t->arg_count; i++) {
    const TypeExpr *type = fn->params[i]->annotation;
    args[i] = type ? type : &hole;
  }
  if (!t->result) t->result = &hole;
  return t;
}

static void declare_generic(Checker *c, Unit *unit, const Item *item,
                            Global *global) {
  Generic *g = ARENA_NEW(&c->p->arena, Generic);
  *g = (Generic){.global = global, .item = item, .unit = unit};
  global->generic = g;
  global->scheme = scheme_written(c, item->expr);
  require_types(c, g);
  if (!types_require_determined(c, item->expr->fn)) g->refused = true;
  VEC_PUSH(&c->generics, g);
}

/* Does the library leave a parameter's type to the calls? */
static bool is_inlined(const Unit *unit, const Item *item) {
  const Fn *fn = item->expr->fn;
  if (!unit_is_library(unit)) return false;
  for (int i = 0; i < fn->param_count; i++)
    if (!fn->params[i]->annotation) return true;
  return false;
}

/* A top-level `let %x` may be hidden by a later one: its name is bound when
 * its turn comes (resolve.c).  All other globals are declared at once. */
static void declare_global(Checker *c, Unit *unit, Scope *scope,
                           const Item *item, int order) {
  bool local = item->kind == ITEM_LET_LOCAL;
  const Global *old = local ? NULL : ptrmap_get(&scope->globals, item->name);
  if (!local && is_duplicate(c, &scope->globals, item->name, item->name_span,
                             old ? old->span : SPAN_NONE, "`@"))
    return;
  if (item->kind == ITEM_DEF && params_generic(item->expr->fn->type_param_count,
                                               item->expr->fn->type_params)) {
    Global *g = global_new(c, unit, item);
    ptrmap_put(&scope->globals, item->name, g);
    declare_generic(c, unit, item, g);
    return;
  }
  if (item->kind == ITEM_DEF && is_inlined(unit, item)) {
    Global *g = global_new(c, unit, item);
    g->scheme = scheme_written(c, item->expr);
    g->inlined = item;
    g->inlined_unit = unit;
    ptrmap_put(&scope->globals, item->name, g);
    return;
  }
  Definition *d = definition_new(c, unit, scope, item, order);
  d->global = global_new(c, unit, item);
  d->global->definition = d;
  if (!local) ptrmap_put(&scope->globals, item->name, d->global);
  if (item->kind == ITEM_LET_GLOBAL || local) VEC_PUSH(&c->steps, d);
}

/* --- Units --------------------------------------------------------------- */

/* A file that was imported before is not imported again: then there is no
 * unit, and no error either. */
static void declare_import(Checker *c, Unit *unit, Scope *scope,
                           const Item *item) {
  Program *p = c->p;
  if (!p->import) {
    diag_error(p->diags, E0112, item->span, "nothing can be imported here");
    return;
  }
  Unit *imported = p->import(p, unit, item);
  if (imported) declare_unit(c, imported, scope);
}

/* types/gradient.c makes functions of the library's own. */
static void refuse_rule(Checker *c, const Unit *unit, const Item *item) {
  if (item->own) operator_check_gradient(c, unit, item);
  if (item->own || unit_is_library(unit)) return;
  Diag *d = diag_error(c->p->diags, E0609, item->name_span,
                       "how an operator is differentiated is the library's to "
                       "say");
  diag_hint(d,
            "with_vjp(f, g) states the derivative of a function, and "
            "gradient @f(...) that of an `op`");
}

static void declare_item(Checker *c, Unit *unit, Scope *scope, int order) {
  const Item *item = &unit->items[order];
  switch (item->kind) {
    case ITEM_TYPE: declare_adt(c, unit, scope, item->adt); break;
    case ITEM_IMPORT: declare_import(c, unit, scope, item); break;
    case ITEM_GRADIENT: refuse_rule(c, unit, item); break;
    case ITEM_RULE: rule_declare(c, unit, item); break;
    case ITEM_EXPR:
      VEC_PUSH(&c->steps, definition_new(c, unit, scope, item, order));
      break;
    case ITEM_DEF:
      c->p->has_operators |= item->own;
      operator_add_gradient(c, unit, (Item *)item);
      declare_global(c, unit, scope, item, order);
      break;
    default: declare_global(c, unit, scope, item, order); break;
  }
}

/* Imports recurse, no deeper than lib/program.c lets them. */
void declare_unit(Checker *c, Unit *unit, Scope *scope) {
  for (int i = 0; i < unit->item_count && !mem_exhausted(c->mem); i++)
    declare_item(c, unit, scope, i);
}
