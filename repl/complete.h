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
/* Whether the word stands in a string, which a quotation mark is to end. */
bool complete_in_string(const Cursor *at);
/* Offers the completions of the word. */
void complete_words(const Repl *r, const Cursor *at, Offer offer, void *data);
/* What an offer is: the kind and the default of an attribute, an operator's
 * line, owned; NULL: there is nothing to say. */
char *complete_about(const Cursor *at, const char *offer);
/* The signature of the operator, the function or the constructor in whose
 * parentheses the end of `text` stands, owned; NULL: in none. */
char *complete_signature(const Repl *r, const char *text, size_t len);

#endif
