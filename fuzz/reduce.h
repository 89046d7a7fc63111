/* Cutting a program down while it stays of interest. */
#ifndef FUZZ_REDUCE_H
#define FUZZ_REDUCE_H

#include "fuzz/generate.h"

typedef struct Interest {
  bool (*holds)(void *data, const GenProgram *p);
  void *data;
  int trials; /* how many programs may still be tried */
} Interest;

/* Drops items, puts a part of an expression, or the plainest value, in its
 * place; until nothing helps or the trials are spent. */
void reduce(Arena *a, GenProgram *p, Interest *interest);

#endif
