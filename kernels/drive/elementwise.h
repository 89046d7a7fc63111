/* Element-wise operators over whole tensors, by strips of the table in use. */
#ifndef KERNELS_DRIVE_ELEMENTWISE_H
#define KERNELS_DRIVE_ELEMENTWISE_H

#include "kernels/call.h"
#include "kernels/isa.h"

/* NULL where the operator does not take the dtype (operand 0's). */
static inline StripFn strip_of(OpId op, DType dtype) {
  return isa_in_use()->strips[dtype][op];
}
/* The conversion to another dtype. */
static inline StripFn strip_of_cast(DType from, DType to) {
  return isa_in_use()->casts[from][to];
}
/* `where` on elements of that many bytes, the condition bool. */
static inline StripFn strip_of_where(size_t size) {
  return isa_in_use()->where[size];
}

/* Nanoseconds of work on an element at least, for parallel_threads(): that of
 * an operator, and what reading and writing operands adds. */
double elementwise_time(OpId op, DType dtype);
#define ELEMENT_MOVED 0.3

/* Says what a strip's code means; false. */
bool elementwise_fault(OpCall *call, int code);

/* Runs a strip function over all operands of a call. */
bool elementwise_run(OpCall *call, StripFn strip, const Value params[2]);

#endif
