/* Conditions of rules, and attributes of their right sides: expressions that
 * are computed from what a match, or a draw, has bound. */
#ifndef RULES_CONDITION_H
#define RULES_CONDITION_H

#include "rules/functions.h"
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
  /* A fact of a parameter that neither its type nor another parameter tells:
   * RULE_CONSTANT, RULE_VALUE, RULE_USES, RULE_PURE, RULE_STATIC.  NULL: it is
   * not known, and then no condition that asks for it holds. */
  const AttrExpr *(*fact)(const struct RuleBound *b, RuleFact fact, int var);
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

#endif
