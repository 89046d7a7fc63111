/* Conversions between dtypes, from the same source as the reference kernels,
 * for the dtypes that programs convert most. */
#include "ops/simd/isa/isa.h"

#include "ops/kernel.h"
#include "ops/ref/elementwise.h"
#include "ops/ref/odd.h"
#include "tensor/half.h"

#include <string.h>

#define BODY "ops/ref/cast_body.h"
#include "ops/ref/each_bool.h"
#define WIDE_ALONE
#include "ops/ref/each_int.h"
#include "ops/simd/isa/each_float.h"

static const Elementwise *const casts[DTYPE_COUNT] = {
    [DT_BOOL] = casts_BOOL,
    [DT_INT32] = casts_INT32,
    [DT_INT64] = casts_INT64,
    [DT_FLOAT32] = casts_FLOAT32,
};

StripFn ISA(simd_cast)(DType from, DType to) {
  return casts[from] ? casts[from][to].strip : NULL;
}
