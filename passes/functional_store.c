/* Cells that go where the text does not say which of them is meant, before the
 * state is threaded through: a list or a tree of cells, cells that functions
 * make and give, a cell that is passed to any function.  Such a cell is written
 * as its number in a store (stdlib/store.rly), and the store of all cells with
 * one type of content lies in one cell:
 *
 *   let @l = List[ref(1), ref(2)];      let @cells: Ref[Store[int32]] =
 *   def @f(%c: Ref[int32]) {              ref(Store(0, NoCells));
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
 * it is.  With all others, `Ref[T]` becomes int32 in each type of the text.
 *
 * The parsed text is rewritten, so that places stay those of the source.  The
 * checker has told each `ref`, `ref_read` and `ref_write` the type of its cell.
 * What is made has no types and is checked anew, in a program of its own. */
#include "ir/walk.h"
#include "passes/calls.h"
#include "passes/functional.h"
#include "passes/pass.h"

/* The store of cells with one type of content.  Where types of cells differ in
 * dimensions, a cell may be used at both: they share a store. */
typedef struct Store {
  const Type *like;    /* the content, with `?` for each dimension */
  const Type *content; /* with `?` where they differ */
  const Name *name;    /* of the cell that holds the store */
} Store;

/* A name whose value is a cell that is made there. */
typedef struct Owner {
  const Expr *ref; /* what makes it */
  bool escapes;    /* it is used in another way than to read and to write */
} Owner;

/* What a local name meant before. */
typedef struct Hidden {
  const Name *name;
  Owner *owner;
} Hidden;

typedef struct Stores {
  Functional *f;
  VEC(Store *) stores;
  VEC(Hidden) hidden;
  PtrMap locals;  /* Name -> its Owner, or NULL */
  PtrMap globals; /* the same of global values */
  PtrMap owner;   /* a REF, READ or WRITE -> the Owner whose cell it is */
  PtrMap names;   /* of global values and functions of the text */
} Stores;

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

static void find_owners(Stores *s, const Expr *root) {
  ExprWalk w;
  expr_walk_start(&w, s->f->p->mem, WALK_ENTER | WALK_BIND | WALK_UNBIND, root);
  while (expr_walk_next(&w)) {
    switch ((int)w.event) {
      case WALK_ENTER: note_use(s, &w); break;
      case WALK_BIND: bind(s, &w); break;
      case WALK_UNBIND: unbind(s, w.var); break;
    }
  }
  expr_walk_end(&w);
}

/* Does it stay a cell? */
static bool is_kept(const Stores *s, const Expr *e) {
  const Owner *o = ptrmap_get(&s->owner, e);
  return o && !o->escapes;
}

/* --- Types of contents ---------------------------------------------------- */

/* The type with `?` for each dimension in which `a` and `b` differ, which are
 * equal otherwise; `all`: for each.  A content's type is of a size that was
 * looked at. */
static const Type *joined(Stores *s, const Type *a, const Type *b, bool all) {
  TypeTable *types = s->f->p->types;
  if (a->kind == TY_TENSOR || a->kind == TY_DIM) {
    Dim dims[RANK_MAX];
    for (int i = 0; i < a->rank; i++) {
      bool same =
          !all && dim_is_number(a->dims[i]) && dim_same(a->dims[i], b->dims[i]);
      dims[i] = same ? a->dims[i] : DIM_ANY;
    }
    if (a->kind == TY_DIM) return type_dim(types, dims[0]);
    return a->any_rank ? a : type_tensor(types, (DType)a->dtype, a->rank, dims);
  }
  if (a->count == 0 && a->kind != TY_FN) return a;
  const Type **args =
      ARENA_ARRAY(s->f->arena, const Type *, (size_t)a->count + 1);
  if (!args) return a;
  for (int i = 0; i < a->count; i++)
    args[i] = joined(s, a->args[i], b->args[i], all);
  switch (a->kind) {
    case TY_TUPLE: return type_tuple(types, a->count, args);
    case TY_REF: return type_ref(types, args[0]);
    case TY_ADT: return type_adt(types, a->adt, a->count, args);
    case TY_FN:
      return type_fn(types, a->param_count, a->params, a->count, args,
                     joined(s, a->result, b->result, all));
    default: return a;
  }
}

/* Does a type parameter occur in it, other than as a dimension? */
static bool has_type_var(const Type *t) {
  if (t->kind == TY_VAR || t->kind == TY_ERROR) return true;
  for (int i = 0; i < t->count; i++)
    if (has_type_var(t->args[i])) return true;
  return t->kind == TY_FN && has_type_var(t->result);
}

static const Name *name_store(Stores *s) {
  Program *p = s->f->p;
  const Name *name = name_of(p->names, "cells");
  for (int i = 1; ptrmap_has(&s->names, name) && !mem_exhausted(p->mem); i++)
    name = name_of(p->names, arena_printf(s->f->arena, "cells_%d", i));
  ptrmap_put(&s->names, name, (void *)name);
  return name;
}

/* The store of the cell that the node is about; NULL after reporting that its
 * content has no type of its own. */
static Store *store_of(Stores *s, const Expr *e) {
  const Type *cell = e->cell.type;
  const Type *content = cell && cell->kind == TY_REF ? cell->args[0] : NULL;
  if (!content || content->size > FUNCTIONAL_TYPE_MOST ||
      has_type_var(content)) {
    functional_refuse(s->f, e->span,
                      "write the function for the one type that it is used at",
                      "a cell whose content is of any type, among cells that "
                      "are kept in data");
    return NULL;
  }
  const Type *like = joined(s, content, content, true);
  for (size_t i = 0; i < s->stores.len; i++) {
    Store *of = s->stores.data[i];
    if (of->like != like) continue;
    of->content = joined(s, of->content, content, false);
    return of;
  }
  Store *made = ARENA_NEW(s->f->arena, Store);
  *made = (Store){.like = like,
                  .content = joined(s, content, content, false),
                  .name = name_store(s)};
  VEC_PUSH(&s->stores, made);
  return made;
}

/* --- Types as written ----------------------------------------------------- */

/* Ref[T] is int32; of what is `kept` only what is in it. */
static const TypeExpr *map_type(Stores *s, const TypeExpr *t, bool kept) {
  Arena *a = s->f->arena;
  if (!t || (t->arg_count == 0 && !t->result)) return t;
  TypeExpr *made = arena_copy(a, t, sizeof *t);
  const TypeExpr **args =
      ARENA_ARRAY(a, const TypeExpr *, (size_t)t->arg_count);
  if (!made || !args) return t;
  if (t->kind == TX_REF && !kept) {
    *made = (TypeExpr){.kind = TX_TENSOR,
                       .span = t->span,
                       .height = 1,
                       .scalar = true,
                       .dtype = DT_INT32};
    return made;
  }
  for (int i = 0; i < t->arg_count; i++)
    args[i] = map_type(s, t->args[i], false);
  made->args = args;
  made->result = map_type(s, t->result, false);
  return made;
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

/* { let %r = @store_add(e, store); ref_write(@cells, %r.1); %r.0 } */
static const Expr *add_cell(Stores *s, const Store *store, const Expr *e) {
  Arena *a = s->f->arena;
  Span span = e->span;
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
  b[0] = (Binding){.kind = BIND_LET,
                   .span = span,
                   .var = var,
                   .value = call(s, "store_add", span, 2, args)};
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
      map_type(s, w->var->annotation, value && is_kept(s, value));
  expr_map_bind(m, made);
}

static const Expr *map_expr(Stores *s, const Expr *root) {
  ExprMap m;
  expr_map_start(&m, s->f->p->mem, s->f->arena, root);
  while (expr_map_next(&m)) {
    const Expr *was = m.walk.at;
    if (m.walk.event == WALK_BIND) map_bound(s, &m);
    if (m.walk.event != WALK_LEAVE) continue;
    if (expr_is_of_cell(was) && !is_kept(s, was))
      expr_map_put(&m, in_store(s, was, m.made));
    if (was->kind != EX_FN || !was->fn->result) continue;
    Expr *made = expr_map_own(&m);
    Fn *fn = arena_copy(s->f->arena, made->fn, sizeof *fn);
    if (!fn) continue;
    fn->result = map_type(s, fn->result, false);
    made->fn = fn;
  }
  return expr_map_end(&m);
}

/* --- Items ---------------------------------------------------------------- */

static const AdtDecl *map_adt(Stores *s, const AdtDecl *adt) {
  Arena *a = s->f->arena;
  AdtDecl *made = arena_copy(a, adt, sizeof *adt);
  CtorDecl *ctors = ARENA_ARRAY(a, CtorDecl, (size_t)adt->ctor_count);
  if (!made || !ctors) return adt;
  made->meaning = map_type(s, adt->meaning, false);
  for (int k = 0; k < adt->ctor_count; k++) {
    ctors[k] = adt->ctors[k];
    int count = ctors[k].field_count;
    const TypeExpr **fields = ARENA_ARRAY(a, const TypeExpr *, (size_t)count);
    for (int i = 0; fields && i < count; i++)
      fields[i] = map_type(s, adt->ctors[k].fields[i], false);
    ctors[k].fields = fields;
  }
  made->ctors = ctors;
  return made;
}

static void map_item(Stores *s, const Item *was, Item *item) {
  const Type *shown = ptrmap_get(&s->f->shown, was);
  if (shown && functional_has_ref(s->f, shown))
    functional_refuse(s->f, item->span, "read the cell: `ref_read(...)`",
                      "an expression whose value has a cell in it, which is "
                      "printed");
  bool kept = item->expr && is_kept(s, item->expr);
  if (item->kind == ITEM_TYPE) item->adt = map_adt(s, item->adt);
  item->annotation = map_type(s, item->annotation, kept);
  if (item->expr) item->expr = map_expr(s, item->expr);
}

/* let @cells: Ref[Store[T]] = ref(Store(0, NoCells)); */
static Item store_item(Stores *s, const Store *store, Span span) {
  Arena *a = s->f->arena;
  Program *p = s->f->p;
  bool sayable = true;
  const TypeExpr *type =
      functional_write_type(s->f, store->content, span, &sayable);
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
  fields[1]->name = name_of(p->names, "NoCells");
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
  const char *const used[] = {"Store",     "NoCells",   "Cells",
                              "store_add", "store_get", "store_set"};
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

static Unit *map_unit(Stores *s, const Unit *u) {
  Functional *f = s->f;
  size_t count = f->items.len;
  VEC(Item) items;
  VEC_INIT(&items, f->p->mem);
  for (size_t i = 0; i < count && !mem_exhausted(f->p->mem); i++) {
    VEC_PUSH(&items, *f->items.data[i]);
    if (items.len) map_item(s, f->items.data[i], &VEC_LAST(&items));
  }
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
  Stores s = {.f = &f};
  PtrMap *const maps[] = {&s.locals, &s.globals, &s.owner, &s.names};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
    ptrmap_init(maps[i], p->mem);
  VEC_INIT(&s.stores, p->mem);
  VEC_INIT(&s.hidden, p->mem);
  check_names(&s);
  find_names(&s);
  Unit *made = p->diags->errors == errors ? map_unit(&s, u) : NULL;
  VEC_DONE(&s.stores);
  VEC_DONE(&s.hidden);
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) ptrmap_done(maps[i]);
  functional_end(&f);
  bool ok = p->diags->errors == errors && !mem_exhausted(p->mem);
  return ok ? made : NULL;
}
