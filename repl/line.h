/* Reads from the user: whole entries where the terminal lets them be edited in
 * place, otherwise line by line, by readline or from plain input. */
#ifndef REPL_LINE_H
#define REPL_LINE_H

#include <stdbool.h>
#include <stdio.h>

#include "repl/repl.h"

/* Prepares editing at a terminal: keys, history, and completion for `r`, which
 * must outlive the last line, or be followed by another. */
void line_init(const Repl *r);
/* A line without its newline, which the caller frees; NULL at the end of input.
 * It begins with `indent` blanks, which the user may delete.  If
 * `*interrupted` is set, Ctrl-C ended the line, which is to be discarded. Where
 * it came after Enter, the handler that was there before has been called. */
char *line_read(const char *prompt, int indent, bool *interrupted);
/* The same from a file, without prompt and Ctrl-C. */
char *line_of_file(FILE *in);
/* Can entries of several lines be edited in place?  Not in a build without
 * readline, and not on a terminal whose cursor cannot move up. */
bool line_edits_entries(void);
/* The same as line_read for a whole entry, with newlines between its lines. */
char *line_read_entry(const char *prompt, bool *interrupted);
/* Adds a whole entry to the history. */
void line_remember(const char *entry);

#endif
