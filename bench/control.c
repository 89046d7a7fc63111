/* Control flow: programs on scalars, beside the bytecode interpreters of OCaml
 * and Lua.
 *
 * Bytecode and not native code is the peer, as both run instructions one by
 * one; Lua has no types, OCaml has, like ours.  Each program times itself,
 * without its start-up, and its answer is checked, so that nothing is measured
 * that did not compute.  peers/ has the counterparts, function by function. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

typedef struct Program {
  const char *name;
  const char *entry;
  const char *args[3];
  const char *answer;
} Program;

/* Calls (fib), a loop by tail calls, lists, trees, and a search with many
 * branches. */
static const Program programs[] = {
    {"control.fib_30", "fib", {"30"}, "832040"},
    {"control.loop_10M", "loop", {"10000000", "0"}, "29999997"},
    {"control.maplist_100k_x10", "maplist", {"10", "100000", "0"}, "705182704"},
    {"control.bintree_18", "bintree", {"18"}, "262144"},
    {"control.queens_8", "queens", {"8"}, "92"},
};

/* In one process, the least of which counts (`--repeat`). */
static const char repeats[] = "10";
static const double SECONDS = 300;

/* `--time` says `min<TAB>MILLISECONDS ms` on a line of stderr. */
static bool read_min(const Text *err, double *ms) {
  const char *at = err->data ? strstr(err->data, "min\t") : NULL;
  if (at) *ms = strtod(at + strlen("min\t"), NULL);
  return at != NULL;
}

/* A wrong answer counts as a failure and prints no figure. */
static bool measure(Bench *b, const Program *p) {
  const char *argv[16] = {b->rly, "run", "bench/control.rly", "--entry",
                          p->entry};
  int n = 5;
  for (int i = 0; i < 3 && p->args[i]; i++) argv[n++] = p->args[i];
  argv[n++] = "--repeat";
  argv[n++] = repeats;
  argv[n++] = "--time";
  Outcome o;
  if (!bench_run(p->name, argv, SECONDS, &o)) return false;
  double ms = 0;
  bool right = o.out.data && strstr(o.out.data, p->answer);
  bool timed = read_min(&o.err, &ms);
  if (right && timed) bench_print(p->name, ms, "ms");
  else fprintf(stderr, "%s: %s\n", p->name, right ? "no time" : "wrong answer");
  outcome_free(&o);
  return right && timed;
}

/* Peers print lines `LANGUAGE.FIGURE<TAB>SECONDS`. */
static void print_peer(const Text *out, const char *peer) {
  const char *line = out->data;
  char figure[64], name[128];
  double seconds;
  while (line && *line) {
    if (sscanf(line, "%*[a-z].%63s %lf", figure, &seconds) == 2) {
      snprintf(name, sizeof name, "control.%s@%s", figure, peer);
      bench_print(name, 1000 * seconds, "ms");
    }
    line = strchr(line, '\n');
    if (line) line++;
  }
}

/* A peer prints all of its figures in one run. */
static void run_peer(const char *peer, const char *const argv[]) {
  char name[64];
  snprintf(name, sizeof name, "control@%s", peer);
  Outcome o;
  if (!bench_run(name, argv, SECONDS, &o)) return;
  print_peer(&o.out, peer);
  outcome_free(&o);
}

/* ocamlc writes its output beside the source, so it gets a copy. */
static void run_ocaml(const Bench *b) {
  char source[BENCH_PATH], program[BENCH_PATH];
  bench_path(b, "control.ml", source);
  bench_path(b, "control.byte", program);
  Text text;
  Outcome o;
  const char *compile[] = {"ocamlc", "-w", "-a", "-o", program, source, NULL};
  bool copied = text_read_file(&text, "bench/peers/control.ml") &&
                text_write_file(&text, source);
  text_free(&text);
  if (copied && bench_run("control@ocaml_bytecode", compile, SECONDS, &o)) {
    outcome_free(&o);
    run_peer("ocaml_bytecode", (const char *[]){program, NULL});
  }
}

void bench_control(Bench *b) {
  size_t n = sizeof programs / sizeof *programs;
  for (size_t i = 0; i < n; i++) b->failed |= !measure(b, &programs[i]);
  run_ocaml(b);
  run_peer("lua", (const char *[]){"lua5.4", "bench/peers/control.lua", NULL});
}
