/* Names and the state at each place of a definition: what functional_map.c asks
 * of functional_thread.c. */
#ifndef PASSES_FUNCTIONAL_THREAD_H
#define PASSES_FUNCTIONAL_THREAD_H

#include "ir/walk.h"
#include "passes/functional.h"

/* A place where bindings are collected, and the state there. */
typedef struct Frame {
  Bindings bindings;
  const Expr *base; /* the whole state; NULL: there is none yet */
  const Expr **now; /* by cell: its content; NULL: the base's */
  bool complete;    /* the value is `(value, state)` already */
} Frame;

/* An expression that is under way. */
typedef struct Node {
  bool tail;          /* its value is the frame's */
  const Expr *writer; /* its last part that writes; NULL: passed, or none */
} Node;

/* What a name meant before, and what had bound it. */
typedef struct Hidden {
  const Name *name;
  const Name *meant;
  const Expr *binder;
} Hidden;

typedef struct Thread {
  Functional *f;
  VEC(Frame) frames;
  VEC(Node) nodes;
  PtrMap locals;  /* Name -> the Name that it has now */
  PtrMap binders; /* Name -> the block, fn or match that binds it */
  VEC(Hidden) hidden;
  PtrMap taken;    /* names that a binder of the definition has */
  PtrMap suffixes; /* Name -> the last suffix that it was given */
  PtrMap renamed;  /* Var -> the Var in its place */
  PtrMap states;   /* an EX_FN -> the parameter of its state */
} Thread;

void thread_init(Thread *t, Functional *f);
void thread_done(Thread *t);

/* --- Names ---------------------------------------------------------------- */

/* A variable with a name of its own, like this one. */
Var *thread_own_var(Thread *t, const Name *like, Span span,
                    const TypeExpr *annotation);
Var *thread_var(Thread *t, const char *like, Span span);
/* From now on the name is `now`; `binder` may be NULL. */
void thread_enter(Thread *t, const Name *name, const Name *now,
                  const Expr *binder);
/* At the WALK_BIND and the WALK_UNBIND of a variable. */
void thread_bind(Thread *t, ExprMap *m);
void thread_unbind(Thread *t, const ExprWalk *w);
/* The variable in the place of one; `again`: an alternative of the pattern
 * binds it, too. */
Var *thread_renamed(Thread *t, const Var *v, const Expr *value, bool again);

/* The function that a value is; NULL: none whose calls are known. */
const Fun *thread_fun(const Thread *t, const Expr *value);
unsigned thread_touch(const Thread *t, const Expr *value);
/* A function that touches the state is of another type than is written, and so
 * is what stands for a part of it. */
bool thread_retypes(const Thread *t, const Expr *value);

/* --- Expressions ---------------------------------------------------------- */

Expr *thread_use(Thread *t, const Name *name, Span span);
const Expr *thread_field(Thread *t, const Expr *tuple, int index);
/* The fields are used as they are. */
const Expr *thread_tuple(Thread *t, Span span, int count,
                         const Expr *const *fields);
const Expr *thread_pair(Thread *t, const Expr *a, const Expr *b);
/* May it be evaluated later, or not at all, without a difference? */
bool thread_is_atom(const Expr *e);

/* --- Frames --------------------------------------------------------------- */

void thread_emit(Thread *t, Binding b);
/* `let %like = value`, and the variable. */
const Expr *thread_let(Thread *t, Var *var, const Expr *value);
/* A frame with the whole state, and the contents that are known (NULL: none).
 */
void thread_push(Thread *t, const Expr *base, const Expr *const *now);
/* The value with what was emitted before it; `gives`: with the state, too. */
const Expr *thread_pop(Thread *t, const Expr *value, bool gives);
/* What a cell holds, and the whole state, at this place. */
const Expr *thread_content(Thread *t, int cell, Span span);
const Expr *thread_state(Thread *t, Span span);
/* From `(value, state)`: the state is the frame's from here on.  Gives the
 * value. */
const Expr *thread_take_state(Thread *t, const Expr *both);

#endif
