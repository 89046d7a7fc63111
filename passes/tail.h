/* Which recursive calls of a program run in constant stack, and what stands
 * between the others and the end of their function. */
#ifndef PASSES_TAIL_H
#define PASSES_TAIL_H

#include "ir/program.h"

typedef enum TailKind {
  TAIL_END,    /* it is the last thing that its function does */
  TAIL_CONS,   /* it is the last field of a constructor that is */
  TAIL_INNER,  /* it is the last thing that a `fn` within its function does */
  TAIL_BEFORE, /* something is done after it */
} TailKind;

/* A call of a function from within itself, or from within one that it calls in
 * turn. */
typedef struct TailCall {
  Span at;
  const char *caller, *callee; /* with their sigils; "" of a script's */
  TailKind kind;
  const char *between; /* TAIL_BEFORE: what waits for its value */
  Span waits;          /* where that stands */
} TailCall;

/* All of them in the user's own texts, in their order; texts go to `arena`.
 * False: memory ran out. */
typedef VEC(TailCall) TailCalls;
bool tail_calls(Program *p, Unit *unit, Arena *arena, TailCalls *out);

#endif
