/* Moving elements without looking at them. */
#ifndef KERNELS_DRIVE_MOVE_H
#define KERNELS_DRIVE_MOVE_H

#include "kernels/call.h"

/* A header on the C stack that shows other geometry of `t`, `offset` elements
 * on; nothing is counted. */
void geometry_set(Tensor *to, const Tensor *t, int rank, const int64_t *shape,
                  const int64_t *strides, int64_t offset);
Tensor geometry_of(const Tensor *t, int rank, const int64_t *shape,
                   const int64_t *strides, int64_t offset);
/* The part of axis `axis` from `from` on, `n` long. */
Tensor geometry_slice(const Tensor *t, int axis, int64_t from, int64_t n);
/* `t` with axes of length 1 repeated to this shape. */
Tensor geometry_broadcast(const Tensor *t, int rank, const int64_t *shape);

/* Sets out `i` of a view kernel: a view on args[0]'s buffer, or a copy where
 * there is none to share. */
bool view_out(OpCall *call, int i, const Tensor *geometry);

/* These look at the call's `stop` every few megabytes: false when it was up.
 * Threads share what is large. */
bool copy_into(const OpCall *call, Tensor *to, const Tensor *from);
/* A contiguous copy; NULL with the fault set, or when `stop` was up. */
Tensor *copy_of(OpCall *call, const Tensor *t);
/* The result starts as the operand's elements; in place it has them. */
bool copy_unless_same(const OpCall *call, Tensor *out, const Tensor *from);
/* Elements of `dst` all become `bits`. */
bool fill_with(const OpCall *call, Tensor *dst, Value bits);

#endif
