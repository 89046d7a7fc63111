/* Kernels of sparse operators, on compressed sparse rows (CSR, BSR) and on
 * coordinate lists (COO).  Row starts and columns are checked before use: they
 * are data, and index other data.
 *
 *   a b . .     values   a b | c | d e        CSR: row r has the values from
 *   . . c .     columns  0 1 | 2 | 0 3        starts[r] to starts[r + 1]
 *   d . . e     starts   0 2 3 5
 *
 * In BSR every value is a block, and starts and columns count blocks.  In COO
 * each value has its coordinates, in any order.
 *
 * These kernels are plain loops, made to be right rather than fast. */
#include "kernels/kernel.h"
#include "kernels/scalar.h"
#include "kernels/drive/elementwise.h"
#include "kernels/drive/move.h"

/* A CSR matrix: values, columns and row starts; in BSR each value is a block of
 * rows x width. */
typedef struct Compressed {
  const Tensor *values, *columns, *starts;
  int64_t rows, width;
} Compressed;

static int64_t start_of(const Compressed *w, int64_t row) {
  return tensor_i64_at(w->starts, row);
}

static bool column_fault(OpCall *call, int64_t column, int64_t n) {
  return op_fault(call, E0604, "column %lld of %lld", (long long)column,
                  (long long)n);
}

/* Checks that row starts ascend from 0 and do not exceed the number of
 * values. */
static bool compressed_of(OpCall *call, int i, Compressed *w) {
  *w = (Compressed){call->args[i], call->args[i + 1], call->args[i + 2], 1, 1};
  int64_t stored = w->values->shape[0], n = w->starts->shape[0];
  if (w->values->rank == 3) {
    w->rows = w->values->shape[1];
    w->width = w->values->shape[2];
  }
  BLOCKS(call->stop, n)
  for (int64_t row = at; row < end; row++) {
    int64_t from = row > 0 ? start_of(w, row - 1) : 0;
    int64_t start = start_of(w, row);
    if (start < from || start > stored)
      return op_fault(call, E0604,
                      "row starts do not ascend within %lld "
                      "values",
                      (long long)stored);
  }
  return !op_stopped(call);
}

/* Windows of an image: their side, and which axes are which. */
typedef struct Windows {
  int64_t side;
  int channel, row; /* the columns' axis is after the rows' */
  bool first;       /* are channels before rows? */
} Windows;

static Windows windows_of(const OpCall *call) {
  bool first = attr_word(call->attrs, ATTR_layout) == CHANNELS_FIRST;
  const AttrValue *side = attr_get(call->attrs, ATTR_kernel_size);
  return (Windows){attr_item(side, 0), first ? 1 : 3, first ? 2 : 1, first};
}

#define FLOATS_ALONE
#define BODY "kernels/drive/sparse_body.h"
#include "kernels/ref/each_sum.h"

/* Operands and results of any dtype, one element at a time. */
static void put(Tensor *out, int64_t i, Value v) {
  bits_store(out->dtype, out->data + i * (int64_t)dtype_size(out->dtype), v);
}

static void put_int(Tensor *out, int64_t i, int64_t v) {
  put(out, i, bits_from_i64(out->dtype, v));
}

/* Row starts are checked by compressed_of(), columns by the loop, since only it
 * reads them all. */
bool kernel_sparse_dense(OpCall *call) {
  Compressed w;
  if (!compressed_of(call, 1, &w)) return false;
  bool lhs = attr_bool(call->attrs, ATTR_sparse_lhs);
  bool wide = dtype_in(call->outs[0]->dtype) == IN_F64;
  return (wide ? sparse_dense_f64 : sparse_dense_f32)(call, &w, lhs);
}

bool kernel_sparse_conv2d(OpCall *call) {
  Compressed w;
  if (!compressed_of(call, 1, &w)) return false;
  w.rows = w.values->shape[1];
  bool wide = dtype_in(call->outs[0]->dtype) == IN_F64;
  return (wide ? sparse_conv2d_f64 : sparse_conv2d_f32)(call, &w);
}

/* The sparse elements are added in the order stored, so one that is stored
 * twice is added twice. */
bool kernel_sparse_add(OpCall *call) {
  Compressed w;
  Tensor *out = call->outs[0];
  int64_t n = out->shape[1];
  ScalarFn add = op_scalar(OP_ADD, out->dtype, out->dtype);
  if (!compressed_of(call, 1, &w)) return false;
  if (!copy_into(call, out, call->args[0])) return false;
  for (int64_t row = 0; row < out->shape[0]; row++) {
    if (op_stopped(call)) return false;
    for (int64_t j = start_of(&w, row); j < start_of(&w, row + 1); j++) {
      int64_t column = tensor_i64_at(w.columns, j), at = row * n + column;
      int fail = 0;
      if (op_stopped(call)) return false;
      if (column < 0 || column >= n) return column_fault(call, column, n);
      put(out, at,
          add(tensor_bits_at(out, at), tensor_bits_at(w.values, j), (Value){0},
              &fail));
    }
  }
  return true;
}

/* Goes column by column; within a column rows ascend.  The matrix must be
 * square, since its own row starts give the number of rows of the result, and
 * the rule knows no other.  A column beyond it is found at the end: its values
 * were not placed. */
bool kernel_sparse_transpose(OpCall *call) {
  Compressed w;
  if (!compressed_of(call, 0, &w)) return false;
  int64_t n = w.starts->shape[0] - 1, next = 0;
  put_int(call->outs[2], 0, 0);
  for (int64_t column = 0; column < n; column++) {
    for (int64_t row = 0; row < n; row++) {
      if (op_stopped(call)) return false;
      for (int64_t j = start_of(&w, row); j < start_of(&w, row + 1); j++) {
        if (op_stopped(call)) return false;
        if (tensor_i64_at(w.columns, j) != column) continue;
        put(call->outs[0], next, tensor_bits_at(w.values, j));
        put_int(call->outs[1], next++, row);
      }
    }
    put_int(call->outs[2], column + 1, next);
  }
  if (next == w.values->shape[0]) return true;
  return op_fault(call, E0604,
                  "a column beyond the %lld rows, or values "
                  "without a row",
                  (long long)n);
}

/* --- Coordinates --------------------------------------------------------- */

/* The row-major position that coordinate number i has in a shape. */
static bool position_of(OpCall *call, const Tensor *at, int64_t i,
                        const Tensor *out, int64_t *position) {
  int64_t rank = at->rank == 2 ? at->shape[1] : 1;
  *position = 0;
  for (int64_t k = 0; k < rank; k++) {
    int64_t c = tensor_i64_at(at, i * rank + k), n = out->shape[k];
    if (c < 0 || c >= n)
      return op_fault(call, E0604,
                      "index %lld is out of range for an axis of "
                      "length %lld",
                      (long long)c, (long long)n);
    *position = *position * n + c;
  }
  return true;
}

/* Later values overwrite earlier ones at the same place. */
bool kernel_sparse_to_dense(OpCall *call) {
  const Tensor *at = call->args[0], *values = call->args[1];
  Tensor *out = call->outs[0];
  Value rest = {0};
  if (call->arg_count > 2) rest = tensor_bits_at(call->args[2], 0);
  if (!fill_with(call, out, rest)) return false;
  int64_t count = at->rank == 0 ? 1 : at->shape[0];
  for (int64_t i = 0; i < count; i++) {
    int64_t position;
    if (op_stopped(call) || !position_of(call, at, i, out, &position))
      return false;
    put(out, position, tensor_bits_at(values, values->rank ? i : 0));
  }
  return true;
}

/* The row (first coordinate) of entry i. */
static int64_t row_of(const Tensor *at, int64_t i) {
  return tensor_i64_at(at, i * at->shape[1]);
}

/* `empty` starts as ones: sets the element of each row that has an entry to 0.
 * Returns the number of empty rows, each of which will get one entry. */
static int64_t mark_empty(StopFlag *stop, const Tensor *places, Tensor *empty) {
  int64_t rows = empty->shape[0], count = rows;
  BLOCKS(stop, places->shape[0])
  for (int64_t i = at; i < end; i++) {
    int64_t row = row_of(places, i);
    if (row < 0 || row >= rows || tensor_i64_at(empty, row) == 0) continue;
    put_int(empty, row, 0);
    count--;
  }
  return count;
}

/* Copies the entries row by row; an empty row gets one entry, the default in
 * its first column.  Looks through all entries for each row, since they come in
 * any order and keep theirs within a row. */
static void fill_rows(OpCall *call) {
  const Tensor *places = call->args[0], *values = call->args[1];
  Tensor *indices = call->outs[0], *filled = call->outs[1];
  int64_t rank = places->shape[1], next = 0;
  for (int64_t row = 0; row < call->outs[2]->shape[0]; row++) {
    bool is_empty = tensor_i64_at(call->outs[2], row) != 0;
    if (op_stopped(call)) return;
    BLOCKS(call->stop, places->shape[0])
    for (int64_t i = at; i < end; i++) {
      if (row_of(places, i) != row) continue;
      for (int64_t k = 0; k < rank; k++)
        put(indices, next * rank + k, tensor_bits_at(places, i * rank + k));
      put(filled, next++, tensor_bits_at(values, i));
    }
    if (!is_empty) continue;
    for (int64_t k = 0; k < rank; k++)
      put_int(indices, next * rank + k, k == 0 ? row : 0);
    put(filled, next++, tensor_bits_at(call->args[3], 0));
  }
}

/* Each first coordinate is a row; without coordinates there is none. */
static bool rows_in_range(OpCall *call, const Tensor *places, int64_t rows) {
  BLOCKS(call->stop, places->shape[0])
  for (int64_t i = at; i < end; i++)
    if (places->shape[1] == 0 || row_of(places, i) < 0 ||
        row_of(places, i) >= rows)
      return op_fault(call, E0604, "a coordinate lies outside the shape");
  return !op_stopped(call);
}

/* Makes all three results, the second of which depends on the third. */
bool kernel_sparse_fill_empty_rows(OpCall *call) {
  const Tensor *at = call->args[0];
  int64_t rows =
      tensor_count(call->args[2]) ? tensor_i64_at(call->args[2], 0) : 0;
  int64_t rank = at->shape[1];
  if (!rows_in_range(call, at, rows)) return false;
  if (rows < 0) return op_fault(call, E0603, "a negative dimension");
  call->outs[2] = tensor_new(call->heap, call->args[2]->dtype, 1, &rows);
  if (!call->outs[2]) return op_out_of_memory(call);
  Tensor *empty = call->outs[2];
  if (!fill_with(call, empty, bits_from_i64(empty->dtype, 1)))
    return tensor_drop(call->heap, empty), false;
  int64_t n = at->shape[0] + mark_empty(call->stop, at, empty);
  call->outs[0] = tensor_new(call->heap, at->dtype, 2, (int64_t[]){n, rank});
  call->outs[1] = tensor_new(call->heap, call->args[1]->dtype, 1, &n);
  if (call->outs[0] && call->outs[1]) return fill_rows(call), true;
  for (int i = 0; i < 3; i++)
    if (call->outs[i]) tensor_drop(call->heap, call->outs[i]);
  return op_out_of_memory(call);
}

/* --- sparse_reshape ------------------------------------------------------ */

/* The number of elements, without the unknown dimension when `skip_unknown`; -1
 * when it overflows or a dimension is negative. */
static int64_t product_of(const Tensor *shape, bool skip_unknown) {
  int64_t product = 1;
  for (int64_t i = 0; i < shape->shape[0]; i++) {
    int64_t n = tensor_i64_at(shape, i);
    if (skip_unknown && n == -1) continue;
    if (n < 0 || __builtin_mul_overflow(product, n, &product)) return -1;
  }
  return product;
}

/* Stores v; fails when the result's dtype cannot hold it. */
static bool put_whole(OpCall *call, Tensor *out, int64_t i, int64_t v) {
  Value bits = bits_from_i64(out->dtype, v);
  if (bits_to_i64(out->dtype, bits) != v)
    return op_fault(call, E0603, "%lld does not fit into %s", (long long)v,
                    dtype_name(out->dtype));
  put(out, i, bits);
  return true;
}

/* Computes the new shape; -1 stands for the remaining size, and may occur
 * once. */
static bool new_shape(OpCall *call) {
  const Tensor *to = call->args[2];
  int64_t all = product_of(call->args[1], false);
  int64_t others = product_of(to, true), unknown = 0, left = 0;
  for (int64_t i = 0; i < to->shape[0]; i++)
    unknown += tensor_i64_at(to, i) == -1;
  if (unknown == 1 && others > 0 && all >= 0 && all % others == 0)
    left = all / others;
  else if (unknown > 0 || others != all || all < 0)
    return op_fault(call, E0603,
                    "the shapes differ in their number of "
                    "elements");
  for (int64_t i = 0; i < to->shape[0]; i++) {
    int64_t n = tensor_i64_at(to, i);
    if (!put_whole(call, call->outs[1], i, n == -1 ? left : n)) return false;
  }
  return true;
}

/* Two shapes that are data, compared element by element. */
static bool same_shape(const Tensor *a, const Tensor *b) {
  if (a->shape[0] != b->shape[0]) return false;
  for (int64_t i = 0; i < a->shape[0]; i++)
    if (tensor_i64_at(a, i) != tensor_i64_at(b, i)) return false;
  return true;
}

/* The row-major position of row i; coordinates may lie outside the shape. */
static bool position_of_row(OpCall *call, int64_t i, int64_t *position) {
  const Tensor *at = call->args[0], *from = call->args[1];
  int64_t r = from->shape[0];
  *position = 0;
  for (int64_t k = 0; k < r; k++) {
    int64_t c = tensor_i64_at(at, i * r + k), n = tensor_i64_at(from, k);
    if (__builtin_mul_overflow(*position, n, position) ||
        __builtin_add_overflow(*position, c, position))
      return op_fault(call, E0604, "a coordinate is too large");
  }
  return true;
}

/* The coordinates of a position in the new shape, the last first.  A position
 * outside the shape is one of the rows before or after those of the first
 * axis, so quotients are rounded down and the first coordinate takes what is
 * left. */
static bool put_coordinates(OpCall *call, int64_t i, int64_t position) {
  const Tensor *to = call->outs[1];
  int64_t q = to->shape[0];
  for (int64_t k = q - 1; k >= 0; k--) {
    int64_t n = tensor_i64_at(to, k), c = position;
    if (k > 0) {
      if (n <= 0)
        return op_fault(call, E0604, "a coordinate lies outside the shape");
      c = position % n;
      c += c < 0 ? n : 0;
      position = position / n - (position % n < 0);
    }
    if (!put_whole(call, call->outs[0], i * q + k, c)) return false;
  }
  return true;
}

/* The same shape keeps the coordinates as they are, also those outside of
 * it. */
bool kernel_sparse_reshape(OpCall *call) {
  const Tensor *at = call->args[0];
  if (!new_shape(call)) return false;
  if (same_shape(call->args[1], call->outs[1]))
    return copy_into(call, call->outs[0], at);
  for (int64_t i = 0; i < at->shape[0]; i++) {
    int64_t position;
    if (op_stopped(call) || !position_of_row(call, i, &position) ||
        !put_coordinates(call, i, position))
      return false;
  }
  return true;
}
