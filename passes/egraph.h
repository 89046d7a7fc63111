/* Graphs of equal expressions, for equality saturation (passes/saturate.c). */
#ifndef PASSES_EGRAPH_H
#define PASSES_EGRAPH_H

#include "passes/own_call.h"
#include "passes/rule_match.h"
#include "types/types.h"

typedef struct ENode {
  const Expr *e;   /* its operands are variables of classes */
  int class, next; /* the next of the class; -1: it is the last */
  int count;
  const int *kids; /* classes of operands, as they were when it was made */
  double cost;     /* of the node alone */
} ENode;

typedef struct EClass {
  int up;    /* union-find: itself, where it was not joined to another */
  int first; /* node */
  Var *var;  /* stands for it in nodes */
  const Expr *use;
  double best; /* the least cost */
  int node;    /* that has it */
  int uses;    /* in what is extracted */
  const Expr *made;
} EClass;

typedef struct EGraph {
  Program *p;
  Arena *arena; /* of what is extracted */
  Arena own;    /* of the graph */
  Surroundings around;
  int most; /* nodes */
  VEC(ENode) nodes;
  VEC(EClass) classes;
  PtrMap by_hash; /* to 1 + a node; `same` chains those of one hash */
  VEC(int) same;
  PtrMap by_var; /* Var -> 1 + its class */
  bool joined;   /* in the round at hand */
} EGraph;

void egraph_start(EGraph *g, Program *p, Arena *arena, int most);
void egraph_end(EGraph *g);
/* Is it a call that a graph has, of an operator of the table without computed
 * attributes, or of one of a text's own? */
bool egraph_has_call(const Expr *e);
/* The class of an expression that does nothing but give its value; -1: it has
 * parts that no graph has, or there are too many nodes. */
int egraph_add(EGraph *g, const Expr *e);
/* Applies the rules wherever they fit.  False: that added nothing. */
bool egraph_round(EGraph *g, int count, const Rule *rules);
/* The cost of the cheapest expression of the class, shared parts once; it may
 * then be made. */
double egraph_cost(EGraph *g, int class,
                   double (*cost)(void *data, const Expr *node), void *data);
const Expr *egraph_best(EGraph *g, int class, Span span);

#endif
