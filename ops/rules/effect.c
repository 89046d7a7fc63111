/* Rules of the operators that are run for what they do. */
#include <string.h>

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

/*   x1, ..., xn : T
 *   --------------------------------
 *   same_structure(x1, ..., xn) : ()                                        */
RULE(same_structure, "T, T... -> ()");
static RuleStatus rule_same_structure(RuleCall *c) { return unit(c); }

/*   x : (n, int)
 *   --------------------
 *   print_text(x) : ()                                                      */
RULE(print_text, "(n, int) -> ()", .fits = FITS_ALWAYS);
static RuleStatus rule_print_text(RuleCall *c) {
  if (!rule_rank(c, 0, 1) || !rule_class(c, 0, TAKES_INT)) return RULE_ERROR;
  return unit(c);
}

/* Has the message as many `{}` as there are values for it?  Without values it
 * has none: its braces are text.  Values without a message are probably one
 * that was written like an argument. */
static bool fills_message(RuleCall *c) {
  int values = c->count - op_arg_count(c->op), places = 0;
  const char *p = attr_text(c->attrs, ATTR_message);
  while (values > 0 && p && (p = strstr(p, "{}"))) places++, p += 2;
  if (places == values) return true;
  if (!span_exists(attr_get(c->attrs, ATTR_message)->at)) {
    rule_attr_error(c, E0204, ATTR_message,
                    "no message has a place for %d value%s", values,
                    values == 1 ? "" : "s");
    rule_hint(c, "a message is an attribute: message=\"depth {}\", %%depth");
    return false;
  }
  rule_attr_error(c, E0204, ATTR_message,
                  "the message has %d `{}` for %d value%s", places, values,
                  values == 1 ? "" : "s");
  rule_hint(c, "each `{}` stands for one value: message=\"depth {}\", %%depth");
  return false;
}

/*   x : bool    v1, ..., vn : any types
 *   ---------------------------------------------------
 *   assert(x, message="... {} ...", v1, ..., vn) : ()                       */
RULE(assert, "bool, values... -> ()");
static RuleStatus rule_assert(RuleCall *c) {
  if (!rule_dtype(c, 0, DT_BOOL) || !rule_rank(c, 0, 0) || !fills_message(c))
    return RULE_ERROR;
  return unit(c);
}

/*   v1, ..., vn : any types
 *   --------------------------------------------
 *   fail(message="... {} ...", v1, ..., vn) : T
 *
 * for any T, so nothing is said about it. */
RULE(fail, "values... -> any type");
static RuleStatus rule_fail(RuleCall *c) {
  if (!fills_message(c)) return RULE_ERROR;
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
