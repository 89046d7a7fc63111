/* Commands whose allocations fail.
 *
 *   oom [-s STRIDE] [-l BYTES] [-n STEPS] [-c COMMAND] [-v] FILE...
 *
 * The program is linked in, with malloc and its kin wrapped.  Each command over
 * each file runs first as it is, which counts its allocations, and then with
 * the n-th failing for n = 1, 1 + STRIDE, ...: once alone, once with all behind
 * it.  Each run is a process of its own.  It must end by itself,
 * either like the first or with the exit status of a limit and a message.
 *
 * With -l BYTES each command runs under limits from so many bytes down to a
 * megabyte (--max-memory) instead. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

int rly_main(int argc, char **argv);

/* --- The wrapped allocator ----------------------------------------------- */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);

/* Shared with the parent: what a run has counted. */
static struct Counts {
  _Atomic size_t made;    /* allocations */
  _Atomic size_t refused; /* of those, by us */
} * counts;
static size_t fail_at, fail_more;

static bool must_fail(void) {
  size_t number = atomic_fetch_add(&counts->made, 1) + 1;
  bool fails = fail_at && number - fail_at <= fail_more;
  if (fails) atomic_fetch_add(&counts->refused, 1);
  return fails;
}

void *__wrap_malloc(size_t size) {
  return must_fail() ? NULL : __real_malloc(size);
}
void *__wrap_calloc(size_t n, size_t size) {
  return must_fail() ? NULL : __real_calloc(n, size);
}
void *__wrap_realloc(void *p, size_t size) {
  return must_fail() ? NULL : __real_realloc(p, size);
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return must_fail() ? NULL : __real_aligned_alloc(alignment, size);
}

/* --- One run -------------------------------------------------------------- */

typedef struct Run {
  int status; /* of waitpid */
  size_t made, refused;
  uint64_t printed; /* a hash of standard output */
  bool said;        /* something on standard error */
} Run;

enum { WORDS = 12 };

typedef struct Case {
  const char *words[WORDS]; /* behind the program's name */
} Case;

static uint64_t drain(int fd, uint64_t hash) {
  char text[4096];
  ssize_t n;
  lseek(fd, 0, SEEK_SET);
  while ((n = read(fd, text, sizeof text)) > 0)
    for (ssize_t i = 0; i < n; i++)
      hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
  return hash;
}

static void child(const Case *c, int out, int err) {
  char *argv[WORDS + 2] = {"rly"};
  int argc = 1;
  while (c->words[argc - 1]) {
    argv[argc] = (char *)c->words[argc - 1];
    argc++;
  }
  int null = open("/dev/null", O_RDONLY);
  dup2(null, 0), dup2(out, 1), dup2(err, 2);
  exit(rly_main(argc, argv));
}

static FILE *scratch[2];

static Run run(const Case *c, size_t at, size_t more) {
  int fds[2];
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
  r.printed = drain(fds[0], 14695981039346656037u);
  r.said = lseek(fds[1], 0, SEEK_END) > 0;
  return r;
}

/* --- What must hold ------------------------------------------------------- */

enum { STATUS_LIMIT = 3 };

static size_t runs, mistakes;
static bool verbose;

static void say(const Case *c, const Run *r, const char *how, size_t n,
                const char *what) {
  printf("# ");
  for (int i = 0; c->words[i]; i++) printf("%s ", c->words[i]);
  printf("(%s %zu): %s", how, n, what);
  if (WIFSIGNALED(r->status)) printf(", signal %d", WTERMSIG(r->status));
  else printf(", exit status %d", WEXITSTATUS(r->status));
  printf("\n");
  mistakes++;
}

/* Did the run end like `first`, or say that memory ran out? */
static void judge(const Case *c, const Run *first, const Run *r,
                  const char *how, size_t n) {
  runs++;
  if (WIFSIGNALED(r->status)) {
    say(c, r, how, n, "it crashed");
    return;
  }
  int status = WEXITSTATUS(r->status);
  /* `step` tells of its machine's faults where it shows the steps. */
  bool told =
      r->said || (!strcmp(c->words[0], "step") && r->printed != first->printed);
  if (status == STATUS_LIMIT && !told) say(c, r, how, n, "it said nothing");
  if (status == STATUS_LIMIT) return;
  if (r->status != first->status) say(c, r, how, n, "it ended otherwise");
  else if (r->printed != first->printed)
    say(c, r, how, n, "it printed otherwise");
}

/* --- Failing allocations -------------------------------------------------- */

static void sweep(const Case *c, size_t stride) {
  Run first = run(c, 0, 0);
  if (WIFSIGNALED(first.status)) {
    say(c, &first, "as it is", 0, "it crashed");
    return;
  }
  size_t before = mistakes, step = stride;
  if (step == 0) step = 1 + first.made / 20; /* a sample */
  for (size_t n = 1; n <= first.made; n += step) {
    Run once = run(c, n, 0);
    judge(c, &first, &once, "allocation", n);
    Run on = run(c, n, SIZE_MAX);
    judge(c, &first, &on, "allocations from", n);
  }
  if (verbose)
    printf("# %s %s: %zu allocations, %zu mistakes\n", c->words[0], c->words[1],
           first.made, mistakes - before);
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
    printf("# %s %s: %d limits, %zu mistakes\n", c->words[0], c->words[1],
           steps, mistakes - before);
}

/* --- Main ----------------------------------------------------------------- */

static const char *const commands[][3] = {
    {"check", "--types"},   {"run"},  {"fmt"}, {"dump", "--ir"},
    {"dump", "--bytecode"}, {"step"},
};
enum { COMMANDS = sizeof commands / sizeof *commands };

int main(int argc, char **argv) {
  size_t stride = 0, most = 0;
  int option, steps = 40;
  const char *only = NULL;
  while ((option = getopt(argc, argv, "s:l:n:c:v")) != -1) {
    if (option == 's') stride = strtoull(optarg, NULL, 10);
    if (option == 'l') most = strtoull(optarg, NULL, 10);
    if (option == 'n') steps = atoi(optarg);
    if (option == 'c') only = optarg;
    if (option == 'v') verbose = true;
  }
  counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 2; i++) scratch[i] = tmpfile();
  if (counts == MAP_FAILED || !scratch[0] || !scratch[1]) return 2;
  setenv("OMP_NUM_THREADS", "1", 1);
  for (int f = optind; f < argc; f++)
    for (int k = 0; k < COMMANDS; k++) {
      if (only && strcmp(only, commands[k][0])) continue;
      Case c = {{commands[k][0]}};
      int n = 1;
      if (commands[k][1]) c.words[n++] = commands[k][1];
      c.words[n] = argv[f];
      if (most) shrink(&c, most, steps);
      else sweep(&c, stride);
    }
  printf("%s 1 - %zu runs, %zu mistakes\n1..1\n", mistakes ? "not ok" : "ok",
         runs, mistakes);
  return mistakes != 0;
}
