/* See parallel.h.  Shares are several to a thread and taken as threads become
 * free, for cores are not alike when others use them, too. */
#include "ops/parallel.h"

/* --- Beside other processes ---------------------------------------------- */

static const int64_t LONG_WAIT = 2 * 1000 * 1000;
static const int64_t ALONE_LEAST = 100 * 1000 * 1000;
static const int64_t ALONE_MOST = 3200ll * 1000 * 1000;

static int64_t load(const _Atomic int64_t *at) {
  return atomic_load_explicit(at, memory_order_relaxed);
}

static void store(_Atomic int64_t *at, int64_t n) {
  atomic_store_explicit(at, n, memory_order_relaxed);
}

bool crowd_is_near(const Crowd *c, int64_t now) {
  return now < load(&c->until);
}

void crowd_note(Crowd *c, int64_t start, int64_t idle, int64_t end) {
  int64_t wait = end - idle, alone = 2 * load(&c->alone);
  if (wait < LONG_WAIT || wait < idle - start) {
    store(&c->alone, 0);
    return;
  }
  if (alone < ALONE_LEAST) alone = ALONE_LEAST;
  if (alone > ALONE_MOST) alone = ALONE_MOST;
  store(&c->alone, alone);
  store(&c->until, end + alone);
}

#ifdef _OPENMP
#include <omp.h>
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
static bool is_told_to_wait(void) {
  static _Atomic int told; /* 0: not known yet; 1: no; 2: yes */
  int known = atomic_load_explicit(&told, memory_order_relaxed);
  if (!known) {
    known = getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") ? 2 : 1;
    atomic_store_explicit(&told, known, memory_order_relaxed);
  }
  return known == 2;
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

bool parallel_run(int threads, int64_t pieces, ShareFn work, const void *data) {
  static Crowd crowd; /* what the process has met, in whatever session */
  const Share all = {0, pieces, 0};
  if (pieces <= 0) return true;
  if (threads <= 1) return work(data, &all);
  int64_t start = now(), idle;
  if (crowd_is_near(&crowd, start) && !is_told_to_wait())
    return work(data, &all);
  bool ok = run_region(threads, pieces, work, data, &idle);
  crowd_note(&crowd, start, idle, now());
  return ok;
}
#else
int parallel_threads(const OpCall *call, int64_t pieces, double nanoseconds) {
  (void)call, (void)pieces, (void)nanoseconds;
  return 1;
}

bool parallel_run(int threads, int64_t pieces, ShareFn work, const void *data) {
  (void)threads;
  return pieces <= 0 || work(data, &(Share){0, pieces, 0});
}
#endif
