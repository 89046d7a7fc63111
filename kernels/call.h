/* A call of an operator, as its kernel sees it, and the functions that make
 * such calls.  kernels.def says which kernel an operator has. */
#ifndef KERNELS_CALL_H
#define KERNELS_CALL_H

#include "ops/ops.h"

/* Why a kernel failed. */
typedef struct OpFault {
  DiagCode code;
  const char *message; /* in the call's arena; NULL when the code says it all */
  const char *hint;    /* likewise; NULL: none */
  int attr; /* the operand that holds the value to blame, counted from 1; 0: the
               call as a whole */
} OpFault;

/* Detects competition for the cores.  Threads of a region (parallel.h) spin
 * while they wait for each other, for at most some 10 ms.  When another process
 * occupies one of their cores, every region takes that long, however small.  So
 * after a region that mostly waited the session works on one thread for a
 * while, and for longer the more such regions came in a row (exponential
 * backoff).  One thread at a time uses it; it starts as zeros.  Times are in
 * nanoseconds. */
typedef struct Contention {
  int64_t until; /* work on one thread until this time */
  int64_t ended; /* when the last region had ended; 0: there was none */
  int64_t alone; /* length of the last such while; 0 for none */
  int asked;     /* threads of the largest region so far; 0: none yet */
  int given;     /* of those, the ones that the system could make */
  /* does the environment say how threads wait? */
  enum { CONTENTION_UNKNOWN, CONTENTION_UNTOLD, CONTENTION_TOLD } told;
} Contention;

typedef struct OpCall OpCall;

/* An operator that a host has registered (lib/operator.c).  It makes the result
 * itself, as STORE_MAKE says. */
typedef struct HostOp {
  const char *name; /* without the sigil */
  bool (*run)(const struct HostOp *op, OpCall *call);
} HostOp;

/* Those of a program, by number. */
typedef struct HostOps {
  int count;
  const HostOp *const *items;
} HostOps;

struct OpCall {
  const OpInfo *op;
  const Attrs *attrs; /* with defaults filled in */
  int arg_count;      /* the fields of a tuple operand count one by one */
  const Tensor *const *args;
  uint32_t ending; /* a bit for each operand nobody reads after the
                      call: a result may be written over it */
  int out_count;
  /* allocated when the row says STORE_FILL; else NULL, set by the kernel */
  Tensor **outs;
  const RuleType *result; /* the type that the rule computed */
  Heap *heap;
  Arena *arena;            /* scratch, released after the call */
  const _Atomic int *stop; /* when nonzero the kernel returns false soon */
  int threads;
  Contention *contention; /* NULL: regions use threads without this check */
  const HostOps *hosts;   /* NULL: the program has none, or cannot be asked */
  OpFault fault;
};

/* Returns false after setting `fault`, when it saw `stop`, or (E0701) when
 * memory ran out; then it has dropped the outs that it made. */
typedef bool (*KernelFn)(OpCall *call);

/* The kernel of OP_HOST: that of the operator which attribute `operator` tells.
 */
bool kernel_host(OpCall *call);

/* NULL for an operator that the machine carries out itself (STORE_SPECIAL). */
extern const KernelFn kernel_table[OP_ROWS];
static inline KernelFn op_kernel(const OpInfo *op) {
  return kernel_table[op_id(op)];
}

bool op_fault(OpCall *call, DiagCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool op_out_of_memory(OpCall *call);
/* A new tensor of a type whose dims are all numbers; NULL with the fault
 * set. */
Tensor *op_tensor_new(OpCall *call, const RuleType *type);

/* Runs rule and kernel on tensors, for the C API, constant folding and tests.
 * The caller sets op, attrs (defaults may be missing), args, heap, arena, stop
 * and threads.  Sets `outs` (in the arena; the tensors are owned) and `result`.
 * False with the fault set. */
bool op_run(OpCall *call);
/* The first half of op_run: fills in attributes and runs the rule on the
 * operands' actual types.  Sets call->attrs and call->result; operands that
 * hold attributes are after the others and no longer counted. */
bool op_infer(OpCall *call);
/* The second half of op_run: allocates the results, in `outs` when the caller
 * has set it, and runs the kernel. */
bool op_finish(OpCall *call);

#endif
