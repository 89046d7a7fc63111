/* Stable sorting of positions: for sort, argsort, topk, unique. */
#ifndef OPS_REF_SORT_H
#define OPS_REF_SORT_H

#include "ops/ops.h"

typedef struct Line {
  DType dtype;
  const char *data;
  int64_t step, n; /* in elements */
  bool descend;
} Line;

/* The positions 0 .. n-1 in the order of their elements; `order` and
 * `scratch` have room for n each.  Returns the one that holds the answer, or
 * NULL when `stop` was seen. */
int64_t *line_sort(const OpCall *call, const Line *line, int64_t *order,
                   int64_t *scratch);

#endif
