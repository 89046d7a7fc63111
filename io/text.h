/* Whole text files. */
#ifndef IO_TEXT_H
#define IO_TEXT_H

#include "base/diag.h"
#include "base/limits.h"

/* Reads the bytes of a file, pipe or device, and adds a NUL: `len + 1` bytes of
 * `mem` that the caller owns.  False after reporting when the file cannot be
 * read, is larger than SOURCE_TEXT_MAX, or memory runs out.  The bytes are not
 * checked (see utf8_check). */
bool text_read(Mem *mem, const char *path, char **text, size_t *len,
               Diags *diags);

#endif
