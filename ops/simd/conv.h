/* Convolutions of float32, as an overlay of ops/ref/conv.c. */
#ifndef OPS_SIMD_CONV_H
#define OPS_SIMD_CONV_H

#include "ops/ops.h"
#include "ops/ref/conv.h"

/* Does the table in use take this plan?  Then run it. */
bool simd_conv_takes(const ConvPlan *p);
bool simd_conv_run(OpCall *call, const ConvPlan *p);

#endif
