/* Building and rendering documents (Oppen, "Prettyprinting", 1980; Wadler, "A
 * prettier printer", 2003).
 *
 * A document is a flat sequence of tokens, in which groups are brackets:
 *
 *   OPEN "f(" INDENT soft "x," space "y" DEDENT soft ")" CLOSE
 *
 * where soft and space are lines that a flat group writes as nothing and a
 * blank.
 *
 * Rendering is two passes over the tokens.  Backwards, to know how much each
 * group needs; then forwards, writing.  A group is laid flat when the column
 * that it begins at, and what it needs, fit the width.  What a group needs
 * includes what follows it up to the next place that can break, such as the `;`
 * after a call, so a text that must stay on the line is counted with what it
 * hangs on.
 *
 * Both passes look at each token once, with a stack of open groups, so the time
 * is linear in the tokens and nothing recurs: a document may nest as deep as
 * memory goes.  Vectors that cannot grow leave the Mem exhausted, and the text
 * incomplete; the caller asks. */
#include "ir/doc.h"

#include <string.h>

#include "base/utf8.h"

enum {
  DOC_TEXT,
  DOC_IF_BROKEN,
  DOC_LINE,
  DOC_OPEN,
  DOC_CLOSE,
  DOC_INDENT,
  DOC_DEDENT,
  DOC_HANG,
  DOC_UNHANG,
  DOC_MARK, /* `len` is the number of a range */
  DOC_UNMARK,
};
/* Deep nesting is indented no further than this, so that the text stays linear
 * in the document. */
enum { INDENT_STEP = 2, INDENT_MAX = 60 };
#define NO_LINE SIZE_MAX

void doc_init(Doc *d, Mem *mem) {
  *d = (Doc){.line = NO_LINE};
  arena_init(&d->arena, mem);
  VEC_INIT(&d->tokens, mem);
}

void doc_done(Doc *d) {
  arena_done(&d->arena);
  VEC_DONE(&d->tokens);
}

/* --- Building ------------------------------------------------------------- */

static void mark(Doc *d, uint8_t kind) {
  VEC_PUSH(&d->tokens, (DocToken){.kind = kind});
}

void doc_open(Doc *d) { mark(d, DOC_OPEN); }
void doc_open_firm(Doc *d) {
  VEC_PUSH(&d->tokens, (DocToken){.kind = DOC_OPEN, .firm = true});
}
void doc_close(Doc *d) { mark(d, DOC_CLOSE); }
void doc_indent(Doc *d) { mark(d, DOC_INDENT); }
void doc_dedent(Doc *d) { mark(d, DOC_DEDENT); }

static void push_text(Doc *d, const char *text, size_t len) {
  VEC_PUSH(&d->tokens,
           (DocToken){.kind = DOC_TEXT, .len = (uint32_t)len, .text = text});
}

static bool takes_space_before(char c) { return !strchr(",;.)]", c); }
static bool takes_space_after(char c) { return c && !strchr("([", c); }

/* A blank that was asked for is written here, when it is known what follows:
 * not before a closing bracket or a comma, not after an opening bracket, and
 * not at the beginning of a line. */
void doc_text_len(Doc *d, const char *text, size_t len) {
  if (len == 0) return;
  if (d->space && d->line == NO_LINE && takes_space_before(text[0]) &&
      takes_space_after(d->last))
    push_text(d, " ", 1);
  push_text(d, text, len);
  d->space = d->ended = d->hanging = false;
  d->line = NO_LINE;
  d->last = text[len - 1];
}

void doc_comment(Doc *d, const char *text, size_t len) {
  bool hanging = d->hanging;
  doc_text_len(d, text, len);
  d->hanging = hanging;
}

void doc_text(Doc *d, const char *text) { doc_text_len(d, text, strlen(text)); }

void doc_textf(Doc *d, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *text = arena_vprintf(&d->arena, format, args);
  va_end(args);
  if (text) doc_text(d, text);
}

/* One such text is the comma after the last constructor of a type, which only a
 * broken list has. */
void doc_text_if_broken(Doc *d, const char *text) {
  VEC_PUSH(&d->tokens, (DocToken){.kind = DOC_IF_BROKEN,
                                  .text = text,
                                  .len = (uint32_t)strlen(text)});
}

void doc_space(Doc *d) { d->space = true; }

void doc_word(Doc *d, const char *text) {
  doc_space(d);
  doc_text(d, text);
  doc_space(d);
}

/* Lines that follow one another become one, the strongest; `line` is its index
 * until a text comes.  Before the first text of all there is no line. */
void doc_line(Doc *d, LineKind kind) {
  d->space = false;
  if (!d->last) return;
  if (d->line == NO_LINE) {
    if (!VEC_RESERVE(&d->tokens, 1)) return;
    d->line = d->tokens.len;
    VEC_PUSH(&d->tokens,
             (DocToken){
                 .kind = DOC_LINE, .line = (uint8_t)kind, .hangs = d->hanging});
    return;
  }
  DocToken *line = &d->tokens.data[d->line];
  if (kind == LINE_BLANK && line->opening) kind = LINE_HARD;
  if (line->line < kind) line->line = (uint8_t)kind;
}

void doc_line_opening(Doc *d, LineKind kind) {
  doc_line(d, kind);
  if (d->line != NO_LINE) d->tokens.data[d->line].opening = true;
}

void doc_line_closing(Doc *d, LineKind kind) {
  doc_line(d, kind);
  if (d->line == NO_LINE) return;
  DocToken *line = &d->tokens.data[d->line];
  if (line->line == LINE_BLANK) line->line = LINE_HARD;
}

void doc_hang(Doc *d) {
  mark(d, DOC_HANG);
  d->hanging = true;
  doc_line(d, LINE_FILL);
}

void doc_unhang(Doc *d) { mark(d, DOC_UNHANG); }

static void mark_range(Doc *d, uint8_t kind, size_t range) {
  VEC_PUSH(&d->tokens, (DocToken){.kind = kind, .len = (uint32_t)range});
}

size_t doc_mark(Doc *d, uint32_t of) {
  size_t range = d->ranges->len;
  VEC_PUSH(d->ranges, (DocRange){.of = of});
  mark_range(d, DOC_MARK, range);
  return range;
}

void doc_unmark(Doc *d, size_t range) { mark_range(d, DOC_UNMARK, range); }

/* A comment at the end of a line may be found when the line's break has been
 * written already; it is put before that.  Moving the tokens after it costs as
 * many as there are marks since the break, few. */
void doc_trailing(Doc *d, const char *text, size_t len) {
  /* NO_LINE: text is open on the line, so the comment simply follows it. */
  size_t at = d->line;
  if (at == NO_LINE) {
    doc_space(d);
    doc_comment(d, text, len);
    doc_line(d, LINE_HARD);
    return;
  }
  if (!VEC_RESERVE(&d->tokens, 2)) return;
  DocToken *tokens = d->tokens.data;
  memmove(tokens + at + 2, tokens + at, (d->tokens.len - at) * sizeof *tokens);
  tokens[at] = (DocToken){.kind = DOC_TEXT, .len = 1, .text = " "};
  tokens[at + 1] =
      (DocToken){.kind = DOC_TEXT, .len = (uint32_t)len, .text = text};
  d->tokens.len += 2;
  d->line = at + 2;
  doc_line(d, LINE_HARD);
}

void doc_end_line(Doc *d) {
  doc_line(d, LINE_HARD);
  d->ended = true;
}

/* --- Measuring ------------------------------------------------------------ */

#define TOO_WIDE UINT64_MAX

/* What was seen to the right of a group's end. */
typedef struct Mark {
  uint64_t flat, tail, hard;
} Mark;

typedef struct Measure {
  uint64_t *need; /* of an OPEN or a filling line: columns until the next place
                     that can break after it, when it is laid flat */
  VEC(Mark) ends;
  Mark now; /* flat: columns from here to the document's end; tail: to
               the next line that may break; hard: breaks from here on */
} Measure;

/* Seen from the right: a newline within the text ends what had been counted to
 * the right of it, and counts as a hard break for the groups around. */
static void measure_text(Measure *m, const DocToken *t) {
  const char *end = memchr(t->text, '\n', t->len);
  size_t len = end ? (size_t)(end - t->text) : t->len;
  uint64_t width = utf8_width(t->text, len);
  m->now.tail = (end ? 0 : m->now.tail) + width;
  if (t->kind == DOC_TEXT) m->now.flat += width;
  m->now.hard += end != NULL;
}

/* Its own need is a blank and what follows up to the next line, for
 * LINE_FILL. */
static void measure_line(Measure *m, const DocToken *t, size_t i) {
  m->need[i] = m->now.tail + 1;
  m->now.tail = 0;
  m->now.flat += t->line != LINE_SOFT;
  m->now.hard += t->line >= LINE_HARD;
}

/*   need = columns of the group when flat + tail after its end
 *
 * A group with a hard break inside cannot be flat.  A firm group lets what is
 * before it on its line count all of it, so that breaks before it come
 * first. */
static void measure_open(Measure *m, const DocToken *t, size_t i) {
  Mark end = VEC_POP(&m->ends);
  if (m->now.hard > end.hard) {
    m->need[i] = TOO_WIDE;
  } else {
    m->need[i] = m->now.flat - end.flat + end.tail;
    if (t->firm) m->now.tail = m->need[i];
  }
}

static void measure(Measure *m, const Doc *d) {
  for (size_t i = d->tokens.len; i-- > 0;) {
    const DocToken *t = &d->tokens.data[i];
    switch (t->kind) {
      case DOC_TEXT:
      case DOC_IF_BROKEN: measure_text(m, t); break;
      case DOC_LINE: measure_line(m, t, i); break;
      case DOC_CLOSE: VEC_PUSH(&m->ends, m->now); break;
      case DOC_OPEN:
        if (m->ends.len > 0) measure_open(m, t, i);
        break;
      default: break;
    }
  }
}

/* --- Writing -------------------------------------------------------------- */

typedef struct Writer {
  StrBuf *out;
  size_t width, column, indent;
  DocRanges *ranges;
  size_t end;       /* of the last text */
  VEC(size_t) wait; /* ranges whose first text is still to come */
  bool fresh;       /* at a line's start, indentation not yet written */
  VEC(bool) broken; /* the groups that are open, innermost last */
  VEC(size_t) hung; /* the indentation before each hanging text */
} Writer;

/* Outside of all groups lines break. */
static bool in_broken(const Writer *w) {
  return w->broken.len == 0 || VEC_LAST(&w->broken);
}

static size_t indentation(const Writer *w) {
  return w->indent < INDENT_MAX ? w->indent : INDENT_MAX;
}

static bool fits(const Writer *w, uint64_t need) {
  size_t column = w->fresh ? indentation(w) : w->column;
  if (need == TOO_WIDE) return false;
  return w->width == 0 || column + need <= w->width;
}

/* Indentation waits for a text, so that empty lines have no blanks. */
static void write_text(Writer *w, const DocToken *t) {
  if (w->fresh) {
    w->column = indentation(w);
    strbuf_add_repeat(w->out, ' ', w->column);
    w->fresh = false;
  }
  bool blank = t->len == 1 && *t->text == ' ';
  while (!blank && w->wait.len > 0)
    w->ranges->data[VEC_POP(&w->wait)].lo = w->out->len;
  strbuf_add_len(w->out, t->text, t->len);
  if (!blank) w->end = w->out->len;
  const char *end = t->text + t->len, *from = end;
  while (from > t->text && from[-1] != '\n') from--;
  w->column =
      (from > t->text ? 0 : w->column) + utf8_width(from, (size_t)(end - from));
}

/* A hard line within a flat group cannot be: its group needs TOO_WIDE. */
static void write_line(Writer *w, const DocToken *t, uint64_t need) {
  bool breaks = t->line == LINE_FILL   ? !fits(w, need)
                : t->line >= LINE_HARD ? true
                                       : in_broken(w);
  if (breaks) {
    if (t->hangs) w->indent = VEC_LAST(&w->hung) + INDENT_STEP;
    strbuf_add(w->out, t->line == LINE_BLANK ? "\n\n" : "\n");
    w->fresh = true;
  } else if (t->line != LINE_SOFT) {
    strbuf_add_char(w->out, ' ');
    w->column++;
  }
}

/* A group inside a flat one is flat without being asked. */
static void write_token(Writer *w, const DocToken *t, uint64_t need) {
  switch (t->kind) {
    case DOC_TEXT: write_text(w, t); break;
    case DOC_IF_BROKEN:
      if (in_broken(w)) write_text(w, t);
      break;
    case DOC_LINE: write_line(w, t, need); break;
    case DOC_OPEN: VEC_PUSH(&w->broken, in_broken(w) && !fits(w, need)); break;
    case DOC_CLOSE: (void)VEC_POP(&w->broken); break;
    case DOC_INDENT: w->indent += INDENT_STEP; break;
    case DOC_DEDENT: w->indent -= INDENT_STEP; break;
    case DOC_HANG: VEC_PUSH(&w->hung, w->indent); break;
    case DOC_UNHANG: w->indent = VEC_POP(&w->hung); break;
    case DOC_MARK: VEC_PUSH(&w->wait, t->len); break;
    case DOC_UNMARK: w->ranges->data[t->len].hi = w->end; break;
  }
}

void doc_render(const Doc *d, size_t width, StrBuf *out) {
  Mem *mem = d->tokens.mem;
  size_t n = d->tokens.len;
  Measure m = {.need = mem_alloc_zeroed(mem, n * sizeof *m.need)};
  Writer w = {.out = out, .width = width, .ranges = d->ranges};
  VEC_INIT(&m.ends, mem);
  VEC_INIT(&w.broken, mem);
  VEC_INIT(&w.hung, mem);
  VEC_INIT(&w.wait, mem);
  if (!m.need) mem_raise_exhausted(mem);
  if (!mem_exhausted(mem)) {
    measure(&m, d);
    for (size_t i = 0; i < n && !mem_exhausted(mem); i++)
      write_token(&w, &d->tokens.data[i], m.need[i]);
  }
  if (m.need) mem_free(mem, m.need, n * sizeof *m.need);
  VEC_DONE(&w.broken);
  VEC_DONE(&w.hung);
  VEC_DONE(&w.wait);
  VEC_DONE(&m.ends);
}
