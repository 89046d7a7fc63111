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
 * nothing for having one.
 *
 * The limit of steps is a count of instructions, so that a run ends at the same
 * place on every machine.  Two things keep it so.  What the machine does for
 * itself is not counted (counted(), vm.c).  And the request is made only in
 * front of an instruction that looks for it itself, a call or the end of a
 * loop's round: anywhere else a kernel might see it first, or not, as its size
 * and the threads have it. */
#include "vm/vm.h"

/* Also stops the session's aside (session_aside). */
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

/* The aside counts on from where its asker stands. */
void step_limit_begin(Session *s) {
  uint64_t most = s->limits.max_steps;
  if (s->asker && s->asker->held) {
    s->stats.instructions = s->asker->stats.instructions;
    s->step_limit = s->asker->step_limit;
  } else if (most == 0 || most > UINT64_MAX - s->stats.instructions) {
    s->step_limit = UINT64_MAX;
  } else {
    s->step_limit = s->stats.instructions + most;
  }
}

void step_limit_end(Session *s) {
  if (s->asker && s->asker->held)
    s->asker->stats.instructions = s->stats.instructions;
}

/* Leaves an earlier reason: an interrupt, or the end of the time. */
void session_steps_spent(Session *s) {
  if (atomic_load(&s->store.stop) == STOP_NOT) stop(s, STOP_STEPS);
}

/* Called after the aside has put its own flag down: a request is either seen in
 * the asker here, or comes later and reaches the aside. */
void session_stop_with(Session *aside) {
  int reason = atomic_load(&aside->asker->store.stop);
  if (reason != STOP_NOT) stop(aside, (StopReason)reason);
}

void session_interrupt(Session *s) { stop(s, STOP_INTERRUPT); }
