/* Growing text.  A NUL follows the text once something was written. */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stdarg.h>
#include <stdint.h>

#include "base/vec.h"

typedef VEC(char) StrBuf;

void strbuf_init(StrBuf *b, Mem *mem);
void strbuf_done(StrBuf *b);

void strbuf_add(StrBuf *b, const char *text);
void strbuf_add_len(StrBuf *b, const char *text, size_t len);
void strbuf_add_char(StrBuf *b, char c);
void strbuf_add_repeat(StrBuf *b, char c, size_t n);
void strbuf_addf(StrBuf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void strbuf_addv(StrBuf *b, const char *format, va_list args);
/* Adds the text in one line: what ends a line of it, with the spaces that begin
 * the next one, becomes a space. */
void strbuf_add_line(StrBuf *b, const char *text);
/* Adds the code point in UTF-8, or U+FFFD when it is not a valid one. */
void strbuf_add_code_point(StrBuf *b, int64_t c);
/* Adds `text` as the inside of a JSON or C string: quotes, backslashes and
 * what a terminal would obey are escaped; invalid UTF-8 becomes U+FFFD. */
void strbuf_add_escaped(StrBuf *b, const char *text, size_t len);

/* Adds `text` in one line that is safe to send to a terminal: what would be
 * obeyed is escaped as in a string, invalid UTF-8 becomes U+FFFD.  Quotes and
 * backslashes stay, so a text without controls stays as it is. */
void strbuf_add_visible(StrBuf *b, const char *text, size_t len);

/* The text so far; "" when nothing was written.  Valid until the next write. */
const char *strbuf_text(const StrBuf *b);

#endif
