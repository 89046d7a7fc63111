/* Cutting a program down while it stays of interest. */
#ifndef FUZZ_REDUCE_H
#define FUZZ_REDUCE_H

#include "fuzz/generate.h"

typedef struct Interest {
  bool (*holds)(void *data, const GenProgram *p);
  void *data;
  int trials; /* number of programs that may still be tried */
} Interest;

/* Drops items, and replaces expressions by one of their parts or the plainest
 * value, until nothing helps or the trials are used up. */
void reduce(Arena *a, GenProgram *p, Interest *interest);

#endif
