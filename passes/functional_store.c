/* Cells that go where the text does not say which of them is meant, before the
 * state is threaded through: a list or a tree of cells, cells that functions
 * make and give, a cell that is passed to any function.  Such a cell is written
 * as its number in a store (stdlib/store.rly), and the store of all cells with
 * one type of content lies in one cell:
 *
 *   let @l = List[ref(1), ref(2)];      let @cells: Ref[Store[int32]] =
 *   def @f(%c: Ref[int32]) {              ref(Store(0, EmptyCells));
 *     ref_write(%c, ref_read(%c) * 2)   let @l = List[{
 *   }                              ==>    let %r = @store_add(1,
 *   def @all() { @map(@f, @l) }             ref_read(@cells));
 *                                         ref_write(@cells, %r.1);
 *                                         %r.0 }, ...];
 *                                       def @f(%c: int32) {
 *                                         ref_write(@cells, @store_set(%c,
 *                                           @store_get(%c, ref_read(@cells)) *
 *                                           2, ref_read(@cells))) }
 *
 * A cell that is a name's value and is used in reads and writes alone stays as
 * it is.  With all others, `Ref[T]` becomes int32 in each type of the text.  A
 * function whose cells are of a type parameter's type is written once for each
 * type that it is used at, since each has another store.
 *
 * The parsed text is rewritten, so that places stay those of the source.  The
 * checker has told each `ref`, `ref_read` and `ref_write` the type of its cell.
 * What is made has no types and is checked anew, in a program of its own. */
#include "ir/walk.h"
#include "passes/calls.h"
#include "passes/functional_store.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

/* --- Cells that have a name of their own ---------------------------------- */

static bool may_own(const Expr *value, const TypeExpr *annotation) {
  return value->kind == EX_REF && (!annotation || annotation->kind == TX_REF);
}

static Owner *owner_new(Stores *s, const Expr *ref) {
  Owner *o = ARENA_NEW(s->f->arena, Owner);
  *o = (Owner){.ref = ref};
  ptrmap_put(&s->owner, ref, o);
  return o;
}

static void hide(Stores *s, const Name *name, Owner *owner) {
  VEC_PUSH(&s->hidden, (Hidden){name, ptrmap_get(&s->locals, name)});
  ptrmap_put(&s->locals, name, owner);
}

static void bind(Stores *s, const ExprWalk *w) {
  const Binding *b = w->binding;
  if (!w->var) return;
  bool owns = b && b->kind == BIND_LET && may_own(b->value, w->var->annotation);
  hide(s, w->var->name, owns ? owner_new(s, b->value) : NULL);
}

static void unbind(Stores *s, const Var *var) {
  if (!var || s->hidden.len == 0) return;
  Hidden h = VEC_POP(&s->hidden);
  ptrmap_put(&s->locals, h.name, h.owner);
}

static void note_use(Stores *s, const ExprWalk *w) {
  const Expr *e = w->at;
  Owner *o = e->kind == EX_LOCAL    ? ptrmap_get(&s->locals, e->name)
             : e->kind == EX_GLOBAL ? ptrmap_get(&s->globals, e->g.name)
                                    : NULL;
  if (!o) return;
  bool used = w->role == ROLE_ARG && w->index == 0 &&
              (w->parent->kind == EX_READ || w->parent->kind == EX_WRITE);
  if (used) ptrmap_put(&s->owner, w->parent, o);
  else o->escapes = true;
}

/* ref_read(ref(e)): nobody else has the cell.  So it is with what no checker
 * has seen, for it is not evaluated. */
static void note_own(Stores *s, const Expr *e) {
  if (!expr_is_of_cell(e)) return;
  bool own = e->kind != EX_REF && e->args[0]->kind == EX_REF;
  Owner *o = own || !e->cell.type ? owner_new(s, own ? e->args[0] : e) : NULL;
  if (o) ptrmap_put(&s->owner, e, o);
}

static void find_owners(Stores *s, const Expr *root) {
  ExprWalk w;
  expr_walk_start(&w, s->f->p->mem, WALK_ENTER | WALK_BIND | WALK_UNBIND, root);
  while (expr_walk_next(&w)) {
    switch ((int)w.event) {
      case WALK_ENTER:
        note_own(s, w.at);
        note_use(s, &w);
        break;
      case WALK_BIND: bind(s, &w); break;
      case WALK_UNBIND: unbind(s, w.var); break;
    }
  }
  expr_walk_end(&w);
}

/* --- Expressions ---------------------------------------------------------- */

static const Expr *global(Stores *s, const Name *name, Span span) {
  Expr *e = expr_new(s->f->arena, EX_GLOBAL, span);
  e->g.name = name;
  return e;
}

static Expr *node(Stores *s, ExprKind kind, Span span, int count,
                  const Expr *const *args) {
  Expr *e = expr_new(s->f->arena, kind, span);
  e->args = arena_copy(s->f->arena, args, (size_t)count * sizeof *args);
  e->count = e->args ? count : 0;
  return e;
}

static const Expr *call(Stores *s, const char *name, Span span, int count,
                        const Expr *const *args) {
  const Name *callee = name_of(s->f->p->names, name);
  return expr_call(s->f->arena, span, global(s, callee, span), count,
                   arena_copy(s->f->arena, args, (size_t)count * sizeof *args));
}

static const Expr *read_store(Stores *s, const Store *store, Span span) {
  const Expr *cell = global(s, store->name, span);
  return node(s, EX_READ, span, 1, &cell);
}

static const Expr *write_store(Stores *s, const Store *store,
                               const Expr *value) {
  const Expr *args[] = {global(s, store->name, value->span), value};
  return node(s, EX_WRITE, value->span, 2, args);
}

/* A store is a cell from outside for every derivative, so the gradient of a
 * function that makes the cell is another one now.  Whether it is ever
 * differentiated is not known; so the first such cell is told of. */
static void warn_of_derivative(Stores *s, const Store *store, const Expr *ref) {
  const Type *t = store->content;
  bool varies = t->kind != TY_TENSOR || t->dtype >= DTYPE_COUNT ||
                dtype_is_float((DType)t->dtype);
  if (!s->differentiates || s->functions == 0 || !varies) return;
  s->differentiates = false;
  Diag *d = diag_warning(s->f->p->diags, W0009, ref->span,
                         "a derivative ends at this cell, which is written as "
                         "a number in a store");
  diag_hint(d,
            "give the cell a name, and only read and write it, where the "
            "function that makes it is differentiated");
}

/* { let %r = @store_add(e, store); ref_write(@cells, %r.1); %r.0 } */
static const Expr *add_cell(Stores *s, const Store *store, const Expr *e) {
  Arena *a = s->f->arena;
  Span span = e->span;
  warn_of_derivative(s, store, e);
  const Expr *args[] = {e->args[0], read_store(s, store, span)};
  Var *var = var_new(a, name_of(s->f->p->names, "new"), span, NULL);
  const Expr *parts[2];
  for (int i = 0; i < 2; i++) {
    Expr *use = expr_new(a, EX_LOCAL, span);
    use->name = var->name;
    const Expr *const of = use;
    Expr *part = node(s, EX_PROJ, span, 1, &of);
    part->index = i;
    parts[i] = part;
  }
  Binding *b = ARENA_ARRAY(a, Binding, 2);
  if (!b) return e;
  b[0] = binding_let(span, var, call(s, "store_add", span, 2, args));
  b[1] = (Binding){.kind = BIND_ITEM,
                   .span = span,
                   .value = write_store(s, store, parts[1])};
  return expr_block(a, span, 2, b, parts[0]);
}

/* The number of the cell comes first, and the store as it then is last. */
static const Expr *in_store(Stores *s, const Expr *was, const Expr *e) {
  Store *store = store_of(s, was);
  if (!store) return e;
  if (e->kind == EX_REF) return add_cell(s, store, e);
  const Expr *args[] = {e->args[0], NULL, NULL};
  int count = e->count;
  if (e->kind == EX_WRITE) args[1] = e->args[1];
  args[count] = read_store(s, store, e->span);
  if (e->kind == EX_READ) return call(s, "store_get", e->span, 2, args);
  return write_store(s, store, call(s, "store_set", e->span, 3, args));
}

static void map_bound(Stores *s, ExprMap *m) {
  const ExprWalk *w = &m->walk;
  if (!w->var || !w->var->annotation) return;
  const Expr *value = w->binding ? w->binding->value : NULL;
  Var *made = arena_copy(s->f->arena, w->var, sizeof *made);
  if (!made) return;
  made->annotation =
      store_type(s, w->var->annotation,
                 value && value->kind == EX_REF && store_is_kept(s, value));
  expr_map_bind(m, made);
}

/* A function without the parameters that its instance has types for. */
static void map_fn(Stores *s, ExprMap *m) {
  const Fn *was = m->walk.at->fn;
  bool whole = s->at && was == s->at->def->expr->fn;
  if (!was->result && !whole) return;
  Expr *made = expr_map_own(m);
  Fn *fn = arena_copy(s->f->arena, made->fn, sizeof *fn);
  if (!fn) return;
  fn->result = store_type(s, fn->result, false);
  if (whole) {
    TypeParam *kept =
        ARENA_ARRAY(s->f->arena, TypeParam, (size_t)was->type_param_count);
    fn->type_param_count = 0;
    for (int i = 0; kept && i < was->type_param_count; i++)
      if (was->type_params[i].kind != KIND_TYPE)
        kept[fn->type_param_count++] = was->type_params[i];
    fn->type_params = kept;
  }
  made->fn = fn;
}

static void map_use(Stores *s, ExprMap *m) {
  if (!ptrmap_has(&s->generic, m->walk.at->g.name)) return;
  const Instance *of = store_instance(s, m->walk.at);
  if (of) expr_map_own(m)->g.name = of->name;
}

static const Expr *map_expr(Stores *s, const Expr *root) {
  ExprMap m;
  expr_map_start(&m, s->f->p->mem, s->f->arena, root);
  while (expr_map_next(&m)) {
    const Expr *was = m.walk.at;
    if (m.walk.event == WALK_BIND) map_bound(s, &m);
    if (m.walk.event == WALK_ENTER) s->functions += was->kind == EX_FN;
    if (m.walk.event != WALK_LEAVE) continue;
    s->functions -= was->kind == EX_FN;
    if (expr_is_of_cell(was) && !store_is_kept(s, was))
      expr_map_put(&m, in_store(s, was, m.made));
    if (was->kind == EX_GLOBAL) map_use(s, &m);
    if (was->kind == EX_FN) map_fn(s, &m);
  }
  return expr_map_end(&m);
}

/* --- Items ---------------------------------------------------------------- */

static const AdtDecl *map_adt(Stores *s, const AdtDecl *adt) {
  Arena *a = s->f->arena;
  AdtDecl *made = arena_copy(a, adt, sizeof *adt);
  CtorDecl *ctors = ARENA_ARRAY(a, CtorDecl, (size_t)adt->ctor_count);
  if (!made || !ctors) return adt;
  TypeParam *params = ARENA_ARRAY(a, TypeParam, (size_t)adt->param_count);
  made->param_count = 0;
  for (int i = 0; params && i < adt->param_count; i++)
    if (!store_is_idle(s, adt->name, i))
      params[made->param_count++] = adt->params[i];
  made->params = params;
  made->meaning = store_type(s, adt->meaning, false);
  for (int k = 0; k < adt->ctor_count; k++) {
    ctors[k] = adt->ctors[k];
    int count = ctors[k].field_count;
    const TypeExpr **fields = ARENA_ARRAY(a, const TypeExpr *, (size_t)count);
    for (int i = 0; fields && i < count; i++)
      fields[i] = store_type(s, adt->ctors[k].fields[i], false);
    ctors[k].fields = fields;
  }
  made->ctors = ctors;
  return made;
}

/* Does a host call the function and see what it gives? */
static bool is_called(const Stores *s, const Item *item) {
  const Name *main = name_of(s->f->p->names, "main");
  bool called = item->kind == ITEM_DEF && item->name == main;
  for (int i = 0; item->kind == ITEM_DEF && i < s->unit->entry_count; i++)
    called |= s->unit->entries[i] == item->name;
  return called;
}

static void map_item(Stores *s, const Item *was, Item *item) {
  const Global *g = is_called(s, was) ? item_global(s->f->p, was) : NULL;
  if (g && g->type && g->type->kind == TY_FN &&
      functional_has_ref(s->f, g->type->result))
    functional_refuse(s->f, was->name_span, "read the cell: `ref_read(...)`",
                      "a function for a host that gives a cell");
  const Type *shown = ptrmap_get(&s->f->shown, was);
  if (shown && functional_has_ref(s->f, shown))
    functional_refuse(s->f, item->span, "read the cell: `ref_read(...)`",
                      "an expression whose value has a cell in it, which is "
                      "printed");
  bool kept =
      item->expr && item->expr->kind == EX_REF && store_is_kept(s, item->expr);
  if (item->kind == ITEM_TYPE) item->adt = map_adt(s, item->adt);
  item->annotation = store_type(s, item->annotation, kept);
  if (item->expr) item->expr = map_expr(s, item->expr);
}

/* let @cells: Ref[Store[T]] = ref(Store(0, EmptyCells)); */
static Item store_item(Stores *s, const Store *store, Span span) {
  Arena *a = s->f->arena;
  Program *p = s->f->p;
  bool sayable = true;
  const TypeExpr *type = store_content_type(s, store->content, span, &sayable);
  if (!sayable)
    functional_refuse(s->f, span, "write the function for one type",
                      "a cell whose content is of any type");
  for (int i = 0; i < 2; i++) {
    TypeExpr *around = ARENA_NEW(a, TypeExpr);
    *around = (TypeExpr){.kind = i ? TX_REF : TX_NAME,
                         .span = span,
                         .height = type->height + 1,
                         .arg_count = 1,
                         .args = arena_copy(a, &type, sizeof type)};
    if (i == 0) around->name = name_of(p->names, "Store");
    around->brackets = i == 0;
    type = around;
  }
  Expr *fields[2];
  fields[0] = (Expr *)expr_number(p, a, span, DT_INT32, 0);
  fields[1] = expr_new(a, EX_IDENT, span);
  fields[1]->name = name_of(p->names, "EmptyCells");
  Expr *ctor = expr_new(a, EX_IDENT, span);
  ctor->name = name_of(p->names, "Store");
  const Expr *empty =
      expr_call(a, span, ctor, 2, arena_copy(a, fields, sizeof fields));
  return (Item){.kind = ITEM_LET_GLOBAL,
                .span = span,
                .name_span = span,
                .name = store->name,
                .annotation = type,
                .expr = node(s, EX_REF, span, 1, &empty),
                .linked = true};
}

/* What the text calls by the names that the stores need. */
static void check_names(Stores *s) {
  Functional *f = s->f;
  const char *const used[] = {"Store",     "EmptyCells", "Cells",
                              "store_add", "store_get",  "store_set"};
  PtrMap taken;
  ptrmap_init(&taken, f->p->mem);
  for (size_t i = 0; i < sizeof used / sizeof *used; i++) {
    const Name *name = name_of(f->p->names, used[i]);
    ptrmap_put(&taken, name, (void *)name);
  }
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    const AdtDecl *adt = item->kind == ITEM_TYPE ? item->adt : NULL;
    bool is_taken = ptrmap_has(&taken, adt ? adt->name : item->name);
    for (int k = 0; adt && k < adt->ctor_count; k++)
      is_taken |= ptrmap_has(&taken, adt->ctors[k].name);
    if (is_taken)
      functional_refuse(f, item->span, "give it another name",
                        "cells in data beside a definition of a name that a "
                        "store of them has");
  }
  ptrmap_done(&taken);
}

/* The names of functions and values, and who owns a cell. */
static void find_names(Stores *s) {
  Functional *f = s->f;
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    if (!item->name) continue;
    ptrmap_put(&s->names, item->name, (void *)item);
    if (item->kind == ITEM_LET_GLOBAL && may_own(item->expr, item->annotation))
      ptrmap_put(&s->globals, item->name, owner_new(s, item->expr));
  }
  for (size_t i = 0; i < f->items.len; i++) {
    const Item *item = f->items.data[i];
    if (item->expr) find_owners(s, item->expr);
    if (item->kind != ITEM_LET_LOCAL) continue;
    bool owns = may_own(item->expr, item->annotation);
    ptrmap_put(&s->locals, item->name, owns ? owner_new(s, item->expr) : NULL);
  }
}

typedef VEC(Item) Items;

static void add_mapped(Stores *s, const Item *was, Items *out) {
  Item item = *was;
  map_item(s, was, &item);
  VEC_PUSH(out, item);
}

/* Instances find others.  They share no nodes, for what is found out of a
 * function is kept by node. */
static void add_instances(Stores *s, Items *out) {
  for (size_t i = 0; i < s->instances.len; i++) {
    s->at = s->instances.data[i];
    Item item = *s->at->def;
    map_item(s, s->at->def, &item);
    if (item.expr) item.expr = functional_copy(s->f, item.expr);
    if (!item.expr) break;
    item.name = s->at->name;
    item.linked = true;
    VEC_PUSH(out, item);
  }
  s->at = NULL;
}

/* A function that nothing uses at any type is left out, as `relay` does with
 * those of shapes, unless a host asks for it. */
static void map_items(Stores *s, Items *out) {
  Functional *f = s->f;
  for (size_t i = 0; i < f->items.len && !mem_exhausted(f->p->mem); i++) {
    const Item *item = f->items.data[i];
    bool generic = ptrmap_get(&s->generic, item->name) == (void *)item;
    if (!generic || is_called(s, item)) add_mapped(s, item, out);
  }
  add_instances(s, out);
}

static Unit *map_unit(Stores *s, const Unit *u) {
  Functional *f = s->f;
  Items items;
  VEC_INIT(&items, f->p->mem);
  map_items(s, &items);
  Item *all = ARENA_ARRAY(f->arena, Item, items.len + s->stores.len);
  Unit *made = ARENA_NEW(f->arena, Unit);
  size_t n = 0;
  bool begun = false;
  for (size_t i = 0; all && i < items.len; i++) {
    const Item *item = &items.data[i];
    bool type = item->kind == ITEM_TYPE || item->kind == ITEM_PARAM;
    for (size_t k = 0; !begun && !type && k < s->stores.len; k++)
      all[n++] = store_item(s, s->stores.data[k], item->span);
    begun |= !type;
    all[n++] = *item;
  }
  VEC_DONE(&items);
  *made = *u;
  made->comment_count = made->step_count = 0;
  made->items = all;
  made->item_count = (int)n;
  return all ? made : NULL;
}

Pass pass_stores;

Unit *pass_stores(Program *p, Unit *u) {
  size_t errors = p->diags->errors;
  Functional f;
  functional_start(&f, p, u);
  f.numbers = true;
  Stores s = {.f = &f, .unit = u, .differentiates = unit_differentiates(p, u)};
  PtrMap *const maps[] = {&s.locals, &s.globals, &s.owner,
                          &s.names,  &s.generic, &s.idle};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
    ptrmap_init(maps[i], p->mem);
  VEC_INIT(&s.stores, p->mem);
  VEC_INIT(&s.hidden, p->mem);
  VEC_INIT(&s.instances, p->mem);
  check_names(&s);
  find_names(&s);
  store_find_generic(&s);
  store_find_idle(&s);
  Unit *made = p->diags->errors == errors ? map_unit(&s, u) : NULL;
  VEC_DONE(&s.stores);
  VEC_DONE(&s.hidden);
  VEC_DONE(&s.instances);
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) ptrmap_done(maps[i]);
  functional_end(&f);
  bool ok = p->diags->errors == errors && !mem_exhausted(p->mem);
  return ok ? made : NULL;
}
