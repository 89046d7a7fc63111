/* Walks several operands together.  The shape is that of operand 0, the result;
 * the others broadcast to it.  Axes that are contiguous in every operand are
 * merged, so a contiguous tensor of any rank is one run. */
#ifndef KERNELS_REF_WALK_H
#define KERNELS_REF_WALK_H

#include "tensor/tensor.h"
#include "base/stop.h"

enum { WALK_MAX = 6 };

typedef struct Walk {
  int count; /* number of operands */
  int rank;
  int64_t shape[RANK_MAX];
  int64_t steps[WALK_MAX][RANK_MAX]; /* strides in elements */
  int64_t size[WALK_MAX];            /* bytes of an element */
  int64_t index[RANK_MAX];
  bool started, done;
  /* The current run along the innermost axis: */
  int64_t n;
  char *data[WALK_MAX];
  int64_t step[WALK_MAX];
  StopFlag *stop;
  int64_t into; /* with `stop`: where in the whole run the block begins */
} Walk;

void walk_start(Walk *w, int count, const Tensor *const *operands);
bool walk_next(Walk *w);
/* A fast path for small calls: when all operands are contiguous and of one
 * shape, sets the single run and nothing else, so walk_next() is not allowed.
 * False, with nothing set, otherwise. */
bool walk_as_run(Walk *w, int count, const Tensor *const *operands);
/* Makes a walk that has not begun poll the flag: long runs come in blocks, and
 * the walk ends early when the flag is set. */
void walk_heed(Walk *w, StopFlag *stop);

/* For threads: the number of pieces of a walk that has not begun, along its
 * most suitable axis, and the walk over some of the pieces. */
int64_t walk_pieces(const Walk *w);
Walk walk_part(const Walk *w, int64_t from, int64_t to);

/* A walk over only the axes in `set`; the others are left to the caller. */
void walk_axes(Walk *w, int count, const Tensor *const *operands, unsigned set);

#endif
