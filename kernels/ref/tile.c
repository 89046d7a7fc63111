/* See tile.h.  transfer_body.h has the loops of each dtype, tile_body.h the
 * choice among them. */
#include "kernels/ref/tile.h"

#include "kernels/ref/loop.h"

#include <assert.h>

#define BODY "kernels/ref/transfer_body.h"
#include "kernels/ref/each_bool.h"
#include "kernels/ref/each_int.h"
#include "kernels/ref/each_float.h"

/* Whether a dtype is computed with as floats or as integers; each class of
 * dtype.def is one of the two. */
#define FLOATS_B(id, call)
#define FLOATS_I(id, call)
#define FLOATS_U(id, call)
#define FLOATS_F(id, call) \
  case DT_##id:            \
    call;                  \
    break;
#define INTEGERS_B FLOATS_F
#define INTEGERS_I FLOATS_F
#define INTEGERS_U FLOATS_F
#define INTEGERS_F FLOATS_I

#define ID f32
#define C float
#define CASE(class, id, call) FLOATS_##class(id, call)
#include "kernels/ref/tile_body.h"
#define ID f64
#define C double
#define CASE(class, id, call) FLOATS_##class(id, call)
#include "kernels/ref/tile_body.h"
#define ID u32
#define C uint32_t
#define CASE(class, id, call) INTEGERS_##class(id, call)
#include "kernels/ref/tile_body.h"
#define ID u64
#define C uint64_t
#define CASE(class, id, call) INTEGERS_##class(id, call)
#include "kernels/ref/tile_body.h"
