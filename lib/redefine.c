/* Redefinition at the prompt.  When a text defines a name again, the
 * definitions of earlier texts that use the name are checked again, all at
 * once, and then use the new one.  A definition that no longer fits is reported
 * and keeps its old code.  It is marked stale, and so is a value that was
 * computed with code since replaced. */
#include <stdlib.h>

#include "ir/walk.h"
#include "lib/redefine.h"
#include "passes/pass.h"

/* A function, a type or a global value that is still in scope. */
typedef struct Live {
  Global *global; /* NULL: a type */
  const Adt *adt;
  Span span;        /* of the name */
  const Item *item; /* found only when it has to be checked again */
  bool affected;
  size_t first_use, end_use; /* the slice of `uses` that belongs to it */
} Live;

/* A Global or an Adt that a live definition mentions. */
typedef struct Use {
  const void *what;
  bool is_type;
} Use;

typedef struct Redo {
  rly_program *p;
  Program *ir;
  uint32_t since; /* offset in the sources where the newest text begins */
  VEC(Live) live;
  VEC(Use) uses;
  /* uses and types already recorded for the definition at hand */
  PtrMap seen;
  PtrMap affected; /* set of Global and Adt */
  bool any;
} Redo;

/* --- Uses ----------------------------------------------------------------- */

static bool first_time(Redo *r, const void *what) {
  if (ptrmap_has(&r->seen, what)) return false;
  ptrmap_put(&r->seen, what, r);
  return true;
}

static void use(Redo *r, const void *what, bool is_type) {
  if (first_time(r, what)) VEC_PUSH(&r->uses, (Use){what, is_type});
}

/* The checker bounds the depth of types, so recursion is safe.  `seen` makes it
 * linear for types that share parts. */
static void use_type(Redo *r, const Type *t) {
  if (!t || !first_time(r, t)) return;
  if (t->kind == TY_ADT) use(r, t->adt, true);
  for (int i = 0; i < t->count; i++) use_type(r, t->args[i]);
  if (t->kind == TY_FN) use_type(r, t->result);
}

static void use_expr(Redo *r, const Expr *root) {
  ExprWalk w;
  expr_walk_start(&w, r->ir->mem, WALK_ENTER, root);
  while (expr_walk_next(&w)) {
    const Expr *e = w.at;
    use_type(r, e->type);
    if (e->kind == EX_GLOBAL && e->g.global->kind != GLOBAL_LOCAL)
      use(r, e->g.global, false);
  }
  expr_walk_end(&w);
}

static void use_adt(Redo *r, const Adt *adt) {
  for (int i = 0; i < adt->ctor_count; i++)
    for (int k = 0; k < adt->ctors[i].field_count; k++)
      use_type(r, adt->ctors[i].fields[k]);
}

static void find_uses(Redo *r, Live *l) {
  ptrmap_done(&r->seen);
  ptrmap_init(&r->seen, r->ir->mem);
  l->first_use = r->uses.len;
  if (l->adt) use_adt(r, l->adt);
  else if (l->global->value) use_expr(r, l->global->value);
  l->end_use = r->uses.len;
}

/* --- What is live --------------------------------------------------------- */

static int by_place(const void *a, const void *b) {
  const Live *x = a, *y = b;
  return (x->span.lo > y->span.lo) - (x->span.lo < y->span.lo);
}

static void add_globals(Redo *r, const PtrMap *map) {
  for (size_t i = 0; i < map->cap; i++) {
    Global *g = map->slots[i].key ? map->slots[i].value : NULL;
    if (g && !g->library)
      VEC_PUSH(&r->live, (Live){.global = g, .span = g->span});
  }
}

static void add_adts(Redo *r, const PtrMap *map) {
  for (size_t i = 0; i < map->cap; i++) {
    const Adt *adt = map->slots[i].key ? map->slots[i].value : NULL;
    if (adt && !adt->library)
      VEC_PUSH(&r->live, (Live){.adt = adt, .span = adt->span});
  }
}

static void find_live(Redo *r) {
  VEC_CLEAR(&r->live);
  VEC_CLEAR(&r->uses);
  add_globals(r, &r->ir->user.globals);
  add_globals(r, &r->ir->user.locals);
  add_adts(r, &r->ir->user.adts);
  if (r->live.len)
    qsort(r->live.data, r->live.len, sizeof *r->live.data, by_place);
  for (size_t i = 0; i < r->live.len; i++) find_uses(r, &r->live.data[i]);
}

/* --- What is out of date -------------------------------------------------- */

/* Finds the definition that replaced the one used: `*name` receives its name
 * and `*span` its place.  False when the use is still current. */
static bool replaced(const Redo *r, Use u, const Name **name, Span *span) {
  const Scope *user = &r->ir->user;
  if (u.is_type) {
    const Adt *old = u.what, *now = scope_adt(user, old->name);
    *name = old->name;
    *span = now ? now->span : SPAN_NONE;
    return now && now != old && !now->library;
  }
  const Global *old = u.what, *now = scope_global(user, old->name);
  *name = old->name;
  *span = now ? now->span : SPAN_NONE;
  return now && now != old && !now->library;
}

/* The name as the language writes it: `@f`, `T`. */
static const char *stale_by(Redo *r, const Live *l) {
  const Name *name;
  Span span;
  for (size_t i = l->first_use; i < l->end_use; i++)
    if (replaced(r, r->uses.data[i], &name, &span))
      return arena_printf(&r->ir->arena, "%s%s",
                          r->uses.data[i].is_type ? "" : "@", name->text);
  return NULL;
}

static bool is_affected(const Redo *r, const Live *l) {
  const Name *name;
  Span span;
  for (size_t i = l->first_use; i < l->end_use; i++) {
    Use u = r->uses.data[i];
    if (ptrmap_has(&r->affected, u.what)) return true;
    if (replaced(r, u, &name, &span) && span.lo >= r->since) return true;
  }
  return false;
}

/* Only functions and types are checked again: a value would have to be
 * evaluated again, with its effects. */
static bool can_be_redone(const Live *l) {
  return l->adt || l->global->kind == GLOBAL_DEF;
}

static void find_affected(Redo *r) {
  for (bool more = true; more;) {
    more = false;
    for (size_t i = 0; i < r->live.len; i++) {
      Live *l = &r->live.data[i];
      if (l->affected || !can_be_redone(l) || !is_affected(r, l)) continue;
      const void *what = l->adt ? (const void *)l->adt : l->global;
      ptrmap_put(&r->affected, what, l);
      l->affected = r->any = more = true;
    }
  }
}

/* --- Checking again ------------------------------------------------------- */

static void find_item(const Program *ir, Live *l) {
  for (const Unit *u = ir->units; u; u = u->next)
    for (int i = 0; i < u->item_count; i++) {
      const Item *item = &u->items[i];
      Span at = item->kind == ITEM_TYPE ? item->adt->span : item->name_span;
      if (span_exists(at) && at.lo == l->span.lo) l->item = item;
    }
  l->affected = l->item != NULL;
}

/* --- Checking again ------------------------------------------------------- */

/* Builds a unit of the affected items from their parsed form. */
static Unit *unit_again(Redo *r) {
  Unit *unit = unit_new(r->ir, r->p->newest->source);
  Item *items = ARENA_ARRAY(&unit->arena, Item, r->live.len);
  for (size_t i = 0; items && i < r->live.len; i++)
    if (r->live.data[i].affected)
      items[unit->item_count++] = *r->live.data[i].item;
  unit->items = items;
  return unit;
}

/* The first error inside the item, or NULL. */
static const Diag *error_in(const Diags *found, const Item *item) {
  for (size_t i = 0; i < found->list.len; i++) {
    const Diag *d = found->list.data[i];
    if (d->severity != SEV_WARNING && d->span.lo >= item->span.lo &&
        d->span.hi <= item->span.hi)
      return d;
  }
  return NULL;
}

static void report_stale(Redo *r, const Live *l, const char *by,
                         const Diag *why) {
  Diag *d = diag_warning(
      r->ir->diags, W0003, why ? why->span : l->span,
      "`%s%s` does not fit the new `%s`, and goes on with the one before: %s",
      l->adt ? "" : "@", l->adt ? l->adt->name->text : l->global->name->text,
      by, why ? why->message : "it could not be checked");
  if (why && why->caption) diag_caption(d, "%s", why->caption);
  if (why && why->hint) diag_hint(d, "%s", why->hint);
  for (size_t i = 0; why && i < why->notes.len; i++)
    diag_note(d, why->notes.data[i].span, "%s", why->notes.data[i].message);
}

/* Leaves out the definitions with an error, or all of them when no error can be
 * attributed to one. */
static void drop_culprits(Redo *r, const Diags *found) {
  bool known = false;
  for (size_t i = 0; i < r->live.len; i++)
    known |= r->live.data[i].affected && error_in(found, r->live.data[i].item);
  r->any = false;
  for (size_t i = 0; i < r->live.len; i++) {
    Live *l = &r->live.data[i];
    const Diag *why = l->affected ? error_in(found, l->item) : NULL;
    bool culprit = l->affected && (why || !known);
    const char *by = culprit ? stale_by(r, l) : NULL;
    if (by) report_stale(r, l, by, why);
    if (culprit) l->affected = false;
    r->any |= l->affected;
  }
}

/* Checks the affected definitions.  Those with errors are left out and the rest
 * is tried again, until what remains checks. */
static void check_again(Redo *r) {
  Diags found, *usual = r->ir->diags;
  diags_init(&found, r->ir->mem);
  found.sources = usual->sources;
  while (r->any && !mem_exhausted(r->ir->mem)) {
    Unit *unit = unit_again(r);
    r->ir->diags = &found;
    bool fine = unit_check(r->ir, unit);
    r->ir->diags = usual;
    if (fine) break;
    drop_culprits(r, &found);
    diags_clear(&found);
  }
  diags_done(&found);
}

/* --- Marks ---------------------------------------------------------------- */

/* What still uses something that was replaced, by the newest text or since, by
 * the definitions that were checked again. */
static void mark_stale(Redo *r) {
  find_live(r);
  for (size_t i = 0; i < r->live.len; i++) {
    Live *l = &r->live.data[i];
    if (l->global) l->global->stale = stale_by(r, l);
  }
}

static void redo(Redo *r) {
  find_live(r);
  find_affected(r);
  for (size_t i = 0; i < r->live.len; i++)
    if (r->live.data[i].affected) find_item(r->ir, &r->live.data[i]);
  check_again(r);
  mark_stale(r);
}

void program_redo(rly_program *p, uint32_t since) {
  Redo r = {.p = p, .ir = p->ir, .since = since};
  Mem *mem = p->ir->mem;
  VEC_INIT(&r.live, mem);
  VEC_INIT(&r.uses, mem);
  ptrmap_init(&r.seen, mem);
  ptrmap_init(&r.affected, mem);
  redo(&r);
  VEC_DONE(&r.live);
  VEC_DONE(&r.uses);
  ptrmap_done(&r.seen);
  ptrmap_done(&r.affected);
}
