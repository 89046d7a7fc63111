/* What BatchRecurrence has found of a recursive function. */
#ifndef PASSES_RECURRENCE_H
#define PASSES_RECURRENCE_H

#include "passes/calls.h"
#include "passes/loop.h"

enum { SEQUENCES_MOST = 8, PRODUCTS_MOST = 16 };

/* A tensor whose rows the turns take. */
typedef struct Sequence {
  const Expr *whole;
  Var *rows; /* those of a part */
} Sequence;

/* A product with a row, as it stands in a turn. */
typedef struct Product {
  const Expr *at;
  const Expr *of_rows; /* with the rows of a part */
  Var *part;           /* %z */
  Var *row;            /* its own in the place of the row's name; or NULL */
} Product;

/* A name of a row. */
typedef struct RowName {
  const Binding *let;
  int uses;    /* on the branch, */
  int in;      /* and within products */
  int product; /* the first of them */
} RowName;

typedef struct Recurrence {
  Loop *loop;
  const Expr *condition; /* the first one, an EX_IF */
  int turn;              /* which of its branches the next turn is on */
  int counter;           /* the parameter that counts */
  const Expr *bound;
  PtrMap values;  /* Var of a let -> its value */
  PtrMap of_rows; /* Expr, Var: a row, or what is computed from one -> the same
                     of the rows of a part */
  PtrMap batches; /* Expr: those of them that hold a product */
  PtrMap names;   /* Var -> RowName */
  VEC(RowName *) named;
  Sequence sequences[SEQUENCES_MOST];
  Product products[PRODUCTS_MOST];
  int sequence_count, product_count;
  int calls; /* of the function in any case */
} Recurrence;

/* A name whose uses all are within products: the first of them stands in its
 * place, and fails there if the sequence has no rows. */
static inline const RowName *recurrence_replaced(const Recurrence *r,
                                                 const Var *var) {
  const RowName *name = var ? ptrmap_get(&r->names, var) : NULL;
  return name && name->in > 0 && name->in == name->uses ? name : NULL;
}

/* The function with the products of many turns at once (recurrence_loop.c).
 * NULL when memory runs out. */
const Expr *recurrence_loop(Recurrence *r);

#endif
