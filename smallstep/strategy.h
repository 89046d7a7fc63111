/* Strategies: in which order the step machine evaluates, and what may wait.
 *
 * The language is strict, from left to right.  A strategy changes that in three
 * places, each a function of its row:
 *
 *   order    the turns of the parts of an expression (ORDER_)
 *   waits    is what a let binds, or what is passed, to be evaluated at its
 *            variable's use? (then `keeps` says whether the value is kept)
 *   begin    prepares the machine, once
 *
 * A strategy is a row of STRATEGIES and a file that has its rules, as
 * strategy_need.c is.  docs/HACKING.md adds one. */
#ifndef SMALLSTEP_STRATEGY_H
#define SMALLSTEP_STRATEGY_H

#include "smallstep/step_machine.h"

/* The first is the language's. */
#define STRATEGIES(ROW) ROW(strict) ROW(need) ROW(name) ROW(right) ROW(shapes)

/* Of a call of a function value, whose callee is a part like its arguments. */
typedef enum StepOrder {
  ORDER_LEFT,   /* arguments from the left, then the callee */
  ORDER_RIGHT,  /* arguments from the right, then the callee */
  ORDER_CALLEE, /* the callee, then arguments from the left */
} StepOrder;

typedef struct StepStrategy {
  const char *name;     /* as --strategy has it */
  const char *sentence; /* for the help */
  StepOrder (*order)(const Expr *e);
  /* May `e`, which something of type `wanted` is made of, wait?  Its type is
   * no looser, so no check of shapes needs the value.  NULL: nothing waits. */
  bool (*waits)(const StepMachine *m, const Expr *e, const Type *wanted);
  bool keeps; /* what waited is evaluated once, and its value kept */
  void (*begin)(StepMachine *m);
  bool abstract; /* values are not computed, so there are none to compare */
} StepStrategy;

#define ROW(name) extern const StepStrategy strategy_##name;
STRATEGIES(ROW)
#undef ROW

/* --- For strategies ------------------------------------------------------- */

StepOrder step_order_left(const Expr *e);
/* Has evaluating `e` any effect that is seen at another time, or is it no value
 * yet?  What is a value, or a name, is not worth a promise. */
bool step_is_work(const Expr *e);

#endif
