/* Slabs, and the slow path of pool.h for requests that the free lists cannot
 * serve.
 *
 *   slab   [header | block | block | ... | uncut ..........]
 *                                        ^ next            ^ end
 *   free   [1] [2] [3] ...    a list for each size in grains of 8 bytes
 *
 * Blocks are never returned to the Mem one by one: a freed block goes to the
 * list of its size, from where the next one of that size comes.  So a program
 * that frees and makes cells of the same sizes allocates nothing, and a slab is
 * never searched.  What is lost is memory that was once used in one size and is
 * later wanted in another. */
#include "base/pool.h"

/* The first slab is small because some sessions need little. */
enum { SLAB_LEAST = 4 << 10, SLAB_MOST = 64 << 10 };

typedef struct PoolSlab {
  struct PoolSlab *next;
  size_t size; /* including this header */
} PoolSlab;

void pool_init(Pool *p, Mem *mem) { *p = (Pool){.mem = mem}; }

void pool_done(Pool *p) {
  for (PoolSlab *s = p->slabs, *next; s; s = next) {
    next = s->next;
    mem_free(p->mem, s, s->size);
  }
  pool_init(p, p->mem);
}

/* The rest of the slab before is left uncut; it is shorter than one block. */
static bool open_slab(Pool *p) {
  size_t size = p->slabs ? p->slabs->size * 2 : SLAB_LEAST;
  if (size > SLAB_MOST) size = SLAB_MOST;
  PoolSlab *s = mem_alloc(p->mem, size);
  if (!s) return false;
  *s = (PoolSlab){p->slabs, size};
  p->slabs = s;
  p->next = (char *)(s + 1);
  p->end = (char *)s + size;
  return true;
}

/* `pieces` counts small blocks that only the sanitizer's build takes from
 * malloc, so that numbers of allocations agree between builds. */
static void *alloc_large(Pool *p, size_t size) {
  if (size <= POOL_SMALL) atomic_fetch_add(&mem_root(p->mem)->pieces, 1);
  return mem_alloc(p->mem, size);
}

static size_t grains(size_t size) {
  return (size + POOL_GRAIN - 1) / POOL_GRAIN;
}

/* Cuts a block from the slab at hand, which has room for it. */
static void *cut(Pool *p, size_t whole) {
  void *block = p->next;
  p->next += whole;
  return block;
}

static void *alloc_new(Pool *p, size_t size, size_t whole) {
  if (size > POOL_MAX) return alloc_large(p, size);
  bool room = whole <= (size_t)(p->end - p->next) || open_slab(p);
  return room ? cut(p, whole) : NULL;
}

/* A block of its own, a new slab, or what the session can give back.  After a
 * relief the block may be on a free list, where the fast path would have found
 * it. */
static __attribute__((noinline)) void *alloc_more(Pool *p, size_t size,
                                                  size_t whole) {
  void *block = alloc_new(p, size, whole);
  if (block || !pool_relieve(p)) return block;
  size_t class = grains(size);
  if (class > POOL_CLASSES || !p->free[class]) return alloc_new(p, size, whole);
  PoolBlock *freed = p->free[class];
  p->free[class] = freed->next;
  return freed;
}

/* Most calls find room in the slab: they must stay as short as they are, for a
 * program that builds a tree makes one for each node. */
void *pool_alloc_slow(Pool *p, size_t size) {
  size_t whole = size ? grains(size) * POOL_GRAIN : POOL_GRAIN;
  if (size > POOL_MAX || whole > (size_t)(p->end - p->next))
    return alloc_more(p, size, whole);
  return cut(p, whole);
}

void pool_free_large(Pool *p, void *block, size_t size) {
  mem_free(p->mem, block, size);
}
