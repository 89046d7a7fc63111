/* Which functions reach which `param`s: directly, or through functions that
 * they name.  Each gets them as leading parameters, in the order of the text.
 * Functions and data types of our library that are reached and that TVM's
 * library lacks join the text.
 *
 *   param @w: ...;                        def @f(%w, %x) { %x + %w }
 *   def @f(%x) { %x + @w }       ==>      def @g(%w, %x) { @f(%w, %x) }
 *   def @g(%x) { @f(%x) }
 *
 * It is a reachability problem over the graph of uses, solved by repeating
 * until nothing changes.  Each definition has a row of flags, one a param.  The
 * rounds go from the last definition to the first; a chain of calls up the text
 * costs a round for each of its links. */
#include <string.h>

#include "ir/walk.h"
#include "passes/relay_map.h"

/* The function that a name means.  A function of the library (`home`) sees
 * nothing of the text but the instances of library functions that were written
 * there. */
Needs *relay_callee(const Relay *r, const Needs *home, const Name *name) {
  Needs *own = ptrmap_get(&r->by_name, name);
  if (own && home && home->used && !own->used) own = NULL;
  return own ? own : ptrmap_get(&r->library, name);
}

/* Definitions of the library join the list while it is worked through. */
static Needs *needs_new(Relay *r, const Item *item) {
  Needs *n = ARENA_NEW(r->arena, Needs);
  *n = (Needs){.item = item};
  VEC_INIT(&n->uses, r->p->mem);
  VEC_PUSH(&r->needs, n);
  return n;
}

/* Files of the library that TVM has, too. */
static bool is_of_relay(const char *path) {
  static const char *const files[] = {
      "prelude.rly", "nat.rly", "core.rly", "gradient.rly", "tensor_array.rly",
  };
  const char *slash = strrchr(path, '/');
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (strcmp(files[i], slash ? slash + 1 : path) == 0) return true;
  return false;
}

/* The library's definition that a use reaches, if TVM's lacks it. */
static Needs *link(Relay *r, const Needs *home, const Expr *use) {
  Program *p = r->p;
  const Name *name = use->g.name;
  Unit *unit = p->find_in_library ? p->find_in_library(p, '@', name) : NULL;
  if (!unit || is_of_relay(unit->source->path)) return NULL;
  for (int i = 0; i < unit->item_count; i++) {
    const Item *item = &unit->items[i];
    if (item->kind != ITEM_DEF || item->name != name) continue;
    if (relay_is_generic(item))
      relay_refuse(r, use->span,
                   "the library's `@%s`, whose shapes are not "
                   "known here",
                   name->text);
    Needs *n = needs_new(r, item);
    n->used = home->used ? home->used : use;
    ptrmap_put(&r->library, name, n);
    return n;
  }
  return NULL;
}

/* The library's texts know nothing of the unit's params. */
static bool note_param(const Relay *r, Needs *n, const Name *name) {
  bool found = false;
  for (size_t i = 0; !n->used && i < r->params.len; i++) {
    if (r->params.data[i]->name != name) continue;
    n->params[i] = found = true;
  }
  return found;
}

static void note_global(Relay *r, Needs *n, const Expr *use) {
  if (note_param(r, n, use->g.name)) return;
  Needs *callee = relay_callee(r, n, use->g.name);
  if (!callee) callee = link(r, n, use);
  if (callee) VEC_PUSH(&n->uses, callee);
}

/* --- Data types of the library -------------------------------------------- */

static void mention_types(Relay *r, const TypeExpr *t);

static bool declares(const AdtDecl *adt, const Name *name) {
  bool found = adt && adt->name == name;
  for (int k = 0; adt && k < adt->ctor_count; k++)
    found |= adt->ctors[k].name == name;
  return found;
}

static void link_type(Relay *r, const Item *item) {
  for (size_t i = 0; i < r->types.len; i++)
    if (r->types.data[i]->name == item->name) return;
  VEC_PUSH(&r->types, item);
  for (int k = 0; k < item->adt->ctor_count; k++)
    for (int i = 0; i < item->adt->ctors[k].field_count; i++)
      mention_types(r, item->adt->ctors[k].fields[i]);
}

/* The name of a type or of a constructor; any other is passed over. */
static void mention(Relay *r, const Name *name) {
  Program *p = r->p;
  if (!name || ptrmap_has(&r->mentioned, name)) return;
  ptrmap_put(&r->mentioned, name, (void *)name);
  for (int i = 0; i < r->unit->item_count; i++)
    if (declares(r->unit->items[i].adt, name)) return;
  for (int kind = 0; kind < 2 && p->find_in_library; kind++) {
    const Unit *unit = p->find_in_library(p, kind ? 'C' : 'T', name);
    if (!unit || is_of_relay(unit->source->path)) continue;
    for (int i = 0; i < unit->item_count; i++)
      if (unit->items[i].kind == ITEM_TYPE &&
          declares(unit->items[i].adt, name))
        link_type(r, &unit->items[i]);
  }
}

static void mention_types(Relay *r, const TypeExpr *t) {
  if (!t) return;
  mention(r, t->name);
  for (int i = 0; i < t->arg_count; i++) mention_types(r, t->args[i]);
  mention_types(r, t->result);
}

static void mention_in(Relay *r, const ExprWalk *w) {
  if (w->event == WALK_PATTERN) mention(r, w->pattern->name);
  if (w->event == WALK_BIND && w->var) mention_types(r, w->var->annotation);
  if (w->event != WALK_ENTER) return;
  if (w->at->kind == EX_IDENT) mention(r, w->at->name);
  if (w->at->kind == EX_FN) mention_types(r, w->at->fn->result);
}

/* --- Uses ----------------------------------------------------------------- */

/* A script's expression takes the `let`s before it along. */
static void find_direct(Relay *r, Needs *n) {
  ExprWalk w;
  expr_walk_start(&w, r->p->mem, WALK_ENTER | WALK_BIND | WALK_PATTERN,
                  n->item->expr);
  for (int i = 0; n->item->kind == ITEM_EXPR && i < r->unit->item_count; i++) {
    const Item *item = &r->unit->items[i];
    if (item->kind == ITEM_LET_LOCAL) expr_walk_add(&w, item->expr);
  }
  while (expr_walk_next(&w)) {
    mention_in(r, &w);
    if (w.event == WALK_ENTER && w.at->kind == EX_GLOBAL)
      note_global(r, n, w.at);
  }
  expr_walk_end(&w);
}

/* What a function's callees need, it needs, too. */
static bool spread(const Relay *r, Needs *n) {
  bool changed = false;
  for (size_t u = 0; u < n->uses.len; u++) {
    for (size_t i = 0; i < r->params.len; i++) {
      if (!n->uses.data[u]->params[i] || n->params[i]) continue;
      n->params[i] = changed = true;
    }
  }
  return changed;
}

/* Of several expressions the first is mapped: the others are refused as they
 * are (check_expression). */
static void add_item(Relay *r, const Item *item) {
  mention_types(r, item->annotation);
  for (int k = 0; item->adt && k < item->adt->ctor_count; k++)
    for (int i = 0; i < item->adt->ctors[k].field_count; i++)
      mention_types(r, item->adt->ctors[k].fields[i]);
  if (item->kind == ITEM_PARAM) VEC_PUSH(&r->params, item);
  bool value = item->kind == ITEM_PARAM && item->expr;
  bool first = item->kind == ITEM_EXPR && !r->main;
  if (!value && item->kind != ITEM_DEF && !first) return;
  if (first) r->main = item;
  Needs *n = needs_new(r, item);
  if (item->kind == ITEM_DEF) ptrmap_put(&r->by_name, item->name, n);
  n->used = item->name ? ptrmap_get(&r->asked, item->name) : NULL;
}

/* Ends, as flags only rise: at most params times definitions rounds. */
void relay_find_inputs(Relay *r) {
  for (int i = 0; i < r->unit->item_count; i++) add_item(r, &r->unit->items[i]);
  for (size_t i = 0; i < r->needs.len && !mem_exhausted(r->p->mem); i++) {
    Needs *n = r->needs.data[i];
    n->params = ARENA_ARRAY(r->arena, bool, r->params.len + 1);
    if (n->params) find_direct(r, n);
  }
  bool changed = r->params.len > 0 && !mem_exhausted(r->p->mem);
  while (changed) {
    changed = false;
    for (size_t i = r->needs.len; i-- > 0;)
      changed |= spread(r, r->needs.data[i]);
  }
}

void relay_inputs_done(Relay *r) {
  for (size_t i = 0; i < r->needs.len; i++) VEC_DONE(&r->needs.data[i]->uses);
  VEC_DONE(&r->needs);
  VEC_DONE(&r->params);
  VEC_DONE(&r->types);
}
