/* Passes over the checked program: what their files share. */
#ifndef PASSES_REWRITE_H
#define PASSES_REWRITE_H

#include "ir/walk.h"
#include "passes/pass.h"

/* Makes an expression of a checked program from another, with types; NULL when
 * memory runs out. */
typedef const Expr *Rewrite(Program *p, Arena *arena, const Expr *e);

/* Rewrites the value of each definition of a unit and of the texts that it
 * imports, and each of its expressions.  The unit, or NULL when memory ran
 * out. */
Unit *unit_rewrite(Program *p, Unit *unit, Rewrite *rewrite);
/* Calls `visit` for the unit and each text that it imports. */
void unit_each(Program *p, Unit *unit, void (*visit)(void *data, Unit *u),
               void *data);

/* Does evaluating it do nothing but give a value? */
bool expr_is_pure(const Program *p, const Expr *e);
/* The operator that it calls; NULL: it is no such call. */
const struct OpInfo *expr_operator(const Expr *e);
/* A use of a variable. */
const Expr *expr_use(Arena *arena, Span span, Var *var);
/* A new variable that holds such a value. */
Var *var_for(Program *p, Arena *arena, const Expr *value);

#endif
