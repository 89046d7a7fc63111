/* What differs between two texts, by lines. */
#ifndef BASE_DIFF_H
#define BASE_DIFF_H

#include "base/strbuf.h"

/* Appends the changes with three lines around each, in the form of `diff -u`.
 * Nothing for equal texts. */
void diff_print(StrBuf *out, const char *was, const char *is, bool colour);

/* Calls `row` for each row of the two texts side by side: a line that stays,
 * the same pointer twice; one that is replaced by another; one that has no
 * counterpart, beside NULL; and at the end two NULLs.  The lines live until
 * then. No calls when memory runs out. */
typedef void DiffRow(void *data, const char *left, const char *right);
void diff_rows(Mem *mem, const char *was, const char *is, DiffRow *row,
               void *data);

#endif
