/* Which functions give their tuple back in parts.  A caller that wants it whole
 * puts the parts together, so nothing is gained where the function has it from
 * elsewhere: a list, a cell, a closure that it calls last.  It is worth while
 * when on every way to its end the function builds the tuple, or goes on as
 * another of which the same is true.
 *
 * Code is right whatever comes out here, since any tuple can be taken apart at
 * the end; but a closure that is called last gives back one value, so the
 * frame of a function that hands on parts would be kept for it. */
#include "interp/lower/lower.h"

/* Functions that go on as one another, at most; with more, none builds. */
enum { CHAIN_MOST = 64 };

typedef struct Ends {
  VEC(const Expr *) fns;   /* the one asked for, and what it goes on as */
  VEC(const Expr *) stack; /* expressions whose value is the result */
  PtrMap values;           /* Var -> what a let binds it to */
  bool builds, other;
} Ends;

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

static void end_in_block(Ends *n, const Block *b) {
  for (int i = 0; i < b->count; i++) {
    const Binding *let = &b->bindings[i];
    if (let->kind == BIND_LET) bind(n, let->var, let->value);
  }
  VEC_PUSH(&n->stack, b->result);
}

/* A variable that names a tuple just built is as good as that. */
static void end_in_var(Ends *n, const Var *v) {
  const Expr *value = v->lazy ? NULL : ptrmap_get(&n->values, v);
  if (value && value->kind == EX_TUPLE) n->builds = true;
  else if (value && value->kind == EX_CALL) end_in_call(n, value);
  else n->other = true;
}

static void end_in(Ends *n, const Expr *e) {
  switch ((ExprKind)e->kind) {
    case EX_TUPLE: n->builds = true; break;
    case EX_CALL: end_in_call(n, e); break;
    case EX_VAR: end_in_var(n, e->var); break;
    case EX_BLOCK: end_in_block(n, e->block); break;
    case EX_IF:
      VEC_PUSH(&n->stack, e->args[1]);
      VEC_PUSH(&n->stack, e->args[2]);
      break;
    case EX_MATCH:
      for (int i = 0; i < e->match->arm_count; i++)
        VEC_PUSH(&n->stack, e->match->arms[i].body);
      break;
    default: n->other = true; break;
  }
}

static void bind_group(Ends *n, const FnGroup *g) {
  for (int i = 0; g && i < g->count; i++)
    if (g->vars[i]) bind(n, g->vars[i], g->fns[i]);
}

static bool look(Code *c, const Function *f) {
  Ends n = {0};
  VEC_INIT(&n.fns, c->mem);
  VEC_INIT(&n.stack, c->mem);
  ptrmap_init(&n.values, c->mem);
  bind_group(&n, f->group);
  add_fn(&n, f->expr);
  for (size_t i = 0; i < n.fns.len && !n.other; i++) {
    VEC_PUSH(&n.stack, n.fns.data[i]->fn->body);
    while (n.stack.len) end_in(&n, VEC_POP(&n.stack));
  }
  VEC_DONE(&n.fns);
  VEC_DONE(&n.stack);
  ptrmap_done(&n.values);
  return n.builds && !n.other;
}

bool fn_builds_tuple(Code *c, const Function *f) {
  if (f->kind != FUNCTION_FN || f->expr->fn->body->type->kind != TY_TUPLE)
    return false;
  if (!ptrmap_has(&c->apart, f->expr))
    ptrmap_put(&c->apart, f->expr, look(c, f) ? (void *)f->expr : NULL);
  return ptrmap_get(&c->apart, f->expr) != NULL;
}
