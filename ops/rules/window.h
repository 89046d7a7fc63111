/* Windows that slide over the spatial axes of a tensor: what convolutions and
 * poolings have in common.  Asked by their rules and by their kernels.
 *
 * Tensors are seen as (N, C, D, H, W) whatever their layout; axes that an
 * operator lacks have length 1. */
#ifndef OPS_RULES_WINDOW_H
#define OPS_RULES_WINDOW_H

#include "ops/rule.h"

enum { SPATIAL_MAX = 3 };

/* Along one axis; `before` and `after` are the padding. */
typedef struct WindowAxis {
  int64_t size, stride, dilation, before, after;
} WindowAxis;

/* Where the axes of a layout such as NHWC stand: first and second letters
 * (N and C, or O and I), then D, H, W (-1: there is none). */
typedef struct AxisOrder {
  int rank, first, second, spatial[SPATIAL_MAX];
} AxisOrder;

/* The spatial rank of an operator: its layout's default has two more axes. */
int window_rank(const struct OpInfo *op, AttrName layout);
/* False when the text is no order of the two letters and the spatial ones. */
bool axis_order(const char *layout, char first, char second, int spatial,
                AxisOrder *order);

/* Axis k of the spatial axes D, H, W, from attributes that rule_windows has
 * accepted.  Missing ones are 1, padding 0; `size` is left as it is. */
void window_axes(const Attrs *attrs, int spatial, WindowAxis axes[SPATIAL_MAX]);
/* Does a list attribute hold one value, one for each axis, or two? */
bool window_count_is(const struct Attrs *attrs, AttrName name, int spatial,
                     bool both_sides);
/* Value k of a list attribute of that kind, or `otherwise`; the second of a
 * complete record. */
Dim window_dim(const Attrs *attrs, AttrName name, int spatial, int k,
               Dim otherwise);
int64_t window_value(const Attrs *attrs, AttrName name, int spatial, int k,
                     int64_t otherwise);

/* How many windows of `size` fit along an axis of this length; -1 when not
 * one does. */
Dim window_slides(DimTable *t, Dim length, Dim size, const WindowAxis *axis);

/* Strides, dilation, padding and sizes, as far as the operator has them, are as
 * many as `spatial` axes ask for, and small enough to compute with.  Reports
 * the first that is not. */
bool rule_windows(RuleCall *c, int spatial);

/* Rank-5 geometry of a tensor in that order. */
Tensor window_geometry(const Tensor *t, const AxisOrder *order);

#endif
