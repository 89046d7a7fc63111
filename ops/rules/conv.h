/* Convolutions as their rules and kernels see them: which axis is which, the
 * windows, the groups. */
#ifndef OPS_RULES_CONV_H
#define OPS_RULES_CONV_H

#include "ops/rules/window.h"

typedef struct Conv {
  int spatial;     /* 1, 2 or 3 */
  bool transposed; /* nn.conv2d_transpose and its like */
  int64_t groups;
  AxisOrder data, out;          /* first N, second C */
  AxisOrder weight;             /* first O, second I */
  WindowAxis axes[SPATIAL_MAX]; /* sizes not set */
} Conv;

/* NULL, or what is wrong with the attributes. */
const char *conv_of(const Attrs *attrs, bool transposed, Conv *conv);

#endif
