/* SimplifyInference: layers that differ between training and inference become
 * what they are at inference.
 *
 *   nn.dropout(%x).0                        ==>   %x
 *   nn.batch_norm(%x, %g, %b, %m, %v).0     ==>   %x * %s + %t
 *           where %s = rsqrt(%v + epsilon) * %g,  %t = -%m * %s + %b
 *
 * The sequence of batch_norm is the kernel's own in float32 and float64
 * (kernels/drive/channels_body.h), each step rounded, so the bits are the same;
 * 16-bit floats, which the kernel rounds once, stay.  That of layer_norm adds
 * up a line in another order than the kernel does, and is for --fast-math.
 *
 * After TVM's pass of that name (relay/transforms/simplify_inference.cc). */
#include "passes/calls.h"

typedef struct Maker {
  Program *p;
  Arena *arena;
  Span span;
} Maker;

/* Calls of which NULL among the operands makes NULL. */
static const Expr *one(const Maker *m, OpId op, const Attrs *attrs,
                       const Expr *a) {
  return a ? EXPR_APPLY(m->p, m->arena, m->span, op, attrs, a) : NULL;
}

static const Expr *two(const Maker *m, OpId op, const Expr *a, const Expr *b) {
  return a && b ? EXPR_APPLY(m->p, m->arena, m->span, op, NULL, a, b) : NULL;
}

static const Expr *number(const Maker *m, const Expr *like, double value) {
  return expr_number(m->p, m->arena, m->span, (DType)like->type->dtype, value);
}

/* Two roundings, as the kernels have. */
static bool is_plain_float(const Expr *e) {
  DType t = (DType)e->type->dtype;
  return t == DT_FLOAT32 || t == DT_FLOAT64;
}

static const Expr *along(const Maker *m, const Expr *v, int axis, int rank) {
  return expr_along(m->p, m->arena, v, axis, rank);
}

/* (x, ones) */
static const Expr *kept(Program *p, Arena *arena, const Expr *call,
                        const Expr *const *args) {
  const Maker m = {p, arena, call->span};
  const Expr *fields[] = {args[0], one(&m, OP_ONES_LIKE, NULL, args[0])};
  return fields[1] ? expr_tuple(p, arena, call->span, 2, fields) : NULL;
}

/* (x * s + t, mean, variance) */
static const Expr *scaled(Program *p, Arena *arena, const Expr *call,
                          const Expr *const *args) {
  const Maker m = {p, arena, call->span};
  const Attrs *attrs = call->call.bound;
  const Expr *x = args[0];
  int rank = x->type->rank, axis = attr_axis(attrs, ATTR_axis, rank);
  for (int i = 0; i < call->count; i++)
    if (!is_plain_float(args[i]) || args[i]->type->dtype != x->type->dtype ||
        !type_is_static(args[i]->type))
      return NULL;
  const Expr *s = one(
      &m, OP_RSQRT, NULL,
      two(&m, OP_ADD, args[4], number(&m, x, attr_real(attrs, ATTR_epsilon))));
  if (attr_bool(attrs, ATTR_scale)) s = two(&m, OP_MULTIPLY, s, args[1]);
  if (!s) return NULL;
  Var *var = var_for(p, arena, s);
  if (!var) return NULL;
  const Expr *factor = expr_use(arena, call->span, var);
  const Expr *t =
      two(&m, OP_MULTIPLY, one(&m, OP_NEGATIVE, NULL, args[3]), factor);
  if (attr_bool(attrs, ATTR_center)) t = two(&m, OP_ADD, t, args[2]);
  const Expr *y =
      two(&m, OP_ADD, two(&m, OP_MULTIPLY, x, along(&m, factor, axis, rank)),
          along(&m, t, axis, rank));
  Binding *let = ARENA_NEW(arena, Binding);
  if (!y || !let) return NULL;
  *let =
      (Binding){.kind = BIND_LET, .span = call->span, .var = var, .value = s};
  Expr *block = expr_block(arena, call->span, 1, let, y);
  block->type = y->type;
  return expr_tuple(p, arena, call->span, 3,
                    (const Expr *[]){block, args[3], args[4]});
}

/* The mean over an axis, which stays. */
static const Expr *mean(const Maker *m, const Expr *x, int axis) {
  Attrs *attrs = attrs_new(m->arena, op_info(OP_MEAN));
  attr_set_list(m->arena, attrs, ATTR_axis, 1, (Dim[]){dim_of(axis)});
  attr_set_number(attrs, ATTR_keepdims, 1);
  return one(m, OP_MEAN, attrs, x);
}

/* let d = x - mean(x); d * rsqrt(mean(d * d) + epsilon) [* gamma] [+ beta] */
static const Expr *normalised(Program *p, Arena *arena, const Expr *call,
                              const Expr *const *args) {
  const Maker m = {p, arena, call->span};
  const Attrs *attrs = call->call.bound;
  const Expr *x = args[0];
  int rank = x->type->rank, axis = attr_axis(attrs, ATTR_axis, rank);
  if (!type_is_static(x->type)) return NULL;
  const Expr *centred = two(&m, OP_SUBTRACT, x, mean(&m, x, axis));
  Var *var = centred ? var_for(p, arena, centred) : NULL;
  Binding *let = ARENA_NEW(arena, Binding);
  if (!var || !let) return NULL;
  *let = (Binding){
      .kind = BIND_LET, .span = call->span, .var = var, .value = centred};
  const Expr *d = expr_use(arena, call->span, var);
  const Expr *variance = mean(&m, two(&m, OP_MULTIPLY, d, d), axis);
  const Expr *y = two(&m, OP_MULTIPLY, d,
                      one(&m, OP_RSQRT, NULL,
                          two(&m, OP_ADD, variance,
                              number(&m, x, attr_real(attrs, ATTR_epsilon)))));
  if (attr_bool(attrs, ATTR_scale))
    y = two(&m, OP_MULTIPLY, y, along(&m, args[1], axis, rank));
  if (attr_bool(attrs, ATTR_center))
    y = two(&m, OP_ADD, y, along(&m, args[2], axis, rank));
  if (!y) return NULL;
  Expr *block = expr_block(arena, call->span, 1, let, y);
  block->type = y->type;
  return block;
}

static const Expansion rows[] = {
    {OP_NN_DROPOUT, false, kept},
    {OP_NN_BATCH_NORM, false, scaled},
    {OP_NN_LAYER_NORM, true, normalised},
};

static const Expr *at_inference(Program *p, Arena *arena, const Expr *e) {
  return calls_expand(p, arena, e, sizeof rows / sizeof *rows, rows);
}

Pass pass_simplify_inference;

Unit *pass_simplify_inference(Program *p, Unit *unit) {
  return unit_rewrite(p, unit, at_inference);
}
