/* A host that does all that hosts do: load, bind, stream through 1,000 sessions
 * on 2 threads, fork(2), snapshot, restore in another process, an operator of
 * its own, every status.  It is compiled as C and as C++.
 *
 *   everything FOLDER         does it, and says what went wrong; 0: nothing
 *   everything FOLDER resume  is the other process
 *
 * What each part must give is worked out by hand beside it. */
#include <pthread.h>
#include <rly.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char text[] =
    "param @gain: float32;\n"
    "let @sum = ref(0f);\n"
    "def @step(%x: float32) -> float32 {\n"
    "  ref_write(@sum, ref_read(@sum) + @gain * %x);\n"
    "  ref_read(@sum)\n"
    "}\n"
    "def @div(%a: float32) { cast(1, dtype=\"int32\") / cast(%a, "
    "dtype=\"int32\") }\n"
    "def @spin(%a: float32) -> float32 { @spin(%a) }\n"
    "def @deep(%a: float32) -> float32 { 1f + @deep(%a) }\n"
    "def @wide(%a: float32) { ones(shape=[1000000], dtype=\"float32\") }\n"
    "def @said(%a: float32) -> float32 { print_text(\"x\"); @spin(%a) }\n"
    "def @half(%a: float32) { sum(@halved([%a, 2f * %a])) }\n";

static int faults;

static void check(int right, const char *what) {
  if (right) return;
  faults++;
  fprintf(stderr, "wrong: %s\n", what);
}

/* --- Calls --------------------------------------------------------------- */

typedef struct Host {
  rly_context *cx;
  rly_program *program;
} Host;

/* The status of f(x); *y is a result that is a scalar. */
static rly_status call(const Host *h, rly_session *s, const char *name, float x,
                       float *y) {
  rly_array arg, result;
  rly_value *large = NULL;
  memset(&arg, 0, sizeof arg);
  memset(&result, 0, sizeof result);
  arg.data = &x;
  arg.dtype = "float32";
  result.data = y;
  result.room = sizeof *y;
  rly_status status = rly_session_call_arrays(
      s, rly_program_function(h->program, name), 1, &arg, &result, &large);
  rly_value_free(large);
  return status;
}

static float step(const Host *h, rly_session *s, float x) {
  float y = -1;
  check(call(h, s, "step", x, &y) == RLY_OK, "a step runs");
  return y;
}

/* --- An operator of the host's own: halves of each element --------------- */

static bool run_halved(void *data, rly_operator_call *c) {
  const float *x = (const float *)c->operands[0].data;
  float *y = (float *)c->result.data;
  for (int64_t i = 0; i < c->result.count; i++) y[i] = x[i] / 2;
  ++*(int *)data;
  return true;
}

static bool add_halved(rly_program *p, int *calls) {
  rly_operator op;
  memset(&op, 0, sizeof op);
  op.signature =
      "op @halved[n: Dim](%x: Tensor[(n), float32]) -> "
      "Tensor[(n), float32]";
  op.run = run_halved;
  op.data = calls;
  return rly_operator_add(p, &op) == RLY_OK;
}

/* --- Load and bind ------------------------------------------------------- */

static bool host_open(Host *h, int *calls) {
  rly_options options;
  memset(&options, 0, sizeof options);
  options.max_memory = 256u << 20;
  options.threads = 2;
  h->cx = rly_context_new(&options);
  h->program = rly_program_new(h->cx);
  float two = 2;
  rly_tensor *gain = rly_tensor_new(h->cx, "float32", 0, NULL, &two);
  bool fine = add_halved(h->program, calls) &&
              rly_program_add_text(h->program, "host", text, strlen(text), 0) ==
                  RLY_OK &&
              rly_program_bind_param(h->program, "gain", gain) == RLY_OK &&
              rly_program_bindings_check(h->program, NULL) == RLY_OK;
  rly_tensor_free(gain);
  if (fine) return true;
  char *said = rly_diagnostics_text(h->cx, false);
  fprintf(stderr, "%s", said);
  rly_text_free(h->cx, said);
  return false;
}

static void host_close(Host *h) {
  rly_program_free(h->program);
  rly_context_free(h->cx);
}

/* --- 1,000 sessions on 2 threads ----------------------------------------- */

enum { USERS = 1000, STEPS = 8 };

typedef struct Server {
  const Host *host;
  rly_session **users;
  int first, right;
} Server;

/* After k steps of i, session i holds 2 * i * k. */
static void *serve(void *server) {
  Server *sv = (Server *)server;
  for (int k = 1; k <= STEPS; k++)
    for (int i = sv->first; i < USERS; i += 2) {
      float y = 0;
      call(sv->host, sv->users[i], "step", (float)i, &y);
      sv->right += y == 2.0f * (float)i * (float)k;
    }
  return NULL;
}

static void stream(const Host *h) {
  static rly_session *users[USERS];
  for (int i = 0; i < USERS; i++) users[i] = rly_session_new(h->program, NULL);
  Server servers[2] = {{h, users, 0, 0}, {h, users, 1, 0}};
  pthread_t threads[2];
  for (int t = 0; t < 2; t++)
    pthread_create(&threads[t], NULL, serve, &servers[t]);
  for (int t = 0; t < 2; t++) pthread_join(threads[t], NULL);
  check(servers[0].right + servers[1].right == USERS * STEPS,
        "each of 1,000 sessions has its own sum");
  for (int i = 0; i < USERS; i++) rly_session_free(users[i]);
}

/* --- fork(2) ------------------------------------------------------------- */

/* Parent and child go on from 6, each on its own. */
static void fork_child(const Host *h) {
  rly_session *s = rly_session_new(h->program, NULL);
  step(h, s, 3);
  pid_t child = fork();
  if (child == 0) {
    faults = 0;
    check(step(h, s, 1) == 8, "the child goes on");
    rly_session *own = rly_session_new(h->program, NULL);
    check(step(h, own, 1) == 2, "and begins anew");
    rly_session_free(own);
    _exit(faults);
  }
  int status = -1;
  waitpid(child, &status, 0);
  check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ends well");
  check(step(h, s, 2) == 10, "the parent goes on");
  rly_session_free(s);
}

/* --- State --------------------------------------------------------------- */

static void remember(const Host *h, const char *self, const char *folder) {
  rly_session *s = rly_session_new(h->program, NULL);
  step(h, s, 5);
  rly_snapshot *before = rly_session_snapshot(s);
  rly_session *forked = rly_session_fork(s, NULL);
  check(step(h, s, 1) == 12 && step(h, s, 1) == 14, "on from a snapshot");
  check(rly_session_restore(s, before) == RLY_OK, "put back");
  check(step(h, s, 2) == 14 && step(h, forked, 0) == 10, "as it was");
  check(rly_session_restore(forked, before) == RLY_MISUSE,
        "a snapshot is its own session's");
  char file[1000], command[3000];
  snprintf(file, sizeof file, "%s/host.safetensors", folder);
  check(rly_session_save(s, file) == RLY_OK, "saved");
  snprintf(command, sizeof command, "'%s' '%s' resume", self, folder);
  check(system(command) == 0, "another process goes on from there");
  rly_snapshot_free(before);
  rly_session_free(forked);
  rly_session_free(s);
}

/* The other process: 14 was saved. */
static void resume(const Host *h, const char *folder) {
  rly_session *s = rly_session_new(h->program, NULL);
  char file[1000];
  snprintf(file, sizeof file, "%s/host.safetensors", folder);
  check(rly_session_load(s, file) == RLY_OK, "loaded");
  check(step(h, s, 1) == 16, "it goes on");
  rly_session_free(s);
}

/* --- Every status -------------------------------------------------------- */

static void stop(void *session, const char *what, size_t len) {
  (void)what;
  (void)len;
  rly_session_interrupt(*(rly_session **)session);
}

/* The code of the session's only error, which is cleared. */
static void check_code(rly_session *s, const char *code, const char *what) {
  rly_diagnostic d;
  check(rly_session_diagnostic_count(s) == 1 &&
            rly_session_diagnostic_get(s, 0, &d) && !strcmp(d.code, code),
        what);
  rly_session_diagnostics_clear(s);
}

static rly_status limited(const Host *h, rly_session *s, const char *name,
                          size_t memory, uint64_t depth, uint64_t steps,
                          double timeout) {
  rly_options limits;
  memset(&limits, 0, sizeof limits);
  limits.max_memory = memory;
  limits.max_depth = depth;
  limits.max_steps = steps;
  limits.timeout = timeout;
  check(rly_session_set_limits(s, &limits) == RLY_OK, "limits are set");
  float y;
  return call(h, s, name, 1, &y);
}

static void statuses(const Host *h) {
  rly_session *s = NULL;
  rly_session_options options;
  memset(&options, 0, sizeof options);
  options.write = stop;
  options.data = &s;
  s = rly_session_new(h->program, &options);
  float y;
  check(call(h, s, "div", 0, &y) == RLY_RUNTIME, "division by zero");
  check_code(s, "E0602", "E0602");
  check(limited(h, s, "wide", 1 << 20, 0, 0, 0) == RLY_LIMIT, "memory");
  check_code(s, "E0701", "E0701");
  check(limited(h, s, "deep", 0, 100, 0, 0) == RLY_LIMIT, "depth");
  check_code(s, "E0702", "E0702");
  check(limited(h, s, "spin", 0, 0, 1000, 0) == RLY_LIMIT, "steps");
  check_code(s, "E0707", "E0707");
  check(limited(h, s, "spin", 0, 0, 0, 0.01) == RLY_LIMIT, "time");
  check_code(s, "E0703", "E0703");
  check(limited(h, s, "said", 0, 0, 0, 0) == RLY_INTERRUPTED, "interrupted");
  check_code(s, "E0704", "E0704");
  check(step(h, s, 1) == 2, "the session goes on after all of them");
  rly_value *v = NULL;
  check(rly_session_call(s, "none", 0, NULL, &v) == RLY_REFUSED, "no function");
  check_code(s, "E0504", "E0504");
  check(rly_session_call(s, "step", 0, NULL, NULL) == RLY_MISUSE &&
            strstr(rly_misuse(), "rly_session_call: the result is NULL"),
        "misuse is told");
  check(rly_program_add_text(h->program, "t", "1 +", 3, RLY_INTERACTIVE) ==
            RLY_INCOMPLETE,
        "a text that goes on");
  check(rly_program_add_text(h->program, "t", "1 + 1f;", 7, 0) == RLY_REFUSED,
        "a text that is wrong");
  char *said = rly_diagnostics_json(h->cx);
  check(said && strstr(said, "\"E0207\""), "told as JSON, too");
  rly_text_free(h->cx, said);
  rly_diagnostics_clear(h->cx);
  rly_session_free(s);
}

int main(int argc, char **argv) {
  Host h;
  int halved = 0;
  if (argc < 2 || !host_open(&h, &halved)) return 2;
  if (argc > 2) resume(&h, argv[1]);
  else {
    stream(&h);
    fork_child(&h);
    remember(&h, argv[0], argv[1]);
    statuses(&h);
    rly_session *s = rly_session_new(h.program, NULL);
    float y;
    check(call(&h, s, "half", 3, &y) == RLY_OK && y == 4.5f && halved == 1,
          "the operator of one's own runs");
    rly_session_free(s);
  }
  host_close(&h);
  return faults ? 1 : 0;
}
