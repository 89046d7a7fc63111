/* What may stand where the cursor is. */
#ifndef REPL_COMPLETE_H
#define REPL_COMPLETE_H

#include "repl/repl.h"

/* The word that is typed: `text` up to the cursor, the entry's earlier lines
 * included; it begins at `start`. */
typedef struct Cursor {
  const char *text;
  size_t start;
} Cursor;

typedef void (*Offer)(void *data, const char *word);

/* Does a file's name belong here? */
bool complete_files(const Cursor *at);
/* Offers the words that go on from the one begun. */
void complete_words(const Repl *r, const Cursor *at, Offer offer, void *data);

#endif
