/* Rules of differentiation at the types of a call. */
#ifndef TYPES_GRADIENT_H
#define TYPES_GRADIENT_H

#include "ir/program.h"
#include "ops/attr.h"

typedef enum GradientStatus {
  GRADIENT_OK,
  GRADIENT_NONE,    /* the library has no rule for the operator */
  GRADIENT_UNKNOWN, /* an attribute of the rule is an operand of the call */
  GRADIENT_FAILED,  /* reported, or out of memory */
} GradientStatus;

/* A function of those of the operands and the value that `uses` names, bit i
 * standing for operand i and the next for the value, and, last, of the value's
 * adjoint.  It gives a tuple with the adjoint of each operand, () where there
 * is none. */
typedef struct Gradient {
  const Global *function;
  uint32_t uses;
} Gradient;

/* `types` are those of the operands and, last, of the value: `count` in all.
 * Called when nobody else changes the program. */
GradientStatus types_gradient(Program *p, const Attrs *attrs, int count,
                              const Type *const *types, Gradient *out);

/* Why a call of the operator, which is known as `name`, has no rule: the
 * message of E0609. */
const char *gradient_refusal(Arena *arena, const char *name,
                             const struct OpInfo *op, GradientStatus status);

/* The operators by which a reverse sweep adds up parts of adjoints, beside
 * those of rules. */
typedef enum AdjointOp {
  ADJOINT_ADD,      /* two parts */
  ADJOINT_COLLAPSE, /* undoes a broadcast */
  ADJOINT_ROWS,     /* adds to some rows */
  ADJOINT_PRODUCT,  /* a' b, of all rows that wait */
  ADJOINT_SUM,      /* of all rows that wait */
  ADJOINT_JOIN,     /* tensors one below the other */
  ADJOINT_OPS
} AdjointOp;

/* A record of its attributes, which names the operator. */
const Attrs *adjoint_op(Arena *arena, AdjointOp which);

#endif
