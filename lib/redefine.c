/* Redefinition at the prompt.  When a text defines a name again, the
 * definitions of earlier texts that use the name are checked again, all at
 * once, and then use the new one.  A definition that no longer fits is reported
 * and keeps its old code.  It is marked stale, and so is a value that was
 * computed with code since replaced.
 *
 * A text costs what it defines and what it affects, however many definitions
 * are there already: what each definition uses is recorded once, when it joins
 * the program, together with the way back, from what is used to its users.
 *
 *   rly> def @f(%x: int32) { %x + 1 }
 *   rly> def @g(%x: int32) { @f(%x) }        recorded: @g uses @f
 *   rly> def @f(%x: int32) { %x * 2 }        @g is affected, checked again
 *   rly> @g(10)                              20
 *
 * The affected definitions are the users of what was replaced, their users, and
 * so on: the least fixed point, found with a queue (find_affected).  They are
 * put together, in their parsed form, into one unit that is checked like a
 * text.  When it has errors, the definitions with errors are left out and the
 * rest is tried again; each round leaves out at least one, so it ends.
 *
 * Nothing that was made before changes: old definitions and their code stay for
 * whoever holds them. */
#include <stdlib.h>

#include "ir/walk.h"
#include "lib/redefine.h"
#include "passes/pass.h"

/* A function, a type or a global value that a text of the user defined. */
typedef struct Live {
  Global *global; /* NULL: a type */
  const Adt *adt;
  Span span;                 /* of the name */
  const Item *item;          /* NULL: the result of an expression */
  bool affected;             /* by the newest text; false between texts */
  size_t first_use, end_use; /* the slice of `uses` that belongs to it */
} Live;

/* A list of the definitions that mention something of a name. */
typedef struct User {
  Live *live;
  Named use;
  struct User *next;
} User;

struct Uses {
  Arena arena; /* of the Lives and Users */
  VEC(Named) uses;
  PtrMap users;         /* a Name -> Users of what has it or had it */
  const Unit *recorded; /* the last unit whose definitions are here, or NULL */
};

typedef struct Redo {
  rly_program *p;
  Program *ir;
  struct Uses *uses;
  VEC(Live *) affected; /* by the newest text, in the order of their texts */
} Redo;

/* --- Recording ------------------------------------------------------------ */

typedef struct Recorder {
  struct Uses *uses;
  Live *live;
  PtrMap seen; /* what is recorded of `live` already, and its types */
} Recorder;

/* One set for types, globals and data types alike: their addresses differ. */
static bool first_time(Recorder *r, const void *what) {
  if (ptrmap_has(&r->seen, what)) return false;
  ptrmap_put(&r->seen, what, r);
  return true;
}

/* Both ways are recorded: in the slice of uses of the definition, and in the
 * list of users of the name. */
static void use(Recorder *r, Named use) {
  if (!first_time(r, use.what)) return;
  VEC_PUSH(&r->uses->uses, use);
  User *user = ARENA_NEW(&r->uses->arena, User);
  if (!user) return;
  *user = (User){r->live, use, ptrmap_get(&r->uses->users, use.name)};
  ptrmap_put(&r->uses->users, use.name, user);
}

/* The checker bounds the depth of types, so recursion is safe.  `seen` makes it
 * linear for types that share parts. */
static void use_type(Recorder *r, const Type *t) {
  if (!t || !first_time(r, t)) return;
  if (t->kind == TY_ADT)
    use(r, (Named){t->adt->name, adt_of_text(t->adt), true});
  for (int i = 0; i < t->count; i++) use_type(r, t->args[i]);
  if (t->kind == TY_FN) use_type(r, t->result);
}

static void use_expr(Recorder *r, Mem *mem, const Expr *root) {
  ExprWalk w;
  expr_walk_start(&w, mem, WALK_ENTER, root);
  while (expr_walk_next(&w)) {
    const Expr *e = w.at;
    use_type(r, e->type);
    const Global *g = e->kind == EX_GLOBAL ? global_of_text(e->g.global) : NULL;
    if (g && g->kind != GLOBAL_LOCAL) use(r, (Named){g->name, g, false});
  }
  expr_walk_end(&w);
}

static void use_adt(Recorder *r, const Adt *adt) {
  use_type(r, adt->meaning);
  for (int i = 0; !adt->is_generic && i < adt->ctor_count; i++)
    for (int k = 0; k < adt->ctors[i].field_count; k++)
      use_type(r, adt->ctors[i].fields[k]);
  for (const Adt *of = adt->instances; of; of = of->next_instance)
    use_adt(r, of);
}

/* The uses of one definition are adjacent in the vector, as its definitions are
 * recorded one after the other. */
static void record(Redo *r, Live live) {
  Mem *mem = r->ir->mem;
  Recorder rec = {.uses = r->uses, .live = ARENA_NEW(&r->uses->arena, Live)};
  if (!rec.live || mem_exhausted(mem)) return;
  ptrmap_init(&rec.seen, mem);
  *rec.live = live;
  rec.live->first_use = r->uses->uses.len;
  if (live.adt) use_adt(&rec, live.adt);
  else if (global_body(live.global))
    use_expr(&rec, mem, global_body(live.global));
  rec.live->end_use = r->uses->uses.len;
  ptrmap_done(&rec.seen);
}

/* Records what the item defines, unless a later text has defined the name
 * anew. */
static void record_item(Redo *r, const Item *item) {
  if (item->kind == ITEM_TYPE) {
    const Adt *adt = scope_adt(&r->ir->user, item->adt->name);
    if (adt && adt->span.lo == item->adt->span.lo)
      record(r, (Live){.adt = adt, .span = adt->span, .item = item});
    return;
  }
  Global *g = item_global(r->ir, item);
  if (g && g->span.lo == item->name_span.lo)
    record(r, (Live){.global = g, .span = g->span, .item = item});
}

/* Results of expressions have names, too: %_1, %_2 ... */
static void record_results(Redo *r, const Unit *u) {
  for (int i = 0; i < u->step_count; i++) {
    Global *g = u->steps[i].kind == STEP_EXPR ? u->steps[i].global : NULL;
    if (g) record(r, (Live){.global = g, .span = g->span});
  }
}

static void record_new_units(Redo *r) {
  const Unit *last = r->uses->recorded;
  for (const Unit *u = last ? last->next : r->ir->units; u; u = u->next) {
    r->uses->recorded = u;
    if (u->source->library) continue;
    for (int i = 0; i < u->item_count; i++) record_item(r, &u->items[i]);
    record_results(r, u);
  }
}

/* --- What is out of date -------------------------------------------------- */

/* Only what a name now stands for is live. */
static bool is_live(const Redo *r, const Live *l) {
  const Scope *user = &r->ir->user;
  if (l->adt) return scope_adt(user, l->adt->name) == l->adt;
  const Global *g = l->global;
  return g == (g->kind == GLOBAL_LOCAL ? scope_local(user, g->name)
                                       : scope_global(user, g->name));
}

/* Has a later text defined the name anew? */
static bool is_replaced(const Redo *r, Named use) {
  const Scope *user = &r->ir->user;
  if (use.is_type) {
    const Adt *now = scope_adt(user, use.name);
    return now && now != use.what && !now->library;
  }
  const Global *now = scope_global(user, use.name);
  return now && now != use.what && !now->library;
}

/* The name as the language writes it: `@f`, `T`. */
static const char *stale_by(Redo *r, const Live *l) {
  for (size_t i = l->first_use; i < l->end_use; i++) {
    Named use = r->uses->uses.data[i];
    if (is_replaced(r, use))
      return arena_printf(&r->ir->arena, "%s%s", use.is_type ? "" : "@",
                          use.name->text);
  }
  return NULL;
}

/* Only functions and types are checked again: a value would have to be
 * evaluated again, with its effects. */
static bool can_be_redone(const Live *l) {
  return l->item && (l->adt || l->global->kind == GLOBAL_DEF);
}

/* Whoever uses `what`, or, with NULL, anything that has lost the name.  Users
 * that are no longer live leave the list, which would grow with each
 * redefinition of theirs. */
static void affect_users(Redo *r, Named of, const void *what) {
  PtrMap *users = &r->uses->users;
  User *all = ptrmap_get(users, of.name), **link = &all;
  for (User *u; (u = *link);) {
    Live *l = u->live;
    if (!is_live(r, l)) {
      *link = u->next;
      continue;
    }
    link = &u->next;
    bool uses = u->use.is_type == of.is_type &&
                (what ? u->use.what == what : is_replaced(r, u->use));
    if (!uses || l->affected || !can_be_redone(l)) continue;
    l->affected = true;
    VEC_PUSH(&r->affected, l);
  }
  if (all || ptrmap_has(users, of.name)) ptrmap_put(users, of.name, all);
}

static Named name_of_live(const Live *l) {
  if (l->adt) return (Named){l->adt->name, l->adt, true};
  return (Named){l->global->name, l->global, false};
}

static int by_place(const void *a, const void *b) {
  const Live *x = *(Live *const *)a, *y = *(Live *const *)b;
  return (x->span.lo > y->span.lo) - (x->span.lo < y->span.lo);
}

/* The users of what the newest text replaced, their users, and so on:
 * `affected` is the queue, too.  What did not fit an earlier redefinition still
 * uses the definition before it, and may fit this one. */
static void find_affected(Redo *r, size_t first) {
  for (size_t i = first; i < r->ir->replaced.len; i++)
    affect_users(r, r->ir->replaced.data[i], NULL);
  for (size_t i = 0; i < r->affected.len; i++) {
    Named named = name_of_live(r->affected.data[i]);
    affect_users(r, named, named.what);
  }
  if (r->affected.len)
    qsort(r->affected.data, r->affected.len, sizeof *r->affected.data,
          by_place);
}

/* --- Checking again ------------------------------------------------------- */

/* Builds a unit of the affected items from their parsed form. */
static Unit *unit_again(Redo *r) {
  Unit *unit = unit_new(r->ir, r->p->newest->source);
  Item *items = ARENA_ARRAY(&unit->arena, Item, r->affected.len);
  for (size_t i = 0; items && i < r->affected.len; i++)
    items[unit->item_count++] = *r->affected.data[i]->item;
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
  for (size_t i = 0; i < r->affected.len; i++)
    known |= error_in(found, r->affected.data[i]->item) != NULL;
  size_t kept = 0;
  for (size_t i = 0; i < r->affected.len; i++) {
    Live *l = r->affected.data[i];
    const Diag *why = error_in(found, l->item);
    bool culprit = why || !known;
    const char *by = culprit ? stale_by(r, l) : NULL;
    if (by) report_stale(r, l, by, why);
    l->affected = !culprit;
    if (!culprit) r->affected.data[kept++] = l;
  }
  r->affected.len = kept;
}

/* Checks the affected definitions.  Those with errors are left out and the rest
 * is tried again, until what remains checks. */
static void check_again(Redo *r) {
  Diags found, *usual = r->ir->diags;
  diags_init(&found, r->ir->mem);
  found.sources = usual->sources;
  while (r->affected.len && !mem_exhausted(r->ir->mem)) {
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
  for (size_t i = 0; i < r->ir->replaced.len; i++) {
    Named old = r->ir->replaced.data[i];
    for (const User *u = ptrmap_get(&r->uses->users, old.name); u; u = u->next)
      if (u->use.what == old.what && u->live->global && is_live(r, u->live))
        u->live->global->stale = stale_by(r, u->live);
  }
  VEC_CLEAR(&r->ir->replaced);
}

static void redo(Redo *r, size_t first) {
  record_new_units(r);
  find_affected(r, first);
  check_again(r);
  for (size_t i = 0; i < r->affected.len; i++)
    r->affected.data[i]->affected = false;
  record_new_units(r);
  mark_stale(r);
}

/* --- The record ----------------------------------------------------------- */

static struct Uses *uses_new(Mem *mem) {
  struct Uses *uses = mem_alloc_zeroed(mem, sizeof *uses);
  if (!uses) return mem_raise_exhausted(mem), NULL;
  arena_init(&uses->arena, mem);
  VEC_INIT(&uses->uses, mem);
  ptrmap_init(&uses->users, mem);
  return uses;
}

void uses_free(struct Uses *uses) {
  if (!uses) return;
  Mem *mem = uses->uses.mem;
  arena_done(&uses->arena);
  VEC_DONE(&uses->uses);
  ptrmap_done(&uses->users);
  mem_free(mem, uses, sizeof *uses);
}

void program_redo(rly_program *p, size_t first) {
  Mem *mem = p->ir->mem;
  if (!p->uses) p->uses = uses_new(mem);
  if (!p->uses) return;
  Redo r = {.p = p, .ir = p->ir, .uses = p->uses};
  VEC_INIT(&r.affected, mem);
  redo(&r, first);
  VEC_DONE(&r.affected);
  if (!mem_exhausted(mem)) return;
  /* Parts of the record may be missing: the next text makes it anew. */
  uses_free(p->uses);
  p->uses = NULL;
}
