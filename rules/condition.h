/* Conditions of rules, and attributes of their right sides: expressions that
 * are computed from what a match, or a draw, has bound.
 *
 * Their values are those that attributes have: numbers, bools, texts, None and
 * lists of these, as AttrExprs.  Numbers are equal when they are the same
 * number: 0f and 0 are, 0f and -0f are not. */
#ifndef RULES_CONDITION_H
#define RULES_CONDITION_H

#include "rules/rule.h"

/* What a parameter in brackets stands for. */
typedef struct RuleArg {
  bool known;
  Dim dim;  /* of a Dim */
  int rank; /* of a Shape */
  Dim dims[RANK_MAX];
  DType dtype; /* of a dtype */
} RuleArg;

/* What is bound. */
typedef struct RuleBound {
  Program *p;
  Arena *arena;
  const Rule *rule;
  RuleArg *args;          /* by parameter in brackets */
  const AttrExpr **attrs; /* by attribute variable; NULL: nothing yet */
  bool wide; /* an instance has float64 for every dtype of floats */
  /* The type of a parameter: its dtype and its dims, of which some may be no
   * numbers; the rank, or -1 where that is not known. */
  int (*shape)(const struct RuleBound *b, int var, DType *dtype, Dim *dims);
  /* The other facts of a parameter: is_constant, value, uses, pure, static.
   * NULL: not known, and then no condition that asks for it holds. */
  const AttrExpr *(*fact)(const struct RuleBound *b, const char *name, int var);
  const void *data; /* theirs */
} RuleBound;

/* The value of an expression; NULL: what it needs is not known, or it has no
 * value. */
const AttrExpr *rule_eval(const RuleBound *b, const Expr *e);
/* An attribute as written, with what is bound put in; itself where there is
 * nothing to put in.  NULL: that has no value. */
const AttrExpr *rule_attr(const RuleBound *b, const AttrExpr *x);
/* number(V, D) of a right side as a constant.  NULL: that has no value, or one
 * that is not near a finite number of the dtype. */
Expr *rule_literal(const RuleBound *b, const Expr *e);
/* Does the condition hold? */
bool rule_holds(const RuleBound *b);

bool attr_expr_same(const AttrExpr *x, const AttrExpr *y);
const AttrExpr *attr_expr_int(Arena *a, int64_t value);
const AttrExpr *attr_expr_bool(Arena *a, bool value);
const AttrExpr *attr_expr_real(Arena *a, double value);
const AttrExpr *attr_expr_text(Arena *a, const char *text);
/* A list whose items are filled in by the caller. */
AttrExpr *attr_expr_list(Arena *a, int count, const AttrExpr ***items);

/* Has a condition a function of that name and so many arguments? */
bool rule_function(const char *name, int count);
/* The name nearest to a misspelt one; NULL. */
const char *rule_function_near(const char *name);

#endif
