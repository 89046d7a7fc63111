/* A tensor in a few words: how many elements, from where to where, how many are
 * no numbers. */
#ifndef TENSOR_FACTS_H
#define TENSOR_FACTS_H

#include "tensor/tensor.h"

typedef struct TensorFacts {
  int64_t count, nans, infinities;
  int64_t trues;     /* elements other than 0, NaN aside */
  int64_t finite;    /* neither NaN nor infinite */
  bool ordered;      /* there is an element that is no NaN: */
  Value least, most; /* the bits of those */
  double mean;       /* of the finite ones; 0 where there are none */
} TensorFacts;

TensorFacts tensor_facts(const Tensor *t);
/* The first element that is a NaN, row by row; -1: none. */
int64_t tensor_first_nan(const Tensor *t);
/* "6 elements, -1 to 2.5, mean 0.5, 1 NaN"; bools: "3 True, 1 False". */
void tensor_print_facts(StrBuf *out, const Tensor *t);

#endif
