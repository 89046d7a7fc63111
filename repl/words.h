/* What may stand at the cursor of the prompt. */
#ifndef REPL_WORDS_H
#define REPL_WORDS_H

#include "lib/inside.h"
#include "repl/repl.h"

/* Whether a file name belongs here. */
bool words_are_files(const Cursor *at);
/* Offers the completions of the word. */
void words_offer(const Repl *r, const Cursor *at, Offer offer, void *data);

#endif
