/* The state of sessions through rly.h: the list of cells, and that setting,
 * snapshots, forks, resets, files and other versions of a program do as they
 * say, whatever the state consists of.  lib/handles.h is included only to make
 * an allocation fail.
 *
 * A state that is loaded wrongly goes on computing, only wrongly; so loading
 * either gives back all cells bit for bit, with their sharing and their cycles,
 * or changes nothing.  Files are damaged in each of their parts; skeletons that
 * lie are also read without a file, as a checksum is no defence against who can
 * compute it. */
#include "include/rly.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/handles.h"
#include "tests/unit/unit.h"

typedef struct Bench {
  rly_context *cx;
  rly_program *program;
  rly_session *session;
} Bench;

static void bench_open(Bench *b, rly_context *cx, const char *text) {
  b->cx = cx ? cx : rly_context_new(NULL);
  b->program = rly_program_new(b->cx);
  rly_status status =
      rly_program_add_text(b->program, "test", text, strlen(text), 0);
  if (status != RLY_OK) fail_msg("%s", rly_diagnostics_text(b->cx, false));
  b->session = rly_session_new(b->program, NULL);
  assert_non_null(b->session);
}

static void bench_close(Bench *b) {
  rly_session_free(b->session);
  rly_program_free(b->program);
  rly_context_free(b->cx);
}

static void assert_said(rly_session *s, rly_context *cx, const char *words) {
  char *text = rly_session_diagnostics_text(s, false);
  assert_non_null(text);
  if (!strstr(text, words)) fail_msg("`%s` is not in: %s", words, text);
  rly_text_free(cx, text);
  rly_session_diagnostics_clear(s);
}

/* The result of a call of `name`, as text. */
static void assert_gives(rly_context *cx, rly_session *s, const char *name,
                         const char *expected) {
  rly_value *v = NULL;
  rly_status status = rly_session_call(s, name, 0, NULL, &v);
  if (status != RLY_OK)
    fail_msg("%s: %s", name, rly_session_diagnostics_text(s, false));
  char *text = rly_value_json(v);
  assert_string_equal(text, expected);
  rly_text_free(cx, text);
  rly_value_free(v);
}

#define INT(n) "{\"dtype\": \"int32\", \"shape\": [], \"data\": [" #n "]}"

static const char counter[] =
    "let @n = ref(1);\n"
    "def @main() -> int32 {\n"
    "  ref_write(@n, ref_read(@n) + 1); ref_read(@n)\n"
    "}\n";

/* --- The list ----------------------------------------------------------- */

/* Paths, types and aliases, as state/state.h says they are written. */
static void assert_listed(const char *text, const char *const *rows) {
  Bench b;
  bench_open(&b, NULL, text);
  rly_state *st = rly_session_state(b.session);
  assert_non_null(st);
  size_t i = 0;
  for (; rows[3 * i]; i++) {
    assert_true(i < rly_state_count(st));
    assert_string_equal(rly_state_path(st, i), rows[3 * i]);
    assert_string_equal(rly_state_type(st, i), rows[3 * i + 1]);
    const char *alias = rly_state_alias(st, i, 0);
    assert_string_equal(alias ? alias : "", rows[3 * i + 2]);
  }
  assert_int_equal(rly_state_count(st), i);
  assert_null(rly_state_path(st, i));
  assert_null(rly_state_type(st, i));
  rly_state_free(st);
  bench_close(&b);
}

static void test_paths(void **state) {
  (void)state;
  assert_listed("1 + 1;", (const char *const[]){NULL});
  assert_listed(
      "let @a = ref(1);\n"
      "let %p = (ref(2f), (3, ref(True)));\n"
      "let @l = Cons(ref(1), Cons(ref(2), Nil));\n"
      "let @nested = ref(ref(5));\n"
      "let @f = { let %n = ref(1); let %m = ref(2f);\n"
      "           fn () -> float32 { ref_write(%m, 3f); ref_read(%m)\n"
      "             + cast(ref_read(%n), dtype=\"float32\") } };\n"
      "let @again = @a;\n"
      "let @plain = [1f, 2f];\n",
      (const char *const[]){"@a",
                            "ref(int32)",
                            "@again",
                            "%p.0",
                            "ref(float32)",
                            "",
                            "%p.1.1",
                            "ref(bool)",
                            "",
                            "@l.Cons.0",
                            "ref(int32)",
                            "",
                            "@l.Cons.1.Cons.0",
                            "ref(int32)",
                            "",
                            "@nested",
                            "ref(ref(int32))",
                            "",
                            "@nested^",
                            "ref(int32)",
                            "",
                            "@f{%m}",
                            "ref(float32)",
                            "",
                            "@f{%n}",
                            "ref(int32)",
                            "",
                            NULL});
}

/* A cell that leads back to itself is listed once; its way back, too. */
static void test_cycle(void **state) {
  (void)state;
  assert_listed(
      "type Loop { End, Next(Ref[Loop]) }\n"
      "let @r: Ref[Loop] = ref(End);\n"
      "let @u = ref_write(@r, Next(@r));\n",
      (const char *const[]){"@r", "ref(Loop[])", "@r^.Next.0", NULL});
}

/* --- One cell ----------------------------------------------------------- */

static void test_get_and_set(void **state) {
  (void)state;
  Bench b;
  bench_open(&b, NULL, counter);
  assert_gives(b.cx, b.session, "main", INT(2));
  assert_gives(b.cx, b.session, "main", INT(3));
  assert_gives(b.cx, b.session, "main", INT(4));
  rly_value *v = rly_session_get(b.session, "@n");
  assert_non_null(v);
  assert_int_equal(*(const int32_t *)rly_value_elements(v), 4);
  rly_value_free(v);
  v = rly_value_of_elements(b.session, "int32", 0, NULL, &(int32_t){41});
  assert_int_equal(rly_session_set(b.session, "@n", v), RLY_OK);
  assert_gives(b.cx, b.session, "main", INT(42));
  assert_int_equal(rly_session_set(b.session, "@m", v), RLY_REFUSED);
  assert_said(b.session, b.cx, "no such cell");
  rly_value_free(v);
  v = rly_value_of_elements(b.session, "float32", 0, NULL, &(float){1});
  assert_int_equal(rly_session_set(b.session, "@n", v), RLY_REFUSED);
  assert_said(b.session, b.cx, "the cell holds int32, the value is float32");
  rly_value_free(v);
  assert_null(rly_session_get(b.session, "@m"));
  assert_said(b.session, b.cx, "error[E0504]");
  assert_gives(b.cx, b.session, "main", INT(43));
  bench_close(&b);
}

static void set_number(rly_session *s, const char *path, int32_t n) {
  rly_value *v = rly_value_of_elements(s, "int32", 0, NULL, &n);
  assert_int_equal(rly_session_set(s, path, v), RLY_OK);
  rly_value_free(v);
}

static int32_t number_in(rly_session *s, const char *path) {
  rly_value *v = rly_session_get(s, path);
  assert_non_null(v);
  int32_t n = *(const int32_t *)rly_value_elements(v);
  rly_value_free(v);
  return n;
}

/* A host's cell is one of the state's: listed after them, remembered, copied,
 * and left alone by a reset, which knows nothing of it. */
static void test_host_cell(void **state) {
  (void)state;
  Bench b;
  bench_open(&b, NULL, counter);
  rly_value *one =
      rly_value_of_elements(b.session, "int32", 0, NULL, &(int32_t){1});
  assert_int_equal(rly_session_add_cell(b.session, "h.left", one), RLY_OK);
  assert_int_equal(rly_session_add_cell(b.session, "h.left", one), RLY_REFUSED);
  assert_said(b.session, b.cx, "such a cell already");
  static const char *const bad[] = {"", "a b", "a^", "@n", "a\n"};
  for (int i = 0; i < 5; i++)
    assert_int_equal(rly_session_add_cell(b.session, bad[i], one), RLY_MISUSE);
  rly_value_free(one);
  rly_state *list = rly_session_state(b.session);
  assert_int_equal(rly_state_count(list), 2);
  assert_string_equal(rly_state_path(list, 1), "$h.left");
  assert_string_equal(rly_state_type(list, 1), "ref(int32)");
  rly_state_free(list);
  rly_snapshot *then = rly_session_snapshot(b.session);
  set_number(b.session, "$h.left", 2);
  rly_session *fork = rly_session_fork(b.session, NULL);
  assert_non_null(fork);
  assert_int_equal(number_in(fork, "$h.left"), 2);
  set_number(fork, "$h.left", 3);
  assert_int_equal(number_in(b.session, "$h.left"), 2);
  assert_int_equal(rly_session_restore(b.session, then), RLY_OK);
  assert_int_equal(number_in(b.session, "$h.left"), 1);
  set_number(b.session, "@n", 7);
  set_number(b.session, "$h.left", 7);
  assert_int_equal(rly_session_reset(b.session), RLY_OK);
  assert_int_equal(number_in(b.session, "@n"), 1);
  assert_int_equal(number_in(b.session, "$h.left"), 7);
  rly_snapshot_free(then);
  rly_session_free(fork);
  bench_close(&b);
}

/* --- Snapshots, forks, resets ------------------------------------------- */

/* State of every kind: tensors, tuples, a list that grows, cells in it, a
 * function in a cell, a cycle. */
static const char everything[] =
    "type Loop { End, Next(Ref[Loop]) }\n"
    "let @x = ref([1f, 2f]);\n"
    "let @pair = ref((0, 1f));\n"
    "let @log: Ref[List[Ref[int32]]] = ref(Nil);\n"
    "let @loop: Ref[Loop] = ref(End);\n"
    "let @tied = ref_write(@loop, Next(@loop));\n"
    "let @f = ref(fn (%i: int32) -> int32 { %i + 1 });\n"
    "def @sum(%l: List[Ref[int32]]) -> int32 {\n"
    "  match (%l) { Nil => 0, Cons(%r, %t) => ref_read(%r) + @sum(%t) }\n"
    "}\n"
    "def @step() -> int32 {\n"
    "  let %p = ref_read(@pair);\n"
    "  let %i = %p.0 + 1;\n"
    "  ref_write(@pair, (%i, %p.1 * 2f));\n"
    "  ref_write(@x, ref_read(@x) * 2f);\n"
    "  ref_write(@log, Cons(ref(%i), ref_read(@log)));\n"
    "  let %g = ref_read(@f);\n"
    "  ref_write(@f, fn (%k: int32) -> int32 { %g(%k) + %i });\n"
    "  @sum(ref_read(@log)) + (ref_read(@f))(0)\n"
    "}\n"
    "def @seen() {\n"
    "  (ref_read(@x), ref_read(@pair), @sum(ref_read(@log)),\n"
    "   (ref_read(@f))(0))\n"
    "}\n";

static char *seen(rly_session *s) {
  rly_value *v = NULL;
  assert_int_equal(rly_session_call(s, "seen", 0, NULL, &v), RLY_OK);
  char *text = rly_value_json(v);
  rly_value_free(v);
  assert_non_null(text);
  return text;
}

static void assert_seen(rly_context *cx, rly_session *s, char *expected) {
  char *text = seen(s);
  assert_string_equal(text, expected);
  rly_text_free(cx, text);
}

static void steps(rly_session *s, int n) {
  for (; n > 0; n--) {
    rly_value *v = NULL;
    assert_int_equal(rly_session_call(s, "step", 0, NULL, &v), RLY_OK);
    rly_value_free(v);
  }
}

static void test_snapshot(void **state) {
  (void)state;
  Bench b;
  bench_open(&b, NULL, everything);
  steps(b.session, 3);
  char *then = seen(b.session);
  rly_snapshot *snapshot = rly_session_snapshot(b.session);
  assert_non_null(snapshot);
  for (int i = 0; i < 2; i++) {
    steps(b.session, 2 + i);
    assert_int_equal(rly_session_restore(b.session, snapshot), RLY_OK);
    assert_seen(b.cx, b.session, then);
  }
  rly_text_free(b.cx, then);
  rly_snapshot_free(snapshot);
  bench_close(&b);
}

static void test_fork(void **state) {
  (void)state;
  Bench b;
  bench_open(&b, NULL, everything);
  steps(b.session, 3);
  char *then = seen(b.session);
  rly_session *fork = rly_session_fork(b.session, NULL);
  assert_non_null(fork);
  assert_seen(b.cx, fork, then);
  steps(b.session, 2);
  assert_seen(b.cx, fork, then);
  char *later = seen(b.session);
  steps(fork, 2);
  assert_seen(b.cx, fork, later);
  assert_seen(b.cx, b.session, later);
  rly_text_free(b.cx, then);
  rly_text_free(b.cx, later);
  rly_session_free(b.session);
  b.session = fork; /* lives on without it */
  steps(fork, 1);
  bench_close(&b);
}

/* A reset gives what a new session would, in the same cells: an older snapshot
 * still serves. */
static void test_reset(void **state) {
  (void)state;
  Bench b;
  bench_open(&b, NULL, everything);
  char *first = seen(b.session);
  steps(b.session, 3);
  char *then = seen(b.session);
  rly_snapshot *snapshot = rly_session_snapshot(b.session);
  assert_int_equal(rly_session_reset(b.session), RLY_OK);
  assert_seen(b.cx, b.session, first);
  steps(b.session, 3);
  assert_seen(b.cx, b.session, then);
  steps(b.session, 1);
  assert_int_equal(rly_session_restore(b.session, snapshot), RLY_OK);
  assert_seen(b.cx, b.session, then);
  rly_snapshot_free(snapshot);
  rly_text_free(b.cx, first);
  rly_text_free(b.cx, then);
  bench_close(&b);
}

/* A call of the host that interrupts the session which it was told of. */
static bool interrupt(void *data, rly_operator_call *call) {
  rly_session **session = data;
  if (*session) rly_session_interrupt(*session);
  memcpy(call->result.data, call->operands[0].data, sizeof(int32_t));
  return true;
}

static const char slow[] =
    "def @loop(%n: int32) -> int32 {\n"
    "  if (%n == 0) { 0 } else { @loop(%n - 1) }\n"
    "}\n"
    "let @stopped = ref(@stop(7));\n"
    "let @n = ref(@loop(100000) + 3);\n"
    "let @wide = ref(zeros(shape=[1000000], dtype=\"float32\"));\n"
    "def @main() -> int32 { ref_read(@n) }\n";

static void assert_reset(const Bench *b, rly_status wanted, const char *said) {
  assert_int_equal(rly_session_reset(b->session), wanted);
  assert_said(b->session, b->cx, said);
  assert_gives(b->cx, b->session, "main", INT(3));
}

/* What ends the session's runs ends a reset, which then changes nothing. */
static void test_reset_is_stopped(void **state) {
  (void)state;
  rly_session *told = NULL;
  Bench b = {.cx = rly_context_new(NULL)};
  b.program = rly_program_new(b.cx);
  rly_operator op = {.signature = "op @stop(%x: int32) -> int32",
                     .run = interrupt,
                     .data = &told};
  assert_int_equal(rly_operator_add(b.program, &op), RLY_OK);
  assert_int_equal(
      rly_program_add_text(b.program, "test", slow, strlen(slow), 0), RLY_OK);
  b.session = rly_session_new(b.program, NULL);
  assert_gives(b.cx, b.session, "main", INT(3));
  told = b.session;
  assert_reset(&b, RLY_INTERRUPTED, "E0704");
  told = NULL;
  rly_session_set_limits(b.session, &(rly_options){.max_steps = 50000});
  assert_reset(&b, RLY_LIMIT, "E0707");
  rly_session_set_limits(b.session, &(rly_options){.max_memory = 5 << 20});
  assert_reset(&b, RLY_LIMIT, "E0701");
  rly_session_set_limits(b.session, &(rly_options){.max_memory = 10 << 20});
  assert_int_equal(rly_session_reset(b.session), RLY_OK);
  bench_close(&b);
}

/* --- Files -------------------------------------------------------------- */

static const char model[] =
    "let @h = ref(zeros(shape=[2, 3], dtype=\"float32\"));\n"
    "let @both = ref((0, [0f16, 1f16]));\n"
    "let @log: Ref[List[(int32, Ref[int32])]] = ref(Nil);\n"
    "def @step() -> int32 {\n"
    "  let %i = (ref_read(@both)).0 + 1;\n"
    "  ref_write(@h, ref_read(@h) + 0.1f);\n"
    "  ref_write(@both, (%i, (ref_read(@both)).1));\n"
    "  ref_write(@log, Cons((%i, ref(%i * 10)), ref_read(@log)));\n"
    "  %i\n"
    "}\n"
    "def @seen() { (ref_read(@h), ref_read(@both), ref_read(@log)) }\n";

static void temporary(char path[32]) {
  strcpy(path, "/tmp/rly-state-XXXXXX");
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
}

static void test_save_and_load(void **state) {
  (void)state;
  char path[32];
  temporary(path);
  Bench b, c;
  bench_open(&b, NULL, model);
  steps(b.session, 3);
  char *then = seen(b.session);
  assert_int_equal(rly_session_save(b.session, path), RLY_OK);
  steps(b.session, 2);
  assert_int_equal(rly_session_load(b.session, path), RLY_OK);
  assert_seen(b.cx, b.session, then);
  bench_open(&c, NULL, model); /* another process, as it were */
  assert_int_equal(rly_session_load(c.session, path), RLY_OK);
  assert_seen(c.cx, c.session, then);
  steps(b.session, 2);
  steps(c.session, 2);
  rly_text_free(b.cx, then);
  then = seen(b.session);
  assert_seen(c.cx, c.session, then);
  rly_text_free(b.cx, then);
  bench_close(&b);
  bench_close(&c);
  unlink(path);
}

/* A file of an older format, as the version of its time wrote it. */
static void reads_old_format(const char *path) {
  Bench b, c;
  bench_open(&b, NULL, model);
  bench_open(&c, NULL, model);
  steps(b.session, 2);
  char *then = seen(b.session);
  assert_int_equal(rly_session_load(c.session, path), RLY_OK);
  assert_seen(c.cx, c.session, then);
  rly_text_free(b.cx, then);
  bench_close(&b);
  bench_close(&c);
}

static void test_old_formats(void **state) {
  (void)state;
  reads_old_format("tests/unit/state_1.safetensors");
  reads_old_format("tests/unit/state_2.safetensors");
  reads_old_format("tests/unit/state_3.safetensors");
}

static long file_size(const char *path) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  fclose(f);
  return size;
}

/* 60 nodes, each of which holds the one before it twice: a tree of 2^60. */
static void test_sharing(void **state) {
  (void)state;
  static const char text[] =
      "type T { L, N(T, T, (float32, bool, int8)) }\n"
      "let @c = ref(L);\n"
      "def @step() -> int32 {\n"
      "  let %t = ref_read(@c);\n"
      "  ref_write(@c, N(%t, %t, (-0.1f, True, -3i8))); 0\n"
      "}\n"
      "def @walk(%t: T, %left: bool, %n: int32) -> (float32, bool, int8, "
      "int32)\n"
      "{ match (%t) {\n"
      "  L => (0f, False, 0i8, %n),\n"
      "  N(%a, %b, %v) => { if (%n == 59) { (%v.0, %v.1, %v.2, %n) }\n"
      "    else { @walk(if (%left) { %a } else { %b }, !%left, %n + 1) } }\n"
      "} }\n"
      "def @seen() { @walk(ref_read(@c), True, 0) }\n";
  char path[32], again[32];
  temporary(path);
  temporary(again);
  Bench b, c;
  bench_open(&b, NULL, text);
  bench_open(&c, NULL, text);
  steps(b.session, 60);
  char *then = seen(b.session);
  assert_int_equal(rly_session_save(b.session, path), RLY_OK);
  assert_true(file_size(path) < 10000);
  assert_int_equal(rly_session_load(c.session, path), RLY_OK);
  assert_seen(c.cx, c.session, then);
  assert_int_equal(rly_session_save(c.session, again), RLY_OK);
  assert_int_equal(file_size(again), file_size(path));
  char *report = NULL;
  assert_int_equal(rly_session_carry(b.session, c.session, &report), RLY_OK);
  assert_string_equal(report, "kept\t@c\tref(T[])\n");
  rly_text_free(c.cx, report);
  assert_seen(c.cx, c.session, then);
  rly_text_free(b.cx, then);
  bench_close(&b);
  bench_close(&c);
  unlink(path);
  unlink(again);
}

/* The names that state/state.h lays down, and the metadata. */
static void test_file_names(void **state) {
  (void)state;
  static const char *const names[] = {
      "@h", "@both^.0", "@both^.1", "@log^.Cons.0.1", "@log^.Cons.1.Cons.0.1",
  };
  char path[32];
  temporary(path);
  Bench b;
  bench_open(&b, NULL, model);
  steps(b.session, 2);
  assert_int_equal(rly_session_save(b.session, path), RLY_OK);
  rly_tensors *ts = NULL;
  assert_int_equal(rly_tensors_read(b.cx, path, &ts), RLY_OK);
  assert_int_equal(rly_tensors_count(ts), LENGTH(names));
  for (size_t i = 0; i < LENGTH(names); i++)
    assert_string_equal(rly_tensors_name(ts, i), names[i]);
  assert_string_equal(rly_tensors_metadata(ts, "format"), "4");
  assert_non_null(strstr(rly_tensors_metadata(ts, "types"),
                         "@h ref(Tensor[(2, 3), float32])\n"));
  assert_non_null(strstr(rly_tensors_metadata(ts, "skeletons"),
                         "@log Cons((#2, &3), Cons((#1, &4), Nil))\n"));
  rly_tensors_free(ts);
  bench_close(&b);
  unlink(path);
}

static void test_function_is_not_saved(void **state) {
  (void)state;
  char path[32];
  temporary(path);
  Bench b;
  bench_open(&b, NULL, everything);
  assert_int_equal(rly_session_save(b.session, path), RLY_REFUSED);
  assert_said(b.session, b.cx, "`@f`");
  assert_int_equal(rly_session_save(b.session, "/nonexistent/x"), RLY_REFUSED);
  rly_session_diagnostics_clear(b.session);
  bench_close(&b);
  unlink(path);
}

/* Loads a file into a session of `text`, which is refused with `words` and
 * leaves the state as it was. */
static void assert_refused(const char *path, const char *text,
                           const char *words) {
  Bench b;
  bench_open(&b, NULL, text);
  assert_int_equal(rly_session_load(b.session, path), RLY_REFUSED);
  assert_said(b.session, b.cx, words);
  bench_close(&b);
}

static void test_load_refused(void **state) {
  (void)state;
  char path[32];
  temporary(path);
  Bench b;
  bench_open(&b, NULL, model);
  assert_refused("/nonexistent", counter, "E0501");
  assert_refused(path, counter, "E0502");
  assert_int_equal(rly_session_save(b.session, path), RLY_OK);
  assert_refused(path, counter, "`@h`: the program has none");
  assert_refused(path, "let @h = ref(1f); let @both = ref(1);",
                 "`@h`: it is ref(float32), and was "
                 "ref(Tensor[(2, 3), float32])");
  bench_close(&b);
  bench_open(&b, NULL, "let @n = ref(0);");
  assert_int_equal(rly_session_save(b.session, path), RLY_OK);
  assert_refused(path, "let @n = ref(0); let @m = ref(0);",
                 "`@m`: it was not there before");
  bench_close(&b);
  unlink(path);
}

/* A value of a data type is none of another that has its names. */
static void test_fields_changed(void **state) {
  (void)state;
  static const struct {
    const char *was, *is, *words;
  } rows[] = {
      {"type M { M(float32, int32) } let @m = ref(M(1f, 2));",
       "type M { M(int32, float32) } let @m = ref(M(1, 2f));",
       "`M.M` has the fields (int32, float32), and had (float32, int32)"},
      {"type M { M(a: int32, b: int32) } let @m = ref(List[M(1, 2)]);",
       "type M { M(b: int32, a: int32) } let @m = ref(List[M(1, 2)]);",
       "`M.M` has the fields (b: int32, a: int32), and had "
       "(a: int32, b: int32)"},
      {"type N { N(int32) } type M[A] { M(A, N) } let @m = ref(M(1, N(2)));",
       "type N { N(float32) } type M[A] { M(A, N) } let @m = ref(M(1, N(2f)));",
       "`N.N` has the fields (float32), and had (int32)"},
  };
  char path[32];
  temporary(path);
  for (size_t i = 0; i < LENGTH(rows); i++) {
    Bench b, c;
    bench_open(&b, NULL, rows[i].was);
    assert_int_equal(rly_session_save(b.session, path), RLY_OK);
    assert_int_equal(rly_session_load(b.session, path), RLY_OK);
    assert_refused(path, rows[i].is, rows[i].words);
    bench_open(&c, b.cx, rows[i].is);
    char *report = NULL;
    assert_int_equal(rly_session_carry(b.session, c.session, &report), RLY_OK);
    assert_non_null(strstr(report, "changed\t@m\t"));
    assert_non_null(strstr(report, rows[i].words));
    rly_text_free(b.cx, report);
    rly_session_free(c.session);
    rly_program_free(c.program);
    bench_close(&b);
  }
  unlink(path);
}

/* --- Damage ------------------------------------------------------------- */

/* The file with its metadata `key` (or tensor) made anew; the checksum is
 * whatever it was. */
static void rewrite(rly_context *cx, const char *path, const char *key,
                    const char *value) {
  static const char *const keys[] = {"format",    "program", "types",
                                     "skeletons", "shared",  "fields",
                                     "checksum"};
  rly_tensors *from = NULL, *to = rly_tensors_new(cx);
  assert_int_equal(rly_tensors_read(cx, path, &from), RLY_OK);
  for (size_t i = 0; i < rly_tensors_count(from); i++) {
    const char *name = rly_tensors_name(from, i);
    rly_tensor *t = rly_tensors_get(from, name);
    assert_int_equal(rly_tensors_add(to, name, t), RLY_OK);
    rly_tensor_free(t);
  }
  for (size_t i = 0; i < LENGTH(keys); i++) {
    const char *was = rly_tensors_metadata(from, keys[i]);
    const char *is = strcmp(keys[i], key) ? was : value;
    if (is) rly_tensors_add_metadata(to, keys[i], is);
  }
  assert_int_equal(rly_tensors_write(to, path), RLY_OK);
  rly_tensors_free(from);
  rly_tensors_free(to);
}

static void test_damage(void **state) {
  (void)state;
  static const struct {
    const char *key, *value, *words;
  } rows[] = {
      {"format", "5", "format"},
      {"format", NULL, "no session's state"},
      {"checksum", "0", "damaged"},
      {"types", "@n ref(int64)\n", "damaged"},
      {"skeletons", "@n (_)\n", "damaged"},
      {"shared", "Nil\n", "damaged"},
      {"fields", "T.B int32\n", "damaged"},
  };
  char path[32];
  temporary(path);
  Bench b;
  bench_open(&b, NULL, counter);
  for (size_t i = 0; i < LENGTH(rows); i++) {
    assert_int_equal(rly_session_save(b.session, path), RLY_OK);
    rewrite(b.cx, path, rows[i].key, rows[i].value);
    assert_refused(path, counter, rows[i].words);
  }
  bench_close(&b);
  unlink(path);
}

/* Skeletons that lie, read as a file's would be once its sum is right. */
static const Tensor *any_tensor(void *data, const char *name) {
  (void)name;
  return data;
}

static void test_lying_skeletons(void **state) {
  (void)state;
  static const char *const lies[] = {
      "",
      "_",
      "Cons",
      "Cons(",
      "Cons(_",
      "Cons(_, ",
      "Cons(_, Nil",
      "Cons(_, Nil))",
      "Cons(_,Nil)",
      "Cons(_)",
      "Nil()",
      "Nil ",
      "Nope",
      "&0",
      "Cons(&0, Nil)",
      "Cons(_, &0)",
      "(_, _)",
      "Cons(_, Cons(_, ",
      "Cons(_, Nil, Nil)",
      "cons(_, Nil)",
      "*",
      "*0",
      "Cons(#1, *)",
      "Cons(#1, *0)",
      "Cons(#1, *1)",
      "Cons(#1, *2)",
      "Cons(#1, *3)",
      "Cons(#1, *4)",
      "Cons(#1, *9)",
      "Cons(*5, Nil)",
      "Cons(#, Nil)",
      "Cons(#g, Nil)",
      "Cons(#100000000, Nil)",
      "Cons(#00000000000000000, Nil)",
      "#1",
  };
  static const char *const shared[] = {
      "Cons(#1, *0)", "*2", "*1", "Nil)", "", "Cons(#2, Cons(#3, Nil))",
  };
  Bench b;
  bench_open(&b, NULL,
             "let @l: Ref[List[int32]] = ref(Cons(7, Nil));\n"
             "def @get() { ref_read(@l) }\n");
  assert_int_equal(rly_session_run(b.session, NULL, NULL), RLY_OK);
  int32_t one = 1;
  Tensor t = tensor_on_data(DT_INT32, 0, NULL, &one);
  for (size_t i = 0; i < LENGTH(lies); i++) {
    PackedCell cell = {"@l", "ref(List[int32])", lies[i]};
    StateUnpacker u = {.session = b.session->vm,
                       .mem = b.session->mem,
                       .label = "it",
                       .diags = &b.session->diags,
                       .count = 1,
                       .cells = &cell,
                       .shared_count = LENGTH(shared),
                       .shared = shared,
                       .tensor = any_tensor,
                       .data = &t};
    if (state_unpack(&u)) fail_msg("`%s` was taken", lies[i]);
    assert_said(b.session, b.cx, "E0504");
  }
  PackedCell right = {"@l", "ref(List[int32])", "Cons(_, Cons(#2a, *5))"};
  StateUnpacker u = {.session = b.session->vm,
                     .mem = b.session->mem,
                     .label = "it",
                     .diags = &b.session->diags,
                     .count = 1,
                     .cells = &right,
                     .shared_count = LENGTH(shared),
                     .shared = shared,
                     .tensor = any_tensor,
                     .data = &t};
  assert_true(state_unpack(&u));
  bench_close(&b);
}

/* --- Other versions of a program ---------------------------------------- */

static const char carried[] =
    "kept\t@h\tref(Tensor[(2, 3), float32])\n"
    "changed\t@both\tit is ref(float32), and was "
    "ref((int32, Tensor[(2), float16]))\n"
    "dropped\t@log\tthe program has none, of "
    "ref(List[(int32, ref(int32))])\n"
    "added\t@new\tit was not there before\n";

/* Lines of a report have no order that matters. */
static void assert_report(const char *report, const char *lines) {
  assert_int_equal(strlen(report), strlen(lines));
  while (*lines) {
    char line[128];
    size_t n = strcspn(lines, "\n") + 1;
    assert_true(n < sizeof line);
    memcpy(line, lines, n);
    line[n] = '\0';
    if (!strstr(report, line)) fail_msg("`%s` is not in: %s", line, report);
    lines += n;
  }
}

static void test_carry(void **state) {
  (void)state;
  static const char newer[] =
      "let @new = ref(5);\n"
      "let @h = ref(zeros(shape=[2, 3], dtype=\"float32\"));\n"
      "let @both = ref(1f);\n";
  char path[32];
  temporary(path);
  Bench b, c;
  bench_open(&b, NULL, model);
  steps(b.session, 2);
  bench_open(&c, b.cx, newer);
  char *report = NULL;
  assert_int_equal(rly_session_carry(b.session, c.session, &report), RLY_OK);
  assert_report(report, carried);
  rly_text_free(c.cx, report);
  rly_value *old = rly_session_get(b.session, "@h");
  rly_value *kept = rly_session_get(c.session, "@h");
  assert_memory_equal(rly_value_elements(kept), rly_value_elements(old), 24);
  rly_value_free(old);
  rly_value_free(kept);
  assert_int_equal(rly_session_reset(c.session), RLY_OK);
  assert_int_equal(rly_session_save(b.session, path), RLY_OK);
  assert_int_equal(rly_session_carry_file(c.session, path, &report), RLY_OK);
  assert_report(report, carried);
  rly_text_free(c.cx, report);
  assert_int_equal(rly_session_carry_file(c.session, path, NULL), RLY_OK);
  rly_session_free(c.session);
  rly_program_free(c.program);
  bench_close(&b);
  unlink(path);
}

/* Constructors in another order, and one gone: by name, never by number. */
static void test_carry_adt(void **state) {
  (void)state;
  Bench b, c;
  bench_open(&b, NULL,
             "type T { A, B(int32), C }\n"
             "let @x = ref(B(7)); let @y: Ref[T] = ref(C);\n"
             "let @f = ref(fn (%i: int32) -> int32 { %i });\n");
  bench_open(&c, b.cx,
             "type T { D, B(int32), A }\n"
             "let @x: Ref[T] = ref(D); let @y: Ref[T] = ref(A);\n"
             "let @f = ref(fn (%i: int32) -> int32 { %i });\n");
  char *report = NULL;
  assert_int_equal(rly_session_carry(b.session, c.session, &report), RLY_OK);
  assert_non_null(strstr(report, "kept\t@x\t"));
  assert_non_null(strstr(report, "changed\t@y\t`T` has no constructor `C`"));
  assert_non_null(strstr(report, "changed\t@f\tit held a function"));
  rly_text_free(b.cx, report);
  rly_value *x = rly_session_get(c.session, "@x");
  assert_string_equal(rly_value_constructor(x), "B");
  rly_value_free(x);
  rly_session_free(c.session);
  rly_program_free(c.program);
  bench_close(&b);
}

/* --- Depth -------------------------------------------------------------- */

/* State of a depth that no C stack could follow. */
static void test_deep(void **state) {
  (void)state;
  char path[32];
  temporary(path);
  Bench b;
  bench_open(&b, NULL,
             "let @l: Ref[List[int32]] = ref(Nil);\n"
             "def @grow(%i: int32) -> () {\n"
             "  if (%i > 0) {\n"
             "    ref_write(@l, Cons(%i, ref_read(@l))); @grow(%i - 1)\n"
             "  } else { () }\n"
             "}\n"
             "def @step() -> int32 { @grow(20000); 0 }\n"
             "def @len(%l: List[int32], %n: int32) -> int32 {\n"
             "  match (%l) { Nil => %n, Cons(_, %t) => @len(%t, %n + 1) }\n"
             "}\n"
             "def @seen() -> int32 { @len(ref_read(@l), 0) }\n");
  steps(b.session, 1);
  rly_session *fork = rly_session_fork(b.session, NULL);
  rly_snapshot *snapshot = rly_session_snapshot(b.session);
  assert_int_equal(rly_session_save(b.session, path), RLY_OK);
  assert_int_equal(rly_session_reset(b.session), RLY_OK);
  assert_gives(b.cx, b.session, "seen", INT(0));
  assert_int_equal(rly_session_load(b.session, path), RLY_OK);
  assert_gives(b.cx, b.session, "seen", INT(20000));
  assert_gives(b.cx, fork, "seen", INT(20000));
  rly_snapshot_free(snapshot);
  rly_session_free(fork);
  bench_close(&b);
  unlink(path);
}

/* --- Misuse ------------------------------------------------------------- */

static void test_misuse(void **state) {
  (void)state;
  Bench b, c;
  bench_open(&b, NULL, counter);
  bench_open(&c, NULL, counter);
  rly_session *s = b.session, *other = c.session;
  rly_snapshot *snapshot = rly_session_snapshot(s);
  rly_value *v = rly_session_get(s, "@n");
  assert_null(rly_session_state(NULL));
  rly_state_free(NULL);
  assert_int_equal(rly_state_count(NULL), 0);
  assert_null(rly_state_path(NULL, 0));
  assert_null(rly_state_type(NULL, 0));
  assert_int_equal(rly_state_alias_count(NULL, 0), 0);
  assert_null(rly_state_alias(NULL, 0, 0));
  assert_null(rly_session_get(NULL, "@n"));
  assert_null(rly_session_get(s, NULL));
  assert_int_equal(rly_session_set(NULL, "@n", v), RLY_MISUSE);
  assert_int_equal(rly_session_set(s, NULL, v), RLY_MISUSE);
  assert_int_equal(rly_session_set(s, "@n", NULL), RLY_MISUSE);
  assert_int_equal(rly_session_set(other, "@n", v), RLY_MISUSE);
  assert_null(rly_session_snapshot(NULL));
  rly_snapshot_free(NULL);
  assert_int_equal(rly_session_restore(NULL, snapshot), RLY_MISUSE);
  assert_int_equal(rly_session_restore(s, NULL), RLY_MISUSE);
  assert_int_equal(rly_session_restore(other, snapshot), RLY_MISUSE);
  assert_null(rly_session_fork(NULL, NULL));
  assert_int_equal(rly_session_reset(NULL), RLY_MISUSE);
  assert_int_equal(rly_session_save(NULL, "x"), RLY_MISUSE);
  assert_int_equal(rly_session_save(s, NULL), RLY_MISUSE);
  assert_int_equal(rly_session_load(NULL, "x"), RLY_MISUSE);
  assert_int_equal(rly_session_load(s, NULL), RLY_MISUSE);
  assert_int_equal(rly_session_carry(NULL, s, NULL), RLY_MISUSE);
  assert_int_equal(rly_session_carry(s, NULL, NULL), RLY_MISUSE);
  assert_int_equal(rly_session_carry(s, s, NULL), RLY_MISUSE);
  assert_int_equal(rly_session_carry_file(NULL, "x", NULL), RLY_MISUSE);
  assert_int_equal(rly_session_carry_file(s, NULL, NULL), RLY_MISUSE);
  /* Freed, but still there for its values: nothing runs in it any more. */
  rly_session_free(s);
  assert_int_equal(rly_session_reset(s), RLY_MISUSE);
  assert_int_equal(rly_session_restore(s, snapshot), RLY_MISUSE);
  assert_null(rly_session_state(s));
  assert_null(rly_session_snapshot(s));
  assert_int_equal(*(const int32_t *)rly_value_elements(v), 1);
  rly_session_free(s); /* once is enough */
  rly_program_free(b.program);
  rly_context_free(b.cx); /* the outer first */
  rly_snapshot_free(snapshot);
  rly_value_free(v);
  bench_close(&c);
}

/* --- Allocations that fail ---------------------------------------------- */

/* Every operation once; what was refused memory says so and changes nothing
 * that the next ones need. */
static void use_state(Bench *b, const char *path) {
  rly_session *s = b->session;
  rly_state_free(rly_session_state(s));
  rly_snapshot *snapshot = rly_session_snapshot(s);
  rly_value_free(rly_session_get(s, "@both"));
  rly_session_free(rly_session_fork(s, NULL));
  rly_session_reset(s);
  if (snapshot) rly_session_restore(s, snapshot);
  rly_snapshot_free(snapshot);
  if (rly_session_save(s, path) == RLY_OK) rly_session_load(s, path);
  rly_session_diagnostics_clear(s);
}

static void test_failing_allocations(void **state) {
  (void)state;
  char path[32];
  temporary(path);
  size_t n = 1;
  for (bool reached = true; reached; n += 1 + n / 16) {
    Bench b;
    bench_open(&b, NULL, model);
    steps(b.session, 2);
    Mem *mem = &b.cx->mem;
    mem->fail_at = atomic_load(&mem->count) + n;
    use_state(&b, path);
    reached = atomic_load(&mem->count) >= mem->fail_at;
    mem->fail_at = 0;
    steps(b.session, 1);
    rly_text_free(b.cx, seen(b.session));
    bench_close(&b);
  }
  assert_true(n > 40);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_paths),
      cmocka_unit_test(test_cycle),
      cmocka_unit_test(test_get_and_set),
      cmocka_unit_test(test_host_cell),
      cmocka_unit_test(test_snapshot),
      cmocka_unit_test(test_fork),
      cmocka_unit_test(test_reset),
      cmocka_unit_test(test_reset_is_stopped),
      cmocka_unit_test(test_save_and_load),
      cmocka_unit_test(test_old_formats),
      cmocka_unit_test(test_sharing),
      cmocka_unit_test(test_file_names),
      cmocka_unit_test(test_function_is_not_saved),
      cmocka_unit_test(test_load_refused),
      cmocka_unit_test(test_fields_changed),
      cmocka_unit_test(test_damage),
      cmocka_unit_test(test_lying_skeletons),
      cmocka_unit_test(test_carry),
      cmocka_unit_test(test_carry_adt),
      cmocka_unit_test(test_deep),
      cmocka_unit_test(test_misuse),
      cmocka_unit_test(test_failing_allocations),
  };
  return RUN_TESTS(tests);
}
