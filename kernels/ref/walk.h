/* Walking operands together: the shape is that of operand 0, the result; the
 * others broadcast to it.  Axes that lie behind each other in every operand
 * are merged, so a contiguous tensor of any rank is one run. */
#ifndef KERNELS_REF_WALK_H
#define KERNELS_REF_WALK_H

#include "tensor/tensor.h"
#include "kernels/stop.h"

enum { WALK_MAX = 6 };

typedef struct Walk {
  int count; /* operands */
  int rank;
  int64_t shape[RANK_MAX];
  int64_t steps[WALK_MAX][RANK_MAX]; /* in elements */
  int64_t size[WALK_MAX];            /* bytes an element */
  int64_t index[RANK_MAX];
  bool started, done;
  /* The current run along the innermost axis: */
  int64_t n;
  char *data[WALK_MAX];
  int64_t step[WALK_MAX];
  StopFlag *stop;
  int64_t into; /* with it: where in the whole run this one begins */
} Walk;

void walk_start(Walk *w, int count, const Tensor *const *operands);
bool walk_next(Walk *w);
/* The whole walk as its one and current run, where all operands lie contiguous
 * and alike: quicker by a good part of a small call. Nothing else is set, so
 * there is no next. False, with nothing done, where they do not. */
bool walk_as_run(Walk *w, int count, const Tensor *const *operands);
/* A walk that was not begun looks at the flag from now on: long runs come in
 * blocks, and it ends early when the flag is up. */
void walk_heed(Walk *w, StopFlag *stop);

/* For threads: how many pieces a walk that was not begun has along the axis
 * that suits best, and the walk over some of them. */
int64_t walk_pieces(const Walk *w);
Walk walk_part(const Walk *w, int64_t from, int64_t to);

/* The same for one tensor's axes, some walked and the others left to the
 * caller: a walk over the axes in `set`. */
void walk_axes(Walk *w, int count, const Tensor *const *operands, unsigned set);

#endif
