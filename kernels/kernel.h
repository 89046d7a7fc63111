/* The declarations of all kernels, and what every kernel needs of its call. */
#ifndef KERNELS_KERNEL_H
#define KERNELS_KERNEL_H

#include "kernels/call.h"
#include "base/stop.h"

/* A kernel that serves several operators is declared as often, which is C. */
#define KERNEL(op, name) bool kernel_##name(OpCall *call);
#define MACHINE(op)
#include "kernels/kernels.def"
#include "kernels/own.inc"
#undef KERNEL
#undef MACHINE

/* Has the call been asked to stop? */
static inline bool op_stopped(const OpCall *call) {
  return stop_seen(call->stop);
}

#endif
