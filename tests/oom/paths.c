#include "tests/oom/paths.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

void *__real_calloc(size_t n, size_t size);
void *__real_malloc(size_t size);
void __real_free(void *p);

enum { FRAMES = 64, MOST = 1 << 16 };

typedef struct Path {
  uint64_t hash; /* 0: an empty slot */
  double seconds;
  size_t run, allocation;
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

/* The slot of the path; one with the hash 0 before is counted. */
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
/* Without frame pointers all paths are one. */
static uint64_t path_here(void) { return 1; }
#endif

void paths_open(void) {
  noted = mmap(NULL, sizeof *noted, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (noted == MAP_FAILED) abort();
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
    p->run = run;
    p->allocation = noted->paths[i].allocation;
  }
  noted->count = 0;
}

size_t paths_count(void) { return all.used; }

static int by_allocation(const void *a, const void *b) {
  size_t x = *(const size_t *)a, y = *(const size_t *)b;
  return (x > y) - (x < y);
}

void paths_chosen(size_t run, void (*fail)(void *arg, size_t allocation),
                  void *arg) {
  size_t *chosen = __real_malloc(MOST * sizeof *chosen), count = 0;
  if (!chosen) abort();
  for (size_t i = 0; i < all.cap; i++)
    if (all.slots[i].hash && all.slots[i].run == run)
      chosen[count++] = all.slots[i].allocation;
  qsort(chosen, count, sizeof *chosen, by_allocation);
  for (size_t i = 0; i < count; i++) fail(arg, chosen[i]);
  __real_free(chosen);
}
