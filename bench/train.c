/* Steps of training, in tokens a second, and what share of the machine's
 * arithmetic their products get.
 *
 * A product x w' has two in its sweep, for x and for w, so a step's products
 * are three times those of its value; the input's own adjoint is left out where
 * nobody asks for it, which is not counted.  A figure is measured in turns with
 * the machine's own multiply-adds.  The heap is as `rly train` has it. */
#include "base/heap.h"
#include "bench/bench.h"
#include "bench/guest.h"

typedef struct Figure {
  const char *name, *rate, *peer, *entry;
  double tokens, flops; /* of a step; flops of its products */
} Figure;

/* Of T steps of B rows with I inputs and H units, and O outputs after. */
#define PRODUCTS(T, B, I, H, O) \
  (3 * 2.0 * (T) * (B) * (4.0 * (H) * ((I) + (H)) + (double)(O) * (H)))

static const Figure figures[] = {
    {"train.charlm_32_160_96_b32", "train.charlm_32_160_96_b32@products",
     "train.charlm_32_160_96_b32@fma_f32", "chars_step", 64 * 32,
     PRODUCTS(64, 32, 32, 160, 96)},
    {"train.lstm_300_512_b32", "train.lstm_300_512_b32@products",
     "train.lstm_300_512_b32@fma_f32", "layer_step", 100 * 32,
     PRODUCTS(100, 32, 300, 512, 0)},
};
enum { FIGURES = sizeof figures / sizeof *figures };

static bool measure(const Figure *f) {
  Guest step;
  bool ok = guest_start(&step, "bench/train.rly", f->entry);
  Work works[2] = {{.run = guest_call, .data = &step},
                   {.run = machine_fma, .beside = works}};
  if (ok) bench_turns(works, 2);
  ok = ok && !step.failed;
  double seconds = works[0].best;
  if (ok) {
    bench_print(f->name, f->tokens / seconds, "tokens/s");
    bench_print(f->rate, f->flops / seconds * 1e-9, "GFLOP/s");
    bench_print(f->peer, machine_fma_flops() / works[1].best * 1e-9, "GFLOP/s");
  }
  guest_end(&step);
  return ok;
}

void bench_train(Bench *b) {
  heap_in_huge_pages();
  for (int i = 0; i < FIGURES; i++) b->failed |= !measure(&figures[i]);
}
