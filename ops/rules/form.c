/* Rules of the operators that take functions, and of those that resolution
 * replaces.  They only say what the type is: the checker itself finds it. */
#include "ops/rules/support.h"

static RuleStatus by_checker(RuleCall *c) {
  (void)c;
  return RULE_WAIT;
}

/* --- Parts of values (types/leaves.c) ------------------------------------- */

RULE(map_leaves, "(fn (t...) -> t), T... -> T, t each tensor of floats in T",
     .fits = FITS_ALWAYS);
static RuleStatus rule_map_leaves(RuleCall *c) { return by_checker(c); }

/* --- Differentiation (types/form.c) -------------------------------------- */

RULE(grad, "(fn (T...) -> t) -> fn (T...) -> (t, (T'...)), t a float scalar",
     .fits = FITS_ALWAYS);
static RuleStatus rule_grad(RuleCall *c) { return by_checker(c); }

RULE(vjp, "(fn (T...) -> R), T... -> (R, fn (R') -> (T'...))",
     .fits = FITS_ALWAYS);
static RuleStatus rule_vjp(RuleCall *c) { return by_checker(c); }

RULE(jvp, "(fn (T...) -> R), (T...), (T'...) -> (R, R')", .fits = FITS_ALWAYS);
static RuleStatus rule_jvp(RuleCall *c) { return by_checker(c); }

RULE(stop_gradient, "T -> T", .fits = FITS_ALWAYS);
static RuleStatus rule_stop_gradient(RuleCall *c) { return by_checker(c); }

RULE(checkpoint, "(fn (T...) -> R) -> fn (T...) -> R", .fits = FITS_ALWAYS);
static RuleStatus rule_checkpoint(RuleCall *c) { return by_checker(c); }

RULE(with_vjp,
     "(fn (T...) -> R), (fn (T..., R, R') -> (T'...)) -> fn (T...) -> R",
     .fits = FITS_ALWAYS);
static RuleStatus rule_with_vjp(RuleCall *c) { return by_checker(c); }

/* --- Of TVM's compiler (types/resolve_lowered.c) ------------------------- */

RULE(call_lowered, "(fn (T...) -> R), (T...) -> R", .fits = FITS_ALWAYS);
static RuleStatus rule_call_lowered(RuleCall *c) { return by_checker(c); }

RULE(invoke, "(fn (T...) -> R), (T...), R -> ()", .fits = FITS_ALWAYS);
static RuleStatus rule_invoke(RuleCall *c) { return by_checker(c); }

RULE(alloc_storage, "int64, any?, int64 -> Storage", .fits = FITS_ALWAYS);
static RuleStatus rule_alloc_storage(RuleCall *c) { return by_checker(c); }

RULE(alloc_tensor, "Storage, any, (r, int) shape -> (shape, dtype)",
     .fits = FITS_ALWAYS);
static RuleStatus rule_alloc_tensor(RuleCall *c) { return by_checker(c); }

RULE(kill, "any -> ()", .fits = FITS_ALWAYS);
static RuleStatus rule_kill(RuleCall *c) { return by_checker(c); }
