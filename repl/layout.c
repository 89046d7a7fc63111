/* See layout.h. */
#include "repl/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/inside.h"

enum { LEAST_ROOM = 4 }; /* columns of text, however narrow the terminal */

/* Makes room for `count` elements and one more. */
static bool grow(void *array, size_t *room, size_t count, size_t size) {
  void **items = array;
  if (count < *room) return true;
  size_t wanted = count * 2 + 64;
  void *longer = realloc(*items, wanted * size);
  if (!longer) return false;
  *items = longer;
  *room = wanted;
  return true;
}

size_t layout_cell(const char *text, size_t len, size_t *size, char shown[8]) {
  uint32_t c = utf8_decode(text, len, size);
  if (c == '\t') {
    strcpy(shown, "  ");
  } else if (c < 0x20 || c == 0x7F) {
    sprintf(shown, "^%c", (char)(c ^ 0x40));
  } else if (c == UTF8_INVALID || (c >= 0x80 && c < 0xA0)) {
    strcpy(shown, UTF8_REPLACEMENT);
  } else {
    memcpy(shown, text, *size);
    shown[*size] = '\0';
  }
  return utf8_width(shown, strlen(shown));
}

/* --- Tokens --------------------------------------------------------------- */

/* While the tokens are read: the brackets that are open, as a chain through
 * `partner`, and the rows after which tokens have been read. */
typedef struct Reading {
  Layout *l;
  size_t open; /* the innermost open bracket; NO_PARTNER: none */
  size_t row;  /* the next row of which `opened` is not known */
  bool fine;   /* memory sufficed */
} Reading;

/* Rows that begin up to byte `to` stand in what is open now. */
static void mark_rows(Reading *r, size_t to, char opened) {
  Layout *l = r->l;
  for (; r->row < l->row_count && l->rows[r->row].lo <= to; r->row++)
    l->rows[r->row].opened = opened;
}

static char innermost(const Reading *r) {
  const Layout *l = r->l;
  return r->open == NO_PARTNER ? ' ' : l->text[l->brackets[r->open].at];
}

static void take_bracket(Reading *r, size_t at, bool opens) {
  Layout *l = r->l;
  size_t new = l->bracket_count;
  r->fine =
      r->fine && grow(&l->brackets, &l->bracket_room, new, sizeof *l->brackets);
  if (!r->fine) return;
  l->brackets[l->bracket_count++] = (Bracket){at, r->open, opens};
  if (opens) {
    r->open = new;
  } else if (r->open != NO_PARTNER) {
    size_t other = r->open;
    r->open = l->brackets[other].partner;
    l->brackets[other].partner = new;
    l->brackets[new].partner = other;
  }
}

static void take_token(void *reading, TokenLook look, size_t lo, size_t hi) {
  Reading *r = reading;
  Layout *l = r->l;
  mark_rows(r, lo, innermost(r));
  memset(l->looks + lo, look, hi - lo);
  if (look == LOOK_COMMENT && l->text[lo + 1] == '*') mark_rows(r, hi - 1, '/');
  if (look == LOOK_STRING) mark_rows(r, hi - 1, '"');
  if (look == LOOK_OPEN || look == LOOK_CLOSE)
    take_bracket(r, lo, look == LOOK_OPEN);
}

/* What is open at the end has no partner: its chain is cut. */
static bool read_tokens(Layout *l) {
  Reading r = {.l = l, .open = NO_PARTNER, .fine = true};
  l->bracket_count = 0;
  memset(l->looks, LOOK_MARK, l->len + 1);
  parse_each_token(l->text, (uint32_t)l->len, take_token, &r);
  const char *opened;
  rly_text_open(l->text, l->len, &opened);
  mark_rows(&r, l->len, *opened ? *opened : ' ');
  while (r.open != NO_PARTNER) {
    size_t next = l->brackets[r.open].partner;
    l->brackets[r.open].partner = NO_PARTNER;
    r.open = next;
  }
  return r.fine;
}

/* --- Rows ----------------------------------------------------------------- */

static bool add_row(Layout *l, Row row) {
  if (!grow(&l->rows, &l->row_room, l->row_count, sizeof *l->rows))
    return false;
  l->rows[l->row_count++] = row;
  return true;
}

/* Cuts a line into rows, the first of which has a prompt of `margin` columns.
 */
static bool cut_line(Layout *l, size_t lo, size_t hi, size_t margin) {
  for (bool first = true; first || lo < hi; first = false) {
    size_t at = lo, used = 0, size, most = LEAST_ROOM;
    char shown[8];
    if (l->columns > margin + LEAST_ROOM) most = l->columns - margin - 1;
    while (at < hi) {
      size_t width = layout_cell(l->text + at, hi - at, &size, shown);
      if (used + width > most) break;
      used += width;
      at += size;
    }
    if (!add_row(l, (Row){lo, at, margin, first, ' '})) return false;
    lo = at;
    margin = CONTINUATION;
  }
  return true;
}

bool layout_make(Layout *l, const char *text, size_t len, size_t columns,
                 size_t prompt) {
  l->text = text;
  l->len = len;
  l->columns = columns;
  l->row_count = 0;
  if (!grow(&l->looks, &l->look_room, len + 1, 1)) return false;
  for (size_t lo = 0, hi;; lo = hi + 1) {
    const char *end = memchr(text + lo, '\n', len - lo);
    hi = end ? (size_t)(end - text) : len;
    if (!cut_line(l, lo, hi, lo ? CONTINUATION : prompt)) return false;
    if (!end) break;
  }
  return read_tokens(l);
}

/* --- Places --------------------------------------------------------------- */

size_t layout_row(const Layout *l, size_t at) {
  size_t row = 0;
  while (row + 1 < l->row_count && l->rows[row + 1].lo <= at) row++;
  return row;
}

/* The columns of a row up to a byte, margin included. */
static size_t columns_to(const Layout *l, const Row *row, size_t at) {
  size_t column = row->margin, size;
  char shown[8];
  for (size_t i = row->lo; i < at && i < row->hi; i += size)
    column += layout_cell(l->text + i, row->hi - i, &size, shown);
  return column;
}

size_t layout_column(const Layout *l, size_t at) {
  return columns_to(l, &l->rows[layout_row(l, at)], at);
}

size_t layout_width(const Layout *l, size_t row) {
  return columns_to(l, &l->rows[row], l->rows[row].hi);
}

size_t layout_at(const Layout *l, size_t row, size_t column) {
  const Row *r = &l->rows[row];
  size_t at = r->lo, before = r->lo, used = r->margin, size;
  bool goes_on = row + 1 < l->row_count && !l->rows[row + 1].first;
  char shown[8];
  while (at < r->hi) {
    used += layout_cell(l->text + at, r->hi - at, &size, shown);
    if (used > column) break;
    before = at;
    at += size;
  }
  /* the end of such a row is the beginning of the next */
  return goes_on && at == r->hi ? before : at;
}

size_t layout_depth(const Layout *l, size_t at) {
  size_t depth = 0;
  for (size_t i = 0; i < l->bracket_count && l->brackets[i].at < at; i++)
    if (l->brackets[i].opens) depth++;
    else if (depth) depth--;
  return depth;
}

const Bracket *layout_bracket(const Layout *l, size_t at) {
  const Bracket *before = NULL;
  for (size_t i = 0; i < l->bracket_count; i++) {
    if (l->brackets[i].at == at) return &l->brackets[i];
    if (l->brackets[i].at + 1 == at) before = &l->brackets[i];
  }
  return before;
}
