/* See parallel.h.  There are several shares to a thread, taken as threads
 * become free (dynamic scheduling), because cores differ in speed when other
 * processes use them.
 *
 * A session that works beside other processes would suffer from OpenMP's busy
 * waiting: at the end of a region the threads spin for each other, and when one
 * of them has lost its core, all wait for the system to give it back.  The
 * Contention of a session (call.h) measures that wait: a region in which the
 * first thread to finish waited long, and for most of the region's time, is
 * followed by a while on one thread, doubled each time in a row:
 *
 *   100 ms --> 200 ms --> ... --> 3.2 s --a region that did not wait--> 0
 *
 * Without OpenMP there is one thread, and everything below runs on it. */
#include "kernels/parallel.h"

#include "base/clock.h"

/* --- Beside other processes ---------------------------------------------- */

/* Nanoseconds: a wait that is counted as competition, and how long the session
 * then works alone, at first and at most. */
static const int64_t LONG_WAIT = 2 * 1000 * 1000;
static const int64_t ALONE_LEAST = 100 * 1000 * 1000;
static const int64_t ALONE_MOST = 3200ll * 1000 * 1000;

/* Nanoseconds after a region in which its threads are taken to spin.  By
 * default libgomp's spin for some milliseconds before they sleep. */
static const int64_t SPINS = 500 * 1000;

bool contention_backs_off(const Contention *c, int64_t now) {
  return now < c->until;
}

bool contention_threads_spin(const Contention *c, int64_t now) {
  return c->ended && now - c->ended < SPINS;
}

void contention_note(Contention *c, int64_t start, int64_t idle, int64_t end) {
  int64_t wait = end - idle;
  c->ended = end;
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
#include <stdlib.h>

#include "base/float_env.h"

/* --- Regions -------------------------------------------------------------- */

enum { SHARES = 4 }; /* to a thread */
/* The least work, in nanoseconds, that is worth giving to a thread: to one that
 * sleeps and must be woken, and to one that spins. */
static const double WORTH_WAKING = 50e3, WORTH_GIVING = 10e3;

/* A user who tells OpenMP how to wait has considered other processes. */
static bool is_told_to_wait(Contention *c) {
  if (c->told == CONTENTION_UNKNOWN)
    c->told = getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")
                  ? CONTENTION_TOLD
                  : CONTENTION_UNTOLD;
  return c->told == CONTENTION_TOLD;
}

/* The least work that is worth giving to a thread now.  The clock is read only
 * where the answer decides how many threads work of `nanoseconds` gets. */
static double worth(Contention *c, double nanoseconds) {
  bool matters = nanoseconds >= 2 * WORTH_GIVING &&
                 nanoseconds < PARALLEL_MAX * WORTH_WAKING;
  bool spins = c && matters && !is_told_to_wait(c) &&
               contention_threads_spin(c, clock_ns());
  return spins ? WORTH_GIVING : WORTH_WAKING;
}

/* As many threads as the work is worth.  1 within a region: nested regions
 * would only compete for the same cores. */
int parallel_threads(const OpCall *call, int64_t pieces, double nanoseconds) {
  if (call->threads <= 1 || omp_in_parallel()) return 1;
  double most = nanoseconds / worth(call->contention, nanoseconds);
  int64_t threads = call->threads < PARALLEL_MAX ? call->threads : PARALLEL_MAX;
  if (threads > pieces) threads = pieces;
  if ((double)threads > most) threads = (int64_t)most;
  return threads < 1 ? 1 : (int)threads;
}

/* Runs `count` shares of nearly equal size; share i is pieces i / count to (i +
 * 1) / count of the whole.  *idle receives the time when the first thread found
 * no more work.
 *
 * Every thread sets the floating-point environment and restores it, because
 * rounding and the flushing of subnormals are a thread's own, and the law fixes
 * both.  `ok` comes last in the conjunction, so that a share runs although
 * another has failed. */
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
    first = clock_ns();
  }
  *idle = first;
  return ok;
}

/* --- fork(2) -------------------------------------------------------------- */

/* A child has only the thread that forked.  Its copy of that thread's OpenMP
 * pool would name workers that do not exist, and a region would wait for them
 * for ever.  So the workers end before the fork, and parent and child each
 * start new ones in their next region.  The handler is there from the start,
 * because noting that a region has run would take mutable state. */
static void end_workers(void) { omp_pause_resource_all(omp_pause_soft); }

__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(end_workers, NULL, NULL);
}

/* --- Threads that can be made --------------------------------------------- */

/* A thread that ends as soon as the lock is free. */
static void *wait_for(void *lock) {
  pthread_mutex_lock(lock);
  pthread_mutex_unlock(lock);
  return NULL;
}

/* How many threads, up to `wanted` with the calling one, the system gives at
 * this time.  OpenMP's library ends the process when it cannot start a worker,
 * so this is found out before a session's first region of so many. */
static int threads_to_be_had(int wanted) {
  pthread_t threads[PARALLEL_MAX];
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  int n = 0;
  pthread_mutex_lock(&lock);
  while (n < wanted - 1 &&
         pthread_create(&threads[n], NULL, wait_for, &lock) == 0)
    n++;
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
  return n + 1;
}

/* Asks the system only when a session wants more threads than ever before, and
 * believes the answer from then on. */
static int threads_given(Contention *c, int wanted) {
  if (!c) return wanted;
  if (c->asked < wanted) c->given = threads_to_be_had(c->asked = wanted);
  return c->given < wanted ? c->given : wanted;
}

/* The cheap reasons to stay on this thread come first: no work, one thread,
 * competition, no more threads to be had. */
bool parallel_run(const OpCall *call, int threads, int64_t pieces, ShareFn work,
                  const void *data) {
  const Share all = {0, pieces, 0};
  Contention *contention = call->contention;
  if (pieces <= 0) return true;
  if (threads <= 1) return work(data, &all);
  int64_t start = clock_ns(), idle;
  if (contention && contention_backs_off(contention, start) &&
      !is_told_to_wait(contention))
    return work(data, &all);
  threads = threads_given(contention, threads);
  if (threads <= 1) return work(data, &all);
  bool ok = run_region(threads, pieces, work, data, &idle);
  if (contention) contention_note(contention, start, idle, clock_ns());
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
