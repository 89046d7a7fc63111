/* What kernels of boxes include before boxes_body.h. */
#ifndef KERNELS_DRIVE_BOXES_H
#define KERNELS_DRIVE_BOXES_H

#include <string.h>

#include "kernels/drive/sort.h"
#include "kernels/kernel.h"

/* Stores an integer as an element of a contiguous result. */
static inline void put_int(Tensor *out, int64_t i, int64_t value) {
  bits_store(out->dtype, out->data + i * (int64_t)dtype_size(out->dtype),
             bits_from_i64(out->dtype, value));
}

/* Are the boxes of operand 0 computed with in double? */
static inline bool boxes_are_wide(const OpCall *call) {
  return dtype_in(call->args[0]->dtype) == IN_F64;
}

#endif
