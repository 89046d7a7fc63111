/* Element-wise operators on rank-0 operands, with the same bits as the kernel
 * gives for an element. */
#ifndef KERNELS_SCALAR_H
#define KERNELS_SCALAR_H

#include "kernels/strip.h"
#include "ops/id.h"

/* `fail` receives the ElementFault; it starts as FAULT_NONE. */
typedef Value (*ScalarFn)(Value a, Value b, Value c, int *fail);

/* NULL when the operator is not element-wise, has attributes that matter, or
 * does not take this dtype (that of operand 0; `to` is the result's). */
ScalarFn op_scalar(OpId op, DType dtype, DType to);

#endif
