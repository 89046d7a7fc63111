/* What kernels share: their declarations (kernels.def), and the few things
 * each of them needs of its call. */
#ifndef OPS_KERNEL_H
#define OPS_KERNEL_H

#include "ops/ops.h"
#include "ops/stop.h"

#define KERNEL(id) bool kernel_##id(OpCall *call);
#include "ops/kernels.def"
#undef KERNEL

/* Was the call asked to give up? */
static inline bool op_stopped(const OpCall *call) {
  return stop_seen(call->stop);
}

#endif
