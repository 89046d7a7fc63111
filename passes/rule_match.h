/* Rules on the checked program: matching left sides, making right sides. */
#ifndef PASSES_RULE_MATCH_H
#define PASSES_RULE_MATCH_H

#include "passes/calls.h"
#include "rules/condition.h"

/* What is known of the definition at hand. */
typedef struct Surroundings {
  Program *p;
  Arena *arena;
  PtrMap effects; /* Expr -> what evaluating it can do */
  PtrMap values;  /* Var of a let -> its value, once that was met */
  PtrMap uses;    /* Var -> how often it is mentioned */
} Surroundings;
void surroundings_start(Surroundings *s, Program *p, Arena *arena,
                        const Expr *e);
void surroundings_end(Surroundings *s);
/* Does evaluating it do nothing but give its value? */
bool surroundings_pure(const Surroundings *s, const Expr *e);

/* Are the operators of texts' own that the rule calls those of the program?
 * Then the rule knows them from now on.  Where one is not, and the rule might
 * fit, that is a warning. */
bool rule_may_apply(Program *p, Rule *rule);

/* The right side in the place of `e`, of the same type; NULL: the rule does not
 * fit, or memory ran out. */
const Expr *rule_applied(Surroundings *s, const Rule *rule, const Expr *e);

#endif
