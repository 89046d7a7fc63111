/* See parallel.h.  Shares are several to a thread and taken as threads become
 * free, for cores are not alike when others use them, too. */
#include "kernels/parallel.h"

/* --- Beside other processes ---------------------------------------------- */

static const int64_t LONG_WAIT = 2 * 1000 * 1000;
static const int64_t ALONE_LEAST = 100 * 1000 * 1000;
static const int64_t ALONE_MOST = 3200ll * 1000 * 1000;

bool crowd_is_near(const Crowd *c, int64_t now) { return now < c->until; }

void crowd_note(Crowd *c, int64_t start, int64_t idle, int64_t end) {
  int64_t wait = end - idle;
  if (wait < LONG_WAIT || wait < idle - start) {
    c->alone = 0;
    return;
  }
  c->alone *= 2;
  if (c->alone < ALONE_LEAST) c->alone = ALONE_LEAST;
  if (c->alone > ALONE_MOST) c->alone = ALONE_MOST;
  c->until = end + c->alone;
}

#ifdef _OPENMP
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/float_env.h"

/* --- Regions -------------------------------------------------------------- */

enum { SHARES = 4 };              /* for each thread */
static const double WORTH = 50e3; /* nanoseconds of work for each thread */

int parallel_threads(const OpCall *call, int64_t pieces, double nanoseconds) {
  if (call->threads <= 1 || omp_in_parallel()) return 1;
  double most = nanoseconds / WORTH;
  int64_t threads = call->threads < PARALLEL_MAX ? call->threads : PARALLEL_MAX;
  if (threads > pieces) threads = pieces;
  if ((double)threads > most) threads = (int64_t)most;
  return threads < 1 ? 1 : (int)threads;
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Who tells OpenMP how to wait has other processes in mind, or has none. */
static bool is_told_to_wait(Crowd *c) {
  if (c->told == CROWD_UNKNOWN)
    c->told = getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")
                  ? CROWD_TOLD
                  : CROWD_UNTOLD;
  return c->told == CROWD_TOLD;
}

static bool run_region(int threads, int64_t pieces, ShareFn work,
                       const void *data, int64_t *idle) {
  int64_t count = (int64_t)threads * SHARES, first = INT64_MAX;
  bool ok = true;
  if (count > pieces) count = pieces;
#pragma omp parallel num_threads(threads) reduction(&& : ok) \
    reduction(min : first)
  {
    FloatEnv before = float_env_enter();
#pragma omp for schedule(dynamic, 1) nowait
    for (int64_t i = 0; i < count; i++)
      ok = work(data, &(Share){pieces * i / count, pieces * (i + 1) / count,
                               omp_get_thread_num()}) &&
           ok;
    float_env_leave(before);
    first = now();
  }
  *idle = first;
  return ok;
}

/* --- Children of fork(2) -------------------------------------------------- */

/* A child has only the thread that forked.  Its copy of OpenMP's pool names
 * threads that it does not have, and a region would wait for them for ever; so
 * the child of a process that has had a region works on one thread. */
static _Atomic bool is_child;

static void note_child(void) { atomic_store(&is_child, true); }

static void watch_forks(void) { pthread_atfork(NULL, NULL, note_child); }

bool parallel_run(const OpCall *call, int threads, int64_t pieces, ShareFn work,
                  const void *data) {
  static pthread_once_t watched = PTHREAD_ONCE_INIT;
  const Share all = {0, pieces, 0};
  Crowd *crowd = call->crowd;
  if (pieces <= 0) return true;
  if (threads <= 1 || atomic_load_explicit(&is_child, memory_order_relaxed))
    return work(data, &all);
  pthread_once(&watched, watch_forks);
  int64_t start = now(), idle;
  if (crowd && crowd_is_near(crowd, start) && !is_told_to_wait(crowd))
    return work(data, &all);
  bool ok = run_region(threads, pieces, work, data, &idle);
  if (crowd) crowd_note(crowd, start, idle, now());
  return ok;
}
#else
int parallel_threads(const OpCall *call, int64_t pieces, double nanoseconds) {
  (void)call, (void)pieces, (void)nanoseconds;
  return 1;
}

bool parallel_run(const OpCall *call, int threads, int64_t pieces, ShareFn work,
                  const void *data) {
  (void)call, (void)threads;
  return pieces <= 0 || work(data, &(Share){0, pieces, 0});
}
#endif
