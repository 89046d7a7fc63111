/* Call by need (Wadsworth, 1971; Launchbury, 1993): what a variable stands for
 * is evaluated at its first use, once, and never if there is none. */
#include "smallstep/strategy.h"

/*   let %x = e; f   ->  f, where %x stands for e
 *   (fn (%x) { f })(e)   ->  f, where %x stands for e
 *
 * Operators, constructors, tuples and cells take values, and a condition and a
 * scrutinee are values: what they are made of is evaluated.  So is an argument
 * whose shape the parameter's type asks for. */
static bool waits(const StepMachine *m, const Expr *e, const Type *wanted) {
  (void)m;
  return step_is_work(e) && !(wanted && types_need_check(e->type, wanted));
}

static StepOrder callee_first(const Expr *e) {
  return e->kind == EX_CALL ? ORDER_CALLEE : ORDER_LEFT;
}

const StepStrategy strategy_need = {
    .name = "need",
    .sentence = "a let and an argument are evaluated at their first use, once",
    .order = callee_first,
    .waits = waits,
    .keeps = true,
};
