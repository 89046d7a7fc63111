/* einsum, one element of the result at a time; einsum_body.h has the loops.
 *
 * Every letter of the equation is an index.  The letters of the result come
 * first, the summed ones after them, and each operand has a stride for every
 * letter, 0 for a letter that it lacks:
 *
 *   "ij,jk->ik"    letters  i k j       result over (i, k), sum over j
 *   a[2, 3]        steps    3 0 1
 *   b[3, 4]        steps    0 1 4
 *
 * A letter twice in one operand has the sum of both strides, so that it walks
 * the diagonal; an axis of length 1 is broadcast.  The order of the sum is that
 * of the letters, row-major.  The cost is the product of all lengths: equations
 * that are matrix products are faster as nn.matmul. */
#include "ops/rules/einsum.h"

#include "kernels/kernel.h"

typedef struct EinsumCall {
  Einsum plan;
  const Tensor *const *args;
  int64_t lengths[EINSUM_LETTERS];
  /* strides of each operand, by letter */
  int64_t steps[EINSUM_MAX][EINSUM_LETTERS];
  bool empty; /* the sum has no terms */
} EinsumCall;

/* Advances the index over letters from..to-1 in row-major order.  After the
 * last one they are 0 again and the result is false. */
static bool next_index(const EinsumCall *e, int from, int to, int64_t *index) {
  for (int k = to - 1; k >= from; k--) {
    if (++index[k] < e->lengths[k]) return true;
    index[k] = 0;
  }
  return false;
}

#define BODY "kernels/drive/einsum_body.h"
#include "kernels/ref/each_sum.h"

bool kernel_einsum(OpCall *call) {
  EinsumCall e = {.args = call->args};
  int ranks[EINSUM_MAX];
  for (int i = 0; i < call->arg_count; i++) ranks[i] = call->args[i]->rank;
  einsum_parse(attr_text(call->attrs, ATTR_equation), call->arg_count, ranks,
               &e.plan);
  for (int i = 0; i < EINSUM_LETTERS; i++) e.lengths[i] = 1;
  for (int i = 0; i < e.plan.operands; i++)
    for (int k = 0; k < e.plan.ranks[i]; k++) {
      const Tensor *x = call->args[i];
      int letter = e.plan.axes[i][k];
      if (x->shape[k] == 1) continue;
      e.lengths[letter] = x->shape[k];
      e.steps[i][letter] += x->strides[k];
    }
  for (int k = 0; k < e.plan.letters; k++) e.empty |= e.lengths[k] == 0;
  static bool (*const run[])(OpCall *, const EinsumCall *) = {
      [IN_F32] = run_f32,
      [IN_F64] = run_f64,
      [IN_U32] = run_u32,
      [IN_U64] = run_u64};
  return run[dtype_in(call->outs[0]->dtype)](call, &e);
}
