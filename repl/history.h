/* The prompt's history: whole entries, kept from one run to the next. */
#ifndef REPL_HISTORY_H
#define REPL_HISTORY_H

/* Gives the entries of earlier runs to `visit`, oldest first, each once: the
 * last time counts. */
void history_load(void (*visit)(const char *entry));
/* Adds an entry at the end of the file, at once: a run that is killed keeps
 * what was typed.  Without a place for the file it does nothing. */
void history_append(const char *entry);

#endif
