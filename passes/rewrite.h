/* Passes over the checked program: what their files share. */
#ifndef PASSES_REWRITE_H
#define PASSES_REWRITE_H

#include "ir/walk.h"
#include "passes/pass.h"

/* Rewrites the value of each definition of a unit and of the texts that it
 * imports, and each of its expressions.  The unit, or NULL when memory ran
 * out. */
Unit *unit_rewrite(Program *p, Unit *unit, Rewrite *rewrite);
/* The same for a rewrite that wants to know more than the expression. */
typedef const Expr *RewriteWith(void *data, Program *p, Arena *arena,
                                const Expr *e);
Unit *unit_rewrite_with(Program *p, Unit *unit, RewriteWith *rewrite,
                        void *data);
/* Does something in the text run when it does, an expression or `@main`?  Else
 * it is a module, and a host calls its functions. */
bool unit_runs(Program *p, Unit *unit);
/* Makes lets of the graph variables that are evaluated where they stand, in all
 * definitions, for passes that look from one into another. */
Unit *unit_with_lets(Program *p, Unit *unit);
/* Calls `visit` for the unit and each text that it imports. */
void unit_each(Program *p, Unit *unit, void (*visit)(void *data, Unit *u),
               void *data);

/* Does a derivative form stand in the unit or a text that it imports, the
 * library's too? */
bool unit_differentiates(Program *p, const Unit *unit);
/* May the value have an adjoint, whose bits are to stay?  In a text that
 * differentiates an adjoint may be summed over the uses of any value, the last
 * operator first.  So a pass that merges two equal floats changes the bits of
 * the sum, from g1 * y + g2 * y to (g1 + g2) * y, and one that moves what uses
 * %x past something else that does changes its order.  Without it equal values
 * are as good as each other. */
bool expr_has_adjoint(const Program *p, const Expr *e);

/* Does it use a graph variable that is evaluated at its first use? */
bool expr_uses_lazy(const Program *p, const Expr *e);
/* Does evaluating it do nothing but give a value? */
bool expr_is_pure(const Program *p, const Expr *e);
/* The operator that it calls; NULL: it is no such call. */
const struct OpInfo *expr_operator(const Expr *e);
/* A use of a variable. */
const Expr *expr_use(Arena *arena, Span span, Var *var);
/* A new variable that holds such a value. */
Var *var_for(Program *p, Arena *arena, const Expr *value);

/* --- Copies and calls (copy.c) ------------------------------------------ */

/* Is it of at most so many nodes, and without graph variables that are
 * evaluated at their first use?  Then it may stand at a second place. */
bool expr_is_small(const Program *p, const Expr *e, int64_t most);

/* How many nodes it has; where memory ran out, EXPR_SIZE_MOST, which is more
 * than there are and can be multiplied by the thousands that passes allow. */
#define EXPR_SIZE_MOST (INT64_MAX >> 20)
int64_t expr_size(const Program *p, const Expr *e);
bool expr_mentions(const Program *p, const Expr *e, const Var *var);
/* Puts into `uses` how often each variable stands in `e`: a Var to a number. */
void expr_count_uses(const Program *p, const Expr *e, PtrMap *uses);

/* Is it an `if` or a `match` with a branch of another type?  Where the checker
 * knows which is taken, its type is that branch's. */
bool expr_joins_types(const Expr *e);
/* Is it an operator's call whose shape may depend on the value of an operand?
 * The checker knows more of it where it knows that value. */
bool expr_computes_shape(const Expr *e);
/* The expression, to stand in the place of another one: where its text leaves
 * its type to its place, as that of `fail` does, or its type is another, as the
 * value of a `let` of that type. */
const Expr *expr_of_type(Program *p, Arena *arena, const Expr *e,
                         const Expr *place);
/* Does a call of this function mean no more than its body with the arguments in
 * the places of the parameters?  Entering one with parameters in brackets, or
 * with arguments whose dimensions only the function knows, does more. */
bool call_is_plain(const Program *p, const Expr *call, const Expr *fn);
/* The body of the function (EX_FN) in the place of a plain call of it, with a
 * `let` for each argument that is computed; a copy, so that the function stays.
 * NULL: out of memory. */
const Expr *call_inlined(Program *p, Arena *arena, const Expr *call,
                         const Expr *fn);
/* A name, a global or a scalar: evaluating it twice is as well as once. */
bool expr_is_simple(const Expr *e);

/* Gives each operand that is computed a name (normal.c). */
Rewrite expr_normal_form;

/* Writes what is known of small integer tensors as constants, and puts taken
 * branches in the place of their `if` (fold.c). */
Rewrite expr_fold;

/* The functions whose bodies may take the places of their calls (inline.c). */
typedef struct Inlining {
  int64_t size;     /* of bodies, at most */
  bool loops;       /* those that reach themselves, else the others */
  PtrMap recursive; /* Globals that reach themselves */
  PtrMap local;     /* Var -> the function that a `let` gives it */
} Inlining;
/* Rewrites the unit, knowing which functions reach themselves, with lets in the
 * place of graph variables. */
Unit *inlining_rewrite(Inlining *in, Program *p, Unit *unit,
                       RewriteWith *rewrite, void *data);
/* Notes the function that the walk's BIND gives a name. */
void inlining_bind(Inlining *in, const Program *p, const ExprWalk *w);
/* The function that is called, if it is one of them; NULL: it is not, or is not
 * known. */
const Expr *inlining_target(const Inlining *in, const Expr *call);
/* Puts bodies of small functions in the places of their calls; its data is an
 * Inlining. */
RewriteWith expr_inline;

/* --- Definitions that passes make --------------------------------------- */

/* A new one in the program's scope, of that name or, where it is taken, one
 * like it.  NULL: memory ran out. */
Global *global_new(Program *p, Arena *arena, const char *like, Span span,
                   const Type *type);
/* Its item, once it has its value. */
Item global_item(const Global *g);
/* Adds items at the end of the text, below the values that they use. */
void unit_add_items(Unit *unit, size_t count, const Item *items);

/* The type as a declaration says it.  `*sayable` becomes false, and `_` stands
 * for the part, where it has parameters of its own or mentions one; a dimension
 * without a number is `?`.  `cell`, if not NULL, stands for each type of cells.
 * Recursive: the caller bounds the type's size. */
const TypeExpr *type_as_written(Program *p, Arena *arena, const Type *t,
                                Span span, const TypeExpr *cell, bool *sayable);

/* The definitions that can reach themselves: Global -> one of those that it
 * reaches and that reach it, the same for all of these. */
void find_recursive(Program *p, Unit *unit, PtrMap *out);

#endif
