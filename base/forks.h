/* Locks across fork(2).  A child has only the thread that forked: a lock that
 * another thread held would never be released there, and what it guards may be
 * half changed.  So locks that threads share are listed here.  Before a fork
 * the forking thread takes all of them, for which it waits up to FORK_WAIT, and
 * afterwards parent and child have all of them free.
 *
 *   pthread_mutex_t lock;
 *   ForkGuard guard;                 beside the lock
 *   fork_guard(&x->guard, &x->lock, FORK_WAITS)
 *
 * A lock that other threads hold for long, such as that of a session at work,
 * is not waited for.  In the child it is lost: taking it would wait for ever,
 * and what it guards is not to be used. */
#ifndef BASE_FORKS_H
#define BASE_FORKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef enum ForkWay {
  FORK_WAITS = 1,     /* the fork waits for the lock, which is held briefly */
  FORK_RECURSIVE = 2, /* the lock is recursive */
} ForkWay;

typedef struct ForkGuard {
  pthread_mutex_t *lock; /* NULL: not listed */
  unsigned ways;         /* of ForkWay */
  bool held;             /* by the thread that forks */
  _Atomic bool lost;
  struct ForkGuard *next, **link;
} ForkGuard;

/* Makes the mutex and lists it. */
void fork_guard(ForkGuard *g, pthread_mutex_t *lock, unsigned ways);
/* Takes it off the list and destroys the mutex.  Nothing, where it was never
 * made. */
void fork_guard_done(ForkGuard *g);

/* Takes the lock; false where another thread holds it.  A thread that forks
 * holds every lock until the fork is done, for which this waits. */
bool fork_guard_try(ForkGuard *g);

/* Did another thread hold the lock when this process was forked? */
static inline bool fork_lost(const ForkGuard *g) {
  return atomic_load_explicit(&g->lost, memory_order_relaxed);
}

#endif
