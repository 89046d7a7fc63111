/* differ: looks for programs on which the VM and the small-step machine do not
 * agree.
 *
 *   differ [--seed S] [--count N] [--size K]  generates programs; tells the
 *          seed of each that differs, cut down to what matters
 *   differ --print [--seed S] [--size K]      shows a generated program
 *   differ --conformance DIR                  runs the language suite
 *   differ FILE...                            runs these files
 *   differ --passes 'A,B;C' ...               the VM runs what each of these
 *          pipelines of rly opt makes of each
 *   differ --ways N                           the same of pipelines that the
 * seed draws: no pass, -O1, -O2, one pass alone, N sequences by chance; 0:
 *          every pass alone
 *   differ --steps N ...                      leaves programs of more steps
 *
 * Programs run in processes of their own, so that a crash or an endless loop is
 * a difference like any other: generated ones in batches and, where a batch
 * does not end well, one by one.
 *
 * What counts as a difference: another output, another value, another error or
 * another line of it; a crash; a run that does not end in SECONDS of processor
 * time.  A program that the checker refuses, or that takes the step machine too
 * long, is counted and left alone.
 *
 * A program that differs is reduced (reduce.h) as long as it differs in the
 * same way, and printed with both transcripts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/duel.h"
#include "fuzz/reduce.h"
#include "fuzz/suite.h"
#include "passes/pipeline.h"
#include "tests/process.h"

/* Seconds of processor time, so that a busy machine changes nothing. */
enum { SECONDS = 20, TRIALS = 4000, CRASHED = DUEL_TOO_LONG + 1 };
enum { BATCH = 32 }; /* generated programs run by one process */
/* Skips a program whose text is longer.  The least value of a type can take
 * megabytes, when each constructor holds two values of the one before. */
enum { TEXT_MAX = 1 << 20 };

typedef struct Options {
  uint64_t seed, count;
  int size;
  bool print;
  const char *suite;
  const char *passes; /* NULL: none */
  int ways;           /* of --ways; -1: not given */
  uint64_t steps;     /* after more of them a program is too long */
} Options;

/* --- Passes --------------------------------------------------------------- */

enum { SEQUENCE = 6 }; /* passes */

/* Knuth's generator; its high bits are the better ones. */
static int draw(uint64_t *state, int n) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (int)((*state >> 33) % (uint64_t)n);
}

static void add_pipelines(const Options *o, uint64_t seed, StrBuf *out) {
  const PassInfo *rows[PIPELINE_MAX];
  int count = duel_pass_rows(rows);
  uint64_t state = seed;
  strbuf_addf(out, ";%s;%s", pipeline_level(1), pipeline_level(2));
  for (int i = 0; i < count; i++)
    if (o->ways == 0 || seed % (uint64_t)count == (uint64_t)i)
      strbuf_addf(out, ";%s", rows[i]->name);
  for (int i = 0; i < o->ways; i++)
    for (int k = 0; k < SEQUENCE; k++)
      strbuf_addf(out, "%c%s", k ? ',' : ';', rows[draw(&state, count)]->name);
}

/* Runs one program by both machines, after the passes that the options and the
 * seed say. */
static void run_duel(Duel *d, const Options *o, uint64_t seed, const char *path,
                     const char *text, size_t len) {
  StrBuf pipelines;
  strbuf_init(&pipelines, d->vm.mem);
  if (o->ways >= 0) add_pipelines(o, seed, &pipelines);
  d->passes = o->ways >= 0 ? strbuf_text(&pipelines) : o->passes;
  duel_run(d, path, text, len);
  strbuf_done(&pipelines);
}

/* --- One program -------------------------------------------------------- */

/* Both transcripts, the rules' first. */
static void tell(const Duel *d) {
  printf("step:\n%sVM:\n%s", strbuf_text(&d->step), strbuf_text(&d->vm));
  fflush(stdout);
}

/* Runs in the child; never returns. */
static void child_run(Mem *mem, const Options *o, uint64_t seed,
                      const char *path, const char *text, size_t len,
                      bool show) {
  setrlimit(RLIMIT_CPU, &(struct rlimit){SECONDS, SECONDS});
  Duel d;
  duel_init(&d, mem, o->steps);
  run_duel(&d, o, seed, path, text, len);
  if (show) tell(&d);
  duel_done(&d);
  exit((int)d.outcome); /* exit, not _exit, so that the leak checker runs */
}

/* A DuelOutcome, or CRASHED.  The exit status is the outcome, so nothing else
 * needs to be sent back. */
static int outcome_of(Mem *mem, const Options *o, uint64_t seed,
                      const char *path, const char *text, size_t len,
                      bool show) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) child_run(mem, o, seed, path, text, len, show);
  int status;
  if (child < 0 || waitpid(child, &status, 0) != child) return CRASHED;
  if (show && WIFSIGNALED(status))
    printf("stopped by %s\n", strsignal(WTERMSIG(status)));
  bool ended = WIFEXITED(status) && WEXITSTATUS(status) < CRASHED;
  return ended ? WEXITSTATUS(status) : CRASHED;
}

/* --- Generated programs ------------------------------------------------- */

typedef struct Hunt {
  Mem *mem;
  const Options *o;
  uint64_t seed;
  StrBuf text;
  int outcome;
} Hunt;

/* Runs the program as it is now, in a child. */
static int hunt_outcome(Hunt *h, const GenProgram *p, bool show) {
  VEC_CLEAR(&h->text);
  gen_program_text(p, &h->text);
  if (h->text.len > TEXT_MAX) return DUEL_TOO_LONG;
  return outcome_of(h->mem, h->o, h->seed, "program.rly", strbuf_text(&h->text),
                    h->text.len, show);
}

/* The reducer's question: a crash must stay a crash and a difference a
 * difference, or it could wander off to another mistake. */
static bool still_differs(void *data, const GenProgram *p) {
  Hunt *h = data;
  return hunt_outcome(h, p, false) == h->outcome;
}

/* The reduced program is run once more, to be shown. */
static void report(Hunt *h, Arena *a, GenProgram *p, uint64_t seed) {
  printf("seed %llu %s\n", (unsigned long long)seed,
         h->outcome == CRASHED ? "crashes" : "differs");
  Interest interest = {still_differs, h, TRIALS};
  reduce(a, p, &interest);
  hunt_outcome(h, p, true);
  printf("--- program.rly\n%s---\n", strbuf_text(&h->text));
}

/* Makes the seed's program and runs it; where it is refused, that which
 * annotates its parameters and lets. */
static void hunt_seed(Hunt *h, Arena *a, GenProgram *p) {
  for (int annotates = 0; annotates < 2; annotates++) {
    if (annotates) gen_program_done(p);
    generate(a, h->mem, h->seed, h->o->size, annotates, p);
    h->outcome = hunt_outcome(h, p, false);
    if (h->outcome != DUEL_REFUSED) return;
  }
}

/* Does this seed's program differ?  Counts its outcome. */
static bool hunt_one(Mem *mem, const Options *o, uint64_t seed,
                     uint64_t *counts) {
  Arena arena;
  arena_init(&arena, mem);
  GenProgram p;
  Hunt h = {.mem = mem, .o = o, .seed = seed};
  strbuf_init(&h.text, mem);
  hunt_seed(&h, &arena, &p);
  counts[h.outcome]++;
  bool differs = h.outcome == DUEL_DIFFERENT || h.outcome == CRASHED;
  if (differs) report(&h, &arena, &p, seed);
  strbuf_done(&h.text);
  gen_program_done(&p);
  arena_done(&arena);
  return differs;
}

/* Runs a seed's program in this process and returns the outcome. */
static int made_outcome(Mem *mem, const Options *o, uint64_t seed,
                        bool annotates) {
  Arena arena;
  arena_init(&arena, mem);
  GenProgram p;
  generate(&arena, mem, seed, o->size, annotates, &p);
  StrBuf text;
  strbuf_init(&text, mem);
  gen_program_text(&p, &text);
  Duel d;
  duel_init(&d, mem, o->steps);
  d.outcome = DUEL_TOO_LONG;
  if (text.len <= TEXT_MAX)
    run_duel(&d, o, seed, "program.rly", strbuf_text(&text), text.len);
  int outcome = (int)d.outcome;
  duel_done(&d);
  strbuf_done(&text);
  gen_program_done(&p);
  arena_done(&arena);
  return outcome;
}

static int generated_outcome(Mem *mem, const Options *o, uint64_t seed) {
  int outcome = made_outcome(mem, o, seed, false);
  return outcome == DUEL_REFUSED ? made_outcome(mem, o, seed, true) : outcome;
}

/* Runs `n` seeds from `seed` on in the child; never returns.  The outcomes go
 * to memory that is shared with the parent. */
static void batch_run(Mem *mem, const Options *o, uint64_t seed, int n,
                      int *outcomes) {
  setrlimit(RLIMIT_CPU, &(struct rlimit){SECONDS, SECONDS});
  for (int i = 0; i < n; i++)
    outcomes[i] = generated_outcome(mem, o, seed + (uint64_t)i);
  exit(0); /* exit, not _exit, so that the leak checker runs */
}

/* True when the batch ended without a difference; counts its outcomes then.
 * Batches save most of the forks; only one that does not end well is run again,
 * seed by seed. */
static bool batch_agrees(Mem *mem, const Options *o, uint64_t seed, int n,
                         int *outcomes, uint64_t *counts) {
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) batch_run(mem, o, seed, n, outcomes);
  int status;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  if (!WIFEXITED(status) || WEXITSTATUS(status)) return false;
  for (int i = 0; i < n; i++)
    if (outcomes[i] == DUEL_DIFFERENT) return false;
  for (int i = 0; i < n; i++) counts[outcomes[i]]++;
  return true;
}

/* A batch that does not agree is run again one by one, so that a crash is laid
 * at the door of one seed. */
static uint64_t hunt_batch(Mem *mem, const Options *o, uint64_t seed, int n,
                           int *outcomes, uint64_t *counts) {
  if (batch_agrees(mem, o, seed, n, outcomes, counts)) return 0;
  uint64_t found = 0;
  for (int i = 0; i < n; i++)
    found += hunt_one(mem, o, seed + (uint64_t)i, counts);
  return found;
}

/* Seeds are numbered from o->seed on, so a run can be split among machines. */
static int hunt(Mem *mem, const Options *o) {
  uint64_t counts[CRASHED + 1] = {0}, found = 0;
  int *outcomes = mmap(NULL, BATCH * sizeof *outcomes, PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (outcomes == MAP_FAILED) return 1;
  for (uint64_t i = 0; i < o->count; i += BATCH) {
    uint64_t left = o->count - i;
    found += hunt_batch(mem, o, o->seed + i, left < BATCH ? (int)left : BATCH,
                        outcomes, counts);
  }
  munmap(outcomes, BATCH * sizeof *outcomes);
  printf(
      "%llu programs: %llu agree, %llu differ, %llu crash, "
      "%llu refused, %llu too long\n",
      (unsigned long long)o->count, (unsigned long long)counts[DUEL_SAME],
      (unsigned long long)counts[DUEL_DIFFERENT],
      (unsigned long long)counts[CRASHED],
      (unsigned long long)counts[DUEL_REFUSED],
      (unsigned long long)counts[DUEL_TOO_LONG]);
  return found > 0;
}

/* The program of a seed, whole. */
static int print_one(Mem *mem, const Options *o) {
  Arena arena;
  arena_init(&arena, mem);
  GenProgram p;
  Hunt h = {.mem = mem, .o = o, .seed = o->seed};
  strbuf_init(&h.text, mem);
  hunt_seed(&h, &arena, &p);
  fputs(strbuf_text(&h.text), stdout);
  strbuf_done(&h.text);
  gen_program_done(&p);
  arena_done(&arena);
  return 0;
}

/* --- Files -------------------------------------------------------------- */

static int run_file(Mem *mem, const Options *o, const char *path) {
  static const char *const names[] = {"the same", "DIFFERENT", "refused",
                                      "too long", "CRASHED"};
  Text text;
  if (!text_read_file(&text, path)) {
    printf("%s: cannot be read\n", path);
    return 1;
  }
  int outcome = outcome_of(mem, o, o->seed, path, text.data, text.len, true);
  text_free(&text);
  printf("%s: %s\n", path, names[outcome]);
  return outcome != DUEL_SAME;
}

/* --- The command line --------------------------------------------------- */

/* Returns the number of options read, or -1 for an invalid command line. */
static int read_options(int argc, char **argv, Options *o) {
  int i = 1;
  for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
    const char *name = argv[i] + 2;
    if (!strcmp(name, "print")) {
      o->print = true;
      continue;
    }
    if (++i == argc) return -1;
    if (!strcmp(name, "seed")) o->seed = strtoull(argv[i], NULL, 10);
    else if (!strcmp(name, "count")) o->count = strtoull(argv[i], NULL, 10);
    else if (!strcmp(name, "size")) o->size = atoi(argv[i]);
    else if (!strcmp(name, "conformance")) o->suite = argv[i];
    else if (!strcmp(name, "passes")) o->passes = argv[i];
    else if (!strcmp(name, "ways")) o->ways = atoi(argv[i]);
    else if (!strcmp(name, "steps")) o->steps = strtoull(argv[i], NULL, 10);
    else return -1;
  }
  return i;
}

int main(int argc, char **argv) {
  Options o = {
      .seed = 1, .count = 100, .size = 120, .ways = -1, .steps = 300000};
  Mem mem;
  int first = read_options(argc, argv, &o);
  if (first < 0 || !mem_init(&mem, SIZE_MAX)) {
    fputs(
        "usage: differ [--seed S] [--count N] [--size K] [--print] "
        "[--conformance DIR] [--passes 'A,B;C'] [--ways N] [--steps N] "
        "[FILE...]\n",
        stderr);
    return 2;
  }
  int failed = 0;
  for (int i = first; i < argc; i++) failed |= run_file(&mem, &o, argv[i]);
  if (o.suite) failed = suite_run(&mem, o.suite) > 0;
  else if (o.print) failed = print_one(&mem, &o);
  else if (first == argc) failed = hunt(&mem, &o);
  mem_done(&mem);
  return failed;
}
