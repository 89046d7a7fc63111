/* A mapped file read from front to back.  No length is used before it has been
 * compared with what is left. */
#ifndef IO_CURSOR_H
#define IO_CURSOR_H

#include "io/tensor_file.h"

typedef struct Cursor {
  const char *path;
  const char *format; /* for messages: "params" */
  FileMap *map;
  size_t at; /* bytes read so far */
  Diags *diags;
} Cursor;

/* "PATH is no valid FORMAT file: ..."; false. */
#define cursor_invalid(c, ...) \
  file_invalid((c)->diags, (c)->path, (c)->format, __VA_ARGS__)

static inline size_t cursor_left(const Cursor *c) {
  return c->map->size - c->at;
}

/* Each is false after reporting when the file ends before its `what`. */

bool cursor_skip(Cursor *c, const char *what, uint64_t bytes);
/* The formats' integers are little-endian. */
bool cursor_u32(Cursor *c, const char *what, uint32_t *v);
bool cursor_u64(Cursor *c, const char *what, uint64_t *v);
/* A u64 length and as many bytes of UTF-8, which stay the mapping's. */
bool cursor_name(Cursor *c, const char **text, size_t *len);

#endif
