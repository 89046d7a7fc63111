/* The C API as a host sees it: what works, what is refused, and that neither
 * misuse nor failing allocations do harm.  lib/handles.h is included only for
 * the failing allocations.
 *
 * What a host relies on: a call gives what the program computes; what is
 * refused is told by a status and a diagnostic and changes nothing; handles may
 * be freed in any order; limits belong to sessions; arguments that make no
 * sense give RLY_MISUSE or NULL.  Tests speak to rly.h only, so that they hold
 * for any host.
 *
 * A scenario that uses everything is run with its first, its second, ...
 * allocation failing (unit.h): each run must end in a status, without a crash
 * and without a leak, and the same handles must work afterwards. */
#include "include/rly.h"

#include <math.h>
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/handles.h"
#include "tests/unit/unit.h"

/* --- A host ------------------------------------------------------------- */

/* A context, a program and a session, and what the session printed. */
typedef struct Guest {
  rly_context *cx;
  rly_program *program;
  rly_session *session;
  char printed[256];
  bool interrupt; /* the session, when it prints */
} Guest;

static void on_write(void *data, const char *text, size_t len) {
  Guest *g = data;
  size_t used = strlen(g->printed);
  assert_true(used + len < sizeof g->printed);
  memcpy(g->printed + used, text, len);
  g->printed[used + len] = '\0';
  if (g->interrupt) rly_session_interrupt(g->session);
}

static rly_status add(Guest *g, const char *text) {
  return rly_program_add_text(g->program, "test", text, strlen(text), 0);
}

static void guest_start(Guest *g, const rly_options *options,
                        const char *text) {
  *g = (Guest){.cx = rly_context_new(options)};
  assert_non_null(g->cx);
  g->program = rly_program_new(g->cx);
  assert_non_null(g->program);
  assert_int_equal(add(g, text), RLY_OK);
  rly_session_options hooks = {.write = on_write, .data = g};
  g->session = rly_session_new(g->program, &hooks);
  assert_non_null(g->session);
}

static void guest_end(Guest *g) {
  rly_session_free(g->session);
  rly_program_free(g->program);
  rly_context_free(g->cx);
}

/* The text is what it should be; releases it. */
static void assert_text(Guest *g, char *text, const char *expected) {
  assert_non_null(text);
  assert_string_equal(text, expected);
  rly_text_free(g->cx, text);
}

/* The text holds these words; releases it. */
static void assert_holds(Guest *g, char *text, const char *words) {
  assert_non_null(text);
  if (!strstr(text, words)) fail_msg("`%s` is not in: %s", words, text);
  rly_text_free(g->cx, text);
}

/* The diagnostics hold these words; clears them. */
static void assert_said(Guest *g, const char *words) {
  assert_holds(g, rly_diagnostics_text(g->cx, false), words);
  rly_diagnostics_clear(g->cx);
  assert_int_equal(rly_diagnostic_count(g->cx), 0);
}

/* As above for the session, when the context has no diagnostics. */
static void assert_session_said(Guest *g, const char *words) {
  assert_int_equal(rly_diagnostic_count(g->cx), 0);
  assert_holds(g, rly_session_diagnostics_text(g->session, false), words);
  rly_session_diagnostics_clear(g->session);
  assert_int_equal(rly_session_diagnostic_count(g->session), 0);
}

static rly_value *call(Guest *g, const char *name) {
  rly_value *v = NULL;
  assert_int_equal(rly_session_call(g->session, name, 0, NULL, &v), RLY_OK);
  assert_non_null(v);
  return v;
}

static rly_tensor *vector(rly_context *cx, int64_t n, const float *elements) {
  rly_tensor *t = rly_tensor_new(cx, "float32", 1, &n, elements);
  assert_non_null(t);
  return t;
}

/* --- What works --------------------------------------------------------- */

static const char scale[] =
    "param @w: Tensor[(2), float32];\n"
    "def @main(%x: Tensor[(?), float32]) -> Tensor[(?), float32] {\n"
    "  %x * @w\n"
    "}\n";

static void test_call(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL, scale);
  rly_tensor *w = vector(g.cx, 2, (float[]){2, 3});
  rly_tensor *x = vector(g.cx, 2, (float[]){10, 100});
  assert_int_equal(rly_program_bind_tensor(g.program, "w", w), RLY_OK);
  rly_tensor_free(w);
  rly_value *arg = rly_value_of_tensor(g.session, x), *result;
  rly_tensor_free(x);
  assert_int_equal(rly_session_call(g.session, "main", 1, &arg, &result),
                   RLY_OK);
  rly_value_free(arg);
  rly_tensor *y = rly_value_tensor(result);
  rly_value_free(result);
  assert_string_equal(rly_tensor_dtype(y), "float32");
  assert_int_equal(rly_tensor_rank(y), 1);
  assert_int_equal(rly_tensor_dim(y, 0), 2);
  assert_int_equal(rly_tensor_count(y), 2);
  const float *data = rly_tensor_data(y);
  assert_true(data[0] == 20 && data[1] == 300);
  rly_tensor_free(y);
  guest_end(&g);
}

static void test_signature(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "def @f(%a: int32, %b: (int32, bool)) -> bool "
              "{ %b.1 }");
  const rly_function *f = rly_program_function(g.program, "f");
  assert_non_null(f);
  assert_int_equal(rly_function_param_count(f), 2);
  assert_string_equal(rly_function_param_name(f, 0), "a");
  assert_string_equal(rly_function_param_name(f, 1), "b");
  assert_null(rly_function_param_name(f, 2));
  assert_null(rly_function_param_name(f, -1));
  assert_text(&g, rly_function_type_text(g.program, f),
              "fn (int32, (int32, bool)) -> bool");
  assert_null(rly_program_function(g.program, "g"));
  guest_end(&g);
}

/* Types by their parts: what a host needs to make an argument. */
static void test_types(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "def @f(%x: Tensor[(?, 4), float16], %s: (int32, Ref[bool])) {\n"
              "  (%s.0, %x)\n"
              "}\n"
              "let @g = { let %n = ref(1); fn () -> int32 { ref_read(%n) } };");
  const rly_function *f = rly_program_function(g.program, "f");
  const rly_type *x = rly_function_param_type(f, 0);
  const rly_type *s = rly_function_param_type(f, 1);
  assert_int_equal(rly_type_kind(x), RLY_TENSOR);
  assert_string_equal(rly_type_dtype(x), "float16");
  assert_int_equal(rly_type_rank(x), 2);
  assert_int_equal(rly_type_dim(x, 0), -1);
  assert_int_equal(rly_type_dim(x, 1), 4);
  assert_int_equal(rly_type_dim(x, 2), -1);
  assert_int_equal(rly_type_kind(s), RLY_TUPLE);
  assert_int_equal(rly_type_field_count(s), 2);
  assert_null(rly_type_dtype(s));
  assert_int_equal(rly_type_rank(s), -1);
  const rly_type *ref = rly_type_field(s, 1);
  assert_int_equal(rly_type_kind(ref), RLY_REF);
  assert_string_equal(rly_type_dtype(rly_type_field(ref, 0)), "bool");
  assert_null(rly_type_field(s, 2));
  const rly_type *y = rly_function_result_type(f);
  assert_ptr_equal(rly_type_field(y, 1), x);
  assert_null(rly_function_param_type(f, 2));
  /* A function that a `let` holds is called like any other. */
  const rly_function *h = rly_program_function(g.program, "g");
  assert_non_null(h);
  rly_value *v = call(&g, "g");
  assert_text(&g, rly_value_text(v), "1");
  rly_value_free(v);
  guest_end(&g);
}

/* Elements in and out without handles between. */
static void test_elements(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "def @t(%x: Tensor[(2, 3), float32]) {\n"
              "  transpose(%x)\n"
              "}\n");
  static const float in[] = {1, 2, 3, 4, 5, 6}, out[] = {1, 4, 2, 5, 3, 6};
  const rly_function *f = rly_program_function(g.program, "t");
  rly_value *x = rly_value_of_elements(g.session, "float32", 2,
                                       (int64_t[]){2, 3}, in),
            *y = NULL;
  assert_int_equal(rly_session_call_function(g.session, f, 1, &x, &y), RLY_OK);
  assert_string_equal(rly_value_dtype(y), "float32");
  assert_int_equal(rly_value_rank(y), 2);
  assert_int_equal(rly_value_dim(y, 0), 3);
  assert_int_equal(rly_value_dim(y, 2), -1);
  assert_int_equal(rly_value_count(y), 6);
  assert_memory_equal(rly_value_elements(y), out, sizeof out);
  rly_value_free(x);
  rly_value_free(y);
  guest_end(&g);
}

static void count_release(void *owner) { ++*(int *)owner; }

/* Arrays in the host's memory, in any order, and calls without handles. */
static void test_arrays(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "def @t(%x: Tensor[(2, 3), float32], %k: float32) {\n"
              "  transpose(%x) * %k\n"
              "}\n"
              "def @pair(%x: int32) { (%x, %x) }\n");
  float in[] = {6, 5, 4, 3, 2, 1, 0}, two = 2, room[6];
  static const float out[] = {2, 8, 4, 10, 6, 12};
  /* 1 2 3; 4 5 6 lies backwards. */
  rly_array args[] = {{.data = &in[5],
                       .dtype = "float32",
                       .rank = 2,
                       .strided = true,
                       .shape = {2, 3},
                       .strides = {-3, -1}},
                      {.data = &two, .dtype = "float32"}};
  rly_array result = {.data = room, .room = sizeof room};
  rly_value *rest = NULL;
  const rly_function *t = rly_program_function(g.program, "t");
  rly_session *s = g.session;
  assert_int_equal(rly_session_call_arrays(s, t, 2, args, &result, &rest),
                   RLY_OK);
  assert_null(rest);
  assert_memory_equal(room, out, sizeof out);
  assert_string_equal(result.dtype, "float32");
  assert_int_equal(result.rank, 2);
  assert_int_equal(result.shape[0] * 10 + result.shape[1], 32);
  /* Without room, and of no tensor: a value. */
  result.room = sizeof room - 1;
  assert_int_equal(rly_session_call_arrays(s, t, 2, args, &result, &rest),
                   RLY_OK);
  rly_array seen;
  assert_true(rly_value_array(rest, &seen));
  assert_false(seen.strided);
  assert_memory_equal(seen.data, out, sizeof out);
  rly_value_free(rest);
  int32_t n = 7;
  const rly_array number = {.data = &n, .dtype = "int32"};
  const rly_function *pair = rly_program_function(g.program, "pair");
  assert_int_equal(rly_session_call_arrays(s, pair, 1, &number, &result, &rest),
                   RLY_OK);
  assert_int_equal(rly_value_kind(rest), RLY_TUPLE);
  assert_false(rly_value_array(rest, &seen));
  rly_value_free(rest);
  /* What does not fit is told; nothing is written. */
  rest = NULL;
  args[0].shape[1] = 2;
  result.room = sizeof room;
  room[0] = -1;
  assert_int_equal(rly_session_call_arrays(s, t, 2, args, &result, &rest),
                   RLY_REFUSED);
  char *text = rly_session_diagnostics_text(s, false);
  assert_non_null(strstr(text,
                         "argument 1 of `@t` is of type Tensor[(2, 3), "
                         "float32], but Tensor[(2, 2), float32]"));
  rly_text_free(g.cx, text);
  assert_int_equal(rly_session_call_arrays(s, t, 1, args, &result, &rest),
                   RLY_REFUSED);
  args[0].strides[0] = INT64_MAX;
  args[0].shape[0] = 4;
  assert_int_equal(rly_session_call_arrays(s, t, 2, args, &result, &rest),
                   RLY_MISUSE);
  assert_non_null(strstr(rly_misuse(), "the strides are too large"));
  args[0].dtype = NULL;
  assert_int_equal(rly_session_call_arrays(s, t, 2, args, &result, &rest),
                   RLY_MISUSE);
  assert_int_equal(rly_session_call_arrays(s, t, 2, NULL, &result, &rest),
                   RLY_MISUSE);
  assert_int_equal(rly_session_call_arrays(s, NULL, 2, args, &result, &rest),
                   RLY_MISUSE);
  assert_null(rest);
  assert_true(room[0] == -1);
  guest_end(&g);
}

/* A value of a host's array borrows the elements, or copies them. */
static void test_values_of_arrays(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "def @v(%x: Tensor[(2, 3), float32]) { transpose(%x) }\n");
  rly_session *s = g.session;
  float in[] = {6, 5, 4, 3, 2, 1, 0};
  int32_t n = 7;
  const rly_array number = {.data = &n, .dtype = "int32"};
  rly_array seen;
  /* Borrowed until the last value that shows them goes. */
  int released = 0;
  rly_array turned = {.data = in,
                      .dtype = "float32",
                      .rank = 2,
                      .strided = true,
                      .shape = {2, 3},
                      .strides = {1, 2}};
  rly_value *x = rly_value_of_array(s, &turned, count_release, &released), *y;
  const rly_function *v = rly_program_function(g.program, "v");
  assert_int_equal(rly_session_call_function(s, v, 1, &x, &y), RLY_OK);
  rly_value_free(x);
  assert_int_equal(released, 0);
  assert_true(rly_value_array(y, &seen));
  assert_ptr_equal(seen.data, in);
  assert_int_equal(seen.strides[seen.strided ? 0 : 1], seen.strided ? 2 : 1);
  rly_value_free(y);
  assert_int_equal(released, 1);
  rly_value_free(rly_value_of_array(s, &number, count_release, &released));
  assert_int_equal(released, 2);
  turned.data = (char *)in + 1;
  assert_null(rly_value_of_array(s, &turned, count_release, &released));
  assert_int_equal(released, 2);
  /* Copied elements may lie anywhere. */
  char anywhere[1 + sizeof in];
  memcpy(anywhere + 1, in, sizeof in);
  turned.data = anywhere + 1;
  x = rly_value_of_array(s, &turned, NULL, NULL);
  assert_true(rly_value_array(x, &seen));
  assert_true(((const float *)seen.data)[seen.strided ? 2 : 1] == in[2]);
  rly_value_free(x);
  guest_end(&g);
}

/* Bytes that are no booleans are refused, where the array shows them. */
static void test_booleans_of_arrays(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL, "");
  rly_session *s = g.session;
  static const uint8_t bits[] = {1, 2, 0};
  const rly_array odd = {.data = (void *)bits,
                         .dtype = "bool",
                         .rank = 1,
                         .strided = true,
                         .shape = {2},
                         .strides = {1}},
                  even = {.data = (void *)bits,
                          .dtype = "bool",
                          .rank = 1,
                          .strided = true,
                          .shape = {2},
                          .strides = {2}};
  assert_null(rly_value_of_array(s, &odd, NULL, NULL));
  rly_value *v = rly_value_of_array(s, &even, NULL, NULL);
  assert_non_null(v);
  rly_value_free(v);
  guest_end(&g);
}

/* Values made of their parts, and taken apart again. */
static void test_layout(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "type Pair { Pair(left: Tensor[(2), int32], "
              "right: Option[(int32, int32)]) }\n"
              "def @f(%p: Pair, %l: List[int32]) -> Pair { %p }\n");
  const rly_function *f = rly_program_function(g.program, "f");
  const rly_type *pair = rly_function_result_type(f);
  const rly_type *list = rly_function_param_type(f, 1);
  rly_layout *l = NULL, *pieces = NULL;
  static const char *const paths[] = {"p.left", "p.right.0", "p.right.1"};
  assert_int_equal(rly_layout_new(g.program, pair, "p", RLY_TENSORS, &l),
                   RLY_OK);
  assert_int_equal(rly_layout_count(l), 3);
  for (size_t i = 0; i < 3; i++) {
    assert_string_equal(rly_layout_path(l, i), paths[i]);
    assert_int_equal(rly_layout_optional(l, i), i > 0);
  }
  assert_int_equal(rly_type_dim(rly_layout_type(l, 0), 0), 2);
  int32_t elements[] = {1, 2, 3};
  rly_value *two = rly_value_of_elements(g.session, "int32", 1, (int64_t[]){2},
                                         elements),
            *three = rly_value_of_elements(g.session, "int32", 1,
                                           (int64_t[]){3}, elements),
            *one = rly_value_of_elements(g.session, "int32", 0, NULL, elements);
  rly_value *apart[3];
  rly_value *whole =
      rly_layout_build(l, g.session, (rly_value *[]){two, NULL, NULL});
  assert_int_equal(rly_layout_split(l, whole, apart), RLY_OK);
  assert_true(rly_value_equal(apart[0], two));
  assert_null(apart[1]);
  assert_null(apart[2]);
  rly_value_free(apart[0]);
  rly_value_free(whole);
  whole = rly_layout_build(l, g.session, (rly_value *[]){two, one, one});
  assert_text(&g, rly_value_text(whole),
              "Pair(Tensor[(2), int32] [1, 2], Some((1, 1)))");
  assert_int_equal(rly_layout_split(l, two, apart), RLY_MISUSE);
  rly_value_free(whole);
  /* Half of an option, a tensor of another length, one that is missing. */
  assert_null(rly_layout_build(l, g.session, (rly_value *[]){two, one, NULL}));
  assert_null(
      rly_layout_build(l, g.session, (rly_value *[]){three, NULL, NULL}));
  assert_null(rly_layout_build(l, g.session, (rly_value *[]){NULL, one, one}));
  assert_int_equal(rly_session_diagnostic_count(g.session), 3);
  rly_session_diagnostics_clear(g.session);
  assert_int_equal(rly_layout_new(g.program, list, "l", RLY_TENSORS, &pieces),
                   RLY_REFUSED);
  rly_diagnostics_clear(g.cx);
  for (int what = -1; what <= 2; what += 3) {
    assert_int_equal(
        rly_layout_new(g.program, list, "l", (rly_parts)what, &pieces),
        RLY_MISUSE);
    assert_string_equal(rly_misuse(),
                        "rly_layout_new: there are no such parts");
    assert_null(pieces);
  }
  assert_int_equal(rly_layout_new(g.program, list, "l", RLY_PIECES, &pieces),
                   RLY_OK);
  assert_int_equal(rly_layout_count(pieces), 1);
  rly_layout_free(pieces);
  rly_layout_free(l);
  rly_value_free(one);
  rly_value_free(two);
  rly_value_free(three);
  guest_end(&g);
}

/* A function that gives its closures, which share a cell. */
static void test_value_call(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "def @counter(%by: int32) {\n"
              "  let %n = ref(0);\n"
              "  (fn (%k: int32) {\n"
              "     ref_write(%n, ref_read(%n) + %by * %k);\n"
              "     ref_read(%n)\n"
              "   }, fn () { ref_write(%n, 0) })\n"
              "}\n");
  int32_t number = 3;
  rly_value *v = rly_value_of_elements(g.session, "int32", 0, NULL, &number);
  rly_value *pair = NULL, *r = NULL, *all[2] = {v, v};
  assert_int_equal(rly_session_call(g.session, "counter", 1, &v, &pair),
                   RLY_OK);
  rly_value *add = rly_value_field(pair, 0), *reset = rly_value_field(pair, 1);
  rly_value_free(pair);
  for (int32_t i = 1; i <= 2; i++) {
    assert_int_equal(rly_value_call(add, 1, &v, &r), RLY_OK);
    assert_int_equal(*(const int32_t *)rly_value_elements(r), 9 * i);
    rly_value_free(r);
  }
  assert_int_equal(rly_value_call(reset, 0, NULL, &r), RLY_OK);
  assert_true(rly_value_is_unit(r));
  assert_int_equal(rly_value_call(add, 2, all, &pair), RLY_REFUSED);
  assert_int_equal(rly_value_call(add, 1, &r, &pair), RLY_REFUSED);
  assert_int_equal(rly_value_call(v, 1, &v, &pair), RLY_REFUSED);
  assert_int_equal(rly_value_call(NULL, 0, NULL, &pair), RLY_MISUSE);
  assert_int_equal(rly_value_call(add, 1, NULL, &pair), RLY_MISUSE);
  assert_int_equal(rly_value_call(add, 1, &v, NULL), RLY_MISUSE);
  rly_value_free(r);
  assert_int_equal(rly_value_call(add, 1, &v, &r), RLY_OK);
  assert_int_equal(*(const int32_t *)rly_value_elements(r), 9);
  rly_value_free(r);
  rly_value_free(add);
  rly_value_free(reset);
  rly_value_free(v);
  guest_end(&g);
}

static void on_show(void *data, rly_value *value) {
  char *text = rly_value_text(value);
  on_write(data, text, strlen(text));
  on_write(data, "|", 1);
  rly_text_free(((Guest *)data)->cx, text);
}

static void test_steps(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL, "let %a = 2; %a * 3; print(\"A\"); %a + 1");
  assert_true(rly_program_has_expressions(g.program));
  assert_int_equal(rly_session_run(g.session, on_show, &g), RLY_OK);
  assert_non_null(strstr(g.printed, "6|"));
  assert_non_null(strstr(g.printed, "[65]"));
  assert_non_null(strstr(g.printed, "3|"));
  g.printed[0] = '\0';
  assert_int_equal(rly_session_run(g.session, on_show, &g), RLY_OK);
  assert_string_equal(g.printed, ""); /* each is evaluated once */
  assert_int_equal(add(&g, "%a - 1"), RLY_OK);
  assert_int_equal(rly_session_run(g.session, on_show, &g), RLY_OK);
  assert_string_equal(g.printed, "1|");
  guest_end(&g);
}

static void test_parts(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "def @main() { (Cons(7, Nil), ref(True), (), "
              "fn (%x: int32) -> int32 { %x }) }");
  rly_value *v = call(&g, "main");
  assert_int_equal(rly_value_kind(v), RLY_TUPLE);
  assert_int_equal(rly_value_field_count(v), 4);
  static const rly_kind kinds[] = {RLY_CONSTRUCTOR, RLY_REF, RLY_TUPLE,
                                   RLY_FUNCTION};
  rly_value *parts[4];
  for (int i = 0; i < 4; i++) {
    parts[i] = rly_value_field(v, i);
    assert_int_equal(rly_value_kind(parts[i]), kinds[i]);
    assert_int_equal(rly_value_is_unit(parts[i]), i == 2);
  }
  assert_null(rly_value_field(v, 4));
  assert_null(rly_value_field(v, -1));
  rly_value_free(v); /* the parts live on */
  assert_string_equal(rly_value_constructor(parts[0]), "Cons");
  assert_null(rly_value_constructor(parts[1]));
  assert_int_equal(rly_value_field_count(parts[0]), 2);
  rly_value *seven = rly_value_field(parts[0], 0);
  assert_text(&g, rly_value_text(seven), "7");
  assert_text(&g, rly_value_type_text(seven), "int32");
  assert_text(&g, rly_value_json(seven),
              "{\"dtype\": \"int32\", \"shape\": [], \"data\": [7]}");
  rly_value_free(seven);
  rly_value *held = rly_value_field(parts[1], 0);
  assert_text(&g, rly_value_text(held), "True");
  rly_value_free(held);
  assert_null(rly_value_tensor(parts[3]));
  for (int i = 0; i < 4; i++) rly_value_free(parts[i]);
  guest_end(&g);
}

static bool same(rly_value *v, int i, int j) {
  rly_value *a = rly_value_field(v, i), *b = rly_value_field(v, j);
  bool equal = rly_value_equal(a, b);
  rly_value_free(a);
  rly_value_free(b);
  return equal;
}

static void test_equality(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "def @main() { ([1f, nanf], [1f, 0f / 0f], [1f, 2f],"
              " Cons(ref(1), Nil), Cons(ref(1), Nil), Cons(ref(2), Nil),"
              " match (Cons(ref(1), Nil))"
              " { Cons(_, %r) => %r, Nil => Nil }) }");
  rly_value *v = call(&g, "main");
  assert_true(same(v, 0, 1));
  assert_false(same(v, 0, 2));
  assert_false(same(v, 0, 3)); /* other types */
  assert_true(same(v, 3, 4));
  assert_true(same(v, 3, 3));
  assert_false(same(v, 3, 5));
  assert_false(same(v, 3, 6));
  assert_false(rly_value_equal(v, NULL));
  rly_value_free(v);
  guest_end(&g);
}

/* Trees of 2^60 leaves, of 60 nodes each. */
static void test_equality_of_shared(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "type T { L(int32), N(T, T) }\n"
              "def @grow(%n: int32, %t: T) -> T {"
              " if (%n == 0) { %t } else { @grow(%n - 1, N(%t, %t)) } }\n"
              "def @main() { (@grow(60, L(1)), @grow(60, L(1)),"
              " @grow(60, L(2)), @grow(59, N(L(1), L(1)))) }");
  rly_value *v = call(&g, "main");
  assert_true(same(v, 0, 1));
  assert_false(same(v, 0, 2));
  assert_true(same(v, 0, 3));
  rly_value_free(v);
  guest_end(&g);
}

/* Two cycles of different lengths that unroll to the same; one that does
 * not. */
static void test_equality_of_cycles(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "type R { E, L(int32, Ref[R]) }\n"
              "def @ring(%a: int32, %b: int32, %c: int32) -> Ref[R] {\n"
              "  let %r = ref(E);\n"
              "  ref_write(%r, L(%a, ref(L(%b, ref(L(%c, %r))))));\n"
              "  %r\n"
              "}\n"
              "def @loop() { let %r = ref(E); ref_write(%r, L(1, %r)); %r }\n"
              "def @main() { (@ring(1, 1, 1), @loop(), @ring(1, 1, 2)) }");
  rly_value *v = call(&g, "main");
  assert_true(same(v, 0, 1));
  assert_false(same(v, 0, 2));
  assert_false(same(v, 2, 1));
  rly_value_free(v);
  guest_end(&g);
}

/* Neither display nor JSON, comparison nor freeing goes by C's stack. */
static void test_large_value(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "def @list(%n: int32, %l: List[int32]) -> List[int32] {\n"
              "  if (%n == 0) { %l } else { @list(%n - 1, Cons(%n, %l)) }\n"
              "}\n"
              "def @main() { (@list(300000, Nil), @list(300000, Nil),"
              " @list(300000, Cons(0, Nil))) }");
  rly_value *v = call(&g, "main");
  char *text = rly_value_text(v);
  assert_non_null(strstr(text, "(Cons(1, Cons(2, Cons(3, "));
  assert_non_null(strstr(text, "..."));
  assert_true(strlen(text) < 200000);
  rly_text_free(g.cx, text);
  text = rly_value_json(v);
  assert_true(strlen(text) > 3 * 300000);
  rly_text_free(g.cx, text);
  assert_true(same(v, 0, 1));
  assert_false(same(v, 0, 2));
  rly_value_free(v);
  guest_end(&g);
}

static void on_show_interrupt(void *data, rly_value *value) {
  Guest *g = data;
  rly_session_interrupt(g->session);
  assert_null(rly_value_text(value));
}

/* A request to stop that comes while a value is made text. */
static void test_interrupted_text(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL, "def @main() { 7 } 1; 2");
  assert_int_equal(rly_session_run(g.session, on_show_interrupt, &g),
                   RLY_INTERRUPTED);
  assert_int_equal(rly_session_diagnostic_count(g.session), 1);
  assert_session_said(&g, "test:1:19: error[E0704]: interrupted");
  rly_value *v = call(&g, "main"); /* it is of use afterwards */
  rly_session_interrupt(g.session);
  assert_null(rly_value_json(v));
  assert_session_said(&g, "interrupted");
  rly_value_free(v);
  v = call(&g, "main");
  assert_text(&g, rly_value_text(v), "7");
  rly_value_free(v);
  guest_end(&g);
}

/* Likewise in a session that has run nothing: there is no instruction whose
 * place the report could tell. */
static void test_interrupted_before_any_run(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL, "def @main() { 7 }");
  rly_value *v =
      rly_value_of_elements(g.session, "int32", 0, NULL, &(int32_t){7});
  rly_session_interrupt(g.session);
  assert_null(rly_value_json(v));
  assert_session_said(&g, "error[E0704]: interrupted");
  rly_value_free(call(&g, "main")); /* which forgets the request */
  assert_text(&g, rly_value_text(v), "7");
  rly_value_free(v);
  guest_end(&g);
}

/* An interrupt between runs is forgotten, but by a session that listens; there
 * it stops one run, and is forgotten at the next prompt. */
static void test_interrupts_between_runs(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL, "def @main() { 7 }");
  rly_value *v;
  rly_session_interrupt(g.session);
  v = call(&g, "main");
  rly_value_free(v);
  for (int i = 0; i < 2; i++) {
    session_listen(g.session->vm);
    rly_session_interrupt(g.session);
    if (i == 1) session_listen(g.session->vm);
    else
      assert_int_equal(rly_session_call(g.session, "main", 0, NULL, &v),
                       RLY_INTERRUPTED);
    v = call(&g, "main");
    rly_value_free(v);
  }
  guest_end(&g);
}

static void test_sessions_are_apart(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "let @n = ref(0);\n"
              "def @next() -> int32 {\n"
              "  ref_write(@n, ref_read(@n) + 1); ref_read(@n)\n"
              "}\n");
  rly_session *first = g.session;
  for (int i = 0; i < 3; i++) rly_value_free(call(&g, "next"));
  rly_session *second = rly_session_new(g.program, NULL);
  g.session = second;
  rly_value *v = call(&g, "next");
  assert_text(&g, rly_value_text(v), "1");
  rly_value_free(v);
  rly_session_free(second);
  g.session = first;
  v = call(&g, "next");
  assert_text(&g, rly_value_text(v), "4");
  rly_value_free(v);
  guest_end(&g);
}

/* A view in a cell does not keep all that it was cut from. */
static void test_small_view_of_much(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "let @row = ref(zeros(shape=[4], dtype=\"float32\"));\n"
              "def @keep() -> float32 {\n"
              "  let %x = ones(shape=[250000, 4], dtype=\"float32\");\n"
              "  ref_write(@row, take(%x, 7, axis=0));\n"
              "  sum(ref_read(@row))\n"
              "}\n"
              "def @cell[A](%x: A) { ref(%x) }\n"
              "def @fresh() {\n"
              "  @cell(take(ones(shape=[250000, 4], dtype=\"float32\"), 7,\n"
              "             axis=0))\n"
              "}\n");
  rly_value *v = call(&g, "keep");
  assert_text(&g, rly_value_text(v), "4f");
  rly_value_free(v);
  assert_true(rly_session_stats(g.session).live_bytes < 1000000);
  v = call(&g, "fresh");
  assert_text(&g, rly_value_text(v),
              "ref(Tensor[(4), float32] [1.0, 1.0, 1.0, 1.0])");
  assert_true(rly_session_stats(g.session).live_bytes < 1000000);
  rly_value_free(v);
  guest_end(&g);
}

static void test_borrowed_memory(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL, "def @same(%x: Tensor[(2), float32]) { %x }");
  static const float elements[] = {1, 2};
  int released = 0;
  rly_tensor *t = rly_tensor_borrow(g.cx, "float32", 1, (int64_t[]){2},
                                    elements, count_release, &released);
  assert_ptr_equal(rly_tensor_data(t), elements);
  rly_value *arg = rly_value_of_tensor(g.session, t), *result;
  rly_tensor_free(t);
  assert_int_equal(released, 0);
  assert_int_equal(rly_session_call(g.session, "same", 1, &arg, &result),
                   RLY_OK);
  rly_value_free(arg);
  rly_value_free(result);
  assert_int_equal(released, 1);
  guest_end(&g);
  assert_int_equal(released, 1);
}

static void test_files(void **state) {
  (void)state;
  char path[] = "/tmp/rly-api-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  Guest g;
  guest_start(&g, NULL, "def @main() { ([1f, 2f], 3) }");
  rly_value *v = call(&g, "main");
  assert_int_equal(rly_value_write(v, path), RLY_OK);
  rly_value_free(v);
  guest_end(&g);

  guest_start(&g, NULL,
              "param @out0: Tensor[(2), float32];\n"
              "def @main(%out1: int32) { @out0 }");
  const rly_function *entry = rly_program_function(g.program, "main");
  assert_int_equal(rly_program_bind_file(g.program, path), RLY_OK);
  assert_int_equal(rly_program_bindings_check(g.program, entry), RLY_OK);
  assert_int_equal(rly_session_call_bound(g.session, entry, &v), RLY_OK);
  assert_text(&g, rly_value_json(v),
              "{\"dtype\": \"float32\", \"shape\": [2], \"data\": [1, 2]}");
  rly_value_free(v);
  guest_end(&g);
  unlink(path);
}

static const char net_types[] =
    "type Linear { Linear(weight: Tensor[(2), float32], bias: Option[float32])}"
    "type Net { Net(layers: List[Linear], pair: (float32, int32)), Empty }";

/* What is written under a param's name is bound to it again. */
static void test_files_of_params(void **state) {
  (void)state;
  char path[] = "/tmp/rly-api-XXXXXX";
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  char text[1000];
  snprintf(text, sizeof text,
           "%s def @main() { Net(List[Linear([1f, 2f], Some(3f)), "
           "Linear([4f, 5f], None)], (6f, 7)) } def @cell() { ref(1f) }",
           net_types);
  Guest g;
  guest_start(&g, NULL, text);
  rly_value *v = call(&g, "main"), *cell = call(&g, "cell");
  assert_int_equal(rly_value_write_as(v, "net", path), RLY_OK);
  assert_int_equal(rly_value_write_as(cell, "net", path), RLY_RUNTIME);
  assert_int_equal(rly_value_write_as(v, NULL, path), RLY_MISUSE);
  assert_session_said(&g, "E0507");
  /* the first allocation of writing is beyond the limit */
  rly_options limits = {.max_memory = 1};
  assert_int_equal(rly_session_set_limits(g.session, &limits), RLY_OK);
  assert_int_equal(rly_value_write(v, path), RLY_LIMIT);
  assert_session_said(&g, "E0701");
  limits.max_memory = 0;
  assert_int_equal(rly_session_set_limits(g.session, &limits), RLY_OK);
  char *before = rly_value_text(v);
  rly_value_free(v);
  rly_value_free(cell);
  rly_tensors *ts;
  assert_int_equal(rly_tensors_read(g.cx, path, &ts), RLY_OK);
  static const char *const names[] = {
      "net.layers.0.weight", "net.layers.0.bias", "net.layers.1.weight",
      "net.pair.0", "net.pair.1"};
  assert_int_equal(rly_tensors_count(ts), 5);
  for (int i = 0; i < 5; i++) {
    rly_tensor *t = rly_tensors_get(ts, names[i]);
    assert_non_null(t);
    rly_tensor_free(t);
  }
  rly_tensors_free(ts);

  Guest to;
  snprintf(text, sizeof text, "%s param @net: Net; def @main() { @net }",
           net_types);
  guest_start(&to, NULL, text);
  assert_int_equal(rly_program_bind_file(to.program, path), RLY_OK);
  v = call(&to, "main");
  char *after = rly_value_text(v);
  assert_string_equal(after, before);
  rly_text_free(to.cx, after);
  rly_text_free(g.cx, before);
  rly_value_free(v);
  guest_end(&to);
  guest_end(&g);
  unlink(path);
}

/* --- What is refused ---------------------------------------------------- */

static void test_errors(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL, "def @f(%n: int32) -> int32 { 10 / %n }");
  assert_int_equal(add(&g, "1 +"), RLY_REFUSED);
  assert_said(&g, "error[E0004]");
  assert_int_equal(add(&g, "%nobody"), RLY_REFUSED);
  assert_said(&g, "error[E0101]");
  assert_int_equal(
      rly_program_add_text(g.program, "t", "(1", 2, RLY_INTERACTIVE),
      RLY_INCOMPLETE);
  assert_int_equal(rly_diagnostic_count(g.cx), 0);
  assert_int_equal(rly_program_add_file(g.program, "/nonexistent", 0),
                   RLY_REFUSED);
  assert_said(&g, "error[E0501]");
  assert_int_equal(add(&g, "@f(0)"), RLY_OK);
  assert_int_equal(rly_session_run(g.session, NULL, NULL), RLY_RUNTIME);
  assert_session_said(&g, "error[E0602]");
  assert_int_equal(add(&g, "@f(5)"), RLY_OK);
  assert_int_equal(rly_session_run(g.session, on_show, &g), RLY_OK);
  assert_string_equal(g.printed, "2|");
  guest_end(&g);
}

static void test_diagnostics_json(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL, "");
  rly_diagnostic_add(g.cx, "E0506", "of the \"host\"");
  rly_diagnostic_add(g.cx, "no such code", "anyhow");
  assert_int_equal(rly_diagnostic_count(g.cx), 2);
  char *text = rly_diagnostics_json(g.cx);
  assert_non_null(strstr(text, "\"message\": \"of the \\\"host\\\"\""));
  rly_text_free(g.cx, text);
  guest_end(&g);
}

/* A diagnostic by its parts, of a context and of a session. */
static void test_diagnostic_parts(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "def @f(%n: int32) -> int32 { 10 / %n }\n"
              "@f(0)");
  rly_diagnostic d;
  rly_note n;
  assert_int_equal(rly_session_run(g.session, NULL, NULL), RLY_RUNTIME);
  assert_true(rly_session_diagnostic_get(g.session, 0, &d));
  assert_int_equal(d.severity, RLY_ERROR);
  assert_string_equal(d.code, "E0602");
  assert_string_equal(d.place.file, "test");
  assert_int_equal(d.place.line, 1);
  assert_int_equal(d.place.column, 30);
  assert_int_equal(d.place.end_column, 37);
  assert_int_equal(d.frame_count, 2);
  assert_true(rly_session_diagnostic_note(g.session, 0, d.note_count, &n));
  assert_string_equal(n.message, "@f");
  assert_true(rly_session_diagnostic_note(g.session, 0, d.note_count + 1, &n));
  assert_int_equal(n.place.line, 2);
  assert_false(rly_session_diagnostic_note(g.session, 0, d.note_count + 2, &n));
  assert_false(rly_session_diagnostic_get(g.session, 1, &d));
  char *json = rly_session_diagnostics_json(g.session);
  assert_non_null(strstr(json, "\"code\": \"E0602\""));
  rly_text_free(g.cx, json);
  rly_session_diagnostics_clear(g.session);
  assert_int_equal(add(&g, "%nobody"), RLY_REFUSED);
  assert_true(rly_diagnostic_get(g.cx, 0, &d));
  assert_string_equal(d.code, "E0101");
  assert_false(rly_diagnostic_get(g.cx, 1, &d));
  assert_false(rly_diagnostic_get(g.cx, 0, NULL));
  assert_false(rly_diagnostic_note(g.cx, 0, d.note_count, &n));
  guest_end(&g);
}

static void test_call_refused(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL, scale);
  rly_value *result = NULL;
  assert_int_equal(rly_session_call(g.session, "none", 0, NULL, &result),
                   RLY_REFUSED);
  assert_session_said(&g, "no such function");
  assert_int_equal(rly_session_call(g.session, "main", 0, NULL, &result),
                   RLY_REFUSED);
  assert_session_said(&g, "arguments");
  rly_tensor *t = rly_tensor_new(g.cx, "int32", 0, NULL, &(int32_t){1});
  rly_value *arg = rly_value_of_tensor(g.session, t);
  rly_tensor_free(t);
  assert_int_equal(rly_session_call(g.session, "main", 1, &arg, &result),
                   RLY_REFUSED); /* `w` is missing, and the type is wrong */
  rly_session_diagnostics_clear(g.session);
  assert_int_equal(add(&g, "def @id[A](%x: A) -> A { %x }"), RLY_OK);
  assert_int_equal(rly_session_call(g.session, "id", 1, &arg, &result),
                   RLY_REFUSED); /* likewise; and none is an A */
  rly_session_diagnostics_clear(g.session);
  rly_value_free(arg);
  assert_null(result);
  guest_end(&g);
}

static void test_bindings_refused(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "param @a: int32;\n"
              "param @b: Tensor[(2), float32];\n");
  assert_int_equal(rly_program_bindings_check(g.program, NULL), RLY_REFUSED);
  char *text = rly_diagnostics_text(g.cx, false);
  assert_true(strstr(text, "`a`") && strstr(text, "`b`"));
  rly_text_free(g.cx, text);
  rly_diagnostics_clear(g.cx);
  assert_int_equal(rly_program_bind_text(g.program, "b=[1, 2, 3]"), RLY_OK);
  assert_int_equal(rly_program_bindings_check(g.program, NULL), RLY_REFUSED);
  assert_said(&g, "(3)");
  assert_int_equal(rly_program_bind_text(g.program, "b=[1, 2]"), RLY_OK);
  assert_int_equal(rly_program_bind_text(g.program, "a=5"), RLY_OK);
  assert_int_equal(rly_program_bindings_check(g.program, NULL), RLY_OK);
  assert_int_equal(rly_program_bind_text(g.program, "c=5"), RLY_OK);
  assert_int_equal(rly_program_bindings_check(g.program, NULL), RLY_REFUSED);
  assert_said(&g, "`c`");
  guest_end(&g);
}

static void count_shown(void *data, rly_value *value) {
  (void)value;
  ++*(int *)data;
}

/* A param without a value stands in the way of its uses alone, and what was
 * refused is not run later. */
static void test_params_when_used(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "param @a: int32;\n"
              "param @b: int32 = @a + 1;\n"
              "def @inner() { @a * 2 }\n"
              "def @outer(%x: int32) { %x + @inner() }\n"
              "def @other(%x: int32) { %x + 1 }\n");
  int shown = 0;
  rly_value *result = NULL, *one = rly_value_of_elements(g.session, "int32", 0,
                                                         NULL, (int32_t[]){1});
  assert_int_equal(rly_session_run(g.session, count_shown, &shown), RLY_OK);
  assert_int_equal(rly_session_call(g.session, "other", 1, &one, &result),
                   RLY_OK);
  rly_value_free(result);
  result = NULL;
  assert_int_equal(rly_session_call(g.session, "outer", 1, &one, &result),
                   RLY_REFUSED);
  assert_session_said(&g, "error[E0503]");
  assert_null(result);
  assert_int_equal(add(&g, "1; @b; 2"), RLY_OK);
  assert_int_equal(add(&g, "3"), RLY_OK);
  assert_int_equal(rly_session_run(g.session, count_shown, &shown),
                   RLY_REFUSED);
  rly_session_diagnostics_clear(g.session);
  assert_int_equal(rly_program_bind_text(g.program, "a=5"), RLY_OK);
  assert_int_equal(rly_session_run(g.session, count_shown, &shown), RLY_OK);
  assert_int_equal(shown, 0);
  assert_int_equal(add(&g, "@b + @outer(1)"), RLY_OK);
  assert_int_equal(rly_session_run(g.session, count_shown, &shown), RLY_OK);
  assert_int_equal(shown, 1);
  rly_value_free(one);
  guest_end(&g);
}

/* --- Limits ------------------------------------------------------------- */

static const char runaway[] =
    "def @deep(%n: int32) -> int32 { 1 + @deep(%n + 1) }\n"
    "def @long(%n: int32) -> int32 { print_text(\"x\"); @long(%n + 1) }\n"
    "def @wide() { zeros(shape=[1000000, 1000], dtype=\"float32\") }\n";

static void assert_limit(const rly_options *options, const char *item,
                         const char *code) {
  Guest g;
  guest_start(&g, options, runaway);
  assert_int_equal(add(&g, item), RLY_OK);
  assert_int_equal(rly_session_run(g.session, NULL, NULL), RLY_LIMIT);
  assert_session_said(&g, code);
  assert_int_equal(add(&g, "6 * 7"), RLY_OK);
  assert_int_equal(rly_session_run(g.session, on_show, &g), RLY_OK);
  assert_non_null(strstr(g.printed, "42|"));
  guest_end(&g);
}

static void test_limits(void **state) {
  (void)state;
  rly_options depth = {.max_depth = 100}, memory = {.max_memory = 64 << 20};
  rly_options steps = {.max_steps = 100};
  assert_limit(&depth, "@deep(0)", "E0702");
  assert_limit(&memory, "@wide()", "E0701");
  assert_limit(&steps, "@deep(0)", "E0707");
  assert_limit(&steps, "@long(0)", "E0707");
}

static void test_interrupt(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL, runaway);
  assert_int_equal(add(&g, "@long(0)"), RLY_OK);
  g.interrupt = true;
  assert_int_equal(rly_session_run(g.session, NULL, NULL), RLY_INTERRUPTED);
  rly_session_diagnostics_clear(g.session);
  assert_string_equal(g.printed, "x");
  g.interrupt = false;
  assert_int_equal(add(&g, "6 * 7"), RLY_OK);
  assert_int_equal(rly_session_run(g.session, on_show, &g), RLY_OK);
  assert_string_equal(g.printed, "x42|");
  guest_end(&g);
}

/* A long list, whose last cell alone holds a tensor of 8 MB, in hand when the
 * session is told to stop. */
static const char long_list[] =
    "def @grow(%n: int32, %x: Tensor[(?), float32],\n"
    "          %l: List[Tensor[(?), float32]])\n"
    "    -> List[Tensor[(?), float32]] {\n"
    "  if (%n == 0) { %l } else { @grow(%n - 1, %x, Cons(%x, %l)) }\n"
    "}\n"
    "def @hold(%l: List[Tensor[(?), float32]]) -> int32 {\n"
    "  print(1);\n"
    "  match (%l) { Nil => 0, Cons(_, _) => @hold(%l) }\n"
    "}\n"
    "def @long() -> int32 {\n"
    "  let %x: Tensor[(?), float32] = full(1f, shape=[2]);\n"
    "  let %y: Tensor[(?), float32] = full(1f, shape=[2000000]);\n"
    "  @hold(@grow(300000, %x, Cons(%y, Nil)))\n"
    "}\n"
    "def @short() -> int32 { 7 }\n";

static size_t live_bytes(const Guest *g) {
  return rly_session_stats(g->session).live_bytes;
}

static size_t interrupted(Guest *g) {
  assert_int_equal(add(g, "@long()"), RLY_OK);
  g->interrupt = true;
  assert_int_equal(rly_session_run(g->session, NULL, NULL), RLY_INTERRUPTED);
  g->interrupt = false;
  assert_session_said(g, "E0704");
  return live_bytes(g);
}

/* Values that could not be freed at once are freed by the next run, or when the
 * session ends. */
static void test_freeing_is_put_off(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL, long_list);
  size_t held = interrupted(&g);
  rly_value_free(call(&g, "short"));
  assert_true(live_bytes(&g) <= held - 8000000);
  interrupted(&g);
  guest_end(&g);
}

/* A request to stop that arrives between two runs. */
static void test_between_runs(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "def @deep(%n: int32) -> int32 {\n"
              "  if (%n == 0) { 0 } else { 1 + @deep(%n - 1) }\n"
              "}\n"
              "let %skipped = { print(7); 1 };");
  assert_int_equal(rly_session_skip(g.session), RLY_OK);
  assert_int_equal(add(&g, "@deep(100)"), RLY_OK);
  assert_int_equal(rly_session_run(g.session, on_show, &g), RLY_OK);
  assert_string_equal(g.printed, "100|");

  rly_options limits = {0};
  assert_int_equal(rly_session_limits(g.session, &limits), RLY_OK);
  assert_int_equal(limits.max_depth, 10000000);
  assert_int_equal(limits.max_memory, 0);
  limits.max_depth = 50;
  assert_int_equal(rly_session_set_limits(g.session, &limits), RLY_OK);
  assert_int_equal(add(&g, "@deep(100)"), RLY_OK);
  assert_int_equal(rly_session_run(g.session, NULL, NULL), RLY_LIMIT);
  assert_session_said(&g, "E0702");
  limits.max_depth = 0;
  limits.max_steps = 50;
  assert_int_equal(rly_session_set_limits(g.session, &limits), RLY_OK);
  assert_int_equal(add(&g, "@deep(100)"), RLY_OK);
  assert_int_equal(rly_session_run(g.session, NULL, NULL), RLY_LIMIT);
  assert_session_said(&g, "E0707");
  limits.max_steps = 0;
  limits.max_memory = (size_t)1 << 40;
  assert_int_equal(rly_session_set_limits(g.session, &limits), RLY_OK);
  rly_session_limits(g.session, &limits);
  assert_int_equal(limits.max_depth, 10000000);
  assert_int_equal(limits.max_memory, (size_t)1 << 40);
  limits.tape_memory = 999;
  assert_int_equal(rly_session_set_limits(g.session, &limits), RLY_OK);
  /* all five are set: those that are 0 are no limit any more */
  rly_options only = {.timeout = 2, .threads = 3};
  assert_int_equal(rly_session_set_limits(g.session, &only), RLY_OK);
  rly_session_limits(g.session, &limits);
  assert_true(limits.timeout == 2 && limits.threads == 1);
  assert_true(!limits.max_memory && !limits.max_steps && !limits.tape_memory);
  limits.timeout = -1;
  assert_int_equal(rly_session_set_limits(g.session, &limits), RLY_MISUSE);
  limits.timeout = NAN;
  assert_int_equal(rly_session_set_limits(g.session, &limits), RLY_MISUSE);
  assert_null(rly_context_new(&limits));

  assert_null(rly_session_profile(g.session));
  assert_int_equal(rly_session_set_profile(g.session, true), RLY_OK);
  assert_int_equal(add(&g, "sum(zeros(shape=[4], dtype=\"int32\"))"), RLY_OK);
  assert_int_equal(rly_session_run(g.session, NULL, NULL), RLY_OK);
  assert_holds(&g, rly_session_profile(g.session), "by operator");
  assert_int_equal(rly_session_set_profile(g.session, false), RLY_OK);
  assert_null(rly_session_profile(g.session));
  assert_int_equal(add(&g, "%skipped"), RLY_OK);
  assert_int_equal(rly_session_run(g.session, NULL, NULL), RLY_RUNTIME);
  assert_session_said(&g, "never computed");
  guest_end(&g);
}

/* A definition that takes the place of another one. */
static void test_recheck(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "def @f() -> int32 { 1 }\ndef @g() -> int32 { @f() + 1 }");
  const char *next = "def @f() -> int32 { 5 }";
  assert_int_equal(
      rly_program_add_text(g.program, "x", next, strlen(next), RLY_RECHECK),
      RLY_OK);
  assert_int_equal(add(&g, "@g()"), RLY_OK);
  assert_int_equal(rly_session_run(g.session, on_show, &g), RLY_OK);
  assert_string_equal(g.printed, "6|");
  next = "def @f() -> bool { True }";
  assert_int_equal(
      rly_program_add_text(g.program, "x", next, strlen(next), RLY_RECHECK),
      RLY_OK);
  assert_said(&g, "W0003");
  assert_int_equal(add(&g, "@g()"), RLY_OK);
  assert_int_equal(rly_session_run(g.session, on_show, &g), RLY_OK);
  assert_string_equal(g.printed, "6|6|");
  guest_end(&g);
}

static void keep_shown(void *data, rly_value *value) {
  *(rly_value **)data = rly_value_keep(value);
}

static void test_kept_value(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL, "(1, [2f, 3f])");
  rly_value *kept = NULL;
  assert_int_equal(rly_session_run(g.session, keep_shown, &kept), RLY_OK);
  assert_text(&g, rly_value_text(kept), "(1, Tensor[(2), float32] [2.0, 3.0])");
  rly_value *again = rly_value_keep(kept);
  rly_value_free(kept);
  assert_int_equal(rly_value_field_count(again), 2);
  rly_value_free(again);
  guest_end(&g);
}

/* --- Misuse ------------------------------------------------------------- */

static void test_null_handles(void **state) {
  (void)state;
  rly_value *v = NULL;
  rly_context_free(NULL);
  rly_program_free(NULL);
  rly_session_free(NULL);
  rly_value_free(NULL);
  rly_tensor_free(NULL);
  rly_text_free(NULL, NULL);
  rly_session_interrupt(NULL);
  rly_diagnostics_clear(NULL);
  rly_diagnostic_add(NULL, "E0506", "x");
  assert_null(rly_program_new(NULL));
  assert_null(rly_session_new(NULL, NULL));
  assert_int_equal(rly_diagnostic_count(NULL), 0);
  assert_null(rly_diagnostics_text(NULL, false));
  assert_null(rly_diagnostics_json(NULL));
  assert_int_equal(rly_program_add_text(NULL, "x", "1", 1, 0), RLY_MISUSE);
  assert_int_equal(rly_program_add_file(NULL, "x", 0), RLY_MISUSE);
  rly_program_line(NULL, 1);
  assert_false(rly_program_has_expressions(NULL));
  assert_int_equal(rly_text_open(NULL, 0, NULL), 0);
  assert_int_equal(rly_text_open("((", 2, NULL), 2);
  assert_null(rly_program_function(NULL, "f"));
  assert_int_equal(rly_function_param_count(NULL), 0);
  assert_null(rly_function_param_name(NULL, 0));
  assert_null(rly_function_type_text(NULL, NULL));
  assert_null(rly_program_type_of(NULL, "1", 1));
  assert_int_equal(rly_program_bind_file(NULL, "x"), RLY_MISUSE);
  assert_int_equal(rly_program_bind_tensor(NULL, "x", NULL), RLY_MISUSE);
  assert_int_equal(rly_program_bind_text(NULL, "x=1"), RLY_MISUSE);
  assert_int_equal(rly_program_bindings_check(NULL, NULL), RLY_MISUSE);
  assert_int_equal(rly_session_run(NULL, NULL, NULL), RLY_MISUSE);
  assert_int_equal(rly_session_call(NULL, "f", 0, NULL, &v), RLY_MISUSE);
  assert_int_equal(rly_session_call_bound(NULL, NULL, &v), RLY_MISUSE);
  assert_int_equal(rly_session_stats(NULL).cells, 0);
  assert_int_equal(rly_session_skip(NULL), RLY_MISUSE);
  assert_int_equal(rly_session_set_profile(NULL, true), RLY_MISUSE);
  assert_int_equal(rly_session_set_limits(NULL, NULL), RLY_MISUSE);
  assert_int_equal(rly_session_limits(NULL, &(rly_options){0}), RLY_MISUSE);
  assert_int_equal(rly_session_limits(NULL, NULL), RLY_MISUSE);
  assert_int_equal(rly_session_call_function(NULL, NULL, 0, NULL, &v),
                   RLY_MISUSE);
  rly_diagnostic d;
  rly_note n;
  assert_false(rly_diagnostic_get(NULL, 0, &d));
  assert_false(rly_diagnostic_note(NULL, 0, 0, &n));
  assert_int_equal(rly_session_diagnostic_count(NULL), 0);
  assert_null(rly_session_diagnostics_text(NULL, false));
  assert_null(rly_session_diagnostics_json(NULL));
  assert_false(rly_session_diagnostic_get(NULL, 0, &d));
  assert_false(rly_session_diagnostic_note(NULL, 0, 0, &n));
  rly_session_diagnostics_clear(NULL);
  assert_null(rly_function_param_type(NULL, 0));
  assert_null(rly_function_result_type(NULL));
  assert_int_equal(rly_type_kind(NULL), RLY_UNKNOWN);
  assert_null(rly_type_dtype(NULL));
  assert_int_equal(rly_type_rank(NULL), -1);
  assert_int_equal(rly_type_dim(NULL, 0), -1);
  assert_int_equal(rly_type_field_count(NULL), 0);
  assert_null(rly_type_field(NULL, 0));
}

static void test_null_values(void **state) {
  (void)state;
  (void)rly_value_kind(NULL);
  assert_false(rly_value_is_unit(NULL));
  assert_null(rly_value_keep(NULL));
  assert_null(rly_value_text(NULL));
  assert_null(rly_value_type_text(NULL));
  assert_null(rly_value_json(NULL));
  assert_false(rly_value_equal(NULL, NULL));
  assert_int_equal(rly_value_field_count(NULL), 0);
  assert_null(rly_value_field(NULL, 0));
  assert_null(rly_value_constructor(NULL));
  assert_null(rly_value_tensor(NULL));
  assert_null(rly_value_of_tensor(NULL, NULL));
  assert_int_equal(rly_value_write(NULL, "x"), RLY_MISUSE);
  assert_null(rly_value_of_elements(NULL, "float32", 0, NULL, ""));
  assert_null(rly_value_dtype(NULL));
  assert_int_equal(rly_value_rank(NULL), -1);
  assert_int_equal(rly_value_dim(NULL, 0), -1);
  assert_int_equal(rly_value_count(NULL), 0);
  assert_null(rly_value_elements(NULL));
  assert_null(rly_tensor_dtype(NULL));
  assert_int_equal(rly_tensor_rank(NULL), -1);
  assert_int_equal(rly_tensor_dim(NULL, 0), -1);
  assert_int_equal(rly_tensor_count(NULL), 0);
  assert_null(rly_tensor_data(NULL));
}

static void test_senseless_arguments(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL, "def @f(%x: int32) -> int32 { %x }");
  rly_value *v = NULL, *none[1] = {NULL};
  rly_program *p = g.program;
  assert_int_equal(rly_program_add_text(p, NULL, "1", 1, 0), RLY_MISUSE);
  assert_int_equal(rly_program_add_text(p, "x", NULL, 1, 0), RLY_MISUSE);
  assert_int_equal(rly_program_add_file(p, NULL, 0), RLY_MISUSE);
  assert_int_equal(rly_program_add_text(p, "x", "1", 1, RLY_RECHECK | 8),
                   RLY_MISUSE);
  assert_string_equal(rly_misuse(),
                      "rly_program_add_text: there are no such flags");
  assert_int_equal(rly_program_add_file(p, "x", ~0u), RLY_MISUSE);
  assert_string_equal(rly_misuse(),
                      "rly_program_add_file: there are no such flags");
  assert_null(rly_program_function(p, NULL));
  assert_null(rly_function_type_text(p, NULL));
  assert_null(rly_program_type_of(p, NULL, 0));
  assert_int_equal(rly_program_bind_file(p, NULL), RLY_MISUSE);
  assert_int_equal(rly_program_bind_tensor(p, "x", NULL), RLY_MISUSE);
  assert_int_equal(rly_program_bind_text(p, NULL), RLY_MISUSE);
  assert_int_equal(rly_session_call(g.session, NULL, 0, NULL, &v), RLY_MISUSE);
  assert_int_equal(rly_session_call(g.session, "f", 1, NULL, &v), RLY_MISUSE);
  assert_int_equal(rly_session_call(g.session, "f", 1, none, &v), RLY_MISUSE);
  assert_int_equal(rly_session_call(g.session, "f", -1, none, &v), RLY_MISUSE);
  assert_int_equal(rly_session_call(g.session, "f", 1, none, NULL), RLY_MISUSE);
  assert_int_equal(rly_session_call_bound(g.session, NULL, &v), RLY_MISUSE);
  assert_null(v);
  guest_end(&g);
}

/* A text that `:type` is asked for leaves the program as it was. */
/* What names are, for people. */
static void test_doc(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL,
              "/// Twice %x.\n"
              "def @twice(%x: int32) -> int32 { %x + %x }\n"
              "def @plain() { 1 }\n");
  assert_text(&g, rly_program_doc(g.program, "@twice"),
              "def @twice(%x: int32) -> int32\n\nTwice %x.\n");
  assert_text(&g, rly_program_doc(g.program, "@plain"), "def @plain()");
  assert_text(&g, rly_program_doc(g.program, "add"),
              "Sum, element by element; on bool the logical or.");
  char *list = rly_program_doc(g.program, "Cons");
  assert_non_null(strstr(list, "List[A]"));
  rly_text_free(g.cx, list);
  assert_null(rly_program_doc(g.program, "@none"));
  assert_null(rly_program_doc(g.program, NULL));
  assert_null(rly_program_doc(NULL, "add"));
  assert_string_equal(rly_operator_name(0), "add");
  size_t count = 0;
  while (rly_operator_name(count)) count++;
  assert_true(count > 250);
  assert_null(rly_operator_name(count + 1));
  guest_end(&g);
}

static void test_type_of(void **state) {
  (void)state;
  Guest g;
  guest_start(&g, NULL, "let %a = 1f;");
  assert_text(&g, rly_program_type_of(g.program, "(%a, True)", 10),
              "(float32, bool)");
  static const char *const others[] = {"let %z = 1;", "", "%a +",
                                       "def @z() { 1 }"};
  for (size_t i = 0; i < LENGTH(others); i++) {
    assert_null(rly_program_type_of(g.program, others[i], strlen(others[i])));
    assert_true(rly_diagnostic_count(g.cx) > 0);
    rly_diagnostics_clear(g.cx);
  }
  assert_int_equal(add(&g, "%z"), RLY_REFUSED);
  assert_null(rly_program_function(g.program, "z"));
  guest_end(&g);
}

static void test_senseless_tensors(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(NULL);
  int64_t shape[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  float x = 1;
  assert_null(rly_tensor_new(NULL, "float32", 1, shape, &x));
  assert_null(rly_tensor_new(cx, NULL, 1, shape, &x));
  assert_null(rly_tensor_new(cx, "float99", 1, shape, &x));
  assert_null(rly_tensor_new(cx, "float32", -1, shape, &x));
  assert_null(rly_tensor_new(cx, "float32", 9, shape, &x));
  assert_null(rly_tensor_new(cx, "float32", 1, NULL, &x));
  assert_null(rly_tensor_new(cx, "float32", 1, shape, NULL));
  assert_null(rly_tensor_new(cx, "float32", 1, (int64_t[]){-1}, &x));
  assert_null(
      rly_tensor_new(cx, "float64", 2, (int64_t[]){INT64_MAX / 8, 7}, &x));
  assert_null(rly_tensor_new(cx, "float32", 1, (int64_t[]){INT64_MAX / 8}, &x));
  assert_null(rly_tensor_borrow(cx, "float32", 1, shape, NULL, NULL, NULL));
  assert_null(rly_tensor_new(cx, "bool", 1, shape, "\2"));
  assert_null(
      rly_tensor_borrow(cx, "float32", 1, shape, (char *)&x + 1, NULL, NULL));
  assert_null(rly_context_new(&(rly_options){.threads = -1}));
  assert_null(rly_context_new(&(rly_options){.timeout = -1}));
  rly_tensor *empty = rly_tensor_new(cx, "float32", 1, (int64_t[]){0}, NULL);
  assert_non_null(empty);
  assert_int_equal(rly_tensor_count(empty), 0);
  assert_int_equal(rly_tensor_dim(empty, 1), -1);
  rly_tensor_free(empty);
  rly_context_free(cx);
}

/* Values and tensors of one owner are not another's. */
static void test_foreign_handles(void **state) {
  (void)state;
  Guest a, b;
  guest_start(&a, NULL, scale);
  guest_start(&b, NULL, "def @f(%x: Tensor[(2), float32]) { %x }");
  rly_tensor *of_a = vector(a.cx, 2, (float[]){1, 2});
  rly_value *v = rly_value_of_tensor(a.session, of_a), *result = NULL;
  assert_int_equal(rly_session_call(b.session, "f", 1, &v, &result),
                   RLY_MISUSE);
  assert_null(rly_value_of_tensor(b.session, of_a));
  const rly_function *of_b = rly_program_function(b.program, "f");
  assert_int_equal(rly_session_call_function(a.session, of_b, 1, &v, &result),
                   RLY_MISUSE);
  assert_int_equal(rly_session_call_bound(a.session, of_b, &result),
                   RLY_MISUSE);
  assert_int_equal(rly_program_bind_tensor(b.program, "w", of_a), RLY_MISUSE);
  assert_int_equal(rly_program_bindings_check(a.program, of_b), RLY_MISUSE);
  assert_null(result);
  rly_value_free(v);
  rly_tensor_free(of_a);
  guest_end(&a);
  guest_end(&b);
}

/* A dimension in the type is a number in its program's table alone. */
static void test_foreign_types(void **state) {
  (void)state;
  static const char text[] =
      "type Box[n: Dim] { Box(Tensor[(n), float32]) }\n"
      "def @f[n: Dim](%x: Box[n * 7 + 3], %y: Tensor[(n), float32]) { %y }";
  Guest a, b;
  guest_start(&a, NULL, text);
  guest_start(&b, NULL, "def @f(%x: int32) { %x }");
  const rly_function *f = rly_program_function(a.program, "f");
  const rly_type *box = rly_function_param_type(f, 0);
  rly_layout *layout = NULL;
  rly_text_free(a.cx, rly_type_text(a.program, box));
  assert_null(rly_type_text(b.program, box));
  assert_null(rly_function_type_text(b.program, f));
  assert_non_null(rly_constructor_field(a.program, box, 0, 0));
  assert_null(rly_constructor_field(b.program, box, 0, 0));
  assert_int_equal(rly_layout_new(b.program, box, "x", RLY_PIECES, &layout),
                   RLY_MISUSE);
  rly_tensor *x = vector(b.cx, 2, (float[]){1, 2});
  rly_value *v = rly_value_of_tensor(b.session, x);
  assert_null(rly_value_construct(b.session, box, "Box", 1, &v));
  rly_value_free(v);
  rly_tensor_free(x);
  guest_end(&a);
  guest_end(&b);
}

/* --- Allocations that fail ---------------------------------------------- */

static const char everything[] =
    "param @w: Tensor[(2), float32];\n"
    "type Pair { Pair(Tensor[(2), float32], List[int32]) }\n"
    "let @cell = ref(@w);\n"
    "def @turns(%n: int32, %x: Tensor[(1, 512), float32],\n"
    "           %y: Tensor[(1, 512), float32],\n"
    "           %w: Tensor[(512, 512), float32]) -> float32 {\n"
    "  if (%n == 0) { max(%x) + max(%y) } else {\n"
    "    @turns(%n - 1, nn.dense(%x, %w), nn.dense(%y, %w), %w)\n"
    "  }\n"
    "}\n"
    "def @main(%n: int32) -> Pair {\n"
    "  let %x = ones(shape=[1, 512], dtype=\"float32\");\n"
    "  let %w = ones(shape=[512, 512], dtype=\"float32\");\n"
    "  ref_write(@cell, ref_read(@cell) + @w * @turns(%n, %x, %x, %w));\n"
    "  Pair(ref_read(@cell), @map(fn (%i: int32) -> int32 { %i * %n },\n"
    "                             @range(3)))\n"
    "}\n";

/* Uses the result in every way there is. */
static void use_value(rly_context *cx, rly_value *v) {
  rly_text_free(cx, rly_value_text(v));
  rly_text_free(cx, rly_value_json(v));
  rly_text_free(cx, rly_value_type_text(v));
  rly_value *field = rly_value_field(v, 0);
  rly_tensor_free(rly_value_tensor(field));
  rly_value_free(field);
}

/* A session's limits are its own, and a fork's. */
static void test_limits_of_sessions(void **state) {
  (void)state;
  static const char text[] =
      "def @big(%n: int32) { sum(full(1f, shape=[2000000])) }";
  rly_context *cx = rly_context_new(&(rly_options){.max_memory = 1 << 28});
  rly_program *p = rly_program_new(cx);
  assert_int_equal(rly_program_add_text(p, "test", text, strlen(text), 0),
                   RLY_OK);
  rly_session *bounded = rly_session_new(p, NULL);
  rly_options limits = {
      .max_memory = 1 << 20, .max_depth = 77, .max_steps = 66, .timeout = 1000};
  assert_int_equal(rly_session_set_limits(bounded, &limits), RLY_OK);
  rly_session *other = rly_session_new(p, NULL);
  rly_session *fork = rly_session_fork(bounded, NULL);
  rly_session_limits(fork, &limits);
  assert_int_equal(limits.max_memory, 1 << 20);
  assert_int_equal(limits.max_depth, 77);
  assert_int_equal(limits.max_steps, 66);
  assert_true(limits.timeout == 1000);
  rly_session *all[] = {bounded, other, fork, bounded};
  for (int i = 0; i < 4; i++) {
    int32_t n = 1;
    rly_value *x = rly_value_of_elements(all[i], "int32", 0, NULL, &n), *y;
    rly_status wanted = all[i] == other ? RLY_OK : RLY_LIMIT;
    assert_int_equal(rly_session_call(all[i], "big", 1, &x, &y), wanted);
    if (wanted == RLY_OK) rly_value_free(y);
    rly_value_free(x);
  }
  for (int i = 0; i < 3; i++) rly_session_free(all[i]);
  rly_program_free(p);
  rly_context_free(cx);
}

/* Garbage in cycles is freed before a run is refused memory; and what a run
 * that was refused leaves, with its session. */
static void test_cycles_and_the_limit(void **state) {
  (void)state;
  static const char text[] =
      "type Ring { Open, Closed(ref(Ring), Tensor[(100000), float32]) }\n"
      "let @kept: ref(List[ref(Ring)]) = ref(Nil);\n"
      "def @ring() -> ref(Ring) {\n"
      "  let %c = ref(Open);\n"
      "  ref_write(%c, Closed(%c, full(1f, shape=[100000])));\n"
      "  %c\n"
      "}\n"
      "def @rings(%n: int32) -> int32 {\n"
      "  let %c = @ring();\n"
      "  if (%n == 0) { 0 } else { @rings(%n - 1) }\n"
      "}\n"
      "def @keep(%n: int32) -> int32 {\n"
      "  ref_write(@kept, Cons(@ring(), ref_read(@kept)));\n"
      "  if (%n == 0) { 0 } else { @keep(%n - 1) }\n"
      "}\n";
  rly_context *cx = rly_context_new(&(rly_options){.max_memory = 4 << 20});
  rly_program *p = rly_program_new(cx);
  assert_int_equal(rly_program_add_text(p, "test", text, strlen(text), 0),
                   RLY_OK);
  rly_session *first = rly_session_new(p, NULL);
  size_t before = 0;
  for (int round = 0; round < 3; round++) {
    rly_session *s = rly_session_new(p, NULL);
    for (int kept = 0; kept < 2; kept++) {
      int32_t n = 100;
      rly_value *x = rly_value_of_elements(s, "int32", 0, NULL, &n), *y;
      assert_int_equal(rly_session_call(s, kept ? "keep" : "rings", 1, &x, &y),
                       kept ? RLY_LIMIT : RLY_OK);
      if (!kept) rly_value_free(y);
      rly_value_free(x);
    }
    rly_session_free(s);
    if (round == 0) before = cx->mem.live;
    assert_int_equal(cx->mem.live, before);
  }
  rly_session_free(first);
  rly_program_free(p);
  rly_context_free(cx);
}

/* Which allocation is to fail, counted from where the context, or the session,
 * begins; and whether there were as many. */
typedef struct Failure {
  size_t in_context, in_session;
  bool reached;
} Failure;

static void failure_set(Mem *m, size_t n) {
  m->fail_at = n ? atomic_load(&m->count) + n : 0;
}

static void failure_note(Failure *f, const Mem *m) {
  if (m->fail_at && atomic_load(&m->count) >= m->fail_at) f->reached = true;
}

static rly_status run_session(rly_program *p, const rly_function *entry,
                              Failure *f) {
  rly_session *s = rly_session_new(p, NULL);
  if (!s) return RLY_LIMIT;
  failure_set(mem_root(session_store(s->vm)->heap.mem), f->in_session);
  rly_value *v;
  rly_status status = rly_session_call_bound(s, entry, &v);
  if (status == RLY_OK) use_value(p->cx, v);
  if (status == RLY_OK) rly_value_free(v);
  failure_note(f, mem_root(session_store(s->vm)->heap.mem));
  rly_session_free(s);
  return status;
}

static rly_status run_everything(rly_program *p, Failure *failure) {
  rly_status status =
      rly_program_add_text(p, "test", everything, strlen(everything), 0);
  if (status == RLY_OK) status = rly_program_bind_text(p, "w=[1, 2]");
  if (status == RLY_OK) status = rly_program_bind_text(p, "n=3");
  const rly_function *f = rly_program_function(p, "main");
  if (status == RLY_OK && !f) status = RLY_LIMIT;
  if (status == RLY_OK) status = rly_program_bindings_check(p, f);
  return status == RLY_OK ? run_session(p, f, failure) : status;
}

/* Runs the program with an allocation failing; false when it needed no more
 * than those before.  rly_context_free asserts that no byte is left. */
static bool survives(Failure f) {
  rly_context *cx = rly_context_new(NULL);
  assert_non_null(cx);
  failure_set(&cx->mem, f.in_context);
  rly_program *p = rly_program_new(cx);
  rly_status status = p ? run_everything(p, &f) : RLY_LIMIT;
  failure_note(&f, &cx->mem);
  if (status != RLY_OK && (status != RLY_LIMIT || !f.reached))
    fail_msg("allocation %zu, %zu: status %d", f.in_context, f.in_session,
             status);
  rly_program_free(p);
  rly_context_free(cx);
  return f.reached;
}

static void test_failing_allocations(void **state) {
  (void)state;
  size_t n = 1, m = 1;
  while (survives((Failure){.in_context = n})) n++;
  while (survives((Failure){.in_session = m})) m++;
  assert_true(n > 20 && m > 5);
}

/* --- The host's arithmetic ------------------------------------------------ */

/* Whatever rounding mode the host has chosen, the library rounds to nearest and
 * restores the host's mode. */
static void test_rounding(void **state) {
  (void)state;
  static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  static const char program[] =
      "def @f() { sum(full(0.1f, shape=[1000000])) }\n"
      "def @main() { (@f(), 1f / 3f) }";
  for (size_t i = 0; i < LENGTH(modes); i++) {
    Guest g;
    guest_start(&g, &(rly_options){.threads = 2}, program);
    rly_value *plain = call(&g, "main"), *turned;
    fesetround(modes[i]);
    turned = call(&g, "main");
    assert_int_equal(fegetround(), modes[i]);
    fesetround(FE_TONEAREST);
    char *expected = rly_value_text(plain);
    assert_text(&g, rly_value_text(turned), expected);
    rly_text_free(g.cx, expected);
    rly_value_free(plain);
    rly_value_free(turned);
    guest_end(&g);
  }
}

/* --- Deep programs ------------------------------------------------------- */

/* A function whose parameter's type is n tuples within one another. */
static void write_deep(char *text, int n) {
  char *at = stpcpy(text, "def @f(%x: ");
  at = (char *)memset(at, '(', (size_t)n) + n;
  at = stpcpy(at, "int8");
  for (int i = 0; i < n; i++) at = stpcpy(at, ",)");
  strcpy(at, ") { 1 }");
}

/* The code of what is reported of such a type; "": it is taken. */
static void deep_code(const rly_stack *stack, int n, char code[8]) {
  rly_context *cx = rly_context_new(&(rly_options){.stack = stack});
  rly_program *p = rly_program_new(cx);
  char *text = malloc((size_t)n * 3 + 100);
  assert_non_null(text);
  write_deep(text, n);
  rly_program_add_text(p, "test", text, strlen(text), 0);
  rly_diagnostic d = {.code = ""};
  rly_diagnostic_get(cx, 0, &d);
  snprintf(code, 8, "%s", d.code);
  free(text);
  rly_program_free(p);
  rly_context_free(cx);
}

static void on_deep_stack(const rly_stack *stack, void *data) {
  deep_code(stack, 100000, data);
}

/* On a stack of any size types nest 1,000 deep, that of the function included;
 * on one that grows with memory they nest as deep as memory goes. */
static void test_deep_stack(void **state) {
  (void)state;
  char code[8];
  deep_code(NULL, 999, code);
  assert_string_equal(code, "");
  deep_code(NULL, 1000, code);
  assert_string_equal(code, "E0214");
  deep_code(NULL, 1001, code);
  assert_string_equal(code, "E0006");
  rly_stack_run(on_deep_stack, code);
  assert_string_equal(code, "");
  rly_stack_run(NULL, NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_call),
      cmocka_unit_test(test_signature),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_elements),
      cmocka_unit_test(test_arrays),
      cmocka_unit_test(test_values_of_arrays),
      cmocka_unit_test(test_booleans_of_arrays),
      cmocka_unit_test(test_layout),
      cmocka_unit_test(test_value_call),
      cmocka_unit_test(test_steps),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_equality),
      cmocka_unit_test(test_equality_of_shared),
      cmocka_unit_test(test_equality_of_cycles),
      cmocka_unit_test(test_large_value),
      cmocka_unit_test(test_interrupted_text),
      cmocka_unit_test(test_interrupted_before_any_run),
      cmocka_unit_test(test_interrupts_between_runs),
      cmocka_unit_test(test_sessions_are_apart),
      cmocka_unit_test(test_small_view_of_much),
      cmocka_unit_test(test_borrowed_memory),
      cmocka_unit_test(test_files),
      cmocka_unit_test(test_files_of_params),
      cmocka_unit_test(test_errors),
      cmocka_unit_test(test_diagnostics_json),
      cmocka_unit_test(test_diagnostic_parts),
      cmocka_unit_test(test_call_refused),
      cmocka_unit_test(test_bindings_refused),
      cmocka_unit_test(test_params_when_used),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_limits_of_sessions),
      cmocka_unit_test(test_cycles_and_the_limit),
      cmocka_unit_test(test_interrupt),
      cmocka_unit_test(test_freeing_is_put_off),
      cmocka_unit_test(test_between_runs),
      cmocka_unit_test(test_recheck),
      cmocka_unit_test(test_kept_value),
      cmocka_unit_test(test_null_handles),
      cmocka_unit_test(test_null_values),
      cmocka_unit_test(test_senseless_arguments),
      cmocka_unit_test(test_type_of),
      cmocka_unit_test(test_doc),
      cmocka_unit_test(test_senseless_tensors),
      cmocka_unit_test(test_foreign_handles),
      cmocka_unit_test(test_foreign_types),
      cmocka_unit_test(test_failing_allocations),
      cmocka_unit_test(test_rounding),
      cmocka_unit_test(test_deep_stack),
  };
  return RUN_TESTS(tests);
}
