/* Usefulness of a match's arms (after Maranget, "Warnings for pattern
 * matching"): which values no arm takes, which arms take nothing new. */
#ifndef TYPES_EXHAUST_H
#define TYPES_EXHAUST_H

#include "ir/program.h"

enum {
  MISSING_MAX = 5,        /* patterns that a message lists */
  MISSING_TEXT_MAX = 400, /* characters of one, about */
};

typedef struct Coverage {
  bool known;       /* false: the patterns fit no type (reported before), or
                       memory ran out */
  bool too_complex; /* the search was given up: what it found stands, but
                       nothing else is said */
  bool *useful;     /* by arm: does it take a value that those above do not? */
  int missing_count;
  const char *missing[MISSING_MAX]; /* values that no arm takes, as patterns */
  bool more;                        /* there are others */
  bool guarded; /* some arm has a guard: it covers nothing for certain */
} Coverage;

/* Looks at the arms of a match; a partial one is not asked what is missing.
 * The result lives in the arena. */
Coverage match_coverage(Mem *mem, Arena *arena, const Match *m);

#endif
