/* The paths to the allocations of many runs: which functions have called one
 * another where an allocation is made.
 *
 *   paths_open                     once, before the first run
 *   fork; the run: paths_note      for each of its allocations
 *         then:    paths_take      keeps the run for each path to which no run
 *                                  of less time is known
 *   paths_chosen                   the allocations for which a run was kept */
#ifndef RLY_OOM_PATHS_H
#define RLY_OOM_PATHS_H

#include <stddef.h>

void paths_open(void);
void paths_note(size_t allocation);
/* `seconds`: what the run took. */
void paths_take(size_t run, double seconds);
/* How many paths there are. */
size_t paths_count(void);
/* Calls fail(arg, allocation) for each of the run, in the order in which the
 * run made them. */
void paths_chosen(size_t run, void (*fail)(void *arg, size_t allocation),
                  void *arg);

#endif
