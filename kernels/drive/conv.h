/* Convolutions, as their two drivers see them. */
#ifndef KERNELS_DRIVE_CONV_H
#define KERNELS_DRIVE_CONV_H

#include "kernels/call.h"
#include "ops/rules/window.h"

/* Along one axis, position o of the result and k of the kernel meet at
 * o * stride + k * dilation - before in the data, which has `spread - 1` zeros
 * between its elements.  Stride or spread is 1. */
typedef struct ConvAxis {
  int64_t stride, dilation, before, spread;
} ConvAxis;

typedef struct ConvPlan {
  ConvAxis axes[SPATIAL_MAX];
  int64_t groups;
  Tensor data, out;     /* (N, C, D, H, W) */
  const Tensor *weight; /* (G, O / G, I / G, KD, KH, KW), contiguous */
  int64_t k;            /* I / G * KD * KH * KW */
} ConvPlan;

/* Convolutions of float32 that read an image in place (conv_image.c).  Refused
 * when the image would be mostly padding. */
bool conv_image_takes(const ConvPlan *p);
bool conv_image_run(OpCall *call, const ConvPlan *p);

#endif
