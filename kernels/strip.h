/* Strips: what element-wise operators run on. */
#ifndef KERNELS_STRIP_H
#define KERNELS_STRIP_H

#include "tensor/tensor.h"

/* A run of elements of each operand; steps are in elements. */
typedef struct Strip {
  int64_t n;
  char *out;
  int64_t out_step;
  const char *in[3];
  int64_t step[3];
  Value params[2]; /* attributes, as elements */
} Strip;

/* 0, or the code of a fault. */
typedef int (*StripFn)(const Strip *s);

#endif
