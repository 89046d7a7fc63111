/* The VM's overhead on small work: an operator on four elements, a call of a
 * function of scalars, each with the cost of the loop around it.
 *
 * Four elements take a kernel a nanosecond or two, so what is left is dispatch,
 * plans, headers and reference counts. */
#include "bench/bench.h"
#include "bench/guest.h"

enum { ROUNDS = 10000 };
static const int64_t FOUR[GUEST_RANK] = {4};

static const struct {
  const char *name, *entry;
  int tensors; /* tensors of four elements */
} figures[] = {
    {"vm.scalar_call", "calls", 0},
    {"vm.small_add_4", "adds", 2},
};
enum { FIGURES = sizeof figures / sizeof *figures };

/* Arguments are made once; the loop is in the program. */
static bool start(Guest *g, int figure) {
  if (!guest_start(g, "bench/vm.rly", figures[figure].entry)) return false;
  guest_int(g, ROUNDS);
  for (int i = 0; i < figures[figure].tensors; i++) guest_tensor(g, FOUR);
  return true;
}

/* The time of a call is divided by the rounds of the loop in it. */
void bench_vm(Bench *b) {
  Guest guests[FIGURES];
  Work works[FIGURES];
  bool ok = true;
  for (int i = 0; i < FIGURES; i++) {
    ok = start(&guests[i], i) && ok;
    works[i] = (Work){.run = guest_call, .data = &guests[i]};
  }
  if (ok) bench_turns(works, FIGURES);
  for (int i = 0; i < FIGURES; i++) {
    ok = ok && !guests[i].failed;
    if (ok) bench_print(figures[i].name, works[i].best / ROUNDS * 1e9, "ns");
    guest_end(&guests[i]);
  }
  b->failed |= !ok;
}
