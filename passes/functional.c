/* A module whose state lies in cells, as functions of an explicit state:
 *
 *   let @count = ref(1);               def @init() { let %count: int32 = 1;
 *   def @next(%by: int32) {                          %count }
 *     ref_write(@count,                def @next(%by: int32, %state: int32) {
 *       ref_read(@count) + %by);  ==>    let %count = %state + %by;
 *     ref_read(@count)                   (%count, %count)
 *   }                                  }
 *
 * The state is the tuple of all global values, in the order of the text; of
 * one, that value itself.  `@init` gives the first.  A function that changes
 * the state takes it last and gives `(value, state)`; one that only reads it
 * takes it; all others stay as they are.  The expressions of a script become
 * @main.
 *
 * A tuple of cells is a tuple of their contents.  Which cell an expression
 * means is known from the text: a cell has names, parts have paths, and a
 * function that takes one is copied for it.  The whole alternative is a heap
 * that is passed along, with indices for cells.  It would take cells in lists,
 * too, but a read would be a search, and the state a heap instead of what the
 * text says.
 *
 * Cells that a program makes while it runs stay cells: plain Relay has them.
 * What cannot be followed is refused, each with its place.
 *
 *   functional_store.c   before all this, cells that cannot be followed, as
 *                        numbers; a pass of its own
 *   functional_state.c   the global values, and the type of the state
 *   functional_choose.c  cells that branches choose and functions give
 *   functional_reach.c   who touches the state, and what it is passed to
 *   functional_map.c     functions with the state threaded through */
#include "passes/functional.h"

#include <stdarg.h>
#include <stdio.h>

#include "ir/printer.h"
#include "passes/rewrite.h"

void functional_refuse(Functional *f, Span span, const char *remedy,
                       const char *format, ...) {
  va_list args;
  va_start(args, format);
  char what[200];
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  Diag *d = diag_error(f->p->diags, E0508, span,
                       "an explicit state cannot express %s", what);
  diag_hint(d, "%s", remedy);
}

/* --- Items ---------------------------------------------------------------- */

/* Imported texts stand in the place of their `import`. */
static void add_items(Functional *f, const Unit *u) {
  typedef struct Place {
    const Unit *unit;
    int next;
  } Place;
  VEC(Place) places;
  VEC_INIT(&places, f->p->mem);
  VEC_PUSH(&places, (Place){.unit = u});
  while (places.len) {
    Place *at = &VEC_LAST(&places);
    if (at->next == at->unit->item_count) {
      places.len--;
      continue;
    }
    const Item *item = &at->unit->items[at->next++];
    const Unit *of =
        item->kind == ITEM_IMPORT ? unit_imported_by(f->p, item) : NULL;
    if (of) VEC_PUSH(&places, (Place){.unit = of});
    else if (item->kind != ITEM_IMPORT) VEC_PUSH(&f->items, item);
    if (of && of->meta_count)
      functional_refuse(f, item->span,
                        "copy the definitions and the metadata into this text",
                        "an import with metadata");
  }
  VEC_DONE(&places);
}

/* Steps are in the order of the texts' items. */
static void add_shown(Functional *f, const Unit *u) {
  int step = 0;
  for (int i = 0; i < u->item_count; i++) {
    const Item *item = &u->items[i];
    if (item->kind != ITEM_EXPR) continue;
    while (step < u->step_count && u->steps[step].kind != STEP_EXPR) step++;
    if (step == u->step_count) return;
    ptrmap_put(&f->shown, item, (void *)u->steps[step++].expr->type);
  }
}

bool functional_is_unit(const Functional *f, const Item *item) {
  const Type *t = ptrmap_get(&f->shown, item);
  return t && type_is_unit(t);
}

/* The first state is there before the script, which is one function. */
static void check_items(Functional *f) {
  const Name *init = name_of(f->p->names, "init");
  const Name *main = name_of(f->p->names, "main");
  const Item *script = NULL;
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    bool in_script = item->kind == ITEM_EXPR || item->kind == ITEM_LET_LOCAL;
    if (in_script && !script) script = item;
    if (item->kind == ITEM_LET_GLOBAL) {
      if (script)
        functional_refuse(f, item->name_span,
                          "move it above the first expression",
                          "a global value after an expression");
      functional_add_cell(f, item);
    }
    bool global = item->kind == ITEM_DEF || item->kind == ITEM_PARAM ||
                  item->kind == ITEM_LET_GLOBAL;
    if (global) ptrmap_put(&f->taken, item->name, (void *)item);
    if (item->kind == ITEM_DEF && item->name == init)
      functional_refuse(f, item->name_span, "give it another name",
                        "a function called `@init`, which "
                        "gives the first state");
  }
  for (size_t i = 0; script && i < f->items.len; i++)
    if (f->items.data[i]->kind == ITEM_DEF && f->items.data[i]->name == main)
      functional_refuse(
          f, script->span,
          "give `@main` another name, or leave the expression out",
          "an expression at top level besides `@main`");
}

/* --- Units ---------------------------------------------------------------- */

static Item def_item(Functional *f, const char *name, const Expr *fn) {
  return (Item){.kind = ITEM_DEF,
                .span = fn->span,
                .name_span = fn->span,
                .name = name_of(f->p->names, name),
                .expr = fn,
                .linked = true};
}

static bool is_live(const Functional *f, const Expr *def) {
  const Fun *fun = ptrmap_get(&f->fun_of, def);
  return fun && fun->live;
}

static void mention_type(PtrMap *names, const TypeExpr *t) {
  if (!t) return;
  if (t->name) ptrmap_put(names, t->name, (void *)t->name);
  for (int i = 0; i < t->arg_count; i++) mention_type(names, t->args[i]);
  mention_type(names, t->result);
}

static void mention_pattern(PtrMap *names, const Pattern *p) {
  if (p->name) ptrmap_put(names, p->name, (void *)p->name);
  for (int i = 0; i < p->count; i++) mention_pattern(names, p->fields[i]);
}

void functional_mention(const Functional *f, PtrMap *names, const Expr *e) {
  ExprWalk w;
  expr_walk_start(&w, f->p->mem, WALK_ENTER | WALK_BIND, e);
  while (expr_walk_next(&w)) {
    const Expr *at = w.at;
    if (w.event == WALK_BIND) {
      if (w.var) mention_type(names, w.var->annotation);
      continue;
    }
    if (at->kind == EX_IDENT) ptrmap_put(names, at->name, (void *)at->name);
    if (at->kind == EX_FN) mention_type(names, at->fn->result);
    for (int i = 0; at->kind == EX_MATCH && i < at->match->arm_count; i++)
      mention_pattern(names, at->match->arms[i].pattern);
  }
  expr_walk_end(&w);
}

/* Is there a cell in a field of a constructor, in any instance? */
static bool holds_cell(const Functional *f, const Adt *adt) {
  bool held = false;
  const Adt *first = adt->is_generic ? adt->instances : adt;
  for (const Adt *at = first; at && !held; at = at->next_instance)
    for (int k = 0; k < at->ctor_count; k++)
      for (int i = 0; i < at->ctors[k].field_count; i++)
        held |= functional_has_ref(f, at->ctors[k].fields[i]);
  return held;
}

bool functional_is_mentioned(const PtrMap *names, const Item *type) {
  const AdtDecl *adt = type->adt;
  bool found = ptrmap_has(names, adt->name);
  for (int k = 0; k < adt->ctor_count && !found; k++)
    found = ptrmap_has(names, adt->ctors[k].name);
  return found;
}

/* What the declarations that are mentioned mention themselves. */
static void mention_fields(PtrMap *names, const Item *items, int count) {
  size_t before;
  do {
    before = names->len;
    for (int i = 0; i < count; i++) {
      const AdtDecl *adt = items[i].kind == ITEM_TYPE ? items[i].adt : NULL;
      if (!adt || !functional_is_mentioned(names, &items[i])) continue;
      mention_type(names, adt->meaning);
      for (int k = 0; k < adt->ctor_count; k++)
        for (int j = 0; j < adt->ctors[k].field_count; j++)
          mention_type(names, adt->ctors[k].fields[j]);
    }
  } while (names->len > before);
}

/* A data type with a cell in it, of which only parts of the state were made, is
 * not mentioned any more, and plain Relay could not say it. */
static int drop_types(const Functional *f, Item *items, int count) {
  PtrMap names;
  ptrmap_init(&names, f->p->mem);
  for (int i = 0; i < count; i++) {
    if (items[i].expr) functional_mention(f, &names, items[i].expr);
    mention_type(&names, items[i].annotation);
  }
  mention_fields(&names, items, count);
  int n = 0;
  for (int i = 0; i < count; i++) {
    const AdtDecl *decl = items[i].kind == ITEM_TYPE ? items[i].adt : NULL;
    const Adt *adt = decl ? scope_adt(&f->p->user, decl->name) : NULL;
    bool drop = adt && !functional_is_mentioned(&names, &items[i]) &&
                (decl->meaning || holds_cell(f, adt));
    if (!drop) items[n++] = items[i];
  }
  ptrmap_done(&names);
  return n;
}

/* The text's own items with what became of them; @init comes before the first
 * function; copies of functions last, and @main. */
static Unit *map_unit(Functional *f, const Unit *u) {
  Unit *made = ARENA_NEW(f->arena, Unit);
  *made = *u;
  made->comment_count = made->step_count = 0;
  size_t most = f->items.len + f->copies.len + 2;
  Item *items = ARENA_ARRAY(f->arena, Item, most);
  const Expr *init = functional_init(f);
  if (!items || !init) return NULL;
  int n = 0;
  bool has_init = false;
  for (size_t i = 0; i < f->items.len; i++) {
    Item item = *f->items.data[i];
    bool value = item.kind == ITEM_LET_GLOBAL;
    if ((value || item.kind == ITEM_DEF) && !has_init) {
      items[n++] = def_item(f, "init", init);
      has_init = true;
    }
    if (item.kind == ITEM_DEF && !is_live(f, item.expr)) continue;
    bool mapped =
        item.kind == ITEM_DEF || (item.kind == ITEM_PARAM && item.expr);
    if (mapped && !(item.expr = functional_def(f, item.expr))) return NULL;
    bool kept = item.kind == ITEM_DEF || item.kind == ITEM_TYPE ||
                item.kind == ITEM_PARAM;
    item.linked = true;
    if (kept) items[n++] = item;
  }
  for (size_t i = 0; i < f->copies.len; i++) {
    const Fun *copy = f->copies.data[i];
    if (!copy->live) continue;
    const Expr *fn = functional_def(f, copy->fn);
    if (!fn) return NULL;
    items[n++] = def_item(f, copy->name->text, fn);
  }
  const Expr *main = f->script ? functional_script(f) : NULL;
  if (main) items[n++] = def_item(f, "main", main);
  made->items = items;
  made->item_count = drop_types(f, items, n);
  return made;
}

static void each_map(Functional *f, void (*visit)(PtrMap *m, Mem *mem)) {
  PtrMap *const maps[] = {&f->cell_of, &f->defs,  &f->fun_of, &f->shown,
                          &f->callee,  &f->touch, &f->writer, &f->part,
                          &f->name,    &f->taken};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
    visit(maps[i], f->p->mem);
}

static void map_done(PtrMap *m, Mem *mem) {
  (void)mem;
  ptrmap_done(m);
}

void functional_start(Functional *f, Program *p, Unit *u) {
  *f = (Functional){.p = p, .arena = &u->arena};
  each_map(f, ptrmap_init);
  VEC_INIT(&f->items, p->mem);
  VEC_INIT(&f->cells, p->mem);
  VEC_INIT(&f->funs, p->mem);
  VEC_INIT(&f->copies, p->mem);
  VEC_INIT(&f->uses, p->mem);
  VEC_INIT(&f->live, p->mem);
  add_items(f, u);
  add_shown(f, u);
}

void functional_end(Functional *f) {
  for (size_t i = 0; i < f->funs.len; i++) {
    VEC_DONE(&f->funs.data[i]->callers);
    VEC_DONE(&f->funs.data[i]->uses);
  }
  VEC_DONE(&f->items);
  VEC_DONE(&f->cells);
  VEC_DONE(&f->funs);
  VEC_DONE(&f->copies);
  VEC_DONE(&f->uses);
  VEC_DONE(&f->live);
  each_map(f, map_done);
}

Pass pass_functional;

/* A text without global values has no state: it stays. */
Unit *pass_functional(Program *p, Unit *u) {
  size_t errors = p->diags->errors;
  Functional f;
  functional_start(&f, p, u);
  bool state = false;
  for (size_t i = 0; i < f.items.len; i++)
    state |= f.items.data[i]->kind == ITEM_LET_GLOBAL;
  for (int i = 0; i < u->entry_count; i++) pass_entry(p, u, u->entries[i]);
  Unit *made = u;
  if (state) {
    check_items(&f);
    functional_find_state(&f);
    if (p->diags->errors == errors) functional_choose(&f, u);
    if (p->diags->errors == errors) functional_reach(&f, u);
    made = p->diags->errors == errors ? map_unit(&f, u) : NULL;
  }
  u->loses_cell = f.loses_cell;
  u->loses_function = f.loses_function;
  functional_end(&f);
  bool ok = p->diags->errors == errors && !mem_exhausted(p->mem);
  return ok ? made : NULL;
}
