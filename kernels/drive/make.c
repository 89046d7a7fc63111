/* Kernels that make tensors from scalars or shapes: arange, shape_of,
 * ndarray_size, one_hot.  The length of arange depends on the operands' values,
 * so it makes its result itself; the others fill what is given. */
#include "kernels/kernel.h"
#include "kernels/scalar.h"
#include "kernels/drive/elementwise.h"
#include "kernels/drive/move.h"

#include <math.h>

/* --- arange -------------------------------------------------------------- */

/* ceil((stop - start) / step) for integers, a uint64 taken as int64; -1 when
 * the count is negative or does not fit. */
static int64_t int_count(int64_t start, int64_t stop, int64_t step) {
  __int128 span = (__int128)stop - start;
  if (step == 0) return -1;
  if (span == 0 || (span < 0) != (step < 0)) return 0;
  __int128 count = (span + step - (step > 0 ? 1 : -1)) / step;
  return count > INT64_MAX ? -1 : (int64_t)count;
}

/* ceil((stop - start) / step); -1 for NaN (a step of 0 with equal ends) and for
 * what no memory could hold; 0 when the step leads away from stop. */
static int64_t float_count(double start, double stop, double step) {
  double count = ceil((stop - start) / step);
  if (!(count < 0x1p62)) return -1;
  return count < 0 ? 0 : (int64_t)count;
}

/* start, stop and step, with the defaults 0 and 1. */
typedef struct Range {
  Value start, stop, step;
} Range;

/* Operands: stop; start, stop; start, stop, step. */
static Range range_of(const OpCall *call, int n, DType dtype) {
  Value given[3];
  for (int i = 0; i < n; i++) given[i] = bits_load(dtype, call->args[i]->data);
  Range r = {.start = bits_from_i64(dtype, 0), .step = bits_from_i64(dtype, 1)};
  if (n > 1) r.start = given[0];
  r.stop = given[n > 1];
  if (n > 2) r.step = given[2];
  return r;
}

static int64_t range_count(DType dtype, Range r) {
  if (dtype_is_float(dtype))
    return float_count(bits_to_f64(dtype, r.start), bits_to_f64(dtype, r.stop),
                       bits_to_f64(dtype, r.step));
  return int_count(bits_to_i64(dtype, r.start), bits_to_i64(dtype, r.stop),
                   bits_to_i64(dtype, r.step));
}

enum { RUN = 256 }; /* elements that are made at a time */

/* out[i] = f(a[i], b) for n elements that lie side by side; b is one element,
 * or NULL for a strip of one operand. */
static void run_strip(StripFn f, int64_t n, const void *a, const char *b,
                      char *out) {
  f(&(Strip){.n = n, .out = out, .out_step = 1, .in = {a, b}, .step = {1, 0}});
}

/* Writes start + i * step in the operands' dtype; each operation rounds or
 * wraps as `multiply` and `add` do, of which these are the strips.  A running
 * sum would add up its errors. */
static bool range_fill(OpCall *call, Tensor *out, DType dtype, Range r) {
  StripFn number = strip_of_cast(DT_INT64, dtype);
  StripFn multiply = strip_of(OP_MULTIPLY, dtype),
          add = strip_of(OP_ADD, dtype);
  StripFn convert = strip_of_cast(dtype, out->dtype);
  Value step_bits, start_bits, elements[RUN];
  char *step = (char *)&step_bits, *start = (char *)&start_bits;
  char *at = (char *)elements;
  int64_t places[RUN];
  bits_store(dtype, step, r.step);
  bits_store(dtype, start, r.start);
  for (int64_t i = 0; i < out->shape[0]; i += RUN) {
    if (op_stopped(call)) return false;
    int64_t n = out->shape[0] - i < RUN ? out->shape[0] - i : RUN;
    for (int64_t k = 0; k < n; k++) places[k] = i + k;
    run_strip(number, n, places, NULL, at);
    run_strip(multiply, n, at, step, at);
    run_strip(add, n, at, start, at);
    run_strip(convert, n, at, NULL,
              out->data + i * (int64_t)dtype_size(out->dtype));
  }
  return true;
}

/* In the operands' dtype; the result may have another, converted at the end. */
bool kernel_arange(OpCall *call) {
  DType dtype = call->args[0]->dtype;
  Range r = range_of(call, call->arg_count, dtype);
  int64_t count = range_count(dtype, r);
  if (count < 0)
    return op_fault(call, E0607, "a step of 0, or too many elements");
  Tensor *out = tensor_new(call->heap, call->result->dtype, 1, &count);
  if (!out) return op_out_of_memory(call);
  if (!range_fill(call, out, dtype, r)) {
    tensor_drop(call->heap, out);
    return false;
  }
  call->outs[0] = out;
  return true;
}

/* --- Shapes -------------------------------------------------------------- */

/* The rule has made the result as long as the rank. */
bool kernel_shape_of(OpCall *call) {
  const Tensor *x = call->args[0];
  Tensor *out = call->outs[0];
  for (int i = 0; i < x->rank; i++)
    bits_store(out->dtype, out->data + (size_t)i * dtype_size(out->dtype),
               bits_from_i64(out->dtype, x->shape[i]));
  return true;
}

bool kernel_ndarray_size(OpCall *call) {
  Tensor *out = call->outs[0];
  bits_store(out->dtype, out->data,
             bits_from_i64(out->dtype, tensor_count(call->args[0])));
  return true;
}

/* --- one_hot ------------------------------------------------------------- */

/* A number as an element of the result, by `cast`. */
static Value converted(const Tensor *scalar, DType to) {
  int fail = 0;
  Value bits = bits_load(scalar->dtype, scalar->data);
  return op_scalar(OP_CAST, scalar->dtype, to)(bits, bits, bits, &fail);
}

/* An index outside the new axis gives a line of off values.  Element i of the
 * operand lies at (i / inner, i % inner); the new axis stands between the
 * two. */
bool kernel_one_hot(OpCall *call) {
  const Tensor *x = call->args[0];
  Tensor *out = call->outs[0];
  int axis = attr_axis(call->attrs, ATTR_axis, out->rank);
  Value on = converted(call->args[1], out->dtype);
  Value off = converted(call->args[2], out->dtype);
  if (!fill_with(call, out, off)) return false;
  int64_t depth = out->shape[axis], inner = out->strides[axis];
  int64_t n = tensor_count(x);
  for (int64_t i = 0; i < n; i++) {
    if (op_stopped(call)) return false;
    int64_t at = tensor_i64_at(x, i);
    if (at < 0 || at >= depth) continue;
    int64_t place = (i / inner * depth + at) * inner + i % inner;
    bits_store(out->dtype, out->data + place * (int64_t)dtype_size(out->dtype),
               on);
  }
  return true;
}
