/* Losses: cross entropy, negative log likelihood.  The computations are in
 * loss_body.h, once for float and once for double.  A loss is one number for a
 * whole batch, so its sum runs on one thread. */
#include "kernels/kernel.h"
#include "kernels/ref/loop.h"
#include "kernels/ref/elementary.h"
#include "kernels/ref/tile.h"

#include <string.h>

#define ID f32
#define C float
#include "kernels/ref/partial_sum.h"
#include "kernels/drive/loss_body.h"
#define ID f64
#define C double
#include "kernels/ref/partial_sum.h"
#include "kernels/drive/loss_body.h"

static bool cross_entropy(OpCall *call, bool logits) {
  bool wide = dtype_in(call->args[0]->dtype) == IN_F64;
  return (wide ? cross_entropy_f64 : cross_entropy_f32)(call, logits);
}

bool kernel_nn_cross_entropy(OpCall *call) {
  return cross_entropy(call, false);
}

bool kernel_nn_cross_entropy_with_logits(OpCall *call) {
  return cross_entropy(call, true);
}

bool kernel_nn_nll_loss(OpCall *call) {
  bool wide = dtype_in(call->args[0]->dtype) == IN_F64;
  return (wide ? nll_f64 : nll_f32)(call);
}
