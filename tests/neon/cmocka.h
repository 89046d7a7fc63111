/* As much of cmocka as the kernels' tests need, for targets that it is not
 * packaged for: the first check that fails ends the program. */
#ifndef TESTS_NEON_CMOCKA_H
#define TESTS_NEON_CMOCKA_H

#include <stdio.h>
#include <stdlib.h>

struct CMUnitTest {
  const char *name;
  void (*run)(void **state);
  int (*setup)(void **state), (*teardown)(void **state);
};

#define cmocka_unit_test(f) \
  { #f, f, NULL, NULL }
#define cmocka_unit_test_setup_teardown(f, setup, teardown) \
  { #f, f, setup, teardown }
#define CM_OUTPUT_TAP 0
#define cmocka_set_message_output(format) ((void)(format))
#define cmocka_run_group_tests(tests, setup, teardown) \
  cmocka_run(tests, (int)(sizeof(tests) / sizeof *(tests)))

static inline int cmocka_run(const struct CMUnitTest *tests, int count) {
  void *state = NULL;
  printf("1..%d\n", count);
  for (int i = 0; i < count; i++) {
    if (tests[i].setup) tests[i].setup(&state);
    tests[i].run(&state);
    if (tests[i].teardown) tests[i].teardown(&state);
    printf("ok %d - %s\n", i + 1, tests[i].name);
  }
  return 0;
}

#define fail_msg(...) (printf(__VA_ARGS__), exit(1))
#define CHECK(c) \
  ((c) ? (void)0 : fail_msg("%s:%d: %s\n", __FILE__, __LINE__, #c))
#define assert_true(c) CHECK(c)
#define assert_false(c) CHECK(!(c))
#define assert_null(p) CHECK(!(p))
#define assert_non_null(p) CHECK(p)
#define assert_int_equal(a, b) CHECK((long)(a) == (long)(b))
#define assert_ptr_equal(a, b) CHECK((a) == (b))
#define assert_memory_equal(a, b, n) CHECK(!memcmp(a, b, n))
#define assert_ptr_not_equal(a, b) CHECK((a) != (b))
#define assert_string_equal(a, b) CHECK(!strcmp(a, b))

#endif
