/* See screen.h.  The sequences sent are those that all terminals have in common
 * which are not dumb (ECMA-48): cursor up, down and right, erase, colours. */
#include "repl/screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/inside.h"

/* What was drawn last.  Readline's hooks take no argument, so it is kept
 * here. */
static struct {
  char **rows; /* as they were sent */
  size_t *widths;
  size_t count, y, x; /* the rows, and the cursor in them */
  size_t top;         /* the first row of the entry that was in sight */
  size_t columns;
} drawn;

void screen_size(size_t *rows, size_t *columns) {
  struct winsize size;
  bool known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  *rows = known && size.ws_row > 1 ? size.ws_row : 24;
  *columns = known && size.ws_col > 1 ? size.ws_col : 80;
}

static void forget_rows(void) {
  for (size_t i = 0; i < drawn.count; i++) free(drawn.rows[i]);
  free(drawn.rows);
  free(drawn.widths);
  drawn.rows = NULL;
  drawn.widths = NULL;
  drawn.count = drawn.y = drawn.x = 0;
}

void screen_begin(void) {
  forget_rows();
  drawn.top = 0;
}

/* --- A row as text -------------------------------------------------------- */

/* Colours that are legible on light and on dark backgrounds; keywords are
 * bold. */
static const char *const styles[] = {
    [LOOK_KEYWORD] = "1", [LOOK_LOCAL] = "36",  [LOOK_GLOBAL] = "34",
    [LOOK_NUMBER] = "35", [LOOK_STRING] = "32", [LOOK_COMMENT] = "2",
    [LOOK_BAD] = "31",    [LOOK_MARK] = "",     [LOOK_WORD] = "",
    [LOOK_OPEN] = "",     [LOOK_CLOSE] = "",
};

/* The style of the bracket at the cursor and of its partner, or, if it lacks
 * one and closes, of a mistake; NULL: another byte. */
static const char *bracket_style(const View *v, const Bracket *at, size_t i) {
  const Layout *l = v->entry;
  if (!at) return NULL;
  if (at->partner == NO_PARTNER) return at->at == i && !at->opens ? "31" : NULL;
  return at->at == i || l->brackets[at->partner].at == i ? "1;4" : NULL;
}

static void put_prompt(FILE *out, const View *v, const Row *row) {
  if (row == v->entry->rows) {
    size_t n = strlen(v->prompt);
    fwrite(v->prompt, 1, utf8_fit(v->prompt, n, row->margin), out);
  } else if (row->first) {
    fprintf(out, "%c ... ", row->opened);
  } else {
    fprintf(out, "%*s", (int)row->margin, "");
  }
}

/* The row with its prompt and colours, owned; NULL: out of memory. */
static char *row_text(const View *v, const Row *row, const Bracket *at) {
  const Layout *l = v->entry;
  char *text = NULL;
  size_t len, size;
  FILE *out = open_memstream(&text, &len);
  if (!out) return NULL;
  put_prompt(out, v, row);
  const char *now = "";
  for (size_t i = row->lo; i < row->hi; i += size) {
    char shown[8];
    layout_cell(l->text + i, row->hi - i, &size, shown);
    const char *bracket = bracket_style(v, at, i);
    const char *style = bracket ? bracket : styles[l->looks[i]];
    if (v->colour && strcmp(style, now)) {
      fprintf(out, *style ? "\033[0;%sm" : "\033[0m", style);
      now = style;
    }
    fputs(shown, out);
  }
  if (*now) fputs("\033[0m", out);
  return fclose(out) ? free(text), NULL : text;
}

/* --- What is in sight ----------------------------------------------------- */

/* The rows of a drawing. */
typedef struct Frame {
  char **rows;
  size_t *widths;
  size_t count, y, x;
} Frame;

static bool add_row(Frame *f, char *text, size_t width) {
  if (!text) return false;
  f->rows[f->count] = text;
  f->widths[f->count++] = width;
  return true;
}

/* A row below the entry, cut at the last column. */
static char *below_text(const View *v, size_t i) {
  char *text;
  const char *row = v->below[i];
  int len = (int)utf8_fit(row, strlen(row), v->entry->columns - 1);
  bool dim = v->colour && v->below_dim;
  int n = asprintf(&text, "%s%.*s%s", dim ? "\033[2m" : "", len, row,
                   dim ? "\033[0m" : "");
  return n < 0 ? NULL : text;
}

/* What is said below an entry that does not fit the screen. */
static char *position_text(const View *v, size_t top, size_t shown) {
  char *text;
  int n = asprintf(&text, "%srows %zu to %zu of %zu%s",
                   v->colour ? "\033[2m" : "", top + 1, top + shown,
                   v->entry->row_count, v->colour ? "\033[0m" : "");
  return n < 0 ? NULL : text;
}

/* Moves the sight as little as the cursor demands. */
static void choose_top(const Layout *l, size_t row, size_t shown) {
  if (drawn.top + shown > l->row_count) drawn.top = l->row_count - shown;
  if (row < drawn.top) drawn.top = row;
  if (row >= drawn.top + shown) drawn.top = row + 1 - shown;
}

/* Makes the frame; false: out of memory. */
static bool make_frame(const View *v, size_t rows, Frame *f) {
  const Layout *l = v->entry;
  bool whole = l->row_count <= rows;
  size_t shown = whole ? l->row_count : rows - 1;
  size_t row = layout_row(l, v->cursor);
  choose_top(l, row, shown);
  *f = (Frame){.rows = calloc(rows, sizeof *f->rows),
               .widths = calloc(rows, sizeof *f->widths),
               .y = row - drawn.top,
               .x = layout_column(l, v->cursor)};
  if (!f->rows || !f->widths) return false;
  const Bracket *at = v->colour ? layout_bracket(l, v->cursor) : NULL;
  for (size_t i = 0; i < shown; i++) {
    const Row *r = &l->rows[drawn.top + i];
    if (!add_row(f, row_text(v, r, at), layout_width(l, drawn.top + i)))
      return false;
  }
  if (!whole) return add_row(f, position_text(v, drawn.top, shown), 0);
  for (size_t i = 0; i < v->below_count && f->count < rows; i++)
    if (!add_row(f, below_text(v, i), 0)) return false;
  return true;
}

/* --- Sending -------------------------------------------------------------- */

/* Goes to a row of the drawing; one below the last is made. */
static void go_to(FILE *out, size_t y) {
  size_t last = drawn.count ? drawn.count - 1 : 0;
  if (y < drawn.y) fprintf(out, "\033[%zuA", drawn.y - y);
  size_t down = y < last ? y : last;
  if (down > drawn.y) {
    fprintf(out, "\033[%zuB", down - drawn.y);
    drawn.y = down;
  }
  for (; drawn.y < y; drawn.y++) fputs("\r\n", out);
  drawn.y = y;
}

/* After the terminal's width changed, rows that are too wide for it fill
 * several; the terminal has moved the cursor accordingly.  Everything is drawn
 * again from where the first row is now. */
static void follow_resize(FILE *out, size_t columns) {
  if (!drawn.columns || columns == drawn.columns || !drawn.count) return;
  size_t up = drawn.x / columns;
  for (size_t i = 0; i < drawn.y; i++)
    up += drawn.widths[i] ? (drawn.widths[i] - 1) / columns + 1 : 1;
  if (up) fprintf(out, "\033[%zuA", up);
  fputs("\r\033[J", out);
  forget_rows();
}

static void send_frame(FILE *out, Frame *f) {
  for (size_t i = 0; i < f->count; i++) {
    if (i < drawn.count && !strcmp(drawn.rows[i], f->rows[i])) continue;
    go_to(out, i);
    fprintf(out, "\r%s\033[K", f->rows[i]);
  }
  if (f->count < drawn.count) {
    go_to(out, f->count);
    fputs("\r\033[J", out);
  }
  go_to(out, f->y);
  fputc('\r', out);
  if (f->x) fprintf(out, "\033[%zuC", f->x);
}

static void free_frame(Frame *f) {
  for (size_t i = 0; i < f->count; i++) free(f->rows[i]);
  free(f->rows);
  free(f->widths);
}

void screen_draw(const View *v) {
  size_t rows, columns;
  Frame f;
  screen_size(&rows, &columns);
  follow_resize(stdout, columns);
  if (!make_frame(v, rows, &f)) {
    free_frame(&f);
    return;
  }
  send_frame(stdout, &f);
  fflush(stdout);
  size_t y = f.y, x = f.x;
  forget_rows();
  drawn.rows = f.rows;
  drawn.widths = f.widths;
  drawn.count = f.count;
  drawn.columns = columns;
  drawn.y = y;
  drawn.x = x;
}

void screen_finish(const View *v) {
  const Layout *l = v->entry;
  size_t rows, columns;
  screen_size(&rows, &columns);
  follow_resize(stdout, columns);
  if (drawn.count) go_to(stdout, 0);
  fputs("\r\033[J", stdout);
  for (size_t i = 0; i < l->row_count; i++) {
    char *text = row_text(v, &l->rows[i], NULL);
    if (text) fprintf(stdout, "%s\r\n", text);
    free(text);
  }
  fflush(stdout);
  screen_begin();
}

void screen_clear(void) {
  fputs("\033[H\033[2J", stdout);
  screen_begin();
}
