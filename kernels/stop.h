/* Giving up when asked to: long loops look at a flag now and then.  What a
 * kernel leaves half done then nobody sees: op_finish() takes it back, so a
 * loop may simply end. */
#ifndef KERNELS_STOP_H
#define KERNELS_STOP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef const _Atomic int StopFlag;

/* `make late` is told of each look (tests/late). */
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

enum { STOP_BLOCK = 1 << 16 }; /* elements between two looks */

/* Where the block of elements from `at` on ends, of `n`; 0 to give up. */
static inline int64_t block_end(StopFlag *stop, int64_t at, int64_t n) {
  if (stop_seen(stop)) return 0;
  return n - at > STOP_BLOCK ? at + STOP_BLOCK : n;
}

/* Blocks of n elements: from `at` to `end`. */
#define BLOCKS(stop, n)     \
  for (int64_t at = 0, end; \
       at < (n) && (end = block_end((stop), at, (n))) > 0; at = end)

#endif
