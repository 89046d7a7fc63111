/* Every unit test includes this: cmocka, set to print TAP, and a check for
 * leaks through the Mem that a test uses. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

#define RUN_TESTS(tests)                     \
  (cmocka_set_message_output(CM_OUTPUT_TAP), \
   cmocka_run_group_tests((tests), NULL, NULL))

/* A Mem without a limit; unit_mem_done fails the test when bytes are left. */
static inline Mem *unit_mem(Mem *m) {
  assert_true(mem_init(m, SIZE_MAX));
  return m;
}
static inline void unit_mem_done(Mem *m) {
  assert_int_equal(atomic_load(&m->live), 0);
  mem_done(m);
}

/* Numbers that look random and are the same in every run (splitmix64). */
static inline uint64_t unit_random(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/* Runs `scenario` with the first, second, ... allocation failing until one run
 * needs no more of them.  It must neither crash nor leave a byte behind.  So
 * every path on which memory runs out is taken once, without a test having to
 * know it. */
static inline void unit_walk_failures(void (*scenario)(Mem *m)) {
  for (size_t n = 1;; n++) {
    Mem m;
    unit_mem(&m);
    m.fail_at = n;
    scenario(&m);
    size_t count = atomic_load(&m.count);
    unit_mem_done(&m);
    if (count < n) break;
  }
}

#endif
