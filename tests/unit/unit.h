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
#include "base/random.h"

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

/* Numbers by chance, the same in every run. */
static inline uint64_t unit_random(uint64_t *state) {
  return splitmix64(state);
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
