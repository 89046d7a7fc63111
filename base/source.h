/* The source map: every text the program was read from, in one space of byte
 * offsets, so that a place anywhere is a Span of eight bytes.  Lines and
 * columns are computed only when something is printed. */
#ifndef BASE_SOURCE_H
#define BASE_SOURCE_H

#include "base/forks.h"
#include "base/name.h"
#include "base/utf8.h"

/* Bytes lo <= i < hi of the map.  {0, 0} is "nowhere", since no text begins at
 * offset 0. */
typedef struct Span {
  uint32_t lo, hi;
} Span;

static const Span SPAN_NONE = {0, 0};

static inline bool span_exists(Span s) { return s.hi != 0; }
/* From the start of `a` to the end of `b`. */
static inline Span span_join(Span a, Span b) {
  if (!span_exists(a)) return b;
  if (!span_exists(b)) return a;
  return (Span){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

/* Code points that precede byte `at`, the first of one. */
typedef struct SourceMark {
  uint32_t at, before;
} SourceMark;

enum { SOURCE_MARK = 256 };

/* Where a part of a text stood in the text from which it was made. */
typedef struct SourceOrigin {
  uint32_t lo, hi; /* the part, as offsets in the text */
  const char *path;
  uint32_t line, column, end_line, end_column;
  size_t around; /* the smallest part around it, counted from 1; 0: none */
} SourceOrigin;

typedef struct SourceFile {
  const char *path;   /* as messages show it */
  const char *text;   /* `len` bytes and a NUL */
  uint32_t len, base; /* byte i of the text has offset base + i */
  bool library;       /* part of the standard library */
  bool host; /* the signature of an operator whose meaning is the host's */
  bool made; /* of a document: the file holds other lines */
  uint32_t lines_before; /* for a part of a file: how many lines precede it */
  Span call;             /* of a copy for a call: that call */
  const SourceOrigin
      *origins;        /* of a text that was made of a document; else NULL */
  size_t origin_count; /* by ascending `lo`, the whole before its parts */
  _Atomic(uint32_t *) lines;   /* offsets of line starts, on demand */
  _Atomic(SourceMark *) marks; /* SOURCE_MARK bytes apart, on demand */
  uint32_t line_count;
  struct SourceMap *map; /* its lock and arena serve for `lines`, `marks` */
} SourceFile;

/* A host that has files of its own; it is asked before the system (io/file.h).
 * rly.h (rly_files) says what its functions do. */
typedef enum FileFrom {
  FILE_OF_SYSTEM, /* the system's file is meant */
  FILE_DONE,      /* the host has given the file, or taken it */
  FILE_NONE,      /* there is no such file */
} FileFrom;
typedef struct FileBytes {
  const char *data;
  size_t size;
  void (*release)(void *owner); /* NULL: the bytes stay where they are */
  void *owner;
} FileBytes;
typedef struct FileHost {
  FileFrom (*read)(void *data, const char *path, FileBytes *out); /* or NULL */
  FileFrom (*write)(void *data, const char *path, const char *bytes,
                    size_t size); /* or NULL */
  void *data;
} FileHost;

typedef struct SourceMap {
  /* guards `files` and `arena`: threads search while another adds */
  pthread_mutex_t lock;
  ForkGuard guard;
  Arena arena;
  VEC(SourceFile *) files; /* by ascending base */
  uint32_t next_base;
  const FileHost *file_host; /* or NULL */
  /* With `notes_read`, the paths of all files that were read from the system,
   * each once; those that a file host gave are not among them. */
  bool notes_read;
  VEC(const char *) read;
} SourceMap;

void sources_init(SourceMap *m, Mem *mem);
void sources_done(SourceMap *m);

/* Adds a copy of the text.  NULL when the sources exceed 4 GiB or memory ran
 * out.  The result lives as long as the map. */
SourceFile *sources_add(SourceMap *m, const char *path, const char *text,
                        size_t len, bool library);

/* Notes that the file is read, where the map has `notes_read`; io/ calls this.
 * Raises `exhausted` when memory runs out. */
void sources_note_read(SourceMap *m, const char *path);

/* A copy of a text, whose spans stand for it within one call of what is inlined
 * there: sources_called() finds the call again.  It shares the text.  NULL as
 * from sources_add(). */
SourceFile *sources_copy(SourceMap *m, const SourceFile *of, Span call);
/* The call in which the span lies, out of all copies; elsewhere the span. */
Span sources_called(SourceMap *m, Span span);

/* A place as a person reads it.  Columns count code points from 1; the end is
 * just after the span. */
typedef struct Place {
  const SourceFile *file; /* NULL: the span lies in no text */
  uint32_t line, column, end_line, end_column;
} Place;
Place sources_place(SourceMap *m, Span span);
/* The text in which the span lies; NULL: in none. */
SourceFile *sources_file(SourceMap *m, Span span);
/* Keeps a copy of the origins, in any order, of parts of which any two are
 * apart or one in the other; without memory for it the text has none. */
void sources_set_origins(SourceMap *m, SourceFile *f,
                         const SourceOrigin *origins, size_t count);
/* What a message says of a span: its origin, where it has one, and else its
 * place.  `path` is NULL where the span lies in no text. */
SourceOrigin sources_named(SourceMap *m, Span span);
/* The byte of the map where a line and a column of the text, both from 1, lie;
 * just after the line's last is one, too.  False: the text has no such place.
 */
bool source_offset(SourceFile *f, uint32_t line, uint32_t column,
                   uint32_t *offset);
/* Line `line` (from 1) without its line break; `len` receives its length. */
const char *source_line(SourceFile *f, uint32_t line, uint32_t *len);
/* The text under a span; `len` receives its length. */
const char *sources_text(SourceMap *m, Span span, uint32_t *len);

#endif
