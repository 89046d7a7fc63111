/* Calls of operators as passes make them: with their records and types. */
#ifndef PASSES_CALLS_H
#define PASSES_CALLS_H

#include "ops/ops.h"
#include "passes/rewrite.h"

/* What rules say of types (ops/rule.h), and back.  Fields of tuples go to the
 * arena.  NULL: the rule did not say all of it. */
void rule_type_of(Arena *arena, const Type *t, RuleType *out);
const Type *type_of_rule(TypeTable *types, Arena *arena, const RuleType *t);

/* A call of an operator, typed by its rule.  `attrs` is used as it is; NULL:
 * the defaults.  NULL: the rule refuses the operands or cannot tell the type,
 * or memory ran out. */
const Expr *expr_apply(Program *p, Arena *arena, Span span, OpId op,
                       const Attrs *attrs, int count, const Expr *const *args);
#define EXPR_APPLY(p, arena, span, op, attrs, ...)                         \
  expr_apply(                                                              \
      p, arena, span, op, attrs,                                           \
      (int)(sizeof((const Expr *[]){__VA_ARGS__}) / sizeof(const Expr *)), \
      (const Expr *[]){__VA_ARGS__})

/* The tensor `e` cast to a dtype; `e` itself where it has that one.  NULL:
 * memory ran out. */
const Expr *expr_cast(Program *p, Arena *arena, const Expr *e, DType dtype);
/* A scalar constant of that dtype.  NULL: memory ran out. */
const Expr *expr_number(Program *p, Arena *arena, Span span, DType dtype,
                        double value);
/* A tuple.  NULL: memory ran out. */
const Expr *expr_tuple(Program *p, Arena *arena, Span span, int count,
                       const Expr *const *fields);
/* A field of one. */
const Expr *expr_field(Arena *arena, Span span, const Expr *tuple, int index);

/* A vector as a factor along `axis` of tensors of that rank.  NULL: `v` is, or
 * memory ran out. */
const Expr *expr_along(Program *p, Arena *arena, const Expr *v, int axis,
                       int rank);

/* Are the records of two calls of one operator equal? */
bool calls_same_attrs(const Program *p, Arena *arena, const Expr *a,
                      const Expr *b);

/* --- Operators in terms of others ----------------------------------------- */

/* Another expression in the place of a call whose operands, now names and
 * constants, are `args`; it may use each of them as often as it likes.  NULL:
 * the call stays. */
typedef const Expr *Expand(Program *p, Arena *arena, const Expr *call,
                           const Expr *const *args);
typedef struct Expansion {
  OpId op;
  bool real; /* equal for real numbers only: under --fast-math */
  Expand *make;
} Expansion;

/* Expands calls that do nothing but give their value, by the first row that
 * has something of the same type for them.  A field of a tuple that an
 * expansion made is taken at once. */
const Expr *calls_expand(Program *p, Arena *arena, const Expr *e, int count,
                         const Expansion *rows);

/* Are all dimensions of the tensor known?  False of what is no tensor. */
bool type_is_static(const Type *t);

#endif
