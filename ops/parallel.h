/* Regions that several threads work on.  A region shares out the outputs of a
 * kernel, never a sum, so the number of threads changes no bit.  With one
 * thread there is no region: the calling thread does it all.
 *
 *   parallel_run(parallel_threads(call, rows, nanoseconds), rows, work, &data)
 */
#ifndef OPS_PARALLEL_H
#define OPS_PARALLEL_H

#include <stdatomic.h>

#include "ops/ops.h"

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
 * others from being worked on.  Beside other processes perhaps on one thread,
 * which changes no bit either: */
bool parallel_run(int threads, int64_t pieces, ShareFn work, const void *data);

/* Threads that wait for each other spin, some 10 ms at most; where another
 * process has the core of one of them, every region lasts so long, however
 * small.  After one that mostly waited the caller works alone for a while, the
 * longer the more of them there were in a row.  Times in nanoseconds. */
typedef struct Crowd {
  _Atomic int64_t until; /* when to ask for threads again */
  _Atomic int64_t alone; /* for how long that was put off; 0: it was not */
} Crowd;

bool crowd_is_near(const Crowd *c, int64_t now);
/* A region that began at `start`, of which a thread had no work left at `idle`,
 * and all at `end`. */
void crowd_note(Crowd *c, int64_t start, int64_t idle, int64_t end);

#endif
