/* A tensor in a few words: how many elements, from where to where, how many are
 * no numbers. */
#ifndef TENSOR_FACTS_H
#define TENSOR_FACTS_H

#include "tensor/tensor.h"

typedef struct TensorFacts {
  int64_t count, nans, infinities;
  int64_t least, most; /* which elements those are; -1: there are none */
  double mean;         /* of what is finite; 0 where nothing is */
} TensorFacts;

TensorFacts tensor_facts(const Tensor *t);
/* "6 elements, -1 to 2.5, mean 0.5, 1 NaN"; bools: "3 True, 1 False". */
void tensor_print_facts(StrBuf *out, const Tensor *t);

#endif
