/* The cost of an expression by abstract interpretation (Cousot and Cousot,
 * 1977): the checked expression is evaluated with types for values, and each
 * call of an operator is logged with the numbers that its row gives
 * (ops/cost.h).  Where a function's type leaves shapes open, the operators' own
 * rules compute the results' types.
 *
 *   def @f(%x: Tensor[(?, 4), float32]) { nn.dense(%x, @w) }
 *   @f(ones(shape=[8, 4], ...))      evaluates the body with %x: (8, 4)
 *
 * This is an evaluator, not a traversal: each expression returns a type, a call
 * enters the callee's body, and branches are compared.  So it recurses itself
 * and does not use ir/walk.h.  Three bounds keep it finite and within the C
 * stack: the depth of expressions, the number of nodes looked at (bodies are
 * entered again at each call, so their number may be exponential in the text),
 * and the number of calls under way.  What they cut off is noted in the Cost,
 * never guessed.
 *
 * A function is not entered while it is being evaluated: how often it recurs
 * depends on values. */
#include "passes/cost.h"

#include <stdlib.h>
#include <string.h>

#include "passes/calls.h"

enum { DEEP = 1000, CALLS_MOST = 64, NODES_MOST = 1000000, PARTS_MOST = 64 };

/* The evaluation. */
typedef struct Walk {
  const Program *p;
  CostValues values;
  Cost *cost;
  Arena arena;
  PtrMap types;  /* Var -> Type, where more is known than the Var says */
  PtrMap bodies; /* Var -> the EX_FN that it is */
  const Expr *active[CALLS_MOST]; /* the functions around */
  int active_count, depth, nodes;
} Walk;

static const Type *walk(Walk *c, const Expr *e);

/* --- Shapes --------------------------------------------------------------- */

static bool is_known(const Type *t) {
  if (t->kind == TY_TUPLE) {
    for (int i = 0; i < t->count; i++)
      if (!is_known(t->args[i])) return false;
    return true;
  }
  if (t->kind != TY_TENSOR) return false;
  for (int i = 0; i < t->rank; i++)
    if (!dim_is_number(t->dims[i])) return false;
  return true;
}

/* What an operator gives for operands of these types.  A type that is known
 * already is kept, as inference may know more than the rule can tell from
 * shapes, such as the value of an attribute. */
static const Type *op_result(Walk *c, const Expr *e, const Type **args) {
  RuleCall call = {.op = op_info(e->call.callee->op),
                   .attrs = e->call.bound,
                   .dims = types_dims(c->p->types),
                   .arena = &c->arena,
                   .count = e->count,
                   .culprit = -1,
                   .other = -1};
  call.args = ARENA_ARRAY(&c->arena, RuleType, (size_t)e->count + 1);
  if (!call.args) return e->type;
  for (int i = 0; i < e->count; i++)
    rule_type_of(&c->arena, args[i], &call.args[i]);
  if (is_known(e->type) || rule_try(&call) != RULE_OK) return e->type;
  const Type *made = type_of_rule(c->p->types, &c->arena, &call.result);
  return made ? made : e->type;
}

/* --- Operators ------------------------------------------------------------ */

/* The headers of all tensors in a type; gives how many there are now.  A header
 * has no data: costs depend on shapes and dtypes.  Operands beyond PARTS_MOST,
 * of a long tuple, are left out. */
static int add_headers(const Type *t, Tensor *to, int n) {
  if (t->kind == TY_TUPLE)
    for (int i = 0; i < t->count; i++) n = add_headers(t->args[i], to, n);
  else if (n < PARTS_MOST) {
    int64_t shape[RANK_MAX];
    shape_of_dims(t->rank, t->dims, shape);
    to[n++] = tensor_on_data((DType)t->dtype, t->rank, shape, NULL);
  }
  return n;
}

/* An operator whose shapes are not all known is counted as unknown and adds
 * nothing.  Special operators, such as print, have no cost in a table. */
static void spend(Walk *c, const Expr *e, const Type **args,
                  const Type *result) {
  const OpInfo *op = op_info(e->call.callee->op);
  Tensor *in = ARENA_ARRAY(&c->arena, Tensor, PARTS_MOST);
  Tensor *out = ARENA_ARRAY(&c->arena, Tensor, PARTS_MOST);
  bool known = is_known(result);
  int n = 0;
  if (!in || !out) return;
  for (int i = 0; i < e->count && known; i++) known = is_known(args[i]);
  c->cost->unknown += !known && op->storage != STORE_SPECIAL;
  if (!known || op->storage == STORE_SPECIAL) return;
  for (int i = 0; i < e->count; i++) n = add_headers(args[i], in, n);
  int made = add_headers(result, out, 0);
  OpCost cost = op_cost(op, e->call.bound, n, in, made, out);
  VEC_PUSH(&c->cost->rows, (CostRow){.op = op, .calls = 1, .cost = cost});
}

/* The types of a node's arguments; NULL when memory is short. */
static const Type **walk_args(Walk *c, const Expr *e) {
  const Type **args =
      ARENA_ARRAY(&c->arena, const Type *, (size_t)e->count + 1);
  for (int i = 0; args && i < e->count; i++) args[i] = walk(c, e->args[i]);
  return args;
}

static const Type *walk_op(Walk *c, const Expr *e) {
  const Type **args = walk_args(c, e);
  if (!args) return e->type;
  const Type *result = op_result(c, e, args);
  spend(c, e, args, result);
  return result;
}

/* --- Calls ---------------------------------------------------------------- */

/* Also true where no more calls are looked at. */
static bool is_active(const Walk *c, const Expr *fn) {
  for (int i = 0; i < c->active_count; i++)
    if (c->active[i] == fn) return true;
  return c->active_count == CALLS_MOST;
}

/* Arguments are known by now.  The parameters' types are put for good: the next
 * call of the function overwrites them, and a closure that is entered later
 * sees the last ones, an estimate. */
static const Type *enter(Walk *c, const Expr *e, const Expr *fn,
                         const Type **args) {
  if (is_active(c, fn)) {
    c->cost->recursive++;
    return e->type;
  }
  for (int i = 0; i < e->count && i < fn->fn->param_count; i++)
    ptrmap_put(&c->types, fn->fn->params[i], (void *)(uintptr_t)args[i]);
  c->active[c->active_count++] = fn;
  const Type *result = walk(c, fn->fn->body);
  c->active_count--;
  return is_known(e->type) || result->has_var ? e->type : result;
}

/* The function that is called, or NULL.  Known are literals, lets of literals,
 * and definitions; all else may be any function. */
static const Expr *body_of(const Walk *c, const Expr *callee) {
  if (callee->kind == EX_FN) return callee;
  if (callee->kind == EX_VAR) return ptrmap_get(&c->bodies, callee->var);
  const Expr *value =
      callee->kind == EX_GLOBAL ? callee->g.global->value : NULL;
  return value && value->kind == EX_FN ? value : NULL;
}

/* A function that is passed on is counted as a value, since how often its
 * callee calls it is not known. */
static const Type *walk_call(Walk *c, const Expr *e) {
  const Expr *callee = e->call.callee;
  if (callee->kind == EX_OP) return walk_op(c, e);
  const Type **args = walk_args(c, e);
  for (int i = 0; i < e->count; i++)
    c->cost->values += e->args[i]->kind == EX_FN;
  if (callee->kind == EX_CTOR || !args) return e->type;
  const Expr *fn = body_of(c, callee);
  if (fn) return enter(c, e, fn, args);
  c->cost->values++;
  return e->type;
}

/* --- Branches ------------------------------------------------------------- */

static double worth(const Walk *c, size_t from, size_t to) {
  double sum = 0;
  for (size_t i = from; i < to; i++)
    sum += c->cost->rows.data[i].cost.flops + c->cost->rows.data[i].cost.bytes;
  return sum;
}

/* Keeps the dearer of two branches: of what was logged from `first` to
 * `second`, and of what was logged from there on.  The rows are a log in the
 * order of evaluation, so a branch is a range of it. */
static void keep_dearer(Walk *c, size_t first, size_t second) {
  size_t end = c->cost->rows.len;
  c->cost->branches = true;
  if (worth(c, first, second) >= worth(c, second, end)) {
    c->cost->rows.len = second;
    return;
  }
  memmove(c->cost->rows.data + first, c->cost->rows.data + second,
          (end - second) * sizeof *c->cost->rows.data);
  c->cost->rows.len = first + end - second;
}

/* The branches' types may differ in what is known of them; then inference's
 * type stands. */
static const Type *walk_if(Walk *c, const Expr *e) {
  walk(c, e->args[0]);
  size_t first = c->cost->rows.len;
  const Type *result = walk(c, e->args[1]);
  size_t second = c->cost->rows.len;
  const Type *other = walk(c, e->args[2]);
  keep_dearer(c, first, second);
  return result == other ? result : e->type;
}

/* The rows of a guard count with what was kept of the arms before it. */
static const Type *walk_match(Walk *c, const Expr *e) {
  walk(c, e->args[0]);
  size_t first = c->cost->rows.len;
  for (int i = 0; i < e->match->arm_count; i++) {
    if (e->match->arms[i].shares) continue;
    if (e->match->arms[i].guard) walk(c, e->match->arms[i].guard);
    size_t second = c->cost->rows.len;
    walk(c, e->match->arms[i].body);
    if (i) keep_dearer(c, first, second);
  }
  return e->type;
}

/* --- Expressions ---------------------------------------------------------- */

static const Type *walk_block(Walk *c, const Block *b) {
  for (int i = 0; i < b->count; i++) {
    const Binding *x = &b->bindings[i];
    if (!x->value) continue;
    const Type *t = walk(c, x->value);
    if (!x->var) continue;
    ptrmap_put(&c->types, x->var, (void *)(uintptr_t)t);
    if (x->value->kind == EX_FN)
      ptrmap_put(&c->bodies, x->var, (void *)(uintptr_t)x->value);
  }
  return walk(c, b->result);
}

static const Type *walk_tuple(Walk *c, const Expr *e) {
  const Type **fields = walk_args(c, e);
  return fields ? type_tuple(c->p->types, e->count, fields) : e->type;
}

/* What was entered before has a shape, also where its type leaves it open. */
static const Type *type_of_global(const Walk *c, const Expr *e) {
  Dim dims[RANK_MAX];
  if (e->type->kind != TY_TENSOR || is_known(e->type)) return e->type;
  const Tensor *t = c->values.find(c->values.data, e->g.global);
  if (!t) return e->type;
  dims_of_shape(t->rank, t->shape, dims);
  return type_tensor(c->p->types, (DType)t->dtype, t->rank, dims);
}

static const Type *walk_kind(Walk *c, const Expr *e) {
  const Type *t;
  switch (e->kind) {
    case EX_VAR: t = ptrmap_get(&c->types, e->var); return t ? t : e->type;
    case EX_GLOBAL: return type_of_global(c, e);
    case EX_TUPLE: return walk_tuple(c, e);
    case EX_PROJ:
      t = walk(c, e->args[0]);
      return t->kind == TY_TUPLE ? t->args[e->index] : e->type;
    case EX_CALL: return walk_call(c, e);
    case EX_BLOCK: return walk_block(c, e->block);
    case EX_IF: return walk_if(c, e);
    case EX_MATCH: return walk_match(c, e);
    case EX_LIST:
    case EX_REF:
    case EX_READ:
    case EX_WRITE:
      for (int i = 0; i < e->count; i++) walk(c, e->args[i]);
      return e->type;
    default: return e->type;
  }
}

/* The types are interned, so a result is a pointer, and equal types are equal
 * pointers. */
static const Type *walk(Walk *c, const Expr *e) {
  if (c->depth == DEEP || c->nodes == NODES_MOST) {
    c->cost->cut = true;
    return e->type;
  }
  c->depth++;
  c->nodes++;
  const Type *t = walk_kind(c, e);
  c->depth--;
  return t;
}

/* --- By operator ---------------------------------------------------------- */

static int by_operator(const void *a, const void *b) {
  const CostRow *x = a, *y = b;
  return (x->op > y->op) - (x->op < y->op);
}

static int by_flops(const void *first, const void *second) {
  const CostRow *x = first, *y = second;
  const OpCost *a = &x->cost, *b = &y->cost;
  if (a->flops != b->flops) return a->flops > b->flops ? -1 : 1;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  return by_operator(first, second);
}

static void add_row(CostRow *to, const CostRow *s) {
  to->calls += s->calls;
  to->cost.flops += s->cost.flops;
  to->cost.bytes += s->cost.bytes;
  to->cost.allocated += s->cost.allocated;
}

/* A row for each operator, the dearest first.  Sorting twice costs n log n of
 * the calls; there may be a million of these, and the operators are some
 * hundreds. */
void cost_sum(Cost *cost) {
  size_t kept = 0;
  CostRow *s = cost->rows.data;
  if (cost->rows.len) qsort(s, cost->rows.len, sizeof *s, by_operator);
  for (size_t i = 0; i < cost->rows.len; i++)
    if (kept && s[kept - 1].op == s[i].op) add_row(&s[kept - 1], &s[i]);
    else s[kept++] = s[i];
  cost->rows.len = kept;
  if (kept) qsort(s, kept, sizeof *s, by_flops);
  for (size_t i = 0; i < kept; i++) add_row(&cost->all, &s[i]);
}

void cost_init(Cost *cost, Mem *mem) {
  *cost = (Cost){.unknown = 0};
  VEC_INIT(&cost->rows, mem);
}

/* Few operators occur in a program, however often. */
void cost_add(Cost *cost, const OpInfo *op, OpCost of) {
  CostRow row = {.op = op, .calls = 1, .cost = of};
  for (size_t i = 0; i < cost->rows.len; i++) {
    if (cost->rows.data[i].op != op) continue;
    add_row(&cost->rows.data[i], &row);
    return;
  }
  VEC_PUSH(&cost->rows, row);
}

void cost_of(Cost *cost, const Program *p, const Expr *e, CostValues values) {
  Walk c = {.p = p, .values = values, .cost = cost};
  cost_init(cost, p->mem);
  arena_init(&c.arena, p->mem);
  ptrmap_init(&c.types, p->mem);
  ptrmap_init(&c.bodies, p->mem);
  walk(&c, e);
  cost_sum(cost);
  ptrmap_done(&c.bodies);
  ptrmap_done(&c.types);
  arena_done(&c.arena);
}

void cost_done(Cost *cost) { VEC_DONE(&cost->rows); }
