/* Huge pages for the heap of a process.
 *
 * mem.c asks for huge pages for blocks of 4 MiB and more.  A tape holds
 * hundreds of megabytes in blocks of some 100 KiB, which lie in malloc's heap,
 * in pages of 4 KiB: to walk over them misses the table of addresses (TLB) at
 * each row of a matrix.  A block may not ask for pages beyond its own bytes,
 * and a huge page is made only where nothing has been touched, so the heap is
 * made large first and asks as a whole.  Pages take memory when they are
 * touched, not before. */
#include "base/heap.h"

#include <stdlib.h>
#include <sys/mman.h>

#if defined(__GLIBC__) && defined(MADV_HUGEPAGE)
#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <unistd.h>

enum {
  AHEAD = 1 << 30,            /* bytes by which the heap grows now, */
  LATER = 1 << 20,            /* and whenever it grows again */
  MAPPED = 32 << 20,          /* larger blocks get a mapping of their own */
  FIRST = MAPPED - (1 << 20), /* a block for which the heap has no room yet */
  PAGE = 64 << 10,            /* the largest of the small pages */
};

/* What the heap has grown by begins with the block that made it grow, and ends
 * at the break. */
void heap_in_huge_pages(void) {
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
void heap_in_huge_pages(void) {}
#endif
