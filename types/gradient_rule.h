/* A rule of differentiation being written for the types and attributes of one
 * call: what gradient.c, which makes a function of it, and stretch.c, which
 * puts the rules of several calls into one function, share. */
#ifndef TYPES_GRADIENT_RULE_H
#define TYPES_GRADIENT_RULE_H

#include "ops/ops.h"
#include "types/gradient.h"

typedef struct Making {
  Program *p;
  Arena *arena;
  const Item *item;
  const Attrs *attrs;
  int count;                /* operands of the call */
  int own;                  /* of which so many are no attributes */
  const Type *const *types; /* of the operands, the value and its adjoint */
  uint32_t uses;            /* bit i: an attribute needs operand i */
  bool unknown;             /* an attribute that only the run knows */
} Making;

/* The rule as the library has it; NULL: it has none. */
const Item *gradient_rule(Program *p, const OpInfo *op);
/* Checks a unit whose functions are made of rules, of which one stands at this
 * place: the names in them are the library's, whatever the program has defined.
 */
bool gradient_check(Program *p, Unit *unit, Span rule);
/* The body of a rule, without what is not written in the language alone; NULL:
 * memory ran out. */
const Expr *gradient_body(Making *m);
/* Does the expression read a variable of this name? */
bool gradient_mentions(Mem *mem, const Expr *body, const Name *name);
/* The type as it is written, with ? for dimensions that are no numbers. */
const TypeExpr *gradient_type(Arena *arena, const Type *t, Span span);
/* Field i of a tuple; a tuple of `n` fields, whose list it takes. */
const Expr *gradient_field(Arena *arena, const Expr *tuple, int i);
const Expr *gradient_tuple(Arena *arena, Span span, int n, const Expr **fields);

#endif
