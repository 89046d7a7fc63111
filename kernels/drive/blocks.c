/* Kernels of blocked layouts run on plain copies; blocks.h says how.
 *
 * Blocks such as NCHW4c are a layout for code that a compiler generates.  The
 * kernels here pack operands as they need them, so that a blocked layout brings
 * no speed, and is accepted for the sake of programs that were written for it:
 * operands are copied to plain layouts, the kernel runs, and its result is
 * copied to blocks.  The results are the law's, since layouts change no sum. */
#include "kernels/drive/blocks.h"

#include "kernels/drive/steps.h"
#include "kernels/kernel.h"
#include "ops/rules/blocks.h"
#include "ops/rules/layout.h"

/* A new tensor of the shape that the result has in the plain layout. */
static Tensor *plain_result(OpCall *call, const char *layout) {
  const Tensor *out = call->outs[0];
  int64_t shape[RANK_MAX];
  int rank = 0;
  Layout l;
  layout_parse(layout, &l);
  for (int k = 0; k < l.rank; k++) {
    if (l.axes[k].block > 0) continue;
    shape[rank++] = out->shape[k] * layout_inside(&l, l.axes[k].primal);
  }
  Tensor *t = tensor_new(call->heap, out->dtype, rank, shape);
  if (!t) op_out_of_memory(call);
  return t;
}

/* The steps own the plain operands (step_layout); the plain result is owned
 * here, and both go whether the kernel succeeds or not. */
bool run_without_blocks(OpCall *call, KernelFn kernel) {
  Blocks b;
  if (!blocks_of(call->attrs, call->arena, &b)) return kernel(call);
  Steps s = {.call = call};
  const Tensor *args[2] = {call->args[0], call->args[b.count - 1]};
  for (int i = 0; i < b.count; i++)
    if (b.operands[i])
      args[i] = step_layout(&s, args[i], b.operands[i], b.plain[i]);
  Tensor *out = b.result ? plain_result(call, b.result) : call->outs[0];
  OpCall plain = *call;
  plain.attrs = b.attrs;
  plain.args = args;
  plain.outs = &out;
  bool ok = out && args[0] && args[1] && kernel(&plain);
  if (plain.fault.code) call->fault = plain.fault;
  if (ok && b.result) {
    Attrs *attrs = attrs_new(call->arena, op_info(OP_LAYOUT_TRANSFORM));
    attr_set_text(attrs, ATTR_src_layout, b.plain_result);
    attr_set_text(attrs, ATTR_dst_layout, b.result);
    ok = STEPS_END(&s, OP_LAYOUT_TRANSFORM, attrs, out);
  }
  steps_drop(&s);
  if (b.result && out) tensor_drop(call->heap, out);
  return ok;
}

bool kernel_nn_contrib_dense_pack(OpCall *call) {
  Steps s = {.call = call};
  const char *text = attr_text(call->attrs, ATTR_weight_layout);
  const char *plain = layout_plain(call->arena, text);
  const Tensor *weight = step_layout(&s, call->args[1], text, plain);
  Attrs *attrs = step_attrs(&s, OP_NN_DENSE);
  return STEPS_END(&s, OP_NN_DENSE, attrs, call->args[0], weight);
}
