/* Types of cells, for functional_store.c: which store a cell is in, what stands
 * in the place of Ref[T], and what becomes of type parameters that the type of
 * a cell mentions.
 *
 *   def @get[A](%b: Box[A])            def @get_of(%b: Box) -> int32 {
 *       -> A { ref_read(%b.0) }  ==>     @store_get(%b.0, ref_read(@cells)) }
 *   type Box[A] { Box(Ref[A]) }        type Box { Box(int32) } */
#include "ir/walk.h"
#include "passes/functional_store.h"

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

/* Does a type parameter occur in it, other than as a dimension?  Types may be
 * small as a DAG only: those that are too large to be written count, too. */
static bool has_type_var(const Type *t) {
  if (t->kind == TY_VAR || t->kind == TY_ERROR) return true;
  if (!t->has_var) return false;
  if (t->size > FUNCTIONAL_TYPE_MOST) return true;
  for (int i = 0; i < t->count; i++)
    if (has_type_var(t->args[i])) return true;
  return t->kind == TY_FN && has_type_var(t->result);
}

static const Name *name_like(Stores *s, const char *like) {
  Program *p = s->f->p;
  const Name *name = name_of(p->names, like);
  for (int i = 1; ptrmap_has(&s->names, name) && !mem_exhausted(p->mem); i++)
    name = name_of(p->names, arena_printf(s->f->arena, "%s_%d", like, i));
  ptrmap_put(&s->names, name, (void *)name);
  return name;
}

/* A type in the instance that is written. */
static const Type *here(const Stores *s, const Type *t) {
  const Global *g = s->at ? s->at->global : NULL;
  return g && t ? type_substitute(s->f->p->types, t, g->param_count, g->params,
                                  s->at->args, NULL)
                : t;
}

Store *store_of(Stores *s, const Expr *e) {
  const Type *cell = e->cell.type;
  const Type *content = cell && cell->kind == TY_REF ? cell->args[0] : NULL;
  content = here(s, content);
  if (!content || content->size > FUNCTIONAL_TYPE_MOST ||
      has_type_var(content)) {
    functional_refuse(s->f, e->span, "write the function for one type",
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
                  .name = name_like(s, "cells")};
  VEC_PUSH(&s->stores, made);
  return made;
}

/* --- Functions of types --------------------------------------------------- */

enum { INSTANCES_MOST = 1000 };

/* Does a cell of the function have a type parameter's type, or does it use a
 * function of which that is true, at such a type? */
static bool needs_instances(Stores *s, const Item *def) {
  bool needs = false;
  ExprWalk w;
  expr_walk_start(&w, s->f->p->mem, WALK_ENTER, def->expr);
  while (!needs && expr_walk_next(&w)) {
    const Expr *e = w.at;
    if (expr_is_of_cell(e) && !store_is_kept(s, e))
      needs = e->cell.type && has_type_var(e->cell.type);
    if (e->kind != EX_GLOBAL || !ptrmap_has(&s->generic, e->g.name)) continue;
    for (int i = 0; i < e->targ_count; i++) needs |= has_type_var(e->targs[i]);
  }
  expr_walk_end(&w);
  return needs;
}

/* What uses one that needs instances may need them, too. */
void store_find_generic(Stores *s) {
  size_t before;
  do {
    before = s->generic.len;
    for (size_t i = 0; i < s->f->items.len; i++) {
      const Item *item = s->f->items.data[i];
      const Global *g =
          item->kind == ITEM_DEF ? item_global(s->f->p, item) : NULL;
      if (g && g->param_count > 0 && !ptrmap_has(&s->generic, item->name) &&
          needs_instances(s, item))
        ptrmap_put(&s->generic, item->name, (void *)item);
    }
  } while (s->generic.len > before);
}

static bool same_types(const Type *const *a, const Type *const *b, int count) {
  for (int i = 0; i < count; i++)
    if (a[i] != b[i]) return false;
  return true;
}

const Instance *store_instance(Stores *s, const Expr *use) {
  Functional *f = s->f;
  const Item *def = ptrmap_get(&s->generic, use->g.name);
  const Global *g = item_global(f->p, def);
  int count = g->param_count;
  if (use->targ_count == 0 && s->at && s->at->def == def) return s->at;
  const Type **args = ARENA_ARRAY(f->arena, const Type *, (size_t)count);
  bool known = args && use->targ_count == count;
  for (int i = 0; known && i < count; i++) {
    args[i] = here(s, use->targs[i]);
    known = args[i]->size <= FUNCTIONAL_TYPE_MOST &&
            (args[i]->kind == TY_DIM || !has_type_var(args[i]));
  }
  if (!known || s->instances.len >= INSTANCES_MOST) {
    functional_refuse(f, use->span, "write the function for one type",
                      known ? "more than %d functions of cells of one type"
                            : "a function of cells of any type, at a type "
                              "that is not known here or is too large",
                      INSTANCES_MOST);
    return NULL;
  }
  for (size_t i = 0; i < s->instances.len; i++) {
    const Instance *of = s->instances.data[i];
    if (of->def == def && same_types(of->args, args, count)) return of;
  }
  Instance *made = ARENA_NEW(f->arena, Instance);
  *made = (Instance){
      .def = def,
      .global = g,
      .args = args,
      .name = name_like(s, arena_printf(f->arena, "%s_of", def->name->text))};
  VEC_PUSH(&s->instances, made);
  return made;
}

/* --- Parameters that cells alone mention ---------------------------------- */

static uint64_t idle_of(const Stores *s, const Name *type) {
  return (uint64_t)(uintptr_t)ptrmap_get(&s->idle, type);
}

static bool is_idle(uint64_t idle, int i) { return i < 64 && idle >> i & 1; }

bool store_is_idle(const Stores *s, const Name *type, int param) {
  return is_idle(idle_of(s, type), param);
}

/* Is the parameter mentioned where no cell is? */
static bool mentions(const Stores *s, const TypeExpr *t, const Name *param) {
  if (!t || t->kind == TX_REF) return false;
  if (t->name == param || t->dtype_name == param) return true;
  for (int i = 0; i < t->dim_count; i++)
    if (t->dims[i]->name == param) return true;
  uint64_t idle = t->kind == TX_NAME ? idle_of(s, t->name) : 0;
  for (int i = 0; i < t->arg_count; i++)
    if (!is_idle(idle, i) && mentions(s, t->args[i], param)) return true;
  return mentions(s, t->result, param);
}

static bool adt_mentions(const Stores *s, const AdtDecl *adt,
                         const Name *param) {
  bool found = mentions(s, adt->meaning, param);
  for (int k = 0; k < adt->ctor_count && !found; k++)
    for (int i = 0; i < adt->ctors[k].field_count && !found; i++)
      found = mentions(s, adt->ctors[k].fields[i], param);
  return found;
}

/* Box[A] { Box(Ref[A]) } becomes Box { Box(int32) }: nothing else would tell
 * what A is.  At first every parameter is taken for idle but dimensions, which
 * may stay unknown; what a field mentions is none, until nothing changes. */
void store_find_idle(Stores *s) {
  size_t changed = 1;
  for (size_t round = 0; changed; round++) {
    changed = 0;
    for (size_t i = 0; i < s->f->items.len; i++) {
      const Item *item = s->f->items.data[i];
      const AdtDecl *adt = item->kind == ITEM_TYPE ? item->adt : NULL;
      uint64_t was = adt && round ? idle_of(s, adt->name) : 0, idle = 0;
      for (int k = 0; adt && k < adt->param_count && k < 64; k++) {
        bool may = round ? is_idle(was, k) : adt->params[k].kind != KIND_DIM;
        if (may && (!round || !adt_mentions(s, adt, adt->params[k].name)))
          idle |= (uint64_t)1 << k;
      }
      if (adt) ptrmap_put(&s->idle, adt->name, (void *)(uintptr_t)idle);
      changed += adt && (!round || idle != was);
    }
  }
}

/* --- Types as written ----------------------------------------------------- */

/* Ref[T] is int32; of what is `kept` only what is in it. */
static const TypeExpr *without_refs(Stores *s, const TypeExpr *t, bool kept) {
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
  uint64_t idle = t->kind == TX_NAME ? idle_of(s, t->name) : 0;
  made->arg_count = 0;
  for (int i = 0; i < t->arg_count; i++)
    if (!is_idle(idle, i))
      args[made->arg_count++] = without_refs(s, t->args[i], false);
  made->brackets &= made->arg_count > 0;
  made->args = args;
  made->result = without_refs(s, t->result, false);
  return made;
}

const TypeExpr *store_content_type(Stores *s, const Type *t, Span span,
                                   bool *sayable) {
  return without_refs(s, functional_write_type(s->f, t, span, sayable), false);
}

const TypeExpr *store_type(Stores *s, const TypeExpr *t, bool kept) {
  Functional *f = s->f;
  const Fn *fn = s->at ? s->at->def->expr->fn : NULL;
  if (!t || !fn || fn->type_param_count != s->at->global->param_count)
    return without_refs(s, t, kept);
  int count = 0;
  TypeParam *params =
      ARENA_ARRAY(f->arena, TypeParam, (size_t)fn->type_param_count);
  const TypeExpr **args =
      ARENA_ARRAY(f->arena, const TypeExpr *, (size_t)fn->type_param_count);
  for (int i = 0; params && args && i < fn->type_param_count; i++) {
    if (fn->type_params[i].kind != KIND_TYPE) continue;
    bool sayable = true;
    params[count] = fn->type_params[i];
    args[count++] = store_content_type(s, s->at->args[i], t->span, &sayable);
  }
  t = type_expr_put(f->p->mem, f->arena, t, count, params, args);
  return without_refs(s, t, kept);
}
