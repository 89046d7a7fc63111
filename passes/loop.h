/* Recursions, as the passes on loops see them: functions that call themselves
 * by name, and nothing else by that name. */
#ifndef PASSES_LOOP_H
#define PASSES_LOOP_H

#include "passes/rewrite.h"

/*   def @f(%i, %w) { ... @f(%i + 1, %w) ... }
 *   let %f = fn (%i, %w) { ... %f(%i + 1, %w) ... };
 *
 * A parameter is fixed when each call of the function within itself passes it
 * on as it is: %w here. */
typedef struct Loop {
  Program *p;
  Arena *arena;
  const Expr *whole; /* an EX_FN */
  const Fn *fn;
  const Var *var; /* of a let; NULL: a definition */
  bool *fixed;    /* by parameter */
  PtrMap inside;  /* Var -> Loop: what its body binds, and the parameters that
                     are not fixed */
} Loop;

/* Makes another function of a loop; NULL: it stays. */
typedef const Expr *LoopRewrite(Loop *loop);
/* Rewrites the loops in the value of a definition, inner ones first.  Those
 * within more than eight functions with names are left alone, so that the time
 * is in proportion to the text. */
const Expr *loops_rewrite(Program *p, Arena *arena, const Expr *e,
                          LoopRewrite *rewrite);

/* Is it a call of the loop? */
bool loop_is_call(const Loop *loop, const Expr *e);
/* A name or a constant that has one value in all turns of the loop, and is in
 * scope around it. */
bool loop_is_fixed(const Loop *loop, const Expr *e);

/* Of a walk over a body, at a node: may a turn pass over it, since it stands on
 * a branch, or in a function of its own? */
bool loop_passes_over(const ExprWalk *w);

/* What turns a loop into a function around a loop with fewer parameters:
 *
 *   fn (%i, %w) {
 *     let ...;                                 before
 *     let %loop = fn (%i, more) { body };      fixed parameters are free in it
 *     %loop(%i, first)
 *   }
 *
 * Calls of the loop within `body` are to be replaced by those of
 * around_next(). */
typedef struct Around {
  Loop *loop;
  Var *name;   /* %loop */
  Var **outer; /* the parameters of the function around it */
  int count;   /* of `more` and `first` */
  Var *const *more;
} Around;
/* False: memory ran out. */
bool around_start(Around *a, Loop *loop, int count, Var *const *more);
/* The next turn: a call with these arguments in the place of `call`'s, and
 * values of `more`. */
const Expr *around_next(const Around *a, const Expr *call,
                        const Expr *const *more);
/* The same with the parameters as they are. */
const Expr *around_again(const Around *a, Span span, const Expr *const *more);
/* `first` is evaluated after `before`, in which the parameters that are not
 * fixed may not be used; `start` gives those at the first turn.  NULL: memory
 * ran out. */
const Expr *around_end(const Around *a, int count, const Binding *before,
                       const Expr *body, const Expr *const *first);
/* The function's own use of parameter i, for `first`. */
const Expr *around_start_of(const Around *a, int param);

#endif
