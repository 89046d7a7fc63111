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
  Entry transcript;  /* the entries that were accepted, for :save */
  char *last;        /* the last entry, right or wrong, for :edit; or NULL */
  char *loaded;      /* the file that :reload reads again; or NULL */
  bool tty, quit;
} Repl;

/* Evaluates what was added to the program and shows its values; false after
 * reporting a failure. */
bool repl_evaluate(Repl *r);
/* Adds a text, which may not go on, and evaluates it. */
bool repl_submit(Repl *r, const char *text);
/* Runs a command line, without its colon. */
void repl_command(Repl *r, const char *line);
/* Gives every command's name, with its colon. */
void repl_each_command(void (*visit)(void *data, const char *name),
                       void *data);

/* --- inspect.c: what a name stands for ---------------------------------- */

void inspect_info(Repl *r, const char *name);
void inspect_bytecode(Repl *r, const char *name);
void inspect_apropos(Repl *r, const char *word);

#endif
