/* Includes BODY for each floating-point dtype, with the names of each_int.h
 * and
 *
 *   R        f32 or f64: which of our elementary functions
 *   WIDE     1 for float64
 *
 * float16 and bfloat16 are computed in float and rounded when stored.  LEAST
 * and MOST are the infinities. */
#include "kernels/ref/loop.h"
#include "tensor/half.h"

#include <math.h>

#define CLASS_FLOAT 1
#define CLASS_BOOL 0
#define CLASS_SIGNED 1

#define R f32
#define WIDE 0
#define LOAD(x) f16_to_f32(x)
#define STORE(x) f32_to_f16(x)
#define ID FLOAT16
#define T uint16_t
#define C float
#define LEAST (-INFINITY)
#define MOST INFINITY
#include "kernels/ref/each_one.h"
#undef LOAD
#undef STORE

#define LOAD(x) bf16_to_f32(x)
#define STORE(x) f32_to_bf16(x)
#define ID BFLOAT16
#define T uint16_t
#define C float
#define LEAST (-INFINITY)
#define MOST INFINITY
#include "kernels/ref/each_one.h"
#undef LOAD
#undef STORE

#define LOAD(x) (x)
#define STORE(x) (x)
#define ID FLOAT32
#define T float
#define LEAST (-INFINITY)
#define MOST INFINITY
#include "kernels/ref/each_one.h"
#undef R
#undef WIDE

#define R f64
#define WIDE 1
#define ID FLOAT64
#define T double
#define LEAST (-(double)INFINITY)
#define MOST ((double)INFINITY)
#include "kernels/ref/each_one.h"
#undef LOAD
#undef STORE
#undef R
#undef WIDE

#undef CLASS_FLOAT
#undef CLASS_BOOL
#undef CLASS_SIGNED
