/* Tensor operators in programs, by what they allocate: results in place where
 * an operand ends, and only there; chains in one pass; no tuples in vain.
 *
 * Results do not show whether memory was reused, so allocations are counted
 * (rly_session_stats).  A test that a result is in place has a sister in which
 * it must not be: because somebody else holds the operand, or reads it
 * later. */
#include "include/rly.h"

#include <stdio.h>

#include "lib/handles.h"
#include "tests/unit/unit.h"

typedef struct Guest {
  rly_context *cx;
  rly_program *program;
  rly_session *session;
  char shown[1024];
} Guest;

static void on_show(void *data, rly_value *value) {
  Guest *g = data;
  char *text = rly_value_text(value);
  assert_non_null(text);
  strncat(g->shown, text, sizeof g->shown - strlen(g->shown) - 1);
  strncat(g->shown, "|", sizeof g->shown - strlen(g->shown) - 1);
  rly_text_free(g->cx, text);
}

static void add(Guest *g, const char *text) {
  assert_int_equal(
      rly_program_add_text(g->program, "test", text, strlen(text), 0), RLY_OK);
}

static void guest_start(Guest *g, const char *text) {
  *g = (Guest){.cx = rly_context_new(NULL)};
  g->program = rly_program_new(g->cx);
  assert_non_null(g->program);
  add(g, text);
  g->session = rly_session_new(g->program, NULL);
  assert_non_null(g->session);
}

static void guest_end(Guest *g) {
  rly_session_free(g->session);
  rly_program_free(g->program);
  rly_context_free(g->cx);
}

/* Evaluates an expression; gives how many buffers that took. */
static uint64_t buffers_of(Guest *g, const char *expression) {
  uint64_t before = rly_session_stats(g->session).buffers;
  g->shown[0] = '\0';
  add(g, expression);
  assert_int_equal(rly_session_run(g->session, on_show, g), RLY_OK);
  return rly_session_stats(g->session).buffers - before;
}

static void assert_shows(Guest *g, const char *expression, const char *text) {
  buffers_of(g, expression);
  assert_string_equal(g->shown, text);
}

/* --- Tuples -------------------------------------------------------------- */

/* A tuple that is only taken apart is not made: a loop of them takes what a
 * loop of none does. */
static void test_tuples(void **state) {
  (void)state;
  Guest g;
  guest_start(&g,
              "def @f(%n: int32, %a: int32) {\n"
              "  if (%n == 0) { %a } else {\n"
              "    let %p = ((%a, %n), %n + %a);\n"
              "    let %q = (%p.1, %p.0);\n"
              "    let %s = match (%q) { (%x, _) => %x };\n"
              "    let %r = if (%n > 2) { %q.1.0 } else { %q.1.1 };\n"
              "    @f(%n - 1, %s + %r)\n"
              "  }\n"
              "}\n");
  uint64_t cells[2];
  for (int k = 0; k < 2; k++) {
    uint64_t before = rly_session_stats(g.session).cells;
    /* a' = 2 a + n while n > 2, then a + 2 n:
       (n, a): (4, 1) 6, (3, 6) 15, (2, 15) 19, (1, 19) 21 */
    buffers_of(&g, k ? "@f(40, 0) - @f(40, 0)" : "@f(4, 1)");
    cells[k] = rly_session_stats(g.session).cells - before;
    assert_string_equal(g.shown, k ? "0|" : "21|");
  }
  assert_int_equal(cells[0], cells[1]);
  guest_end(&g);
}

/* --- In place ------------------------------------------------------------ */

static const char loops[] =
    "def @grow(%n: int32, %x: Tensor[(4), float32]) {\n"
    "  if (%n == 0) { %x } else { @grow(%n - 1, %x + 1f) }\n"
    "}\n"
    "def @fill(%n: int32, %x: Tensor[(4), float32]) {\n"
    "  if (%n == 0) { %x }\n"
    "  else { @fill(%n - 1, strided_set(%x, [9f], [1], [2], [1])) }\n"
    "}\n"
    "def @add(%n: int32, %x: Tensor[(4), float32]) {\n"
    "  if (%n == 0) { %x } else {\n"
    "    @add(%n - 1, scatter_nd(%x, [[2]], [1f], mode=\"add\"))\n"
    "  }\n"
    "}\n"
    "def @clear(%n: int32, %x: Tensor[(4), float32]) {\n"
    "  if (%n == 0) { %x } else {\n"
    "    let %y = %x + 1f;\n"
    "    let %part = strided_slice(%y, begin=[0], end=[1]);\n"
    "    @clear(%n - 1, scatter_nd(%y, reshape(mod(%n, 2), newshape=[1, 1]),\n"
    "                              zeros_like(%part)))\n"
    "  }\n"
    "}\n";

/* However long, a loop that owns what it changes takes the same memory.  The
 * first run makes in addition what its sites keep (vm/op_plan.h). */
static void test_loops(void **state) {
  (void)state;
  static const int turns[] = {5, 5, 50};
  static const struct {
    const char *name, *result;
  } of[] = {
      {"grow", "Tensor[(4), float32] [50.0, 50.0, 50.0, 50.0]|"},
      {"fill", "Tensor[(4), float32] [0.0, 9.0, 0.0, 0.0]|"},
      {"add", "Tensor[(4), float32] [0.0, 0.0, 50.0, 0.0]|"},
      {"clear", "Tensor[(4), float32] [1.0, 0.0, 50.0, 50.0]|"},
  };
  Guest g;
  guest_start(&g, loops);
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    char text[128];
    uint64_t buffers[LENGTH(turns)];
    for (size_t k = 0; k < LENGTH(turns); k++) {
      snprintf(text, sizeof text,
               "@%s(%d, zeros(shape=[4], dtype="
               "\"float32\"))",
               of[i].name, turns[k]);
      buffers[k] = buffers_of(&g, text);
    }
    assert_int_equal(buffers[1], buffers[2]);
    assert_string_equal(g.shown, of[i].result);
  }
  guest_end(&g);
}

/* A cell's gates are one chain: c' takes c's place, h' alone is new, whatever
 * lies between them. */
static void test_gates(void **state) {
  (void)state;
  Guest g;
  guest_start(
      &g,
      "def @gates(%g: Tensor[(1, 8), float32], %c: Tensor[(1, 2), float32]) {\n"
      "  let %s = split(%g, indices_or_sections=4, axis=1);\n"
      "  let %c2 = sigmoid(%s.1) * %c + sigmoid(%s.0) * tanh(%s.2);\n"
      "  (sigmoid(%s.3) * tanh(%c2), %c2)\n"
      "}\n"
      "def @steps(%n: int32, %g: Tensor[(1, 8), float32],\n"
      "           %h: Tensor[(1, 2), float32], %c: Tensor[(1, 2), float32]) {\n"
      "  if (%n == 0) { (%h, %c) } else {\n"
      "    let %r = @gates(%g, %c);\n"
      "    @steps(%n - 1, %g, %r.0, %r.1)\n"
      "  }\n"
      "}\n");
  uint64_t buffers[2];
  for (int k = 0; k < 2; k++) {
    char text[160];
    snprintf(text, sizeof text,
             "@steps(%d, zeros(shape=[1, 8], dtype="
             "\"float32\"), [[0f, 0f]], [[8f, 0f]] * 1f)",
             k ? 3 : 2);
    buffers[k] = buffers_of(&g, text);
  }
  assert_int_equal(buffers[1] - buffers[0], 1);
  /* c halves: sigmoid(0) = 1/2, tanh(0) = 0 */
  assert_non_null(strstr(g.shown, "Tensor[(1, 2), float32] [[1.0, 0.0]])"));
  guest_end(&g);
}

/* The place of a failure is its operator's, not the chain's. */
static void test_place(void **state) {
  (void)state;
  Guest g;
  guest_start(&g,
              "def @f(%x: Tensor[(?), int32], %y: Tensor[(?), int32]) {\n"
              "  let %a =\n"
              "    %x / %y;\n"
              "  %a + %x\n"
              "}\n");
  add(&g, "@f([1, 2], [1, 0])");
  assert_int_equal(rly_session_run(g.session, on_show, &g), RLY_RUNTIME);
  char *text = rly_session_diagnostics_text(g.session, false);
  assert_non_null(text);
  assert_non_null(strstr(text, "test:3:5: error[E0602]: `divide`: division"));
  assert_non_null(strstr(text, "in @f at test:3:5"));
  rly_text_free(g.cx, text);
  guest_end(&g);
}

/* A tensor that is still visible is not overwritten: a variable used again, a
 * part of what another tensor shows, a constant, a value of the session. */
static void test_shared(void **state) {
  (void)state;
  Guest g;
  guest_start(&g,
              "let @kept = [1f, 2f];\n"
              "def @again(%x: Tensor[(2), float32]) {\n"
              "  let %y = %x + 1f;\n"
              "  (%x, %y, %x * %y)\n"
              "}\n"
              "def @parts(%x: Tensor[(2), float32]) {\n"
              "  let %s = split(%x, indices_or_sections=2);\n"
              "  let %a = %s.0 + 10f;\n"
              "  (%a, strided_set(%x, %a, [1], [2], [1]), %s.1)\n"
              "}\n");
  assert_shows(&g, "@again([1f, 2f] + 0f)",
               "(Tensor[(2), float32] [1.0, 2.0], "
               "Tensor[(2), float32] [2.0, 3.0], "
               "Tensor[(2), float32] [2.0, 6.0])|");
  assert_shows(&g, "@parts([1f, 2f] + 0f)",
               "(Tensor[(1), float32] [11.0], "
               "Tensor[(2), float32] [1.0, 11.0], "
               "Tensor[(1), float32] [2.0])|");
  assert_shows(&g, "@kept + 1f", "Tensor[(2), float32] [2.0, 3.0]|");
  assert_shows(&g, "@kept", "Tensor[(2), float32] [1.0, 2.0]|");
  guest_end(&g);
}

/* A matrix with a packed form keeps the elements that were packed. */
static void test_packed(void **state) {
  (void)state;
  Guest g;
  guest_start(&g,
              "def @three(%w: Tensor[(1, 2), float32]) {\n"
              "  let %x = [[1f, 10f]];\n"
              "  let %a = nn.dense(%x, %w);\n"
              "  let %b = nn.dense(%x, %w);\n"
              "  (%a, %b, nn.dense(%x, %w + 1f))\n"
              "}\n");
  assert_shows(&g, "@three([[1f, 2f]] * 1f)",
               "(Tensor[(1, 1), float32] [[21.0]], "
               "Tensor[(1, 1), float32] [[21.0]], "
               "Tensor[(1, 1), float32] [[32.0]])|");
  guest_end(&g);
}

/* A parameter is packed by the first product with it: the second takes no more
 * memory. */
static void test_parameter(void **state) {
  (void)state;
  Guest g = {.cx = rly_context_new(NULL)};
  static const float ones[32 * 32];
  int64_t shape[] = {32, 32};
  size_t live[3];
  g.program = rly_program_new(g.cx);
  add(&g,
      "param @w: Tensor[(32, 32), float32];\n"
      "def @f() { sum(nn.dense(ones(shape=[1, 32], dtype=\"float32\"), "
      "@w)) }\n");
  rly_tensor *w = rly_tensor_new(g.cx, "float32", 2, shape, ones);
  assert_int_equal(rly_program_bind_tensor(g.program, "w", w), RLY_OK);
  rly_tensor_free(w);
  g.session = rly_session_new(g.program, NULL);
  for (int i = 0; i < 3; i++) {
    rly_value *v = NULL;
    assert_int_equal(rly_session_call(g.session, "f", 0, NULL, &v), RLY_OK);
    rly_value_free(v);
    live[i] = rly_session_stats(g.session).live_bytes;
  }
  assert_int_equal(live[0], live[1]);
  assert_int_equal(live[1], live[2]);
  guest_end(&g);
}

/* An operator that fails half-way has changed nothing visible, and leaks
 * nothing. */
static void test_failure(void **state) {
  (void)state;
  Guest g;
  guest_start(&g,
              "let @x = [1f, 2f, 3f];\n"
              "def @put(%x: Tensor[(3), float32]) {\n"
              "  scatter_nd(%x, [[0, 7]], [5f, 6f])\n"
              "}\n");
  add(&g, "@put(@x + 1f)");
  assert_int_equal(rly_session_run(g.session, on_show, &g), RLY_RUNTIME);
  rly_session_diagnostics_clear(g.session);
  assert_shows(&g, "@x", "Tensor[(3), float32] [1.0, 2.0, 3.0]|");
  guest_end(&g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tuples),    cmocka_unit_test(test_loops),
      cmocka_unit_test(test_gates),     cmocka_unit_test(test_place),
      cmocka_unit_test(test_shared),    cmocka_unit_test(test_packed),
      cmocka_unit_test(test_parameter), cmocka_unit_test(test_failure),
  };
  return RUN_TESTS(tests);
}
