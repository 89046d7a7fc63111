/* One line from the user: readline, or plain input without it. */
#ifndef REPL_LINE_H
#define REPL_LINE_H

#include <stdbool.h>

#include "repl/complete.h"

/* Prepares editing at a terminal: history, completion for `r`, which must
 * outlive the last line. */
void line_init(const Repl *r);
/* A line without its newline, to be released with free(); NULL at the end of
 * input.  It begins with `indent` blanks that may be taken back.  With
 * `*interrupted` set, Ctrl-C was pressed: what was typed is to be forgotten. */
char *line_read(const char *prompt, int indent, bool *interrupted);
/* Adds a whole entry to the history. */
void line_remember(const char *entry);

#endif
