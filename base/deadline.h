/* Deadlines.  A thread of its own waits until the time
 * is over or the work has ended. */
#ifndef BASE_DEADLINE_H
#define BASE_DEADLINE_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

typedef struct Deadline {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  clockid_t clock; /* of `wake` */
  bool running, done, over;
  bool unwatched; /* no thread could be made */
  double seconds;
  void (*late)(void *data);
  void *data;
} Deadline;

/* Calls `late(data)` in another thread unless deadline_end() comes within so
 * many seconds.  Without a limit (seconds <= 0) no thread is started.  Where
 * none can be made, `late` is called at once: no limit is dropped in silence.
 */
void deadline_start(Deadline *d, double seconds, void (*late)(void *data),
                    void *data);
/* Ends the wait; `late` is not called after this.  True when it was called. */
bool deadline_end(Deadline *d);

#endif
