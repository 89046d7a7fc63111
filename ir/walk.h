/* The walk over an expression, and the map built on it.  Both keep a stack of
 * their own, so depth is bounded by memory alone.
 *
 * A walk is a loop of its user's, which asks for one event after the other, in
 * order of evaluation:
 *
 *   ExprWalk w;
 *   expr_walk_start(&w, mem, WALK_ENTER, e);
 *   while (expr_walk_next(&w))
 *     if (w.at->kind == EX_MATCH) check_match(w.at);
 *   if (!expr_walk_end(&w)) ...         memory ran out before the end
 *
 * The user may leave the loop early.  A node that is reached by two ways is
 * walked twice, unless expr_walk_once() was called. */
#ifndef IR_WALK_H
#define IR_WALK_H

#include "ir/expr.h"

/* --- Walking -------------------------------------------------------------- */

/* What a walk tells of; a set of these says what its user wants to hear.
 *
 *   f(a, key=b)             a, b, then f
 *   fn (%x) { e }           BIND x, e, UNBIND x
 *   let %x = e1; e2         e1, BIND x, e2, UNBIND x
 *   let %f = fn1 and %g = fn2; e
 *                           BIND f, BIND g, fn1, fn2, e, UNBIND g, UNBIND f
 *   %0 = e1; e2             e1, BIND with no `var`, e2
 *   match (e) { p if g => e1 }
 *                           e, PATTERN p and BIND of its variables, g, e1,
 *                           UNBIND; of an arm that shares its body only p
 *
 * BIND and UNBIND pair like brackets.  A graph variable has no scope of its
 * own, so its BIND, which comes where it is defined, has no UNBIND. */
typedef enum WalkEvent {
  WALK_ENTER = 1,        /* `at`, before its children */
  WALK_LEAVE = 2,        /* `at`, after them */
  WALK_BIND = 4,         /* `var` is in scope from here on */
  WALK_UNBIND = 8,       /* until here */
  WALK_PATTERN = 16,     /* `pattern`, before the patterns in it */
  WALK_PATTERN_END = 32, /* after them */
  WALK_ATTR_END =
      64, /* `attr`, a value among a call's, after the values in it */
} WalkEvent;

/* How a child lies in its parent.  `index` counts within the role. */
typedef enum WalkRole {
  ROLE_ROOT,
  ROLE_ARG,    /* args[index]: operands, fields, branches, a scrutinee */
  ROLE_ATTR,   /* in the value of attribute `index` of a call */
  ROLE_CALLEE, /* of a call */
  ROLE_BODY,   /* of a fn */
  ROLE_VALUE,  /* of binding `index` of a block */
  ROLE_RESULT, /* of a block; `index` is the number of its bindings */
  ROLE_ARM,    /* the body of arm `index` of a match */
  ROLE_GUARD,  /* the guard of arm `index` of a match */
} WalkRole;

typedef struct WalkFrame WalkFrame;

typedef struct ExprWalk {
  WalkEvent event;
  /* ENTER, LEAVE: the node, how it lies in which other; NULL: in none.  Other
   * events: the node that binds, or that has the pattern or attribute. */
  const Expr *at, *parent;
  WalkRole role;
  int index;
  Var *var;               /* BIND, UNBIND; NULL: a graph variable */
  const Binding *binding; /* BIND, UNBIND by a block */
  const Pattern *pattern;
  const AttrExpr *attr;
  /* Private: */
  Mem *mem;
  unsigned wanted;
  bool leaf, once, failed;
  PtrMap met;
  VEC(WalkFrame) frames;
} ExprWalk;

/* Begins a walk over `root` (NULL: over nothing yet).  `wanted` is a set of
 * WalkEvents; what it leaves out costs nothing. */
void expr_walk_start(ExprWalk *w, Mem *mem, unsigned wanted, const Expr *root);
/* Another root: it is walked before what is left of the walk, the parts of the
 * node at hand included, or begins it anew after it has ended. */
void expr_walk_add(ExprWalk *w, const Expr *root);
/* Passes over a node that was entered before, whichever way leads to it. */
void expr_walk_once(ExprWalk *w);
/* The next event.  False: there is none, or memory ran out. */
bool expr_walk_next(ExprWalk *w);
/* After ENTER: passes over the node's children, and over its LEAVE. */
void expr_walk_skip(ExprWalk *w);
/* Frees the walk; false when memory ran out on the way. */
bool expr_walk_end(ExprWalk *w);

/* After ENTER: is the node's value its parent's, as it is?  Of branches, arms,
 * the result of a block and the body of a fn. */
bool expr_walk_is_tail(const ExprWalk *w);

/* At a node: the binding whose value it is; NULL: it is none's. */
static inline const Binding *expr_walk_binding(const ExprWalk *w) {
  return w->role == ROLE_VALUE ? &w->parent->block->bindings[w->index] : NULL;
}

/* Is it the value of a binding of that kind? */
static inline bool expr_walk_is_value(const ExprWalk *w, BindingKind kind) {
  return w->role == ROLE_VALUE && expr_walk_binding(w)->kind == kind;
}

/* --- Mapping -------------------------------------------------------------- */

/* Makes an expression from another.  What does not change is kept, the same
 * nodes in the same places; a node whose parts change is copied with all else
 * that it holds: its type, its span, how it was written.
 *
 *   ExprMap m;
 *   expr_map_start(&m, mem, arena, e);
 *   while (expr_map_next(&m))
 *     if (m.walk.event == WALK_LEAVE && is_zero_plus(m.made))
 *       expr_map_put(&m, m.made->args[1]);
 *   e = expr_map_end(&m);               NULL: memory ran out
 *
 * The events are ENTER, LEAVE, BIND and UNBIND, of nodes as they were: m.walk
 * holds them.  A node that two ways lead to is mapped twice. */
typedef struct ExprMap {
  ExprWalk walk;
  const Expr *made; /* LEAVE: the node over its mapped parts; at first the same
                       as walk.at if none of these is another */
  /* Private: */
  Arena *arena;
  const void *put;           /* by the user, for the event at hand */
  VEC(const void *) results; /* of parts whose nodes are under way */
} ExprMap;

/* `mem` is for the stack, `arena` for what is made. */
void expr_map_start(ExprMap *m, Mem *mem, Arena *arena, const Expr *root);
bool expr_map_next(ExprMap *m);
/* At ENTER: `e` stands for the node, whose parts are left alone; its LEAVE does
 * not come.  At LEAVE: `e` stands for the node. */
void expr_map_put(ExprMap *m, const Expr *e);
/* At LEAVE: the made node, a copy of it if need be, to be changed in place. */
Expr *expr_map_own(ExprMap *m);
/* At LEAVE of a block: the bindings of the made node, copied if need be, to be
 * changed in place.  NULL: memory ran out. */
Binding *expr_map_own_bindings(ExprMap *m);
/* At LEAVE of a block: it has these bindings, which are used as they are, and
 * this result, which stands for it where there are none. */
void expr_map_put_block(ExprMap *m, int count, const Binding *bindings,
                        const Expr *result);
/* At BIND: `var` is bound in the place of the old one, which is not NULL.  Uses
 * are for the user to map. */
void expr_map_bind(ExprMap *m, Var *var);
/* Frees the map and gives what it made. */
const Expr *expr_map_end(ExprMap *m);

#endif
