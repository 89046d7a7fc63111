/* Whole text files.
 *
 * The size is not asked for first: it is wrong for pipes and devices, and may
 * change during the read.  The buffer doubles instead (vec.h), and is cut to
 * size at the end.  SOURCE_TEXT_MAX bounds what a device without end can take.
 *
 * A program may thus come from `rly <(generate)`, a pipe in the form of a file,
 * which has no size at all. */
#include "io/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { READ_STEP = 64 << 10 };

/* Reads to the end; false on failure, with errno where there is one. */
static bool read_all(FILE *file, StrBuf *out) {
  while (!feof(file)) {
    if (out->len > SOURCE_TEXT_MAX) {
      errno = EFBIG;
      return false;
    }
    if (!VEC_RESERVE(out, READ_STEP + 1)) {
      errno = ENOMEM;
      return false;
    }
    out->len += fread(out->data + out->len, 1, READ_STEP, file);
    if (ferror(file)) return false;
  }
  return true;
}

/* Hands over the vector's memory, cut to size, as a string. */
static bool text_of(Mem *mem, StrBuf *bytes, char **text, size_t *len) {
  size_t old_size = bytes->cap;
  *len = bytes->len;
  *text = mem_resize(mem, bytes->data, old_size, *len + 1);
  if (!*text) {
    errno = ENOMEM;
    return false;
  }
  (*text)[*len] = '\0';
  VEC_INIT(bytes, mem);
  return true;
}

/* errno is looked at right after what failed, before anything else can change
 * it. */
bool text_read(Mem *mem, const char *path, char **text, size_t *len,
               Diags *diags) {
  StrBuf bytes;
  strbuf_init(&bytes, mem);
  FILE *file = fopen(path, "rb");
  bool fine = file && read_all(file, &bytes) && text_of(mem, &bytes, text, len);
  if (!fine) {
    diag_error(diags, errno == EFBIG ? E0010 : E0501, SPAN_NONE,
               "cannot read %s: %s", path, strerror(errno));
    strbuf_done(&bytes);
  }
  if (file) fclose(file);
  return fine;
}
