/* The table is this file's own: those of base/ allocate by what is wrapped. */
#include "tests/oom/paths.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

void *__real_calloc(size_t n, size_t size);
void __real_free(void *p);

enum { FRAMES = 64, MOST = 1 << 16 };

typedef struct Path {
  uint64_t hash; /* 0: an empty slot */
  double seconds;
  FailureAt at;
} Path;

/* A table with open addressing. */
typedef struct Table {
  Path *slots;
  size_t used, cap;
} Table;

/* `all` in the parent, `own` in a run. */
static Table all, own;

/* What a run has noted; shared with the parent. */
static struct Noted {
  size_t count;
  struct {
    uint64_t hash;
    size_t allocation;
  } paths[MOST];
} * noted;

static Path *slot_of(Table *t, uint64_t hash) {
  size_t at = hash & (t->cap - 1);
  while (t->slots[at].hash && t->slots[at].hash != hash)
    at = (at + 1) & (t->cap - 1);
  return &t->slots[at];
}

static void make_room(Table *t) {
  Table old = *t;
  if (2 * old.used < old.cap) return;
  t->cap = old.cap ? 2 * old.cap : MOST / 4;
  t->slots = __real_calloc(t->cap, sizeof *t->slots);
  if (!t->slots) abort();
  for (size_t i = 0; i < old.cap; i++)
    if (old.slots[i].hash) *slot_of(t, old.slots[i].hash) = old.slots[i];
  __real_free(old.slots);
}

/* The slot of the path.  `known`: it was in the table before. */
static Path *enter(Table *t, uint64_t hash, bool *known) {
  make_room(t);
  Path *p = slot_of(t, hash);
  *known = p->hash == hash;
  if (!*known) t->used++;
  p->hash = hash;
  return p;
}

#ifdef WITH_FRAME_POINTERS
/* The sum of the distinct return addresses in the nearest FRAMES frames, each
 * hashed: how deep a recursion is does not count, nor in which order functions
 * call one another.  A frame begins with the address of its caller's frame;
 * where that is not a little further up, the functions of rly end. */
static uint64_t path_here(void) {
  uintptr_t seen[FRAMES];
  uint64_t sum = 0;
  const uintptr_t *frame = __builtin_frame_address(0);
  for (int i = 0; i < FRAMES; i++) {
    int k = 0;
    seen[i] = frame[1];
    while (seen[k] != seen[i]) k++;
    if (k == i) sum += (seen[i] ^ seen[i] >> 15) * 0x9e3779b97f4a7c15u;
    uintptr_t next = frame[0], up = next - (uintptr_t)frame;
    if (next % sizeof next || up == 0 || up > 1 << 16) break;
    frame = (const uintptr_t *)next;
  }
  return sum | 1;
}
#else
/* Not called: paths_open() has refused. */
static uint64_t path_here(void) { return 1; }
#endif

bool paths_open(void) {
#ifndef WITH_FRAME_POINTERS
  return false;
#endif
  noted = mmap(NULL, sizeof *noted, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (noted == MAP_FAILED) abort();
  return true;
}

void paths_note(size_t allocation) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  uint64_t hash = path_here();
  bool known;
  pthread_mutex_lock(&lock);
  enter(&own, hash, &known);
  if (!known) {
    if (noted->count == MOST) abort();
    noted->paths[noted->count].hash = hash;
    noted->paths[noted->count++].allocation = allocation;
  }
  pthread_mutex_unlock(&lock);
}

void paths_take(size_t run, double seconds) {
  for (size_t i = 0; i < noted->count; i++) {
    bool known;
    Path *p = enter(&all, noted->paths[i].hash, &known);
    if (known && p->seconds <= seconds) continue;
    p->seconds = seconds;
    p->at = (FailureAt){run, noted->paths[i].allocation};
  }
  noted->count = 0;
}

static int by_run(const void *a, const void *b) {
  const FailureAt *x = a, *y = b;
  if (x->run != y->run) return x->run < y->run ? -1 : 1;
  return (x->allocation > y->allocation) - (x->allocation < y->allocation);
}

FailureAt *paths_chosen(size_t *count, double *seconds) {
  FailureAt *chosen = __real_calloc(all.used + 1, sizeof *chosen);
  if (!chosen) abort();
  *count = 0, *seconds = 0;
  for (size_t i = 0; i < all.cap; i++) {
    if (!all.slots[i].hash) continue;
    chosen[(*count)++] = all.slots[i].at;
    *seconds += all.slots[i].seconds;
  }
  qsort(chosen, *count, sizeof *chosen, by_run);
  return chosen;
}
