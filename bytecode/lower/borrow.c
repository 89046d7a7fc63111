/* Borrow inference: which parameters a global function need not own (Ullrich &
 * de Moura, "Counting Immutable Beans", 2019).  A parameter is borrowed unless
 * the function has a use for its reference:
 *
 *   - the parameter, or a counted part of it, moves: into a cell, a closure, a
 *     result, or an argument that is owned
 *   - it is a tensor over which an operator may write its result, or of which
 *     one makes a view
 *   - a `match` on it has an arm that makes a cell of the same size, which
 *     could reuse its memory
 *   - a self tail call gives it a value made in the loop, which nobody could
 *     drop after the call
 *
 * The answer decides about speed only.  Code is right either way, since a
 * borrowed value is kept wherever it moves.
 *
 * Parameters are nodes of a graph, and "owned" spreads from a callee's
 * parameters to the parameters that are passed to them.  The walk of a function
 * includes the functions that it reaches and that no walk has reached before,
 * so all walks together are linear.  The walk has a stack of its own, not that
 * of ir/walk.h, because each expression inherits facts from its parent: whether
 * its value moves, whether it is a tail, which matched cells are open. */
#include "bytecode/lower/lower.h"
#include "ir/walk.h"

typedef struct Node {
  bool owned;
  uint32_t edges; /* the first, plus 1 */
} Node;

/* If the node that the edge belongs to is owned, so is `to`. */
typedef struct Edge {
  uint32_t to, next;
} Edge;

/* The cells that a `match` on a parameter opens around an expression,
 * innermost first. */
typedef struct Opened {
  const struct Opened *outer;
  uint32_t root;
  int size;
} Opened;

typedef struct Visit {
  const Expr *e;
  bool moves; /* its value goes where it is owned */
  bool tail;
  const Opened *opened;
} Visit;

typedef struct Infer {
  Code *code;
  Arena arena;    /* scratch */
  const Expr *fn; /* being walked */
  uint32_t first; /* its parameters' first node */
  VEC(const Expr *) fns;
  VEC(Node) nodes;
  VEC(Edge) edges;
  VEC(uint32_t) owned; /* to be spread */
  VEC(Visit) stack;
  PtrMap firsts; /* EX_FN -> its first node, plus 1 */
  PtrMap roots;  /* Var -> the parameter it is a part of, plus 1 */
} Infer;

/* No parameter.  It is beyond every node, as are nodes for which there was
 * no memory; nothing is decided then, and every parameter is owned. */
#define NO_ROOT UINT32_MAX

/* --- The graph ---------------------------------------------------------- */

static void set_owned(Infer *in, uint32_t root) {
  if (root >= in->nodes.len || in->nodes.data[root].owned) return;
  in->nodes.data[root].owned = true;
  VEC_PUSH(&in->owned, root);
}

static void add_edge(Infer *in, uint32_t from, uint32_t to) {
  if (from >= in->nodes.len || in->nodes.data[from].owned) {
    set_owned(in, to);
    return;
  }
  VEC_PUSH(&in->edges, (Edge){to, in->nodes.data[from].edges});
  in->nodes.data[from].edges = (uint32_t)in->edges.len;
}

static void spread(Infer *in) {
  while (in->owned.len) {
    const Node *n = &in->nodes.data[VEC_POP(&in->owned)];
    for (uint32_t k = n->edges; k; k = in->edges.data[k - 1].next)
      set_owned(in, in->edges.data[k - 1].to);
  }
}

/* The first node of a function that has not been decided on yet. */
static uint32_t fn_first(Infer *in, const Expr *fn) {
  uintptr_t known = (uintptr_t)ptrmap_get(&in->firsts, fn);
  if (known) return (uint32_t)known - 1;
  uint32_t first = (uint32_t)in->nodes.len;
  for (int i = 0; i < fn->fn->param_count; i++) VEC_PUSH(&in->nodes, (Node){0});
  ptrmap_put(&in->firsts, fn, (void *)(uintptr_t)(first + 1));
  VEC_PUSH(&in->fns, fn);
  return first;
}

/* --- Variables ---------------------------------------------------------- */

/* The parameter that a variable, or a field of one, is a part of. */
static uint32_t root_of(Infer *in, const Expr *e) {
  while (e->kind == EX_PROJ) e = e->args[0];
  if (e->kind != EX_VAR) return NO_ROOT;
  return (uint32_t)(uintptr_t)ptrmap_get(&in->roots, e->var) - 1;
}

static void bind_root(Infer *in, const Var *v, uint32_t root) {
  if (root == NO_ROOT || !type_is_counted(v->type)) return;
  ptrmap_put(&in->roots, v, (void *)(uintptr_t)(root + 1));
}

/* --- The walk ----------------------------------------------------------- */

static void visit(Infer *in, const Visit *from, const Expr *e, bool moves,
                  bool tail) {
  VEC_PUSH(&in->stack, (Visit){e, moves, tail, from->opened});
}

static void visit_args(Infer *in, const Visit *v, bool moves) {
  for (int i = 0; i < v->e->count; i++)
    visit(in, v, v->e->args[i], moves, false);
}

/* A cell is made: it could reuse an opened cell of its size, if that is
 * owned. */
static void visit_cell(Infer *in, const Visit *v) {
  for (const Opened *o = v->opened; o && v->e->count > 0; o = o->outer)
    if (o->size == v->e->count) set_owned(in, o->root);
  visit_args(in, v, true);
}

static void open_pattern(Infer *in, const Pattern *p, uint32_t root,
                         const Opened **opened) {
  if (p->kind == PT_VAR) bind_root(in, p->var, root);
  if (p->count > 0) {
    Opened *o = ARENA_NEW(&in->arena, Opened);
    *o = (Opened){*opened, root, p->count};
    *opened = o;
  }
  for (int i = 0; i < p->count; i++)
    open_pattern(in, p->fields[i], root, opened);
}

static void open_part(Infer *in, const Expr *part, const Pattern *p,
                      const Opened **opened) {
  uint32_t root = root_of(in, part);
  if (root != NO_ROOT) open_pattern(in, p, root, opened);
}

static void visit_match(Infer *in, const Visit *v) {
  const Expr *value = v->e->args[0];
  bool split = match_is_split(v->e);
  for (int i = 0; i < v->e->match->arm_count; i++) {
    const Arm *arm = &v->e->match->arms[i];
    Visit inside = *v;
    if (!split) open_part(in, value, arm->pattern, &inside.opened);
    else if (arm->pattern->kind == PT_TUPLE)
      for (int k = 0; k < value->count; k++)
        open_part(in, value->args[k], arm->pattern->fields[k], &inside.opened);
    visit(in, &inside, arm->body, true, v->tail);
  }
  for (int k = 0; split && k < value->count; k++)
    visit(in, v, value->args[k], false, false);
  if (!split) visit(in, v, value, false, false);
}

static void visit_block(Infer *in, const Visit *v) {
  const Block *block = v->e->block;
  for (int i = 0; i < block->count; i++) {
    const Binding *b = &block->bindings[i];
    if (b->kind == BIND_FREE) continue;
    uint32_t root = b->kind == BIND_LET ? root_of(in, b->value) : NO_ROOT;
    if (root != NO_ROOT) bind_root(in, b->var, root);
    else visit(in, v, b->value, b->kind != BIND_ITEM, false);
  }
  visit(in, v, block->result, v->moves, v->tail);
}

/* A parameter that is passed on is owned if the callee's parameter is. */
static void visit_known(Infer *in, const Visit *v, const Expr *fn) {
  const bool *decided = ptrmap_get(&in->code->borrowed, fn);
  uint32_t first = decided ? NO_ROOT : fn_first(in, fn);
  for (int i = 0; i < v->e->count; i++) {
    uint32_t root = root_of(in, v->e->args[i]);
    bool self = v->tail && fn == in->fn;
    if (root == NO_ROOT) {
      if (self) set_owned(in, first + (uint32_t)i);
      visit(in, v, v->e->args[i], true, false);
    } else if (decided) {
      if (!decided[i]) set_owned(in, root);
    } else {
      add_edge(in, first + (uint32_t)i, root);
      if (self) add_edge(in, root, first + (uint32_t)i);
    }
  }
}

static bool wants_operands(const OpInfo *op) {
  return op->storage == STORE_VIEW || op->in_place;
}

static void visit_op(Infer *in, const Visit *v) {
  bool moves = wants_operands(op_info(v->e->call.callee->op));
  for (int i = 0; i < v->e->count; i++) {
    const Expr *arg = v->e->args[i];
    visit(in, v, arg, moves && arg->type->kind == TY_TENSOR, false);
  }
}

static const Expr *known_fn(const Expr *callee) {
  if (callee->kind != EX_GLOBAL) return NULL;
  const Global *g = callee->g.global;
  return g->kind != GLOBAL_PARAM && g->value && g->value->kind == EX_FN
             ? g->value
             : NULL;
}

static void visit_call(Infer *in, const Visit *v) {
  const Expr *callee = v->e->call.callee, *fn = known_fn(callee);
  if (callee->kind == EX_OP) {
    visit_op(in, v);
  } else if (callee->kind == EX_CTOR) {
    visit_cell(in, v);
  } else if (fn) {
    visit_known(in, v, fn);
  } else {
    visit_args(in, v, true);
    visit(in, v, callee, false, false);
  }
}

/* A closure captures what its function mentions. */
static void visit_fn(Infer *in, const Expr *fn) {
  ExprWalk w;
  expr_walk_start(&w, in->code->mem, WALK_ENTER, fn);
  while (expr_walk_next(&w))
    if (w.at->kind == EX_VAR) set_owned(in, root_of(in, w.at));
  expr_walk_end(&w);
}

static void visit_one(Infer *in, Visit v) {
  const Expr *e = v.e;
  if (e->kind == EX_VAR || e->kind == EX_PROJ) {
    uint32_t root = root_of(in, e);
    bool counted = type_is_counted(e->type);
    if (root != NO_ROOT && v.moves && counted) set_owned(in, root);
    if (root == NO_ROOT && e->kind == EX_PROJ) visit_args(in, &v, false);
    return;
  }
  switch ((ExprKind)e->kind) {
    case EX_FN: visit_fn(in, e); break;
    case EX_TUPLE: visit_cell(in, &v); break;
    case EX_CALL: visit_call(in, &v); break;
    case EX_BLOCK: visit_block(in, &v); break;
    case EX_MATCH: visit_match(in, &v); break;
    case EX_IF:
      visit(in, &v, e->args[0], false, false);
      visit(in, &v, e->args[1], true, v.tail);
      visit(in, &v, e->args[2], true, v.tail);
      break;
    case EX_REF: visit_args(in, &v, true); break;
    case EX_READ: visit_args(in, &v, false); break;
    case EX_WRITE:
      visit(in, &v, e->args[0], false, false);
      visit(in, &v, e->args[1], true, false);
      break;
    default: break;
  }
}

static void walk_fn(Infer *in, const Expr *fn) {
  in->fn = fn;
  in->first = fn_first(in, fn);
  for (int i = 0; i < fn->fn->param_count; i++)
    bind_root(in, fn->fn->params[i], in->first + (uint32_t)i);
  VEC_PUSH(&in->stack, (Visit){.e = fn->fn->body, .moves = true, .tail = true});
  while (in->stack.len) {
    Visit v = VEC_POP(&in->stack);
    visit_one(in, v);
  }
}

/* --- Answers ------------------------------------------------------------ */

/* The entry behind those of the parameters says whether any is borrowed. */
static void decide(Infer *in, const Expr *fn) {
  int n = fn->fn->param_count;
  uint32_t first = fn_first(in, fn);
  bool *borrowed = ARENA_ARRAY(&in->code->arena, bool, (size_t)n + 1);
  if (!borrowed) return;
  for (int i = 0; i < n; i++) {
    borrowed[i] = type_is_counted(fn->fn->params[i]->type) &&
                  !in->nodes.data[first + (uint32_t)i].owned;
    borrowed[n] |= borrowed[i];
  }
  ptrmap_put(&in->code->borrowed, fn, borrowed);
}

static void infer_init(Infer *in, Code *c) {
  *in = (Infer){.code = c};
  arena_init(&in->arena, c->mem);
  VEC_INIT(&in->fns, c->mem);
  VEC_INIT(&in->nodes, c->mem);
  VEC_INIT(&in->edges, c->mem);
  VEC_INIT(&in->owned, c->mem);
  VEC_INIT(&in->stack, c->mem);
  ptrmap_init(&in->firsts, c->mem);
  ptrmap_init(&in->roots, c->mem);
}

static void infer_done(Infer *in) {
  VEC_DONE(&in->fns);
  VEC_DONE(&in->nodes);
  VEC_DONE(&in->edges);
  VEC_DONE(&in->owned);
  VEC_DONE(&in->stack);
  ptrmap_done(&in->firsts);
  ptrmap_done(&in->roots);
  arena_done(&in->arena);
}

static void infer(Code *c, const Expr *fn) {
  Infer in;
  infer_init(&in, c);
  fn_first(&in, fn);
  for (size_t k = 0; !mem_exhausted(c->mem) && k < in.fns.len; k++)
    walk_fn(&in, in.fns.data[k]);
  spread(&in);
  for (size_t k = 0; !mem_exhausted(c->mem) && k < in.fns.len; k++)
    decide(&in, in.fns.data[k]);
  infer_done(&in);
}

const bool *fn_borrowed(Code *c, const Expr *fn) {
  if (!fn || fn->kind != EX_FN) return NULL;
  if (!ptrmap_has(&c->borrowed, fn)) infer(c, fn);
  const bool *borrowed = ptrmap_get(&c->borrowed, fn);
  return borrowed && borrowed[fn->fn->param_count] ? borrowed : NULL;
}
