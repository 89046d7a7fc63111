/* An entry as rows of a terminal, with the looks of its tokens and its
 * brackets.  It knows no terminal: screen.c draws the rows. */
#ifndef REPL_LAYOUT_H
#define REPL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

/* Part of a line that fills at most one row. */
typedef struct Row {
  size_t lo, hi; /* bytes of the text, without the newline */
  size_t margin; /* columns in front of them */
  bool first;    /* of its line: a prompt stands there */
  char opened;   /* what is open where the line begins: one of ( { [ / ", or a
                    blank */
} Row;

/* A bracket and its partner, as indices; NO_PARTNER: it has none. */
typedef struct Bracket {
  size_t at;      /* its byte */
  size_t partner; /* an index of `brackets` */
  bool opens;
} Bracket;

#define NO_PARTNER ((size_t)-1)

/* The text of another, which must outlive the layout. */
typedef struct Layout {
  const char *text;
  size_t len, columns;
  Row *rows;
  size_t row_count, row_room;
  unsigned char *looks; /* a TokenLook of each byte; LOOK_MARK between tokens */
  size_t look_room;
  Bracket *brackets;
  size_t bracket_count, bracket_room;
} Layout;

/* Lays a text out for so many columns, the last of which stays free, because
 * terminals differ in what they do once it is full.  The first line has a
 * prompt of `prompt` columns.  The memory of an earlier layout is used again,
 * and kept for the next.  False: out of memory. */
bool layout_make(Layout *l, const char *text, size_t len, size_t columns,
                 size_t prompt);

/* The row in which a byte of the text stands; the end of a line that fills its
 * last row is in that row. */
size_t layout_row(const Layout *l, size_t at);
/* The column of a byte in its row, margin included. */
size_t layout_column(const Layout *l, size_t at);
/* The columns that a row fills, margin included. */
size_t layout_width(const Layout *l, size_t row);
/* The byte of a row that stands nearest to that column. */
size_t layout_at(const Layout *l, size_t row, size_t column);
/* How many brackets are open in front of a byte. */
size_t layout_depth(const Layout *l, size_t at);
/* The bracket at the cursor or, if there is none, directly before it; NULL:
 * none. */
const Bracket *layout_bracket(const Layout *l, size_t at);

/* What a character is shown as: at most 8 bytes into `shown`, with a NUL, and
 * its columns; controls as `^X`, a tab as two blanks.  Its size in the text
 * goes to *size. */
size_t layout_cell(const char *text, size_t len, size_t *size, char shown[8]);

/* The columns of a continuation prompt, such as `{ ... `. */
enum { CONTINUATION = 6 };

#endif
