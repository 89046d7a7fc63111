/* Element-wise operators over whole tensors, with the strips of the table in
 * use. */
#ifndef KERNELS_DRIVE_ELEMENTWISE_H
#define KERNELS_DRIVE_ELEMENTWISE_H

#include "kernels/call.h"
#include "kernels/isa.h"

/* The operator's strip; NULL when it does not take the dtype (of operand 0). */
static inline StripFn strip_of(OpId op, DType dtype) {
  return isa_in_use()->strips[dtype][op];
}
/* The strip that converts between two dtypes. */
static inline StripFn strip_of_cast(DType from, DType to) {
  return isa_in_use()->casts[from][to];
}
/* `where` on elements of so many bytes; the condition is bool. */
static inline StripFn strip_of_where(size_t size) {
  return isa_in_use()->where[size];
}

/* Least time for an element in nanoseconds, for parallel_threads(): the
 * operator's work, and what reading and writing its operands adds. */
double elementwise_time(OpId op, DType dtype);
#define ELEMENT_MOVED 0.3

/* Sets the fault that a strip has met, division by zero; returns false. */
bool elementwise_fault(OpCall *call);

/* Runs a strip function over the operands of a call. */
bool elementwise_run(OpCall *call, StripFn strip, const Value params[2]);

#endif
