/* Commands whose allocations fail.
 *
 *   oom [-s STRIDE | -p [-j JOBS] | -f N] [-l BYTES] [-n STEPS] [-c COMMAND]
 *       [-v] FILE...
 *
 * The program is linked in, with malloc and its kin wrapped.  Each command over
 * each file runs first as it is, which counts its allocations, and then with
 * the n-th failing for n = 1, 1 + STRIDE, ...: once alone, once with all after
 * it.  Each run is a process of its own.  It must end by itself,
 * either like the first or with the exit status of a limit and a message, and
 * leave no block unfreed that the first did not.
 *
 * Most allocations are made for the same reason as another: the same functions
 * have called one another.  With -p one allocation of each such path fails, in
 * the shortest of all the runs that take it.  Runs of more than five seconds
 * are left out, which is said.  With -j JOBS so many of the runs are tried at
 * once.  `make oom` builds it with the frame pointers that -p needs.
 *
 * -c COMMAND takes the commands that begin with these words; -f N makes one run
 * in this process, for a debugger, in which allocations N and N + 1 fail.
 *
 * With -l BYTES each command runs under limits from so many bytes down to a
 * megabyte (--max-memory) instead. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "lib/kept_text.h"
#include "tests/oom/paths.h"

int rly_main(int argc, char **argv);

/* --- The wrapped allocator ----------------------------------------------- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *p);

/* Shared with the parent: what a run has counted. */
static struct Counts {
  _Atomic size_t made;    /* allocations made */
  _Atomic size_t refused; /* of those, refused by us */
  _Atomic size_t left;    /* of those, not freed at the end of the program */
} * counts;
static size_t fail_at, fail_more;
static bool noting; /* which paths lead to the allocations */

static bool must_fail(void) {
  size_t number = atomic_fetch_add(&counts->made, 1) + 1;
  if (noting) paths_note(number);
  bool fails = fail_at && number - fail_at <= fail_more;
  if (fails) atomic_fetch_add(&counts->refused, 1);
  return fails;
}

/* The blocks not yet freed, in a table with open addressing.  Some blocks that
 * are freed here were allocated inside a library, so not every free finds its
 * block. */
static struct Blocks {
  pthread_mutex_t lock;
  void **slots;
  /* `used` also counts the slots of freed blocks (tombstones) */
  size_t used, left, cap;
} blocks = {.lock = PTHREAD_MUTEX_INITIALIZER};

static char freed; /* marks the slot of a freed block */

static void **slot_of(void *p) {
  size_t at = (uintptr_t)p / 16 * 0x9e3779b97f4a7c15u;
  while (blocks.slots[at %= blocks.cap] && blocks.slots[at] != p) at++;
  return &blocks.slots[at];
}

static void make_room(void) {
  struct Blocks old = blocks;
  if (2 * (old.used + 1) < old.cap) return;
  blocks.cap = 1024 + 4 * old.left;
  blocks.used = old.left;
  blocks.slots = __real_calloc(blocks.cap, sizeof *blocks.slots);
  if (!blocks.slots) abort();
  for (size_t i = 0; i < old.cap; i++)
    if (old.slots[i] && old.slots[i] != &freed)
      *slot_of(old.slots[i]) = old.slots[i];
  __real_free(old.slots);
}

static void *noted(void *p) {
  if (!p) return NULL;
  pthread_mutex_lock(&blocks.lock);
  make_room();
  *slot_of(p) = p;
  blocks.used++, blocks.left++;
  pthread_mutex_unlock(&blocks.lock);
  return p;
}

static void forget(void *p) {
  if (!p) return;
  pthread_mutex_lock(&blocks.lock);
  make_room();
  void **slot = slot_of(p);
  if (*slot) *slot = &freed, blocks.left--;
  pthread_mutex_unlock(&blocks.lock);
}

void *__wrap_malloc(size_t size) {
  return must_fail() ? NULL : noted(__real_malloc(size));
}
void *__wrap_calloc(size_t n, size_t size) {
  return must_fail() ? NULL : noted(__real_calloc(n, size));
}
void *__wrap_realloc(void *p, size_t size) {
  if (must_fail()) return NULL;
  forget(p);
  void *q = __real_realloc(p, size);
  return noted(q ? q : p), q;
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return must_fail() ? NULL : noted(__real_aligned_alloc(alignment, size));
}
void __wrap_free(void *p) {
  forget(p);
  __real_free(p);
}

/* --- One run -------------------------------------------------------------- */

typedef struct Run {
  int status; /* as waitpid gives it */
  size_t made, refused, left;
  uint64_t printed; /* a hash of standard output */
  bool said;        /* it wrote to standard error */
} Run;

enum { WORDS = 16 };

typedef struct Case {
  const char *words[WORDS]; /* arguments after the program's name */
} Case;

/* Files that commands write, of this process.  Before each run `kept` is not
 * there, and `fetched` holds values that the run is to fetch. */
static char trained[32] = "build/oom.train", kept[32] = "build/oom.kept",
            fetched[32] = "build/oom.fetched";

static void name_files(int worker) {
  snprintf(trained, sizeof trained, "build/oom.%d.train", worker);
  snprintf(kept, sizeof kept, "build/oom.%d.kept", worker);
  snprintf(fetched, sizeof fetched, "build/oom.%d.fetched", worker);
}

static bool has_word(const Case *c, const char *word) {
  for (int i = 0; c->words[i]; i++)
    if (c->words[i] == word) return true;
  return false;
}

static uint64_t drain(int fd, uint64_t hash) {
  char text[4096];
  ssize_t n;
  lseek(fd, 0, SEEK_SET);
  while ((n = read(fd, text, sizeof text)) > 0)
    for (ssize_t i = 0; i < n; i++)
      hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
  return hash;
}

/* A server reads the file as its input, answers what it has no memory for by
 * errors, and goes on: neither its output nor its status need be the same. */
static bool is_server(const Case *c) { return !strcmp(c->words[0], "lsp"); }

static void child(const Case *c, int out, int err) {
  char *argv[WORDS + 2] = {"rly"};
  int argc = 1;
  while (c->words[argc - 1]) {
    argv[argc] = (char *)c->words[argc - 1];
    argc++;
  }
  const char *from = is_server(c) ? argv[--argc] : "/dev/null";
  int in = open(from, O_RDONLY);
  argv[argc] = NULL;
  dup2(in, 0), dup2(out, 1), dup2(err, 2);
  int status = rly_main(argc, argv);
  counts->left = blocks.left;
  fail_at = 0; /* gcov allocates where it writes its counts at exit */
  exit(status);
}

static FILE *scratch[2];

/* What a process that makes runs needs: counts, and files for their output. */
static bool open_run(void) {
  counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 2; i++) scratch[i] = tmpfile();
  return counts != MAP_FAILED && scratch[0] && scratch[1];
}

/* --- What a run finds ---------------------------------------------------- */

/* What `fetched` holds before each run: the records with values of what a run
 * without it left.  Steps without a record run, and fetch these values. */
static struct Values {
  char *text; /* owned */
  size_t len;
} values;

static bool has_value(const char *at, size_t len) {
  const char *end = at + len, *word, *text;
  for (size_t n; kept_next_part(&at, end, &word, &text, &n);)
    if (*word == 'b') return true;
  return false;
}

/* Takes the records without values out of the text. */
static void leave_values(struct Values *v) {
  const char *at = memchr(v->text, '\n', v->len), *end = v->text + v->len;
  if (!at) return;
  at++;
  char *out = v->text + (at - v->text);
  const char *record = at, *word, *text;
  for (size_t n; kept_next_part(&at, end, &word, &text, &n); record = at) {
    if (!has_value(text, n)) continue;
    memmove(out, record, (size_t)(at - record));
    out += at - record;
  }
  v->len = (size_t)(out - v->text);
}

static bool note_values(void) {
  struct stat there;
  int file = open(fetched, O_RDONLY);
  if (file < 0 || fstat(file, &there)) return false;
  values.text = __real_malloc((size_t)there.st_size + 1);
  ssize_t n = values.text ? read(file, values.text, (size_t)there.st_size) : -1;
  close(file);
  if (n < 0) return false;
  values.len = (size_t)n;
  values.text[n] = '\0'; /* numbers end there */
  leave_values(&values);
  return true;
}

static void prepare(const Case *c) {
  if (has_word(c, kept)) unlink(kept);
  if (!has_word(c, fetched)) return;
  unlink(fetched);
  int file = values.text ? open(fetched, O_WRONLY | O_CREAT, 0600) : -1;
  if (file >= 0 && write(file, values.text, values.len) < 0) perror("oom");
  if (file >= 0) close(file);
}

/* --- One run, in a process of its own ------------------------------------ */

static Run run(const Case *c, size_t at, size_t more) {
  int fds[2];
  prepare(c);
  for (int i = 0; i < 2; i++) {
    fds[i] = fileno(scratch[i]);
    if (ftruncate(fds[i], 0) || lseek(fds[i], 0, SEEK_SET)) perror("oom");
  }
  *counts = (struct Counts){0};
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    fail_at = at, fail_more = more;
    child(c, fds[0], fds[1]);
  }
  Run r = {0};
  while (waitpid(pid, &r.status, 0) < 0 && errno == EINTR) {
  }
  r.made = counts->made;
  r.refused = counts->refused;
  r.left = counts->left;
  r.printed = drain(fds[0], 14695981039346656037u);
  r.said = lseek(fds[1], 0, SEEK_END) > 0;
  return r;
}

/* --- What must hold ------------------------------------------------------- */

enum { STATUS_LIMIT = 3 };

static size_t runs, mistakes;
static size_t only_at; /* the one allocation to fail; 0 for all, in turn */
static bool verbose;

static void say_words(const Case *c) {
  printf("# ");
  for (int i = 0; c->words[i]; i++) printf("%s ", c->words[i]);
}

static void say(const Case *c, const Run *r, const char *how, size_t n,
                const char *what) {
  say_words(c);
  printf("(%s %zu): %s", how, n, what);
  if (WIFSIGNALED(r->status)) printf(", signal %d", WTERMSIG(r->status));
  else printf(", exit status %d", WEXITSTATUS(r->status));
  printf("\n");
  mistakes++;
}

/* Did the run end like `first`, or report that memory ran out? */
static void judge(const Case *c, const Run *first, const Run *r,
                  const char *how, size_t n) {
  runs++;
  if (WIFSIGNALED(r->status)) {
    say(c, r, how, n, "it crashed");
    return;
  }
  if (r->left > first->left) say(c, r, how, n, "it left blocks unfreed");
  if (is_server(c)) return;
  int status = WEXITSTATUS(r->status);
  /* `step` prints the faults of its machine among the steps. */
  bool told =
      r->said || (!strcmp(c->words[0], "step") && r->printed != first->printed);
  if (status == STATUS_LIMIT && !told) say(c, r, how, n, "it said nothing");
  if (status == STATUS_LIMIT) return;
  if (r->status != first->status) say(c, r, how, n, "it ended otherwise");
  else if (r->printed != first->printed)
    say(c, r, how, n, "it printed otherwise");
}

/* --- Failing allocations -------------------------------------------------- */

/* Three runs, in which the n-th allocation fails. */
static void fail(const Case *c, const Run *first, size_t n) {
  Run once = run(c, n, 0);
  judge(c, first, &once, "allocation", n);
  Run twice = run(c, n, 1);
  judge(c, first, &twice, "two allocations from", n);
  Run on = run(c, n, SIZE_MAX);
  judge(c, first, &on, "allocations from", n);
}

/* For a command that is to fetch values: a run that leaves them. */
static void make_values(const Case *c) {
  if (!has_word(c, fetched)) return;
  __real_free(values.text);
  values = (struct Values){0};
  run(c, 0, 0);
  if (!note_values()) say_words(c), printf("leaves no values\n");
}

/* The run as it is.  False: it crashed, which is said. */
static bool run_first(const Case *c, Run *first) {
  *first = run(c, 0, 0);
  if (WIFSIGNALED(first->status)) say(c, first, "as it is", 0, "it crashed");
  return !WIFSIGNALED(first->status);
}

static void sweep(const Case *c, size_t stride) {
  Run first;
  if (only_at) { /* in this process, so that a debugger can follow */
    fail_at = only_at, fail_more = 1;
    child(c, 1, 2);
  }
  make_values(c);
  if (!run_first(c, &first)) return;
  size_t before = mistakes, step = stride;
  if (step == 0) step = 1 + first.made / 20; /* a sample of about twenty */
  for (size_t n = 1; n <= first.made; n += step) fail(c, &first, n);
  if (verbose)
    say_words(c), printf("(%zu allocations): %zu mistakes\n", first.made,
                         mistakes - before);
}

/* --- One allocation of each path ------------------------------------------ */

/* What fails in one run: `count` of its allocations. */
static void fail_chosen(const Case *c, const FailureAt *at, size_t count) {
  Run first;
  size_t before = mistakes;
  make_values(c);
  if (!run_first(c, &first)) return;
  for (size_t i = 0; i < count; i++) fail(c, &first, at[i].allocation);
  if (verbose)
    say_words(c), printf("(%zu of %zu allocations): %zu mistakes\n", count,
                         first.made, mistakes - before);
}

enum { LONG = 5 /* seconds: hundreds of such runs would take hours */ };

/* Runs of more than LONG seconds are left out, and so are the paths that only
 * they take. */
static void note_paths(const Case *c, size_t number) {
  Run first;
  make_values(c);
  double began = clock_seconds();
  noting = true;
  bool ended = run_first(c, &first);
  noting = false;
  double seconds = clock_seconds() - began;
  if (ended && seconds <= LONG) paths_take(number, seconds);
  if (seconds > LONG) say_words(c), printf("is left out: %.0f s\n", seconds);
}

enum { SHARE = 100 /* the most allocations of a run that one worker takes */ };

/* What the workers have in common: how many shares are taken, what came of
 * them, and how many workers came to their end. */
typedef struct Progress {
  _Atomic size_t taken, runs, mistakes, ended;
} Progress;

static void work(Progress *p, int worker, const Case *cases,
                 const FailureAt *at, size_t paths) {
  name_files(worker);
  runs = mistakes = 0;
  if (!open_run()) _exit(2);
  size_t next = p->taken++;
  for (size_t i = 0, n, share = 0; i < paths; i += n, share++) {
    for (n = 1; n < SHARE && i + n < paths && at[i + n].run == at[i].run;) n++;
    if (share != next) continue;
    fail_chosen(&cases[at[i].run], &at[i], n);
    next = p->taken++;
  }
  p->runs += runs;
  p->mistakes += mistakes;
  p->ended++;
  fflush(stdout);
  _exit(0);
}

/* False: a worker did not come to its end. */
static bool sweep_paths(const Case *cases, size_t count, int jobs) {
  for (size_t i = 0; i < count; i++) note_paths(&cases[i], i);
  size_t paths;
  double seconds;
  FailureAt *at = paths_chosen(&paths, &seconds);
  printf("# %zu paths in %zu runs, at most %.1f hours\n", paths, count,
         3 * seconds / 3600 / jobs);
  Progress *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return false;
  fflush(stdout);
  for (int w = 0; w < jobs; w++)
    if (fork() == 0) work(p, w, cases, at, paths);
  while (wait(NULL) > 0 || errno == EINTR) {
  }
  runs += p->runs, mistakes += p->mistakes;
  bool ended = p->ended == (size_t)jobs;
  if (!ended) printf("# a worker ended early\n");
  munmap(p, sizeof *p);
  __real_free(at);
  return ended;
}

/* --- Limits --------------------------------------------------------------- */

static void shrink(const Case *c, size_t most, int steps) {
  Run first = run(c, 0, 0);
  size_t before = mistakes;
  for (int i = 0; i < steps; i++) {
    char limit[32];
    size_t bytes = most - (most - (1 << 20)) / (size_t)steps * (size_t)i;
    snprintf(limit, sizeof limit, "%zu", bytes);
    Case limited = {{c->words[0], "--max-memory", limit}};
    for (int k = 1; c->words[k]; k++) limited.words[k + 2] = c->words[k];
    Run r = run(&limited, 0, 0);
    judge(c, &first, &r, "limit", bytes);
  }
  if (verbose)
    say_words(c),
        printf("(%d limits): %zu mistakes\n", steps, mistakes - before);
}

/* --- Main ----------------------------------------------------------------- */

/* `test --promote` changes its file, `import` and `export` write others beside
 * it, and `lsp` reads messages, so they run only when named. */
static const char *const commands[][WORDS] = {
    {"check"},
    {"check", "--types"},
    {"run"},
    {"fmt"},
    {"fmt", "--relay"},
    {"fmt", "--functional"},
    {"check", "--tail-calls"},
    {"opt", "--fast-math", "--passes",
     "DynamicToStatic,SimplifyExpr,SimplifyInference,CanonicalizeOps,"
     "FoldScaleAxis,FoldBatchNorm,Legalize,CombineParallelDense,"
     "CombineParallelConv2D,LoopInvariant,BatchRecurrence,EtaExpand,Inline,"
     "PartialEval,Unroll,FirstOrderGradient"},
    {"opt", "--passes", "FuseOps,DefuseOps,ToANormalForm,ToCPS,UnCPS"},
    {"opt", "--passes",
     "ToBasicBlockNormalForm,DeadStore,ToGraphNormalForm,LambdaLift,"
     "LambdaUnlift,EliminateCommonSubexpr,DeadCodeElimination,"
     "RemoveUnusedFunctions"},
    {"opt", "--rules", "tests/rules/page.rly"},
    {"opt", "--rules", "tests/rules/own.rly"},
    {"opt", "--saturate", "--fast-math", "--rules",
     "docs/optimiser/regroup.rly"},
    {"opt", "--reduce", "! grep -q ref_write"},
    {"verify", "--trials", "8"},
    {"dump", "--format", "json"},
    {"dump", "--format", "html"},
    {"dump", "--ir"},
    {"dump", "--bytecode"},
    {"step"},
    {"gradcheck"},
    {"train", "--print"},
    {"train", "--epochs", "1", "--epoch-steps", "2", "--clip", "1", "--shards",
     "2", "--quiet", "--resume", "-o", trained},
    {"test", "--promote"},
    {"import"},
    {"import", "--stateful"},
    {"export"},
    {"lsp"},
    {"run", "--stats", "--trace", "/dev/null"},
    {"run", "--tape-memory", "4k"},
    {"watch", "--once", "--cells"},
    {"watch", "--once", "--cells", "--keep-over", "1e-9", "--kept", kept},
    {"watch", "--once", "--cells", "--keep-over", "1e-9", "--kept", fetched},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

/* Does a command begin with these words, as `watch` or `check --types`? */
static bool begins(const char *const *words, const char *with) {
  size_t len = 0;
  for (; *words && *with; words++, with += len) {
    with += strspn(with, " ");
    len = strcspn(with, " ");
    if (strlen(*words) != len || strncmp(*words, with, len) != 0) return false;
  }
  return !*with;
}

int main(int argc, char **argv) {
  size_t stride = 0, most = 0;
  int option, steps = 40;
  int jobs = 1;
  bool by_paths = false, whole = true;
  const char *only = NULL;
  while ((option = getopt(argc, argv, "s:pj:l:n:c:f:v")) != -1) {
    if (option == 's') stride = strtoull(optarg, NULL, 10);
    if (option == 'p') by_paths = true;
    if (option == 'j') jobs = atoi(optarg);
    if (option == 'l') most = strtoull(optarg, NULL, 10);
    if (option == 'n') steps = atoi(optarg);
    if (option == 'f') only_at = strtoull(optarg, NULL, 10);
    if (option == 'c') only = optarg;
    if (option == 'v') verbose = true;
  }
  if (jobs < 1 || !open_run()) return 2;
  if (by_paths && !paths_open()) {
    fprintf(stderr, "oom: -p needs a build with frame pointers: make oom\n");
    return 2;
  }
  size_t count = 0;
  Case *cases =
      __real_calloc((size_t)argc * COMMANDS, sizeof *cases); /* for -p */
  if (!cases) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  setenv("OMP_NUM_THREADS", "1", 1);
  for (int f = optind; f < argc; f++)
    for (int k = 0; k < COMMANDS; k++) {
      const char *command = commands[k][0];
      bool named = !strcmp(command, "test") || !strcmp(command, "import") ||
                   !strcmp(command, "export") || !strcmp(command, "lsp");
      if (only ? !begins(commands[k], only) : named) continue;
      Case c = {{0}};
      int n = 0;
      for (; commands[k][n]; n++) c.words[n] = commands[k][n];
      c.words[n] = argv[f];
      if (most) shrink(&c, most, steps);
      else if (by_paths) cases[count++] = c;
      else sweep(&c, stride);
    }
  if (by_paths) whole = sweep_paths(cases, count, jobs);
  __real_free(cases);
  bool ok = whole && runs > 0 && mistakes == 0;
  printf("%s 1 - %zu runs, %zu mistakes\n1..1\n", ok ? "ok" : "not ok", runs,
         mistakes);
  return !ok;
}
