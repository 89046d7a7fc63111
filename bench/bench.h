/* `make bench`: what a group of figures needs to measure and to print.  A new
 * group is a function declared here and a row of the table in bench.c. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>

#include "tests/process.h"

typedef struct Bench {
  const char *rly; /* the program that is measured */
  const char *dir; /* below build/, for files made on the way */
  bool failed;     /* some figure of ours could not be taken */
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
void bench_memory(Bench *b);
void bench_limits(Bench *b);

/* --- Timing --------------------------------------------------------------- */

/* What is run again and again. */
typedef struct Work {
  void (*run)(void *data);
  void *data;
  const struct Work *beside; /* one before, whose tries are as long; or NULL */
  int rounds;                /* that fill a try, */
  double seconds;            /* and for how long */
  double best;               /* seconds a round */
} Work;

/* Sets `best` of each, measured in turns: all see the same machine, and who
 * else uses it for a second or two spoils none of them. */
void bench_turns(Work *works, int count);

/* The machine as a peer: a run of fused multiply-adds, so many flops. */
void machine_fma(void *unused);
double machine_fma_flops(void);

/* --- Tools ---------------------------------------------------------------- */

/* Seconds since some fixed moment. */
double bench_now(void);

/* Prints `NAME<TAB>VALUE<TAB>UNIT`. */
void bench_print(const char *name, double value, const char *unit);

/* Runs a program that must end well within `seconds`.  A failure is told on
 * stderr under `name`, and `o` freed; a peer that is not installed is a failure
 * of this kind too, but none of ours. */
bool bench_run(const char *name, const char *const argv[], double seconds,
               Outcome *o);

/* A path below b->dir, in a buffer of the caller's. */
enum { BENCH_PATH = 512 };
const char *bench_path(const Bench *b, const char *file, char path[BENCH_PATH]);

#endif
