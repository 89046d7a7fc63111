/* Diagnostics as text with source lines and carets, and as JSON.  Both forms
 * are contracts of the command line.
 *
 * No text that goes into a diagnostic is trusted.  Messages, labels and paths
 * may quote names from files: they are put in one line, controls escaped, so
 * that no message has to quote what it tells of.  In a source line, controls
 * and invalid bytes are shown as U+FFFD, one column each, since the marks below
 * a line are placed by display width.
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
  UNLIMITED = 214,  /* columns where no width is given: 200 of a cut line */
  LEAST = 30,       /* columns: narrower terminals wrap by themselves */
  GUTTER = 5,       /* least width of the line numbers' column */
  DOTS = 3,         /* of `...`, where a line is cut */
  MARKS_MOST = 8,   /* marks below one excerpt; more get one of their own */
  LABEL_LEAST = 24, /* columns of a label's lines after its marks */
};

/* --- Text ---------------------------------------------------------------- */

/* Adds part of a source line. */
static void add_source(StrBuf *out, const char *text, size_t len) {
  for (size_t i = 0, size; i < len; i += size) {
    uint32_t c = utf8_decode(text + i, len - i, &size);
    if (c == '\t') strbuf_add_char(out, ' ');
    else if (c == UTF8_INVALID || utf8_is_obeyed(c))
      strbuf_add(out, UTF8_REPLACEMENT);
    else strbuf_add_len(out, text + i, size);
  }
}

/* `path:line:column`. */
static void add_place(StrBuf *out, const SourceOrigin *o) {
  strbuf_add_visible(out, o->path, strlen(o->path));
  strbuf_addf(out, ":%u:%u", o->line, o->column);
}

/* Where the lines of a text stand: they end before column `most` (0: nowhere),
 * and all but the first begin with `lead` and `indent` blanks. */
typedef struct Margins {
  size_t most;
  const char *lead;
  size_t indent;
} Margins;

/* Adds a visible text, of which `at` columns of the line are taken, and a
 * newline.  Lines are broken between words. */
static void add_words(StrBuf *out, size_t at, Margins m, const char *text) {
  size_t start = strlen(m.lead) + m.indent;
  for (bool first = true; *text; first = false) {
    size_t blanks = strspn(text, " "), n = strcspn(text + blanks, " ");
    size_t width = utf8_width(text + blanks, n);
    if (m.most && !first && at + blanks + width > m.most) {
      strbuf_addf(out, "\n%s", m.lead);
      strbuf_add_repeat(out, ' ', m.indent);
      at = start;
    } else {
      strbuf_add_repeat(out, ' ', blanks);
      at += blanks;
    }
    strbuf_add_len(out, text + blanks, n);
    text += blanks + n;
    at += width;
  }
  strbuf_add_char(out, '\n');
}

/* A line of the message's own: what it is, and its text. */
static void add_message(StrBuf *out, DiagLook look, size_t at,
                        const char *before, const char *text) {
  StrBuf shown;
  strbuf_init(&shown, out->mem);
  strbuf_add_visible(&shown, text, strlen(text));
  strbuf_add(out, before);
  add_words(out, at + strlen(before), (Margins){look.columns, "    ", 0},
            strbuf_text(&shown));
  strbuf_done(&shown);
}

void diag_add_short(StrBuf *out, const char *code, const char *message) {
  strbuf_addf(out, "%s: ", code);
  strbuf_add_visible(out, message, strlen(message));
}

/* --- Part of a source line ------------------------------------------------ */

/* The bytes of a line from `from` to `to`, which are shown. */
typedef struct Excerpt {
  const char *line;
  size_t len, from, to;
  uint32_t number;
} Excerpt;

/* A range of bytes in a line that is marked, with the text after its marks, or
 * NULL; and the column of its marks and their number. */
typedef struct Mark {
  size_t lo, hi;
  char sign;
  const char *label;
  size_t column, width;
} Mark;

typedef struct Marks {
  Mark items[MARKS_MOST];
  size_t count;
} Marks;

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

static Mark mark_of(SourceFile *f, uint32_t line, Span span, char sign,
                    const char *label) {
  uint32_t len;
  const char *text = source_line(f, line, &len);
  size_t start = (size_t)(text - f->text), offset = span.lo - f->base;
  size_t lo = offset > start ? min_size(offset - start, len) : 0;
  size_t hi = span.hi > span.lo ? min_size(lo + (span.hi - span.lo), len) : lo;
  return (Mark){.lo = lo, .hi = hi, .sign = sign, .label = label};
}

static size_t gutter_width(uint32_t line) {
  return (size_t)snprintf(NULL, 0, "%*u | ", GUTTER, line);
}

/* Goes back from byte `at` over at most so many columns. */
static size_t columns_before(const char *text, size_t at, size_t columns) {
  size_t from = at;
  while (from > 0) {
    size_t next = utf8_begin(text, from - 1);
    if (utf8_width(text + next, at - next) > columns) break;
    from = next;
  }
  return from;
}

/* The part that fits the terminal, with the first mark in it and, as far as
 * there is room, the others. */
static Excerpt excerpt_of(SourceFile *f, uint32_t line, const Marks *m,
                          DiagLook look) {
  uint32_t len;
  const char *text = source_line(f, line, &len);
  Excerpt e = {text, len, 0, len, line};
  size_t columns = look.columns ? look.columns : UNLIMITED;
  size_t gutter = gutter_width(line);
  size_t room = max_size(columns, LEAST) - gutter;
  if (utf8_width(text, len) <= room) return e;
  room -= 2 * DOTS;
  size_t lo = m->items[0].lo, hi = max_size(m->items[0].hi, lo);
  for (size_t i = 1; i < m->count; i++) {
    size_t low = min_size(lo, m->items[i].lo);
    size_t high = max_size(hi, m->items[i].hi);
    if (utf8_width(text + low, high - low) <= room) lo = low, hi = high;
  }
  if (utf8_width(text, hi) > room) {
    size_t marked = min_size(utf8_width(text + lo, hi - lo), room);
    size_t before = min_size(room * 3 / 10, room - marked);
    e.from = columns_before(text, lo, before);
  }
  e.to = e.from + utf8_fit(text + e.from, len - e.from, room);
  if (e.to == len) e.from = columns_before(text, len, room);
  return e;
}

static void add_excerpt(StrBuf *out, const Excerpt *e) {
  strbuf_addf(out, "%*u |", GUTTER, e->number);
  if (e->to > e->from) strbuf_add_char(out, ' ');
  if (e->from > 0) strbuf_add(out, "...");
  add_source(out, e->line + e->from, e->to - e->from);
  strbuf_add(out, e->to < e->len ? "...\n" : "\n");
}

/* --- Marks below it ------------------------------------------------------ */

static void place_mark(const Excerpt *e, Mark *m) {
  size_t lo = max_size(min_size(m->lo, e->to), e->from);
  size_t hi = max_size(min_size(m->hi, e->to), lo);
  m->column =
      utf8_width(e->line + e->from, lo - e->from) + (e->from > 0 ? DOTS : 0);
  m->width = max_size(utf8_width(e->line + lo, hi - lo), 1);
}

static bool overlap(const Mark *a, const Mark *b) {
  return a->column < b->column + b->width && b->column < a->column + a->width;
}

static int by_column(const void *a, const void *b) {
  const Mark *x = a, *y = b;
  return (x->column > y->column) - (x->column < y->column);
}

/* Moves those marks of `from` that do not overlap into a row. */
static Marks take_row(Marks *from) {
  Marks row = {.count = 0}, rest = {.count = 0};
  for (size_t i = 0; i < from->count; i++) {
    bool free = true;
    for (size_t k = 0; k < row.count && free; k++)
      free = !overlap(&row.items[k], &from->items[i]);
    Marks *to = free ? &row : &rest;
    to->items[to->count++] = from->items[i];
  }
  qsort(row.items, row.count, sizeof *row.items, by_column);
  *from = rest;
  return row;
}

/* A label that begins at column `at` of the line, after the gutter's text
 * `lead` and, in the same row, after `gap`.  One that has little room there
 * stands below, as far right as it fits. */
static void add_label(StrBuf *out, DiagLook look, const char *lead, size_t at,
                      const char *gap, const char *label) {
  StrBuf shown;
  strbuf_init(&shown, out->mem);
  strbuf_add_visible(&shown, label, strlen(label));
  size_t gutter = strlen(lead);
  size_t width = utf8_width(strbuf_text(&shown), shown.len);
  size_t room = max_size(look.columns, LEAST) - gutter;
  if (look.columns && at + width > room && at + LABEL_LEAST > room) {
    at = width < room ? room - width : 0;
    strbuf_addf(out, "\n%s", lead);
    strbuf_add_repeat(out, ' ', at);
  } else {
    strbuf_add(out, gap);
  }
  Margins m = {look.columns, lead, at};
  add_words(out, gutter + at, m, strbuf_text(&shown));
  strbuf_done(&shown);
}

/* A row of marks.  The last one's label stands after it, the others' below,
 * from right to left, each at its mark:
 *
 *     --   ^^ float32
 *     this is int32 */
static void add_row(StrBuf *out, DiagLook look, const char *lead,
                    const Marks *row) {
  size_t at = 0;
  const Mark *last = &row->items[row->count - 1];
  strbuf_add(out, lead);
  for (const Mark *m = row->items; m <= last; m++) {
    strbuf_add_repeat(out, ' ', m->column - at);
    strbuf_add_repeat(out, m->sign, m->width);
    at = m->column + m->width;
  }
  if (last->label) add_label(out, look, lead, at + 1, " ", last->label);
  else strbuf_add_char(out, '\n');
  for (const Mark *below = last; below-- > row->items;) {
    if (!below->label) continue;
    at = 0;
    strbuf_add(out, lead);
    for (const Mark *m = row->items; m < below; m++) {
      if (!m->label) continue;
      strbuf_add_repeat(out, ' ', m->column - at);
      strbuf_add_char(out, '|');
      at = m->column + 1;
    }
    strbuf_add_repeat(out, ' ', below->column - at);
    add_label(out, look, lead, below->column, "", below->label);
  }
}

/* A source line and, below it, the first of the marks and those others that are
 * in the same part of the line.  `marks` keeps what is left. */
static void render_line(StrBuf *out, SourceFile *f, uint32_t line,
                        DiagLook look, Marks *marks) {
  Excerpt e = excerpt_of(f, line, marks, look);
  Marks shown = {.count = 0}, rest = {.count = 0};
  for (size_t i = 0; i < marks->count; i++) {
    const Mark *m = &marks->items[i];
    bool inside = i == 0 || (m->lo >= e.from && m->lo <= e.to);
    Marks *to = inside ? &shown : &rest;
    to->items[to->count++] = *m;
  }
  for (size_t i = 0; i < shown.count; i++) place_mark(&e, &shown.items[i]);
  add_excerpt(out, &e);
  char lead[32];
  int gutter = (int)gutter_width(line);
  snprintf(lead, sizeof lead, "%*s | ", gutter - 3, "");
  while (shown.count) {
    Marks row = take_row(&shown);
    add_row(out, look, lead, &row);
  }
  *marks = rest;
}

/* --- The parts of a diagnostic ------------------------------------------- */

static const char *severity_word(Severity severity) {
  return severity == SEV_WARNING ? "warning" : "error";
}

static void render_head(const Diag *d, SourceMap *sources, DiagLook look,
                        StrBuf *out) {
  SourceOrigin o = sources_named(sources, d->span);
  size_t start = out->len;
  if (o.path) {
    add_place(out, &o);
    strbuf_add(out, ": ");
  }
  const char *on = d->severity == SEV_WARNING ? "\033[1;35m" : "\033[1;31m";
  const char *text = strbuf_text(out);
  size_t at = utf8_width(text + start, out->len - start);
  const char *word = severity_word(d->severity);
  const char *code = diag_code_text(d->code);
  strbuf_addf(out, "%s%s[%s]%s", look.colour ? on : "", word, code,
              look.colour ? "\033[0m" : "");
  at += strlen(word) + strlen(code) + 2;
  add_message(out, look, at, ": ", d->message);
}

enum { SHARED_MOST = 64 }; /* notes that may stand below another's line */

/* Shows a line with this mark and those of the notes from `from` on that are in
 * the same line.  Bit i of `shown` says that note i was shown. */
static void render_shared(const Diag *d, SourceMap *sources, DiagLook look,
                          Span span, Mark first, size_t from, uint64_t *shown,
                          StrBuf *out) {
  SourceFile *f = sources_file(sources, span);
  uint32_t line = sources_place(sources, span).line;
  Marks marks = {.items = {first}, .count = 1};
  for (size_t i = from; i < d->notes.len && i < SHARED_MOST; i++) {
    const DiagNote *note = &d->notes.data[i];
    Place p = sources_place(sources, note->span);
    bool joins = p.file == f && p.line == line && !(*shown >> i & 1);
    if (!joins || marks.count == MARKS_MOST) continue;
    marks.items[marks.count++] =
        mark_of(f, line, note->span, '-', note->message);
    *shown |= (uint64_t)1 << i;
  }
  while (marks.count) render_line(out, f, line, look, &marks);
}

/* Says that the line which is shown is not one of the file's. */
static void render_made(SourceMap *sources, Span span, StrBuf *out) {
  SourceFile *f = sources_file(sources, span);
  if (!f->made) return;
  strbuf_add(out, "  in the text of ");
  strbuf_add_visible(out, f->path, strlen(f->path));
  strbuf_add(out, ":\n");
}

/* Not broken between words: the marks would no longer stand below theirs. */
static void add_drawing(StrBuf *out, const char *lines) {
  const char *before = "  note: ";
  for (size_t n; *lines; lines += n + (lines[n] == '\n')) {
    n = strcspn(lines, "\n");
    strbuf_add(out, before);
    strbuf_add_visible(out, lines, n);
    strbuf_add_char(out, '\n');
    before = "";
  }
}

static void render_note(const Diag *d, size_t i, SourceMap *sources,
                        DiagLook look, uint64_t *shown, StrBuf *out) {
  const DiagNote *note = &d->notes.data[i];
  SourceFile *f = sources_file(sources, note->span);
  if (!f) {
    if (note->drawn) add_drawing(out, note->message);
    else add_message(out, look, 0, "  note: ", note->message);
    return;
  }
  Place p = sources_place(sources, note->span);
  if (f != sources_file(sources, d->span)) {
    SourceOrigin o = sources_named(sources, note->span);
    strbuf_add(out, "  ");
    add_place(out, &o);
    strbuf_add(out, ":\n");
    render_made(sources, note->span, out);
  }
  Mark mark = mark_of(f, p.line, note->span, '-', note->message);
  render_shared(d, sources, look, note->span, mark, i + 1, shown, out);
}

static void render_place(const Diag *d, SourceMap *sources, DiagLook look,
                         uint64_t *shown, StrBuf *out) {
  SourceFile *f = sources_file(sources, d->span);
  if (!f) return;
  render_made(sources, d->span, out);
  uint32_t line = sources_place(sources, d->span).line;
  Mark mark = mark_of(f, line, d->span, '^', d->caption);
  render_shared(d, sources, look, d->span, mark, 0, shown, out);
}

static void render_frame(const DiagFrame *frame, SourceMap *sources,
                         StrBuf *out) {
  SourceOrigin o = sources_named(sources, frame->span);
  strbuf_add(out, "  in ");
  strbuf_add_visible(out, frame->function, strlen(frame->function));
  if (o.path) {
    strbuf_add(out, " at ");
    add_place(out, &o);
  }
  strbuf_add_char(out, '\n');
}

/* Frames that were not kept, told by the jump in their numbers. */
static void render_gap(uint64_t frames, StrBuf *out) {
  if (frames)
    strbuf_addf(out, "  ... %llu frame%s ...\n", (unsigned long long)frames,
                frames == 1 ? "" : "s");
}

/* Two lines that repeat once are shown again: they are no longer than a count
 * of them. */
static void render_repeats(const DiagFrame *block, SourceMap *sources,
                           StrBuf *out) {
  unsigned long long n = block->repeats;
  if (block->block == 1) strbuf_addf(out, "  ... %llu more like this\n", n);
  else if (n > 1)
    strbuf_addf(out, "  ... these %zu again, %llu times\n", block->block, n);
  else
    for (size_t i = 0; i < block->block; i++)
      render_frame(&block[i], sources, out);
}

static void render_trace(const Diag *d, SourceMap *sources, StrBuf *out) {
  uint64_t expected = 0;
  for (size_t i = 0; i < d->frames.len;) {
    const DiagFrame *first = &d->frames.data[i];
    size_t n = first->block ? first->block : 1;
    render_gap(first->index - expected, out);
    for (size_t k = 0; k < n; k++) render_frame(&first[k], sources, out);
    if (first->block) render_repeats(first, sources, out);
    expected = first->index + n * (1 + first->repeats);
    i += n;
  }
  render_gap(d->frame_count - expected, out);
}

void diag_render(const Diag *d, SourceMap *sources, DiagLook look,
                 StrBuf *out) {
  uint64_t shown = 0;
  render_head(d, sources, look, out);
  render_place(d, sources, look, &shown, out);
  for (size_t i = 0; i < d->notes.len; i++)
    if (i >= SHARED_MOST || !(shown >> i & 1))
      render_note(d, i, sources, look, &shown, out);
  if (d->hint) add_message(out, look, 0, "  help: ", d->hint);
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

void diags_render(const Diags *s, SourceMap *sources, DiagLook look,
                  StrBuf *out) {
  PlacedList placed = in_order(s, out->mem);
  for (size_t i = 0; i < placed.len; i++)
    diag_render(placed.data[i].diag, sources, look, out);
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
static void json_number(StrBuf *out, const char *key, uint64_t n) {
  if (n) strbuf_addf(out, ", \"%s\": %llu", key, (unsigned long long)n);
  else strbuf_addf(out, ", \"%s\": null", key);
}

/* The keys that diagnostics, notes and frames have in common. */
static void json_start(StrBuf *out, const SourceOrigin *o) {
  json_text(out, "file", o->path);
  json_number(out, "line", o->line);
  json_number(out, "column", o->column);
}

static void json_notes(const Diag *d, SourceMap *sources, StrBuf *out) {
  strbuf_add(out, ", \"notes\": [");
  for (size_t i = 0; i < d->notes.len; i++) {
    SourceOrigin o = sources_named(sources, d->notes.data[i].span);
    strbuf_add(out, i ? ", {" : "{");
    json_start(out, &o);
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
    SourceOrigin o = sources_named(sources, d->frames.data[i].span);
    strbuf_add(out, i ? ", {" : "{");
    json_text(out, "function", d->frames.data[i].function);
    strbuf_add(out, ", ");
    json_start(out, &o);
    if (d->frames.data[i].block) {
      json_number(out, "block", d->frames.data[i].block);
      json_number(out, "repeats", d->frames.data[i].repeats);
    }
    strbuf_add_char(out, '}');
  }
  strbuf_add_char(out, ']');
}

/* One line, so that a tool can read diagnostics as they come. */
void diag_render_json(const Diag *d, SourceMap *sources, StrBuf *out) {
  SourceOrigin o = sources_named(sources, d->span);
  strbuf_addf(out, "{\"severity\": \"%s\", \"code\": \"%s\", ",
              severity_word(d->severity), diag_code_text(d->code));
  json_start(out, &o);
  json_number(out, "end_line", o.end_line);
  json_number(out, "end_column", o.end_column);
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
