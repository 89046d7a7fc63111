/* The conformance suites, run through the command line as a user would: reads
 * the options, makes one trial a case on all cores, reports.  What a case says
 * and when it passes stands in README.md; the trials are in ops.c, lang.c and
 * printed.c. */
#include <dirent.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/conformance/ratchet.h"
#include "tests/conformance/trial.h"

#define HOME "tests/conformance"
#define PASSING HOME "/passing.txt"

typedef struct Suite {
  const char *name;
  const char *folder;
  bool (*trial)(const Trial *, Verdict *);
} Suite;

static const Suite suites[] = {
    {"lang", HOME "/lang", lang_trial},
    {"ops", HOME "/ops", ops_trial},
    {"fmt/lang", HOME "/lang", fmt_lang_trial},
    {"fmt/ops", HOME "/ops", fmt_ops_trial},
    {"dump/lang", HOME "/lang", dump_lang_trial},
    {"dump/ops", HOME "/ops", dump_ops_trial},
    {"json/lang", HOME "/lang", json_lang_trial},
    {"json/ops", HOME "/ops", json_ops_trial},
};
enum { SUITES = sizeof suites / sizeof *suites };

typedef struct Case {
  const Suite *suite;
  char *name; /* SUITE/FILE without extension: how lists and reports call it */
  char *path; /* of its files, without extension */
  Verdict verdict;
} Case;

typedef struct Run {
  const char *rly;
  bool verbose, ratchet, promote;
  char *const *filters; /* NULL ends; a case runs whose name holds one of them,
                           or begins with what follows its ^ */
  unsigned one_in;      /* and of these every n-th or so; 0: all */
  Case *cases;
  size_t count;
  _Atomic size_t next;    /* the first case not yet taken by a worker */
  _Atomic size_t workers; /* gives each worker a number */
  char scratch[64];       /* a directory for what trials write */
} Run;

/* --- Which cases ---------------------------------------------------------- */

/* By the name alone, so that a case is in or out whatever the others are: the
 * hash is FNV-1a. */
static bool is_drawn(unsigned one_in, const char *name) {
  uint32_t hash = 2166136261u;
  for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 16777619u;
  return one_in < 2 || hash % one_in == 0;
}

static bool is_selected(const Run *run, const char *name) {
  if (!is_drawn(run->one_in, name)) return false;
  if (!*run->filters) return true;
  for (char *const *f = run->filters; *f; f++) {
    bool begins = **f == '^';
    if (begins ? strncmp(name, *f + 1, strlen(*f + 1)) == 0
               : strstr(name, *f) != NULL)
      return true;
  }
  return false;
}

static int is_program(const struct dirent *entry) {
  size_t len = strlen(entry->d_name);
  return len > 4 && !strcmp(entry->d_name + len - 4, ".rly");
}

static void add_case(Run *run, const Suite *suite, const char *file) {
  int stem = (int)strlen(file) - 4;
  Case c = {.suite = suite};
  if (asprintf(&c.name, "%s/%.*s", suite->name, stem, file) < 0 ||
      asprintf(&c.path, "%s/%.*s", suite->folder, stem, file) < 0)
    return;
  if (is_selected(run, c.name)) {
    run->cases[run->count++] = c;
  } else {
    free(c.name);
    free(c.path);
  }
}

static void add_suite(Run *run, const Suite *suite) {
  struct dirent **files;
  int n = scandir(suite->folder, &files, is_program, alphasort);
  if (n < 0) {
    perror(suite->folder);
    return;
  }
  run->cases = reallocarray(run->cases, run->count + n, sizeof *run->cases);
  for (int i = 0; i < n; i++) {
    if (run->cases) add_case(run, suite, files[i]->d_name);
    free(files[i]);
  }
  free(files);
}

/* --- Running them --------------------------------------------------------- */

static void *work(void *arg) {
  Run *run = arg;
  char scratch[96];
  snprintf(scratch, sizeof scratch, "%s/%zu", run->scratch, run->workers++);
  for (size_t i; (i = run->next++) < run->count;) {
    Case *c = &run->cases[i];
    char program[512];
    snprintf(program, sizeof program, "%s.rly", c->path);
    c->suite->trial(&(Trial){.rly = run->rly,
                             .program = program,
                             .expected = c->path,
                             .scratch = scratch},
                    &c->verdict);
  }
  return NULL;
}

static bool run_cases(Run *run) {
  enum { MOST = 16 };
  pthread_t threads[MOST];
  int cores = (int)sysconf(_SC_NPROCESSORS_ONLN), started = 0;
  strcpy(run->scratch, "/tmp/rly-conformance-XXXXXX");
  if (!mkdtemp(run->scratch)) {
    perror(run->scratch);
    return false;
  }
  while (started < MOST && started < cores &&
         !pthread_create(&threads[started], NULL, work, run))
    started++;
  while (started > 0) pthread_join(threads[--started], NULL);
  rmdir(run->scratch);
  return run->next >= run->count;
}

/* --- Reporting ------------------------------------------------------------ */

static void print_failure(const Run *run, const Case *c) {
  printf("  %s: %s\n", c->name, c->verdict.why);
  if (run->verbose && c->verdict.last.err.len)
    printf("%s\n", c->verdict.last.err.data);
}

/* Under the ratchet only a case that passed before is worth a line. */
static void report_suite(const Run *run, const Suite *suite,
                         const Ratchet *passing) {
  size_t passed = 0, failed = 0;
  for (size_t i = 0; i < run->count; i++) {
    const Case *c = &run->cases[i];
    if (c->suite != suite) continue;
    c->verdict.passed ? passed++ : failed++;
    if (c->verdict.passed) {
      if (run->verbose) printf("  %s: passed\n", c->name);
    } else if (!run->ratchet || ratchet_holds(passing, c->name)) {
      print_failure(run, c);
    }
  }
  if (passed + failed)
    printf("%s: %zu passed, %zu failed\n", suite->name, passed, failed);
}

static size_t count_passed(const Run *run, const Ratchet *passing) {
  size_t n = 0;
  for (size_t i = 0; i < run->count; i++) {
    const Case *c = &run->cases[i];
    n += c->verdict.passed && ratchet_holds(passing, c->name);
  }
  return n;
}

/* How many names of the list, of those selected, did not pass or are gone. */
static size_t count_lost(const Run *run, const Ratchet *passing) {
  size_t listed = 0;
  for (size_t i = 0; i < passing->count; i++)
    listed += is_selected(run, passing->names[i]);
  return listed - count_passed(run, passing);
}

static bool promote(const Run *run, Ratchet *passing) {
  for (size_t i = 0; i < run->count; i++) {
    const Case *c = &run->cases[i];
    if (c->verdict.passed) ratchet_add(passing, c->name);
  }
  if (ratchet_save(passing, PASSING)) return true;
  perror(PASSING);
  return false;
}

static bool report(const Run *run) {
  Ratchet passing;
  ratchet_load(&passing, PASSING);
  for (int i = 0; i < SUITES; i++) report_suite(run, &suites[i], &passing);
  bool fine = true;
  size_t lost = run->ratchet ? count_lost(run, &passing) : 0;
  if (lost) {
    printf("%zu of the cases in " PASSING " no longer pass\n", lost);
    fine = false;
  }
  if (run->promote) fine = promote(run, &passing);
  ratchet_free(&passing);
  return fine;
}

/* --- The command line ----------------------------------------------------- */

static const char usage[] =
    "usage: run [--ratchet | --promote] [--one-in N] [--verbose]\n"
    "           [--rly PROGRAM] [PART...]\n"
    "  Runs the cases whose names hold one of the PARTs, or begin with what\n"
    "  follows a PART's ^; without any, all.\n"
    "  --ratchet  fail when a case of " PASSING
    " fails\n"
    "  --promote  add the cases that pass to it\n"
    "  --one-in   take about one case of N\n"
    "  --verbose  name what passes, show what failing programs say\n"
    "  --rly      the program; otherwise the variable RLY names it\n";

static bool read_options(Run *run, int argc, char **argv) {
  static const struct option options[] = {
      {"ratchet", no_argument, NULL, 'r'},
      {"promote", no_argument, NULL, 'p'},
      {"one-in", required_argument, NULL, 'n'},
      {"verbose", no_argument, NULL, 'v'},
      {"rly", required_argument, NULL, 'x'},
      {0}};
  run->rly = getenv("RLY");
  for (int c; (c = getopt_long(argc, argv, "v", options, NULL)) != -1;) {
    if (c == '?') return false;
    run->ratchet |= c == 'r';
    run->promote |= c == 'p';
    run->verbose |= c == 'v';
    if (c == 'x') run->rly = optarg;
    if (c == 'n') run->one_in = (unsigned)strtoul(optarg, NULL, 10);
  }
  run->filters = argv + optind;
  return run->rly != NULL;
}

static void run_free(Run *run) {
  for (size_t i = 0; i < run->count; i++) {
    free(run->cases[i].name);
    free(run->cases[i].path);
    outcome_free(&run->cases[i].verdict.last);
  }
  free(run->cases);
}

int main(int argc, char **argv) {
  Run run = {0};
  if (!read_options(&run, argc, argv)) {
    fputs(usage, stderr);
    return 2;
  }
  setenv("NO_COLOR", "1", 1);
  for (int i = 0; i < SUITES; i++) add_suite(&run, &suites[i]);
  bool fine = run_cases(&run) && report(&run);
  run_free(&run);
  return fine ? 0 : 1;
}
