/* A soak: many sessions of one program step through the same stream, each at
 * its own place, while snapshots, restores, forks, resets, saves, loads and
 * carries move them about at random.  Limits and failing allocations stop steps
 * somewhere within, and files are cut.  Every result must have the bits that a
 * straight run has at that place, and memory must not grow.
 *
 *   soak_test [FRAMES]   in all; a few thousand by default, `make soak` asks
 *                        for ten million
 *
 * The state of a recurrent model after n frames depends on all of them, so one
 * wrong restore shows in every later frame.  A hash of each frame's bits from
 * one straight run is all that has to be kept to compare with. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "lib/handles.h"
#include "tests/unit/host.h"

enum { SESSIONS = 64, LENGTH_MOST = 100000, BURST = 40, WIDTH = 8 };

static long frames = 20000;

/* State in a tensor, a tuple, a list that grows and is cut, a closure's cell,
 * and a cell that is made anew all the time. */
static const char text[] =
    "param @w: Tensor[(8, 8), float32];\n"
    "let @h = ref(full(0.5f, shape=[1, 8], dtype=\"float32\"));\n"
    "let @pair = ref((0, 1f));\n"
    "let @log: Ref[List[Ref[int32]]] = ref(Nil);\n"
    "let @bump = { let %n = ref(0);\n"
    "  fn (%i: int32) -> int32 { ref_write(%n, ref_read(%n) + %i);\n"
    "                            ref_read(%n) } };\n"
    "def @sum(%l: List[Ref[int32]]) -> int32 {\n"
    "  match (%l) { Nil => 0, Cons(%r, %t) => ref_read(%r) + @sum(%t) }\n"
    "}\n"
    "def @step(%x: Tensor[(1, 8), float32]) -> Tensor[(1, 8), float32] {\n"
    "  let %p = ref_read(@pair);\n"
    "  let %i = %p.0 + 1;\n"
    "  ref_write(@pair, (%i, %p.1 * 0.5f + 1f));\n"
    "  ref_write(@log, if (mod(%i, 10) == 0) { Nil }\n"
    "                  else { Cons(ref(%i), ref_read(@log)) });\n"
    "  let %k = cast(mod(@sum(ref_read(@log)) + @bump(%i), 17),\n"
    "                dtype=\"float32\");\n"
    "  ref_write(@h, tanh(nn.dense(ref_read(@h), @w) + %x * %p.1\n"
    "                     + %k * 0.01f));\n"
    "  ref_read(@h)\n"
    "}\n";

typedef struct Walker {
  rly_session *session;
  rly_snapshot *snapshot; /* or NULL */
  long at, held;          /* its place in the stream; the snapshot's */
} Walker;

typedef struct Soak {
  rly_context *cx;
  rly_program *program;
  const rly_function *step;
  long length;        /* of the stream */
  uint32_t *expected; /* by place */
  Walker walkers[SESSIONS];
  char path[32];
  long saved; /* the place of the state in the file */
  uint64_t random;
  long done, ops, faults;
} Soak;

/* --- Frames ------------------------------------------------------------- */

/* Frame `at` of the stream. */
static void frame(long at, float x[WIDTH]) {
  uint64_t seed = (uint64_t)at;
  uint64_t bits = unit_random(&seed);
  for (int i = 0; i < WIDTH; i++)
    x[i] = (float)(bits >> (8 * i) & 255) / 256 - 0.5f;
}

/* Runs one step; *hash is that of its result's bits. */
static rly_status try_step(Soak *k, rly_session *s, long at, uint32_t *hash) {
  float x[WIDTH];
  rly_value *y = NULL;
  frame(at, x);
  rly_value *v =
      rly_value_of_elements(s, "float32", 2, (int64_t[]){1, WIDTH}, x);
  rly_status status =
      v ? rly_session_call_function(s, k->step, 1, &v, &y) : RLY_LIMIT;
  if (status == RLY_OK)
    *hash = hash_bytes(rly_value_elements(y), WIDTH * sizeof(float));
  rly_value_free(y);
  rly_value_free(v);
  return status;
}

static uint32_t step(Soak *k, rly_session *s, long at) {
  uint32_t hash = 0;
  assert_int_equal(try_step(k, s, at, &hash), RLY_OK);
  return hash;
}

static void check_hash(const Soak *k, long at, uint32_t hash) {
  if (hash != k->expected[at])
    fail_msg("frame %ld of %ld: place %ld has other bits", k->done, frames, at);
}

static void burst(Soak *k, Walker *w) {
  for (int i = 0; i < BURST; i++, k->done++) {
    if (w->at == k->length) {
      assert_int_equal(rly_session_reset(w->session), RLY_OK);
      w->at = 0;
    }
    check_hash(k, w->at, step(k, w->session, w->at));
    w->at++;
  }
}

/* --- What moves them about ---------------------------------------------- */

static void take_snapshot(Soak *k, Walker *w) {
  (void)k;
  rly_snapshot_free(w->snapshot);
  w->snapshot = rly_session_snapshot(w->session);
  assert_non_null(w->snapshot);
  w->held = w->at;
}

static void restore(Soak *k, Walker *w) {
  (void)k;
  if (!w->snapshot) return;
  assert_int_equal(rly_session_restore(w->session, w->snapshot), RLY_OK);
  w->at = w->held;
}

static void fork_another(Soak *k, Walker *w) {
  Walker *to = &k->walkers[unit_random(&k->random) % SESSIONS];
  if (to == w) return;
  rly_snapshot_free(to->snapshot);
  rly_session_free(to->session);
  *to = (Walker){.session = rly_session_fork(w->session, NULL), .at = w->at};
  assert_non_null(to->session);
}

static void reset(Soak *k, Walker *w) {
  (void)k;
  assert_int_equal(rly_session_reset(w->session), RLY_OK);
  w->at = 0;
}

static void save(Soak *k, Walker *w) {
  assert_int_equal(rly_session_save(w->session, k->path), RLY_OK);
  k->saved = w->at;
}

static void load(Soak *k, Walker *w) {
  if (k->saved < 0) return;
  assert_int_equal(rly_session_load(w->session, k->path), RLY_OK);
  w->at = k->saved;
}

static void carry(Soak *k, Walker *w) {
  Walker *to = &k->walkers[unit_random(&k->random) % SESSIONS];
  if (to == w) return;
  assert_int_equal(rly_session_carry(w->session, to->session, NULL), RLY_OK);
  to->at = w->at;
}

static void nothing(Soak *k, Walker *w) { (void)k, (void)w; }

/* --- Faults ---------------------------------------------------------------
 * A step that is stopped may have written some of its cells.  A host that goes
 * on puts back the snapshot from before the step. */

typedef void Fault(Soak *k, rly_session *s, uint64_t draw);

static void few_instructions(Soak *k, rly_session *s, uint64_t draw) {
  (void)k;
  rly_options limits = {.max_steps = 1 + draw % 200};
  assert_int_equal(rly_session_set_limits(s, &limits), RLY_OK);
}

static void little_memory(Soak *k, rly_session *s, uint64_t draw) {
  (void)k;
  rly_options limits = {.max_memory = 1024 << draw % 10};
  assert_int_equal(rly_session_set_limits(s, &limits), RLY_OK);
}

static void shallow(Soak *k, rly_session *s, uint64_t draw) {
  (void)k;
  rly_options limits = {.max_depth = 1 + draw % 10};
  assert_int_equal(rly_session_set_limits(s, &limits), RLY_OK);
}

static void failing_allocation(Soak *k, rly_session *s, uint64_t draw) {
  (void)s;
  Mem *m = &k->cx->mem;
  m->fail_at = atomic_load(&m->count) + 1 + draw % 40;
  m->fail_more = draw >> 32 & 1 ? SIZE_MAX - m->fail_at : 0;
}

/* Stops a step somewhere within, or lets it end, and takes it back. */
static void disturb(Soak *k, Walker *w) {
  static Fault *const faults[] = {few_instructions, little_memory, shallow,
                                  failing_allocation};
  if (w->at == k->length) return;
  rly_options limits = {0};
  assert_int_equal(rly_session_limits(w->session, &limits), RLY_OK);
  rly_snapshot *before = rly_session_snapshot(w->session);
  assert_non_null(before);
  uint64_t draw = unit_random(&k->random);
  faults[draw % LENGTH(faults)](k, w->session, draw >> 8);
  uint32_t hash = 0;
  rly_status status = try_step(k, w->session, w->at, &hash);
  k->cx->mem.fail_at = k->cx->mem.fail_more = 0;
  if (status == RLY_OK) check_hash(k, w->at, hash);
  else assert_int_equal(status, RLY_LIMIT);
  k->faults += status != RLY_OK;
  assert_int_equal(rly_session_set_limits(w->session, &limits), RLY_OK);
  assert_int_equal(rly_session_restore(w->session, before), RLY_OK);
  rly_snapshot_free(before);
  rly_session_diagnostics_clear(w->session);
}

/* A file that ends early is refused, and the session stays where it is. */
static void load_cut(Soak *k, Walker *w) {
  if (k->saved < 0) return;
  struct stat file;
  assert_int_equal(stat(k->path, &file), 0);
  uint64_t draw = unit_random(&k->random);
  assert_int_equal(truncate(k->path, (off_t)(draw % (uint64_t)file.st_size)),
                   0);
  assert_int_not_equal(rly_session_load(w->session, k->path), RLY_OK);
  rly_session_diagnostics_clear(w->session);
  k->saved = -1;
  k->faults++;
}

static void move(Soak *k) {
  static void (*const ops[])(Soak *, Walker *) = {
      take_snapshot, restore, fork_another, reset,   save,
      load,          carry,   nothing,      disturb, load_cut,
  };
  uint64_t r = unit_random(&k->random);
  Walker *w = &k->walkers[r % SESSIONS];
  burst(k, w);
  ops[(r >> 32) % LENGTH(ops)](k, w);
  k->ops++;
}

/* --- The run ------------------------------------------------------------ */

static void soak_open(Soak *k) {
  float weights[64];
  for (int i = 0; i < 64; i++) weights[i] = (float)(i * 37 % 64 - 32) / 64;
  *k = (Soak){.cx = rly_context_new(NULL), .saved = -1, .random = 7};
  k->program = host_program(k->cx, text);
  host_bind_w(k->cx, k->program, weights);
  k->step = rly_program_function(k->program, "step");
  strcpy(k->path, "/tmp/rly-soak-XXXXXX");
  int fd = mkstemp(k->path);
  assert_true(fd >= 0);
  close(fd);
}

/* The bits of a straight run. */
static void run_straight(Soak *k) {
  rly_session *s = rly_session_new(k->program, NULL);
  for (long i = 0; i < k->length; i++) k->expected[i] = step(k, s, i);
  rly_session_free(s);
}

static size_t live_bytes(Soak *k) {
  return rly_session_stats(k->walkers[0].session).live_bytes;
}

static void soak_close(Soak *k) {
  for (int i = 0; i < SESSIONS; i++) {
    rly_snapshot_free(k->walkers[i].snapshot);
    rly_session_free(k->walkers[i].session);
  }
  rly_program_free(k->program);
  rly_context_free(k->cx);
  free(k->expected);
  unlink(k->path);
}

static void test_soak(void **state) {
  (void)state;
  Soak k;
  soak_open(&k);
  k.length = frames / 40 < LENGTH_MOST ? frames / 40 : LENGTH_MOST;
  k.expected = malloc((size_t)k.length * sizeof *k.expected);
  run_straight(&k);
  for (int i = 0; i < SESSIONS; i++)
    k.walkers[i].session = rly_session_new(k.program, NULL);
  /* What is live depends on how many snapshots there are and on which blocks
   * the sessions keep for reuse, so the most in each quarter of the run is
   * compared.  The first fills the sessions. */
  size_t most[4] = {0};
  while (k.done < frames) {
    int quarter = (int)(4 * k.done / frames);
    move(&k);
    if (live_bytes(&k) > most[quarter]) most[quarter] = live_bytes(&k);
  }
  print_message(
      "# %ld frames, %ld moves, %ld faults; at most %zu, %zu, %zu and %zu "
      "bytes live in the quarters\n",
      k.done, k.ops, k.faults, most[0], most[1], most[2], most[3]);
  assert_true(most[3] < most[1] + most[1] / 4);
  soak_close(&k);
}

int main(int argc, char **argv) {
  if (argc > 1) frames = atol(argv[1]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_soak)};
  return RUN_TESTS(tests);
}
