/* See lines.h; the formulas are in lines_body.h.  They are computed in float or
 * double; 16-bit floats are widened by the driver (drive/lines.c). */
#include "kernels/ref/lines.h"

#include "kernels/ref/elementary.h"
#include "kernels/ref/loop.h"
#include "kernels/ref/tile.h"

#include <math.h>

#define ID f32
#define C float
#include "kernels/ref/partial_sum.h"
#include "kernels/ref/lines_body.h"
#define ID f64
#define C double
#include "kernels/ref/partial_sum.h"
#include "kernels/ref/lines_body.h"
