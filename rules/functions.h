/* The values of conditions, and the functions on them.
 *
 * Values are AttrExprs, as attributes have them: numbers, bools, texts, None
 * and lists of these.  A dimension that is no number is a value, too, of which
 * can be known that another one is the same: an AX_EXPR without an expression,
 * whose `integer` is the Dim's word.  Numbers are equal when they are the same
 * number: 0f and 0 are, 0f and -0f are not. */
#ifndef RULES_FUNCTIONS_H
#define RULES_FUNCTIONS_H

#include "ir/program.h"
#include "ops/ops.h"

/* Surely equal?  The same dimension without a number is, but not two `?`. */
bool attr_expr_same(const AttrExpr *x, const AttrExpr *y);
const AttrExpr *attr_expr_int(Arena *a, int64_t value);
/* An AX_INT where the dimension is a number. */
const AttrExpr *attr_expr_dim(Arena *a, Dim dim);
const AttrExpr *attr_expr_bool(Arena *a, bool value);
const AttrExpr *attr_expr_real(Arena *a, double value);
const AttrExpr *attr_expr_text(Arena *a, const char *text);
const AttrExpr *attr_expr_none(Arena *a);
/* A list whose items are filled in by the caller. */
AttrExpr *attr_expr_list(Arena *a, int count, const AttrExpr ***items);

enum { RULE_FUNCTION_ARGS_MAX = 2 };

/* Kinds of values, in sets. */
enum {
  VALUE_NUMBER = 1,
  VALUE_BOOL = 2,
  VALUE_TEXT = 4,
  VALUE_LIST = 8,
  VALUE_NONE = 16,
  VALUE_ANY = 31,
};
typedef unsigned ValueKinds;

/* What a condition can ask about the variables of its rule. */
typedef enum RuleFact {
  RULE_NO_FACT,
  RULE_RANK,
  RULE_SHAPE,
  RULE_DTYPE,
  RULE_CONSTANT,
  RULE_VALUE,
  RULE_USES,
  RULE_PURE,
  RULE_STATIC,
  RULE_BROADCASTS,
} RuleFact;

/* A row is either a function of values (`run`) or a fact about the variables
 * that are its arguments (`fact`). */
typedef struct RuleFunction {
  const char *name;
  int count;                                /* of its arguments */
  ValueKinds takes[RULE_FUNCTION_ARGS_MAX]; /* of a function of values */
  ValueKinds gives;
  bool compares; /* its arguments should have a kind in common */
  /* Its result is NULL where these values have none, or it is not known. */
  const AttrExpr *(*run)(Arena *a, const AttrExpr *const *x);
  RuleFact fact;
} RuleFunction;

/* The function of that name and so many arguments; NULL: there is none. */
const RuleFunction *rule_function(const char *name, int count);
/* The fact that a call asks for. */
RuleFact rule_fact(const Expr *e);
/* The name nearest to a misspelt one; NULL. */
const char *rule_function_near(const char *name);

#endif
