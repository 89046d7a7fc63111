/* Operators of the host: the program's table tells which function computes. */
#include "kernels/kernel.h"

bool kernel_host(OpCall *call) {
  Dim number = attr_int(call->attrs, ATTR_operator);
  int64_t i = dim_is_number(number) ? dim_value(number) : -1;
  if (!call->hosts || i < 0 || i >= call->hosts->count)
    return op_fault(call, E0606, "its host is not here");
  return call->hosts->items[i]->run(call->hosts->items[i], call);
}
