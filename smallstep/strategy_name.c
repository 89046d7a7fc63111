/* Call by name (Plotkin, 1975): as by need, but what a variable stands for is
 * evaluated anew at each use. */
#include "smallstep/strategy.h"

static bool waits(const StepMachine *m, const Expr *e, const Type *wanted) {
  return strategy_need.waits(m, e, wanted);
}

static StepOrder callee_first(const Expr *e) { return strategy_need.order(e); }

const StepStrategy strategy_name = {
    .name = "name",
    .sentence = "a let and an argument are evaluated at each use",
    .order = callee_first,
    .waits = waits,
};
