/* What a host makes of values, sees of types and params, and is told of calls
 * that make no sense. */
#include <pthread.h>
#include <stdio.h>

#include "tests/unit/host.h"

static const char text[] =
    "type Tree { Leaf, Node(left: Tree, here: Tensor[(2), float32], right: "
    "Tree) }\n"
    "param @w: Tensor[(2), float32];\n"
    "param @scale: float32 = 2f;\n"
    "param @pair: (float32, int32);\n"
    "def @total(%t: Tree) -> float32 { match (%t) { Leaf => 0f,\n"
    "  Node(%l, %x, %r) => @total(%l) + sum(%x) + @total(%r) } }\n"
    "def @length(%l: List[int32]) -> int32 {\n"
    "  match (%l) { Nil => 0, Cons(_, %r) => 1 + @length(%r) } }\n"
    "def @swap(%p: (int32, float32)) -> (float32, int32) { (%p.1, %p.0) }\n";

static rly_value *scalar(Host *h, const char *dtype, const void *bits) {
  rly_value *v = rly_value_of_elements(h->s, dtype, 0, NULL, bits);
  assert_non_null(v);
  return v;
}

static void assert_shows(Host *h, rly_value *v, const char *expected) {
  char *shown = rly_value_text(v);
  assert_non_null(shown);
  assert_string_equal(shown, expected);
  rly_text_free(h->cx, shown);
}

static const rly_type *param_of(Host *h, const char *name) {
  const rly_function *f = rly_program_function(h->p, name);
  assert_non_null(f);
  return rly_function_param_type(f, 0);
}

/* Frees the argument. */
static rly_value *call_with(Host *h, const char *name, rly_value *argument) {
  rly_value *v = NULL;
  assert_non_null(argument);
  assert_int_equal(rly_session_call(h->s, name, 1, &argument, &v), RLY_OK);
  rly_value_free(argument);
  return v;
}

static void assert_said(Host *h, const char *words) {
  char *said = rly_session_diagnostics_text(h->s, false);
  if (!strstr(said, words)) fail_msg("`%s` is not in: %s", words, said);
  rly_text_free(h->cx, said);
  rly_session_diagnostics_clear(h->s);
}

static void assert_misuse(const char *expected) {
  assert_string_equal(rly_misuse(), expected);
}

/* --- Values --------------------------------------------------------------- */

static void test_tuple(void **state) {
  (void)state;
  Host h = host_open(text);
  rly_value *fields[] = {scalar(&h, "int32", &(int32_t){7}),
                         scalar(&h, "float32", &(float){0.5f})};
  rly_value *pair = rly_value_tuple(h.s, 2, fields);
  rly_value_free(fields[0]); /* the tuple shares them */
  assert_shows(&h, pair, "(7, 0.5f)");
  rly_value *swapped = call_with(&h, "swap", pair);
  assert_shows(&h, swapped, "(0.5f, 7)");
  rly_value_free(swapped);
  rly_value *unit = rly_value_tuple(h.s, 0, NULL);
  assert_true(rly_value_is_unit(unit));
  rly_value_free(unit);
  rly_value_free(fields[1]);
  host_close(&h);
}

/* Cons(3, Cons(2, Cons(1, Nil))), from the end. */
static void test_list(void **state) {
  (void)state;
  Host h = host_open(text);
  const rly_type *t = param_of(&h, "length");
  rly_value *list = rly_value_construct(h.s, t, "Nil", 0, NULL);
  for (int32_t i = 1; i <= 3; i++) {
    rly_value *fields[] = {scalar(&h, "int32", &i), list};
    list = rly_value_construct(h.s, t, "Cons", 2, fields);
    assert_non_null(list);
    rly_value_free(fields[0]);
    rly_value_free(fields[1]);
  }
  assert_shows(&h, list, "Cons(3, Cons(2, Cons(1, Nil)))");
  rly_value *n = call_with(&h, "length", list);
  assert_shows(&h, n, "3");
  rly_value_free(n);
  host_close(&h);
}

static void test_constructor(void **state) {
  (void)state;
  Host h = host_open(text);
  const rly_type *t = param_of(&h, "total");
  rly_value *leaf = rly_value_construct(h.s, t, "Leaf", 0, NULL);
  rly_value *two = rly_value_of_elements(h.s, "float32", 1, (int64_t[]){2},
                                         (float[]){1, 2.5f});
  rly_value *inner =
      rly_value_construct(h.s, t, "Node", 3, (rly_value *[]){leaf, two, leaf});
  rly_value *outer =
      rly_value_construct(h.s, t, "Node", 3, (rly_value *[]){inner, two, leaf});
  rly_value *sum = call_with(&h, "total", outer);
  assert_shows(&h, sum, "7f");
  /* A tensor of another length, which no kernel would ask about. */
  rly_value *three = rly_value_of_elements(h.s, "float32", 1, (int64_t[]){3},
                                           (float[]){1, 2, 3});
  assert_null(rly_value_construct(h.s, t, "Node", 3,
                                  (rly_value *[]){leaf, three, leaf}));
  assert_said(&h,
              "field 1 of `Node` is of type Tensor[(2), float32], but "
              "Tensor[(3), float32] is given");
  assert_null(rly_value_construct(h.s, t, "Node", 1, &leaf));
  assert_misuse(
      "rly_value_construct: `Node` has 3 fields, values of the session, not 1");
  assert_null(rly_value_construct(h.s, t, "Twig", 0, NULL));
  assert_misuse(
      "rly_value_construct: the type has no constructor of that name");
  rly_value *made[] = {leaf, two, inner, sum, three};
  for (size_t i = 0; i < LENGTH(made); i++) rly_value_free(made[i]);
  host_close(&h);
}

/* A list that grows until there is no memory for it; then all is given back. */
static void test_without_memory(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(&(rly_options){.max_memory = 1200000});
  Host h = {.cx = cx, .p = host_program(cx, text)};
  h.s = rly_session_new(h.p, NULL);
  const rly_type *t = param_of(&h, "length");
  rly_value *list = rly_value_construct(h.s, t, "Nil", 0, NULL);
  rly_value *one = scalar(&h, "int32", &(int32_t){1}), *next;
  long n = 0;
  while ((next = rly_value_construct(h.s, t, "Cons", 2,
                                     (rly_value *[]){one, list}))) {
    rly_value_free(list);
    list = next;
    n++;
  }
  assert_true(n > 1000);
  assert_said(&h, "E0701");
  rly_value_free(list);
  list = rly_value_tuple(h.s, 2, (rly_value *[]){one, one});
  assert_shows(&h, list, "(1, 1)");
  rly_value_free(list);
  rly_value_free(one);
  host_close(&h);
}

/* --- Types and params ----------------------------------------------------- */

static void test_types(void **state) {
  (void)state;
  Host h = host_open(text);
  const rly_type *tree = param_of(&h, "total"), *list = param_of(&h, "length");
  assert_string_equal(rly_type_name(tree), "Tree");
  assert_int_equal(rly_type_constructor_count(tree), 2);
  assert_string_equal(rly_type_constructor(tree, 1), "Node");
  assert_int_equal(rly_constructor_field_count(tree, 0), 0);
  assert_int_equal(rly_constructor_field_count(tree, 1), 3);
  assert_string_equal(rly_constructor_label(tree, 1, 1), "here");
  assert_ptr_equal(rly_constructor_field(h.p, tree, 1, 2), tree);
  assert_int_equal(rly_type_dim(rly_constructor_field(h.p, tree, 1, 1), 0), 2);
  /* The element's type is that of this list, and not a variable. */
  int cons = !strcmp(rly_type_constructor(list, 0), "Cons") ? 0 : 1;
  assert_string_equal(rly_type_dtype(rly_constructor_field(h.p, list, cons, 0)),
                      "int32");
  assert_null(rly_constructor_label(list, cons, 0));
  char *shown = rly_type_text(h.p, list);
  assert_string_equal(shown, "List[int32]");
  rly_text_free(h.cx, shown);
  assert_null(rly_type_name(rly_constructor_field(h.p, list, cons, 0)));
  assert_int_equal(rly_constructor_field_count(tree, 2), -1);
  host_close(&h);
}

static void test_params(void **state) {
  (void)state;
  Host h = host_open(text);
  assert_int_equal(rly_program_param_count(h.p), 3);
  assert_string_equal(rly_program_param_name(h.p, 0), "w");
  assert_int_equal(rly_type_dim(rly_program_param_type(h.p, 0), 0), 2);
  assert_false(rly_program_param_has_default(h.p, 0));
  assert_true(rly_program_param_has_default(h.p, 1));
  assert_false(rly_program_param_is_bound(h.p, 0));
  assert_int_equal(rly_program_bind_text(h.p, "w=[1, 2]"), RLY_OK);
  assert_int_equal(rly_program_bind_text(h.p, "pair.1=4"), RLY_OK);
  assert_true(rly_program_param_is_bound(h.p, 0));
  assert_false(rly_program_param_is_bound(h.p, 1));
  assert_true(rly_program_param_is_bound(h.p, 2)); /* by a part */
  assert_null(rly_program_param_name(h.p, 3));
  host_close(&h);
}

/* A name that is misspelt is told at once, and what was bound stays. */
static void test_bind_param(void **state) {
  (void)state;
  Host h = host_open(text);
  rly_tensor *three = rly_tensor_new(h.cx, "float32", 0, NULL, &(float){3}),
             *wide = rly_tensor_new(h.cx, "float64", 0, NULL, &(double){4});
  assert_int_equal(rly_program_bind_param(h.p, "scale", three), RLY_OK);
  assert_int_equal(rly_program_bind_param(h.p, "scala", three), RLY_REFUSED);
  assert_int_equal(rly_program_bind_param(h.p, "scale", wide), RLY_REFUSED);
  char *said = rly_diagnostics_text(h.cx, false);
  assert_non_null(strstr(said, "the program has nothing named `scala`"));
  assert_non_null(strstr(said, "`scale`?"));
  assert_non_null(strstr(said, "float64"));
  rly_text_free(h.cx, said);
  rly_value *v = NULL;
  assert_int_equal(
      rly_program_add_text(h.p, "more", "def @s() { @scale }", 19, 0), RLY_OK);
  assert_int_equal(rly_session_call(h.s, "s", 0, NULL, &v), RLY_OK);
  assert_shows(&h, v, "3f");
  rly_value_free(v);
  rly_tensor_free(three);
  rly_tensor_free(wide);
  host_close(&h);
}

/* --- Misuse --------------------------------------------------------------- */

static void *no_text(void *data) {
  *(bool *)data = !*rly_misuse();
  return NULL;
}

static void test_misuse(void **state) {
  (void)state;
  Host h = host_open(text), other = host_open(text);
  rly_value *foreign = scalar(&other, "int32", &(int32_t){1}), *v = NULL;
  assert_int_equal(rly_session_call(h.s, "length", 1, &foreign, &v),
                   RLY_MISUSE);
  assert_misuse("rly_session_call: argument 1 is a value of another session");
  assert_int_equal(rly_session_call(NULL, "length", 0, NULL, &v), RLY_MISUSE);
  assert_misuse("rly_session_call: the session is NULL");
  assert_int_equal(rly_program_bind_text(NULL, "x=1"), RLY_MISUSE);
  assert_misuse("rly_program_bind_text: the program is NULL");
  assert_null(rly_tensor_new(h.cx, "float3", 0, NULL, &v));
  assert_misuse(
      "rly_tensor_new: there is no such dtype (dtype float3, rank 0)");
  assert_null(rly_context_new(&(rly_options){.threads = -1}));
  assert_misuse("rly_context_new: threads and timeout must not be negative");
  bool clean = false;
  pthread_t thread;
  pthread_create(&thread, NULL, no_text, &clean);
  pthread_join(thread, NULL);
  assert_true(clean);
  /* What does not fit is no misuse but refused, with its place and types. */
  rly_value *one = scalar(&h, "int32", &(int32_t){1});
  assert_int_equal(rly_session_call(h.s, "length", 1, &one, &v), RLY_REFUSED);
  assert_said(&h,
              "argument 1 of `@length` is of type List[int32], but int32 is "
              "given");
  assert_int_equal(rly_session_call(h.s, "length", 0, NULL, &v), RLY_REFUSED);
  assert_said(&h, "a call of `@length` needs 1 arguments, not 0");
  assert_string_equal(rly_status_name(RLY_REFUSED), "refused");
  assert_null(rly_status_name((rly_status)7));
  rly_value_free(one);
  rly_value_free(foreign);
  host_close(&h);
  host_close(&other);
}

/* --- Many diagnostics ----------------------------------------------------- */

static void count_entry(void *data, const rly_log_entry *entry) {
  (void)entry;
  ++*(int *)data;
}

/* A host that clears nothing finds the first 20 and the newest. */
static void test_many_diagnostics(void **state) {
  (void)state;
  Host h = host_open(text);
  rly_value *v = NULL;
  rly_diagnostic d;
  char name[16];
  int logged = 0;
  rly_log log = {count_entry, &logged, RLY_LOG_WARNING};
  assert_int_equal(rly_context_set_log(h.cx, &log), RLY_OK);
  for (size_t i = 1; i <= 25; i++) {
    snprintf(name, sizeof name, "none%zu", i);
    assert_int_equal(rly_session_call(h.s, name, 0, NULL, &v), RLY_REFUSED);
    size_t kept = i < 21 ? i : 21;
    assert_int_equal(rly_session_diagnostic_count(h.s), kept);
    assert_true(rly_session_diagnostic_get(h.s, kept - 1, &d));
    assert_non_null(strstr(d.message, name));
    assert_false(rly_session_diagnostic_get(h.s, kept, &d));
    assert_int_equal(rly_program_bind_file(h.p, "/none.npy"), RLY_REFUSED);
  }
  assert_int_equal(logged, 50);
  assert_true(rly_session_diagnostic_get(h.s, 19, &d));
  assert_non_null(strstr(d.message, "@none20"));
  assert_int_equal(rly_session_diagnostic_total(h.s), 25);
  assert_int_equal(rly_diagnostic_count(h.cx), 21);
  assert_int_equal(rly_diagnostic_total(h.cx), 25);
  rly_session_diagnostics_clear(h.s);
  rly_diagnostics_clear(h.cx);
  assert_int_equal(rly_session_diagnostic_total(h.s), 0);
  assert_int_equal(rly_diagnostic_total(h.cx), 0);
  assert_int_equal(rly_session_call(h.s, "none", 0, NULL, &v), RLY_REFUSED);
  assert_said(&h, "no such function: `@none`");
  host_close(&h);
}

/* The tensors of a tuple fit as arguments do; what the declaration only names
 * is compared when the call starts. */
static void test_tuples_of_tensors(void **state) {
  (void)state;
  Host h = host_open(text);
  static const char more[] =
      "def @both[n: Dim](%p: (Tensor[(n), float32], Tensor[(n), float32]))\n"
      "  -> float32 { sum(%p.0) + sum(%p.1) }\n"
      "def @deep(%p: ((Tensor[(3), float32], int32), int32)) { %p.0.1 }\n";
  assert_int_equal(rly_program_add_text(h.p, "more", more, strlen(more), 0),
                   RLY_OK);
  float x[] = {1, 2, 3, 4};
  rly_value *three =
      rly_value_of_elements(h.s, "float32", 1, (int64_t[]){3}, x);
  rly_value *four = rly_value_of_elements(h.s, "float32", 1, (int64_t[]){4}, x);
  rly_value *one = scalar(&h, "int32", &(int32_t){1}), *y = NULL;
  rly_value *same = rly_value_tuple(h.s, 2, (rly_value *[]){three, three});
  rly_value *other = rly_value_tuple(h.s, 2, (rly_value *[]){three, four});
  float w[] = {0, 0}, pair[] = {0};
  rly_tensor *bound[] = {rly_tensor_new(h.cx, "float32", 1, (int64_t[]){2}, w),
                         rly_tensor_new(h.cx, "float32", 0, NULL, pair),
                         rly_tensor_new(h.cx, "int32", 0, NULL, pair)};
  const char *names[] = {"w", "pair.0", "pair.1"};
  for (int i = 0; i < 3; i++) {
    rly_program_bind_tensor(h.p, names[i], bound[i]);
    rly_tensor_free(bound[i]);
  }
  assert_int_equal(rly_session_call(h.s, "both", 1, &same, &y), RLY_OK);
  assert_shows(&h, y, "12f");
  rly_value_free(y);
  assert_int_equal(rly_session_call(h.s, "both", 1, &other, &y), RLY_RUNTIME);
  for (int wrong = 0; wrong < 2; wrong++) {
    rly_value *in =
        rly_value_tuple(h.s, 2, (rly_value *[]){wrong ? four : three, one});
    rly_value *out = rly_value_tuple(h.s, 2, (rly_value *[]){in, one});
    rly_status status = rly_session_call(h.s, "deep", 1, &out, &y);
    assert_int_equal(status, wrong ? RLY_REFUSED : RLY_OK);
    if (!wrong) rly_value_free(y);
    rly_value_free(in);
    rly_value_free(out);
  }
  rly_value *all[] = {three, four, one, same, other};
  for (int i = 0; i < 5; i++) rly_value_free(all[i]);
  host_close(&h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tuples_of_tensors),
      cmocka_unit_test(test_tuple),
      cmocka_unit_test(test_list),
      cmocka_unit_test(test_constructor),
      cmocka_unit_test(test_without_memory),
      cmocka_unit_test(test_types),
      cmocka_unit_test(test_params),
      cmocka_unit_test(test_bind_param),
      cmocka_unit_test(test_misuse),
      cmocka_unit_test(test_many_diagnostics),
  };
  return RUN_TESTS(tests);
}
