/* Rules of the operators that take functions, and of those that resolution
 * replaces.  They only say what the type is: the checker itself finds it. */
#include "ops/rules/support.h"

/* A row and its function. */
#define FORM(id, said)                       \
  RULE(id, said, .fits = FITS_ALWAYS);       \
  static RuleStatus rule_##id(RuleCall *c) { \
    (void)c;                                 \
    return RULE_WAIT;                        \
  }

/* --- Parts of values (types/leaves.c) ------------------------------------- */

FORM(map_leaves, "(fn (t...) -> t), T... -> T, t each tensor of floats in T")

/* --- Differentiation (types/form.c) -------------------------------------- */

FORM(grad, "(fn (T...) -> t) -> fn (T...) -> (t, (T'...)), t a float scalar")
FORM(vjp, "(fn (T...) -> R), T... -> (R, fn (R') -> (T'...))")
FORM(jvp, "(fn (T...) -> R), (T...), (T'...) -> (R, R')")
FORM(stop_gradient, "T -> T")
FORM(checkpoint, "(fn (T...) -> R) -> fn (T...) -> R")
FORM(with_vjp,
     "(fn (T...) -> R), (fn (T..., R, R') -> (T'...)) -> fn (T...) -> R")

/* --- Of TVM's compiler (types/resolve_lowered.c) ------------------------- */

FORM(call_lowered, "(fn (T...) -> R), (T...) -> R")
FORM(invoke, "(fn (T...) -> R), (T...), R -> ()")
FORM(alloc_storage, "int64, any?, int64 -> Storage")
FORM(alloc_tensor, "Storage, any, (r, int) shape -> (shape, dtype)")
FORM(kill, "any -> ()")
