/* A paste, which is entered line by line as if it were typed. */
#ifndef REPL_PASTE_H
#define REPL_PASTE_H

#include <stdbool.h>
#include <stddef.h>

/* The pasted text with newlines as line ends, owned; NULL: out of memory.  It
 * may have been copied from a session: prompts, `rly> ` or `prompt`, and those
 * of continued lines are left out.  Where some line has a prompt, those without
 * one are what was answered, which is left out as well, except for the first,
 * whose prompt the selection may lack. */
char *paste_clean(const char *text, size_t len, const char *prompt);

/* The length of the first entry in a text of several lines, its newline
 * included; 0: the text does not have the end of one.  `unfinished` tells
 * whether a text lacks an end.  An entry with a mistake goes on to where its
 * brackets are closed, so that its remaining lines are not taken for entries of
 * their own; where they never are, it ends with the line of the mistake. */
size_t paste_entry(const char *text, bool (*unfinished)(const char *text));

#endif
