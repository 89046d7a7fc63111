/* See mapping.h.  The handler of SIGBUS may run in any thread at any
 * instruction, so it takes no lock and reads nothing that could be freed: the
 * places of mappings are atomic numbers in blocks that stay for ever. */
#include "io/mapping.h"

#include "base/forks.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct Range {
  _Atomic uintptr_t from; /* 0: free */
  _Atomic size_t size;
  _Atomic bool cut;
  Mapping *of;
} Range;

enum { RANGES = 64 };
typedef struct Block {
  Range ranges[RANGES];
  struct Block *_Atomic next;
} Block;

struct Mapping {
  Mem *mem;
  Range *range;
  size_t bytes; /* of all of this */
  char path[];
};

static Block first;
/* For whoever adds, frees or names a mapping. */
static pthread_mutex_t lock;
static ForkGuard guard;
static pthread_once_t guarded = PTHREAD_ONCE_INIT;
/* Mappings that are cut, so that asking costs nothing while there are none. */
static _Atomic size_t cut_count;

/* --- The list ------------------------------------------------------------ */

static void make_lock(void) { fork_guard(&guard, &lock, FORK_WAITS); }

static void take_lock(void) {
  pthread_once(&guarded, make_lock);
  pthread_mutex_lock(&lock);
}

/* Calls `is` for each range until it says yes; NULL: it never did. */
static Range *find_range(bool (*is)(const Range *r, uintptr_t at),
                         uintptr_t at) {
  for (Block *b = &first; b; b = atomic_load(&b->next))
    for (int i = 0; i < RANGES; i++)
      if (is(&b->ranges[i], at)) return &b->ranges[i];
  return NULL;
}

static bool is_free(const Range *r, uintptr_t at) {
  (void)at;
  return atomic_load(&r->from) == 0;
}

static bool is_cut(const Range *r, uintptr_t at) {
  (void)at;
  return atomic_load(&r->from) && atomic_load(&r->cut);
}

static bool holds(const Range *r, uintptr_t at) {
  uintptr_t from = atomic_load(&r->from);
  return from && at >= from && at - from < atomic_load(&r->size);
}

/* A free range; NULL without memory.  Under the lock. */
static Range *new_range(void) {
  Range *r = find_range(is_free, 0);
  if (r) return r;
  Block *b = calloc(1, sizeof *b);
  if (!b) return NULL;
  Block *last = &first;
  while (atomic_load(&last->next)) last = atomic_load(&last->next);
  atomic_store(&last->next, b);
  return &b->ranges[0];
}

Mapping *mapping_new(Mem *mem, const void *data, size_t size,
                     const char *path) {
  size_t bytes = sizeof(Mapping) + strlen(path) + 1;
  Mapping *m = mem_alloc(mem, bytes);
  if (!m) return NULL;
  m->mem = mem;
  m->bytes = bytes;
  memcpy(m->path, path, strlen(path) + 1);
  take_lock();
  Range *r = m->range = new_range();
  if (r) {
    r->of = m;
    atomic_store(&r->cut, false);
    atomic_store(&r->size, size);
    atomic_store(&r->from, (uintptr_t)data);
  }
  pthread_mutex_unlock(&lock);
  if (r) return m;
  mem_free(mem, m, bytes);
  return NULL;
}

void mapping_free(Mapping *m) {
  if (!m) return;
  take_lock();
  atomic_store(&m->range->from, 0);
  if (atomic_load(&m->range->cut)) atomic_fetch_sub(&cut_count, 1);
  m->range->of = NULL;
  pthread_mutex_unlock(&lock);
  mem_free(m->mem, m, m->bytes);
}

const char *mapping_cut(const Mapping *m) {
  return m && atomic_load(&m->range->cut) ? m->path : NULL;
}

bool mappings_cut(StrBuf *path) {
  if (atomic_load(&cut_count) == 0) return false;
  take_lock();
  const Range *r = find_range(is_cut, 0);
  if (r) strbuf_add(path, r->of->path);
  pthread_mutex_unlock(&lock);
  return r;
}

/* --- The signal ---------------------------------------------------------- */

/* Puts zeros where the file has no bytes any more: from the page of `at` to the
 * end of the mapping.  mmap() is a system call, and as such may be made here.
 */
static bool put_zeros(Range *r, uintptr_t at) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t from = at & ~(page - 1);
  size_t size = atomic_load(&r->from) + atomic_load(&r->size) - from;
  void *to = mmap((void *)from, size, PROT_READ,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (to == MAP_FAILED) return false;
  if (!atomic_exchange(&r->cut, true)) atomic_fetch_add(&cut_count, 1);
  return true;
}

/* Elsewhere the signal ends the process, as it does without a handler: the
 * instruction runs once more. */
static void on_bus_error(int number, siginfo_t *info, void *context) {
  (void)context;
  uintptr_t at = (uintptr_t)info->si_addr;
  Range *r = find_range(holds, at);
  if (!r || !put_zeros(r, at)) signal(number, SIG_DFL);
}

void mappings_outlive_cuts(void) {
  struct sigaction action = {.sa_flags = SA_SIGINFO};
  action.sa_sigaction = on_bus_error;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, NULL);
}
