/* Rules of the operators that are run for what they do. */
#include "ops/rules/support.h"

static RuleStatus unit(RuleCall *c) {
  rule_result_tuple(c, 0);
  return RULE_OK;
}

/*   x : any type
 *   ---------------
 *   print(x) : ()                                                           */
RULE(print, "any -> ()", .fits = FITS_ALWAYS);
static RuleStatus rule_print(RuleCall *c) { return unit(c); }

/*   x : (n, int)
 *   --------------------
 *   print_text(x) : ()                                                      */
RULE(print_text, "(n, int) -> ()", .fits = FITS_ALWAYS);
static RuleStatus rule_print_text(RuleCall *c) {
  if (!rule_rank(c, 0, 1) || !rule_class(c, 0, TAKES_INT)) return RULE_ERROR;
  return unit(c);
}

/*   x : bool
 *   ----------------
 *   assert(x) : ()                                                          */
RULE(assert, "bool -> ()");
static RuleStatus rule_assert(RuleCall *c) {
  if (!rule_dtype(c, 0, DT_BOOL) || !rule_rank(c, 0, 0)) return RULE_ERROR;
  return unit(c);
}

/*   -----------------------
 *   fail() : T    for any T, so nothing is said about it                    */
RULE(fail, "() -> any type");
static RuleStatus rule_fail(RuleCall *c) {
  c->result = (RuleType){.kind = RT_UNKNOWN, .dtype = DTYPE_NONE, .rank = -1};
  return RULE_OK;
}

/*   x : T    for any T
 *   -------------------
 *   on_device(x) : T                                                        */
RULE(identity, "T -> T", .fits = FITS_ALWAYS);
static RuleStatus rule_identity(RuleCall *c) {
  c->result = c->args[0];
  return c->result.kind == RT_UNKNOWN ? RULE_WAIT : RULE_OK;
}
