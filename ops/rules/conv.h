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
  bool either;                  /* the weight is IOHW or OIHW: conv_settle() */
  WindowAxis axes[SPATIAL_MAX]; /* sizes not set */
} Conv;

/* ATTR_NONE, or the layout that is wrong, of attributes that rule_windows has
 * accepted. */
AttrName conv_of(const Attrs *attrs, bool transposed, Conv *conv);
/* A 2-d transposed convolution whose text does not say its `kernel_layout`
 * means OIHW in texts of TVM 0.9 and IOHW in those of 0.18.  Decides by
 * `inputs`, the channels of the data, and the weight's first two dimensions:
 * the one reading that fits, IOHW where both do or neither.  False when that is
 * not known yet; for other convolutions there is nothing to decide. */
bool conv_settle(Conv *conv, Dim inputs, Dim weight0, Dim weight1);

#endif
