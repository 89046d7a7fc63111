/* The values of conditions, and the functions on them.
 *
 * Values are those that attributes have: numbers, bools, texts, None and lists
 * of these, as AttrExprs; and dimensions that are no numbers, of which it may
 * be known that two are the same: an AX_EXPR, of which `integer` is the Dim's
 * word. Numbers are equal when they are the same number: 0f and 0 are, 0f and
 * -0f are not. */
#ifndef RULES_FUNCTIONS_H
#define RULES_FUNCTIONS_H

#include "ir/program.h"
#include "ops/ops.h"

/* Surely equal?  The same dimension without a number is, but not two `?`. */
bool attr_expr_same(const AttrExpr *x, const AttrExpr *y);
const AttrExpr *attr_expr_int(Arena *a, int64_t value);
/* An AX_INT where it is a number. */
const AttrExpr *attr_expr_dim(Arena *a, Dim dim);
const AttrExpr *attr_expr_bool(Arena *a, bool value);
const AttrExpr *attr_expr_real(Arena *a, double value);
const AttrExpr *attr_expr_text(Arena *a, const char *text);
const AttrExpr *attr_expr_none(Arena *a);
/* A list whose items are filled in by the caller. */
AttrExpr *attr_expr_list(Arena *a, int count, const AttrExpr ***items);

enum { RULE_FUNCTION_ARGS_MAX = 2 };

typedef struct RuleFunction {
  const char *name;
  int count; /* of its arguments */
  /* Of values that are there; NULL from it: they have no such value, or what
   * it depends on is not known.  NULL: its arguments are parameters of the
   * rule, and it is a fact of these. */
  const AttrExpr *(*run)(Arena *a, const AttrExpr *const *x);
} RuleFunction;

/* The function of that name and so many arguments; NULL: there is none. */
const RuleFunction *rule_function(const char *name, int count);
/* The name nearest to a misspelt one; NULL. */
const char *rule_function_near(const char *name);

#endif
