/* Choices of cells: found by functional_choice.c, followed by
 * functional_choose.c. */
#ifndef PASSES_FUNCTIONAL_CHOOSE_H
#define PASSES_FUNCTIONAL_CHOOSE_H

#include "ir/walk.h"
#include "passes/calls.h"
#include "passes/functional.h"

typedef VEC(const Expr *) Leaves;

/* `index` gives the place of the leaf that is chosen; leaves are chains of
 * projections and fields of a name.  One of them may be NULL, which stands for
 * all values that are made where they are chosen; `index` then gives a pair,
 * the place and an Option of the value. */
typedef struct Choice {
  const Expr *index;
  Leaves leaves;
  bool makes;
} Choice;

/* A `def` that gives the place of one of these. */
typedef struct Giver {
  const Fn *fn;
  const Expr *const *leaves;
  int count;
  bool makes;
} Giver;

typedef struct Choose {
  Functional *f;
  PtrMap cells;  /* Names of variables that are cells somewhere */
  PtrMap values; /* Names of globals that are used as values */
  PtrMap called; /* and of those that are called */
  PtrMap givers; /* Name of a def -> Giver */
  PtrMap chosen; /* Names of variables that hold a choice */
  bool option;   /* are Some and None those of the library? */
  int again;     /* nodes */
} Choose;

/* A place. */
static inline const Expr *choose_number(Choose *c, Span span, int n) {
  return expr_number(c->f->p, c->f->arena, span, DT_INT32, n);
}

/* The `def` that the call calls, if that gives a place. */
static inline const Giver *choose_giver(const Choose *c, const Expr *e) {
  const Expr *callee = e->kind == EX_CALL ? e->call.callee : NULL;
  bool global = callee && callee->kind == EX_GLOBAL;
  return global ? ptrmap_get(&c->givers, callee->g.name) : NULL;
}

/* Is it a name, or projections and fields of one? */
bool choose_is_chain(const Expr *e);
/* Does the chain seem to be a cell, or to have one in it? */
bool choose_is_cell(const Choose *c, const Expr *chain);

/* Does the expression choose a cell?  The leaves are then the caller's to free.
 * Of a branch, `out` has to be empty. */
bool choose_find(Choose *c, const Expr *e, Choice *out);
bool choose_branch(Choose *c, const Expr *e, Choice *out);

#endif
