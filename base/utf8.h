/* UTF-8: decoding, encoding, checking, counting.  Every function accepts
 * arbitrary bytes, since text comes from outside; each invalid byte counts as
 * one character. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_INVALID UINT32_MAX
/* U+FFFD, shown in place of what cannot be shown. */
#define UTF8_REPLACEMENT "\xEF\xBF\xBD"

/* The code point at `text` (len > 0), or UTF8_INVALID; `size` receives its
 * length in bytes, 1 when invalid. */
uint32_t utf8_decode(const char *text, size_t len, size_t *size);

/* Does a terminal or a browser obey the code point instead of showing it?  So
 * do the controls, line ends and tabs among them, and what changes the order
 * in which text is shown (CVE-2021-42574). */
static inline bool utf8_is_obeyed(uint32_t c) {
  bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
  bool order = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return control || order;
}

/* Is the byte one of a character after its first? */
static inline bool utf8_continues(char c) { return (c & 0xC0) == 0x80; }
/* Where the character begins that has a byte at `at`, and where the first one
 * begins at `at` or behind it, `len` at most. */
size_t utf8_begin(const char *text, size_t at);
size_t utf8_next(const char *text, size_t at, size_t len);

/* Writes the code point in up to 4 bytes and returns how many.  An invalid one
 * is written as U+FFFD. */
size_t utf8_encode(int64_t c, char out[4]);

/* The byte offset of the first NUL or invalid UTF-8 in the text, or len. */
size_t utf8_check(const char *text, size_t len);
/* The number of code points in `len` bytes. */
size_t utf8_count(const char *text, size_t len);
/* The terminal cells that `len` bytes take: wide characters two, combining
 * marks none, controls and invalid bytes one each. */
size_t utf8_width(const char *text, size_t len);
/* The length in bytes of the longest beginning that takes at most `columns`
 * cells.  Marks that combine with its last character belong to it. */
size_t utf8_fit(const char *text, size_t len, size_t columns);

#endif
