/* Regions that several threads work on.  A region shares out the outputs of a
 * kernel, never a sum, so the number of threads changes no bit.  With one
 * thread there is no region: the calling thread does it all.
 *
 *   parallel_run(parallel_threads(call, rows, nanoseconds), rows, work, &data)
 */
#ifndef OPS_PARALLEL_H
#define OPS_PARALLEL_H

#include "ops/ops.h"

enum { PARALLEL_MAX = 64 };  /* threads of a region */

/* Pieces from .. to of the work, by thread number `worker` of the region. */
typedef struct Share {
  int64_t from, to;
  int worker;
} Share;

/* False: stopped, or failed.  Runs on any thread: it may not use the call's
 * arena, and looks at the call's `stop` itself, once in a tile. */
typedef bool (*ShareFn)(const void *data, const Share *share);

/* How many threads are worth their start, for so many pieces that take one
 * thread that long altogether: at least 1, at most what the call allows.
 * Within a region 1. */
int parallel_threads(const OpCall *call, int64_t pieces, double nanoseconds);

/* All pieces from 0 on; false when a share said so, which keeps none of the
 * others from being worked on. */
bool parallel_run(int threads, int64_t pieces, ShareFn work, const void *data);

#endif
