/* Kernels that work on one line of a tensor at a time: what is computed. */
#ifndef OPS_REF_ROWS_H
#define OPS_REF_ROWS_H

#include "ops/stop.h"
#include "tensor/tensor.h"

typedef enum RowKind {
  ROW_SOFTMAX,
  ROW_LOG_SOFTMAX,
  ROW_NORMALIZE,
  ROW_L2,
  ROW_LRN,
  ROW_KINDS
} RowKind;

typedef struct RowCall {
  RowKind kind;
  StopFlag *stop;
  double epsilon;
  /* ROW_NORMALIZE: element i is of channel first + i / inner % channels. */
  const Tensor *gamma, *beta; /* NULL: left out */
  int64_t first, inner, channels;
  /* ROW_LRN */
  int64_t size;
  double alpha, power, bias;
} RowCall;

#endif
