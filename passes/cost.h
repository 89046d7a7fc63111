/* What evaluating an expression amounts to, by the shapes that are known before
 * anything runs: operations on numbers, bytes moved, bytes allocated.
 *
 * The numbers are an estimate that can be explained: they are the sums of what
 * each operator's row says of its shapes, for one evaluation.  What cannot be
 * known without running is left out and counted, so that a host can say how
 * much of the program the sums stand for. */
#ifndef PASSES_COST_H
#define PASSES_COST_H

#include "ir/program.h"
#include "ops/cost.h"

/* All calls of an operator. */
typedef struct CostRow {
  const OpInfo *op;
  double calls;
  OpCost cost;
} CostRow;

typedef struct Cost {
  VEC(CostRow) rows; /* one for each operator, the dearest first */
  CostRow all;       /* their sum */
  /* What the sums leave out. */
  int unknown;   /* calls of operators on shapes that nobody knows */
  int recursive; /* calls of a function from itself */
  int values;    /* functions that are passed as values, or are unknown */
  bool branches; /* all branches but the dearest */
  bool cut;      /* what was too deep, or too much, to look at */
} Cost;

/* The tensor that a global was evaluated to, for the shape that its type
 * leaves open; NULL: none is known. */
typedef struct CostValues {
  const Tensor *(*find)(void *data, const Global *g);
  void *data;
} CostValues;

/* Sums of calls that the host counts itself: cost_add() for each, and then
 * cost_sum(), before the rows are read.  cost_done() frees them. */
void cost_init(Cost *cost, Mem *mem);
void cost_add(Cost *cost, const OpInfo *op, OpCost of);
void cost_sum(Cost *cost);

/* Of an expression that is checked.  cost_done() frees the rows. */
void cost_of(Cost *cost, const Program *p, const Expr *e, CostValues values);
void cost_done(Cost *cost);

#endif
