/* Includes BODY for bool: see each_one.h. */
#include "kernels/ref/loop.h"
#include "tensor/half.h"

#include <math.h>

#define EACH_BOOL 1
#include "kernels/ref/each.inc"
#undef EACH_BOOL
