/* Diagnostics as text with source lines and carets, and as JSON.  Both forms
 * are contracts of the command line.  The source text is not trusted: control
 * characters and invalid bytes are shown as U+FFFD, and the marks below a line
 * are placed by display width.
 *
 * What a diagnostic looks like:
 *
 *   f.rly:3:7: error[E0203]: operands of `add` do not broadcast   head
 *       3 | %a + %b                                               line
 *         | --   ^^ Tensor[(4), float32]                          marks
 *         | this is Tensor[(3), float32]
 *     note: ...        help: ...
 *     in @f at f.rly:3:7                                          trace */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/diag.h"

enum {
  LINE_MOST = 200,  /* code points; longer lines are shown in part */
  LINE_BEFORE = 60, /* code points shown before the place in such a line */
  GUTTER = 5,       /* least width of the line numbers' column */
};

/* --- A source line with marks below it ----------------------------------- */

/* The part of a line that is shown, and the marked range in it, in bytes. */
typedef struct Excerpt {
  const char *text;
  size_t len, mark_lo, mark_hi;
  bool cut_before, cut_after;
} Excerpt;

/* The offset `n` code points after (before) `at`. */
static size_t code_points_after(const char *text, size_t len, size_t at,
                                size_t n) {
  for (size_t size; n > 0 && at < len; n--) {
    utf8_decode(text + at, len - at, &size);
    at += size;
  }
  return at;
}

static size_t code_points_before(const char *text, size_t at, size_t n) {
  for (; n > 0 && at > 0; n--)
    while (--at > 0 && ((unsigned char)text[at] & 0xC0) == 0x80) {
    }
  return at;
}

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

static Excerpt excerpt_of(const Place *place, SourceFile *f, Span span) {
  uint32_t len;
  const char *text = source_line(f, place->line, &len);
  size_t start = (size_t)(text - f->text), offset = span.lo - f->base;
  size_t lo = offset > start ? min_size(offset - start, len) : 0;
  size_t hi = span.hi > span.lo ? lo + (span.hi - span.lo) : lo;
  Excerpt e = {text, len, lo, min_size(hi, len), false, false};
  if (utf8_count(text, len) <= LINE_MOST) return e;

  size_t from = code_points_before(text, lo, LINE_BEFORE);
  size_t to = code_points_after(text, len, from, LINE_MOST);
  return (Excerpt){
      .text = text + from,
      .len = to - from,
      .mark_lo = lo - from,
      .mark_hi = min_size(e.mark_hi, to) - from,
      .cut_before = from > 0,
      .cut_after = to < len,
  };
}

/* Adds text that is safe to send to a terminal. */
static void add_visible(StrBuf *out, const char *text, size_t len) {
  for (size_t i = 0, size; i < len; i += size) {
    uint32_t c = utf8_decode(text + i, len - i, &size);
    bool control = (c < 0x20 && c != '\n') || (c >= 0x7F && c < 0xA0);
    if (c == '\t') strbuf_add_char(out, ' ');
    else if (control || c == UTF8_INVALID) strbuf_add(out, UTF8_REPLACEMENT);
    else strbuf_add_len(out, text + i, size);
  }
}

/* A message may quote a file's contents, so it is as untrusted as the
 * source. */
static void add_message(StrBuf *out, const char *before, const char *text,
                        const char *after) {
  strbuf_add(out, before);
  add_visible(out, text, strlen(text));
  strbuf_add(out, after);
}

static void add_excerpt(StrBuf *out, const Excerpt *e, uint32_t line) {
  strbuf_addf(out, "%*u |", GUTTER, line);
  if (e->len) strbuf_add_char(out, ' ');
  if (e->cut_before) strbuf_add(out, "...");
  add_visible(out, e->text, e->len);
  strbuf_add(out, e->cut_after ? "...\n" : "\n");
}

static void add_marks(StrBuf *out, const Excerpt *e, uint32_t line, char mark,
                      const char *caption) {
  size_t gutter = (size_t)snprintf(NULL, 0, "%*u", GUTTER, line);
  size_t before = utf8_width(e->text, e->mark_lo) + (e->cut_before ? 3 : 0);
  size_t width = utf8_width(e->text + e->mark_lo, e->mark_hi - e->mark_lo);
  strbuf_add_repeat(out, ' ', gutter);
  strbuf_add(out, " | ");
  strbuf_add_repeat(out, ' ', before);
  strbuf_add_repeat(out, mark, width ? width : 1);
  add_message(out, caption ? " " : "", caption ? caption : "", "\n");
}

static void render_line(StrBuf *out, SourceMap *sources, Span span, char mark,
                        const char *caption) {
  Place place = sources_place(sources, span);
  Excerpt e = excerpt_of(&place, sources_file(sources, span), span);
  add_excerpt(out, &e, place.line);
  add_marks(out, &e, place.line, mark, caption);
}

/* --- The parts of a diagnostic ------------------------------------------- */

static const char *severity_word(Severity severity) {
  return severity == SEV_WARNING ? "warning" : "error";
}

static void render_head(const Diag *d, SourceMap *sources, bool colour,
                        StrBuf *out) {
  Place p = sources_place(sources, d->span);
  if (p.file) strbuf_addf(out, "%s:%u:%u: ", p.file->path, p.line, p.column);
  const char *on = d->severity == SEV_WARNING ? "\033[1;35m" : "\033[1;31m";
  strbuf_addf(out, "%s%s[%s]%s", colour ? on : "", severity_word(d->severity),
              diag_code_text(d->code), colour ? "\033[0m" : "");
  add_message(out, ": ", d->message, "\n");
}

static void render_note(const Diag *d, const DiagNote *note, SourceMap *sources,
                        StrBuf *out) {
  Place p = sources_place(sources, note->span);
  if (!p.file) {
    add_message(out, "  note: ", note->message, "\n");
    return;
  }
  if (p.file != sources_file(sources, d->span))
    strbuf_addf(out, "  %s:%u:%u:\n", p.file->path, p.line, p.column);
  render_line(out, sources, note->span, '-', note->message);
}

static void render_frame(const DiagFrame *frame, SourceMap *sources,
                         StrBuf *out) {
  Place p = sources_place(sources, frame->span);
  strbuf_addf(out, "  in %s", frame->function);
  if (p.file) strbuf_addf(out, " at %s:%u:%u", p.file->path, p.line, p.column);
  strbuf_add_char(out, '\n');
}

/* Frames that were not kept, told by the jump in their numbers. */
static void render_gap(uint64_t frames, StrBuf *out) {
  if (frames)
    strbuf_addf(out, "  ... %llu frame%s ...\n", (unsigned long long)frames,
                frames == 1 ? "" : "s");
}

static void render_trace(const Diag *d, SourceMap *sources, StrBuf *out) {
  uint64_t expected = 0;
  for (size_t i = 0; i < d->frames.len; i++) {
    const DiagFrame *frame = &d->frames.data[i];
    render_gap(frame->index - expected, out);
    render_frame(frame, sources, out);
    expected = frame->index + 1;
  }
  render_gap(d->frame_count - expected, out);
}

void diag_render(const Diag *d, SourceMap *sources, bool colour, StrBuf *out) {
  render_head(d, sources, colour, out);
  if (sources_file(sources, d->span))
    render_line(out, sources, d->span, '^', d->caption);
  for (size_t i = 0; i < d->notes.len; i++)
    render_note(d, &d->notes.data[i], sources, out);
  if (d->hint) add_message(out, "  help: ", d->hint, "\n");
  render_trace(d, sources, out);
}

/* --- The whole list ------------------------------------------------------ */

typedef struct Placed {
  const Diag *diag;
  size_t order; /* order of arrival; keeps the sort stable */
} Placed;

static int compare_placed(const void *a, const void *b) {
  const Placed *x = a, *y = b;
  uint32_t at = x->diag->span.lo, other = y->diag->span.lo;
  if (at != other) return at < other ? -1 : 1;
  return x->order < y->order ? -1 : 1;
}

typedef VEC(Placed) PlacedList;

/* Diagnostics are found in the order in which the checker works; people read a
 * file from the top.  A vector of pointers is sorted, not the diagnostics. */
static PlacedList in_order(const Diags *s, Mem *mem) {
  PlacedList placed;
  VEC_INIT(&placed, mem);
  for (size_t i = 0; i < s->list.len; i++)
    VEC_PUSH(&placed, (Placed){s->list.data[i], i});
  if (placed.len)
    qsort(placed.data, placed.len, sizeof(Placed), compare_placed);
  return placed;
}

static void add_more(StrBuf *out, size_t count, const char *what) {
  if (count <= DIAG_MAX) return;
  size_t more = count - DIAG_MAX;
  strbuf_addf(out, "%zu more %s%s\n", more, what, more == 1 ? "" : "s");
}

void diags_render(const Diags *s, SourceMap *sources, bool colour,
                  StrBuf *out) {
  PlacedList placed = in_order(s, out->mem);
  for (size_t i = 0; i < placed.len; i++)
    diag_render(placed.data[i].diag, sources, colour, out);
  add_more(out, s->errors, "error");
  add_more(out, s->warnings, "warning");
  VEC_DONE(&placed);
}

/* --- JSON ---------------------------------------------------------------- */

/* `"key": "text"`, or null. */
static void json_text(StrBuf *out, const char *key, const char *text) {
  strbuf_addf(out, "\"%s\": ", key);
  if (!text) {
    strbuf_add(out, "null");
    return;
  }
  strbuf_add_char(out, '"');
  strbuf_add_escaped(out, text, strlen(text));
  strbuf_add_char(out, '"');
}

/* 0 stands for "no place", as lines and columns count from 1. */
static void json_number(StrBuf *out, const char *key, uint32_t n) {
  if (n) strbuf_addf(out, ", \"%s\": %u", key, n);
  else strbuf_addf(out, ", \"%s\": null", key);
}

/* The keys that diagnostics, notes and frames have in common. */
static void json_start(StrBuf *out, const Place *p) {
  json_text(out, "file", p->file ? p->file->path : NULL);
  json_number(out, "line", p->line);
  json_number(out, "column", p->column);
}

static void json_notes(const Diag *d, SourceMap *sources, StrBuf *out) {
  strbuf_add(out, ", \"notes\": [");
  for (size_t i = 0; i < d->notes.len; i++) {
    Place p = sources_place(sources, d->notes.data[i].span);
    strbuf_add(out, i ? ", {" : "{");
    json_start(out, &p);
    strbuf_add(out, ", ");
    json_text(out, "message", d->notes.data[i].message);
    strbuf_add_char(out, '}');
  }
  strbuf_add_char(out, ']');
}

/* Only run-time errors have a trace. */
static void json_trace(const Diag *d, SourceMap *sources, StrBuf *out) {
  if (!d->frames.len) return;
  strbuf_add(out, ", \"trace\": [");
  for (size_t i = 0; i < d->frames.len; i++) {
    Place p = sources_place(sources, d->frames.data[i].span);
    strbuf_add(out, i ? ", {" : "{");
    json_text(out, "function", d->frames.data[i].function);
    strbuf_add(out, ", ");
    json_start(out, &p);
    strbuf_add_char(out, '}');
  }
  strbuf_add_char(out, ']');
}

/* One line, so that a tool can read diagnostics as they come. */
void diag_render_json(const Diag *d, SourceMap *sources, StrBuf *out) {
  Place p = sources_place(sources, d->span);
  strbuf_addf(out, "{\"severity\": \"%s\", \"code\": \"%s\", ",
              severity_word(d->severity), diag_code_text(d->code));
  json_start(out, &p);
  json_number(out, "end_line", p.end_line);
  json_number(out, "end_column", p.end_column);
  strbuf_add(out, ", ");
  json_text(out, "message", d->message);
  json_notes(d, sources, out);
  strbuf_add(out, ", ");
  json_text(out, "hint", d->hint);
  json_trace(d, sources, out);
  strbuf_add(out, "}\n");
}

void diags_render_json(const Diags *s, SourceMap *sources, StrBuf *out) {
  PlacedList placed = in_order(s, out->mem);
  for (size_t i = 0; i < placed.len; i++)
    diag_render_json(placed.data[i].diag, sources, out);
  VEC_DONE(&placed);
}
