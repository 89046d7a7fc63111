/* Cancellation: long loops poll a flag.  When it is set a loop may simply end,
 * because its caller discards the unfinished result: of an operator,
 * op_finish(). */
#ifndef BASE_STOP_H
#define BASE_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef const _Atomic int StopFlag;

/* `make late` counts the polls (tests/late). */
#ifdef STOP_LOOKED
void stop_looked(void);
#else
static inline void stop_looked(void) {}
#endif

static inline bool stop_seen(StopFlag *stop) {
  if (!stop) return false;
  stop_looked();
  return atomic_load_explicit(stop, memory_order_relaxed) != 0;
}

enum { STOP_BLOCK = 1 << 16 }; /* elements between two polls */

/* The end of the block of elements that starts at `at`, of `n`; 0 to stop. */
static inline int64_t block_end(StopFlag *stop, int64_t at, int64_t n) {
  if (stop_seen(stop)) return 0;
  return n - at > STOP_BLOCK ? at + STOP_BLOCK : n;
}

/* Loops over n elements in blocks: from `at` to `end`. */
#define BLOCKS(stop, n)     \
  for (int64_t at = 0, end; \
       at < (n) && (end = block_end((stop), at, (n))) > 0; at = end)

#endif
