/* Conversions between dtypes: floats to integers truncate and saturate, NaN
 * gives 0 (to bool: True); integers wrap; rounding is to nearest even, once.
 * The loops are in cast_body.h. */
#include "ops/kernel.h"
#include "ops/ref/elementwise.h"
#include "ops/ref/odd.h"
#include "ops/simd/simd.h"
#include "tensor/half.h"

#include <string.h>

#define BODY "ops/ref/cast_body.h"
#include "ops/ref/each_bool.h"
#include "ops/ref/each_int.h"
#include "ops/ref/each_float.h"

static const Elementwise *const casts[DTYPE_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = casts_##id,
#include "tensor/dtype.def"
#undef DTYPE
};

Elementwise elementwise_cast(DType from, DType to) {
  Elementwise e = casts[from][to];
  const Simd *simd = simd_table();
  StripFn strip = simd ? simd->cast(from, to) : NULL;
  if (strip) e.strip = strip;
  return e;
}

bool kernel_cast(OpCall *call) {
  OpCall one = *call; /* cast_like has an operand that is not read */
  one.arg_count = 1;
  Elementwise e = elementwise_cast(call->args[0]->dtype, call->outs[0]->dtype);
  bool ok = elementwise_run(&one, e.strip, NULL);
  call->fault = one.fault;
  return ok;
}
