/* Types that were found as types that are written, for declarations which
 * passes make; see rewrite.h. */
#include "passes/rewrite.h"

typedef struct Writing {
  Program *p;
  Arena *arena;
  Span span;
  const TypeExpr *cell; /* for each cell; NULL: its type */
  bool *sayable;
} Writing;

static const TypeExpr *write_type(const Writing *w, const Type *t);

static const DimExpr *write_dim(const Writing *w, Dim dim) {
  DimExpr *made = ARENA_NEW(w->arena, DimExpr);
  *made = (DimExpr){.kind = DX_ANY, .span = w->span};
  if (!dim_is_number(dim)) return made;
  made->kind = DX_NUMBER;
  made->number = dim_value(dim);
  return made;
}

/* (2, 3), float32, 4: the argument for parameter `i` of a data type's text,
 * which stands at `*at` among those of the type. */
static const TypeExpr *write_arg(const Writing *w, const Type *t, int i,
                                 int *at) {
  const KindInfo *kind = &kind_info[adt_of_text(t->adt)->params[i]->kind];
  if (kind->solve != SOLVE_INSTANCE) return write_type(w, t->args[(*at)++]);
  const KindArg *arg = &t->adt->kind_args[i];
  TypeExpr *made = ARENA_NEW(w->arena, TypeExpr);
  *made = (TypeExpr){.kind = TX_TENSOR,
                     .span = w->span,
                     .height = 1,
                     .scalar = true,
                     .dtype = arg->dtype};
  if (kind->member) return made;
  const TypeExpr **dims =
      ARENA_ARRAY(w->arena, const TypeExpr *, (size_t)arg->rank);
  for (int k = 0; dims && k < arg->rank; k++)
    dims[k] = write_type(w, t->args[(*at)++]);
  *made = (TypeExpr){.kind = TX_TUPLE,
                     .span = w->span,
                     .height = 2,
                     .arg_count = dims ? arg->rank : 0,
                     .args = dims};
  return made;
}

static void write_tensor(const Writing *w, const Type *t, TypeExpr *made) {
  made->kind = t->kind == TY_DIM ? TX_DIM : TX_TENSOR;
  made->dtype = (DType)t->dtype;
  made->scalar = t->rank == 0;
  const DimExpr **dims = ARENA_ARRAY(w->arena, const DimExpr *, t->rank);
  for (int i = 0; dims && i < t->rank; i++) dims[i] = write_dim(w, t->dims[i]);
  made->dims = dims;
  made->dim_count = dims ? t->rank : 0;
  made->whole = t->any_rank && dims;
}

static const TypeExpr *write_type(const Writing *w, const Type *t) {
  if (t->kind == TY_REF && w->cell) return w->cell;
  static const TypeExprKind written[] = {[TY_TUPLE] = TX_TUPLE,
                                         [TY_ADT] = TX_NAME,
                                         [TY_FN] = TX_FN,
                                         [TY_REF] = TX_REF};
  TypeExpr *made = ARENA_NEW(w->arena, TypeExpr);
  *made = (TypeExpr){.kind = TX_HOLE, .span = w->span, .height = 1};
  bool tensor = t->kind == TY_TENSOR || t->kind == TY_DIM;
  bool parts = t->kind == TY_TUPLE || t->kind == TY_ADT || t->kind == TY_FN ||
               t->kind == TY_REF;
  if (tensor) write_tensor(w, t, made);
  *w->sayable &= (parts || tensor) && t->param_count == 0;
  if (!parts || !*w->sayable) return made;
  const Adt *adt = t->kind == TY_ADT ? adt_of_text(t->adt) : NULL;
  int count = adt ? adt->param_count : t->count, at = 0;
  const TypeExpr **args =
      ARENA_ARRAY(w->arena, const TypeExpr *, (size_t)count);
  made->arg_count = args ? count : 0;
  made->args = args;
  int within = 0;
  for (int i = 0; i < made->arg_count; i++) {
    args[i] = adt ? write_arg(w, t, i, &at) : write_type(w, t->args[i]);
    if (args[i]->height > within) within = args[i]->height;
  }
  made->kind = written[t->kind];
  if (adt) {
    made->name = t->adt->name;
    made->brackets = count > 0;
  }
  if (t->kind == TY_FN) {
    made->result = write_type(w, t->result);
    if (made->result->height > within) within = made->result->height;
  }
  made->height = within + 1;
  return made;
}

const TypeExpr *type_as_written(Program *p, Arena *arena, const Type *t,
                                Span span, const TypeExpr *cell,
                                bool *sayable) {
  return write_type(&(Writing){p, arena, span, cell, sayable}, t);
}
