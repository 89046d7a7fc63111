/* Growth of the vectors of vec.h: at least doubling, so pushes are cheap. */
#include "base/vec.h"

#include <string.h>

/* Twice as many as now, but no fewer than needed; 0 on overflow. */
static size_t grown_capacity(size_t cap, size_t len, size_t extra) {
  size_t need;
  if (__builtin_add_overflow(len, extra, &need)) return 0;
  size_t twice = cap < 4 ? 8 : cap > SIZE_MAX / 2 ? need : 2 * cap;
  return twice > need ? twice : need;
}

bool vec_grow(Mem *mem, void **data, size_t *cap, size_t len, size_t extra,
              size_t size) {
  /* `data` points to a pointer of another type: only memcpy may touch it. */
  void *old, *grown = NULL;
  memcpy(&old, data, sizeof old);
  size_t new_cap = grown_capacity(*cap, len, extra), bytes;
  if (new_cap && size_mul(new_cap, size, &bytes))
    grown = mem_resize(mem, old, *cap * size, bytes);
  if (!grown) {
    mem_raise_exhausted(mem);
    return false;
  }
  memcpy(data, &grown, sizeof grown);
  *cap = new_cap;
  return true;
}
