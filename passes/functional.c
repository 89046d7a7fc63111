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
 *   functional_reach.c   who touches the state, and what it is passed to
 *   functional_map.c     functions with the state threaded through */
#include "passes/functional.h"

#include <stdarg.h>
#include <stdio.h>

#include "ir/walk.h"
#include "passes/pass.h"

/* The parts of the state's type as a tree: types nest without a limit where
 * they are inferred, and what is written recurses over them. */
enum { STATE_TYPE_MOST = 4096 };

void functional_refuse(Functional *f, Span span, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char what[200];
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  diag_error(f->p->diags, E0508, span, "an explicit state cannot express %s",
             what);
}

/* --- Types as written ----------------------------------------------------- */

static const DimExpr *write_dim(Functional *f, Dim dim, Span span) {
  DimExpr *made = ARENA_NEW(f->arena, DimExpr);
  *made = (DimExpr){.kind = DX_ANY, .span = span};
  if (!dim_is_number(dim)) return made;
  made->kind = DX_NUMBER;
  made->number = dim_value(dim);
  return made;
}

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

static const TypeExpr *write_type(Functional *f, const Type *t, Span span,
                                  bool *sayable);

/* (2, 3), float32, 4: the argument for parameter `i` of a data type's text,
 * which stands at `*at` among those of the type. */
static const TypeExpr *write_arg(Functional *f, const Type *t, int i, int *at,
                                 Span span, bool *sayable) {
  const KindInfo *kind = &kind_info[adt_of_text(t->adt)->params[i]->kind];
  if (kind->solve != SOLVE_INSTANCE)
    return write_type(f, t->args[(*at)++], span, sayable);
  const KindArg *arg = &t->adt->kind_args[i];
  TypeExpr *made = ARENA_NEW(f->arena, TypeExpr);
  *made = (TypeExpr){.kind = TX_TENSOR,
                     .span = span,
                     .height = 1,
                     .scalar = true,
                     .dtype = arg->dtype};
  if (kind->member) return made;
  const TypeExpr **dims =
      ARENA_ARRAY(f->arena, const TypeExpr *, (size_t)arg->rank);
  for (int k = 0; dims && k < arg->rank; k++)
    dims[k] = write_type(f, t->args[(*at)++], span, sayable);
  *made = (TypeExpr){.kind = TX_TUPLE,
                     .span = span,
                     .height = 2,
                     .arg_count = dims ? arg->rank : 0,
                     .args = dims};
  return made;
}

/* A type without parameters, of a size that was looked at.  Anything else is
 * refused, once for each cell, and `_` stands for it. */
static const TypeExpr *write_type(Functional *f, const Type *t, Span span,
                                  bool *sayable) {
  TypeExpr *made = ARENA_NEW(f->arena, TypeExpr);
  *made = (TypeExpr){.kind = TX_HOLE, .span = span, .height = 1};
  const Adt *adt = t->kind == TY_ADT ? adt_of_text(t->adt) : NULL;
  int count = adt ? adt->param_count : t->count, at = 0;
  bool parts = t->kind == TY_TUPLE || t->kind == TY_ADT || t->kind == TY_FN;
  if (t->kind == TY_TENSOR || t->kind == TY_DIM) {
    made->kind = t->kind == TY_DIM ? TX_DIM : TX_TENSOR;
    made->dtype = (DType)t->dtype;
    made->scalar = t->rank == 0;
    const DimExpr **dims = ARENA_ARRAY(f->arena, const DimExpr *, t->rank);
    for (int i = 0; dims && i < t->rank; i++)
      dims[i] = write_dim(f, t->dims[i], span);
    made->dims = dims;
    made->dim_count = dims ? t->rank : 0;
    made->whole = t->any_rank && dims;
  }
  *sayable &= (parts || made->kind != TX_HOLE) && t->param_count == 0;
  if (!parts || !*sayable) return made;
  const TypeExpr **args =
      ARENA_ARRAY(f->arena, const TypeExpr *, (size_t)count);
  made->arg_count = args ? count : 0;
  made->args = args;
  int within = 0;
  for (int i = 0; i < made->arg_count; i++) {
    args[i] = adt ? write_arg(f, t, i, &at, span, sayable)
                  : write_type(f, t->args[i], span, sayable);
    if (args[i]->height > within) within = args[i]->height;
  }
  made->kind = t->kind == TY_TUPLE ? TX_TUPLE
               : t->kind == TY_ADT ? TX_NAME
                                   : TX_FN;
  if (t->kind == TY_ADT) {
    made->name = t->adt->name;
    made->brackets = count > 0;
  }
  if (t->kind == TY_FN) {
    made->result = write_type(f, t->result, span, sayable);
    if (made->result->height > within) within = made->result->height;
  }
  made->height = within + 1;
  return made;
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

/* (ref(a), b) as (a, b), which is the first content; `type`: with the content
 * in the place of each cell.  Each cell has to be made there, or two could be
 * one. */
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
  if (t->kind != TY_TUPLE || e->kind != EX_TUPLE) {
    if (t->kind == TY_REF)
      functional_refuse(f, e->span, "a cell that is not made here, by `ref`");
    *sayable &= t->kind == TY_REF;
    return e;
  }
  Expr *made = arena_copy(f->arena, e, sizeof *e);
  const Expr **args = ARENA_ARRAY(f->arena, const Expr *, (size_t)e->count);
  const TypeExpr **types =
      ARENA_ARRAY(f->arena, const TypeExpr *, (size_t)e->count);
  if (!made || !args || !types) return e;
  *whole = (TypeExpr){
      .kind = TX_TUPLE, .span = e->span, .arg_count = e->count, .args = types};
  for (int i = 0; i < e->count; i++) {
    args[i] = first_content(f, e->args[i], t->args[i], &types[i], sayable);
    if (types[i]->height > whole->height) whole->height = types[i]->height;
  }
  whole->height++;
  made->args = args;
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
  bool sayable = g->type->size <= STATE_TYPE_MOST && g->param_count == 0;
  if (sayable) {
    c->has_ref = functional_has_ref(f, g->type);
    c->initial = first_content(f, e, g->type, &c->type, &sayable);
  }
  if (!sayable)
    functional_refuse(
        f, item->name_span,
        "a value with a cell in it, or of a type with parameters");
  else if (type_holds(f, g->type, TY_FN) && makes_cell(f, c->initial))
    functional_refuse(f, item->name_span, "a function that may hold a cell");
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

static const Unit *imported(const Unit *u, const Item *import) {
  for (const Unit *of = u->next; of; of = of->next)
    if (of->import == import) return of;
  return NULL;
}

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
    const Unit *of = item->kind == ITEM_IMPORT ? imported(u, item) : NULL;
    if (of) VEC_PUSH(&places, (Place){.unit = of});
    else if (item->kind != ITEM_IMPORT) VEC_PUSH(&f->items, item);
    if (of && of->meta_count)
      functional_refuse(f, item->span, "an import with metadata");
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
                          "a global value behind an expression");
      add_cell(f, item);
    }
    bool global = item->kind == ITEM_DEF || item->kind == ITEM_PARAM ||
                  item->kind == ITEM_LET_GLOBAL;
    if (global) ptrmap_put(&f->taken, item->name, (void *)item);
    if (item->kind == ITEM_DEF && item->name == init)
      functional_refuse(f, item->name_span,
                        "a function called `@init`, which "
                        "gives the first state");
  }
  for (size_t i = 0; script && i < f->items.len; i++)
    if (f->items.data[i]->kind == ITEM_DEF && f->items.data[i]->name == main)
      functional_refuse(f, script->span,
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
  made->item_count = n;
  return made;
}

Pass pass_functional;

/* A text without global values has no state: it stays. */
Unit *pass_functional(Program *p, Unit *u) {
  size_t errors = p->diags->errors;
  Functional f = {.p = p, .arena = &u->arena};
  PtrMap *const maps[] = {&f.cell_of, &f.defs,   &f.fun_of, &f.shown, &f.callee,
                          &f.touch,   &f.writer, &f.part,   &f.name,  &f.taken};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
    ptrmap_init(maps[i], p->mem);
  VEC_INIT(&f.items, p->mem);
  VEC_INIT(&f.cells, p->mem);
  VEC_INIT(&f.funs, p->mem);
  VEC_INIT(&f.copies, p->mem);
  VEC_INIT(&f.uses, p->mem);
  VEC_INIT(&f.live, p->mem);
  add_items(&f, u);
  add_shown(&f, u);
  bool state = false;
  for (size_t i = 0; i < f.items.len; i++)
    state |= f.items.data[i]->kind == ITEM_LET_GLOBAL;
  for (int i = 0; i < u->entry_count; i++) pass_entry(p, u, u->entries[i]);
  Unit *made = u;
  if (state) {
    check_items(&f);
    find_state_type(&f);
    if (p->diags->errors == errors) functional_reach(&f, u);
    made = p->diags->errors == errors ? map_unit(&f, u) : NULL;
  }
  for (size_t i = 0; i < f.funs.len; i++) {
    VEC_DONE(&f.funs.data[i]->callers);
    VEC_DONE(&f.funs.data[i]->uses);
  }
  VEC_DONE(&f.items);
  VEC_DONE(&f.cells);
  VEC_DONE(&f.funs);
  VEC_DONE(&f.copies);
  VEC_DONE(&f.uses);
  VEC_DONE(&f.live);
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) ptrmap_done(maps[i]);
  bool ok = p->diags->errors == errors && !mem_exhausted(p->mem);
  return ok ? made : NULL;
}
