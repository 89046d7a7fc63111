/* Convolutions as matrix products (im2col).  For a batch, a group and a run of
 * positions of the result, the elements under each position's window are copied
 * to a panel; the weights times the panel are the results there:
 *
 *   out[o, p] = sum_k weight[o, k] * panel[k, p]     k = (i, kd, kh, kw)
 *
 * so k ascends as the law requires in every layout, and padding takes part as
 * 0.  A kernel of 3 over a line of one channel, stride 1, padding 1:
 *
 *   data      a b c d
 *   panel     0 a b c      kw = 0
 *             a b c d      kw = 1
 *             b c d 0      kw = 2
 *             p = 0 1 2 3
 *
 * One, two and three dimensions are one case: missing axes have length 1, and
 * strides hide the layout.  A transposed convolution is a convolution of the
 * data with zeros between its elements by the reversed kernel.
 *
 * float32 goes through conv_image.c where that pays; otherwise panels are
 * filled as the product asks for them (product_of_panels).  Other dtypes fill a
 * panel of POSITIONS columns and multiply.  No Winograd and no Fourier
 * transform: they are faster for some sizes, but sum in another order. */
#include "ops/rules/conv.h"

#include "kernels/kernel.h"
#include "kernels/drive/blocks.h"
#include "kernels/drive/conv.h"
#include "kernels/drive/move.h"
#include "kernels/drive/product.h"

#include <string.h>

enum { POSITIONS = 128 }; /* columns of a panel */

/* --- Panels -------------------------------------------------------------- */

/* The data index that position o and kernel element k meet:
 *
 *   o * stride + k * dilation - before, divided by spread
 *
 * -1 in the padding and between the elements of spread data. */
static int64_t meeting(const ConvAxis *a, int64_t o, int64_t k,
                       int64_t length) {
  int64_t at = o * a->stride + k * a->dilation - a->before;
  if (at < 0) return -1;
  if (a->spread > 1) {
    if (at % a->spread) return -1;
    at /= a->spread;
  }
  return at < length ? at : -1;
}

/* Copies n elements from index `at` of a line of `length`; those outside are 0.
 * The part may lie wholly before or after the line. */
static void line_part(const char *line, int64_t at, int64_t length, int64_t n,
                      int64_t size, char *row) {
  int64_t left = at < 0 ? -at : 0, right = at + n - length;
  if (left > n) left = n;
  if (right < 0) right = 0;
  if (right > n - left) right = n - left;
  int64_t middle = n - left - right;
  if (left) memset(row, 0, (size_t)(left * size));
  if (middle)
    memcpy(row + left * size, line + (at + left) * size,
           (size_t)(middle * size));
  if (right) memset(row + (n - right) * size, 0, (size_t)(right * size));
}

/* Fills one run of a panel row: positions w .. w + n along the last axis, for
 * kernel element k.  `line` is the line of the data. */
static void panel_run(const ConvPlan *p, const char *line, int64_t k, int64_t w,
                      int64_t n, char *row) {
  const Tensor *x = &p->data;
  const ConvAxis *a = &p->axes[2];
  int64_t size = (int64_t)dtype_size(x->dtype), step = x->strides[4];
  if (a->stride == 1 && a->spread == 1 && step == 1) {
    line_part(line, w + k * a->dilation - a->before, x->shape[4], n, size, row);
    return;
  }
  for (int64_t i = 0; i < n; i++, row += size) {
    int64_t v = meeting(a, w + i, k, x->shape[4]);
    if (v < 0) memset(row, 0, (size_t)size);
    else memcpy(row, line + v * step * size, (size_t)size);
  }
}

/* The coordinates of position number `i` of the result. */
typedef struct Position {
  int64_t d, h, w;
} Position;

static Position position_of(const Tensor *out, int64_t i) {
  int64_t width = out->shape[4], height = out->shape[3];
  return (Position){i / width / height, i / width % height, i % width};
}

/* Fills one row of the panel: what kernel position `k` of an input channel
 * meets at n positions of the result, from `at` on.  Goes by runs along the
 * result's last axis, so that the depth and height are worked out once for each
 * run. */
static void panel_row(const ConvPlan *p, const char *channel,
                      const int64_t k[3], Position at, int64_t n, char *row) {
  const Tensor *x = &p->data, *out = &p->out;
  int64_t size = (int64_t)dtype_size(x->dtype);
  for (int64_t run; n > 0; n -= run, row += run * size, at.w = 0) {
    run = out->shape[4] - at.w < n ? out->shape[4] - at.w : n;
    int64_t z = meeting(&p->axes[0], at.d, k[0], x->shape[2]);
    int64_t y = meeting(&p->axes[1], at.h, k[1], x->shape[3]);
    int64_t offset = z * x->strides[2] + y * x->strides[3];
    if (z < 0 || y < 0) memset(row, 0, (size_t)(run * size));
    else panel_run(p, channel + offset * size, k[2], at.w, run, row);
    if (++at.h < out->shape[3]) continue;
    at.h = 0;
    at.d++;
  }
}

/* Advances to the next kernel position (kd, kh, kw); false after the last one
 * of a channel. */
static bool kernel_next(const int64_t size[3], int64_t k[3]) {
  for (int axis = 2; axis >= 0; axis--) {
    if (++k[axis] < size[axis]) return true;
    k[axis] = 0;
  }
  return false;
}

/* Fills rows k .. k + rows and columns first .. first + n of a group's im2col
 * matrix at `panel`, whose rows are `step` elements apart. */
static void fill_rows(StopFlag *stop, const ConvPlan *p, int64_t batch,
                      int64_t group, int64_t k, int64_t rows, int64_t first,
                      int64_t n, char *panel, int64_t step) {
  if (!rows) return; /* sizes may be 0 then, and are divisors below */
  const Tensor *x = &p->data;
  const int64_t *size = p->weight->shape + 2; /* I / G, KD, KH, KW */
  int64_t bytes = (int64_t)dtype_size(x->dtype);
  int64_t at[3] = {k / (size[2] * size[3]) % size[1], k / size[3] % size[2],
                   k % size[3]};
  int64_t input = group * size[0] + k / (size[1] * size[2] * size[3]);
  const char *channel =
      x->data + (batch * x->strides[0] + input * x->strides[1]) * bytes;
  Position position = position_of(&p->out, first);
  for (int64_t i = 0; i < rows; i++, panel += step * bytes) {
    if (stop_seen(stop)) return;
    panel_row(p, channel, at, position, n, panel);
    if (!kernel_next(size + 1, at)) channel += x->strides[1] * bytes;
  }
}

/* The im2col matrix as a source of panels. */
typedef struct ConvPanels {
  const ConvPlan *plan;
  int64_t batch, group;
} ConvPanels;

/* The columns that fill up the last group are 0. */
static void fill_panel(const void *source, int64_t k, int rows, int64_t n,
                       int columns, float *panel) {
  const ConvPanels *c = source;
  int width = panel_width(columns);
  if (columns < width)
    memset(panel, 0, (size_t)rows * (size_t)width * sizeof *panel);
  fill_rows(NULL, c->plan, c->batch, c->group, k, rows, n, columns,
            (char *)panel, width);
}

/* --- Running ------------------------------------------------------------- */

static Matrix matrix(const Tensor *t, int64_t offset, int64_t row_step,
                     int64_t column_step) {
  int64_t size = (int64_t)dtype_size(t->dtype);
  return (Matrix){t->dtype, t->data + offset * size, row_step, column_step};
}

/* One product for a batch and a group: O / G rows, one column for each
 * position.  A result in a channels-last layout has column steps above 1. */
static bool run_group(OpCall *call, const ConvPlan *p, int64_t batch,
                      int64_t group, char *panel) {
  const Tensor *out = &p->out;
  int64_t rows = p->weight->shape[1];
  int64_t positions = out->shape[2] * out->shape[3] * out->shape[4];
  int64_t corner = batch * out->strides[0] + group * rows * out->strides[1];
  Product all = {
      .m = rows,
      .n = positions,
      .k = p->k,
      .a = matrix(p->weight, group * rows * p->k, p->k, 1),
      .b = {.dtype = p->data.dtype},
      .out = matrix(out, corner, out->strides[1], out->strides[4]),
  };
  bool own = p->data.dtype == DT_FLOAT32 && out->dtype == DT_FLOAT32;
  if (own)
    return product_of_panels(
        call, &all,
        &(Panels){.fill = fill_panel,
                  .source = &(ConvPanels){p, batch, group}});
  for (int64_t at = 0; at < positions; at += POSITIONS) {
    int64_t n = positions - at < POSITIONS ? positions - at : POSITIONS;
    if (op_stopped(call)) return false;
    fill_rows(call->stop, p, batch, group, 0, p->k, at, n, panel, n);
    Product product = all;
    product.n = n;
    product.b = (Matrix){p->data.dtype, panel, n, 1};
    product.out.data += at * out->strides[4] * (int64_t)dtype_size(out->dtype);
    if (!product_run(call, &product)) return false;
  }
  return true;
}

/* The weight has (G, O / G, I / G, KD, KH, KW), so all but the first two axes
 * make k. */
static bool run_plan(OpCall *call, ConvPlan *p) {
  const int64_t *w = p->weight->shape;
  size_t bytes = dtype_size(p->data.dtype);
  if (tensor_count(&p->out) == 0) return true;
  p->k = w[2] * w[3] * w[4] * w[5];
  if (conv_image_takes(p)) return conv_image_run(call, p);
  char *panel = arena_array(call->arena, (size_t)p->k * POSITIONS + 1, bytes);
  if (!panel) return op_out_of_memory(call);
  for (int64_t batch = 0; batch < p->out.shape[0]; batch++)
    for (int64_t group = 0; group < p->groups; group++)
      if (!run_group(call, p, batch, group, panel)) return false;
  return true;
}

/* --- Plans --------------------------------------------------------------- */

/* A view of the weight as (G, O / G, I / G, KD, KH, KW), where I / G is
 * `inputs`; reversed along the kernel's axes for a transposed convolution.
 *
 *   convolution   (O, I / G, ...)   O is divided into groups
 *   transposed    (I, O / G, ...)   seen as (O / G, I), I is divided
 *   depthwise     (I, M, ...)       each input has M outputs: G = I */
static Tensor weight_geometry(const Tensor *weight, const Conv *conv,
                              int64_t inputs) {
  Tensor w = window_geometry(weight, &conv->weight), g = w;
  /* the axis that is divided into groups */
  int split = conv->transposed ? 1 : 0;
  g.rank = 6;
  g.shape[0] = conv->groups;
  for (int i = 0; i < 5; i++) {
    g.shape[i + 1] = w.shape[i];
    g.strides[i + 1] = w.strides[i];
  }
  g.shape[split + 1] = w.shape[split] / conv->groups;
  g.strides[0] = w.strides[split] * g.shape[split + 1];
  bool by_input = !conv->transposed && w.shape[1] > inputs;
  if (by_input) { /* (inputs, channels / inputs, k...) */
    g.shape[1] = w.shape[1];
    g.strides[1] = w.strides[1];
    g.shape[2] = 1;
  }
  for (int i = 3; conv->transposed && i < 6; i++) {
    if (g.shape[i] > 0)
      g.data += (g.shape[i] - 1) * g.strides[i] * (int64_t)dtype_size(w.dtype);
    g.strides[i] = -g.strides[i];
  }
  return g;
}

/* A transposed convolution scatters element i to i * stride + k * dilation -
 * before.  Position o therefore gathers from those i with i * stride = o +
 * before - k * dilation, which for the reversed kernel k' = K - 1 - k is the
 * convolution of data spread by the stride, with dilation * (K - 1) - before in
 * front. */
static ConvAxis conv_axis(const Conv *conv, const WindowAxis *a, int64_t k) {
  if (!conv->transposed)
    return (ConvAxis){a->stride, a->dilation, a->before, 1};
  int64_t before = a->dilation * (k - 1) - a->before;
  return (ConvAxis){1, a->dilation, before, a->stride};
}

/* The kernels read rows of weights as runs, so the weight is copied unless the
 * view happens to be contiguous. */
static bool convolve(OpCall *call, bool transposed) {
  Conv conv;
  conv_of(call->attrs, transposed, &conv);
  const Tensor *w = call->args[1];
  conv_settle(&conv, dim_of(call->args[0]->shape[conv.data.second]),
              dim_of(w->shape[0]), dim_of(w->shape[1]));
  ConvPlan p = {.groups = conv.groups};
  p.data = window_geometry(call->args[0], &conv.data);
  p.out = window_geometry(call->outs[0], &conv.out);
  Tensor view =
      weight_geometry(call->args[1], &conv, p.data.shape[1] / conv.groups);
  bool as_is = tensor_is_contiguous(&view);
  Tensor *copy = as_is ? NULL : copy_of(call, &view);
  if (!copy && !as_is) return false;
  p.weight = copy ? copy : &view;
  for (int k = 0; k < SPATIAL_MAX; k++)
    p.axes[k] = conv_axis(&conv, &conv.axes[k], view.shape[3 + k]);
  bool ok = run_plan(call, &p);
  if (copy) tensor_drop(call->heap, copy);
  return ok;
}

static bool convolve_forward(OpCall *call) { return convolve(call, false); }
static bool convolve_transposed(OpCall *call) { return convolve(call, true); }
static bool plain_conv(OpCall *call) {
  return run_in_one_dtype(call, convolve_forward);
}
static bool plain_transposed(OpCall *call) {
  return run_in_one_dtype(call, convolve_transposed);
}

bool kernel_conv(OpCall *call) { return run_without_blocks(call, plain_conv); }
bool kernel_conv_transpose(OpCall *call) {
  return run_without_blocks(call, plain_transposed);
}

/* --- The weight's gradient --------------------------------------------------
 * out[o, (i, kh, kw)] = sum over (n, h, w) of grad[o, (n, h, w)] * the element
 * of data that kernel position (i, kh, kw) meets there. */

/* The column of the product: what kernel position k of an input channel meets,
 * at every (batch, position). */
static void gradient_column(StopFlag *stop, const ConvPlan *p, int64_t input,
                            const int64_t k[3], char *column) {
  const Tensor *x = &p->data;
  int64_t size = (int64_t)dtype_size(x->dtype);
  int64_t positions = p->out.shape[2] * p->out.shape[3] * p->out.shape[4];
  for (int64_t batch = 0; batch < x->shape[0]; batch++) {
    const char *channel =
        x->data + (batch * x->strides[0] + input * x->strides[1]) * size;
    BLOCKS(stop, positions)
    for (int64_t i = at; i < end; i++, column += size)
      panel_row(p, channel, k, position_of(&p->out, i), 1, column);
  }
}

/* One column of the result at a time, as a product with one column: for kernel
 * position j, the elements that it meets against all rows of the gradient.  The
 * sums run over (n, h, w), and are as long as batch times positions. */
static bool gradient_group(OpCall *call, const ConvPlan *p, const Tensor *grad,
                           int64_t group, char *column) {
  Tensor *out = call->outs[0];
  int64_t rows = out->shape[0] / p->groups, inputs = out->shape[1];
  int64_t area = out->shape[2] * out->shape[3];
  for (int64_t j = 0; j < inputs * area; j++) {
    int64_t k[3] = {0, j % area / out->shape[3], j % out->shape[3]};
    if (op_stopped(call)) return false;
    gradient_column(call->stop, p, group * inputs + j / area, k, column);
    Product product = {
        .m = rows,
        .n = 1,
        .k = p->k,
        .a = matrix(grad, group * rows * p->k, p->k, 1),
        .b = {p->data.dtype, column, 1, 1},
        .out = matrix(out, group * rows * inputs * area + j, inputs * area, 1),
    };
    if (!product_run(call, &product)) return false;
  }
  return true;
}

/* The gradient with axes (o, n, h, w), made contiguous. */
static Tensor *gradient_rows(OpCall *call) {
  const Tensor *g = call->args[0];
  int64_t shape[4] = {g->shape[1], g->shape[0], g->shape[2], g->shape[3]};
  int64_t strides[4] = {g->strides[1], g->strides[0], g->strides[2],
                        g->strides[3]};
  Tensor view = geometry_of(g, 4, shape, strides, 0);
  return copy_of(call, &view);
}

bool kernel_conv_backward_weight(OpCall *call) {
  static const AxisOrder nchw = {4, 0, 1, {-1, 2, 3}};
  WindowAxis axes[SPATIAL_MAX];
  ConvPlan p = {.groups = attr_number(call->attrs, ATTR_groups)};
  window_axes(call->attrs, 2, axes);
  for (int k = 0; k < SPATIAL_MAX; k++)
    p.axes[k] = (ConvAxis){axes[k].stride, axes[k].dilation, axes[k].before, 1};
  p.data = window_geometry(call->args[1], &nchw);
  p.out = window_geometry(call->args[0], &nchw);
  Tensor *grad = gradient_rows(call);
  if (!grad) return false;
  p.k = grad->shape[1] * grad->shape[2] * grad->shape[3];
  char *column =
      arena_array(call->arena, (size_t)p.k + 1, dtype_size(grad->dtype));
  bool ok = column != NULL || op_out_of_memory(call);
  for (int64_t group = 0; ok && group < p.groups; group++)
    ok = gradient_group(call, &p, grad, group, column);
  tensor_drop(call->heap, grad);
  return ok;
}
