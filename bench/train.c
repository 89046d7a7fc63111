/* Steps of training, in tokens a second, and what share of the machine's
 * arithmetic their products get.
 *
 * A product x w' has two in its sweep, for x and for w, so a step's products
 * are three times those of its value; the input's own adjoint is left out where
 * nobody asks for it, which is not counted.  A figure is measured in turns with
 * the machine's own multiply-adds, and with the same step on two threads.  The
 * heap is as `rly train` has it. */
#include "base/heap.h"
#include "bench/bench.h"
#include "bench/guest.h"

typedef struct Figure {
  const char *name, *rate, *two, *peer, *entry;
  double tokens, flops; /* of a step; flops of its products */
} Figure;

/* Of T steps of B rows with I inputs and H units, and O outputs after. */
#define PRODUCTS(T, B, I, H, O) \
  (3 * 2.0 * (T) * (B) * (4.0 * (H) * ((I) + (H)) + (double)(O) * (H)))

#define NAMES(name) name, name "@products", name "@two_threads", name "@fma_f32"

static const Figure figures[] = {
    {NAMES("train.charlm_32_160_96_b32"), "chars_step", 64 * 32,
     PRODUCTS(64, 32, 32, 160, 96)},
    {NAMES("train.lstm_300_512_b32"), "layer_step", 100 * 32,
     PRODUCTS(100, 32, 300, 512, 0)},
};
enum { FIGURES = sizeof figures / sizeof *figures };

static bool measure(const Figure *f) {
  Guest step, shared;
  bool ok = guest_start(&step, "bench/train.rly", f->entry);
  ok = guest_start_within(&shared, "bench/train.rly", f->entry,
                          (GuestLimits){.threads = 2}) &&
       ok;
  Work works[3] = {{.run = guest_call, .data = &step},
                   {.run = guest_call, .data = &shared},
                   {.run = machine_fma, .beside = works}};
  if (ok) bench_turns(works, 3);
  ok = ok && !step.failed && !shared.failed;
  double seconds = works[0].best;
  if (ok) {
    bench_print(f->name, f->tokens / seconds, "tokens/s");
    bench_print(f->rate, f->flops / seconds * 1e-9, "GFLOP/s");
    bench_print(f->two, f->tokens / works[1].best, "tokens/s");
    bench_print(f->peer, machine_fma_flops() / works[2].best * 1e-9, "GFLOP/s");
  }
  guest_end(&step);
  guest_end(&shared);
  return ok;
}

void bench_train(Bench *b) {
  heap_in_huge_pages();
  for (int i = 0; i < FIGURES; i++) b->failed |= !measure(&figures[i]);
}
