/* Chains of element-wise operators, fused: a small program that runs tile by
 * tile, with the values between its steps in a few KB of first-level cache.
 * Each step is the strip function of the operator's own kernel, so results are
 * the same bits, also where 16-bit floats round after every step.
 *
 *   Fuse f;
 *   fuse_init(&f, 3);                                     // c, i, g
 *   int e = fuse_add(&f, OP_EXP, DT_FLOAT32, (int[]){FUSE_INPUT(1)});
 *   int r = fuse_add(&f, OP_MULTIPLY, DT_FLOAT32, (int[]){e, FUSE_INPUT(0)});
 *   bool ok = r >= 0 && fuse_output(&f, r) && fuse_finish(&f);
 *
 * A finished program is read-only; any number of sessions may run it at
 * once. */
#ifndef KERNELS_FUSE_H
#define KERNELS_FUSE_H

#include <stddef.h>

#include "kernels/call.h"
#include "kernels/scalar.h"
#include "kernels/strip.h"

enum {
  FUSE_INPUTS = 12,
  FUSE_OUTPUTS = 10,
  FUSE_STEPS = 32,
  FUSE_SLOTS = 12, /* values between steps that are live at one time */
  FUSE_TILE = 256, /* elements of a tile */
};

/* Names an operand of a step: an input of the program; or the result of
 * fuse_add(), which names that step's result. */
#define FUSE_INPUT(i) (FUSE_STEPS + (i))

/* A call of a strip function at run time, on places (fuse.c). */
typedef struct FuseCall {
  StripFn strip;
  uint8_t from[3]; /* places of the operands */
  uint8_t to;      /* place of the result */
  uint8_t step;    /* the step whose result it is; of a pair, the second */
  bool has_third;  /* a third operand */
  bool has_params;
} FuseCall;

typedef struct FuseStep {
  FuseCall call;
  uint8_t dtype; /* dtype of the result */
  int8_t output; /* number of the output that it is; -1 for none */
  int8_t slot;
  OpId op;
  int operands[3]; /* -1 for none */
  Value params[OP_PARAMS_MAX];
} FuseStep;

typedef struct Fuse {
  int inputs, outputs, steps, slots;
  /* The calls where each stride of a result is 1 and each of an operand 1 or 0:
   * in order, of one step each or of two (Pairs, isa.h). */
  int joined_calls;
  FuseCall joined[FUSE_STEPS];
  double nanoseconds; /* time for an element, all steps together */
  uint8_t input_dtype[FUSE_INPUTS], output_step[FUSE_OUTPUTS];
  /* last, so that a copy can stop after the steps in use */
  FuseStep step[FUSE_STEPS];
} Fuse;

void fuse_init(Fuse *f, int inputs);
static inline size_t fuse_size(const Fuse *f) {
  return offsetof(Fuse, step) + (size_t)f->steps * sizeof(FuseStep);
}

/* Adds a step: an element-wise operator on operands of `dtype` (for `where`,
 * the dtype of the two choices; the condition is bool).  Returns the name of
 * the result; -1 when there is no room, or no strip for this dtype. */
int fuse_add(Fuse *f, OpId op, DType dtype, const int *operands);
int fuse_add_cast(Fuse *f, DType from, DType to, int operand);
/* As fuse_add, for an operator whose attributes are passed in `params`. */
int fuse_add_params(Fuse *f, OpId op, DType dtype, int operand,
                    const double params[OP_PARAMS_MAX]);

/* Makes a step's result the next output; false when it is one already, or there
 * is no room. */
bool fuse_output(Fuse *f, int step);

/* Assigns slots after the last step.  False when too many values are live at
 * one time (the caller must cut the chain), or when there is no output. */
bool fuse_finish(Fuse *f);

/* How many operands of other steps a step's result is. */
int fuse_reads(const Fuse *f, int step);

/* The shape to which the inputs broadcast, which every output has.  False when
 * they do not: running the operators one by one then finds the one to blame. */
bool fuse_shape(const Fuse *f, const Tensor *const *args, int *rank,
                int64_t shape[RANK_MAX]);

/* May the caller pass this input's memory for that output?  Not while a step
 * after the output's still reads the input.  (fuse_run() needs no such
 * check.) */
bool fuse_may_replace(const Fuse *f, int output, int input);

/* Runs the program on call->args, into call->outs, which have the shape of
 * fuse_shape().  Inputs may be any views.  An output may be exactly an input's
 * elements in the same order, but must not overlap an input otherwise. Threads
 * share the tiles.  Fails as kernels do; *step receives the first step that
 * failed, in the order of one thread, or -1. */
bool fuse_run(const Fuse *f, OpCall *call, int *step);

/* How operands lie along a run. */
typedef enum FuseStrides {
  STRIDES_ANY,
  STRIDES_ONE_OR_ZERO, /* those of outputs are 1, those of inputs 1 or 0 */
  STRIDES_ONE,         /* all are 1 */
} FuseStrides;

/* Inputs and outputs that all form one run: each has a single stride. */
typedef struct FuseLine {
  int64_t n;
  FuseStrides strides;
  int64_t steps[FUSE_INPUTS + FUSE_OUTPUTS]; /* strides in elements */
} FuseLine;

/* The line of the inputs, then outputs; false when they do not merge into one
 * run. */
bool fuse_line(const Fuse *f, const Tensor *const *tensors, FuseLine *line);

/* Runs along a line whose operands start at these addresses; an output may
 * overlap an input only as fuse_may_replace() allows.  Uses the call's `stop`,
 * `threads` and `arena`, and sets its fault. */
bool fuse_run_line(const Fuse *f, const FuseLine *line, char *const *data,
                   OpCall *call, int *step);

#endif
