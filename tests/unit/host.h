/* Shared by the tests of sessions: a program from text, with a session, and
 * weights of 8 by 8 for it. */
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

/* A context, a program in it, a session of that. */
typedef struct Host {
  rly_context *cx;
  rly_program *p;
  rly_session *s;
} Host;

/* The program has the operator, unless that is NULL, and then the text. */
static inline Host host_open_with(const rly_operator *op, const char *text) {
  Host h = {.cx = rly_context_new(NULL)};
  h.p = rly_program_new(h.cx);
  if (op) assert_int_equal(rly_operator_add(h.p, op), RLY_OK);
  assert_int_equal(rly_program_add_text(h.p, "test", text, strlen(text), 0),
                   RLY_OK);
  h.s = rly_session_new(h.p, NULL);
  assert_non_null(h.s);
  return h;
}

static inline Host host_open(const char *text) {
  return host_open_with(NULL, text);
}

static inline void host_close(Host *h) {
  rly_session_free(h->s);
  rly_program_free(h->p);
  rly_context_free(h->cx);
}

/* Binds the program's `w`. */
static inline void host_bind_w(rly_context *cx, rly_program *p,
                               const float weights[64]) {
  rly_tensor *t = rly_tensor_new(cx, "float32", 2, (int64_t[]){8, 8}, weights);
  assert_int_equal(rly_program_bind_tensor(p, "w", t), RLY_OK);
  rly_tensor_free(t);
}

#endif
