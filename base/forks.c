/* See forks.h.  The locks are taken by trying all of them, and letting go of
 * all where one is not free: so no order among them is needed, and a thread
 * that holds one and waits for another is not waited for while it waits for
 * ours.
 *
 * The child makes its locks anew instead of releasing them, for a recursive
 * mutex knows its owner by the number of the thread, and the child's thread has
 * another number.  A lock that the forking thread held itself, because it forks
 * in a callback, is free in the child in the same way; releasing it later is
 * refused by the system, which changes nothing. */
#include "base/forks.h"

#include <time.h>

#include "base/clock.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static ForkGuard *list;
static pthread_once_t watched = PTHREAD_ONCE_INIT;

/* --- Around a fork -------------------------------------------------------- */

/* How long a fork waits for other threads at most, in all: where one of them
 * waits for something that the forking thread holds (an interpreter's lock), it
 * would wait for ever. */
static const double FORK_WAIT = 1;

static void make_lock(pthread_mutex_t *lock, unsigned ways) {
  pthread_mutexattr_t how;
  pthread_mutexattr_init(&how);
  if (ways & FORK_RECURSIVE)
    pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(lock, &how);
  pthread_mutexattr_destroy(&how);
}

static void let_go(void) {
  for (ForkGuard *g = list; g; g = g->next)
    if (g->held) pthread_mutex_unlock(g->lock);
}

/* True when each lock that is waited for was free. */
static bool try_all(void) {
  bool all = true;
  for (ForkGuard *g = list; g; g = g->next) {
    g->held = pthread_mutex_trylock(g->lock) == 0;
    all &= g->held || !(g->ways & FORK_WAITS);
  }
  return all;
}

static void before_fork(void) {
  double until = clock_seconds() + FORK_WAIT;
  pthread_mutex_lock(&list_lock);
  while (!try_all() && clock_seconds() < until) {
    let_go();
    pthread_mutex_unlock(&list_lock);
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    pthread_mutex_lock(&list_lock);
  }
}

static void in_parent(void) {
  let_go();
  pthread_mutex_unlock(&list_lock);
}

static void in_child(void) {
  for (ForkGuard *g = list; g; g = g->next)
    if (g->held) make_lock(g->lock, g->ways);
    else atomic_store(&g->lost, true);
  pthread_mutex_init(&list_lock, NULL);
}

static void watch(void) { pthread_atfork(before_fork, in_parent, in_child); }

/* --- The list ------------------------------------------------------------- */

void fork_guard(ForkGuard *g, pthread_mutex_t *lock, unsigned ways) {
  pthread_once(&watched, watch);
  make_lock(lock, ways);
  pthread_mutex_lock(&list_lock);
  *g = (ForkGuard){.lock = lock, .ways = ways, .next = list, .link = &list};
  if (list) list->link = &g->next;
  list = g;
  pthread_mutex_unlock(&list_lock);
}

/* A thread that forks holds the list's lock together with those in the list. So
 * a lock that is still taken while we hold the list's lock is taken by a thread
 * that does not fork. */
bool fork_guard_try(ForkGuard *g) {
  if (pthread_mutex_trylock(g->lock) == 0) return true;
  pthread_mutex_lock(&list_lock);
  bool taken = pthread_mutex_trylock(g->lock) == 0;
  pthread_mutex_unlock(&list_lock);
  return taken;
}

void fork_guard_done(ForkGuard *g) {
  if (!g->lock) return;
  pthread_mutex_lock(&list_lock);
  *g->link = g->next;
  if (g->next) g->next->link = g->link;
  pthread_mutex_unlock(&list_lock);
  pthread_mutex_destroy(g->lock);
  g->lock = NULL;
}
