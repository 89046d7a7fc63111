/* What a session remembers of a tensor operator's site: the shapes that its
 * operands had, the values of those that attributes or dimensions are computed
 * from, and what followed from them.  As long as these are the same, nothing is
 * inferred again: the code is specialised to them, site by site.  Sites are
 * numbered throughout a program's code. */
#ifndef VM_PLAN_H
#define VM_PLAN_H

#include "bytecode/code.h"

typedef struct Plan {
  size_t size;  /* in bytes, with this */
  Tensor *kept; /* the result of the last time, owned; NULL: none is kept */
  int misses;   /* plans in a row that were made and never used */
} Plan;

typedef struct Plans {
  Heap *heap; /* of the session, where kept results are from */
  Plan **by_number;
  size_t count;
} Plans;

void plans_init(Plans *p, Heap *heap);
void plans_done(Plans *p);

static inline Plan *plan_find(const Plans *p, uint32_t number) {
  return number < p->count ? p->by_number[number] : NULL;
}
/* The plan of that number, made of zeros but for `misses`, of at least `size`
 * bytes: what it held is lost.  NULL when memory runs out. */
Plan *plan_renew(Plans *p, uint32_t number, size_t size);

/* Is the tensor's geometry as written at `key`?  Its rank is known.  A key is
 * shape and stride of each axis, in turn: [n0, s0, n1, s1, ...]. */
static inline bool geometry_is(const Tensor *t, const int64_t *key) {
  for (int i = 0, rank = t->rank; i < rank; i++)
    if (t->shape[i] != key[2 * i] || t->strides[i] != key[2 * i + 1])
      return false;
  return true;
}
static inline int64_t *geometry_write(const Tensor *t, int64_t *key) {
  for (int i = 0; i < t->rank; i++) {
    *key++ = t->shape[i];
    *key++ = t->strides[i];
  }
  return key;
}

#endif
