/* The time of a whole process that computes 1 + 1, in turns with Lua so that
 * both see the same machine.
 *
 * Each run is a fork, an exec, the dynamic loader, and the program's own start.
 * 300 runs, the fastest of which counts.
 *
 * One run of each in turn, not 300 and 300: a machine that changes its speed in
 * between would favour one of them.  Lua is the peer because its interpreter is
 * known to start at once; what a script costs beyond it is ours to explain. */
#include <stdio.h>

#include "bench/bench.h"

enum { RUNS = 300 };

typedef struct Contender {
  const char *name;
  const char *argv[4];
  double best; /* fewest seconds so far; negative after a failure */
} Contender;

static void run_once(Contender *c) {
  Outcome o;
  double start = bench_now();
  if (!bench_run(c->name, c->argv, 10, &o)) {
    c->best = -1;
    return;
  }
  double took = bench_now() - start;
  if (took < c->best) c->best = took;
  outcome_free(&o);
}

void bench_start(Bench *b) {
  Contender contenders[] = {
      {"start.eval", {b->rly, "-e", "1 + 1"}, 1e9},
      {"start.eval@lua", {"lua5.4", "-e", "print(1 + 1)"}, 1e9},
  };
  for (int run = 0; run < RUNS; run++) {
    for (int i = 0; i < 2; i++)
      if (contenders[i].best > 0) run_once(&contenders[i]);
  }
  for (int i = 0; i < 2; i++) {
    const Contender *c = &contenders[i];
    if (c->best > 0) bench_print(c->name, 1000 * c->best, "ms");
  }
  b->failed |= contenders[0].best < 0;
}
