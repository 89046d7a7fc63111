/* Matrix products: nn.dense, nn.matmul, nn.batch_matmul.  A kernel sees its
 * operands as matrices with any strides (transposing is exchanging two strides)
 * and calls product_run(), which picks the loop by dtype:
 *
 *   accumulated in float, uint32_t    panels and tiles (panels.c)
 *   accumulated in double, uint64_t   whole products (Isa.products)
 *
 * Leading axes are batches.  Where the right operand has none, they are rows of
 * one larger product, which packs its weights once. */
#include "kernels/drive/product.h"

#include "kernels/drive/steps.h"
#include "kernels/kernel.h"
#include "kernels/parallel.h"

#include <string.h>

/* The wider of operand and result decides: int8 operands with an int64 result
 * are summed in 64 bits. */
bool product_run(OpCall *call, const Product *p) {
  WideProductFn *const *wide = isa_in_use()->products;
  DType in = p->a.dtype, out = p->out.dtype;
  if (dtype_in(in) == IN_F64 || dtype_in(out) == IN_F64)
    return wide[WIDE_F64](call->stop, p);
  if (!dtype_is_float(in) && dtype_in(out) == IN_U64)
    return wide[WIDE_U64](call->stop, p);
  return product_by_panels(call, p);
}

/* --- Kernels ------------------------------------------------------------- */

/* The matrix on axes `row` and `column` of a tensor; -1 is an axis of length
 * 1. */
static Matrix matrix_of(const Tensor *t, int row, int column) {
  return (Matrix){.dtype = t->dtype,
                  .data = t->data,
                  .row_step = row < 0 ? 0 : t->strides[row],
                  .column_step = t->strides[column]};
}

static void matrix_move(Matrix *x, int64_t elements) {
  x->data += elements * (int64_t)dtype_size(x->dtype);
}

/* Which operands are transposed, as a[m, k] and b[k, n] see them. */
typedef struct Transposed {
  bool a, b;
} Transposed;

static bool is_one_matrix(const Tensor *t) {
  for (int i = 0; i < t->rank - 2; i++)
    if (t->shape[i] != 1) return false;
  return true;
}

/* The product of the matrices in the last two axes; an operand of rank 1 is a
 * matrix of one row. */
static Product last_axes(const OpCall *call, Transposed t) {
  const Tensor *a = call->args[0], *b = call->args[1], *out = call->outs[0];
  Product p = {.a = matrix_of(a, a->rank - 2, a->rank - 1),
               .b = matrix_of(b, b->rank - 2, b->rank - 1),
               .out = matrix_of(out, out->rank - 2, out->rank - 1)};
  if (t.a) p.a = matrix_transposed(p.a);
  if (t.b) p.b = matrix_transposed(p.b);
  p.m = out->rank > 1 ? out->shape[out->rank - 2] : 1;
  p.n = out->shape[out->rank - 1];
  p.k = a->shape[a->rank - 1 - t.a];
  if (is_one_matrix(b)) p.weights = b->buffer;
  return p;
}

/* Merges leading axes that are contiguous in data and result into the rows.  A
 * single row merges with any axis, since its stride is never used.  Returns the
 * number of leading axes that are left. */
static int merge_rows(const Tensor *a, const Tensor *out, Product *p) {
  int axis = out->rank - 3;
  for (; axis >= 0; axis--) {
    if (out->shape[axis] == 1) continue;
    if (p->m == 1) {
      p->a.row_step = a->strides[axis];
      p->out.row_step = out->strides[axis];
    }
    bool joins = a->strides[axis] == p->m * p->a.row_step &&
                 out->strides[axis] == p->m * p->out.row_step;
    if (!joins) break;
    p->m *= out->shape[axis];
  }
  return axis + 1;
}

/* An operand's stride along leading axis `axis`; 0 where it is broadcast. */
static int64_t lead_step(const Tensor *t, int axis, int rank) {
  if (t->rank < rank || t->shape[axis] == 1) return 0;
  return t->strides[axis];
}

/* The products of all pairs of matrices along the leading axes. */
typedef struct Leading {
  OpCall call; /* a call with one pair as its operands */
  Product first;
  int axes;
} Leading;

/* The product of pair number i, in row-major order of the leading axes. */
static Product product_at(const Leading *l, int64_t i) {
  const OpCall *call = &l->call;
  const Tensor *a = call->args[0], *b = call->args[1], *out = call->outs[0];
  Product p = l->first;
  for (int axis = l->axes - 1; axis >= 0; axis--) {
    int64_t at = i % out->shape[axis];
    matrix_move(&p.a, at * lead_step(a, axis, out->rank));
    matrix_move(&p.b, at * lead_step(b, axis, out->rank));
    matrix_move(&p.out, at * out->strides[axis]);
    i /= out->shape[axis];
  }
  return p;
}

static bool run_products(const void *data, const Share *share) {
  const Leading *l = data;
  OpCall call = l->call;
  for (int64_t i = share->from; i < share->to; i++) {
    Product p = product_at(l, i);
    if (!product_run(&call, &p)) return false;
  }
  return true;
}

/* Threads share the products; large products are shared out themselves.  Which
 * of the two: when a single product is worth all threads, it gets them. */
static bool run_leading(OpCall *call, const Product *p, int axes) {
  Leading all = {*call, *p, axes};
  double work = product_time(p);
  int64_t count = 1;
  for (int i = 0; i < axes; i++) count *= call->outs[0]->shape[i];
  int threads = 1;
  if (parallel_threads(call, call->threads, work) < call->threads)
    threads = parallel_threads(call, count, work * (double)count);
  if (threads > 1) all.call.threads = 1;
  return parallel_run(call, threads, count, run_products, &all);
}

/* With a transposed, rows are not one axis's steps from each other, so leading
 * axes stay. */
static bool run_product(OpCall *call, Transposed t) {
  const Tensor *a = call->args[0], *out = call->outs[0];
  if (tensor_count(out) == 0) return true;
  Product p = last_axes(call, t);
  bool shared = call->args[1]->rank < out->rank;
  int lead = out->rank > 2 ? out->rank - 2 : 0;
  if (shared && !t.a) lead = merge_rows(a, out, &p);
  return lead ? run_leading(call, &p, lead) : product_run(call, &p);
}

/* As Relay computes it: uint8 by int8 is the product of two int32, where that
 * is the result's dtype. */
bool run_in_one_dtype(OpCall *call, KernelFn kernel) {
  const Tensor *a = call->args[0], *b = call->args[1];
  if (a->dtype == b->dtype) return kernel(call);
  DType dtype = (DType)call->outs[0]->dtype;
  Steps s = {.call = call};
  const Tensor *args[] = {step_cast(&s, a, dtype), step_cast(&s, b, dtype)};
  OpCall cast = *call;
  cast.args = args;
  bool ok = args[0] && args[1] && kernel(&cast);
  if (cast.fault.code) call->fault = cast.fault;
  steps_drop(&s);
  return ok;
}

static bool dense(OpCall *call) {
  return run_product(call, (Transposed){.b = true});
}

static bool matmul(OpCall *call) {
  return run_product(call,
                     (Transposed){attr_bool(call->attrs, ATTR_transpose_a),
                                  attr_bool(call->attrs, ATTR_transpose_b)});
}

bool kernel_nn_dense(OpCall *call) { return run_in_one_dtype(call, dense); }
bool kernel_matmul(OpCall *call) { return run_in_one_dtype(call, matmul); }
