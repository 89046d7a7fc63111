/* Defunctionalization: functions in fields that the text declares.
 *
 *   type Step { Step(run: fn(int32) -> int32, name: int32) }
 *
 *   type Step { Step(run: Fn, name: int32) }
 *
 * A type of the text without parameters keeps its name and its constructors.
 * Where the functions in its fields become data, the declaration changes, and
 * with it all of the text.  Where a function has to stay in one place, since a
 * host sees the type or for another reason, it stays everywhere. */
#include "passes/defunctionalize.h"

/* The type that an item declares, if its fields may change; or NULL. */
static Adt *declared_by(const Defun *d, const Item *item) {
  Adt *adt =
      item->kind == ITEM_TYPE ? scope_adt(&d->p->user, item->name) : NULL;
  bool open = adt && adt->decl == item->adt && adt->param_count == 0 &&
              !adt->is_alias && !adt->is_extern && !adt->is_generic &&
              !adt->library;
  return open ? adt : NULL;
}

void defun_find_declared(void *data, Unit *u) {
  Defun *d = data;
  for (int i = 0; i < u->item_count; i++) {
    Adt *adt = declared_by(d, &u->items[i]);
    if (adt) ptrmap_put(&d->declared, adt, adt);
  }
}

bool defun_is_declared(const Defun *d, const Type *t) {
  return t->kind == TY_ADT && ptrmap_has(&d->declared, t->adt);
}

/* Does some field of the constructor change? */
static bool changes(Defun *d, const Ctor *ctor) {
  for (int i = 0; i < ctor->field_count; i++)
    if (defun_now(d, ctor->fields[i]) != ctor->fields[i]) return true;
  return false;
}

static void map_ctor(Defun *d, Ctor *ctor, CtorDecl *decl) {
  size_t n = (size_t)ctor->field_count;
  const Type **types = ARENA_ARRAY(&d->p->arena, const Type *, n + 1);
  const TypeExpr **written = ARENA_ARRAY(d->arena, const TypeExpr *, n + 1);
  if (!types || !written) return;
  for (size_t i = 0; i < n; i++) {
    bool sayable = true;
    types[i] = defun_now(d, ctor->fields[i]);
    written[i] = decl->fields[i];
    if (types[i] != ctor->fields[i])
      written[i] = type_as_written(d->p, d->arena, types[i],
                                   decl->fields[i]->span, NULL, &sayable);
  }
  ctor->type = type_fn(d->p->types, 0, NULL, ctor->field_count, types,
                       ctor->type->result);
  ctor->fields = types;
  decl->fields = written;
}

/* The text of the type where its fields change; else NULL. */
static const AdtDecl *map_declared(Defun *d, Adt *adt) {
  bool change = false;
  for (int i = 0; i < adt->ctor_count; i++)
    change |= changes(d, &adt->ctors[i]);
  if (!change) return NULL;
  AdtDecl *decl = arena_copy(d->arena, adt->decl, sizeof *decl);
  size_t size = sizeof(CtorDecl) * (size_t)adt->ctor_count;
  CtorDecl *ctors = arena_copy(d->arena, adt->decl->ctors, size);
  if (!decl || !ctors) return NULL;
  for (int i = 0; i < adt->ctor_count; i++)
    if (changes(d, &adt->ctors[i])) map_ctor(d, &adt->ctors[i], &ctors[i]);
  decl->ctors = ctors;
  adt->decl = decl;
  return decl;
}

void defun_map_declared(void *data, Unit *u) {
  Defun *d = data;
  size_t size = sizeof(Item) * (size_t)u->item_count;
  Item *items = NULL;
  for (int i = 0; i < u->item_count; i++) {
    Adt *adt = declared_by(d, &u->items[i]);
    const AdtDecl *made = adt ? map_declared(d, adt) : NULL;
    if (!made) continue;
    if (!items) items = arena_copy(d->arena, u->items, size);
    if (!items) return;
    items[i].adt = made;
  }
  if (items) u->items = items;
}
