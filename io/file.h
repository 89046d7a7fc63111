/* Files as a whole: mapped for reading, replaced in one step when written. */
#ifndef IO_FILE_H
#define IO_FILE_H

#include <stdio.h>

#include "base/diag.h"

/* A file's bytes, read-only, shared by everything that points into them.
 * References may be dropped by any thread. */
typedef struct FileMap {
  _Atomic size_t count;
  Mem *mem;
  const char *data;
  size_t size;
} FileMap;

/* One reference, or NULL after reporting.  Only regular files. */
FileMap *file_map(Mem *mem, const char *path, Diags *diags);
void file_map_keep(FileMap *map);
/* Takes a FileMap; of this type so that a Buffer can call it. */
void file_map_drop(void *map);

/* A file being written: a temporary one beside it that takes its place when
 * all went well, so that nobody ever sees half a file.  What exists and is no
 * regular file (a pipe, a device) is written directly. */
typedef struct FileOut {
  FILE *stream;
  Arena arena;
  const char *path;      /* what the user called it */
  const char *real;      /* what is replaced, links resolved */
  const char *temporary; /* NULL: written directly */
  Diags *diags;
} FileOut;

/* False after reporting. */
bool file_out_open(FileOut *out, Mem *mem, const char *path, Diags *diags);
/* Completes the file when `fine`, else removes what was written.  False after
 * reporting when that failed, or a write before it. */
bool file_out_close(FileOut *out, bool fine);

#endif
