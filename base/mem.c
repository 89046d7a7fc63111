/* The counting allocator over malloc, or over the host's own allocator.  mem.h
 * says what callers do when a request is refused; arenas and vectors are the
 * ones that raise `exhausted`.
 *
 * The books are atomic counters without a lock, for threads of a session
 * allocate at once.  Two levels are entered one after the other, the root
 * first; when the second refuses, the first is taken back.  `live` never
 * exceeds a limit but by claim_beyond().
 *
 *   root (context)     live, limit, peak, count
 *     child (program)  live, limit
 *     child (session)  live, limit
 *
 * Children of a root that is left are on a list, since blocks may outlive their
 * owners (tensors that a host holds); a child without live bytes is used
 * again. */
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/forks.h"

/* --- Where blocks come from ---------------------------------------------- */

enum { ALIGNED = 16, ALIGNED_WIDE = 64 };

/* malloc(0) may return NULL, which would read as failure. */
static size_t nonzero(size_t size) { return size ? size : 1; }

static void *block_new(Mem *root, size_t size) {
  const MemSystem *s = root->system;
  size = nonzero(size);
  return s ? s->allocate(s->data, size, ALIGNED) : malloc(size);
}

static void *block_zeroed(Mem *root, size_t size) {
  const MemSystem *s = root->system;
  size = nonzero(size);
  if (!s) return calloc(1, size);
  void *p = s->allocate(s->data, size, ALIGNED);
  return p ? memset(p, 0, size) : NULL;
}

/* aligned_alloc() wants a multiple of the alignment. */
static void *block_wide(Mem *root, size_t size) {
  const MemSystem *s = root->system;
  size = nonzero(size);
  if (s) return s->allocate(s->data, size, ALIGNED_WIDE);
  return aligned_alloc(ALIGNED_WIDE,
                       (size + ALIGNED_WIDE - 1) / ALIGNED_WIDE * ALIGNED_WIDE);
}

static void *block_resize(Mem *root, void *p, size_t size, size_t new_size) {
  const MemSystem *s = root->system;
  if (!p) return block_new(root, new_size);
  new_size = nonzero(new_size);
  return s ? s->resize(s->data, p, nonzero(size), new_size)
           : realloc(p, new_size);
}

static void block_free(Mem *root, void *p, size_t size) {
  const MemSystem *s = root->system;
  if (!s) free(p);
  else if (p) s->release(s->data, p, nonzero(size));
}

/* --- Life ---------------------------------------------------------------- */

/* Bytes held back for arenas when the system refuses memory.  A reserve that
 * has been cut is replaced when the next phase begins, and freed with the last
 * of its bytes.  It begins with this header. */
struct MemReserve {
  size_t used, held; /* bytes cut so far, and bytes in use */
  bool replaced;
};

enum { RESERVE_HEADER = (sizeof(MemReserve) + 15) / 16 * 16 };

typedef struct MemRoot {
  pthread_mutex_t lock;
  ForkGuard guard;
  MemReserve *reserve;
  Mem *left; /* children without an owner */
} MemRoot;

enum { RESERVE_SIZE = RESERVE_HEADER + MEM_RESERVE };

static MemReserve *reserve_new(Mem *root) {
  MemReserve *r = block_new(root, RESERVE_SIZE);
  if (r) *r = (MemReserve){0};
  return r;
}

bool mem_init(Mem *m, size_t limit) { return mem_init_on(m, limit, NULL); }

bool mem_init_on(Mem *m, size_t limit, const MemSystem *system) {
  *m = (Mem){.limit = limit, .system = system};
  MemRoot *r = block_new(m, sizeof *r);
  if (!r) return false;
  *r = (MemRoot){.reserve = reserve_new(m)};
  if (!r->reserve) return block_free(m, r, sizeof *r), false;
  m->root = r;
  fork_guard(&r->guard, &r->lock, FORK_WAITS);
  return true;
}

void mem_done(Mem *m) {
  for (Mem *c = m->root->left, *next; c; c = next) {
    next = c->next;
    block_free(m, c, sizeof *c);
  }
  fork_guard_done(&m->root->guard);
  block_free(m, m->root->reserve, RESERVE_SIZE);
  block_free(m, m->root, sizeof *m->root);
  m->root = NULL;
}

/* Takes a child without owner and without live bytes off the list, for reuse;
 * NULL when there is none.  The list is as long as there are sessions whose
 * values are still held. */
static Mem *child_again(MemRoot *r) {
  for (Mem **link = &r->left; *link; link = &(*link)->next) {
    Mem *c = *link;
    if (atomic_load(&c->live)) continue;
    *link = c->next;
    return c;
  }
  return NULL;
}

Mem *mem_child(Mem *m, size_t limit) {
  MemRoot *r = mem_root(m)->root;
  pthread_mutex_lock(&r->lock);
  Mem *c = child_again(r);
  pthread_mutex_unlock(&r->lock);
  if (!c) c = block_new(mem_root(m), sizeof *c);
  if (c) *c = (Mem){.parent = mem_root(m), .limit = limit};
  return c;
}

void mem_leave(Mem *child) {
  if (!child) return;
  MemRoot *r = child->parent->root;
  pthread_mutex_lock(&r->lock);
  child->next = r->left;
  r->left = child;
  pthread_mutex_unlock(&r->lock);
}

/* --- The books ----------------------------------------------------------- */

/* Another thread may have raised it further meanwhile; then its peak stands. */
static void raise_peak(Mem *m, size_t live) {
  size_t peak = atomic_load_explicit(&m->peak, memory_order_relaxed);
  while (live > peak && !atomic_compare_exchange_weak_explicit(
                            &m->peak, &peak, live, memory_order_relaxed,
                            memory_order_relaxed)) {
  }
}

/* For the message: how much was asked for, and whose limit refused. */
static bool mem_refuse(Mem *m, Mem *refuser, size_t size) {
  atomic_store_explicit(&m->refused, size, memory_order_relaxed);
  atomic_store_explicit(&m->refuser, refuser, memory_order_relaxed);
  return false;
}

void mem_refuse_overflow(Mem *m) { mem_refuse(m, NULL, SIZE_MAX); }

/* Counts the request.  Is it one that the test's settings make fail?  fail_at 0
 * means never; the subtraction wraps for numbers before fail_at, which makes
 * them large. */
static bool must_fail(Mem *root) {
  size_t number =
      atomic_fetch_add_explicit(&root->count, 1, memory_order_relaxed) + 1;
  return root->fail_at && number - root->fail_at <= root->fail_more;
}

/* Adds the bytes to one Mem, if its limit allows.  Compare and exchange: the
 * check and the addition are one step.  `size > limit - live` cannot overflow,
 * unlike live + size. */
static bool enter(Mem *m, size_t size) {
  size_t limit = atomic_load_explicit(&m->limit, memory_order_relaxed);
  size_t live = atomic_load_explicit(&m->live, memory_order_relaxed);
  do {
    if (live > limit || size > limit - live) return false;
  } while (!atomic_compare_exchange_weak_explicit(&m->live, &live, live + size,
                                                  memory_order_relaxed,
                                                  memory_order_relaxed));
  if (!m->parent) raise_peak(m, live + size);
  return true;
}

/* As enter, whatever the limit is. */
static void enter_beyond(Mem *m, size_t size) {
  size_t live = atomic_fetch_add_explicit(&m->live, size, memory_order_relaxed);
  if (!m->parent) raise_peak(m, live + size);
}

/* Release order: whoever reuses a child after its bytes are 0 must see what was
 * written before. */
static void leave(Mem *m, size_t size) {
  atomic_fetch_sub_explicit(&m->live, size, memory_order_release);
}

/* The root is asked first, as its limit is the one that all share. */
static bool mem_claim(Mem *m, size_t size) {
  Mem *root = mem_root(m);
  if (must_fail(root)) return mem_refuse(m, root, size);
  if (!enter(root, size)) return mem_refuse(m, root, size);
  if (m == root || enter(m, size)) return true;
  leave(root, size);
  return mem_refuse(m, m, size);
}

static void mem_unclaim(Mem *m, size_t size) {
  Mem *root = mem_root(m);
  leave(root, size);
  /* last: once its bytes are 0, mem_child may reuse `m` */
  if (m != root) leave(m, size);
}

static bool claim_beyond(Mem *m, size_t size) {
  Mem *root = mem_root(m);
  if (must_fail(root)) return mem_refuse(m, root, size);
  enter_beyond(root, size);
  if (m != root) enter_beyond(m, size);
  return true;
}

/* Completes a claim: returns the block, or takes the claim back when malloc
 * failed. */
static void *claimed(Mem *m, void *p, size_t size) {
  if (!p) {
    mem_unclaim(m, size);
    mem_refuse(m, mem_root(m), size);
  }
  return p;
}

/* --- Blocks -------------------------------------------------------------- */

enum { HUGE_LEAST = 4 << 20, PAGE_MOST = 64 << 10 };

/* Asks for huge pages for large blocks.  First touch then takes half of the
 * time, and release a twentieth.  It does not affect the contents, so failure
 * is ignored.  Addresses are cut to whole pages of the largest size a system
 * uses, as madvise() wants them aligned. */
static void *in_huge_pages(void *p, size_t size) {
#ifdef MADV_HUGEPAGE
  uintptr_t from = ((uintptr_t)p + PAGE_MOST - 1) / PAGE_MOST * PAGE_MOST;
  uintptr_t to = ((uintptr_t)p + size) / PAGE_MOST * PAGE_MOST;
  if (p && size >= HUGE_LEAST) madvise((void *)from, to - from, MADV_HUGEPAGE);
#endif
  return p;
}

void *mem_alloc(Mem *m, size_t size) {
  if (!mem_claim(m, size)) return NULL;
  return claimed(m, block_new(mem_root(m), size), size);
}

void *mem_alloc_zeroed(Mem *m, size_t size) {
  if (!mem_claim(m, size)) return NULL;
  return claimed(m, in_huge_pages(block_zeroed(mem_root(m), size), size), size);
}

/* Growing claims the difference before, shrinking returns it after, so the
 * books never show less than there is. */
void *mem_resize(Mem *m, void *p, size_t old_size, size_t new_size) {
  size_t more = new_size > old_size ? new_size - old_size : 0;
  if (more && !mem_claim(m, more)) return NULL;
  void *q = block_resize(mem_root(m), p, old_size, new_size);
  if (!more) {
    mem_unclaim(m, old_size - new_size);
    /* realloc refused to shrink; the old block is large enough */
    return q ? q : p;
  }
  return claimed(m, q, more);
}

void mem_free(Mem *m, void *p, size_t size) {
  if (!p) return;
  block_free(mem_root(m), p, size);
  mem_unclaim(m, size);
}

/* 64 bytes are a cache line and the widest vector. */
void *mem_alloc_aligned(Mem *m, size_t size) {
  if (size > SIZE_MAX - 63 || !mem_claim(m, size)) return NULL;
  return claimed(m, in_huge_pages(block_wide(mem_root(m), size), size), size);
}

void mem_free_aligned(Mem *m, void *p, size_t size) { mem_free(m, p, size); }

bool mem_hold(Mem *m, size_t size) { return mem_claim(m, size); }
void mem_let_go(Mem *m, size_t size) { mem_unclaim(m, size); }

/* --- Beyond the limit ---------------------------------------------------- */

/* What may go beyond the limit: small requests, and those of up to a sixteenth
 * of what is in use. */
static bool mem_may_overdraw(const Mem *m, size_t size) {
  return size <= MEM_SMALL || size <= atomic_load(&m->live) / 16;
}

/* First within the limit, then beyond it; `exhausted` is up in the second
 * case. */
void *mem_overdraw(Mem *m, size_t size) {
  void *p = mem_alloc_zeroed(m, size);
  if (p) return p;
  mem_raise_exhausted(m);
  if (!mem_may_overdraw(m, size) || !claim_beyond(m, size)) return NULL;
  return claimed(m, block_zeroed(mem_root(m), size), size);
}

void *mem_overdraw_resize(Mem *m, void *p, size_t old_size, size_t new_size) {
  void *q = mem_resize(m, p, old_size, new_size);
  if (q) return q;
  mem_raise_exhausted(m);
  size_t more = new_size - old_size;
  if (!mem_may_overdraw(m, more) || !claim_beyond(m, more)) return NULL;
  return claimed(m, block_resize(mem_root(m), p, old_size, new_size), more);
}

static size_t in_grains(size_t size) { return (size + 15) & ~(size_t)15; }

/* Cut from the front and never cut twice, until all of it is returned. */
void *mem_reserve_take(Mem *m, size_t size, MemReserve **from) {
  MemRoot *root = mem_root(m)->root;
  mem_raise_exhausted(m);
  if (!root || size > MEM_RESERVE) return NULL;
  char *bytes = NULL;
  size = in_grains(size);
  pthread_mutex_lock(&root->lock);
  MemReserve *r = root->reserve;
  if (size <= MEM_RESERVE - r->used) {
    bytes = (char *)r + RESERVE_HEADER + r->used;
    r->used += size;
    r->held += size;
    *from = r;
  }
  pthread_mutex_unlock(&root->lock);
  return bytes ? memset(bytes, 0, size) : NULL;
}

/* A reserve that is in use no more starts again from its beginning; one that
 * was replaced goes. */
void mem_reserve_return(Mem *m, MemReserve *from, size_t size) {
  MemRoot *root = mem_root(m)->root;
  pthread_mutex_lock(&root->lock);
  from->held -= in_grains(size);
  if (!from->held) from->used = 0;
  bool gone = !from->held && from->replaced;
  pthread_mutex_unlock(&root->lock);
  if (gone) block_free(mem_root(m), from, RESERVE_SIZE);
}

/* Blocks cut from the reserve may live long, so the next phase gets a new
 * reserve if the system has memory again. */
void mem_clear_exhausted(Mem *m) {
  MemRoot *root = mem_root(m)->root;
  atomic_store_explicit(&m->exhausted, false, memory_order_relaxed);
  if (!root) return;
  pthread_mutex_lock(&root->lock);
  MemReserve *fresh = root->reserve->used ? reserve_new(mem_root(m)) : NULL;
  if (fresh) {
    root->reserve->replaced = true;
    root->reserve = fresh;
  }
  pthread_mutex_unlock(&root->lock);
}

/* --- Sizes as text -------------------------------------------------------- */

static const char units[] = "KMGTPE"; /* each 1024 times the one before */

/* 1023.5 of a unit would be four digits that say 1024. */
const char *size_text(size_t bytes, char text[SIZE_TEXT]) {
  double size = (double)bytes;
  int unit = 0;
  while (size >= 1023.5) size /= 1024, unit++;
  if (unit) snprintf(text, SIZE_TEXT, "%.4g%c", size, units[unit - 1]);
  else snprintf(text, SIZE_TEXT, "%.4g", size);
  return text;
}

/* Digits after the point, as the part of 2^shift that they are.  The weight
 * of a digit is below a byte soon, so how many there are does not matter. */
static uint64_t part_of(const char *text, unsigned shift) {
  double weight = (double)((uint64_t)1 << shift), sum = 0;
  for (; *text >= '0' && *text <= '9'; text++)
    sum += (weight /= 10) * (*text - '0');
  return (uint64_t)(sum + 0.5);
}

/* Recognises a `B` or `iB` after a unit. */
static bool ends_size(const char *text, bool unit) {
  if (unit && *text == 'i') text++;
  if (*text == 'B' || *text == 'b') text++;
  return !*text;
}

/* The bounds are checked before the shift and with the sum, which must not lose
 * bits; a size_t may have 32. */
bool size_read(const char *text, size_t *bytes) {
  size_t digits = strspn(text, "0123456789");
  const char *end = text + digits, *point = *end == '.' ? end + 1 : NULL;
  if (point) end = point + strspn(point, "0123456789");
  const char *unit = *end ? strchr(units, *end & ~32) : NULL;
  unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
  errno = 0;
  uint64_t n = digits ? strtoull(text, NULL, 10) : 0;
  if (!digits || errno || end == point || (point && !unit) ||
      !ends_size(end + (unit != NULL), unit) || n > (UINT64_MAX >> shift))
    return false;
  uint64_t part = point ? part_of(point, shift) : 0;
  return !__builtin_add_overflow(n << shift, part, bytes);
}
