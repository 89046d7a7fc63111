/* Element-wise operators on scalars: the very functions that the kernels
 * apply to an element, found by operator and dtype. */
#include "ops/ref/elementwise.h"

ScalarFn op_scalar(OpId op, DType dtype, DType to) {
  if (op == OP_CAST) return elementwise_cast(dtype, to).scalar;
  return elementwise_of(op, dtype).scalar;
}
