/* Saturate: the rules of rly opt --rules by equality saturation (Tate et al.,
 * 2009; Willsey et al., egg, 2021).
 *
 *   (%x * 2f) / 2f                          greedy order:  multiply, shift ...
 *
 *   a graph of classes of equal expressions, whose nodes have classes as
 *   operands; a rule adds its right side to the class of its left side, and
 *   drops nothing, until none adds anything; then the cheapest expression of
 *   the class of the whole is taken
 *
 * What is rewritten is a region: calls of operators, tuples, names, constants
 * and the lets between them, which do nothing but give a value.  Each region
 * has a graph of its own.  A class has a variable, which its nodes' operands
 * use; the matcher (passes/rule_match) looks through variables at the values
 * that are known of them, so it matches a class by one of its nodes after
 * another, where the rule's left side has such an operator.
 *
 * Costs are sums of the operators' rows (ops/cost.h), or what the host has
 * measured (PassCall).  The cheapest node of a class is found as for trees; the
 * region is replaced only where what was found is cheaper as a graph, whose
 * shared parts are computed once. */
#include <string.h>

#include "base/clock.h"
#include "ops/cost.h"
#include "passes/cost.h"
#include "passes/egraph.h"

/* --- Regions -------------------------------------------------------------- */

enum { REGION_MOST = 400 }; /* nodes: what recurses over one is as deep */

static bool is_part(const Expr *e, int *left);

static bool are_parts(const Expr *e, int *left) {
  for (int i = 0; i < e->count; i++)
    if (!is_part(e->args[i], left)) return false;
  return true;
}

/* A let without a check of its value when it is bound. */
static bool is_plain_let(const Binding *b) {
  return b->kind == BIND_LET && !b->var->lazy && !b->var->is_dim &&
         b->var->param_count == 0 &&
         (!b->var->declared ||
          !types_need_check(b->value->type, b->var->declared));
}

static bool is_part(const Expr *e, int *left) {
  if (--*left < 0 || !e->type) return false;
  switch (e->kind) {
    case EX_VAR: return !e->var->lazy;
    case EX_CONST: return true;
    case EX_TUPLE:
    case EX_PROJ: return are_parts(e, left);
    case EX_CALL: return egraph_has_call(e) && are_parts(e, left);
    case EX_BLOCK:
      for (int i = 0; i < e->block->count; i++)
        if (!is_plain_let(&e->block->bindings[i]) ||
            !is_part(e->block->bindings[i].value, left))
          return false;
      return is_part(e->block->result, left);
    default: return false;
  }
}

static bool is_region(const Program *p, const Expr *e) {
  int left = REGION_MOST;
  bool whole = e->kind == EX_CALL || e->kind == EX_BLOCK || e->kind == EX_TUPLE;
  return whole && is_part(e, &left) && expr_is_pure(p, e);
}

/* --- Costs ---------------------------------------------------------------- */

enum {
  CALL = 100,   /* what a call costs beside its work */
  UNKNOWN = 64, /* the length of a dimension that only the run knows */
  PER_NS = 10,  /* operations and bytes, where a call cannot be measured */
  FLAT_MOST = 256
};

static int add_headers(const Type *t, Tensor *out, int n) {
  if (t->kind == TY_TUPLE) {
    for (int i = 0; i < t->count; i++) n = add_headers(t->args[i], out, n);
    return n;
  }
  if (t->kind != TY_TENSOR || t->any_rank || n >= FLAT_MOST) return n;
  int64_t shape[RANK_MAX];
  for (int i = 0; i < t->rank; i++)
    shape[i] = dim_is_number(t->dims[i]) ? dim_value(t->dims[i]) : UNKNOWN;
  out[n] = tensor_on_data((DType)t->dtype, t->rank, shape, NULL);
  return n + 1;
}

/* The type with numbers for the dimensions that only the run knows. */
static const Type *with_lengths(Program *p, const Type *t) {
  Dim dims[RANK_MAX];
  if (t->kind != TY_TENSOR || t->any_rank) return t;
  for (int i = 0; i < t->rank; i++)
    dims[i] = dim_is_number(t->dims[i]) ? t->dims[i] : dim_of(UNKNOWN);
  return type_tensor(p->types, (DType)t->dtype, t->rank, dims);
}

/* Of an operator of a text's own: what its body costs at these operands. */
static double own_cost(Program *p, const Expr *e) {
  Arena arena;
  Cost cost;
  double sum = CALL;
  arena_init(&arena, p->mem);
  const Expr **args = ARENA_ARRAY(&arena, const Expr *, (size_t)e->count + 1);
  Expr *call = arena_copy(&arena, e, sizeof *e);
  for (int i = 0; args && i < e->count; i++) {
    Var *var = var_for(p, &arena, e->args[i]);
    var->type = with_lengths(p, e->args[i]->type);
    args[i] = expr_use(&arena, e->span, var);
  }
  if (args && call) {
    call->args = args;
    cost_of(&cost, p, call, (CostValues){NULL, NULL});
    sum += CALL * cost.all.calls + cost.all.cost.flops + cost.all.cost.bytes;
    cost_done(&cost);
  }
  arena_done(&arena);
  return sum;
}

typedef struct Costing {
  Program *p;
  const PassCall *call;
} Costing;

/* As the rows say: operations and bytes. */
static double rows_cost(Program *p, const Expr *e, int count,
                        const Tensor *args) {
  const OpInfo *op = expr_operator(e);
  if (!op) return own_cost(p, e);
  Tensor outs[FLAT_MOST];
  int n = add_headers(e->type, outs, 0);
  OpCost cost = op_cost(op, e->call.bound, count, args, n, outs);
  return CALL + cost.flops + cost.bytes;
}

static double node_cost(void *data, const Expr *e) {
  const Costing *costing = data;
  const PassCall *call = costing->call;
  if (e->kind != EX_CALL) return 0;
  Tensor args[FLAT_MOST];
  int n = 0;
  for (int i = 0; i < e->count; i++) n = add_headers(e->args[i]->type, args, n);
  if (!call->measure) return rows_cost(costing->p, e, n, args);
  double ns = call->measure(call->measure_data, costing->p, e, n, args);
  return ns < 0 ? rows_cost(costing->p, e, n, args) / PER_NS : ns;
}

/* --- The pass ------------------------------------------------------------- */

typedef struct Saturation {
  const Rule *rules; /* those that may be applied */
  int count;
  OwnReach reach;
  Rule *allowed; /* within the definition at hand */
} Saturation;

/* Does the expression call an operator that the rule introduces? */
static bool calls_introduced(Program *p, const Rule *rule, const Expr *e) {
  ExprWalk w;
  bool found = false;
  if (rule->own_count == 0) return false;
  expr_walk_start(&w, p->mem, WALK_ENTER, e);
  while (!found && expr_walk_next(&w))
    for (int i = 0; i < rule->own_count; i++)
      found |= rule->own[i].found == expr_own(w.at);
  expr_walk_end(&w);
  return found;
}

static const Expr *saturated(Saturation *s, Program *p, Arena *arena,
                             const Expr *e) {
  EGraph g;
  Costing costing = {p, p->passing};
  int allowed = 0;
  for (int i = 0; i < s->count; i++)
    if (own_reach_allows(&s->reach, &s->rules[i]))
      s->allowed[allowed++] = s->rules[i];
  double until = 1e3 * clock_seconds() + (double)pass_arg(p, 2);
  const Expr *made = NULL;
  egraph_start(&g, p, arena, (int)pass_arg(p, 0));
  int root = egraph_add(&g, e);
  if (root >= 0) {
    double before = egraph_cost(&g, root, node_cost, &costing);
    for (int64_t i = 0; i < pass_arg(p, 1) && 1e3 * clock_seconds() < until;
         i++)
      if (!egraph_round(&g, allowed, s->allowed)) break;
    double after = egraph_cost(&g, root, node_cost, &costing);
    if (after < before) made = egraph_best(&g, root, e->span);
  }
  egraph_end(&g);
  bool fits = made && made->type == e->type;
  if (!fits || !pass_may_replace(p, NULL, e, made)) return NULL;
  for (int i = 0; i < allowed; i++)
    if (calls_introduced(p, &s->allowed[i], made))
      own_reach_note(&s->reach, &s->allowed[i]);
  return made;
}

static const Expr *saturate(void *data, Program *p, Arena *arena,
                            const Expr *e) {
  ExprMap m;
  expr_map_start(&m, p->mem, arena, e);
  while (expr_map_next(&m)) {
    const Expr *at = m.walk.at;
    if (m.walk.event != WALK_ENTER || m.walk.role == ROLE_CALLEE ||
        !is_region(p, at))
      continue;
    const Expr *made = saturated(data, p, arena, at);
    expr_map_put(&m, made ? made : at);
  }
  return expr_map_end(&m);
}

Pass pass_saturate;

Unit *pass_saturate(Program *p, Unit *unit) {
  const RuleList *list = &p->passing->rules;
  size_t room = (size_t)list->count + 1;
  Rule *rules = ARENA_ARRAY(&unit->arena, Rule, room);
  Saturation s = {.rules = rules,
                  .allowed = ARENA_ARRAY(&unit->arena, Rule, room)};
  if (!rules || !s.allowed) return NULL;
  own_reach_start(&s.reach, p);
  for (int i = 0; i < list->count; i++) {
    rules[s.count] = rule_of(p->mem, list->items[i]);
    if (!rule_may_apply(p, &rules[s.count])) continue;
    own_reach_add(&s.reach, &rules[s.count]);
    s.count++;
  }
  if (s.count) unit = unit_rewrite_with(p, unit, saturate, &s);
  own_reach_end(&s.reach);
  return unit;
}
