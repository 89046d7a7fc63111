/* Deadlines.  A thread of its own waits for the time to be over or the run to
 * end; a run without a time limit has none. */
#include <errno.h>
#include <time.h>

#include "interp/vm.h"

static struct timespec deadline_in(double seconds) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  double whole = (double)(int64_t)seconds;
  t.tv_sec += (time_t)whole;
  t.tv_nsec += (long)((seconds - whole) * 1e9);
  if (t.tv_nsec >= 1000000000) {
    t.tv_sec++;
    t.tv_nsec -= 1000000000;
  }
  return t;
}

static void stop(Session *s, StopReason reason) {
  atomic_store(&s->stop, (int)reason);
  atomic_store(&s->frame_limit, NULL);
}

static void *watch(void *data) {
  Session *s = data;
  Watchdog *w = &s->watchdog;
  struct timespec until = deadline_in(s->limits.timeout);
  int why = 0;
  pthread_mutex_lock(&w->lock);
  while (!w->done && why != ETIMEDOUT)
    why = pthread_cond_timedwait(&w->wake, &w->lock, &until);
  if (!w->done) stop(s, STOP_TIMEOUT);
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

void watchdog_start(Session *s) {
  Watchdog *w = &s->watchdog;
  if (s->limits.timeout <= 0) return;
  w->done = false;
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->wake, NULL);
  w->running = pthread_create(&w->thread, NULL, watch, s) == 0;
}

void watchdog_stop(Session *s) {
  Watchdog *w = &s->watchdog;
  if (!w->running) return;
  pthread_mutex_lock(&w->lock);
  w->done = true;
  pthread_cond_signal(&w->wake);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
  pthread_mutex_destroy(&w->lock);
  pthread_cond_destroy(&w->wake);
  w->running = false;
}

void session_interrupt(Session *s) { stop(s, STOP_INTERRUPT); }
