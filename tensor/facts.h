/* A tensor's summary in one line: the number of elements, their range, their
 * mean, how many are NaN. */
#ifndef TENSOR_FACTS_H
#define TENSOR_FACTS_H

#include "tensor/tensor.h"

typedef struct TensorFacts {
  int64_t count, nans, infinities;
  int64_t trues;     /* elements other than 0 and NaN */
  int64_t finite;    /* neither NaN nor infinite */
  bool ordered;      /* some element is not NaN, so there is a range: */
  Value least, most; /* its ends, as bits */
  double mean;       /* of the finite elements; 0 without any */
} TensorFacts;

TensorFacts tensor_facts(const Tensor *t);
/* The row-major index of the first NaN; -1 for none. */
int64_t tensor_first_nan(const Tensor *t);
/* "6 elements, -1 to 2.5, mean 0.5, 1 NaN"; bools: "3 True, 1 False". */
void tensor_print_facts(StrBuf *out, const Tensor *t);

#endif
