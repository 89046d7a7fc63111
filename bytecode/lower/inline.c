/* Calls in whose place the callee's body is lowered, where no trace, limit or
 * place of an error can miss the call:
 *
 *   - of a small function that computes a scalar from scalars and cannot fail;
 *   - of an operator of a text's own (`op @f`) that is element-wise operators
 *     which cannot fail, so that chain.c joins them with what stands around the
 *     call.  Operators that it calls may be such, too.
 *
 * A function `def @f` on tensors stays a call: traces and profiles show it.
 *
 * The operator's types name its own dimensions, whose meaning here is what the
 * call's operands have in the same places: while the body is lowered, the
 * environment says so, and sites get types in terms of the caller's. */
#include "bytecode/lower/lower.h"

enum { NODES_MOST = FUSE_STEPS, OPERANDS_MOST = 3 };

/* --- Scalars ------------------------------------------------------------ */

static const Fn *scalar_fn(const Function *f) {
  if (f->key.kind != FUNCTION_FN || f->key.checks) return NULL;
  if (f->key.group && f->key.group->free_count > 0) return NULL;
  const Fn *fn = f->key.expr->fn;
  for (int i = 0; i < fn->param_count; i++)
    if (!type_is_scalar(fn->params[i]->type)) return NULL;
  return type_is_scalar(fn->body->type) && expr_is_plain(fn->body) ? fn : NULL;
}

/* --- Element-wise operators ----------------------------------------------- */

static bool has_rank(const Type *t) {
  return t->kind == TY_TENSOR && !t->any_rank;
}

static bool may_fail(const OpInfo *op, const Type *result) {
  bool divides = op->fails == FAILS_DIVISOR;
  return divides ? !dtype_is_float((DType)result->dtype) : op->fails != 0;
}

/* Can the call of an operator be a member of a chain, and not fail?  Or is it
 * one on scalars that cannot fail?  Its operands are asked of elsewhere. */
static bool is_step(const Expr *e) {
  const OpInfo *op = op_info(e->call.callee->op);
  const Type *types[OPERANDS_MOST];
  if (may_fail(op, e->type)) return false;
  if (scalar_function(e)) return true;
  const Attrs *attrs = e->call.bound;
  if (op->fusion == FUSION_NONE || e->count > OPERANDS_MOST) return false;
  if (attrs && attrs_have_operands(attrs)) return false;
  for (int i = 0; i < e->count; i++) types[i] = e->args[i]->type;
  if (op->fusion == FUSION_BIAS &&
      !(attrs && adds_to_last_axis(attrs, types[0]->rank)))
    return false;
  return types_broadcast(e->type, e->count, types);
}

/* What a call of an operator of a text's own means.  One whose text states its
 * derivative is with_vjp(meaning, derivative)(operands): elsewhere than in code
 * that is differentiated that is a call of the meaning. */
static const Fn *operator_fn(const Lower *l, const Expr *callee) {
  if (!callee->type || callee->type->kind != TY_FN ||
      callee->type->param_count > 0)
    return NULL;
  if (callee->kind == EX_GLOBAL) {
    const Global *g = callee->g.global;
    const Global *text = g->instance_of ? g->instance_of : g;
    bool fits = text->op && g->value && g->value->kind == EX_FN;
    return fits && !use_checks(l, callee) ? g->value->fn : NULL;
  }
  bool stated = callee->kind == EX_CALL && callee->call.callee->kind == EX_OP &&
                op_info(callee->call.callee->op)->special == SPECIAL_WITH_VJP;
  if (!stated || lower_is_dual(l) || callee->args[0]->kind != EX_FN)
    return NULL;
  return callee->args[0]->fn;
}

static bool is_chain(const Lower *l, const Expr *e, int *room);

/* Is what is called element-wise, on operands of known ranks? */
static bool body_is_chain(const Lower *l, const Expr *e, const Fn *fn,
                          int *room) {
  if (e->count != fn->param_count) return false;
  for (int i = 0; i < e->count; i++)
    if (!has_rank(fn->params[i]->type) || !has_rank(e->args[i]->type))
      return false;
  if (fn->declared_result &&
      types_need_check(fn->body->type, fn->declared_result))
    return false;
  return is_chain(l, fn->body, room);
}

/* Within a body a call is joined only if nothing has to be compared for it. */
static bool call_is_chain(const Lower *l, const Expr *e, int *room) {
  const Expr *callee = e->call.callee;
  bool op = callee->kind == EX_OP;
  const Fn *fn = op ? NULL : operator_fn(l, callee);
  if (op ? !is_step(e) : !fn || !body_is_chain(l, e, fn, room)) return false;
  for (int i = 0; i < e->count; i++) {
    if (!is_chain(l, e->args[i], room)) return false;
    if (fn && types_need_check(e->args[i]->type, callee->type->args[i]))
      return false;
  }
  return !fn || !types_need_check(callee->type->result, e->type);
}

static bool block_is_chain(const Lower *l, const Block *block, int *room) {
  for (int i = 0; i < block->count; i++) {
    const Binding *b = &block->bindings[i];
    if (b->kind != BIND_LET || !b->var || b->var->lazy ||
        !is_chain(l, b->value, room))
      return false;
    if (b->var->declared && types_need_check(b->value->type, b->var->declared))
      return false;
  }
  return is_chain(l, block->result, room);
}

/* `room` counts the nodes that may yet come, so it bounds the recursion, too:
 * an operator that calls itself has none that is small enough. */
static bool is_chain(const Lower *l, const Expr *e, int *room) {
  if (!has_rank(e->type)) return false;
  if (e->kind == EX_VAR) return !e->var->lazy && e->targ_count == 0;
  if (e->kind == EX_CONST) return true;
  if (--*room < 0) return false;
  if (e->kind == EX_BLOCK) return block_is_chain(l, e->block, room);
  return e->kind == EX_CALL && call_is_chain(l, e, room);
}

/* Where a run may end at any instruction nothing is joined. */
static const Fn *chain_fn(const Lower *l, const Expr *e) {
  int room = NODES_MOST;
  if (l->fn->key.stops) return NULL;
  const Fn *fn = operator_fn(l, e->call.callee);
  return fn && body_is_chain(l, e, fn, &room) ? fn : NULL;
}

const Fn *fn_inlined(Lower *l, const Expr *e, const Function *f) {
  const Fn *fn = f ? scalar_fn(f) : NULL;
  return fn ? fn : chain_fn(l, e);
}

/* --- In the call's place -------------------------------------------------- */

/* What the named dimension is at the call: what the operand has where the
 * parameter has the name; `?` where none has the name alone, or where memory
 * ran out, which makes a type an error. */
static Dim dim_at_call(Lower *l, const Expr *e, const Fn *fn,
                       const TypeVar *var) {
  DimTable *dims = types_dims(l->code->program->types);
  Dim name = dim_named(dims, var->name, var);
  const Type *called = env_type(l->code, l->env, e->call.callee->type);
  for (int i = 0; i < fn->param_count; i++) {
    const Type *t = fn->params[i]->type;
    const Type *given = called->kind == TY_FN ? called->args[i] : called;
    if (t->kind != TY_TENSOR || given->kind != TY_TENSOR) continue;
    for (int k = 0; k < t->rank && k < given->rank; k++)
      if (dim_same(t->dims[k], name)) return given->dims[k];
  }
  return DIM_ANY;
}

/* A function without parameters in brackets sees the dimensions that are named
 * around it, as what states a derivative does. */
static const Env *env_inlined(Lower *l, const Expr *e, const Fn *fn) {
  if (fn->type_param_count == 0) return l->env;
  Env *env = env_new(l, fn->type_param_count);
  for (int i = 0; i < fn->type_param_count; i++) {
    const TypeVar *var = fn->type_vars[i];
    if (var->kind != KIND_DIM) continue;
    Dim dim = dim_at_call(l, e, fn, var);
    env_add(env, var, false, type_dim(l->code->program->types, dim), true);
  }
  return env;
}

Reg lower_inlined(Lower *l, const Expr *e, const Fn *fn, Reg dst) {
  const Type *type = e->call.callee->type;
  bool looks = types_need_check_out(l->code->program, type->result, e->type);
  Reg *regs = ARENA_ARRAY(l->arena, Reg, (size_t)e->count + 1);
  if (!regs) return lower_failed(l);
  for (int i = 0; i < e->count; i++) regs[i] = lower_argument(l, e, i, DST_ANY);
  for (int i = 0; i < e->count; i++)
    local_put(l, fn->params[i], LOCAL_REG)->reg = regs[i];
  const Env *outer = l->env;
  l->env = env_inlined(l, e, fn);
  Reg r = lower_expr(l, fn->body, looks ? DST_ANY : dst);
  l->env = outer;
  if (!looks) return r;
  l->span = e->span;
  return lower_finish(l, lower_call_result(l, e, r), dst);
}
