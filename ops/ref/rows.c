/* Layers that normalise: softmax and its logarithm; layer, group, instance
 * and batch normalisation; l2_normalize, lrn.  The computations are in
 * rows_body.h. */
#include "ops/kernel.h"
#include "ops/parallel.h"
#include "ops/ref/each_names.h"
#include "ops/ref/elementary.h"
#include "ops/ref/elementwise.h"
#include "ops/ref/move.h"
#include "ops/ref/rows.h"
#include "ops/ref/tile.h"
#include "ops/ref/walk.h"
#include "ops/simd/rows.h"

#include <math.h>

static const double NANOSECONDS = 1; /* an element */

typedef struct ChannelNorm {
  int axis;
  double epsilon;
  bool scale, center;
  const Tensor *const *vectors; /* gamma, beta, mean, variance */
} ChannelNorm;

static int64_t line_length(const Tensor *x, unsigned set) {
  int64_t n = 1;
  for (int i = 0; i < x->rank; i++)
    if (set >> i & 1) n *= x->shape[i];
  return n;
}

#define ID f32
#define C float
#include "ops/ref/partial_sum.h"
#include "ops/ref/rows_body.h"
#define ID f64
#define C double
#include "ops/ref/partial_sum.h"
#include "ops/ref/rows_body.h"

static int axis_of(const OpCall *call) {
  int64_t axis = attr_int(call->attrs, ATTR_axis);
  return (int)(axis < 0 ? axis + call->args[0]->rank : axis);
}

static bool run_rows(OpCall *call, const Tensor *x, const Tensor *out,
                     unsigned set, const RowCall *what) {
  bool wide = x->dtype == DT_FLOAT64;
  RowCall row = *what;
  row.stop = call->stop;
  if (tensor_count(x) == 0) return true;
  if (simd_rows_take(x, &row)) return simd_rows_run(call, x, out, set, &row);
  return (wide ? run_rows_f64 : run_rows_f32)(call, x, out, set, &row);
}

static bool run_axis(OpCall *call, const RowCall *row) {
  return run_rows(call, call->args[0], call->outs[0], 1u << axis_of(call), row);
}

bool kernel_softmax(OpCall *call) {
  bool is_log = call->op == op_info(OP_NN_LOG_SOFTMAX);
  return run_axis(call,
                  &(RowCall){.kind = is_log ? ROW_LOG_SOFTMAX : ROW_SOFTMAX});
}

bool kernel_lrn(OpCall *call) {
  const Attrs *a = call->attrs;
  return run_axis(call, &(RowCall){.kind = ROW_LRN,
                                   .size = attr_int(a, ATTR_size),
                                   .alpha = attr_real(a, ATTR_alpha),
                                   .power = attr_real(a, ATTR_beta),
                                   .bias = attr_real(a, ATTR_bias)});
}

bool kernel_l2_normalize(OpCall *call) {
  const Tensor *x = call->args[0];
  const AttrValue *axes = attr_get(call->attrs, ATTR_axis);
  unsigned set = axes->count > 0 ? 0 : ~0u;
  for (int i = 0; i < axes->count; i++)
    set |= 1u << (axes->ints[i] < 0 ? axes->ints[i] + x->rank : axes->ints[i]);
  RowCall row = {.kind = ROW_L2, .epsilon = attr_real(call->attrs, ATTR_eps)};
  return run_rows(call, x, call->outs[0], set, &row);
}

/* --- Normalisation by mean and variance ---------------------------------- */

static RowCall normalize_call(const OpCall *call) {
  RowCall row = {.kind = ROW_NORMALIZE,
                 .inner = 1,
                 .channels = 1,
                 .epsilon = attr_real(call->attrs, ATTR_epsilon)};
  if (attr_bool(call->attrs, ATTR_scale)) row.gamma = call->args[1];
  if (attr_bool(call->attrs, ATTR_center)) row.beta = call->args[2];
  return row;
}

bool kernel_layer_norm(OpCall *call) {
  RowCall row = normalize_call(call);
  row.channels = call->args[0]->shape[axis_of(call)];
  return run_axis(call, &row);
}

/* Lines are the elements of one batch and one group of channels. */
static bool run_channel_groups(OpCall *call, int64_t groups) {
  const Tensor *x = call->args[0];
  int axis = axis_of(call);
  RowCall row = normalize_call(call);
  if (groups == 0) return true;
  row.channels = x->shape[axis] / groups;
  for (int i = axis + 1; i < x->rank; i++) row.inner *= x->shape[i];
  for (int64_t g = 0; g < groups; g++) {
    row.first = g * row.channels;
    Tensor from = geometry_slice(x, axis, row.first, row.channels);
    Tensor to = geometry_slice(call->outs[0], axis, row.first, row.channels);
    if (!run_rows(call, &from, &to, ~1u, &row)) return false;
  }
  return true;
}

bool kernel_group_norm(OpCall *call) {
  return run_channel_groups(call, attr_int(call->attrs, ATTR_num_groups));
}

bool kernel_instance_norm(OpCall *call) {
  return run_channel_groups(call, call->args[0]->shape[axis_of(call)]);
}

bool kernel_batch_norm(OpCall *call) {
  ChannelNorm norm = {.axis = axis_of(call),
                      .epsilon = attr_real(call->attrs, ATTR_epsilon),
                      .scale = attr_bool(call->attrs, ATTR_scale),
                      .center = attr_bool(call->attrs, ATTR_center),
                      .vectors = call->args + 1};
  if (!copy_into(call, call->outs[1], call->args[3]) ||
      !copy_into(call, call->outs[2], call->args[4]))
    return false;
  bool wide = call->args[0]->dtype == DT_FLOAT64;
  return (wide ? run_channels_f64 : run_channels_f32)(call, &norm);
}

bool kernel_dropout(OpCall *call) {
  Tensor *kept = call->outs[1];
  return copy_into(call, call->outs[0], call->args[0]) &&
         fill_with(call, kept, bits_from_i64(kept->dtype, 1));
}

/* --- A vector along an axis ---------------------------------------------- */

/* data op vector, the vector repeated along all other axes. */
static bool with_vector(OpCall *call, OpId op) {
  const Tensor *x = call->args[0], *v = call->args[1];
  int64_t strides[RANK_MAX] = {0};
  strides[axis_of(call)] = v->strides[0];
  Tensor spread = geometry_of(v, x->rank, x->shape, strides, 0);
  OpCall one = *call;
  one.args = (const Tensor *[]){x, &spread};
  bool ok = elementwise_run(&one, elementwise_of(op, x->dtype).strip, NULL);
  call->fault = one.fault;
  return ok;
}

bool kernel_bias_add(OpCall *call) { return with_vector(call, OP_ADD); }
bool kernel_prelu(OpCall *call) { return with_vector(call, OP_NN_PRELU); }
