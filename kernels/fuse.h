/* Chains of element-wise operators as one: a small program run tile by tile,
 * the values between its steps in a few KB that stay in the nearest cache.
 * Each step is the function that the operator's own kernel runs, so results
 * are the same bits, also where 16-bit floats round after every step.
 *
 *   Fuse f;
 *   fuse_init(&f, 3);                                     // c, i, g
 *   int e = fuse_add(&f, OP_EXP, DT_FLOAT32, (int[]){FUSE_INPUT(1)});
 *   int r = fuse_add(&f, OP_MULTIPLY, DT_FLOAT32, (int[]){e, FUSE_INPUT(0)});
 *   bool ok = r >= 0 && fuse_output(&f, r) && fuse_finish(&f);
 *
 * A program is made once and is then only read; any number of sessions may run
 * it at once. */
#ifndef KERNELS_FUSE_H
#define KERNELS_FUSE_H

#include <stddef.h>

#include "kernels/call.h"
#include "kernels/scalar.h"
#include "kernels/strip.h"

enum {
  FUSE_INPUTS = 12,
  FUSE_OUTPUTS = 4,
  FUSE_STEPS = 32,
  FUSE_SLOTS = 12, /* values between steps that are alive at one time */
  FUSE_TILE = 256, /* elements */
};

/* Operands of steps: the program's inputs, and what fuse_add() returned. */
#define FUSE_INPUT(i) (FUSE_STEPS + (i))

typedef struct FuseStep {
  StripFn strip;
  uint8_t from[3]; /* where operands are found while it runs (fuse.c) */
  uint8_t to;      /* and where the result goes */
  uint8_t dtype;   /* of the result */
  int8_t output;   /* which it is; -1: none */
  int8_t slot;
  bool has_more; /* than two operands: a third, or params */
  OpId op;
  int operands[3]; /* -1: there is none */
  Value params[OP_PARAMS_MAX];
} FuseStep;

typedef struct Fuse {
  int inputs, outputs, steps, slots;
  double nanoseconds; /* that an element takes, through all steps */
  uint8_t input_dtype[FUSE_INPUTS], output_step[FUSE_OUTPUTS];
  FuseStep step[FUSE_STEPS]; /* a copy to keep ends with the last in use */
} Fuse;

void fuse_init(Fuse *f, int inputs);
static inline size_t fuse_size(const Fuse *f) {
  return offsetof(Fuse, step) + (size_t)f->steps * sizeof(FuseStep);
}

/* Adds a step: an element-wise operator on operands of `dtype` (for `where`,
 * the dtype of what it chooses from, the condition being bool).  Returns what
 * names its result, or -1 when there is no room or no such function. */
int fuse_add(Fuse *f, OpId op, DType dtype, const int *operands);
int fuse_add_cast(Fuse *f, DType from, DType to, int operand);
/* Of an operator whose row names attributes in `params`: their values. */
int fuse_add_params(Fuse *f, OpId op, DType dtype, int operand,
                    const double params[OP_PARAMS_MAX]);

/* Makes a step's result the next output; false when it is one, or no room. */
bool fuse_output(Fuse *f, int step);

/* After the last step: finds places for values.  False when too many are
 * alive at one time; then the chain must be cut.  Or when nothing comes out. */
bool fuse_finish(Fuse *f);

/* The shape to which the inputs broadcast: that of every output.  False when
 * they do not; run one by one, the operator to blame will say so. */
bool fuse_shape(const Fuse *f, const Tensor *const *args, int *rank,
                int64_t shape[RANK_MAX]);

/* May this output be written over that input?  Not while a step behind the
 * one that makes it reads the input.  (fuse_run() helps itself.) */
bool fuse_may_replace(const Fuse *f, int output, int input);

/* Runs it on call->args, into call->outs, which have the shape of
 * fuse_shape().  Inputs may be any views; an output may be the very elements
 * of an input, in the same order, but not overlap one otherwise.  Threads
 * share the tiles.  Fails as kernels do; *step receives the one that failed
 * first, in the order of one thread, or -1. */
bool fuse_run(const Fuse *f, OpCall *call, int *step);

/* Inputs and outputs that are one run: each steps on evenly. */
typedef struct FuseLine {
  int64_t n;
  int64_t steps[FUSE_INPUTS + FUSE_OUTPUTS]; /* in elements */
} FuseLine;

/* That of inputs, then outputs; false when they do not merge into one. */
bool fuse_line(const Fuse *f, const Tensor *const *tensors, FuseLine *line);

/* Runs along a line whose operands start at these addresses, each output only
 * where it may be written.  Of the call, `stop`, `threads` and `arena` are
 * looked at and the fault set. */
bool fuse_run_line(const Fuse *f, const FuseLine *line, char *const *data,
                   OpCall *call, int *step);

#endif
