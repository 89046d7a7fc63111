/* What the machine adds to small work: an operator on four elements, a call of
 * a function of scalars; with all that a loop around it takes. */
#include "bench/bench.h"
#include "bench/guest.h"

enum { ROUNDS = 10000 };
static const int64_t FOUR[GUEST_RANK] = {4};

static bool measure(const char *name, const char *entry, int tensors) {
  Guest g;
  bool ok = guest_start(&g, "bench/vm.rly", entry);
  if (ok) {
    guest_int(&g, ROUNDS);
    for (int i = 0; i < tensors; i++) guest_tensor(&g, FOUR);
    Work work = {.run = guest_call, .data = &g};
    bench_turns(&work, 1);
    ok = !g.failed;
    if (ok) bench_print(name, work.best / ROUNDS * 1e9, "ns");
  }
  guest_end(&g);
  return ok;
}

void bench_vm(Bench *b) {
  b->failed |= !measure("vm.scalar_call", "calls", 0);
  b->failed |= !measure("vm.small_add_4", "adds", 2);
}
