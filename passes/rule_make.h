/* What a left side has matched, and the right side of it. */
#ifndef PASSES_RULE_MAKE_H
#define PASSES_RULE_MAKE_H

#include "passes/rule_match.h"

typedef struct RuleMatch {
  Surroundings *s;
  const Rule *rule;
  RuleBound bound;
  RuleArg args[RULE_TYPES_MAX]; /* of `bound`, with `attrs` */
  const AttrExpr *attrs[ATTR_VARS_MAX];
  const Expr *vars[RULE_PARAMS_MAX];
  /* While it is matched: */
  unsigned swaps; /* a bit for each call that commutes, the outermost highest:
                     are its operands in the other order? */
  int commuting;  /* such calls that are still to come */
  bool through;   /* below a name that was looked through */
} RuleMatch;

/* May it be evaluated again, and elsewhere in its scope? */
static inline bool expr_is_atom(const Expr *e) {
  return (e->kind == EX_VAR && !e->var->lazy) || e->kind == EX_CONST ||
         e->kind == EX_GLOBAL;
}

/* The right side; NULL: a part of it has no type here, or memory ran out.  The
 * variables may have got names since. */
const Expr *rule_make(RuleMatch *m, Span span);

#endif
