/* What the files of `specialise` share: one run, which lives on the stack of
 * specialise().  What is made lies in the unit's arena. */
#ifndef PASSES_SPECIAL_H
#define PASSES_SPECIAL_H

#include "passes/specialise.h"

typedef struct Special {
  Program *p;
  Unit *u;
  const Fn *fn;                /* of the entry; NULL: there is none */
  VEC(TypeParam) names;        /* that are known, ... */
  VEC(const TypeExpr *) meant; /* ... and what they are */
} Special;

/* What the name of a dimension, a shape or a dtype is, as a type in whose place
 * it stands; NULL: nobody has said. */
const TypeExpr *special_meaning(const Special *s, const Name *name);
/* The name as the function declares it; NULL: it does not.  `fn` may be NULL.
 */
const TypeParam *special_name(const Fn *fn, const Name *name);
/* The number that the name of a dimension means. */
static inline int64_t special_number(const TypeExpr *t) {
  return t->dims[0]->number;
}

/* The parameter's type for what is given, with what follows of names learnt;
 * `t` may be NULL, where none is written.  NULL after reporting. */
const TypeExpr *special_fit(Special *s, const Given *g, const TypeExpr *t,
                            Span at);

#endif
