/* Regions that several threads work on.  A region shares out the outputs of a
 * kernel, never a sum, so the number of threads changes no bit.  With one
 * thread there is no region: the calling thread does it all.
 *
 *   int threads = parallel_threads(call, rows, nanoseconds);
 *   return parallel_run(call, threads, rows, work, &data);
 */
#ifndef KERNELS_PARALLEL_H
#define KERNELS_PARALLEL_H

#include "kernels/call.h"

enum { PARALLEL_MAX = 64 }; /* threads of a region */

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
 * others from being worked on.  Beside other processes perhaps on one thread
 * (call->crowd), which changes no bit either. */
bool parallel_run(const OpCall *call, int threads, int64_t pieces, ShareFn work,
                  const void *data);

/* Is the caller to work alone at this time? */
bool crowd_is_near(const Crowd *c, int64_t now);
/* A region that began at `start`, of which a thread had no work left at `idle`,
 * and all at `end`. */
void crowd_note(Crowd *c, int64_t start, int64_t idle, int64_t end);

#endif
