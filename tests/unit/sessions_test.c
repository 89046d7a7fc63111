/* Sessions on threads: many at once over one program, one from many, and
 * changes to a program that is at work.  MODE=tsan watches for races.
 *
 * Results are compared with those of one session on one thread: threads must
 * not be visible in them.  Misuse (two threads in one session, a callback that
 * runs its own session) must be refused and not deadlock. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/host.h"

enum { THREADS = 4, ROUNDS = 40, STEPS = 10 };

/* A recurrence over shared weights, lists, a failure with a trace. */
static const char text[] =
    "param @w: Tensor[(8, 8), float32];\n"
    "let @h = ref(ones(shape=[1, 8], dtype=\"float32\"));\n"
    "let @log: Ref[List[int32]] = ref(Nil);\n"
    "def @step(%x: int32) -> float32 {\n"
    "  ref_write(@h, tanh(nn.dense(ref_read(@h), @w)));\n"
    "  ref_write(@log, Cons(%x, ref_read(@log)));\n"
    "  take(reshape(ref_read(@h), newshape=[8]), 3)\n"
    "}\n"
    "def @logged() -> List[int32] {\n"
    "  @map(fn (%i: int32) -> int32 { %i * 2 }, ref_read(@log))\n"
    "}\n"
    "def @deep(%n: int32) -> int32 {\n"
    "  if (%n == 0) { 1 / %n } else { 1 + @deep(%n - 1) }\n"
    "}\n"
    "def @slow(%n: int32) -> int32 {\n"
    "  if (%n == 0) { 0 } else { @slow(%n - 1) }\n"
    "}\n";

typedef struct World {
  rly_context *cx;
  rly_program *program;
  rly_session *shared;
  pthread_barrier_t start;
  int finished, refused; /* calls of the shared session, under the lock */
  pthread_mutex_t lock;
} World;

static void world_open(World *w) {
  float weights[64];
  for (int i = 0; i < 64; i++) weights[i] = (float)(i % 7 - 3) / 4;
  *w = (World){.cx = rly_context_new(NULL)};
  w->program = host_program(w->cx, text);
  host_bind_w(w->cx, w->program, weights);
  pthread_barrier_init(&w->start, NULL, THREADS);
  pthread_mutex_init(&w->lock, NULL);
}

static void world_close(World *w) {
  rly_program_free(w->program);
  rly_context_free(w->cx);
  pthread_barrier_destroy(&w->start);
  pthread_mutex_destroy(&w->lock);
}

/* cmocka's asserts belong to the main thread; here a failure ends it all. */
#define MUST(condition)                                                    \
  ((condition) ? (void)0                                                   \
               : (void)(fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
                                #condition),                               \
                        abort()))

static rly_status call(rly_session *s, const char *name, int32_t n,
                       rly_value **y) {
  rly_value *x = rly_value_of_elements(s, "int32", 0, NULL, &n);
  if (!x) return RLY_MISUSE;
  rly_status status = rly_session_call(s, name, 1, &x, y);
  rly_value_free(x);
  return status;
}

/* STEPS steps; the last result's bits. */
static uint32_t steps(rly_session *s) {
  uint32_t bits = 0;
  for (int i = 0; i < STEPS; i++) {
    rly_value *y = NULL;
    MUST(call(s, "step", i, &y) == RLY_OK);
    memcpy(&bits, rly_value_elements(y), sizeof bits);
    rly_value_free(y);
  }
  return bits;
}

static void start_threads(World *w, void *(*run)(void *)) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, run, w), 0);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

/* --- A session each ----------------------------------------------------- */

/* Output and failures also belong to the session alone. */
static void look(World *w, rly_session *s) {
  rly_value *y = NULL;
  MUST(rly_session_call(s, "logged", 0, NULL, &y) == RLY_OK);
  char *shown = rly_value_text(y);
  MUST(shown && !strncmp(shown, "Cons(18, Cons(16,", 17));
  rly_text_free(w->cx, shown);
  rly_tensor *t = rly_tensor_new(w->cx, "int32", 0, NULL, &(int32_t){4});
  rly_tensor_free(t);
  rly_value_free(y);
  y = NULL;
  MUST(call(s, "deep", 30, &y) == RLY_RUNTIME);
  MUST(rly_session_diagnostic_count(s) == 1);
  char *said = rly_session_diagnostics_text(s, false);
  MUST(said && strstr(said, "error[E0602]"));
  rly_text_free(w->cx, said);
  rly_session_diagnostics_clear(s);
}

static void round_trip(rly_session *s, const char *path, uint32_t bits) {
  rly_snapshot *snapshot = rly_session_snapshot(s);
  MUST(snapshot && rly_session_save(s, path) == RLY_OK);
  rly_session *fork = rly_session_fork(s, NULL);
  uint32_t next = steps(s);
  MUST(next != bits && steps(fork) == next);
  MUST(rly_session_load(fork, path) == RLY_OK && steps(fork) == next);
  MUST(rly_session_restore(s, snapshot) == RLY_OK && steps(s) == next);
  MUST(rly_session_reset(s) == RLY_OK && steps(s) == bits);
  rly_snapshot_free(snapshot);
  rly_session_free(fork);
}

static void *own_session(void *data) {
  World *w = data;
  char path[] = "/tmp/rly-threads-XXXXXX";
  int fd = mkstemp(path);
  MUST(fd >= 0);
  close(fd);
  pthread_barrier_wait(&w->start);
  for (int i = 0; i < ROUNDS; i++) {
    rly_session *s = rly_session_new(w->program, NULL);
    MUST(s);
    uint32_t bits = steps(s);
    look(w, s);
    if (i % 8 == 0) round_trip(s, path, bits);
    rly_session_free(s);
  }
  unlink(path);
  return NULL;
}

static void test_sessions_at_once(void **state) {
  (void)state;
  World w;
  world_open(&w);
  start_threads(&w, own_session);
  assert_int_equal(rly_diagnostic_count(w.cx), 0);
  world_close(&w);
}

/* --- One context's diagnostics ------------------------------------------- */

/* Each thread adds diagnostics to the context, and counts and reads those that
 * all threads have added so far. */
static void *report_and_count(void *data) {
  World *w = data;
  size_t before = 0;
  pthread_barrier_wait(&w->start);
  for (int i = 0; i < ROUNDS; i++) {
    rly_diagnostic_add(w->cx, "E0506", "said by one of many");
    size_t total = rly_diagnostic_total(w->cx);
    MUST(total > before && rly_diagnostic_count(w->cx) <= THREADS * ROUNDS);
    before = total;
    char *said = rly_diagnostics_text(w->cx, false);
    MUST(said && strstr(said, "said by one of many"));
    rly_text_free(w->cx, said);
  }
  return NULL;
}

static void test_reports_at_once(void **state) {
  (void)state;
  World w;
  world_open(&w);
  start_threads(&w, report_and_count);
  assert_int_equal(rly_diagnostic_total(w.cx), THREADS * ROUNDS);
  world_close(&w);
}

/* --- Traces ------------------------------------------------------------- */

/* How often `what` stands in a file. */
static int count_in(const char *path, const char *what) {
  int count = 0;
  char line[1024];
  FILE *in = fopen(path, "r");
  MUST(in);
  while (fgets(line, sizeof line, in)) count += strstr(line, what) != NULL;
  fclose(in);
  return count;
}

/* A trace names every call, also where another session lowers the function
 * between the call and the look at it. */
static void *traced_session(void *data) {
  World *w = data;
  char path[] = "/tmp/rly-threads-XXXXXX";
  int fd = mkstemp(path);
  MUST(fd >= 0);
  close(fd);
  rly_session_options options = {.trace = path};
  rly_session *s = rly_session_new(w->program, &options);
  MUST(s);
  pthread_barrier_wait(&w->start);
  steps(s);
  rly_value *y = NULL;
  MUST(call(s, "slow", 20, &y) == RLY_OK);
  rly_value_free(y);
  rly_session_free(s);
  MUST(count_in(path, "\"name\": \"@step\"") == STEPS);
  MUST(count_in(path, "\"name\": \"@slow\"") >= 1);
  unlink(path);
  return NULL;
}

static void test_traces_at_once(void **state) {
  (void)state;
  for (int i = 0; i < ROUNDS; i++) {
    World w;
    world_open(&w);
    start_threads(&w, traced_session);
    world_close(&w);
  }
}

/* --- One session for all ------------------------------------------------ */

static void *shared_session(void *data) {
  World *w = data;
  pthread_barrier_wait(&w->start);
  for (int i = 0; i < ROUNDS; i++) {
    rly_value *y = NULL;
    rly_status status = call(w->shared, "slow", 2000, &y);
    MUST(status == RLY_OK || status == RLY_MISUSE);
    pthread_mutex_lock(&w->lock);
    w->finished += status == RLY_OK;
    w->refused += status == RLY_MISUSE;
    pthread_mutex_unlock(&w->lock);
    rly_value_free(y); /* waits for its turn */
  }
  return NULL;
}

static void test_one_session(void **state) {
  (void)state;
  World w;
  world_open(&w);
  w.shared = rly_session_new(w.program, NULL);
  start_threads(&w, shared_session);
  assert_int_equal(w.finished + w.refused, THREADS * ROUNDS);
  assert_true(w.finished > 0);
  steps(w.shared); /* none the worse for it */
  rly_session_free(w.shared);
  world_close(&w);
}

/* --- From within -------------------------------------------------------- */

typedef struct Within {
  rly_program *program;
  rly_session *session;
  int calls;
} Within;

static const char talkative[] = "def @main() { print_text(\"x\"); 7 }";

/* A callback of a session at work: it may look, and no more. */
static void on_write(void *data, const char *written, size_t len) {
  Within *in = data;
  (void)written, (void)len;
  rly_value *y = NULL;
  in->calls++;
  assert_int_equal(rly_session_call(in->session, "main", 0, NULL, &y),
                   RLY_MISUSE);
  assert_int_equal(rly_session_run(in->session, NULL, NULL), RLY_MISUSE);
  assert_int_equal(rly_session_reset(in->session), RLY_MISUSE);
  rly_options limits = {.timeout = 1};
  assert_int_equal(rly_session_set_limits(in->session, &limits), RLY_MISUSE);
  assert_string_equal(rly_misuse(),
                      "rly_session_set_limits: the session is at work: this is "
                      "a callback of it");
  assert_null(rly_program_doc(in->program, "@main"));
  assert_string_equal(rly_misuse(),
                      "rly_program_doc: the program cannot be changed while "
                      "one of its sessions is at work");
  assert_null(rly_session_snapshot(in->session));
  assert_null(rly_session_fork(in->session, NULL));
  assert_int_equal(rly_program_add_text(in->program, "t", "1", 1, 0),
                   RLY_MISUSE);
  assert_int_equal(rly_program_bind_text(in->program, "a=1"), RLY_MISUSE);
  assert_null(rly_program_type_of(in->program, "1", 1));
  assert_int_equal(rly_session_diagnostic_count(in->session), 0);
}

static void test_callback(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(NULL);
  Within in = {.program = host_program(cx, talkative)};
  rly_session_options options = {.write = on_write, .data = &in};
  in.session = rly_session_new(in.program, &options);
  rly_value *y = NULL;
  assert_int_equal(rly_session_call(in.session, "main", 0, NULL, &y), RLY_OK);
  assert_int_equal(in.calls, 1);
  assert_int_equal(*(const int32_t *)rly_value_elements(y), 7);
  rly_value_free(y);
  rly_session_free(in.session);
  rly_program_free(in.program);
  rly_context_free(cx);
}

/* Another session may be called from there. */
static void on_write_other(void *data, const char *written, size_t len) {
  Within *in = data;
  (void)written, (void)len;
  rly_value *y = NULL;
  in->calls++;
  assert_int_equal(rly_session_call(in->session, "main", 0, NULL, &y), RLY_OK);
  rly_value_free(y);
}

static void test_callback_to_another(void **state) {
  (void)state;
  rly_context *cx = rly_context_new(NULL);
  Within in = {.program = host_program(cx, talkative)};
  in.session = rly_session_new(in.program, NULL);
  rly_session_options options = {.write = on_write_other, .data = &in};
  rly_session *s = rly_session_new(in.program, &options);
  rly_value *y = NULL;
  assert_int_equal(rly_session_call(s, "main", 0, NULL, &y), RLY_OK);
  assert_int_equal(in.calls, 1);
  rly_context_free(cx); /* any order will do */
  rly_program_free(in.program);
  rly_session_free(in.session);
  rly_session_free(s);
  rly_value_free(y);
}

/* --- Without memory ------------------------------------------------------ */

static const char hungry[] =
    "type Ring { Open, Closed(ref(Ring), Tensor[(20000), float32]) }\n"
    "def @tied(%x: Tensor[(20000), float32]) -> float32 {\n"
    "  let %c = ref(Open);\n"
    "  ref_write(%c, Closed(%c, %x + 1f));\n"
    "  match (ref_read(%c)) { Open => 0f, Closed(_, %t) => sum(%t) }\n"
    "}\n"
    "def @all(%n: int32, %sum: float32) -> float32 {\n"
    "  if (%n == 0) { %sum } else {\n"
    "    @all(%n - 1, %sum + @tied(full(1f, shape=[20000])))\n"
    "  }\n"
    "}\n"
    "def @main(%n: int32) -> float32 { @all(%n, 0f) }\n";

/* All are refused memory again and again; who is not has the right sum. */
static void *hungry_session(void *data) {
  World *w = data;
  pthread_barrier_wait(&w->start);
  for (int i = 0; i < ROUNDS; i++) {
    rly_session *s = rly_session_new(w->program, NULL);
    if (!s) continue;
    rly_value *y = NULL;
    rly_status status = call(s, "main", 30, &y);
    MUST(status == RLY_OK || status == RLY_LIMIT || status == RLY_MISUSE);
    float sum;
    if (status == RLY_OK) {
      memcpy(&sum, rly_value_elements(y), sizeof sum);
      MUST(sum == 30 * 40000.0f);
    }
    pthread_mutex_lock(&w->lock);
    if (status == RLY_OK) w->finished++;
    pthread_mutex_unlock(&w->lock);
    rly_value_free(y);
    rly_session_free(s);
  }
  return NULL;
}

static void test_sessions_without_memory(void **state) {
  (void)state;
  World w = {.cx = rly_context_new(&(rly_options){.max_memory = 1200000})};
  w.program = host_program(w.cx, hungry);
  pthread_barrier_init(&w.start, NULL, THREADS);
  pthread_mutex_init(&w.lock, NULL);
  start_threads(&w, hungry_session);
  assert_true(w.finished > 0);
  world_close(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sessions_at_once),
      cmocka_unit_test(test_reports_at_once),
      cmocka_unit_test(test_traces_at_once),
      cmocka_unit_test(test_one_session),
      cmocka_unit_test(test_callback),
      cmocka_unit_test(test_callback_to_another),
      cmocka_unit_test(test_sessions_without_memory),
  };
  return RUN_TESTS(tests);
}
