/* Reductions, from the same source as the reference kernels, for the dtypes
 * that programs reduce most. */
#include "ops/simd/isa/isa.h"

#include "ops/ref/elementwise.h"
#include "tensor/half.h"

#include <string.h>

enum { PARTS = 16 };

#define BODY "ops/ref/reduce_body.h"
#include "ops/ref/each_bool.h"
#define WIDE_ALONE
#include "ops/ref/each_int.h"
#include "ops/simd/isa/each_float.h"

const Reducer *const ISA(simd_reducers)[DTYPE_COUNT] = {
    [DT_BOOL] = reducers_BOOL,
    [DT_INT32] = reducers_INT32,
    [DT_INT64] = reducers_INT64,
    [DT_FLOAT32] = reducers_FLOAT32,
};
