/* Growable arrays.  A vector of T is `VEC(T) name;`, zero-initialised, with
 * fields data, len and cap; VEC_INIT gives it its allocator.
 *
 *   VEC(int) v;
 *   VEC_INIT(&v, mem);
 *   VEC_PUSH(&v, 42);
 *   VEC_DONE(&v);
 *
 * When memory runs out a push raises `exhausted` in the vector's Mem (see
 * mem.h) and goes beyond the limit.  When the system has no memory either it
 * drops its element; the vector stays as it was. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/arena.h"

#define VEC(T)       \
  struct {           \
    T *data;         \
    size_t len, cap; \
    Mem *mem;        \
  }

#define VEC_INIT(v, m) \
  ((v)->data = NULL, (v)->len = (v)->cap = 0, (v)->mem = (m))
#define VEC_DONE(v)                                             \
  (mem_free((v)->mem, (v)->data, (v)->cap * sizeof *(v)->data), \
   (v)->data = NULL, (v)->len = (v)->cap = 0)

/* Reserves room for `n` more elements; false, and `exhausted`, when there is
 * none. */
#define VEC_RESERVE(v, n)                                                    \
  ((v)->cap - (v)->len >= (size_t)(n) ||                                     \
   vec_grow((v)->mem, (void **)&(v)->data, &(v)->cap, (v)->len, (size_t)(n), \
            sizeof *(v)->data))
#define VEC_PUSH(v, ...) \
  (VEC_RESERVE(v, 1) ? (void)((v)->data[(v)->len++] = (__VA_ARGS__)) : (void)0)
#define VEC_POP(v) ((v)->data[--(v)->len])
#define VEC_LAST(v) ((v)->data[(v)->len - 1])
#define VEC_CLEAR(v) ((v)->len = 0)

/* The vector's elements as an arena array; the vector is left as it is. */
#define VEC_TO_ARENA(v, a)                           \
  ((__typeof__((v)->data))arena_copy((a), (v)->data, \
                                     (v)->len * sizeof *(v)->data))

bool vec_grow(Mem *mem, void **data, size_t *cap, size_t len, size_t extra,
              size_t size);

#endif
