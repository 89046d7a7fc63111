/* Plans of tensor operators by the numbers of their sites (plan.h).
 *
 * An array that is indexed by the site's number, with an allocation for each
 * plan that was made.  Numbers are given out when code is made, by all sessions
 * of a program together, so the array may have gaps: sites that this session
 * never came to. */
#include "vm/plan.h"

#include <string.h>

void plans_init(Plans *p, Heap *heap) { *p = (Plans){.heap = heap}; }

static void drop_kept(Plans *p, Plan *plan) {
  if (plan->kept) tensor_drop(p->heap, plan->kept);
  plan->kept = NULL;
}

void plans_done(Plans *p) {
  Mem *mem = p->heap->mem;
  for (size_t i = 0; i < p->count; i++) {
    Plan *plan = p->by_number[i];
    if (!plan) continue;
    drop_kept(p, plan);
    mem_free(mem, plan, plan->size);
  }
  mem_free(mem, p->by_number, p->count * sizeof *p->by_number);
  plans_init(p, p->heap);
}

/* Doubles, so growing to n sites copies O(n) pointers; new entries are NULL. */
static bool reserve(Plans *p, size_t count) {
  if (count <= p->count) return true;
  size_t cap = p->count * 2 > count ? p->count * 2 : count;
  Plan **all = mem_resize(p->heap->mem, p->by_number, p->count * sizeof *all,
                          cap * sizeof *all);
  if (!all) return false;
  memset(all + p->count, 0, (cap - p->count) * sizeof *all);
  p->by_number = all;
  p->count = cap;
  return true;
}

/* A plan is kept when its memory is large enough for the new one: shapes that
 * alternate do not allocate. */
Plan *plan_renew(Plans *p, uint32_t number, size_t size) {
  Mem *mem = p->heap->mem;
  if (!reserve(p, (size_t)number + 1)) return NULL;
  Plan *plan = p->by_number[number];
  int misses = plan ? plan->misses : 0;
  if (plan) drop_kept(p, plan);
  if (!plan || plan->size < size) {
    if (plan) mem_free(mem, plan, plan->size);
    p->by_number[number] = plan = mem_alloc(mem, size);
    if (!plan) return NULL;
    plan->size = size;
    plan->kept = NULL;
    plan->misses = misses;
  }
  memset(plan + 1, 0, plan->size - sizeof *plan);
  return plan;
}
