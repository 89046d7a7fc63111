/* Which functions return a tuple unboxed, its fields in registers.  A caller
 * that wants the tuple itself builds it then, so nothing is gained where the
 * function has it from elsewhere: from a list, a cell, a closure that it calls
 * last.  It pays when on every way to its end the function builds the tuple, or
 * goes on as another of which the same is true.
 *
 * This is about speed alone: code is right either way, since the fields of any
 * tuple can be read at the end.  But a closure that is called last returns one
 * value, so the frame of a function that returns unboxed would be kept for it;
 * a function that may end so does not. */
#include "bytecode/lower/lower.h"
#include "ir/walk.h"

/* Functions that go on as one another, at most; with more, none builds. */
enum { CHAIN_MOST = 64 };

typedef struct Ends {
  VEC(const Expr *) fns; /* the one asked for, and what it goes on as */
  PtrMap values;         /* Var -> what a let binds it to */
  bool builds, other;
} Ends;

/* Each function is looked at once, so calls in circles end. */
static void add_fn(Ends *n, const Expr *fn) {
  for (size_t i = 0; i < n->fns.len; i++)
    if (n->fns.data[i] == fn) return;
  n->other |= n->fns.len == CHAIN_MOST;
  VEC_PUSH(&n->fns, fn);
}

/* The fn that is called, where lowering knows it, too. */
static const Expr *called_fn(const Ends *n, const Expr *callee) {
  if (callee->kind == EX_GLOBAL) {
    const Global *g = callee->g.global;
    bool known = g->kind != GLOBAL_PARAM && g->value->kind == EX_FN;
    return known ? g->value : NULL;
  }
  if (callee->kind != EX_VAR || callee->var->lazy) return NULL;
  const Expr *value = ptrmap_get(&n->values, callee->var);
  bool known =
      value && value->kind == EX_FN && !var_is_general(callee->var, value);
  return known ? value : NULL;
}

/* An operator's tuple is built of its results; `fail` has none. */
static void end_in_call(Ends *n, const Expr *e) {
  const Expr *callee = e->call.callee;
  if (callee->kind == EX_OP) {
    n->builds |= op_info(callee->op)->storage != STORE_SPECIAL;
    return;
  }
  const Expr *fn = called_fn(n, callee);
  if (fn) add_fn(n, fn);
  else n->other = true;
}

static void bind(Ends *n, const Var *v, const Expr *value) {
  ptrmap_put(&n->values, v, (Expr *)value);
}

/* A variable that names a tuple just built is as good as that. */
static void end_in_var(Ends *n, const Var *v) {
  const Expr *value = v->lazy ? NULL : ptrmap_get(&n->values, v);
  if (value && value->kind == EX_TUPLE) n->builds = true;
  else if (value && value->kind == EX_CALL) end_in_call(n, value);
  else n->other = true;
}

/* Goes down to the expressions whose value is the result. */
static void end_in_body(Ends *n, Mem *mem, const Expr *body) {
  ExprWalk w;
  expr_walk_start(&w, mem, WALK_ENTER, body);
  while (expr_walk_next(&w)) {
    const Expr *e = w.at;
    bool ends = e == body || expr_walk_is_tail(&w);
    if (ends && expr_has_tail(e)) continue;
    expr_walk_skip(&w);
    if (expr_walk_is_value(&w, BIND_LET))
      bind(n, expr_walk_binding(&w)->var, e);
    if (!ends) continue;
    switch ((ExprKind)e->kind) {
      case EX_TUPLE: n->builds = true; break;
      case EX_CALL: end_in_call(n, e); break;
      case EX_VAR: end_in_var(n, e->var); break;
      default: n->other = true; break;
    }
  }
  n->other |= !expr_walk_end(&w);
}

static void bind_group(Ends *n, const FnGroup *g) {
  for (int i = 0; g && i < g->count; i++)
    if (g->vars[i]) bind(n, g->vars[i], g->fns[i]);
}

static bool look(Code *c, const Function *f) {
  Ends n = {0};
  VEC_INIT(&n.fns, c->mem);
  ptrmap_init(&n.values, c->mem);
  bind_group(&n, f->key.group);
  add_fn(&n, f->key.expr);
  for (size_t i = 0; i < n.fns.len && !n.other; i++)
    end_in_body(&n, c->mem, n.fns.data[i]->fn->body);
  VEC_DONE(&n.fns);
  ptrmap_done(&n.values);
  return n.builds && !n.other;
}

/* The answer is kept by the function's expression, for all its instances. */
bool fn_builds_tuple(Code *c, const Function *f) {
  if (f->key.kind != FUNCTION_FN ||
      f->key.expr->fn->body->type->kind != TY_TUPLE)
    return false;
  if (!ptrmap_has(&c->builds_tuple, f->key.expr))
    ptrmap_put(&c->builds_tuple, f->key.expr,
               look(c, f) ? (void *)f->key.expr : NULL);
  return ptrmap_get(&c->builds_tuple, f->key.expr) != NULL;
}
