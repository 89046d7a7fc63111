/* Size-class free lists for the small objects of one session: cells, tensor
 * headers.  One thread at a time uses a pool.  Blocks up to POOL_SMALL bytes
 * are cut from slabs; larger ones come from the Mem.  The caller passes sizes
 * back.  Under the address sanitizer all blocks come from the Mem, so that it
 * sees each one. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/mem.h"
#include "base/sanitizer.h"

/* A cell of two fields takes three grains: 24 bytes. */
enum { POOL_GRAIN = 8, POOL_SMALL = 512 };
enum { POOL_MAX = SANITIZER_ADDRESS ? 0 : POOL_SMALL };
enum { POOL_CLASSES = POOL_MAX / POOL_GRAIN };

typedef struct PoolBlock {
  struct PoolBlock *next;
} PoolBlock;

typedef struct Pool {
  Mem *mem;
  PoolBlock *free[POOL_CLASSES + 1]; /* by size / POOL_GRAIN, rounded up */
  struct PoolSlab *slabs;
  /* Called when memory runs out: frees something and returns true, or returns
   * false.  NULL when nothing can ever be freed. */
  bool (*relieve)(void *owner);
  void *owner;
  char *next, *end; /* the uncut part of the newest slab */
  uint64_t allocations;
} Pool;

void pool_init(Pool *p, Mem *mem);
/* Releases every slab, even with blocks in use. */
void pool_done(Pool *p);

void *pool_alloc_slow(Pool *p, size_t size);
void pool_free_large(Pool *p, void *block, size_t size);
/* False when nothing could be freed. */
static inline bool pool_relieve(Pool *p) {
  return p->relieve && p->relieve(p->owner);
}

/* 8-byte aligned, not cleared; NULL when memory runs out. */
static inline void *pool_alloc(Pool *p, size_t size) {
  size_t class = (size + POOL_GRAIN - 1) / POOL_GRAIN;
  p->allocations++;
  if (class <= POOL_CLASSES && p->free[class]) {
    PoolBlock *block = p->free[class];
    p->free[class] = block->next;
    return block;
  }
  return pool_alloc_slow(p, size);
}

static inline void pool_free(Pool *p, void *block, size_t size) {
  size_t class = (size + POOL_GRAIN - 1) / POOL_GRAIN;
  if (class > POOL_CLASSES) {
    pool_free_large(p, block, size);
    return;
  }
  ((PoolBlock *)block)->next = p->free[class];
  p->free[class] = block;
}

#endif
