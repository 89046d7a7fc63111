/* Weights that a fast convolution has transformed, and convolutions with them.
 *
 * Winograd's algorithm computes m results of a convolution with a kernel g of
 * length r from m + r - 1 products with G g.  The rows of G are the powers
 * 1, a, a^2, .. of an interpolation point a, divided by the product of its
 * distances to all other points; the last row is of the point at infinity.
 * (Lavin, Gray: Fast Algorithms for Convolutional Neural Networks, 2015; the
 * points are those of Barabasz et al.: Error Analysis and Improving the
 * Accuracy of Winograd Convolution for Deep Neural Networks, 2018, as in the
 * reference.)
 *
 * A convolution with G g is here one with g, which is (G'G)^-1 G' of it: so
 * its results are those of nn.conv2d, but for the rounding of G g.  All this is
 * computed in double and rounded once. */
#include <math.h>
#include <string.h>

#include "kernels/drive/move.h"
#include "kernels/drive/steps.h"
#include "kernels/kernel.h"
#include "ops/rules/transformed.h"

enum { SIDE_MOST = 7, ROWS_MOST = 14 };

typedef struct Transform {
  int rows, columns;
  double at[ROWS_MOST][ROWS_MOST];
} Transform;

/* Interpolation points for m + r - 2, from 3 up to 13. */
static const double *points_of(int count) {
  static const double few[] = {0, -1, 1, 0.5, -2, -0.5};
  static const double seven[] = {0, -1, 1, 0.5, -0.5, 2, -2, -0.25, 4};
  static const double ten[] = {0, -1, 1,     0.5,  -0.5,
                               2, -2, -0.25, 0.75, -4.0 / 3};
  static const double eleven[] = {0,  -1,    1, 0.5,  -0.5,     2,
                                  -2, -0.25, 4, 0.75, -4.0 / 3, 0.25};
  static const double thirteen[] = {0,     -1, 1,    0.5,   -0.5,    2, -2,
                                    -0.25, 4,  0.25, -0.75, 4.0 / 3, -4};
  return count <= 6    ? few
         : count <= 9  ? seven
         : count == 10 ? ten
         : count <= 12 ? eleven
                       : thirteen;
}

/* G, of tiles of `tile` results and kernels of length `side`. */
static Transform transform_of(int tile, int side) {
  Transform g = {.rows = tile + side - 1, .columns = side};
  int finite = g.rows - 1;
  const double *point = points_of(finite);
  for (int i = 0; i < finite; i++) {
    double distances = 1, power = 1;
    for (int k = 0; k < finite; k++)
      if (k != i) distances *= point[i] - point[k];
    if (i == 0) distances = fabs(distances);
    for (int k = 0; k < side; k++, power *= point[i])
      g.at[i][k] = power / distances;
  }
  g.at[finite][side - 1] = 1;
  return g;
}

/* (G'G)^-1 G': Gauss-Jordan elimination of G'G beside G', with pivots. */
static Transform inverse_of(const Transform *g) {
  int n = g->columns, width = n + g->rows;
  double m[SIDE_MOST][SIDE_MOST + ROWS_MOST] = {0};
  Transform inverse = {.rows = n, .columns = g->rows};
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < n; k++)
      for (int j = 0; j < g->rows; j++) m[i][k] += g->at[j][i] * g->at[j][k];
    for (int j = 0; j < g->rows; j++) m[i][n + j] = g->at[j][i];
  }
  for (int i = 0; i < n; i++) {
    int pivot = i;
    for (int k = i + 1; k < n; k++)
      if (fabs(m[k][i]) > fabs(m[pivot][i])) pivot = k;
    for (int j = 0; j < width && pivot != i; j++) {
      double other = m[i][j];
      m[i][j] = m[pivot][j];
      m[pivot][j] = other;
    }
    double head = m[i][i];
    for (int j = 0; j < width; j++) m[i][j] /= head;
    for (int k = 0; k < n; k++) {
      double factor = m[k][i];
      for (int j = 0; j < width && k != i; j++) m[k][j] -= factor * m[i][j];
    }
  }
  for (int i = 0; i < n; i++)
    memcpy(inverse.at[i], m[i] + n, (size_t)g->rows * sizeof(double));
  return inverse;
}

/* --- Along axes ---------------------------------------------------------- */

/* The elements of a weight (o, i, d, h, w), in double. */
typedef struct Elements {
  int64_t shape[5];
  double *at; /* in the call's arena */
} Elements;

static bool elements_new(OpCall *call, Elements *e) {
  int64_t n = 1;
  for (int k = 0; k < 5; k++) n *= e->shape[k];
  e->at = arena_array(call->arena, (size_t)n + 1, sizeof *e->at);
  return e->at || op_out_of_memory(call);
}

/* Multiplies a transform with every line along an axis. */
static bool apply(OpCall *call, const Transform *t, int axis, Elements *e) {
  Elements to = *e;
  int64_t inner = 1, outer = 1;
  for (int k = 0; k < axis; k++) outer *= e->shape[k];
  for (int k = axis + 1; k < 5; k++) inner *= e->shape[k];
  to.shape[axis] = t->rows;
  if (!elements_new(call, &to)) return false;
  for (int64_t o = 0; o < outer; o++) {
    if (op_stopped(call)) return false;
    for (int64_t i = 0; i < t->rows * inner; i++) {
      const double *from = e->at + o * t->columns * inner + i % inner;
      double sum = 0;
      for (int k = 0; k < t->columns; k++)
        sum += t->at[i / inner][k] * from[k * inner];
      to.at[o * t->rows * inner + i] = sum;
    }
  }
  *e = to;
  return true;
}

/* Along the rows and the columns, and along the depth where it is due. */
static bool apply_all(OpCall *call, const Transform *t, bool deep,
                      Elements *e) {
  return apply(call, t, 4, e) && apply(call, t, 3, e) &&
         (!deep || apply(call, t, 2, e));
}

/* A transformed weight seen as (o, i, d, h, w), of which the depth stands last
 * of the three where it is not transformed. */
static Tensor seen_plain(const Tensor *w, bool deep) {
  static const int flat[] = {2, 3, -1, 0, 1}, cube[] = {3, 4, 0, 1, 2},
                   untouched[] = {3, 4, 2, 0, 1};
  const int *from = w->rank == 4 ? flat : deep ? cube : untouched;
  int64_t shape[5], strides[5];
  for (int k = 0; k < 5; k++) {
    shape[k] = from[k] < 0 ? 1 : w->shape[from[k]];
    strides[k] = from[k] < 0 ? 0 : w->strides[from[k]];
  }
  return geometry_of(w, 5, shape, strides, 0);
}

static bool elements_of(OpCall *call, const Tensor *t, Elements *e) {
  memcpy(e->shape, t->shape, sizeof e->shape);
  if (!elements_new(call, e)) return false;
  BLOCKS(call->stop, tensor_count(t))
  for (int64_t i = at; i < end; i++) e->at[i] = tensor_f64_at(t, i);
  return !op_stopped(call);
}

/* --- Kernels ------------------------------------------------------------- */

/* The element at a place of (o, i, d, h, w), in order. */
static char *place_of(const Tensor *t, int64_t i) {
  int64_t offset = 0;
  for (int k = 4; k >= 0; i /= t->shape[k--])
    offset += i % t->shape[k] * t->strides[k];
  return t->data + offset * (int64_t)dtype_size(t->dtype);
}

static bool put_elements(OpCall *call, const Elements *e, const Tensor *out) {
  BLOCKS(call->stop, tensor_count(out))
  for (int64_t i = at; i < end; i++)
    bits_store(out->dtype, place_of(out, i),
               bits_from_f64(out->dtype, e->at[i]));
  return !op_stopped(call);
}

static bool winograd_weight(OpCall *call) {
  const Tensor *w = call->args[0];
  bool deep = w->rank == 5 && winograd_depth(w->shape[2]);
  int64_t side = w->shape[w->rank - 1];
  int64_t shape[5] = {w->shape[0], w->shape[1], 1, side, side};
  int64_t strides[5] = {w->strides[0], w->strides[1], 0,
                        w->strides[w->rank - 2], w->strides[w->rank - 1]};
  if (w->rank == 5) shape[2] = w->shape[2], strides[2] = w->strides[2];
  Tensor plain = geometry_of(w, 5, shape, strides, 0);
  Transform g =
      transform_of((int)attr_number(call->attrs, ATTR_tile_size), (int)side);
  Elements e;
  Tensor out = seen_plain(call->outs[0], deep);
  return tensor_count(w) == 0 ||
         (elements_of(call, &plain, &e) && apply_all(call, &g, deep, &e) &&
          put_elements(call, &e, &out));
}

bool kernel_winograd_weight_2d(OpCall *call) { return winograd_weight(call); }
bool kernel_winograd_weight_3d(OpCall *call) { return winograd_weight(call); }

/* The weight as it was: (o, i, k...). */
static const Tensor *winograd_undone(Steps *s, const Tensor *w) {
  OpCall *call = s->call;
  const AttrValue *k = attr_get(call->attrs, ATTR_kernel_size);
  int64_t side = attr_item(k, k->count - 1), shape[5];
  int64_t depth = k->count == 3 ? attr_item(k, 0) : 1;
  bool deep = k->count == 3 && winograd_depth(depth);
  Tensor seen = seen_plain(w, deep), plain;
  shape[0] = seen.shape[0];
  shape[1] = seen.shape[1];
  for (int i = 0; i < k->count; i++) shape[2 + i] = attr_item(k, i);
  Tensor *out = step_room(s, w->dtype, w->rank, shape);
  if (!out) return NULL;
  Transform g =
      transform_of((int)attr_number(call->attrs, ATTR_tile_size), (int)side);
  Transform inverse = inverse_of(&g);
  Elements e;
  if (tensor_count(out) == 0) return out;
  if (!elements_of(call, &seen, &e) || !apply_all(call, &inverse, deep, &e))
    return NULL;
  int64_t five[] = {shape[0], shape[1], depth, side, side}, strides[5] = {0};
  strides[4] = 1;
  for (int i = 4; i > 0; i--) strides[i - 1] = strides[i] * five[i];
  plain = geometry_of(out, 5, five, strides, 0);
  return put_elements(call, &e, &plain) ? out : NULL;
}

static bool winograd_conv(OpCall *call, OpId op, const char *layout) {
  Steps s = {.call = call};
  const Tensor *w = winograd_undone(&s, call->args[1]);
  Attrs *attrs = step_attrs(&s, op);
  attr_set_text(attrs, ATTR_kernel_layout, layout);
  return STEPS_END(&s, op, attrs, call->args[0], w);
}

bool kernel_winograd_conv2d(OpCall *call) {
  return winograd_conv(call, OP_NN_CONV2D, "OIHW");
}
bool kernel_winograd_conv3d(OpCall *call) {
  return winograd_conv(call, OP_NN_CONV3D, "OIDHW");
}

/* --- Tiles --------------------------------------------------------------- */

/* Row and column of a matrix that element i of its tiles is. */
static void place_in_matrix(const Tensor *tiles, bool turned, int64_t i,
                            int64_t *row, int64_t *column) {
  const int64_t *shape = tiles->shape;
  int64_t last = i % shape[3], third = i / shape[3] % shape[2];
  int64_t tile = i / shape[3] / shape[2];
  *row = tile % shape[1] * shape[turned ? 3 : 2] + (turned ? last : third);
  *column = tile / shape[1] * shape[turned ? 2 : 3] + (turned ? third : last);
}

bool kernel_gemm_weight(OpCall *call) {
  const Tensor *w = call->args[0];
  Tensor *out = call->outs[0];
  GemmTiles t = gemm_tiles(call->attrs, w->dtype);
  int64_t columns = w->shape[3], rows = w->shape[0] * w->shape[1] * w->shape[2];
  int64_t size = (int64_t)dtype_size(out->dtype);
  BLOCKS(call->stop, tensor_count(out))
  for (int64_t i = at; i < end; i++) {
    int64_t row, column;
    Value v = {0};
    place_in_matrix(out, t.turned, i, &row, &column);
    if (row < rows && column < columns)
      v = tensor_bits_at(w, row * columns + column);
    bits_store(out->dtype, out->data + i * size, v);
  }
  return true;
}

/* The weight (h, w, i, o) that tiles hold. */
static const Tensor *gemm_undone(Steps *s, const Tensor *tiles) {
  const OpCall *call = s->call;
  const AttrValue *k = attr_get(call->attrs, ATTR_kernel_size);
  const char *data = attr_text(call->attrs, ATTR_data_layout);
  int64_t inputs = call->args[0]->shape[strchr(data, 'C') - data];
  int64_t columns = attr_number(call->attrs, ATTR_channels);
  int64_t shape[] = {attr_item(k, 0), attr_item(k, 1), inputs, columns};
  bool turned = dtype_info[tiles->dtype].bits == 8;
  int64_t size = (int64_t)dtype_size(tiles->dtype);
  Tensor *out = step_room(s, tiles->dtype, 4, shape);
  if (!out || tensor_count(out) == 0) return out;
  int64_t rows = shape[0] * shape[1] * shape[2];
  BLOCKS(call->stop, tensor_count(tiles))
  for (int64_t i = at; i < end; i++) {
    int64_t row, column;
    place_in_matrix(tiles, turned, i, &row, &column);
    if (row < rows && column < columns)
      bits_store(out->dtype, out->data + (row * columns + column) * size,
                 tensor_bits_at(tiles, i));
  }
  return op_stopped(call) ? NULL : out;
}

bool kernel_gemm_conv2d(OpCall *call) {
  Steps s = {.call = call};
  const Tensor *w = gemm_undone(&s, call->args[1]);
  Attrs *attrs = step_attrs(&s, OP_NN_CONV2D);
  attr_set_text(attrs, ATTR_kernel_layout, "HWIO");
  return STEPS_END(&s, OP_NN_CONV2D, attrs, call->args[0], w);
}
