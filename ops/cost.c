/* Counting operations, from the shapes of a call's operands and result.  The
 * counts are those of the formula, not of the instructions that run: a
 * multiply-add counts as two, an elementary function as one (FLOPS_FUNCTION
 * tells those apart who measure time).  All in double, because counts exceed
 * 2^63 before memory does. */
#include "ops/cost.h"

static double elements(const Tensor *t) { return (double)tensor_count(t); }

/* out[.., m, n] = sum over k of a[.., m, k] * b; k from the sizes of a, n. */
static double product_flops(const Tensor *args, const Tensor *out) {
  double a = elements(&args[0]), made = elements(out);
  if (out->rank == 0 || made == 0) return 2 * a;
  int64_t batches = out->rank > 2 ? out->shape[0] : 1;
  int64_t of_a = args[0].rank > 2 ? args[0].shape[0] : batches;
  double n = (double)out->shape[out->rank - 1];
  return 2 * a * n * (double)(batches > of_a ? batches : 1);
}

/* Each result sums the weights of its output channel. */
static double conv_flops(const Attrs *attrs, const Tensor *args,
                         const Tensor *out) {
  const AttrValue *v = attr_get(attrs, ATTR_channels);
  bool said = v->state == AV_SET && dim_above(v->integer, 0);
  double channels = (double)(said ? dim_value(v->integer) : args[1].shape[0]);
  return channels ? 2 * elements(out) * elements(&args[1]) / channels : 0;
}

/* Each element read goes to the weights of its input channel. */
static double conv_transpose_flops(const Tensor *args) {
  double channels = (double)args[1].shape[0];
  return channels ? 2 * elements(&args[0]) * elements(&args[1]) / channels : 0;
}

/* An element-wise operator costs as much as the larger side: a broadcast makes
 * more than it reads, a reduction reads more than it makes. */
double op_flops(const OpInfo *op, const Attrs *attrs, int count,
                const Tensor *args, const Tensor *out) {
  switch (op->flops) {
    case FLOPS_NONE: return 0;
    case FLOPS_ELEMENT:
    case FLOPS_FUNCTION: {
      double in = count > 0 ? elements(&args[0]) : 0, made = elements(out);
      return in > made ? in : made;
    }
    case FLOPS_PRODUCT: return count > 1 ? product_flops(args, out) : 0;
    case FLOPS_CONV: return count > 1 ? conv_flops(attrs, args, out) : 0;
    case FLOPS_CONV_TRANSPOSE:
      return count > 1 ? conv_transpose_flops(args) : 0;
  }
  return 0;
}

/* Scalars are values in registers and move nothing. */
static double bytes_of(int count, const Tensor *t) {
  double sum = 0;
  for (int i = 0; i < count; i++)
    if (t[i].rank) sum += elements(&t[i]) * (double)dtype_size(t[i].dtype);
  return sum;
}

OpCost op_cost(const OpInfo *op, const Attrs *attrs, int count,
               const Tensor *args, int out_count, const Tensor *outs) {
  OpCost cost = {0};
  if (op->storage == STORE_VIEW || out_count == 0) return cost;
  cost.flops = op_flops(op, attrs, count, args, &outs[0]);
  cost.allocated = bytes_of(out_count, outs);
  cost.bytes = cost.allocated;
  if (op->reads != READS_NONE) cost.bytes += bytes_of(count, args);
  return cost;
}
