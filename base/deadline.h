/* Deadlines.  A thread of its own waits for the time to be over, by a clock
 * that nobody sets, or for the work to end. */
#ifndef BASE_DEADLINE_H
#define BASE_DEADLINE_H

#include <pthread.h>
#include <stdbool.h>

typedef struct Deadline {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool running, done, over;
  double seconds;
  void (*late)(void *data);
  void *data;
} Deadline;

/* Calls `late(data)`, in another thread, when so many seconds are over before
 * deadline_end().  Without a limit (seconds <= 0) there is no thread. */
void deadline_start(Deadline *d, double seconds, void (*late)(void *data),
                    void *data);
/* `late` is not called any more.  Was it? */
bool deadline_end(Deadline *d);

#endif
