/* Moving elements without interpreting them. */
#ifndef KERNELS_DRIVE_MOVE_H
#define KERNELS_DRIVE_MOVE_H

#include "kernels/call.h"

/* Makes a header on the C stack with another geometry over `t`'s elements,
 * starting `offset` elements later.  No reference is counted. */
void geometry_set(Tensor *to, const Tensor *t, int rank, const int64_t *shape,
                  const int64_t *strides, int64_t offset);
Tensor geometry_of(const Tensor *t, int rank, const int64_t *shape,
                   const int64_t *strides, int64_t offset);
/* A view of `n` elements of axis `axis`, starting at `from`. */
Tensor geometry_slice(const Tensor *t, int axis, int64_t from, int64_t n);
/* A view of `t` broadcast to this shape. */
Tensor geometry_broadcast(const Tensor *t, int rank, const int64_t *shape);

/* Sets out `i` of a view kernel: a view on args[0]'s buffer, or a copy when the
 * operand has no buffer to share. */
bool view_out(OpCall *call, int i, const Tensor *geometry);

/* These poll the call's `stop` every few megabytes, and return false when it is
 * set.  Threads share large copies. */
bool copy_into(const OpCall *call, Tensor *to, const Tensor *from);
/* A contiguous copy; NULL with the fault set, or when `stop` was set. */
Tensor *copy_of(OpCall *call, const Tensor *t);
/* Copies the operand to the result, unless the result is the operand in
 * place. */
bool copy_unless_same(const OpCall *call, Tensor *out, const Tensor *from);
/* Sets every element of `dst` to `bits`. */
bool fill_with(const OpCall *call, Tensor *dst, Value bits);

#endif
