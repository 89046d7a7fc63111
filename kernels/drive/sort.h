/* Stable merge sort of positions: for sort, argsort, topk, unique. */
#ifndef KERNELS_DRIVE_SORT_H
#define KERNELS_DRIVE_SORT_H

#include "kernels/call.h"
#include "kernels/ref/sort.h"

/* Sorts the positions 0 .. n-1 by their elements.  `order` and `scratch` have
 * room for n each; returns whichever holds the result, or NULL when `stop` was
 * set. */
int64_t *line_sort(const OpCall *call, const Line *line, int64_t *order,
                   int64_t *scratch);

#endif
