/* Comments and blank lines of the source, put back into the new layout.
 *
 * A comment stays where it was between the tokens: at the end of a line, on
 * lines of its own, or in the middle of a line.  Nodes carry no comments; as
 * the printer comes to a node, print_comments adds those that stand before
 * it. */
#include <string.h>

#include "ir/printer.h"

/* The text has a NUL after it, so loops over blanks end. */
static const char *source_at(const Printer *p, uint32_t at) {
  return p->source->text + (at - p->source->base);
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Newlines directly before a place; 2 stands for more.  The text begins on a
 * line of its own, also when something has been put before it. */
static int newlines_before(const Printer *p, uint32_t at) {
  const char *start = p->source->text, *s = source_at(p, at);
  int n = 0;
  for (; s > start && is_blank(s[-1]); s--) n += s[-1] == '\n';
  if (s == start && n == 0) n = p->doc.last != 0;
  return n < 2 ? n : 2;
}

static int newlines_after(const Printer *p, uint32_t at) {
  int n = 0;
  for (const char *s = source_at(p, at); is_blank(*s); s++) n += *s == '\n';
  return n < 2 ? n : 2;
}

static LineKind line_for(int newlines) {
  return newlines > 1 ? LINE_BLANK : LINE_HARD;
}

static size_t trim(const char *text, size_t len) {
  while (len > 0 && is_blank(text[len - 1])) len--;
  return len;
}

/* Are there only blanks between a comment and the next one? */
static bool touches_next(const Printer *p, int i) {
  if (i + 1 >= p->comment_count) return false;
  const char *next = source_at(p, p->comments[i].span.hi);
  while (is_blank(*next)) next++;
  return next == source_at(p, p->comments[i + 1].span.lo);
}

/* Do only comments follow the comment `i` on its line?  The answer holds for
 * all of them, so it is worked out once for each run. */
static bool ends_line(Printer *p, int i) {
  if (i < p->run_end) return p->run_ends_line;
  for (bool last = false; !last; i++) {
    Span span = p->comments[i].span;
    p->run_ends_line = newlines_after(p, span.hi) > 0;
    last = p->run_ends_line || !touches_next(p, i);
  }
  p->run_end = i;
  return p->run_ends_line;
}

/* A block comment of a file whose lines end in CR LF. */
static const char *without_returns(Printer *p, const char *text, size_t *len) {
  if (!memchr(text, '\r', *len)) return text;
  char *copy = arena_strndup(&p->doc.arena, text, *len);
  size_t kept = 0;
  if (!copy) return text;
  for (size_t i = 0; i < *len; i++)
    if (text[i] != '\r' || text[i + 1] != '\n') copy[kept++] = text[i];
  *len = kept;
  return copy;
}

/* TVM reads a star together with the character after it, unless that is a
 * slash.  It does not see the end of a comment that ends in two stars, so a
 * blank is put between them. */
static const char *with_plain_end(Printer *p, const char *text, size_t *len) {
  if (text[1] != '*') return text;
  StrBuf out;
  strbuf_init(&out, p->mem);
  for (size_t i = 0; i < *len;) {
    bool mark = text[i] == '*' || (text[i] == '/' && text[i + 1] == '*');
    bool hidden = text[i] == '*' && text[i + 1] == '*' && text[i + 2] == '/';
    size_t n = mark && !hidden && i + 1 < *len ? 2 : 1;
    strbuf_add_len(&out, text + i, n);
    if (hidden) strbuf_add_char(&out, ' ');
    i += n;
  }
  const char *made = arena_strndup(&p->doc.arena, strbuf_text(&out), out.len);
  if (made) *len = out.len;
  strbuf_done(&out);
  return made ? made : text;
}

/* A comment at the end of a line stays with what is before it; one on lines of
 * its own keeps the empty line before it; `//` ends its line wherever it
 * stands. */
static void print_comment(Printer *p, int i) {
  Span span = p->comments[i].span;
  const char *text = source_at(p, span.lo);
  size_t len = trim(text, span.hi - span.lo);
  text = without_returns(p, text, &len);
  if (p->plain) text = with_plain_end(p, text, &len);
  int before = newlines_before(p, span.lo);
  int after = newlines_after(p, span.hi);
  if (before == 0 && p->doc.last && !p->doc.ended && ends_line(p, i)) {
    doc_trailing(&p->doc, text, len);
  } else {
    if (before > 0) doc_line(&p->doc, line_for(before));
    doc_space(&p->doc);
    doc_comment(&p->doc, text, len);
    doc_space(&p->doc);
  }
  if (after > 0) doc_line(&p->doc, line_for(after));
  if (text[1] == '/') doc_end_line(&p->doc);
}

/* The first comment that ends after `at`, by binary search. */
static int comment_after(const Printer *p, uint32_t at) {
  int lo = 0, hi = p->comment_count;
  while (lo < hi) {
    int mid = lo + (hi - lo) / 2;
    if (p->comments[mid].span.hi <= at) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/* The next byte at or after `at` that is in no comment; the end of the text
 * when there is none.  `*comment` is the first comment that may lie ahead. */
static uint32_t skip_comments(const Printer *p, uint32_t at, int *comment) {
  while (*comment < p->comment_count && at >= p->comments[*comment].span.lo)
    at = p->comments[(*comment)++].span.hi;
  return at;
}

uint32_t print_first_token(const Printer *p, uint32_t at) {
  if (!p->source) return at;
  int comment = comment_after(p, at);
  for (;; at++) {
    at = skip_comments(p, at, &comment);
    char c = *source_at(p, at);
    if (c != '(' && !is_blank(c)) return at;
  }
}

void print_comments(Printer *p, uint32_t at) {
  while (p->next_comment < p->comment_count &&
         p->comments[p->next_comment].span.lo < at)
    print_comment(p, p->next_comment++);
}

/* At most one empty line is kept. */
void print_line_between(Printer *p, uint32_t at) {
  bool comments = p->next_comment < p->comment_count &&
                  p->comments[p->next_comment].span.lo < at;
  bool blank = p->source && !comments && newlines_before(p, at) > 1;
  doc_line(&p->doc, blank ? LINE_BLANK : LINE_HARD);
}

uint32_t print_find(const Printer *p, uint32_t from, uint32_t end, char c) {
  if (!p->source || from < p->source->base) return from;
  uint32_t last = p->source->base + p->source->len;
  if (end > last) end = last;
  int comment = comment_after(p, from);
  for (uint32_t at = from; at < end; at++) {
    at = skip_comments(p, at, &comment);
    if (at < end && *source_at(p, at) == c) return at;
  }
  return from;
}

/* The comments after `at`: up to the end of the line, or to the next item on
 * it. */
static uint32_t line_end(const Printer *p, uint32_t at, uint32_t next) {
  const char *start = source_at(p, at), *end = strchr(start, '\n');
  uint32_t place = end ? at + (uint32_t)(end - start) : UINT32_MAX;
  return place < next ? place : next;
}

void print_window(Printer *p, uint32_t lo, uint32_t hi, uint32_t next) {
  p->comment_count = p->all_comments;
  p->run_end = 0;
  if (lo > 0) lo = line_end(p, lo, hi);
  p->next_comment = comment_after(p, lo);
  if (hi == UINT32_MAX) return;
  p->comment_count = comment_after(p, line_end(p, hi, next));
}
