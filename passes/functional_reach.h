/* What the two files that find who touches the state share: functional_note.c
 * notes what stands in a definition, functional_reach.c what follows. */
#ifndef PASSES_FUNCTIONAL_REACH_H
#define PASSES_FUNCTIONAL_REACH_H

#include "ir/walk.h"
#include "passes/functional.h"

/* What a local name meant before: a function, or a part of the state. */
typedef struct Hidden {
  const Name *name;
  Fun *fun;
  const Part *part;
} Hidden;

/* A call with parts of the state among its arguments. */
typedef struct PartCall {
  const Expr *call;
  Fun *home;
} PartCall;

typedef struct Reach {
  Functional *f;
  PtrMap locals; /* Name -> the Fun that it names */
  PtrMap parts;  /* Name -> the Part that it names */
  VEC(PartCall) calls;
  VEC(Hidden) hidden;
  VEC(Fun *) under_way;
  PtrMap library;         /* Name -> the Fun of a `def` of the library */
  bool in_library;        /* a copy from there is walked */
  const Expr *script_let; /* the value that the script gives a name */
  VEC(Fun *) risen;       /* they touch more than those know who use them */
} Reach;

/* The Fun of an EX_FN; made where it is met for the first time. */
Fun *reach_fun(Functional *f, const Expr *fn);
/* The function touches that, too. */
void reach_raise(Reach *r, Fun *fun, unsigned touch);
/* `caller` NULL: a script's item or a value. */
void reach_add_caller(Reach *r, Fun *fun, Fun *caller);
/* From now on the name means these; NULL: neither. */
void reach_hide(Reach *r, const Name *name, Fun *fun, const Part *part);
/* The function that a name means; NULL: none that is known. */
Fun *reach_meant(const Reach *r, const Expr *e);
/* Notes what stands in the expression. */
void reach_note(Reach *r, const Expr *root);

void reach_refuse_graph(Functional *f, Span span);
void reach_refuse_part(Functional *f, const Expr *e, const Part *part);

#endif
