/* Growth of the vectors of vec.h: capacity at least doubles, so a push takes
 * amortised constant time.
 *
 * Vectors are the ones that go beyond a limit of memory (mem.h): a list must be
 * as long as its builder believes.  Doubling a large list would overdraw by its
 * own size, so beyond the limit it grows only a little. */
#include "base/vec.h"

#include <string.h>

/* Twice the capacity, but at least what is needed; 0 on overflow. */
static size_t grown_capacity(size_t cap, size_t len, size_t extra) {
  size_t need;
  if (__builtin_add_overflow(len, extra, &need)) return 0;
  size_t twice = cap < 4 ? 8 : cap > SIZE_MAX / 2 ? need : 2 * cap;
  return twice > need ? twice : need;
}

/* The capacity beyond the limit: what is needed now and a little more, since
 * the phase ends at its next step. */
static size_t last_capacity(size_t len, size_t extra, size_t size) {
  size_t most = MEM_SMALL / 4 / size, little = len / 16 + 8;
  return len + extra + (little < most ? little : most);
}

/* Called by VEC_RESERVE when there is no room.  On failure the vector is as it
 * was. */
bool vec_grow(Mem *mem, void **data, size_t *cap, size_t len, size_t extra,
              size_t size) {
  /* `data` points to a pointer of unknown type, so only memcpy may access it */
  void *old, *grown = NULL;
  memcpy(&old, data, sizeof old);
  size_t new_cap = grown_capacity(*cap, len, extra), bytes = 0;
  bool fits = new_cap && size_mul(new_cap, size, &bytes);
  if (fits) grown = mem_resize(mem, old, *cap * size, bytes);
  if (!grown) {
    mem_raise_exhausted(mem);
    if (!fits) mem_refuse_overflow(mem);
    if (!fits || extra > SIZE_MAX / 2 / size) return false;
    new_cap = last_capacity(len, extra, size);
    grown = mem_overdraw_resize(mem, old, *cap * size, new_cap * size);
    if (!grown) return false;
  }
  memcpy(data, &grown, sizeof grown);
  *cap = new_cap;
  return true;
}
