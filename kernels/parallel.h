/* Parallel regions.  A region shares out the results of a kernel, never the
 * terms of a sum, so the number of threads changes no bit.  With one thread
 * there is no region: the calling thread does all the work.
 *
 *   int threads = parallel_threads(call, rows, nanoseconds);
 *   return parallel_run(call, threads, rows, work, &data); */
#ifndef KERNELS_PARALLEL_H
#define KERNELS_PARALLEL_H

#include "base/limits.h"
#include "kernels/call.h"

/* Pieces from .. to of the work, done by thread number `worker` of the
 * region. */
typedef struct Share {
  int64_t from, to;
  int worker;
} Share;

/* Returns false when stopped or failed.  Runs on any thread, so it must not use
 * the call's arena.  It polls the call's `stop` itself, once in a tile. */
typedef bool (*ShareFn)(const void *data, const Share *share);

/* The number of threads worth starting for work of so many pieces that takes
 * one thread so long in all: from 1 to what the call allows; 1 inside a
 * region. */
int parallel_threads(const OpCall *call, int64_t pieces, double nanoseconds);

/* Runs all pieces.  False when any share returned false; the other shares run
 * nevertheless.  Runs on one thread while other processes compete for the cores
 * (call->contention), which changes no bit. */
bool parallel_run(const OpCall *call, int threads, int64_t pieces, ShareFn work,
                  const void *data);

/* Do the threads of the last region still spin at this time, so that they get
 * work without being woken? */
bool contention_threads_spin(const Contention *c, int64_t now);
/* Shall the caller work on one thread at this time? */
bool contention_backs_off(const Contention *c, int64_t now);
/* Records a region that began at `start`.  At `idle` the first thread ran out
 * of work, and at `end` all had finished. */
void contention_note(Contention *c, int64_t start, int64_t idle, int64_t end);

#endif
