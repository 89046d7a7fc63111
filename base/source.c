/* Files, and the mapping from a byte offset to its line and column.
 *
 *   offset   0  1 ........... 8  9 ........
 *            -  file a, 7 bytes  file b ...        base of a: 1, of b: 9
 *
 * Offset 0 belongs to no file.  Each file takes one offset more than its
 * length, so that its end is a place distinct from the next file's start.  A
 * Span is two offsets of 32 bits, small enough to be in every expression; all
 * of the sources together must fit into 4 GiB.
 *
 * Line starts of a file are found when its first place is printed, and kept.
 * So are marks, which count the code points before every 256th byte: all of a
 * large program may stand on one line, and a listing asks for the column of
 * each instruction. */
#include "base/source.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void sources_init(SourceMap *m, Mem *mem) {
  *m = (SourceMap){.next_base = 1};
  fork_guard(&m->guard, &m->lock, FORK_WAITS);
  arena_init(&m->arena, mem);
  VEC_INIT(&m->files, mem);
  VEC_INIT(&m->read, mem);
}

void sources_done(SourceMap *m) {
  fork_guard_done(&m->guard);
  VEC_DONE(&m->files);
  VEC_DONE(&m->read);
  arena_done(&m->arena);
}

/* The text is copied, so spans stay good whatever the caller does with his. */
static SourceFile *add_locked(SourceMap *m, const char *path, const char *text,
                              size_t len, bool library) {
  if (len >= UINT32_MAX - m->next_base) return NULL;
  SourceFile *f = ARENA_NEW(&m->arena, SourceFile);
  if (!f || !VEC_RESERVE(&m->files, 1)) return NULL;
  *f = (SourceFile){
      .path = arena_strndup(&m->arena, path, strlen(path)),
      .text = arena_strndup(&m->arena, text, len),
      .len = (uint32_t)len,
      .base = m->next_base,
      .library = library,
      .map = m,
  };
  if (!f->path || !f->text) return NULL;
  VEC_PUSH(&m->files, f);
  m->next_base += (uint32_t)len + 1;
  return f;
}

SourceFile *sources_add(SourceMap *m, const char *path, const char *text,
                        size_t len, bool library) {
  pthread_mutex_lock(&m->lock);
  SourceFile *f = add_locked(m, path, text, len, library);
  pthread_mutex_unlock(&m->lock);
  return f;
}

static bool is_noted(const SourceMap *m, const char *path) {
  for (size_t i = 0; i < m->read.len; i++)
    if (!strcmp(m->read.data[i], path)) return true;
  return false;
}

void sources_note_read(SourceMap *m, const char *path) {
  if (!m->notes_read) return;
  pthread_mutex_lock(&m->lock);
  if (!is_noted(m, path)) {
    const char *copy = arena_strndup(&m->arena, path, strlen(path));
    if (copy) VEC_PUSH(&m->read, copy);
  }
  pthread_mutex_unlock(&m->lock);
}

SourceFile *sources_copy(SourceMap *m, const SourceFile *of, Span call) {
  pthread_mutex_lock(&m->lock);
  SourceFile *f = NULL;
  if (of->len < UINT32_MAX - m->next_base && VEC_RESERVE(&m->files, 1))
    f = ARENA_NEW(&m->arena, SourceFile);
  if (f) {
    *f = (SourceFile){.path = of->path,
                      .text = of->text,
                      .len = of->len,
                      .base = m->next_base,
                      .library = of->library,
                      .made = of->made,
                      .lines_before = of->lines_before,
                      .call = call,
                      .origins = of->origins,
                      .origin_count = of->origin_count,
                      .map = m};
    VEC_PUSH(&m->files, f);
    m->next_base += of->len + 1;
  }
  pthread_mutex_unlock(&m->lock);
  return f;
}

Span sources_called(SourceMap *m, Span span) {
  const SourceFile *f = sources_file(m, span);
  while (f && span_exists(f->call)) {
    span = f->call;
    f = sources_file(m, span);
  }
  return span;
}

/* --- Lines --------------------------------------------------------------- */

static const char *line_end(const char *text, const char *end) {
  const char *newline = memchr(text, '\n', (size_t)(end - text));
  return newline ? newline : end;
}

/* A byte order mark does not count as part of the first line. */
static uint32_t first_line(const SourceFile *f) {
  return f->len >= 3 && !memcmp(f->text, "\xEF\xBB\xBF", 3) ? 3 : 0;
}

/* Two passes: to count and to note.  The pointer is stored last, so who sees it
 * sees all of the lines. */
static void index_lines(SourceFile *f) {
  const char *end = f->text + f->len;
  uint32_t count = 1;
  for (const char *p = f->text; (p = line_end(p, end)) < end; p++) count++;
  uint32_t *lines = ARENA_ARRAY(&f->map->arena, uint32_t, count);
  if (!lines) return;
  lines[0] = first_line(f);
  const char *p = f->text;
  for (uint32_t i = 1; i < count; i++) {
    p = line_end(p, end) + 1;
    lines[i] = (uint32_t)(p - f->text);
  }
  f->line_count = count;
  atomic_store(&f->lines, lines);
}

/* A mark stands where a code point begins, up to three bytes late. */
static void index_marks(SourceFile *f) {
  uint32_t count = f->len / SOURCE_MARK + 1;
  SourceMark *marks = ARENA_ARRAY(&f->map->arena, SourceMark, count);
  if (!marks) return;
  uint32_t at = 0, before = 0;
  for (uint32_t i = 0; i < count; i++) {
    for (size_t size; at < i * SOURCE_MARK; at += (uint32_t)size, before++)
      utf8_decode(f->text + at, f->len - at, &size);
    marks[i] = (SourceMark){at, before};
  }
  atomic_store(&f->marks, marks);
}

/* The line starts, which whoever asks first finds, with the marks; NULL without
 * memory for them: the file counts as one long line.  The first look needs no
 * lock; the second, under it, finds out whether another thread was faster. */
static const uint32_t *lines_of(SourceFile *f) {
  const uint32_t *known = atomic_load(&f->lines);
  if (known) return known;
  pthread_mutex_lock(&f->map->lock);
  if (!atomic_load(&f->marks)) index_marks(f);
  if (!atomic_load(&f->lines)) index_lines(f);
  pthread_mutex_unlock(&f->map->lock);
  return atomic_load(&f->lines);
}

static uint32_t line_start(SourceFile *f, uint32_t line) {
  const uint32_t *lines = lines_of(f);
  return lines && line <= f->line_count ? lines[line - 1] : 0;
}

/* The last line that starts at or before `offset`.  Binary search.  low and
 * high meet at the line. */
static uint32_t line_at(SourceFile *f, uint32_t offset) {
  const uint32_t *lines = lines_of(f);
  uint32_t low = 1, high = lines ? f->line_count : 1;
  while (low < high) {
    uint32_t middle = low + (high - low + 1) / 2;
    if (lines[middle - 1] <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

/* A carriage return before the newline is not part of the line. */
const char *source_line(SourceFile *f, uint32_t line, uint32_t *len) {
  const char *start = f->text + line_start(f, line - f->lines_before);
  const char *end = line_end(start, f->text + f->len);
  if (end > start && end[-1] == '\r') end--;
  *len = (uint32_t)(end - start);
  return start;
}

bool source_offset(SourceFile *f, uint32_t line, uint32_t column,
                   uint32_t *offset) {
  const uint32_t *lines = lines_of(f);
  uint32_t before = f->lines_before, len;
  uint32_t count = lines ? f->line_count : 1;
  if (line <= before || line - before > count || !column) return false;
  const char *start = source_line(f, line, &len);
  size_t at = 0, size;
  for (uint32_t i = 1; i < column; i++, at += size) {
    if (at >= len) return false;
    utf8_decode(start + at, len - at, &size);
  }
  *offset = f->base + (uint32_t)(start - f->text) + (uint32_t)at;
  return true;
}

/* --- Places -------------------------------------------------------------- */

/* The last file whose base is at or before the offset, if the offset lies in
 * it. */
SourceFile *sources_file(SourceMap *m, Span span) {
  if (!span_exists(span)) return NULL;
  pthread_mutex_lock(&m->lock);
  size_t low = 0, high = m->files.len;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (m->files.data[middle]->base <= span.lo) low = middle + 1;
    else high = middle;
  }
  SourceFile *f = low ? m->files.data[low - 1] : NULL;
  pthread_mutex_unlock(&m->lock);
  return f && span.lo - f->base <= f->len ? f : NULL;
}

/* The span as offsets in its file's text. */
static Span span_within(const SourceFile *f, Span span) {
  uint32_t hi = span.hi < span.lo ? span.lo : span.hi;
  if (hi > f->base + f->len) hi = f->base + f->len;
  return (Span){span.lo - f->base, hi - f->base};
}

/* Code points before a byte, counted from the last mark at or before it. */
static uint32_t code_points_before(SourceFile *f, uint32_t offset) {
  const SourceMark *marks = atomic_load(&f->marks);
  SourceMark mark = {0, 0};
  uint32_t i = offset / SOURCE_MARK;
  if (marks) mark = marks[marks[i].at > offset ? i - 1 : i];
  return mark.before +
         (uint32_t)utf8_count(f->text + mark.at, offset - mark.at);
}

/* Code points from the line's start, from 1. */
static uint32_t column_at(SourceFile *f, uint32_t line, uint32_t offset) {
  uint32_t start = line_start(f, line);
  if (offset <= start) return 1;
  return code_points_before(f, offset) - code_points_before(f, start) + 1;
}

Place sources_place(SourceMap *m, Span span) {
  SourceFile *f = sources_file(m, span);
  if (!f) return (Place){0};
  Span in = span_within(f, span);
  Place p = {.file = f};
  p.line = line_at(f, in.lo);
  p.end_line = line_at(f, in.hi);
  p.column = column_at(f, p.line, in.lo);
  p.end_column = column_at(f, p.end_line, in.hi);
  p.line += f->lines_before;
  p.end_line += f->lines_before;
  return p;
}

const char *sources_text(SourceMap *m, Span span, uint32_t *len) {
  SourceFile *f = sources_file(m, span);
  *len = 0;
  if (!f) return "";
  Span in = span_within(f, span);
  *len = in.hi - in.lo;
  return f->text + in.lo;
}

/* --- Origins ------------------------------------------------------------- */

/* The whole before its parts. */
static int compare_origins(const void *x, const void *y) {
  const SourceOrigin *a = x, *b = y;
  if (a->lo != b->lo) return a->lo < b->lo ? -1 : 1;
  return (a->hi < b->hi) - (a->hi > b->hi);
}

static void link_origins(SourceOrigin *all, size_t count) {
  size_t open = 0; /* the innermost that has not ended, from 1 */
  for (size_t i = 0; i < count; i++) {
    while (open && all[open - 1].hi < all[i].hi) open = all[open - 1].around;
    all[i].around = open;
    open = i + 1;
  }
}

void sources_set_origins(SourceMap *m, SourceFile *f,
                         const SourceOrigin *origins, size_t count) {
  pthread_mutex_lock(&m->lock);
  SourceOrigin *copy = ARENA_ARRAY(&m->arena, SourceOrigin, count);
  bool ok = copy;
  for (size_t i = 0; ok && i < count; i++) {
    copy[i] = origins[i];
    if (i > 0 && origins[i].path == origins[i - 1].path)
      copy[i].path = copy[i - 1].path;
    else
      copy[i].path =
          arena_strndup(&m->arena, origins[i].path, strlen(origins[i].path));
    ok = copy[i].path;
  }
  if (ok) {
    qsort(copy, count, sizeof *copy, compare_origins);
    link_origins(copy, count);
    f->origins = copy;
    f->origin_count = count;
  }
  pthread_mutex_unlock(&m->lock);
}

/* The origin of the smallest part that holds the span; NULL: it has none.
 *
 * Of parts of which any two are apart or one in the other, `low` comes to the
 * last that begins before the span or holds it from its start.  The smallest
 * that holds the span is that one or lies around it. */
static const SourceOrigin *origin_of(SourceMap *m, Span span) {
  const SourceFile *f = sources_file(m, span);
  if (!f || !f->origin_count) return NULL;
  Span part = span_within(f, span);
  size_t low = 0, high = f->origin_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const SourceOrigin *o = &f->origins[middle];
    if (o->lo < part.lo || (o->lo == part.lo && o->hi >= part.hi))
      low = middle + 1;
    else high = middle;
  }
  while (low && f->origins[low - 1].hi < part.hi)
    low = f->origins[low - 1].around;
  return low ? &f->origins[low - 1] : NULL;
}

SourceOrigin sources_named(SourceMap *m, Span span) {
  const SourceOrigin *origin = origin_of(m, span);
  if (origin) return *origin;
  Place p = sources_place(m, span);
  return (SourceOrigin){.path = p.file ? p.file->path : NULL,
                        .line = p.line,
                        .column = p.column,
                        .end_line = p.end_line,
                        .end_column = p.end_column};
}
