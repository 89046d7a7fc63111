/* Bytes as text, for JSON: https://www.rfc-editor.org/rfc/rfc4648. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/strbuf.h"

/* The decoded size, or SIZE_MAX when the text is no base64; `out` has room for
 * 3/4 of the text.  Bits left over at the end are dropped, as their padding
 * says. */
size_t base64_decode(const char *text, size_t len, uint8_t *out);
/* Adds the bytes as base64. */
void base64_add(StrBuf *out, const void *data, size_t size);

#endif
