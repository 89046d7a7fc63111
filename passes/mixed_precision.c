/* ToMixedPrecision: products of float32 are computed in 16 bits, and so is what
 * follows them; under --fast-math, since the bits change.
 *
 *   let %y = nn.dense(%x, %w);         let %y = nn.dense(half(%x), half(%w));
 *   let %z = nn.relu(%y);       ==>    let %z = nn.relu(%y);
 *   exp(%z)                            exp(cast(%z, dtype="float32"))
 *
 * An operator is of one of three kinds, after TVM's pass of the same name
 * (relay/transforms/to_mixed_precision.cc):
 *
 *   always    a product or a convolution, which is where the time goes
 *   follows   moves elements, or makes each from those at its index: in 16
 *             bits where all of its floats are there in 16 bits, or constants
 *   never     loses too much in 16 bits (`wide`, ops/ops.h), or sums
 *
 * The kernels of products add up in float32, and round once for each result.
 * What functions take and give, and what is not understood here (a tuple, a
 * branch), is float32 as before.  After Micikevicius et al., "Mixed precision
 * training" (2018), without the scaling, which is for gradients. */
#include <string.h>

#include "passes/calls.h"

typedef struct Mixed {
  Program *p;
  Arena *arena;
  DType half;
  PtrMap narrow; /* Expr, Var -> Mixed: its value is there in 16 bits */
  PtrMap vars;   /* Var -> the one of 16 bits in its place */
} Mixed;

static bool is_single(const Expr *e) {
  return e->type && e->type->kind == TY_TENSOR && e->type->dtype == DT_FLOAT32;
}

static const Type *halved(const Mixed *m, const Type *t) {
  return t->any_rank ? type_any_rank(m->p->types, m->half)
                     : type_tensor(m->p->types, m->half, t->rank, t->dims);
}

/* --- What is computed in 16 bits ------------------------------------------ */

static bool is_product(const OpInfo *op) {
  return op->flops == FLOPS_PRODUCT || op->flops == FLOPS_CONV ||
         op->flops == FLOPS_CONV_TRANSPOSE;
}

static bool may_follow(const OpInfo *op) {
  return !op->wide && (op->reads == READS_SAME || op->reads == READS_CHANNEL ||
                       op->reads == READS_ONE);
}

/* The call over operands of 16 bits; NULL: its rule does not give the same
 * shape in 16 bits. */
static const Expr *call_in_half(const Mixed *m, const Expr *call,
                                const Expr *const *args) {
  const Expr *made =
      expr_apply(m->p, m->arena, call->span, op_id(expr_operator(call)),
                 call->call.bound, call->count, args);
  bool same = made && made->type == halved(m, call->type);
  if (same && call->sugar == SUGAR_NONE) ((Expr *)made)->sugar = SUGAR_NONE;
  return same ? made : NULL;
}

/* Its operands as they would be: each float32 in 16 bits. */
static bool fits_half(const Mixed *m, const Expr *call) {
  const Expr **args =
      ARENA_ARRAY(m->arena, const Expr *, (size_t)call->count + 1);
  for (int i = 0; args && i < call->count; i++) {
    args[i] = call->args[i];
    if (!is_single(args[i])) continue;
    Expr *in_half = arena_copy(m->arena, args[i], sizeof *args[i]);
    if (!in_half) return false;
    in_half->type = halved(m, args[i]->type);
    args[i] = in_half;
  }
  return args && call_in_half(m, call, args);
}

static bool is_narrow(const Mixed *m, const Expr *e) {
  return ptrmap_has(&m->narrow, e->kind == EX_VAR ? (const void *)e->var : e);
}

static bool in_half(const Mixed *m, const Expr *call) {
  const OpInfo *op = expr_operator(call);
  if (!op || !is_single(call) || !call->call.bound || op->special ||
      attrs_have_operands(call->call.bound) || call->call.callee->targ_count)
    return false;
  int floats = 0, ready = 0, constants = 0;
  for (int i = 0; i < call->count; i++) {
    if (!is_single(call->args[i])) continue;
    floats++;
    ready += is_narrow(m, call->args[i]);
    constants += call->args[i]->kind == EX_CONST;
  }
  bool follows = may_follow(op) && ready > 0 && ready + constants == floats;
  return (is_product(op) || follows) && fits_half(m, call);
}

/* In order of evaluation, so that operands and variables come first.  A `let`
 * holds 16 bits where its value has them. */
static void find(Mixed *m, const Expr *e) {
  ExprWalk w;
  expr_walk_start(&w, m->p->mem, WALK_LEAVE | WALK_BIND, e);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_LEAVE) {
      if (in_half(m, w.at) && pass_may_rewrite(m->p, w.at->span))
        ptrmap_put(&m->narrow, w.at, m);
      continue;
    }
    const Binding *b = w.binding;
    if (b && b->kind == BIND_LET && b->value && w.var == b->var &&
        !w.var->lazy && !w.var->param_count && w.var->type == b->value->type &&
        is_narrow(m, b->value))
      ptrmap_put(&m->narrow, w.var, m);
  }
  expr_walk_end(&w);
}

/* --- The other program ---------------------------------------------------- */

/* The value of `e` in 16 bits.  If `e` is a cast from 16 bits, that is the
 * operand of the cast. */
static const Expr *narrowed(const Mixed *m, const Expr *e) {
  const OpInfo *op = expr_operator(e);
  if (op && op_id(op) == OP_CAST && e->args[0]->type == halved(m, e->type))
    return e->args[0];
  if (e->kind == EX_CONST && e->type->rank == 0)
    return expr_number(m->p, m->arena, e->span, m->half,
                       tensor_f64_at(e->constant, 0));
  return expr_cast(m->p, m->arena, e, m->half);
}

static const Expr *made_narrow(const Mixed *m, const Expr *was,
                               const Expr *made) {
  const Expr **args =
      ARENA_ARRAY(m->arena, const Expr *, (size_t)made->count + 1);
  for (int i = 0; args && i < made->count; i++) {
    bool single = is_single(was->args[i]);
    args[i] = single ? narrowed(m, made->args[i]) : made->args[i];
    if (!args[i]) return NULL;
  }
  const Expr *call = args ? call_in_half(m, made, args) : NULL;
  return call ? expr_cast(m->p, m->arena, call, DT_FLOAT32) : NULL;
}

static Var *narrow_var(Mixed *m, const Var *var) {
  Var *made = ptrmap_has(&m->narrow, var)
                  ? arena_copy(m->arena, var, sizeof *var)
                  : NULL;
  if (!made) return NULL;
  made->id = m->p->next_var_id++;
  made->type = halved(m, var->type);
  made->annotation = NULL;
  made->declared = NULL;
  made->value = NULL;
  ptrmap_put(&m->vars, var, made);
  return made;
}

/* Gives the `let`s of the block whose variables have 16 bits such values. */
static void narrow_block(const Mixed *m, ExprMap *map) {
  const Block *was = map->walk.at->block;
  for (int i = 0; i < was->count; i++) {
    if (!was->bindings[i].var || !ptrmap_has(&m->vars, was->bindings[i].var))
      continue;
    Binding *own = expr_map_own_bindings(map);
    if (!own) return;
    own[i].value = narrowed(m, own[i].value);
  }
}

static const Expr *mix(void *data, Program *p, Arena *arena, const Expr *e) {
  Mixed *m = data;
  m->arena = arena;
  find(m, e);
  ExprMap map;
  expr_map_start(&map, p->mem, arena, e);
  while (expr_map_next(&map)) {
    const Expr *was = map.walk.at, *made = NULL;
    if (map.walk.event == WALK_BIND && map.walk.var) {
      Var *var = narrow_var(m, map.walk.var);
      if (var) expr_map_bind(&map, var);
    }
    if (map.walk.event != WALK_LEAVE) continue;
    if (was->kind == EX_BLOCK) narrow_block(m, &map);
    if (was->kind == EX_CALL && is_narrow(m, was))
      made = made_narrow(m, was, map.made);
    Var *var = was->kind == EX_VAR ? ptrmap_get(&m->vars, was->var) : NULL;
    if (var)
      made = expr_cast(p, arena, expr_use(arena, was->span, var), DT_FLOAT32);
    if (made) expr_map_put(&map, made);
  }
  return expr_map_end(&map);
}

Pass pass_to_mixed_precision;

Unit *pass_to_mixed_precision(Program *p, Unit *unit) {
  if (!pass_fast_math(p)) return unit;
  Mixed m = {.p = p};
  const char *dtype = pass_arg_word(p, 0);
  m.half = dtype_find(dtype, strlen(dtype));
  ptrmap_init(&m.narrow, p->mem);
  ptrmap_init(&m.vars, p->mem);
  unit = unit_rewrite_with(p, unit, mix, &m);
  ptrmap_done(&m.narrow);
  ptrmap_done(&m.vars);
  return unit;
}
