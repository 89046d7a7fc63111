/* A value of a type, whichever: it stands for the part of a state that is not
 * there yet, where a first value calls a function of the state.  Nothing reads
 * it, for the checker refuses what uses a global value above its place (E0108).
 *
 *   let @cells = ref(...);           let %cells = ...;
 *   let @layers: List[T] =      ==>  let %r = @make(3, (%cells, Nil));
 *     @make(3);
 *
 * Numbers are zeros, a dimension that is not known is 1.  A data type's value
 * is the smallest that can be built without a value of the same type in it; an
 * uninhabited type has none. */
#include <string.h>

#include "passes/calls.h"
#include "passes/functional.h"

/* How many types are looked at for one value, and how many within each other:
 * a data type may be used at ever larger types. */
enum { EMPTY_MOST = 10000, EMPTY_DEEP = 100 };

typedef struct Empty {
  Functional *f;
  Span span;
  VEC(const Type *) within; /* data types whose values are under way */
  int looked;
} Empty;

static const Expr *empty(Empty *m, const Type *t);

static const Expr *ident(Empty *m, const char *name) {
  Expr *e = expr_new(m->f->arena, EX_IDENT, m->span);
  e->name = name_of(m->f->p->names, name);
  return e;
}

static Attr attr(Empty *m, const char *name, AttrExpr value) {
  AttrExpr *own = ARENA_NEW(m->f->arena, AttrExpr);
  *own = value;
  own->span = m->span;
  return (Attr){
      .name = name_of(m->f->p->names, name), .span = m->span, .value = own};
}

/* zeros(shape=[2, 1], dtype="float32") */
static const Expr *zeros(Empty *m, const Type *t) {
  Arena *a = m->f->arena;
  if (t->rank == 0) return expr_number(m->f->p, a, m->span, (DType)t->dtype, 0);
  AttrExpr *dims = ARENA_ARRAY(a, AttrExpr, t->rank);
  const AttrExpr **items = ARENA_ARRAY(a, const AttrExpr *, t->rank);
  Attr *attrs = ARENA_ARRAY(a, Attr, 2);
  if (!dims || !items || !attrs) return NULL;
  for (int i = 0; i < t->rank; i++) {
    bool known = dim_is_number(t->dims[i]);
    dims[i] = (AttrExpr){.kind = AX_INT,
                         .span = m->span,
                         .dtype = DT_INT32,
                         .integer = known ? dim_value(t->dims[i]) : 1};
    items[i] = &dims[i];
  }
  const char *dtype = dtype_name((DType)t->dtype);
  attrs[0] =
      attr(m, "shape",
           (AttrExpr){.kind = AX_LIST, .count = t->rank, .items = items});
  attrs[1] =
      attr(m, "dtype",
           (AttrExpr){
               .kind = AX_STRING, .text = dtype, .count = (int)strlen(dtype)});
  Expr *call = expr_call(a, m->span, ident(m, "zeros"), 0, NULL);
  call->call.attrs = attrs;
  call->call.attr_count = 2;
  return call;
}

/* fn (%p, %p1) { ... } */
static const Expr *function(Empty *m, const Type *t) {
  Arena *a = m->f->arena;
  const Expr *body = t->param_count ? NULL : empty(m, t->result);
  Fn *fn = ARENA_NEW(a, Fn);
  Var **params = ARENA_ARRAY(a, Var *, (size_t)t->count);
  if (!body || !params) return NULL;
  for (int i = 0; i < t->count; i++) {
    const Name *name = name_of(m->f->p->names, arena_printf(a, "p%d", i));
    params[i] = var_new(a, name, m->span, NULL);
  }
  *fn = (Fn){.params = params, .param_count = t->count, .body = body};
  Expr *e = expr_new(a, EX_FN, m->span);
  e->fn = fn;
  return e;
}

/* NULL: a field has no value. */
static const Expr *construct(Empty *m, const Type *t, const Ctor *ctor) {
  Arena *a = m->f->arena;
  const Adt *adt = t->adt;
  const Expr *name = ident(m, ctor->name->text);
  const Expr **fields = ARENA_ARRAY(a, const Expr *, (size_t)ctor->field_count);
  if (!fields) return NULL;
  for (int i = 0; i < ctor->field_count; i++) {
    const Type *of =
        type_substitute(m->f->p->types, ctor->fields[i], adt->param_count,
                        adt->params, t->args, NULL);
    if (!(fields[i] = empty(m, of))) return NULL;
  }
  if (ctor->field_count == 0) return name;
  return expr_call(a, m->span, name, ctor->field_count, fields);
}

/* A smallest value has no value of its own type in it. */
static const Expr *data(Empty *m, const Type *t) {
  for (size_t i = 0; i < m->within.len; i++)
    if (m->within.data[i] == t) return NULL;
  if (t->adt->literals || m->within.len >= EMPTY_DEEP) return NULL;
  VEC_PUSH(&m->within, t);
  const Expr *made = NULL;
  for (int fields = 0; fields < 2 && !made; fields++)
    for (int k = 0; k < t->adt->ctor_count && !made; k++)
      if ((t->adt->ctors[k].field_count > 0) == fields)
        made = construct(m, t, &t->adt->ctors[k]);
  m->within.len--;
  return made;
}

static const Expr *parts(Empty *m, const Type *t) {
  int count = functional_field_count(m->f, t);
  const Expr **fields = ARENA_ARRAY(m->f->arena, const Expr *, (size_t)count);
  if (!fields) return NULL;
  for (int i = 0; i < count; i++)
    if (!(fields[i] = empty(m, functional_field(m->f, t, i)))) return NULL;
  Expr *e = expr_new(m->f->arena, EX_TUPLE, m->span);
  e->args = fields;
  e->count = count;
  return e;
}

/* As the state holds it: a cell is what it holds. */
static const Expr *empty(Empty *m, const Type *t) {
  if (m->looked++ >= EMPTY_MOST || mem_exhausted(m->f->p->mem)) return NULL;
  if (t->kind == TY_REF) return empty(m, t->args[0]);
  if (t->kind == TY_TENSOR) return t->any_rank ? NULL : zeros(m, t);
  if (t->kind == TY_FN) return function(m, t);
  if (functional_field_count(m->f, t) >= 0) return parts(m, t);
  return t->kind == TY_ADT ? data(m, t) : NULL;
}

const Expr *functional_empty(Functional *f, const Type *t, Span span) {
  Empty m = {.f = f, .span = span};
  VEC_INIT(&m.within, f->p->mem);
  const Expr *made = empty(&m, t);
  VEC_DONE(&m.within);
  return made;
}
