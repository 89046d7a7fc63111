/* Huge pages for the heap of a process.
 *
 * mem.c asks for huge pages for blocks of 4 MiB and more.  The tape of a
 * gradient holds hundreds of megabytes in blocks of some 100 KiB, which lie in
 * malloc's heap, in pages of 4 KiB: whoever walks over them misses the TLB at
 * each row of a matrix.  A block cannot ask for pages beyond its own bytes, and
 * the system makes a huge page only where nothing has been touched.  So the
 * heap is first made large, and then asks for huge pages as a whole.  A page
 * takes memory when it is touched, not before. */
#include "base/heap.h"

#include <stdlib.h>
#include <sys/mman.h>

#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
#include <limits.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

enum {
  AHEAD = 1 << 30,            /* bytes by which the heap grows now */
  LATER = 1 << 20,            /* bytes by which it grows from then on */
  MAPPED = 32 << 20,          /* larger blocks get a mapping of their own */
  FIRST = MAPPED - (1 << 20), /* a block for which the heap has no room yet */
  PAGE = 64 << 10,            /* the largest page size that is not huge */
};

static atomic_bool own, done;

void heap_is_own(void) { atomic_store(&own, true); }

/* The new part of the heap begins with the block that made it grow, and ends at
 * the program break. */
void heap_in_huge_pages(void) {
  if (!atomic_load(&own) || atomic_exchange(&done, true)) return;
  mallopt(M_MMAP_THRESHOLD, MAPPED);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, AHEAD);
  char *first = malloc(FIRST), *end = sbrk(0);
  uintptr_t from = ((uintptr_t)first + PAGE - 1) / PAGE * PAGE;
  uintptr_t to = (uintptr_t)end / PAGE * PAGE;
  if (first && from < to) madvise((void *)from, to - from, MADV_HUGEPAGE);
  free(first);
  mallopt(M_TOP_PAD, LATER);
}
#else
void heap_is_own(void) {}
void heap_in_huge_pages(void) {}
#endif
