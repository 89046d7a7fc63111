/* Effects, between effects.c and effects_op.c. */
#ifndef TYPES_EFFECTS_H
#define TYPES_EFFECTS_H

#include "ir/program.h"
#include "ops/ops.h"

/* An operator and what it is applied to. */
typedef struct OpUse {
  const OpInfo *op;
  const Attrs *attrs; /* NULL: the defaults */
  int count;
  const Expr *const *args;  /* NULL: it is a value */
  const Type *const *types; /* then, its parameters' types */
} OpUse;

Effects op_effects(const OpUse *use);

#endif
