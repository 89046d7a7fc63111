/* The map: a walk that keeps what each part became on a stack, in the order of
 * the events.  After a node the results of its parts are compared with the
 * parts themselves; where one differs, the node is copied over the results.
 *
 *   f(a, b), b mapped to c      results before LEAVE of the call: a c f
 *                               parts of the node in the order:   a b f
 *                               they differ: a copy f(a, c); results: f(a, c)
 *
 * So a map that changes nothing allocates nothing, and sharing survives where
 * nothing below changed.  The work is linear in the tree. */
#include <string.h>

#include "ir/walk.h"

/* --- Parts ---------------------------------------------------------------- */

/* Expressions, variables, patterns and attribute values that a node has, in the
 * order in which the walk comes by.  The two lists must agree. */

static void list(ExprMap *m, const void *part) { VEC_PUSH(&m->results, part); }

static void list_bindings(ExprMap *m, const Block *block, int from, int to) {
  const Binding *b = block->bindings;
  if (block_binds_first(block, from)) {
    for (int i = from; i < to; i++) list(m, b[i].var);
    for (int i = from; i < to; i++) list(m, b[i].value);
    return;
  }
  for (int i = from; i < to; i++) {
    if (b[i].value) list(m, b[i].value);
    if (b[i].kind != BIND_ITEM) list(m, b[i].var);
  }
}

/* Parts are listed in the order of evaluation, which is that of the walk's
 * events: arguments, attributes, callee. */
static void list_parts(ExprMap *m, const Expr *e) {
  for (int i = 0; i < e->count; i++) list(m, e->args[i]);
  switch (e->kind) {
    case EX_CALL:
      for (int i = 0; i < e->call.attr_count; i++)
        list(m, e->call.attrs[i].value);
      list(m, e->call.callee);
      break;
    case EX_FN:
      for (int i = 0; i < e->fn->param_count; i++) list(m, e->fn->params[i]);
      list(m, e->fn->body);
      break;
    case EX_BLOCK:
      for (int i = 0, n; i < e->block->count; i += n)
        list_bindings(m, e->block, i, i + (n = block_group(e->block, i)));
      list(m, e->block->result);
      break;
    case EX_MATCH:
      for (int i = 0; i < e->match->arm_count; i++) {
        const Arm *arm = &e->match->arms[i];
        list(m, arm->pattern);
        if (arm->guard && !arm->shares) list(m, arm->guard);
        if (!arm->shares) list(m, arm->body);
      }
      break;
    default: break;
  }
}

/* Where results are read while a node is copied. */
typedef const void *const *Parts;

#define TAKE(parts) (*(*(parts))++)

static const Attr *put_attrs(Arena *a, const Expr *e, Parts *parts) {
  Attr *attrs = ARENA_ARRAY(a, Attr, (size_t)e->call.attr_count);
  for (int i = 0; attrs && i < e->call.attr_count; i++) {
    attrs[i] = e->call.attrs[i];
    attrs[i].value = TAKE(parts);
  }
  return attrs;
}

static const Fn *put_fn(Arena *a, const Fn *old, Parts *parts) {
  Fn *fn = arena_copy(a, old, sizeof *old);
  Var **params = ARENA_ARRAY(a, Var *, (size_t)old->param_count);
  if (!fn || !params) return NULL;
  for (int i = 0; i < old->param_count; i++) params[i] = (Var *)TAKE(parts);
  fn->params = params;
  fn->body = TAKE(parts);
  return fn;
}

static void put_bindings(Binding *b, bool first, int from, int to,
                         Parts *parts) {
  if (first) {
    for (int i = from; i < to; i++) b[i].var = (Var *)TAKE(parts);
    for (int i = from; i < to; i++) b[i].value = TAKE(parts);
    return;
  }
  for (int i = from; i < to; i++) {
    if (b[i].value) b[i].value = TAKE(parts);
    if (b[i].kind != BIND_ITEM) b[i].var = (Var *)TAKE(parts);
  }
}

/* Groups are taken in the order in which list_bindings has put them: for
 * functions all variables come first. */
static const Block *put_block(Arena *a, const Block *old, Parts *parts) {
  Block *block = arena_copy(a, old, sizeof *old);
  Binding *b = arena_copy(a, old->bindings, (size_t)old->count * sizeof *b);
  if (!block || (!b && old->count > 0)) return NULL;
  for (int i = 0, n; i < old->count; i += n) {
    n = block_group(old, i);
    put_bindings(b, block_binds_first(old, i), i, i + n, parts);
  }
  block->bindings = b;
  block->result = TAKE(parts);
  return block;
}

/* An arm that shares its body takes what the arm before it became. */
static const Match *put_match(Arena *a, const Match *old, Parts *parts) {
  Match *match = arena_copy(a, old, sizeof *old);
  Arm *arms = arena_copy(a, old->arms, (size_t)old->arm_count * sizeof *arms);
  if (!match || (!arms && old->arm_count > 0)) return NULL;
  for (int i = 0; i < old->arm_count; i++) {
    arms[i].pattern = TAKE(parts);
    if (arms[i].shares) {
      arms[i].guard = arms[i - 1].guard;
      arms[i].body = arms[i - 1].body;
      continue;
    }
    if (arms[i].guard) arms[i].guard = TAKE(parts);
    arms[i].body = TAKE(parts);
  }
  match->arms = arms;
  return match;
}

static void fail(ExprMap *m) {
  m->walk.failed = true;
  mem_raise_exhausted(m->walk.mem);
}

/* A copy of `e` over other parts.  Memory may run out: then the map ends, and
 * what it gave so far is not looked at. */
static const Expr *copy_over(ExprMap *m, const Expr *e, Parts parts) {
  Arena *a = m->arena;
  Expr *made = arena_copy(a, e, sizeof *e);
  const Expr **args = ARENA_ARRAY(a, const Expr *, (size_t)e->count);
  if (!made || !args) return fail(m), e;
  for (int i = 0; i < e->count; i++) args[i] = TAKE(&parts);
  made->args = args;
  bool whole = true;
  switch (e->kind) {
    case EX_CALL:
      made->call.attrs = put_attrs(a, e, &parts);
      whole = made->call.attrs || e->call.attr_count == 0;
      if (whole) made->call.callee = TAKE(&parts);
      break;
    case EX_FN: whole = (made->fn = put_fn(a, e->fn, &parts)); break;
    case EX_BLOCK:
      whole = (made->block = put_block(a, e->block, &parts));
      break;
    case EX_MATCH:
      whole = (made->match = put_match(a, e->match, &parts));
      break;
    default: break;
  }
  return whole ? made : (fail(m), e);
}

/* Takes the last `n` results off the stack: they stay readable until the next
 * is put there. */
static Parts take_results(ExprMap *m, size_t n) {
  m->results.len -= n;
  return m->results.data + m->results.len;
}

/* Takes the results of the node's parts, and gives the node over them.  The old
 * parts are listed above the new ones for the comparison, and both come off
 * together. */
static const Expr *over_results(ExprMap *m, const Expr *e) {
  size_t end = m->results.len;
  list_parts(m, e);
  size_t n = m->results.len - end;
  if (mem_exhausted(m->walk.mem)) return e;
  Parts old = take_results(m, n), made = take_results(m, n);
  bool same = n == 0 || memcmp(old, made, n * sizeof *old) == 0;
  return same ? e : copy_over(m, e, made);
}

/* A pattern's results are its variable, or its fields. */
static const Pattern *pattern_over_results(ExprMap *m, const Pattern *p) {
  size_t n = p->kind == PT_VAR ? 1 : (size_t)p->count;
  Parts made = take_results(m, n);
  Pattern *copy;
  if (p->kind == PT_VAR) {
    if (made[0] == p->var || !(copy = arena_copy(m->arena, p, sizeof *p)))
      return p;
    copy->var = (Var *)made[0];
    return copy;
  }
  if (n == 0 || memcmp(p->fields, made, n * sizeof *made) == 0) return p;
  const void *fields = arena_copy(m->arena, made, n * sizeof *made);
  copy = arena_copy(m->arena, p, sizeof *p);
  if (!copy || !fields) return fail(m), p;
  copy->fields = fields;
  return copy;
}

/* Results of an attribute are those of its expression, or of its items. */
static const AttrExpr *attr_over_results(ExprMap *m, const AttrExpr *x) {
  size_t n = x->kind == AX_EXPR ? 1 : x->kind == AX_LIST ? (size_t)x->count : 0;
  Parts made = take_results(m, n);
  bool same = n == 0 ||
              (x->kind == AX_EXPR ? made[0] == x->expr
                                  : !memcmp(x->items, made, n * sizeof *made));
  if (same) return x;
  AttrExpr *copy = arena_copy(m->arena, x, sizeof *x);
  const void *items = arena_copy(m->arena, made, n * sizeof *made);
  if (!copy || !items) return fail(m), x;
  if (x->kind == AX_EXPR) copy->expr = made[0];
  else copy->items = items;
  return copy;
}

/* --- The map -------------------------------------------------------------- */

void expr_map_start(ExprMap *m, Mem *mem, Arena *arena, const Expr *root) {
  *m = (ExprMap){.arena = arena};
  VEC_INIT(&m->results, mem);
  expr_walk_start(&m->walk, mem,
                  WALK_ENTER | WALK_LEAVE | WALK_BIND | WALK_UNBIND |
                      WALK_PATTERN_END | WALK_ATTR_END,
                  root);
}

void expr_map_put(ExprMap *m, const Expr *e) {
  if (m->walk.event == WALK_ENTER && !m->put) expr_walk_skip(&m->walk);
  m->put = m->made = e;
}

void expr_map_bind(ExprMap *m, Var *var) { m->put = var; }

/* The first change copies the node; later ones find it copied. */
Expr *expr_map_own(ExprMap *m) {
  if (m->made != m->walk.at) return (Expr *)m->made;
  Expr *copy = expr_new(m->arena, (ExprKind)m->made->kind, m->made->span);
  *copy = *m->made;
  m->put = m->made = copy;
  return copy;
}

/* A block whose parts have changed has bindings of its own already. */
Binding *expr_map_own_bindings(ExprMap *m) {
  const Block *was = m->walk.at->block;
  if (m->made->block == was) {
    size_t size = (size_t)was->count * sizeof *was->bindings;
    Binding *own = arena_copy(m->arena, was->bindings, size);
    if (!own) return NULL;
    expr_map_put_block(m, was->count, own, was->result);
  }
  return (Binding *)m->made->block->bindings;
}

void expr_map_put_block(ExprMap *m, int count, const Binding *bindings,
                        const Expr *result) {
  if (count == 0) {
    expr_map_put(m, result);
    return;
  }
  Block *block = ARENA_NEW(m->arena, Block);
  *block = (Block){count, bindings, result};
  expr_map_own(m)->block = block;
}

/* The event that the user has seen is over: its result goes on the stack.  BIND
 * is settled with the old variable unless the user has bound another. */
static void settle(ExprMap *m) {
  const ExprWalk *w = &m->walk;
  const void *result = m->put;
  m->put = NULL;
  switch ((int)w->event) {
    case WALK_LEAVE: result = m->made; break;
    case WALK_ENTER:
      if (!result) return;
      break;
    case WALK_BIND:
      if (!result) result = w->var;
      break;
    default: return;
  }
  list(m, result);
}

/* True when the event is the user's to see. */
static bool meet(ExprMap *m) {
  ExprWalk *w = &m->walk;
  switch ((int)w->event) {
    case WALK_LEAVE: m->made = over_results(m, w->at); return true;
    case WALK_PATTERN_END:
      list(m, pattern_over_results(m, w->pattern));
      return false;
    case WALK_ATTR_END: list(m, attr_over_results(m, w->attr)); return false;
    default: return true;
  }
}

/* One event of the walk at a time; those of patterns and attributes are the
 * map's own. */
bool expr_map_next(ExprMap *m) {
  do {
    settle(m);
    m->walk.event = 0;
    if (!expr_walk_next(&m->walk)) return false;
  } while (!meet(m));
  return !m->walk.failed && !mem_exhausted(m->walk.mem);
}

const Expr *expr_map_end(ExprMap *m) {
  bool whole = expr_walk_end(&m->walk) && !mem_exhausted(m->walk.mem) &&
               m->results.len == 1;
  const Expr *made = whole ? m->results.data[0] : NULL;
  VEC_DONE(&m->results);
  return made;
}
