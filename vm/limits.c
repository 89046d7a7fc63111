/* Why a run is asked to stop, and when. */
#include "vm/vm.h"

static void stop(Session *s, StopReason reason) {
  atomic_store(&s->store.stop, (int)reason);
  atomic_store(&s->frame_limit, NULL);
}

static void time_is_over(void *session) { stop(session, STOP_TIMEOUT); }

void watchdog_start(Session *s) {
  deadline_start(&s->deadline, s->limits.timeout, time_is_over, s);
}

void watchdog_stop(Session *s) { deadline_end(&s->deadline); }

void session_interrupt(Session *s) { stop(s, STOP_INTERRUPT); }
