/* ToANormalForm and ToBasicBlockNormalForm.
 *
 * ToANormalForm: each operand that is computed gets a name, in the order of
 * evaluation, so that a call has only names and constants as operands
 * (Flanagan et al., "The essence of compiling with continuations", 1993).
 *
 *                               let %v = nn.relu(%x);
 *   nn.relu(%x) * %x + 1f ==>   let %v1 = %v * %x;
 *                               %v1 + 1f
 *
 * An expression that is not evaluated on all paths stays on its path: the body
 * of a function, the branches of an `if`, arms and guards each begin a list of
 * names of their own, and so does a graph variable that is evaluated at its
 * first use.  A use of such a variable may fail, so it is named in its turn as
 * a call is.  Blocks within operands dissolve into the list around them.
 *
 * ToBasicBlockNormalForm gives names to operands that branch (`if`, `match`)
 * and to operands that are evaluated before such an operand in the same
 * expression, and leaves other operands where they are.  Then a branch is the
 * whole value of a binding or of a list, and what stands between two branches
 * is a basic block.
 *
 * A whole that hands a computed function on as a polymorphic one stays as it
 * is, since a name of that function would not be polymorphic. */
#include "passes/loop.h"

typedef struct Normal {
  Program *p;
  Arena *arena;
  ExprMap map;
  Bindings named;    /* of the lists under way, the innermost last */
  VEC(size_t) lists; /* where each of them begins */
  bool blocks;       /* the form of basic blocks */
  PtrMap early;      /* then: operands that are evaluated before a branch */
} Normal;

/* Does the node begin a list of names of its own?  It does if it may not be
 * evaluated although its parent is. */
static bool begins_list(const ExprWalk *w) {
  return w->role == ROLE_ROOT || loop_passes_over(w);
}

static bool is_operand(const ExprWalk *w) {
  return (w->role == ROLE_ARG || w->role == ROLE_CALLEE) &&
         !(w->parent->kind == EX_IF && w->index > 0);
}

static bool is_computed(const Expr *e) {
  switch (e->kind) {
    case EX_TUPLE: return e->count > 0;
    case EX_CALL:
    case EX_PROJ:
    case EX_LIST:
    case EX_IF:
    case EX_MATCH:
    case EX_REF:
    case EX_READ:
    case EX_WRITE:
    case EX_BLOCK: return true;
    case EX_VAR: return e->var->lazy;
    default: return false;
  }
}

/* Notes which operands are early, from the last to the first: those before an
 * operand that branches or holds an operand that branches.  True when an
 * operand of `e` does. */
static bool note_early(Normal *n, const Expr *e, const PtrMap *branching) {
  bool later = false;
  int last = e->kind == EX_IF && e->count > 0 ? 0 : e->count - 1;
  if (e->kind == EX_CALL) {
    const Expr *callee = e->call.callee;
    later = expr_has_tail(callee) || ptrmap_has(branching, callee);
  }
  for (int i = last; i >= 0; i--) {
    if (later) ptrmap_put(&n->early, e->args[i], n);
    later |= expr_has_tail(e->args[i]) || ptrmap_has(branching, e->args[i]);
  }
  return later;
}

static void find_early(Normal *n, const Expr *e) {
  ExprWalk w;
  PtrMap branching; /* they hold an operand that branches */
  ptrmap_init(&branching, n->p->mem);
  expr_walk_start(&w, n->p->mem, WALK_LEAVE, e);
  while (expr_walk_next(&w))
    if (w.at->kind != EX_FN && w.at->kind != EX_BLOCK &&
        note_early(n, w.at, &branching))
      ptrmap_put(&branching, w.at, n);
  expr_walk_end(&w);
  ptrmap_done(&branching);
}

/* Does the operand get a name? */
static bool is_named(const Normal *n, const Expr *was, const Expr *e) {
  bool wanted = !n->blocks || expr_has_tail(e) || ptrmap_has(&n->early, was);
  return wanted && is_computed(e);
}

/* A bracket is written as one only around its items. */
static const Expr *without_bracket(Normal *n, const Expr *e) {
  bool bracket = e->sugar == SUGAR_BRACKET || e->sugar == SUGAR_LIST;
  if (!bracket || e->kind != EX_CALL || e->args[0]->kind == EX_TUPLE) return e;
  Expr *made = expr_map_own(&n->map);
  made->sugar = SUGAR_NONE;
  return made;
}

static void leave_binding(Normal *n, const ExprWalk *w, const Expr *e) {
  Binding b = *expr_walk_binding(w);
  b.value = e;
  VEC_PUSH(&n->named, b);
}

/* Where a function reads a named dimension, which is written as its name. */
static bool is_dim_read(const ExprWalk *w) {
  const Binding *b = w->event == WALK_ENTER ? expr_walk_binding(w) : NULL;
  return b && b->var && b->var->is_dim;
}

/* The names of the list that ends, around its value. */
static const Expr *end_list(Normal *n, const Expr *e) {
  size_t first = VEC_POP(&n->lists), count = n->named.len - first;
  if (count == 0) return e;
  n->named.len = first;
  if (e->kind == EX_IF && e->sugar == SUGAR_ELSE_IF) {
    Expr *plain = expr_map_own(&n->map);
    plain->sugar = SUGAR_NONE;
    e = plain;
  }
  return expr_after(n->arena, e->span, count, n->named.data + first, e);
}

static void leave(Normal *n) {
  const ExprWalk *w = &n->map.walk;
  const Expr *e = without_bracket(n, n->map.made);
  if (e->kind == EX_BLOCK) e = e->block->result;
  if (begins_list(w)) {
    e = end_list(n, e);
  } else if (is_operand(w) && is_named(n, w->at, e)) {
    Var *var = var_for(n->p, n->arena, e);
    VEC_PUSH(&n->named, binding_let(e->span, var, e));
    e = expr_use(n->arena, e->span, var);
  }
  if (w->role == ROLE_VALUE) leave_binding(n, w, e);
  expr_map_put(&n->map, e);
}

/* Is it computed, and polymorphic only since its place asks for that?  A name
 * of it would not be: what a `let` computes is of one type. */
static bool is_polymorphic(const ExprWalk *w) {
  if (w->role != ROLE_ARG || w->parent->kind != EX_CALL || !is_computed(w->at))
    return false;
  const Type *t = w->parent->call.callee->type;
  if (!t || t->kind != TY_FN || w->index >= t->count) return false;
  const Type *param = t->args[w->index];
  return param->kind == TY_FN && param->param_count > 0;
}

static bool holds_polymorphic(Program *p, const Expr *e) {
  ExprWalk w;
  bool found = false;
  expr_walk_start(&w, p->mem, WALK_ENTER, e);
  while (!found && expr_walk_next(&w)) found = is_polymorphic(&w);
  expr_walk_end(&w);
  return found;
}

static const Expr *in_form(Program *p, Arena *arena, const Expr *e,
                           bool blocks) {
  if (holds_polymorphic(p, e)) return e;
  Normal n = {.p = p, .arena = arena, .blocks = blocks};
  ptrmap_init(&n.early, p->mem);
  if (blocks) find_early(&n, e);
  VEC_INIT(&n.named, p->mem);
  VEC_INIT(&n.lists, p->mem);
  expr_map_start(&n.map, p->mem, arena, e);
  while (expr_map_next(&n.map)) {
    const ExprWalk *w = &n.map.walk;
    if (is_dim_read(w)) {
      leave_binding(&n, w, w->at);
      expr_map_put(&n.map, w->at);
    } else if (w->event == WALK_ENTER && begins_list(w)) {
      VEC_PUSH(&n.lists, n.named.len);
    }
    if (w->event == WALK_BIND && w->binding && w->binding->kind == BIND_FREE)
      VEC_PUSH(&n.named, *w->binding);
    if (w->event == WALK_LEAVE) leave(&n);
  }
  e = expr_map_end(&n.map);
  VEC_DONE(&n.named);
  VEC_DONE(&n.lists);
  ptrmap_done(&n.early);
  return e;
}

const Expr *expr_normal_form(Program *p, Arena *arena, const Expr *e) {
  return in_form(p, arena, e, false);
}

Rewrite pass_basic_block_form;

const Expr *pass_basic_block_form(Program *p, Arena *arena, const Expr *e) {
  return in_form(p, arena, e, true);
}
