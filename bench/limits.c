/* The time from a request to stop to the end of the program: the worst of many,
 * in loops over scalars and inside one long kernel.
 *
 * A second thread asks (rly_session_interrupt) while this one is in the call.
 * The moment of the request is varied between 1 and 20 ms after the call has
 * begun, as kernels poll at certain places only.  The worst is the figure: a
 * user who presses Ctrl-C meets it sooner or later. */
#include <pthread.h>
#include <time.h>

#include "bench/bench.h"
#include "bench/guest.h"

enum { TIMES = 100, PROGRAMS = 3 };

typedef struct Stopper {
  Guest *guest;
  double after, asked; /* delay in seconds; the time of the request */
} Stopper;

static void pause_for(double seconds) {
  struct timespec pause = {.tv_nsec = (long)(seconds * 1e9)};
  nanosleep(&pause, NULL);
}

/* Waits until the call has begun: a request before that would concern no call,
 * and on a loaded machine a call may begin late. */
static void *stop_later(void *data) {
  Stopper *s = data;
  while (!s->guest->printed) pause_for(1e-4);
  pause_for(s->after);
  s->asked = bench_now();
  rly_session_interrupt(s->guest->session);
  return NULL;
}

/* Returns the seconds from the request to the end of the call; -1 on
 * failure. */
static double stop_once(Guest *g, double after) {
  Stopper s = {.guest = g, .after = after};
  pthread_t thread;
  g->printed = false;
  rly_value *result = NULL;
  if (pthread_create(&thread, NULL, stop_later, &s)) return -1;
  rly_status status =
      rly_session_call(g->session, g->entry, g->count, g->args, &result);
  double ended = bench_now();
  g->printed = true; /* wakes the other thread if the call failed early */
  pthread_join(thread, NULL);
  rly_value_free(result);
  rly_session_diagnostics_clear(g->session);
  return status == RLY_INTERRUPTED ? ended - s.asked : -1;
}

/* `argument`: 0 none, 1 an int32, 2 a matrix. */
static bool worst_of(const char *entry, int argument, int times,
                     double *worst) {
  static const int64_t square[GUEST_RANK] = {4096, 4096};
  Guest g;
  bool ok = guest_start(&g, "bench/limits.rly", entry);
  if (ok && argument == 1) guest_int(&g, 0);
  if (ok && argument == 2) guest_tensor(&g, square);
  for (int i = 0; ok && i < times; i++) {
    double late = stop_once(&g, 1e-3 * (1 + i % 20));
    ok = late >= 0;
    if (late > *worst) *worst = late;
  }
  guest_end(&g);
  return ok;
}

/* spin is a loop that only jumps back; calls recurs; product multiplies two
 * large matrices.  They see the request at a `loop`, at a call, and inside a
 * kernel. */
void bench_limits(Bench *b) {
  double worst = 0;
  bool ok = worst_of("spin", 1, TIMES / PROGRAMS, &worst) &&
            worst_of("calls", 0, TIMES / PROGRAMS, &worst) &&
            worst_of("product", 2, TIMES / PROGRAMS + 1, &worst);
  if (ok) bench_print("limits.interrupt_ms", worst * 1e3, "ms");
  b->failed |= !ok;
}
