/* The rows at the bottom of a terminal in which an entry is edited.  They are
 * drawn anew after each key, of which only the rows that changed are sent. */
#ifndef REPL_SCREEN_H
#define REPL_SCREEN_H

#include "repl/layout.h"

/* What is to be seen. */
typedef struct View {
  const Layout *entry;
  const char *prompt; /* in front of the first row */
  size_t cursor;      /* a byte of the entry */
  bool colour;
  char *const *below; /* rows below the entry, cut at the last column; owned by
                         the caller */
  size_t below_count;
  bool below_dim;
} View;

/* The rows and columns of the terminal. */
void screen_size(size_t *rows, size_t *columns);
/* What is on the screen is not the editor's any more: the next drawing begins
 * at the cursor, which is at the beginning of a row. */
void screen_begin(void);
/* Draws as much as fits the screen, with the row of the cursor in it. */
void screen_draw(const View *v);
/* Draws the whole entry, however many rows it has, and leaves the cursor below
 * it. */
void screen_finish(const View *v);
/* Clears the whole screen; the next drawing begins at its top. */
void screen_clear(void);

#endif
