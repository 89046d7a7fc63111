/* One line from the user: readline, or plain input without it. */
#ifndef REPL_LINE_H
#define REPL_LINE_H

#include <stdbool.h>

void line_init(void);
/* A line without its newline, to be released with free(); NULL at the end of
 * input.  With `*interrupted` set, Ctrl-C was pressed: the text so far is
 * to be forgotten. */
char *line_read(const char *prompt, bool *interrupted);
/* Adds a whole entry to the history. */
void line_remember(const char *entry);

#endif
