/* Threads where there is one: a lock is always free, and no thread can be made,
 * which pthread_create() says as a system without room for one does. */
#ifndef WEB_WASI_PTHREAD_H
#define WEB_WASI_PTHREAD_H

#include <errno.h>
#include <time.h>

#define __NEED_pthread_t
#define __NEED_pthread_attr_t
#define __NEED_pthread_once_t
#define __NEED_pthread_mutex_t
#define __NEED_pthread_mutexattr_t
#define __NEED_pthread_cond_t
#define __NEED_pthread_condattr_t
#include <bits/alltypes.h>

#define PTHREAD_MUTEX_INITIALIZER \
  {                               \
    {                             \
      { 0 }                       \
    }                             \
  }
#define PTHREAD_COND_INITIALIZER \
  {                              \
    {                            \
      { 0 }                      \
    }                            \
  }
#define PTHREAD_ONCE_INIT 0
enum { PTHREAD_MUTEX_RECURSIVE = 1 };

/* What succeeds without doing anything; the arguments do not matter. */
#define pthread_mutex_init(m, how) ((void)(m), (void)(how), 0)
#define pthread_mutex_destroy(m) ((void)(m), 0)
#define pthread_mutex_lock(m) ((void)(m), 0)
#define pthread_mutex_trylock(m) ((void)(m), 0)
#define pthread_mutex_unlock(m) ((void)(m), 0)
#define pthread_mutexattr_init(how) ((void)(how), 0)
#define pthread_mutexattr_destroy(how) ((void)(how), 0)
#define pthread_mutexattr_settype(how, type) ((void)(how), (void)(type), 0)
#define pthread_cond_init(c, how) ((void)(c), (void)(how), 0)
#define pthread_cond_destroy(c) ((void)(c), 0)
#define pthread_cond_signal(c) ((void)(c), 0)
#define pthread_cond_timedwait(c, m, until) \
  ((void)(c), (void)(m), (void)(until), ETIMEDOUT)
#define pthread_condattr_init(how) ((void)(how), 0)
#define pthread_condattr_destroy(how) ((void)(how), 0)
#define pthread_condattr_setclock(how, clock) ((void)(how), (void)(clock), 0)
#define pthread_atfork(before, parent, child) \
  ((void)(before), (void)(parent), (void)(child), 0)
#define pthread_create(thread, how, run, arg) \
  ((void)(thread), (void)(how), (void)(run), (void)(arg), EAGAIN)
#define pthread_join(thread, result) ((void)(thread), (void)(result), 0)
#define pthread_self() ((pthread_t)0)
#define pthread_equal(a, b) ((a) == (b))
#define pthread_kill(thread, signal) ((void)(thread), raise(signal))

static inline int pthread_once(pthread_once_t *done, void (*run)(void)) {
  if (!*done) *done = 1, run();
  return 0;
}

#endif
