/* How long kernels go on after a request to stop.  Each operator of the law's
 * table, and of ops_long.def, runs once with lengths and once with a batch as
 * long as ELEMENTS allow.  The longest time between two polls of the flag is
 * printed, the worst last.  A build of its own (`make late`) reports each poll
 * to this program, so one run finds what a request at the worst moment would.
 *
 *   late [-d DTYPE] [-m MILLISECONDS] [-n ELEMENTS] [OPERATOR]...
 *
 * Times below MILLISECONDS are left out.  The addresses are for addr2line. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/ops_long.h"

/* seconds after which a call is asked to stop */
static const double LONG_ENOUGH = 3;
static double worth_telling = 10e-3;

/* --- Looking ------------------------------------------------------------- */

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct Gap {
  /* seconds between two polls; seconds since the call began */
  double length, at;
  const void *from, *to; /* the code addresses of the two polls */
} Gap;

/* The processor's time is unaffected by other programs but slow to ask for, so
 * it is asked for only after a millisecond of wall time. */
static struct {
  double asked, last, began; /* in wall time; in processor time */
  const void *place;
  Gap worst;
  _Atomic int stop;
} watch;

static void looked_from(const void *place) {
  double wall = now(CLOCK_MONOTONIC);
  if (place && wall - watch.asked < 1e-3) {
    watch.place = place;
    return;
  }
  double t = now(CLOCK_THREAD_CPUTIME_ID), gap = t - watch.last;
  if (gap > watch.worst.length)
    watch.worst = (Gap){gap, watch.last - watch.began, watch.place, place};
  watch.place = place;
  watch.asked = wall;
  watch.last = t;
  if (t - watch.began > LONG_ENOUGH) watch.stop = 1;
}

void stop_looked(void) { looked_from(__builtin_return_address(0)); }

static void watch_start(void) {
  watch.worst = (Gap){0};
  watch.stop = 0;
  watch.place = NULL;
  watch.asked = now(CLOCK_MONOTONIC);
  watch.began = watch.last = now(CLOCK_THREAD_CPUTIME_ID);
}

/* --- Calls --------------------------------------------------------------- */

static int64_t elements = 1 << 24;
static DType dtype = DT_FLOAT32;

typedef struct Finding {
  char text[160];
  Gap gap;
} Finding;
static VEC(Finding) findings;

static void note(const Trial *t, const char *what) {
  Finding f = {.gap = watch.worst};
  snprintf(f.text, sizeof f.text, "%s(%s) %s b=%lld n=%lld%s", t->op->name,
           t->law->operands, t->law->attrs, (long long)t->batch,
           (long long)t->n, what);
  if (f.gap.length > worth_telling) VEC_PUSH(&findings, f);
}

/* Runs the call, and frees its results and its scratch memory. */
static void measure(Trial *t) {
  Bench b;
  t->b = &b;
  t->make = in_blocks;
  bench_open(&b);
  Call c;
  long_call(t, &c);
  c.op.stop = &watch.stop;
  watch_start();
  bool ok = op_run(&c.op);
  looked_from(NULL);
  note(t, ok || watch.stop ? "" : " fails");
  watch_start();
  for (int i = 0; ok && i < c.op.out_count; i++)
    tensor_drop(&b.heap, c.op.outs[i]);
  arena_reset(&b.arena);
  looked_from(NULL);
  note(t, ", dropped");
  bench_close(&b);
}

static void visit(const Law *law, const OpInfo *op) {
  for (int batch = 0; batch < 2; batch++) {
    Trial t = {.law = law,
               .op = op,
               .threads = 1,
               .isa = "",
               .dtype = law->only ? law->only : dtype};
    if (grow(&t, batch, elements)) measure(&t);
  }
}

/* --- All of them --------------------------------------------------------- */

static char **wanted;

static void visit_wanted(const Law *law, const OpInfo *op) {
  bool any = !*wanted;
  for (char **w = wanted; *w; w++) any |= strcmp(*w, op->name) == 0;
  if (any) visit(law, op);
}

static int by_gap(const void *a, const void *b) {
  double x = ((const Finding *)a)->gap.length;
  double y = ((const Finding *)b)->gap.length;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  Mem mem;
  for (int flag; (flag = getopt(argc, argv, "d:m:n:")) != -1;)
    if (flag == 'd') dtype = dtype_find(optarg, strlen(optarg));
    else if (flag == 'm') worth_telling = 1e-3 * strtod(optarg, NULL);
    else if (flag == 'n') elements = strtoll(optarg, NULL, 10);
    else return 2;
  wanted = argv + optind;
  VEC_INIT(&findings, unit_mem(&mem));
  each_long_law(visit_wanted);
  qsort(findings.data, findings.len, sizeof(Finding), by_gap);
  for (size_t i = 0; i < findings.len; i++) {
    const Finding *f = &findings.data[i];
    printf("%7.1f ms  %s\n            from %p after %.3f s to %p\n",
           f->gap.length * 1e3, f->text, f->gap.from, f->gap.at, f->gap.to);
  }
  VEC_DONE(&findings);
  unit_mem_done(&mem);
  return 0;
}
