/* Which command a word names: the commands of the prompt and of the stepper may
 * be written whole, by their letter, or by a beginning that no other has. */
#ifndef REPL_ABBREV_H
#define REPL_ABBREV_H

#include <stddef.h>

/* The names of a row.  A letter belongs to its row for good: a row added later
 * cannot change its meaning. */
typedef struct CommandName {
  const char *name;
  char letter; /* '\0': none */
} CommandName;

typedef struct CommandNames {
  const char *sigil; /* written before a word in messages: ":" or "" */
  int count;
  CommandName (*at)(int i);
} CommandNames;

/* The row that the first `n` bytes of `text` name.  Returns -1 if no row or
 * several rows could be meant; `why` then receives the message, which the
 * caller frees, or NULL when memory ran out. */
int command_find(CommandNames words, const char *text, size_t n, char **why);

/* What the command takes, for a message that it got none of it, or words that
 * it has no use for; NULL: `rest` may stand after its name.  `args` is what
 * help shows: "" takes nothing, and what begins with `[` may be left out. */
const char *command_misfit(const char *args, const char *rest);

#endif
