/* FoldScaleAxis and FoldBatchNorm: what scales the channels of a product or a
 * convolution scales its weight instead.
 *
 *   nn.conv2d(%x, %w) * %s               ==>  nn.conv2d(%x, %w * %s')
 *   (nn.conv2d(%x, %w) + %b) * %s        ==>  nn.conv2d(%x, %w * %s') + %b * %s
 *   nn.conv2d(%x * %s, %w)               ==>  nn.conv2d(%x, %w * %s')
 *   nn.batch_norm(nn.conv2d(%x, %w), %g, %b, %m, %v).0
 *                       ==>  nn.conv2d(%x, %w * %t') + (%b - %m * %t)
 *           where %t = rsqrt(%v + epsilon) * %g
 *
 * and likewise nn.dense.  The weight is smaller than what it is multiplied
 * with, and where it is a constant or a `param`, the scaled one can be computed
 * ahead. A product that a `let` names is looked through where this is its only
 * use.
 *
 * Sums of scaled products are not the scaled sums, bit for bit, so both passes
 * do nothing without --fast-math.
 *
 * After TVM's FoldScaleAxis (relay/transforms/fold_scale_axis.cc), which folds
 * always. */
#include "passes/calls.h"

typedef struct Fold {
  Program *p;
  Arena *arena;
  PtrMap uses;              /* Var -> how often it is used */
  PtrMap values;            /* Var -> the call that a `let` gives it */
  PtrMap homes;             /* Var -> the function in which that stands */
  VEC(const Expr *) around; /* functions around the node at hand */
  PtrMap dropped;           /* Var -> itself: its only use has become another */
} Fold;

/* --- Products ------------------------------------------------------------- */

static bool is_atom(const Expr *e) {
  return e->kind == EX_CONST || (e->kind == EX_VAR && !e->var->lazy) ||
         (e->kind == EX_GLOBAL && e->g.global->kind == GLOBAL_PARAM);
}

/* A convolution or a product of floats of one dtype, in the plain layout. */
static bool is_product(const Fold *f, const Expr *e) {
  const OpInfo *op = expr_operator(e);
  if (!op || (op_id(op) != OP_NN_CONV2D && op_id(op) != OP_NN_DENSE) ||
      !e->call.bound || attrs_have_operands(e->call.bound) ||
      !type_is_static(e->type) || !dtype_is_float((DType)e->type->dtype))
    return false;
  for (int i = 0; i < 2; i++)
    if (!type_is_static(e->args[i]->type) ||
        e->args[i]->type->dtype != e->type->dtype)
      return false;
  const Attrs *attrs = e->call.bound;
  return attr_is_text(attrs, ATTR_data_layout, "NCHW") &&
         attr_is_text(attrs, ATTR_kernel_layout, "OIHW") &&
         attr_is_text(attrs, ATTR_out_layout, "") && expr_is_pure(f->p, e);
}

static bool is_conv(const Expr *product) {
  return op_id(expr_operator(product)) == OP_NN_CONV2D;
}

/* The axis of the channels in what goes in and comes out. */
static int channels(const Expr *product) {
  return is_conv(product) ? 1 : product->type->rank - 1;
}

/* What `e` is, or what a `let` of the same function gives it for its only use.
 * A `fn` may be called more often than it is made.  NULL: none does. */
static const Expr *seen(const Fold *f, const Expr *e) {
  if (e->kind != EX_VAR) return e;
  const Expr *home = f->around.len ? VEC_LAST(&f->around) : NULL;
  bool once = (uintptr_t)ptrmap_get(&f->uses, e->var) == 1 &&
              ptrmap_get(&f->homes, e->var) == home;
  return once ? ptrmap_get(&f->values, e->var) : NULL;
}

static const Expr *product_of(const Fold *f, const Expr *e) {
  e = seen(f, e);
  return e && is_product(f, e) ? e : NULL;
}

static void used(Fold *f, const Expr *e) {
  if (e->kind == EX_VAR) ptrmap_put(&f->dropped, e->var, e->var);
}

/* --- Scales --------------------------------------------------------------- */

/* Does it have one value for each channel of such a tensor, or one in all? */
static bool is_scale(const Expr *s, const Type *of, int axis) {
  if (!is_atom(s) || !type_is_static(s->type) || s->type->dtype != of->dtype ||
      s->type->rank > of->rank)
    return false;
  for (int i = 0; i < s->type->rank; i++) {
    int at = of->rank - s->type->rank + i;
    Dim want = at == axis ? of->dims[axis] : dim_of(1);
    if (!dim_same(s->type->dims[i], want) && !dim_is(s->type->dims[i], 1))
      return false;
  }
  return true;
}

/* The weight times the scale, which lies along the weight's `axis`. */
static const Expr *scaled_weight(const Fold *f, const Expr *w, const Expr *s,
                                 int axis) {
  Dim shape[RANK_MAX], count = dim_of(1);
  for (int i = 0; i < s->type->rank; i++)
    if (!dim_is(s->type->dims[i], 1)) count = s->type->dims[i];
  for (int i = 0; i < w->type->rank; i++) shape[i] = dim_of(1);
  shape[axis] = count;
  if (s->type->rank > 0) {
    Attrs *attrs = attrs_new(f->arena, op_info(OP_RESHAPE));
    if (!attrs) return NULL;
    attr_set_list(f->arena, attrs, ATTR_newshape, w->type->rank, shape);
    s = EXPR_APPLY(f->p, f->arena, w->span, OP_RESHAPE, attrs, s);
  }
  return s ? EXPR_APPLY(f->p, f->arena, w->span, OP_MULTIPLY, NULL, w, s)
           : NULL;
}

/* The product with other operands of the same types. */
static const Expr *product_with(const Fold *f, const Expr *product,
                                const Expr *x, const Expr *w) {
  if (!x || !w || x->type != product->args[0]->type ||
      w->type != product->args[1]->type)
    return NULL;
  const Expr *both[] = {x, w};
  Expr *made = arena_copy(f->arena, product, sizeof *made);
  const Expr **args = arena_copy(f->arena, both, sizeof both);
  if (!made || !args) return NULL;
  made->args = args;
  return made;
}

static const Expr *with_outputs_scaled(const Fold *f, const Expr *product,
                                       const Expr *s) {
  const Expr *w = product->args[1];
  return product_with(f, product, product->args[0], scaled_weight(f, w, s, 0));
}

static const Expr *two(const Fold *f, OpId op, const Expr *a, const Expr *b) {
  return a && b ? EXPR_APPLY(f->p, f->arena, a->span, op, NULL, a, b) : NULL;
}

/* (product [+ b]) * s */
static const Expr *scale_after(Fold *f, const Expr *e) {
  for (int i = 0; i < 2; i++) {
    const Expr *s = e->args[1 - i], *sum = seen(f, e->args[i]);
    const Expr *product = sum && is_product(f, sum) ? sum : NULL;
    const Expr *made = NULL, *inner = NULL;
    if (product && is_scale(s, product->type, channels(product)))
      made = with_outputs_scaled(f, product, s);
    const OpInfo *op = sum && !product ? expr_operator(sum) : NULL;
    for (int k = 0; op && op_id(op) == OP_ADD && k < 2 && !made; k++) {
      const Expr *b = sum->args[1 - k];
      inner = sum->args[k];
      product = product_of(f, inner);
      if (product && product->type == sum->type && is_atom(b) &&
          is_scale(s, product->type, channels(product)))
        made = two(f, OP_ADD, with_outputs_scaled(f, product, s),
                   two(f, OP_MULTIPLY, b, s));
    }
    if (!made || made->type != e->type ||
        !pass_may_replace(f->p, NULL, e, made))
      continue;
    used(f, e->args[i]);
    if (inner) used(f, inner);
    return made;
  }
  return NULL;
}

/* product(x * s, w) */
static const Expr *scale_before(Fold *f, const Expr *e) {
  if (!is_product(f, e)) return NULL;
  if (is_conv(e) && attrs_have(e->call.bound, ATTR_groups) &&
      !dim_is(attr_int(e->call.bound, ATTR_groups), 1))
    return NULL;
  const Expr *times = seen(f, e->args[0]);
  const OpInfo *op = times ? expr_operator(times) : NULL;
  if (!op || op_id(op) != OP_MULTIPLY) return NULL;
  int axis = is_conv(e) ? 1 : times->type->rank - 1;
  for (int i = 0; i < 2; i++) {
    const Expr *s = times->args[1 - i];
    if (!is_scale(s, times->type, axis)) continue;
    const Expr *made =
        product_with(f, e, times->args[i], scaled_weight(f, e->args[1], s, 1));
    if (!made || !pass_may_replace(f->p, NULL, e, made)) continue;
    used(f, e->args[0]);
    return made;
  }
  return NULL;
}

/* nn.batch_norm(product, gamma, beta, mean, variance).0 */
static const Expr *norm_after(Fold *f, const Expr *e) {
  const Expr *norm = e->index == 0 ? seen(f, e->args[0]) : NULL;
  const OpInfo *op = norm ? expr_operator(norm) : NULL;
  if (!op || op_id(op) != OP_NN_BATCH_NORM || !norm->call.bound) return NULL;
  const Attrs *attrs = norm->call.bound;
  const Expr *product = product_of(f, norm->args[0]);
  int rank = norm->args[0]->type->rank;
  if (!product || attr_axis(attrs, ATTR_axis, rank) != channels(product))
    return NULL;
  for (int i = 1; i < norm->count; i++)
    if (!is_atom(norm->args[i]) || !type_is_static(norm->args[i]->type) ||
        norm->args[i]->type->dtype != product->type->dtype)
      return NULL;
  const Expr *epsilon =
      expr_number(f->p, f->arena, norm->span, (DType)product->type->dtype,
                  attr_real(attrs, ATTR_epsilon));
  const Expr *sum = two(f, OP_ADD, norm->args[4], epsilon);
  const Expr *s =
      sum ? EXPR_APPLY(f->p, f->arena, norm->span, OP_RSQRT, NULL, sum) : NULL;
  if (attr_bool(attrs, ATTR_scale)) s = two(f, OP_MULTIPLY, s, norm->args[1]);
  Var *var = s ? var_for(f->p, f->arena, s) : NULL;
  Binding *let = ARENA_NEW(f->arena, Binding);
  if (!var || !let) return NULL;
  *let = binding_let(norm->span, var, s);
  const Expr *scale = expr_use(f->arena, norm->span, var);
  const Expr *shift = two(f, OP_MULTIPLY, norm->args[3], scale);
  if (attr_bool(attrs, ATTR_center))
    shift = two(f, OP_SUBTRACT, norm->args[2], shift);
  else if (shift)
    shift = EXPR_APPLY(f->p, f->arena, norm->span, OP_NEGATIVE, NULL, shift);
  const Expr *made =
      two(f, OP_ADD, with_outputs_scaled(f, product, scale),
          expr_along(f->p, f->arena, shift, channels(product), rank));
  Expr *block = made ? expr_block(f->arena, norm->span, 1, let, made) : NULL;
  if (!block || made->type != e->type || !pass_may_replace(f->p, NULL, e, made))
    return NULL;
  used(f, e->args[0]);
  used(f, norm->args[0]);
  return block;
}

/* --- The passes ----------------------------------------------------------- */

typedef const Expr *FoldRule(Fold *f, const Expr *e);

/* Calls that a `let` names, which mean the same at its use. */
static void note_let(Fold *f, const ExprMap *m) {
  const Binding *b = expr_walk_binding(&m->walk);
  const Expr *e = m->made;
  if (!b || b->kind != BIND_LET || b->var->lazy || b->var->param_count ||
      b->var->type != e->type || !expr_operator(e) || !expr_is_pure(f->p, e))
    return;
  ptrmap_put(&f->values, b->var, (void *)e);
  if (f->around.len)
    ptrmap_put(&f->homes, b->var, (void *)VEC_LAST(&f->around));
}

/* The `let`s whose uses have gone go, too. */
static void without_dropped(Fold *f, ExprMap *m) {
  const Block *block = m->made->block;
  Binding *kept = ARENA_ARRAY(f->arena, Binding, (size_t)block->count + 1);
  int n = 0;
  for (int i = 0; kept && i < block->count; i++) {
    const Binding *b = &block->bindings[i];
    if (!b->var || !ptrmap_has(&f->dropped, b->var)) kept[n++] = *b;
  }
  if (kept && n < block->count) expr_map_put_block(m, n, kept, block->result);
}

static const Expr *folded(Program *p, Arena *arena, const Expr *e,
                          FoldRule *of_call, FoldRule *of_field) {
  Fold f = {.p = p, .arena = arena};
  ExprMap m;
  if (!pass_fast_math(p)) return e;
  PtrMap *const maps[] = {&f.uses, &f.values, &f.homes, &f.dropped};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
    ptrmap_init(maps[i], p->mem);
  VEC_INIT(&f.around, p->mem);
  expr_count_uses(p, e, &f.uses);
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    bool fn = m.walk.at && m.walk.at->kind == EX_FN;
    if (m.walk.event == WALK_ENTER && fn) VEC_PUSH(&f.around, m.walk.at);
    if (m.walk.event != WALK_LEAVE) continue;
    if (fn && f.around.len) f.around.len--;
    const Expr *made = NULL;
    if (m.made->kind == EX_BLOCK) without_dropped(&f, &m);
    if (of_call && expr_operator(m.made)) made = of_call(&f, m.made);
    if (of_field && m.made->kind == EX_PROJ) made = of_field(&f, m.made);
    if (made) expr_map_put(&m, made);
    else note_let(&f, &m);
  }
  e = expr_map_end(&m);
  VEC_DONE(&f.around);
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) ptrmap_done(maps[i]);
  return e;
}

static const Expr *scale_of_call(Fold *f, const Expr *e) {
  OpId op = op_id(expr_operator(e));
  return op == OP_MULTIPLY ? scale_after(f, e) : scale_before(f, e);
}

Rewrite pass_fold_scale_axis;

const Expr *pass_fold_scale_axis(Program *p, Arena *arena, const Expr *e) {
  return folded(p, arena, e, scale_of_call, NULL);
}

Rewrite pass_fold_batch_norm;

const Expr *pass_fold_batch_norm(Program *p, Arena *arena, const Expr *e) {
  return folded(p, arena, e, NULL, norm_after);
}
