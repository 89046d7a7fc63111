/* Text in pages and drawings: HTML, SVG. */
#ifndef BASE_HTML_H
#define BASE_HTML_H

#include "base/strbuf.h"

/* Adds text of the program, which is not trusted: what HTML would read as its
 * own is escaped, control characters and marks that reverse the direction of
 * writing become U+FFFD.  Quotation marks too, as it also writes attributes. */
void html_add(StrBuf *out, const char *text, size_t len);
/* The same of at most `most` bytes, cut at a whole character. */
void html_add_cut(StrBuf *out, const StrBuf *text, size_t most);

#endif
