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
 * so all walks together are linear. */
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

/* What an expression inherits from those around it. */
typedef struct Fate {
  bool moves;    /* its value goes where it is owned */
  bool tail;     /* its value is that of the function */
  bool split;    /* a match on a tuple that is never made, or that tuple */
  bool captured; /* it is part of a closure */
  const Opened *opened;
} Fate;

typedef struct Infer {
  Code *code;
  Arena arena;    /* scratch */
  const Expr *fn; /* being walked */
  uint32_t first; /* its parameters' first node */
  VEC(const Expr *) fns;
  VEC(Node) nodes;
  VEC(Edge) edges;
  VEC(uint32_t) owned; /* to be spread */
  VEC(Fate) fates;     /* of the expressions under way */
  PtrMap firsts;       /* EX_FN -> its first node, plus 1 */
  PtrMap roots;        /* Var -> the parameter it is a part of, plus 1 */
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

/* --- Fates -------------------------------------------------------------- */

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

static const Opened *open_arm(Infer *in, const Expr *match, int i, Fate f) {
  const Expr *value = match->args[0];
  const Pattern *p = match->match->arms[i].pattern;
  if (!f.split) open_part(in, value, p, &f.opened);
  else if (p->kind == PT_TUPLE)
    for (int k = 0; k < value->count; k++)
      open_part(in, value->args[k], p->fields[k], &f.opened);
  return f.opened;
}

static bool op_owns(const OpInfo *op, const Expr *arg) {
  return (op->storage == STORE_VIEW || op->in_place) &&
         arg->type->kind == TY_TENSOR;
}

/* Does the value of a part, which is no tail, go where it is owned? */
static bool part_moves(const ExprWalk *w, const Fate *around) {
  const Expr *e = w->parent;
  switch (e->kind) {
    case EX_CALL:
      if (w->role == ROLE_CALLEE) return false;
      return e->call.callee->kind != EX_OP ||
             op_owns(op_info(e->call.callee->op), w->at);
    case EX_TUPLE: return !around->split;
    case EX_BLOCK: return !expr_walk_is_value(w, BIND_ITEM);
    case EX_LIST:
    case EX_REF: return true;
    case EX_WRITE: return w->index == 1;
    default: return false;
  }
}

static Fate fate_at(Infer *in, const ExprWalk *w) {
  const Fate body = {.moves = true, .tail = true};
  bool within = w->parent && in->fates.len;
  Fate around = within ? VEC_LAST(&in->fates) : body, f = around;
  if (within && w->parent->kind == EX_FN) f.captured = true;
  if (f.captured) return f;
  f.split = within && w->parent->kind == EX_MATCH && w->role == ROLE_ARG &&
            around.split;
  if (w->at->kind == EX_MATCH) f.split = match_is_split(w->at);
  if (!within) return f;
  if (expr_walk_is_tail(w)) {
    f.moves |= w->role != ROLE_RESULT;
    if (w->role == ROLE_ARM)
      f.opened = open_arm(in, w->parent, w->index, around);
  } else {
    f.moves = part_moves(w, &around);
    f.tail = false;
  }
  return f;
}

/* --- The walk ----------------------------------------------------------- */

/* A cell of `size` fields is made: it could reuse an opened cell of its size,
 * if that is owned. */
static void make_cell(Infer *in, int size, const Fate *f) {
  for (const Opened *o = f->opened; o && size > 0; o = o->outer)
    if (o->size == size) set_owned(in, o->root);
}

static const Expr *known_fn(const Expr *callee) {
  if (callee->kind != EX_GLOBAL) return NULL;
  const Global *g = callee->g.global;
  return g->kind != GLOBAL_PARAM && g->value && g->value->kind == EX_FN
             ? g->value
             : NULL;
}

/* A parameter that is passed on is owned if the callee's parameter is. */
static void call_known(Infer *in, const Expr *e, const Expr *fn, bool self) {
  const bool *decided = ptrmap_get(&in->code->borrowed, fn);
  uint32_t first = decided ? NO_ROOT : fn_first(in, fn);
  for (int i = 0; i < e->count; i++) {
    uint32_t root = root_of(in, e->args[i]);
    if (root == NO_ROOT) {
      if (self) set_owned(in, first + (uint32_t)i);
    } else if (decided) {
      if (!decided[i]) set_owned(in, root);
    } else {
      add_edge(in, first + (uint32_t)i, root);
      if (self) add_edge(in, root, first + (uint32_t)i);
    }
  }
}

static void enter_call(Infer *in, const Expr *e, const Fate *f) {
  const Expr *fn = known_fn(e->call.callee);
  if (e->call.callee->kind == EX_CTOR) make_cell(in, e->count, f);
  if (fn) call_known(in, e, fn, f->tail && fn == in->fn);
}

/* Is the parameter's part an argument, or the value of a let?  The call has
 * linked an argument to the callee's parameter; a let makes its variable a part
 * of the same parameter. */
static bool is_passed_on(Infer *in, const ExprWalk *w, uint32_t root) {
  const Expr *e = w->parent;
  if (!e) return false;
  if (e->kind == EX_CALL)
    return w->role == ROLE_ARG && known_fn(e->call.callee);
  bool let = expr_walk_is_value(w, BIND_LET);
  if (let) bind_root(in, expr_walk_binding(w)->var, root);
  return let;
}

static void enter_part(Infer *in, const ExprWalk *w, const Fate *f) {
  uint32_t root = root_of(in, w->at);
  bool owned = f->captured ? w->at->kind == EX_VAR
                           : f->moves && type_is_counted(w->at->type) &&
                                 !is_passed_on(in, w, root);
  if (owned) set_owned(in, root);
}

/* False: its parts are of no interest. */
static bool enter(Infer *in, const ExprWalk *w, const Fate *f) {
  const Expr *e = w->at;
  bool part = root_of(in, e) != NO_ROOT;
  if (part) enter_part(in, w, f);
  if (f->captured) return true;
  if (e->kind == EX_TUPLE && !f->split) make_cell(in, e->count, f);
  if (e->kind == EX_LIST && e->count > 0) make_cell(in, 2, f);
  if (e->kind == EX_CALL) enter_call(in, e, f);
  return !part;
}

static void walk_fn(Infer *in, const Expr *fn) {
  in->fn = fn;
  in->first = fn_first(in, fn);
  for (int i = 0; i < fn->fn->param_count; i++)
    bind_root(in, fn->fn->params[i], in->first + (uint32_t)i);
  ExprWalk w;
  VEC_CLEAR(&in->fates);
  expr_walk_start(&w, in->code->mem, WALK_ENTER | WALK_LEAVE, fn->fn->body);
  while (expr_walk_next(&w)) {
    if (w.event == WALK_LEAVE) {
      in->fates.len--;
      continue;
    }
    Fate f = fate_at(in, &w);
    if (enter(in, &w, &f)) VEC_PUSH(&in->fates, f);
    else expr_walk_skip(&w);
  }
  expr_walk_end(&w);
}

/* --- Answers ------------------------------------------------------------ */

/* The entry after those of the parameters says whether any is borrowed. */
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
  VEC_INIT(&in->fates, c->mem);
  ptrmap_init(&in->firsts, c->mem);
  ptrmap_init(&in->roots, c->mem);
}

static void infer_done(Infer *in) {
  VEC_DONE(&in->fns);
  VEC_DONE(&in->nodes);
  VEC_DONE(&in->edges);
  VEC_DONE(&in->owned);
  VEC_DONE(&in->fates);
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
