/* Running an operator: the call as its kernel sees it, and the ways to make
 * one.  Which kernel an operator has is said in kernels.def. */
#ifndef KERNELS_CALL_H
#define KERNELS_CALL_H

#include "ops/ops.h"

/* Why a kernel failed. */
typedef struct OpFault {
  DiagCode code;
  const char *message; /* in the call's arena; NULL: nothing beyond the code */
} OpFault;

/* What a session has met of other processes.  Threads that wait for each other
 * spin, some 10 ms at most; where another process has the core of one of them,
 * every region (parallel.h) lasts so long, however small.  After one that
 * mostly waited the caller works alone for a while, the longer the more of them
 * there were in a row.  Used by one thread at a time; begins as zeros.  Times
 * in nanoseconds. */
typedef struct Crowd {
  int64_t until; /* when to ask for threads again */
  int64_t alone; /* for how long that was put off; 0: it was not */
  enum { CROWD_UNKNOWN, CROWD_UNTOLD, CROWD_TOLD } told; /* how to wait */
} Crowd;

typedef struct OpCall {
  const OpInfo *op;
  const Attrs *attrs; /* complete */
  int arg_count;      /* tuple operands are flattened */
  const Tensor *const *args;
  uint32_t ending; /* a bit for each operand nobody reads after the
                      call: a result may be written over it */
  int out_count;
  Tensor **outs;          /* STORE_FILL: allocated; else NULL: to be set */
  const RuleType *result; /* what the rule answered */
  Heap *heap;
  Arena *arena;            /* scratch, released after the call */
  const _Atomic int *stop; /* nonzero: give up soon (return false) */
  int threads;
  Crowd *crowd; /* NULL: threads are asked for whatever they meet */
  OpFault fault;
} OpCall;

/* False after setting `fault`, or when `stop` was seen, or (E0701) when memory
 * ran out.  On false, outs that the kernel made have been dropped. */
typedef bool (*KernelFn)(OpCall *call);

/* NULL for an operator that the machine itself runs (STORE_SPECIAL). */
extern const KernelFn kernel_table[OP_COUNT];
static inline KernelFn op_kernel(const OpInfo *op) {
  return kernel_table[op_id(op)];
}

bool op_fault(OpCall *call, DiagCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool op_out_of_memory(OpCall *call);
/* A tensor of that type, whose dims are numbers; NULL with the fault set. */
Tensor *op_tensor_new(OpCall *call, const RuleType *type);

/* Runs rule and kernel on tensors: for the C API, folding and tests.  The
 * caller sets op, attrs (complete or not), args, heap, arena, stop, threads;
 * `outs` (in the arena) and `result` are set.  Results are owned; false with
 * the fault set. */
bool op_run(OpCall *call);
/* Its first half: completes the attributes and runs the rule on the operands'
 * actual types.  Sets call->attrs and call->result. */
bool op_infer(OpCall *call);
/* Its second half: makes the results, in `outs` where the caller has room for
 * them, and runs the kernel. */
bool op_finish(OpCall *call);

#endif
