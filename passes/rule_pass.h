/* Passes that are lists of rules: stdlib/rules/PASS.rly. */
#ifndef PASSES_RULE_PASS_H
#define PASSES_RULE_PASS_H

#include "passes/rule_match.h"

/* What stands in the place of `e`, where no rule fits; NULL: `e`. */
typedef const Expr *RuleMore(Surroundings *s, const Expr *e);

/* Goes over the program once and applies at each node the rules of the pass
 * under way, in their order, and then `more`, which may be NULL.  Without
 * --fast-math rules of grade bits alone are applied. */
Unit *unit_apply_library(Program *p, Unit *unit, RuleMore *more);

#endif
