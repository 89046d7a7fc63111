/* Deadlines: a thread that sleeps on a condition variable until the time is
 * over or the work has ended.
 *
 * A timer signal would need a handler in a process that may be somebody else's;
 * polling the clock in the work itself costs time in every loop.  A sleeping
 * thread costs nothing until it wakes.
 *
 * The lock orders the two ends: either deadline_end() sets `done` first, and
 * `late` is never called, or `late` has been called when deadline_end() gets
 * the lock.  So nothing is reported late for work that is over. */
#include "base/deadline.h"

#include <errno.h>
#include <stdint.h>
#include <time.h>

#include "base/system.h"

/* The seconds are cut, as their conversion to time_t could overflow. */
static struct timespec time_in(double seconds, clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  if (seconds > 1e9) seconds = 1e9; /* thirty years */
  double whole = (double)(int64_t)seconds;
  t.tv_sec += (time_t)whole;
  t.tv_nsec += (long)((seconds - whole) * 1e9);
  if (t.tv_nsec >= 1000000000) {
    t.tv_sec++;
    t.tv_nsec -= 1000000000;
  }
  return t;
}

/* The loop is for spurious wake-ups; `until` is a point in time, so waiting
 * again waits for the rest. */
static void *watch(void *data) {
  Deadline *d = data;
  struct timespec until = time_in(d->seconds, d->clock);
  int why = 0;
  pthread_mutex_lock(&d->lock);
  while (!d->done && why != ETIMEDOUT)
    why = pthread_cond_timedwait(&d->wake, &d->lock, &until);
  if (!d->done) {
    d->over = true;
    d->late(d->data);
  }
  pthread_mutex_unlock(&d->lock);
  return NULL;
}

void deadline_start(Deadline *d, double seconds, void (*late)(void *data),
                    void *data) {
  *d = (Deadline){.seconds = seconds, .late = late, .data = data};
  if (!(seconds > 0)) return;
  d->clock = system_cond_init(&d->wake);
  pthread_mutex_init(&d->lock, NULL);
  d->running = pthread_create(&d->thread, NULL, watch, d) == 0;
  if (d->running) return;
  pthread_mutex_destroy(&d->lock);
  pthread_cond_destroy(&d->wake);
  d->unwatched = d->over = true;
  late(data);
}

/* Waits for the thread, so the Deadline may be on the caller's stack. */
bool deadline_end(Deadline *d) {
  if (!d->running) return d->over;
  pthread_mutex_lock(&d->lock);
  d->done = true;
  pthread_cond_signal(&d->wake);
  pthread_mutex_unlock(&d->lock);
  pthread_join(d->thread, NULL);
  pthread_mutex_destroy(&d->lock);
  pthread_cond_destroy(&d->wake);
  d->running = false;
  return d->over;
}
