/* The paths to the allocations of many runs: which functions have called one
 * another where an allocation is made.
 *
 *   paths_open                     once, before the first run
 *   fork; the run: paths_note      for each of its allocations
 *         then:    paths_take      keeps the run for each path to which no run
 *                                  of less time is known
 *   paths_chosen                   an allocation of each path */
#ifndef RLY_OOM_PATHS_H
#define RLY_OOM_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* The n-th allocation of a run. */
typedef struct FailureAt {
  size_t run, allocation;
} FailureAt;

/* False: this build has no frame pointers, so all paths would be one. */
bool paths_open(void);
void paths_note(size_t allocation);
/* `seconds`: what the run took. */
void paths_take(size_t run, double seconds);
/* Owned, in the order of runs and of their allocations; free it by
 * __real_free.  `*seconds`: the sum, over the paths, of the time of the run
 * that is chosen for each. */
FailureAt *paths_chosen(size_t *count, double *seconds);

#endif
