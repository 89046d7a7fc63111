/* What differs between two texts, by lines. */
#ifndef REPL_DIFF_H
#define REPL_DIFF_H

#include "lib/inside.h"

/* Appends the changes with three lines around each, in the form of `diff -u`.
 * Nothing for equal texts. */
void diff_print(StrBuf *out, const char *was, const char *is, bool colour);

#endif
