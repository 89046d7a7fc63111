/* The allocator: every byte the library owns comes from a `Mem`.
 *
 * A Mem counts bytes, enforces a limit, and can be told to fail on the n-th
 * request.  A context has one, and each of its programs' code and each of its
 * sessions has one below it: what such a child hands out counts in the child
 * and in its parent, and both limits hold.  `exhausted` belongs to the one Mem
 * whose user was refused, so no thread sees or clears another's.
 *
 * Two ways to run out of memory:
 *   - mem_alloc and friends return NULL and raise nothing.  Values, tensors and
 *     stacks use them, and their callers report E0701.
 *   - The front end builds many small nodes, and does not ask of each whether
 *     there was memory for it.  Arenas, vectors and maps therefore go on where
 *     the limit refuses: they raise `exhausted` and take the bytes
 *     nevertheless, beyond the limit, as long as one request is small (up to
 *     MEM_SMALL, or a sixteenth of what is in use).  Where the system itself
 *     refuses, arenas draw on a reserve of MEM_RESERVE bytes.
 *
 * What makes that sound:
 *   1. A small request to an arena, and one more element in a vector, do not
 *      fail because of the limit.  So a node that was asked for is there, and a
 *      list is as long as its builder believes.
 *   2. A request that is not small may fail.  Its size follows from the user's
 *      input alone, and its caller looks at the result.
 *   3. Every loop and every recursion over the user's input asks
 *      mem_exhausted() in each step, and ends when it is true; the phase's
 *      driver asks at the end and discards what was built.  A step takes less
 *      than MEM_SMALL bytes, so what is overdrawn is a step for each level of
 *      the recursion under way, which the nesting limit bounds.
 *   4. Nobody clears `exhausted` but the driver that reports the error, after
 *      the phase has been unwound.
 * tests/oom/ holds all this to account: each allocation of each command fails
 * once, and again together with all after it; and no limit may be overdrawn by
 * more than MEM_RESERVE and an eighth. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `make oom-tables` sets it lower. */
#ifndef MEM_SMALL_BYTES
#define MEM_SMALL_BYTES (64 << 10)
#endif
enum { MEM_RESERVE = 1 << 20, MEM_SMALL = MEM_SMALL_BYTES };

/* Where blocks come from, in place of libc; rly.h (rly_allocator) says what the
 * functions do. */
typedef struct MemSystem {
  void *(*allocate)(void *data, size_t size, size_t alignment);
  void *(*resize)(void *data, void *block, size_t size, size_t new_size);
  void (*release)(void *data, void *block, size_t size);
  void *data;
} MemSystem;

typedef struct Mem {
  struct Mem *parent;            /* NULL for a root */
  struct Mem *watched[2];        /* mem_exhausted() asks these as well */
  _Atomic size_t live;           /* bytes handed out and not yet returned */
  _Atomic size_t limit;          /* of `live`; SIZE_MAX for none */
  _Atomic size_t refused;        /* size of the last request that failed;
                                    SIZE_MAX: it overflowed */
  _Atomic(struct Mem *) refuser; /* the Mem whose limit refused it */
  _Atomic bool exhausted;
  struct Mem *next; /* next in the root's list of children without an owner */
  /* For a root: */
  _Atomic size_t peak;   /* the most `live` has been */
  _Atomic size_t count;  /* allocations made so far */
  _Atomic size_t pieces; /* of those, the ones that only the address sanitizer's
                            build makes: elsewhere they are cut from slabs */
  size_t fail_at;        /* the allocation of this number fails; 0: none does */
  size_t fail_more;      /* and this many requests after it */
  struct MemRoot *root;  /* the state behind a lock; NULL: no reserve */
  const MemSystem *system;          /* NULL: libc */
  const struct SplitPiece *stack;   /* deep, of the host; or NULL (split.h) */
  size_t stack_split, stack_levels; /* bytes of it in the books */
} Mem;

/* Makes a root; false when not even its reserve can be allocated. */
bool mem_init(Mem *m, size_t limit);
/* The same with blocks of `system`, which is borrowed; NULL: of libc. */
bool mem_init_on(Mem *m, size_t limit, const MemSystem *system);
/* Ends a root and all its children. */
void mem_done(Mem *m);

/* A Mem of its own below `m`'s root; NULL when memory runs out.  Blocks may
 * outlive its owner: after mem_leave the Mem stays until the root ends, and is
 * given to another owner once all its bytes have been returned. */
Mem *mem_child(Mem *m, size_t limit);
void mem_leave(Mem *child);
/* A child for work that ends before the caller returns: the caller keeps the
 * struct, and frees every byte. */
static inline Mem mem_local(Mem *m);

static inline Mem *mem_root(Mem *m) { return m->parent ? m->parent : m; }

static inline Mem mem_local(Mem *m) {
  return (Mem){.parent = mem_root(m), .limit = SIZE_MAX};
}

/* 16-byte aligned memory, or NULL.  The caller passes `size` again on release,
 * so blocks carry no hidden header. */
void *mem_alloc(Mem *m, size_t size);
void *mem_alloc_zeroed(Mem *m, size_t size);
void *mem_resize(Mem *m, void *p, size_t old_size, size_t new_size);
void mem_free(Mem *m, void *p, size_t size);

/* 64-byte aligned memory for tensor elements, or NULL. */
void *mem_alloc_aligned(Mem *m, size_t size);
void mem_free_aligned(Mem *m, void *p, size_t size);

/* Enters in the books what a library is about to allocate by itself; false
 * where the limit does not allow it. */
bool mem_hold(Mem *m, size_t size);
void mem_let_go(Mem *m, size_t size);

/* Notes that a request failed whose size overflowed: `refused` is SIZE_MAX. */
void mem_refuse_overflow(Mem *m);

/* Allocations made so far below a root; the same number in every build. */
static inline size_t mem_allocations(const Mem *m) {
  return atomic_load(&m->count) - atomic_load(&m->pieces);
}

/* Has an arena, vector or map been refused memory since the last clear? */
static inline void mem_raise_exhausted(Mem *m) {
  atomic_store_explicit(&m->exhausted, true, memory_order_relaxed);
}
static inline bool mem_exhausted_alone(const Mem *m) {
  return atomic_load_explicit(&m->exhausted, memory_order_relaxed);
}
/* The same of `m` and of those that it watches, which watch none.  What they
 * say is raised in `m` as well, because their user may clear it before the user
 * of `m` looks again. */
static inline bool mem_exhausted(const Mem *m) {
  if (mem_exhausted_alone(m)) return true;
  for (int i = 0; i < 2 && m->watched[i]; i++)
    if (mem_exhausted_alone(m->watched[i]))
      return mem_raise_exhausted((Mem *)m), true;
  return false;
}
/* Call it after the failed phase has been unwound and its arenas released. */
void mem_clear_exhausted(Mem *m);

/* --- For arenas, vectors and maps ---------------------------------------- */

/* As mem_alloc_zeroed and mem_resize, but a small request may go beyond the
 * limit.  Doing so, and a refusal by the system, raise `exhausted`. */
void *mem_overdraw(Mem *m, size_t size);
void *mem_overdraw_resize(Mem *m, void *p, size_t old_size, size_t new_size);

/* 16-byte aligned zeroed bytes of the reserve, or NULL when it is spent;
 * `*from` receives the reserve to return them to.  Raises `exhausted`. */
typedef struct MemReserve MemReserve;
void *mem_reserve_take(Mem *m, size_t size, MemReserve **from);
void mem_reserve_return(Mem *m, MemReserve *from, size_t size);

/* Byte counts as users read and write them: four digits and a unit of 1024s,
 * as `12`, `1.5K`, `20M`.  size_text needs SIZE_TEXT characters and gives
 * `text` back.  size_read takes `20m`, `20MB` and `20MiB` as well; a part needs
 * a unit.  False: that is no size, or more than a size_t holds. */
enum { SIZE_TEXT = 16 };
const char *size_text(size_t bytes, char text[SIZE_TEXT]);
bool size_read(const char *text, size_t *bytes);

/* n * size, or false on overflow. */
static inline bool size_mul(size_t n, size_t size, size_t *out) {
  return !__builtin_mul_overflow(n, size, out);
}

#endif
