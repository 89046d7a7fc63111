/* Calls of operators of a text's own, `op @f`, in the checked program. */
#ifndef PASSES_OWN_CALL_H
#define PASSES_OWN_CALL_H

#include "passes/rewrite.h"
#include "rules/rule.h"

/* The operator that a call names, as its text defines it; NULL: it is no such
 * call. */
const Global *expr_own(const Expr *e);

/* A call of the operator, typed by its signature; an instance for these
 * operands is made where the program has none yet.  NULL: the signature or a
 * condition of the operator refuses the operands, or memory ran out. */
const Expr *own_apply(Program *p, Arena *arena, Span span, Global *op,
                      int count, const Expr *const *args);

/* --- Who reaches whom (own_reach.c) --------------------------------------- */

/* What the operators that a list of rules introduces use, directly or by way of
 * others.  A rule that introduces `@f` is not applied within a definition that
 * `@f` uses, or within `@f` itself: the program would no longer end. */
typedef struct OwnReach {
  Program *p;
  VEC(const Global *) ops;
  VEC(PtrMap *) reached; /* by operator: the definitions, itself among them */
} OwnReach;
void own_reach_start(OwnReach *r, Program *p);
void own_reach_end(OwnReach *r);
/* The operators of one more rule. */
void own_reach_add(OwnReach *r, const Rule *rule);
/* May the rule be applied in the definition at hand (PassCall)? */
bool own_reach_allows(const OwnReach *r, const Rule *rule);
/* It was applied there. */
void own_reach_note(OwnReach *r, const Rule *rule);

#endif
