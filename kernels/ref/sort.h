/* Merging and searching the elements of one line, by dtype. */
#ifndef KERNELS_REF_SORT_H
#define KERNELS_REF_SORT_H

#include "base/stop.h"
#include "tensor/tensor.h"

typedef struct Line {
  DType dtype;
  const char *data;
  int64_t step, n; /* stride in elements, and length */
  bool descend;
} Line;

/* Merges the sorted order[from..middle) and order[middle..to) into `out`.
 * Stable: of equal elements the left one comes first.  NaN comes last. */
typedef void (*MergeFn)(const Line *line, StopFlag *stop, const int64_t *order,
                        int64_t *out, int64_t from, int64_t middle, int64_t to);
extern const MergeFn ref_merges[DTYPE_COUNT];

/* The number of elements of a sorted line that come before `value`. */
typedef int64_t (*SearchFn)(const Line *line, const char *value, bool right);
extern const SearchFn ref_searches[DTYPE_COUNT];

#endif
