/* Types as hosts see them: a tree of handles that are the types themselves,
 * which live in the program's table and need no release.
 *
 *   Tensor[(?, 4), float32]   dtype, rank, dims
 *   (A, B), ref(A)            fields
 *   List[A]                   constructors, each with fields: Cons(A, List[A])
 *
 * A field of a constructor has the type that the parameters of the data type
 * give it, so its type may be made when it is asked for. */
#include "bytecode/code.h"
#include "lib/path.h"

static const Type *type_of(const rly_type *t) { return (const Type *)t; }

static const rly_type *handle_of(const Type *t) { return (const rly_type *)t; }

/* Kinds of types that only the checker sees are unknown to a host. */
rly_kind rly_type_kind(const rly_type *t) {
  static const rly_kind of[] = {
      [TY_TENSOR] = RLY_TENSOR,   [TY_TUPLE] = RLY_TUPLE,
      [TY_ADT] = RLY_CONSTRUCTOR, [TY_REF] = RLY_REF,
      [TY_FN] = RLY_FUNCTION,     [TY_VAR] = RLY_UNKNOWN,
      [TY_ERROR] = RLY_UNKNOWN,   [TY_META] = RLY_UNKNOWN,
      [TY_DIM] = RLY_UNKNOWN,
  };
  return t ? of[type_of(t)->kind] : RLY_UNKNOWN;
}

static const Type *tensor_type(const rly_type *t) {
  return t && type_of(t)->kind == TY_TENSOR ? type_of(t) : NULL;
}

const char *rly_type_dtype(const rly_type *t) {
  const Type *type = tensor_type(t);
  return type ? dtype_name((DType)type->dtype) : NULL;
}

int rly_type_rank(const rly_type *t) {
  const Type *type = tensor_type(t);
  return type && !type->any_rank ? type->rank : -1;
}

/* -1 also for a dimension that is named or unknown. */
int64_t rly_type_dim(const rly_type *t, int axis) {
  const Type *type = tensor_type(t);
  if (!type || axis < 0 || axis >= type->rank) return -1;
  Dim d = type->dims[axis];
  return dim_is_number(d) ? dim_value(d) : -1;
}

int rly_type_field_count(const rly_type *t) {
  const Type *type = type_of(t);
  if (!t) return 0;
  if (type->kind == TY_REF) return 1;
  if (type->kind == TY_FN) return type->count + 1;
  return type->kind == TY_TUPLE ? type->count : 0;
}

const rly_type *rly_type_field(const rly_type *t, int i) {
  if (i < 0 || i >= rly_type_field_count(t)) return NULL;
  const Type *type = type_of(t);
  bool result = type->kind == TY_FN && i == type->count;
  return handle_of(result ? type->result : type->args[i]);
}

/* The table grows under the context's lock while the program changes, and under
 * that of its code while sessions run. */
bool program_has_type(rly_program *p, const rly_type *t) {
  if (!p || !t) return false;
  context_lock(p->cx);
  pthread_mutex_lock(&p->code->lock);
  bool has = types_have(p->ir->types, type_of(t));
  pthread_mutex_unlock(&p->code->lock);
  context_unlock(p->cx);
  return has;
}

char *program_type_text(rly_program *p, const Type *t) {
  Mem mem = mem_local(&p->cx->mem);
  StrBuf out;
  strbuf_init(&out, &mem);
  context_lock(p->cx);
  type_print(p->ir->types, &out, t, TYPE_TEXT_MOST);
  context_unlock(p->cx);
  return text_take(p->cx, &out);
}

char *rly_type_text(rly_program *p, const rly_type *t) {
  if (!require(p, "the program is NULL") ||
      !require(program_has_type(p, t), "it is no type of the program"))
    return NULL;
  return program_type_text(p, type_of(t));
}

/* --- Data types --------------------------------------------------------- */

static const Adt *adt_of(const rly_type *t) {
  return t && type_of(t)->kind == TY_ADT ? type_of(t)->adt : NULL;
}

static const Ctor *ctor_of(const rly_type *t, int i) {
  const Adt *adt = adt_of(t);
  return adt && i >= 0 && i < adt->ctor_count ? &adt->ctors[i] : NULL;
}

const char *rly_type_name(const rly_type *t) {
  const Adt *adt = adt_of(t);
  return adt ? adt->name->text : NULL;
}

int rly_type_constructor_count(const rly_type *t) {
  const Adt *adt = adt_of(t);
  return adt ? adt->ctor_count : 0;
}

const char *rly_type_constructor(const rly_type *t, int i) {
  const Ctor *c = ctor_of(t, i);
  return c ? c->name->text : NULL;
}

int rly_constructor_field_count(const rly_type *t, int i) {
  const Ctor *c = ctor_of(t, i);
  return c ? c->field_count : -1;
}

const char *rly_constructor_label(const rly_type *t, int i, int k) {
  const Ctor *c = ctor_of(t, i);
  if (!c || !c->labels || k < 0 || k >= c->field_count) return NULL;
  return c->labels[k].name->text;
}

/* The substitution adds to the table of types, which sessions share. */
const rly_type *rly_constructor_field(rly_program *p, const rly_type *t, int i,
                                      int k) {
  const Ctor *c = ctor_of(t, i);
  if (!c || k < 0 || k >= c->field_count || !program_has_type(p, t))
    return NULL;
  pthread_mutex_lock(&p->code->lock);
  const Type *field = path_field_type(p, type_of(t), c, k);
  pthread_mutex_unlock(&p->code->lock);
  return handle_of(field);
}

/* --- Params ------------------------------------------------------------- */

/* A program is not changed while its params are looked at: a text that another
 * thread adds comes before or after. */
static const Global *param_of(rly_program *p, int i) {
  if (!p || i < 0) return NULL;
  context_lock(p->cx);
  bool there = (size_t)i < p->ir->params.len;
  const Global *g = there ? p->ir->params.data[i] : NULL;
  context_unlock(p->cx);
  return g;
}

int rly_program_param_count(rly_program *p) {
  if (!p) return 0;
  context_lock(p->cx);
  int count = (int)p->ir->params.len;
  context_unlock(p->cx);
  return count;
}

const char *rly_program_param_name(rly_program *p, int i) {
  const Global *g = param_of(p, i);
  return g ? g->name->text : NULL;
}

const rly_type *rly_program_param_type(rly_program *p, int i) {
  const Global *g = param_of(p, i);
  return g ? handle_of(g->type) : NULL;
}

bool rly_program_param_has_default(rly_program *p, int i) {
  const Global *g = param_of(p, i);
  return g && g->value;
}

bool rly_program_param_is_bound(rly_program *p, int i) {
  const Global *g = param_of(p, i);
  if (!g) return false;
  context_lock(p->cx);
  bool bound = param_has_parts(g) ? param_is_bound(p, g)
                                  : find_bound(p, g->name->text) != NULL;
  context_unlock(p->cx);
  return bound;
}
