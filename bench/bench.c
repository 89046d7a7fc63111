/* Measures our program beside its peers and the machine itself, and prints a
 * line for each figure.
 *
 * Machines are shared and noisy: a figure is the best of several repeats, and
 * what counts is its ratio to a peer's figure of the same run.
 *
 * How works are timed (bench_turns): in turns, each for a few milliseconds,
 * over at least TURNS turns and TURNS_SECONDS seconds, and LONGEST_SECONDS at
 * most.
 *
 *   turn 1   ours  peer  next  ...
 *   turn 2   ours  peer  next  ...          best of all tries of a work
 *     a turn:  warm up | try try try ...    a try: `rounds` rounds
 *
 * So a burst of another process spoils some turns of every work and none of
 * them wholly.  The best try, and not the mean, is compared: noise only ever
 * adds time. */
#include "bench/bench.h"

#include "base/clock.h"
#include "base/heap.h"

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char *name;
  void (*measure)(Bench *);
} groups[] = {
    {"machine", bench_machine}, {"control", bench_control},
    {"vm", bench_vm},           {"kernel", bench_kernel},
    {"rnn", bench_rnn},         {"start", bench_start},
    {"front", bench_front},     {"memory", bench_memory},
    {"limits", bench_limits},   {"examples", bench_examples},
    {"grad", bench_grad},       {"train", bench_train},
};
enum { GROUPS = sizeof groups / sizeof *groups };

double bench_now(void) { return clock_seconds(); }

void bench_print(const char *name, double value, const char *unit) {
  printf("%s\t%.4g\t%s\n", name, value, unit);
  fflush(stdout);
}

enum { TURNS = 100 }; /* turns at least, and seconds at least: */
static const double TURNS_SECONDS = 10;
/* Works that take long are measured in fewer turns. */
static const double LONGEST_SECONDS = 30;
/* A turn warms up for TURN_SECONDS and then measures as long.  Each try is
 * short, so that some tries fall between the time slices that other processes
 * take. */
static const double TURN_SECONDS = 2e-3, TRY_SECONDS = 0.2e-3;

/* Runs until the caches hold this work's data instead of another's. */
static void warm_up(const Work *w) {
  double start = bench_now();
  do w->run(w->data);
  while (bench_now() - start < TURN_SECONDS);
}

static double time_of_try(const Work *w) {
  double start = bench_now();
  for (int i = 0; i < w->rounds; i++) w->run(w->data);
  return (bench_now() - start) / w->rounds;
}

/* How many rounds make a try: as long as TRY_SECONDS, or as the try of the work
 * beside which this one is measured, so that both have the same chance to fall
 * between two interruptions. */
static void calibrate(Work *w) {
  double least = w->beside ? w->beside->seconds : TRY_SECONDS;
  warm_up(w);
  w->rounds = 4;
  double round = time_of_try(w) + 1e-9;
  w->rounds = (int)(least / round) + 1;
  w->seconds = w->rounds * round;
  w->best = 1e9;
}

static void take_turn(Work *w) {
  warm_up(w);
  double start = bench_now();
  do {
    double now = time_of_try(w);
    if (now < w->best) w->best = now;
  } while (bench_now() - start < TURN_SECONDS);
}

/* Every work is calibrated before the first turn. */
void bench_turns(Work *works, int count) {
  for (int i = 0; i < count; i++) calibrate(&works[i]);
  if (count == 0) return;
  double start = bench_now();
  for (int i = 0;; i++) {
    double passed = bench_now() - start;
    if (passed > (i < TURNS ? LONGEST_SECONDS : TURNS_SECONDS)) break;
    for (int k = 0; k < count; k++) take_turn(&works[k]);
  }
}

/* A peer that is missing is no failure (STATUS_NOT_STARTED). */
bool bench_run(const char *name, const char *const argv[], double seconds,
               Outcome *o) {
  *o = process_run(argv, seconds);
  if (o->status == 0) return true;
  const char *said = o->err.data ? o->err.data : "";
  if (o->status == STATUS_NOT_STARTED) {
    fprintf(stderr, "%s: skipped, there is no %s\n", name, argv[0]);
  } else if (o->status == STATUS_STOPPED) {
    fprintf(stderr, "%s: stopped after %g s\n", name, seconds);
  } else {
    fprintf(stderr, "%s: exit status %d: %.*s\n", name, o->status,
            (int)strcspn(said, "\n"), said);
  }
  outcome_free(o);
  return false;
}

const char *bench_path(const Bench *b, const char *file,
                       char path[BENCH_PATH]) {
  snprintf(path, BENCH_PATH, "%s/%s", b->dir, file);
  return path;
}

/* Measures the named group, or all; false for an unknown name. */
static bool measure(Bench *b, const char *name) {
  bool found = false;
  for (int i = 0; i < GROUPS; i++) {
    if (name && strcmp(name, groups[i].name)) continue;
    found = true;
    groups[i].measure(b);
  }
  return found;
}

static int refuse(const char *name) {
  fprintf(stderr, "there is no group `%s`; the groups are", name);
  for (int i = 0; i < GROUPS; i++) fprintf(stderr, " %s", groups[i].name);
  fputc('\n', stderr);
  return 2;
}

/* Usage: bench [GROUP...]; the variable RLY holds the program's path. */
int main(int argc, char **argv) {
  heap_is_own(); /* as in the program */
  char *self = strdup(argv[0]);
  Bench b = {.rly = getenv("RLY"), .dir = self ? dirname(self) : "."};
  if (!b.rly) b.rly = "build/release/rly";
  int status = 0;
  if (argc == 1) measure(&b, NULL);
  for (int i = 1; i < argc && !status; i++)
    if (!measure(&b, argv[i])) status = refuse(argv[i]);
  free(self);
  return status ? status : b.failed;
}
