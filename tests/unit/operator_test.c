/* Operators of the host: results, failures, limits, and calls that make no
 * sense. */
#include <stdlib.h>

#include "tests/unit/host.h"

typedef struct Seen {
  int calls, released;
  int threads;
  rly_session *session; /* to be misused from within */
  rly_status inside;
} Seen;

/* x and its transpose interleaved: the operand may come as a view. */
static bool copy(void *data, rly_operator_call *call) {
  Seen *seen = data;
  seen->calls++;
  seen->threads = call->threads;
  if (seen->session) seen->inside = rly_session_run(seen->session, NULL, NULL);
  memcpy(call->result.data, call->operands[0].data,
         (size_t)call->result.count * sizeof(float));
  return true;
}

static bool refuse(void *data, rly_operator_call *call) {
  (void)data;
  return rly_operator_fail(call, "it refuses");
}

/* Fails, and says that it did not. */
static bool lie(void *data, rly_operator_call *call) {
  (void)data;
  rly_operator_fail(call, "it lies");
  return true;
}

static bool give_up(void *data, rly_operator_call *call) {
  (void)data, (void)call;
  return false;
}

/* Writes 7, which no bool is. */
static bool write_seven(void *data, rly_operator_call *call) {
  (void)data;
  *(int8_t *)call->results[call->result_count - 1].data = 7;
  return true;
}

static void release(void *data) { ((Seen *)data)->released++; }

static const char copy_of[] =
    "op @copy[n: Dim, m: Dim](%x: Tensor[(n, m), float32]) -> "
    "Tensor[(n, m), float32]";

static rly_status add(rly_program *p, const char *signature, Seen *seen,
                      bool (*run)(void *, rly_operator_call *)) {
  rly_operator op = {.signature = signature,
                     .run = run,
                     .release = seen ? release : NULL,
                     .data = seen};
  return rly_operator_add(p, &op);
}

static rly_status evaluate(rly_program *p, const char *text) {
  assert_int_equal(rly_program_add_text(p, "test", text, strlen(text), 0),
                   RLY_OK);
  rly_session *s = rly_session_new(p, NULL);
  rly_status status = rly_session_run(s, NULL, NULL);
  rly_session_free(s);
  return status;
}

static void test_views_are_contiguous(void **state) {
  (void)state;
  Seen seen = {0};
  rly_context *cx = rly_context_new(NULL);
  rly_program *p = rly_program_new(cx);
  assert_int_equal(add(p, copy_of, &seen, copy), RLY_OK);
  assert_int_equal(
      evaluate(p,
               "let %y = @copy(transpose([[1f, 2f, 3f], [4f, 5f, 6f]]));\n"
               "assert(all(%y == [[1f, 4f], [2f, 5f], [3f, 6f]]));\n"),
      RLY_OK);
  assert_int_equal(seen.calls, 1);
  assert_true(seen.threads >= 1);
  rly_program_free(p);
  rly_context_free(cx);
  assert_int_equal(seen.released, 1);
}

static void test_failures(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(NULL);
  rly_program *p = rly_program_new(cx);
  assert_int_equal(add(p, "op @no(%x: int32) -> int32", NULL, refuse), RLY_OK);
  assert_int_equal(add(p, "op @lie(%x: int32) -> int32", NULL, lie), RLY_OK);
  assert_int_equal(add(p, "op @up(%x: int32) -> int32", NULL, give_up), RLY_OK);
  assert_int_equal(
      add(p, "op @so(%x: int32) -> (int4, bool)", NULL, write_seven), RLY_OK);
  assert_int_equal(add(p, "op @four(%x: int32) -> int4", NULL, write_seven),
                   RLY_OK);
  const char *text =
      "def @f() { @no(1) } def @g() { @lie(1) } "
      "def @h() { @up(1) } def @i() { if (@so(1).1) { 1 } else { 2 } } "
      "def @j() { assert(@four(1) == 7i4); 1 } "
      "def @k() { grad(fn (%x: float32) { "
      "cast(@no(cast(%x, dtype=\"int32\")), dtype=\"float32\") "
      "})(1f) }";
  assert_int_equal(rly_program_add_text(p, "test", text, strlen(text), 0),
                   RLY_OK);
  rly_session *s = rly_session_new(p, NULL);
  const char *said[] = {"`@no`: it refuses", "`@lie`: it lies", "`@up`: failed",
                        "`@so`: an element of its result is no bool"};
  for (int i = 0; i < 4; i++) {
    rly_value *v = NULL;
    char name[2] = {(char)('f' + i), 0};
    assert_int_equal(rly_session_call(s, name, 0, NULL, &v), RLY_RUNTIME);
    assert_null(v);
    char *text_of = rly_session_diagnostics_text(s, false);
    if (!strstr(text_of, said[i]) || !strstr(text_of, "E0606"))
      fail_msg("`%s` is not in: %s", said[i], text_of);
    rly_text_free(cx, text_of);
    rly_session_diagnostics_clear(s);
  }
  rly_value *seven;
  assert_int_equal(rly_session_call(s, "j", 0, NULL, &seven), RLY_OK);
  rly_value_free(seven);
  rly_session_free(s);
  rly_program_free(p);
  rly_context_free(cx);
}

/* A function that runs its own session. */
static void test_misuse_from_within(void **state) {
  (void)state;
  Seen seen = {0};
  rly_context *cx = rly_context_new(NULL);
  rly_program *p = rly_program_new(cx);
  assert_int_equal(add(p, copy_of, &seen, copy), RLY_OK);
  const char *text = "let %x = @copy([[1f]]);";
  assert_int_equal(rly_program_add_text(p, "test", text, strlen(text), 0),
                   RLY_OK);
  seen.session = rly_session_new(p, NULL);
  assert_int_equal(rly_session_run(seen.session, NULL, NULL), RLY_OK);
  assert_int_equal(seen.inside, RLY_MISUSE);
  rly_session_free(seen.session);
  rly_program_free(p);
  rly_context_free(cx);
}

static void test_misuse(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(NULL);
  rly_program *p = rly_program_new(cx);
  rly_operator none = {.signature = "op @f(%x: int32) -> int32"};
  assert_int_equal(rly_operator_add(p, NULL), RLY_MISUSE);
  assert_string_equal(rly_misuse(),
                      "rly_operator_add: the operator has no description");
  assert_int_equal(rly_operator_add(p, &none), RLY_MISUSE);
  assert_string_equal(rly_misuse(),
                      "rly_operator_add: the operator has no function `run`");
  assert_int_equal(add(p, NULL, NULL, refuse), RLY_MISUSE);
  assert_string_equal(rly_misuse(),
                      "rly_operator_add: the operator has no signature");
  assert_int_equal(add(NULL, none.signature, NULL, refuse), RLY_MISUSE);
  char *long_one = calloc(1, 20000);
  assert_non_null(long_one);
  memset(long_one, ' ', 19999);
  assert_int_equal(add(p, long_one, NULL, refuse), RLY_MISUSE);
  free(long_one);
  assert_false(rly_operator_fail(NULL, "x"));
  assert_false(rly_operator_stopped(NULL));
  assert_int_equal(rly_diagnostic_total(cx), 0);
  rly_program_free(p);
  rly_context_free(cx);
}

/* What is refused leaves the program as it was, and keeps no `data`. */
static void test_refused(void **state) {
  (void)state;
  static const struct {
    const char *signature, *said;
  } cases[] = {
      {"op @f(%x: int32) -> Tensor[(?), int32]", "no function tells its shape"},
      {"op @f(%x: int32) -> (int32,)", "or a tuple of 2 to 8"},
      {"op @f(%x: int32) -> ((int32, int32), int32)", "gives a tensor"},
      {"op @f(%x: int32) -> (int32, int32, int32, int32, int32, int32, int32, "
       "int32, int32)",
       "or a tuple of 2 to 8"},
      {"op @f(%x: int32) -> (int32, Tensor[(?), int32])", "the result has `?`"},
      {"op @f[d: DType](%x: int32) -> (int32, Tensor[(2), d])",
       "no operand tells what `d` is here"},
      {"op @f[s: Shape, t: Shape](%x: Tensor[(s..., t...), int32], "
       "%y: Tensor[s, int32]) -> (Tensor[s, int32], Tensor[t, int32])",
       "no operand tells what `t` is here"},
      {"op @f(%x: (int32, int32)) -> int32", "takes tensors"},
      {"op @f() -> int32", "at least one"},
      {"op @f(%x) -> int32", "takes tensors"},
      {"def @f(%x: int32) -> int32 { %x } op @g(%x: int32) -> int32",
       "nothing else"},
      {"op @f[n: Dim](%x: int32) -> Tensor[(n), int32]", "E01"},
      {"op @f(%x: int32) -> int33", "int33"},
      {"op @f(%x: int32", "expected"},
      {"", "expected"},
  };
  Seen seen = {0};
  rly_context *cx = rly_context_new(NULL);
  rly_program *p = rly_program_new(cx);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(add(p, cases[i].signature, &seen, refuse), RLY_REFUSED);
    char *said = rly_diagnostics_text(cx, false);
    if (!strstr(said, cases[i].said))
      fail_msg("%s: `%s` is not in: %s", cases[i].signature, cases[i].said,
               said);
    rly_text_free(cx, said);
    rly_diagnostics_clear(cx);
  }
  assert_int_equal(add(p, copy_of, &seen, copy), RLY_OK);
  assert_int_equal(evaluate(p, "@copy([[1f]]);"), RLY_OK);
  rly_program_free(p);
  rly_context_free(cx);
  assert_int_equal(seen.released, 1);
}

/* Frees the session that is at work, by mistake twice. */
static bool frees(void *data, rly_operator_call *call) {
  rly_session *s = *(rly_session **)data;
  rly_session_free(s);
  rly_session_free(s);
  *(float *)call->result.data = 5;
  return true;
}

/* The call goes on to its end, and its result keeps the context alive; no other
 * call is taken. */
static void test_session_freed_from_within(void **state) {
  (void)state;
  static const char text[] = "def @main() { @free(1f) + 1f }";
  Host h;
  rly_operator op = {.signature = "op @free(%x: float32) -> float32",
                     .run = frees,
                     .data = &h.s};
  h = host_open_with(&op, text);
  rly_value *v = NULL, *none = NULL;
  assert_int_equal(rly_session_call(h.s, "main", 0, NULL, &v), RLY_OK);
  assert_int_equal(rly_session_call(h.s, "main", 0, NULL, &none), RLY_MISUSE);
  assert_non_null(strstr(rly_misuse(), "the session is freed"));
  rly_program_free(h.p);
  rly_context_free(h.cx);
  assert_true(*(const float *)rly_value_elements(v) == 6);
  rly_value_free(v);
  /* without a result's handle, the session ends with the call */
  h = host_open_with(&op, text);
  float y = 0;
  rly_array result = {.data = &y, .room = sizeof y};
  const rly_function *f = rly_program_function(h.p, "main");
  assert_int_equal(rly_session_call_arrays(h.s, f, 0, NULL, &result, &none),
                   RLY_OK);
  assert_true(y == 6);
  rly_program_free(h.p);
  rly_context_free(h.cx);
}

/* --- Functions as values -------------------------------------------------- */

/* x * 10 + 1, on scalars. */
static bool ten_times(void *data, rly_operator_call *call) {
  ++*(int *)data;
  float x = *(const float *)call->operands[0].data;
  *(float *)call->result.data = x * 10 + 1;
  return true;
}

static const char higher[] =
    "def @twice(%f: fn (float32) -> float32, %x: float32) { %f(%f(%x)) }\n"
    "def @of(%f: fn (float32) -> float32) { Some(%f) }\n"
    "def @plain(%x: float32) -> float32 { %x - 1f }\n"
    "let @k = 5f;\n"
    "let @bound = fn (%x: float32) { %x * @k };\n"
    "def @wrong(%x: int32) -> int32 { %x }\n";

static float twice(rly_session *s, rly_value *f, float x) {
  rly_value *y = NULL, *v = rly_value_of_elements(s, "float32", 0, NULL, &x);
  assert_int_equal(rly_session_call(s, "twice", 2, (rly_value *[]){f, v}, &y),
                   RLY_OK);
  float result = *(const float *)rly_value_elements(y);
  rly_value_free(v);
  rly_value_free(y);
  return result;
}

static rly_value *function(const Host *h, const char *name) {
  return rly_value_of_function(h->s, rly_program_function(h->p, name));
}

/* An operator of the host, a definition and a `let` are arguments, are called,
 * and stay in values that are made of them. */
static void test_functions_as_values(void **state) {
  (void)state;
  int calls = 0;
  rly_operator op = {.signature = "op @ten(%x: float32) -> float32",
                     .run = ten_times,
                     .data = &calls};
  Host h = host_open_with(&op, higher);
  rly_session *s = h.s;
  rly_value *ten = function(&h, "ten"), *plain = function(&h, "plain"),
            *bound = function(&h, "bound"), *y = NULL, *z = NULL;
  assert_int_equal(rly_value_kind(ten), RLY_FUNCTION);
  assert_true(twice(s, ten, 3) == 311);
  assert_int_equal(calls, 2);
  assert_true(twice(s, plain, 3) == 1);
  assert_true(twice(s, bound, 3) == 75);
  assert_int_equal(rly_session_call(s, "of", 1, &ten, &y), RLY_OK);
  rly_value_free(ten);
  rly_value *held = rly_value_field(y, 0);
  float one = 1;
  rly_value *x = rly_value_of_elements(s, "float32", 0, NULL, &one);
  assert_int_equal(rly_value_call(held, 1, &x, &z), RLY_OK);
  assert_true(*(const float *)rly_value_elements(z) == 11);
  rly_value_free(z);
  /* what does not fit, is none, or is another program's */
  rly_value *wrong = function(&h, "wrong");
  assert_int_equal(
      rly_session_call(s, "twice", 2, (rly_value *[]){wrong, x}, &z),
      RLY_REFUSED);
  rly_program *other = host_program(h.cx, "def @plain(%x: int32) { %x }");
  assert_null(rly_value_of_function(s, rly_program_function(other, "plain")));
  assert_null(rly_value_of_function(s, NULL));
  assert_null(rly_value_of_function(NULL, rly_program_function(h.p, "ten")));
  rly_value *all[] = {plain, bound, y, held, x, wrong};
  for (int i = 0; i < 6; i++) rly_value_free(all[i]);
  rly_program_free(other);
  host_close(&h);
}

/* A `let` that failed has no function: the first call reports why, later ones
 * that there is none. */
static void test_no_function(void **state) {
  (void)state;
  Host h = host_open(
      "def @fails(%n: int32) { fn (%x: int32) { %x + 1 / %n } }\n"
      "def @made(%n: int32) { let %k = 1 / %n; fn (%x: int32) { %x + %k } "
      "}\nlet @f = @made(0);\n");
  static const char *const codes[] = {"E0602", "E0504"};
  for (int i = 0; i < 2; i++) {
    rly_diagnostic d;
    assert_null(function(&h, "f"));
    assert_true(rly_session_diagnostic_get(h.s, 0, &d));
    assert_string_equal(d.code, codes[i]);
    rly_session_diagnostics_clear(h.s);
  }
  host_close(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_session_freed_from_within),
      cmocka_unit_test(test_functions_as_values),
      cmocka_unit_test(test_no_function),
      cmocka_unit_test(test_views_are_contiguous),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_misuse_from_within),
      cmocka_unit_test(test_misuse),
      cmocka_unit_test(test_refused),
  };
  return RUN_TESTS(tests);
}
