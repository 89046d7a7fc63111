/* Strips: the runs that element-wise operators process. */
#ifndef KERNELS_STRIP_H
#define KERNELS_STRIP_H

#include "tensor/tensor.h"

/* A run of elements of each operand; strides are in elements. */
typedef struct Strip {
  int64_t n;
  char *out;
  int64_t out_step;
  const char *in[3];
  int64_t step[3];
  Value params[2]; /* attributes, as elements of the dtype */
} Strip;

/* Returns 0, or the code of a fault. */
typedef int (*StripFn)(const Strip *s);

#endif
