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

static void declare_ctor(Checker *c, Scope *scope, Adt *adt, int tag,
                         const CtorDecl *decl) {
  Ctor *ctor = &adt->ctors[tag];
  *ctor = (Ctor){.name = decl->name,
                 .span = decl->span,
                 .adt = adt,
                 .tag = tag,
                 .field_count = decl->field_count};
  const Ctor *old = ptrmap_get(&scope->ctors, decl->name);
  if (is_duplicate(c, &scope->ctors, decl->name, decl->span,
                   old ? old->span : SPAN_NONE, "constructor `"))
    return;
  ptrmap_put(&scope->ctors, decl->name, ctor);
}

/* Data types take types only: a Dim parameter is reported and goes on as a
 * type. */
static const TypeVar *const *adt_params(Checker *c, const AdtDecl *decl) {
  const TypeVar **params =
      ARENA_ARRAY(&c->p->arena, const TypeVar *, (size_t)decl->param_count);
  for (int i = 0; params && i < decl->param_count; i++) {
    const TypeParam *p = &decl->params[i];
    if (p->is_dim) {
      diag_error(c->p->diags, E0115, p->span,
                 "a data type takes no `Dim` parameters");
    }
    params[i] = typevar_new(c->p->types, p->name, p->span, false);
  }
  return params;
}

/* The type is in scope before its fields are looked at, so that types may
 * mention themselves and one another. */
static void declare_adt(Checker *c, Unit *unit, Scope *scope,
                        const AdtDecl *decl) {
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
               .param_count = decl->param_count,
               .params = adt_params(c, decl),
               .ctor_count = decl->ctor_count};
  if (!adt->params) adt->param_count = 0;
  adt->ctors = ARENA_ARRAY(arena, Ctor, (size_t)decl->ctor_count);
  if (!adt->ctors && decl->ctor_count > 0) adt->ctor_count = 0;
  ptrmap_put(&scope->adts, decl->name, adt);
  for (int i = 0; i < adt->ctor_count; i++)
    declare_ctor(c, scope, adt, i, &decl->ctors[i]);
  AdtWork *work = ARENA_NEW(&c->arena, AdtWork);
  *work = (AdtWork){adt, decl, unit, scope};
  VEC_PUSH(&c->adts, work);
}

/* --- Definitions --------------------------------------------------------- */

static const GlobalKind kind_of_item[] = {
    [ITEM_DEF] = GLOBAL_DEF,
    [ITEM_PARAM] = GLOBAL_PARAM,
    [ITEM_LET_GLOBAL] = GLOBAL_VALUE,
    [ITEM_LET_LOCAL] = GLOBAL_LOCAL,
};

static Definition *definition_new(Checker *c, Unit *unit, Scope *scope,
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
                .annotation = item->annotation,
                .slot = -1};
  return g;
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

static void declare_item(Checker *c, Unit *unit, Scope *scope, int order) {
  const Item *item = &unit->items[order];
  switch (item->kind) {
    case ITEM_TYPE: declare_adt(c, unit, scope, item->adt); break;
    case ITEM_IMPORT: declare_import(c, unit, scope, item); break;
    case ITEM_EXPR:
      VEC_PUSH(&c->steps, definition_new(c, unit, scope, item, order));
      break;
    default: declare_global(c, unit, scope, item, order); break;
  }
}

/* Imports recurse, no deeper than lib/program.c lets them. */
void declare_unit(Checker *c, Unit *unit, Scope *scope) {
  for (int i = 0; i < unit->item_count && !mem_exhausted(c->mem); i++)
    declare_item(c, unit, scope, i);
}
