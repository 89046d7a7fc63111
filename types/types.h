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

/* Finds again what a pass broke in a checked unit and its imports, whose names
 * and types hold: the effects of functions, and the values of `let`s.  False
 * when memory runs out. */
bool types_find_again(Program *p, Unit *unit);

/* Does a value of the type hold tensors and nothing else: no function and no
 * cell?  A type variable that nothing has bound counts as data, since no value
 * is of that type.  `mem` is for the search alone. */
bool type_is_data(const Type *t, Mem *mem);

/* --- Checks at run time (crossing.c) ------------------------------------- */

/* Where a tensor crosses from an unknown dimension to a known one, the value
 * is checked at run time.  Asked by lowering at every boundary: argument,
 * annotation, result, operand.  True when `actual` holds `?` where `expected`
 * does not, in a tensor itself or a tuple's field; containers are not
 * traversed. */
bool types_need_check(const Type *actual, const Type *expected);
/* The same where a value comes out of a container or a function: pattern
 * variable, ref_read, result of a call. */
bool types_need_check_out(const Program *p, const Type *actual,
                          const Type *expected);
/* Does it hold a number or a name, in a tensor itself or a tuple's field? */
bool types_know_dims(const Type *t);

/* Calls `visit` for each place of the node itself, not of its children, where
 * a value of type `actual` goes where `expected` is known; `out`: out of a
 * container or a function. */
typedef void (*CrossingFn)(void *data, const Type *actual, const Type *expected,
                           bool out);
void types_crossings(const Expr *e, CrossingFn visit, void *data);

/* Must the function that is used here compare its arguments when it is
 * entered?  The use leaves open what a named dimension is, and more than one
 * dimension of its parameters says. */
bool types_use_binds(const Program *p, const Expr *use);
/* Does the use put `?` for a named dimension inside a container or function? */
bool types_use_loosens(const Program *p, const Expr *use);

/* --- Effects ------------------------------------------------------------- */

/* The effects of evaluating an expression of a checked program. */
Effects expr_effects(const Program *p, const Expr *e);
/* What evaluating the node adds to what evaluating its parts does. */
Effects expr_own_effects(const Program *p, const Expr *e);
/* expr_effects() of `e` and of each node within, bodies of functions included,
 * in one walk: Expr -> effects, with EFFECT_KNOWN.  False: memory ran out. */
bool expr_effects_each(const Program *p, const Expr *e, PtrMap *out);
/* "reads, writes, may fail"; "pure". */
void effects_print(StrBuf *out, Effects e);

/* --- Values known before a run ------------------------------------------- */

/* The value of a small integer tensor of a checked program, where all of it is
 * known before the program runs (ops/known.h). */
struct Known;
bool types_known(Program *p, Arena *arena, const Expr *e, struct Known *out);
/* The same of what stands in the body of the function that a call names. */
bool types_known_within(Program *p, Arena *arena, const Expr *call,
                        const Expr *e, struct Known *out);
/* For many such questions about one program: what was found of a variable for
 * one is kept for the next, so that n questions about a chain of n lets take
 * time in proportion to n.  NULL: memory ran out, which is raised. */
typedef struct Knowing Knowing;
Knowing *knowing_new(Program *p);
void knowing_free(Knowing *k); /* NULL is fine */
/* The value is copied into the arena. */
bool knowing_ask(Knowing *k, Arena *arena, const Expr *e, struct Known *out);

/* Is a condition of the operator of a text's own that the call names known not
 * to hold of its operands? */
bool types_own_refused(Program *p, Arena *arena, const Expr *call);

/* Is every shape in the user's own texts known before the program runs?  Where
 * one is not, E0306 says where that comes from and what it reaches. */
bool types_static(Program *p);

/* --- Attributes as text -------------------------------------------------- */

/* The attributes of a checked call of an operator, for Program's
 * `attrs_written`. */
int types_written_attrs(Arena *a, NameTable *names, const Expr *call,
                        const Attr **attrs, int *operands);

/* The value of one attribute, as it would be written. */
struct AttrSpec;
struct AttrValue;
const AttrExpr *types_written_value(Arena *a, const struct AttrSpec *spec,
                                    const struct AttrValue *v);

/* The reverse, of an attribute without expressions; false: it is no such
 * value. */
bool types_read_value(Arena *a, const struct AttrSpec *spec, const AttrExpr *x,
                      struct AttrValue *v);

/* --- How one type fits another (fit.c) ----------------------------------- */

/* How well a value of one type serves where another is wanted. */
typedef enum TypeFit {
  FIT_NOT,
  FIT_PARTLY, /* where the type wanted is instantiated, too */
  FIT_MORE,   /* it is more general than what is wanted */
  FIT_SAME,   /* up to the names of type parameters */
} TypeFit;
/* `wanted` is closed, or a function type with its parameters. */
TypeFit types_fit(TypeTable *types, const Type *found, const Type *wanted);

/* --- Instances ----------------------------------------------------------- */

/* The text of the function of which a global is an instance, and what stands
 * for one of its parameters. */
const Item *types_instance_item(const Global *instance);
KindArg types_instance_arg(const Global *instance, int param);

/* A function type quantified over the parameters that are free in it; others
 * as they are. */
const Type *types_quantify(TypeTable *table, const Type *t);

#endif
