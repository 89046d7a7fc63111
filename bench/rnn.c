/* Recurrent models, timed for a token or node, in turns with OpenBLAS's product
 * of a vector with the recurrent weights alone.
 *
 * That product is what no implementation can leave out, so the ratio says how
 * much all the rest costs: the other product, the gates, the loop, the
 * interpreter.  Each model is written twice, as a loop of the language over
 * time steps (lstm_loop) and as one operator for the sequence (lstm_layer).
 *
 * Two sizes, since they are slow for different reasons: 512 units have weights
 * of 4 MB, and the time goes into fetching them; 64 units have 64 KB, which
 * stay in the cache, and the time goes into everything around the product.  A
 * change of the interpreter shows in the small one, a change of the kernels in
 * the large one. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/guest.h"
#include "bench/openblas.h"

enum { ARGS = 8, STEPS = 100 };

/* `parts` is by what the time of a call is divided. */
typedef struct Figure {
  const char *name, *file, *entry;
  int32_t number; /* the first argument; -1 for none */
  int64_t shapes[ARGS][GUEST_RANK];
  int parts; /* tokens or nodes in a call */
  const char *peer;
  int m, n; /* size of the peer's weights */
} Figure;

/* I inputs, H units: the weights are (4H, I) and (4H, H), four gates each. */
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

/* The tree of depth 5 has 63 nodes.  Its peer is the product of the large LSTM,
 * since none of a node's own products is most of its cost: it tells how fast
 * the machine was, not what a node should take. */
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

/* Aligned as OpenBLAS likes it.  Small integers times a power of two: no
 * product is denormal, as those can take a processor a hundred times as
 * long. */
static float *numbers(int n) {
  float *x = aligned_alloc(64, ((size_t)n * sizeof *x + 63) / 64 * 64);
  for (int i = 0; x && i < n; i++) x[i] = (float)(i % 16) * 0x1p-6f;
  return x;
}

/* The recurrent weights of the model, with other numbers. */
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

/* The number first, if there is one, then the tensors. */
static void pass_args(Guest *g, const Figure *f) {
  if (f->number >= 0) guest_int(g, f->number);
  for (int i = 0; i < ARGS && f->shapes[i][0]; i++)
    guest_tensor(g, f->shapes[i]);
}

/* Ours and the peer, made ready. */
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

/* A call handles `parts` tokens; the peer's product is that of one. */
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

/* The allocations of a call with `steps` steps, after a first call.  A step of
 * a loop should allocate nothing once buffers are reused; the difference
 * between many steps and few, divided by their number, says so.  The program is
 * the small loop (figures[2]), where an allocation would weigh most. */
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

/* The figure is 0 where buffers are reused in every step. */
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
