/* The counting allocator over malloc.  Where its callers go from a refusal is
 * told in mem.h; arenas and vectors are the ones that raise `exhausted`. */
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

bool mem_init(Mem *m, size_t limit) {
  *m = (Mem){.limit = limit, .reserve = malloc(MEM_RESERVE)};
  return m->reserve != NULL;
}

void mem_done(Mem *m) {
  free(m->reserve);
  m->reserve = NULL;
}

static void raise_peak(Mem *m, size_t live) {
  size_t peak = atomic_load_explicit(&m->peak, memory_order_relaxed);
  while (live > peak && !atomic_compare_exchange_weak_explicit(
                            &m->peak, &peak, live, memory_order_relaxed,
                            memory_order_relaxed)) {
  }
}

static bool mem_refuse(Mem *m, size_t size) {
  atomic_store_explicit(&m->refused, size, memory_order_relaxed);
  return false;
}

/* Enters `size` more bytes in the books, or refuses. */
static bool mem_claim(Mem *m, size_t size) {
  size_t number =
      atomic_fetch_add_explicit(&m->count, 1, memory_order_relaxed) + 1;
  if (number == m->fail_at) return mem_refuse(m, size);
  size_t live = atomic_load_explicit(&m->live, memory_order_relaxed);
  do {
    if (live > m->limit || size > m->limit - live) return mem_refuse(m, size);
  } while (!atomic_compare_exchange_weak_explicit(&m->live, &live, live + size,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed));
  raise_peak(m, live + size);
  return true;
}

static void mem_unclaim(Mem *m, size_t size) {
  atomic_fetch_sub_explicit(&m->live, size, memory_order_relaxed);
}

/* What a claim bought: the block, or NULL and the claim undone. */
static void *claimed(Mem *m, void *p, size_t size) {
  if (!p) {
    mem_unclaim(m, size);
    mem_refuse(m, size);
  }
  return p;
}

enum { HUGE_LEAST = 4 << 20, PAGE_MOST = 64 << 10 };

/* Large blocks lie in huge pages where the system has them to give: they are
 * cleared at the first touch, and given back, in half of the time and in a
 * twentieth.  Of no account to what is in them, so a refusal is, too. */
static void *in_huge_pages(void *p, size_t size) {
#ifdef MADV_HUGEPAGE
  uintptr_t from = ((uintptr_t)p + PAGE_MOST - 1) / PAGE_MOST * PAGE_MOST;
  uintptr_t to = ((uintptr_t)p + size) / PAGE_MOST * PAGE_MOST;
  if (p && size >= HUGE_LEAST) madvise((void *)from, to - from, MADV_HUGEPAGE);
#endif
  return p;
}

/* malloc(0) may be NULL, which here means failure. */
static size_t nonzero(size_t size) { return size ? size : 1; }

void *mem_alloc(Mem *m, size_t size) {
  if (!mem_claim(m, size)) return NULL;
  return claimed(m, malloc(nonzero(size)), size);
}

void *mem_alloc_zeroed(Mem *m, size_t size) {
  if (!mem_claim(m, size)) return NULL;
  return claimed(m, in_huge_pages(calloc(1, nonzero(size)), size), size);
}

void *mem_resize(Mem *m, void *p, size_t old_size, size_t new_size) {
  size_t more = new_size > old_size ? new_size - old_size : 0;
  if (more && !mem_claim(m, more)) return NULL;
  void *q = realloc(p, nonzero(new_size));
  if (!more) {
    mem_unclaim(m, old_size - new_size);
    return q ? q : p; /* a block that cannot shrink is still large enough */
  }
  return claimed(m, q, more);
}

void mem_free(Mem *m, void *p, size_t size) {
  if (!p) return;
  free(p);
  mem_unclaim(m, size);
}

void *mem_alloc_aligned(Mem *m, size_t size) {
  if (size > SIZE_MAX - 63 || !mem_claim(m, size)) return NULL;
  size_t whole_lines = (nonzero(size) + 63) / 64 * 64;
  return claimed(m, in_huge_pages(aligned_alloc(64, whole_lines), size), size);
}

void mem_free_aligned(Mem *m, void *p, size_t size) { mem_free(m, p, size); }

void *mem_reserve_take(Mem *m, size_t size) {
  mem_raise_exhausted(m);
  if (size > MEM_RESERVE) return NULL;
  size = (size + 15) & ~(size_t)15;
  size_t at = atomic_load(&m->reserve_used);
  do {
    if (size > MEM_RESERVE - at) return NULL;
  } while (!atomic_compare_exchange_weak(&m->reserve_used, &at, at + size));
  atomic_fetch_add(&m->reserve_held, size);
  return memset(m->reserve + at, 0, size);
}

void mem_reserve_return(Mem *m, size_t size) {
  size = (size + 15) & ~(size_t)15;
  if (atomic_fetch_sub(&m->reserve_held, size) == size)
    atomic_store(&m->reserve_used, 0);
}

void mem_clear_exhausted(Mem *m) {
  atomic_store_explicit(&m->exhausted, false, memory_order_relaxed);
}

const char *size_text(size_t bytes, char text[SIZE_TEXT]) {
  static const char *const units[] = {"", "K", "M", "G", "T"};
  double size = (double)bytes;
  int unit = 0;
  while (unit < 4 && size >= 1024) size /= 1024, unit++;
  snprintf(text, SIZE_TEXT, "%.4g%s", size, units[unit]);
  return text;
}
