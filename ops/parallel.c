/* See parallel.h.  Shares are several to a thread and taken as threads become
 * free, for cores are not alike when others use them, too. */
#include "ops/parallel.h"

#ifdef _OPENMP
#include <omp.h>

#include "base/float_env.h"

enum { SHARES = 4 };  /* for each thread */
static const double WORTH = 50e3;  /* nanoseconds of work for each thread */

int parallel_threads(const OpCall *call, int64_t pieces, double nanoseconds) {
  if (call->threads <= 1 || omp_in_parallel()) return 1;
  double most = nanoseconds / WORTH;
  int64_t threads = call->threads < PARALLEL_MAX ? call->threads : PARALLEL_MAX;
  if (threads > pieces) threads = pieces;
  if ((double)threads > most) threads = (int64_t)most;
  return threads < 1 ? 1 : (int)threads;
}

bool parallel_run(int threads, int64_t pieces, ShareFn work,
                  const void *data) {
  int64_t count = (int64_t)threads * SHARES;
  bool ok = true;
  if (pieces <= 0) return true;
  if (threads <= 1) return work(data, &(Share){0, pieces, 0});
  if (count > pieces) count = pieces;
#pragma omp parallel num_threads(threads) reduction(&& : ok)
  {
    FloatEnv before = float_env_enter();
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < count; i++)
      ok = work(data, &(Share){pieces * i / count, pieces * (i + 1) / count,
                               omp_get_thread_num()}) && ok;
    float_env_leave(before);
  }
  return ok;
}
#else
int parallel_threads(const OpCall *call, int64_t pieces, double nanoseconds) {
  (void)call, (void)pieces, (void)nanoseconds;
  return 1;
}

bool parallel_run(int threads, int64_t pieces, ShareFn work,
                  const void *data) {
  (void)threads;
  return pieces <= 0 || work(data, &(Share){0, pieces, 0});
}
#endif
