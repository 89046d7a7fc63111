/* Buffers and the heaps they come from.  A buffer of our own is one block: the
 * header in the first 64 bytes, the elements behind it.  Freed blocks up to
 * 1 MiB, whose room is a power of two, wait in the heap that freed them. */
#include <assert.h>

#include "tensor/tensor.h"

enum {
  LINE = 64,           /* bytes of a cache line, and the least room */
  CLASSES_KEPT = 15,   /* room for 64 << 14 bytes is the last one kept */
  SPARE_MAX = 16 << 20 /* bytes that may wait for reuse */
};
_Static_assert(sizeof(Buffer) <= LINE, "the header must fit in one line");
_Static_assert((int)CLASSES_KEPT <= (int)BUFFER_CLASSES, "one list a class");

static int size_class(size_t size) {
  int class = 0;
  while (class < CLASSES_KEPT && (size_t)LINE << class < size) class++;
  return class;
}

/* The bytes of the block that holds a buffer of this size. */
static size_t block_size(size_t size) {
  int class = size_class(size);
  return LINE + (class < CLASSES_KEPT ? (size_t)LINE << class : size);
}

/* --- Heaps --------------------------------------------------------------- */

void heap_init(Heap *h, Mem *mem) {
  *h = (Heap){.mem = mem};
  pool_init(&h->pool, mem);
}

static void free_spares(Heap *h) {
  for (int class = 0; class < CLASSES_KEPT; class++)
    for (Buffer *b; (b = h->spare[class]);) {
      h->spare[class] = b->owner;
      mem_free_aligned(h->mem, b, block_size((size_t)LINE << class));
    }
  h->spare_bytes = 0;
}

void heap_done(Heap *h) {
  free_spares(h);
  pool_done(&h->pool);
}

static Buffer *take_spare(Heap *h, size_t size) {
  int class = size_class(size);
  Buffer *b = class < CLASSES_KEPT ? h->spare[class] : NULL;
  if (!b) return NULL;
  h->spare[class] = b->owner;
  h->spare_bytes -= block_size(size);
  return b;
}

static void give_spare(Heap *h, Buffer *b) {
  int class = size_class(b->size);
  size_t bytes = block_size(b->size);
  if (class == CLASSES_KEPT || bytes > SPARE_MAX - h->spare_bytes) {
    mem_free_aligned(h->mem, b, bytes);
    return;
  }
  b->owner = h->spare[class];
  h->spare[class] = b;
  h->spare_bytes += bytes;
}

/* A new block; when memory is short, after the spare ones were let go. */
static Buffer *new_block(Heap *h, size_t bytes) {
  Buffer *b = mem_alloc_aligned(h->mem, bytes);
  if (!b && h->spare_bytes) {
    free_spares(h);
    b = mem_alloc_aligned(h->mem, bytes);
  }
  return b;
}

/* --- Buffers ------------------------------------------------------------- */

Buffer *buffer_new(Heap *h, size_t size) {
  if (size > PTRDIFF_MAX) return NULL;
  Buffer *b = take_spare(h, size);
  if (!b) b = new_block(h, block_size(size));
  if (!b) return NULL;
  h->buffer_allocations++;
  *b = (Buffer){.count = 1, .size = size, .data = (char *)b + LINE};
  return b;
}

Buffer *buffer_borrow(Heap *h, const void *data, size_t size,
                      void (*release)(void *), void *owner) {
  Buffer *b = new_block(h, LINE);
  if (!b) return NULL;
  *b = (Buffer){
      .count = 1,
      .flags = BUFFER_READONLY | BUFFER_FOREIGN,
      .size = size,
      .data = (char *)data,
      .release = release,
      .owner = owner,
  };
  return b;
}

void buffer_drop(Heap *h, Buffer *b) {
  int32_t before =
      atomic_fetch_sub_explicit(&b->count, 1, memory_order_acq_rel);
  assert(before > 0);
  if (before > 1) return;
  BufferExtra *extra = b->packed;
  if (extra) extra->release(extra, h->mem);
  if (b->flags & BUFFER_FOREIGN) {
    if (b->release) b->release(b->owner);
    mem_free_aligned(h->mem, b, LINE);
  } else {
    give_spare(h, b);
  }
}
