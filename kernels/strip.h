/* Strips: the runs that element-wise operators process. */
#ifndef KERNELS_STRIP_H
#define KERNELS_STRIP_H

#include "tensor/tensor.h"

/* What can go wrong with one element. */
typedef enum ElementFault { FAULT_NONE, FAULT_DIVISION_BY_ZERO } ElementFault;

/* A run of elements of each operand; strides are in elements. */
typedef struct Strip {
  int64_t n;
  char *out;
  int64_t out_step;
  const char *in[3];
  int64_t step[3];
  Value params[2]; /* attributes, as elements of the dtype */
} Strip;

/* Returns an ElementFault, of some element that has one. */
typedef int (*StripFn)(const Strip *s);

#endif
