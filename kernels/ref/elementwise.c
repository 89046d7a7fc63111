/* See elementwise.h.  elementwise_*.def says what each operator computes, and
 * elementwise_body.h has the loops; this file compiles them for each dtype.
 * Conversions: floats to integers truncate and saturate, NaN gives 0 (to bool:
 * True); integers wrap; rounding is to nearest even, once. */
#include "kernels/ref/elementwise.h"

#include "kernels/math/f64.h"
#include "kernels/ref/elementary.h"
#include "kernels/ref/loop.h"
#include "kernels/ref/odd.h"
#include "kernels/ref/tile.h"
#include "tensor/half.h"

#include <string.h>

#define STRIPS_LINKAGE

/* --- Operators ------------------------------------------------------------ */

#define STRIPS ref_strips
#define SCALARS scalars
#include "kernels/ref/each_list.h"

/* --- Conversions ---------------------------------------------------------- */

#define CASTS ref_casts
#define CAST_SCALARS cast_scalars
#define BODY "kernels/ref/cast_body.h"
#include "kernels/ref/each_bool.h"
#include "kernels/ref/each_int.h"
#include "kernels/ref/each_float.h"
#undef BODY

/* --- Choosing, by bytes of an element ------------------------------------- */

#define WHERE ref_where
#define ID 1
#define T uint8_t
#include "kernels/ref/where_body.h"
#define ID 2
#define T uint16_t
#include "kernels/ref/where_body.h"
#define ID 4
#define T uint32_t
#include "kernels/ref/where_body.h"
#define ID 8
#define T uint64_t
#include "kernels/ref/where_body.h"

/* --- Scalars -------------------------------------------------------------- */

static const ScalarFn *const scalars[DTYPE_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = scalars_##id,
#include "tensor/dtype.def"
#undef DTYPE
};

static const ScalarFn *const cast_scalars[DTYPE_COUNT] = {
#define DTYPE(id, ...) [DT_##id] = cast_scalars_##id,
#include "tensor/dtype.def"
#undef DTYPE
};

/* The machine's scalars and the kernels' elements come from one expression, so
 * a value that is computed in a register has the bits that a tensor would
 * hold. */
ScalarFn op_scalar(OpId op, DType dtype, DType to) {
  return op == OP_CAST ? cast_scalars[dtype][to] : scalars[dtype][op];
}
