/* The prompt's history: whole entries that are kept between runs. */
#ifndef REPL_HISTORY_H
#define REPL_HISTORY_H

/* Passes the entries of earlier runs to `visit`, oldest first, each once at its
 * latest place. */
void history_load(void (*visit)(const char *entry));
/* Appends an entry to the file at once, so that a killed run loses
 * nothing.  Does nothing without a place for the file. */
void history_append(const char *entry);

#endif
