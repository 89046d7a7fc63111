/* What a use of a generic function says of its arguments before all shapes and
 * dtypes are known.
 *
 *   @scan[s: Shape, d: DType, S, t: Shape, e: DType](
 *       fn(S, Tensor[s, d]) -> (S, Tensor[t, e]), S, Tensor[(T, s...), d])
 *   used with a literal, an int32, a Tensor[(3), float32]
 *   -----------------------------------------------------------------------
 *   the literal : fn(A, float32) -> (A, B)    A, B new    A = int32
 *
 * The dtype and the rank of B follow from the literal's body, which could not
 * be typed without those of its parameters.  A dimension is a new one wherever
 * it stands: what the instance asks for (instance.c) comes when the instance is
 * chosen. */
#include "types/infer.h"

typedef struct Outline {
  Infer *in;
  const TypeExpr *scheme; /* of the function: a TX_FN */
  const KindArg *args;    /* what is known of its parameters */
  Ty **types;             /* of its parameters of no kind, as met; or NULL */
} Outline;

/* The place of a parameter of the function, or -1. */
static int place_of(const Outline *o, const Name *name) {
  for (int i = 0; name && i < o->scheme->param_count; i++)
    if (o->scheme->params[i].name == name) return i;
  return -1;
}

static bool is_instance_kind(const Outline *o, int place) {
  return kind_info[o->scheme->params[place].kind].solve == SOLVE_INSTANCE;
}

/* The rank of a shape as written, or -1 where it is not known. */
static int known_rank(const Outline *o, const TypeExpr *t) {
  int rank = 0;
  for (int i = 0; i < t->dim_count; i++) {
    int place =
        t->dims[i]->kind == DX_SPLAT ? place_of(o, t->dims[i]->name) : -1;
    if (place >= 0 && !o->args[place].known) return -1;
    rank += place >= 0 ? o->args[place].rank : 1;
  }
  return rank <= RANK_MAX ? rank : -1;
}

static Ty *outline_tensor(Outline *o, const TypeExpr *t) {
  int place = place_of(o, t->dtype_name);
  DType dtype = place < 0 ? t->dtype : o->args[place].dtype;
  int rank = known_rank(o, t);
  bool any_rank = t->whole && t->dims[0]->kind == DX_ANY;
  if (rank < 0 || any_rank || dtype == DTYPE_NONE) return ty_meta(o->in);
  Slot **dims = ty_dims(o->in, rank);
  for (int i = 0; dims && i < rank; i++)
    dims[i] = slot_new(o->in, DIM_HOLE, false, SPAN_NONE);
  return ty_tensor(o->in, dtype, rank, dims);
}

/* A name of a data type stays open. */
static Ty *outline_name(Outline *o, const TypeExpr *t) {
  int place = t->brackets ? -1 : place_of(o, t->name);
  if (place < 0) return ty_meta(o->in);
  if (!is_instance_kind(o, place)) {
    Ty **type = &o->types[place];
    return *type ? *type : (*type = ty_meta(o->in));
  }
  DType dtype = o->args[place].dtype;
  return dtype == DTYPE_NONE ? ty_meta(o->in)
                             : ty_tensor(o->in, dtype, 0, NULL);
}

static Ty *outline_of(Outline *o, const TypeExpr *t) {
  bool parts = t->kind == TX_TUPLE || t->kind == TX_FN || t->kind == TX_REF;
  if (t->kind == TX_TENSOR) return outline_tensor(o, t);
  if (t->kind == TX_NAME) return outline_name(o, t);
  Ty **args = parts && !t->param_count ? ty_array(o->in, t->arg_count) : NULL;
  if (!args) return ty_meta(o->in);
  for (int i = 0; i < t->arg_count; i++) args[i] = outline_of(o, t->args[i]);
  if (t->kind == TX_TUPLE) return ty_tuple(o->in, t->arg_count, args);
  if (t->kind == TX_REF) return ty_ref(o->in, args[0]);
  return ty_fn(o->in, t->arg_count, args, outline_of(o, t->result));
}

/* Only a function has parts whose types wait for others'. */
static bool has_function(const Constraint *c) {
  for (int i = 0; i < c->count; i++)
    if (ty_head(c->args[i])->kind == K_FN) return true;
  return false;
}

static int known_count(const TypeExpr *scheme, const KindArg *args) {
  int count = 0;
  for (int i = 0; i < scheme->param_count; i++) count += args[i].known;
  return count;
}

bool infer_outline(Infer *in, Constraint *c, const TypeExpr *scheme,
                   const KindArg *args) {
  int known = known_count(scheme, args);
  if (!c->call || known <= c->outlined || !has_function(c)) return true;
  c->outlined = known;
  Outline o = {.in = in, .scheme = scheme, .args = args};
  o.types = ty_array(in, scheme->param_count);
  uint32_t level = in->level;
  in->level = c->level;
  bool fits = o.types != NULL;
  for (int i = 0; i < c->count && fits; i++) {
    Why why = why_argument(c->call, i);
    why.other = scheme->args[i]->span;
    fits = require_flow(in, c->args[i], outline_of(&o, scheme->args[i]), why);
  }
  in->level = level;
  return fits;
}
