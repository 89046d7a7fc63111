/* The operator table.  Everything the project knows of an operator stands in
 * its row of ops.def; adding one edits a row, a kernel, a test. */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include "ops/rule.h"

typedef enum OpId {
#define OP(id, ...) OP_##id,
#include "ops/ops.def"
#undef OP
  OP_COUNT
} OpId;

/* How results come to be. */
typedef enum OpStorage {
  STORE_FILL,    /* the caller allocates by the rule, contiguous; the kernel
                    fills */
  STORE_VIEW,    /* the kernel makes a view of operand 0 where strides allow */
  STORE_MAKE,    /* the kernel allocates: the shape depends on the data */
  STORE_SPECIAL, /* no kernel: print, assert, fail; the interpreter knows */
} OpStorage;

/* What the interpreter may exploit. */
enum {
  OP_ELEMENTWISE = 1, /* out[i] depends on the operands' broadcast [i] only */
  OP_MAY_FAIL = 2,    /* beyond its rule: division by zero, an index */
  OP_PRINTS = 4,
  OP_IN_PLACE = 8,   /* out may be operand 0 itself; of an element-wise
                        operator any operand */
  OP_IDENTITY = 16,  /* out is operand 0 */
  OP_TAKES_ANY = 32, /* operands need not be tensors (print) */
  OP_INFERS = 64,    /* the rule fills in operands after the first */
};

enum { OP_ARGS_MAX = 10 };

/* Why a kernel failed. */
typedef struct OpFault {
  DiagCode code;
  const char *message; /* in the call's arena; NULL: nothing beyond the code */
} OpFault;

typedef struct OpCall {
  const struct OpInfo *op;
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
  OpFault fault;
} OpCall;

/* False after setting `fault`, or when `stop` was seen, or (E0701) when memory
 * ran out.  On false, outs that the kernel made have been dropped. */
typedef bool (*KernelFn)(OpCall *call);
bool op_fault(OpCall *call, DiagCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool op_out_of_memory(OpCall *call);

typedef struct OpInfo {
  const char *name;    /* "nn.dense" */
  const char *aliases; /* space-separated other names; NULL: none */
  const char *args;    /* "data weight"; "data*" is a tuple of tensors,
                          "x?" may be left out */
  AttrSpec attrs[ATTRS_MAX];
  int attr_count;
  const char *dyn; /* the dyn. spelling's positional arguments in
                      order, operands and attributes: "data newshape";
                      NULL: there is no such spelling */
  RuleFn rule;
  OpStorage storage;
  unsigned flags; /* OP_... */
  KernelFn kernel;
  const char *doc; /* one line */
  const char *formula;
  const char *example; /* an expression of the language */
  const char *shows;   /* what that prints, on one line; or NULL */
} OpInfo;

extern const OpInfo op_table[OP_COUNT + 1];

/* The operator of a name or alias, `*dyn` telling whether it was the dyn.
 * spelling; OP_COUNT when there is none. */
OpId op_find(const char *name, bool *dyn);
static inline const OpInfo *op_info(int id) { return &op_table[id]; }
int op_attr_count(const OpInfo *op);
/* Operand `i` of the row: its name, and whether it is a tuple or optional. */
typedef struct OpArg {
  const char *name;
  int len;
  bool tuple, optional;
} OpArg;
int op_arg_count(const OpInfo *op);
OpArg op_arg(const OpInfo *op, int i);

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

/* --- Scalars ----------------------------------------------------------------
 * Element-wise operators on rank-0 operands, bit for bit what the kernel
 * gives for an element.  `fail` receives a fault code (E0602: division by
 * zero); it is 0 otherwise. */
typedef Value (*ScalarFn)(Value a, Value b, Value c, int *fail);
/* NULL when the operator is not element-wise, has attributes that matter, or
 * does not take this dtype (that of operand 0; `to` is the result's). */
ScalarFn op_scalar(OpId op, DType dtype, DType to);

#endif
