/* The front end on long generated programs: parse and check, start-up included.
 * OCaml's type checker is the peer.
 *
 * 100,000 definitions, or lets, in a chain, each without a type of its own: the
 * checker has to infer each from the one before.  Anything quadratic in the
 * number of names would show at this length.
 *
 * Chains are also what recursion in a checker does not survive: 100,000 levels
 * of C calls would overflow the stack, so that the figure exists at all says
 * something. */
#include <stdio.h>

#include "bench/bench.h"

enum { LENGTH = 100000, RUNS = 3 };
static const double SECONDS = 120;

/* A chain of functions without result types, each calling the one before. */
static void write_functions(FILE *f) {
  fprintf(f, "def @f0(%%x: int32) { add(%%x, 1) }\n");
  for (int i = 1; i < LENGTH; i++)
    fprintf(f, "def @f%d(%%x: int32) { @f%d(add(%%x, %d)) }\n", i, i - 1, i);
}

static void write_ocaml_functions(FILE *f) {
  fprintf(f, "let f0 x = x + 1\n");
  for (int i = 1; i < LENGTH; i++)
    fprintf(f, "let f%d x = f%d (x + %d)\n", i, i - 1, i);
}

/* One function of many lets, each using the one before. */
static void write_lets(FILE *f) {
  fprintf(f, "def @main(%%v0: int32) {\n");
  for (int i = 1; i < LENGTH; i++)
    fprintf(f, "  let %%v%d = add(%%v%d, %d);\n", i, i - 1, i);
  fprintf(f, "  %%v%d\n}\n", LENGTH - 1);
}

/* A generated program and who checks it. */
typedef struct Front {
  const char *name;
  const char *file;
  void (*write)(FILE *);
  const char *checker; /* NULL for our own */
  const char *command;
} Front;

static const Front fronts[] = {
    {"front.parse_check_100k", "functions.rly", write_functions, NULL, "check"},
    {"front.parse_check_100k@ocaml_bytecode", "functions.ml",
     write_ocaml_functions, "ocamlc", "-i"},
    {"front.let_chain_100k", "lets.rly", write_lets, NULL, "check"},
};

static bool write_program(const Front *front, const char *path) {
  FILE *f = fopen(path, "we");
  if (!f) {
    perror(path);
    return false;
  }
  front->write(f);
  return fclose(f) == 0;
}

/* The best of the runs; the first that fails ends them. */
static bool measure(const Bench *b, const Front *front) {
  char path[BENCH_PATH];
  bench_path(b, front->file, path);
  const char *program = front->checker ? front->checker : b->rly;
  const char *argv[] = {program, front->command, path, NULL};
  double best = SECONDS;
  bool fine = write_program(front, path);
  for (int run = 0; fine && run < RUNS; run++) {
    Outcome o;
    double start = bench_now();
    fine = bench_run(front->name, argv, SECONDS, &o);
    double took = bench_now() - start;
    if (took < best) best = took;
    if (fine) outcome_free(&o);
  }
  if (fine) bench_print(front->name, best, "s");
  return fine;
}

/* The peer is not everywhere; that it could not run is no failure of ours. */
void bench_front(Bench *b) {
  for (size_t i = 0; i < sizeof fronts / sizeof *fronts; i++) {
    bool fine = measure(b, &fronts[i]);
    if (!fronts[i].checker) b->failed |= !fine;
  }
}
