/* FirstOrderGradient: a function's body as values and operators
 * (first_order.c), and names and text (first_order_text.c). */
#ifndef PASSES_FIRST_ORDER_H
#define PASSES_FIRST_ORDER_H

#include "base/vec.h"
#include "passes/rewrite.h"
#include "types/stretch.h"

/* Values have numbers: inputs from 0 on, results of operators from -1 down. */
typedef struct FirstOrder {
  Program *p;
  Arena *arena;
  PtrMap means;   /* Var -> the tuple or the leaf that it is another name of */
  PtrMap numbers; /* Var -> number_kept() of its value, of its first field */
  PtrMap varies;  /* Vars that depend on a float parameter */
  VEC(const Expr *) inputs;  /* the parameters, then what does not vary */
  VEC(const Expr *) results; /* of operators */
  VEC(StretchOp) ops;
  const char *stays; /* why the derivative stays as it is; NULL: not known */
  Span stays_at;     /* where the reason is */
  bool listed;       /* the body is a list of operators */
} FirstOrder;

/* The expression, a name, a field of one or a constant, by the first name of
 * its value. */
const Expr *first_order_name(const FirstOrder *f, const Expr *e);
/* What a name means that a `let` gives the value: a tuple of such, or a name, a
 * constant or a field of a name; NULL: something new. */
const Expr *first_order_meaning(FirstOrder *f, const Expr *e);
/* A name of the value, after a `let` of it, where it is computed. */
const Expr *first_order_named(FirstOrder *f, Bindings *out, const Expr *e);
/* Adds the body's bindings, without second names. */
void first_order_forward(FirstOrder *f, Bindings *out, const Block *block);
/* Adds those of the sweep, flat, without tuples that are only taken apart;
 * gives its tuple.  NULL: memory ran out. */
const Expr *first_order_sweep(FirstOrder *f, Bindings *out, const Expr *e);

#endif
