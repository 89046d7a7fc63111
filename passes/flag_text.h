/* The text of a flag, read character by character: a list of passes, a shape
 * that is given.  Mistakes point into the flag. */
#ifndef PASSES_FLAG_TEXT_H
#define PASSES_FLAG_TEXT_H

#include "ir/program.h"

typedef struct FlagText {
  Program *p;
  const SourceFile *source;
  const char *at;
  DiagCode code;       /* of what is not written as it should be */
  const char *written; /* a hint: how it is */
} FlagText;

/* `where` is the name that a message gives to the text.  False without memory.
 */
bool flag_open(FlagText *t, Program *p, const char *where, const char *text,
               DiagCode code, const char *written);
Span flag_span(const FlagText *t, const char *from, const char *to);
void flag_skip_blanks(FlagText *t);
/* Takes the character, if it stands here, and the blanks around it. */
bool flag_accept(FlagText *t, char c);
/* Reports what should stand here.  Always false. */
bool flag_expected(FlagText *t, const char *what);

#endif
