/* What ToCPS and UnCPS share. */
#ifndef PASSES_CPS_H
#define PASSES_CPS_H

#include "base/split.h"
#include "passes/rewrite.h"

/* A call of that type. */
const Expr *cps_call(Arena *arena, Span span, const Expr *callee, int count,
                     const Expr *const *args, const Type *type);
/* An `if` or a `match` with other branches or arms, which have that type; arms
 * that share their body share the new one.  NULL: memory ran out, or a part
 * became NULL. */
typedef const Expr *CpsPart(void *data, const Expr *e);
const Expr *cps_branches(Arena *arena, const Expr *e, CpsPart *part, void *data,
                         const Type *type);

#endif
