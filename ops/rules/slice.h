/* What strided_slice selects: asked by its rule and by its kernel. */
#ifndef OPS_RULES_SLICE_H
#define OPS_RULES_SLICE_H

#include "ops/attr.h"

/* Elements first, first + step, ..., `count` of them. */
typedef struct Slice {
  int64_t first, step, count;
} Slice;

/* A slice's bounds along an axis of `length`, which count from the end when
 * negative and are then clipped.  False when it ends before it begins. */
bool slice_bounds(int64_t length, int64_t begin, int64_t end, int64_t step,
                  Slice *slice);

/* begin, end and stride of item i of the attributes, for an axis of `length`;
 * DIM_ANY where that is not known. */
typedef struct SliceSpec {
  Dim begin, end, step;
} SliceSpec;
SliceSpec slice_spec(const Attrs *attrs, int i, Dim length);
/* How many axes are sliced, and which the i-th is (it may be negative). */
int slice_count(const Attrs *attrs, int rank);
Dim slice_axis(const Attrs *attrs, int i);

/* All axes, for complete attributes that the rule has accepted. */
void slices_of(const Attrs *attrs, int rank, const int64_t *shape,
               Slice *slices);

#endif
