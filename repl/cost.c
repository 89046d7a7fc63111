/* :cost, what evaluating an expression will amount to: operations, bytes moved,
 * bytes allocated, by the shapes that are known before anything runs.  The
 * checked expression is walked with types for values; the operators' own rules
 * say what comes of them where a function's type leaves shapes open. */
#include <stdlib.h>
#include <string.h>

#include "lib/handles.h"
#include "ops/cost.h"
#include "repl/repl.h"

enum { DEEP = 1000, CALLS_MOST = 64, NODES_MOST = 1000000, PARTS_MOST = 64 };

/* One operator's call. */
typedef struct Spent {
  const OpInfo *op;
  double calls, flops, bytes, allocated;
} Spent;

typedef struct Cost {
  const Program *p;
  const Session *session;
  Arena arena;
  PtrMap types;  /* Var -> Type, where more is known than the Var says */
  PtrMap bodies; /* Var -> the EX_FN that it is */
  VEC(Spent) log;
  const Expr *active[CALLS_MOST]; /* the functions around */
  int active_count, depth, nodes;
  /* What the sums leave out. */
  int unknown, recursive, values;
  bool branches, cut;
} Cost;

static const Type *walk(Cost *c, const Expr *e);

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

static void to_rule(Cost *c, const Type *t, RuleType *out) {
  *out = (RuleType){.kind = RT_OTHER, .dtype = DTYPE_NONE, .rank = -1};
  if (t->kind == TY_VAR) out->kind = RT_UNKNOWN;
  if (t->kind == TY_TENSOR) {
    out->kind = RT_TENSOR;
    out->dtype = (DType)t->dtype;
    out->rank = t->rank;
    for (int i = 0; i < t->rank; i++) out->dims[i] = t->dims[i];
  } else if (t->kind == TY_TUPLE) {
    out->fields = ARENA_ARRAY(&c->arena, RuleType, (size_t)t->count + 1);
    if (!out->fields) return;
    out->kind = RT_TUPLE;
    out->count = t->count;
    for (int i = 0; i < t->count; i++) to_rule(c, t->args[i], &out->fields[i]);
  }
}

/* NULL: the rule could not say. */
static const Type *from_rule(Cost *c, const RuleType *t) {
  TypeTable *types = c->p->types;
  if (t->kind == RT_TENSOR && t->dtype != DTYPE_NONE && t->rank >= 0)
    return type_tensor(types, t->dtype, t->rank, t->dims);
  if (t->kind != RT_TUPLE) return NULL;
  const Type **fields =
      ARENA_ARRAY(&c->arena, const Type *, (size_t)t->count + 1);
  for (int i = 0; fields && i < t->count; i++)
    if (!(fields[i] = from_rule(c, &t->fields[i]))) return NULL;
  return fields ? type_tuple(types, t->count, fields) : NULL;
}

/* What an operator gives for operands of these types. */
static const Type *op_result(Cost *c, const Expr *e, const Type **args) {
  RuleCall call = {.op = op_info(e->call.callee->op),
                   .attrs = e->call.bound,
                   .dims = types_dims(c->p->types),
                   .arena = &c->arena,
                   .count = e->count,
                   .culprit = -1,
                   .other = -1};
  call.args = ARENA_ARRAY(&c->arena, RuleType, (size_t)e->count + 1);
  if (!call.args) return e->type;
  for (int i = 0; i < e->count; i++) to_rule(c, args[i], &call.args[i]);
  if (is_known(e->type) || rule_run(&call) != RULE_OK) return e->type;
  const Type *made = from_rule(c, &call.result);
  return made ? made : e->type;
}

/* --- Operators ------------------------------------------------------------ */

/* The headers of all tensors in a type; gives how many there are now. */
static int add_headers(const Type *t, Tensor *to, int n) {
  if (t->kind == TY_TUPLE)
    for (int i = 0; i < t->count; i++) n = add_headers(t->args[i], to, n);
  else if (n < PARTS_MOST)
    to[n++] = tensor_on_data((DType)t->dtype, t->rank, t->dims, NULL);
  return n;
}

/* A scalar takes no memory of its own. */
static double bytes_of(const Tensor *t, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++)
    if (t[i].rank)
      sum += (double)tensor_count(&t[i]) * (double)dtype_size(t[i].dtype);
  return sum;
}

static void spend(Cost *c, const Expr *e, const Type **args,
                  const Type *result) {
  const OpInfo *op = op_info(e->call.callee->op);
  Tensor *in = ARENA_ARRAY(&c->arena, Tensor, PARTS_MOST);
  Tensor *out = ARENA_ARRAY(&c->arena, Tensor, PARTS_MOST);
  bool known = is_known(result);
  int n = 0;
  if (!in || !out) return;
  for (int i = 0; i < e->count && known; i++) known = is_known(args[i]);
  c->unknown += !known && op->storage != STORE_SPECIAL;
  if (!known || op->storage == STORE_SPECIAL) return;
  for (int i = 0; i < e->count; i++) n = add_headers(args[i], in, n);
  int made = add_headers(result, out, 0);
  Spent s = {.op = op, .calls = 1};
  if (op->storage != STORE_VIEW && made) {
    s.flops = op_flops(op, e->call.bound, n, in, &out[0]);
    s.allocated = bytes_of(out, made);
    s.bytes = bytes_of(in, n) + s.allocated;
  }
  VEC_PUSH(&c->log, s);
}

/* The types of a node's arguments; NULL when memory is short. */
static const Type **walk_args(Cost *c, const Expr *e) {
  const Type **args =
      ARENA_ARRAY(&c->arena, const Type *, (size_t)e->count + 1);
  for (int i = 0; args && i < e->count; i++) args[i] = walk(c, e->args[i]);
  return args;
}

static const Type *walk_op(Cost *c, const Expr *e) {
  const Type **args = walk_args(c, e);
  if (!args) return e->type;
  const Type *result = op_result(c, e, args);
  spend(c, e, args, result);
  return result;
}

/* --- Calls ---------------------------------------------------------------- */

static bool is_active(const Cost *c, const Expr *fn) {
  for (int i = 0; i < c->active_count; i++)
    if (c->active[i] == fn) return true;
  return c->active_count == CALLS_MOST;
}

/* Arguments are known by now. */
static const Type *enter(Cost *c, const Expr *e, const Expr *fn,
                         const Type **args) {
  if (is_active(c, fn)) {
    c->recursive++;
    return e->type;
  }
  for (int i = 0; i < e->count && i < fn->fn->param_count; i++)
    ptrmap_put(&c->types, fn->fn->params[i], (void *)(uintptr_t)args[i]);
  c->active[c->active_count++] = fn;
  const Type *result = walk(c, fn->fn->body);
  c->active_count--;
  return is_known(e->type) || result->has_var ? e->type : result;
}

/* The function that is called, or NULL. */
static const Expr *body_of(const Cost *c, const Expr *callee) {
  if (callee->kind == EX_FN) return callee;
  if (callee->kind == EX_VAR) return ptrmap_get(&c->bodies, callee->var);
  const Expr *value =
      callee->kind == EX_GLOBAL ? callee->g.global->value : NULL;
  return value && value->kind == EX_FN ? value : NULL;
}

static const Type *walk_call(Cost *c, const Expr *e) {
  const Expr *callee = e->call.callee;
  if (callee->kind == EX_OP) return walk_op(c, e);
  const Type **args = walk_args(c, e);
  for (int i = 0; i < e->count; i++) c->values += e->args[i]->kind == EX_FN;
  if (callee->kind == EX_CTOR || !args) return e->type;
  const Expr *fn = body_of(c, callee);
  if (fn) return enter(c, e, fn, args);
  c->values++;
  return e->type;
}

/* --- Branches ------------------------------------------------------------- */

static double worth(const Cost *c, size_t from, size_t to) {
  double sum = 0;
  for (size_t i = from; i < to; i++)
    sum += c->log.data[i].flops + c->log.data[i].bytes;
  return sum;
}

/* Of what was logged from `first` to `second`, and from there on, the dearer
 * stays. */
static void keep_dearer(Cost *c, size_t first, size_t second) {
  size_t end = c->log.len;
  c->branches = true;
  if (worth(c, first, second) >= worth(c, second, end)) {
    c->log.len = second;
    return;
  }
  memmove(c->log.data + first, c->log.data + second,
          (end - second) * sizeof *c->log.data);
  c->log.len = first + end - second;
}

static const Type *walk_if(Cost *c, const Expr *e) {
  walk(c, e->args[0]);
  size_t first = c->log.len;
  const Type *result = walk(c, e->args[1]);
  size_t second = c->log.len;
  const Type *other = walk(c, e->args[2]);
  keep_dearer(c, first, second);
  return result == other ? result : e->type;
}

static const Type *walk_match(Cost *c, const Expr *e) {
  walk(c, e->args[0]);
  size_t first = c->log.len;
  for (int i = 0; i < e->match->arm_count; i++) {
    size_t second = c->log.len;
    walk(c, e->match->arms[i].body);
    if (i) keep_dearer(c, first, second);
  }
  return e->type;
}

/* --- Expressions ---------------------------------------------------------- */

static const Type *walk_block(Cost *c, const Block *b) {
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

static const Type *walk_tuple(Cost *c, const Expr *e) {
  const Type **fields = walk_args(c, e);
  return fields ? type_tuple(c->p->types, e->count, fields) : e->type;
}

/* What was entered before has a shape, also where its type leaves it open. */
static const Type *type_of_global(const Cost *c, const Expr *e) {
  Dim dims[RANK_MAX];
  Value v;
  if (e->type->kind != TY_TENSOR || is_known(e->type) ||
      !session_value(c->session, e->g.global, &v))
    return e->type;
  const Tensor *t = v.tensor;
  for (int i = 0; i < t->rank; i++) dims[i] = t->shape[i];
  return type_tensor(c->p->types, (DType)t->dtype, t->rank, dims);
}

static const Type *walk_kind(Cost *c, const Expr *e) {
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
    case EX_REF:
    case EX_READ:
    case EX_WRITE:
      for (int i = 0; i < e->count; i++) walk(c, e->args[i]);
      return e->type;
    default: return e->type;
  }
}

static const Type *walk(Cost *c, const Expr *e) {
  if (c->depth == DEEP || c->nodes == NODES_MOST) {
    c->cut = true;
    return e->type;
  }
  c->depth++;
  c->nodes++;
  const Type *t = walk_kind(c, e);
  c->depth--;
  return t;
}

/* --- The table ------------------------------------------------------------ */

static int by_operator(const void *a, const void *b) {
  const Spent *x = a, *y = b;
  return (x->op > y->op) - (x->op < y->op);
}

static int by_flops(const void *a, const void *b) {
  const Spent *x = a, *y = b;
  if (x->flops != y->flops) return x->flops > y->flops ? -1 : 1;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  return by_operator(a, b);
}

static void add_spent(Spent *to, const Spent *s) {
  to->calls += s->calls;
  to->flops += s->flops;
  to->bytes += s->bytes;
  to->allocated += s->allocated;
}

static void sum_up(Cost *c) {
  size_t kept = 0;
  Spent *s = c->log.data;
  if (c->log.len) qsort(s, c->log.len, sizeof *s, by_operator);
  for (size_t i = 0; i < c->log.len; i++)
    if (kept && s[kept - 1].op == s[i].op) add_spent(&s[kept - 1], &s[i]);
    else s[kept++] = s[i];
  c->log.len = kept;
  if (kept) qsort(s, kept, sizeof *s, by_flops);
}

static void say_row(Repl *r, const Spent *s, const char *name) {
  repl_say(r, "%10.0f %14.0f %14.0f %14.0f  %s\n", s->calls, s->flops, s->bytes,
           s->allocated, name);
}

static void say_left_out(Repl *r, const Cost *c) {
  if (c->branches) repl_say(r, "of branches the dearer one is counted\n");
  if (c->recursive)
    repl_say(r, "a recursive call is counted once, without what it repeats\n");
  if (c->values)
    repl_say(r, "what functions that are passed as values do is left out\n");
  if (c->unknown)
    repl_say(r, "%d operator%s left out, for want of a shape\n", c->unknown,
             c->unknown == 1 ? " is" : "s are");
  if (c->cut) repl_say(r, "the rest, which is too large to look at, is too\n");
}

static void say_cost(Repl *r, Cost *c) {
  Spent all = {0};
  sum_up(c);
  repl_say(r, "%10s %14s %14s %14s  operator\n", "calls", "flops", "bytes",
           "allocated");
  for (size_t i = 0; i < c->log.len; i++) {
    say_row(r, &c->log.data[i], c->log.data[i].op->name);
    add_spent(&all, &c->log.data[i]);
  }
  say_row(r, &all, "in all");
  say_left_out(r, c);
}

static void look(void *repl, const Expr *e) {
  Repl *r = repl;
  const Program *p = r->host->program->ir;
  Cost c = {.p = p, .session = r->session->vm};
  arena_init(&c.arena, p->mem);
  ptrmap_init(&c.types, p->mem);
  ptrmap_init(&c.bodies, p->mem);
  VEC_INIT(&c.log, p->mem);
  walk(&c, e);
  say_cost(r, &c);
  VEC_DONE(&c.log);
  ptrmap_done(&c.bodies);
  ptrmap_done(&c.types);
  arena_done(&c.arena);
}

void cost_run(Repl *r, const char *expr) {
  program_look_at(r->host->program, expr, strlen(expr), look, r);
  host_report(r->host);
}
