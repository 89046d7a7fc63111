/* Reading numbers and names of a mapped file; the messages are those that all
 * its formats share. */
#include "io/cursor.h"

#include <string.h>

#include "base/utf8.h"
#include "tensor/ndarray.h"

bool cursor_skip(Cursor *c, const char *what, uint64_t bytes) {
  if (bytes > cursor_left(c))
    return cursor_invalid(c, "it ends before its %s", what);
  c->at += (size_t)bytes;
  return true;
}

bool cursor_u32(Cursor *c, const char *what, uint32_t *v) {
  if (!cursor_skip(c, what, sizeof *v)) return false;
  *v = le32_read(c->map->data + c->at - sizeof *v);
  return true;
}

bool cursor_u64(Cursor *c, const char *what, uint64_t *v) {
  if (!cursor_skip(c, what, sizeof *v)) return false;
  *v = le64_read(c->map->data + c->at - sizeof *v);
  return true;
}

bool cursor_name(Cursor *c, const char **text, size_t *len) {
  uint64_t size;
  if (!cursor_u64(c, "last name", &size)) return false;
  if (size > cursor_left(c))
    return cursor_invalid(c, "a name would take %llu bytes, but %zu follow",
                          (unsigned long long)size, cursor_left(c));
  *text = c->map->data + c->at;
  *len = (size_t)size;
  if (utf8_check(*text, *len) != *len)
    return cursor_invalid(c, "a name is not UTF-8");
  c->at += *len;
  return true;
}
