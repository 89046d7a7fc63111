/* A rule at given arguments: its sides as functions of its variables. */
#ifndef RULES_INSTANCE_H
#define RULES_INSTANCE_H

#include "rules/condition.h"

/* The type of a parameter, with what is bound put in. */
const TypeExpr *rule_type(const RuleBound *b, int var);
/* `fn (%x: Tensor[(2, 3), float32], ...) { SIDE }`, parsed; NULL: an attribute
 * has no value there, or memory ran out. */
const Expr *rule_side(const RuleBound *b, const Expr *side);
/* "s = (2, 3), d = float32, $p = [1, 0]"; nothing where nothing is bound. */
void rule_print_args(const RuleBound *b, StrBuf *out);

#endif
