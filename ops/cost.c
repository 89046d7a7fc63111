/* Counting operations, from the shapes of a call's operands and result. */
#include "ops/cost.h"

#include "ops/kernel.h"

typedef struct Counted {
  KernelFn kernel;
  double (*flops)(const Attrs *attrs, const Tensor *args, const Tensor *out);
} Counted;

static double elements(const Tensor *t) { return (double)tensor_count(t); }

/* out[.., m, n] = sum over k of a[.., m, k] * b; k from the sizes of a, n. */
static double product_flops(const Attrs *attrs, const Tensor *args,
                            const Tensor *out) {
  (void)attrs;
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
  bool said = v->state == AV_SET && dim_is_number(v->integer) && v->integer;
  double channels = (double)(said ? v->integer : args[1].shape[0]);
  return channels ? 2 * elements(out) * elements(&args[1]) / channels : 0;
}

/* Each element read goes to the weights of its input channel. */
static double conv_transpose_flops(const Attrs *attrs, const Tensor *args,
                                   const Tensor *out) {
  (void)attrs;
  (void)out;
  double channels = (double)args[1].shape[0];
  return channels ? 2 * elements(&args[0]) * elements(&args[1]) / channels : 0;
}

static const Counted counted[] = {
    {kernel_product, product_flops},
    {kernel_conv, conv_flops},
    {kernel_conv_transpose, conv_transpose_flops},
};

static const KernelFn each_element[] = {
    kernel_elementwise,   kernel_clip,         kernel_reduce,
    kernel_arg_reduce,    kernel_variance,     kernel_scan,
    kernel_softmax,       kernel_bias_add,     kernel_leaky_relu,
    kernel_prelu,         kernel_max_pool,     kernel_avg_pool,
    kernel_batch_norm,    kernel_layer_norm,   kernel_group_norm,
    kernel_instance_norm, kernel_l2_normalize,
};

double op_flops(const OpInfo *op, const Attrs *attrs, int count,
                const Tensor *args, const Tensor *out) {
  for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
    if (op->kernel != counted[i].kernel || count < 2) continue;
    return counted[i].flops(attrs, args, out);
  }
  for (size_t i = 0; i < sizeof each_element / sizeof *each_element; i++) {
    if (op->kernel != each_element[i] || count < 1) continue;
    double in = elements(&args[0]), made = elements(out);
    return in > made ? in : made;
  }
  return 0;
}
