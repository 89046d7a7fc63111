/* `make bench`: what a group of figures needs to measure and to print.  A new
 * group is a function declared here and a row of the table in bench.c. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>

#include "tests/process.h"

typedef struct Bench {
  const char *rly; /* path of the program to measure */
  const char *dir; /* below build/, for temporary files */
  bool failed;     /* a figure of ours could not be measured */
} Bench;

/* --- Groups: each prints its figures and those of its peers --------------- */

void bench_machine(Bench *b);
void bench_control(Bench *b);
void bench_vm(Bench *b);
void bench_kernel(Bench *b);
void bench_rnn(Bench *b);
void bench_start(Bench *b);
void bench_front(Bench *b);
void bench_examples(Bench *b);
void bench_grad(Bench *b);
void bench_train(Bench *b);
void bench_memory(Bench *b);
void bench_limits(Bench *b);

/* --- Timing --------------------------------------------------------------- */

/* Work to be repeated and timed. */
typedef struct Work {
  void (*run)(void *data);
  void *data;
  /* an earlier work whose tries last as long, or NULL */
  const struct Work *beside;
  int rounds;     /* rounds in a try, */
  double seconds; /* and the seconds that they take */
  double best;    /* seconds of the fastest round */
} Work;

/* Sets `best` of each work, measuring them in turns: all see the same machine,
 * and another process's burst of a second or two spoils none. */
void bench_turns(Work *works, int count);

/* The machine as a peer: a run of a known number of fused multiply-adds. */
void machine_fma(void *unused);
double machine_fma_flops(void);

/* --- Tools ---------------------------------------------------------------- */

/* Seconds since some fixed moment. */
double bench_now(void);

/* Prints `NAME<TAB>VALUE<TAB>UNIT`. */
void bench_print(const char *name, double value, const char *unit);

/* Runs a program that should end well within `seconds`.  On failure prints the
 * reason on stderr under `name` and frees `o`.  A peer that is not installed
 * also fails, but does not count as a failure of ours. */
bool bench_run(const char *name, const char *const argv[], double seconds,
               Outcome *o);

/* A path below b->dir, in the caller's buffer. */
enum { BENCH_PATH = 512 };
const char *bench_path(const Bench *b, const char *file, char path[BENCH_PATH]);

#endif
