/* The example programs as whole processes: start, weights and run.
 *
 * What a user waits for, in contrast to the other groups: reading the text,
 * mapping the weights, checking, making code, and one evaluation.
 *
 * These are also the figures that nobody can improve by making one kernel
 * faster: where start or checking is most of the time, they show it.  They have
 * no peer, as there is no second implementation of the same programs. */
#include "bench/bench.h"

#include <stdio.h>

enum { RUNS = 20, WORDS = 8 };

/* Each example has a file of weights of its own name. */
#define PARAMS(folder) "--params", "examples/" folder "/" folder ".safetensors"

static const struct {
  const char *name;
  const char *args[WORDS];
} examples[] = {
    {"examples.attention",
     {"examples/attention/attention.rly", PARAMS("attention"),
      "digits=[3, 1, 4, 1, 5]"}},
    {"examples.charlm", {"examples/charlm/charlm.rly", PARAMS("charlm")}},
    {"examples.machine", {"examples/machine/machine.rly"}},
    {"examples.shapes", {"examples/shapes/shapes.rly"}},
    {"examples.spotting",
     {"examples/spotting/compare.rly", PARAMS("spotting"),
      "audio=@examples/spotting/audio.npy",
      "expected=@examples/spotting/expected.npy"}},
    {"examples.transducer",
     {"examples/transducer/transducer.rly", PARAMS("transducer"), "--params",
      "examples/transducer/long.safetensors"}},
    {"examples.transformer",
     {"examples/transformer/transformer.rly", PARAMS("transformer")}},
    {"examples.trees",
     {"examples/trees/trees.rly", PARAMS("trees"),
      "text=\"((the movie) (was (not bad)))\""}},
};
enum { EXAMPLES = sizeof examples / sizeof *examples };

/* Seconds of the fastest run; negative when one failed.  The fastest and not
 * the mean: what else runs on the machine can make a run slower, never
 * faster. */
static double best_run(const Bench *b, int example) {
  const char *argv[WORDS + 3] = {b->rly, "run"};
  for (int i = 0; i < WORDS; i++) argv[i + 2] = examples[example].args[i];
  double best = 1e9;
  for (int run = 0; run < RUNS; run++) {
    Outcome o;
    double start = bench_now();
    if (!bench_run(examples[example].name, argv, 60, &o)) return -1;
    double took = bench_now() - start;
    if (took < best) best = took;
    outcome_free(&o);
  }
  return best;
}

void bench_examples(Bench *b) {
  for (int i = 0; i < EXAMPLES; i++) {
    double best = best_run(b, i);
    if (best > 0) bench_print(examples[i].name, 1000 * best, "ms");
    b->failed |= best < 0;
  }
}
