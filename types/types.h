/* The checker: from a parsed unit to a typed one.
 *
 *   resolve      names to Vars, Globals, Ctors, operators; attributes bound
 *                to records; graph variables placed at their home scopes as
 *                lets; constant tensor literals folded
 *   infer        structure by unification, one strongly connected component
 *                of the call graph at a time; operators' rules re-run until
 *                nothing changes; dimensions by a dataflow that only widens
 *   exhaust      matches
 *   effects      of every function; then graph nodes that may only fail or
 *                diverge are marked lazy
 *
 * A mistake is reported and checking goes on: the error type fits everything.
 */
#ifndef TYPES_TYPES_H
#define TYPES_TYPES_H

#include "ir/program.h"

/* Checks a parsed unit and adds its definitions to p->user (p->library for a
 * library unit).  True when there was no error; then every expression has its
 * type, every use its instantiation, unit->steps what to evaluate.  On false
 * nothing of the unit is in scope; the caller drops the unit. */
bool types_check(Program *p, Unit *unit);

/* Where a tensor crosses from an unknown dimension to a known one, the value
 * is checked at run time.  Asked by lowering at every boundary: argument,
 * annotation, result, operand, pattern variable, ref_read, result of a
 * function value.  True when `actual` holds `?` where `expected` does not, in
 * a tensor itself or a tuple's field; containers are not traversed. */
bool types_need_check(const Type *actual, const Type *expected);

/* The effects of evaluating an expression of a checked program. */
Effects expr_effects(const Expr *e);
/* "reads, writes, may fail"; "pure". */
void effects_print(StrBuf *out, Effects e);

/* Is every shape in the user's own texts known before the program runs?  Where
 * one is not, E0306 says where that comes from and what it reaches. */
bool types_static(Program *p);

/* A type from text such as an API call or `:type` may hand in. */
const Type *types_resolve(Program *p, const TypeExpr *t);

#endif
