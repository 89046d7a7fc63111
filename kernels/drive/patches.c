/* image.dilation2d and nn.correlation: windows of an image against a kernel, or
 * against windows of another image.  Both compute each element of the result by
 * itself (sample.h), in the order of the window, row-major. */
#include "kernels/drive/sample.h"
#include "kernels/kernel.h"
#include "kernels/scalar.h"
#include "ops/rules/layout.h"
#include "ops/rules/window.h"

#include <string.h>

static const double NANOSECONDS = 10; /* time for an element of a window */

/* --- image.dilation2d -----------------------------------------------------
 * The maximum of element + weight over a window; padding takes part as 0.  The
 * sums are of the result's dtype. */

typedef struct Dilation {
  Tensor weight; /* (I, H, W) */
  WindowAxis axes[SPATIAL_MAX];
  ScalarFn add, max;
} Dilation;

/* Floats through double, integers through int64. */
static Value converted(DType from, DType to, Value v) {
  if (from == to) return v;
  return dtype_is_float(from) ? bits_from_f64(to, bits_to_f64(from, v))
                              : bits_from_i64(to, bits_to_i64(from, v));
}

static Value value_at(const Tensor *t, const int64_t *index, DType to) {
  return converted(t->dtype, to, bits_load(t->dtype, element_at(t, index)));
}

/* The element at `index` of the result.  The operator's own scalars add and
 * compare, so NaN and rounding are those of `add` and `maximum`. */
static void dilated(const Sampling *s, const int64_t index[5], char *to) {
  const Dilation *p = s->plan;
  const WindowAxis *h = &p->axes[1], *w = &p->axes[2];
  const int64_t *length = s->data.shape;
  DType dtype = s->out.dtype;
  Value zero = bits_from_i64(dtype, 0), most = zero;
  int fail = 0;
  for (int64_t i = 0; i < p->weight.shape[1]; i++)
    for (int64_t k = 0; k < p->weight.shape[2]; k++) {
      if (op_stopped(s->call)) return;
      int64_t y = index[3] * h->stride + i * h->dilation - h->before;
      int64_t x = index[4] * w->stride + k * w->dilation - w->before;
      bool in = y >= 0 && x >= 0 && y < length[3] && x < length[4];
      Value v = zero;
      if (in)
        v = value_at(&s->data, (int64_t[]){index[0], index[1], 0, y, x}, dtype);
      Value weight = value_at(&p->weight, (int64_t[]){index[1], i, k}, dtype);
      v = p->add(v, weight, zero, &fail);
      most = i == 0 && k == 0 ? v : p->max(most, v, zero, &fail);
    }
  bits_store(dtype, to, most);
}

bool kernel_dilation2d(OpCall *call) {
  static const char letters[] = "IHW";
  const Tensor *w = call->args[1];
  DType dtype = call->outs[0]->dtype;
  AxisOrder order;
  Layout layout;
  Dilation p = {.weight = *w,
                .add = op_scalar(OP_ADD, dtype, dtype),
                .max = op_scalar(OP_MAXIMUM, dtype, dtype)};
  axis_order(attr_text(call->attrs, ATTR_data_layout), 'N', 'C', 2, &order);
  layout_parse(attr_text(call->attrs, ATTR_kernel_layout), &layout);
  for (int i = 0; i < 3; i++) {
    int axis = layout_axis(&layout, letters[i]);
    p.weight.shape[i] = w->shape[axis];
    p.weight.strides[i] = w->strides[axis];
  }
  window_axes(call->attrs, 2, p.axes);
  Sampling s = {.call = call,
                .data = window_geometry(call->args[0], &order),
                .out = window_geometry(call->outs[0], &order),
                .plan = &p,
                .element = dilated};
  return sampling_run(call, &s, NANOSECONDS * (double)tensor_count(w));
}

/* --- nn.correlation ------------------------------------------------------- */

typedef struct Correlation {
  Tensor other; /* of the second image, as `data` */
  int64_t kernel, displacement, stride1, stride2, top, left;
  int64_t reach, side; /* displacements: of either sign, along an axis */
  bool multiply;
} Correlation;

#define FLOATS_ALONE
#define BODY "kernels/drive/correlation_body.h"
#include "kernels/ref/each_sum.h"

/* Displacements go from -reach to reach along both axes, `stride2` apart; each
 * is a channel of the result, row-major. */
bool kernel_correlation(OpCall *call) {
  static const AxisOrder nchw = {4, 0, 1, {-1, 2, 3}};
  const Attrs *a = call->attrs;
  WindowAxis axes[SPATIAL_MAX];
  window_axes(a, 2, axes);
  Correlation p = {.other = window_geometry(call->args[1], &nchw),
                   .kernel = attr_number(a, ATTR_kernel_size),
                   .displacement = attr_number(a, ATTR_max_displacement),
                   .stride1 = attr_number(a, ATTR_stride1),
                   .stride2 = attr_number(a, ATTR_stride2),
                   .top = axes[1].before,
                   .left = axes[2].before,
                   .multiply = attr_bool(a, ATTR_is_multiply)};
  p.reach = p.displacement / p.stride2;
  p.side = 2 * p.reach + 1;
  Sampling s = {.call = call,
                .data = window_geometry(call->args[0], &nchw),
                .out = window_geometry(call->outs[0], &nchw),
                .plan = &p};
  bool wide = dtype_in(call->args[0]->dtype) == IN_F64;
  s.element = wide ? correlated_f64 : correlated_f32;
  double terms = (double)p.kernel * (double)p.kernel * (double)s.data.shape[1];
  return sampling_run(call, &s, NANOSECONDS * terms);
}
