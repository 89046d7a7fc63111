/* Whole files: mapped for reading, replaced atomically when written.  A host
 * that has files of its own (FileHost) is asked first. */
#ifndef IO_FILE_H
#define IO_FILE_H

#include <stdio.h>

#include "base/diag.h"
#include "io/mapping.h"

/* A file's bytes, read-only and reference counted; any thread may drop a
 * reference. */
typedef struct FileMap {
  _Atomic size_t count;
  Mem *mem;
  const char *data;
  size_t size;
  bool given;                   /* by the host, in place of a mapping */
  Mapping *mapping;             /* NULL: given, empty, or without memory */
  void (*release)(void *owner); /* of what was given; or NULL */
  void *owner;
} FileMap;

/* Asks the host of the diagnostics' sources for a file's bytes, which are to be
 * released by file_bytes_release. */
FileFrom file_given(const Diags *diags, const char *path, FileBytes *out);
void file_bytes_release(const FileBytes *bytes);
/* Notes in the map of the diagnostics that a file of the system is read. */
void file_note_read(const Diags *diags, const char *path);

/* An owned reference, or NULL after reporting.  Only regular files can be
 * mapped. */
FileMap *file_map(Mem *mem, const char *path, Diags *diags);
void file_map_keep(FileMap *map);
/* Drops a FileMap; takes a void * so that it can be a Buffer's `release`. */
void file_map_drop(void *map);

/* A file being written.  The bytes go to a temporary file in the same folder,
 * which is renamed over the old one at the end, so that no reader sees half a
 * file.  A path that exists and is no regular file (a pipe, a device) is
 * written directly. */
typedef struct FileOut {
  FILE *stream;
  Arena arena;           /* owns the three paths */
  const char *path;      /* as the user wrote it */
  const char *real;      /* the file to replace, links resolved */
  const char *temporary; /* NULL when written directly */
  const char *cut;       /* a mapped file whose bytes were to be written, and
                            which has become shorter; or NULL */
  bool for_host;         /* the stream goes to memory, for the host: */
  char *bytes;           /* the bytes written so far */
  size_t size;
  Mem *mem;
  Diags *diags;
} FileOut;

/* False after reporting. */
bool file_out_open(FileOut *out, Mem *mem, const char *path, Diags *diags);
/* Notes that bytes of this mapping were written: if it is cut, they were not
 * what the file had. */
void file_out_wrote(FileOut *out, const FileMap *from);
/* Replaces the file when `fine`, else removes the temporary one.  False after
 * reporting when that or an earlier write failed. */
bool file_out_close(FileOut *out, bool fine);
/* Could the file be written?  Nothing of an old one is changed, and none is
 * made.  A pipe can, as far as can be told without its reader noticing.  False
 * after reporting. */
bool file_out_try(Mem *mem, const char *path, Diags *diags);

#endif
