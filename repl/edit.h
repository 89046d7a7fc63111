/* Entries of several lines, edited in place: what readline lacks. */
#ifndef REPL_EDIT_H
#define REPL_EDIT_H

#include <stdbool.h>

#include "repl/repl.h"

/* Takes over readline's drawing and those of its keys that have to do with
 * lines.  To be called once, after readline's variables are set; `r` must
 * outlive the last entry.  `pressed` tells whether Ctrl-C was pressed, which
 * ends an entry however unfinished.  False, and nothing is changed: on this
 * terminal the cursor cannot move up. */
bool edit_init(const Repl *r, bool (*pressed)(void));
/* The entries to come are of this prompt. */
void edit_for(const Repl *r);
/* Reads an entry or, unless `whole`, a line that is taken as it is, with this
 * prompt; the caller frees it.  What an earlier paste left comes first.  NULL:
 * the end of input. */
char *edit_read(const char *prompt, bool whole);
/* Forgets what is left of a paste. */
void edit_drop_paste(void);
/* Draws the entry again, after the terminal's size changed. */
void edit_resized(void);
/* The process goes on after it was stopped (Ctrl-Z): draws the entry anew. */
void edit_continued(void);

#endif
