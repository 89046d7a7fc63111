/* Shared by the tests of sessions: a program from text, over weights of 8 by
 * 8. */
#ifndef TESTS_UNIT_HOST_H
#define TESTS_UNIT_HOST_H

#include "include/rly.h"

#include "tests/unit/unit.h"

static inline rly_program *host_program(rly_context *cx, const char *text) {
  rly_program *p = rly_program_new(cx);
  assert_int_equal(rly_program_add_text(p, "test", text, strlen(text), 0),
                   RLY_OK);
  return p;
}

/* Binds the program's `w`. */
static inline void host_bind_w(rly_context *cx, rly_program *p,
                               const float weights[64]) {
  rly_tensor *t = rly_tensor_new(cx, "float32", 2, (int64_t[]){8, 8}, weights);
  assert_int_equal(rly_program_bind_tensor(p, "w", t), RLY_OK);
  rly_tensor_free(t);
}

#endif
