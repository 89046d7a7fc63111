/* Stable sorting of positions: for sort, argsort, topk, unique. */
#ifndef KERNELS_DRIVE_SORT_H
#define KERNELS_DRIVE_SORT_H

#include "kernels/call.h"
#include "kernels/ref/sort.h"

/* The positions 0 .. n-1 in the order of their elements; `order` and
 * `scratch` have room for n each.  Returns the one that holds the answer, or
 * NULL when `stop` was seen. */
int64_t *line_sort(const OpCall *call, const Line *line, int64_t *order,
                   int64_t *scratch);

#endif
