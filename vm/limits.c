/* Why a run is asked to stop, and when.
 *
 * A request is two stores: the reason into store.stop, which loops, kernels and
 * long work on values poll; and NULL into frame_limit, so that the next call
 * sees it without a poll of its own.  Both are atomic stores, which a signal
 * handler may make.  Calls and loops are the only ways for a program to go on
 * for long, so each sees the request within a bounded time; kernels poll by
 * themselves.
 *
 * The limit of time is a thread that sleeps (base/deadline.h), so a run pays
 * nothing for having one. */
#include "vm/vm.h"

/* What it has evaluated aside is stopped with it. */
static void stop(Session *s, StopReason reason) {
  for (; s; s = atomic_load(&s->aside)) {
    atomic_store(&s->store.stop, (int)reason);
    atomic_store(&s->frame_limit, NULL);
  }
}

static void time_is_over(void *session) { stop(session, STOP_TIMEOUT); }

void watchdog_start(Session *s) {
  deadline_start(&s->deadline, s->limits.timeout, time_is_over, s);
}

void watchdog_stop(Session *s) { deadline_end(&s->deadline); }

/* Called after the aside has put its own flag down: a request is either seen in
 * the asker here, or comes later and reaches the aside. */
void session_stop_with(Session *aside) {
  int reason = atomic_load(&aside->asker->store.stop);
  if (reason != STOP_NOT) stop(aside, (StopReason)reason);
}

void session_interrupt(Session *s) { stop(s, STOP_INTERRUPT); }
