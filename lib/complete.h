/* Completion: what may stand at the cursor. */
#ifndef LIB_COMPLETE_H
#define LIB_COMPLETE_H

#include "lib/handles.h"

/* The word being typed, from `start` to the end of `text`, which is all that
 * stands before the cursor. */
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
void complete_words(rly_program *program, const Cursor *at, Offer offer,
                    void *data);
/* The same of operators alone. */
void complete_operators(const Cursor *at, Offer offer, void *data);
/* What an offer is: the kind and the default of an attribute, an operator's
 * line, owned; NULL: there is nothing to say. */
char *complete_about(const Cursor *at, const char *offer);
/* The signature of the operator, the function or the constructor in whose
 * parentheses the end of `text` stands, owned; NULL: in none. */
char *complete_signature(rly_program *program, const char *text, size_t len);

#endif
