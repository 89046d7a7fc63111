/* The clock that no setting of the date moves. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since some time before the program began. */
static inline int64_t clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The same in seconds. */
static inline double clock_seconds(void) { return 1e-9 * (double)clock_ns(); }

#endif
