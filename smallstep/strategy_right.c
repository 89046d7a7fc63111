/* From right to left, as OCaml's compilers evaluate arguments.  Blocks keep
 * their order: it is that of their text. */
#include "smallstep/strategy.h"

static StepOrder from_right(const Expr *e) {
  (void)e;
  return ORDER_RIGHT;
}

const StepStrategy strategy_right = {
    .name = "right-to-left",
    .sentence = "arguments, operands and fields from right to left",
    .order = from_right,
    .keeps = true,
};
