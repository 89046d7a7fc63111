/* Children of fork(2): they compute the parent's bits, whatever the parent's
 * threads were doing when it forked, and never wait for what only a thread of
 * the parent could give.
 *
 * A child says how it fared by its exit status and is ended by an alarm where
 * it hangs, which is what each of these tests is about. */
#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizer.h"
#include "tests/unit/host.h"

/* --- The sanitizer's allocator -------------------------------------------- */

/* AddressSanitizer of gcc 12 does not keep the locks of its allocator free over
 * a fork: a child may find one held by a thread that it does not have, and
 * waits for ever.  So under that sanitizer no thread is in a call of the
 * allocator at a fork: the Makefile has the linker put __wrap_malloc in place
 * of malloc, and so on, and a fork takes the lock of those. */
static pthread_mutex_t allocator = PTHREAD_MUTEX_INITIALIZER;

static void lock_allocator(void) {
  if (SANITIZER_ADDRESS) pthread_mutex_lock(&allocator);
}

static void unlock_allocator(void) {
  if (SANITIZER_ADDRESS) pthread_mutex_unlock(&allocator);
}

#define WRAPPED(TYPE, NAME, PARAMETERS, ARGS) \
  TYPE __real_##NAME PARAMETERS;              \
  TYPE __wrap_##NAME PARAMETERS;              \
  TYPE __wrap_##NAME PARAMETERS {             \
    lock_allocator();                         \
    TYPE block = __real_##NAME ARGS;          \
    unlock_allocator();                       \
    return block;                             \
  }

WRAPPED(void *, malloc, (size_t size), (size))
WRAPPED(void *, calloc, (size_t n, size_t size), (n, size))
WRAPPED(void *, realloc, (void *p, size_t size), (p, size))
WRAPPED(void *, aligned_alloc, (size_t to, size_t size), (to, size))

void __real_free(void *p);
void __wrap_free(void *p);
void __wrap_free(void *p) {
  lock_allocator();
  __real_free(p);
  unlock_allocator();
}

/* --- Children ------------------------------------------------------------- */

/* The product is large enough for a parallel kernel.  500 terms of 1 are exact
 * in float32: 500 * 500 * 500 = 125,000,000. */
static const char text[] =
    "let @x = ones(shape=[500, 500], dtype=\"float32\");\n"
    "def @product() { sum(nn.matmul(@x, @x)) }\n"
    "def @small(%n: int32) -> int32 { if (%n == 0) { 7 } else { @small(%n - 1) "
    "} }\n"
    "def @say() { print_text(\"x\"); 8 }";

/* Ends a child that waits for ever: each needs a second, and more on a busy
 * machine under a sanitizer. */
enum { CHILD_SECONDS = 300 };

/* Why a child ended: 0, as it should. */
enum { WRONG_RESULT = 1, WRONG_THREADS, NOT_REFUSED, NO_SESSION };

static rly_program *open_program(rly_context **cx) {
  /* Else a region may be left out where the machine is busy. */
  setenv("OMP_WAIT_POLICY", "passive", 0);
  *cx = rly_context_new(&(rly_options){.threads = 2});
  return host_program(*cx, text);
}

static bool product_is_right(rly_session *s) {
  rly_value *v = NULL;
  if (rly_session_call(s, "product", 0, NULL, &v) != RLY_OK) return false;
  float sum = *(const float *)rly_value_elements(v);
  rly_value_free(v);
  return sum == 125000000.0f;
}

static int count_threads(void) {
  int n = 0;
  DIR *tasks = opendir("/proc/self/task");
  while (tasks && readdir(tasks)) n++;
  if (tasks) closedir(tasks);
  return n - 2; /* `.` and `..` */
}

/* Runs `child` in a child that has some seconds. */
static void in_child(int (*child)(void *data), void *data) {
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    alarm(CHILD_SECONDS);
    _exit(child(data));
  }
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
}

/* --- After a parallel kernel ---------------------------------------------- */

typedef struct Family {
  rly_session *session;
  int threads, depth;
} Family;

/* It has threads again, and so have children of its own. */
static int compute(void *data) {
  Family *f = data;
  if (!product_is_right(f->session)) return WRONG_RESULT;
  if (count_threads() != f->threads) return WRONG_THREADS;
  if (f->depth-- > 0) in_child(compute, f);
  return 0;
}

static void test_after_a_parallel_kernel(void **state) {
  (void)state;
  rly_context *cx;
  rly_program *p = open_program(&cx);
  Family f = {.session = rly_session_new(p, NULL), .depth = 2};
  assert_true(product_is_right(f.session));
  f.threads = count_threads();
  in_child(compute, &f);
  assert_int_equal(compute(&f), 0);
  rly_session_free(f.session);
  rly_program_free(p);
  rly_context_free(cx);
}

/* --- While other threads are at work -------------------------------------- */

typedef struct Busy {
  rly_context *cx;
  rly_program *program;
  rly_session *held; /* of the thread that waits in a callback */
  pthread_barrier_t ready;
  pthread_mutex_t go_on;
  atomic_bool end;
  atomic_int refused; /* calls of sessions that no other thread uses */
} Busy;

/* Takes every lock that there is, over and over: of the context (a program, its
 * text), of the code (a session's first call), of the sources (a message), of
 * the memory. */
static void *work(void *data) {
  Busy *b = data;
  pthread_barrier_wait(&b->ready);
  while (!b->end) {
    rly_program *p = rly_program_new(b->cx);
    rly_program_add_text(p, "other", "def @main() { 1 / 0 }", 21, 0);
    rly_session *of_it = rly_session_new(p, NULL);
    rly_value *v = NULL;
    rly_session_call(of_it, "main", 0, NULL, &v);
    rly_text_free(b->cx, rly_session_diagnostics_text(of_it, false));
    rly_session_free(of_it);
    rly_program_free(p);
    rly_session *s = rly_session_new(b->program, NULL);
    int32_t n = 10;
    rly_value *x = rly_value_of_elements(s, "int32", 0, NULL, &n);
    for (int i = 0; i < 50; i++)
      if (rly_session_call(s, "small", 1, &x, &v) == RLY_OK) rly_value_free(v);
      else b->refused++;
    rly_value_free(x);
    rly_session_free(s);
  }
  return NULL;
}

/* Stays in a callback of its session, which a child then finds at work. */
static void wait_in_write(void *data, const char *written, size_t len) {
  Busy *b = data;
  (void)written, (void)len;
  pthread_barrier_wait(&b->ready);
  pthread_mutex_lock(&b->go_on);
  pthread_mutex_unlock(&b->go_on);
}

static void *hold_session(void *data) {
  Busy *b = data;
  rly_value *v = NULL;
  rly_session_call(b->held, "say", 0, NULL, &v);
  rly_value_free(v);
  return NULL;
}

/* What another thread had under way is refused and may be freed; all else
 * works: the same program in a new session, a new program. */
static int go_on_alone(void *data) {
  Busy *b = data;
  rly_value *v = NULL;
  if (rly_session_call(b->held, "say", 0, NULL, &v) != RLY_MISUSE)
    return NOT_REFUSED;
  rly_session_free(b->held);
  rly_session *s = rly_session_new(b->program, NULL);
  if (!s) return NO_SESSION;
  if (!product_is_right(s)) return WRONG_RESULT;
  rly_session_free(s);
  rly_program *p = rly_program_new(b->cx);
  if (rly_program_add_text(p, "new", text, strlen(text), 0) != RLY_OK)
    return NO_SESSION;
  s = rly_session_new(p, NULL);
  if (!product_is_right(s)) return WRONG_RESULT;
  rly_session_free(s);
  rly_program_free(p);
  return 0;
}

static void test_while_others_work(void **state) {
  (void)state;
  Busy b = {0};
  b.program = open_program(&b.cx);
  rly_session_options options = {.write = wait_in_write, .data = &b};
  b.held = rly_session_new(b.program, &options);
  pthread_barrier_init(&b.ready, NULL, 4);
  pthread_mutex_init(&b.go_on, NULL);
  pthread_mutex_lock(&b.go_on);
  pthread_t threads[3];
  for (int i = 0; i < 3; i++)
    assert_int_equal(
        pthread_create(&threads[i], NULL, i ? work : hold_session, &b), 0);
  pthread_barrier_wait(&b.ready);
  for (int i = 0; i < 50; i++) in_child(go_on_alone, &b);
  b.end = true;
  pthread_mutex_unlock(&b.go_on);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  assert_int_equal(b.refused, 0);
  pthread_mutex_destroy(&b.go_on);
  pthread_barrier_destroy(&b.ready);
  rly_session_free(b.held);
  rly_program_free(b.program);
  rly_context_free(b.cx);
}

/* --- In a callback -------------------------------------------------------- */

static void fork_in_write(void *data, const char *written, size_t len) {
  pid_t *child = data;
  (void)written, (void)len;
  *child = fork();
  if (*child == 0) alarm(CHILD_SECONDS);
}

/* The child returns from the callback and ends the run, as the parent does. */
static void test_in_a_callback(void **state) {
  (void)state;
  rly_context *cx;
  rly_program *p = open_program(&cx);
  pid_t child = -1;
  rly_session_options options = {.write = fork_in_write, .data = &child};
  rly_session *s = rly_session_new(p, &options);
  rly_value *v = NULL;
  rly_status said = rly_session_call(s, "say", 0, NULL, &v);
  bool fine = said == RLY_OK && *(const int32_t *)rly_value_elements(v) == 8;
  rly_value_free(v);
  fine = fine && product_is_right(s);
  rly_session_free(s);
  rly_program_free(p);
  rly_context_free(cx);
  if (child == 0) _exit(fine ? 0 : WRONG_RESULT);
  assert_true(fine && child > 0);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_after_a_parallel_kernel),
      cmocka_unit_test(test_while_others_work),
      cmocka_unit_test(test_in_a_callback),
  };
  pthread_atfork(lock_allocator, unlock_allocator, unlock_allocator);
  return RUN_TESTS(tests);
}
