/* The context's allocator: every byte the library owns comes from a `Mem`.
 *
 * It counts bytes, enforces a limit, and can be told to fail on the n-th
 * request (tests/oom.c walks n = 0, 1, 2, ...).
 *
 * Two ways to run out of memory:
 *   - mem_alloc and friends return NULL; values, tensors and stacks use them.
 *   - The front end builds many small nodes through arenas.  When the system
 *     or the limit refuses, the arena draws on a reserve held back for this
 *     and raises `exhausted`; every loop over user-sized input asks
 *     mem_exhausted() and stops.  One step between two such questions must
 *     need less than MEM_RESERVE bytes. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MEM_RESERVE = 1 << 20 };

typedef struct Mem {
  _Atomic size_t live;   /* bytes handed out and not yet returned */
  _Atomic size_t peak;   /* the most `live` has been */
  _Atomic size_t count;  /* allocations made so far */
  _Atomic size_t pieces; /* of those, the ones that only the address sanitizer's
                            build makes: elsewhere they are cut from slabs */
  _Atomic size_t refused; /* bytes of the last request that failed; 0: none */
  size_t limit;           /* of live bytes; SIZE_MAX: none */
  size_t fail_at; /* the allocation of this number fails; 0: none does */
  char *reserve;  /* MEM_RESERVE bytes for arenas in distress */
  _Atomic size_t reserve_used; /* bytes of it cut off so far */
  _Atomic size_t reserve_held; /* of those, not yet given back */
  _Atomic bool exhausted;
} Mem;

/* False when not even the reserve can be had. */
bool mem_init(Mem *m, size_t limit);
void mem_done(Mem *m);

/* 16-byte aligned memory, or NULL.  `size` is passed back on release, so no
 * block carries a hidden size. */
void *mem_alloc(Mem *m, size_t size);
void *mem_alloc_zeroed(Mem *m, size_t size);
void *mem_resize(Mem *m, void *p, size_t old_size, size_t new_size);
void mem_free(Mem *m, void *p, size_t size);

/* 64-byte aligned memory for tensor elements, or NULL. */
void *mem_alloc_aligned(Mem *m, size_t size);
void mem_free_aligned(Mem *m, void *p, size_t size);

/* Allocations made so far, the same in every build. */
static inline size_t mem_allocations(const Mem *m) {
  return atomic_load(&m->count) - atomic_load(&m->pieces);
}

/* Has an arena or vector been refused memory since the last clear? */
static inline bool mem_exhausted(const Mem *m) {
  return atomic_load_explicit(&m->exhausted, memory_order_relaxed);
}
static inline void mem_raise_exhausted(Mem *m) {
  atomic_store_explicit(&m->exhausted, true, memory_order_relaxed);
}
/* After the failed phase has been unwound and its arenas released. */
void mem_clear_exhausted(Mem *m);

/* For arenas: 16-byte aligned zeroed bytes of the reserve, or NULL when it is
 * spent.  Raises `exhausted`.  The reserve is whole again when all that was
 * taken has been given back. */
void *mem_reserve_take(Mem *m, size_t size);
void mem_reserve_return(Mem *m, size_t size);

/* Bytes with a unit, as flags read them: `12`, `1.5K`, `20M`; in `text`. */
enum { SIZE_TEXT = 16 };
const char *size_text(size_t bytes, char text[SIZE_TEXT]);

/* n * size, or false on overflow. */
static inline bool size_mul(size_t n, size_t size, size_t *out) {
  return !__builtin_mul_overflow(n, size, out);
}

#endif
