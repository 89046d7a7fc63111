/* Element-wise operators: for each operator and dtype a function that works
 * on a strip, and one that works on a scalar. */
#ifndef OPS_REF_ELEMENTWISE_H
#define OPS_REF_ELEMENTWISE_H

#include "ops/ops.h"

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

typedef struct Elementwise {
  StripFn strip;
  ScalarFn scalar; /* NULL: the operator has parameters */
} Elementwise;

/* {NULL, NULL} where the operator does not take the dtype (operand 0's). */
Elementwise elementwise_of(OpId op, DType dtype);
/* The conversion to another dtype. */
Elementwise elementwise_cast(DType from, DType to);
/* `where` on elements of that many bytes, the condition bool. */
StripFn elementwise_where(size_t size);

/* Nanoseconds of work on an element at least, for parallel_threads(): that of
 * an operator, and what reading and writing operands adds. */
double elementwise_time(OpId op, DType dtype);
#define ELEMENT_MOVED 0.3

/* Says what a strip's code means; false. */
bool elementwise_fault(OpCall *call, int code);

/* Runs a strip function over all operands of a call. */
bool elementwise_run(OpCall *call, StripFn strip, const Value params[2]);

/* Loops whose rounds do not depend on each other, even when the result is
 * written over an operand. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* some stay scalar */
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif
#define ALWAYS_INLINE static inline __attribute__((always_inline))

#endif
