/* EliminateCommonSubexpr: a `let` that computes what one in scope has computed
 * becomes its name.
 *
 *   let %a = %x + 1f;          let %a = %x + 1f;
 *   let %b = %x + 1f;    ==>   let %b = %a;
 *   %a * %b                    %a * %b
 *
 * Only calls of operators on names and constants are compared, and only where
 * they do nothing but give a value: what reads a cell may read something else,
 * and what prints or fails does so twice.  Floats that may have adjoints stay
 * apart (expr_has_adjoint).  A name is in scope where its block
 * goes on, so nothing moves between branches.  ToANormalForm before this pass
 * gives all operands names.
 *
 * The table is a hash of the call's operator and operands; what leaves scope is
 * taken out, so the pass is linear. */
#include "base/hash.h"
#include "ops/ops.h"
#include "passes/calls.h"

enum { CHAIN = 32 }; /* calls of one hash that are compared */

typedef struct Seen {
  const Expr *call;
  Var *var;
  struct Seen *next; /* of the same hash, the newest first */
  struct Seen *up;   /* the one before in order of binding */
  uintptr_t hash;
} Seen;

typedef struct Common {
  Program *p;
  Arena *arena;
  PtrMap table; /* hash -> Seen */
  PtrMap alias; /* Var -> the one whose value it has */
  Seen *last;
} Common;

/* The identity of a name or a constant; NULL: it is computed. */
static const void *identity(const Common *c, const Expr *e) {
  const Var *alias = e->kind == EX_VAR ? ptrmap_get(&c->alias, e->var) : NULL;
  switch (e->kind) {
    case EX_VAR: return e->var->lazy ? NULL : alias ? alias : e->var;
    case EX_GLOBAL: return e->g.global;
    case EX_CONST: return e->constant;
    default: return NULL;
  }
}

/* A key that is no NULL, since the table is of pointers; 0: not to be shared.
 */
static uintptr_t call_hash(const Common *c, const Expr *e) {
  if (!expr_operator(e) || e->targ_count || e->type->kind != TY_TENSOR ||
      attrs_have_operands(e->call.bound) || expr_has_adjoint(c->p, e))
    return 0;
  uint64_t hash = (uint64_t)e->call.callee->op + 1;
  for (int i = 0; i < e->count; i++) {
    const void *part = identity(c, e->args[i]);
    if (!part) return 0;
    if (e->args[i]->kind == EX_CONST) part = NULL;
    hash = (hash ^ (uintptr_t)part) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return expr_is_pure(c->p, e) ? (uintptr_t)hash | 1 : 0;
}

static bool same_call(Common *c, const Expr *a, const Expr *b) {
  if (a->call.callee->op != b->call.callee->op || a->count != b->count ||
      a->type != b->type)
    return false;
  for (int i = 0; i < a->count; i++)
    if (a->args[i]->kind != b->args[i]->kind ||
        (a->args[i]->kind == EX_CONST
             ? !expr_equal(c->p->mem, a->args[i], b->args[i])
             : identity(c, a->args[i]) != identity(c, b->args[i])))
      return false;
  return calls_same_attrs(c->p, c->arena, a, b);
}

static Var *find_same(Common *c, const Expr *e, uintptr_t hash) {
  const Seen *s = ptrmap_get(&c->table, (const void *)hash);
  for (int i = 0; s && i < CHAIN; i++, s = s->next)
    if (same_call(c, s->call, e)) return s->var;
  return NULL;
}

static void add(Common *c, Var *var, const Expr *call, uintptr_t hash) {
  Seen *s = ARENA_NEW(c->arena, Seen);
  if (!s) return;
  *s = (Seen){call, var, ptrmap_get(&c->table, (const void *)hash), c->last,
              hash};
  ptrmap_put(&c->table, (const void *)hash, s);
  c->last = s;
}

/* Scopes end in the reverse order. */
static void forget(Common *c, const Var *var) {
  if (!c->last || c->last->var != var) return;
  ptrmap_put(&c->table, (const void *)c->last->hash, c->last->next);
  c->last = c->last->up;
}

Rewrite pass_common_subexpr;

const Expr *pass_common_subexpr(Program *p, Arena *arena, const Expr *e) {
  Common c = {.p = p, .arena = arena};
  ExprMap m;
  ptrmap_init(&c.table, p->mem);
  ptrmap_init(&c.alias, p->mem);
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    const ExprWalk *w = &m.walk;
    if (w->event == WALK_UNBIND) forget(&c, w->var);
    if (w->event == WALK_BIND && w->binding && w->binding->kind == BIND_LET &&
        w->var && !w->var->lazy && w->binding->value) {
      const Expr *value = w->binding->value;
      uintptr_t hash = call_hash(&c, value);
      if (hash && !find_same(&c, value, hash)) add(&c, w->var, value, hash);
    }
    if (w->event != WALK_LEAVE || !expr_walk_is_value(w, BIND_LET)) continue;
    uintptr_t hash = call_hash(&c, w->at);
    Var *var = hash ? find_same(&c, w->at, hash) : NULL;
    const Expr *use = var ? expr_use(arena, w->at->span, var) : NULL;
    if (!use || !pass_may_replace(p, NULL, m.made, use)) continue;
    ptrmap_put(&c.alias, expr_walk_binding(w)->var, var);
    expr_map_put(&m, use);
  }
  e = expr_map_end(&m);
  ptrmap_done(&c.table);
  ptrmap_done(&c.alias);
  return e;
}
