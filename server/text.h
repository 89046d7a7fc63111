/* Texts of editors: where lines begin, and places as the protocol counts them:
 * lines from 0 and, within a line, UTF-16 code units or, with a client that
 * offers it, bytes. */
#ifndef SERVER_TEXT_H
#define SERVER_TEXT_H

#include <jansson.h>

#include "lib/inside.h"

typedef struct Text {
  StrBuf bytes;
  VEC(size_t) lines; /* where each begins; a line ends with \n, \r\n or \r */
  VEC(size_t) units; /* UTF-16 code units before every so many-th byte */
  bool utf8;         /* columns count bytes */
} Text;

void text_init(Text *t, Mem *mem, bool utf8);
void text_done(Text *t);
void text_set(Text *t, const char *bytes, size_t len);
/* Puts other bytes in the place of lo <= i < hi. */
void text_replace(Text *t, size_t lo, size_t hi, const char *bytes, size_t len);

/* {line, character}, and back.  What lies after the end of a line or of the
 * text is its end; false: it is no place. */
json_t *text_place(const Text *t, size_t offset);
json_t *text_range(const Text *t, size_t lo, size_t hi);
bool text_find(const Text *t, const json_t *place, size_t *offset);
bool text_find_range(const Text *t, const json_t *range, size_t *lo,
                     size_t *hi);
/* The index of the line that holds the byte. */
size_t text_line(const Text *t, size_t offset);
/* Code units of the line before the byte. */
size_t text_column(const Text *t, size_t line, size_t offset);

#endif
