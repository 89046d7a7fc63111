/* Completion: what may stand at the cursor. */
#ifndef REPL_COMPLETE_H
#define REPL_COMPLETE_H

#include "repl/repl.h"

/* The word being typed, from `start` to the end of `text`, which is the entry
 * up to the cursor including its earlier lines. */
typedef struct Cursor {
  const char *text;
  size_t start;
} Cursor;

typedef void (*Offer)(void *data, const char *word);

/* Whether a file name belongs here. */
bool complete_files(const Cursor *at);
/* Offers the completions of the word. */
void complete_words(const Repl *r, const Cursor *at, Offer offer, void *data);

#endif
