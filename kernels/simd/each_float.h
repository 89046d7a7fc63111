/* As kernels/ref/each_float.h, for float32 only. */
#include "kernels/ref/loop.h"

#include <math.h>

#define LOAD(x) (x)
#define STORE(x) (x)
#define CLASS_FLOAT 1
#define CLASS_BOOL 0
#define CLASS_SIGNED 1
#define R f32
#define WIDE 0

#define ID FLOAT32
#define T float
#define LEAST (-INFINITY)
#define MOST INFINITY
#include "kernels/ref/each_one.h"

#undef LOAD
#undef STORE
#undef CLASS_FLOAT
#undef CLASS_BOOL
#undef CLASS_SIGNED
#undef R
#undef WIDE
