/* Reductions: the functions of one dtype and kind, which overlays replace. */
#ifndef OPS_REF_REDUCE_H
#define OPS_REF_REDUCE_H

#include "ops/ref/walk.h"

typedef enum ReduceKind {
  REDUCE_SUM,
  REDUCE_PROD,
  REDUCE_MAX,
  REDUCE_MIN,
  REDUCE_KINDS
} ReduceKind;

/* A result, or up to REDUCE_COLUMNS that lie side by side, from a walk over
 * the elements that make (the first of) them; `divisor` is what each is
 * divided by at the end. */
enum { REDUCE_COLUMNS = 64 };
typedef struct Reducer {
  void (*row)(const Walk *w, char *out, int64_t divisor);
  void (*columns)(const Walk *w, char *out, int64_t step, int columns,
                  int64_t divisor);
} Reducer;

#endif
