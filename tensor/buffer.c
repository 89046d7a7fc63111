/* Buffers and the heaps they come from.  A buffer is one block, so one
 * allocation makes both the header and the elements, and both are aligned to a
 * cache line:
 *
 *   block                LINE
 *   | Buffer ........... | elements ................... | unused |
 *                        ^ data      64 << class bytes, or the exact size
 *
 * Up to 1 MiB the room for the elements is a power of two times LINE, so that a
 * freed block serves any later request of its class; larger blocks are exact,
 * because rounding those up could waste as much again.  A freed block is kept
 * by the heap that freed it, in a list for its class, provided that it came
 * from that heap's Mem: otherwise one session would hold bytes that count
 * against another's limit.  Programs that loop free and ask for the same few
 * sizes again and again; then no request reaches the system's allocator, and
 * the block handed out is the one freed last, which is still in the cache.
 *
 * A borrowed buffer is a header alone: its elements are the host's, and are
 * given back through `release`. */
#include <assert.h>

#include "tensor/tensor.h"

enum {
  LINE = 64,           /* bytes of a cache line; the smallest room */
  CLASSES_KEPT = 15,   /* the largest room kept is 64 << 14 bytes */
  SPARE_MAX = 16 << 20 /* bytes kept for reuse at most */
};
_Static_assert(sizeof(Buffer) <= LINE, "the header must fit in one line");
_Static_assert((int)CLASSES_KEPT <= (int)BUFFER_CLASSES, "one list a class");

/* The smallest class with enough room, or CLASSES_KEPT.  Class k has room for
 * 64 << k bytes: 64 bytes are of class 0, 65 to 128 of class 1, 1 MiB of class
 * 14. */
static int size_class(size_t size) {
  if (size <= LINE) return 0;
  int class = 64 - __builtin_clzll((size - 1) / LINE);
  return class < CLASSES_KEPT ? class : CLASSES_KEPT;
}

/* The size of the whole block for a buffer of this size and class. */
static size_t class_bytes(int class, size_t size) {
  return LINE + (class < CLASSES_KEPT ? (size_t)LINE << class : size);
}
static size_t block_size(size_t size) {
  return class_bytes(size_class(size), size);
}

/* --- Heaps --------------------------------------------------------------- */

void heap_init(Heap *h, Mem *mem) {
  *h = (Heap){.mem = mem};
  pool_init(&h->pool, mem);
}

static void free_spares(Heap *h) {
  for (int class = 0; class < CLASSES_KEPT; class ++)
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

/* The block freed last of this size's class, or NULL.  Any block of a class
 * fits any size of that class, so the first one in the list will do. */
static Buffer *take_spare(Heap *h, size_t size) {
  int class = size_class(size);
  Buffer *b = class < CLASSES_KEPT ? h->spare[class] : NULL;
  if (!b) return NULL;
  h->spare[class] = b->owner;
  h->spare_bytes -= class_bytes(class, size);
  return b;
}

/* Keeps a block for reuse, or returns it to its Mem.  A kept block is linked
 * through `owner`, which only borrowed buffers use otherwise.  The subtraction
 * cannot wrap, since spare_bytes never exceeds SPARE_MAX. */
static void give_spare(Heap *h, Buffer *b) {
  int class = size_class(b->size);
  size_t bytes = class_bytes(class, b->size);
  if (class == CLASSES_KEPT || bytes > SPARE_MAX - h->spare_bytes ||
      b->mem != h->mem) {
    mem_free_aligned(b->mem, b, bytes);
    return;
  }
  b->owner = h->spare[class];
  h->spare[class] = b;
  h->spare_bytes += bytes;
}

/* Allocates a block.  When memory is short, first the kept blocks are freed,
 * then whatever the heap's owner can free (cycles of mutable cells, during a
 * run), and the request is made once more.  Freeing the kept blocks is tried
 * again then, because what the owner freed may have been kept. */
static Buffer *new_block(Heap *h, size_t bytes) {
  for (bool relieved = false;; relieved = true) {
    Buffer *b = mem_alloc_aligned(h->mem, bytes);
    if (!b && h->spare_bytes) {
      free_spares(h);
      b = mem_alloc_aligned(h->mem, bytes);
    }
    if (b || relieved || !pool_relieve(&h->pool)) return b;
  }
}

/* --- Buffers ------------------------------------------------------------- */

/* The guard keeps LINE + size from overflowing in class_bytes(). */
Buffer *buffer_new(Heap *h, size_t size) {
  if (size > PTRDIFF_MAX) return NULL;
  Buffer *b = take_spare(h, size);
  if (!b) b = new_block(h, block_size(size));
  if (!b) return NULL;
  h->buffer_allocations++;
  *b = (Buffer){
      .count = 1, .size = size, .data = (char *)b + LINE, .mem = h->mem};
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
      .mem = h->mem,
  };
  return b;
}

/* Gives up one reference; true when it was the last.  The holder of the only
 * reference needs no atomic decrement, since nobody else can add one.
 * Acquiring orders the last uses by other sessions before the memory is
 * reused. */
static bool is_last(Buffer *b) {
  int32_t count = atomic_load_explicit(&b->count, memory_order_acquire);
  assert(count > 0);
  return count == 1 ||
         atomic_fetch_sub_explicit(&b->count, 1, memory_order_acq_rel) == 1;
}

/* The packed forms are made from the elements, so they go first. */
void buffer_drop(Heap *h, Buffer *b) {
  if (!is_last(b)) return;
  BufferExtra *extra = b->packed;
  if (extra) extra->release(extra);
  if (b->flags & BUFFER_FOREIGN) {
    if (b->release) b->release(b->owner);
    mem_free_aligned(b->mem, b, LINE);
  } else {
    give_spare(h, b);
  }
}
