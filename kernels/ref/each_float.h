/* Includes BODY for each floating-point dtype: see each_one.h. */
#include "kernels/ref/loop.h"
#include "tensor/half.h"

#include <math.h>

#define EACH_FLOAT 1
#include "kernels/ref/each.inc"
#undef EACH_FLOAT
