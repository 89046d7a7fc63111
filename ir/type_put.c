/* Types as written with arguments in the place of parameters, as an alias that
 * is applied to arguments means it:
 *
 *   type Row[s: Shape, d: DType] = Tensor[(s..., 1), d]
 *   Row[(2, n), float32]             Tensor[(2, n, 1), float32]
 *
 * Recursion follows the nesting of the text, which the parser bounds; sums of
 * dimensions may be longer. */
#include "ir/type.h"

typedef struct Put {
  Mem *mem;
  Arena *arena;
  int count;
  const TypeParam *params;
  const TypeExpr *const *args;
} Put;

/* The argument of that name, or NULL. */
static const TypeExpr *arg_of(const Put *p, const Name *name) {
  for (int i = 0; name && i < p->count; i++)
    if (p->params[i].name == name) return p->args[i];
  return NULL;
}

static void put_new(const Put *p, DimExpr made, DimExprs *out) {
  DimExpr *d = ARENA_NEW(p->arena, DimExpr);
  *d = made;
  VEC_PUSH(out, d);
}

/* A name in the place of `d`. */
static void put_name(const Put *p, const DimExpr *d, const TypeExpr *arg,
                     DimExprs *out) {
  put_new(
      p,
      (DimExpr){
          .kind = d->kind, .span = arg->span, .name = arg->name, .any = d->any},
      out);
}

/* An item of a shape that is given for `s...`, or for `?s...`. */
static void put_item(const Put *p, const DimExpr *d, const TypeExpr *item,
                     DimExprs *out) {
  bool splat = item->kind == TX_DIM && item->dims[0]->kind == DX_SPLAT;
  DimExpr made = {.kind = DX_ANY, .span = item->span};
  if (splat || (item->kind == TX_DIM && !d->any)) made = *item->dims[0];
  else if (item->kind == TX_NAME && !d->any)
    made.kind = DX_NAME, made.name = item->name;
  made.any |= splat && d->any;
  put_new(p, made, out);
}

/* A name in a sum, where a dimension or a name is given. */
static const DimExpr *put_operand(const Put *p, const DimExpr *d) {
  const TypeExpr *arg = d->kind == DX_NAME ? arg_of(p, d->name) : NULL;
  if (arg && arg->kind == TX_DIM) return arg->dims[0];
  if (!arg || arg->kind != TX_NAME) return d;
  DimExpr *made = arena_copy(p->arena, d, sizeof *d);
  if (made) made->name = arg->name;
  return made;
}

/* n + 1: operands become what is given, and operators over them follow. */
static const DimExpr *put_sum(const Put *p, const DimExpr *d) {
  DimExprs nodes;
  DimExprs made;
  VEC_INIT(&nodes, p->mem);
  VEC_INIT(&made, p->mem);
  bool whole = dim_expr_postfix(d, &nodes);
  for (size_t i = 0; whole && i < nodes.len; i++) {
    const DimExpr *node = nodes.data[i];
    if (!node->left) {
      VEC_PUSH(&made, put_operand(p, node));
      continue;
    }
    const DimExpr *right = VEC_POP(&made), *left = VEC_POP(&made);
    if (left != node->left || right != node->right) {
      DimExpr *sum = arena_copy(p->arena, node, sizeof *node);
      if (sum) sum->left = left, sum->right = right;
      node = sum;
    }
    VEC_PUSH(&made, node);
    whole = !mem_exhausted(p->mem);
  }
  if (whole && made.len == 1) d = made.data[0];
  VEC_DONE(&made);
  VEC_DONE(&nodes);
  return d;
}

/* n, n + 1, s... or ?s...; a shape's items are names and dimensions again. */
static void put_dim(const Put *p, const DimExpr *d, DimExprs *out) {
  bool splat = d->kind == DX_SPLAT;
  bool named = splat || d->kind == DX_NAME;
  const TypeExpr *arg = named ? arg_of(p, d->name) : NULL;
  if (!arg) VEC_PUSH(out, d->left ? put_sum(p, d) : d);
  else if (arg->kind == TX_NAME) put_name(p, d, arg, out);
  else if (arg->kind == TX_DIM) VEC_PUSH(out, arg->dims[0]);
  for (int i = 0; arg && arg->kind == TX_TUPLE && i < arg->arg_count; i++)
    put_item(p, d, arg->args[i], out);
}

static void put_dims(const Put *p, TypeExpr *made) {
  DimExprs dims;
  VEC_INIT(&dims, p->mem);
  for (int i = 0; i < made->dim_count; i++) put_dim(p, made->dims[i], &dims);
  made->whole &= dims.len == 1 && dims.data[0]->kind == DX_SPLAT;
  made->dims = dims.len ? VEC_TO_ARENA(&dims, p->arena) : NULL;
  made->dim_count = made->dims ? (int)dims.len : 0;
  VEC_DONE(&dims);
}

static const TypeExpr *put(const Put *p, const TypeExpr *t);

/* A shape's `s...` may become any number of dimensions. */
static void put_args(const Put *p, TypeExpr *made) {
  VEC(const TypeExpr *) args;
  VEC_INIT(&args, p->mem);
  for (int i = 0; i < made->arg_count; i++) {
    const TypeExpr *arg = made->args[i];
    bool splat = arg->kind == TX_DIM && arg->dims[0]->kind == DX_SPLAT;
    const TypeExpr *shape = splat ? arg_of(p, arg->dims[0]->name) : NULL;
    if (!shape || shape->kind != TX_TUPLE) {
      VEC_PUSH(&args, put(p, arg));
      continue;
    }
    for (int k = 0; k < shape->arg_count; k++) VEC_PUSH(&args, shape->args[k]);
  }
  made->args = args.len ? VEC_TO_ARENA(&args, p->arena) : NULL;
  made->arg_count = made->args ? (int)args.len : 0;
  VEC_DONE(&args);
}

static const TypeExpr *put(const Put *p, const TypeExpr *t) {
  if (t->kind == TX_NAME && !t->brackets) {
    const TypeExpr *arg = arg_of(p, t->name);
    return arg ? arg : t;
  }
  TypeExpr *made = arena_copy(p->arena, t, sizeof *t);
  if (!made) return t;
  const TypeExpr *dtype = arg_of(p, t->dtype_name);
  if (dtype) {
    made->dtype = dtype->dtype;
    made->dtype_name = dtype->kind == TX_NAME ? dtype->name : NULL;
  }
  if (t->dim_count > 0) put_dims(p, made);
  if (t->arg_count > 0) put_args(p, made);
  if (t->result) made->result = put(p, t->result);
  return made;
}

const TypeExpr *type_expr_put(Mem *mem, Arena *arena, const TypeExpr *t,
                              int count, const TypeParam *params,
                              const TypeExpr *const *args) {
  if (count == 0) return t;
  return put(&(Put){mem, arena, count, params, args}, t);
}
