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

/* --- Types as written ----------------------------------------------------- */

/* Does the type hold one of that kind?  Fields of data types are looked at
 * once; what their parameters stand for is among the type's own parts. */
static bool type_holds(const Functional *f, const Type *whole, TypeKind kind) {
  VEC(const Type *) work;
  PtrMap met;
  VEC_INIT(&work, f->p->mem);
  ptrmap_init(&met, f->p->mem);
  VEC_PUSH(&work, whole);
  bool found = false;
  while (work.len && !found) {
    const Type *t = VEC_POP(&work);
    found = t->kind == kind;
    for (int i = 0; i < t->count; i++) VEC_PUSH(&work, t->args[i]);
    if (t->kind == TY_FN) VEC_PUSH(&work, t->result);
    if (t->kind != TY_ADT || ptrmap_has(&met, t->adt)) continue;
    ptrmap_put(&met, t->adt, (void *)t->adt);
    for (int i = 0; i < t->adt->ctor_count; i++)
      for (int k = 0; k < t->adt->ctors[i].field_count; k++)
        VEC_PUSH(&work, t->adt->ctors[i].fields[k]);
  }
  VEC_DONE(&work);
  ptrmap_done(&met);
  return found;
}

bool functional_has_ref(const Functional *f, const Type *t) {
  return type_holds(f, t, TY_REF);
}

int functional_field_count(const Functional *f, const Type *t) {
  if (t->kind == TY_TUPLE) return t->count;
  bool one = t->kind == TY_ADT && t->adt->ctor_count == 1 &&
             !t->adt->literals && functional_has_ref(f, t);
  return one ? t->adt->ctors[0].field_count : -1;
}

const Type *functional_field(const Functional *f, const Type *t, int i) {
  if (t->kind == TY_TUPLE) return t->args[i];
  const Adt *adt = t->adt;
  return type_substitute(f->p->types, adt->ctors[0].fields[i], adt->param_count,
                         adt->params, t->args, NULL);
}

/* A function can hold a cell that its type does not show, where the expression
 * that gives it makes one. */
static bool makes_cell(const Functional *f, const Expr *e) {
  bool found = false;
  ExprWalk w;
  expr_walk_start(&w, f->p->mem, WALK_ENTER, e);
  while (!found && expr_walk_next(&w)) {
    found = w.at->kind == EX_REF;
    if (w.at->kind != EX_GLOBAL) continue;
    const Global *g = scope_global(&f->p->user, w.at->g.name);
    found = g && g->effects & EFFECT_ALLOC;
  }
  expr_walk_end(&w);
  return found;
}

/* Does a cell stand in it? */
static bool says_cell(const TypeExpr *t) {
  bool found = t->kind == TX_REF || (t->result && says_cell(t->result));
  for (int i = 0; i < t->arg_count && !found; i++)
    found = says_cell(t->args[i]);
  return found;
}

/* A type without parameters, of a size that was looked at, with a number for
 * each cell where cells are numbers, or else without cells.  Anything else is
 * refused, once for each cell. */
static const TypeExpr *write_type(Functional *f, const Type *t, Span span,
                                  bool *sayable) {
  static const TypeExpr number = {
      .kind = TX_TENSOR, .height = 1, .dtype = DT_INT32, .scalar = true};
  const TypeExpr *made = type_as_written(f->p, f->arena, t, span,
                                         f->numbers ? &number : NULL, sayable);
  *sayable &= !says_cell(made);
  return made;
}

const TypeExpr *functional_write_type(Functional *f, const Type *t, Span span,
                                      bool *sayable) {
  return write_type(f, t, span, sayable);
}

/* Do values of several shapes fit the type? */
static bool has_any(const TypeExpr *t) {
  for (int i = 0; i < t->dim_count; i++)
    if (t->dims[i]->kind == DX_ANY) return true;
  for (int i = 0; i < t->arg_count; i++)
    if (has_any(t->args[i])) return true;
  return t->result && has_any(t->result);
}

/* (result, state) */
const TypeExpr *functional_both(Functional *f, const TypeExpr *result) {
  if (!result) return NULL;
  const TypeExpr *args[] = {result, f->state_type};
  int within =
      result->height > args[1]->height ? result->height : args[1]->height;
  TypeExpr *made = ARENA_NEW(f->arena, TypeExpr);
  *made = (TypeExpr){.kind = TX_TUPLE,
                     .span = result->span,
                     .height = within + 1,
                     .arg_count = 2,
                     .args = arena_copy(f->arena, args, sizeof args)};
  return made;
}

const TypeExpr *functional_type(Functional *f, const TypeExpr *type) {
  if (!type || type->kind != TX_FN) return NULL;
  TypeExpr *made = arena_copy(f->arena, type, sizeof *type);
  const TypeExpr **args =
      ARENA_ARRAY(f->arena, const TypeExpr *, (size_t)type->arg_count + 1);
  if (!made || !args) return NULL;
  for (int i = 0; i < type->arg_count; i++) args[i] = type->args[i];
  args[made->arg_count++] = f->state_type;
  made->args = args;
  made->result = functional_both(f, type->result);
  if (made->height <= made->result->height)
    made->height = made->result->height + 1;
  return made;
}

/* --- The state ------------------------------------------------------------ */

/* The fields of a constructor's call, by their places; NULL: they are no such
 * call, or are evaluated in another order. */
static const Expr *const *given_fields(Functional *f, const Expr *e,
                                       const Ctor *ctor) {
  const Expr *callee = e->kind == EX_CALL ? e->call.callee : NULL;
  if (!callee || callee->kind != EX_IDENT || callee->name != ctor->name ||
      e->sugar == SUGAR_WITH ||
      e->count + e->call.attr_count != ctor->field_count)
    return NULL;
  const Expr **fields =
      ARENA_ARRAY(f->arena, const Expr *, (size_t)ctor->field_count);
  for (int i = 0; fields && i < e->count; i++) fields[i] = e->args[i];
  for (int i = 0; fields && i < e->call.attr_count; i++) {
    const Attr *attr = &e->call.attrs[i];
    if (ctor_field(ctor, attr->name) != e->count + i) return NULL;
    fields[e->count + i] = attr_as_expr(f->p, f->arena, attr->value);
  }
  return fields;
}

/* The parts of a value that the state holds field by field; NULL: it is not
 * written out there. */
static const Expr *const *written_fields(Functional *f, const Expr *e,
                                         const Type *t) {
  if (t->kind == TY_ADT) return given_fields(f, e, &t->adt->ctors[0]);
  return e->kind == EX_TUPLE ? e->args : NULL;
}

/* (ref(a), b) as (a, b), which is the first content, and so Net(ref(a), b);
 * `type`: with the content in the place of each cell.  Each cell has to be made
 * there, or two could be one. */
static const Expr *first_content(Functional *f, const Expr *e, const Type *t,
                                 const TypeExpr **type, bool *sayable) {
  TypeExpr *whole = ARENA_NEW(f->arena, TypeExpr);
  *whole = (TypeExpr){.kind = TX_HOLE, .span = e->span, .height = 1};
  *type = whole;
  if (t->kind == TY_REF && e->kind == EX_REF) {
    *type = write_type(f, t->args[0], e->span, sayable);
    return e->args[0];
  }
  if (!functional_has_ref(f, t)) {
    *type = write_type(f, t, e->span, sayable);
    return e;
  }
  int count = functional_field_count(f, t);
  const Expr *const *fields = count < 0 ? NULL : written_fields(f, e, t);
  if (!fields) {
    f->loses_cell = true;
    functional_refuse(
        f, e->span,
        "write the constructor or tuple and each `ref(...)` in "
        "it here",
        t->kind == TY_REF ? "a cell that is not made here, by `ref`"
        : count < 0       ? "a cell in a data type of several constructors"
                          : "a value with a cell in it that is not made here");
    return e;
  }
  Expr *made = expr_new(f->arena, EX_TUPLE, e->span);
  const Expr **args = ARENA_ARRAY(f->arena, const Expr *, (size_t)count);
  const TypeExpr **types =
      ARENA_ARRAY(f->arena, const TypeExpr *, (size_t)count);
  if (!made || !args || !types) return e;
  *whole = (TypeExpr){
      .kind = TX_TUPLE, .span = e->span, .arg_count = count, .args = types};
  for (int i = 0; i < count; i++) {
    args[i] = first_content(f, fields[i], functional_field(f, t, i), &types[i],
                            sayable);
    if (types[i]->height > whole->height) whole->height = types[i]->height;
  }
  whole->height++;
  made->args = args;
  made->count = count;
  return made;
}

static void add_cell(Functional *f, const Item *item) {
  const Global *g = item_global(f->p, item);
  if (!g || !g->type) return;
  const Expr *e = item->expr;
  const Cell *same =
      e->kind == EX_GLOBAL ? ptrmap_get(&f->cell_of, e->g.name) : NULL;
  if (same && same->has_ref) {
    ptrmap_put(&f->cell_of, item->name, (void *)same);
    return;
  }
  Cell *c = ARENA_NEW(f->arena, Cell);
  *c = (Cell){.index = (int)f->cells.len, .item = item, .whole = g->type};
  bool sayable = g->type->size <= FUNCTIONAL_TYPE_MOST && g->param_count == 0;
  if (sayable) {
    c->has_ref = functional_has_ref(f, g->type);
    c->initial = first_content(f, e, g->type, &c->type, &sayable);
  }
  const Type *held = g->type->kind == TY_REF ? g->type->args[0] : NULL;
  bool within = !sayable && held && functional_has_ref(f, held);
  f->loses_cell |= within;
  if (within)
    functional_refuse(f, item->name_span,
                      "let the outer value be a tuple or a data type of cells",
                      "a cell in a cell");
  else if (!sayable)
    functional_refuse(f, item->name_span,
                      "annotate what it is made of, so that its type is known",
                      "a value of a type with parameters");
  else if (type_holds(f, g->type, TY_FN) && makes_cell(f, c->initial))
    functional_refuse(f, item->name_span,
                      "make the cell a global value, or a part of one",
                      "a function that may hold a cell");
  c->loose = sayable && has_any(c->type);
  ptrmap_put(&f->cell_of, item->name, c);
  VEC_PUSH(&f->cells, c);
}

static void find_state_type(Functional *f) {
  size_t count = f->cells.len;
  const TypeExpr **args = ARENA_ARRAY(f->arena, const TypeExpr *, count);
  if (!args || count == 0) return;
  int within = 0;
  for (size_t i = 0; i < count; i++) {
    args[i] = f->cells.data[i]->type;
    if (args[i] && args[i]->height > within) within = args[i]->height;
  }
  TypeExpr *made = ARENA_NEW(f->arena, TypeExpr);
  *made = (TypeExpr){.kind = TX_TUPLE,
                     .span = f->cells.data[0]->item->name_span,
                     .height = within + 1,
                     .arg_count = (int)count,
                     .args = args};
  f->state_type = count == 1 ? args[0] : made;
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
                          "a global value behind an expression");
      add_cell(f, item);
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
    find_state_type(&f);
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
