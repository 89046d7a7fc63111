/* Types.  Relay has no words for cells and for polymorphic functions, and a
 * hole is a whole annotation only; named dimensions become `?`. */
#include "passes/relay_map.h"

static bool has_words(const TypeExpr *t, bool whole) {
  if (t->kind == TX_REF || (t->kind == TX_HOLE && !whole)) return false;
  for (int i = 0; i < t->param_count; i++) {
    if (!t->params[i].is_dim) return false;
  }
  for (int i = 0; i < t->arg_count; i++) {
    if (!has_words(t->args[i], false)) return false;
  }
  return !t->result || has_words(t->result, false);
}

static const TypeExpr *map_type(Relay *r, const TypeExpr *t);

static void map_dims(Relay *r, TypeExpr *made) {
  size_t count = (size_t)made->dim_count;
  const DimExpr **dims = ARENA_ARRAY(r->arena, const DimExpr *, count);
  for (int i = 0; dims && i < made->dim_count; i++) {
    const DimExpr *d = made->dims[i];
    bool plain = d->kind == DX_NUMBER || d->kind == DX_META;
    DimExpr *any = plain ? NULL : ARENA_NEW(r->arena, DimExpr);
    if (any) *any = (DimExpr){.kind = DX_ANY, .span = d->span};
    dims[i] = any ? any : d;
  }
  made->dims = dims;
}

/* A bare `bfloat16` would be an ADT. */
static void map_tensor(Relay *r, TypeExpr *made) {
  if (made->dtype == DT_BFLOAT16) made->scalar = false;
  if (made->dim_count > 0) map_dims(r, made);
}

static const TypeExpr *map_type(Relay *r, const TypeExpr *t) {
  TypeExpr *made = ARENA_NEW(r->arena, TypeExpr);
  *made = *t;
  made->param_count = 0;
  if (t->kind == TX_TENSOR) map_tensor(r, made);
  const TypeExpr **args =
      ARENA_ARRAY(r->arena, const TypeExpr *, (size_t)t->arg_count);
  for (int i = 0; args && i < t->arg_count; i++) {
    args[i] = map_type(r, t->args[i]);
  }
  made->args = args;
  if (t->result) made->result = map_type(r, t->result);
  return made;
}

const TypeExpr *relay_annotation(Relay *r, const TypeExpr *t) {
  return t && has_words(t, true) ? map_type(r, t) : NULL;
}

const TypeExpr *relay_type(Relay *r, const TypeExpr *t) {
  if (!has_words(t, false)) {
    relay_refuse(r, t->span, "this type, which cannot be left out");
  }
  return map_type(r, t);
}

const TypeParam *relay_type_params(Relay *r, int count,
                                   const TypeParam *params, int *kept) {
  TypeParam *made = ARENA_ARRAY(r->arena, TypeParam, (size_t)count);
  *kept = 0;
  for (int i = 0; made && i < count; i++) {
    if (!params[i].is_dim) made[(*kept)++] = params[i];
  }
  return made;
}

void relay_dims(Relay *r, const Fn *fn, bool enter) {
  for (int i = 0; i < fn->type_param_count; i++) {
    const TypeParam *param = &fn->type_params[i];
    if (!param->is_dim) continue;
    ptrmap_put(&r->dims, param->name, enter ? (void *)param : NULL);
  }
}
