/* Types under construction: how they are made, also from finished types, and
 * printed.  unify.c makes two of them equal, zonk.c turns them into finished
 * types.
 *
 * A node lives in the arena of inference, and all nodes are dropped together
 * when checking is done.  Nodes are shared freely, since only a variable's link
 * and the notes of walks ever change in them.  Two facts are kept in each node
 * to spare walks:
 *
 *   closed   no variable, type parameter or dimension is below it, so
 *            every copy of it would be equal to it
 *   depth    of nesting as far as it was known when the node was made
 *
 * Both may be out of date once a variable below is bound.  `closed` then errs
 * on the safe side (false), and ty_settle looks again. */
#include "types/infer.h"

enum { LEVEL_UNPLACED = UINT32_MAX };

/* An arena never refuses a request as small as a node (base/mem.h), so makers
 * of nodes do not look at the result. */
static Ty *ty_new(Infer *in, TyKind kind) {
  Ty *t = ARENA_NEW(in->arena, Ty);
  t->kind = (uint8_t)kind;
  return t;
}

/* NULL when memory ran out, which is noted: callers go on with the error
 * type. */
Ty **ty_array(Infer *in, int count) {
  Ty **a = ARENA_ARRAY(in->arena, Ty *, (size_t)count + 1);
  return a ? a : (mem_raise_exhausted(in->mem), NULL);
}

Ty *ty_meta(Infer *in) {
  Ty *t = ty_new(in, K_META);
  t->level = in->level;
  return t;
}

/* Made while annotations are resolved, before inference begins.  Levels do not
 * exist yet, so the variable has none until its annotation is used
 * (convert_hole). */
void *infer_hole(Checker *c) {
  Ty *t = ARENA_NEW(&c->arena, Ty);
  t->kind = K_META;
  t->level = LEVEL_UNPLACED;
  return t;
}

Slot **ty_dims(Infer *in, int rank) {
  return rank > 0 ? ARENA_ARRAY(in->arena, Slot *, (size_t)rank) : NULL;
}

static Ty *ty_tensor_new(Infer *in, DType dtype, int rank, Slot **dims) {
  Ty *t = ty_new(in, K_TENSOR);
  t->dtype = (uint8_t)dtype;
  t->rank = (uint8_t)rank;
  t->dims = dims;
  t->closed = rank == 0;
  return t;
}

/* Scalars are most of what programs compute with, and have no dimensions that
 * could differ: there is one node for each dtype. */
Ty *ty_tensor(Infer *in, DType dtype, int rank, Slot **dims) {
  if (rank > 0) return ty_tensor_new(in, dtype, rank, dims);
  Ty **scalar = &in->scalars[dtype];
  if (!*scalar) *scalar = ty_tensor_new(in, dtype, 0, NULL);
  return *scalar;
}

Ty *ty_any_rank(Infer *in, DType dtype) {
  Ty **known = &in->any_ranks[dtype];
  if (*known) return *known;
  Slot **dims = ty_dims(in, 1);
  if (!dims) return in->error;
  dims[0] = slot_new(in, DIM_ANY, true, SPAN_NONE);
  Ty *t = ty_tensor_new(in, dtype, 1, dims);
  t->any_rank = t->closed = true;
  return *known = t;
}

Ty *ty_dim(Infer *in, Slot *slot) {
  Slot **dims = ty_dims(in, 1);
  if (!dims) return in->error;
  dims[0] = slot;
  Ty *t = ty_tensor_new(in, DTYPE_NONE, 1, dims);
  t->kind = K_DIM;
  return t;
}

/* One more than the size of its largest part. */
static uint32_t depth_over(const Ty *t) {
  uint32_t depth = 0;
  for (int i = 0; i < t->count; i++) {
    uint32_t part = ty_head(t->args[i])->depth;
    if (part > depth) depth = part;
  }
  uint32_t result =
      t->kind == K_FN && t->result ? ty_head(t->result)->depth : 0;
  return (result > depth ? result : depth) + 1;
}

/* A polymorphic function never counts as closed, since each use must
 * instantiate it. */
static bool is_closed(const Ty *t) {
  for (int i = 0; i < t->count; i++)
    if (!ty_head(t->args[i])->closed) return false;
  if (ty_is_poly(t)) return false;
  return t->kind != K_FN || (t->result && ty_head(t->result)->closed);
}

void ty_settle(Ty *t) {
  if (t->kind == K_META || t->kind == K_RIGID || t->kind == K_TENSOR ||
      t->kind == K_DIM)
    return;
  t->depth = depth_over(t);
  t->closed = is_closed(t);
}

/* The stack is asked where types are made, so that the walks over them, which
 * recurse, have room.  Text can double a type's depth with each line, as
 * `let %b = (%a, %a)` does by a constant. */
static Ty *ty_over(Infer *in, TyKind kind, int count, Ty **args) {
  if (!args) return in->error;
  Ty *t = ty_new(in, kind);
  t->count = count;
  t->args = args;
  ty_settle(t);
  if (split_levels(in->mem, t->depth)) return t;
  infer_too_deep(in);
  return in->error;
}

Ty *ty_tuple(Infer *in, int count, Ty **fields) {
  return ty_over(in, K_TUPLE, count, fields);
}

Ty *ty_fn(Infer *in, int count, Ty **args, Ty *result) {
  Ty *t = ty_over(in, K_FN, count, args);
  if (t->kind != K_FN) return t;
  t->result = result;
  ty_settle(t);
  return t;
}

Ty *ty_ref(Infer *in, Ty *content) {
  Ty **args = ty_array(in, 1);
  if (args) args[0] = content;
  return ty_over(in, K_REF, 1, args);
}

static Ty *ty_adt(Infer *in, const Adt *adt, Ty **args) {
  Ty *t = ty_over(in, K_ADT, adt->param_count, args);
  if (t->kind == K_ADT) t->adt = adt;
  return t;
}

Ty *ty_rigid(Infer *in, const TypeVar *var) {
  Ty *t = ty_new(in, K_RIGID);
  t->var = var;
  t->level = (uint32_t)(uintptr_t)ptrmap_get(&in->rigid_levels, var);
  return t;
}

/* --- From finished types ------------------------------------------------- */

Ty *ty_of_tensor(Infer *in, const Tensor *t, Span span) {
  Slot **dims = ty_dims(in, t->rank);
  for (int i = 0; i < t->rank; i++)
    dims[i] = slot_new(in, dim_of(t->shape[i]), false, span);
  return ty_tensor(in, (DType)t->dtype, t->rank, dims);
}

/* What a finished type says of a dimension is fixed: values that flow in are
 * judged by it and do not change it. */
static Ty *convert_tensor(Infer *in, const Type *t) {
  if (t->any_rank) return ty_any_rank(in, (DType)t->dtype);
  Slot **dims = ty_dims(in, t->rank);
  for (int i = 0; i < t->rank; i++)
    dims[i] = slot_new(in, t->dims[i], true, SPAN_NONE);
  return ty_tensor(in, (DType)t->dtype, t->rank, dims);
}

/* The first use of the annotation places the hole: its level is that of the
 * scope which the use stands in. */
static Ty *convert_hole(Infer *in, Ty *hole) {
  if (hole->level == LEVEL_UNPLACED) hole->level = in->level;
  return hole;
}

static Ty *convert_parts(Infer *in, const Type *t) {
  Ty **args = ty_array(in, t->count);
  for (int i = 0; args && i < t->count; i++)
    args[i] = ty_of_type(in, t->args[i]);
  switch (t->kind) {
    case TY_TUPLE: return ty_tuple(in, t->count, args);
    case TY_REF: return ty_over(in, K_REF, 1, args);
    case TY_ADT: return args ? ty_adt(in, t->adt, args) : in->error;
    default: break;
  }
  Ty *fn = ty_fn(in, t->count, args, ty_of_type(in, t->result));
  if (fn->kind == K_FN) {
    fn->param_count = t->param_count;
    fn->params = t->params;
  }
  return fn;
}

static Ty *convert(Infer *in, const Type *t) {
  switch (t->kind) {
    case TY_TENSOR: return convert_tensor(in, t);
    case TY_VAR: return ty_rigid(in, t->var);
    case TY_DIM: return ty_dim(in, slot_new(in, t->dims[0], true, SPAN_NONE));
    case TY_ERROR: return in->error;
    case TY_META: return convert_hole(in, t->meta);
    default: return convert_parts(in, t);
  }
}

/* Types are as deep as the text nests, which resolution bounds.  Finished types
 * are interned, so types without holes are converted once in a run; those with
 * holes are made anew around the holes, which are the same nodes each time. */
Ty *ty_of_type(Infer *in, const Type *t) {
  if (t->has_meta) return convert(in, t);
  Ty *known = ptrmap_get(&in->known, t);
  if (known) return known;
  Ty *made = convert(in, t);
  ptrmap_put(&in->known, t, made);
  return made;
}

/* --- As text ------------------------------------------------------------- */

static const char *text_of(Infer *in, const Type *t) {
  StrBuf text;
  strbuf_init(&text, in->mem);
  type_print(in->types, &text, t, TYPE_TEXT_PAGE);
  const char *copy = arena_strndup(in->arena, strbuf_text(&text), text.len);
  strbuf_done(&text);
  return copy;
}

const char *ty_text(Infer *in, Ty *t) {
  return text_of(in, zonk_partly(in, t, false));
}

const char *ty_text_narrow(Infer *in, Ty *t) {
  return text_of(in, zonk_partly(in, t, true));
}
