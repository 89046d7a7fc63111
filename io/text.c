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

#include "io/file.h"

enum { READ_STEP = 64 << 10 };

/* Makes room for `more` bytes.  A vector goes beyond the limit of memory, but a
 * file is not read any further there. */
static bool make_room(StrBuf *out, size_t more) {
  if (VEC_RESERVE(out, more) && !mem_exhausted(out->mem)) return true;
  errno = ENOMEM;
  return false;
}

/* Reads to the end; false on failure, with errno where there is one. */
static bool read_all(FILE *file, StrBuf *out) {
  while (!feof(file)) {
    if (out->len > SOURCE_TEXT_MAX) {
      errno = EFBIG;
      return false;
    }
    if (!make_room(out, READ_STEP + 1)) return false;
    out->len += fread(out->data + out->len, 1, READ_STEP, file);
    if (ferror(file)) return false;
  }
  return true;
}

/* A copy of what the host gives. */
static bool copy_given(const FileBytes *given, StrBuf *out) {
  if (!given->data) return true;
  if (given->size > SOURCE_TEXT_MAX) {
    errno = EFBIG;
    return false;
  }
  if (!make_room(out, given->size + 1)) return false;
  memcpy(out->data, given->data, given->size);
  out->len = given->size;
  return true;
}

/* The bytes of a file of the system's; false on failure, with errno. */
static bool read_file(const char *path, StrBuf *out) {
  FILE *file = fopen(path, "rb");
  bool fine = file && read_all(file, out);
  int error = errno;
  if (file) fclose(file);
  errno = error;
  return fine;
}

/* Of the host's file, or the system's. */
static bool read_any(const char *path, StrBuf *out, const Diags *diags) {
  FileBytes given;
  FileFrom from = file_given(diags, path, &given);
  if (from == FILE_OF_SYSTEM) {
    file_note_read(diags, path);
    return read_file(path, out);
  }
  bool fine = from == FILE_DONE && copy_given(&given, out);
  if (from == FILE_NONE) errno = ENOENT;
  int error = errno;
  file_bytes_release(&given);
  errno = error;
  return fine;
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
  bool fine = read_any(path, &bytes, diags) && text_of(mem, &bytes, text, len);
  if (!fine) {
    if (errno == ENOMEM) mem_raise_exhausted(mem);
    diag_error(diags, errno == EFBIG ? E0010 : E0501, SPAN_NONE,
               "cannot read %s: %s", path, strerror(errno));
    strbuf_done(&bytes);
  }
  return fine;
}
