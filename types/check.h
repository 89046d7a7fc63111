/* The state of one run of the checker, and what its phases hand on: new
 * definitions in the order of their text, each resolved (resolve.h), put into
 * a component (scc.c), inferred (infer.h), then checked and summarised. */
#ifndef TYPES_CHECK_H
#define TYPES_CHECK_H

#include "ops/ops.h"
#include "types/types.h"

/* --- Definitions --------------------------------------------------------- */

/* A global, or a script's expression, that this run has to check. */
typedef struct Definition {
  Global *global; /* NULL: an expression */
  const Item *item;
  Unit *unit;
  Scope *scope;         /* the scope in which its names are looked up */
  int order;            /* index of its item in its file */
  const Type *declared; /* by its annotation; NULL: none */
  const Expr *value;    /* in bound form; NULL: a param without a default */
  Span span;
  VEC(struct Definition *) uses;
  /* scc.c: */
  int index, low, component; /* 0: not seen yet */
  bool on_stack;
  /* infer.c: */
  struct Ty *type;
  int param_count; /* quantified */
  const TypeVar *const *params;
} Definition;

typedef VEC(Definition *) Definitions;

/* A graph variable's let whose first use lies inside an `if` or `match`. */
typedef struct Sinking {
  Var *var;
  const Expr *value;
} Sinking;

/* --- The checker --------------------------------------------------------- */

typedef struct Checker {
  Program *p;
  Unit *unit; /* the one handed in; others come by import and from
                 the library */
  Mem *mem;
  Arena arena;      /* for inference; freed when that is done */
  Scope scope;      /* the unit's own names, before they join p->user */
  Definitions defs; /* grows while the library is linked */
  size_t resolved;  /* so many of them are */
  VEC(Definition *) steps;
  VEC(struct AdtWork *) adts; /* whose constructors' fields are to come */
  size_t adts_resolved;
  PtrMap dim_vars; /* Var that holds a named dimension -> TypeVar */
  VEC(Sinking) sinking;
  Definitions components; /* in order of inference */
  size_t errors_before;
  uint32_t first_var; /* ids of variables below it are of earlier runs */
  struct Infer *infer;
} Checker;

/* Is the unit part of the library? */
static inline bool unit_is_library(const Unit *u) {
  return u->source && u->source->library;
}

/* What is known of an int32's value before the program runs: a number, a named
 * dimension, sums, differences and products of such; else `?`. */
Dim dim_of_value(const Checker *c, const Expr *e);

/* --- Phases -------------------------------------------------------------- */

/* Declares the unit's names and resolves everything that is reached. */
void resolve_program(Checker *c);

/* Sorts the definitions into components, callees before callers:
 * c->components, each definition's `component`. */
void scc_sort(Checker *c);

/* Types of everything; afterwards every Expr, Var and Global has its own. */
void infer_program(Checker *c);
/* An inference variable for a `_` in an annotation (a struct Ty). */
void *infer_hole(Checker *c);

void exhaust_program(Checker *c);
void effects_program(Checker *c);

#endif
