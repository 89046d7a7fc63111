/* Kernels that are made of other operators: each step runs one of them on
 * operands of the call and results of earlier steps.
 *
 *   Steps s = {.call = call};
 *   const Tensor *sum = STEP(&s, OP_ADD, NULL, x, y);
 *   return STEPS_END(&s, OP_NEGATIVE, NULL, sum);
 *
 * A step that fails gives NULL, and so does every step with an operand of
 * NULL; the fault is in the call. */
#ifndef KERNELS_DRIVE_STEPS_H
#define KERNELS_DRIVE_STEPS_H

#include "kernels/call.h"

enum { STEPS_MAX = 16 };

typedef struct Steps {
  OpCall *call;
  int count;
  Tensor *made[STEPS_MAX]; /* the results, dropped at the end */
} Steps;

/* A record of `op`'s attributes, in which those are set that the call has
 * under the same names. */
Attrs *step_attrs(const Steps *s, OpId op);

/* `attrs` NULL: the row's defaults. */
const Tensor *step(Steps *s, OpId op, const Attrs *attrs, int n,
                   const Tensor *const *args);
/* The last step, whose result is that of the call.  The operator is one that
 * fills its result (STORE_FILL). */
bool steps_end(Steps *s, OpId op, const Attrs *attrs, int n,
               const Tensor *const *args);
/* Drops what the steps made: for a kernel that computes its result itself. */
void steps_drop(Steps *s);

/* A new tensor, which the caller fills. */
Tensor *step_room(Steps *s, DType dtype, int rank, const int64_t *shape);
/* A number. */
const Tensor *step_number(Steps *s, DType dtype, double value);
/* The same as a tensor of another dtype: itself where that is its own. */
const Tensor *step_cast(Steps *s, const Tensor *t, DType dtype);

/* The same from one layout to another. */
const Tensor *step_layout(Steps *s, const Tensor *t, const char *from,
                          const char *to);

#define STEP_ARGS(...)                                             \
  (int)(sizeof((const Tensor *[]){__VA_ARGS__}) / sizeof(void *)), \
      (const Tensor *[]) {                                         \
    __VA_ARGS__                                                    \
  }
#define STEP(s, op, attrs, ...) step((s), (op), (attrs), STEP_ARGS(__VA_ARGS__))
#define STEPS_END(s, op, attrs, ...) \
  steps_end((s), (op), (attrs), STEP_ARGS(__VA_ARGS__))

#endif
