/* The prompt's state, shared with its commands. */
#ifndef REPL_REPL_H
#define REPL_REPL_H

#include "repl/cli.h"

/* The lines typed so far of the current entry. */
typedef struct Entry {
  char *text;
  size_t len;
  int number;
} Entry;

typedef struct Repl {
  Host *host;
  rly_session *session;
  Entry entry;
  bool tty, quit;
} Repl;

/* Evaluates what was added to the program and shows its values. */
void repl_evaluate(Repl *r);
/* Runs a command line, without its colon. */
void repl_command(Repl *r, const char *line);
/* Gives every command's name, with its colon. */
void repl_each_command(void (*visit)(void *data, const char *name),
                       void *data);

#endif
