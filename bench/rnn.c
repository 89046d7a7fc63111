/* Recurrent models, timed for a token or node, in turns with OpenBLAS's product
 * of a vector with the recurrent weights alone. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/guest.h"
#include "bench/openblas.h"

enum { ARGS = 8, STEPS = 100 };

typedef struct Figure {
  const char *name, *file, *entry;
  int32_t number; /* the first argument; -1 for none */
  int64_t shapes[ARGS][GUEST_RANK];
  int parts; /* tokens or nodes in a call */
  const char *peer;
  int m, n; /* size of the peer's weights */
} Figure;

#define LSTM_LOOP(I, H, file_name)                                         \
  {                                                                        \
    "rnn.lstm_loop_" #I "_" #H "_step", file_name, "main", STEPS,          \
        {{STEPS, 1, I}, {1, H}, {1, H}, {4 * H, I}, {4 * H, H}, {4 * H}},  \
        STEPS, "rnn.lstm_loop_" #I "_" #H "_step@openblas_sgemv", 4 * H, H \
  }
#define LSTM_LAYER(I, H, entry)                                             \
  {                                                                         \
    "rnn.lstm_layer_" #I "_" #H "_T100", "bench/lstm_layer.rly", entry, -1, \
        {{STEPS, 1, I}, {1, H},  {1, H}, {4 * H, I},                        \
         {4 * H, H},    {4 * H}, {4 * H}},                                  \
        STEPS, "rnn.lstm_layer_" #I "_" #H "_T100@openblas_sgemv", 4 * H, H \
  }

/* The tree of depth 5 has 63 nodes. */
static const Figure figures[] = {
    LSTM_LOOP(300, 512, "bench/lstm_loop.rly"),
    LSTM_LAYER(300, 512, "large"),
    LSTM_LOOP(40, 64, "bench/lstm_loop_small.rly"),
    LSTM_LAYER(40, 64, "small"),
    {"rnn.treelstm_300_150",
     "bench/treelstm.rly",
     "main",
     5,
     {{1, 300}, {450, 300}, {450, 150}, {450}, {150, 300}, {150, 150}, {150}},
     63,
     "rnn.treelstm_300_150@openblas_sgemv",
     2048,
     512},
};

/* --- The peer ------------------------------------------------------------ */

typedef struct Product {
  const OpenBlas *blas;
  int m, n;
  float *weights, *x, *y;
} Product;

static float *numbers(int n) {
  float *x = aligned_alloc(64, ((size_t)n * sizeof *x + 63) / 64 * 64);
  for (int i = 0; x && i < n; i++) x[i] = (float)(i % 16) * 0x1p-6f;
  return x;
}

static bool product_start(Product *p, const OpenBlas *blas, int m, int n) {
  *p = (Product){.blas = blas,
                 .m = m,
                 .n = n,
                 .weights = numbers(m * n),
                 .x = numbers(n),
                 .y = numbers(m)};
  return p->weights && p->x && p->y;
}

static void product_end(Product *p) {
  free(p->weights);
  free(p->x);
  free(p->y);
}

static void run_product(void *data) {
  Product *p = data;
  p->blas->sgemv(ROW_MAJOR, PLAIN, p->m, p->n, 1, p->weights, p->n, p->x, 1, 0,
                 p->y, 1);
}

/* --- Figures ------------------------------------------------------------- */

static void pass_args(Guest *g, const Figure *f) {
  if (f->number >= 0) guest_int(g, f->number);
  for (int i = 0; i < ARGS && f->shapes[i][0]; i++)
    guest_tensor(g, f->shapes[i]);
}

typedef struct Comparison {
  const Figure *figure;
  Guest ours;
  Product peer;
  bool started, has_peer;
} Comparison;

static void comparison_start(Comparison *c, const Figure *f,
                             const OpenBlas *blas) {
  c->figure = f;
  c->has_peer = blas && product_start(&c->peer, blas, f->m, f->n);
  c->started = guest_start(&c->ours, f->file, f->entry);
  if (c->started) pass_args(&c->ours, f);
}

static void comparison_end(Comparison *c) {
  product_end(&c->peer);
  guest_end(&c->ours);
}

/* Adds the works of a comparison; none when the program was refused. */
static int add_works(Work *works, Comparison *c) {
  if (!c->started) return 0;
  works[0] = (Work){.run = guest_call, .data = &c->ours};
  works[1] = (Work){.run = run_product, .data = &c->peer, .beside = works};
  return c->has_peer ? 2 : 1;
}

enum { FIGURES = sizeof figures / sizeof *figures };

static bool print(const Comparison *c, const Work *works) {
  const Figure *f = c->figure;
  if (!c->started) return false;
  if (!c->ours.failed)
    bench_print(f->name, works[0].best / f->parts * 1e6, "us");
  if (c->has_peer) bench_print(f->peer, works[1].best * 1e6, "us");
  return !c->ours.failed;
}

static bool compare(Comparison all[FIGURES]) {
  Work works[2 * FIGURES];
  int count = 0, at[FIGURES];
  bool ok = true;
  for (int i = 0; i < FIGURES; i++) {
    at[i] = count;
    count += add_works(works + count, &all[i]);
  }
  bench_turns(works, count);
  for (int i = 0; i < FIGURES; i++) ok = print(&all[i], works + at[i]) && ok;
  return ok;
}

/* The allocations of a call with `steps` steps, after a first call. */
static bool allocations(int32_t steps, size_t *count) {
  Figure f = figures[2];
  Guest g;
  f.number = steps;
  bool ok = guest_start(&g, f.file, f.entry);
  if (ok) pass_args(&g, &f);
  if (ok) guest_call(&g);
  size_t before = ok ? guest_allocations(&g) : 0;
  if (ok) guest_call(&g);
  ok = ok && !g.failed;
  if (ok) *count = guest_allocations(&g) - before;
  guest_end(&g);
  return ok;
}

static bool count_allocations(void) {
  size_t few, many;
  if (!allocations(2, &few) || !allocations(STEPS, &many)) return false;
  bench_print("rnn.step_allocs", ((double)many - (double)few) / (STEPS - 2),
              "allocations");
  return true;
}

void bench_rnn(Bench *b) {
  static Comparison all[FIGURES];
  OpenBlas blas;
  bool peer = openblas_load(&blas, "rnn");
  for (int i = 0; i < FIGURES; i++)
    comparison_start(&all[i], &figures[i], peer ? &blas : NULL);
  b->failed |= !compare(all);
  b->failed |= !count_allocations();
  for (int i = 0; i < FIGURES; i++) comparison_end(&all[i]);
}
